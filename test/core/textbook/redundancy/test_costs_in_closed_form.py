# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Costs and metrics of redundancy against closed formulas, their defaults, and their thresholds."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.arms.inverse.acceleration import inverse_acceleration
from screw_dynamics_ros.core.description import Joint, Limits, Link, RobotDescription
from screw_dynamics_ros.core.textbook.redundancy.cyclicity import extended_inverse
from screw_dynamics_ros.core.textbook.redundancy.dexterity import (
    Manipulability,
    SingularityDistance,
)
from screw_dynamics_ros.core.textbook.redundancy.joint_springs import LimitCentering, PostureSprings
from screw_dynamics_ros.core.textbook.redundancy.metrics import KineticEnergy, MotorPower
from screw_dynamics_ros.core.textbook.redundancy.obstacles import (
    Capsule,
    ObstacleRepulsion,
    nearest_points,
)
from screw_dynamics_ros.core.textbook.redundancy.structural_loads import structural_load
from screw_dynamics_ros.core.textbook.redundancy.torque import HoldingTorque, least_torque
from support import planar_3r
from support.planar_2r import planar_2r

Q = np.array([0.3, 0.9, 0.6])
PLANE = planar_3r.IN_THE_PLANE
WEIGHTS = np.array([1.0, 2.0, 4.0])


@pytest.fixture(scope='module')
def arm():
    return Robot(planar_3r.planar_3r(), backend='reference', gravity=(0, -9.81, 0))


@pytest.mark.parametrize(
    ('stiffness', 'K'),
    [
        (2.0, 2.0 * np.eye(3)),
        ([2.0], 2.0 * np.eye(3)),
        (WEIGHTS, np.diag(WEIGHTS)),
        (planar_3r.mass_matrix(Q), planar_3r.mass_matrix(Q)),
    ],
)
def test_springs_to_a_posture(arm, stiffness, K):
    posture = np.array([0.1, -0.2, 0.4])
    cost = PostureSprings(posture, stiffness)
    d = Q - posture
    assert cost.value(arm, Q) == pytest.approx(0.5 * d @ K @ d)
    np.testing.assert_allclose(cost.gradient(arm, Q), K @ d, atol=1e-12)
    np.testing.assert_array_equal(cost.hessian(arm, Q), K)


def test_springs_of_a_free_body_pull_along_its_displacement():
    """The cost falls by half of its value per unit of time along -gradient where K = 1."""
    robot = Robot(planar_2r(), floating_base=True, backend='reference')
    q = robot.integrate(robot.neutral(), np.array([0.2, -0.3, 0.1, 0.5, 0.6, -0.7, 0.4, 0.9]))
    cost = PostureSprings(robot.neutral(), 1.0)
    d = robot.difference(robot.neutral(), q)
    assert cost.value(robot, q) == pytest.approx(0.5 * d @ d)
    # d is an eigenvector of the derivative of the logarithm, with eigenvalue 1
    assert cost.gradient(robot, q) @ d == pytest.approx(d @ d)


@pytest.mark.parametrize(('smallest', 'is_accepted'), [(-0.5e-12, True), (-2e-12, False)])
def test_stiffnesses_that_are_negative_by_rounding(arm, smallest, is_accepted):
    cost = PostureSprings(np.zeros(3), np.diag([1.0, 1.0, smallest]))
    if is_accepted:
        assert cost.hessian(arm, Q)[2, 2] == smallest
        return
    with pytest.raises(ArgumentError, match='symmetric and not negative'):
        cost.hessian(arm, Q)
    lopsided = np.eye(3)
    lopsided[0, 1] = 1e-15
    with pytest.raises(ArgumentError, match='symmetric and not negative'):
        PostureSprings(np.zeros(3), lopsided).hessian(arm, Q)


