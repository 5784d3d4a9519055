# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Costs and metrics of redundancy: exact gradients, effects, units (C-030 to C-036)."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.arms.inverse.redundancy import Cost, Metric
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
from screw_dynamics_ros.core.textbook.redundancy.torque import HoldingTorque
from support.planar_2r import planar_2r
from support.robots import urdf_path

TOOL = 'panda_hand_tcp'
STIFFNESS = np.diag([1.0, 2.0, 0.0, 4.0, 1.0, 1.0, 3.0, 0.5])
BODIES = [
    Capsule([0, 0, 0], [0, -0.1, 0.1], 0.06, 'panda_link4'),
    Capsule.sphere([0, 0, 0.05], 0.08, 'panda_hand'),
]
OBSTACLES = [
    Capsule.sphere([0.4, 0.2, 0.6], 0.1),
    Capsule([0.6, -1.0, 0.2], [0.6, 1.0, 0.25], 0.05),
    Capsule([0.1, 0, -0.1], [0, 0.2, 0.1], 0.07, 'panda_link2'),
]

COSTS = [
    PostureSprings(np.linspace(-0.3, 0.4, 8), STIFFNESS),
    PostureSprings(np.zeros(8), 2.0),
    LimitCentering(),
    Manipulability(TOOL, length=0.3),
    Manipulability(TOOL, np.eye(6)[3:], joint_metric=np.arange(1.0, 9.0)),
    SingularityDistance(TOOL, length=0.3, threshold=0.5),
    SingularityDistance(TOOL, length=0.3, threshold=2.0, joint_metric=1.0 / np.arange(1.0, 9.0)),
    HoldingTorque(),
    HoldingTorque(np.linspace(1.0, 2.0, 8)),
    ObstacleRepulsion(BODIES, OBSTACLES, margin=2.0, stiffness=30.0),
]


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('panda'), backend='reference')


def configuration(robot, seed=0):
    t = np.random.default_rng(seed).uniform(0.25, 0.75, robot.nq)
    return robot.limits.lower + t * (robot.limits.upper - robot.limits.lower)


def differences(robot, cost, q, h=1e-6):
    """Return central differences of a cost along each velocity."""
    return np.array(
        [
            (
                cost.value(robot, robot.integrate(q, h * e))
                - cost.value(robot, robot.integrate(q, -h * e))
            )
            / (2 * h)
            for e in np.eye(robot.nv)
        ]
    )


@pytest.mark.parametrize('cost', COSTS, ids=lambda cost: cost.name)
def test_gradients_are_those_of_the_values(robot, cost):
    """C-030, C-033 to C-036: against central differences."""
    assert isinstance(cost, Cost)
    q = configuration(robot)
    gradient = cost.gradient(robot, q)
    assert np.abs(gradient).max() > 1e-3
    np.testing.assert_allclose(gradient, differences(robot, cost, q), rtol=1e-6, atol=1e-7)


def test_springs_of_a_floating_base():
    """C-030: the displacement of a free body is not a difference of coordinates."""
    robot = Robot(planar_2r(), floating_base=True, backend='reference')
    rng = np.random.default_rng(1)
    goal, q = (robot.integrate(robot.neutral(), rng.uniform(-1, 1, 8)) for _ in range(2))
    cost = PostureSprings(goal, np.arange(1.0, 9.0))
    np.testing.assert_allclose(cost.gradient(robot, q), differences(robot, cost, q), atol=1e-7)


@pytest.mark.parametrize('cost', [COSTS[0], LimitCentering()], ids=lambda cost: cost.name)
def test_hessians(robot, cost):
    q, h = configuration(robot, 2), 1e-6
    columns = [
        (cost.gradient(robot, q + h * e) - cost.gradient(robot, q - h * e)) / (2 * h)
        for e in np.eye(8)
    ]
    np.testing.assert_allclose(cost.hessian(robot, q), np.transpose(columns), atol=1e-6)


def test_centers_and_limits(robot):
    """C-030: zero at the centers, 1/2 for each joint at a limit."""
    lower, upper = robot.limits.lower, robot.limits.upper
    cost = LimitCentering()
    assert cost.value(robot, 0.5 * (lower + upper)) == pytest.approx(0.0, abs=1e-15)
    assert cost.value(robot, upper) == pytest.approx(4.0)
    np.testing.assert_allclose(cost.gradient(robot, upper), 2.0 / (upper - lower))


