# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""How wrong the external torques of an identified robot are: deviations and thresholds.

External torques of unloaded motion are zero; what the observer of the nodes estimates instead, from
the recordings of the identification, is its error e. Its mean square is divided into noise, which
filters lessen, and errors of the model, which they do not,

    mean e_i^2 = alpha s_tau,i^2 + beta sum_j mean(M_ij^2) s_v,j^2 + s_m,i^2,              (1)

with the gains alpha and beta of white noise behind the observer (`noise_propagation`). Noise shows
in the fourth differences of efforts and velocities, whose variance is 1 + 16 + 36 + 16 + 1 = 70
times that of white noise; by their median, as friction jumps. Where noise alone would be more than
(1), it is not white, and reduced. The mean square is that of all instants or of those that the
identification has not fitted, whichever is larger.

Thresholds follow from the peaks of e between its zeros. In one part of the motion, those above a
high level u come at the rate r_k and exceed it by m_k in the mean; where tails are exponential
(peaks over threshold), the level g is exceeded at the rate sum_k r_k exp((u - g) / m_k), above all
in the parts with the largest m_k. Between the `TAIL_RATES` this is nearly one exponential, with

    g = u + m log(r / f)                                                                   (2)

for the rate f: the stated one of all joints, divided by their number. A threshold is never below
the largest error that was seen; all are larger by a factor, as errors of the model are in other
motions.

Source: Coles 2001, *An introduction to statistical modeling of extreme values*, chapter 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..description.motor_coupling import motor_coupling
from ..estimation.noise_propagation import (
    NoiseVariance,
    set_momentum_stage,
    set_torque_stage,
    variance_after,
)
from ..estimation.observers.parameters import JOINTS
from ..estimation.residual_model import ResidualModel, peak_level
from ..identification.recording import JointRecording
from ..identification.result import DynamicIdentification
from ..robot.robot import Robot
from ..types import Array
from .annotate import Annotator
from .observation import COVARIANCE
from .settings import AnnotationSettings

OBSERVER = 'momentum'

#: False alarms of unloaded motion, of all joints together [1/s]: one in an hour, in 1000 hours.
FALSE_CONTACTS, FALSE_COLLISIONS = 1.0 / 3600.0, 1e-3 / 3600.0

MIN_SAMPLES = 100  # with external torques
HIGH_PEAKS = 0.8  # quantile of the peaks that is u of (2)
TAIL_RATES = (3e-3, 1e-7)  # f of (2) for which m and r are exact [1/s]
LEVELS = (60.0, 2000)  # g - u of the interpolation: largest one [largest m], number
MIN_EXCESS = 1e-12
MASS_MATRICES = 100  # configurations in the mean of (1)
MEDIAN_TO_DEVIATION = 1.4826  # of the absolute values of normal numbers
MIN_DEVIATION = 1e-6  # of written numbers
MOTION_FACTOR = 1.5  # by which errors in other motions may be larger
MIN_RATIO = 1.2  # of the threshold of collisions to that of contacts


@dataclass(frozen=True, eq=False)
class UnloadedResidual:
    """Errors of external torques by joint; those of joints without known efforts are omitted.

    Attributes
    ----------
    joint_names : tuple of n str
    velocity_deviation, effort_deviation, model_deviation : (n,) arrays
        s_v [rad/s, m/s], s_tau and s_m [N m, N] of (1).
    deviation : (n,) array
        Of the external torques by `OBSERVER`, the root of (1) [N m, N].
    contact_threshold, collision_threshold : (n,) arrays
        For the rates `FALSE_CONTACTS` and `FALSE_COLLISIONS` [N m, N].
    derived_share : (n,) array or None
        Share of `deviation`**2 by noise of velocities, if none are recorded in some recording, so
        that they are differences of positions, as in the nodes.
    """

    joint_names: tuple[str, ...]
    velocity_deviation: Array
    effort_deviation: Array
    model_deviation: Array
    deviation: Array
    contact_threshold: Array
    collision_threshold: Array
    derived_share: Array | None = None