def test_only_joints_with_a_range_are_centered():
    """Not continuous ones, one that is held by its limits, one with a single limit, or a base."""
    axis = np.array([0.0, 0.0, 1.0])
    limits = [Limits(-1.0, 3.0), Limits(), Limits(0.5, 0.5), Limits(-1.0), Limits(2.0, 4.0)]
    kinds = ['revolute', 'continuous', 'prismatic', 'prismatic', 'prismatic']
    joints = [
        Joint(f'j{k}', kind, f'l{k}', f'l{k + 1}', np.eye(4), axis, limit)
        for k, (kind, limit) in enumerate(zip(kinds, limits))
    ]
    links = [Link(f'l{k}') for k in range(6)]
    description = RobotDescription.from_parts('r', links, joints)
    cost = LimitCentering()
    for robot, free in (
        (Robot(description, backend='reference'), 0),
        (Robot(description, backend='reference', floating_base=True), 6),
    ):
        q = robot.neutral()
        q[-5:] = [2.0, 9.0, 0.7, 5.0, 3.5]
        slope = np.array([0.5, 0.0, 0.0, 0.0, 1.0])
        assert cost.value(robot, q) == pytest.approx(0.5 * (0.5**2 + 0.5**2))
        np.testing.assert_allclose(cost.gradient(robot, q)[free:], 0.5 * slope)
        np.testing.assert_allclose(cost.gradient(robot, q)[:free], 0.0)
        hessian = cost.hessian(robot, q)
        np.testing.assert_allclose(hessian[free:, free:], np.diag(slope**2))
        assert np.count_nonzero(hessian) == 2


@pytest.mark.parametrize('metric', [None, WEIGHTS])
def test_manipulability_and_smallest_singular_value(arm, metric):
    """Of the planar arm, by the determinant and the singular values of its 2x3 Jacobian."""
    scaled = planar_3r.jacobian(Q) / np.sqrt(np.ones(3) if metric is None else metric)
    cost = Manipulability('tip', PLANE, joint_metric=metric)
    determinant = np.linalg.det(scaled @ scaled.T)
    assert cost.value(arm, Q) == pytest.approx(-0.5 * np.log(determinant))
    sigma = np.linalg.svd(scaled, compute_uv=False)[-1]
    for threshold in (1.01 * sigma, 3.0 * sigma, 0.99 * sigma):
        spring = SingularityDistance('tip', PLANE, joint_metric=metric, threshold=threshold)
        expected = 0.5 * max(0.0, 1.0 - sigma / threshold) ** 2
        assert spring.value(arm, Q) == pytest.approx(expected)
        assert spring.gradient(arm, Q).any() == (threshold > sigma)


def test_a_length_scales_rotations(arm):
    """One component, the rotation in the plane: each joint turns the tip at its own rate."""
    turn = np.eye(6)[[2]]
    for length in (0.5, 2.0):
        cost = Manipulability('tip', turn, length=length)
        assert cost.value(arm, Q) == pytest.approx(-np.log(length * np.sqrt(3.0)))


def test_more_components_than_the_arm_can_move_are_singular(arm):
    assert Manipulability('tip').value(arm, Q) == np.inf
    stretched = np.array([0.3, 0.0, 0.0])
    assert Manipulability('tip', PLANE).value(arm, stretched) > 15.0


def test_holding_torques(arm):
    """By effort limits, 1/2 for one motor at its limit; or with given weights."""
    g = arm.gravity_torques(Q)
    assert HoldingTorque(WEIGHTS).value(arm, Q) == pytest.approx(0.5 * WEIGHTS @ g**2)
    M = planar_3r.mass_matrix(Q)
    assert HoldingTorque(M).value(arm, Q) == pytest.approx(0.5 * g @ M @ g)
    effort = arm.limits.effort
    assert HoldingTorque().value(arm, Q) == pytest.approx(0.5 * ((g / effort) ** 2).sum())


def test_least_torque(arm):
    """Of all accelerations of the tip, by the optimality conditions of the quadratic program."""
    M, J = planar_3r.mass_matrix(Q), planar_3r.jacobian(Q)
    h, wanted = np.array([3.0, -1.0, 2.0]), np.array([0.5, -0.7])
    for W in (None, np.diag(WEIGHTS)):
        options = least_torque(M, h, W)
        a = inverse_acceleration(J, np.zeros(2), wanted, **options).a
        weights = np.eye(3) if W is None else W
        kkt = np.block([[M @ weights @ M, J.T], [J, np.zeros((2, 2))]])
        expected = np.linalg.solve(kkt, np.concatenate([-M @ weights @ h, wanted]))[:3]
        np.testing.assert_allclose(a, expected, atol=1e-10)


