# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""MuJoCo as oracle: armature, damping, mass matrix, inverse and forward dynamics, to 1e-9.

An arm, trees, and robots with a floating base. MuJoCo's URDF reader knows no mimic joints. Friction
is left out but for viscous friction, contacts and limits are switched off.

Spec IDs: C-054, D-27, D-37 and D-38.
"""

from __future__ import annotations

import numpy as np
import pytest

from oracles.mujoco_model import MuJoCo
from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.description import RobotDescription, read_urdf
from support.models import random_configuration, random_description, without_mimic
from support.robots import urdf_path

GRAVITY = (0.3, -0.2, -9.0)
TOLERANCE = 1e-9


def close(actual: np.ndarray, expected: np.ndarray) -> None:
    """Assert a relative error of the norm below `TOLERANCE`."""
    assert np.shape(actual) == np.shape(expected)
    error = np.linalg.norm(np.subtract(actual, expected))
    assert error <= TOLERANCE * max(np.linalg.norm(expected), 1e-3)


def compare(description: RobotDescription, floating: bool, driven: bool, seed: int) -> None:
    """Compare at a random state, with random armatures and damping if `driven`."""
    rng = np.random.default_rng(seed)
    drives = {
        joint.name: Drive(armature=float(rng.uniform(0, 0.5)), damping=float(rng.uniform(0, 1)))
        for joint in description.joints
        if joint.type != 'fixed'
    }
    if not driven:
        drives = {name: Drive() for name in drives}
    robot = Robot(
        description, floating_base=floating, gravity=GRAVITY, drives=drives, backend='reference'
    )
    oracle, q = MuJoCo(robot), random_configuration(robot, rng)
    v, a, tau = rng.uniform(-1.0, 1.0, (3, robot.nv))
    close(robot.mass_matrix(q), oracle.mass_matrix(q))
    close(robot.inverse_dynamics(q, v, a), oracle.inverse_dynamics(q, v, a))
    actual = robot.forward_dynamics(q, v, tau)
    close(actual, oracle.forward_dynamics(q, v, tau))
    bare = Robot(description, floating_base=floating, gravity=GRAVITY, backend='reference')
    assert (np.abs(bare.forward_dynamics(q, v, tau) - actual).max() > 0.01) == driven


@pytest.mark.parametrize('driven', [False, True], ids=['free', 'driven'])
@pytest.mark.parametrize('floating', [False, True], ids=['fixed', 'floating'])
@pytest.mark.parametrize('seed', range(2))
def test_random_trees(seed, floating, driven):
    compare(random_description(seed, 8, ('revolute', 'prismatic')), floating, driven, seed)


@pytest.mark.parametrize('driven', [False, True], ids=['free', 'driven'])
@pytest.mark.parametrize('floating', [False, True], ids=['fixed', 'floating'])
@pytest.mark.parametrize('name', ['panda_description/urdf/panda', 'solo12', 'tiago_pro'])
def test_robots(name, floating, driven):
    """An arm, a quadruped, a mobile robot with two arms."""
    compare(without_mimic(read_urdf(urdf_path(name))), floating, driven, 1)