def test_manipulability_depends_on_the_length_by_a_constant(robot):
    """C-033: the slope is relative; with all six components a length adds 3 log l."""
    q = configuration(robot)
    short, long = (Manipulability(TOOL, length=length) for length in (0.1, 1.0))
    gap = short.value(robot, q) - long.value(robot, q)
    assert gap == pytest.approx(3 * np.log(10.0))
    np.testing.assert_allclose(short.gradient(robot, q), long.gradient(robot, q), atol=1e-10)
    position = [Manipulability(TOOL, np.eye(6)[1:], length=length) for length in (0.1, 1.0)]
    np.testing.assert_allclose(
        position[0].gradient(robot, q), position[1].gradient(robot, q), atol=1e-10
    )
    slopes = [SingularityDistance(TOOL, length=size, threshold=9.0) for size in (0.1, 1.0)]
    first, second = (cost.gradient(robot, q) for cost in slopes)
    assert np.abs(first - second).max() > 1e-3  # sigma does depend on it


def test_slack_springs(robot):
    """C-035, C-036: nothing happens far from obstacles and singularities."""
    q = configuration(robot)
    for cost in (
        SingularityDistance(TOOL, threshold=1e-3),
        ObstacleRepulsion(BODIES, OBSTACLES[:1], margin=1e-3),
    ):
        assert cost.value(robot, q) == 0.0
        assert not cost.gradient(robot, q).any()


def test_singular_configurations_have_finite_gradients(robot):
    q = np.zeros(8)
    assert np.isinf(Manipulability(TOOL).value(robot, q))
    for cost in (Manipulability(TOOL), SingularityDistance(TOOL)):
        assert np.isfinite(cost.gradient(robot, q)).all()


def test_nearest_points_of_segments():
    """C-035: against a dense search; points, parallel and crossing segments among them."""
    rng = np.random.default_rng(5)
    grid = np.linspace(0.0, 1.0, 201)
    for k in range(60):
        a, b = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
        if k % 4 == 1:
            a[1] = a[0]
        if k % 4 == 2:
            b[1] = b[0] + 0.7 * (a[1] - a[0])
        if k % 4 == 3:
            b[1] = b[0]
        p, r = nearest_points(tuple(a), tuple(b))
        along_a = a[0] + grid[:, None] * (a[1] - a[0])
        along_b = b[0] + grid[:, None] * (b[1] - b[0])
        best = np.linalg.norm(along_a[:, None] - along_b[None], axis=2).min()
        distance = np.linalg.norm(p - r)
        assert distance <= best + 1e-12
        assert distance >= best - 0.05


def test_metrics_are_what_they_say(robot):
    """C-031, C-032: the mass matrix with rotors, a diagonal."""
    q = configuration(robot)
    energy, power = KineticEnergy(), MotorPower(np.arange(1.0, 9.0))
    assert isinstance(energy, Metric)
    assert isinstance(power, Metric)
    v = np.linspace(-1, 1, 8)
    kinetic = 2 * robot.kinetic_energy(q, v)
    assert v @ energy.matrix(robot, q) @ v == pytest.approx(kinetic)
    np.testing.assert_array_equal(power.matrix(robot, q), np.diag(np.arange(1.0, 9.0)))


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (lambda: PostureSprings([0.0], weight=-1.0), 'weight of the posture'),
        (lambda: SingularityDistance(TOOL, threshold=0.0), 'threshold'),
        (lambda: Capsule([0, 0], [0, 0, 0], 0.1), 'start of a capsule'),
        (lambda: Capsule([0, 0, np.nan], [0, 0, 0], 0.1), 'NaN'),
        (lambda: ObstacleRepulsion(OBSTACLES[:1], OBSTACLES, 0.1), 'needs its link'),
        (lambda: ObstacleRepulsion(['arm'], OBSTACLES, 0.1), 'Capsule objects'),
    ],
)
def test_refused_when_made(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


@pytest.mark.parametrize(
    ('cost', 'message'),
    [
        (PostureSprings(np.zeros(7)), 'posture must have shape'),
        (PostureSprings(np.zeros(8), np.ones(3)), 'stiffness of the posture must be a number'),
        (PostureSprings(np.zeros(8), -1.0), 'not negative'),
        (Manipulability(TOOL, np.eye(3)), 'selection'),
        (HoldingTorque(np.zeros(8)), 'torque metric'),
    ],
)
def test_refused_when_evaluated(robot, cost, message):
    with pytest.raises(ArgumentError, match=message):
        cost.gradient(robot, np.zeros(8))


def test_motors_without_limits_of_effort():
    text = urdf_path('panda').read_text().replace('effort="87.0"', 'effort="0"')
    text = text.replace('effort="87"', 'effort="0"')
    robot = Robot.from_urdf(text, backend='reference')
    with pytest.raises(ArgumentError, match='pass torque_weights'):
        HoldingTorque().value(robot, np.zeros(8))
