# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Functions of closed mechanisms: both assemblies, mirror images, names, and what is refused."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import (
    ArgumentError,
    InfeasibleConstraintsError,
    SingularClosureError,
    UnknownNameError,
)
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.mechanisms.closures import LoopClosures
from screw_dynamics_ros.core.mechanisms.closures.closure_equations import mobility, rank
from screw_dynamics_ros.core.mechanisms.closures.example_loops import golden_four_bar
from screw_dynamics_ros.core.mechanisms.closures.hybrid import hybrid_motion
from support.closed_chains import EXCAVATOR, excavator, figure_5_7

Q, V, A = np.array([1.1]), np.array([0.7]), np.array([-0.4])


@pytest.fixture(scope='module')
def linkage():
    return golden_four_bar()


def coupler_angles(crank: float) -> list[float]:
    """Return the angles of the coupler to the x axis where it meets the rocker, by two circles."""
    d = np.array([4.0 - np.cos(crank), -np.sin(crank)])
    inner = np.arccos((d @ d + 3.5**2 - 3.0**2) / (2 * np.linalg.norm(d) * 3.5))
    return [np.arctan2(d[1], d[0]) + sign * inner for sign in (1, -1)]


def test_two_assemblies_of_the_linkage(linkage):
    """A seed in the other assembly leads there, and both are where two circles meet."""
    coupler = linkage.robot.joint_names.index('coupler_joint')
    for seed, angle in zip((None, -linkage.assembly), coupler_angles(Q[0])):
        error = linkage.configuration(Q, seed)[coupler] + Q[0] - angle
        assert (error + np.pi) % (2 * np.pi) == pytest.approx(np.pi, abs=1e-9)


def test_mirror_images(linkage):
    """At the x axis: -q in the other assembly has the same inertia and the opposite height."""
    other = -linkage.configuration(Q)  # the seed of each function
    np.testing.assert_allclose(linkage.configuration(-Q, other), other, atol=1e-9)
    M, g = linkage.mass_matrix(Q), linkage.gravity_torques(Q)
    np.testing.assert_allclose(linkage.mass_matrix(-Q, other), M, rtol=1e-9)
    np.testing.assert_allclose(linkage.gravity_torques(-Q, other), g, rtol=1e-9)
    c = linkage.coriolis_torques(Q, V)
    np.testing.assert_allclose(linkage.coriolis_torques(-Q, V, other), -c, rtol=1e-8)
    np.testing.assert_allclose(linkage.coriolis_torques(-Q, -V, other), -c, rtol=1e-8)
    assert abs(c[0]) > 0.1
    T, U = linkage.kinetic_energy(Q, V), linkage.potential_energy(Q)
    assert linkage.kinetic_energy(-Q, V, other) == pytest.approx(T, rel=1e-9)
    assert linkage.potential_energy(-Q, other) == pytest.approx(-U, rel=1e-9)
    com = linkage.center_of_mass(Q)
    np.testing.assert_allclose(linkage.center_of_mass(-Q, other), com * [1, -1, 1], atol=1e-9)
    assert linkage.robot.total_mass * 9.81 * com[1] == pytest.approx(U, rel=1e-9)

    tau = linkage.inverse_dynamics(Q, V, A)
    np.testing.assert_allclose(tau, M @ A + c + g, rtol=1e-9)
    np.testing.assert_allclose(
        linkage.inverse_dynamics(-Q, V, A, seed=other), M @ A - c + g, rtol=1e-8
    )
    a = linkage.forward_dynamics(-Q, V, M @ A - c + g, seed=other)
    np.testing.assert_allclose(a, A, rtol=1e-8)

    pose, mirrored = linkage.link_pose(Q, 'coupler'), linkage.link_pose(-Q, 'coupler', other)
    np.testing.assert_allclose(mirrored[:3, 3], pose[:3, 3] * [1, -1, 1], atol=1e-9)
    poses = linkage.link_poses(-Q, other)
    np.testing.assert_array_equal(poses[linkage.link_names.index('coupler')], mirrored)
    assert poses.shape == (4, 4, 4)
    J = linkage.jacobian(Q, 'coupler')
    np.testing.assert_allclose(
        linkage.jacobian(-Q, 'coupler', seed=other), J * [[1], [1], [1], [-1], [1], [1]], atol=1e-8
    )
    twist = linkage.velocity(-Q, V, 'coupler', seed=other)
    np.testing.assert_allclose(twist, V[0] * J[:, 0] * [1, 1, 1, -1, 1, 1], atol=1e-8)
    found = linkage.mobility(-Q, other)
    assert (found.mobility, found.gained) == (1, 0)
    state = linkage.state(-Q, V, other)
    np.testing.assert_allclose(state.G, linkage.state(Q).G, atol=1e-8)


