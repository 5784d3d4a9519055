# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recursive inverse dynamics in four representations, with any description of the geometry.

Spec IDs: D-24 to D-31, C-057. The independent oracles are
Lagrange's equations by differentiation, Pinocchio and golden numbers.
"""

from __future__ import annotations

import numpy as np
import pytest

from oracles.lagrange import Lagrange
from screw_dynamics_ros.core import ArgumentError, Drive, Robot, UnknownNameError
from screw_dynamics_ros.core.description import RobotDescription
from screw_dynamics_ros.core.dynamics.forward_dynamics import forward_dynamics
from screw_dynamics_ros.core.dynamics.inverse_dynamics import (
    coriolis_torques,
    gravity_torques,
    inverse_dynamics,
)
from screw_dynamics_ros.core.dynamics.mass_matrix import mass_matrix
from screw_dynamics_ros.core.dynamics.newton_euler import newton_euler, represented_inertia
from screw_dynamics_ros.core.kinematics import product_of_exponentials as geometry
from screw_dynamics_ros.core.kinematics.robot_geometry import moved_inertia, tree_of
from screw_dynamics_ros.core.kinematics.twist_recursions import body_motions
from screw_dynamics_ros.core.lie import screws, se3
from screw_dynamics_ros.core.textbook.formulations.articulated_torques import articulated_torques
from screw_dynamics_ros.core.textbook.formulations.recursive_newton_euler import (
    body_dynamics,
    recursive_inverse_dynamics,
)
from screw_dynamics_ros.core.tree.multibody_tree import Tree, build_tree
from support.models import (
    RCM5_A,
    RCM5_Q,
    RCM5_V,
    random_configuration,
    random_description,
    random_wrenches,
    rcm5_axes,
    rcm5_description,
)
from support.poe_models import REPRESENTATIONS, random_geometry, random_inertias
from support.robots import urdf_path

GRAVITY = np.array([0.7, -1.3, -9.6])
EQUAL = 1e-12  # of the largest torque: the representations among each other

REPRESENTATION = pytest.mark.parametrize('representation', REPRESENTATIONS)
SEEDS = pytest.mark.parametrize('seed', range(2))


def close(actual: np.ndarray, expected: np.ndarray, tolerance: float = EQUAL) -> None:
    np.testing.assert_allclose(
        actual, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max())
    )


def state(robot: Robot, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed + 300)
    return (random_configuration(robot, rng), *rng.uniform(-1, 1, (2, robot.nv)))


@REPRESENTATION
@pytest.mark.parametrize('floating', [False, True])
@SEEDS
def test_trees_of_all_joint_types(seed, floating, representation):
    """D-25 to D-29: all joints, mimic joints, floating base, wrenches; equal to 1e-12."""
    kinds = ('revolute', 'prismatic', 'continuous', 'planar', 'floating', 'fixed')
    description = random_description(seed, 12, kinds, mimic=1)
    robot = Robot(description, floating_base=floating, backend='reference')
    q, v, a = state(robot, seed)
    wrenches = random_wrenches(robot, np.random.default_rng(seed))
    tree = build_tree(description, floating_base=floating)
    close(
        recursive_inverse_dynamics(tree, q, v, a, GRAVITY, wrenches, representation),
        inverse_dynamics(tree, q, v, a, GRAVITY, wrenches),
    )


@REPRESENTATION
def test_lagranges_equations(representation):
    """D-25 to D-28, C-057: dynamics from poses and energies alone, differentiated."""
    description = random_description(4, 8, ('revolute', 'prismatic', 'fixed'), mimic=2)
    robot = Robot(description, backend='reference')
    q, v, a = state(robot)
    wrenches = random_wrenches(robot, np.random.default_rng(1))
    expected = Lagrange(description, tuple(GRAVITY)).inverse_dynamics(q, v, a, wrenches)
    tree = build_tree(description)
    Q = recursive_inverse_dynamics(tree, q, v, a, GRAVITY, wrenches, representation)
    close(Q, expected, 1e-11)


@REPRESENTATION
@pytest.mark.parametrize(
    ('name', 'floating'),
    [('panda_description/urdf/panda', False), ('talos_full_v2', True), ('solo12', True)],
)
def test_pinocchio(name, floating, representation):
    """D-25 to D-28 on real robots, Pinocchio's recursion, 1e-10 of the norm."""
    pytest.importorskip('pinocchio')
    from oracles.pinocchio_model import Pinocchio

    path = urdf_path(name)
    robot = Robot.from_urdf(path, floating_base=floating, gravity=GRAVITY, backend='reference')
    q, v, a = state(robot)
    wrenches = random_wrenches(robot, np.random.default_rng(2))
    expected = Pinocchio(path.read_text(), robot).inverse_dynamics(q, v, a, wrenches)
    tree = build_tree(robot.description, floating_base=floating)
    actual = recursive_inverse_dynamics(tree, q, v, a, GRAVITY, wrenches, representation)
    assert np.linalg.norm(actual - expected) < 1e-10 * np.linalg.norm(expected)


