# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The fit of bodies that can exist: derivatives by differences, columns that are chosen."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.measurement.identification.dynamics.physical_fit import (
    _PhysicalProblem,
)
from screw_dynamics_ros.core.measurement.identification.dynamics.recording import KnownLoad
from screw_dynamics_ros.core.measurement.identification.dynamics.unknowns import (
    EffortModel,
    Unknowns,
)
from support.robots import urdf_path


@pytest.fixture(scope='module')
def unknowns():
    robot = Robot.from_urdf(urdf_path('ur_description/urdf/ur5_robot'))
    return Unknowns(robot, EffortModel(stribeck_speed=0.1), KnownLoad('tool0', 2.0))


def test_derivatives_are_those_of_the_function(unknowns):
    rng = np.random.default_rng(0)
    n, P = unknowns.robot.nv, len(unknowns.names)
    L = unknowns.deviations(*rng.uniform(1.0, 2.0, (3, n)))
    problem = _PhysicalProblem(unknowns, rng.normal(size=(5, P)), rng.normal(size=5), L)
    y, mu, step = problem.start, 0.7, 1e-6
    gradient, hessian = problem.derivatives(y, mu)
    for d in rng.normal(size=(4, P)) * 0.1:
        low, high = y - step * d, y + step * d
        slope = (problem.value(high, mu) - problem.value(low, mu)) / (2 * step)
        assert slope == pytest.approx(gradient @ d, rel=1e-5)
        change = (problem.derivatives(high, mu)[0] - problem.derivatives(low, mu)[0]) / (2 * step)
        assert np.allclose(change, hessian @ d, rtol=1e-5, atol=1e-5 * np.abs(hessian @ d).max())


@pytest.mark.parametrize('loaded', [False, True])
def test_columns_are_linear_in_bodies_and_drives(unknowns, loaded):
    """Torques of bodies by inverse dynamics, those of drives joint by joint."""
    robot = unknowns.robot
    rng = np.random.default_rng(1)
    q, v, a = rng.normal(size=(3, 4, robot.nv))
    chosen = np.sort(rng.permutation(len(unknowns.names))[:40])
    W = unknowns.columns(unknowns.motion(q, v, a), loaded, chosen)
    names = [unknowns.names[k] for k in chosen]
    links = robot.link_names
    for column, name in zip(np.moveaxis(W, 2, 0), names):
        owner, kind = name.split('/')
        expected = np.zeros((4, robot.nv))
        if owner in robot.joint_names:
            i = robot.joint_names.index(owner)
            sign = v[:, i] / np.hypot(v[:, i], 0.01)
            expected[:, i] = {
                'armature': a[:, i],
                'damping': v[:, i],
                'coulomb': sign,
                'stribeck': sign / (1.0 + (v[:, i] / 0.1) ** 2),
                'offset': -np.ones(4),
            }[kind]
        elif owner != 'load' or (loaded and kind != 'm'):
            unit = np.zeros(10 * len(links))
            link = 'tool0' if owner == 'load' else owner
            places = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')
            unit[10 * links.index(link) + places.index(kind)] = 1.0
            expected = robot.regressor(q, v, a) @ unit
        assert np.allclose(column, expected, atol=1e-12), name
