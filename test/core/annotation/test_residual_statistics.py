# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Deviations and thresholds of external torques from errors of known size and distribution."""

from dataclasses import fields, replace

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.annotation.unloaded_residual import (
    FALSE_COLLISIONS,
    FALSE_CONTACTS,
    TAIL_RATES,
    _divided,
    _held_out,
    _peaks,
    _thresholds,
    _white_deviation,
    as_of_nodes,
    exponential_tail,
    unloaded_residual,
)
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.identification.effort_delay import EffortDelay
from screw_dynamics_ros.core.identification.recording import (
    JointRecording,
    KnownLoad,
)
from screw_dynamics_ros.core.identification.result import (
    DynamicIdentification,
    Torques,
)
from support.paths import URDF
from support.simulated_recording import computed, late, some_motion

OFFSET = np.array([2.0, -3.0])


def unloaded(robot, result, recordings, **payload):
    """Return the errors of recordings."""
    runs = as_of_nodes(robot, result, recordings, **payload)
    return unloaded_residual(robot, result, recordings, runs)


RATE = 200.0


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(URDF / 'planar_2r.urdf', gravity=(0.0, -9.81, 0.0), backend='python')


def identification(t=(), held_out=(), part=None, number=None, **values):
    """Return what was identified of two joints, as far as it is used."""
    t, held_out = np.array(t, dtype=float), np.array(held_out, dtype=bool)
    zeros = np.zeros(len(t), dtype=np.int64)
    nothing = np.zeros((len(t), 2))
    torques = Torques(
        t, zeros if part is None else part, held_out, *[nothing] * 4,
        zeros if number is None else number,
    )  # fmt: skip
    given = dict.fromkeys(each.name for each in fields(DynamicIdentification))
    given |= {
        'joint_names': ('joint1', 'joint2'),
        'effort_scale': np.ones(2),
        'effort_offset': np.zeros(2),
        'noise': np.ones(2),
        'torques': torques,
        'effort_delay': EffortDelay(),
    }
    return DynamicIdentification(**given | values)


@pytest.fixture(scope='module')
def recording(robot):
    """Exact efforts of a motion of 4 s."""
    return computed(robot, some_motion(2), time=4.0, rate=RATE)


# --- all of it ------------------------------------------------------------------------------------


def test_a_constant_error_is_found_and_efforts_are_those_of_the_identification(robot, recording):
    """Efforts have offset and scale; without noise all of the error is of the model."""
    scale, offset = np.array([2.0, 0.5]), np.array([0.3, -0.7])
    given = replace(recording, tau=(recording.tau - OFFSET - offset) / scale)
    result = identification(effort_scale=scale, effort_offset=offset)
    found = unloaded(robot, result, [given])
    assert found.joint_names == ('joint1', 'joint2')
    np.testing.assert_allclose(found.deviation, np.abs(OFFSET), rtol=1e-3)
    np.testing.assert_allclose(found.model_deviation, np.abs(OFFSET), rtol=1e-3)
    assert (found.effort_deviation < 0.01).all()
    assert (found.velocity_deviation < 1e-4).all()
    assert (found.velocity_deviation >= 1e-6).all()
    # the only peak is the constant
    np.testing.assert_allclose(found.contact_threshold, 1.5 * np.abs(OFFSET), rtol=0.02)
    np.testing.assert_allclose(found.collision_threshold, 1.2 * found.contact_threshold)
    assert replace(found) != found  # arrays are not compared


def test_joints_without_known_efforts_are_omitted(robot, recording):
    given = replace(recording, tau=recording.tau - OFFSET)
    for change in ({'effort_scale': np.array([np.nan, 1.0])}, {'noise': np.array([np.nan, 1.0])}):
        found = unloaded(robot, identification(**change), [given])
        assert found.joint_names == ('joint2',)
        assert found.deviation.shape == found.contact_threshold.shape == (1,)
        assert found.deviation[0] == pytest.approx(3.0, rel=1e-3)
    nothing = identification(noise=np.full(2, np.nan))
    assert unloaded(robot, nothing, [given]) is None


