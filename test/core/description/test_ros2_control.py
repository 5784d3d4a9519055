# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The ros2_control tags of descriptions, those that others have written among them."""

import pytest

from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.description.ros2_control import (
    commanded_joints,
    read_ros2_control,
    unmet_condition,
)
from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError
from support.robots import urdf_path

#: As in the tests of topic_based_hardware_interfaces: the left finger mimics the right one.
GRIPPER = """
<ros2_control name="gripper_joint_state_system" type="system">
  <hardware>
    <plugin>joint_state_topic_hardware_interface/JointStateTopicSystem</plugin>
    <param name="joint_commands_topic">/topic_based_joint_commands</param>
    <param name="joint_states_topic">/topic_based_joint_states</param>
  </hardware>
  <joint name="right_finger_joint">
    <command_interface name="position"/>
    <state_interface name="position"><param name="initial_value">0.15</param></state_interface>
    <state_interface name="velocity"/>
  </joint>
  <joint name="left_finger_joint">
    <state_interface name="position"/>
  </joint>
</ros2_control>
"""

#: The interfaces of a joint differ, and the older way to name a mimic joint.
ARM = """
<ros2_control name="arm" type="system">
  <joint name="shoulder"><command_interface name="position"/></joint>
  <joint name="elbow">
    <command_interface name="position"><param name="min">-1</param></command_interface>
    <command_interface name="velocity"/>
  </joint>
  <joint name="wrist"><command_interface name="effort"/></joint>
  <joint name="coupled"><param name="mimic">wrist</param><param name="multiplier">2</param></joint>
</ros2_control>
"""


def described(*tags):
    return f'<robot name="r"><link name="base"/>{"".join(tags)}</robot>'


def test_a_component():
    (component,) = read_ros2_control(described(GRIPPER))
    assert (component.name, component.type) == ('gripper_joint_state_system', 'system')
    assert component.plugin == 'joint_state_topic_hardware_interface/JointStateTopicSystem'
    assert component.parameters['joint_commands_topic'] == '/topic_based_joint_commands'
    right, left = component.joints
    assert (right.name, right.command_interfaces) == ('right_finger_joint', ('position',))
    assert right.state_interfaces == ('position', 'velocity')
    assert (left.name, left.command_interfaces) == ('left_finger_joint', ())


def test_which_joints_an_array_is_for():
    """Several components; the order is that of the message, as the hardware interface writes it."""
    components = read_ros2_control(described(GRIPPER, ARM))
    arm = ['shoulder', 'elbow', 'wrist', 'coupled']
    assert commanded_joints(components, arm, 'position') == ['shoulder', 'elbow']
    assert commanded_joints(components, arm, 'velocity') == ['elbow']
    assert commanded_joints(components, arm[::-1], 'position') == ['elbow', 'shoulder']
    fingers = ['right_finger_joint', 'left_finger_joint']
    assert commanded_joints(components, fingers, 'position') == ['right_finger_joint']
    assert commanded_joints(components, [*fingers, 'wrist'], 'effort') == ['wrist']
    assert commanded_joints((), arm, 'position') == []


def test_most_descriptions_have_no_such_tag():
    assert read_ros2_control(urdf_path('panda')) == ()


def test_real_descriptions():
    (arm,) = read_ros2_control(urdf_path('xarm7'))
    assert [joint.name for joint in arm.joints] == [f'joint{k}' for k in range(1, 8)]
    assert all(joint.command_interfaces for joint in arm.joints)
    components = read_ros2_control(urdf_path('tiago_pro'))
    assert len(components) > 1
    assert all(component.plugin and component.type for component in components)
    joints = [joint.name for component in components for joint in component.joints]
    assert 'arm_right_1_joint' in commanded_joints(components, joints, 'position')


@pytest.mark.parametrize(
    ('tag', 'reason'),
    [
        ('<ros2_control name="a"><joint/></ros2_control>', 'a> has a <joint> without a name'),
        (
            '<ros2_control name="a"><joint name="j"><command_interface/></joint></ros2_control>',
            "joint 'j': a <command_interface> has no name",
        ),
        (
            '<ros2_control name="a"><joint name="j"/><joint name="j"/></ros2_control>',
            "has joint 'j' twice",
        ),
    ],
)
def test_what_is_refused(tag, reason):
    with pytest.raises(DescriptionError, match=reason.replace('a>', '"a">', 1)):
        read_ros2_control(described(tag))


