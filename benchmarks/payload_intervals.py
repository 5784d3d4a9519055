# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How often confidence intervals of estimated payloads hold the truth: 100 payloads each.

Poses at rest and a motion of the Panda arm with white noise on the efforts, of the same and of
different size in each joint; efforts by the inverse dynamics of the loaded arm.

    python benchmarks/payload_intervals.py
"""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.bundled import bundled_urdf
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.estimation.payload_estimation import (
    EffortRecord,
    estimate_payload,
)

LINK, TRIALS = 'panda_hand_tcp', 100
NOISE = {
    'equal': np.full(8, 0.3),
    'different': np.array([0.6, 0.6, 0.3, 0.3, 0.1, 0.1, 0.06, 0.06]),
}
DATA = {'4 poses': (4, 0.0), '10 poses': (10, 0.0), '6 poses, 2 s of motion': (6, 2.0)}


def efforts(robot: Robot, load: RigidBody, *motion: np.ndarray) -> np.ndarray:
    """Return the efforts of stacks q, v, a."""
    return robot.inverse_dynamics(*motion) + robot.payload_torques(*motion, {LINK: load})


def records(
    robot: Robot,
    load: RigidBody,
    count: int,
    seconds: float,
    noise: np.ndarray,
    rng: np.random.Generator,
) -> list[EffortRecord]:
    """Return poses and a motion."""
    lower, upper, found = robot.limits.lower, robot.limits.upper, []
    for _ in range(count):
        q = np.tile(lower + (upper - lower) * rng.uniform(0.15, 0.85, robot.nv), (100, 1))
        rest = np.zeros_like(q)
        tau = efforts(robot, load, q, rest, rest) + noise * rng.normal(size=q.shape)
        found.append(EffortRecord(0.002 * np.arange(100), q, rest, tau, True))
    if seconds:
        time = np.arange(0.0, seconds, 0.002)
        w = 2.0 * np.pi * rng.uniform(0.3, 0.8, robot.nv)
        A = np.minimum(0.5, 0.3 * (upper - lower))
        phase = np.outer(time, w) + rng.uniform(0.0, 6.0, robot.nv)
        q = 0.5 * (lower + upper) + A * np.sin(phase)
        v, a = A * w * np.cos(phase), -A * w**2 * np.sin(phase)
        tau = efforts(robot, load, q, v, a) + noise * rng.normal(size=q.shape)
        found.append(EffortRecord(time, q, v, tau, False))
    return found


def main() -> None:
    """Print shares of intervals that hold the truth, and their mean widths."""
    robot = Robot.from_urdf(bundled_urdf('panda'), friction=False)
    print('data | noise | mass | center of mass | inertia | half width of mass [kg]')
    for name, (count, seconds) in DATA.items():
        for kind, noise in NOISE.items():
            inside, widths = [], []
            for seed in range(TRIALS):
                rng = np.random.default_rng(seed)
                load = RigidBody(
                    rng.uniform(0.5, 3.0),
                    rng.uniform(-0.1, 0.1, 3),
                    np.diag(rng.uniform(0.01, 0.015, 3)),
                )
                given = records(robot, load, count, seconds, noise, rng)
                found = estimate_payload(robot, LINK, given)
                errors = np.concatenate(
                    [
                        [(found.mass - load.mass) / found.mass_interval],
                        (found.center_of_mass - load.com) / found.center_of_mass_interval,
                        (found.inertia - load.matrix[np.triu_indices(3)]) / found.inertia_interval,
                    ]
                )
                inside.append(np.where(np.isnan(errors), np.nan, np.abs(errors) <= 1.0))
                widths.append(found.mass_interval)
            share = np.array(inside).mean(axis=0)
            inertia = '' if np.isnan(share[4:]).any() else f'{100 * share[4:].min():.0f} %'
            print(
                f'{name} | {kind} | {100 * share[0]:.0f} % | {100 * share[1:4].min():.0f} % | '
                f'{inertia} | {np.mean(widths):.3f}',
                flush=True,
            )


if __name__ == '__main__':
    main()
