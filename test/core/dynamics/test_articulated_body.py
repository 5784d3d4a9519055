# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The inward pass of articulated bodies against Pinocchio: a subtree that floats by itself.

C-051 to C-053. What `inward` says of a body with all that it carries can be
asked of another library: cut the subtree off and let its root float. With the mass matrix M and the
bias h of base (b) and joints (q) the base resists an acceleration dV by

    (M_bb - M_bq M_qq^-1 M_qb) dV + h_b + M_bq M_qq^-1 (tau - h_q).
"""

from __future__ import annotations

import numpy as np
import pytest

from support.compilation import close
from support.models import (
    ONE_FREEDOM,
    random_configuration,
    random_description,
    random_wrenches,
    to_urdf,
    with_planar_axis_z,
)

pytest.importorskip('pinocchio')

from oracles.pinocchio_model import Pinocchio
from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.description import RobotDescription
from screw_dynamics_ros.core.dynamics.articulated_body import ArticulatedBodies, inward
from screw_dynamics_ros.core.dynamics.spatial_inertia import inertia_matrix
from screw_dynamics_ros.core.lie.se3 import Ad, inverse

SEEDS = pytest.mark.parametrize('seed', range(2))
WRONG = 1e-2  # least deviation of a printed formula that counts as wrong


def model(seed: int, kinds: tuple[str, ...] = ONE_FREEDOM, armature: float = 0.0) -> Robot:
    """Return a random tree of seven joints."""
    description = with_planar_axis_z(random_description(seed, 7, kinds))
    joints = [joint for joint in description.joints if joint.type in ONE_FREEDOM]
    drives = {joint.name: Drive(armature=armature) for joint in joints}
    return Robot(description, drives=drives, friction=False, backend='reference')


def state(robot: Robot, seed: int) -> tuple[np.ndarray, ...]:
    """Return q, v, tau."""
    rng = np.random.default_rng(seed)
    return random_configuration(robot, rng), *rng.uniform(-2.0, 2.0, (2, robot.nv))


def subtree(description: RobotDescription, root: str) -> RobotDescription:
    """Return a link with everything that it carries."""
    kept, joints = {root}, []
    for joint in description.joints:  # random descriptions have parents first
        if joint.parent in kept:
            kept.add(joint.child)
            joints.append(joint)
    links = [link for link in description.links if link.name in kept]
    return RobotDescription.from_parts('subtree', links, joints)


def expected(
    robot: Robot,
    link: str,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    omega: np.ndarray,
    wrenches: dict[str, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Return articulated inertia and bias wrench of a link by Pinocchio, in the link's frame.

    The link turns with `omega`; how fast its origin moves makes no difference.
    """
    alone = Robot(
        subtree(robot.description, link), floating_base=True, gravity=(0, 0, 0), backend='reference'
    )
    oracle = Pinocchio(to_urdf(alone.description), alone)
    q_alone, v_alone, tau_alone, armature = np.zeros(alone.nq), *np.zeros((3, alone.nv))
    q_alone[6], v_alone[:3] = 1.0, omega
    for name in alone.joint_names:
        (here, rates), (there, rates_there) = (r.joint_coordinates(name) for r in (alone, robot))
        q_alone[here], v_alone[rates], tau_alone[rates] = q[there], v[rates_there], tau[rates_there]
        if name in robot.drives:
            armature[rates] = robot.drives[name].armature
    applied = {name: W for name, W in wrenches.items() if name in alone.link_names}
    M = oracle.mass_matrix(q_alone) + np.diag(armature)
    h = oracle.inverse_dynamics(q_alone, v_alone, np.zeros(alone.nv), applied)
    through = M[:6, 6:] @ np.linalg.inv(M[6:, 6:])
    return M[:6, :6] - through @ M[6:, :6], h[:6] + through @ (tau_alone - h)[6:]


def compare(
    robot: Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: dict[str, np.ndarray]
) -> ArticulatedBodies:
    """Compare the inertias and biases of all links; return what the package finds."""
    tree, free = robot.tree, [False] * robot.nv
    bodies = inward(tree, q, v, np.zeros(robot.nv), tau, free, wrenches)
    for link in robot.link_names[1:]:  # a planar joint has two bodies more, without mass
        i, S = tree.frame(link).body, tree.frame(link).S
        omega = S[:3, :3].T @ bodies.omega[i]
        P, beta = expected(robot, link, q, v, tau, omega, wrenches)
        close(Ad(S).T @ bodies.P[i] @ Ad(S), P, 1e-10)  # M_qq^-1 cancels what does not pass
        close(Ad(S).T @ bodies.beta[i], beta, 1e-10)
    return bodies


