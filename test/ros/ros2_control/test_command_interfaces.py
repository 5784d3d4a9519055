# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The launch argument that gives each joint its command interface."""

from __future__ import annotations

import pytest

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.ros.ros2_control import CHOICES, command_interfaces
from support.robots import joint, links, robot, urdf_path

ARM = [f'panda_joint{k}' for k in range(1, 8)]
FINGER = 'panda_finger_joint1'


@pytest.fixture(scope='module')
def panda():
    return read_urdf(urdf_path('panda'))


@pytest.mark.parametrize('interface', CHOICES)
def test_one_for_all(panda, interface):
    """Of all joints but the finger that follows the other one, in the order of the robot."""
    chosen = command_interfaces(interface, panda)
    assert list(chosen) == [*ARM, FINGER]
    assert set(chosen.values()) == {interface}


@pytest.mark.parametrize('choice', ['effort {}:position', '{}:position   effort'])
def test_single_joints_differ(panda, choice):
    chosen = command_interfaces(choice.format(FINGER), panda)
    assert chosen == {**dict.fromkeys(ARM, 'effort'), FINGER: 'position'}


def test_joints_without_a_choice_are_not_commanded(panda):
    chosen = command_interfaces('panda_joint3:velocity panda_joint1:effort', panda)
    assert chosen == {'panda_joint1': 'effort', 'panda_joint3': 'velocity'}
    assert list(chosen) == ['panda_joint1', 'panda_joint3']


@pytest.mark.parametrize(
    ('choice', 'reason'),
    [
        ('', 'no joint can be commanded'),
        (
            'torque',
            "no command interface 'torque'; expected one of position, velocity, effort, "
            r'position\+effort for',
        ),
        ('effort+position', r"no command interface 'effort\+position'"),
        ('position+velocity', r"no command interface 'position\+velocity'"),
        ('panda_joint1:', "no command interface ''"),
        ('effort position', 'all joints: two command interfaces'),
        ('panda_joint1:effort panda_joint1:effort', 'panda_joint1: two command interfaces'),
        ('panda_joint9:effort', "no joint 'panda_joint9'; did you mean panda_joint"),
        ('elbow:effort', "no joint 'elbow'; joints: panda_joint1, "),
        ('panda_finger_joint2:effort', "'panda_finger_joint2' follows joint 'panda_finger_joint1'"),
        ('panda_joint8:effort', "'panda_joint8' is fixed; only"),
        (':effort', "no joint ''"),
    ],
)
def test_refusals(panda, choice, reason):
    with pytest.raises(ArgumentError, match=reason):
        command_interfaces(choice, panda)


def test_robots_without_such_joints():
    """Planar and floating joints do not exist in ros2_control."""
    text = robot(links('a b c'), joint('j', 'a', 'b', kind='floating'))
    text = text.replace('</robot>', joint('k', 'b', 'c', kind='planar') + '</robot>')
    with pytest.raises(ArgumentError, match='no joint can be commanded'):
        command_interfaces('effort', read_urdf(text))
