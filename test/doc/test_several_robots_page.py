# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The page about several robots: its xacro file, and gravity of arms that are mounted sideways."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('yaml')
pytest.importorskip('pinocchio')

import yaml

from oracles.pinocchio_model import Pinocchio
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.ros.description_file import read_description
from support.paths import DOC
from support.xacro_files import needs_xacro

PAGE = (DOC / 'how_to' / 'several_robots.md').read_text(encoding='utf-8')


def block(language: str) -> str:
    """Return the one block of a language on the page."""
    (text,) = re.findall(rf'^```{language}\n(.*?)^```', PAGE, re.MULTILINE | re.DOTALL)
    return text


@needs_xacro
def test_gravity_of_each_arm_is_that_of_its_mount(tmp_path: Path):
    """By Pinocchio's pose of the root link of each arm in the torso."""
    file = tmp_path / 'two_arms.urdf.xacro'
    file.write_text(block('xml'), encoding='utf-8')
    text = read_description(file, {}, '')
    robot = Robot.from_urdf(text, backend='reference')
    assert set(robot.joint_names) == {'left_shoulder', 'right_shoulder'}
    poses = dict(zip(robot.link_names, Pinocchio(text, robot).link_poses(np.zeros(2))))
    sections = yaml.safe_load(block('yaml'))
    for side in ('left', 'right'):
        given = sections[f'/{side}/bringup']['ros__parameters']
        R = poses[f'{side}_base'][:3, :3]
        np.testing.assert_allclose(given['gravity'], R.T @ [0.0, 0.0, -9.81], atol=1e-12)
        assert given['frame_prefix'] == f'{side}/'
