# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The `<ros2_control>` tag that is put into a description, and those that are there already."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, DescriptionError
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.description.ros2_control import (
    commanded_joints,
    impedance_gains,
    read_ros2_control,
)
from screw_dynamics_ros.core.description.xml_document import child, children, robot_element
from screw_dynamics_ros.ros.ros2_control import NAME, OLD_PLUGIN, PLUGIN, with_simulated_hardware
from support.robots import bundled_robots, joint, links, robot, robot_id, sampled_robots, urdf_path

TOPICS = ('/left/joint_commands', '/left/robot_joint_states')
STATES = ('position', 'velocity', 'effort')
BOTH = '"position"/><command_interface name="effort"/>'


def panda_with(tag: str) -> str:
    return urdf_path('panda').read_text(encoding='utf-8').replace('</robot>', f'{tag}</robot>')


def tag_of(plugin: str, parameters: str = '', inner: str = '') -> str:
    return (
        f'<ros2_control name="arm" type="system"><hardware><plugin>{plugin}</plugin>{parameters}'
        f'</hardware>{inner}</ros2_control>'
    )


COMPLETE = (
    '<param name="joint_commands_topic">/c</param><param name="joint_states_topic">/s</param>'
    '<param name="trigger_joint_command_threshold">-1.0</param>'
)
JOINT1 = (
    '<joint name="panda_joint1"><command_interface name="velocity"/>'
    + ''.join(f'<state_interface name="{each}"/>' for each in STATES)
    + '</joint>'
)


def test_the_tag_of_the_panda():
    made = with_simulated_hardware(panda_with(''), 'effort panda_finger_joint1:position', *TOPICS)
    (component,) = read_ros2_control(made.text)
    assert (component.name, component.type, component.plugin) == (NAME, 'system', PLUGIN)
    assert component.parameters == {
        'joint_commands_topic': TOPICS[0],
        'joint_states_topic': TOPICS[1],
        'trigger_joint_command_threshold': '-1',
    }
    commands = {each.name: each.command_interfaces for each in component.joints}
    assert commands == {
        **{f'panda_joint{k}': ('effort',) for k in range(1, 8)},
        'panda_finger_joint1': ('position',),
        'panda_finger_joint2': (),  # ros2_control refuses command interfaces of mimic joints
    }
    assert {each.state_interfaces for each in component.joints} == {STATES}
    assert made.interfaces == {name: each[0] for name, each in commands.items() if each}
    assert (made.commands_topic, made.states_topic) == TOPICS
    assert made.remarks == ()


def test_the_tag_of_impedance_drives_keeps_their_gains():
    """Of the tag that is replaced, or kept; a kept one says what a released interface does."""
    gains = '<param name="kp">70</param><param name="kd">2.75</param>'
    joint1 = JOINT1.replace('<command', f'{gains}<command')
    text = panda_with(tag_of('openarm_hardware/OpenArm', '', joint1))
    made = with_simulated_hardware(text, 'position+effort', *TOPICS, replace=True)
    (component,) = read_ros2_control(made.text)
    assert component.joints[0].command_interfaces == ('position', 'effort')
    assert made.interfaces['panda_joint7'] == 'position+effort'
    assert impedance_gains([component]) == {'panda_joint1': (70.0, 2.75)}
    kept = with_simulated_hardware(
        panda_with(tag_of(PLUGIN, COMPLETE, joint1.replace('"velocity"/>', BOTH, 1))),
        'effort',
        *TOPICS,
    )
    assert kept.interfaces == {'panda_joint1': 'position+effort'}
    assert 'the last value of a released interface' in kept.remarks[0]


@pytest.mark.parametrize('path', [*bundled_robots(), *sampled_robots()], ids=robot_id)
def test_real_robots_get_one(path):
    """The rest is as before; masters come first; the simulator finds whose numbers are whose."""
    text = path.read_text(encoding='utf-8')
    before = read_urdf(text, inertia_check='ignore')
    scalar = [
        each for each in before.joints if each.type in ('revolute', 'continuous', 'prismatic')
    ]
    if not scalar:
        with pytest.raises(ArgumentError, match='no joint can be commanded'):
            with_simulated_hardware(text, 'velocity', *TOPICS, replace=True)
        return
    made = with_simulated_hardware(text, 'velocity', *TOPICS, replace=True)
    after = read_urdf(made.text, inertia_check='ignore')
    assert [link.name for link in after.links] == [link.name for link in before.links]
    for ours, theirs in zip(before.joints, after.joints):
        assert (ours.name, ours.mimic, ours.limits) == (theirs.name, theirs.mimic, theirs.limits)
        np.testing.assert_array_equal(ours.origin, theirs.origin)
    (component,) = read_ros2_control(made.text)
    names = [each.name for each in component.joints]
    assert sorted(names) == sorted(each.name for each in scalar)
    for each in scalar:
        if each.mimic is not None:
            assert names.index(each.mimic.joint) < names.index(each.name)
    assert commanded_joints((component,), names, 'velocity') == list(made.interfaces)


