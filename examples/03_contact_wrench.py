# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Estimate the force on the hand from joint torques, without a force sensor.

Run: python examples/03_contact_wrench.py
"""

import numpy as np

from screw_dynamics_ros.core import Robot, bundled_urdf

URDF = bundled_urdf('panda')
HAND = 'panda_hand'


def main() -> None:
    """Simulate measured torques of a known push, and estimate the push from them."""
    robot = Robot.from_urdf(URDF)
    rng = np.random.default_rng(0)
    q = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8, 0.02])
    v, a = rng.uniform(-0.5, 0.5, (2, robot.nv))

    # What drives report while something pushes: (moment, force) in the frame of the hand.
    push = np.array([0.0, 0.0, 0.5, 10.0, 0.0, -5.0])
    measured = robot.inverse_dynamics(q, v, a, {HAND: push})

    # What they would report without contact; the rest comes from outside.
    external = robot.inverse_dynamics(q, v, a) - measured
    print('external torques:', external.round(3))

    jacobian = robot.jacobian(q, HAND, 'body')  # twist in the frame of the hand = jacobian @ v
    wrench = np.linalg.lstsq(jacobian.T, external, rcond=None)[0]
    print('wrench on the hand (moment, force):', wrench.round(3) + 0.0)  # no -0

    # Near a singularity some components cannot be determined; check before you trust them.
    report = robot.singularity(q, HAND)
    print(f'rank {report.rank} of 6, singular values {report.singular_values.round(3)}')


if __name__ == '__main__':
    main()
