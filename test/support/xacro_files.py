# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Xacro files: a robot in two files, with arguments, a macro and an expression; and others."""

from importlib.util import find_spec

import pytest

from screw_dynamics_ros.ros.description_file import read_description
from screw_dynamics_ros.ros.xacro_expansion import ExpansionError

#: Not `importorskip`: importing xacro changes how minidom writes XML.
needs_xacro = pytest.mark.skipif(find_spec('xacro') is None, reason='needs xacro')

ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="prefix" default=""/>
  <xacro:include filename="links.xacro"/>
  <xacro:property name="length" value="${0.5 + 0.25}"/>
  <xacro:body name="base"/>
  <xacro:body name="upper"/>
  <joint name="$(arg prefix)turn" type="continuous">
    <parent link="$(arg prefix)base"/><child link="$(arg prefix)upper"/>
    <origin xyz="0 0 ${length}"/><axis xyz="0 0 1"/>
    <limit effort="9" velocity="9"/>
  </joint>
</robot>
"""
LINKS = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="mass" default="2"/>
  <xacro:macro name="body" params="name">
    <link name="$(arg prefix)${name}"><inertial><mass value="$(arg mass)"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  </xacro:macro>
</robot>
"""


def write_xacro(folder):
    """Write the files; return the path of the robot."""
    (folder / 'links.xacro').write_text(LINKS)
    path = folder / 'arm.urdf.xacro'
    path.write_text(ARM)
    return path


NAMESPACE = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'


def robot_file(path, elements, attributes='name="r"'):
    """Write a xacro file with elements in a <robot>; return its path."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'<robot {attributes} {NAMESPACE}>\n{elements}\n</robot>')
    return path


def refusal(path, arguments=()):
    """Return the text of the error that a file raises."""
    with pytest.raises(ExpansionError) as error:
        read_description(path, dict(arguments))
    return str(error.value)
