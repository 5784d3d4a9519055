# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motion subgroups, macro joints, joints of several freedoms; topology, mobility and loops.

Spec IDs: K-10, K-11, K-39; B-002, B-006, B-109, B-121 with golden
numbers G16, G17.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile.program.tracing import Recorder, Scalar
from screw_dynamics_ros.core.description import Inertia, Joint, Link, RobotDescription, read_urdf
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError
from screw_dynamics_ros.core.lie import screw_systems, screws, se3
from screw_dynamics_ros.core.textbook.linkages import joint_pairs as joints
from screw_dynamics_ros.core.textbook.linkages import mobility
from screw_dynamics_ros.core.textbook.linkages.loops import Loop
from support.models import random_description, random_pose, random_unit
from support.poe_models import derivatives, inverse, vector
from support.robots import urdf_path

AXIS = np.array([0.36, 0.48, 0.8])
POINT = np.array([0.3, -0.2, 0.5])

#: K-10: dimension, and whether the joint is that of a motion subgroup.
LIBRARY = {
    'prismatic': (joints.prismatic(AXIS), 1, True),
    'revolute': (joints.revolute(AXIS, POINT), 1, True),
    'helical': (joints.helical(0.2, AXIS, POINT), 1, True),
    'planar_translation': (joints.planar_translation(AXIS), 2, True),
    'cylindrical': (joints.cylindrical(AXIS, POINT), 2, True),
    'spatial_translation': (joints.spatial_translation(), 3, True),
    'spherical': (joints.spherical(POINT), 3, True),
    'planar_helical': (joints.planar_helical(0.2, AXIS, POINT), 3, True),
    'planar': (joints.planar(AXIS, POINT), 3, True),
    'schoenflies': (joints.schoenflies(AXIS, POINT), 4, True),
    'floating': (joints.floating(), 6, True),
    'universal': (joints.universal([1, 0, 0], AXIS, POINT), 2, False),
    'constant_velocity': (joints.constant_velocity([1, 0, 0], AXIS, POINT), 2, False),
}
EVERY = pytest.mark.parametrize('name', LIBRARY)
KINDS = pytest.mark.parametrize('kind', ['first', 'second'])


# --- the library ----------------------------------------------------------------------------------


@EVERY
def test_dimension_and_bracket_closure(name):
    """K-10: screws of subgroup joints span what is closed under the bracket, U and CV not."""
    joint, dimension, subgroup = LIBRARY[name]
    assert joint.name == name
    assert joint.dof == dimension == screw_systems.rank(joint.screws.T)
    assert joint.is_subgroup is subgroup
    brackets = [se3.ad(X) @ Y for X in joint.screws for Y in joint.screws]
    together = screw_systems.rank(np.stack([*joint.screws, *brackets]).T)
    assert (together == dimension) is subgroup


@EVERY
@KINDS
def test_poses_are_products_or_exponentials(name, kind):
    """K-11: exp(Z1 q1) exp(Z2 q2) ..., or exp(Z1 q1 + Z2 q2 + ...), by scipy's expm."""
    joint = LIBRARY[name][0].of_kind(kind)
    q = np.random.default_rng(1).uniform(-1, 1, joint.dof)
    assert not joint.screws.flags.writeable
    if kind == 'first':
        expected = expm(se3.hat(q @ joint.screws))
    else:
        expected = np.eye(4)
        for Z, x in zip(joint.screws, q):
            expected = expected @ expm(se3.hat(Z) * x)
    np.testing.assert_allclose(joint.pose(q), expected, rtol=0, atol=1e-14)
    stack = np.stack([q, 0.3 * q])
    np.testing.assert_allclose(joint.pose(stack)[1], joint.pose(0.3 * q), atol=1e-15)


@EVERY
@KINDS
@pytest.mark.parametrize('scale', [0.0, 1e-9, 1.0])
def test_velocity_and_acceleration(name, kind, scale):
    """K-11, B-121: V = J q' and V' = J q'' + J' q' are derivatives of the pose along a motion."""
    joint = LIBRARY[name][0].of_kind(kind)
    rng = np.random.default_rng(2)
    q, v, a = rng.uniform(-1, 1, (3, joint.dof))
    q = scale * q

    def pose(t: np.longdouble) -> np.ndarray:
        return joint.pose((q + v * t + a * t**2 / 2).astype(float))

    C = derivatives(pose, 2)
    C_inv = derivatives(lambda t: inverse(pose(t)), 1)
    V, dV = vector(C_inv[0] @ C[1]), vector(C_inv[0] @ C[2] + C_inv[1] @ C[1])
    J = joint.jacobian(q)
    np.testing.assert_allclose(J @ v, V.astype(float), rtol=0, atol=1e-13)
    np.testing.assert_allclose(
        J @ a + joint.jacobian_derivative(q, v) @ v, dV.astype(float), rtol=0, atol=1e-11
    )


