# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Payloads: their torques against Pinocchio, and the largest mass against brute force."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('pinocchio')

import pinocchio as pin

from oracles.pinocchio_model import Pinocchio
from screw_dynamics_ros.core import ArgumentError, InertiaError, Robot, UnknownNameError
from screw_dynamics_ros.core.description import Inertia, Limits
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.motion.trajectory.payload_capacity import payload_capacity
from support.models import random_configuration, random_description, random_inertia, to_urdf
from support.robots import urdf_path

KINDS = ('revolute', 'prismatic', 'continuous')


def body(rng):
    inertia = random_inertia(rng)
    return RigidBody(inertia.mass, inertia.com, inertia.matrix)


def loaded(robot, urdf, payloads):
    """Return Pinocchio's model with more inertia on some links."""
    oracle = Pinocchio(urdf, robot)
    for link, load in payloads.items():
        frame = oracle.model.frames[oracle.frame_id(link)]
        oracle.model.appendBodyToJoint(
            frame.parentJoint, pin.Inertia(load.mass, load.com, load.matrix), frame.placement
        )
    oracle.data = oracle.model.createData()
    return oracle


@pytest.mark.parametrize(
    ('kinds', 'mimic', 'floating'),
    [
        (KINDS, 0, False),
        (KINDS, 2, False),
        (KINDS, 0, True),
        ((*KINDS, 'floating'), 0, True),
    ],
)
def test_payload_torques_against_pinocchio(kinds, mimic, floating):
    """Robot and payloads together have the torques of the robot with these bodies (D-27)."""
    rng = np.random.default_rng(4)
    description = random_description(7, 6, kinds, mimic=mimic)
    robot = Robot(description, floating_base=floating)
    payloads = {name: body(rng) for name in ('link0', 'link3', 'link6')}
    oracle = loaded(robot, to_urdf(description), payloads)
    for _ in range(3):
        q = random_configuration(robot, rng)
        v, a = rng.normal(size=(2, robot.nv))
        torques = robot.inverse_dynamics(q, v, a) + robot.payload_torques(q, v, a, payloads)
        np.testing.assert_allclose(
            torques, oracle.inverse_dynamics(q, v, a), rtol=1e-10, atol=1e-10
        )


@pytest.mark.parametrize('backend', ['native', 'python', 'reference'])
def test_payloads_on_every_backend_and_in_stacks(backend):
    if backend == 'native':
        pytest.importorskip('llvmlite')
    rng = np.random.default_rng(5)
    robot = Robot(random_description(8, 4, KINDS), backend=backend)
    payloads = {'link4': body(rng)}
    other = replace(
        robot.description,
        links=tuple(
            link
            if link.name != 'link4'
            else replace(link, inertia=together(link, payloads['link4']))
            for link in robot.description.links
        ),
    )
    expected = Robot(other, backend='reference')
    q, v, a = rng.normal(size=(3, 9, 4))
    stack = robot.payload_torques(q, v, a, payloads)
    as_numbers = robot.payload_parameters(payloads)
    for k in range(9):
        difference = expected.inverse_dynamics(q[k], v[k], a[k]) - robot.inverse_dynamics(
            q[k], v[k], a[k]
        )
        np.testing.assert_allclose(stack[k], difference, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(
            robot.payload_torques(q[k], v[k], a[k], payloads), stack[k], rtol=1e-12, atol=1e-12
        )
        np.testing.assert_allclose(
            robot.payload_torques(q[k], v[k], a[k], as_numbers), stack[k], rtol=1e-12, atol=1e-12
        )


def together(link, load):
    whole = RigidBody(link.inertia.mass, link.inertia.com, link.inertia.matrix) + load
    return Inertia(whole.mass, whole.com, whole.matrix)


def test_a_payload_on_what_does_not_move_changes_nothing():
    robot = Robot(random_description(9, 3))
    load = {'link0': RigidBody(5.0, [1, 2, 3], np.eye(3))}
    assert not robot.payload_torques(*np.ones((3, 3)), load).any()
    assert not robot.payload_torques(*np.ones((3, 3)), {}).any()


@pytest.mark.parametrize(
    ('payloads', 'error', 'reason'),
    [
        ({'hook': RigidBody(1.0, np.zeros(3), np.zeros((3, 3)))}, UnknownNameError, "'hook'"),
        ({'link1': 2.0}, ArgumentError, "'link1' must be a RigidBody"),
        (np.zeros(3), ArgumentError, 'payload must have shape'),
    ],
)
def test_impossible_payloads_are_refused(payloads, error, reason):
    robot = Robot(random_description(9, 3))
    with pytest.raises(error, match=reason):
        robot.payload_torques(*np.ones((3, 3)), payloads)


def test_negative_mass_is_no_payload():
    with pytest.raises(InertiaError, match='cannot be negative'):
        RigidBody(-1.0, np.zeros(3), np.zeros((3, 3)))


# --- capacity ------------------------------------------------------------------------------------


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
    for seed in range(8):
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
