# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A platform in front of an arm: Jacobian, inverse kinematics, dynamics against Pinocchio."""

import numpy as np
import pytest

from oracles.pinocchio_model import Pinocchio
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Inertia, Joint, Limits, Link, RobotDescription
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError
from screw_dynamics_ros.core.kinematic_model import KinematicModel
from screw_dynamics_ros.core.kinematics.pose_error import pose_error
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.mobile import planar, platforms
from screw_dynamics_ros.core.mobile.odometry import Odometry
from screw_dynamics_ros.core.textbook.mobile.base_dynamics import BaseDynamics
from screw_dynamics_ros.core.textbook.mobile.mobile_kinematics import ToolKinematics
from screw_dynamics_ros.core.textbook.mobile.mobile_manipulator import (
    MobileManipulator,
    weighted_inverse_kinematics,
)
from screw_dynamics_ros.core.textbook.mobile.platform_description import on_planar_joint
from support.planar_2r import planar_2r

BASE = platforms.differential_drive(0.5, 0.1)
TOOL = 'hand'


def arm_description(limit=2.5):
    """Return a platform of 20 kg, its center of mass off the axle, with an arm of three joints."""
    body = Inertia(20.0, [0.15, 0.02, 0.1], np.diag([0.8, 1.2, 1.5]))
    link = Inertia(2.0, [0.2, 0.01, 0.03], np.diag([0.01, 0.05, 0.05]))
    limits, X, Z = Limits(-limit, limit, 3.0, 50.0), np.array([0, 1.0, 0]), np.array([0, 0, 1.0])

    def at(x, y, z):
        C = np.eye(4)
        C[:3, 3] = x, y, z
        return C

    return RobotDescription.from_parts(
        'mobile_arm',
        [Link('platform', body), *(Link(f'l{k}', link) for k in (1, 2, 3)), Link(TOOL)],
        [
            Joint('a1', 'revolute', 'platform', 'l1', at(0.2, 0.05, 0.3), Z, limits),
            Joint('a2', 'revolute', 'l1', 'l2', at(0.1, 0, 0.2), X, limits),
            Joint('a3', 'revolute', 'l2', 'l3', at(0.4, 0, 0), X, limits),
            Joint('tip', 'fixed', 'l3', TOOL, at(0.35, 0, 0), Z),
        ],
    )


DESCRIPTION = on_planar_joint(arm_description())
ROBOT = Robot(DESCRIPTION, backend='reference')


CORNERS = [[0.4, 0.3], [0.4, -0.3], [-0.4, 0.3], [-0.4, -0.3]]
SWERVE = platforms.swerve(CORNERS, 0.1)
#: Platforms with steering angles for a common center of rotation.
PLATFORMS = {
    'differential': (BASE, []),
    'mecanum': (platforms.mecanum(0.6, 0.4, 0.1), []),
    'car': (platforms.ackermann(1.2, 0.6, 0.3), platforms.ackermann_angles(0.35, 1.2, 0.6)),
    'swerve': (SWERVE, platforms.steering_for(SWERVE, [0.5, 1.0, 0.3])),
}
each = pytest.mark.parametrize('name', PLATFORMS)


def consistent(mobile, steering, rng):
    """Return rates of joints, and of wheels that do not slip."""
    u, n = rng.normal(size=mobile.nu), len(mobile.platform.driven)
    t = mobile.platform.rolling_map(steering) @ u[:n]
    u[:n] = mobile.platform.wheel_rates(t, steering)
    return u