@pytest.mark.parametrize('representation', ['body', 'spatial', 'hybrid'])
def test_representations_of_twists(linkage, representation):
    """All from the hybrid one by the pose."""
    C = linkage.link_pose(Q, 'coupler')
    turned = np.eye(4)
    turned[:3, :3] = C[:3, :3]
    body = se3.Ad(se3.inverse(turned)) @ linkage.velocity(Q, V, 'coupler')
    expected = {'body': body, 'spatial': se3.Ad(C) @ body, 'hybrid': se3.Ad(turned) @ body}[
        representation
    ]
    np.testing.assert_allclose(
        linkage.velocity(Q, V, 'coupler', representation), expected, atol=1e-9
    )
    J = linkage.jacobian(Q, 'coupler', representation)
    np.testing.assert_allclose(J @ V, expected, atol=1e-9)


def test_wrenches_in_forward_dynamics(linkage):
    """M a = tau - c - g + J^T w."""
    W = np.array([0, 0, 3.0, -2.0, 5.0, 0])
    a = linkage.forward_dynamics(Q, V, [2.0], {'coupler': W})
    power = linkage.jacobian(Q, 'coupler', 'body').T @ W
    rest = linkage.coriolis_torques(Q, V) + linkage.gravity_torques(Q)
    np.testing.assert_allclose(linkage.mass_matrix(Q) @ a, 2.0 - rest + power, rtol=1e-9)


def test_what_it_is():
    closed = excavator()
    assert repr(closed) == "ClosedRobot('excavator', nv=4 of 12 joints, 4 closures)"
    assert (closed.nq, closed.nv, closed.freedoms_of('tooth')) == (4, 4, 4)
    assert closed.velocity_labels == list(closed.joint_names)
    assert set(closed.passive) | set(closed.joint_names) == set(closed.robot.joint_names)
    assert not set(closed.passive) & set(closed.joint_names)
    assert closed.link_names == closed.robot.link_names
    file = ElementTree.parse(EXCAVATOR)
    unlimited = {'lower': '-inf', 'upper': 'inf', 'velocity': 'inf', 'effort': 'inf'}
    for k, name in enumerate(closed.joint_names):
        limit = file.find(f"joint[@name='{name}']/limit")
        for field in ('lower', 'upper', 'velocity', 'effort'):
            assert getattr(closed.limits, field)[k] == float(limit.get(field, unlimited.get(field)))
    chain = figure_5_7(sensed=['j5', 'j1', 'j4'])
    assert chain.sensed == ('j1', 'j4', 'j5')  # in the order of the tree


def test_way_from_the_seed(linkage):
    """In strides of at most 0.1 rad, the shorter way around; given joints stand as given."""
    start = linkage.assembly[linkage.places]
    near = linkage.close(start + 0.09)
    assert near.success
    assert near.message == 'closed'
    assert near.q[linkage.places] == start + 0.09
    assert 0.0 < near.gap <= linkage.tolerance
    for turns in (-2, 0, 1):
        far = linkage.close(start + 1.0 + 2 * np.pi * turns)
        np.testing.assert_allclose(far.q[1:], linkage.configuration(start + 1.0)[1:], atol=1e-9)
        assert far.q[linkage.places] == start + 1.0 + 2 * np.pi * turns
    exact = linkage.close(start, linkage.assembly)
    assert exact.iterations == 0
    loose = linkage.close(start + 0.09, tolerance=1e-3)
    assert loose.success
    assert loose.iterations < near.iterations
    assert near.gap < loose.gap <= 1e-3
    hurried = linkage.close(start + 0.09, max_iterations=1)
    assert (hurried.success, hurried.iterations) == (False, 1)
    assert f'gape by {hurried.gap:.3g} after 1 Newton steps; the given' in hurried.message
    hurried = linkage.close(start + 0.95, max_iterations=0)
    assert 'after 0 Newton steps, on the way from the seed in 10 strides;' in hurried.message