@pytest.mark.parametrize(
    'name', ['prismatic', 'cylindrical', 'planar_translation', 'spatial_translation']
)
def test_kinds_agree_for_commuting_screws(name):
    """K-11: the two kinds of coordinates are the same if the screws commute."""
    joint = LIBRARY[name][0]
    q = np.random.default_rng(3).uniform(-1, 1, joint.dof)
    np.testing.assert_allclose(
        joint.of_kind('first').pose(q), joint.of_kind('second').pose(q), atol=1e-15
    )


def test_kinds_differ_for_screws_that_do_not_commute():
    q = np.array([0.4, 0.5, 0.6])
    joint = joints.spherical(POINT)
    first, second = (joint.of_kind(kind).pose(q) for kind in ('first', 'second'))
    assert np.abs(first - second).max() > 0.05
    np.testing.assert_allclose(first[:3, :3], Rotation.from_rotvec(q).as_matrix(), atol=1e-15)
    np.testing.assert_allclose(
        second[:3, :3], Rotation.from_euler('XYZ', q).as_matrix(), atol=1e-15
    )
    for C in (first, second):
        np.testing.assert_allclose(C[:3, :3] @ POINT + C[:3, 3], POINT, atol=1e-15)


def test_spherical_joint_equals_three_intersecting_revolutes():
    """B-121: at a regular pose Jacobians span the same twists, and motions agree."""
    angles = np.array([0.4, 0.5, 0.6])
    revolutes, ball = joints.spherical(POINT, 'second'), joints.spherical(POINT, 'first')
    x = Rotation.from_matrix(revolutes.pose(angles)[:3, :3]).as_rotvec()
    rates = np.array([0.1, -0.2, 0.3])
    V = revolutes.jacobian(angles) @ rates
    x_rates, *_ = np.linalg.lstsq(ball.jacobian(x), V, rcond=None)
    np.testing.assert_allclose(ball.jacobian(x) @ x_rates, V, atol=1e-14)
    np.testing.assert_allclose(ball.pose(x), revolutes.pose(angles), atol=1e-15)


def test_constant_velocity_joint():
    """K-10: bent, its output turns as fast as the input; that of a universal joint does not."""
    bend = 0.7
    cv, hooke = joints.constant_velocity(), joints.universal()
    for phase in np.linspace(0.1, 3.0, 5):
        axis = np.array([np.cos(phase), np.sin(phase)])
        R = cv.pose(bend * axis)[:3, :3]
        # the shafts are symmetric to the plane of the joint: no torsion about z at any phase
        np.testing.assert_allclose(R[0, 1], R[1, 0], atol=1e-15)
    R = hooke.pose([0.5, 0.5])[:3, :3]
    assert abs(R[0, 1] - R[1, 0]) > 0.1


def test_helical_joint_advances_by_its_pitch():
    C = joints.helical(0.2, AXIS, POINT).pose([2.5])
    moved = C[:3, :3] @ POINT + C[:3, 3] - POINT
    np.testing.assert_allclose(moved, 0.2 * 2.5 * AXIS, atol=1e-15)


def test_planar_joint_is_that_of_robot():
    """K-10: the same coordinates as a planar joint of a URDF."""
    axis = random_unit(np.random.default_rng(1))
    robot = Robot(
        RobotDescription.from_parts(
            'one', [Link('a'), Link('b')], [Joint('j', 'planar', 'a', 'b', np.eye(4), axis)]
        ),
        backend='reference',
    )
    q = np.array([0.3, -0.4, 0.9])
    np.testing.assert_allclose(joints.planar(axis).pose(q), robot.link_pose(q, 'b'), atol=1e-15)


def test_recorded_scalars():
    joint = joints.universal()
    assert isinstance(joint.pose(Recorder().inputs('q', 2))[0, 0], Scalar)
    assert isinstance(joint.jacobian(Recorder().inputs('q', 2))[0, 0], Scalar)


