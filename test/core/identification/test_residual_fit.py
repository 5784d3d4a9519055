# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Residuals fitted to motion without contact: what they gain in other motion, and refusals."""

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.annotation.annotate import annotate_arrays
from screw_dynamics_ros.core.annotation.settings import AnnotationSettings
from screw_dynamics_ros.core.annotation.unloaded_residual import OBSERVER
from screw_dynamics_ros.core.compile.typed.functions import Floats, typed
from screw_dynamics_ros.core.compile.typed.library import calls
from screw_dynamics_ros.core.estimation.residual_model import (
    FEATURES,
    ResidualModel,
    advance_model,
    peak_level,
    set_doubts,
)
from screw_dynamics_ros.core.estimation.threshold_flag import ThresholdFlag
from screw_dynamics_ros.core.identification import JointRecording
from screw_dynamics_ros.core.identification.residual_fit import fit_residual
from support.robots import urdf_path
from support.unmodeled_friction import FrictionalArm

TIME_CONSTANT = 0.02  # s
#: Without noise: all variances are those of the model.
SETTINGS = AnnotationSettings(
    observer=OBSERVER, observer_velocity_deviation=(1e-9,), observer_effort_deviation=(0.0,)
)


@pytest.fixture(scope='module')
def arm():
    nominal = Robot.from_urdf(urdf_path('ur_description/urdf/ur5_robot'))
    arm = FrictionalArm(nominal, seed=2, period=20.0, size=0.0)
    arm.model = arm.identified(nominal)
    return arm


def recorded(arm, seconds, seed):
    """Return a recording with velocities and torques."""
    arm.rng = np.random.default_rng(seed)
    run = arm.recording(seconds)
    v = arm.followed[1] + 2e-3 * arm.rng.normal(size=run.q.shape)
    return JointRecording(run.t, run.q, v, run.tau + arm.offsets)


@pytest.fixture(scope='module')
def runs(arm):
    """Four recordings for the fit, another motion."""
    return [recorded(arm, 40.0, seed) for seed in range(5)]


@pytest.fixture(scope='module')
def found(arm, runs):
    return fit_residual(arm.model, runs[:4], SETTINGS)


def filtered(x):
    """x (N, n) as the observer of the nodes filters torques."""
    keep, y = np.exp(-0.005 / TIME_CONSTANT), np.zeros(x.shape)
    for k in range(1, len(x)):
        y[k] = keep * y[k - 1] + (1.0 - keep) * 0.5 * (x[k] + x[k - 1])
    return y


@typed
def series(
    m: ResidualModel, count: int, states: Floats, x: Floats, d: Floats, doubts: Floats
) -> None:
    """Set estimates, deviations and doubts in all states, which follow at 200 Hz."""
    n = len(m.last)
    for k in range(count):
        advance_model(m, states[3 * n * k :], 0 if k == 0 else 5_000_000)
        set_doubts(m)
        for j in range(n):
            x[n * k + j] = m.estimate[j]
            d[n * k + j] = m.deviations[j]
            doubts[n * k + j] = m.doubts[j]


def errors(arm, model, run):
    """Errors with and without the model (N, n), and the variances that it states."""
    e = annotate_arrays(
        arm.model,
        np.round(run.t * 1e9).astype(np.int64),
        run.q,
        run.v,
        run.tau,
        outputs=['external_torque'],
        settings=SETTINGS,
    )['external_torque']
    states = np.hstack([run.q, run.v, run.tau])
    numbers = np.zeros((3, *e.shape))
    calls(series)[0](model, len(states), states.ravel(), *(x.ravel() for x in numbers))
    estimate, deviations, doubts = numbers
    estimate += model.map.plain
    variances = deviations**2 + doubts
    settled = np.isfinite(e).all(axis=1)
    return e[settled], (e - filtered(estimate))[settled], variances[settled]


def rms(x):
    return np.sqrt(np.mean(x**2, axis=0))


def test_errors_of_another_motion(arm, found, runs):
    """Friction dominates: at most 70 % of the errors remain, and their variances are stated."""
    assert not found.findings
    assert (found.after < 0.5 * found.before).all()
    assert found.by_recording.shape == (4, 2, 6)
    before, after, variances = errors(arm, found.model, runs[4])
    assert (rms(after) < 0.7 * rms(before)).all()
    assert np.mean(rms(after) / rms(before)) < 0.5
    stated = np.sqrt(variances.mean(axis=0)) / rms(after)
    assert np.sum((stated > 0.8) & (stated < 1.25)) >= 4
    assert ((stated > 0.6) & (stated < 1.6)).all()