def test_no_urdf():
    with pytest.raises(DescriptionError, match='root element'):
        read_ros2_control('<sdf/>')


def unevaluated(component):
    return [str(f) for f in read_urdf(described(component)).findings if 'xacro' in f.message]


def test_expressions_that_are_left():
    """Equal ones are reported once, with all places."""
    limited = ''.join(
        f'<joint name="{name}"><command_interface name="position"><param name="min">{low}</param>'
        '<param name="max">3</param></command_interface></joint>'
        for name, low in (('pan', '{-2*pi}'), ('lift', '{-2*pi}'), ('elbow', ' {-pi} '))
    )
    hardware = '<hardware><param name="robot_ip">$(arg ip)</param></hardware>'
    offset = '<joint name="wrist"><param name="offset">${0.5 * pi}</param></joint>'
    state = (
        '<joint name="tool"><state_interface name="position"><param name="initial_value">${q}'
        '</param></state_interface></joint>'
    )
    first, *others = unevaluated(
        f'<ros2_control name="ur" type="system">{hardware}{limited}{offset}{state}</ros2_control>'
    )
    assert first == (
        "ros2_control 'ur': hardware: parameter 'robot_ip' is '$(arg ip)', an expression that "
        'xacro did not evaluate; the driver gets this text, or takes its default (write ${...} in '
        'the xacro file and expand it, or write the number)'
    )
    for message, words in zip(
        others,
        [
            "joint 'pan', joint 'lift': command_interface 'position', parameter 'min' is '{-2*pi}'",
            "joint 'elbow': command_interface 'position', parameter 'min' is '{-pi}'",
            "joint 'wrist': parameter 'offset' is '${0.5 * pi}'",
            "joint 'tool': state_interface 'position', parameter 'initial_value' is '${q}'",
        ],
        strict=True,
    ):
        assert words in message


@pytest.mark.parametrize(
    'text', ['', '3.14', '{}', '{"a": 1}', "{'a'}", '{a: 1}', '[{1}]', '/dev/tty$1', 'a{b}', '$']
)
def test_values_that_are_no_expressions(text):
    tag = f'<hardware><param name="p">{text}</param></hardware>'
    assert unevaluated(f'<ros2_control name="c" type="system">{tag}</ros2_control>') == []


def with_parameter(*values):
    """Return a description with one component for each value of the parameter, None without it."""
    return described(
        *(
            f'<ros2_control name="c{k}" type="system"><hardware>'
            + ('' if value is None else f'<param name="currents">{value}</param>')
            + '</hardware></ros2_control>'
            for k, value in enumerate(values)
        )
    )


@pytest.mark.parametrize(
    ('values', 'condition', 'reason'),
    [
        (('false',), '', None),
        (('maybe',), '', None),
        (('false',), 'currents=false', None),
        ((' False ', None), 'currents = FALSE', None),
        (('true', 'True'), 'currents=true', None),
        (('Fast',), 'currents=Fast', None),
        (('fast',), 'currents=Fast', "currents is 'fast' in the description, not 'Fast'"),
        (('true',), 'currents=false', "currents is 'true' in the description, not 'false'"),
        (('0',), 'currents=false', "currents is '0' in the description; it must be true or false"),
        (('',), 'currents=false', "currents is '' in the description; it must be true or false"),
        ((None,), 'currents=false', 'no <ros2_control> tag of the description has the parameter'),
        ((), 'currents=false', 'no <ros2_control> tag of the description has the parameter'),
        (
            ('true', 'false'),
            'currents=false',
            "currents differs between <ros2_control> tags: 'true' of 'c0', 'false' of 'c1'",
        ),
    ],
)
def test_conditions_on_hardware_parameters(values, condition, reason):
    found = unmet_condition(with_parameter(*values), condition)
    assert (reason in found) if reason else not found


@pytest.mark.parametrize('condition', ['currents', '=false', 'currents=', ' = '])
def test_what_is_not_a_condition_is_refused(condition):
    with pytest.raises(ArgumentError, match='is not a condition NAME=VALUE'):
        unmet_condition(with_parameter('true'), condition)


def test_the_condition_of_an_unreadable_tag_is_not_met():
    tag = '<ros2_control name="arm" type="system"><joint/></ros2_control>'
    assert 'a <joint> without a name' in unmet_condition(described(tag), 'currents=false')