def states(count, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield (
            rng,
            ROBOT.random_configuration(rng),
            rng.normal(size=MobileManipulator(ROBOT, BASE).nu),
        )


@each
def test_jacobian_by_differences_with_the_heading(name):
    """The twist of the hand when wheels and joints turn, by odometry and poses (C-142)."""
    platform, steering = PLATFORMS[name]
    mobile, h, n = MobileManipulator(ROBOT, platform), 1e-6, len(platform.driven)
    for rng, q, _ in states(2):
        u = consistent(mobile, steering, rng)
        ends = []
        for sign in (-1, 1):
            odometry = Odometry(platform, pose=mobile.platform_pose(q))
            odometry.update(sign * h * u[:n], steering)
            moved = mobile.configuration(odometry.pose, q[3:] + sign * h * u[n:])
            ends.append(ROBOT.link_pose(moved, TOOL))
        rate = (ends[1] - ends[0]) / (2 * h)
        turn = rate[:3, :3] @ ROBOT.link_pose(q, TOOL)[:3, :3].T
        V = np.array([turn[2, 1], turn[0, 2], turn[1, 0], *rate[:3, 3]])
        found = mobile.jacobian(q, TOOL, steering=steering) @ u
        np.testing.assert_allclose(found, V, atol=1e-8)
        body = mobile.jacobian(q, 'platform', 'body', steering)[:, :n]
        expected = planar.EMBEDDING @ platform.rolling_map(steering)
        np.testing.assert_allclose(body, expected, atol=1e-12)
        result = mobile.inverse_velocity(q, V, TOOL, steering=steering)
        t = platform.twist(result.v[:n], steering)
        assert np.abs(platform.slip_matrix(steering) @ t).max(initial=0.0) < 1e-12


def test_without_the_base_it_is_the_arm():
    """u = 0 of the wheels: Jacobian, torques and accelerations of the arm alone (C-142)."""
    mobile, arm = MobileManipulator(ROBOT, BASE), Robot(arm_description(), backend='reference')
    for _, q, u in states(2):
        u[:2] = 0.0
        at_home = mobile.configuration([0, 0, 0], q[3:])
        np.testing.assert_allclose(
            mobile.jacobian(at_home, TOOL)[:, 2:], arm.jacobian(q[3:], TOOL), atol=1e-12
        )
        du = np.concatenate([[0, 0], u[2:]])
        np.testing.assert_allclose(
            mobile.inverse_dynamics(q, u, du)[2:],
            arm.inverse_dynamics(q[3:], u[2:], du[2:]),
            atol=1e-10,
        )


def test_dynamics_against_pinocchio_with_a_planar_base():
    """A base that is free in the plane: torques, accelerations, M, Jacobian (C-142)."""
    peer = Pinocchio(write_urdf(DESCRIPTION), ROBOT)
    assert type(peer.model.joints[1].extract()).__name__ == 'JointModelPlanar' or (
        peer.model.joints[1].shortname() == 'JointModelPlanar'
    )
    for rng, q, _ in states(5):
        v, a, tau = rng.normal(size=(3, ROBOT.nv))
        for ours, theirs in (
            (ROBOT.inverse_dynamics(q, v, a), peer.inverse_dynamics(q, v, a)),
            (ROBOT.forward_dynamics(q, v, tau), peer.forward_dynamics(q, v, tau)),
            (ROBOT.mass_matrix(q), peer.mass_matrix(q)),
            (ROBOT.jacobian(q, TOOL), peer.jacobians(q, [TOOL], 'hybrid')[0]),
        ):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


def test_wheel_torques_against_pinocchio():
    """H^T tau of Pinocchio's planar base, H u' + H' u with H' by differences (C-142)."""
    peer, mobile = Pinocchio(write_urdf(DESCRIPTION), ROBOT), MobileManipulator(ROBOT, BASE)
    h = 1e-6
    for rng, q, u in states(3):
        du = rng.normal(size=mobile.nu)
        v = mobile.rates(q, u)
        change = (mobile.rates(q + h * v, u) - mobile.rates(q - h * v, u)) / (2 * h)
        a = mobile.rate_map(q) @ du + change
        tau = mobile.rate_map(q).T @ peer.inverse_dynamics(q, v, a)
        np.testing.assert_allclose(mobile.inverse_dynamics(q, u, du), tau, atol=1e-6)


@each
@pytest.mark.parametrize('inertia', [0.0, 0.02])
def test_forward_dynamics_against_the_constrained_tree(name, inertia):
    """Without slip by A v = 0 on the tree, and by the rates of wheels: the same motion (C-142).

    The inertia of wheels does not belong to the tree: their torques D^T J q'' / r are subtracted.
    """
    platform, steering = PLATFORMS[name]
    mobile = MobileManipulator(ROBOT, platform, wheel_inertia=inertia)
    n, h = len(platform.driven), 1e-6
    for rng, q, _ in states(2):
        u, torques = consistent(mobile, steering, rng), rng.normal(size=mobile.nu)
        H, v = mobile.rate_map(q, steering), mobile.rates(q, u, steering)
        du = mobile.forward_dynamics(q, u, torques, steering)
        push = platform.wrench(torques[:n] - inertia * du[:n], steering=steering)
        tau = np.concatenate([planar.rotated(q[2], push[1:]), push[:1], torques[n:]])
        constraint = mobile.no_slip(steering)
        if constraint is None:
            expected = ROBOT.forward_dynamics(q, v, tau)
        else:
            expected = ROBOT.constrained_dynamics(q, v, tau, constraint).a
        ends = [mobile.rates(q + s * h * v, u, steering) for s in (-1, 1)]
        np.testing.assert_allclose(H @ du + (ends[1] - ends[0]) / (2 * h), expected, atol=1e-7)
        again = mobile.inverse_dynamics(q, u, du, steering)
        np.testing.assert_allclose(mobile.forward_dynamics(q, u, again, steering), du, atol=1e-9)
        assert again @ u == pytest.approx(torques @ u, abs=1e-8)


def test_platform_without_an_arm_is_the_planar_body():
    """Wheel inertia included, as `BaseDynamics` (C-140, C-142)."""
    body = Inertia(20.0, [0.15, 0.02, 0.1], np.diag([0.8, 1.2, 1.5]))
    alone = RobotDescription.from_parts('base', [Link('platform', body)], [])
    mobile = MobileManipulator(
        Robot(on_planar_joint(alone), backend='reference'), BASE, wheel_inertia=0.02
    )
    model = BaseDynamics(BASE, 20.0, 1.5, [0.15, 0.02], 0.02)
    u, torques = np.array([5.0, 3.0]), np.array([0.4, -0.3])
    du = mobile.forward_dynamics([0.3, -1.0, 0.7], u, torques)
    expected = model.forward_dynamics(BASE.twist(u), torques).acceleration
    np.testing.assert_allclose(BASE.twist(du), expected, atol=1e-11)
    found = mobile.inverse_dynamics([0.3, -1.0, 0.7], u, du)
    np.testing.assert_allclose(found, torques, atol=1e-12)


def test_rates_for_a_twist_and_the_weight_of_the_base():
    """Both weights reach the twist; the heavier base moves less (C-142)."""
    mobile = MobileManipulator(ROBOT, BASE)
    q = mobile.configuration([0.4, 1.0, -1.0], [0.3, 0.5, -0.9])
    task = np.array([0.0, 0.0, 0.0, 0.1, 0.05, 0.02])
    wheels = []
    for weight in (1e-3, 1e3):
        result = mobile.inverse_velocity(q, task, TOOL, base_weight=weight, rows=slice(3, 6))
        assert result.success
        np.testing.assert_allclose((mobile.jacobian(q, TOOL) @ result.v)[3:], task[3:], atol=1e-9)
        wheels.append(np.linalg.norm(result.v[:2]))
    assert wheels[1] < 0.1 * wheels[0]


def test_inverse_kinematics_with_the_base():
    """The arm alone if it can, the base if it must; limits hold; what is out of reach is said."""
    mobile, rng = MobileManipulator(ROBOT, BASE), np.random.default_rng(3)
    for _ in range(5):
        goal = mobile.configuration(rng.uniform(-2, 2, 3), rng.uniform(-1.5, 1.5, 3))
        start = mobile.configuration([0, 0, 0], [0.1, 0.4, -0.8])
        target = ROBOT.link_pose(goal, TOOL)
        found = mobile.inverse_kinematics(target, TOOL, start)
        assert found.success, found.message
        np.testing.assert_allclose(ROBOT.link_pose(found.q, TOOL), target, atol=1e-8)
        assert (np.abs(found.q[3:]) <= 2.5).all()
    near = mobile.configuration([0, 0, 0], [0.3, 0.5, -1.0])
    moved = [
        np.linalg.norm(
            mobile.inverse_kinematics(ROBOT.link_pose(near, TOOL), TOOL, start, base_weight=w).q[:3]
        )
        for w in (1e-3, 1e3)
    ]
    assert moved[1] < 0.05 * moved[0]
    high = planar.to_space([0, 0, 0])
    high[2, 3] = 3.0
    failed = mobile.inverse_kinematics(high, TOOL, start, max_iterations=30)
    assert not failed.success
    assert failed.iterations == 30
    distance = np.linalg.norm(pose_error(ROBOT.link_pose(failed.q, TOOL), high))
    assert failed.residual == pytest.approx(distance)
    assert failed.message.startswith(f'the residual is {failed.residual:.3g} after 30 iterations;')
    assert mobile.inverse_kinematics(high, TOOL, start).iterations == 200
    exact = ROBOT.link_pose(start, TOOL)
    found = mobile.inverse_kinematics(exact, TOOL, start, max_iterations=0)
    assert found.success
    assert (found.iterations, found.message) == (0, 'converged')
    loose = mobile.inverse_kinematics(target, TOOL, start, tolerance=1e-2)
    assert 1e-9 < loose.residual <= 1e-2


def test_steps_of_inverse_kinematics():
    """Of half a meter at most, with the damping of its ratio: by the normal equations."""
    mobile = MobileManipulator(ROBOT, BASE)
    q = mobile.configuration([0.2, 0.1, -0.3], [0.3, 0.5, -0.9])
    J, weights = ROBOT.jacobian(q, TOOL, 'body'), np.array([4.0, 4.0, 4.0, 1.0, 1.0, 1.0])
    for distance, damping in ((0.1, 0.03), (2.0, 0.03), (0.1, 0.0), (0.1, 0.5)):
        target = ROBOT.link_pose(q, TOOL) @ se3.exp([0, 0, 0, distance, 0, 0])
        found = mobile.inverse_kinematics(
            target, TOOL, q, base_weight=4.0, max_iterations=1, damping=damping
        )
        e = np.array([0, 0, 0, min(distance, 0.5), 0, 0])
        ratio = damping * np.linalg.norm(e)
        W = np.diag(1.0 / weights)
        normal = J @ W @ J.T + ratio**2 * np.eye(6)
        step = (
            W @ J.T @ np.linalg.pinv(normal, rcond=1e-9) @ e
        )  # the heading and joint 1 turn alike
        np.testing.assert_allclose(found.q - q, step, atol=1e-9)


def test_calls_of_every_kinematic_model():
    """Positions, velocities and forces of the tool (C-012, C-142)."""
    mobile = MobileManipulator(ROBOT, BASE)
    tool = ToolKinematics(mobile, TOOL)
    assert isinstance(tool, KinematicModel)
    for rng, q, u in states(2):
        pose = tool.forward_position(q)
        near = q + rng.uniform(-0.1, 0.1, len(q))
        np.testing.assert_allclose(
            tool.forward_position(tool.inverse_position(pose, near)), pose, atol=1e-8
        )
        V = tool.forward_velocity(q, u)
        np.testing.assert_allclose(
            tool.forward_velocity(q, tool.inverse_velocity(q, V)), V, atol=1e-9
        )
        W = rng.normal(size=6)
        tau = tool.inverse_force(q, W)
        assert tau @ u == pytest.approx(W @ V, abs=1e-10)
        np.testing.assert_allclose(
            tool.inverse_force(q, tool.forward_force(q, tau)), tau, atol=1e-9
        )
    high = np.eye(4)
    high[2, 3] = 3.0
    with pytest.raises(ArgumentError, match=r"link 'hand': .* out of reach"):
        tool.inverse_position(high)


def test_three_scalar_joints_in_place_of_the_planar_one():
    """The macro joint for joint states: the same motion, the same torques (C-142)."""
    description = on_planar_joint(arm_description(), scalar=True)
    other = MobileManipulator(Robot(description, backend='reference'), BASE)
    mobile = MobileManipulator(ROBOT, BASE)
    for rng, q, u in states(2):
        du = rng.normal(size=mobile.nu)
        np.testing.assert_allclose(other.jacobian(q, TOOL), mobile.jacobian(q, TOOL), atol=1e-12)
        np.testing.assert_allclose(
            other.inverse_dynamics(q, u, du), mobile.inverse_dynamics(q, u, du), atol=1e-9
        )


def test_scalar_joints_in_a_urdf():
    """What the nodes get is read again as a mobile manipulator, whatever its links are called."""
    urdf = write_urdf(on_planar_joint(planar_2r(), scalar=True))  # its root link is 'base'
    content = {'platform': {'kind': 'differential', 'separation': 0.5, 'radius': 0.1}}
    mobile = MobileManipulator.from_urdf(urdf, content, backend='reference')
    assert mobile.robot.joint_names[:3] == ('mobile_base1', 'mobile_base2', 'mobile_base3')
    q = mobile.configuration([0.5, 1.0, 2.0], [0.0, 0.0])
    np.testing.assert_allclose(
        mobile.robot.link_pose(q, 'base'), planar.to_space([0.5, 1.0, 2.0]), atol=1e-12
    )


def test_wheels_that_are_joints_of_the_robot():
    """From a URDF and a small file: wheels turn with the platform; their inertia counts (C-142)."""
    disc = Inertia(1.0, [0, 0, 0], np.diag([0.006, 0.01, 0.006]))
    arm, axle = arm_description(), np.array([0, 1.0, 0])
    wheels = []
    for name, y in (('right', -0.25), ('left', 0.25)):
        C = np.eye(4)
        C[:3, 3] = 0.0, y, 0.1
        wheels.append(Joint(name, 'continuous', 'platform', f'{name}_wheel', C, axle))
    urdf = write_urdf(
        RobotDescription.from_parts(
            'rolling',
            [*arm.links, *(Link(joint.child, disc) for joint in wheels)],
            [*arm.joints, *wheels],
        )
    )
    content = {'platform': {'kind': 'differential', 'separation': 0.5, 'radius': 0.1}}
    mobile = MobileManipulator.from_urdf(urdf, content, backend='reference')
    assert mobile.nu == 5
    rng = np.random.default_rng(1)
    q, u, du = mobile.robot.random_configuration(rng), *rng.normal(size=(2, 5))
    at = mobile.robot.joint_coordinates('right')[1].start
    assert mobile.rates(q, u)[at] == u[0]
    power = mobile.inverse_dynamics(q, u, du) @ u
    h = 1e-5

    def energy(t):
        w = u + t * du
        moved = q + t * mobile.rates(q, u) + 0.5 * t**2 * acceleration
        return mobile.robot.kinetic_energy(moved, mobile.rates(moved, w)) + (
            mobile.robot.potential_energy(moved)
        )

    v = mobile.rates(q, u)
    change = (mobile.rates(q + h * v, u) - mobile.rates(q - h * v, u)) / (2 * h)
    acceleration = mobile.rate_map(q) @ du + change
    assert (energy(h) - energy(-h)) / (2 * h) == pytest.approx(power, rel=1e-6)
    for wrong in ({}, {**content, 'wheel': 1}, {'platform': {'kind': 'hover'}}):
        with pytest.raises(DescriptionError, match=r'base\.yaml: '):
            MobileManipulator.from_urdf(urdf, wrong, where='base.yaml')


def test_base_takes_over_from_joints_at_their_limits():
    """Joints that hardly move, and weigh nothing: they stop, and the base does the rest."""
    robot = Robot(on_planar_joint(arm_description(0.3)), backend='reference')
    mobile, rng = MobileManipulator(robot, BASE), np.random.default_rng(4)
    for _ in range(5):
        goal = mobile.configuration(rng.uniform(-2, 2, 3), rng.uniform(-0.3, 0.3, 3))
        target = robot.link_pose(goal, TOOL)
        start = mobile.configuration([0, 0, 0], [0.3, -0.3, 0.3])
        found = mobile.inverse_kinematics(target, TOOL, start, base_weight=100.0)
        assert found.success, found.message
        assert (np.abs(found.q[3:]) <= 0.3).all()
        np.testing.assert_allclose(robot.link_pose(found.q, TOOL), target, atol=1e-8)


def test_what_is_no_mobile_manipulator():
    arm = Robot(planar_2r(), backend='reference')
    with pytest.raises(ArgumentError, match="no planar joint 'mobile_base'"):
        MobileManipulator(arm, BASE)
    for inertia in (-1.0, np.nan, 'light', [0.1, 0.1, 0.1]):
        with pytest.raises(ArgumentError, match='wheel_inertia must'):
            MobileManipulator(ROBOT, BASE, wheel_inertia=inertia)
    assert MobileManipulator(ROBOT, platforms.mecanum(0.6, 0.4, 0.1)).no_slip() is None
    mobile = MobileManipulator(ROBOT, BASE)
    with pytest.raises(ArgumentError, match='base_weight'):
        mobile.inverse_velocity(np.zeros(6), np.zeros(6), TOOL, base_weight=0.0)
    for target in (np.zeros((4, 4)), np.diag([1.0, 1.0, -1.0, 1.0]), np.full((4, 4), np.inf)):
        with pytest.raises(ArgumentError, match=f"target for '{TOOL}' is not a rigid motion"):
            mobile.inverse_kinematics(target, TOOL, np.zeros(6))
    with pytest.raises(ArgumentError, match=r'target must have shape \(4, 4\), got \(3, 3\)'):
        mobile.inverse_kinematics(np.eye(3), TOOL, np.zeros(6))
    with pytest.raises(ArgumentError, match='q0 must be finite'):
        mobile.inverse_kinematics(np.eye(4), TOOL, np.full(6, np.nan))
    for option, value in (('max_iterations', -1), ('tolerance', 0.0), ('damping', -0.1)):
        with pytest.raises(ArgumentError, match=option):
            mobile.inverse_kinematics(np.eye(4), TOOL, np.zeros(6), **{option: value})
    spinning = Robot(arm_description(), floating_base=True, backend='reference')
    with pytest.raises(ArgumentError, match='without floating joints'):
        weighted_inverse_kinematics(spinning, np.eye(4), TOOL, spinning.neutral(), np.ones(9))
    for inertia in (0.1, [0.1], [0.1, 0.2]):
        MobileManipulator(ROBOT, BASE, wheel_inertia=inertia)
