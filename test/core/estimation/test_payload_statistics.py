# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Equations, weights and intervals of payloads against textbook least squares and SciPy."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import t as student

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import NotEnoughDataError
from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from screw_dynamics_ros.core.estimation.inertial_estimate import (
    RANK_TOLERANCE,
    REFERENCE_LENGTH,
    SCALES,
    InertialEstimate,
    enlarged,
    estimable,
    quantile_of,
)
from screw_dynamics_ros.core.estimation.payload_estimation import (
    EffortRecord,
    dry_friction,
    equations_of,
    estimate_payload,
    joints_of,
    scatter_of,
    stretches,
    trapezoids,
)
from screw_dynamics_ros.core.statistics.jackknife import jackknife
from screw_dynamics_ros.core.statistics.least_squares import Fit
from support.models import random_description

N, LINK = 4, 'link4'
UPPER = np.triu_indices(3)
LOAD = RigidBody(
    2.0, [0.1, -0.2, 0.05], [[0.3, 0.01, -0.02], [0.01, 0.2, 0.03], [-0.02, 0.03, 0.25]]
)
ALL, ROWS = np.ones(5), np.arange(N)


def arm(**drive):
    description = random_description(2, N, ('revolute',), chain=True)
    drives = {f'joint{k}': Drive(**drive) for k in range(1, N + 1)} if drive else None
    return Robot(description, drives=drives, backend='python')


@pytest.fixture(scope='module')
def robot():
    return arm()


def torques(robot, q, v, a):
    return robot.inverse_dynamics(q, v, a) + robot.payload_torques(q, v, a, {LINK: LOAD})


def pose(robot, rng, samples, noise=0.0):
    q, zero = rng.uniform(-1.5, 1.5, N), np.zeros(N)
    tau = torques(robot, q, zero, zero) + noise * rng.normal(size=(samples, N))
    time = 0.01 * np.arange(samples)
    return EffortRecord(time, np.tile(q, (samples, 1)), np.zeros((samples, N)), tau, True)


def motion(robot, rng, seconds=1.0, noise=0.0):
    time = np.arange(0.0, seconds, 0.01)[:, None]
    w, phase = rng.uniform(2.0, 6.0, N), rng.uniform(0.0, 6.0, N)
    q, v, a = (d * np.sin(w * time + phase + k * np.pi / 2) for k, d in ((0, 1), (1, w), (2, w**2)))
    tau = torques(robot, q, v, a) + noise * rng.normal(size=q.shape)
    return EffortRecord(time[:, 0], q, v, tau, False)


@pytest.fixture(scope='module')
def records(robot):
    """Noisy poses of unequal length and a motion."""
    rng = np.random.default_rng(1)
    every = [pose(robot, rng, samples, 0.2) for samples in (5, 20, 80, 10, 40)]
    return [*every, motion(robot, rng, noise=0.2)]


# --- equations ------------------------------------------------------------------------------------


