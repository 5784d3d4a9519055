# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files beside the modules are found in a clone, and in the layouts that pip and colcon make."""

import shutil
from pathlib import Path

import pytest

from screw_dynamics_ros.core import UnknownNameError, bundled_urdf
from screw_dynamics_ros.share import share_folder
from support.paths import ROOT

NAME = 'screw_dynamics_ros'


def test_a_clone_is_its_own_share_folder():
    assert share_folder(ROOT / NAME) == ROOT


@pytest.mark.parametrize(
    'modules',
    [
        'lib/python3.12/site-packages',
        'Lib/site-packages',
        'local/lib/python3.10/dist-packages',
        '.',
    ],
)
def test_an_installation_has_a_share_folder(tmp_path, modules):
    share = tmp_path / 'share' / NAME
    share.mkdir(parents=True)
    shutil.copy(ROOT / 'package.xml', share)
    assert share_folder(tmp_path / modules / NAME) == share


def test_modules_without_share_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match='install the package with pip or colcon'):
        share_folder(tmp_path / NAME)


@pytest.mark.parametrize('name', ['panda', 'planar_2r', 'gripper_tree', 'excavator'])
def test_bundled_robots_are_found_by_name(name):
    path = bundled_urdf(name)
    assert isinstance(path, Path)
    assert path.is_file()
    assert path.stem == name


@pytest.mark.parametrize('name', ['pandas', '../urdf/panda', ''])
def test_unknown_robots_are_named_with_those_that_exist(name):
    with pytest.raises(UnknownNameError, match=r"bundled robot '.*'; use delta_gripper, .*panda"):
        bundled_urdf(name)
