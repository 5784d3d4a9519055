# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Options of annotations have their effect, against dense algebra and loops over the samples."""

import math
from dataclasses import fields

import numpy as np
import pytest

from screw_dynamics_ros.core import (
    AnnotationSettings,
    ArgumentError,
    Robot,
    UnknownNameError,
    annotate_arrays,
)
from screw_dynamics_ros.core.annotation import OUTPUTS
from screw_dynamics_ros.core.annotation.annotate import Annotator, accelerations, smoothed
from screw_dynamics_ros.core.annotation.settings import DEFAULT, check_outputs
from screw_dynamics_ros.core.annotation.singularities import freedoms_of
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from screw_dynamics_ros.core.estimation.observers.kalman import (
    Noise,
    kalman_size,
    kalman_step,
)
from support.models import random_description
from support.paths import URDF

MS = 1_000_000  # ns
LINK = 'link7'


@pytest.fixture(scope='module')
def arm():
    return Robot(random_description(3, 7, ('revolute',), chain=True), backend='python')


@pytest.fixture(scope='module')
def planar():
    return Robot.from_urdf(URDF / 'planar_2r.urdf', gravity=(0.0, -9.81, 0.0), backend='python')


def samples(robot, count=12, seed=0):
    rng = np.random.default_rng(seed)
    t = np.cumsum(rng.integers(1 * MS, 4 * MS, count))
    return t, *rng.normal(size=(3, count, robot.nv))


# --- settings -------------------------------------------------------------------------------------


def test_defaults():
    """Those of the parameters of the nodes."""
    given = AnnotationSettings()
    own = {
        'effort_terms': ('gravity', 'coriolis', 'friction', 'inertia', 'payload'),
        'observer': 'static',
        'state_timeout': 0.5,
        'damping': 0.001,
        'characteristic_length': 0.2,
        'singularity_threshold': 0.02,
        'singularity_rate': math.inf,
        'acceleration_time_constant': 0.0,
    }
    assert {name: getattr(given, name) for name in own} == own
    assert {each.name for each in fields(given)} - own.keys() == {
        'observer_time_constant', 'observer_joints', 'observer_velocity_deviation',
        'observer_effort_deviation', 'observer_model_deviation', 'effort_delay',
        'observer_torque_change', 'observer_torque_rate',
    }  # fmt: skip
    assert set(OUTPUTS) - set(DEFAULT) == {'mass_matrix', 'jacobian'}


@pytest.mark.parametrize('name', ['characteristic_length', 'singularity_rate'])
def test_numbers_that_must_be_positive(name):
    AnnotationSettings(**{name: 1e-9})
    for value in (0.0, -1.0, math.nan):
        with pytest.raises(ArgumentError, match=f'{name} must be greater than 0, got {value}'):
            AnnotationSettings(**{name: value})


@pytest.mark.parametrize(
    'name', ['state_timeout', 'damping', 'singularity_threshold', 'acceleration_time_constant']
)
def test_numbers_that_may_be_zero(name):
    for value in (0.0, 1e9):
        AnnotationSettings(**{name: value})
    for value in (-1e-9, math.nan, math.inf):
        with pytest.raises(ArgumentError, match=f'{name} must be a finite number >= 0, got'):
            AnnotationSettings(**{name: value})


def test_names_that_do_not_exist():
    with pytest.raises(UnknownNameError, match="no term 'weight'; choose of gravity, coriolis"):
        AnnotationSettings(effort_terms=('gravity', 'weight'))
    with pytest.raises(UnknownNameError, match="no observer 'x'; choose one of static, filtered"):
        AnnotationSettings(observer='x')
    check_outputs(OUTPUTS)
    with pytest.raises(UnknownNameError, match="no output 'x'; choose of acceleration, transforms"):
        check_outputs(('gravity', 'x'))
    with pytest.raises(ArgumentError, match='observer_effort_deviation has 2 elements'):
        AnnotationSettings(observer_effort_deviation=(1.0, 2.0))


