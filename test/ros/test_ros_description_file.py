"""Descriptions in files: by path and package, URDF and xacro, with arguments."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.dom import minidom

import pytest

pytest.importorskip('ament_index_python')

from screw_dynamics_ros.core import ArgumentError, DescriptionError
from screw_dynamics_ros.core.description.urdf import read_urdf
from screw_dynamics_ros.ros import description_file
from screw_dynamics_ros.ros.description_file import assignments, located, read_description
from support.robots import urdf_path
from support.xacro_files import write_xacro

needs_xacro = pytest.mark.skipif(
    pytest.importorskip('importlib.util').find_spec('xacro') is None, reason='needs xacro'
)


def test_places(monkeypatch):
    monkeypatch.setattr(
        description_file, 'get_package_share_directory', lambda package: f'/opt/share/{package}'
    )
    monkeypatch.setenv('HOME', '/tmp/me')
    assert located('package://robot/urdf/a.urdf') == Path('/opt/share/robot/urdf/a.urdf')
    assert located('file:///tmp/a.urdf') == Path('/tmp/a.urdf')
    assert located('~/a.urdf') == Path('/tmp/me/a.urdf')
    assert located('a.urdf') == Path('a.urdf')


@pytest.mark.parametrize('package', ['no_such_package', '', 'not a name', '..'])
def test_packages_that_are_not_there(package):
    with pytest.raises(ArgumentError, match='there is no package'):
        located(f'package://{package}/a.urdf')


@pytest.mark.parametrize(
    ('words', 'reason'),
    [
        ('prefix', "'prefix' assigns nothing; write name:=value"),
        (':=left', "':=left' assigns nothing"),
        ('prefix:=a prefix:=b', 'prefix is given twice'),
        ('prefix:="a', 'no closing quotation'),
    ],
)
def test_words_that_assign_nothing(words, reason):
    with pytest.raises(ArgumentError, match=reason):
        assignments(words)


def test_empty_values_are_values():
    assert assignments('prefix:= mass:=3') == {'prefix': '', 'mass': '3'}
    assert assignments('  ') == {}


def test_urdf_is_read_as_it_is():
    assert read_description(urdf_path('panda'), {}) == urdf_path('panda').read_text()


@pytest.mark.parametrize(
    ('content', 'error', 'reason'),
    [
        (b'\xff\xfe', ArgumentError, 'not UTF-8'),
        (b'', DescriptionError, None),
        (b'<robot name="r"/>', DescriptionError, 'links'),
        (b'<sdf version="1.9"/>', DescriptionError, None),
    ],
)
def test_files_that_describe_no_robot(content, error, reason, tmp_path):
    path = tmp_path / 'robot.urdf'
    path.write_bytes(content)
    with pytest.raises(error, match=reason):
        read_description(path, {})


# --- xacro --------------------------------------------------------------------------------------


@needs_xacro
def test_xacro_is_expanded(tmp_path):
    """With files that it includes, its defaults and its expressions."""
    path = write_xacro(tmp_path)
    robot = read_urdf(read_description(path, {}))
    assert robot.root == 'base'
    assert robot.joints[0].origin[2, 3] == 0.75
    robot = read_urdf(read_description(path, {'prefix': 'left_', 'mass': '7'}))
    assert robot.root == 'left_base'
    assert robot.links[0].inertia.mass == 7.0
    other = tmp_path / 'arm.urdf'  # told by what is in it
    other.write_text(path.read_text())
    assert read_urdf(read_description(other, {'prefix': 'a_'})).root == 'a_base'


@needs_xacro
def test_xacro_does_not_change_how_others_write_xml(tmp_path):
    text = '<robot name="r">\n<link name="b"/>\n</robot>'
    read_description(write_xacro(tmp_path), {})
    assert minidom.parseString(text).documentElement.toxml() == text


@needs_xacro
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


@needs_xacro
@pytest.mark.parametrize(
    'content',
    [
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:nothing/></robot>',
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="${1/0}"/></robot>',
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:include filename="nowhere.xacro"/></robot>',
        '<robot name="$(arg not_given)" xmlns:xacro="http://www.ros.org/wiki/xacro"/>',
        '<robot',
        '',
    ],
)
def test_xacro_that_cannot_be_expanded(content, tmp_path):
    path = tmp_path / 'robot.xacro'
    path.write_text(content)
    with pytest.raises(ArgumentError, match=r'xacro cannot expand it: .+') as refusal:
        read_description(path, {})
    assert '\n' not in str(refusal.value)


def test_xacro_that_is_not_installed_is_told(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, 'xacro', None)
    monkeypatch.setenv('ROS_DISTRO', 'jazzy')
    with pytest.raises(ArgumentError, match='not installed; install the package ros-jazzy-xacro'):
        read_description(write_xacro(tmp_path), {})
