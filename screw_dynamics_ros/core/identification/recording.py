# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recorded motions: joint positions, velocities and efforts over time, checked.

Faults are detected before the fit: spikes, wrong units, wrong velocities.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import check_number, float_array
from ..description.drives import Drive
from ..description.rigid_body import RigidBody
from ..description.robot_description import Finding, RobotDescription
from ..errors import ArgumentError
from ..state_checks import (
    JointMotion,
    joints_subject,
    range_findings,
    velocity_fault,
    velocity_fault_findings,
)
from ..tree.joint_limits import Coordinates
from ..tree.multibody_tree import Tree
from ..types import Array

#: A joint has moved if its range is larger [rad, m].
MIN_RANGE = 1e-3

#: Largest plausible time between joint states [s].
MAX_STEP_S = 1.0
MEDIAN_LENGTH = 5  # samples of the running median for the detection of spikes
SPIKE_SIGMAS = 20.0  # threshold in standard deviations of the differences from that median
SPIKE_SHARE = 0.5  # threshold relative to the range of that median
MAX_SPIKE_SHARE = 0.01  # fraction of samples; more of them are not spikes
MIN_EFFORT_SHARE = 0.01  # smallest relevant range of efforts, relative to the largest range

VELOCITY_WINDOW_S = 0.1  # s; window for averaging velocities
#: Accepted differences of velocities from the derivatives of positions, relative ...
VELOCITY_MISMATCH = 0.3
#: ... and absolute [rad/s, m/s].
VELOCITY_NOISE = 0.02