@pytest.mark.parametrize('name', [n for n in LIBRARY if n != 'constant_velocity'])
def test_joints_as_parts_of_a_robot(name):
    """K-10: any macro joint in a description, through a URDF, next to ordinary joints."""
    joint = LIBRARY[name][0].of_kind('second')
    rng = np.random.default_rng(4)
    origin = random_pose(rng)
    links, made = joint.parts('hip', 'trunk', 'thigh', origin)
    knee = Joint('knee', 'continuous', 'thigh', 'shank', origin, AXIS)
    body = Inertia(1.0, np.zeros(3), np.eye(3))
    description = RobotDescription.from_parts(
        'leg', [Link('trunk'), *links, Link('thigh', body), Link('shank', body)], [*made, knee]
    )
    robot = Robot(read_urdf(write_urdf(description)), backend='reference')
    assert robot.nv == joint.dof + 1
    q = rng.uniform(-1, 1, robot.nq)
    order = [robot.joint_names.index(f'hip{k + 1}') for k in range(joint.dof)]
    C = robot.link_pose(q, 'thigh')
    np.testing.assert_allclose(C, origin @ joint.pose(q[order]), rtol=0, atol=2e-15)
    J = robot.jacobian(q, 'thigh', 'body')
    np.testing.assert_allclose(J[:, order], joint.jacobian(q[order]), rtol=0, atol=2e-15)