# --- golden numbers -------------------------------------------------------------------------------


@REPRESENTATION
def test_golden_torques_of_rcm5(representation):
    """D-25 to D-28: RCM5 of doc/spec/golden_numbers.md, with and without gravity, to 1e-9."""
    tree = build_tree(rcm5_description())
    motion = tree, RCM5_Q, RCM5_V, RCM5_A
    free = [7.9329872753, 4.4171123122, 2.0474565369, -0.7513472441, -0.1459455517]
    heavy = [*free[:3], -2.9322718882, -0.5334316808]
    close(recursive_inverse_dynamics(*motion, None, None, representation), np.array(free), 1e-9)
    g = np.array([0, 0, -9.81])
    close(recursive_inverse_dynamics(*motion, g, None, representation), np.array(heavy), 1e-9)


@REPRESENTATION
def test_golden_planar_arm(representation):
    """C-057, 8.2: unit lengths, unit point masses at the tips."""
    arm = geometry.BodyScrews([np.eye(4), se3.pose(np.eye(3), [1, 0, 0])], [[0, 0, 1, 0, 0, 0]] * 2)
    tree = tree_of(arm, inertias=[point_mass(), point_mass()])
    q, v, a = np.array([[0.3, 0.4], [0.5, -0.2], [1.0, 2.0]])
    g = np.array([0, -9.81, 0])
    tau = recursive_inverse_dynamics(tree, q, v, a, g, None, representation)
    close(tau, np.array([34.993354685, 11.521517437]), 1e-9)


def point_mass():
    from screw_dynamics_ros.core.description import Inertia

    return Inertia(1.0, np.array([1.0, 0, 0]), np.zeros((3, 3)))


# --- any description of the geometry (D-31) -------------------------------------------------------


def described(seed: int) -> dict[str, tuple[geometry.Geometry, Tree]]:
    """Return one robot in the five descriptions, and one with the frames at the centers of mass."""
    own = random_geometry(seed, 7)
    inertias = random_inertias(seed, 7)
    A = geometry.SpatialScrews.of(own).A
    at_com = np.stack([se3.pose(np.eye(3), inertia.com) for inertia in inertias])
    kinds = (
        geometry.JointFrames,
        geometry.BodyScrews,
        geometry.PredecessorScrews,
        geometry.SpatialScrews,
    )
    robots = {kind.__name__: (kind.of(own), inertias) for kind in kinds}
    moved = [moved_inertia(inertia, C) for inertia, C in zip(inertias, A)]
    robots['ConstructionScrews'] = geometry.ConstructionScrews.of(own), moved
    central = [moved_inertia(inertia, se3.inverse(S)) for inertia, S in zip(inertias, at_com)]
    robots['centers of mass'] = own.with_body_frames(at_com), central
    return {name: (made, tree_of(made, inertias=own)) for name, (made, own) in robots.items()}


