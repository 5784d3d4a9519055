# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The examples of the gallery, and parts of what they print."""

from __future__ import annotations

from support.paths import ROOT

EXAMPLES = sorted((ROOT / 'examples').glob('*.py'))

#: What each must say: numbers that can be known without it.
SAID = {
    '01_gravity_compensation': ['compensated: moved by ', 'without torques: moved by '],
    '02_inverse_kinematics': ['solved: success True', 'out of reach: success False', '0.10 mm'],
    # 95 % of 400 estimates, and about twice the standard deviation of that
    '03_contact_wrench': ['rank 6 of 6', '95.5 % of the estimates', '94.2 % of the estimates'],
    '04_trajectory_efforts': ["velocity of joint 'panda_joint1' beyond its limit 2.175", '0.77'],
    # sin and cos of 0.3 and 0.7; 9.81 (3/2 cos 0.3 + 1/2 cos 0.7) and 9.81/2 cos 0.7
    '05_robot_made_in_python': ['[1.7202 0.9397 0.    ]', '[17.809  3.752]', 'same pose: 0.0e+00'],
    '06_singularities_on_a_path': ['0.224 m at first, then 0.0016 m'],
    '07_all_inverse_solutions': ['8 solutions, at most 8 for three parallel axes', 'doubt: none'],
    '08_closed_loops': ['14.1 to 20.1 kN', '12 joint freedoms, rank 8, mobility 4'],
    '09_order_of_integrators': ['midpoint: order 2.0', 'Runge-Kutta: order 4.0'],
    # what the description gets wrong, and the noise of the sensors
    '10_identification': ['description: 0.42 N m RMS', 'identified: 0.20 N m RMS'],
    '11_payload_capacity': ['points down: True', 'limit there: panda_joint2'],
}