def test_what_joints_refuse():
    for make, message in [
        (lambda: joints.universal([0, 0, 1], [0, 0, 2]), 'parallel'),
        (lambda: joints.helical(np.inf), 'pitch is inf'),
        (lambda: joints.revolute([0, 0, 0]), 'axis'),
        (lambda: joints.MacroJoint('x', np.eye(6), 'third'), "kind is 'third'"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            make()
    with pytest.raises(DescriptionError, match='not a unit screw'):
        joints.MacroJoint('x', 2 * np.eye(6))
    with pytest.raises(DescriptionError, match="'hip': coordinates of the first kind"):
        joints.spherical().parts('hip', 'a', 'b')


# --- topology and mobility ------------------------------------------------------------------------


def test_topology():
    """B-002: 6R serial, two-arm tree with two leaves, four-bar graph with one loop."""
    six = [(f'{i}', f'{i + 1}') for i in range(6)]
    assert mobility.topology('0', six) == mobility.Topology('serial', ('6',), 0)
    arms = [('trunk', 'l1'), ('l1', 'l2'), ('trunk', 'r1'), ('r1', 'r2')]
    assert mobility.topology('trunk', arms) == mobility.Topology('tree', ('l2', 'r2'), 0)
    on_a_stand = [('ground', 'trunk'), *arms]
    assert mobility.topology('ground', on_a_stand).kind == 'tree'
    four_bar = [('g', 'a'), ('a', 'b'), ('b', 'c'), ('c', 'g')]
    assert mobility.topology('g', four_bar) == mobility.Topology('graph', (), 1)
    stewart = [('base', f'leg{k}') for k in range(6)] + [(f'leg{k}', 'plate') for k in range(6)]
    assert mobility.topology('base', stewart).loops == 5
    with pytest.raises(ArgumentError, match="'x' is not connected"):
        mobility.topology('0', [*six, ('x', 'y')])


def test_topology_of_descriptions():
    """B-002, B-006: fixed links belong to what carries them."""
    serial = mobility.topology_of(read_urdf(urdf_path('ur5_robot')))
    assert (serial.kind, len(serial.leaves)) == ('serial', 1)
    talos = mobility.topology_of(read_urdf(urdf_path('talos_reduced')))
    assert talos.kind == 'tree'
    assert len(talos.leaves) >= 4
    assert mobility.topology_of(random_description(0, 5, chain=True)).kind == 'serial'


def test_golden_mobility():
    """B-109, G16."""
    assert mobility.mobility(7, [1] * 6) == 6
    assert mobility.mobility(32, [1] * 36) == 6
    assert (
        mobility.mobility(14, [2] * 6 + [1] * 6 + [3] * 6) == 6
    )  # universal, prismatic, spherical
    assert mobility.mobility(4, [1] * 4, planar=True) == 1
    assert mobility.mobility(4, [1] * 4) == -2
    assert mobility.mobility(5, [1] * 5, planar=True) == 2
    assert mobility.mobility(5, [1] * 5) == -1
    assert mobility.chebyshev(3, 2, 2) == 1


def test_what_mobility_refuses():
    for make, message in [
        (lambda: mobility.mobility(0, []), '0 links'),
        (lambda: mobility.mobility(2, [0]), 'joint 0 has 0 freedoms'),
        (lambda: mobility.mobility(2, [4], planar=True), '1 to 3'),
        (lambda: mobility.chebyshev(3, -1, 2), 'negative'),
    ]:
        with pytest.raises(ArgumentError, match=message):
            make()


# --- loops ----------------------------------------------------------------------------------------


def four_bar_pins(crank: float) -> tuple[np.ndarray, np.ndarray]:
    """Return where the crank of G17 meets the coupler, and the coupler the rocker."""
    C = np.array([np.cos(crank), np.sin(crank)])
    gap = np.array([3.0, 0.0]) - C
    length = np.hypot(*gap)
    x = (length**2 + 2.0**2 - 2.5**2) / (2 * length)
    across = np.array([-gap[1], gap[0]]) / length
    return C, C + x * gap / length + np.sqrt(4.0 - x**2) * across


def four_bar() -> tuple[Loop, np.ndarray, np.ndarray]:
    """Return the linkage of G17, its closed configuration at crank angle 0.8, and pin positions.

    The loop is closed at q = 0, where the crank is at 0.3 rad; the joint angles are relative.
    """
    pins = four_bar_pins
    A, D = np.zeros(2), np.array([3.0, 0.0])

    def angles(crank: float) -> np.ndarray:
        C, B = pins(crank)
        coupler, rocker = np.arctan2(*(B - C)[::-1]), np.arctan2(*(B - D)[::-1])
        return np.array([crank, coupler - crank, rocker - coupler, -rocker])

    C0, B0 = pins(0.3)
    points = np.array([[*p, 0.0] for p in (A, C0, B0, D)])
    Y = screws.unit_screw([0, 0, 1], points)
    return Loop(Y), angles(0.8) - angles(0.3), np.array([*pins(0.8)])


def test_four_bar_linkage():
    """K-39: closure residual 0, three constraints of six, one freedom; G17 for the rates."""
    loop, q, pins = four_bar()
    np.testing.assert_allclose(loop.closure(q), np.eye(4), atol=1e-14)
    np.testing.assert_allclose(loop.residual(q), np.zeros(3), atol=1e-14)
    assert np.abs(loop.residual(q + [0.01, 0, 0, 0])).max() > 1e-3
    assert loop.redundant == 3
    assert screw_systems.rank(loop.jacobian(q)) == 3
    assert loop.mobility(q) == 1
    np.testing.assert_allclose(pins[1], [1.95563934, 2.27141163], atol=1e-8)
    rates = np.linalg.svd(loop.reduced_jacobian(q))[2][-1]
    np.testing.assert_allclose(loop.jacobian(q) @ rates, np.zeros(6), atol=1e-14)
    np.testing.assert_allclose(-rates[3] / rates[0], -0.0400704923, rtol=0, atol=1e-9)


def pin_between_coupler_and_rocker(loop: Loop, q: np.ndarray) -> np.ndarray:
    """Return where the coupler ends, on a linkage of `four_bar`."""
    _, B0 = four_bar_pins(0.3)
    return (loop.screws.poses(q)[1] @ [*B0, 0.0, 1.0])[:2]


def test_passive_joints_follow_the_active_one():
    """B-127, B-136: with a motor at the crank alone, three joints follow; G17 for the rocker."""
    loop, q, _ = four_bar()
    G = loop.active_map(q, [0])
    assert G.shape == (4, 1)
    assert G[0, 0] == 1.0
    np.testing.assert_allclose(loop.jacobian(q) @ G, np.zeros((6, 1)), atol=1e-14)
    np.testing.assert_allclose(-G[3, 0], -0.0400704923, rtol=0, atol=1e-9)
    printed = np.linalg.pinv(loop.jacobian(q)[:, 1:]) @ loop.jacobian(q)[:, 0]  # sign of (5.28)
    assert abs(-printed[2] - -0.0400704923) > 0.05
    with pytest.raises(ArgumentError, match='cannot move independently: the loop has 1 freedoms'):
        loop.active_map(q, [0, 3])
    with pytest.raises(ArgumentError, match='different numbers from 0 to 3'):
        loop.active_map(q, [4])


def test_jacobian_of_the_active_joints_is_that_of_the_closed_mechanism():
    """B-128: A G against differences of poses with the loop closed again at each crank angle."""
    loop, q, _ = four_bar()
    h = 1e-4
    around = [loop.closed(q + [s * h, 0, 0, 0], [0]).q for s in (-2, -1, 1, 2)]
    pins = np.array([pin_between_coupler_and_rocker(loop, x) for x in around])
    rate = np.array([1, -8, 8, -1]) @ pins / (12 * h)
    twist = loop.jacobian(q)[:, :2] @ loop.active_map(q, [0])[:2, 0]  # of the coupler, root frame
    x, y = pin_between_coupler_and_rocker(loop, q)
    expected = twist[3:5] + twist[2] * np.array([-y, x])
    np.testing.assert_allclose(rate, expected, atol=1e-9)


@pytest.mark.parametrize(
    ('start', 'pin'),
    [
        ([0, 0.3, -0.3, 0.2], [1.95563934, 2.27141163]),
        ([0, -2.4, 4.0, -1.6], [0.85058217, -1.27671571]),
    ],
)
def test_a_loop_closes_in_two_ways(start, pin):
    """B-129: G17 closes to 1e-10 in fewer than ten steps; another start finds the other way."""
    loop, q, _ = four_bar()
    closing = loop.closed(np.array([q[0], *q[1:] + start[1:]]), [0], tolerance=1e-10)
    assert closing.residual <= 1e-10
    assert closing.iterations < 10
    assert closing.q[0] == q[0]
    np.testing.assert_allclose(pin_between_coupler_and_rocker(loop, closing.q), pin, atol=1e-8)


def test_what_does_not_close():
    """B-116, B-129: a loop cut at another joint closes alike; a triangle too short does not."""
    loop, q, _ = four_bar()
    with pytest.raises(ArgumentError, match='the loop does not close: the residual is still'):
        loop.closed(q + [0, 0.5, 0, 0], [0, 1])
    cut_elsewhere = Loop(np.roll(loop.screws.Y, -1, axis=0))
    np.testing.assert_allclose(cut_elsewhere.residual(np.roll(q, -1)), np.zeros(3), atol=1e-13)
    closing = cut_elsewhere.closed(np.roll(q, -1) + [0.1, -0.1, 0.05, 0], [3])
    np.testing.assert_allclose(np.roll(closing.q, 1), q, atol=1e-10)


def test_hidden_motion_of_passive_joints_is_told():
    """B-128: where the passive columns are dependent, the active joints do not hold the loop."""
    Y = screws.unit_screw([0, 0, 1], np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3.0, 0, 0]]))
    with pytest.raises(ArgumentError, match='not held by the active joints'):
        Loop(Y).active_map(np.zeros(4), [0])  # stretched: all pins on one line