@SEEDS
def test_every_combination_of_geometry_and_representation(seed):
    """D-31: six descriptions, four representations, and the fast recursion; one set of torques."""
    q, v, a = np.random.default_rng(seed).uniform(-1, 1, (3, 7))
    robots = described(seed)
    expected = inverse_dynamics(robots['BodyScrews'][1], q, v, a, GRAVITY)
    for name, (made, tree) in robots.items():
        close(inverse_dynamics(tree, q, v, a, GRAVITY), expected)
        # its bodies are where the description's own product of exponentials puts them
        motions = body_motions(tree, q, [v], 'body')
        close(np.stack([motion.C for motion in motions]), made.poses(q), 1e-13)
        for representation in REPRESENTATIONS:
            Q = recursive_inverse_dynamics(tree, q, v, a, GRAVITY, None, representation)
            assert np.abs(Q - expected).max() < EQUAL * np.abs(expected).max(), name


def test_joint_screws_in_the_frames_of_the_bodies_are_sparse():
    """D-31: with frames on the axes each screw has one entry; at the centers of mass it has not."""
    on_axes = build_tree(random_description(0, 5, ('revolute',), chain=True))
    assert all(np.count_nonzero(body.X) == 1 for body in on_axes.bodies)
    assert all(np.count_nonzero(body.X) > 2 for body in described(0)['centers of mass'][1].bodies)


def test_frames_at_the_centers_of_mass_decouple_the_hybrid_equations():
    """D-31, D-21: M^h is block diagonal there and nowhere else."""
    for name, decoupled in (('centers of mass', True), ('BodyScrews', False)):
        for body in described(1)[name][1].bodies:
            M = represented_inertia((body.m, body.h, body.I), np.eye(4), 'hybrid')
            assert (np.abs(M[:3, 3:]).max() < 1e-12) == decoupled


# --- forms of the equations -----------------------------------------------------------------------


@SEEDS
def test_body_fixed_acceleration_in_three_forms(seed):
    """D-24, [D](65a-c): the bracket is [Ad V_p, X q'], [Ad V_p, V] or [V, X q']; all equal."""
    tree = tree_of(random_geometry(seed, 6))
    q, v, a = np.random.default_rng(seed).uniform(-1, 1, (3, 6))
    motions = body_motions(tree, q, [v, a], 'body')
    for body, motion in zip(tree.bodies, motions):
        V_p, dV_p = np.zeros(6), np.zeros(6)
        if motion.p is not None:
            V_p, dV_p = (motion.transported(0, V) for V in motion.p.V)
        own = body.X @ v[body.v]
        for x, y in ((V_p, own), (V_p, motion.V[0]), (motion.V[0], own)):
            dV = dV_p + body.X @ a[body.v] + screws.motor_product(x, y)
            close(motion.V[1], dV, 1e-13)


@SEEDS
def test_hybrid_acceleration_in_three_forms(seed):
    """D-27, [D](72)-(74)."""
    tree = tree_of(random_geometry(seed, 6))
    q, v, a = np.random.default_rng(seed).uniform(-1, 1, (3, 6))

    def ad_v(r: np.ndarray, V: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros(3), np.cross(r, V[:3])])

    def turned(omega: np.ndarray, X: np.ndarray) -> np.ndarray:
        return np.concatenate([np.cross(omega, X[:3]), np.cross(omega, X[3:])])

    for body, motion in zip(tree.bodies, body_motions(tree, q, [v, a], 'hybrid')):
        if motion.p is None:
            continue
        V, V_p, X = motion.V[0], motion.p.V[0], motion.X[0] @ v[body.v]
        common = motion.transported(0, motion.p.V[1]) + motion.X[0] @ a[body.v]
        dr, dr_p = V[3:], V_p[3:]
        bracket = screws.motor_product(V, X)
        for rest in (
            ad_v(dr_p - dr, V_p) + turned(V[:3], X),
            ad_v(dr_p, V_p) - ad_v(dr, V) + bracket,
            ad_v(dr_p - dr, V) + bracket - ad_v(dr_p, X),
        ):
            close(motion.V[1], common + rest, 1e-13)


