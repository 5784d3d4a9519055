"""Joint states by name: from what drivers really send to one trustworthy (q, v, tau).

A driver may send joints in any order, only some of them, joints of other robots, NaN, empty or
ragged arrays, and stamps that stand still or run backwards. `JointStateMapper` turns each message
into a complete state or refuses it, and keeps a record of every reason.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.policies import Policies, Reason, Record

Array = NDArray[np.float64]

NEVER = np.iinfo(np.int64).min // 2  # stamp of a value that has not been seen yet [ns]
DEFAULT_JUMP = 0.5  # s; stamps that run back by more restart the history where no timeout is set
CACHED_NAME_LISTS = 16


@dataclass(eq=False)
class JointStateMessage:
    """The fields of sensor_msgs/JointState as tuple and arrays; `stamp` in ns, 0 for none.

    Whoever sends the same object again and again, with other numbers in the same arrays, lays them
    one after the other in `numbers`: then they are taken over at once.
    """

    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array
    stamp: int
    numbers: Array | None = None


@dataclass
class NameMap:
    """Where the joints of one list of names go: values[source] belong to the joints `target`."""

    count: int
    source: NDArray[np.intp]
    target: NDArray[np.intp]
    complete: bool
    refusal: tuple[Reason, str] | None = None
    unknown: str = ''


@dataclass(frozen=True)
class ShortWay:
    """How the numbers of one message object become the state: state = numbers[source]."""

    message: JointStateMessage
    numbers: Array
    source: NDArray[np.intp]
    zeros: Array
    unknown: str

    @classmethod
    def through(cls, message: JointStateMessage, names: NameMap) -> ShortWay | None:
        """Return the way for a message that is complete and laid out for it, else None."""
        sizes = {len(message.position), len(message.velocity), len(message.effort)}
        if message.numbers is None or not names.complete or sizes != {names.count}:
            return None
        source = np.concatenate([names.source + k * names.count for k in range(3)])
        return cls(message, message.numbers, source, np.zeros_like(message.numbers), names.unknown)


class Field:
    """Position, velocity or effort of all joints, with the stamps at which they were measured."""

    def __init__(self, value: Array) -> None:
        size = len(value)
        self.value = value
        self.measured = np.full(size, NEVER, dtype=np.int64)
        self.usable = np.zeros(size, dtype=bool)

    def forget(self) -> None:
        """Take every joint as never measured."""
        self.value[:] = 0.0
        self.measured[:] = NEVER
        self.usable[:] = False

    def commit(self, joints: NDArray[np.intp], values: Array, measured: NDArray[np.bool_],
               usable: NDArray[np.bool_], stamp: int) -> None:
        """Store `values`; those not usable are stored as zero so that no NaN gets any further."""
        self.value[joints] = np.where(usable, values, 0.0)
        self.measured[joints[measured]] = stamp
        self.usable[joints] = usable


class JointStateMapper:
    """Merges joint states by name into one state of the robot.

    Parameters
    ----------
    joints : sequence of str
        The joints whose state is wanted; gives the order of the results.
    continuous : collection of str
        Those among them whose positions are equal modulo 2 pi.
    known : collection of str
        Further joints of the robot that may be named but need no state: mimic and fixed joints.
    policies : Policies
    calibration : pair of (n,) arrays or None
        As for `calibrate`.
    clock : callable
        Returns the current time in ns on the time base of the stamps.

    Attributes
    ----------
    q, v, tau : (n,) arrays
        Positions [rad, m], velocities and efforts; always finite, always the same arrays: the rows
        of `state`, (3, n).
    has_velocity, has_effort : bool
        Whether `v`, `tau` may be used; they are zero in the places of missing values otherwise.
    stamp : int
        Stamp of the state [ns].
    accepted : int
        Number of states made.
    last_accepted : float
        Time of arrival of the message that completed the last one [s].
    restarted : bool
        Whether the state is the first one after a pause or after time went backwards.
    records : dict
        What was refused or used with care, by `Reason`.
    lock : threading.Lock
        For whoever updates the state while another thread reads it.
    """

    def __init__(
        self,
        joints: Sequence[str],
        *,
        continuous: Collection[str] = (),
        known: Collection[str] = (),
        policies: Policies | None = None,
        calibration: tuple[Array | None, Array | None] = (None, None),
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.joints = tuple(joints)
        self.policies = policies or Policies()
        self.clock = clock
        self.calibrate(*calibration)
        self.records: dict[Reason, Record] = {}
        self.accepted = 0
        self.last_accepted = -math.inf
        self.lock = threading.Lock()
        self._age = 0
        self._index = {name: i for i, name in enumerate(self.joints)}
        self._continuous = np.array([name in continuous for name in self.joints], dtype=bool)
        self._known = frozenset(known)
        self._maps: dict[tuple[str, ...], NameMap] = {}

        size = len(self.joints)
        self._state = np.zeros(3 * size)
        self.state = self._state.reshape(3, size)
        self.q, self.v, self.tau = self.state
        self._fields = self._position, self._velocity, self._effort = (
            Field(self.q), Field(self.v), Field(self.tau))
        self._seen = np.full(size, NEVER, dtype=np.int64)
        self.reset()

    @property
    def age(self) -> float:
        """Clock minus stamp when the last message came [s]."""
        return self._age * 1e-9

    @property
    def policies(self) -> Policies:
        """The rules in force; may be set at any time."""
        return self._policies

    @policies.setter
    def policies(self, policies: Policies) -> None:
        self._policies = policies
        self._timeout = round(policies.state_timeout * 1e9) or -NEVER
        self._jump = round((policies.state_timeout or DEFAULT_JUMP) * 1e9)
        self._max_age = round(policies.max_stamp_age * 1e9) or -NEVER

    def calibrate(self, scale: Array | None, offset: Array | None) -> None:
        """Take torque = scale * effort + offset [N m, N], (n,) each; None stands for 1 and 0.

        For drivers that report currents or other signs.
        """
        self._scale, self._offset = scale, offset

    def reset(self) -> None:
        """Forget all values: the next state is made of messages to come."""
        for values in self._fields:
            values.forget()
        self._seen[:] = NEVER
        self.stamp = NEVER
        self.has_velocity = self.has_effort = False
        self._way: ShortWay | None = None  # for the message object that came last
        self._whole = NEVER  # stamp of a complete message the fields have not recorded yet

    def update(self, message: JointStateMessage, arrival: float | None = None) -> bool:
        """Take a message in; return whether there is a new complete state.

        Parameters
        ----------
        message : JointStateMessage
        arrival : float, optional
            Time of arrival on the monotonic clock [s].
        """
        self._arrival = time.monotonic() if arrival is None else arrival
        self.restarted = False
        way = self._way
        if way is not None and way.message is message and self._is_regular(way, message.stamp):
            self._take(way, message.stamp)
            return True
        names = self._maps.get(message.names) or self._map(message.names)
        if names.refusal is not None:
            return self._refuse(*names.refusal)
        if names.unknown:
            self._note(Reason.UNKNOWN_JOINTS, names.unknown)
        stamp = self._check_age(message.stamp)
        if stamp == NEVER:
            return False
        accepted = self._update_carefully(names, message, stamp)
        self._way = ShortWay.through(message, names) if self._whole == stamp else None
        return accepted

    def _is_regular(self, way: ShortWay, stamp: int) -> bool:
        """Whether a message follows one that made a state on its own, and is as good."""
        self._age = self.clock() - stamp
        return (self._whole == self.stamp and 0 < stamp - self.stamp <= self._timeout
                and -self._max_age <= self._age <= self._max_age
                # x . 0 is zero for finite x and NaN otherwise
                and way.numbers.dot(way.zeros) == 0.0)

    def _take(self, way: ShortWay, stamp: int) -> None:
        """Make a state of a regular message."""
        way.numbers.take(way.source, out=self._state, mode='clip')
        if self._scale is not None or self._offset is not None:
            self.tau[:] = self._torque(self.tau)
        if way.unknown:
            self._note(Reason.UNKNOWN_JOINTS, way.unknown)
        if not -self._jump <= self._age <= self._jump:
            self._note_clock_offset()
        self._whole = self.stamp = stamp
        self.accepted += 1
        self.last_accepted = self._arrival

    def _update_carefully(self, names: NameMap, message: JointStateMessage, stamp: int) -> bool:
        """Merge a message joint by joint, by the policies."""
        self._spread_whole()
        joints = names.target
        newest = int(self._seen[joints].max())
        if stamp <= newest:
            if stamp == newest:
                return self._refuse(Reason.DUPLICATE_STAMP, f'{stamp * 1e-9:.9f} s')
            if newest - stamp <= self._jump:
                return self._refuse(Reason.OUT_OF_ORDER, f'by {(newest - stamp) * 1e-9:.6f} s')
            self._note(Reason.TIME_RESET, f'by {(newest - stamp) * 1e-9:.3f} s')
            self.reset()
            self.restarted = True
        elif newest > NEVER and stamp - newest > self._timeout:
            self.restarted = True
            self._note(Reason.PAUSE, f'{(stamp - newest) * 1e-9:.3f} s')

        position = self._positions(names, message, stamp)
        if position is None:
            return False
        q, q_measured, q_usable = position
        velocity = self._velocities(names, message, stamp, q, q_measured)
        effort = self._efforts(names, message, stamp)
        self._position.commit(joints, q, q_measured, q_usable, stamp)
        self._velocity.commit(joints, *velocity, stamp)
        self._effort.commit(joints, *effort, stamp)
        self._seen[joints] = stamp
        return self._conclude(names)

    def _conclude(self, names: NameMap) -> bool:
        """Make a state of all joints, if each of them has a current one and time has advanced."""
        newest = int(self._seen.max())
        absent = self._seen == NEVER
        if self.policies.position == 'zero':
            absent = np.zeros_like(absent)
        stale = (newest - self._seen > self._timeout) & (self._seen > NEVER)
        if absent.any() or stale.any():
            parts = []
            if absent.any():
                parts.append('never reported: ' + self._list(absent))
            if stale.any():
                parts.append('not reported any more: ' + self._list(stale))
            return self._refuse(Reason.INCOMPLETE, '; '.join(parts))
        never = self._seen == NEVER
        self.has_velocity = bool((self._velocity.usable | never).all())
        self.has_effort = bool((self._effort.usable | (never & (
            self.policies.effort == 'zero'))).all())
        if newest <= self.stamp:
            return False  # another source is ahead: its next message brings this one along
        self.stamp = newest
        if names.complete and self.has_velocity and self.has_effort and all(
                (values.measured == newest).all() for values in self._fields):
            self._whole = newest
        self.accepted += 1
        self.last_accepted = self._arrival
        return True

    # --- fields ---------------------------------------------------------------------------------

    def _positions(self, names: NameMap, message: JointStateMessage, stamp: int,
                   ) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]] | None:
        """Return positions, and which are measured and usable; None if the message is refused."""
        values = message.position
        if 0 < len(values) != names.count:
            self._note(Reason.POSITION_RAGGED, f'{len(values)} for {names.count} names')
            if self.policies.position == 'reject':
                return None
        q, measured = self._measured(values, names)
        if measured.all():
            return q, measured, measured
        detail = self._list(~measured, names)
        self._note(Reason.POSITION_MISSING, detail)
        known = self._is_recent(self._position, names, stamp)
        if self.policies.position == 'zero':
            known |= self._position.measured[names.target] == NEVER
        if self.policies.position == 'reject' or not (measured | known).all():
            return None
        q = np.where(measured, q, self.q[names.target])
        return q, measured, np.ones_like(measured)

    def _velocities(self, names: NameMap, message: JointStateMessage, stamp: int, q: Array,
                    q_measured: NDArray[np.bool_],
                    ) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]]:
        """Return velocities, and which of them are measured and which usable."""
        values, joints, policy = message.velocity, names.target, self.policies.velocity
        if 0 < len(values) != names.count:
            self._note(Reason.VELOCITY_RAGGED, f'{len(values)} for {names.count} names')
        v, measured = self._measured(values, names)
        if measured.all():
            return v, measured, measured
        self._note(Reason.VELOCITY_MISSING, f'{self._list(~measured, names)}: {policy}')
        if policy == 'differentiate':
            interval = stamp - self._position.measured[joints]
            usable = q_measured & (interval <= self._timeout) & (
                self._position.measured[joints] > NEVER)
            dt = np.where(usable, interval, 1) * 1e-9
            dq = q - self.q[joints]
            turn = self._continuous[joints]
            dq[turn] = (dq[turn] + np.pi) % (2 * np.pi) - np.pi
            with np.errstate(over='ignore'):
                estimate = dq / dt
            usable &= np.isfinite(estimate)
            if self.policies.velocity_cutoff > 0.0:
                gain = -np.expm1(-2 * np.pi * self.policies.velocity_cutoff * dt)
                before = self.v[joints]
                estimate = np.where(self._velocity.usable[joints],
                                    before + gain * (estimate - before), estimate)
        elif policy == 'zero':
            estimate, usable = np.zeros_like(v), np.ones_like(measured)
        elif policy == 'hold':
            estimate = self.v[joints]
            usable = self._is_recent(self._velocity, names, stamp)
        else:
            estimate, usable = v, np.zeros_like(measured)
        return np.where(measured, v, estimate), measured, measured | usable

    def _efforts(self, names: NameMap, message: JointStateMessage, stamp: int,
                 ) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]]:
        """Return torques, and which of them are measured and which usable."""
        values, joints, policy = message.effort, names.target, self.policies.effort
        if 0 < len(values) != names.count:
            self._note(Reason.EFFORT_RAGGED, f'{len(values)} for {names.count} names')
        effort, measured = self._measured(values, names)
        tau = self._torque(effort, joints)
        if measured.all():
            return tau, measured, measured
        self._note(Reason.EFFORT_MISSING, f'{self._list(~measured, names)}: {policy}')
        if policy == 'zero':
            estimate, usable = np.zeros_like(tau), np.ones_like(measured)
        elif policy == 'hold':
            estimate, usable = self.tau[joints], self._is_recent(self._effort, names, stamp)
        else:
            estimate, usable = tau, np.zeros_like(measured)
        return np.where(measured, tau, estimate), measured, measured | usable

    @staticmethod
    def _measured(values: Array, names: NameMap) -> tuple[Array, NDArray[np.bool_]]:
        """Return the values of the joints `names.target`, and which of them are finite."""
        if len(values) != names.count:
            return np.full(len(names.source), np.nan), np.zeros(len(names.source), dtype=bool)
        found = np.array(values[names.source], dtype=float)
        return found, np.isfinite(found)

    def _is_recent(self, values: Field, names: NameMap, stamp: int) -> NDArray[np.bool_]:
        """Which joints of a message were measured at most `state_timeout` before it."""
        measured = values.measured[names.target]
        return (measured > NEVER) & (stamp - measured <= self._timeout)

    def _torque(self, effort: Array, joints: NDArray[np.intp] | slice = slice(None)) -> Array:
        if self._scale is not None:
            effort = effort * self._scale[joints]
        if self._offset is not None:
            effort = effort + self._offset[joints]
        return effort

    def _spread_whole(self) -> None:
        """Enter the last of a run of regular messages into the records of the single joints."""
        if self._whole > NEVER:
            self._seen[:] = self._whole
            for values in self._fields:
                values.measured[:] = self._whole
                values.usable[:] = True
            self._whole = NEVER

    # --- names and stamps -----------------------------------------------------------------------

    def _map(self, names: tuple[str, ...]) -> NameMap:
        """Make and keep the map of a list of names."""
        pairs = [(i, self._index[name]) for i, name in enumerate(names) if name in self._index]
        source, target = (np.array(column, dtype=np.intp) for column in zip(*pairs)) if pairs else (
            np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))
        twice = sorted({name for name in names if names.count(name) > 1})
        refusal = None
        if not names:
            refusal = Reason.EMPTY, ''
        elif twice:
            refusal = Reason.DUPLICATE_JOINT, ', '.join(twice)
        elif not pairs:
            refusal = Reason.FOREIGN, f'got {shorten(names)}; expected {shorten(self.joints)}'
        unknown = [name for name in names if name not in self._index and name not in self._known]
        if len(self._maps) >= CACHED_NAME_LISTS:
            self._maps.clear()
        made = NameMap(len(names), source, target, len(pairs) == len(self.joints), refusal,
                       shorten(unknown))
        if made.complete:  # in the order of the joints, so that values[source] is the state
            order = np.argsort(target)
            made.source, made.target = source[order], target[order]
        self._maps[names] = made
        return made

    def _check_age(self, stamp: int) -> int:
        """Return the stamp to use, NEVER if it is refused."""
        now = self.clock()
        if stamp == 0:
            self._note(Reason.UNSTAMPED, '')
            self._age = 0
            return now
        self._age = now - stamp
        if self._age > self._max_age:
            self._note(Reason.OLD, f'{self.age:.3f} s')
            return NEVER
        if self._age < -self._max_age:
            self._note(Reason.FUTURE, f'{-self.age:.3f} s')
            return NEVER
        if not -self._jump <= self._age <= self._jump:
            self._note_clock_offset()
        return stamp

    def _note_clock_offset(self) -> None:
        self._note(Reason.CLOCK_OFFSET, f'by {self.age:.3f} s: a replay without use_sim_time, '
                   'clocks that are not synchronised, or an overloaded machine')

    def _list(self, chosen: NDArray[np.bool_], names: NameMap | None = None) -> str:
        """Return the names of the chosen joints."""
        joints = np.arange(len(self.joints)) if names is None else names.target
        return shorten([self.joints[i] for i in joints[chosen]])

    def _note(self, reason: Reason, detail: str) -> None:
        record = self.records.setdefault(reason, Record())
        record.count += 1
        record.last = self._arrival
        record.detail = detail

    def _refuse(self, reason: Reason, detail: str) -> bool:
        self._note(reason, detail)
        return False
