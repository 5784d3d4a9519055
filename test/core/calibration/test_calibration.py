# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Accuracy, calibration of link tables and inverse kinematics of calibrated chains.

Spec IDs: B-131, B-132 (5.30) and B-133.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm, logm
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.calibration.accuracy import accuracy
from screw_dynamics_ros.core.calibration.calibration import (
    calibrate,
    corrected,
    error_jacobian,
)
from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError, UnknownNameError
from screw_dynamics_ros.core.kinematics.link_table import LinkTable, Row
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.textbook.link_tables.denavit_hartenberg import StandardRow, modified
from screw_dynamics_ros.core.textbook.link_tables.hayati_roberts import (
    ContinuousRow,
    HayatiRobertsRow,
    automatic,
)
from support.models import random_pose
from support.poe_models import random_geometry

ERROR = 1e-3
POSES = 50

EXACT = {'rotation_deviation': 1e-4, 'position_deviation': 1e-4}


def general_arm(seed: int = 0, kinds: str = 'R') -> LinkTable:
    """Return a table of six joints without special geometry, base and tool anywhere."""
    return LinkTable.of(random_geometry(seed, 6, kinds, chain=True), StandardRow.fit)


def elbow_arm(row: type[Row] = StandardRow) -> LinkTable:
    """Return an arm of six joints whose axes 2 and 3 are parallel."""
    half = np.pi / 2
    links = [(0.1, half), (0.4, 0.0), (0.05, half), (0.03, -half), (0.02, half), (0.04, 0.3)]
    heights = [0.3, 0.1, -0.05, 0.35, 0.06, 0.08]
    rows: list[Row] = [
        StandardRow('revolute', 0.1 * i, d, a, alpha)
        for i, (d, (a, alpha)) in enumerate(zip(heights, links))
    ]
    if row is HayatiRobertsRow:
        rows[1] = HayatiRobertsRow('revolute', alpha=0.1, d=0.4, h=0.1)
    return LinkTable(rows, names=[f'j{i}' for i in range(1, 7)])


def constants(table: LinkTable) -> np.ndarray:
    return np.array([x for row in table.rows for x in row.parameters().values()])


def names_of(table: LinkTable) -> list[str]:
    return [f'{name}.{c}' for name, row in zip(table.names, table.rows) for c in row.parameters()]


def with_errors(
    table: LinkTable, seed: int, size: float = ERROR, only: Sequence[str] = ()
) -> LinkTable:
    """Return the table with random errors, made without the package's own correction."""
    rng = np.random.default_rng(seed)
    rows = []
    for row in table.rows:
        errors = {c: x + size * rng.uniform(-1, 1) for c, x in row.parameters().items()}
        rows.append(replace(row, **{c: x for c, x in errors.items() if not only or c in only}))
    return LinkTable(rows, table.base, table.tool, table.names)


def configurations(table: LinkTable, count: int = POSES, seed: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2.5, 2.5, (count, len(table.rows)))


