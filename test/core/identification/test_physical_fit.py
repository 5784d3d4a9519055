# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The fit of bodies that can exist: derivatives by differences, columns that are chosen."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.identification import physical_fit
from screw_dynamics_ros.core.identification.physical_fit import (
    _PhysicalProblem,
    fit_bodies,
)
from screw_dynamics_ros.core.identification.recording import KnownLoad
from screw_dynamics_ros.core.identification.unknowns import (
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


@pytest.fixture(scope='module')
def pendulum():
    """Return unknowns, deviations, and information on all parameters of a double pendulum."""
    unknowns = Unknowns(Robot.from_urdf('urdf/planar_2r.urdf'), EffortModel())
    L = unknowns.deviations(*np.ones((3, 2)))
    A = np.random.default_rng(2).normal(size=(60, len(unknowns.names)))
    return unknowns, L, A


def test_bodies_inside_of_what_is_possible_are_those_of_least_squares(pendulum):
    """With the prior; what is hardly there, of armature and friction, is zero."""
    unknowns, L, A = pendulum
    none = [k for k, name in enumerate(unknowns.names) if name.endswith(('armature', 'damping'))]
    kept = np.setdiff1d(np.arange(len(unknowns.names)), none)
    theta = unknowns.nominal.copy()
    theta[[k for k in kept if unknowns.names[k].endswith('coulomb')]] = 0.4
    information = 1e3 * A, 1e3 * A @ theta
    found, converged = fit_bodies(unknowns, np.eye(len(theta)), information, L)
    assert converged
    stacked = np.concatenate([information[0] @ L, np.eye(len(theta))])
    z = np.concatenate([information[1] - information[0] @ unknowns.nominal, np.zeros(len(theta))])
    expected = unknowns.nominal + L @ np.linalg.lstsq(stacked, z, rcond=None)[0]
    np.testing.assert_allclose(found[kept], expected[kept], atol=1e-5)
    assert found[none].tolist() == [0.0] * len(none)


def test_iterations_that_do_not_converge_are_told(pendulum, monkeypatch):
    unknowns, L, A = pendulum
    information = 1e3 * A, 1e3 * A @ unknowns.nominal
    monkeypatch.setattr(physical_fit, 'MAX_NEWTON_STEPS', 2)
    assert not fit_bodies(unknowns, np.eye(A.shape[1]), information, L)[1]


def test_bodies_without_inertia_end_the_iteration(pendulum):
    """Their barrier has no derivatives: they are at the border of what is possible."""
    unknowns, L, A = pendulum
    problem = _PhysicalProblem(unknowns, A, A @ unknowns.nominal, L)
    problem.nominal, y = problem.nominal.copy(), problem.start.copy()
    problem.nominal[problem.rows[0]] = y[problem.rows[0]] = 0.0
    assert problem.value(y, 1.0) == np.inf
    assert problem.minimum(y, 1.0) == (y, False)


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
