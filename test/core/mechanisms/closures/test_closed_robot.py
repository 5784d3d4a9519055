# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Kinematics and dynamics of closed mechanisms against independent equations (C-009, C-010, C-014).

Oracles: absolute coordinates with the same closures, MuJoCo's equality constraints, the potential
and kinetic energies, finite differences.
"""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.errors import InfeasibleConstraintsError, SingularClosureError
from screw_dynamics_ros.core.linear import least_squares
from screw_dynamics_ros.core.mechanisms.closures import ClosedRobot
from screw_dynamics_ros.core.mechanisms.closures.example_loops import golden_four_bar
from support.closed_chains import (
    EXCAVATOR,
    accelerations_of_bodies,
    excavator,
    figure_5_7,
    four_revolute_one_prismatic,
    slider_with_prismatic_cut,
)
from support.compilation import needs_llvmlite

CHAINS = [
    golden_four_bar,
    figure_5_7,
    four_revolute_one_prismatic,
    slider_with_prismatic_cut,
    excavator,
]
LINKS = dict(zip(CHAINS, ['coupler', 'ee1', 'upper', 'slider', 'tooth']))
STEP = 1e-5


def sample(closed: ClosedRobot, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Return q near the assembly, v and a of the motors."""
    rng = np.random.default_rng(seed)
    q = closed.assembly[closed.places] + rng.uniform(-0.05, 0.05, closed.nq)
    return q, *rng.standard_normal((2, closed.nv))