@SEEDS
@pytest.mark.parametrize('armature', [0.0, 0.3])
def test_articulated_inertia_and_bias(seed, armature):
    """C-051, (6.16), (6.21), (6.24), (6.27): with rotors, torques and wrenches on the way."""
    robot = model(seed, armature=armature)
    q, v, tau = state(robot, seed)
    wrenches = random_wrenches(robot, np.random.default_rng(seed))
    bodies = compare(robot, q, v, tau, wrenches)
    for i, X in bodies.X.items():
        felt = X.T @ bodies.P[i] @ X + armature
        close(bodies.D[i], felt)


@pytest.mark.parametrize('seed', [0, 1, 5])
def test_joints_of_several_freedoms(seed):
    """C-053: planar and floating joints between others."""
    robot = model(seed, ('revolute', 'planar', 'prismatic', 'floating'))
    assert {joint.type for joint in robot.description.joints} >= {'planar', 'floating'}
    q, v, tau = state(robot, seed)
    bodies = compare(robot, q, v, tau, random_wrenches(robot, np.random.default_rng(seed)))
    assert {len(free) for free in bodies.free.values()} == {1, 6}


def test_a_free_body_is_not_felt():
    """C-053: nothing passes through a floating joint; its carrier resists with its own mass."""
    robot = model(1, ('floating',))
    q, v, tau = state(robot, 1)
    carried, cut = (
        inward(robot.tree, q, v, 0 * v, 0 * tau, [fixed] * robot.nv) for fixed in (False, True)
    )
    for i, body in enumerate(robot.tree.bodies):
        close(carried.P[i], inertia_matrix(body))
        on_it = [other for other in robot.tree.bodies if other.parent == i]
        assert (np.abs(cut.P[i] - carried.P[i]).max() > WRONG) == bool(on_it)


@SEEDS
def test_spherical_joint(seed):
    """C-053, 6.2.5: with Z = [1; 0] what passes is blkdiag(0, Mvv - Mvw Mww^-1 Mwv).

    A floating joint whose linear motion is given: only its three turns give way.
    """
    robot = Robot(random_description(seed, 2, ('floating',), chain=True), backend='reference')
    q, v, tau = state(robot, seed)
    turns = np.arange(robot.nv) % 6 < 3
    bodies = inward(robot.tree, q, v, 0 * v, tau, ~turns)
    M = bodies.P[1]
    close(M, inertia_matrix(robot.tree.bodies[1]))
    passed = np.zeros((6, 6))
    passed[3:, 3:] = M[3:, 3:] - M[3:, :3] @ np.linalg.solve(M[:3, :3], M[:3, 3:])
    back = Ad(inverse(bodies.C[1]))
    close(bodies.P[0], inertia_matrix(robot.tree.bodies[0]) + back.T @ passed @ back)
    assert bodies.free[1] == [6, 7, 8]


@SEEDS
def test_a_wrench_passes_by_the_projector(seed):
    """C-052, (6.24), E-15: of a wrench F on a body what its joint does not feel goes on, D P D F.

    The joint of the body is not loaded by it; with P^S = D P^T D, as printed, it would be.
    """
    description = random_description(seed, 2, ('revolute', 'prismatic'), chain=True)
    robot = Robot(description, backend='reference')
    tree, (q, v, tau), free = robot.tree, state(robot, seed), [False, False]
    F = np.random.default_rng(seed).normal(size=6)
    body = tree.bodies[1]
    loaded, bare = (
        inward(tree, q, v, 0 * v, tau, free, wrenches) for wrenches in ({body.name: F}, {})
    )
    onward = bare.beta[0] - loaded.beta[0]
    close(onward, carried(robot, q, v, tau, F))
    X, C = body.X[:, 0], loaded.C[1]
    arriving = Ad(C).T @ onward  # back at the body
    assert abs(X @ arriving) < 1e-12
    W = Ad(inverse(tree.frame(body.name).S)).T @ F
    P = np.eye(6) - np.outer(loaded.U[1][:, 0], X) / loaded.D[1]
    close(arriving, P @ W)
    assert np.abs(P.T @ W - arriving).max() > WRONG
    close(P @ P, P)


def carried(
    robot: Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray, F: np.ndarray
) -> np.ndarray:
    """Return by how much F on the second link relieves the first one, by Pinocchio."""
    first, second = (body.name for body in robot.tree.bodies)
    state, omega = (q, v, tau), np.zeros(3)
    with_F, without = (
        expected(robot, first, *state, omega, wrenches)[1] for wrenches in ({second: F}, {})
    )
    return Ad(inverse(robot.tree.frame(first).S)).T @ (without - with_F)
