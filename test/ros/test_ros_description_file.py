# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Descriptions in files: by path and package, and words that assign arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip('ament_index_python')

from ament_index_python import packages

from screw_dynamics_ros.core import ArgumentError, DescriptionError
from screw_dynamics_ros.ros.description_file import assignments, located, read_description
from support.robots import urdf_path


def test_places(monkeypatch):
    monkeypatch.setattr(
        packages, 'get_package_share_directory', lambda package: f'/opt/share/{package}'
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


def test_only_xacro_files_have_arguments():
    with pytest.raises(ArgumentError, match='not a xacro file, so it has no arguments prefix, m'):
        read_description(urdf_path('panda'), {'prefix': 'left_', 'm': '3'})


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
