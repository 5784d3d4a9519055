# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The hash of a URDF: what it depends on, and what it does not."""

from __future__ import annotations

from collections.abc import Callable
from xml.dom import minidom

import pytest

from screw_dynamics_ros.core.description.description_hash import canonical_text, description_hash
from support.robots import urdf_path

URDF = """<?xml version="1.0"?>
<!-- from /here/robot.urdf.xacro <link name="no"/> -->
<robot version="1.1" name="r" xmlns:xacro="x">
  <material name="m"><color rgba="1 1 1 1"/></material>
  <link name='base'>
    <inertial><origin xyz=" 0\t0
      1 " /><mass value = "2"/></inertial>
    <visual><origin xyz="0 0 0"/><geometry><mesh filename="a > b/c.dae"/></geometry></visual>
  </link>
  <link name="tip"/>
  <joint name="j" type="revolute"><parent link="base"/><child link="tip"></child></joint>
  <ros2_control name="r"><joint name="j"><param name="p">1</param></joint></ros2_control>
  <gazebo reference="base"><![CDATA[<link name="no"/>]]></gazebo>
</robot>
"""

CANONICAL = (
    'version="1.1"<linkname="base"><inertial><originxyz="0 0 1"></><massvalue="2"></></></>'
    '<linkname="tip"></><jointname="j"type="revolute"><parentlink="base"></><childlink="tip"></></>'
)

#: Changes of a URDF that no model depends on.
HARMLESS: dict[str, Callable[[str], str]] = {
    'toxml': lambda text: minidom.parseString(text).toxml(),
    'toprettyxml': lambda text: minidom.parseString(text).toprettyxml(indent='\t'),
    'line ends': lambda text: text.replace('\n', '\r\n'),
    'end': lambda text: text.rstrip(),
    'comment': lambda text: text.replace('/here/', '/there/it-is/'),
    'mesh': lambda text: text.replace('a > b', 'package://c'),
    'hardware': lambda text: text.replace('<param name="p">1', '<param name="robot_ip">2'),
    'namespace': lambda text: text.replace(' xmlns:xacro="x"', ''),
    'no instruction': lambda text: text.partition('\n')[2],
}


def test_the_canonical_text():
    assert canonical_text(URDF) == CANONICAL


@pytest.mark.parametrize('change', HARMLESS)
def test_it_does_not_depend_on_what_no_model_reads(change):
    changed = HARMLESS[change](URDF)
    assert changed != URDF
    assert description_hash(changed) == description_hash(URDF)


@pytest.mark.parametrize(
    'change',
    [
        ('version="1.1"', 'version="1.2"'),
        ('0\t0', '0 0.5'),
        ('"2"', '"2.5"'),
        ('revolute', 'continuous'),
        ('<child link="tip"', '<child link="base"'),
        ('<link name="tip"/>', '<link name="tip"><inertial/></link>'),
        ('<link name="tip"/>', ''),
    ],
)
def test_it_depends_on_what_models_read(change):
    changed = URDF.replace(*change)
    assert changed != URDF
    assert description_hash(changed) != description_hash(URDF)


@pytest.mark.parametrize('name', ['panda', 'gripper_tree'])
def test_it_depends_on_each_attribute_of_links_inertials_and_joints_alone(name):
    document = minidom.parse(str(urdf_path(name)))
    expected = description_hash(document.toxml())
    kept = 0
    for element in document.getElementsByTagName('*')[1:]:
        path = [element.tagName]
        above = element.parentNode
        while above is not document.documentElement:
            path.insert(0, above.tagName)
            above = above.parentNode
        for key, value in element.attributes.items():
            element.setAttribute(key, f'{value}0')
            is_kept = path[0] == 'joint' or path[:2] in (['link'], ['link', 'inertial'])
            assert (description_hash(document.toxml()) != expected) == is_kept, (path, key)
            element.setAttribute(key, value)
            kept += is_kept
    assert kept > 100