def unloaded_residual(
    robot: Robot,
    result: DynamicIdentification,
    recordings: Sequence[JointRecording],
    runs: Sequence[JointRecording],
) -> UnloadedResidual | None:
    """Return the errors of external torques, None if there are too few samples for them.

    Parameters
    ----------
    robot : Robot
        The identified one.
    result : DynamicIdentification
        For the efforts of the recordings as they are.
    recordings : sequence of JointRecording
        Those of the identification.
    runs : sequence of JointRecording
        The same `as_of_nodes`.
    """
    known, parts, marks, time = _known(result), list[Array](), list[Array](), 0.0
    for number, run in enumerate(runs):
        e = np.concatenate([e for e, _ in torques_without_load(robot, run, settings_of(result))])
        settled = np.isfinite(e).all(axis=1)
        parts.append(e[settled])
        marks.append(_held_out(run.t, result, number)[settled])
        time += float(np.diff(run.t)[settled[1:]].sum())
    e, held_out = np.concatenate(parts), np.concatenate(marks)
    if not known.any() or len(e) < MIN_SAMPLES:
        return None
    squares = np.mean(e**2, axis=0)
    if held_out.sum() >= MIN_SAMPLES:
        squares = np.maximum(squares, np.mean(e[held_out] ** 2, axis=0))
    effort, velocity, model, by_velocity = _divided(robot, runs, squares, known)
    derived = any(each.v is None or np.isnan(each.v).all() for each in recordings)
    return UnloadedResidual(
        tuple(name for name, k in zip(result.joint_names, known) if k),
        np.maximum(velocity[known], MIN_DEVIATION),
        effort[known],
        model[known],
        np.sqrt(squares[known]),
        *_thresholds([part[:, known] for part in parts], time),
        (by_velocity / squares)[known] if derived else None,
    )


def _known(result: DynamicIdentification) -> NDArray[np.bool_]:
    """Return the joints (n,) whose torques are known."""
    return np.asarray(np.isfinite(result.effort_scale) & ~np.isnan(result.noise))


def as_of_nodes(
    robot: Robot,
    result: DynamicIdentification,
    recordings: Sequence[JointRecording],
    payload_link: str = '',
) -> list[JointRecording]:
    """Return recordings with torques, with velocities as nodes derive them, and all payloads."""
    coupling, runs = motor_coupling(robot.joint_names, robot.drives), []
    for each in recordings:
        payloads = dict(each.payloads)
        if result.load is not None and each.load is not None:
            payloads[each.load.link] = result.load
        if result.payload is not None and payload_link:
            payloads[payload_link] = result.payload
        torques = each.tau * result.effort_scale + result.effort_offset
        tau = np.where(_known(result), torques, 0.0) @ coupling
        runs.append(replace(each, v=rates_of_nodes(each), tau=tau, payloads=payloads))
    return runs


def rates_of_nodes(recording: JointRecording) -> Array:
    """Return velocities (N, n), from differences of positions where they lack."""
    t, q, v = recording.t, recording.q, recording.v
    differences = np.diff(q, axis=0, prepend=q[:1]) / np.diff(t, prepend=t[0] - 1.0)[:, None]
    return differences if v is None else np.where(np.isnan(v).any(axis=0), differences, v)


def settings_of(
    result: DynamicIdentification, residual: UnloadedResidual | None = None
) -> AnnotationSettings:
    """Return the settings of the external torques of an identified robot, with noise if known."""
    delay, given = result.effort_delay, dict[str, Any](observer=OBSERVER)
    if residual is not None:
        given[JOINTS] = residual.joint_names
        given['observer_velocity_deviation'] = tuple(residual.velocity_deviation)
        given['observer_effort_deviation'] = tuple(residual.effort_deviation)
    return AnnotationSettings(
        effort_delay=max(delay.value, 0.0) if delay.is_certain else 0.0, **given
    )


def torques_without_load(
    robot: Robot,
    recording: JointRecording,
    settings: AnnotationSettings,
    residual: ResidualModel | None = None,
) -> Iterator[tuple[Array, Array]]:
    """Yield the external torques e (M, n) of blocks of a recording, and their covariances.

    They are NaN before the observer settles; the covariances are empty without a `residual`.
    """
    annotator = Annotator(robot, ['external_torque'], (), recording.payloads, settings, residual)
    stamps = np.round((recording.t - recording.t[0]) * 1e9).astype(np.int64)
    assert recording.v is not None
    motion = annotator.motion(stamps, recording.q, recording.v, recording.tau)
    for _, part in annotator.blocks(motion):
        yield part['external_torque'], part.get(COVARIANCE, np.empty(0))


