# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Two simulated arms coupled by `bilateral`: free motion and contact, for delays of each way.

    PYTHONPATH=.:test .venv/bin/python benchmarks/teleoperation.py [--print]

Both are Pandas with the gains and the friction of an arm with low-cost drives
(`support.teleoperation`), at 1 kHz. Deterministic. Writes the table of doc/how_to/teleoperation.md
(with --print: to the terminal only).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from screw_dynamics_ros.core.law import LAWS
from screw_dynamics_ros.core.simulation import ContactPoint, Plane
from support.teleoperation import DAMPING, START, STEP, STIFFNESS, TIP, Pairs, low_cost_arm

PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'how_to' / 'teleoperation.md'
BEGIN, END = '<!-- table: teleoperation -->', '<!-- end of table -->'

DELAYS = np.array([0, 10, 50])  # steps, one way
AMPLITUDE, RATE, SECONDS = 0.2, 2.0, 6.3  # rad, rad/s, s of the free motion
HAND = 100.0, 10.0  # N m/rad, N m s/rad: the hand moves the joints of the leader
PUSH, PUSH_DAMPING = 20.0, 50.0  # N, N s/m: it pushes the tip against the wall
WALL = 1e5  # N/m

LAW, FRICTION, FORCES = LAWS['bilateral'], LAWS['friction_compensation'], LAWS['force_reflection']
CHANNELS = {
    'positions': (LAW, {}),
    'positions, friction compensated': (LAW + FRICTION, {}),
    'and forces, share 0.1': (LAW + FRICTION + FORCES, {'force_reflection.share': 0.1}),
    'and forces, share 0.3': (LAW + FRICTION + FORCES, {'force_reflection.share': 0.3}),
}


def pairs(law: Any, given: dict[str, Any], delay: int, **world: Any) -> Pairs:
    """Return a pair of arms with a delay [steps], whose law knows its bound."""
    prefix = 'bilateral.' if '+' in law.name else ''
    values = {'stiffness': STIFFNESS, 'damping': DAMPING, 'round_trip': 2.0 * STEP * (delay + 1)}
    values = {f'{prefix}{name}': value for name, value in values.items()}
    robot = low_cost_arm()
    return Pairs(robot, START[None], law.on(robot), {**values, **given}, [delay], **world)


def free_motion(law: Any, given: dict[str, Any], delay: int) -> tuple[float, float]:
    """Return the tracking error [mrad] and the torque of the hand [N m], RMS over joints."""
    arms = pairs(law, given, delay)
    leader, follower = arms.arms
    errors, felt = [], []
    for k in range(round(SECONDS / STEP)):
        t = k * STEP
        goal = START + AMPLITUDE * (1.0 - np.cos(RATE * t)) / 2.0
        rate = AMPLITUDE * RATE * np.sin(RATE * t) / 2.0
        scale = STIFFNESS / STIFFNESS[0]
        hand = scale * (HAND[0] * (goal - leader.q) + HAND[1] * (rate - leader.v))
        arms.step(hand)
        errors.append(follower.q - leader.q)
        felt.append(hand)
    return tuple(float(np.sqrt(np.mean(np.square(each)))) for each in (errors, felt))


def contact(law: Any, given: dict[str, Any], delay: int) -> tuple[float, float, float, float]:
    """Return the contact force of the last second [N], its bounds, and its largest [N]."""
    robot = low_cost_arm()
    tip = robot.link_pose(START, TIP)[:3, 3]
    wall = Plane(tip - [0.0, 0.0, 0.02], [0.0, 0.0, 1.0], stiffness=WALL, damping=0.5)
    arms = pairs(law, given, delay, planes=[wall], contact_points=[ContactPoint(TIP)])
    leader, follower = arms.arms
    forces = []
    for _ in range(4000):
        J = robot.jacobian(leader.q[0], TIP, 'hybrid')[3:]
        arms.step((J.T @ ([0.0, 0.0, -PUSH] - PUSH_DAMPING * (J @ leader.v[0])))[None])
        forces.append(np.linalg.norm(follower.contact_wrenches[TIP][0, 3:]))
    last = forces[-1000:]
    return float(np.mean(last)), float(min(last)), float(max(last)), float(max(forces))


def rows() -> list[str]:
    """Return the lines of the table."""
    lines = [
        '| channels | delay of each way | tracking error | torque of the hand | contact force | '
        'felt / contact force | range of the last second | impact |',
        '|---|---|---|---|---|---|---|---|',
    ]
    for name, (law, given) in CHANNELS.items():
        for delay in DELAYS.tolist():
            error, felt = free_motion(law, given, delay)
            steady, low, high, largest = contact(law, given, delay)
            lines.append(
                f'| {name} | {delay} ms | {1e3 * error:.3g} mrad | {felt:.3g} N m | '
                f'{steady:.3g} N | {PUSH / steady:.3g} | {low:.3g} to {high:.3g} N | '
                f'{largest:.3g} N |'
            )
    return lines


def main() -> None:
    """Run all of it and write what was found."""
    parser = argparse.ArgumentParser(description='Two coupled arms.')
    parser.add_argument('--print', action='store_true', help='do not write the page')
    table = '\n'.join(rows())
    if parser.parse_args().print:
        print(table)
        return
    head, _, rest = PAGE.read_text(encoding='utf-8').partition(BEGIN)
    PAGE.write_text(f'{head}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}', encoding='utf-8')


if __name__ == '__main__':
    main()
