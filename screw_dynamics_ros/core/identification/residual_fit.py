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
MIN_SHARE = 0.05  # of errors that are neither noise nor uncertainty of the features


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
    block, recording : (M,) arrays of int
    period : float
        Between rows [s].
    """

    X: Array
    psi: Array
    e: Array
    block: NDArray[np.int64]
    recording: NDArray[np.int64]
    period: float


def fit_residual(
    robot: Robot,
    recordings: Sequence[JointRecording],
    *,
    settings: AnnotationSettings | None = None,
    noise: Array | None = None,
) -> ResidualFit:
    """Return the residuals of a robot, from recordings without contact.

    Parameters
    ----------
    robot : Robot
        The identified one.
    recordings : sequence of JointRecording
        With torques, as `annotate_arrays` takes them; `v` is derived where it lacks.
    settings : AnnotationSettings, optional
        Of the observer; with `OBSERVER` by default.
    noise : (n,) array, optional
        Variances of noise of the external torques, which those of the model do not contain.

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
    model, rows = _rows(robot, runs, settings)
    names, seconds = robot.joint_names, len(rows.e) * rows.period
    if seconds < MIN_SECONDS:
        raise ArgumentError(
            f'{seconds:.3g} s with external torques are too short: record at least '
            f'{MIN_SECONDS:g} s of motion without contact, better ten minutes'
        )
    n = len(names)
    before, after, standard = np.full(n, np.nan), np.full(n, np.nan), np.zeros(rows.e.shape)
    by_recording = np.full((len(runs) if len(runs) > 1 else 0, 2, n), np.nan)
    findings = []
    for j in np.flatnonzero(known).tolist():
        found = _fitted_joint(rows, j, len(by_recording))
        before[j], after[j] = _rms(found.offset_errors), _rms(found.errors)
        by_recording[:, :, j] = found.by_recording
        variances = _set_joint(model, j, rows, found, 0.0 if noise is None else float(noise[j]))
        standard[:, j] = found.stated_errors / np.sqrt(variances)
        if not found.is_better:
            findings.append(
                Finding.warning(
                    f'joint {names[j]}',
                    f'no model of the residual: in held-out blocks it does not reduce '
                    f'{before[j]:.3g} by {100.0 * MIN_GAIN:.0f} %',
                    'record ten minutes with many reversals, slow and fast motion, and rest',
                )
            )
    _set_common(model, np.flatnonzero(known), rows, standard)
    return ResidualFit(names, model, before, after, by_recording, findings)