def test_equations_are_one_for_each_joint_and_interval(robot, records):
    """Poses by their means; stretches of 0.1 s; records without numbers are omitted."""
    empty = EffortRecord(*(x[:0] for x in vars(records[0]).values() if np.ndim(x)), True)
    broken = EffortRecord(*(np.nan * x for x in vars(records[0]).values() if np.ndim(x)), True)
    found = equations_of(robot, LINK, [empty, broken, *records], ROWS, ALL, {})
    intervals = 5 + 9
    assert found.Y.shape == (N * intervals, 10)
    assert found.joint.tolist() == [*range(N)] * intervals
    assert found.at_rest.tolist() == [True] * 5 * N + [False] * 9 * N
    assert found.samples.tolist() == np.repeat([5.0, 20, 80, 10, 40] + [10.0] * 9, N).tolist()
    # poses have blocks and classes of their own
    blocks, classes = found.block.reshape(-1, N), found.state_class.reshape(-1, N)
    assert (blocks == blocks[:, :1]).all()
    assert len({*blocks[:5, 0]} | {blocks[5, 0]}) == 6
    assert len({*classes[:5].ravel()}) == 5 * N
    assert classes[:5].min() >= 8 * N
    assert classes[5:].max() < 8 * N
    assert (classes[5:] // 8 == np.arange(N)).all()
    # without noise the load fulfills all of them; the stretches to the error of the trapezoids
    rng = np.random.default_rng(1)
    exact = [pose(robot, rng, 3), motion(robot, rng)]
    given = equations_of(robot, LINK, exact, ROWS, ALL, {})
    left = given.Y @ LOAD.parameters - given.y
    np.testing.assert_allclose(left[:N], 0.0, atol=1e-12)
    assert np.abs(left).max() < 0.02 * np.abs(given.y).max()
    half = RigidBody(0.5 * LOAD.mass, LOAD.com, 0.5 * LOAD.matrix)
    known = equations_of(robot, LINK, exact, ROWS, ALL, {LINK: half})
    np.testing.assert_allclose(known.y, given.y - 0.5 * given.Y @ LOAD.parameters, atol=1e-12)


@pytest.mark.parametrize('lacking', ['gravity', 'coriolis', 'friction', 'inertia'])
def test_terms_of_the_robot_that_efforts_lack_are_not_subtracted(lacking):
    """Each alone: the load fulfills the equations of motions to the error of the trapezoids."""
    known, rng = arm(damping=2.0, coulomb=1.0, smoothing=0.5), np.random.default_rng(7)
    record = motion(known, rng, 0.35)
    q, v = record.q, record.v
    a = np.gradient(v, record.time, axis=0, edge_order=2)
    terms = {
        'gravity': known.gravity_torques(q),
        'coriolis': known.coriolis_torques(q, v),
        'friction': known.friction_torques(v),
        'inertia': np.einsum('kij,kj->ki', known.mass_matrix(q), a),
    }
    tau = record.tau - terms[lacking]
    shares = np.array([float(term != lacking) for term in TERMS])
    given = EffortRecord(record.time, q, v, tau, False)
    found = equations_of(known, LINK, [given], ROWS, shares, {})
    left = found.Y @ LOAD.parameters - found.y
    scale = np.abs(terms[lacking]).max()
    assert np.abs(left).max() < 0.03 * max(scale, np.abs(found.y).max())


def test_blocks_of_time_are_those_of_each_record(robot):
    """A tenth of the time of short motions."""
    records = [motion(robot, np.random.default_rng(k), 1.6) for k in range(2)]
    found = equations_of(robot, LINK, records, ROWS, ALL, {}).block.reshape(2, 15, N)
    assert (found == found[:, :, :1]).all()
    first = 0.1 * np.arange(15)  # 1.4 s in each record
    expected = np.floor(first / 0.28 + 1e-9)
    for blocks in found[:, :, 0]:
        assert (np.diff(blocks) == np.diff(expected)).all()
    assert not {*found[0].ravel()} & {*found[1].ravel()}


def test_a_stretch_is_the_change_of_momentum_minus_the_mean_of_rates(robot):
    """Of a quickly sampled motion, by the payload alone: its torques are the mean of Y phi."""
    rng = np.random.default_rng(5)
    record = motion(robot, rng, 0.25)
    given = equations_of(robot, LINK, [record], ROWS, ALL, {})
    a = np.gradient(record.v, record.time, axis=0, edge_order=2)
    carried = robot.payload_torques(record.q, record.v, a, {LINK: LOAD})
    for k, (i, j) in enumerate(((0, 10), (10, 20))):
        mean = np.trapezoid(carried[i : j + 1], record.time[i : j + 1], axis=0) / 0.1
        found = given.Y[k * N : (k + 1) * N] @ LOAD.parameters
        np.testing.assert_allclose(found, mean, atol=0.02 * np.abs(carried).max())


@pytest.mark.parametrize(
    ('time', 'expected'),
    [
        ([0.0], []),
        ([0.0, 0.0999], []),
        ([0.0, 0.1], [(0, 1)]),
        ([0.0, 0.07, 0.14, 0.2, 0.25], [(0, 2), (2, 4)]),
        (0.001 * np.arange(301), [(0, 100), (100, 200), (200, 300)]),
    ],
)
def test_stretches_are_consecutive(time, expected):
    assert stretches(np.array(time)) == expected


def test_trapezoids_are_a_mean():
    rng = np.random.default_rng(0)
    time = np.cumsum(rng.uniform(0.1, 1.0, 7))
    f = rng.normal(size=7)
    expected = np.trapezoid(f, time) / (time[-1] - time[0])
    assert trapezoids(time) @ f == pytest.approx(expected)


def test_joints_are_those_that_move_the_link():
    """By finite motions; a joint with several coordinates has no effort of its own."""
    robot = Robot(random_description(5, 6, ('revolute', 'prismatic', 'planar')), backend='python')
    assert any(joint.kind.name == 'planar' for joint in robot.description.joints)
    single = [
        name
        for name in robot.joint_names
        if np.ptp([*robot.joint_coordinates(name)[1].indices(robot.nv)[:2]]) == 1
    ]
    for link in robot.link_names[1:]:
        J = robot.jacobian(robot.random_configuration(np.random.default_rng(0)), link)
        moving = [x for x in single if np.abs(J[:, robot.joint_coordinates(x)[1]]).max() > 1e-9]
        if not moving:
            continue
        assert joints_of(robot, link, None) == tuple(moving)
        assert joints_of(robot, link, moving[-1:]) == tuple(moving[-1:])


def test_dry_friction_is_the_larger_bound():
    for drive, expected in (
        ({'coulomb': 2.0}, 2.0),
        ({'coulomb': 2.0, 'breakaway': 3.0, 'smoothing': 0.1}, 3.0),
        ({'damping': 2.0}, 0.0),
    ):
        assert dry_friction(arm(**drive), 'joint2') == expected


# --- least squares --------------------------------------------------------------------------------


def variances_of(equations, deviation, stiction=0.0):
    """A variance of `deviation` for each sample, and of a uniform distribution at rest."""
    return deviation**2 / equations.samples + equations.at_rest * stiction**2 / 3.0


@pytest.mark.parametrize('coulomb', [0.0, 0.6])
@pytest.mark.parametrize('contained', [True, False])
def test_stated_deviations_give_the_covariance_of_weighted_least_squares(coulomb, contained):
    """Of exact efforts: nothing but the stated errors; friction at rest only if it is contained."""
    rng = np.random.default_rng(2)
    known = arm(coulomb=coulomb, smoothing=0.1) if coulomb else arm()
    exact = [pose(known, rng, samples) for samples in (5, 20, 80, 10, 40)]
    shares = np.array([1.0, 1.0, float(contained), 1.0, 1.0])
    found = estimate_payload(known, LINK, exact, effort_deviation=0.3, shares=shares)
    equations = equations_of(known, LINK, exact, ROWS, shares, {})
    W = 1.0 / variances_of(equations, 0.3, coulomb * contained)
    X = equations.Y[:, :4]
    expected = np.linalg.inv(X.T @ (W[:, None] * X))
    np.testing.assert_allclose(found.covariance[:4, :4], expected, rtol=1e-6)
    np.testing.assert_allclose(found.parameters[:4], LOAD.parameters[:4], rtol=1e-8)
    assert found.quantile == pytest.approx(student.ppf(0.975, 5 * N - 4))


@pytest.mark.parametrize('stated', [0.0, 0.05, 0.5])
@pytest.mark.parametrize('offsets', [False, True])
def test_estimate_and_intervals_are_those_of_weighted_least_squares(
    robot, records, stated, offsets
):
    """Scaled by residuals, never below stated deviations; or those of the jackknife, if larger."""
    found = estimate_payload(
        robot=robot, link=LINK, records=records, effort_deviation=stated, with_offsets=offsets
    )
    equations = equations_of(robot, LINK, records, ROWS, ALL, {})
    X, y = equations.Y, equations.y
    if offsets:
        X = np.hstack([X, np.tile(np.eye(N), (len(X) // N, 1))])
    changes = np.concatenate([np.diff(r.tau, axis=0) for r in records])
    noise = np.sqrt(0.5 * np.sum(changes**2, axis=0) / (len(changes) + 1))
    deviation = stated if stated else noise[equations.joint]
    deviations = np.sqrt(variances_of(equations, deviation))
    A, b = X / deviations[:, None], y / deviations
    z = np.linalg.lstsq(A, b, rcond=None)[0]
    spare = len(A) - A.shape[1]
    scale = np.sum((b - A @ z) ** 2) / spare
    markov = (max(scale, 1.0) if stated else scale) * np.linalg.inv(A.T @ A)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    clusters = [equations.state_class, equations.block]
    robust, freedom = jackknife(U, b - A @ z, clusters, Vt.T / s)
    half = np.maximum(
        student.ppf(0.975, spare) * np.sqrt(np.diag(markov)),
        student.ppf(0.975, freedom) * np.sqrt(np.diag(robust)),
    )
    np.testing.assert_allclose(found.parameters, z[:10], rtol=1e-6)
    np.testing.assert_allclose(found.offsets, z[10:], rtol=1e-6, atol=1e-12)
    intervals = found.quantile * np.sqrt(np.diag(found.covariance))
    np.testing.assert_allclose(intervals, half[:10], rtol=1e-6)
    assert found.mass_interval == pytest.approx(half[0], rel=1e-6)
    residuals = np.sqrt(np.mean((y - X @ z).reshape(-1, N) ** 2, axis=0))
    np.testing.assert_allclose(found.residuals, residuals, rtol=1e-6)
    assert (found.poses, found.stretches, found.joints) == (5, 9, robot.joint_names)


def test_constant_errors_of_efforts_widen_intervals_of_a_short_motion(robot):
    """By the change of the estimate that they cause, a deviation; of motion only, if not stated."""
    record = motion(robot, np.random.default_rng(4), 5.0, noise=0.05)
    wrong = np.array([0.08, -0.12, 0.1, 0.06])
    off = EffortRecord(record.time, record.q, record.v, record.tau + wrong, False)
    found = estimate_payload(robot, LINK, [off])
    equations = equations_of(robot, LINK, [off], ROWS, ALL, {})
    deviations = scatter_of([off], ROWS)[equations.joint] / np.sqrt(equations.samples)
    offsets = np.tile(np.eye(N), (len(equations.y) // N, 1))
    both = np.hstack([equations.Y, offsets])
    plain, free = (
        np.linalg.lstsq(X / deviations[:, None], equations.y / deviations)[0][:10]
        for X in (equations.Y, both)
    )
    free_offsets = estimate_payload(robot, LINK, [off], with_offsets=True)
    np.testing.assert_allclose(found.parameters, plain, rtol=1e-6)
    np.testing.assert_allclose(free_offsets.parameters, free, rtol=1e-6)
    A, b = equations.Y / deviations[:, None], equations.y / deviations
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    e, factor = b - A @ plain, Vt.T / s
    robust, freedom = jackknife(U, e, [equations.state_class, equations.block], factor)
    markov = e @ e / (len(A) - 10) * np.linalg.inv(A.T @ A)
    expected = enlarged(markov, found.quantile, robust, freedom)
    expected += np.outer(free - plain, free - plain)
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-4, atol=1e-12)


def test_fewest_equations():
    """One more than unknowns with a stated deviation, three more if it is estimated."""
    robot, rng = arm(), np.random.default_rng(0)
    joint = {'measured': ['joint4']}
    every = [pose(robot, rng, 4, 0.1) for _ in range(7)]
    cases = (2, 0.1, False), (3, 0.1, True), (4, 0.0, False), (5, 0.0, True)
    for count, deviation, is_enough in cases:  # gravity about one axis: two unknowns
        given = every[:count]
        if is_enough:
            estimate_payload(robot, LINK, given, effort_deviation=deviation, **joint)
        else:
            with pytest.raises(NotEnoughDataError, match=f'{count} equations are too few'):
                estimate_payload(robot, LINK, given, effort_deviation=deviation, **joint)


def test_scatter_is_that_of_the_noise_of_each_joint():
    """Without drift; of efforts without noise a thousandth of the largest one, or 1e-9."""
    rng, sigma = np.random.default_rng(0), np.array([0.1, 0.5, 0.0])
    tau = sigma * rng.normal(size=(4000, 3)) + np.linspace(0.0, 3.0, 4000)[:, None] * [0, 1, 0]
    record = EffortRecord(np.arange(4000.0), tau, tau, tau, False)
    both = [record, EffortRecord(*(x[:0] for x in (record.time, tau, tau, tau)), True)]
    found = scatter_of(both, np.array([0, 1, 2]))
    np.testing.assert_allclose(found[:2], sigma[:2], rtol=0.04)
    squares = 0.5 * np.sum(np.diff(tau, axis=0) ** 2, axis=0) / 4000.0
    np.testing.assert_allclose(found[:2], np.sqrt(squares[:2]), rtol=1e-12)
    assert found[2] == pytest.approx(1e-3 * found[1])
    still = EffortRecord(record.time, tau, tau, np.ones_like(tau), False)
    assert scatter_of([still], np.array([0, 1])).tolist() == [1e-9, 1e-9]


def test_solutions_are_those_of_the_pseudoinverse():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(12, 3)) @ rng.normal(size=(3, 5))
    y, deviations, scales = rng.normal(size=12), rng.uniform(0.5, 2.0, 12), rng.uniform(0.5, 2.0, 5)
    A, b = X * scales / deviations[:, None], y / deviations
    fit = Fit(X / deviations[:, None], RANK_TOLERANCE, scale=1.0 / scales)
    np.testing.assert_allclose(fit.solve(b), scales * (np.linalg.pinv(A) @ b), atol=1e-10)
    np.testing.assert_allclose(
        fit.factor @ fit.U.T, scales[:, None] * np.linalg.pinv(A), atol=1e-10
    )
    assert fit.U.shape == (12, 3)
    fit = Fit(0.0 * X, RANK_TOLERANCE, scale=1.0 / scales)
    assert not fit.solve(b).any()
    assert fit.U.shape == (12, 0)
    for tiny, rank in ((0.9e-7, 1), (1.1e-7, 2)):
        assert Fit(np.diag([1.0, tiny]), RANK_TOLERANCE, scale=np.ones(2)).rank == rank


def test_parameters_are_estimable_up_to_the_mass_of_the_robot():
    """In units of their scales: a mass at 0.1 m; at least 1 kg."""
    assert REFERENCE_LENGTH == 0.1
    assert pytest.approx([1.0] + [0.1] * 3 + [0.01] * 6) == SCALES
    scales, half = np.array([1.0, 0.1, 0.01]), np.array([3.0, 0.3, 0.03])
    fit = Fit(np.eye(3), RANK_TOLERANCE, scale=1.0 / scales)
    for largest, expected in ((2.999, False), (3.001, True)):
        assert estimable(fit, half, largest).tolist() == [expected] * 3
    alone = Fit(np.eye(1), RANK_TOLERANCE, scale=np.ones(1))
    assert estimable(alone, np.ones(1), 0.1).tolist() == [True]
    for share, expected in ((0.9e-5, True), (1.1e-5, False)):  # of the second in what is unknown
        fit = Fit(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, share]]), RANK_TOLERANCE, scale=np.ones(3))
        assert estimable(fit, 0.0 * half, 1.0).tolist() == [True, expected, False]


def test_enlarged_covariances_have_the_larger_intervals():
    """Of each parameter; correlations are those of the sum."""
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(2, 3, 3))
    C, R = roots @ roots.transpose(0, 2, 1)
    R[0] = R[:, 0] = 0.0
    C[2] = C[:, 2] = R[2] = R[:, 2] = 0.0
    freedom = np.array([2.0, 3.0, 4.0])
    found = enlarged(C, 2.5, R, freedom)
    first, second = 2.5 * np.sqrt(np.diag(C)), student.ppf(0.975, freedom) * np.sqrt(np.diag(R))
    half = np.maximum(first, second)
    assert half[2] == 0.0
    np.testing.assert_allclose(2.5 * np.sqrt(np.diag(found)), half)
    both = C + R
    share = both[0, 1] / np.sqrt(both[0, 0] * both[1, 1])
    assert found[0, 1] == pytest.approx(share * half[0] * half[1] / 2.5**2)
    np.testing.assert_allclose(quantile_of([1.0, 7.0]), student.ppf(0.975, [1.0, 7.0]))


# --- functions of the parameters ------------------------------------------------------------------


def estimate(parameters, covariance, quantile=2.2):
    return InertialEstimate(parameters, covariance, quantile)


def about_center(phi):
    """Return the moments about the center of mass (Steiner)."""
    c = phi[1:4] / phi[0]
    return phi[4:] - (phi[0] * (c @ c * np.eye(3) - np.outer(c, c)))[UPPER]


def test_center_and_inertia_with_intervals_to_first_order():
    rng = np.random.default_rng(0)
    root = 0.01 * rng.normal(size=(10, 10))
    phi, C = LOAD.parameters, root @ root.T
    found = estimate(phi, C)
    assert found.not_told == ()
    assert found.mass == 2.0
    assert found.mass_interval == pytest.approx(2.2 * np.sqrt(C[0, 0]))
    np.testing.assert_allclose(found.center_of_mass, LOAD.com)
    np.testing.assert_allclose(found.inertia, LOAD.matrix[UPPER])
    for function, half in (
        (lambda x: x[1:4] / x[0], found.center_of_mass_interval),
        (about_center, found.inertia_interval),
    ):
        J = approx_fprime(phi, function, 1e-7)
        np.testing.assert_allclose(half, 2.2 * np.sqrt(np.diag(J @ C @ J.T)), rtol=1e-5)


@pytest.mark.parametrize('factor', [0.999, 1.001])
def test_a_mass_is_significant_if_its_interval_excludes_zero(factor):
    """Center of mass and inertia are estimated only then."""
    C = np.diag([(factor * 2.0 / 2.2) ** 2, *[1e-4] * 9])
    found = estimate(LOAD.parameters, C)
    assert found.has_mass == (factor < 1.0)
    for each in ('center_of_mass', 'center_of_mass_interval', 'inertia', 'inertia_interval'):
        assert np.isfinite(getattr(found, each)).all() == (factor < 1.0)
        assert getattr(found, each).shape == ((3,) if 'center' in each else (6,))


def test_what_is_not_determined_is_named():
    phi = LOAD.parameters.copy()
    phi[[2, 7]] = np.nan
    found = estimate(phi, 1e-4 * np.eye(10))
    assert found.not_told == ('my', 'Iyy')
    assert np.isnan(found.center_of_mass).tolist() == [False, True, False]
    assert np.isnan(found.center_of_mass_interval).tolist() == [False, True, False]