def test_inverse_kinematics_in_its_assembly(linkage):
    """A pose of the other assembly is not reached by closing the loops from this one."""
    other = linkage.link_pose(Q, 'coupler', -linkage.assembly)
    found = linkage.inverse_kinematics(other, 'coupler', restarts=4)
    assert not found.success
    assert found.residual > 1e-9
    message = linkage.inverse_kinematics(other, 'coupler', max_iterations=0).message
    assert 'after 20 restarts is' in message
    mine = linkage.link_pose(Q, 'coupler')
    found = linkage.inverse_kinematics(mine, 'coupler')
    assert found.success
    assert found.message == 'solved'
    assert found.residual <= 1e-9
    np.testing.assert_allclose(found.q, Q, atol=1e-8)
    near = linkage.inverse_kinematics(mine, 'coupler', Q + 1e-3)
    assert near.success
    assert near.iterations < found.iterations
    lost = linkage.inverse_kinematics(mine, 'coupler', max_iterations=1, restarts=0)
    assert (lost.success, lost.iterations) == (False, 1)
    assert 'after 0 restarts is' in lost.message
    assert f'{lost.residual:.3g} (tolerance 1e-09)' in lost.message
    assert linkage.inverse_kinematics(mine, 'coupler', Q, max_iterations=0, restarts=0).success


@pytest.mark.parametrize(
    ('call', 'error', 'message'),
    [
        (lambda c: c.inverse_kinematics(np.eye(3), 'coupler'), ArgumentError, 'target must'),
        (lambda c: c.inverse_kinematics(np.eye(4), 'hand'), UnknownNameError, 'hand'),
        (
            lambda c: c.inverse_kinematics(np.eye(4), 'coupler', tolerance=-1.0),
            ArgumentError,
            'tolerance must be',
        ),
        (
            lambda c: c.inverse_kinematics(np.eye(4), 'coupler', restarts=-1),
            ArgumentError,
            'restarts must be a whole number',
        ),
        (
            lambda c: c.inverse_kinematics(np.eye(4), 'coupler', max_iterations=0.5),
            ArgumentError,
            'max_iterations must be a whole number',
        ),
        (lambda c: c.state(Q, [np.inf]), ArgumentError, 'v must hold finite numbers, got .inf'),
        (lambda c: c.state(Q, [1.0, 2.0]), ArgumentError, r'v must have shape \(1,\)'),
        (lambda c: c.close(Q, [0.0]), ArgumentError, r'seed must have shape \(3,\)'),
        (lambda c: c.close(Q, [0.0, np.nan, 0]), ArgumentError, 'seed must hold finite numbers'),
        (lambda c: c.inverse_dynamics(Q, V, [np.nan]), ArgumentError, 'a must hold finite'),
        (lambda c: c.forward_dynamics(Q, V, [np.nan]), ArgumentError, 'tau must hold finite'),
        (lambda c: c.forward_dynamics(Q, V, [1, 2]), ArgumentError, r'tau must have shape \(1,\)'),
        (lambda c: c.closure_jacobian([0.0]), ArgumentError, r'whole must have shape \(3,\)'),
        (
            lambda c: c.closure_bias(np.zeros(3), [0.0]),
            ArgumentError,
            r'rates must have shape \(3,\)',
        ),
        (
            lambda c: c.hybrid_dynamics(np.zeros(3), np.zeros(3), {'knee': 1.0}),
            UnknownNameError,
            "no joint named 'knee'; there are crank_joint, coupler_joint, rocker_joint",
        ),
        (
            lambda c: c.hybrid_dynamics(np.zeros(3), np.zeros(3), {}, {'crank_joint': np.nan}),
            ArgumentError,
            "joint 'crank_joint': nan is not a finite number",
        ),
        (
            lambda c: c.hybrid_kinematics(np.zeros(3), {}, [1.0, np.inf, 1.0]),
            ArgumentError,
            'stiffness must hold finite',
        ),
    ],
)
def test_refused(linkage, call, error, message):
    with pytest.raises(error, match=message):
        call(linkage)


