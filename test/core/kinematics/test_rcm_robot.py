# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The worked example of the papers with the numbers of doc/spec/golden_numbers.md: all of K-37.

RCM5 is a surgical arm: three vertical axes, then two axes that meet in the incision point P. Its
numbers are checked through every geometry description, through the recursions, the factorizations,
the dynamics and a `Robot` (K-12 to K-16, K-21 to K-33, D-05, D-25, D-31).
"""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Inertia
from screw_dynamics_ros.core.dynamics.energy_and_momentum import kinetic_energy
from screw_dynamics_ros.core.dynamics.inverse_dynamics import inverse_dynamics
from screw_dynamics_ros.core.dynamics.mass_matrix import mass_matrix
from screw_dynamics_ros.core.kinematics.higher_order import twist_derivatives
from screw_dynamics_ros.core.kinematics.product_of_exponentials import (
    BodyScrews,
    ConstructionScrews,
    Geometry,
    JointFrames,
    PredecessorScrews,
    SpatialScrews,
)
from screw_dynamics_ros.core.kinematics.robot_geometry import moved_inertia, tree_of
from screw_dynamics_ros.core.kinematics.twist_recursions import body_accelerations, body_twists
from screw_dynamics_ros.core.lie import screws, se3, so3
from screw_dynamics_ros.core.textbook.formulations.factorization import block, factors
from screw_dynamics_ros.core.textbook.formulations.joint_axes import (
    current_axes,
    geometric_jacobian,
)
from support.compilation import BACKENDS
from support.models import L1, L2, RCM5_A, RCM5_Q, RCM5_V, RHO, rcm5_axes, rcm5_description

GOLDEN = 2e-10  # the numbers of the specification have ten decimals

DESCRIPTIONS = (JointFrames, BodyScrews, PredecessorScrews, SpatialScrews, ConstructionScrews)

Y = [
    [0, 0, 1, 0, 0, 0],
    [0, 0, 1, 0, -0.4, 0],
    [0, 0, 1, 0, -0.75, 0],
    [0.5, 0, -0.8660254038, 0, 0.8227241336, 0],
    [-0.1736481777, 0, -0.9848077530, 0, 1.1284036483, 0],
]

C5 = [
    [0.7409812064, -0.6629808687, 0.1067858577, 1.0940007335],
    [0.6625942011, 0.6959732300, -0.2767493231, 0.1749253369],
    [0.1091594083, 0.2758217374, 0.9549903627, -0.0066931350],
    [0, 0, 0, 1],
]

J_SPATIAL = {  # columns 2 to 5
    1: [0, 0, 1, 0.1182080827, -0.3821345957, 0],
    2: [0, 0, 1, 0.0486738169, -0.7251578979, 0],
    3: [0.4387912809, 0.2397127693, -0.8660254038, -0.1251917011, 0.7800069198, 0.1524719614],
    4: [-0.2338335768, 0.1574866035, -0.9594372455, -0.1667758044, 1.05119013, 0.2131938769],
}

J_BODY = {  # columns 1 and 4 of body 5
    0: [0.1091594083, 0.2758217374, 0.9549903627, 0.5952621548, 0.8773673760, -0.3214435146],
    3: [0.3894335629, -0.3629451858, -0.8465295578, -0.0942959253, -0.1399582522, 0.0166269158],
}

J_HYBRID = {
    0: [0, 0, 1, -0.1749253369, 1.0940007335, 0],
    3: [0.4387912809, 0.2397127693, -0.8660254038, 0.0246936546, -0.1644886179, -0.0330182713],
}

OMEGA = [0.4445664555, 0.1287755741, 0.2909545752]
V5 = {
    'body': [0.4465017664, -0.1248631062, 0.2896936726, 0.1815168821, 0.3222307649, -0.1414748747],
    'spatial': [*OMEGA, -0.0424825106, 0.0624090336, 0.0367000184],
    'hybrid': [*OMEGA, -0.0942397500, 0.3836890956, -0.0264146171],
}
V5['mixed'] = [*V5['body'][:3], *V5['hybrid'][3:]]

DV5_BODY = [0.0140410099, 0.2151726468, -0.3535435982, 0.5767444274, 0.8446034246, -0.5604380676]

M = [
    [8.0360536391, 4.7695809932, 2.4300098979, -1.1443380347, -0.4594847914],
    [0, 3.1931083474, 1.7361900301, -0.8865434008, -0.3793993808],
    [0, 0, 1.1554717128, -0.6445813483, -0.3121521651],
    [0, 0, 0, 0.5322248544, 0.2385634254],
    [0, 0, 0, 0, 0.2398048544],
]

Q = [7.9329872753, 4.4171123122, 2.0474565369, -0.7513472441, -0.1459455517]
Q_GRAVITY = [7.9329872753, 4.4171123122, 2.0474565369, -2.9322718882, -0.5334316808]


@pytest.fixture(scope='module')
def arm() -> SpatialScrews:
    """Return RCM5 from what the papers need: A_i = (1, y_i), e_i, y_i, no pitch."""
    e, y = rcm5_axes()
    return SpatialScrews(se3.pose(np.eye(3), y), screws.unit_screw(e, y))


def inertias() -> list[Inertia]:
    return [
        Inertia(
            6.0 - i, [0.1 + 0.02 * (i - 1), -0.03 * (i - 1), 0.05], i * np.diag([0.02, 0.03, 0.04])
        )
        for i in range(1, 6)
    ]


def tree(arm: Geometry):
    return tree_of(arm, inertias=inertias())


def close(found: np.ndarray, golden: list) -> None:
    np.testing.assert_allclose(found, golden, rtol=0, atol=GOLDEN)


def test_data(arm):
    """K-15, K-37: Y_i; BFRs parallel to the root frame, so that X_i = (e_i, 0)."""
    close(arm.Y, Y)
    close(arm.A[:, :3, 3][[1, 2, 3, 4], 0], [0.4, 0.75, 0.95, 1.1458110934])
    np.testing.assert_allclose(BodyScrews.of(arm).X[:, :3], rcm5_axes()[0], atol=1e-15)
    np.testing.assert_allclose(BodyScrews.of(arm).X[:, 3:], 0.0, atol=1e-15)
    close(ConstructionScrews.of(arm).Y, Y)
    np.testing.assert_allclose(SpatialScrews.of(BodyScrews.of(arm)).A, arm.A, atol=1e-15)


@pytest.mark.parametrize('description', DESCRIPTIONS)
def test_poses(arm, description):
    """K-12 to K-16, K-37: C_3 in closed form, C_5."""
    C = description.of(arm).poses(RCM5_Q)
    if description is ConstructionScrews:
        C = C @ arm.A
    q1, q12, q123 = np.cumsum(RCM5_Q[:3])
    expected = se3.pose(
        so3.exp([0, 0, q123]),
        [L1 * np.cos(q1) + L2 * np.cos(q12), L1 * np.sin(q1) + L2 * np.sin(q12), 0],
    )
    np.testing.assert_allclose(C[2], expected, atol=1e-15)
    assert q123 == pytest.approx(0.5)
    close(C[2][:3, 3], [0.7251578979, 0.0486738169, 0])
    close(C[4], C5)


def test_jacobians(arm):
    """K-21, K-25, K-28, K-37: from the factorizations and from the drawing."""
    own = tree(arm)
    body, spatial, hybrid = (
        factors(own, RCM5_Q, name).jacobian for name in ('body', 'spatial', 'hybrid')
    )
    _, q2, q3 = RCM5_Q[:3]
    close(
        body[block(2), 0],
        [
            0,
            0,
            1,
            L1 * np.sin(q2 + q3) + L2 * np.sin(q3),
            L1 * np.cos(q2 + q3) + L2 * np.cos(q3),
            0,
        ],
    )
    close(body[block(2), 1], [0, 0, 1, L2 * np.sin(q3), L2 * np.cos(q3), 0])
    close(body[block(2), 2], [0, 0, 1, 0, 0, 0])
    np.testing.assert_array_equal(body[block(2), 3:], 0.0)
    close(body[block(2), 0][3:5], [0.3049439229, 0.6597213967])
    close(body[block(2), 1][3:5], [0.2254761905, 0.2676947655])
    elsewhere = factors(own, RCM5_Q + [1.7, 0, 0, 0, 0], 'body').jacobian
    np.testing.assert_allclose(elsewhere[block(2)], body[block(2)], atol=1e-15)  # independent of q1
    for name, J, columns in [
        ('body', body, J_BODY),
        ('spatial', spatial, J_SPATIAL),
        ('hybrid', hybrid, J_HYBRID),
    ]:
        drawn = geometric_jacobian(own, RCM5_Q, 'body5', name)
        for j, golden in columns.items():
            close(J[block(4), j], golden)
            close(drawn[:, j], golden)


def test_the_same_spatial_column_for_every_body(arm):
    """K-25: J^s_j is intrinsic to joint j."""
    J = factors(tree(arm), RCM5_Q, 'spatial').jacobian
    for j in range(5):
        for i in range(j, 5):
            np.testing.assert_allclose(J[block(i), j], J[block(j), j], atol=1e-15)


@pytest.mark.parametrize('representation', V5)
def test_twists(arm, representation):
    """K-22, K-26, K-29, K-32, K-37."""
    V = body_twists(tree(arm), RCM5_Q, RCM5_V, representation)
    close(V[4], V5[representation])
    if representation == 'body':
        close(V[2], [0, 0, 0.6, 0.1073767233, 0.2763217452, 0])


def test_acceleration(arm):
    """D-05: without gravity offset."""
    own = tree(arm)
    close(body_accelerations(own, RCM5_Q, RCM5_V, RCM5_A, 'body')[4], DV5_BODY)
    close(twist_derivatives(own, RCM5_Q, [RCM5_V, RCM5_A], 'body5', 'body')[1], DV5_BODY)


def test_remote_center_of_motion(arm):
    """K-37: P stays where it is under q4, q5; the axes 4 and 5 pass through it for every q."""
    e, y = rcm5_axes()
    P = np.append(y[3] + RHO * e[3], 1.0)
    close(P[:3], [1.1, 0, -0.2598076211])
    own = tree(arm)
    for q45 in ([0.4, -0.6], [1.9, 2.8], [-3.0, 0.1]):
        q = np.array([*RCM5_Q[:3], *q45])
        moved = arm.poses(q) @ np.linalg.inv(arm.A) @ P
        for i in (2, 3, 4):
            close(moved[i, :3], [1.0323117946, 0.2164727554, -0.2598076211])
        for axis in current_axes(own, q)[3:]:
            offset = np.cross(moved[2, :3] - axis.point[0], axis.direction[0])
            np.testing.assert_allclose(offset, 0.0, atol=1e-14)
    V = body_twists(own, RCM5_Q, np.array([0, 0, 0, 0.8, -0.4]), 'spatial')[4]
    point = moved[2, :3]
    np.testing.assert_allclose(V[3:] + np.cross(V[:3], point), 0.0, atol=1e-14)


@BACKENDS
def test_robot(backend):
    """K-21 to K-33, D-25 to D-28, D-35, D-38: the functions of a `Robot` of the description."""
    robot, state = Robot(rcm5_description(), backend=backend), (RCM5_Q, RCM5_V, RCM5_A)
    close(robot.jacobian(np.zeros(5), 'body5', 'spatial').T, Y)
    close(robot.link_pose(RCM5_Q, 'body3')[:3, 3], [0.7251578979, 0.0486738169, 0])
    close(robot.link_pose(RCM5_Q, 'body5'), C5)
    for name, columns in (('body', J_BODY), ('spatial', J_SPATIAL), ('hybrid', J_HYBRID)):
        J = robot.jacobian(RCM5_Q, 'body5', name)
        for j, golden in columns.items():
            close(J[:, j], golden)
    J = robot.jacobian(RCM5_Q, 'body3', 'body')
    close(J[3:5, :2].T, [[0.3049439229, 0.6597213967], [0.2254761905, 0.2676947655]])
    np.testing.assert_array_equal(J[:, 3:], 0.0)
    for name, V in V5.items():
        close(robot.velocity(RCM5_Q, RCM5_V, 'body5', name), V)
    close(np.triu(robot.mass_matrix(RCM5_Q)), M)
    close(robot.kinetic_energy(RCM5_Q, RCM5_V), 0.6453086024)
    close(robot.inverse_dynamics(*state), Q_GRAVITY)
    np.testing.assert_allclose(robot.forward_dynamics(*state[:2], Q_GRAVITY), RCM5_A, atol=1e-8)
    robot.gravity = (0, 0, 0)
    close(robot.inverse_dynamics(*state), Q)


@pytest.mark.parametrize('description', DESCRIPTIONS)
def test_dynamics(arm, description):
    """K-16, D-25, D-31, D-35: M, T and Q, whatever the description of the geometry."""
    given = inertias()
    if description is ConstructionScrews:
        given = [moved_inertia(inertia, A) for inertia, A in zip(given, arm.A)]
    own = tree_of(description.of(arm), inertias=given)
    close(np.triu(mass_matrix(own, RCM5_Q)), M)
    close(kinetic_energy(own, RCM5_Q, RCM5_V), 0.6453086024)
    close(inverse_dynamics(own, RCM5_Q, RCM5_V, RCM5_A, np.zeros(3)), Q)
    close(inverse_dynamics(own, RCM5_Q, RCM5_V, RCM5_A, np.array([0, 0, -9.81])), Q_GRAVITY)
