# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wrenches of all joints of a leg: reciprocity, the rules of inspection, golden numbers."""

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import so3
from screw_dynamics_ros.core.textbook.parallel.leg_joints import LegJoints
from support.parallel_robots import unit

KINDS = ('UPS', 'PUS', 'RUS')


def random_leg(kind, seed=0):
    random = np.random.default_rng(seed)
    directions = random.normal(size=(6, 3))
    return LegJoints(
        kind,
        elbow=random.normal(size=3),
        top=random.normal(size=3),
        universal=directions[:2],
        spherical=directions[2:5],
        motor=directions[5],
        motor_point=random.normal(size=3),
    )


def wrenches(leg):
    """Moments about the center of the spherical joint, and forces, by joint."""
    G = leg.partial_wrenches(leg.top)
    return {name: (column[:3], column[3:]) for name, column in zip(leg.names, G.T)}


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('seed', range(3))
def test_wrenches_are_dual_to_twists(kind, seed):
    """C-116: J^T G = 1 for every type of leg."""
    leg = random_leg(kind, seed)
    J = leg.jacobian(np.ones(3))
    assert np.allclose(J.T @ leg.partial_wrenches(np.ones(3)), np.eye(6))
    sizes = [np.linalg.norm(X[:3] if X[:3].any() else X) for X in J.T]  # rad/s or m/s
    assert np.allclose(sizes, 1.0)


def test_golden_leg():
    """C-116, E-37, golden 8.4: l = .7; the motor (0,0,1;0,0,0), first column (0,-1/l,0;0,0,0)."""
    leg = LegJoints('UPS', [0, 0, -0.7], [0, 0, 0], np.eye(3)[:2], np.eye(3))
    G = leg.partial_wrenches([0, 0, 0])
    assert np.allclose(G[:, 2], [0, 0, 0, 0, 0, 1], atol=1e-15)
    assert np.allclose(G[:, 0], [0, 0, 0, 0, -1.428571429, 0], atol=5e-10)


def test_golden_jacobian_of_a_leg():
    """E-37: rows (omega; v) in all columns; the printed one mixes the orders."""
    length = 0.7
    leg = LegJoints('UPS', [0, 0, -length], [0, 0, 0], np.eye(3)[:2], np.eye(3))
    wanted = np.array(
        [
            [1, 0, 0, 1, 0, 0],
            [0, 1, 0, 0, 1, 0],
            [0, 0, 0, 0, 0, 1],
            [0, length, 0, 0, 0, 0],
            [-length, 0, 0, 0, 0, 0],
            [0, 0, 1, 0, 0, 0],
        ]
    )
    assert np.allclose(leg.jacobian([0, 0, 0]), wanted, atol=1e-15)
    printed = wanted.copy()
    printed[:, :3] = np.roll(wanted[:, :3], 3, axis=0)
    assert np.linalg.matrix_rank(printed) < 6


@pytest.mark.parametrize('seed', range(2))
def test_motors_push_along_their_rods(seed):
    """3.25.7: a pure force on the line of the rod, scaled by the lever of the motor."""
    for kind in KINDS:
        leg = random_leg(kind, seed)
        m, f = next(pair for name, pair in wrenches(leg).items() if name in 'PR')
        e = unit(leg.top - leg.elbow)
        lever = {
            'UPS': 1.0,
            'PUS': e @ leg.motor,
            'RUS': e @ np.cross(leg.motor, leg.top - leg.motor_point),
        }[kind]
        assert np.allclose(m, 0.0, atol=1e-10)
        assert np.allclose(f, e / lever)


@pytest.mark.parametrize('seed', range(2))
def test_universal_joints_make_forces_through_the_spherical_joint(seed):
    """3.25.7: no moment about its center, in the plane of it and the other axis."""
    for kind in KINDS:
        leg = random_leg(kind, seed)
        found, rod = wrenches(leg), leg.top - leg.elbow
        for name, other in (('U1', leg.universal[1]), ('U2', leg.universal[0])):
            m, f = found[name]
            assert np.allclose(m, 0.0, atol=1e-9)
            if kind == 'UPS':
                assert f @ rod == pytest.approx(0.0, abs=1e-9)
            elif kind == 'PUS':  # orthogonal to the slide
                assert f @ leg.motor == pytest.approx(0.0, abs=1e-9)
            else:  # meets the axis of the motor
                arm = leg.top - leg.motor_point
                assert np.cross(arm, f) @ leg.motor == pytest.approx(0.0, abs=1e-9)
            assert f @ np.cross(rod, other) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize('seed', range(2))
def test_spherical_joints_make_moments_and_forces(seed):
    """3.25.7, E-52: the moment is orthogonal to the two other axes; the force to none of them."""
    for kind in KINDS:
        leg = random_leg(kind, seed)
        found = wrenches(leg)
        for k in range(3):
            m, f = found[f'S{k + 1}']
            others = np.delete(leg.spherical, k, axis=0)
            assert np.allclose(others @ m, 0.0, atol=1e-9)
            assert abs(f @ leg.spherical[k]) > 1e-6  # the printed rule
            assert np.linalg.norm(f) > 1e-6


def test_special_axes_obey_the_printed_rule():
    """E-52: U axes orthogonal to the strut and orthogonal S axes: f = e × m / l, for UPS."""
    R = so3.exp([0.3, -0.2, 0.5])
    length = 0.7
    leg = LegJoints('UPS', -length * R[:, 2], np.zeros(3), R.T[:2], R.T)
    for name in ('S1', 'S2', 'S3'):
        m, f = wrenches(leg)[name]
        assert np.allclose(f, np.cross(R[:, 2], m) / length, atol=1e-12)


def test_refusals():
    with pytest.raises(ArgumentError, match='kind must be one of'):
        LegJoints('SPS', np.zeros(3), np.ones(3), np.eye(3)[:2], np.eye(3))
    with pytest.raises(ArgumentError, match='universal must have shape'):
        LegJoints('UPS', np.zeros(3), np.ones(3), np.eye(3), np.eye(3))
    stretched = LegJoints('UPS', [0, 0, -1.0], [0, 0, 0], [[1, 0, 0], [0, 0, 1]], np.eye(3))
    with pytest.raises(ArgumentError, match='singular'):
        stretched.partial_wrenches([0, 0, 0])
