# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the nodes make of a robot without middleware: default frames, arrays, held joints."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.robot.actuated_robot import REST
from screw_dynamics_ros.nodes.model.actuated import actuated, joints_that_move
from screw_dynamics_ros.nodes.model.running_model import (
    RunningModel,
    leaf_links,
    of_joints,
    place_joints,
)
from screw_dynamics_ros.ros.data_path.records import LoopRecord
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from support.robots import robot_id, sampled_robots, urdf_path

GRAVITY = np.array([0.0, 0.0, -9.81])
BOX = (
    '<inertial><origin xyz="0.3 0.1 0.2"/><mass value="2"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def tree(*joints):
    """Return a robot of joints 'name type parent child [mimicked]'."""
    links = {link for joint in joints for link in joint.split()[2:4]}
    text = '<robot name="tree">' + ''.join(f'<link name="{link}">{BOX}</link>' for link in links)
    for joint in joints:
        name, kind, parent, child, *mimic = joint.split()
        text += (
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="{child}"/><origin xyz="0.1 0.2 0.3"/><axis xyz="0 0 1"/>'
            + ''.join(f'<mimic joint="{master}"/>' for master in mimic)
            + '</joint>'
        )
    return Robot.from_urdf(text + '</robot>', backend='reference')


def test_tool_of_an_arm_with_a_gripper():
    assert leaf_links(Robot.from_urdf(urdf_path('panda'))) == ['panda_hand_tcp']


@pytest.mark.parametrize(
    ('joints', 'ends'),
    [
        (['j continuous a b'], ['b']),
        (['j continuous a b', 'f fixed b tool'], ['tool']),
        (['j continuous a b', 'f fixed b camera', 'g fixed b tool'], ['tool']),  # one body
        (['j continuous a b', 'k continuous a c', 'l continuous c d'], ['d', 'b']),  # longest first
        (['f fixed a sensor', 'j continuous a b'], ['b']),  # does not move
        (['f fixed a b'], []),
        # Two fingers at the end of an arm:
        (
            [
                'j continuous a b',
                'l continuous b left',
                'r continuous b right l',
                'f fixed left pad',
            ],
            ['b'],
        ),
        # A parallel rod that follows the shoulder of an arm is no end, the arm is:
        (['s continuous a b', 'e continuous b c', 'rod continuous a r s'], ['c']),
        # A finger of two joints, the second following the first:
        (['j continuous a b', 'k continuous b knuckle', 't continuous knuckle tip k'], ['b']),
    ],
)
def test_moving_ends(joints, ends):
    assert leaf_links(tree(*joints)) == ends


def test_no_more_ends_than_asked_for():
    robot = tree(*(f'j{i} continuous a b{i}' for i in range(12)))
    assert len(leaf_links(robot)) == 8


@pytest.mark.parametrize('path', sampled_robots(), ids=robot_id)
def test_ends_of_real_robots(path):
    robot = Robot.from_urdf(path, backend='reference')
    ends = leaf_links(robot)
    assert len(set(ends)) == len(ends) <= 8
    assert set(ends) <= set(robot.link_names)
    if robot.nv:
        assert ends


def test_planar_and_floating_joints_are_held_at_zero():
    robot = tree(
        'swim floating sea hull',
        'boom continuous hull crane',
        'slide planar crane sledge',
        'hook continuous sledge tool',
    )
    outputs = ['gravity_torques', 'mass_matrix', ('jacobian', 'tool', 'body')]
    own = [of_joints(robot, 'gravity_torques'), of_joints(robot, outputs[2])]
    model = RunningModel('', robot, [*outputs, *own])
    assert model.joints == ('boom', 'hook')
    assert model.held == ('swim', 'slide')
    mapper = JointStateMapper(model.joints)
    model.connect(mapper.state, GRAVITY)
    mapper.q[:], mapper.v[:] = [0.4, -0.7], [1.0, 2.0]
    loop = LoopRecord()
    loop.state = mapper.state
    place_joints(model.places, loop)
    assert model.evaluate()
    q = robot.neutral()
    for name, value in zip(model.joints, mapper.q):
        q[robot.joint_coordinates(name)[0]] = value
    np.testing.assert_allclose(model.results['gravity_torques'], robot.gravity_torques(q))
    np.testing.assert_allclose(model.results['mass_matrix'], robot.mass_matrix(q), atol=1e-12)
    columns = [6, 10]
    np.testing.assert_array_equal(model.results[own[0]], model.results['gravity_torques'][columns])
    np.testing.assert_array_equal(model.results[own[1]], model.results[outputs[2]][:, columns])
    assert actuated(robot).velocity_labels == [
        *(f'swim.{i}' for i in range(6)),
        'boom',
        *(f'slide.{i}' for i in range(3)),
        'hook',
    ]
    assert joints_that_move(robot, 'tool') == {'boom', 'hook'}
    assert joints_that_move(robot, 'crane') == {'boom'}
    elsewhere = model.results_at(np.array([0.1, 0.2]), np.zeros(2))
    q[robot.joint_coordinates('boom')[0]], q[robot.joint_coordinates('hook')[0]] = 0.1, 0.2
    np.testing.assert_allclose(elsewhere['gravity_torques'], robot.gravity_torques(q))
    np.testing.assert_array_equal(model.q[robot.joint_coordinates('boom')[0]], 0.4)


def test_inputs_are_zero_until_others_are_connected():
    robot = Robot.from_urdf(urdf_path('panda'))
    model = RunningModel('', robot, ['gravity_torques', 'mass_matrix'])
    assert model.evaluate()
    np.testing.assert_array_equal(model.results['gravity_torques'], 0.0)
    np.testing.assert_allclose(
        model.results['mass_matrix'], robot.mass_matrix(robot.neutral()), atol=1e-12
    )


def test_gravity_is_the_array_it_was_given():
    robot, gravity = Robot.from_urdf(urdf_path('panda')), GRAVITY.copy()
    model, mapper = (
        RunningModel('', robot, ['gravity_torques']),
        JointStateMapper(robot.joint_names),
    )
    model.connect(mapper.state, gravity)
    model.evaluate()
    before = model.results['gravity_torques'].copy()
    gravity *= 2.0
    model.evaluate()
    np.testing.assert_allclose(model.results['gravity_torques'], 2.0 * before)


def test_results_that_are_not_finite_are_noticed():
    robot = Robot.from_urdf(urdf_path('panda'))
    model, mapper = (
        RunningModel('', robot, ['coriolis_torques']),
        JointStateMapper(robot.joint_names),
    )
    model.connect(mapper.state, GRAVITY)
    mapper.v[:] = 1.0
    assert model.evaluate()
    mapper.v[:] = 1e200
    assert not model.evaluate()


def test_results_go_where_they_are_wanted():
    robot = Robot.from_urdf(urdf_path('panda'))
    model, mapper = (
        RunningModel('', robot, ['gravity_torques', 'mass_matrix']),
        JointStateMapper(robot.joint_names),
    )
    mapper.q[:] = 0.3
    target = np.zeros(64)
    model.connect(mapper.state, GRAVITY)
    model.write_into({'mass_matrix': target})
    model.evaluate()
    np.testing.assert_allclose(target.reshape(8, 8), robot.mass_matrix(mapper.q), atol=1e-12)
    np.testing.assert_allclose(
        model.results['gravity_torques'], robot.gravity_torques(mapper.q), atol=1e-12
    )


def test_robot_with_no_joint_that_states_can_carry():
    robot = tree('swim floating sea hull')
    model = RunningModel('', robot, ['gravity_torques'])
    model.connect(JointStateMapper(model.joints).state, GRAVITY)
    assert model.joints == ()
    assert model.evaluate()
    np.testing.assert_allclose(
        model.results['gravity_torques'], robot.gravity_torques(robot.neutral())
    )


def test_outputs_that_read_accelerations_are_refused():
    robot = tree('boom continuous hull crane')
    with pytest.raises(ArgumentError, match=r'^an output reads a, which nodes do not measure: '):
        RunningModel('', robot, ['inverse_dynamics'])
    at_rest = robot.substitute('inverse_dynamics', a=REST)
    assert RunningModel('', robot, [at_rest]).results
    RunningModel('', robot, ['inverse_dynamics'], parameters={'a': np.zeros(1)})


def test_robot_without_joints():
    robot = tree('f fixed a b')
    model = RunningModel('', robot, ['joint_transforms', 'gravity_torques'])
    model.connect(JointStateMapper(model.joints).state, GRAVITY)
    assert model.results == {}
    assert model.evaluate()
