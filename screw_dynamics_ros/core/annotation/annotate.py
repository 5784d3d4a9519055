# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The model state of a robot at every sample of a recorded motion, in stacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import float_array
from ..compile.typed.functions import Floats, typed
from ..compile.typed.library import calls
from ..description.rigid_body import RigidBody
from ..errors import ArgumentError
from ..estimation.observers.parameters import check_per_joint
from ..estimation.residual_model import ResidualModel
from ..outputs import OUTPUTS
from ..robot.actuated_robot import Source
from ..robot.robot import Robot
from ..tree.joint_limits import velocity_names
from ..types import Array
from .contacts import ContactFinder
from .observation import TorqueProgram
from .settings import DEFAULT, AnnotationSettings, check_outputs
from .singularities import MeasuredMotion, freedoms_of

BLOCK_SIZE = 8192  # samples computed at once


def accelerations(
    t: NDArray[np.int64], v: Array, starts: NDArray[np.bool_], time_constant: float = 0.0
) -> Array:
    """Return the accelerations (N, n) along a motion.

    The derivative of the parabola through three velocities, of second order for steps of any
    length. At the ends of a run it is the slope to the neighbor; NaN in a run of one sample.

    Parameters
    ----------
    t : (N,) array of int
        Stamps [ns], increasing in each run.
    v : (N, n) array
    starts : (N,) array of bool
        First samples of runs; no differences across them.
    time_constant : float
        Time constant of the filters, see `smoothed` [s]; 0 for none.

    Examples
    --------
    >>> t = np.array([0, 1, 3, 4]) * 10**9
    >>> v = np.array([[0.0], [1.0], [9.0], [16.0]])
    >>> accelerations(t, v, np.zeros(4, bool)).T
    array([[1., 2., 6., 7.]])
    """
    a = np.empty_like(v)
    for first in range(0, len(t), BLOCK_SIZE):  # keeps temporary arrays small
        end = min(first + BLOCK_SIZE, len(t))
        near = slice(max(first - 1, 0), end + 1)
        found = by_neighbors(t[near], v[near], starts[near])
        a[first:end] = found[first - near.start :][: end - first]
    return smoothed(t, a, starts, time_constant) if time_constant else a


def by_neighbors(t: NDArray[np.int64], v: Array, starts: NDArray[np.bool_]) -> Array:
    """Return the accelerations of some samples, without filters."""
    joined = ~starts[1:]
    h = np.where(joined, np.diff(t), 1) * 1e-9
    slopes = np.where(joined[:, None], np.diff(v, axis=0) / h[:, None], np.nan)
    a = np.full_like(v, np.nan)
    a[:-1], only = slopes, a.copy()
    only[1:] = slopes
    a = np.where(np.isnan(a), only, a)
    both = joined[:-1] & joined[1:]
    share = (h[:-1] / (h[:-1] + h[1:]))[:, None]
    middle = (1.0 - share) * slopes[:-1] + share * slopes[1:]
    a[1:-1] = np.where(both[:, None] & np.isfinite(middle), middle, a[1:-1])
    return a


def smoothed(
    t: NDArray[np.int64], values: Array, starts: NDArray[np.bool_], time_constant: float
) -> Array:
    """Return values (N, n) filtered forward, then backward in time: without phase lag.

    First-order filters, exact for steps of any length. The amplitude at the angular frequency omega
    is multiplied by 1 / (1 + (omega T)^2). Values that are not finite are ignored.
    """
    known = np.isfinite(values).all(axis=1)
    index = np.flatnonzero(known)
    if not len(index):
        return values
    run = np.cumsum(starts)[index]
    begins = np.diff(run, prepend=-1) != 0
    h = np.diff(t[index], prepend=t[index[0]])
    decay = np.exp(np.where(begins, 0, h) * (-1e-9 / time_constant))
    decay[begins] = 0.0
    ends, found, result = np.roll(decay, -1), values[index], values.copy()
    (filtered,) = calls(filter_rows)
    for factors in decay, np.ascontiguousarray(ends[::-1]):
        filtered(factors, found.ravel(), *found.shape)
        found = np.ascontiguousarray(found[::-1])
    result[index] = found
    return result


