# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Xacro files: expanded; errors with macros and files; files that describe no robot."""

from __future__ import annotations

import re
import subprocess
import sys
from xml.dom import minidom

import pytest

from screw_dynamics_ros.core import ArgumentError, DescriptionError
from screw_dynamics_ros.core.description.urdf import read_urdf
from screw_dynamics_ros.ros.description_file import read_description
from screw_dynamics_ros.ros.xacro_expansion import ExpansionError
from support.xacro_files import needs_xacro, refusal, robot_file, write_xacro

pytestmark = needs_xacro


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file of a name, with elements in a <robot>."""
    return lambda name, *content, **options: robot_file(tmp_path / name, *content, **options)


def test_xacro_is_expanded(tmp_path):
    """With files that it includes, its defaults and its expressions."""
    path = write_xacro(tmp_path)
    robot = read_urdf(read_description(path, {}))
    assert robot.root == 'base'
    assert robot.joints[0].origin[2, 3] == 0.75
    robot = read_urdf(read_description(path, {'prefix': 'left_', 'mass': '7'}))
    assert robot.root == 'left_base'
    assert robot.links[0].inertia.mass == 7.0
    other = tmp_path / 'arm.urdf'  # recognized by its content
    other.write_text(path.read_text())
    assert read_urdf(read_description(other, {'prefix': 'a_'})).root == 'a_base'


def test_xacro_does_not_change_how_others_write_xml(tmp_path):
    text = '<robot name="r">\n<link name="b"/>\n</robot>'
    read_description(write_xacro(tmp_path), {})
    assert minidom.parseString(text).documentElement.toxml() == text


@pytest.mark.parametrize(
    ('arguments', 'reason'),
    [
        ({'prefixx': 'left_'}, 'it has no argument prefixx; did you mean prefix.*mass, prefix'),
        ({'color': 'red'}, 'it has no argument color; it has mass, prefix'),
        ({'mass': '-7'}, 'mass'),
    ],
)
def test_arguments_that_the_files_do_not_take(arguments, reason, tmp_path):
    with pytest.raises((ArgumentError, DescriptionError), match=reason):
        read_description(write_xacro(tmp_path), arguments)


@pytest.mark.parametrize(
    'content',
    [
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:nothing/></robot>',
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="${1/0}"/></robot>',
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:include filename="nowhere.xacro"/></robot>',
        '<robot',
        '',
    ],
)
def test_xacro_that_cannot_be_expanded(content, tmp_path):
    path = tmp_path / 'robot.xacro'
    path.write_text(content)
    with pytest.raises(ExpansionError, match=r'xacro cannot expand it: .+\nwhen processing file: '):
        read_description(path, {})


def test_xacro_that_is_not_installed_is_told(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, 'xacro', None)
    monkeypatch.setenv('ROS_DISTRO', 'jazzy')
    with pytest.raises(ArgumentError, match='not installed; install the package ros-jazzy-xacro'):
        read_description(write_xacro(tmp_path), {})


# --- where ---------------------------------------------------------------------------------------

INNER = """<xacro:macro name="inner" params="p"><link name="${p}_${q}"/></xacro:macro>
<xacro:macro name="outer"><xacro:inner p="a"/></xacro:macro>"""


@pytest.mark.parametrize(
    ('parts', 'elements', 'first'),
    [
        (
            INNER,
            '<xacro:include filename="parts.xacro"/><xacro:outer/>',
            'when instantiating macro',
        ),
        ('<link name="${q}"/>', '<xacro:include filename="parts.xacro"/>', 'when processing file'),
        ('<link>', '<xacro:include filename="parts.xacro"/>', 'when processing file'),
        (
            '<link name="$(arg other)"/>',
            '<link name="$(arg side)"/><xacro:include filename="parts.xacro"/>',
            'when processing file',
        ),
        (
            INNER.replace('${q}', '$(arg side)'),
            '<xacro:include filename="parts.xacro"/><xacro:outer/>',
            'when instantiating macro',
        ),
    ],
    ids=['macros', 'included', 'not XML', 'argument', 'argument in a macro'],
)
def test_errors_end_with_the_macros_and_files_that_xacro_prints(parts, elements, first, write):
    write('parts.xacro', parts)
    path = write('robot.xacro', elements)
    program = subprocess.run(
        [sys.executable, '-c', 'import xacro; xacro.main()', str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    chain = re.search(rf'^{first}: .*?(?=\n\n|\Z)', program.stderr, re.MULTILINE | re.DOTALL)
    assert f'{path}' in chain[0]
    assert refusal(path).endswith(f'\n{chain[0].rstrip()}')


def test_recursion_of_a_macro_is_one_line(write):
    path = write('r.xacro', '<xacro:macro name="a"><xacro:a/></xacro:macro><xacro:a/>')
    assert refusal(path).count('instantiated from: a') == 1


@pytest.mark.parametrize(
    ('elements', 'text'),
    [
        ('<xacro:include filename="no.xacro"/>', 'No such file or directory'),
        ('<link name="$(env NO_SUCH_NAME)"/>', "environment variable 'NO_SUCH_NAME' is not set"),
        ('<link name="${q}"/>', "name 'q' is not defined when evaluating expression 'q'"),
        ('<xacro:nothing/>', 'unknown macro name: xacro:nothing'),
    ],
)
def test_what_xacro_says_twice_is_said_once(elements, text, write):
    message = refusal(write('r.xacro', elements))
    assert message.count(text) == 1
    assert 'class' not in message


def test_warnings_are_printed_once(write, capsys):
    """With the lines that belong to them: two places, one of them twice."""
    parts = write('parts.xacro', '<xacro:arg name="a" default="1" color="red"/>')
    twice = '<xacro:include filename="parts.xacro"/>' * 2
    path = write('r.xacro', f'{twice}<xacro:arg name="b" default="1" color="red"/><link name="l"/>')
    read_description(path, {})
    warning = 'warning: xacro:arg: unknown attribute(s): color\nwhen processing file: '
    printed = capsys.readouterr().err
    assert printed == f'{warning}{parts}\nincluded from: {path}\n{warning}{path}\n'


# --- files that describe no robot ----------------------------------------------------------------


def test_files_of_macros_are_told(write):
    """Their own macros, or those that they include and never call."""
    macros = write(
        'macros.xacro',
        '<xacro:include filename="other.xacro"/><xacro:macro name="arm" params="p"/>'
        '<xacro:macro name="hand" params="p"/>',
        attributes='',
    )
    write('other.xacro', '<xacro:macro name="other"/>')
    expected = (
        'it describes no robot, it only defines macros: arm, hand; use a file that includes it '
        'and calls one of them: <xacro:arm .../>'
    )
    assert refusal(macros) == expected
    assert 'defines macros: other;' in refusal(
        write('r.xacro', '<xacro:include filename="other.xacro"/>')
    )


@pytest.mark.parametrize(
    'elements',
    [
        '<group name="arm"><link name="a"/></group>',
        '<xacro:macro name="arm"><disable_collisions link1="a" link2="b"/></xacro:macro>',
    ],
)
def test_semantic_descriptions_are_told(elements, write):
    with pytest.raises(DescriptionError, match=r'this is an SRDF .*give the URDF of its robot'):
        read_description(write('r.srdf.xacro', elements), {})