def test_hybrid_motion_of_two_masses():
    """Masses 2 and 3 tied together, x_1 = 2 x_2: by hand, moved and driven (C-014)."""
    M, J = np.diag([2.0, 3.0, 5.0]), np.array([[1.0, -2.0, 0.0]])
    h, b = np.array([0.5, -1.0, 4.0]), np.array([0.3])
    torques = np.array([7.0, 1.0, 9.0])
    driven = hybrid_motion(M, J, np.zeros(3, dtype=bool), np.zeros(3), torques, h, b)
    # with x_1 = 2 x_2 - b: 2 (7 - 0.5 - 2 x_1) + (1 + 1 - 3 x_2) = 0
    x_2 = (2 * (6.5 + 2 * 0.3) + 2.0) / 11.0
    np.testing.assert_allclose(driven.motion, [2 * x_2 - 0.3, x_2, 1.0])
    np.testing.assert_allclose(driven.multipliers, [6.5 - 2 * (2 * x_2 - 0.3)])
    np.testing.assert_array_equal(driven.torques, torques)

    moved = np.array([True, False, False])
    found = hybrid_motion(M, J, moved, np.array([1.1, 0, 0]), torques, h, b)
    np.testing.assert_allclose(found.motion, [1.1, 0.7, 1.0])
    force = (3 * 0.7 - 2.0) / 2  # what the tie takes from the second mass, halved
    np.testing.assert_allclose(found.torques, [2 * 1.1 + 0.5 + force, 1.0, 9.0])
    np.testing.assert_allclose(found.multipliers, [force])
    with pytest.raises(InfeasibleConstraintsError, match=r'1 is left; move fewer joints'):
        hybrid_motion(M, J, np.array([True, True, False]), np.array([1.7, 0.5, 0]), torques, h, b)
    with pytest.raises(SingularClosureError, match='nothing resists 2 motions of the joints'):
        hybrid_motion(0 * M, J, np.zeros(3, dtype=bool), np.zeros(3), torques, h, b)


def test_rank_and_mobility():
    """Singular values below 1e-8 of the largest do not count (C-011)."""
    assert rank(np.diag([3.0, 4e-8, 0.0])) == 2
    assert rank(np.diag([3.0, 2e-8, 0.0])) == 1
    assert rank(np.zeros((2, 3))) == rank(np.zeros((0, 3))) == rank(np.zeros((3, 0))) == 0
    J = np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [1.0, 1.0, 0, 0]])
    found = mobility(J, [1, 3])
    assert (found.joint_freedoms, found.equations, found.rank) == (4, 3, 2)
    assert (found.mobility, found.redundant, found.gained) == (2, 1, 1)


def test_loop_closures_are_values():
    cut = golden_four_bar().loops.closures[0]
    loops = LoopClosures([cut], ['a', 'b'], positions={'c': 1.0})
    assert loops.closures == (cut,)
    assert (loops.actuated, loops.sensed, loops.tolerance) == (('a', 'b'), ('a', 'b'), 1e-3)
    assert LoopClosures([cut], ['a'], ['b', 'c']).sensed == ('b', 'c')
    for tolerance in (0.0, -1.0, np.nan):
        with pytest.raises(ArgumentError, match='tolerance of loop closures must be a finite pos'):
            LoopClosures([cut], ['a'], tolerance=tolerance)


def test_restarts_search_the_whole_turn(linkage):
    """Of a crank without limits: from -1.5 rad few steps lead nowhere, near 1.5 rad they do."""
    target = linkage.link_pose([1.5], 'coupler')
    few = {'max_iterations': 5, 'q0': [-1.5]}
    assert not linkage.inverse_kinematics(target, 'coupler', restarts=0, **few).success
    found = linkage.inverse_kinematics(target, 'coupler', restarts=40, **few)
    assert found.success
    np.testing.assert_allclose(found.q, [1.5], atol=1e-7)
    again = linkage.inverse_kinematics(target, 'coupler', restarts=40, seed=3, **few)
    assert again.success
    assert again.iterations != found.iterations