def slope(function, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the derivative of a function along v."""
    return (np.asarray(function(q + STEP * v)) - function(q - STEP * v)) / (2 * STEP)


@pytest.mark.parametrize('chain', CHAINS)
def test_rates_and_accelerations_of_passive_joints(chain) -> None:
    """Finite differences of the position closure, along a motion with acceleration (C-009)."""
    closed = chain()
    q, v, a = sample(closed)
    state = closed.state(q, v)
    np.testing.assert_allclose(slope(closed.configuration, q, v), state.v, atol=1e-8)
    later, before = (closed.state(q + h * v, v + h * a, state.q).v for h in (STEP, -STEP))
    numeric = (later - before) / (2 * STEP)
    np.testing.assert_allclose(numeric, state.G @ a + state.d, rtol=1e-7, atol=1e-6)


@pytest.mark.parametrize('chain', CHAINS)
def test_active_joint_jacobian(chain) -> None:
    """The twist of a link with its loops closed, by finite differences (5.29), (C-010)."""
    closed, link = chain(), LINKS[chain]
    q, v, _ = sample(closed)
    J = closed.jacobian(q, link)
    C = closed.link_pose(q, link)
    dC = slope(lambda x: closed.link_pose(x, link), q, v)
    W = dC[:3, :3] @ C[:3, :3].T
    twist = np.array([W[2, 1], W[0, 2], W[1, 0], *dC[:3, 3]])
    np.testing.assert_allclose(J @ v, twist, atol=1e-8)
    np.testing.assert_allclose(closed.velocity(q, v, link), twist, atol=1e-8)


def test_whole_chain_jacobian_of_figure_5_7() -> None:
    """Both end-effectors of Fig. 5.7, and no motion of ee1 by the joint of the other branch."""
    closed = figure_5_7()
    q, v, _ = sample(closed)
    for link in ('ee1', 'ee2'):
        numeric = slope(lambda x, link=link: closed.link_pose(x, link)[:3, 3], q, v)
        np.testing.assert_allclose(closed.jacobian(q, link)[3:] @ v, numeric, atol=1e-8)
    assert np.abs(closed.jacobian(q, 'ee1')[:, 2]).max() < 1e-14


@pytest.mark.parametrize('chain', CHAINS)
def test_torques_do_the_work_of_the_energy(chain) -> None:
    """Gravity torques are the slope of the potential energy; tau v is the rise of the total one."""
    closed = chain()
    q, v, a = sample(closed)
    numeric = [slope(closed.potential_energy, q, e) for e in np.eye(closed.nq)]
    np.testing.assert_allclose(closed.gravity_torques(q), numeric, rtol=1e-6, atol=1e-6)
    assert 0.5 * v @ closed.mass_matrix(q) @ v == pytest.approx(closed.kinetic_energy(q, v))

    def energy(t: float) -> float:
        at, rate = q + t * v + 0.5 * t * t * a, v + t * a
        return closed.kinetic_energy(at, rate) + closed.potential_energy(at)

    power = (energy(STEP) - energy(-STEP)) / (2 * STEP)
    assert closed.inverse_dynamics(q, v, a) @ v == pytest.approx(power, rel=1e-6, abs=1e-5)


@pytest.mark.parametrize('chain', CHAINS)
def test_against_absolute_coordinates(chain) -> None:
    """The same accelerations of all bodies as with a pose for each and joints as constraints."""
    closed = chain()
    q, v, _ = sample(closed)
    tau = 10.0 * np.random.default_rng(5).standard_normal(closed.nv)
    a = closed.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(closed.inverse_dynamics(q, v, a), tau, rtol=1e-9, atol=1e-9)
    ours, independent = accelerations_of_bodies(closed, q, v, tau)
    np.testing.assert_allclose(ours, independent, rtol=1e-6, atol=1e-5)


def test_against_equality_constraints_of_mujoco() -> None:
    """Mass matrix, bias and constraint rows of MuJoCo, solved for the excavator."""
    mujoco = pytest.importorskip('mujoco')
    closed = excavator()
    robot = closed.robot
    spec = mujoco.MjSpec.from_string(EXCAVATOR.read_text())
    for cut in closed.loops.closures:
        equality = spec.add_equality()
        equality.type = mujoco.mjtEq.mjEQ_CONNECT
        equality.objtype = mujoco.mjtObj.mjOBJ_BODY
        equality.name1, equality.name2 = cut.parent, cut.child
        equality.data[:3] = cut.parent_frame[:3, 3]
    spec.compiler.discardvisual = True
    model = spec.compile()
    model.dof_damping[:] = 0.0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    data = mujoco.MjData(model)
    q, v, _ = sample(closed)
    state = closed.state(q, v)
    order = [int(model.joint(name).dofadr[0]) for name in robot.joint_names]
    # The anchors of the equalities are those of the configuration in which it compiles: set them.
    for k, cut in enumerate(closed.loops.closures):
        model.eq_data[k, 3:6] = cut.child_frame[:3, 3]

    def rows(whole: np.ndarray) -> np.ndarray:
        data.qpos[order], data.qvel[order] = whole, state.v
        mujoco.mj_forward(model, data)
        assert data.ne == 12
        return data.efc_J.reshape(-1, model.nv)[:12][:, order]

    h = 1e-6
    dJ = (rows(state.q + h * state.v) - rows(state.q - h * state.v)) / (2 * h)
    J = rows(state.q).copy()
    assert np.abs(J @ state.v).max() < 1e-9
    M = np.zeros((model.nv, model.nv))
    for column, unit in zip(M, np.eye(model.nv)):
        mujoco.mj_mulM(model, data, column, unit)
    M, bias = M[np.ix_(order, order)], data.qfrc_bias[order]
    tau = np.zeros(robot.nv)
    tau[closed.places] = [100.0, 2e4, -3e3, 500.0]
    K = np.block([[M, J.T], [J, np.zeros((12, 12))]])
    whole = np.linalg.lstsq(K, np.concatenate([tau - bias, -dJ @ state.v]), rcond=1e-12)[0]
    found = closed.forward_dynamics(q, v, tau[closed.places])
    np.testing.assert_allclose(found, whole[: robot.nv][closed.places], rtol=1e-6, atol=1e-6)


def test_external_wrenches_act_on_the_motors() -> None:
    """A force at the tooth needs the torques J^T f more (E-54)."""
    closed = excavator()
    q, v, a = sample(closed)
    W = np.array([10.0, -20.0, 5.0, 300.0, 100.0, -500.0])
    more = closed.inverse_dynamics(q, v, a, {'tooth': W}) - closed.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(more, -closed.jacobian(q, 'tooth', 'body').T @ W, atol=1e-7)


@pytest.mark.parametrize('chain', [golden_four_bar, four_revolute_one_prismatic, figure_5_7])
def test_inverse_kinematics(chain) -> None:
    """A pose that the mechanism reaches is reached, in the assembly of the closures."""
    closed, link = chain(), LINKS[chain]
    q = closed.assembly[closed.places] + 0.05
    target = closed.link_pose(q, link)
    found = closed.inverse_kinematics(target, link)
    assert found.success, found.message
    np.testing.assert_allclose(closed.link_pose(found.q, link), target, atol=1e-8)
    target[:3, 3] += [0.0, 0.0, 50.0]
    lost = closed.inverse_kinematics(target, link, restarts=1, max_iterations=20)
    assert not lost.success
    assert 'out of reach' in lost.message
    target[0, 3] = np.nan
    with pytest.raises(ArgumentError, match='target must be a finite'):
        closed.inverse_kinematics(target, link)


def test_hybrid_motion_against_a_dense_solution() -> None:
    """Moved motors: inverse dynamics. Moved elsewhere: all equations hold (C-014)."""
    closed = excavator()
    q, v, a = sample(closed)
    state = closed.state(q, v)
    found = closed.hybrid_dynamics(state.q, state.v, dict(zip(closed.joint_names, a)))
    np.testing.assert_allclose(found.motion, state.G @ a + state.d, rtol=1e-8, atol=1e-8)
    expected = closed.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(found.torques[closed.places], expected, rtol=1e-8, atol=1e-6)

    moved = {'boom_joint': 0.3, 'swing': -0.2}  # a passive joint is moved, cylinders are driven
    driven = {'arm_cylinder': -2500.0, 'bucket_cylinder': 400.0, 'boom_cylinder': 1.7e4}
    found = closed.hybrid_dynamics(state.q, state.v, moved, driven)
    robot, J = closed.robot, closed.closure_jacobian(state.q)
    names = robot.joint_names
    for joint, value in moved.items():
        assert found.motion[names.index(joint)] == value
    for joint, value in driven.items():
        assert found.torques[names.index(joint)] == value
    left = found.torques - J.T @ found.multipliers
    needed = robot.inverse_dynamics(state.q, state.v, found.motion)
    np.testing.assert_allclose(left, needed, rtol=1e-7, atol=1e-6)
    np.testing.assert_allclose(J @ found.motion, -closed.closure_bias(state.q, state.v), atol=1e-8)


def test_hybrid_kinematics_with_springs() -> None:
    """The statics of a four-bar with springs: the least energy over its one freedom (C-014)."""
    closed = golden_four_bar()
    state = closed.state([np.pi / 3])
    stiffness, load = np.array([2.0, 0.0, 5.0]), 0.01
    names = closed.robot.joint_names
    rocker = names.index('rocker_joint')
    found = closed.hybrid_kinematics(state.q, {}, stiffness, {'rocker_joint': load})
    G = state.G[:, 0]
    expected = G * (G[rocker] * load) / (G @ (stiffness * G))
    np.testing.assert_allclose(found.motion, expected, rtol=1e-9)
    moved = closed.hybrid_kinematics(state.q, {'crank_joint': 0.01}, stiffness)
    np.testing.assert_allclose(moved.motion, 0.01 * G, atol=1e-14)


def test_hybrid_motion_refused() -> None:
    closed = golden_four_bar()
    q = closed.assembly
    with pytest.raises(InfeasibleConstraintsError, match='do not admit'):
        closed.hybrid_dynamics(q, np.zeros(3), {'crank_joint': 1.0, 'rocker_joint': 1.0})
    with pytest.raises(SingularClosureError, match='nothing resists'):
        closed.hybrid_kinematics(q, {}, np.zeros(3))
    with pytest.raises(ArgumentError, match='moved and driven'):
        closed.hybrid_dynamics(q, np.zeros(3), {'crank_joint': 1.0}, {'crank_joint': 1.0})


@needs_llvmlite
def test_compiled_closures_are_those_of_the_reference() -> None:
    compiled, reference = golden_four_bar('native'), golden_four_bar()
    for q in ([0.3], [1.4]):
        one, other = (closed.state(q, [0.7]) for closed in (compiled, reference))
        for field in ('q', 'v', 'G', 'd'):
            np.testing.assert_allclose(getattr(one, field), getattr(other, field), atol=1e-11)


def test_least_squares_by_orthogonalization() -> None:
    """Against NumPy, with redundant rows; columns that depend on others are reported."""
    rng = np.random.default_rng(2)
    A, B = rng.standard_normal((7, 4)), rng.standard_normal((7, 2))
    X, independence = least_squares(A, B)
    np.testing.assert_allclose(X, np.linalg.lstsq(A, B, rcond=None)[0], atol=1e-12)
    assert independence[0] == pytest.approx(1.0)
    A[:, 3] = A[:, 0] - A[:, 2] + 1e-9 * rng.standard_normal(7)
    assert least_squares(A, B)[1][3] < 1e-8