class DynamicModel(Coordinates, Protocol):
    """Interface of a robot on a fixed base for identification, implemented by `Robot`."""

    description: RobotDescription
    tree: Tree

    @property
    def drives(self) -> dict[str, Drive]:
        """Drives by joint."""

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return Y (N, nv, 10 n_links)."""


@dataclass(frozen=True)
class KnownLoad:
    """A load of known mass; its inertia and, unless it is known, its center of mass are estimated.

    Attributes
    ----------
    link : str
        The link that carries it.
    mass : float
        [kg]
    com : tuple of 3 float, optional
        Center of mass in the frame of the link [m].
    """

    link: str
    mass: float
    com: tuple[float, float, float] | None = None


@dataclass(frozen=True, eq=False)
class JointRecording:
    """One recorded motion of a robot.

    Attributes
    ----------
    t : (N,) array
        Times [s], increasing.
    q : (N, n) array
        Positions in the order of `Robot.joint_names` [rad, m].
    v : (N, n) array, optional
        Velocities [rad/s, m/s]; NaN for joints without velocities.
    tau : (N, n) array
        Efforts as the driver reports them. The equation of a joint with only NaN or zeros is
        omitted.
    payloads : {link: RigidBody}
        Known bodies carried by links during the recording.
    load : KnownLoad, optional
        A partially known load; it must be the same in all recordings with a load.
    absent : collection of str
        Joints that were not recorded, and are assumed at rest.
    """

    t: Array
    q: Array
    v: Array | None
    tau: Array
    payloads: Mapping[str, RigidBody] = field(default_factory=dict)
    load: KnownLoad | None = None
    absent: Collection[str] = ()


def checked(recording: JointRecording, robot: DynamicModel) -> JointRecording:
    """Return the recording with arrays of the right shapes and continuous joints unwrapped.

    Raises
    ------
    ArgumentError
        Shapes, stamps that do not increase, numbers that are not finite, by joint and sample;
        no efforts at all.
    """
    if robot.nq != robot.nv or robot.nv != len(robot.joint_names) or not robot.nv:
        raise ArgumentError(
            'identification needs a fixed base and joints of one freedom; '
            f'{robot.description.name!r} has {len(robot.joint_names)} joints, {robot.nq} '
            f'coordinates and {robot.nv} velocities'
        )
    names = robot.joint_names
    t = _increasing(recording.t)
    q = _samples('q', recording.q, len(t), names)
    tau = _samples('tau', recording.tau, len(t), names, columns_may_lack=True)
    v = None
    if recording.v is not None:
        v = _samples('v', recording.v, len(t), names, columns_may_lack=True)
    kinds = {joint.name: joint.kind for joint in robot.description.joints}
    periodic = [kinds[name].is_periodic for name in names]
    q[:, periodic] = np.unwrap(q[:, periodic], axis=0)
    _leave_out_zeros(tau)
    return replace(recording, t=t, q=q, v=v, tau=tau)


def common_load(recordings: Sequence[JointRecording]) -> KnownLoad | None:
    """Return the load of those recordings that have one; raises ArgumentError if they differ."""
    loads = {each.load for each in recordings if each.load is not None}
    if len(loads) > 1:
        raise ArgumentError(f'load: {len(loads)} different loads; one can be estimated')
    for load in loads:
        check_number('load.mass', load.mass, positive=True)
    return next(iter(loads), None)


def moving(recordings: Sequence[JointRecording]) -> NDArray[np.bool_]:
    """Return which joints (n,) moved in any of the recordings."""
    ranges = np.max([np.ptp(each.q, axis=0) for each in recordings], axis=0)
    return np.asarray(ranges > MIN_RANGE)


def measured(recordings: Sequence[JointRecording]) -> NDArray[np.bool_]:
    """Return which joints (n,) report efforts in all of the recordings."""
    return np.all([~np.isnan(each.tau).all(axis=0) for each in recordings], axis=0)


def absent(recordings: Sequence[JointRecording]) -> set[str]:
    """Return the joints that are recorded nowhere."""
    return set.intersection(*(set(each.absent) for each in recordings))


def _increasing(t: ArrayLike) -> Array:
    time = float_array('t', t)
    if time.ndim != 1 or len(time) < 2:
        raise ArgumentError(f't must have shape (N,) with at least two samples, got {time.shape}')
    if not np.isfinite(time).all():
        raise ArgumentError(f't[{int(np.argmin(np.isfinite(time)))}] is not finite')
    steps = np.diff(time)
    if not steps.any():
        raise ArgumentError(
            f'all {len(time)} stamps are {time[0]:g} s: the driver does not stamp its joint states'
        )
    wrong = np.flatnonzero(steps <= 0.0)
    if wrong.size:
        k = int(wrong[0]) + 1
        what = 'the same as' if steps[k - 1] == 0.0 else 'before'
        raise ArgumentError(
            f'stamps must increase: sample {k} at {time[k]:.9g} s is {what} sample {k - 1} at '
            f'{time[k - 1]:.9g} s ({wrong.size} such samples); leave them out'
        )
    step = float(np.median(steps))
    if step >= MAX_STEP_S:
        raise ArgumentError(
            f'{time[-1] - time[0]:.4g} s at {1.0 / step:.3g} samples per second: are the stamps in '
            'seconds? Convert milliseconds or nanoseconds, or record faster'
        )
    return time


def _samples(
    field_name: str,
    values: ArrayLike,
    count: int,
    names: Sequence[str],
    columns_may_lack: bool = False,
) -> Array:
    array = float_array(field_name, values).copy()
    if array.shape != (count, len(names)):
        raise ArgumentError(
            f'{field_name} must have shape ({count}, {len(names)}): a row for each stamp, a column '
            f'for each of {", ".join(names)}; got {array.shape}'
        )
    wrong = ~np.isfinite(array)
    if columns_may_lack:
        wrong &= ~np.isnan(array).all(axis=0)
    if wrong.any():
        k, i = (int(x) for x in np.argwhere(wrong)[0])
        raise ArgumentError(
            f'{field_name} of joint {names[i]} is {array[k, i]} in sample {k} ({int(wrong.sum())} '
            'such numbers); leave these samples out'
        )
    return array


def _leave_out_zeros(tau: Array) -> None:
    """Set efforts that are always zero to NaN: drivers report zeros for unmeasured efforts."""
    tau[:, ~tau.any(axis=0)] = np.nan
    if np.isnan(tau).all():
        raise ArgumentError(
            'no joint reports efforts: they are missing or zero throughout; record what the '
            'motors do'
        )


def inspected(
    recordings: Sequence[JointRecording], robot: DynamicModel, measured_velocities: bool
) -> tuple[list[JointRecording], list[Finding]]:
    """Return checked recordings without spikes, and the findings.

    Raises ArgumentError for wrong velocities if these are used.
    """
    findings: list[Finding] = []
    runs = []
    for recording in recordings:
        run, spikes = without_spikes(recording, robot.joint_names)
        runs.append(run)
        findings += spikes
    findings += position_findings(runs, robot)
    findings += velocity_findings(runs, robot.joint_names, measured_velocities)
    return runs, findings


def without_spikes(
    recording: JointRecording, names: Sequence[str]
) -> tuple[JointRecording, list[Finding]]:
    """Return a recording without samples with single outliers of positions or efforts."""
    tau = np.nan_to_num(recording.tau)
    findings, wrong = [], np.zeros(len(recording.t), dtype=bool)
    for what, x, floor in (
        ('position', recording.q, MIN_RANGE),
        ('effort', tau, MIN_EFFORT_SHARE * _range(tau).max()),
    ):
        for i, rows in enumerate(_spikes(x, floor)):
            if not rows.any():
                continue
            wrong |= rows
            k = int(np.flatnonzero(rows)[np.abs(x[rows, i]).argmax()])
            count = int(rows.sum())
            some = f'{count} {what}s' if count > 1 else f'one {what}'
            low, high = np.min(x[~rows, i]), np.max(x[~rows, i])
            findings.append(
                Finding.warning(
                    f'joint {names[i]}',
                    f'{some} far from the samples before and after, {x[k, i]:.4g} at '
                    f'{recording.t[k]:.6g} s where others are within {low:.4g} and {high:.4g}; '
                    'skipped',
                    'look for the cause in the driver',
                )
            )
    if not wrong.any():
        return recording, []
    kept = ~wrong
    t, q, tau = recording.t[kept], recording.q[kept], recording.tau[kept]
    v = None if recording.v is None else recording.v[kept]
    return replace(recording, t=t, q=q, v=v, tau=tau), findings


def _spikes(x: Array, floor: float) -> Iterator[NDArray[np.bool_]]:
    """Yield masks (N,) of single spikes in each column of x (N, n)."""
    from scipy.ndimage import median_filter  # slow to import

    smooth = median_filter(x, size=(MEDIAN_LENGTH, 1), mode='nearest')
    difference = np.abs(x - smooth)
    sigma = np.median(difference, axis=0) / 0.6745  # for normal noise
    least = np.maximum(np.maximum(SPIKE_SIGMAS * sigma, SPIKE_SHARE * _range(smooth)), floor)
    for rows in (difference > least).T:
        yield rows & bool(rows.mean() <= MAX_SPIKE_SHARE)


def _range(x: Array) -> Array:
    return np.asarray(np.ptp(x, axis=0))


def position_findings(
    recordings: Sequence[JointRecording], robot: DynamicModel
) -> Iterator[Finding]:
    """Yield findings about positions beyond the joint limits, with the likely unit."""
    turns = robot.description.turns(robot.joint_names)
    low = np.min([each.q.min(axis=0) for each in recordings], axis=0)
    high = np.max([each.q.max(axis=0) for each in recordings], axis=0)
    limits = robot.limits
    yield from range_findings(robot.joint_names, turns, (limits.lower, limits.upper), (low, high))


def velocity_findings(
    recordings: Sequence[JointRecording], names: Sequence[str], used: bool
) -> Iterator[Finding]:
    """Yield findings about velocities that are not the derivatives of positions.

    Raises ArgumentError if they are used and too far from these derivatives.
    """
    measured = [(each, each.v) for each in recordings if each.v is not None]
    faults = {
        name: velocity_fault([JointMotion(each.t, each.q[:, k], v[:, k]) for each, v in measured])
        for k, name in enumerate(names)
    }
    wrong: dict[str, tuple[float, float]] = {}
    for recording, v in measured if used else ():
        derived, given = _mean_velocities(recording, v)
        for name, x, y in zip(names, derived.T, given.T):
            size, error = np.sqrt(np.mean(x**2)), np.sqrt(np.mean((y - x) ** 2))
            if error > VELOCITY_MISMATCH * size + VELOCITY_NOISE:  # not if NaN
                wrong.setdefault(name, (float(error), float(size)))
    for name, (error, size) in wrong.items():
        likely = '' if faults[name] is None else f'they are {faults[name]}: '
        raise ArgumentError(
            f'{joints_subject(wrong)}: the velocities differ from the derivatives of the positions '
            f'(of {name} by {error:.3g} rms, which are {size:.3g} themselves); {likely}check '
            'units, joint order and stamps, or leave them out'
        )
    yield from velocity_fault_findings(faults)


def _mean_velocities(recording: JointRecording, v: Array) -> tuple[Array, Array]:
    """Return mean velocities (M, n) of windows without gaps, from positions and as recorded."""
    t = recording.t[:, None]
    step = float(np.median(np.diff(recording.t)))
    n = min(max(round(VELOCITY_WINDOW_S / step), 1), len(t) - 1)
    moved = np.cumsum(0.5 * (v[1:] + v[:-1]) * np.diff(t, axis=0), axis=0)
    moved = np.concatenate([np.zeros((1, v.shape[1])), moved])
    time = t[n:] - t[:-n]
    rows = time[:, 0] < 1.5 * n * step
    derived = (recording.q[n:] - recording.q[:-n]) / time
    return derived[rows], ((moved[n:] - moved[:-n]) / time)[rows]