def test_joints_of_deviations_are_those_of_the_robot(planar):
    settings = AnnotationSettings(observer_joints=('elbow',))
    with pytest.raises(UnknownNameError, match="no joint 'elbow'"):
        Annotator(planar, settings=settings)


# --- motions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(('timeout', 'longest'), [(0.5, 500 * MS), (0.0, 10**15)])
def test_motions_restart_after_a_longer_step_and_if_stamps_do_not_increase(
    planar, timeout, longest
):
    annotator = Annotator(planar, ['gravity'], settings=AnnotationSettings(state_timeout=timeout))
    steps = [0, 1, longest, 0, -5, 7, 9]
    starts = [True, False, False, True, True, False, True]
    if timeout:
        steps, starts = [*steps, longest + 1], [*starts, True]
    zeros = np.zeros((len(steps), 2))
    given = np.arange(len(steps)) == 6
    motion = annotator.motion(np.cumsum(steps), zeros, zeros, restarted=given)
    assert motion.starts.tolist() == starts
    assert given.sum() == 1  # not changed
    assert np.isnan(motion.tau).all()
    assert motion.t.dtype == np.int64


@pytest.mark.parametrize('name', ['q', 'v', 'tau'])
def test_arrays_of_other_shapes_are_named(planar, name):
    arrays = {'t': np.arange(3), 'q': np.zeros((3, 2)), 'v': np.zeros((3, 2))}
    with pytest.raises(ArgumentError, match=rf'^{name} must have shape \(3, 2\), got \(2, 2\)'):
        annotate_arrays(planar, **{**arrays, name: np.zeros((2, 2))})
    for t in (np.zeros((3, 1), dtype=int), np.zeros(3)):
        with pytest.raises(ArgumentError, match=r't must be stamps \(N,\) in ns, integers'):
            annotate_arrays(planar, **{**arrays, 't': t})
    empty = {key: x[:0] for key, x in arrays.items()}
    with pytest.raises(ArgumentError, match='there are no samples'):
        annotate_arrays(planar, **empty)


def test_outputs_and_links_are_given_once(planar):
    t, q, v, tau = samples(planar)
    found = annotate_arrays(
        planar, t, q, v, tau, outputs=['gravity', 'twist', 'gravity'], frames=['tip', 'tip']
    )
    assert list(found) == ['gravity', 'twist/tip']
    with pytest.raises(UnknownNameError, match="no link named 'nose'"):
        Annotator(planar, ['gravity'], ['nose'])
    (only,) = annotate_arrays(planar, t, q, v, outputs=['acceleration']).values()
    np.testing.assert_array_equal(only, accelerations(t, v, np.arange(12) == 0))
    settings = AnnotationSettings(acceleration_time_constant=0.01)
    (slow,) = annotate_arrays(planar, t, q, v, outputs=['acceleration'], settings=settings).values()
    np.testing.assert_array_equal(slow, smoothed(t, only, np.arange(12) == 0, 0.01))


def test_wrenches_of_links_by_damped_least_squares(arm):
    """With moments scaled by the length; NaN up to the threshold of the least singular value."""
    t, q, v, tau = samples(arm, 16)
    length, damping = 0.5, 0.07
    D = np.diag([length] * 3 + [1.0] * 3)
    scaled = D @ arm.jacobian(q, LINK, 'body')
    least = np.linalg.svd(scaled, compute_uv=False)[:, -1]
    threshold = np.sort(least)[5] * (1.0 + 1e-9)
    settings = AnnotationSettings(
        damping=damping, characteristic_length=length, singularity_threshold=threshold
    )
    given = {'frames': [LINK], 'settings': settings}
    found = annotate_arrays(arm, t, q, v, tau, outputs=['wrench', 'external_torque'], **given)
    for k in range(16):
        J = scaled[k]
        gram = J @ J.T + damping**2 * np.eye(6)
        expected = D @ np.linalg.solve(gram, J @ found['external_torque'][k])
        if least[k] < threshold:
            expected[:] = np.nan
        np.testing.assert_allclose(found[f'wrench/{LINK}'][k], expected, rtol=1e-7, atol=1e-9)
    assert np.isnan(found[f'wrench/{LINK}'][:, 0]).sum() == 6
    alone = annotate_arrays(arm, t, q, v, tau, outputs=['wrench'], **given)
    assert list(alone) == [f'wrench/{LINK}']
    np.testing.assert_array_equal(alone[f'wrench/{LINK}'], found[f'wrench/{LINK}'])