@REPRESENTATION
def test_gravity_as_wrench_or_as_acceleration_of_the_ground(representation):
    """D-29: weights as applied wrenches give the same torques."""
    robot = Robot(random_description(2, 7), backend='reference')
    tree = build_tree(robot.description)
    q, v, a = state(robot)
    weights = {}
    for link, C in zip(robot.description.links, robot.link_poses(q)):
        force = link.inertia.mass * C[:3, :3].T @ GRAVITY
        weights[link.name] = np.concatenate([np.cross(link.inertia.com, force), force])
    close(
        recursive_inverse_dynamics(tree, q, v, a, None, weights, representation),
        recursive_inverse_dynamics(tree, q, v, a, GRAVITY, None, representation),
    )


def test_acceleration_of_the_ground_in_each_representation():
    """D-29: accelerations relative to free fall are the true ones less (0, g), body-fixed R^T g."""
    tree = build_tree(random_description(3, 6))
    q, v, a = np.random.default_rng(3).uniform(-1, 1, (3, tree.nv))
    for representation in REPRESENTATIONS:
        true = body_motions(tree, q, [v, a], representation)
        shifted = body_motions(tree, q, [v, a], representation, -GRAVITY)
        for one, other in zip(true, shifted):
            g = one.R.T @ GRAVITY if representation == 'body' else GRAVITY
            close(other.V[1], one.V[1] - np.concatenate([np.zeros(3), g]), 1e-13)


@REPRESENTATION
def test_power_balance(representation):
    """D-29: dT/dt = Q^T q' + sum W^T V, every representation with its own wrenches and twists."""
    description = random_description(5, 7)
    robot = Robot(description, gravity=(0, 0, 0), backend='reference')
    tree = build_tree(description)
    q, v, a = state(robot)
    W = random_wrenches(robot, np.random.default_rng(5))
    Q = recursive_inverse_dynamics(tree, q, v, a, None, W, representation)
    h = 1e-3
    along = {k: (q + k * h * v + (k * h) ** 2 / 2 * a, v + k * h * a) for k in (-2, -1, 1, 2)}
    T = {k: robot.kinetic_energy(*x) for k, x in along.items()}
    rate = (8 * (T[1] - T[-1]) - (T[2] - T[-2])) / (12 * h)
    power = Q @ v + sum(w @ robot.velocity(q, v, link, 'body') for link, w in W.items())
    assert rate == pytest.approx(power, rel=1e-8)


@SEEDS
def test_printed_sign_of_applied_wrenches_and_range_of_the_loop(seed):
    """E-18, E-19 for all four representations: W^app is subtracted, and joint n is in the loop."""
    description = random_description(seed, 5, chain=True)
    robot = Robot(description, gravity=(0, 0, 0), backend='reference')
    tree = build_tree(description)
    q, v, a = state(robot)
    link = robot.link_names[-1]
    W = {link: np.array([0.3, -1.0, 0.5, 2.0, 1.0, -1.5])}
    work = robot.jacobian(q, link, 'body').T @ W[link]
    for representation in REPRESENTATIONS:
        free = recursive_inverse_dynamics(tree, q, v, a, None, None, representation)
        loaded = recursive_inverse_dynamics(tree, q, v, a, None, W, representation)
        close(loaded, free - work)
        assert np.abs(loaded - (free + work)).max() > 0.1
        assert abs(free[-1]) > 1e-2  # a loop from n - 1 would leave it zero