def noisy(C: np.ndarray, seed: int, angle: float, distance: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    turns = Rotation.from_rotvec(rng.normal(0, angle, (len(C), 3))).as_matrix()
    C = C.copy()
    C[:, :3, :3] = C[:, :3, :3] @ turns
    C[:, :3, 3] += rng.normal(0, distance, (len(C), 3))
    return C


# --- B-132: the linear model ----------------------------------------------------------------------


MIXED = LinkTable(
    [
        StandardRow('revolute', 0.3, 0.2, 0.5, -0.9),
        HayatiRobertsRow('prismatic', 0.2, 0.3, 0.3, -0.2, 0.1),
        ContinuousRow('revolute', 0.3, -0.4, 0.5, 0.2, 0.1),
        ContinuousRow('prismatic', -0.5, 0.4, 0.1, 0.3, 0.2, True),
    ],
    random_pose(np.random.default_rng(1)),
    random_pose(np.random.default_rng(2)),
)


@pytest.mark.parametrize(
    'table',
    [general_arm(3, 'RP'), modified(general_arm(4, 'RP')), MIXED, elbow_arm(HayatiRobertsRow)],
    ids=['standard', 'modified', 'mixed', 'Hayati-Roberts'],
)
def test_columns_against_differences(table):
    """B-132: every column of J_P is the body twist T^-1 dT/dP, base and tool included."""
    q = configurations(table, 3)
    names, J = error_jacobian(table, q)
    constants = [n for n in names_of(table) if not n.endswith('.down')]
    ends = [f'{end}.{x}' for end in ('base', 'tool') for x in ('rx', 'ry', 'rz', 'x', 'y', 'z')]
    assert sorted(names) == sorted([*constants, *ends])
    h = 2e-6
    for name, columns in zip(names, np.moveaxis(J, -1, 0)):
        plus, minus = (corrected(table, {name: x}).pose(q) for x in (h, -h))
        moved = np.linalg.inv(table.pose(q)) @ (plus - minus) / (2 * h)
        np.testing.assert_allclose(se3.hat(columns), moved, rtol=0, atol=1e-9, err_msg=name)


def test_columns_are_unit_screws():
    """B-132: error parameters act as virtual joints, revolute or prismatic."""
    _, J = error_jacobian(elbow_arm(HayatiRobertsRow), configurations(elbow_arm(), 4))
    for X in np.moveaxis(J, 1, 2).reshape(-1, 6):
        size = np.linalg.norm(X[:3]) or np.linalg.norm(X[3:])
        assert abs(size - 1.0) < 1e-12 or np.linalg.norm(X[:3]) < 1e-15
        assert abs(X[:3] @ X[3:]) < 1e-12  # no pitch


def test_first_order_model():
    """B-132, (5.30): log(T_model^-1 T_measured) = J_P P up to the square of the errors."""
    table = general_arm()
    truth = with_errors(table, 1)
    q = configurations(table, 3)
    names, J = error_jacobian(table, q)
    P = dict(zip(names_of(table), constants(truth) - constants(table)))
    P = np.array([P.get(name, 0.0) for name in names])
    for k in range(len(q)):
        log = logm(np.linalg.inv(table.pose(q[k])) @ truth.pose(q[k])).real
        assert np.abs(log - se3.hat(J[k] @ P)).max() < 100 * ERROR**2
        assert np.abs(log).max() > ERROR


# --- B-132: calibration ---------------------------------------------------------------------------


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('convert', [lambda table: table, modified], ids=['standard', 'modified'])
def test_errors_of_a_general_arm_are_recovered(seed, convert):
    """B-132: errors of 1e-3 in all 24 constants, 50 exact poses, base and tool known."""
    nominal = convert(general_arm(seed))
    if convert is modified:  # its first two constants belong to the base, its tool to the last row
        nominal = LinkTable(nominal.rows, nominal.base, np.eye(4))
    truth = with_errors(nominal, seed)
    q = configurations(nominal)
    result = calibrate(nominal, q, truth.pose(q), **EXACT)
    assert result.success
    assert result.iterations <= 5
    assert result.rank == len(result.parameters) == 24
    assert not result.unidentifiable
    assert np.abs(constants(nominal) - constants(truth)).max() > 0.5 * ERROR
    np.testing.assert_allclose(constants(result.table), constants(truth), rtol=0, atol=1e-9)
    assert np.abs(result.residuals_before).max() > ERROR
    assert np.abs(result.residuals_after).max() < 1e-12
    np.testing.assert_array_equal(result.table.base, nominal.base)
    np.testing.assert_array_equal(result.table.tool, nominal.tool)


def test_continuous_rows():
    """B-132 with B-112: the constants of parametrically continuous rows."""
    table = LinkTable(
        [
            ContinuousRow('revolute', 0.3, -0.4, 0.5, 0.2),
            ContinuousRow('revolute', -0.2, 0.1, 0.1, 0.3, 0.0, True),
            ContinuousRow('revolute', 0.1, 0.3, 0.2, 0.1),
        ]
    )
    truth = corrected(table, {'joint1.bx': 1e-3, 'joint2.by': -8e-4, 'joint3.lx': 5e-4})
    q = configurations(table)
    heights = [f'joint{i}.h' for i in (1, 2, 3)]
    result = calibrate(table, q, truth.pose(q), fixed=heights, **EXACT)
    assert result.success
    assert result.rank == 12
    np.testing.assert_allclose(constants(result.table), constants(truth), rtol=0, atol=1e-9)
    straight = LinkTable([ContinuousRow('revolute', down=True)])
    with pytest.raises(DescriptionError, match='no derivative'):
        calibrate(straight, [[0.0]], [np.eye(4)], **EXACT)


def test_points_are_enough():
    """B-132 from positions of the tool alone: what only turns the last body stays unknown."""
    nominal = general_arm(1)
    truth = with_errors(nominal, 1)
    q = configurations(nominal)
    result = calibrate(nominal, q, truth.pose(q)[:, :3, 3], **EXACT)
    assert result.success
    assert result.residuals_after.shape == (POSES, 3)
    other = configurations(nominal, 10, seed=8)
    apart = result.table.pose(other)[:, :3, 3] - truth.pose(other)[:, :3, 3]
    assert np.abs(apart).max() < 1e-9
    stub = LinkTable(nominal.rows, nominal.base)  # the tool point on the last axis
    result = calibrate(stub, q, with_errors(stub, 1).pose(q)[:, :3, 3], **EXACT)
    assert {'joint6.alpha': 1.0} in result.unidentifiable
    assert result.rank == 23


def test_base_and_tool_are_estimated():
    """B-132: with base and tool unknown 4 n + 6 constants are independent; the gauge is named."""
    nominal = general_arm(2)
    truth = with_errors(nominal, 2)
    rng = np.random.default_rng(3)
    base, tool = (expm(se3.hat(rng.uniform(-0.01, 0.01, 6))) for _ in range(2))
    truth = LinkTable(truth.rows, truth.base @ base, truth.tool @ tool)
    q, other = configurations(nominal), configurations(nominal, 10, seed=8)
    result = calibrate(nominal, q, truth.pose(q), estimate_base=True, estimate_tool=True, **EXACT)
    assert result.success
    assert len(result.parameters) == 36
    assert result.rank == 30
    assert len(result.unidentifiable) == 6
    assert np.isinf(result.deviations).any()
    np.testing.assert_allclose(result.table.pose(other), truth.pose(other), rtol=0, atol=1e-9)
    involved = {name for combination in result.unidentifiable for name in combination}
    assert {'base.rz', 'joint1.theta', 'base.z', 'joint1.d', 'joint6.a', 'tool.x'} <= involved
    for combination in result.unidentifiable:
        together = corrected(result.table, {name: 1e-6 * c for name, c in combination.items()})
        np.testing.assert_allclose(together.pose(q), result.table.pose(q), rtol=0, atol=1e-10)
        for name, coefficient in combination.items():
            alone = corrected(result.table, {name: 1e-6 * coefficient})
            assert np.abs(alone.pose(q) - result.table.pose(q)).max() > 1e-9 * abs(coefficient)
    known_base = calibrate(nominal, q, truth.pose(q), estimate_tool=True, **EXACT)
    assert known_base.misfit > 1.0  # a wrong base cannot be explained by the rest


def test_parallel_axes_are_named():
    """B-132: two parallel axes can slide along each other unseen; the rank tells, and the name."""
    nominal = elbow_arm()
    truth = with_errors(nominal, 5, only=('theta', 'd', 'a'))
    q = configurations(nominal)
    result = calibrate(nominal, q, truth.pose(q), **EXACT)
    assert result.success
    assert result.rank == 23
    assert len(result.singular_values) == 24
    (combination,) = result.unidentifiable
    assert combination.keys() == {'j2.d', 'j3.d'}
    assert combination['j2.d'] == pytest.approx(-combination['j3.d'])
    assert 'j2.d' in result.message
    assert 'j3.d' in result.message
    infinite = np.isinf(result.deviations)
    assert {n for n, x in zip(result.parameters, infinite) if x} == {'j2.d', 'j3.d'}
    found, true = (dict(zip(names_of(t), constants(t))) for t in (result.table, truth))
    assert found['j2.d'] + found['j3.d'] == pytest.approx(true['j2.d'] + true['j3.d'], abs=1e-9)
    for name in set(found) - {'j2.d', 'j3.d'}:
        assert found[name] == pytest.approx(true[name], abs=1e-9)


def test_nearly_parallel_axes_need_hayati_roberts():
    """B-132, B-111: constants follow a tilt by small amounts; the common normal jumps."""
    nominal = elbow_arm(HayatiRobertsRow)
    truth = with_errors(nominal, 6)
    q, other = configurations(nominal), configurations(nominal, 10, seed=8)
    result = calibrate(nominal, q, truth.pose(q), fixed=['j2.h'], **EXACT)
    assert result.success
    assert result.iterations <= 5
    assert result.rank == 24
    np.testing.assert_allclose(result.table.pose(other), truth.pose(other), rtol=0, atol=1e-9)
    assert np.abs(constants(result.table) - constants(nominal)).max() < 10 * ERROR
    redundant = calibrate(nominal, q, truth.pose(q), **EXACT)
    assert redundant.success
    assert redundant.rank == 24
    assert {'j2.h', 'j3.d'} <= redundant.unidentifiable[0].keys()
    np.testing.assert_allclose(redundant.table.pose(other), truth.pose(other), rtol=0, atol=1e-9)
    jumped = LinkTable.of(truth.joint_frames(), StandardRow.fit)
    assert np.abs(constants(jumped) - constants(elbow_arm())).max() > 0.1
    assert type(LinkTable.of(elbow_arm().joint_frames(), automatic).rows[1]) is HayatiRobertsRow


def test_noise_leaves_the_errors_expected():
    """B-132, weighting: over many sets of noise the errors have the covariance stated."""
    nominal = general_arm(1)
    truth = with_errors(nominal, 1)
    q = configurations(nominal)
    exact, angle, distance = truth.pose(q), 2e-4, 5e-5
    squares, misfits = [], []
    for seed in range(20):
        result = calibrate(
            nominal,
            q,
            noisy(exact, seed, angle, distance),
            rotation_deviation=angle,
            position_deviation=distance,
        )
        assert result.success
        error = constants(result.table) - constants(truth)
        np.testing.assert_allclose(result.deviations**2, np.diag(result.covariance))
        squares.append(error @ np.linalg.solve(_in_order(result, truth), error) / len(error))
        misfits.append(result.misfit)
    # Mean of 20 chi squares of 24 degrees of freedom each: 1 within 4 sqrt(2 / 480).
    assert abs(np.mean(squares) - 1.0) < 4 * np.sqrt(2 / 480)
    assert abs(np.mean(misfits) - 1.0) < 0.03


def test_weights_are_those_given():
    """B-132: with noise in the rotations only, weighting them properly is better by far."""
    nominal = general_arm(1)
    truth = with_errors(nominal, 1)
    q = configurations(nominal)
    measured = noisy(truth.pose(q), 3, 1e-3, 1e-8)
    right, wrong = (
        calibrate(nominal, q, measured, rotation_deviation=angle, position_deviation=distance)
        for angle, distance in ((1e-3, 1e-8), (1e-8, 1e-3))
    )
    right_error, wrong_error = (
        np.median(np.abs(constants(r.table) - constants(truth))) for r in (right, wrong)
    )
    assert right_error < 1e-2 * wrong_error


@pytest.mark.parametrize('points', [False, True], ids=['poses', 'points'])
def test_large_residuals_end_at_the_minimum(points):
    """With the derivative of the logarithm, weighted squares are minimal where noise is large."""
    nominal = general_arm(1)
    q = configurations(nominal)
    measured = noisy(nominal.pose(q), 4, 0.3, 0.1)
    seen = measured[:, :3, 3] if points else measured
    result = calibrate(
        nominal, q, seen, rotation_deviation=0.3, position_deviation=0.1, max_iterations=100
    )
    assert result.success

    def cost(name: str, x: float) -> float:
        T = corrected(result.table, {name: x}).pose(q)
        e = se3.log(np.linalg.inv(T) @ measured)
        if points:
            return np.sum((measured[:, :3, 3] - T[:, :3, 3]) ** 2) / 0.1**2
        return np.sum(e[:, :3] ** 2) / 0.3**2 + np.sum(e[:, 3:] ** 2) / 0.1**2

    for name, deviation in zip(result.parameters, result.deviations):
        if np.isfinite(deviation):
            h = 1e-3 * deviation
            slope = deviation * (cost(name, h) - cost(name, -h)) / (2 * h)
            assert abs(slope) < 1e-4, name


def _in_order(result, table):
    order = [result.parameters.index(name) for name in names_of(table)]
    return result.covariance[np.ix_(order, order)]


def test_no_convergence_is_said():
    nominal = general_arm()
    q = configurations(nominal)
    truth = with_errors(nominal, 0)
    result = calibrate(nominal, q, truth.pose(q), max_iterations=1, **EXACT)
    assert not result.success
    assert result.iterations == 1
    assert 'corrections still above 1e-10 after 1 steps' in result.message


# --- B-133 ----------------------------------------------------------------------------------------


def test_inverse_kinematics_of_the_calibrated_arm():
    """B-133: from the nominal solution, which misses, steps reach the target nearby."""
    nominal = elbow_arm(HayatiRobertsRow)
    truth = with_errors(nominal, 9)
    q = configurations(nominal)
    table = calibrate(nominal, q, truth.pose(q), **EXACT).table
    robot = Robot.from_geometry(table)
    for q_nominal in configurations(nominal, 5, seed=2):
        target = nominal.pose(q_nominal)
        assert np.abs(truth.pose(q_nominal) - target).max() > 0.1 * ERROR
        result = robot.inverse_kinematics(target, 'body6', q0=q_nominal, restarts=0)
        assert result.success
        assert result.residual < 1e-9
        np.testing.assert_allclose(truth.pose(result.q), target, rtol=0, atol=2e-9)
        assert np.abs(result.q - q_nominal).max() < 0.5


# --- B-131 ----------------------------------------------------------------------------------------


def test_bias_and_spread():
    """B-131: known bias and spread of poses attained for the same command."""
    rng = np.random.default_rng(0)
    model = np.stack([random_pose(rng) for _ in range(3)])
    bias = np.array([1e-3, -2e-3, 5e-4, 0.01, -0.02, 0.005])
    offset = np.eye(4)
    offset[:3, :3] = Rotation.from_rotvec(bias[:3]).as_matrix()
    offset[:3, 3] = bias[3:]
    angle, distance, count = 2e-4, 1e-4, 4000
    attained = np.stack([noisy(np.stack([C @ offset] * count), 1, angle, distance) for C in model])
    result = accuracy(model, attained)
    within = 5 / np.sqrt(count)
    for k in range(3):
        np.testing.assert_allclose(result.bias[k, :3], bias[:3], rtol=0, atol=within * angle)
        np.testing.assert_allclose(result.bias[k, 3:], bias[3:], rtol=0, atol=within * distance)
    sizes = [np.linalg.norm(bias[:3]), np.linalg.norm(bias[3:])]
    np.testing.assert_allclose(result.accuracy, [sizes] * 3, rtol=0, atol=2e-5)
    # The length of three normal numbers: mean sqrt(8 / pi) and variance 3 - 8 / pi (Maxwell).
    mean, deviation = np.sqrt(8 / np.pi), np.sqrt(3 - 8 / np.pi)
    for scale, column in ((angle, 0), (distance, 1)):
        np.testing.assert_allclose(result.spread[:, column], scale * mean, rtol=0.05)
        np.testing.assert_allclose(
            result.repeatability[:, column], scale * (mean + 3 * deviation), rtol=0.05
        )
    # Two poses on both sides of the mean, as exact numbers.
    sides = [C @ se3.pose(np.eye(3), [x, 0, 0]) for C in model[:1] for x in (-0.1, 0.1)]
    exact = accuracy(model[0], sides)
    np.testing.assert_allclose(exact.accuracy, [0, 0], atol=1e-12)
    np.testing.assert_allclose(exact.spread, [0, 0.1], atol=1e-12)
    np.testing.assert_allclose(exact.repeatability, [0, 0.1], atol=1e-12)


def test_calibration_improves_accuracy_not_repeatability():
    """B-131, B-132: the bias is the model's and goes, the spread is the arm's and stays."""
    nominal = general_arm(1)
    truth = with_errors(nominal, 1)
    q = configurations(nominal)
    table = calibrate(nominal, q, noisy(truth.pose(q), 1, 1e-5, 1e-5), **EXACT).table
    command = configurations(nominal, 1, seed=5)[0]
    attained = noisy(np.stack([truth.pose(command)] * 100), 2, 1e-5, 1e-5)
    before, after = (accuracy(t.pose(command), attained) for t in (nominal, table))
    assert (after.accuracy < 0.05 * before.accuracy).all()
    np.testing.assert_allclose(after.repeatability, before.repeatability, rtol=1e-12)


# --- bad input ------------------------------------------------------------------------------------


def test_what_is_refused():
    table = general_arm()
    q = configurations(table)
    C = table.pose(q)
    broken, stretched, unknown = C.copy(), C.copy(), q.copy()
    broken[4, 0, 3], stretched[7, :3, :3], unknown[2, 1] = np.nan, 1.1 * C[7, :3, :3], np.inf
    twice = LinkTable(table.rows, names=['a', 'a', 'c', 'd', 'e', 'f'])
    for arguments, changes, message in [
        ((table, q[:3], C[:3]), {}, '3 measurements give 18 equations for 24 parameters'),
        ((table, q[:7], C[:7, :3, 3]), {}, '7 measurements give 21 equations'),
        ((table, q[:, :5], C), {}, r'q must have shape \(N, 6\)'),
        ((table, q[0], C), {}, r'q must have shape \(N, 6\)'),
        ((table, q, C[:-1]), {}, r'measured must have shape \(50, 4, 4\)'),
        ((table, q, C[:, :3]), {}, r'measured must have shape'),
        ((table, q, broken), {}, r'measured\[4\] holds numbers that are not finite'),
        ((table, unknown, C), {}, r'q\[2\] holds numbers that are not finite'),
        ((table, q, stretched), {}, r'measured: not a rotation matrix at index \(7,\)'),
        ((table, q, 'poses'), {}, 'measured must hold real numbers'),
        (
            (table, q, C),
            {'rotation_deviation': 0.0},
            'rotation_deviation must be a finite positive',
        ),
        ((table, q, C), {'position_deviation': np.nan}, 'position_deviation must be .* got nan'),
        ((table, q, C), {'max_iterations': 0}, 'max_iterations must be .* got 0'),
        ((table, q, C), {'fixed': names_of(table)}, 'at least one parameter'),
        ((twice, q, C), {}, "calls a joint 'a'"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            calibrate(*arguments, **EXACT | changes)
    with pytest.raises(UnknownNameError, match=r"no parameter 'joint1\.beta'"):
        calibrate(table, q, C, fixed=['joint1.beta'], **EXACT)
    for wrong in ('joint9.d', 'joint1.joint', 'base.w', 'd'):
        with pytest.raises(UnknownNameError, match='no parameter'):
            corrected(table, {wrong: 0.1})
    with pytest.raises(ArgumentError, match=r'q must have shape \(\.\.\., 6\)'):
        error_jacobian(table, [0.0] * 5)


def test_what_accuracy_refuses():
    I = np.eye(4)  # noqa: E741
    for model, attained, message in [
        (I, [I], '1 attained poses'),
        (I, I, 'attained must have shape'),
        (np.eye(3), [I, I], 'modeled must have shape'),
        ([I, I], [[I, I]], 'attained must have shape'),
        (I, [I, np.nan * I], 'attained holds numbers that are not finite'),
        (I, [I, 2 * I], 'attained: not a rigid motion'),
        (np.diag([1, 1, -1, 1]), [I, I], 'modeled: not a rotation'),
    ]:
        with pytest.raises(ArgumentError, match=message):
            accuracy(model, attained)