def _rows(
    robot: Robot, runs: Sequence[JointRecording], settings: AnnotationSettings
) -> tuple[ResidualModel, ResidualRows]:
    """Return a model with recorded ranges only, and its equations."""
    n, total = robot.nv, sum(len(run.t) for run in runs)
    q, v, tau = (np.concatenate([getattr(run, name) for run in runs]) for name in STATE)
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
    stride = -(-total // MAX_ROWS)
    parts: list[tuple[Array, ...]] = []
    blocks = 0
    duration = sum(float(run.t[-1] - run.t[0]) for run in runs)
    length = min(max(BLOCK_SECONDS, duration / MAX_BLOCKS), duration / MIN_BLOCKS)
    for number, run in enumerate(runs):
        X, psi = _features(model, run, settings, stride)
        e = torques_without_load(robot, run, settings)[::stride]
        good = np.isfinite(e).all(axis=1)
        block = blocks + ((run.t[::stride] - run.t[0]) / length).astype(np.int64)
        blocks = int(block.max()) + 1
        parts.append((X[good], psi[good], e[good], block[good], np.full(good.sum(), number)))
    X, psi, e, block, recording = map(np.concatenate, zip(*parts))
    return model, ResidualRows(X, psi, e, block, recording, duration / total * stride)


def _features(
    model: ResidualModel, run: JointRecording, settings: AnnotationSettings, stride: int
) -> tuple[Array, Array]:
    """Return filtered features (M, n, p) and psi (M, n, 7), of each `stride`-th state."""
    n, h = run.q.shape[1], np.diff(run.t, prepend=run.t[0])
    h[h > settings.longest_step] = 0.0
    r = FilteredFeatures()
    r.model, r.stride = model, stride
    r.elapsed = np.round(h * 1e9).astype(np.int64)
    r.states = np.hstack([getattr(run, name) for name in STATE]).ravel()
    r.decay = np.exp(-h / settings.observer_time_constant)
    r.before, r.filtered = np.zeros((2, FEATURES * n))
    count = -(-len(run.t) // stride)
    rows, psi = np.zeros((count, n, FEATURES)), np.zeros((count, n, SPREADS))
    r.rows, r.psi = rows.ravel(), psi.ravel()
    calls(fill_rows)[0](r)
    return rows, psi


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
        `errors`; where those of held-out recordings are larger, scaled to the geometric mean.
    is_better : bool
        Whether the features are worth while.
    by_recording : (k, 2) array
    """

    theta: Array
    inverse: Array
    errors: Array
    offset_errors: Array
    stated_errors: Array
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
    return FittedJoint(
        factors * (inverse @ (X.T @ y)),
        factors[:, None] * inverse * factors,
        errors,
        offsets,
        stated,
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


def _set_joint(
    model: ResidualModel, j: int, rows: ResidualRows, found: FittedJoint, noise: float
) -> Array:
    """Set the numbers of a joint; return the variances (M,) of its errors."""
    X, y, errors, p = rows.X[:, j], rows.e[:, j], found.stated_errors, FEATURES
    square, doubt = float(np.mean(errors**2)), np.zeros(len(y))
    if found.is_better:
        model.map.plain[j] = y.mean()
        model.weights[p * j : p * (j + 1)] = found.theta
        model.weights[p * j] -= y.mean()
        S = square * _dependent_rows(errors, rows) * found.inverse
        model.posterior[p * p * j : p * p * (j + 1)] = S.ravel()
        model.explained[j] = np.mean((X @ found.theta - y.mean()) ** 2)
        doubt = ((X @ S) * X).sum(axis=1)
    spread = _spread(rows.psi[:, j], errors**2)
    spread[0] += math.log(max(1.0 - (doubt.mean() + noise) / square, MIN_SHARE))
    logs = rows.psi[:, j] @ spread
    model.spread[SPREADS * j : SPREADS * (j + 1)] = spread
    model.limits[2 * j : 2 * j + 2] = np.clip([logs.min(), logs.max()], -MAX_LOG, MAX_LOG)
    return np.asarray(np.exp(logs) + doubt)


def _dependent_rows(errors: Array, rows: ResidualRows) -> float:
    """Return the number of rows after which errors are independent."""
    length = max(round(INDEPENDENT_SECONDS / rows.period), 1)
    count = len(errors) // length
    means = errors[: count * length].reshape(count, length).mean(axis=1)
    return max(length * float(np.mean(means**2) / np.mean(errors**2)), 1.0)


def _spread(psi: Array, squares: Array) -> Array:
    """Return a (7,) of the largest likelihood of normal errors with these squares."""
    from scipy.optimize import minimize  # slow to import

    mean = max(float(squares.mean()), 1e-300)
    ratios, ridge = squares / mean, SPREAD_RIDGE * (np.arange(SPREADS) > 0)

    def cost(a: Array) -> tuple[float, Array]:
        logs = np.clip(psi @ a, -30.0, 30.0)
        scaled = ratios * np.exp(-logs)
        value = float(np.mean(logs + scaled) + ridge @ a**2)
        return value, psi.T @ (1.0 - scaled) / len(psi) + 2.0 * ridge * a

    a: Array = minimize(cost, np.zeros(SPREADS), jac=True, method='BFGS').x
    a[0] += math.log(mean)
    return a


def _set_common(
    model: ResidualModel, places: NDArray[np.intp], rows: ResidualRows, standard: Array
) -> None:
    """Set correlations between joints, and tails, of standardized errors (M, n)."""
    correlation = model.correlation.reshape(2 * (standard.shape[1],))
    for j in places.tolist():
        e = standard[:, j]
        correlation[j, places] = standard[:, places].T @ e
        parts = [e[rows.recording == k] for k in np.unique(rows.recording)]
        model.tails[3 * j : 3 * j + 3] = exponential_tail(parts, len(e) * rows.period, HIGH_PEAKS)[
            :3
        ]
    size = np.sqrt(correlation.diagonal())
    model.correlation[:] = (correlation / size / size[:, None]).ravel()


def _rms(x: Array) -> float:
    return float(np.sqrt(np.mean(x**2))) if len(x) else math.nan
