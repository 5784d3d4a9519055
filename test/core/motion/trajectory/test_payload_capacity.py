# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The largest mass that a robot can carry: brute force by Pinocchio, and closed forms."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('pinocchio')

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.description import Limits
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.motion.trajectory.payload_capacity import payload_capacity
from support.loaded_robots import loaded
from support.models import random_description, to_urdf
from support.robots import urdf_path


def holds(oracle, robot, q, v, a, link, point, mass):
    """Whether Pinocchio's torques with a point mass are within the limits in all samples."""
    with_mass = loaded(robot, oracle, {link: RigidBody(mass, point, np.zeros((3, 3)))})
    return all(
        (np.abs(with_mass.inverse_dynamics(*sample)) <= robot.limits.effort + 1e-9).all()
        for sample in zip(q, v, a)
    )


def limited(description, efforts):
    """Return a description whose movable joints have these effort limits."""
    values = iter(efforts)
    return replace(
        description,
        joints=tuple(
            replace(joint, limits=replace(joint.limits, effort=float(next(values))))
            for joint in description.joints
        ),
    )


@pytest.mark.parametrize('moving', [False, True])
def test_largest_mass_against_brute_force(moving):
    """Just not too heavy: Pinocchio's torques of a little less and a little more."""
    rng, point = np.random.default_rng(6), np.array([0.1, -0.2, 0.3])
    found = set()
    for seed in range(4):
        description = limited(
            random_description(seed, 5, ('revolute', 'prismatic')), rng.uniform(30, 90, 5)
        )
        robot, urdf = Robot(description), to_urdf(description)
        q = rng.uniform(-1, 1, (3 if moving else 1, 5))
        v, a = rng.normal(size=(2, *q.shape)) if moving else np.zeros((2, *q.shape))
        rates = {'v': v, 'a': a} if moving else {}
        capacity = payload_capacity(robot, q, 'link5', point, **rates)
        assert capacity.feasible == (capacity.joint != '' and capacity.mass > 0.0)
        if not capacity.feasible:
            assert not holds(urdf, robot, q, v, a, 'link5', point, 0.0)
            continue
        assert holds(urdf, robot, q, v, a, 'link5', point, capacity.mass * 0.999)
        assert not holds(urdf, robot, q, v, a, 'link5', point, capacity.mass * 1.001)
        k = robot.joint_names.index(capacity.joint)
        full = loaded(robot, urdf, {'link5': RigidBody(capacity.mass, point, np.zeros((3, 3)))})
        sample = capacity.sample
        torque = full.inverse_dynamics(q[sample], v[sample], a[sample])[k]
        assert abs(torque) == pytest.approx(robot.limits.effort[k], rel=1e-9)
        found.add(capacity.joint)
    assert len(found) > 1


def pendulum(effort, gravity=(0.0, 0.0, -10.0)):
    """A rod with 2 kg at 1 m that turns about y."""
    urdf = (
        '<robot name="pendulum"><link name="base"/><link name="rod"><inertial>'
        '<origin xyz="1 0 0"/><mass value="2"/>'
        '<inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="shoulder" type="continuous"><parent link="base"/><child link="rod"/>'
        f'<axis xyz="0 1 0"/><limit effort="{effort}" velocity="1"/></joint></robot>'
    )
    return Robot.from_urdf(urdf, gravity=gravity)


def test_payload_in_closed_form():
    """A rod with 2 kg at 1 m held by 30 N m carries 1 kg there, and 2 kg half way out."""
    robot = pendulum(30.0)
    capacity = payload_capacity(robot, [0.0], 'rod', [1, 0, 0])
    assert (capacity.feasible, capacity.joint, capacity.least) == (True, 'shoulder', 0.0)
    assert capacity.mass == pytest.approx(1.0)
    assert payload_capacity(robot, [0.0], 'rod', [0.5, 0, 0]).mass == pytest.approx(2.0)
    # Of several configurations the worst counts: level, the second.
    stack = payload_capacity(robot, [[1.0], [0.0], [0.7]], 'rod', [1, 0, 0])
    assert (stack.sample, stack.mass) == (1, pytest.approx(1.0))


def test_masses_that_balance():
    """Behind the joint a mass helps: too little is as bad as too much."""
    robot = pendulum(15.0)  # the rod alone takes 20
    capacity = payload_capacity(robot, [0.0], 'rod', [-0.5, 0, 0])
    assert capacity.feasible
    assert (capacity.least, capacity.mass) == (pytest.approx(1.0), pytest.approx(7.0))


def test_a_robot_that_cannot_bear_itself():
    capacity = payload_capacity(pendulum(15.0), [0.0], 'rod', [1, 0, 0])
    assert (capacity.feasible, capacity.joint) == (False, 'shoulder')
    assert np.isnan(capacity.mass)


def test_no_limit_no_end():
    assert payload_capacity(pendulum('1e308'), [np.pi / 2], 'base').mass == np.inf
    unlimited = Robot(random_description(3, 3, ('continuous',)))
    free = replace(
        unlimited.description,
        joints=tuple(replace(joint, limits=Limits()) for joint in unlimited.description.joints),
    )
    capacity = payload_capacity(Robot(free), np.ones(3), 'link3', [0.1, 0.2, 0.3])
    assert (capacity.feasible, capacity.mass, capacity.joint) == (True, np.inf, '')


@pytest.mark.parametrize(
    ('arguments', 'error', 'reason'),
    [
        (([np.nan], 'rod'), ArgumentError, 'not finite'),
        (([0.0, 1.0], 'rod'), ArgumentError, 'q must have shape'),
        (([0.0], 'hook'), UnknownNameError, "'hook'"),
        (([0.0], 'rod', [1.0, 2.0]), ArgumentError, 'point must have shape'),
        (([0.0], 'rod', [1.0, 2.0, np.inf]), ArgumentError, 'three finite numbers'),
        ((np.zeros((0, 1)), 'rod'), ArgumentError, 'at least one'),
    ],
)
def test_bad_questions(arguments, error, reason):
    with pytest.raises(error, match=reason):
        payload_capacity(pendulum(15.0), *arguments)


def test_capacity_of_a_real_arm():
    """The Panda is sold for 3 kg: in a usual posture its joints can hold more than that."""
    robot = Robot.from_urdf(urdf_path('panda'))
    q = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785, 0.02])
    capacity = payload_capacity(robot, q, 'panda_hand_tcp')
    assert 3.0 < capacity.mass < 15.0