@REPRESENTATION
def test_wrenches_of_the_recursion_balance_each_body(representation):
    """D-30: what comes in through the joints and is applied makes up M V' - ad_V^T M V."""
    tree = tree_of(random_geometry(6, 7), inertias=random_inertias(6, 7))
    q, v, a = np.random.default_rng(6).uniform(-1, 1, (3, 7))
    result = body_dynamics(tree, q, v, a, GRAVITY, None, representation)
    for i, (body, motion) in enumerate(zip(tree.bodies, result.motions)):
        M = represented_inertia((body.m, body.h, body.I), motion.C, representation)
        total = result.wrenches[i]
        for k, other in enumerate(tree.bodies):
            if other.parent == i:
                total = total - result.motions[k].handed_down(result.wrenches[k])
        close(total, newton_euler(M, *motion.V, motion.R, representation), 1e-12)
        close(motion.X[0].T @ result.wrenches[i], result.torques[body.v], 1e-13)


def test_unknown_representation():
    tree = build_tree(rcm5_description())
    with pytest.raises(UnknownNameError, match="'cartesian'"):
        recursive_inverse_dynamics(tree, RCM5_Q, RCM5_V, RCM5_A, None, None, 'cartesian')
    with pytest.raises(UnknownNameError, match='hand'):
        recursive_inverse_dynamics(tree, RCM5_Q, RCM5_V, RCM5_A, None, {'hand': np.zeros(6)})


def test_construction_frames_are_those_of_the_example():
    """K-16 of the worked example: the CAD variant needs axes only."""
    e, y = rcm5_axes()
    description = rcm5_description()
    assert isinstance(description, RobotDescription)
    moved = [
        moved_inertia(link.inertia, se3.pose(np.eye(3), point))
        for link, point in zip(description.links[1:], y)
    ]
    tree = tree_of(geometry.ConstructionScrews(screws.unit_screw(e, y)), inertias=moved)
    expected = [7.9329872753, 4.4171123122, 2.0474565369, -0.7513472441, -0.1459455517]
    for representation in REPRESENTATIONS:
        Q = recursive_inverse_dynamics(tree, RCM5_Q, RCM5_V, RCM5_A, None, None, representation)
        close(Q, np.array(expected), 1e-9)


# --- statements of the book -----------------------------------------------------------------------


def random_state(seed: int, **options) -> tuple[Tree, np.ndarray, np.ndarray, np.ndarray, dict]:
    description = random_description(seed, 7, ('revolute', 'prismatic', 'planar', 'floating'))
    drives = {name: Drive(armature=0.2, damping=0.3) for name in options.pop('driven', ())}
    robot = Robot(description, drives=drives or None, backend='reference', **options)
    tree = build_tree(description, drives=drives or None, **options)
    return tree, *state(robot, seed), random_wrenches(robot, np.random.default_rng(seed))


@SEEDS
@pytest.mark.parametrize('floating', [False, True])
def test_articulated_form(seed, floating):
    """C-058: the same torques as the recursion of Newton and Euler, to 1e-12; rotors included."""
    joints = [
        joint.name
        for joint in random_description(
            seed, 7, ('revolute', 'prismatic', 'planar', 'floating')
        ).joints
        if joint.type in ('revolute', 'prismatic')
    ]
    tree, q, v, a, W = random_state(seed, driven=joints, floating_base=floating)
    expected = inverse_dynamics(tree, q, v, a, GRAVITY, W)
    close(articulated_torques(tree, q, v, a, GRAVITY, W), expected)
    assert any(body.drive.reflected_inertia for body in tree.bodies) == bool(joints)


def test_printed_articulated_form_fails():
    """C-058, E-17, E-18: without the bias acceleration, or with halves of wrenches exchanged."""
    tree = tree_of(random_geometry(1, 5, chain=True), inertias=random_inertias(1, 5))
    q, v, a = np.random.default_rng(1).uniform(-1, 1, (3, 5))
    expected = inverse_dynamics(tree, q, v, a, GRAVITY)
    close(articulated_torques(tree, q, v, a, GRAVITY), expected)
    tip = 4
    result = body_dynamics(tree, q, v, a, GRAVITY)
    body, motion, W = tree.bodies[tip], result.motions[tip], result.wrenches[tip]
    close(body.X.T @ W, expected[body.v])
    assert np.abs(body.X.T @ np.roll(W, 3) - expected[body.v]).max() > 1e-2
    c = screws.motor_product(motion.V[0], body.X @ v[body.v])
    M = represented_inertia((body.m, body.h, body.I), motion.C, 'body')
    assert np.abs(body.X.T @ (W - M @ c) - expected[body.v]).max() > 1e-3