def test_false_alarms_are_as_rare_as_stated(arm):
    """Ten minutes of other motion, one alarm a minute: within a factor of two."""
    model = fit_residual(arm.model, [recorded(arm, 60.0, k) for k in range(10, 15)], SETTINGS).model
    high, mean, rate = model.tails.reshape(6, 3).T
    hourly, count, runs = 60.0, 0, 10
    level = [peak_level(*x, hourly / 3600.0 / 6) for x in zip(high, mean, rate)]
    for seed in range(20, 20 + runs):
        _, e, variances = errors(arm, model, recorded(arm, 60.0, seed))
        flag = ThresholdFlag(np.ones(6), np.full(6, 0.7), rise=0.0, fall=0.1)
        was_raised = False
        for x in e / np.sqrt(variances) / level:
            count += flag.take(x, 5_000_000) and not was_raised
            was_raised = flag.is_raised
    assert runs / 2 <= count <= 2 * runs


def test_the_variance_depends_on_the_state(arm, found, runs):
    """Errors of the half of states with the larger stated variances are larger, as stated."""
    _, after, variances = errors(arm, found.model, runs[4])
    shares = []
    for e, variance in zip(after.T, variances.T):
        high = variance > np.median(variance)
        shares.append(
            [
                rms(e[high]) / rms(e[~high]),
                rms(np.sqrt(variance[high])) / rms(np.sqrt(variance[~high])),
            ]
        )
    true, stated = np.array(shares).T
    assert (true > 1.1).all()
    assert np.abs(np.log(true / stated)).max() < np.log(2.0)


def test_the_variance_increases_with_the_speed(arm, runs):
    """Of noise that is e^2 times as large at the largest speed as at rest."""
    rng, run = np.random.default_rng(9), runs[4]
    share = np.abs(run.v) / np.abs(run.v).max(axis=0)
    exact = arm.model.inverse_dynamics(run.q, run.v, np.gradient(run.v, run.t, axis=0))
    noise = np.exp(2.0 * share) * rng.normal(size=exact.shape)
    run = replace(run, tau=exact + noise)
    _, after, variances = errors(arm, fit_residual(arm.model, [run], SETTINGS).model, run)
    share = share[-len(after) :]
    for e, stated, s in zip(after.T, variances.T, share.T):
        fast, slower = s > 0.75, (s > 0.35) & (s < 0.5)
        true = rms(e[fast]) / rms(e[slower])
        assert true > 1.5
        assert rms(np.sqrt(stated[fast])) / rms(np.sqrt(stated[slower])) == pytest.approx(
            true, rel=0.25
        )


def test_an_exact_model_has_no_residual(arm, runs):
    """Noise and offsets only: no joint gains; the offset remains to the tare."""
    rng, run = np.random.default_rng(7), runs[4]
    a = np.gradient(run.v, run.t, axis=0)
    exact = arm.model.inverse_dynamics(run.q, run.v, a)
    noisy = replace(run, tau=exact + 0.3 + 0.1 * rng.normal(size=exact.shape))
    found = fit_residual(arm.model, [noisy])
    assert len(found.findings) >= 5
    assert 'record ten minutes' in str(found.findings[0])
    refused = found.after == found.before
    weights = found.model.weights.reshape(6, FEATURES)
    assert (weights[refused] == 0.0).all()
    assert (found.model.map.plain[refused] == 0.0).all()


def test_what_cannot_be_fitted(arm, runs):
    short = runs[4]
    short = replace(short, **{x: getattr(short, x)[:4000] for x in ('t', 'q', 'v', 'tau')})
    with pytest.raises(ArgumentError, match='too short: record at least 30 s'):
        fit_residual(arm.model, [short])
    rest = replace(runs[4], q=np.tile(runs[4].q[:1], (len(runs[4].t), 1)))
    with pytest.raises(ArgumentError, match='no recording in which a joint moves: record motion'):
        fit_residual(arm.model, [rest])
    with pytest.raises(ArgumentError, match='no recording in which a joint moves'):
        fit_residual(arm.model, [])


def test_a_joint_without_efforts_has_none(arm, runs):
    tau = runs[4].tau.copy()
    tau[:, 5] = np.nan
    found = fit_residual(arm.model, [replace(runs[4], tau=tau)])
    assert np.isnan(found.before).tolist() == [False] * 5 + [True]
    assert not found.model.weights.reshape(6, FEATURES)[5].any()
    found.model.advance(np.zeros(18), 0)
    set_doubts(found.model)
    assert found.model.deviations[5] < 1e-12