@pytest.mark.parametrize(('settled', 'is_enough'), [(99, False), (100, True)])
def test_a_hundred_samples_after_settling_are_needed(robot, recording, settled, is_enough):
    """Five time constants of 20 ms are omitted; recordings are taken together."""
    size = settled // 2 + round(0.1 * RATE), settled - settled // 2 + round(0.1 * RATE)
    parts = [
        replace(recording, t=recording.t[:k], q=recording.q[:k], v=recording.v[:k],
                tau=recording.tau[:k])
        for k in size
    ]  # fmt: skip
    found = unloaded(robot, identification(), parts)
    assert (found is not None) == is_enough


@pytest.mark.parametrize(('held', 'is_used'), [(99, False), (100, True)])
def test_what_was_held_out_is_used_if_it_is_worse(robot, recording, held, is_used):
    """From a hundred samples on; not if it is better."""
    marked = np.arange(len(recording.t)) >= len(recording.t) - held
    result = identification(recording.t, marked)
    for worse in (True, False):
        offset = np.where((marked == worse)[:, None], OFFSET, 0.0)
        given = replace(recording, tau=recording.tau - offset)
        found = unloaded(robot, result, [given]).deviation
        if is_used and worse:
            assert (found > 0.85 * np.abs(OFFSET)).all()
        else:
            count = len(recording.t) - 20  # settled ones
            share = held / count if worse else 1.0 - held / count
            np.testing.assert_allclose(found, np.sqrt(share) * np.abs(OFFSET), rtol=0.1)


def test_the_cost_of_velocities_that_are_not_recorded(robot, recording):
    """With noise of positions nearly all of the error is that of their differences."""
    noise = 1e-4 * np.random.default_rng(0).normal(size=recording.q.shape)
    noisy = replace(recording, q=recording.q + noise, tau=recording.tau - 0.02 * OFFSET)
    exact = unloaded(robot, identification(), [noisy])
    assert exact.derived_share is None
    for missing in (None, np.full_like(recording.v, np.nan)):
        found = unloaded(robot, identification(), [replace(noisy, v=missing)])
        expected = 1.0 - exact.deviation**2 / found.deviation**2
        assert expected.max() > 0.5
        np.testing.assert_allclose(found.derived_share, expected, atol=0.2)


def test_what_is_carried_and_late_efforts_are_not_errors(robot, recording):
    """Loads and payloads as identified; a delay only if it is certain."""
    body = RigidBody(1.5, np.array([0.2, 0.1, 0.0]), 0.02 * np.eye(3))
    other = RigidBody(0.5, np.array([0.1, 0.0, 0.0]), 0.01 * np.eye(3))
    a = np.gradient(recording.v, recording.t, axis=0, edge_order=2)
    carried = robot.payload_torques(recording.q, recording.v, a, {'link2': body})
    lifted = robot.payload_torques(recording.q, recording.v, a, {'link1': other})
    given = replace(recording, tau=recording.tau + carried + lifted)

    def deviation(result, given, **options):
        return unloaded(robot, result, [given], **options).deviation.max()

    both = replace(given, payloads={'link1': other})
    assert deviation(identification(payload=body), both, payload_link='link2') < 0.05
    assert deviation(identification(payload=body), both) > 1.0
    assert deviation(identification(), both, payload_link='link2') > 1.0
    loaded = replace(both, load=KnownLoad('link2', 1.5))
    assert deviation(identification(load=body), loaded) < 0.05
    assert deviation(identification(load=body), both) > 1.0
    delayed = late(recording, 0.02)
    certain, uncertain = EffortDelay(0.02, 1e-4, 50), EffortDelay(0.02, 1.0, 50)
    assert certain.is_certain
    errors = [deviation(identification(effort_delay=x), delayed) for x in (certain, uncertain)]
    assert errors[0] < 0.2 * errors[1]
    early = EffortDelay(-0.02, 1e-4, 50)
    assert deviation(identification(effort_delay=early), recording) < 0.05


# --- its parts ------------------------------------------------------------------------------------