def test_other_content_is_kept():
    """Extensions of simulators, undeclared prefixes and comments, letter by letter."""
    extra = '<!-- mine --><gazebo><plugin filename="lib.so" name="p::Q"/></gazebo>'
    made = with_simulated_hardware(panda_with(extra), 'effort', *TOPICS)
    assert extra in made.text
    text = panda_with('<a:b c="ä &lt;"/>')
    assert '<a:b c="ä &lt;"/>' in with_simulated_hardware(text, 'effort', *TOPICS).text


@pytest.mark.parametrize('plugin', [PLUGIN, OLD_PLUGIN])
def test_a_tag_for_topics_is_kept(plugin):
    text = panda_with(tag_of(plugin, COMPLETE, JOINT1))
    made = with_simulated_hardware(text, 'effort', *TOPICS)
    assert made.text == text
    assert (made.commands_topic, made.states_topic) == ('/c', '/s')
    assert made.interfaces == {'panda_joint1': 'velocity'}
    assert made.remarks == ()


def test_what_is_doubtful_about_a_kept_tag_is_told():
    inner = (
        '<joint name="panda_joint1"><command_interface name="position"/>'
        '<command_interface name="effort"/><state_interface name="position"/></joint>'
    )
    made = with_simulated_hardware(panda_with(tag_of(PLUGIN, '', inner)), 'effort', *TOPICS)
    assert (made.commands_topic, made.states_topic) == (
        '/robot_joint_commands',
        '/robot_joint_states',
    )
    assert made.interfaces == {'panda_joint1': 'position'}
    several, states, commands, measured, threshold = made.remarks
    assert several.startswith('joint panda_joint1 has the command interfaces position, effort')
    assert states.startswith('joint panda_joint1 has no state interface velocity, effort')
    assert commands.startswith('joint_commands_topic is not given')
    assert measured.startswith('joint_states_topic is not given')
    assert threshold.startswith('trigger_joint_command_threshold is not -1')


def test_a_tag_for_other_hardware_is_refused_or_replaced():
    text = panda_with(tag_of('gz_ros2_control/GazeboSimSystem', '', JOINT1))
    with pytest.raises(DescriptionError, match="'gz_ros2_control/GazeboSimSystem', which would"):
        with_simulated_hardware(text, 'effort', *TOPICS)
    made = with_simulated_hardware(text, 'effort', *TOPICS, replace=True)
    (component,) = read_ros2_control(made.text)
    assert component.plugin == PLUGIN
    assert len(made.interfaces) == 8


def test_several_tags_are_refused_or_replaced():
    text = panda_with(tag_of(PLUGIN, COMPLETE, JOINT1) + tag_of(PLUGIN, COMPLETE))
    with pytest.raises(DescriptionError, match='has 2 <ros2_control> tags'):
        with_simulated_hardware(text, 'effort', *TOPICS)
    made = with_simulated_hardware(text, 'effort', *TOPICS, replace=True)
    assert len(read_ros2_control(made.text)) == 1


def test_names_and_topics_are_escaped():
    text = robot(links('a b'), joint('x &amp; "y"'.replace('"', '&quot;'), 'a', 'b'))
    made = with_simulated_hardware(text, 'effort', '/a&b', '/s')
    (component,) = read_ros2_control(made.text)
    assert component.joints[0].name == 'x & "y"'
    assert component.parameters['joint_commands_topic'] == '/a&b'


@pytest.mark.parametrize('text', ['', '<sdf/>', '<robot name="r"/>'])
def test_what_is_no_description_is_refused(text):
    with pytest.raises(DescriptionError):
        with_simulated_hardware(text, 'effort', *TOPICS)


def test_the_document_is_indented():
    made = with_simulated_hardware(panda_with(''), 'effort', *TOPICS)
    assert '\n  <ros2_control name="simulated_robot" type="system">\n    <hardware>\n' in made.text
    element = child(robot_element(made.text), 'ros2_control')
    assert element is not None
    assert len(children(element, 'joint')) == 9
    assert '<!-- enforce_command_limits of controller_manager' in made.text