def _held_out(t: Array, result: DynamicIdentification, number: int) -> NDArray[np.bool_]:
    """Return which samples of a recording are in blocks that were held out."""
    marked, torques = np.zeros(len(t), dtype=bool), result.torques
    chosen = torques.recording == number
    for part in np.unique(torques.part[chosen]):
        rows = torques.part == part
        edges = np.flatnonzero(np.diff(torques.held_out[rows].astype(int))) + 1
        for block, held in zip(
            np.split(torques.t[rows], edges), np.split(torques.held_out[rows], edges)
        ):
            if held[0]:
                marked |= (t >= block[0]) & (t <= block[-1])
    return marked


def _divided(
    robot: Robot, runs: Sequence[JointRecording], squares: Array, known: NDArray[np.bool_]
) -> tuple[Array, Array, Array, Array]:
    """Return s_tau, s_v and s_m of (1) and its term of velocities, (n,) each."""
    efforts, velocities = (
        np.median([_white_deviation(getattr(run, what)) for run in runs], axis=0)
        for what in ('tau', 'v')
    )
    step = float(np.median(np.concatenate([np.diff(run.t) for run in runs])))
    decay = math.exp(-step / AnnotationSettings().observer_time_constant)
    of_efforts, of_momenta = NoiseVariance(1), NoiseVariance(1)
    set_torque_stage(of_efforts, decay)
    set_momentum_stage(of_momenta, decay, 1.0 / step)
    alpha, beta = (variance_after(each, 0) for each in (of_efforts, of_momenta))
    q = np.concatenate([run.q for run in runs])
    chosen = q[np.linspace(0, len(q) - 1, MASS_MATRICES).astype(int)]
    M2 = np.mean([robot.mass_matrix(each) ** 2 for each in chosen], axis=0)
    by_velocity = beta * M2 @ velocities**2
    share = float(np.min(squares[known] / np.maximum(by_velocity[known], 1e-300)))
    if share < 1.0:  # errors of velocities are not white: differences of positions, filters
        velocities, by_velocity = velocities * math.sqrt(share), by_velocity * share
    left = np.maximum(squares - by_velocity, 0.0)
    efforts = np.minimum(efforts, np.sqrt(left / alpha))
    model = np.sqrt(np.maximum(left - alpha * efforts**2, 0.0))
    return efforts, velocities, model, by_velocity


def _white_deviation(x: Array) -> Array:
    """Return the standard deviation of the white noise in columns (N, n), (n,)."""
    fourth = np.abs(np.diff(x, 4, axis=0))
    return np.asarray(MEDIAN_TO_DEVIATION * np.median(fourth, axis=0) / math.sqrt(70.0))


def _thresholds(parts: Sequence[Array], time: float) -> tuple[Array, Array]:
    """Return the levels (2) of errors, parts (N, k), for both rates of false alarms, (k,) each."""
    tails = [exponential_tail(each, time) for each in zip(*(part.T for part in parts))]
    contact, collision = (
        np.array([MOTION_FACTOR * max(peak_level(*x[:3], rate / len(tails)), x[3]) for x in tails])
        for rate in (FALSE_CONTACTS, FALSE_COLLISIONS)
    )
    contact = np.maximum(contact, MIN_DEVIATION)
    return contact, np.maximum(collision, MIN_RATIO * contact)


def exponential_tail(
    parts: Sequence[Array], time: float, quantile: float = HIGH_PEAKS
) -> tuple[float, float, float, float]:
    """Return u, m and r of (2) of errors of a duration [s], and the largest absolute error."""
    peaks = [_peaks(e) for e in parts]
    largest = [float(each.max()) for each in peaks]
    high = float(np.quantile(np.concatenate(peaks), quantile))
    above = [each[each >= high] - high for each, top in zip(peaks, largest) if top >= high]
    means = np.array([each.mean() for each in above]) + MIN_EXCESS
    levels = means.max() * np.linspace(0.0, *LEVELS)
    rates = np.array([len(each) for each in above]) / time @ np.exp(-levels / means[:, None])
    low, far = np.interp(-np.log(TAIL_RATES), -np.log(rates), levels)
    mean = max((far - low) / math.log(TAIL_RATES[0] / TAIL_RATES[1]), MIN_EXCESS)
    return high, mean, TAIL_RATES[0] * math.exp(low / mean), max(largest)


def _peaks(e: Array) -> Array:
    """Return the largest absolute values (k,) of e (N,) between its zeros."""
    starts = np.flatnonzero(np.diff(e >= 0.0, prepend=~(e[:1] >= 0.0)))
    return np.asarray(np.maximum.reduceat(np.abs(e), starts))