def test_repulsion_of_a_sphere(arm):
    """At the tip, of a sphere beside it: distance, force k (margin - d) and its torques."""
    tip = np.array([*planar_3r.tip(Q), 0.0])
    direction = np.array([0.6, 0.8, 0.0])
    body = Capsule.sphere([0, 0, 0], 0.1, 'tip')
    obstacle = Capsule.sphere(tip + 0.5 * direction, 0.15)
    cost = ObstacleRepulsion([body], [obstacle], margin=0.4, stiffness=30.0)
    (near,) = cost.clearances(arm, Q)
    assert (near.body, near.obstacle) == (0, 0)
    assert near.distance == pytest.approx(0.25)
    np.testing.assert_allclose(near.gradient, -direction[:2] @ planar_3r.jacobian(Q), atol=1e-9)
    assert cost.value(arm, Q) == pytest.approx(0.5 * 30.0 * 0.15**2)
    np.testing.assert_allclose(cost.gradient(arm, Q), -30.0 * 0.15 * near.gradient, atol=1e-9)
    slack = ObstacleRepulsion([body], [obstacle], margin=0.2, stiffness=30.0)
    assert slack.value(arm, Q) == 0.0
    np.testing.assert_array_equal(slack.gradient(arm, Q), np.zeros(3))


def test_each_pair_of_bodies_and_obstacles_has_a_clearance(arm):
    bodies = [Capsule.sphere([0, 0, 0], 0.1 * k, 'tip') for k in (1, 2)]
    obstacles = [Capsule.sphere([9.0, 0, 0], 0.1), Capsule.sphere([0, 0, 0], 0.1, 'base')]
    cost = ObstacleRepulsion(bodies, obstacles, margin=100.0)
    found = cost.clearances(arm, Q)
    assert [(each.body, each.obstacle) for each in found] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    reach = np.linalg.norm(planar_3r.tip(Q))
    assert found[1].distance == pytest.approx(reach - 0.2)
    assert found[3].distance == pytest.approx(reach - 0.3)
    assert cost.value(arm, Q) == pytest.approx(0.5 * sum((100 - f.distance) ** 2 for f in found))


def test_capsules_through_each_other_have_no_direction(arm):
    tip = np.array([*planar_3r.tip(Q), 0.0])
    obstacle = Capsule(tip - [0, 0, 1], tip + [0, 0, 1], 0.2)
    cost = ObstacleRepulsion([Capsule.sphere([0, 0, 0], 0.1, 'tip')], [obstacle], margin=0.1)
    (near,) = cost.clearances(arm, Q)
    assert near.distance == pytest.approx(-0.3)


def test_nearest_points_of_degenerate_segments():
    """Points beyond each end, and almost parallel segments: on the segments, at least distance."""
    zero, x = np.zeros(3), np.array([1.0, 0.0, 0.0])
    for end, nearest in ((-0.5, 0.0), (0.25, 0.25), (1.5, 1.0)):
        point = np.array([end, 2.0, 0.0])
        for a, b in (((zero, x), (point, point)), ((point, point), (zero, x))):
            p, r = nearest_points(a, b)
            on_segment = p if a[1] is x else r
            np.testing.assert_allclose(on_segment, [nearest, 0.0, 0.0], atol=1e-15)
    p, r = nearest_points((zero, zero), (x, x))
    np.testing.assert_array_equal(p - r, -x)
    apart = np.array([[3.0, 1.0, 0.0], [5.0, 1.0 + 1e-9, 0.0]])
    p, r = nearest_points((zero, x), tuple(apart))
    np.testing.assert_allclose((p, r), (x, apart[0]), atol=1e-12)


def test_what_a_structure_bears():
    """A stretched planar arm along x: forces along it, and all out of its plane."""
    J = np.zeros((6, 2))
    J[2], J[4] = [1, 1], [2, 1]
    for length in (1.0, 0.5):
        load = structural_load(J, [1.0, 2.0, 0.0, -50.0, 0.0, 3.0], length=length)
        np.testing.assert_allclose(load.carried, 0.0, atol=1e-12)
        np.testing.assert_allclose(load.torques, 0.0, atol=1e-12)
        assert load.share == pytest.approx(1.0)
        assert load.basis.shape == (6, 4)
        mixed = structural_load(J, [1.0, 0, 2.0, 0, 0, 0], length=length)
        assert mixed.share == pytest.approx(0.2)
    assert structural_load(J, np.zeros(6)).share == 1.0
    nearly = J.copy()
    nearly[4] = [1.0, 1.0 + 1e-6]
    assert structural_load(nearly, np.ones(6)).basis.shape == (6, 4)
    assert structural_load(nearly, np.ones(6), tolerance=1e-3).basis.shape == (6, 5)