def test_articulated_form_refuses_mimic_joints():
    tree = build_tree(random_description(0, 6, ('revolute',), mimic=1))
    with pytest.raises(ArgumentError, match='mimic'):
        articulated_torques(tree, *np.zeros((3, tree.nv)), GRAVITY)


@SEEDS
def test_superposition(seed):
    """C-061: torques are linear in acceleration, gravity and wrenches; accelerations in tau."""
    tree, q, v, a, W = random_state(seed)
    rest, none = np.zeros(tree.nv), np.zeros(3)
    parts = [
        inverse_dynamics(tree, q, rest, a, none),
        inverse_dynamics(tree, q, v, rest, none),
        inverse_dynamics(tree, q, rest, rest, GRAVITY),
        *(inverse_dynamics(tree, q, rest, rest, none, {link: w}) for link, w in W.items()),
    ]
    tau = inverse_dynamics(tree, q, v, a, GRAVITY, W)
    close(tau, sum(parts))
    close(
        forward_dynamics(tree, q, v, tau, GRAVITY, W),
        forward_dynamics(tree, q, v, rest, GRAVITY)
        + forward_dynamics(tree, q, rest, tau, none)
        + forward_dynamics(tree, q, rest, rest, none, W),
        1e-8,
    )


def test_free_fall():
    """C-061, E-19 of the book: the ground accelerates by -g; a robot let go falls by g, unmoved."""
    description = random_description(3, 6, ('revolute', 'prismatic'))
    robot = Robot(description, floating_base=True, gravity=GRAVITY, backend='reference')
    q, _, _ = state(robot)
    rest = np.zeros(robot.nv)
    a = robot.forward_dynamics(q, rest, rest)
    R = robot.link_pose(q, description.root)[:3, :3]
    close(a, np.concatenate([np.zeros(3), R.T @ GRAVITY, np.zeros(robot.nv - 6)]), 1e-10)
    close(robot.joint_wrenches(q, rest, a), np.zeros((len(robot.link_names), 6)), 1e-10)


@REPRESENTATION
def test_columns_of_the_mass_matrix_are_torques(representation):
    """C-063: column k is the torque for unit acceleration of joint k, at rest, no gravity."""
    tree, q, _, _, _ = random_state(2)
    rest = np.zeros(tree.nv)
    columns = [
        recursive_inverse_dynamics(tree, q, rest, e, None, None, representation)
        for e in np.eye(tree.nv)
    ]
    M = mass_matrix(tree, q)
    close(np.stack(columns, axis=1), M)
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0


def test_golden_terms_of_the_planar_arm():
    """C-064, 8.2: M, c and g of the planar arm."""
    arm = geometry.BodyScrews([np.eye(4), se3.pose(np.eye(3), [1, 0, 0])], [[0, 0, 1, 0, 0, 0]] * 2)
    tree = tree_of(arm, inertias=[point_mass(), point_mass()])
    q, v = np.array([0.3, 0.4]), np.array([0.5, -0.2])
    M = np.array([[4.842121988, 1.921060994], [1.921060994, 1.0]])
    close(mass_matrix(tree, q), M, 1e-9)
    close(coriolis_torques(tree, q, v), np.array([0.062306935, 0.097354586]), 1e-9)
    g = np.array([0, -9.81, 0])
    close(gravity_torques(tree, q, g), np.array([26.246803774, 7.503101857]), 1e-9)
