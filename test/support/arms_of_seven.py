# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arms of seven revolute joints by published numbers, in metres and degrees.

For what sources and numbers mean, see `support.arms_of_six`.
"""

from __future__ import annotations

from support.arm_tables import ArmTable, denavit_hartenberg, within, zero_position

SEVEN: tuple[ArmTable, ...] = (
    denavit_hartenberg(
        'KUKA LBR iiwa 14 R820', 'KUKA, data sheet',
        [(0, 0.36, 0, -90), (0, 0, 0, 90), (0, 0.42, 0, 90), (0, 0, 0, -90), (0, 0.4, 0, -90),
         (0, 0, 0, 90), (0, 0.126, 0, 0)],
        within(170, 120, 170, 120, 170, 120, 175), redundant=7, swivel=True,
    ),
    denavit_hartenberg(
        'KUKA LBR iiwa 7 R800', 'KUKA, data sheet',
        [(0, 0.34, 0, -90), (0, 0, 0, 90), (0, 0.4, 0, 90), (0, 0, 0, -90), (0, 0.4, 0, -90),
         (0, 0, 0, 90), (0, 0.126, 0, 0)],
        within(170, 120, 170, 120, 170, 120, 175), redundant=7, swivel=True,
    ),
    denavit_hartenberg(
        'KUKA LWR 4+', 'KUKA, data sheet; Robotics Toolbox (Corke), model LWR4',
        [(0, 0.3105, 0, 90), (0, 0, 0, -90), (0, 0.4, 0, -90), (0, 0, 0, 90), (0, 0.39, 0, 90),
         (0, 0, 0, -90), (0, 0.078, 0, 0)],
        within(170, 120, 170, 120, 170, 120, 170), redundant=7, swivel=True,
    ),
    denavit_hartenberg(
        'Barrett WAM', 'Barrett Technology, WAM kinematics and joint ranges',
        [(0, 0, 0, -90), (0, 0, 0, 90), (0, 0.55, 0.045, -90), (0, 0, -0.045, 90),
         (0, 0.3, 0, -90), (0, 0, 0, 90), (0, 0.06, 0, 0)],
        [(-150, 150), (-113, 113), (-157, 157), (-50, 180), (-273, 71), (-90, 90), (-172, 172)],
        redundant=7,
    ),
    denavit_hartenberg(
        'Franka Research 3', 'Franka Robotics, FCI documentation, robot and interface',
        [(0, 0.333, 0, 0), (0, 0, 0, -90), (0, 0.316, 0, 90), (0, 0, 0.0825, 90),
         (0, 0.384, -0.0825, -90), (0, 0, 0, 90), (0, 0.107, 0.088, 90)],
        [(-157, 157), (-102, 102), (-166, 166), (-174, -9), (-160, 160), (31, 258), (-172, 172)],
        redundant=7, modified=True,
    ),
    zero_position(
        'Kinova Gen3', 'package kortex_description (ssik)', '-z +y -z +y -z +y -z',
        [(0, 0, 0.15643), (0, -0.005375, 0.28481), (0, -0.01175, 0.49519), (0, -0.018125, 0.70557),
         (0, -0.0245, 0.914), (0, -0.02467505, 1.01993), (0, -0.0248501, 1.12586)],
        (0, -0.0248501, 1.187385),
        [None, (-128, 128), None, (-147, 147), None, (-119, 119), None], redundant=7,
    ),
    zero_position(
        'Flexiv Rizon 4', 'package flexiv_description (ssik)', '+z -y +z +y +z -y +x',
        [(0, 0, 0.155), (0, -0.03, 0.365), (0, -0.065, 0.57), (0.02, -0.035, 0.76),
         (0, -0.01, 0.955), (0, -0.04, 1.145), (0.015, -0.113, 1.255)],
        (0.096, -0.113, 1.255),
        [(-165, 165), (-135, 135), (-175, 175), (-112, 159), (-175, 175), (-85, 265), (-175, 175)],
        redundant=7,
    ),
    zero_position(
        'Kassow KR810', 'description of the KR810 (ssik)', '+z +y +z +y +z +y +z',
        [(0, 0, 0.035), (0.05, 0, 0.3087), (0, -0.0857, 0.5827), (0.04, -0.0857, 0.7256),
         (0, -0.00165, 0.9966), (0, -0.00165, 1.1001), (0, 0.10935, 1.2081)],
        (0, 0.10935, 1.2081),
        [(-360, 360), (-70, 180), (-360, 360), (-70, 180), (-360, 360), (-360, 360), (-360, 360)],
        redundant=7,
    ),
    zero_position(
        'Rethink Sawyer', 'package sawyer_description', '+z +y +x +y +x +y +x',
        [(0, 0, 0.08), (0.081, 0.05, 0.317), (0.221, 0.1925, 0.317), (0.481, 0.1505, 0.317),
         (0.606, 0.024, 0.317), (0.881, 0.055, 0.317), (0.991, 0.1603, 0.317)],
        (1.0155, 0.1603, 0.317),
        [(-174, 174), (-218, 130), (-174, 174), (-174, 174), (-170, 170), (-170, 170), (-270, 270)],
        redundant=7,
    ),
    zero_position(
        'ABB YuMi, left arm', 'package yumi_description (ssik), base at the mount',
        '+z -y +z -y -x -y -x',
        [(0, 0, 0), (0.03, 0, 0.1), (0, 0, 0.27283), (-0.04188, 0, 0.35156),
         (-0.20649, 0, 0.39206), (-0.30688, 0, 0.36506), (-0.33588, 0, 0.39206)],
        (-0.33588, 0, 0.39206),
        [(-168.5, 168.5), (-143.5, 43.5), (-168.5, 168.5), (-123.5, 80), (-290, 290), (-88, 138),
         (-229, 229)],
        redundant=7,
    ),
    zero_position(
        'OpenArm, left arm', 'package openarm_description (ssik)', '+y -x -z -y -z -y +x',
        [(0, 0.0935, 0.698), (0, 0.1535, 0.698), (0, 0.1535, 0.63175), (0, 0.1535, 0.478),
         (0, 0.1535, 0.3825), (0, 0.1535, 0.262), (0, 0.1535, 0.262)],
        (0, 0.1535, 0.194),
        [(-200, 80), (-190, 10), (-90, 90), (0, 140), (-90, 90), (-45, 45), (-45, 45)],
        redundant=7, swivel=True,
    ),
    zero_position(
        'Realman RM75-B', 'package rm_description (ssik)', '+z +y +z +y +z +y +z',
        [(0, 0, 0.2405), (0, 0, 0.2405), (0, 0, 0.4965), (0, 0, 0.4965), (0, 0, 0.7065),
         (0, 0, 0.7065), (0, 0, 0.8505)],
        (0, 0, 0.8505),
        within(178, 130, 178, 135, 178, 128, 360), redundant=7, swivel=True,
    ),
    zero_position(
        'Realman GEN72', 'package rm_description (ssik)', '+z +y +z -y +z -y +x',
        [(0, 0, 0.218), (0, 0, 0.218), (0, 0, 0.498), (0.04, 0, 0.498), (0.021, 0, 0.7505),
         (0.021, 0, 0.7505), (0.1115, 0, 0.8175)],
        (0.1115, 0, 0.8175),
        [(-172, 172), (-105, 105), (-172, 172), (-165, 55), (-172, 172), (-98, 102), (-172, 172)],
        redundant=7,
    ),
    zero_position(
        'Rokae xMate Pro7', 'package xmate_description of Rokae (ssik)', '+z +y +z +y +z +y +z',
        [(0, 0, 0), (0, 0, 0.404), (0, 0, 0.6414), (0, 0, 0.7969), (0, 0, 1.0174),
         (0, 0, 1.1625), (0, 0, 1.4134)],
        (0, 0, 1.4134),
        within(175, 120, 175, 120, 175, 120, 360), redundant=7, swivel=True,
    ),
)  # fmt: skip
