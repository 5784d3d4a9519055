# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Fit of `ResidualModel` to recordings of motion without contact.

The external torques of such a motion are zero; what the observer of the nodes estimates instead is
the residual e behind a filter of first order. The features pass the same filter,

    e = F phi^T theta + error,                                                                (1)

which is linear in theta. For each joint it is solved by ridge regression, whose regularization of
features of poses and of all others minimizes the errors of blocks of time that are held out in
turn. A joint has a model only if its errors in these blocks are less than without one, in most
blocks as well as together. The variances of the model are those of the held-out errors.

With correlated errors, the covariance of theta is that of independent ones times the number of
samples after which errors are independent, from the variance of the means of short intervals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..annotation.settings import AnnotationSettings
from ..annotation.unloaded_residual import (
    OBSERVER,
    exponential_tail,
    rates_of_nodes,
    torques_without_load,
)
from ..compile.typed.functions import Floats, Ints, typed
from ..compile.typed.library import calls
from ..compile.typed.records import Record
from ..description.robot_description import Finding
from ..errors import ArgumentError
from ..estimation.observers.table import described
from ..estimation.residual_map import ResidualMap
from ..estimation.residual_model import (
    FEATURES,
    FITTED,
    MAX_LOG,
    POSE_FEATURES,
    SPREADS,
    ResidualModel,
    advance_model,
)
from ..robot.robot import Robot
from ..types import Array
from .recording import JointRecording, checked, measured, moving

STATE = ('q', 'v', 'tau')  # of recordings
MIN_SECONDS = 30.0  # with external torques
MIN_BLOCKS, MAX_BLOCKS, BLOCK_SECONDS = 10, 60, 5.0
FOLDS = 5
MAX_ROWS = 30_000  # of (1)
MIN_GAIN = 0.03  # in errors of held-out blocks, for a weaker regularization
MIN_BETTER_BLOCKS = 0.6
RIDGES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)  # relative to the mean squares of features
POSE_RIDGES = (1e12, 1e-1, 1e-2)  # without features of poses first
EXTRA_RANGE = 1.05  # of recorded velocities and efforts
INDEPENDENT_SECONDS = 2.0  # intervals whose means are independent
SPREAD_RIDGE = 1e-3  # of a
HIGH_PEAKS = 0.95  # quantile of peaks whose tail is exponential
TAIL_SECONDS = 60.0  # of parts of a motion with separate tails


@dataclass(frozen=True, eq=False)
class ResidualFit:
    """A fitted model, and its errors.

    Attributes
    ----------
    joint_names : tuple of n str
    model : ResidualModel
    before, after : (n,) arrays
        Root mean squares of external torques in held-out blocks with a constant offset, and with
        the model [N m, N]; NaN for joints without efforts.
    by_recording : (k, 2, n) array
        The same of each of several recordings, fitted to the others; empty for one.
    findings : list of Finding
    """

    joint_names: tuple[str, ...]
    model: ResidualModel
    before: Array
    after: Array
    by_recording: Array
    findings: list[Finding]


class FilteredFeatures(Record):
    """States of a recording, and the filtered features of some of them.

    Attributes
    ----------
    model : ResidualModel
    elapsed : (N,) array of int
        Time since the last state [ns], 0 after a pause.
    states : (3 n N,) array
    decay : (N,) array
        e^(-h / T) of the observer.
    before, filtered : (p n,) arrays
    stride : int
        Number of states between rows.
    rows, psi : arrays
        Their filtered features and psi, p n and 7 n each.
    """

    model: ResidualModel
    elapsed: Ints
    states: Floats
    decay: Floats
    before: Floats
    filtered: Floats
    stride: int
    rows: Floats
    psi: Floats


@typed
def fill_rows(r: FilteredFeatures) -> None:
    """Set the rows, with the weights of the observer `momentum`."""
    m = r.model
    size = len(r.filtered)
    count = len(m.states)
    width = 3 * len(m.last)
    for k in range(len(r.elapsed)):
        advance_model(m, r.states[width * k :], r.elapsed[k])
        is_start = r.elapsed[k] == 0
        for i in range(size):
            mean = 0.5 * (m.features[i] + r.before[i])
            r.before[i] = m.features[i]
            r.filtered[i] = 0.0 if is_start else mean + r.decay[k] * (r.filtered[i] - mean)
        row = k // r.stride
        if k == row * r.stride:
            for i in range(size):
                r.rows[size * row + i] = r.filtered[i]
            for i in range(count):
                r.psi[count * row + i] = m.states[i]


