# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tracking errors of an arm with impedance drives, with and without feedforward; without ROS.

    PYTHONPATH=. .venv/bin/python benchmarks/impedance_drives.py [--print]

The seven joints of the Panda with the gains and the friction of OpenArm follow sines. The drives
are those of the simulator, evaluated in each step. Writes the table of
doc/how_to/impedance_drives.md (with --print: to the terminal only). The same numbers on each run.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.simulation import SimulatedRobot
from screw_dynamics_ros.nodes.simulation.joint_targets import EFFORT, Targets

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / 'doc' / 'how_to' / 'impedance_drives.md'
BEGIN, END = '<!-- table: impedance_drives -->', '<!-- end of table -->'

# Gains of the hardware interface of OpenArm, friction of the follower in
# openarm_teleop: the width is that of its tanh.
STIFFNESS = np.array([70.0, 70.0, 70.0, 60.0, 10.0, 10.0, 10.0])  # N m/rad
DAMPING = np.array([2.75, 2.5, 2.0, 2.0, 0.7, 0.6, 0.5])  # N m s/rad
COULOMB = (0.306, 0.306, 0.40, 0.166, 0.050, 0.093, 0.172)  # N m
VISCOUS = (0.063, 0.063, 0.604, 0.813, 0.029, 0.072, 0.084)  # N m s/rad
WIDTHS = (0.35, 0.35, 0.34, 0.077, 0.066, 0.041, 1.3)  # rad/s

STEP, SECONDS, SETTLED = 1e-3, 11.0, 1.0  # s
CENTER = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 2.1, 0.8])  # rad
AMPLITUDE = 0.3  # rad
RATES = 2.0 * np.pi * np.linspace(0.2, 0.4, 7)  # rad/s
WAYS = ('without feedforward', 'gravity', 'inverse dynamics', 'inverse dynamics and friction')


def main() -> None:
    """Simulate all of it and write the table."""
    parser = argparse.ArgumentParser(description='Tracking errors of impedance drives.')
    parser.add_argument('--print', action='store_true', help='do not write the page')
    options = parser.parse_args()
    table = '\n'.join(rows())
    print(table)
    if not options.print:
        head, _, rest = PAGE.read_text(encoding='utf-8').partition(BEGIN)
        text = f'{head}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}'
        PAGE.write_text(text, encoding='utf-8')


def rows() -> list[str]:
    """Return the lines of the table."""
    lines = [
        '| feedforward | error, RMS [mrad] | largest [mrad] | RMS of that without [%] |',
        '|---|---|---|---|',
    ]
    first = None
    for way in WAYS:
        error = 1e3 * errors(way)
        rms = np.sqrt(np.mean(error**2))
        first = first or rms
        lines.append(
            f'| {way} | {rms:.3g} | {np.abs(error).max():.3g} | {100.0 * rms / first:.3g} |'
        )
    return lines


def errors(way: str) -> np.ndarray:
    """Return the errors of all joints and steps, (N, 7) [rad]."""
    model, real = robots()
    q, v, _ = reference(0.0)
    simulated = SimulatedRobot(real, q)
    simulated.v = v
    found = []
    for k in range(round(SECONDS / STEP)):
        q, v, a = reference(k * STEP)
        effort = {
            WAYS[0]: lambda: np.zeros(7),
            WAYS[1]: lambda q=q: model.gravity_torques(q),
            WAYS[2]: lambda q=q, v=v, a=a: model.inverse_dynamics(q, v, a),
            WAYS[3]: lambda q=q, v=v, a=a: real.inverse_dynamics(q, v, a),
        }[way]()
        targets = Targets([EFFORT] * 7, q, v, effort, STIFFNESS, DAMPING)
        tau = targets.drive_torques(simulated.q, simulated.v)
        if k * STEP >= SETTLED:
            found.append(q - simulated.q)
        simulated.step(np.clip(tau, -real.limits.effort, real.limits.effort), STEP)
    return np.array(found)


def robots() -> tuple[Robot, Robot]:
    """Return the arm with fixed fingers, without and with friction."""
    whole = read_urdf(ROOT / 'urdf' / 'panda.urdf')
    joints = tuple(
        replace(joint, type='fixed', mimic=None) if 'finger' in joint.name else joint
        for joint in whole.joints
    )
    arm = replace(whole, joints=joints)
    model = Robot(arm)
    drives = {
        name: Drive(coulomb=coulomb, damping=viscous, smoothing=width)
        for name, coulomb, viscous, width in zip(model.joint_names, COULOMB, VISCOUS, WIDTHS)
    }
    return model, Robot(arm, drives=drives)


def reference(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions, velocities and accelerations at a time [s]."""
    sine, cosine = AMPLITUDE * np.sin(RATES * t), AMPLITUDE * np.cos(RATES * t)
    return CENTER + sine, RATES * cosine, -(RATES**2) * sine


if __name__ == '__main__':
    main()
