# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A small mechanism for docstrings, the documentation and the tests."""

from __future__ import annotations

import numpy as np

from ...description.body_inertia import Inertia
from ...description.robot_description import Joint, Limits, Link, RobotDescription
from ...lie import se3
from ...robot.robot import Robot
from ..absolute_coordinates.bodies import ConstraintJoint, frame
from ..absolute_coordinates.lower_pairs import REVOLUTE
from .closed_robot import ClosedRobot
from .loop_closures import LoopClosures

UNLIMITED = Limits(-np.inf, np.inf, np.inf, np.inf)


def bar(length: float) -> Inertia:
    """Return a rod along x with 1 kg/m and some thickness."""
    moments = length * np.array([0.01, length**2 / 12 + 0.01, length**2 / 12 + 0.01])
    return Inertia(length, np.array([length / 2, 0.0, 0.0]), np.diag(moments))


def golden_four_bar(backend: str = 'reference') -> ClosedRobot:
    """Return the linkage of golden case 8.6: ground 4, crank 1, coupler 3.5, rocker 3 [m].

    It moves in the plane of x and y, with gravity along -y. The loop is cut at the end of the
    coupler; the joint of the rocker is at (4, 0).
    """
    lengths = {'crank': 1.0, 'coupler': 3.5, 'rocker': 3.0}
    places = {
        'crank': ('ground_link', 0.0),
        'coupler': ('crank', 1.0),
        'rocker': ('ground_link', 4.0),
    }
    joints = [
        Joint(
            f'{link}_joint',
            'continuous',
            parent,
            link,
            se3.pose(np.eye(3), [x, 0.0, 0.0]),
            np.array([0.0, 0.0, 1.0]),
            UNLIMITED,
        )
        for link, (parent, x) in places.items()
    ]
    links = [Link('ground_link'), *(Link(name, bar(length)) for name, length in lengths.items())]
    robot = Robot(
        RobotDescription.from_parts('four_bar', links, joints),
        gravity=(0.0, -9.81, 0.0),
        backend=backend,
    )
    pin = ConstraintJoint(
        'pin', REVOLUTE, 'rocker', 'coupler', frame([3, 0, 0]), frame([3.5, 0, 0])
    )
    positions = {'crank_joint': np.pi / 3, 'coupler_joint': -0.5, 'rocker_joint': 1.8}
    return ClosedRobot(robot, LoopClosures([pin], ['crank_joint'], positions=positions))