def test_singularity_measures_at_their_rate(arm):
    """Singular values of the scaled body Jacobian; NaN between samples, and without positions."""
    t, q, v, _ = samples(arm, 16)
    q[3] = np.nan
    settings = AnnotationSettings(characteristic_length=0.7, singularity_rate=200.0)
    (found,) = annotate_arrays(
        arm, t, q, v, outputs=['singularity'], frames=[LINK], settings=settings
    ).values()
    chosen, following = [], 0
    for k, stamp in enumerate(t.tolist()):
        if stamp >= following:
            chosen.append(k)
            following = stamp + 5 * MS
    assert 3 < len(chosen) < 12
    for k in range(16):
        if k not in chosen or k == 3:
            assert np.isnan(found[k]).all()
            continue
        J = arm.jacobian(q[k], LINK, 'body') * np.array([[0.7]] * 3 + [[1.0]] * 3)
        s = np.linalg.svd(J, compute_uv=False)
        np.testing.assert_allclose(found[k], [s[-1], s[0] / s[-1], 6.0, np.prod(s)], rtol=1e-6)
    settings = AnnotationSettings(characteristic_length=0.7)
    (every,) = annotate_arrays(
        arm, t, q, v, outputs=['singularity'], frames=[LINK], settings=settings
    ).values()
    assert np.isnan(every[:, 0]).tolist() == (np.arange(16) == 3).tolist()


def test_freedoms(arm, planar):
    assert [freedoms_of(arm, link) for link in ('link1', 'link4', LINK)] == [1, 4, 6]
    assert freedoms_of(planar, 'tip') == 2


@pytest.mark.parametrize('size', [1, 4, 100])
def test_samples_with_singularity_measures(planar, size):
    """At least a period after each other; a stamp that runs back restarts, also between blocks."""
    stamps = [0, 9, 10, 20, 29, 31, 40, 41, 51, 52, 53, 51, 61, 70, 40, 45, 50]
    chosen = [0, 10, 20, 31, 41, 51, 51, 61, 40, 50]
    settings = AnnotationSettings(singularity_rate=100.0)
    annotator = Annotator(planar, ['singularity'], ['tip'], settings=settings)
    zeros = np.zeros((len(stamps), 2))
    motion = annotator.motion(np.array(stamps) * MS, zeros + 0.5, zeros)
    parts = [part['singularity/tip'] for _, part in annotator.blocks(motion, size)]
    given = np.isfinite(np.concatenate(parts)).all(axis=1)
    assert np.array(stamps)[given].tolist() == chosen


# --- external torques -----------------------------------------------------------------------------


def test_covariances_of_the_kalman_filter_with_errors_of_the_model(planar):
    """By a loop over samples, with deviations of named joints; NaN where there is no torque."""
    t, q, v, tau = samples(planar)
    t[8:] += 2 * 10**9
    tau[4] = np.nan
    settings = AnnotationSettings(
        observer='kalman',
        observer_joints=('joint2', 'joint1'),
        observer_velocity_deviation=(0.003, 0.001),
        observer_effort_deviation=(0.1, 0.4),
        observer_model_deviation=(2.0, 5.0),
        observer_torque_change=30.0,
    )
    found = annotate_arrays(planar, t, q, v, tau, outputs=['external_torque'], settings=settings)
    noise = Noise(
        np.array([0.001, 0.003]), np.array([0.4, 0.1]), np.full(2, 30.0), np.full(2, 30.0)
    )
    state = None
    for k in range(12):
        if k == 4:
            assert np.isnan(found['external_torque'][k]).all()
            assert np.isnan(found['external_torque_covariance'][k]).all()
            continue
        is_first = k in (0, 5, 8)
        p, rates = planar.momenta_and_rates(q[k], v[k])
        known = tau[k] + rates - planar.friction_torques(v[k])
        h = 0.0 if is_first else (t[k] - t[k - 1]) * 1e-9
        state = np.zeros(kalman_size(2)) if is_first else state
        step = np.array([h]), np.array([float(is_first)])
        state = kalman_step(state, p, known, planar.mass_matrix(q[k]), noise, *step)
        np.testing.assert_allclose(found['external_torque'][k], state[4:6], atol=1e-9)
        expected = state[-4:].reshape(2, 2) + np.diag([25.0, 4.0])
        np.testing.assert_allclose(found['external_torque_covariance'][k], expected, rtol=1e-9)
    plain = annotate_arrays(planar, t, q, v, tau, outputs=['external_torque'])
    assert list(plain) == ['external_torque']