def test_recordings_as_nodes_see_them(robot):
    """Velocities by differences if some are missing; efforts as torques of the joints."""
    t, q = np.array([0.0, 0.1, 0.3]), np.array([[0.0, 1.0], [0.2, 1.1], [0.8, 0.9]])
    differences = [[0.0, 0.0], [2.0, 1.0], [3.0, -1.0]]
    tau = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    result = identification(effort_scale=np.array([2.0, 3.0]), effort_offset=np.array([0.5, -1.0]))
    (found,) = as_of_nodes(robot, result, [JointRecording(t, q, None, tau)])
    np.testing.assert_allclose(found.v, differences, atol=1e-12)
    np.testing.assert_allclose(found.tau, tau * [2.0, 3.0] + [0.5, -1.0])
    v = np.array([[7.0, 7.0], [7.0, np.nan], [7.0, 7.0]])
    (found,) = as_of_nodes(robot, result, [JointRecording(t, q, v, tau)])
    np.testing.assert_allclose(found.v, np.column_stack([v[:, 0], np.array(differences)[:, 1]]))
    one = replace(result, noise=np.array([np.nan, 1.0]))
    (found,) = as_of_nodes(robot, one, [JointRecording(t, q, v, tau)])
    np.testing.assert_allclose(found.tau, np.column_stack([np.zeros(3), 3.0 * tau[:, 1] - 1.0]))
    coupled = Robot.from_urdf(
        URDF / 'planar_2r.urdf',
        drives={'joint2': Drive(coupled_joints=('joint1',), coupling_ratios=(0.5,))},
    )
    (found,) = as_of_nodes(coupled, identification(), [JointRecording(t, q, v, tau)])
    expected = [tau[:, 0] + 0.5 * tau[:, 1], tau[:, 1]]  # motor 2 drives joint 1, too
    np.testing.assert_allclose(found.tau, np.transpose(expected))


def test_blocks_that_were_held_out_are_marked_between_their_ends():
    """Of one recording, in each of its parts; time between blocks is not marked."""
    t = np.arange(0.0, 10.0, 0.5)
    at = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 7.0, 8.0, 9.0, 0.0, 3.0])
    held = np.array([0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1], dtype=bool)
    part = np.array([0] * 5 + [1] * 4 + [2] * 2)
    number = np.array([0] * 9 + [1] * 2)
    result = identification(at, held, part, number)
    expected = ((t >= 1.0) & (t <= 2.0)) | ((t >= 6.0) & (t <= 7.0)) | (t == 9.0)
    assert _held_out(t, result, 0).tolist() == expected.tolist()
    assert _held_out(t, result, 1).tolist() == (t <= 3.0).tolist()
    assert not _held_out(t, result, 2).any()


def test_white_noise_beside_slow_changes_and_jumps():
    rng, sigma = np.random.default_rng(0), np.array([0.1, 2.0])
    s = np.linspace(0.0, 5.0, 20_000)[:, None]
    x = 30.0 * np.sin(s) + sigma * rng.normal(size=(20_000, 2)) + 5.0 * (np.sin(9.0 * s) > 0.0)
    np.testing.assert_allclose(_white_deviation(x), sigma, rtol=0.03)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_peaks_are_between_zeros(sign):
    e = sign * np.array([1.0, 2.0, -3.0, -1.0, 5.0, 0.5, -0.25])
    assert _peaks(e).tolist() == [2.0, 3.0, 5.0, 0.25]
    assert _peaks(np.array([0.0, 2.0, 0.0, -1.0])).tolist() == [2.0, 1.0]


def test_thresholds_of_exponential_peaks_are_exceeded_at_the_stated_rate():
    """Two joints, two recordings; each sample is a peak, and larger ones are e times as rare."""
    rng, dt, size, counts = np.random.default_rng(0), 0.01, np.array([1.0, 4.0]), (2000, 4000)
    parts = [
        size * rng.exponential(size=(count, 2)) * (-1.0) ** np.arange(count)[:, None]
        for count in counts
    ]
    contact, collision = _thresholds(parts, dt * sum(counts))
    level = size * np.log(2.0 / dt / FALSE_CONTACTS)  # two joints
    np.testing.assert_allclose(contact, 1.5 * level, rtol=0.06)
    np.testing.assert_allclose(collision - contact, 1.5 * size * np.log(1000.0), rtol=0.06)
    assert pytest.approx(1.0 / 3600.0) == FALSE_CONTACTS
    assert pytest.approx(1.0 / 3.6e6) == FALSE_COLLISIONS
    single = _thresholds([each[:, 1:] for each in parts], dt * sum(counts))[0]
    assert single == pytest.approx(1.5 * (level[1] - 4.0 * np.log(2.0)), rel=0.06)