def test_any_cut_of_a_loop_gives_the_same_rates():
    """B-116: one cut for the one loop, and it does not matter which joint is cut."""
    loop, q, _ = four_bar()
    assert mobility.topology('A', [('A', 'C'), ('C', 'B'), ('B', 'D'), ('D', 'A')]).loops == 1
    expected = np.linalg.svd(loop.reduced_jacobian(q))[2][-1]
    for cut in range(1, 4):
        # From the link behind the cut on, whose frame at q = 0 is that of the ground.
        order = np.roll(np.arange(4), -cut)
        turned = Loop(loop.screws.Y[order])
        np.testing.assert_allclose(turned.closure(q[order]), np.eye(4), atol=1e-14)
        assert turned.mobility(q[order]) == 1
        rates = np.linalg.svd(turned.reduced_jacobian(q[order]))[2][-1]
        rates *= np.sign(rates @ expected[order])
        np.testing.assert_allclose(rates, expected[order], atol=1e-13)


def test_loop_acceleration():
    """K-39: J q'' + sum [V_j, J_j] q_j' is the second derivative of a motion of an open chain."""
    rng = np.random.default_rng(0)
    Y = screws.unit_screw(
        rng.normal(size=(5, 3)), rng.uniform(-1, 1, (5, 3)), rng.uniform(-0.2, 0.2, 5)
    )
    loop = Loop(Y)
    q, v, a = rng.uniform(-1, 1, (3, 5))
    C = derivatives(lambda t: loop.closure((q + v * t + a * t**2 / 2).astype(float)), 2)
    C_inv = derivatives(
        lambda t: inverse(loop.closure((q + v * t + a * t**2 / 2).astype(float))), 1
    )
    V, dV = vector(C[1] @ C_inv[0]), vector(C[2] @ C_inv[0] + C[1] @ C_inv[1])
    np.testing.assert_allclose(loop.jacobian(q) @ v, V.astype(float), atol=1e-13)
    np.testing.assert_allclose(
        loop.jacobian(q) @ a + loop.acceleration_bias(q, v), dV.astype(float), atol=1e-11
    )
    with pytest.raises(ArgumentError, match=r'q must have shape \(5,\)'):
        loop.closure([1.0])


def test_spherical_and_overconstrained_loops():
    """K-39: axes through one point need three constraints, axes in general position all six."""
    e = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.8, 0.0]])
    assert Loop(screws.unit_screw(e, POINT)).redundant == 3
    rng = np.random.default_rng(1)
    general = screws.unit_screw(rng.normal(size=(4, 3)), rng.uniform(-1, 1, (4, 3)))
    assert Loop(general).redundant == 0
    assert Loop(joints.schoenflies().screws).redundant == 2
