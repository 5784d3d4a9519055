# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wrenches through the joints, fixed ones included: balances of free bodies, statics, Pinocchio.

Spec ID: D-30.
"""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Inertia, Joint, Link, RobotDescription
from screw_dynamics_ros.core.lie.screws import transform_wrench
from screw_dynamics_ros.core.lie.se3 import inverse
from screw_dynamics_ros.core.tree.multibody_tree import Tree, build_tree
from support.models import random_configuration, random_description, random_wrenches
from support.robots import urdf_path

GRAVITY = (0.7, -1.3, -9.6)
KINDS = ('revolute', 'prismatic', 'continuous', 'planar', 'floating', 'ball', 'fixed')


def close(actual: np.ndarray, expected: np.ndarray, tolerance: float = 1e-11) -> None:
    np.testing.assert_allclose(
        actual, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max())
    )


def state(robot: Robot, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed + 400)
    return (random_configuration(robot, rng), *rng.uniform(-1, 1, (2, robot.nv)))


@pytest.mark.parametrize(
    ('floating', 'backend'),
    [(False, 'reference'), (True, 'reference'), (True, 'python'), (False, 'native')],
)
def test_each_link_is_in_balance(floating, backend):
    """D-30: joint wrenches and applied wrench make up Newton's and Euler's for every single link.

    Compiled programs run on regrouped masses; the wrenches are those of the links all the same.
    """
    if backend == 'native':
        pytest.importorskip('llvmlite')
    description = random_description(1, 6, KINDS)
    robot = Robot(description, floating_base=floating, gravity=GRAVITY, backend=backend)
    q, v, a = state(robot)
    applied = random_wrenches(robot, np.random.default_rng(1))
    rows = dict(zip(robot.link_names, robot.joint_wrenches(q, v, a, applied)))
    poses = dict(zip(robot.link_names, robot.link_poses(q)))
    for link in description.links:
        C = poses[link.name]
        total = rows[link.name] + applied.get(link.name, 0.0)
        for joint in description.joints:
            if joint.parent == link.name:
                relative = inverse(C) @ poses[joint.child]
                total = total - transform_wrench(relative, rows[joint.child])
        R, d = C[:3, :3], link.inertia.com
        omega = robot.velocity(q, v, link.name, 'body')[:3]
        domega, ddr = np.split(robot.acceleration(q, v, a, link.name, 'mixed'), 2)
        a_c = R.T @ (ddr - GRAVITY) + np.cross(domega, d) + np.cross(omega, np.cross(omega, d))
        I, force = link.inertia.matrix, link.inertia.mass * a_c  # noqa: E741
        moment = I @ domega + np.cross(omega, I @ omega) + np.cross(d, force)
        close(total, np.concatenate([moment, force]))


@pytest.mark.parametrize('seed', range(2))
def test_the_drive_is_the_part_along_the_joint(seed):
    """D-30: X^T W is the joint torque, X^T W^c is zero; mimic joints have torques of their own."""
    description = random_description(seed, 8, ('revolute', 'prismatic', 'fixed'), mimic=1)
    robot = Robot(description, gravity=GRAVITY, backend='reference')
    q, v, a = state(robot)
    rows = dict(zip(robot.link_names, robot.joint_wrenches(q, v, a)))
    reactions = dict(zip(robot.link_names, robot.reaction_wrenches(q, v, a)))
    torques = dict.fromkeys(robot.joint_names, 0.0)
    for joint in description.joints:
        if joint.type == 'fixed':
            np.testing.assert_array_equal(reactions[joint.child], rows[joint.child])
            continue
        half = slice(3, 6) if joint.type == 'prismatic' else slice(0, 3)
        own = joint.axis @ rows[joint.child][half]
        assert abs(joint.axis @ reactions[joint.child][half]) < 1e-12 * max(1.0, abs(own))
        driven = np.zeros(6)
        driven[half] = own * joint.axis
        close(reactions[joint.child] + driven, rows[joint.child], 1e-13)
        master = joint.name if joint.mimic is None else joint.mimic.joint
        torques[master] += own * (1.0 if joint.mimic is None else joint.mimic.multiplier)
    tau = robot.inverse_dynamics(q, v, a)
    close(np.array([torques[name] for name in robot.joint_names]), tau)


def test_a_passive_joint_carries_no_torque():
    """D-30: where forward dynamics had no torque, the wrench does no work along the joint."""
    robot = Robot(random_description(3, 5, ('revolute',)), backend='reference')
    q, v, _ = state(robot)
    a = robot.forward_dynamics(q, v, np.zeros(5))
    W, W_c = robot.joint_wrenches(q, v, a), robot.reaction_wrenches(q, v, a)
    close(W_c, W, 1e-10)
    assert np.abs(W[0]).max() > 1.0


def test_joints_of_several_freedoms():
    """D-30: a free joint has no reaction, a planar one has three components."""
    description = random_description(2, 6, ('planar', 'floating', 'revolute'))
    robot = Robot(description, gravity=GRAVITY, backend='reference')
    q, v, a = state(robot)
    reactions = dict(zip(robot.link_names, robot.reaction_wrenches(q, v, a)))
    kinds = set()
    for joint in description.joints:
        moment, force = np.split(reactions[joint.child], 2)
        kinds.add(joint.type)
        if joint.type == 'floating':
            close(np.concatenate([moment, force]), np.zeros(6))
        elif joint.type == 'planar':
            assert abs(joint.axis @ moment) < 1e-11
            close(force, joint.axis * (joint.axis @ force))
    assert {'planar', 'floating'} <= kinds


def test_statics():
    """D-30: at rest the base bears the weight, at the center of mass."""
    robot = Robot.from_urdf(urdf_path('panda'), backend='reference')
    q = state(robot)[0]
    rest = np.zeros(robot.nv)
    moment, force = np.split(robot.joint_wrenches(q, rest, rest)[0], 2)
    weight = robot.total_mass * 9.81
    close(force, np.array([0, 0, weight]))
    close(moment, np.cross(robot.center_of_mass(q), force))


def test_wrench_on_a_floating_base_is_what_inverse_dynamics_says():
    """D-30: the first row is the generalized force of the base, body-fixed."""
    robot = Robot(random_description(5, 6), floating_base=True, backend='reference')
    q, v, a = state(robot)
    close(robot.joint_wrenches(q, v, a)[0], robot.inverse_dynamics(q, v, a)[:6])
    close(robot.reaction_wrenches(q, v, a)[0], np.zeros(6))


def test_pinocchio():
    """D-30: `data.f` of Pinocchio's recursion, on a robot with branches."""
    pin = pytest.importorskip('pinocchio')
    from oracles.pinocchio_model import SWAP, Pinocchio

    path = urdf_path('talos_full_v2')
    robot = Robot.from_urdf(path, floating_base=True, gravity=GRAVITY, backend='reference')
    oracle = Pinocchio(path.read_text(), robot)
    q, v, a = state(robot)
    oracle.inverse_dynamics(q, v, a)
    rows = dict(zip(robot.link_names, robot.joint_wrenches(q, v, a)))
    compared = 0
    for joint in robot.description.joints:
        if joint.type == 'fixed':
            continue
        index = oracle.model.getJointId(joint.name)
        placement = oracle.model.frames[oracle.frame_id(joint.child)].placement
        W = placement.actInv(pin.Force(oracle.data.f[index])).vector[SWAP]
        assert np.linalg.norm(rows[joint.child] - W) < 1e-9 * max(1.0, np.linalg.norm(W))
        compared += 1
    assert compared > 30