@typed
def filter_rows(decay: Floats, rows: Floats, count: int, n: int) -> None:
    """Replace inputs u (count n,) of a first-order filter by its outputs y.

    y_k = d_k y_{k-1} + (1 - d_k) u_k; the decay d (count,) is 0 where it starts.
    """
    for k in range(n, count * n):
        d = decay[k // n]
        if d > 0.0:
            rows[k] = d * rows[k - n] + (1.0 - d) * rows[k]


class MotionArrays(NamedTuple):
    """A recorded motion; see `annotate_arrays`."""

    t: NDArray[np.int64]
    q: Array
    v: Array
    tau: Array
    starts: NDArray[np.bool_]


def annotate_arrays(
    robot: Robot,
    t: ArrayLike,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    outputs: Sequence[str] = DEFAULT,
    frames: Sequence[str] = (),
    payloads: Mapping[str, RigidBody] | None = None,
    settings: AnnotationSettings | None = None,
    restarted: ArrayLike | None = None,
    residual: ResidualModel | None = None,
) -> dict[str, Array]:
    """Return the model state at every sample of a recorded motion.

    Parameters
    ----------
    robot : Robot
    t : (N,) array of int
        Stamps [ns], increasing except where a motion restarts.
    q, v : (N, nq), (N, nv) arrays
        Positions and velocities. NaN gives NaN in dependent outputs.
    tau : (N, nv) array, optional
        Measured efforts [N m, N], NaN if missing.
    outputs : sequence of str
        Names in `OUTPUTS`.
    frames : sequence of str
        Links for the outputs of links.
    payloads : mapping
        Bodies fixed to links, {link: body}.
    settings : AnnotationSettings
    restarted : (N,) array of bool, optional
        Samples after a pause, in addition to those detected by the stamps.
    residual : ResidualModel, optional
        Of external torques, from which it is subtracted; for the joints of the robot.

    Returns
    -------
    dict
        Arrays with N rows, angular part first throughout:

        By name, of links as 'twist/<link>'; labels, units and frames in `core.outputs.OUTPUTS`.
        Torques and `acceleration` [rad/s^2, m/s^2], see `accelerations`, are (nv,). `transforms`
        (m, 7) are those of `Robot.transform_joints`, twists and Jacobians hybrid: of the origin of
        the link, in root axes. With observers that estimate it, external torques have an
        `external_torque_covariance` (nv, nv), and with a residual model those of all observers.

        NaN where no estimate exists: before the observer has settled, in singular directions.

    Raises
    ------
    ArgumentError, UnknownNameError
        Arrays of other shapes; outputs or frames that do not exist; a robot with a free base.
    """
    annotator = Annotator(robot, outputs, frames, payloads, settings, residual)
    motion = annotator.motion(t, q, v, tau, restarted)
    parts = [part for _, part in annotator.blocks(motion)]
    if not parts:
        raise ArgumentError('t: there are no samples')
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


class Annotator:
    """Computes the outputs of `annotate_arrays` block by block, in bounded memory.

    Parameters are those of `annotate_arrays`.
    """

    def __init__(
        self,
        robot: Robot,
        outputs: Sequence[str] = DEFAULT,
        frames: Sequence[str] = (),
        payloads: Mapping[str, RigidBody] | None = None,
        settings: AnnotationSettings | None = None,
        residual: ResidualModel | None = None,
    ) -> None:
        check_outputs(tuple(outputs))
        if robot.floating_base:
            raise ArgumentError('joint states do not contain the pose of a free base: fix the base')
        for link in frames:
            robot.tree.frame(link)
        absent = {name for name, row in OUTPUTS.items() if not row.exists(robot)} & {*outputs}
        if absent and tuple(outputs) != DEFAULT:
            raise ArgumentError(f'{", ".join(sorted(absent))}: the robot has no mass')
        self.robot = robot
        self.outputs = tuple(name for name in dict.fromkeys(outputs) if name not in absent)
        self.frames = tuple(dict.fromkeys(frames))
        self.settings, self.residual = settings or AnnotationSettings(), residual
        self._joints = velocity_names(robot)
        check_per_joint(vars(self.settings), self._joints)
        self._load = robot.payload_parameters(payloads or {})
        self._freedoms = (
            {link: freedoms_of(robot, link) for link in self.frames}
            if 'singularity' in self.outputs
            else {}
        )
        observed = {'external_torque', 'wrench'} & set(self.outputs)
        self._torques = (
            TorqueProgram(robot, observed, self.frames, self.settings, self._load, residual)
            if observed
            else None
        )
        self._results = self._sources()
        self._kernel = robot.fuse(*self._results.values())

    # --- results ----------------------------------------------------------------------------------

    def _sources(self) -> dict[str, Source]:
        """Return all results of the first program by name."""
        outputs, results = self.outputs, dict[str, Source]()
        for row in filter(None, map(OUTPUTS.get, outputs)):
            for link in self.frames if row.of_links else ('',):
                if row.formula is not None:
                    results[row.part(link)] = row.source(self.robot, link)
        if 'payload' in outputs:
            results['payload'] = 'payload_torques'
        for link in self.frames:
            if 'singularity' in outputs:
                results[f'body_jacobian/{link}'] = ('jacobian', link, 'body')
        return results or {'q': 'q'}

    # --- the samples ------------------------------------------------------------------------------

    def motion(
        self,
        t: ArrayLike,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        restarted: ArrayLike | None = None,
    ) -> MotionArrays:
        """Return a motion after checking its shapes; raises `ArgumentError`."""
        stamps = np.asarray(t)
        if stamps.ndim != 1 or stamps.dtype.kind not in 'iu':
            raise ArgumentError(
                f't must be stamps (N,) in ns, integers, got {stamps.dtype} {stamps.shape}'
            )
        stamps, count = stamps.astype(np.int64), len(stamps)
        nq, nv = self.robot.nq, self.robot.nv
        arrays = []
        for name, value, size in (
            ('q', q, nq),
            ('v', v, nv),
            ('tau', np.full((count, nv), np.nan) if tau is None else tau, nv),
        ):
            array = np.ascontiguousarray(float_array(name, value))
            if array.shape != (count, size):
                raise ArgumentError(f'{name} must have shape ({count}, {size}), got {array.shape}')
            arrays.append(array)
        starts = np.zeros(count, dtype=bool) if restarted is None else np.array(restarted, bool)
        if starts.shape != (count,):
            raise ArgumentError(f'restarted must have shape ({count},), got {starts.shape}')
        if count:
            h = np.diff(stamps, prepend=stamps[0]) * 1e-9
            starts |= ~((h > 0.0) & (h <= self.settings.longest_step))
        return MotionArrays(stamps, arrays[0], arrays[1], arrays[2], starts)

    def blocks(
        self,
        motion: MotionArrays,
        size: int = BLOCK_SIZE,
        contacts: ContactFinder | None = None,
    ) -> Iterator[tuple[slice, dict[str, Array]]]:
        """Yield the outputs of consecutive blocks of samples, and their indices.

        `contacts` finds contacts in the output 'external_torque'.
        """
        settings = self.settings
        a: Array | None = None
        if {'acceleration', 'inertia', 'payload'} & set(self.outputs):
            a = accelerations(
                motion.t, motion.v, motion.starts, settings.acceleration_time_constant
            )
        observe = self._torques.start(contacts) if self._torques is not None else None
        measured = {
            link: MeasuredMotion(
                self.robot.nv, freedoms, settings.characteristic_length, settings.singularity_rate
            )
            for link, freedoms in self._freedoms.items()
        }
        for first in range(0, len(motion.t), size):
            part = slice(first, min(first + size, len(motion.t)))
            yield part, self._block(motion, part, a, observe, measured)

    def _block(
        self,
        motion: MotionArrays,
        part: slice,
        a: Array | None,
        observe: Callable[..., dict[str, Array]] | None,
        measured: Mapping[str, MeasuredMotion],
    ) -> dict[str, Array]:
        """Return the outputs of one block."""
        t, starts = motion.t[part], motion.starts[part]
        q, v, tau = motion.q[part], motion.v[part], motion.tau[part]
        inputs = {'q': q, 'v': v, 'gravity': self.robot.gravity, 'payload': self._load}
        if a is not None:
            inputs['a'] = a[part]
        with np.errstate(all='ignore'):
            arrays = self._kernel(*(inputs[name] for name in self._kernel.inputs))
            found = dict(zip(self._results, arrays))
            results = {
                name: array for name, array in found.items() if name.split('/')[0] in self.outputs
            }
            if 'acceleration' in self.outputs:
                results['acceleration'] = inputs['a']
            for link, each in measured.items():
                results[f'singularity/{link}'] = each.block(t, found[f'body_jacobian/{link}'])
            if observe is not None:
                results.update(observe(t, starts, q, v, tau))
        return results
