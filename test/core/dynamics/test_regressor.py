# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Regressor and base parameters: recovered torques, other parameters.

`test_pinocchio.py` has the regressor of all robots.

Spec IDs: D-43, C-067.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.dynamics.regressor import base_parameters
from support.compilation import ALL_CASES, CASES, build, close, states
from support.models import random_inertia
from support.robots import robot as urdf
from support.robots import urdf_path


@pytest.mark.parametrize(
    ('case', 'backend'),
    [*((case, 'reference') for case in CASES), ('planar, floating', 'python')],
)
def test_torques_are_linear_in_the_parameters(case, backend):
    """D-43: for inertias other than those the regressor was compiled with."""
    robot = build(case, backend)
    q, v, a = (x[0] for x in states(robot, 1).values())
    Y = robot.regressor(q, v, a)
    assert Y.shape == (robot.nv, 10 * len(robot.link_names))
    close(Y @ robot.inertial_parameters, robot.inverse_dynamics(q, v, a), 1e-11)
    rng = np.random.default_rng(7)
    other = Robot(
        replace(
            robot.description,
            links=tuple(
                replace(link, inertia=random_inertia(rng)) for link in robot.description.links
            ),
        ),
        floating_base=robot.nq > robot.nv and case == 'planar, floating',
        backend='reference',
    )
    assert not np.array_equal(other.inertial_parameters, robot.inertial_parameters)
    close(Y @ other.inertial_parameters, other.inverse_dynamics(q, v, a), 1e-11)


def test_parameters_of_a_link():
    """m, m c, and the inertia about the origin: parallel axes by hand."""
    text = urdf(
        '<link name="a"/>'
        '<link name="b"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/><inertia ixx="1" '
        'ixy="0.1" ixz="0.2" iyy="1.1" iyz="0.3" izz="1.2"/></inertial></link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
    )
    robot = Robot.from_urdf(text, backend='reference')
    expected = [2, 0.2, 0.4, 0.6, 1.26, 0.06, 1.3, 0.14, 0.18, 1.3]
    close(robot.inertial_parameters, np.array([0.0] * 10 + expected), 1e-14)


@ALL_CASES
def test_base_parameters(case):
    """D-43: a minimal set, which gives all torques; grouping holds for motions not seen before."""
    robot = build(case, 'reference' if case == 'tree' else 'python')
    found = robot.base_parameters()
    q, v, a = states(robot, 40, seed=3).values()
    Y = robot.regressor(q, v, a).reshape(40 * robot.nv, -1)
    assert np.linalg.matrix_rank(Y, 1e-9 * np.linalg.norm(Y)) == len(found.columns)
    close(Y[:, found.columns] @ found.grouping, Y, 1e-8)
    tau = robot.inverse_dynamics(q, v, a).ravel()
    values = found.grouping @ robot.inertial_parameters
    close(Y[:, found.columns] @ values, tau, 1e-8)
    identified = np.linalg.lstsq(Y[:, found.columns], tau, rcond=None)[0]
    close(identified, values, 1e-6)
    assert len(set(found.names)) == len(found.columns)


def test_base_parameters_of_an_arm_in_the_plane():
    """Two parallel axes normal to gravity: the textbook's five."""
    robot = Robot.from_urdf(urdf_path('planar_2r'), gravity=(0, -9.81, 0), backend='reference')
    found = robot.base_parameters()
    links = robot.link_names
    first, second = links[1], links[2]
    assert found.names == (
        f'{first}/mx',
        f'{first}/my',
        f'{first}/Izz',
        f'{second}/mx',
        f'{second}/my',
        f'{second}/Izz',
    )
    grouping = dict(zip(found.names, found.grouping))
    column = 10 * links.index(second)
    close(grouping[f'{first}/mx'][column], 1.0, 1e-9)  # m l1 of the second link
    close(grouping[f'{first}/Izz'][column], 1.0, 1e-9)  # m l1^2
    close(grouping[f'{second}/Izz'][column + 9], 1.0, 1e-9)


def test_too_few_samples():
    robot = build('tree', 'reference')
    with pytest.raises(ArgumentError, match='more samples'):
        robot.base_parameters(samples=2)
    found = base_parameters(np.zeros((10, 10)), ('link',))
    assert found.names == ()
    assert found.grouping.shape == (0, 10)
