# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Criteria at work: the task stays exact, each criterion improves what it is for (5.9.1)."""

import numpy as np
import pytest

from screw_dynamics_ros.core import AdaptiveDamping, ArgumentError, Robot, Task
from screw_dynamics_ros.core.arms.inverse.redundancy import BoundedRates
from screw_dynamics_ros.core.textbook.redundancy.dexterity import (
    Manipulability,
    SingularityDistance,
)
from screw_dynamics_ros.core.textbook.redundancy.joint_springs import LimitCentering, PostureSprings
from screw_dynamics_ros.core.textbook.redundancy.metrics import KineticEnergy, MotorPower
from screw_dynamics_ros.core.textbook.redundancy.obstacles import Capsule, ObstacleRepulsion
from screw_dynamics_ros.core.textbook.redundancy.torque import HoldingTorque, least_torque
from support.planar_3r import IN_THE_PLANE, planar_3r
from support.robots import urdf_path

TOOL = 'panda_hand_tcp'
REST = np.zeros(6)


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('panda'), backend='reference')


@pytest.fixture(scope='module')
def arm():
    return Robot(planar_3r(), backend='reference')


@pytest.fixture
def q(robot):
    middle = 0.5 * (robot.limits.lower + robot.limits.upper)
    return middle + np.array([0.2, 0.3, -0.4, 0.5, 0.3, -0.2, 0.1, 0.0])


def moved(robot, q, criteria, steps, dt=0.05, twist=(0.0, 0.0), link='tip'):
    """Return where an arm in the plane gets by steps that keep its tip on its line.

    Newton's method takes back what a finite step moves the tip off it.
    """
    target = robot.link_pose(q, link)[:2, 3]
    for _ in range(steps):
        result = robot.resolve_redundancy(q, twist, link, criteria, selection=IN_THE_PLANE)
        assert result.success
        q, target = q + dt * result.v, target + dt * np.asarray(twist)
        for _ in range(5):
            J = IN_THE_PLANE @ robot.jacobian(q, link)
            q = q + np.linalg.pinv(J) @ (target - robot.link_pose(q, link)[:2, 3])
    np.testing.assert_allclose(robot.link_pose(q, link)[:2, 3], target, atol=1e-9)
    return q


def test_parts_add_up_and_the_task_is_exact(robot, q):
    """C-026 to C-036: v is the sum; the task feels none of the costs; each descends."""
    twist = np.array([0.1, 0, 0.2, 0.1, -0.1, 0.05])
    criteria = [
        PostureSprings(np.zeros(8), weight=0.5),
        KineticEnergy(),
        LimitCentering(0.3),
        Manipulability(TOOL, weight=0.1),
        HoldingTorque(weight=0.2),
        MotorPower(np.ones(8), weight=0.1),
    ]
    result = robot.resolve_redundancy(q, twist, TOOL, criteria)
    assert result.success
    assert result.freedom == 2
    np.testing.assert_allclose(robot.velocity(q, result.v, TOOL), twist, atol=1e-9)
    parts = [part.rates for part in result.contributions]
    np.testing.assert_allclose(result.task_rates + np.sum(parts, axis=0), result.v, atol=1e-12)
    assert [part.name for part in result.contributions] == [c.name for c in criteria]
    for criterion, part in zip(criteria, result.contributions):
        if part.message == 'a metric':
            assert not part.rates.any()
            assert part.value > 0.0
            continue
        assert part.slope == pytest.approx(criterion.gradient(robot, q) @ part.rates)
        assert part.slope < 0.0
        assert part.value == criterion.value(robot, q)
        assert np.abs(robot.velocity(q, part.rates, TOOL)).max() < 1e-9


def test_projected_gradient_is_not_downhill_in_every_metric(robot):
    """Minus the gradient, projected by 1 - J^# J of the mass matrix, can climb; Z Z^T g cannot."""
    climbs = 0
    for seed in range(40):
        q = robot.random_configuration(np.random.default_rng(seed))
        cost = PostureSprings(np.zeros(8))
        g = cost.gradient(robot, q)
        M = robot.mass_matrix(q)
        naive = robot.inverse_velocity(q, REST, TOOL, joint_metric=M, secondary=-g).v
        climbs += g @ naive > 1e-6
        found = robot.resolve_redundancy(q, REST, TOOL, [cost, KineticEnergy()])
        assert found.contributions[0].slope <= 0.0
    assert climbs > 0


