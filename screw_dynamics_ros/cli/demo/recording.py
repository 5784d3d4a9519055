# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The push of the demo, and the messages that its client receives, as arrays by topic."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.types import Array


@dataclass(frozen=True)
class Push:
    """A force that rises smoothly, is constant, and falls smoothly.

    Attributes
    ----------
    force : (3,) tuple
        Force of the environment on the tool at full strength, in the tool frame [N]; the moment is
        zero.
    start, end : float
        Times at which the force starts to rise and reaches zero again [s].
    ramp : float
        Duration of rise and fall [s].
    settling : float
        Settling time of the arm after the rise and after the fall [s].
    """

    force: tuple[float, float, float]
    start: float
    end: float
    ramp: float = 0.5
    settling: float = 1.0

    def strength(self, time: ArrayLike) -> Array:
        """Return the fraction of the full force at `time` [s], any shape; 0 outside, 1 inside."""
        time = np.asarray(time, dtype=float)
        rising = np.minimum(time - self.start, self.end - time) / self.ramp
        x = np.clip(rising, 0.0, 1.0)
        return x * x * (3.0 - 2.0 * x)  # continuous rate of change

    def phases(self, acting: Array, period: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return in which states the force is steady, and in which it is absent.

        Parameters
        ----------
        acting : (n, 6) array
            Wrenches on the tool in consecutive states [N m, N].
        period : float
            Shortest simulated time between them [s].

        Returns
        -------
        steady, absent : (n,) arrays
            Whether the force has its full strength and the arm has settled; and whether the force
            is zero and the arm has settled.
        """
        size = np.linalg.norm(acting, axis=1)
        full = size.max(initial=0.0)
        settled = round(self.settling / period)
        steady = since(size > (1.0 - 1e-6) * full, begins=False) >= settled
        absent = since(size <= 1e-6 * full, begins=True) >= settled
        return steady & (full > 0.0), absent


def since(holds: NDArray[np.bool_], begins: bool) -> Array:
    """Return the number of consecutive previous states in which `holds` is true (n,), or -1.

    -1 marks states in which it is false. `begins` is the value before the first state.
    """
    index = np.arange(len(holds), dtype=float)
    last = np.where(holds, -math.inf if begins else -1.0, index)
    return np.where(holds, index - 1.0 - np.maximum.accumulate(last), -1.0)


Integers = NDArray[np.int64]

#: Outputs that carry the stamp of the joint state they were computed from.
STAMPED = ('tf', 'gravity', 'coriolis', 'feedforward', 'wrench')
#: All outputs.
OUTPUTS = (*STAMPED, 'jacobian')
#: Series of the driver: joint states, and true external torques of the joints.
DRIVER = ('joint_states', 'external')


#: Contents of a message: its stamp [ns], 0 if it has none, and its numbers.
Contents = tuple[int, Sequence[float]]


class Series:
    """The messages of one topic, stored serialized and read on request.

    Parameters
    ----------
    width : int
        Number of elements of a message.
    decode : callable
        Returns the contents of a message.
    """

    def __init__(self, width: int, decode: Callable[[Any], Contents]) -> None:
        self._width, self._decode = width, decode
        self._arrivals = array('q')
        self._messages: list[Any] = []
        self._all: tuple[Integers, Array] | None = None

    def __len__(self) -> int:
        return len(self._messages)

    def add(self, arrival: int, message: Any) -> None:
        """Append a message and its arrival time [ns since 1970]."""
        self._arrivals.append(arrival)
        self._messages.append(message)
        self._all = None

    def arrivals(self) -> Integers:
        """Return the times of arrival [ns]."""
        return np.array(self._arrivals, dtype=np.int64)

    @property
    def last_stamp(self) -> int:
        """Stamp of the last message [ns], 0 without messages."""
        return self._decode(self._messages[-1])[0] if self._messages else 0

    def stamps(self) -> Integers:
        """Return the stamps [ns]."""
        return self._read()[0]

    def values(self) -> Array:
        """Return the numbers, (messages, width)."""
        return self._read()[1]

    def _read(self) -> tuple[Integers, Array]:
        if self._all is None:
            contents = [self._decode(message) for message in self._messages]
            numbers = np.array([numbers for _, numbers in contents], dtype=np.float64)
            stamps = np.array([stamp for stamp, _ in contents], dtype=np.int64)
            self._all = stamps, numbers.reshape(len(contents), self._width)
        return self._all


class DemoRecording:
    """All series of a run.

    Parameters
    ----------
    joints : sequence of str
        The joints, in the order of all vectors of joint quantities.
    root, tool : str
        Frames.
    chain : sequence of seven numbers or None
        Transforms from the root to the tool frame: (x, y, z, qx, qy, qz, qw) for fixed ones, None
        for those in the messages of series 'tf', in this order.
    start : int
        Start of the run [ns since 1970].
    decoders : mapping
        Functions that deserialize the messages of a series; other series are stored as `Contents`.

    Attributes
    ----------
    series : dict
        By name: 'joint_states' with (q, v, effort); 'gravity', 'coriolis', 'feedforward' with
        torques [N m, N]; 'wrench' with (force, moment) on the tool [N, N m]; 'tf' as in `chain`;
        'jacobian' of the tool row by row; 'applied' with the commanded force on the tool, in the
        tool frame [N]; 'external' with the true external torques of the joints; 'model_state' with
        the numbers of all `STAMPED` from ~/model_state, empty without screw_dynamics_msgs.
    begin : int
        Stamp after which each joint state has its outputs in the recording [ns].
    end : int or None
        Stamp of the last joint state with expected outputs [ns]; None: all joint states.
    """

    def __init__(
        self,
        joints: Sequence[str],
        root: str,
        tool: str,
        chain: Sequence[Sequence[float] | None],
        start: int,
        decoders: Mapping[str, Callable[[Any], Contents]] | None = None,
    ) -> None:
        self.joints = tuple(joints)
        self.root, self.tool = root, tool
        self.chain = tuple(chain)
        self.start = start
        self.begin = 0
        self.end: int | None = None
        count = len(joints)
        widths = {
            'joint_states': 3 * count,
            'gravity': count,
            'coriolis': count,
            'feedforward': count,
            'wrench': 6,
            'tf': 7 * sum(c is None for c in chain),
            'jacobian': 6 * count,
            'applied': 3,
            'external': count,
        }
        widths['model_state'] = sum(widths[name] for name in STAMPED)
        self.series = {
            name: Series(width, (decoders or {}).get(name, as_it_is))
            for name, width in widths.items()
        }

    def time(self, name: str) -> Array:
        """Return the times of a series since the start [s]: stamps, else arrival times."""
        series = self.series[name]
        stamps = series.stamps() if name != 'jacobian' else series.arrivals()
        return seconds(stamps - self.start)

    def tool_pose(self, moving: Array) -> tuple[Array, Rotation]:
        """Return positions (n, 3) [m] and orientations of the tool in the root frame.

        Parameters
        ----------
        moving : (n, width) array
            Values of series 'tf', at least one.
        """
        position, rotation = np.zeros((len(moving), 3)), Rotation.identity(len(moving))
        column = 0
        for link in self.chain:
            if link is None:
                numbers = moving[:, column : column + 7]
                column += 7
            else:
                numbers = np.tile(link, (len(moving), 1))
            position = position + rotation.apply(numbers[:, :3])
            rotation = rotation * Rotation.from_quat(numbers[:, 3:])
        return position, rotation

    def latency(self) -> tuple[NDArray[np.intp], Array, Array]:
        """Return the latency of the outputs, for joint states with all outputs.

        Returns
        -------
        joint_states : (n,) array
            Indices of the joint states.
        since_arrival, since_stamp : (n,) arrays
            Time from the arrival of the joint state in this process, and from its stamp, to the
            arrival of the last of its stamped outputs [s].
        """
        states = self.series['joint_states']
        stamps, arrivals = states.stamps(), states.arrivals()
        complete: NDArray[np.intp] = np.arange(len(stamps))
        latest = np.zeros(len(stamps), dtype=np.int64)
        for name in STAMPED:
            series = self.series[name]
            _, mine, theirs = np.intersect1d(stamps, series.stamps(), return_indices=True)
            latest[mine] = np.maximum(latest[mine], series.arrivals()[theirs])
            complete = np.intersect1d(complete, mine)
        return (
            complete,
            seconds((latest - arrivals)[complete]),
            seconds((latest - stamps)[complete]),
        )

    def together(self, *names: str) -> tuple[Array, ...]:
        """Return time (n,) [s] and values (n, width) of messages with common stamps."""
        common = self.series[names[0]].stamps()
        for name in names[1:]:
            common = np.intersect1d(common, self.series[name].stamps())
        rows = []
        for name in names:
            _, _, index = np.intersect1d(common, self.series[name].stamps(), return_indices=True)
            rows.append(self.series[name].values()[index])
        return (seconds(common - self.start), *rows)


def as_it_is(contents: Contents) -> Contents:
    """Return the argument."""
    return contents


def seconds(nanoseconds: Integers) -> Array:
    """Return integers [ns] as floating point numbers [s]."""
    return np.asarray(nanoseconds * 1e-9, dtype=np.float64)


def singular_values(jacobians: Array) -> Array:
    """Return the singular values (n, up to 6), descending, of values (n, width) of 'jacobian'."""
    values = np.linalg.svd(jacobians.reshape(len(jacobians), 6, -1), compute_uv=False)
    return np.asarray(values, dtype=np.float64)
