# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What is compared: robots that can be, programs that are installed, defaults."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.comparison import programs
from screw_dynamics_ros.comparison.peer import ModelSource, is_regular
from screw_dynamics_ros.core.description import Joint, Link, RobotDescription
from screw_dynamics_ros.core.errors import UnknownNameError, UnsupportedRobotError
from support.models import random_description, to_urdf

GRAVITY = np.array([0.0, 0.0, -9.81])


def one_joint(kind: str) -> RobotDescription:
    joint = Joint('j', kind, 'a', 'b', np.eye(4), np.array([0.0, 0.0, 1.0]),
                  pitch=0.1 if kind == 'helical' else 0.0)  # fmt: skip
    return RobotDescription.from_parts('r', [Link('a'), Link('b')], [joint])


@pytest.mark.parametrize(
    ('kind', 'reason'),
    [
        ('helical', 'joint j is helical, which the programs do not read from a URDF'),
        ('ball', 'joint j is ball, which the programs do not read from a URDF'),
        ('floating', 'joint j is floating; the programs have different coordinates'),
        ('planar', 'joint j is planar; the programs have different coordinates'),
        ('fixed', 'no joint of this robot moves'),
    ],
)
def test_robots_that_cannot_be_compared(kind, reason):
    with pytest.raises(UnsupportedRobotError, match=reason):
        programs.check(one_joint(kind), '')


@pytest.mark.parametrize('kind', ['revolute', 'continuous', 'prismatic'])
def test_robots_that_can_be_compared(kind):
    for tip in ('', 'a', 'b'):
        programs.check(one_joint(kind), tip)
    with pytest.raises(UnknownNameError, match='tip: there is no link c; links: a, b'):
        programs.check(one_joint(kind), 'c')


@pytest.mark.parametrize(
    ('name', 'module', 'command'),
    [
        ('mujoco', 'mujoco', 'pip install mujoco'),
        ('pinocchio', 'pinocchio', 'pip install pin'),
        ('kdl', 'PyKDL', 'apt install python3-pykdl'),
    ],
)
def test_programs_that_are_not_installed(name, module, command, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    description = one_joint('revolute')
    source = ModelSource(to_urdf(description), description, description, GRAVITY)
    found = programs.outcome(name, source, 2, 0, 1e-6)
    assert found.name == programs.NAMES[name]
    assert found.comparison is None
    assert found.refusal == f'is not installed ({command})'


def test_an_outcome_has_its_tolerance_and_the_notes_of_the_program():
    pinocchio = pytest.importorskip('pinocchio')
    description = random_description(3, 3, chain=True)
    description = replace(
        description, joints=tuple(replace(each, damping=0.5) for each in description.joints)
    )
    text = to_urdf(description)  # without the friction
    source = ModelSource(text, description, description, GRAVITY)
    found = programs.outcome('pinocchio', source, 3, 1, 1e-4)
    assert (found.name, found.version) == ('Pinocchio', pinocchio.__version__)
    assert found.comparison.tolerance == 1e-4
    assert not found.comparison.agrees
    given = programs.outcome('pinocchio', replace(source, drives_are_given=True), 3, 1, 1e-4)
    assert given.comparison.agrees
    assert given.notes[0] == 'uses the current armatures and viscous friction'
    other = programs.outcome('pinocchio', source, 3, 2, 1e-4)
    assert found.comparison.differences != other.comparison.differences


def test_documented_defaults():
    assert (programs.TOLERANCE, programs.STATES) == (1e-6, 20)


@pytest.mark.parametrize(
    ('M', 'expected'),
    [
        (np.eye(2), True),
        (np.zeros((0, 0)), True),
        (np.diag([1.0, 1e-14]), True),
        (np.diag([1.0, 1e-16]), False),
        (np.zeros((2, 2)), False),
        (np.diag([1.0, np.nan]), False),
        (np.diag([1.0, np.inf]), False),
    ],
)
def test_regular_mass_matrices(M, expected):
    assert is_regular(M) is expected