@pytest.mark.parametrize('observer', ['kalman', 'sliding', 'momentum', 'filtered'])
def test_results_do_not_depend_on_blocks(planar, observer):
    """Torques and covariances with pauses, gaps and late efforts; also of empty blocks."""
    t, q, v, tau = samples(planar, 60, seed=2)
    t[20:] += 10**9
    tau[33:37, 0] = np.nan
    settings = AnnotationSettings(
        observer=observer, observer_time_constant=0.001, effort_delay=0.005
    )
    annotator = Annotator(planar, ['external_torque'], settings=settings)
    motion = annotator.motion(t, q, v, tau)
    results = []
    for size in (60, 1, 11):  # the gap begins with a block
        parts = [part for _, part in annotator.blocks(motion, size)]
        results.append({name: np.concatenate([x[name] for x in parts]) for name in parts[0]})
    for other in results[1:]:
        for name, expected in results[0].items():
            np.testing.assert_allclose(other[name], expected, rtol=1e-9, atol=1e-9)
    is_found = np.isfinite(results[0]['external_torque'][:, 0])
    assert is_found.sum() > 25
    assert not is_found[[0, 1, 20, 21, 33, 34, 35, 36]].any()


@pytest.mark.parametrize('given', [None, 0])
def test_payloads_are_part_of_efforts_without_acceleration(planar, given):
    """The static observer; the output of the payload has the acceleration of the motion."""
    t, q, v, tau = samples(planar)
    load = {'tip': RigidBody(1.5, np.array([0.1, 0.2, 0.0]), 0.1 * np.eye(3))}
    found = annotate_arrays(
        planar, t, q, v, tau, outputs=['external_torque', 'payload', 'acceleration'],
        payloads=load if given is None else {},
    )  # fmt: skip
    for k in range(12):
        carried = [
            planar.payload_torques(q[k], v[k], a, load if given is None else {})
            for a in (np.zeros(2), found['acceleration'][k])
        ]
        np.testing.assert_allclose(found['payload'][k], carried[1], atol=1e-9)
        expected = planar.inverse_dynamics(q[k], v[k], np.zeros(2)) + carried[0] - tau[k]
        np.testing.assert_allclose(found['external_torque'][k], expected, atol=1e-9)


@pytest.mark.parametrize('term', TERMS)
def test_terms_that_efforts_lack_are_not_added(planar, term):
    """Of the static observer; without inertial torques there is no difference."""
    t, q, v, tau = samples(planar)
    load = {'tip': RigidBody(1.5, np.array([0.1, 0.2, 0.0]), 0.1 * np.eye(3))}
    settings = AnnotationSettings(effort_terms=tuple(x for x in TERMS if x != term))
    every, found = (
        annotate_arrays(planar, t, q, v, tau, outputs=['external_torque'], payloads=load, **given)
        for given in ({}, {'settings': settings})
    )
    k = 5
    expected = {
        'gravity': planar.gravity_torques(q[k]),
        'coriolis': planar.coriolis_torques(q[k], v[k]),
        'friction': planar.friction_torques(v[k]),
        'inertia': np.zeros(2),
        'payload': planar.payload_torques(q[k], v[k], np.zeros(2), load),
    }[term]
    change = every['external_torque'][k] - found['external_torque'][k]
    np.testing.assert_allclose(change, expected, atol=1e-9)