def test_programs_tell_robots_apart_by_the_last_digit_of_a_link():
    """Inertias of links that are part of one body decide the wrench between them."""
    mount = Joint('mount', 'fixed', 'arm', 'tool', np.eye(4), np.array([1.0, 0, 0]))
    swing = Joint('swing', 'continuous', 'base', 'arm', np.eye(4), np.array([0, 0, 1.0]))

    def tree(shift: float) -> Tree:
        inertias = [
            Inertia(1.0, np.zeros(3), np.diag([0.5, 0.5, 0.5 + sign * shift])) for sign in (-1, 1)
        ]
        links = [Link('base'), Link('arm', inertias[0]), Link('tool', inertias[1])]
        return build_tree(RobotDescription.from_parts('arm', links, [swing, mount]))

    near, far = tree(1e-12), tree(2e-12)
    assert abs(near.bodies[0].I[2, 2] - far.bodies[0].I[2, 2]) < 1e-15
    assert near.digest != far.digest


def test_in_one_program_with_other_outputs():
    robot = Robot.from_urdf(urdf_path('planar_2r'), backend='python')
    q, v, a = np.random.default_rng(1).uniform(-1, 1, (3, 2))
    kernel = robot.fuse('inverse_dynamics', 'joint_wrenches', 'friction_torques')
    tau, W, f = kernel(q, v, a, robot.gravity)
    close(W, robot.joint_wrenches(q, v, a), 1e-13)
    close(tau, robot.inverse_dynamics(q, v, a), 1e-13)
    np.testing.assert_array_equal(f, np.zeros(2))
