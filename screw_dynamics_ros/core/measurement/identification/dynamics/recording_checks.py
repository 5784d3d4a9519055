# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Faults of recordings, detected before the fit: spikes, wrong units, wrong velocities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.description.robot_description import Finding
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array

from ..state_checks import (
    JointMotion,
    joints_subject,
    range_findings,
    velocity_fault,
    velocity_fault_findings,
)
from .recording import MIN_RANGE, DynamicModel, JointRecording

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
                Finding(
                    'warning',
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
    kinds = {joint.name: joint.kind for joint in robot.description.joints}
    turns = np.array([kinds[name].turns for name in robot.joint_names])
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