def test_posture_is_reached_in_the_null_space(arm):
    """C-030: q converges to a posture that the tip allows."""
    q = np.array([0.3, 0.9, 0.6])
    goal = moved(arm, q, [PostureSprings([1.5, -1.0, 0.5])], 20, dt=0.1)
    end = moved(arm, q, [PostureSprings(goal)], 60, dt=0.2)
    assert np.abs(end - goal).max() < 1e-5
    assert np.abs(goal - q).max() > 0.3


def test_least_kinetic_energy(robot, q):
    """C-031: equal to the mass matrix as joint metric, rotors included."""
    twist = np.array([0.1, 0, 0.2, 0.1, -0.1, 0.05])
    result = robot.resolve_redundancy(q, twist, TOOL, [KineticEnergy(3.0)])
    plain = robot.inverse_velocity(q, twist, TOOL, joint_metric=robot.mass_matrix(q)).v
    np.testing.assert_allclose(result.v, plain, atol=1e-12)
    assert result.contributions[0].value == pytest.approx(6 * robot.kinetic_energy(q, plain))


def test_weaker_motors_move_less(robot, q):
    """C-032: the rate of a joint falls monotonically with its loss."""
    twist = np.array([0.1, 0, 0.2, 0.1, -0.1, 0.05])
    rates = []
    for loss in (0.1, 0.5, 1.0, 5.0, 50.0):
        losses = np.ones(8)
        losses[2] = loss
        rates.append(abs(robot.resolve_redundancy(q, twist, TOOL, [MotorPower(losses)]).v[2]))
    assert (np.diff(rates) < 0.0).all()


def test_manipulability_grows(arm):
    """C-033: while the tip stays where it is."""
    q = np.array([0.3, 0.15, 0.1])
    best = moved(arm, q, [Manipulability('tip', IN_THE_PLANE, weight=0.3)], 60)
    cost = Manipulability('tip', IN_THE_PLANE)
    assert cost.value(arm, best) < cost.value(arm, q) - 0.01


def test_smallest_singular_value_is_kept_above_a_threshold(arm):
    """C-036: on a line that leads the pseudo-inverse below it."""
    spring = SingularityDistance('tip', IN_THE_PLANE, threshold=0.6, weight=2.0)
    twist = 0.15 * np.array([np.cos(3.7), np.sin(3.7)])
    smallest = []
    for criteria in ([], [spring]):
        q, sigma = np.array([0.3, 2.6, -2.6]), []
        for _ in range(12):
            q = moved(arm, q, criteria, 5, twist=twist)
            J = IN_THE_PLANE @ arm.jacobian(q, 'tip')
            sigma.append(np.linalg.svd(J, compute_uv=False)[-1])
        smallest.append(min(sigma))
    assert smallest[0] < 0.35
    assert smallest[1] > 0.45


def test_holding_torque_falls():
    """C-034: gravity along -y, the tip stays, the posture that carries itself is found."""
    heavy = Robot(planar_3r(), backend='reference', gravity=(0, -9.81, 0))
    q, cost = np.array([0.3, 0.9, 0.6]), HoldingTorque(np.ones(3), weight=1e-3)
    before = np.linalg.norm(heavy.gravity_torques(q))
    end = moved(heavy, q, [cost], 40, dt=0.1)
    assert np.linalg.norm(heavy.gravity_torques(end)) < before - 1.0


def test_least_torque_of_accelerations(robot, q):
    """C-034: |tau| is below that of the unweighted solution and of any other with the same task."""
    rng = np.random.default_rng(2)
    v, wanted = rng.uniform(-0.5, 0.5, 8), rng.uniform(-1, 1, 6)
    h = robot.inverse_dynamics(q, v, np.zeros(8))
    for W in (np.ones(8), np.linspace(0.5, 2.0, 8)):
        options = least_torque(robot.mass_matrix(q), h, W)
        a = robot.inverse_acceleration(q, v, wanted, TOOL, **options).a
        plain = robot.inverse_acceleration(q, v, wanted, TOOL).a

        def size(a, W=W):
            tau = robot.inverse_dynamics(q, v, a)
            return tau @ (W * tau)

        np.testing.assert_allclose(robot.acceleration(q, v, a, TOOL), wanted, atol=1e-8)
        assert size(a) < size(plain) - 1e-3
        Z = np.linalg.svd(robot.jacobian(q, TOOL))[2][6:].T
        for _ in range(20):
            assert size(a) <= size(a + Z @ rng.normal(size=2) * 0.1) + 1e-9