@pytest.mark.parametrize('observer', ['kalman', 'sliding', 'momentum', 'filtered', 'static'])
def test_without_efforts_there_are_no_torques(planar, observer):
    t, q, v, _ = samples(planar, 4)
    settings = AnnotationSettings(observer=observer)
    found = annotate_arrays(planar, t, q, v, outputs=['external_torque'], settings=settings)
    assert all(np.isnan(each).all() for each in found.values())
    assert ('external_torque_covariance' in found) == (observer in ('kalman', 'sliding'))


def test_without_velocities_there_are_no_torques(planar):
    """Also of efforts that contain nothing that depends on them."""
    t, q, v, tau = samples(planar, 4)
    v[1, 0], tau[2, 1] = np.nan, np.nan
    settings = AnnotationSettings(effort_terms=('gravity',))
    (found,) = annotate_arrays(
        planar, t, q, v, tau, outputs=['external_torque'], settings=settings
    ).values()
    np.testing.assert_allclose(found[0], planar.gravity_torques(q[0]) - tau[0], atol=1e-12)
    assert np.isnan(found).all(axis=1).tolist() == [False, True, True, False]


# --- accelerations --------------------------------------------------------------------------------


def test_accelerations_are_derivatives_of_parabolas():
    """Exact for velocities of second order; slopes at ends and beside what is missing."""
    rng = np.random.default_rng(0)
    t = np.cumsum(rng.integers(1 * MS, 9 * MS, 40))
    s = t[:, None] * 1e-9
    c = rng.normal(size=(3, 2))
    v = c[0] + c[1] * s + c[2] * s * s
    starts = np.isin(np.arange(40), (0, 17, 18, 30))
    v[24] = np.nan
    found = accelerations(t, v, starts)
    expected = c[1] + 2.0 * c[2] * s
    slopes = np.diff(v, axis=0) / np.diff(s, axis=0)
    for k in range(40):
        before = k > 0 and not starts[k] and k not in (24, 25)
        after = k < 39 and not starts[k + 1] and k not in (23, 24)
        if before and after:
            value = expected[k]
        elif before:
            value = slopes[k - 1]
        else:
            value = slopes[k] if after else [np.nan] * 2
        np.testing.assert_allclose(found[k], value, rtol=1e-6, atol=1e-9)


def test_smoothing_is_a_filter_forward_and_backward_in_each_run():
    """By loops; values that are missing are passed over and remain missing."""
    rng, constant = np.random.default_rng(1), 0.02
    t = np.cumsum(rng.integers(1 * MS, 9 * MS, 40))
    a = rng.normal(size=(40, 2))
    starts = np.isin(np.arange(40), (0, 15, 16))
    a[[5, 6, 20]] = np.nan
    found = smoothed(t, a, starts, constant)
    for run in (range(15), range(15, 16), range(16, 40)):
        rows = [k for k in run if np.isfinite(a[k]).all()]
        forward = {}
        for i, k in enumerate(rows):
            if i:
                d = np.exp(-(t[k] - t[rows[i - 1]]) * 1e-9 / constant)
                forward[k] = d * forward[rows[i - 1]] + (1.0 - d) * a[k]
            else:
                forward[k] = a[k]
        y = forward[rows[-1]]
        for i, k in reversed(list(enumerate(rows))):
            if k != rows[-1]:
                d = np.exp(-(t[rows[i + 1]] - t[k]) * 1e-9 / constant)
                y = d * y + (1.0 - d) * forward[k]
            np.testing.assert_allclose(found[k], y, rtol=1e-12)
    assert np.isnan(found[[5, 6, 20]]).all()
    nothing = np.full((3, 2), np.nan)
    assert np.isnan(smoothed(t[:3], nothing, starts[:3], constant)).all()