class ResidualRows(NamedTuple):
    """Equations (1) of all recordings: M rows of n joints.

    Attributes
    ----------
    X, psi : (M, n, p) and (M, n, 7) arrays
    e : (M, n) array
        External torques without the model [N m, N].
    block, recording, places : (M,) arrays of int
        The places are those among all states.
    period : float
        Between rows [s].
    """

    X: Array
    psi: Array
    e: Array
    block: NDArray[np.int64]
    recording: NDArray[np.int64]
    places: NDArray[np.int64]
    period: float


def fit_residual(
    robot: Robot,
    recordings: Sequence[JointRecording],
    settings: AnnotationSettings | None = None,
) -> ResidualFit:
    """Return the residuals of a robot, from recordings without contact.

    Parameters
    ----------
    robot : Robot
        The identified one.
    recordings : sequence of JointRecording
        With torques, as `annotate_arrays` takes them; `v` is derived where it lacks.
    settings : AnnotationSettings, optional
        Of the observer that the variances are for, and the deviations of efforts and velocities,
        which they do not contain; with `OBSERVER` by default.

    Raises
    ------
    ArgumentError
        Too little motion; recordings that `checked` refuses.
    """
    settings = settings or AnnotationSettings(observer=OBSERVER)
    runs = [checked(each, robot) for each in recordings]
    if not runs or not moving(runs).any():
        raise ArgumentError(
            'no recording in which a joint moves: record motion of all joints in both directions'
        )
    known = measured(runs)
    runs = [replace(run, v=rates_of_nodes(run), tau=np.nan_to_num(run.tau)) for run in runs]
    model, rows = _rows(robot, runs, replace(settings, observer=OBSERVER))
    names, seconds = robot.joint_names, len(rows.e) * rows.period
    if seconds < MIN_SECONDS:
        raise ArgumentError(
            f'{seconds:.3g} s with external torques are too short: record at least '
            f'{MIN_SECONDS:g} s of motion without contact, better ten minutes'
        )
    n = len(names)
    before, after = np.full((2, n), np.nan)
    by_recording = np.full((len(runs) if len(runs) > 1 else 0, 2, n), np.nan)
    findings, fits = [], {}
    for j in np.flatnonzero(known).tolist():
        found = fits[j] = _fitted_joint(rows, j, len(by_recording))
        before[j], after[j] = _rms(found.offset_errors), _rms(found.errors)
        by_recording[:, :, j] = found.by_recording
        if found.is_better:
            _set_function(model, j, rows, found)
        else:
            findings.append(
                Finding.warning(
                    f'joint {names[j]}',
                    f'no model of the residual: in held-out blocks it does not reduce '
                    f'{before[j]:.3g} by {100.0 * MIN_GAIN:.0f} %',
                    'record ten minutes with many reversals, slow and fast motion, and rest',
                )
            )
    e, noise = (each[rows.places] for each in _observed(robot, runs, settings, model))
    _set_variances(model, rows, fits, e, noise)
    model.observer = described(vars(settings))
    return ResidualFit(names, model, before, after, by_recording, findings)