def test_distance_from_an_obstacle_grows(arm):
    """C-035: the elbow retreats, the tip stays where it is."""
    q = np.array([0.3, 0.9, 0.6])
    elbow = arm.link_pose(q, 'rod2')[:3, 3]
    cost = ObstacleRepulsion(
        [Capsule([0, 0, 0], [1, 0, 0], 0.05, link) for link in ('rod1', 'rod2')],
        [Capsule.sphere(elbow + [0.05, -0.2, 0], 0.1)],
        margin=0.2,
        stiffness=10.0,
    )
    before = min(near.distance for near in cost.clearances(arm, q))
    end = moved(arm, q, [cost], 60)
    after = min(near.distance for near in cost.clearances(arm, end))
    assert before < 0.06
    assert after > 0.15


def test_bounded_rates_through_a_singularity(robot):
    """C-037: rates below their limits in the upright, singular configuration and next to it."""
    twist = np.array([0, 0, 0, 0.1, 0.2, -0.3])
    for offset in (0.0, 1e-6, 1e-3, 1e-2):
        q = np.array([0.1, 0.3, -0.2, -offset - 0.0698, 0.1, offset, 0.0, 0.02])
        q = np.clip(q, robot.limits.lower, robot.limits.upper)
        criteria = [LimitCentering(), BoundedRates(0.01, damping=AdaptiveDamping(0.05, 0.05))]
        result = robot.resolve_redundancy(q, twist, TOOL, criteria)
        assert (np.abs(result.v) <= robot.limits.velocity).all()
        part = result.contributions[1]
        total = result.task_rates + sum(each.rates for each in result.contributions)
        np.testing.assert_allclose(total, result.v, atol=1e-9 * (1 + np.abs(part.rates).max()))


def test_bounds_that_do_not_act_change_nothing(robot, q):
    twist = np.array([0.01, 0, 0.02, 0.01, -0.01, 0.005])
    free = robot.resolve_redundancy(q, twist, TOOL, [PostureSprings(q + 0.01)])
    bound = robot.resolve_redundancy(q, twist, TOOL, [PostureSprings(q + 0.01), BoundedRates(0.01)])
    np.testing.assert_allclose(bound.v, free.v, atol=1e-9)
    assert bound.contributions[1].value < 1e-9


def test_lower_tasks_take_what_is_left(robot, q):
    """Criterion 6, C-029: the elbow moves as far as the hand, that comes first, lets it."""
    elbow = Task('panda_link4', [0.1], selection=[[0, 0, 0, 0, 1.0, 0]])
    twist = np.array([0.1, 0, 0.2, 0.1, -0.1, 0.05])
    result = robot.resolve_redundancy(q, twist, TOOL, [elbow, LimitCentering()])
    np.testing.assert_allclose(robot.velocity(q, result.v, TOOL), twist, atol=1e-9)
    total = result.task_rates + sum(part.rates for part in result.contributions)
    np.testing.assert_allclose(total, result.v, atol=1e-12)
    assert robot.velocity(q, result.v, 'panda_link4')[4] == pytest.approx(0.1)
    assert result.freedom == 1
    assert result.contributions[0].message == 'reached'
    assert np.abs(result.contributions[0].rates).max() > 1e-3


def test_no_freedom_is_said(robot, q):
    hand = Task('panda_leftfinger', np.zeros(6))
    result = robot.resolve_redundancy(
        q, REST, TOOL, [hand, Task('panda_link4', np.zeros(6)), LimitCentering()]
    )
    assert result.freedom == 0
    assert result.contributions[2].message == 'no freedom is left'


def test_refusals(robot, q):
    with pytest.raises(ArgumentError, match='a criterion is a cost'):
        robot.resolve_redundancy(q, REST, TOOL, ['posture'])
    for criteria in (LimitCentering(), None, 'posture'):
        with pytest.raises(ArgumentError, match='must be a list of criteria'):
            robot.resolve_redundancy(q, REST, TOOL, criteria)
    with pytest.raises(ArgumentError, match='once only'):
        robot.resolve_redundancy(q, REST, TOOL, [BoundedRates(0.01), BoundedRates(0.02)])
    with pytest.raises(ArgumentError, match='NaN'):
        robot.resolve_redundancy(q * np.nan, REST, TOOL, [])
    with pytest.raises(ArgumentError, match='motor losses'):
        robot.resolve_redundancy(q, REST, TOOL, [MotorPower(np.zeros(8))])
