# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arms of six revolute joints by published numbers, in metres and degrees.

The numbers are those of the manufacturer, without the rounding of right angles to 1.5708 in some
descriptions (arms of example-robot-data have it). A source named "package" is the description in
the ROS repository of the manufacturer or of ROS-Industrial; "ssik" is that package's collection of
such descriptions (personalrobotics/ssik, tests/fixtures).
"""

from __future__ import annotations

from math import pi, sin

from support.arm_tables import ArmTable, Bounds, denavit_hartenberg, within, zero_position


def universal_robot(
    name: str, d1: float, a2: float, a3: float, d4: float, d5: float, d6: float
) -> ArmTable:
    """Return an arm of Universal Robots by its Denavit-Hartenberg parameters, lengths positive."""
    x, y, z = a2 + a3, d4 + d6, d1 - d5
    return zero_position(
        name,
        'Universal Robots, "DH parameters for calculations of kinematics and dynamics"',
        '+z +y +y +y -z +y',
        [(0, 0, d1), (0, 0, d1), (a2, 0, d1), (x, d4, d1), (x, d4, z), (x, y, z)],
        (x, y, z),
        within(360, 360, 180, 360, 360, 360),
    )


def kinova(name: str, source: str, D: tuple[float, ...], e2: float, half_angle: float) -> ArmTable:
    """Return an arm of Kinova with three wrist axes that do not meet, by D1 to D6 [m]."""
    D1, D2, D3, D4, D5, D6 = D
    share, bend = sin(half_angle) / sin(2 * half_angle), 360 * half_angle / pi
    d4, d5, d6 = D3 + share * D4, share * (D4 + D5), D6 + share * D5
    limits: list[Bounds] = [None, (47, 313), (19, 341), None, None, None]
    return denavit_hartenberg(
        name,
        source,
        [(0, D1, 0, 90), (-90, 0, D2, 180), (90, -e2, 0, 90),
         (0, -d4, 0, bend), (-180, -d5, 0, bend), (100, -d6, 0, 180)],
        limits,
    )  # fmt: skip


SIX: tuple[ArmTable, ...] = (
    denavit_hartenberg(
        'PUMA 560', 'Corke, Armstrong-Helouvry 1994, IEEE ICRA; tool at the wrist',
        [(0, 0.6718, 0, 90), (0, 0, 0.4318, 0), (0, 0.15005, 0.0203, -90),
         (0, 0.4318, 0, 90), (0, 0, 0, -90), (0, 0, 0, 0)],
        within(160, 110, 135, 266, 100, 266),
    ),
    denavit_hartenberg(
        'Manseur-Doty arm', 'Manseur, Doty 1989, IJRR 8 (5), 75-79: 16 real solutions',
        [(0, 0, 0.3, 90), (0, 0, 1, 1), (0, 0.2, 0, 90),
         (0, 0, 1.5, 1), (0, 0, 0, 90), (0, 0, 0, 1)],
        [None] * 6,
    ),
    universal_robot('UR3e', 0.15185, 0.24355, 0.2132, 0.13105, 0.08535, 0.0921),
    universal_robot('UR5e', 0.1625, 0.425, 0.3922, 0.1333, 0.0997, 0.0996),
    universal_robot('UR10e', 0.1807, 0.6127, 0.57155, 0.17415, 0.11985, 0.11655),
    universal_robot('UR20', 0.2363, 0.862, 0.7287, 0.201, 0.1593, 0.1543),
    zero_position(
        'ABB IRB 120', 'package abb_irb120_support (ssik)', '+z +y +y +x +y +x',
        [(0, 0, 0), (0, 0, 0.29), (0, 0, 0.56), (0, 0, 0.63), (0.302, 0, 0.63), (0.374, 0, 0.63)],
        (0.374, 0, 0.63),
        [(-165, 165), (-110, 110), (-110, 70), (-160, 160), (-120, 120), (-400, 400)],
    ),
    denavit_hartenberg(
        'ABB IRB 140', 'ABB, data sheet; Robotics Toolbox (Corke), model IRB140',
        [(0, 0.352, 0.07, -90), (-90, 0, 0.36, 0), (0, 0, 0, -90),
         (0, 0.38, 0, 90), (0, 0, 0, -90), (0, 0.065, 0, 0)],
        [(-180, 180), (-90, 110), (-230, 50), (-200, 200), (-115, 115), (-400, 400)],
    ),
    zero_position(
        'ABB IRB 2400/10', 'ABB, data sheet; opw_kinematics (Meyer), makeIrb2400_10',
        '+z +y +y +x +y +x',
        [(0, 0, 0), (0.1, 0, 0.615), (0.1, 0, 1.32), (0.1, 0, 1.455), (0.855, 0, 1.455),
         (0.855, 0, 1.455)],
        (0.94, 0, 1.455),
        [(-180, 180), (-100, 110), (-60, 65), (-200, 200), (-120, 120), (-400, 400)],
    ),
    zero_position(
        'ABB IRB 6700-200/2.60', 'package abb_irb6700_support (ssik)', '+z +y +y +x +y +x',
        [(0, 0, 0.78), (0.32, 0, 0.78), (0.32, 0, 1.905), (0.32, 0, 2.105), (1.4625, 0, 2.105),
         (1.6625, 0, 2.105)],
        (1.6625, 0, 2.105),
        [(-170, 170), (-65, 85), (-180, 70), (-300, 300), (-130, 130), (-360, 360)],
    ),
    zero_position(
        'KUKA KR 6 R900', 'package kuka_kr6_support (ssik)', '-z +y +y -x +y -x',
        [(0, 0, 0.4), (0.025, 0, 0.4), (0.48, 0, 0.4), (0.48, 0, 0.435), (0.9, 0, 0.435),
         (0.98, 0, 0.435)],
        (0.98, 0, 0.435),
        [(-170, 170), (-190, 45), (-120, 156), (-185, 185), (-120, 120), (-350, 350)],
    ),
    zero_position(
        'KUKA KR 210 R2700', 'package kuka_quantec_support (ssik)', '-z +y +y -x +y -x',
        [(0, 0, 0), (0.33, 0, 0.645), (1.48, 0, 0.645), (1.48, 0, 0.76), (2.7, 0, 0.76),
         (2.7, 0, 0.76)],
        (2.915, 0, 0.76),
        [(-185, 185), (-140, -5), (-120, 168), (-350, 350), (-125, 125), (-350, 350)],
    ),
    zero_position(
        'Fanuc CRX-10iA', 'package crx_description of FANUC (ssik)', '+z +y -y -x -y -x',
        [(0, 0, 0.245), (0, 0, 0.245), (0, 0, 0.785), (0, 0, 0.785), (0.54, 0, 0.785),
         (0.54, -0.15, 0.785)],
        (0.7, -0.15, 0.785),
        [(-190, 190), (-179.9, 179.9), (-71, 251), (-190, 190), (-179.9, 179.9), (-225, 225)],
    ),
    zero_position(
        'Fanuc LR Mate 200iD', 'package fanuc_lrmate200id_support (ssik)', '+z +y -y -x -y -x',
        [(0, 0, 0.33), (0.05, 0, 0.33), (0.05, 0, 0.66), (0.05, 0, 0.695), (0.385, 0, 0.695),
         (0.465, 0, 0.695)],
        (0.465, 0, 0.695),
        [(-170, 170), (-100, 145), (-70, 205), (-190, 190), (-125, 125), (-360, 360)],
    ),
    zero_position(
        'Fanuc M-710iC/50', 'package fanuc_m710ic_support (ssik)', '+z +y -y -x -y -x',
        [(0, 0, 0.565), (0.15, 0, 0.565), (0.15, 0, 1.435), (0.15, 0, 1.605), (1.166, 0, 1.605),
         (1.341, 0, 1.605)],
        (1.341, 0, 1.605),
        [(-180, 180), (-90, 135), (-160, 280), (-360, 360), (-125, 125), (-360, 360)],
    ),
    zero_position(
        'Yaskawa GP8', 'package motoman_gp8_support (ssik)', '+z +y -y -x -y -x',
        [(0, 0, 0.33), (0.04, 0, 0.33), (0.04, 0, 0.675), (0.38, 0, 0.715), (0.38, 0, 0.715),
         (0.38, 0, 0.715)],
        (0.46, 0, 0.715),
        [(-170, 170), (-65, 145), (-70, 190), (-190, 190), (-135, 135), (-360, 360)],
    ),
    zero_position(
        'Yaskawa HC10', 'package motoman_hc10_support (ssik)', '+z +y -y +z -y +z',
        [(0, 0, 0.275), (0, 0, 0.275), (0, 0, 0.975), (0, 0, 0.475), (0, 0.162, 0.475),
         (0, 0.162, 0.475)],
        (0, 0.162, 0.345),
        [(-180, 180), (-180, 180), (-5, 355), (-180, 180), (-180, 180), (-180, 180)],
    ),
    zero_position(
        'Staubli RX160', 'package staubli_rx160_support (ssik)', '+z +y +y +z +y +z',
        [(0, 0, 0.55), (0.15, 0, 0.55), (0.15, 0, 1.375), (0.15, 0, 1.375), (0.15, 0, 2),
         (0.15, 0, 2.11)],
        (0.15, 0, 2.11),
        [(-160, 160), (-137.5, 137.5), (-150, 150), (-270, 270), (-105, 120), (-270, 270)],
    ),
    zero_position(
        'Staubli TX40', 'Staubli, data sheet; opw_kinematics (Meyer), makeStaubliTX40',
        '+z +y +y +z +y +z',
        [(0, 0, 0.32), (0, 0, 0.32), (0, 0, 0.545), (0, 0.035, 0.545), (0, 0.035, 0.77),
         (0, 0.035, 0.77)],
        (0, 0.035, 0.835),
        [(-180, 180), (-125, 125), (-138, 138), (-270, 270), (-120, 133.5), (-270, 270)],
    ),
    zero_position(
        'Denso VS-060', 'package denso_robot_descriptions (ssik)', '+z +y +y +z +y +z',
        [(0, 0, 0.1815), (0, 0, 0.345), (0, 0, 0.65), (-0.01, 0, 0.8145), (-0.01, 0, 0.95),
         (-0.01, 0, 1.02)],
        (-0.01, 0, 1.02),
        [(-170, 170), (-120, 120), (-125, 155), (-270, 270), (-120, 120), (-360, 360)],
    ),
    zero_position(
        'Kawasaki RS007N', 'package khi_rs_description (ssik)', '-z -x +x +z +x +z',
        [(0, 0, 0.36), (0, 0, 0.36), (0, 0, 0.715), (0, 0, 0.8075), (0, 0, 1.09), (0, 0, 1.168)],
        (0, 0, 1.168),
        [(-180, 180), (-135, 135), (-155, 155), (-200, 200), (-125, 125), (-360, 360)],
    ),
    zero_position(
        'Mitsubishi RV-4FR', 'package melfa_description (ssik)', '+z +y +y +z +y +z',
        [(0, 0, 0), (0, 0, 0.35), (0, 0, 0.585), (-0.05, 0, 0.585), (-0.05, 0, 0.86),
         (-0.05, 0, 0.945)],
        (-0.05, 0, 0.945),
        [(-240, 240), (-120, 120), (0, 161), (-200, 200), (-120, 120), (-360, 360)],
    ),
    zero_position(
        'Dobot CR5', 'package cr5_robot of Dobot (ssik)', '+z -y -y -y +z -y',
        [(0, 0, 0.147), (0, 0, 0.147), (0, 0, 0.574), (0, -0.141, 0.931), (0, -0.141, 1.047),
         (0, -0.246, 1.047)],
        (0, -0.246, 1.047),
        within(360, 360, 160, 360, 360, 360),
    ),
    zero_position(
        'UFACTORY xArm6', 'package xarm_description (ssik)', '+z +y +y -z +y -z',
        [(0, 0, 0.267), (0, 0, 0.267), (0.0535, 0, 0.5515), (0.131, 0, 0.209), (0.131, 0, 0.209),
         (0.207, 0, 0.112)],
        (0.207, 0, 0.112),
        [(-360, 360), (-118, 120), (-225, 11), (-360, 360), (-97, 180), (-360, 360)],
    ),
    denavit_hartenberg(
        'AgileX PiPER', 'package piper_description (ssik)',
        [(0, 0.123, 0, 0), (-174.216, 0, 0, -90), (-100.783, 0, 0.28503, 0),
         (0, 0.25075, -0.021984, 90), (0, 0, 0, -90), (0, 0.091, 8.8259e-5, 90)],
        [(-150, 124), (0, 180), (-170, 0), (-100, 100), (-70, 70), (-120, 120)],
        modified=True,
    ),
    zero_position(
        'Rokae xMate CR7', 'package xmate_description of Rokae (ssik)', '+z +y -y +z -y +z',
        [(0, 0, 0), (0, 0, 0.296), (0, 0, 0.786), (0, 0, 1.146), (0, -0.151, 1.146),
         (0, -0.151, 1.2725)],
        (0, -0.151, 1.2725),
        within(175, 175, 175, 175, 175, 175),
    ),
    zero_position(
        'Rokae xMate SR3', 'package xmate_description of Rokae (ssik)', '+z +y -y +z -y +z',
        [(0, 0, 0.334), (0, 0, 0.334), (0.05, 0, 0.624), (0, 0, 0.914), (0, 0.136, 0.914),
         (0, 0.136, 1.0175)],
        (0, 0.136, 1.0175),
        [(-175, 175), (-135, 130), (-175, 135), (-175, 175), (-175, 175), (-175, 175)],
    ),
    zero_position(
        'Doosan M1013', 'package dsr_description of Doosan (ssik)', '+z +y +y +z +y +z',
        [(0, 0, 0.1525), (0, 0.0345, 0.1525), (0, 0.0345, 0.7725), (0, 0.0345, 1.3315),
         (0, 0.0345, 1.3315), (0, 0.0345, 1.4525)],
        (0, 0.0345, 1.4525),
        within(360, 360, 160, 360, 360, 360),
    ),
    zero_position(
        'Kinova Gen3 lite', 'package kortex_description (ssik)', '+z -y +y +z +x +z',
        [(0, 0, 0.12825), (0, -0.03, 0.24325), (0, -0.03, 0.52325), (0, -0.01, 0.66325),
         (0.0285, -0.01, 0.76825), (0.057, -0.01, 0.87325)],
        (0.057, -0.01, 0.87325),
        [(-154, 154), (-154, 154), (-154, 154), (-148, 148), (-147, 147), (-148, 148)],
    ),
    kinova(
        'Kinova JACO2 j2n6s300', 'Kinova, "DH parameters of JACO2, 6 DOF"; package kinova_ros',
        (0.2755, 0.41, 0.2073, 0.0741, 0.0741, 0.16), 0.0098, 11 * pi / 72,
    ),
    kinova(
        'Kinova MICO', 'Kinova, "DH parameters of Mico"; Robotics Toolbox (Corke), model Mico',
        (0.2755, 0.29, 0.1233, 0.0741, 0.0741, 0.16), 0.007, pi / 6,
    ),
    zero_position(
        'Techman TM5-700', 'package tm_description, nominal', '+z +y +y +y +z -y',
        [(0, 0, 0.1452), (0, 0, 0.1452), (0, 0, 0.4742), (0, -0.1223, 0.7857),
         (0, -0.1223, 0.8917), (0, -0.23545, 0.8917)],
        (0, -0.23545, 0.8917),
        [(-270, 270), (-180, 180), (-155, 155), (-180, 180), (-180, 180), (-270, 270)],
    ),
    zero_position(
        'AUBO i5', 'package aubo_description', '+z -y +y -y +z -y',
        [(0, 0, 0.122), (0, -0.1215, 0.122), (0, -0.1215, 0.53), (0, -0.1215, 0.906),
         (0, -0.1215, 1.0085), (0, -0.2155, 1.0085)],
        (0, -0.2155, 1.0085),
        within(174, 174, 174, 174, 174, 174),
    ),
    zero_position(
        'OpenMANIPULATOR-P', 'package open_manipulator_p_description', '+z +y +y +x +y +x',
        [(0, 0, 0.126), (0, 0.069, 0.159), (0.03, 0.0575, 0.423), (0.225, 0, 0.453),
         (0.288, 0.045, 0.453), (0.411, 0, 0.453)],
        (0.411, 0, 0.453),
        within(90, 90, 90, 90, 90, 90),
    ),
)  # fmt: skip
