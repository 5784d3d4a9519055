# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Draw doc/pictures/redundancy.png: criteria along the self-motion of a 7R arm.

python benchmarks/redundancy_picture.py --picture doc/pictures/redundancy.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use('Agg')

import matplotlib.pyplot as plt

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.arms.inverse.redundancy import Cost
from screw_dynamics_ros.core.textbook.redundancy.dexterity import (
    Manipulability,
    SingularityDistance,
)
from screw_dynamics_ros.core.textbook.redundancy.joint_springs import LimitCentering
from screw_dynamics_ros.core.textbook.redundancy.obstacles import Capsule, ObstacleRepulsion
from screw_dynamics_ros.core.textbook.redundancy.torque import HoldingTorque

ROOT = Path(__file__).resolve().parents[1]
TOOL = 'panda_hand_tcp'
START = np.array([0.9, 0.7, -1.2, -1.6, 0.6, 2.0, 0.8, 0.02])
STEP = 0.02  # rad of self-motion between two points of a curve
LENGTH = 0.3  # m that 1 rad counts as

#: Of each panel: the criterion, what its value means, and what is drawn of the value.
PANELS = [
    (LimitCentering(), 'limit centering $H$', lambda H: H),
    (Manipulability(TOOL, length=LENGTH), 'manipulability [m$^3$]', lambda H: np.exp(-H)),
    (
        SingularityDistance(TOOL, length=LENGTH, threshold=0.2),
        r'smallest singular value [m]',
        lambda H: 0.2 * (1.0 - np.sqrt(2.0 * H)),
    ),
    (HoldingTorque(), 'holding torque, part of limits', lambda H: np.sqrt(2.0 * H)),
    (
        ObstacleRepulsion(
            [Capsule.sphere([0, 0, 0], 0.08, 'panda_link4')],
            [Capsule.sphere([0.1, -0.35, 0.75], 0.1)],
            margin=0.5,
            stiffness=1.0,
        ),
        'distance elbow to obstacle [m]',
        lambda H: 0.5 - np.sqrt(2.0 * H),
    ),
]


def held(robot: Robot, q: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the configuration nearest to q with the tool at the target."""
    return robot.inverse_kinematics(target, TOOL, q, respect_limits=False, restarts=0).q


def null_direction(robot: Robot, q: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return the unit self-motion of the arm, the finger at rest, along `before`."""
    J = robot.jacobian(q, TOOL)[:, :7]
    direction = np.append(np.linalg.svd(J)[2][6], 0.0)
    return direction * np.sign(direction @ before)


def self_motion(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Return arc lengths and configurations within the limits, through START."""
    target, sides = robot.link_pose(START, TOOL), []
    for sign in (-1.0, 1.0):
        q, before, side = START, sign * np.eye(8)[0], []
        while ((robot.limits.lower <= q) & (q <= robot.limits.upper)).all():
            side.append(q)
            before = null_direction(robot, q, before)
            q = held(robot, q + STEP * before, target)
        sides.append(side)
    path = np.array(sides[0][:0:-1] + sides[1])
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    return lengths - lengths[len(sides[0]) - 1], path


def descent(robot: Robot, cost: Cost, path: np.ndarray) -> np.ndarray:
    """Return the configurations that steepest descent visits from START."""
    target, visited, size = robot.link_pose(START, TOOL), [START], 0.05
    while size > 1e-3:
        q = visited[-1]
        result = robot.resolve_redundancy(q, np.zeros(6), TOOL, [cost])
        rates = np.append(result.v[:7], 0.0)
        fastest = np.linalg.norm(rates)
        ahead = held(robot, q + rates * size / max(fastest, 1e-12), target)
        inside = ((robot.limits.lower <= ahead) & (ahead <= robot.limits.upper)).all()
        if fastest < 1e-9 or not inside or cost.value(robot, ahead) >= cost.value(robot, q):
            size *= 0.5
        else:
            visited.append(ahead)
    return np.array(visited)


def draw(picture: Path) -> None:
    """Compute everything and write the picture."""
    robot = Robot.from_urdf(ROOT / 'urdf' / 'panda.urdf')
    lengths, path = self_motion(robot)
    figure, axes = plt.subplots(1, len(PANELS), figsize=(15, 3.1), layout='constrained')
    for axis, (cost, label, shown) in zip(axes, PANELS):
        values = np.array([cost.value(robot, q) for q in path])
        axis.plot(lengths, shown(values), color='#2a6f97')
        visited = descent(robot, cost, path)
        nearest = [int(np.argmin(np.linalg.norm(path - q, axis=1))) for q in visited]
        axis.plot(lengths[nearest], shown(values[nearest]), color='#c1663a', lw=3, alpha=0.6)
        for index, marker in ((nearest[0], 'o'), (nearest[-1], 's')):
            axis.plot(lengths[index], shown(values[index]), marker, color='#c1663a')
        axis.set_title(label, fontsize=10)
        axis.set_xlabel('self-motion [rad]')
        axis.grid(alpha=0.3)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=70, pil_kwargs={'optimize': True})
    plt.close(figure)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--picture', type=Path, default=ROOT / 'results' / 'redundancy.png')
    draw(parser.parse_args().picture)
