# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Helical joints beside Pinocchio's, a revolute joint with a coupled slide, and balances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.cli.doctor.description_report import second_opinion
from screw_dynamics_ros.comparison.programs import check
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.description import (
    Inertia,
    Joint,
    Link,
    Mimic,
    RobotDescription,
    read_urdf,
)
from screw_dynamics_ros.core.description.rerooting import rerooted
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from screw_dynamics_ros.core.errors import DescriptionError, UnsupportedRobotError
from screw_dynamics_ros.core.kinematics.robot_geometry import geometry_of
from screw_dynamics_ros.core.lie import quaternions, se3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.from_description import absolute_system
from support.models import random_description

pin = pytest.importorskip('pinocchio')

KINDS = ('helical', 'revolute', 'prismatic')
GRAVITY = np.array([1.0, -2.0, -9.0])
SWAP = [3, 4, 5, 0, 1, 2]  # linear first <-> angular first


@pytest.fixture(scope='module')
def description() -> RobotDescription:
    """A tree with helical joints of both hands among others."""
    found = random_description(11, 7, KINDS)
    pitches = [joint.pitch for joint in found.joints if joint.kind.has_pitch]
    assert min(pitches) < 0.0 < max(pitches)
    return found


@pytest.fixture(scope='module')
def robot(description) -> Robot:
    """The compiled robot."""
    return Robot(description, gravity=GRAVITY)


@pytest.fixture(scope='module')
def state(robot) -> tuple[np.ndarray, ...]:
    """q, v and a far from zero."""
    rng = np.random.default_rng(3)
    return tuple(rng.uniform(-2.0, 2.0, (3, robot.nv)))


@pytest.fixture(scope='module')
def theirs(description):
    """Pinocchio's model, joint by joint."""
    model = pin.Model()
    model.gravity.linear = GRAVITY
    kinds = {
        'revolute': pin.JointModelRevoluteUnaligned,
        'prismatic': pin.JointModelPrismaticUnaligned,
        'helical': pin.JointModelHelicalUnaligned,
    }
    made = {description.root: 0}
    inertias = {link.name: link.inertia for link in description.links}
    for joint in description.joints:
        arguments = (joint.axis, joint.pitch) if joint.kind.has_pitch else (joint.axis,)
        place = model.addJoint(
            made[joint.parent], kinds[joint.type](*arguments), pin.SE3(joint.origin), joint.name
        )
        body = inertias[joint.child]
        model.appendBodyToJoint(
            place, pin.Inertia(body.mass, body.com, body.matrix), pin.SE3.Identity()
        )
        made[joint.child] = place
    return model, model.createData()


def close(ours, others):
    np.testing.assert_allclose(ours, others, rtol=1e-10, atol=1e-10)


def test_poses_and_jacobians_are_those_of_pinocchio(robot, theirs, state):
    model, data = theirs
    q, *_ = state
    pin.computeJointJacobians(model, data, q)
    for k, joint in enumerate(robot.description.joints, 1):
        close(robot.link_pose(q, joint.child), data.oMi[k].homogeneous)
        jacobian = pin.getJointJacobian(model, data, k, pin.LOCAL)[SWAP]
        close(robot.jacobian(q, joint.child, 'body'), jacobian)


def test_dynamics_is_that_of_pinocchio(robot, theirs, state):
    model, data = theirs
    q, v, a = state
    tau = pin.rnea(model, data, q, v, a)
    M = np.triu(pin.crba(model, data, q))
    close(robot.inverse_dynamics(q, v, a), tau)
    close(robot.forward_dynamics(q, v, tau), pin.aba(model, data, q, v, tau))
    close(robot.mass_matrix(q), M + np.triu(M, 1).T)
    close(robot.gravity_torques(q), pin.computeGeneralizedGravity(model, data, q))
    close(robot.coriolis_torques(q, v), pin.computeCoriolisMatrix(model, data, q, v) @ v)
    close(robot.kinetic_energy(q, v), pin.computeKineticEnergy(model, data, q, v))


def test_derivatives_are_those_of_pinocchio_and_of_differences(robot, theirs, state):
    model, data = theirs
    q, v, a = state
    by_q, by_v = robot.inverse_dynamics_derivatives(q, v, a)[:2]
    theirs_q, theirs_v, _ = pin.computeRNEADerivatives(model, data, q, v, a)
    close(by_q, theirs_q)
    close(by_v, theirs_v)
    steps = 1e-6 * np.eye(robot.nv)
    differences = [
        (robot.inverse_dynamics(q + h, v, a) - robot.inverse_dynamics(q - h, v, a)) / 2e-6
        for h in steps
    ]
    np.testing.assert_allclose(by_q, np.transpose(differences), rtol=1e-6, atol=1e-6)


def test_stacks_and_transforms_follow(robot, state):
    q, v, a = state
    stack = [np.stack([x, 0.5 * x, -x]) for x in (q, v, a)]
    close(robot.inverse_dynamics(*stack)[0], robot.inverse_dynamics(q, v, a))
    transforms = robot.joint_transforms(q)
    for joint, row in zip(robot.description.joints, transforms, strict=True):
        relative = se3.inverse(robot.link_pose(q, joint.parent)) @ robot.link_pose(q, joint.child)
        close(se3.pose(quaternions.to_matrix(row[3:]), row[:3]), relative)