def _rows(
    robot: Robot, runs: Sequence[JointRecording], settings: AnnotationSettings
) -> tuple[ResidualModel, ResidualRows]:
    """Return a model with recorded ranges only, and its equations."""
    n, total = robot.nv, sum(len(run.t) for run in runs)
    q, v, tau = states = [np.concatenate([getattr(run, name) for run in runs]) for name in STATE]
    fitted = {name: np.zeros(n * size) for name, size in FITTED.items()}
    fitted['limits'][:] = -MAX_LOG  # no variance
    fitted |= {
        'speeds': EXTRA_RANGE * np.abs(v).max(axis=0),
        'loads': EXTRA_RANGE * np.abs(tau).max(axis=0),
    }
    fitted |= {'middles': 0.5 * (q.max(axis=0) + q.min(axis=0)), 'ranges': 0.5 * np.ptp(q, axis=0)}
    for name in ('speeds', 'loads', 'ranges'):
        fitted[name] = np.where(fitted[name] > 0.0, fitted[name], 1.0)
    plain = ResidualMap.none(n)
    turning = robot.description.turns(robot.joint_names)
    plain.turning, plain.scales = turning.astype(np.int64), np.where(turning, 1.0, fitted['ranges'])
    model = ResidualModel(plain, fitted | {'correlation': np.eye(n)})
    h = np.concatenate([np.diff(run.t, prepend=run.t[0]) for run in runs])
    h[h > settings.longest_step] = 0.0
    stride = -(-total // MAX_ROWS)
    X, psi = _features(model, h, np.hstack(states), settings.observer_time_constant, stride)
    e = _observed(robot, runs, settings, model)[0][::stride]
    good = np.isfinite(e).all(axis=1)
    duration, places = float(h.sum()), np.arange(0, total, stride)[good]
    length = min(max(BLOCK_SECONDS, duration / MAX_BLOCKS), duration / MIN_BLOCKS)
    block = (np.cumsum(h) / length).astype(np.int64)[places]
    recording = np.repeat(np.arange(len(runs)), [len(run.t) for run in runs])[places]
    period = duration / total * stride
    return model, ResidualRows(X[good], psi[good], e[good], block, recording, places, period)


def _features(
    model: ResidualModel, h: Array, states: Array, time_constant: float, stride: int
) -> tuple[Array, Array]:
    """Return filtered features (M, n, p) and psi (M, n, 7), of each `stride`-th state.

    `h` (N,) is the time since the last state [s], 0 after a pause.
    """
    r, n, count = FilteredFeatures(), len(model.last), -(-len(h) // stride)
    r.model, r.stride, r.states = model, stride, states.ravel()
    r.elapsed, r.decay = np.round(h * 1e9).astype(np.int64), np.exp(-h / time_constant)
    r.before, r.filtered = np.zeros((2, FEATURES * n))
    rows, psi = np.zeros((count, n, FEATURES)), np.zeros((count, n, SPREADS))
    r.rows, r.psi = rows.ravel(), psi.ravel()
    calls(fill_rows)[0](r)
    return rows, psi


def _observed(
    robot: Robot, runs: Sequence[JointRecording], settings: AnnotationSettings, model: ResidualModel
) -> list[Array]:
    """Return external torques with a model, and their stated variances, of all states (N, n)."""
    blocks = (each for run in runs for each in torques_without_load(robot, run, settings, model))
    parts = [(e, covariance.diagonal(axis1=1, axis2=2).copy()) for e, covariance in blocks]
    return [np.concatenate(each) for each in zip(*parts)]


class FittedJoint(NamedTuple):
    """The fit of one joint.

    Attributes
    ----------
    theta : (p,) array
        With the constant part.
    inverse : (p, p) array
        Of the matrix of the normal equations.
    errors, offset_errors : (M,) arrays
        Of held-out blocks, and with a constant instead.
    stated_errors : (M,) array
        `errors`, or those of held-out recordings if they are larger.
    beyond_fit : (M,) array
        By which these differ from those of the fit.
    is_better : bool
        Whether the features are worth while.
    by_recording : (k, 2) array
    """

    theta: Array
    inverse: Array
    errors: Array
    offset_errors: Array
    stated_errors: Array
    beyond_fit: Array
    is_better: bool
    by_recording: Array


def _fitted_joint(rows: ResidualRows, j: int, recordings: int) -> FittedJoint:
    """Return the fit with the regularization that suits held-out blocks.

    `recordings` is their number if there are several, otherwise 0.
    """
    X, y, fold = rows.X[:, j], rows.e[:, j], rows.block % FOLDS
    size = np.sqrt(np.mean(X**2, axis=0))
    factors = 1.0 / np.where(size > 0.0, size, 1.0)
    X = factors * X
    offsets = _held_out(X[:, :1], y, fold, np.zeros(1))
    errors, chosen = offsets, np.zeros(FEATURES)
    for pose in POSE_RIDGES:
        for ridge in RIDGES:
            penalty = np.full(FEATURES, ridge)
            penalty[-POSE_FEATURES:], penalty[0] = pose, 0.0
            found = _held_out(X, y, fold, penalty)
            if _rms(found) < (1.0 - MIN_GAIN) * _rms(errors):
                errors, chosen = found, penalty
    better = np.bincount(rows.block, errors**2) < np.bincount(rows.block, offsets**2)
    is_better = bool(chosen.any() and np.mean(better[np.unique(rows.block)]) >= MIN_BETTER_BLOCKS)
    errors = stated = errors if is_better else offsets
    of_recordings = np.zeros((0, 2))
    if recordings:
        plain = _held_out(X[:, :1], y, rows.recording, np.zeros(1))
        others = _held_out(X, y, rows.recording, chosen) if is_better else plain
        if _rms(others) > _rms(errors):
            stated = others
        parts = [rows.recording == k for k in range(recordings)]
        of_recordings = np.array([[_rms(x[part]) for x in (plain, others)] for part in parts])
    inverse = np.linalg.inv(X.T @ X + np.diag(chosen) * len(y))
    theta = inverse @ (X.T @ y)
    return FittedJoint(
        factors * theta,
        factors[:, None] * inverse * factors,
        errors,
        offsets,
        stated,
        stated - (y - X @ theta if is_better else y),
        is_better,
        of_recordings,
    )


def _held_out(X: Array, y: Array, fold: NDArray[np.int64], penalty: Array) -> Array:
    """Return the errors (M,) of each fold by ridge regression of the others."""
    G, b, errors = X.T @ X, X.T @ y, np.empty(len(y))
    for k in np.unique(fold):
        part = fold == k
        A, z = X[part], y[part]
        matrix = G - A.T @ A + np.diag(penalty) * (len(y) - len(z)) + np.eye(len(G)) * 1e-9
        errors[part] = z - A @ np.linalg.solve(matrix, b - A.T @ z)
    return errors


def _set_function(model: ResidualModel, j: int, rows: ResidualRows, found: FittedJoint) -> None:
    """Set the function of a joint."""
    y, p = rows.e[:, j], FEATURES
    model.map.plain[j] = y.mean()
    model.weights[p * j : p * (j + 1)] = found.theta
    model.weights[p * j] -= y.mean()
    model.explained[j] = np.mean((rows.X[:, j] @ found.theta - y.mean()) ** 2)


def _dependent_rows(errors: Array, rows: ResidualRows) -> float:
    """Return the number of rows after which errors are independent."""
    length = max(round(INDEPENDENT_SECONDS / rows.period), 1)
    count = len(errors) // length
    means = errors[: count * length].reshape(count, length).mean(axis=1)
    return max(length * float(np.mean(means**2) / np.mean(errors**2)), 1.0)


def _spread(psi: Array, squares: Array, known: Array) -> Array:
    """Return a (7,) of the largest likelihood of normal errors with these squares.

    A part of their variances is `known`.
    """
    from scipy.optimize import minimize  # slow to import

    mean = max(float(squares.mean()), 1e-300)
    ratios, parts, ridge = squares / mean, known / mean, SPREAD_RIDGE * (np.arange(SPREADS) > 0)

    def cost(a: Array) -> tuple[float, Array]:
        own = np.exp(np.clip(psi @ a, -30.0, 30.0))
        total = own + parts
        value = float(np.mean(np.log(total) + ratios / total) + ridge @ a**2)
        slope = (1.0 - ratios / total) * own / total
        return value, psi.T @ slope / len(psi) + 2.0 * ridge * a

    a: Array = minimize(cost, np.zeros(SPREADS), jac=True, method='BFGS').x
    a[0] += math.log(mean)
    return a


def _set_variances(
    model: ResidualModel, rows: ResidualRows, fits: dict[int, FittedJoint], e: Array, noise: Array
) -> None:
    """Set variances, correlations between joints, and tails.

    `e` (M, n) are the external torques with the model, `noise` (M, n) their variances by noise.
    """
    p, n, places, standard = FEATURES, e.shape[1], list(fits), np.zeros(e.shape)
    seconds = len(e) * rows.period
    for j, found in fits.items():
        X, psi, errors, doubt = rows.X[:, j], rows.psi[:, j], e[:, j] + found.beyond_fit, 0.0
        if found.is_better:
            square = np.mean(found.stated_errors**2) * _dependent_rows(found.stated_errors, rows)
            model.posterior[p * p * j : p * p * (j + 1)] = (square * found.inverse).ravel()
            doubt = square * ((X @ found.inverse) * X).sum(axis=1)
        spread = _spread(psi, errors**2, noise[:, j] + doubt)
        logs, variance = psi @ spread, noise[:, j].mean()
        model.spread[SPREADS * j : SPREADS * (j + 1)] = spread
        model.limits[2 * j : 2 * j + 2] = np.clip([logs.min(), logs.max()], -MAX_LOG, MAX_LOG)
        model.noise[j] = math.sqrt(variance)
        standard[:, j] = errors / np.sqrt(np.exp(logs) + doubt + variance)
        parts = np.array_split(standard[:, j], max(round(seconds / TAIL_SECONDS), 1))
        model.tails[3 * j : 3 * j + 3] = exponential_tail(parts, seconds, HIGH_PEAKS)[:3]
    correlation = model.correlation.reshape(n, n)
    correlation[np.ix_(places, places)] = standard[:, places].T @ standard[:, places]
    size = np.sqrt(correlation.diagonal())
    model.correlation[:] = (correlation / size / size[:, None]).ravel()


def _rms(x: Array) -> float:
    return float(np.sqrt(np.mean(x**2))) if len(x) else math.nan
