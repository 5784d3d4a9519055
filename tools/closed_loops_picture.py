# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Draw doc/pictures/closed_loops.png: an excavator, a Delta, and the rates of a four-bar linkage.

PYTHONPATH=. .venv/bin/python tools/closed_loops_picture.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import yaml

mpl.use('Agg')
from matplotlib import pyplot as plt

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.mechanisms.closures import ClosedRobot, read_loop_closures
from screw_dynamics_ros.core.mechanisms.closures.example_loops import golden_four_bar

ROOT = Path(__file__).resolve().parents[1]
LOOPS = ROOT / 'urdf' / 'loops'
POSTURES = {'0.85': [0.0, 0.17, 0.3, 0.32], '0.25': [0.0, 0.3, 0.15, 0.1]}


def main() -> None:
    """Draw both."""
    closed = mechanism('excavator')
    figure = plt.figure(figsize=(12, 3.4), dpi=90, layout='constrained')
    places = figure.add_gridspec(1, 3, width_ratios=(1.3, 0.8, 1))
    left, right = figure.add_subplot(places[0]), figure.add_subplot(places[2])
    for shade, q in POSTURES.items():
        draw_mechanism(left, closed, closed.configuration(q), float(shade))
    left.set(aspect='equal', xlabel='x [m]', ylabel='z [m]')
    left.legend(loc='lower left', fontsize=8)
    draw_in_space(figure.add_subplot(places[1], projection='3d'), mechanism('delta_gripper'))
    draw_rates(right, golden_four_bar())
    figure.savefig(ROOT / 'doc' / 'pictures' / 'closed_loops.png')


def mechanism(name: str) -> ClosedRobot:
    """Return one of the examples."""
    robot = Robot.from_urdf(LOOPS / f'{name}.urdf', backend='reference')
    content = yaml.safe_load((LOOPS / f'{name}_closures.yaml').read_text())
    return ClosedRobot(robot, read_loop_closures(content))


def draw_in_space(place: plt.Axes, delta: ClosedRobot) -> None:
    """Draw arms, rods and the plate of the Delta."""
    whole = delta.configuration([0.5, 0.2, 0.2])
    points = dict(zip(delta.link_names, delta.robot.link_poses(whole)[:, :3, 3]))
    for k in '123':
        hip, elbow, wrist = (points[f'{link}_{k}'] for link in ('arm', 'rod', 'wrist'))
        place.plot(*np.array([hip, elbow]).T, color='tab:blue', lw=4)
        place.plot(*np.array([elbow, wrist]).T, color='black', lw=1.5)
        place.plot(*wrist, 'o', color='black' if k == '1' else 'tab:red', ms=5)
    for link, color in (('arm', 'gray'), ('wrist', 'black')):
        ring = np.array([points[f'{link}_{k}'] for k in '1231'])
        place.plot(*ring.T, color=color, lw=1)
    place.set(aspect='equal')
    place.tick_params(labelbottom=False, labelleft=False)
    place.view_init(elev=18, azim=-50)


def draw_mechanism(place: plt.Axes, closed: ClosedRobot, whole: np.ndarray, alpha: float) -> None:
    """Draw every link as lines from its origin to its joints, as seen along y."""
    description = closed.robot.description
    ends: dict[str, list[np.ndarray]] = {link.name: [] for link in description.links}
    moves: dict[str, bool] = {}
    for joint in description.joints:
        ends[joint.parent].append(joint.origin[:3, 3])
        moves[joint.child] = joint.name in closed.joint_names and joint.type == 'prismatic'
    for cut in closed.loops.closures:
        ends[cut.parent].append(cut.parent_frame[:3, 3])
        ends[cut.child].append(cut.child_frame[:3, 3])
    is_first = alpha > 0.5
    for link, points in ends.items():
        C = closed.robot.link_pose(whole, link)
        color, width = ('tab:blue', 4) if moves.get(link) else ('black', 1.5)
        for point in points:
            x, _, z = np.array([C[:3, 3], C[:3, :3] @ point + C[:3, 3]]).T
            place.plot(x, z, color=color, lw=width, alpha=alpha, solid_capstyle='round')
    for joint in description.joints:  # a piston that is out of its barrel
        start = closed.robot.link_pose(whole, joint.parent) @ joint.origin
        end = closed.robot.link_pose(whole, joint.child)
        x, _, z = np.array([start[:3, 3], end[:3, 3]]).T
        place.plot(x, z, color='tab:blue', lw=1.5, alpha=alpha)
    cuts = [
        (closed.robot.link_pose(whole, cut.parent) @ cut.parent_frame)[:3, 3]
        for cut in closed.loops.closures
    ]
    x, _, z = np.array(cuts).T
    label = 'cut joint' if is_first else None
    place.plot(x, z, 'o', color='tab:red', ms=6, alpha=alpha, zorder=5, label=label)
    if is_first:
        place.plot([], [], color='tab:blue', lw=4, label='piston, actuated')


def draw_rates(place: plt.Axes, linkage: ClosedRobot) -> None:
    """Draw the rates of the passive joints for a unit rate of the crank over one turn."""
    crank, rates, seed = np.linspace(0, 2 * np.pi, 181), [], None
    for angle in crank:
        state = linkage.state([angle], seed=seed)
        seed = state.q
        rates.append(state.G[1:, 0])
    for name, rate in zip(linkage.passive, np.transpose(rates)):
        place.plot(np.degrees(crank), rate, label=name)
    place.plot(60, -1.211457636, 'k.')
    place.plot(60, 0.147301188, 'k.', label='golden case 8.6')
    place.set(xlabel='crank [degrees]', ylabel='rate for a unit rate of the crank')
    place.grid(alpha=0.3)
    place.legend(fontsize=8)


if __name__ == '__main__':
    main()