def coupled(description: RobotDescription) -> RobotDescription:
    """Return the robot with a slide that mimics a revolute joint for each helical one."""
    links, joints = list(description.links), []
    for joint in description.joints:
        if joint.kind.has_pitch:
            between = f'{joint.child}_turned'
            links.append(Link(between))
            joints += [
                replace(joint, type='revolute', pitch=0.0, child=between),
                Joint(
                    f'{joint.name}_slide',
                    'prismatic',
                    between,
                    joint.child,
                    np.eye(4),
                    joint.axis,
                    mimic=Mimic(joint.name, joint.pitch),
                ),
            ]
        else:
            joints.append(joint)
    return RobotDescription.from_parts('coupled', links, joints)


def test_a_slide_that_mimics_the_turn_moves_alike(description, robot, state):
    other = Robot(coupled(description), gravity=GRAVITY)
    q, v, a = state
    assert other.joint_names == robot.joint_names
    close(other.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a))
    close(other.link_pose(q, 'link7'), robot.link_pose(q, 'link7'))


def test_a_falling_nut(description):
    """On a vertical screw: (I + m h^2) a = -m g h, and a moment m g h [N m] holds it."""
    m, h, inertia = 2.0, 0.1, 0.05
    nut = Link('nut', Inertia(m, np.zeros(3), np.diag([0.04, 0.03, inertia])))
    joint = Joint('screw', 'helical', 'base', 'nut', np.eye(4), np.array([0.0, 0.0, 1.0]), pitch=h)
    robot = Robot(RobotDescription.from_parts('press', [Link('base'), nut], [joint]))
    close(robot.gravity_torques([0.7]), [m * 9.81 * h])
    close(robot.forward_dynamics([0.7], [0.0], [0.0]), [-m * 9.81 * h / (inertia + m * h * h)])
    close(robot.link_pose([0.7], 'nut')[2, 3], 0.07)


def test_mass_on_the_axis_resists_as_it_advances():
    text = write_urdf(
        RobotDescription.from_parts(
            'press',
            [Link('base'), Link('nut', Inertia(1.0, np.zeros(3), np.zeros((3, 3))))],
            [Joint('screw', 'helical', 'base', 'nut', np.eye(4), np.eye(3)[2], pitch=0.1)],
        )
    )
    stuck = 'no inertia resists its motion'
    assert not any(stuck in finding.message for finding in read_urdf(text).findings)
    revolute = text.replace('helical', 'revolute').replace('pitch="0.1"', '')
    assert any(stuck in finding.message for finding in read_urdf(revolute).findings)


def test_effort_times_rate_is_the_power(robot, state):
    """The energy changes as the efforts say."""
    q, v, a = state
    step = 1e-6

    def energy(t: float) -> float:
        q_t, v_t = q + t * v + 0.5 * t * t * a, v + t * a
        return robot.kinetic_energy(q_t, v_t) + robot.potential_energy(q_t)

    power = robot.inverse_dynamics(q, v, a) @ v
    rate = (energy(step) - energy(-step)) / (2.0 * step)
    np.testing.assert_allclose(rate, power, rtol=1e-6)


def test_absolute_coordinates_accelerate_alike(description):
    """Bodies with constraints, from rest at zero."""
    robot = Robot(description, gravity=GRAVITY)
    system = absolute_system(description, gravity=GRAVITY, backend='reference')
    zero, q = np.zeros(robot.nv), system.configuration
    found = system.joint_rates(q, system.forward_dynamics(q, np.zeros(system.nv)))
    ours = robot.forward_dynamics(zero, zero, zero)
    np.testing.assert_allclose(
        np.concatenate([found[name] for name in robot.joint_names]), ours, rtol=1e-8, atol=1e-8
    )


def test_a_written_urdf_reads_alike(description):
    read = read_urdf(write_urdf(description))
    for ours, theirs in zip(description.joints, read.joints, strict=True):
        assert (ours.type, ours.pitch) == (theirs.type, theirs.pitch)
    assert sum('refuses the whole description' in each.message for each in read.findings) == sum(
        joint.kind.has_pitch for joint in description.joints
    )


def test_geometry_and_another_root_keep_the_screw(description, robot, state):
    q, *_ = state
    close(geometry_of(description).link_poses(q)['link7'], robot.link_pose(q, 'link7'))
    turned = Robot(rerooted(description, 'link7'))
    places = [turned.joint_names.index(name) for name in robot.joint_names]
    whole = np.empty(turned.nq)
    whole[places] = q
    close(turned.link_pose(whole, 'link0'), se3.inverse(robot.link_pose(q, 'link7')))


URDF = """<robot name="press"><link name="base"/><link name="nut"/>
<joint name="screw" type="{type}" {pitch}>
<parent link="base"/><child link="nut"/></joint></robot>"""


@pytest.mark.parametrize(
    ('type', 'pitch', 'message'),
    [
        ('helical', '', "joint 'screw': <joint> has no pitch"),
        ('helical', 'pitch="nan"', 'is not a finite number'),
        ('helical', 'pitch="0"', "joint 'screw' is helical with pitch 0.0; give the advance"),
        ('revolute', 'pitch="0.1"', "joint 'screw' is revolute with pitch 0.1; only a helical"),
    ],
)
def test_a_pitch_that_is_missing_or_out_of_place(type, pitch, message):
    with pytest.raises(DescriptionError, match=message):
        read_urdf(URDF.format(type=type, pitch=pitch))


def test_what_knows_no_helical_joint_names_it(description, robot):
    with pytest.raises(UnsupportedRobotError, match=r'joint[0-9] is helical'):
        check(description, '')
    with pytest.raises(DescriptionError, match='is helical: closed forms are for'):
        SerialChain.of(robot.tree, 'link7')
    (line,) = second_opinion(robot, write_urdf(description)).lines
    assert line.startswith('skipped: joint ')
    assert 'helical' in line