def test_constraint_rows_complete_a_jacobian(arm):
    J, A = planar_3r.jacobian(Q), np.array([[0.3, -0.5, 0.9]])
    B, E = extended_inverse(J, A)
    np.testing.assert_allclose(J @ B, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(A @ B, 0.0, atol=1e-12)
    np.testing.assert_allclose(J @ E, 0.0, atol=1e-12)
    np.testing.assert_allclose(A @ E, np.eye(1), atol=1e-12)
    with pytest.raises(ArgumentError, match=r'A must have shape \(1, 3\) to make J \(2, 3\)'):
        extended_inverse(J, np.eye(2, 3))
    with pytest.raises(ArgumentError, match=r'the Jacobian has dependent rows: .* value 0'):
        extended_inverse(np.array([J[0], 0.0 * J[0]]), A)
    with pytest.raises(ArgumentError, match='not transversal to J'):
        extended_inverse(J, J[:1])
    small = np.diag([1.0, 1e-6, 1.0])
    assert extended_inverse(small[:2], small[2:])[0][1, 1] == pytest.approx(1e6)
    with pytest.raises(ArgumentError, match='dependent rows'):
        extended_inverse(small[:2], small[2:], cutoff=1e-5)
    tilted = np.array([[1.0, 1e-6]])
    assert np.isfinite(extended_inverse([[1.0, 0.0]], tilted)[0]).all()
    with pytest.raises(ArgumentError, match='not transversal'):
        extended_inverse([[1.0, 0.0]], tilted, cutoff=1e-5)


@pytest.mark.parametrize(
    ('given', 'expected'),
    [
        (PostureSprings(0.0), ('posture', 'rad^2', 1.0)),
        (LimitCentering(), ('limit centering', '1', 1.0)),
        (Manipulability('l'), ('manipulability', '1', 1.0)),
        (SingularityDistance('l'), ('distance from singularities', '1', 1.0)),
        (HoldingTorque(), ('holding torque', '1', 1.0)),
        (ObstacleRepulsion([], [], 1.0), ('obstacle repulsion', 'J', 1.0)),
        (KineticEnergy(), ('kinetic energy', 'J', 1.0)),
        (MotorPower([1.0]), ('motor power', 'W', 1.0)),
    ],
    ids=lambda x: x[0].replace(' ', '_') if isinstance(x, tuple) else '',
)
def test_names_units_and_weights(given, expected):
    assert (given.name, given.unit, given.weight) == expected


def test_other_defaults():
    assert PostureSprings(0.0).stiffness == 1.0
    assert (Manipulability('l').length, SingularityDistance('l').length) == (1.0, 1.0)
    assert SingularityDistance('l').threshold == 0.1
    assert ObstacleRepulsion([], [], 1.0).stiffness == 1.0
    assert Capsule.sphere([1, 2, 3], 0.5, 'l') == Capsule([1, 2, 3], [1, 2, 3], 0.5, 'l')


@pytest.mark.parametrize(
    ('make', 'name', 'zero'),
    [
        (lambda x: PostureSprings(0.0, weight=x), 'the weight of the posture', True),
        (lambda x: LimitCentering(weight=x), 'the weight of limit centering', True),
        (lambda x: Manipulability('l', weight=x), 'the weight of the manipulability', True),
        (lambda x: SingularityDistance('l', weight=x), 'the weight of the distance', True),
        (lambda x: SingularityDistance('l', threshold=x), 'the threshold of the', False),
        (lambda x: HoldingTorque(weight=x), 'the weight of the holding torque', True),
        (lambda x: ObstacleRepulsion([], [], 1, weight=x), 'the weight of the obst', True),
        (lambda x: ObstacleRepulsion([], [], x), 'the margin of the obstacle', False),
        (lambda x: ObstacleRepulsion([], [], 1, x), 'the stiffness of the obstacle', False),
        (lambda x: KineticEnergy(weight=x), 'the weight of the kinetic energy', False),
        (lambda x: MotorPower([1.0], weight=x), 'the weight of the motor power', False),
        (lambda x: Capsule.sphere([0, 0, 0], x), 'the radius of a capsule', True),
    ],
)
def test_numbers_that_must_not_be_negative(make, name, zero):
    for value in (-1e-9, np.nan):
        with pytest.raises(ArgumentError, match=name):
            make(value)
    if zero:
        make(0.0)
        return
    with pytest.raises(ArgumentError, match=name):
        make(0.0)


def test_losses_of_motors_are_positive(arm):
    with pytest.raises(ArgumentError, match='motor losses'):
        MotorPower([1.0, 0.0, 1.0]).matrix(arm, Q)
    with pytest.raises(ArgumentError, match='motor losses'):
        MotorPower([1.0, 1.0]).matrix(arm, Q)