def test_the_tail_is_that_of_the_part_with_the_largest_excess():
    """Rates of the levels by the exact distributions; one tail of all would be off by e^3."""
    rng, dt, count, sizes = np.random.default_rng(2), 0.01, 20_000, np.array([1.0, 3.0])
    parts = [s * rng.exponential(size=count) * (-1.0) ** np.arange(count) for s in sizes]
    high, mean, rate, _ = exponential_tail(parts, 2 * count * dt)
    for f in TAIL_RATES:
        level = high + mean * np.log(rate / f)
        exact = np.sum(np.exp(-level / sizes)) / (2 * dt)
        assert np.log(exact / f) == pytest.approx(0.0, abs=0.7)


@pytest.mark.parametrize('size', [1.0, 0.0])
def test_thresholds_without_a_tail(size):
    """Above the largest error by half; collisions a fifth above contacts; never zero."""
    e = size * (-1.0) ** np.arange(200)[:, None]
    e[7] *= 3.0  # one peak larger than the level: one in a day
    contact, collision = _thresholds([e], 1e4 * len(e))
    assert contact[0] == pytest.approx(max(4.5 * size, 1e-6))
    assert collision[0] == pytest.approx(max(1.2 * contact[0], 1e-6))


def test_mean_squares_are_divided_into_noise_and_errors_of_the_model(robot):
    """By closed forms of the variances behind the filter; velocities through the mass matrix."""
    rng, count, dt = np.random.default_rng(1), 20_000, 0.005
    s_v, s_tau, s_m = np.array([0.002, 0.004]), np.array([0.3, 0.2]), np.array([0.5, 0.1])
    q = np.cumsum(0.01 * rng.normal(size=(count, 2)), axis=0)
    v, tau = s_v * rng.normal(size=q.shape), s_tau * rng.normal(size=q.shape)
    runs = [JointRecording(dt * np.arange(count), q, v, tau)]
    d = np.exp(-dt / 0.02)
    w = 0.5 * (1.0 - d)
    alpha = (2.0 * w * w + 2.0 * d * w * w) / (1.0 - d * d)
    g = (1.0 - d) / dt
    beta = (2.0 * g * g - 2.0 * d * g * g) / (1.0 - d * d)
    rows = q[np.linspace(0, count - 1, 500).astype(int)]
    M2 = np.mean([robot.mass_matrix(each) ** 2 for each in rows], axis=0)
    velocity = beta * M2 @ s_v**2
    known = np.ones(2, dtype=bool)
    squares = alpha * s_tau**2 + velocity + s_m**2
    efforts, velocities, model, by_velocity = _divided(robot, runs, squares, known)
    np.testing.assert_allclose(by_velocity, velocity, rtol=0.06)
    np.testing.assert_allclose(efforts, s_tau, rtol=0.03)
    np.testing.assert_allclose(velocities, s_v, rtol=0.03)
    np.testing.assert_allclose(model[0], s_m[0], rtol=0.2)
    # efforts explain all that velocities leave
    efforts, velocities, model, _ = _divided(robot, runs, velocity + 0.25 * alpha * s_tau**2, known)
    np.testing.assert_allclose(velocities, s_v, rtol=0.03)
    assert (efforts < 0.8 * s_tau).all()
    np.testing.assert_allclose(model, 0.0, atol=1e-9)
    # velocities are not white: reduced until the first joint has no more than its error
    efforts, velocities, *_ = _divided(robot, runs, velocity * [0.25, 4.0], known)
    np.testing.assert_allclose(velocities, 0.5 * s_v, rtol=0.03)
    assert efforts[0] == pytest.approx(0.0, abs=1e-6)
    only = np.array([False, True])
    velocities = _divided(robot, runs, velocity * [0.25, 4.0], only)[1]
    np.testing.assert_allclose(velocities, s_v, rtol=0.03)
