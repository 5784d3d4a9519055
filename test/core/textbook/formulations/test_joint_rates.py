# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint rates and accelerations from the twists of all bodies.

Spec IDs: K-24, D-07, D-11 with the erratum E-32.
"""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile.program.tracing import Recorder, Scalar
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.kinematics.robot_geometry import tree_of
from screw_dynamics_ros.core.kinematics.twist_recursions import (
    body_accelerations,
    body_motions,
    body_twists,
)
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.textbook.formulations.factorization import factors
from screw_dynamics_ros.core.textbook.formulations.first_order_forms import (
    joint_accelerations_of,
    joint_rates_of,
    least_squares_rates,
)
from screw_dynamics_ros.core.tree.multibody_tree import GROUND, build_tree
from support.models import random_configuration, random_description
from support.poe_models import REPRESENTATIONS, random_geometry, random_trajectory

SEEDS = pytest.mark.parametrize('seed', range(2))
IN_ALL_REPRESENTATIONS = pytest.mark.parametrize('representation', REPRESENTATIONS)
N = 6


@SEEDS
@IN_ALL_REPRESENTATIONS
def test_joint_rates_and_accelerations_are_recovered(seed, representation):
    """K-24, D-07, D-11: exact for twists that belong together, in every representation."""
    description = random_description(
        seed, 8, ('revolute', 'prismatic', 'planar', 'floating', 'fixed'), mimic=1
    )
    robot = Robot(description, backend='reference', floating_base=True)
    tree, rng = build_tree(description, floating_base=True), np.random.default_rng(seed)
    q, (v, a) = random_configuration(robot, rng), rng.uniform(-1, 1, (2, robot.nv))
    V = body_twists(tree, q, v, representation)
    np.testing.assert_allclose(joint_rates_of(tree, q, V, representation), v, atol=1e-12)
    np.testing.assert_allclose(least_squares_rates(tree, q, V, representation), v, atol=1e-12)
    dV = body_accelerations(tree, q, v, a, representation)
    np.testing.assert_allclose(
        joint_accelerations_of(tree, q, v, dV, representation), a, atol=1e-11
    )


@SEEDS
def test_componentwise_forms(seed):
    """K-24, D-07, D-11: q_i' and q_i'' joint by joint, both brackets of D-07."""
    geometry = random_geometry(seed, N)
    tree, trajectory = tree_of(geometry), random_trajectory(seed, N)
    q, v, a = trajectory[:3]
    body, spatial = (body_motions(tree, q, [v, a], name) for name in ('body', 'spatial'))
    for i, p in enumerate(geometry.parents):
        X = geometry.X[i]
        V, dV = body[i].V
        V_p, dV_p = (
            body[i].transported(0, body[p].V[k]) if p != GROUND else np.zeros(6) for k in (0, 1)
        )
        np.testing.assert_allclose(X @ (V - V_p) / (X @ X), v[i], atol=1e-13)
        for extra in (v[i] * se3.ad(X) @ V, se3.ad(V) @ V_p):
            np.testing.assert_allclose(X @ (dV - dV_p + extra) / (X @ X), a[i], atol=1e-12)
        J, (V, dV) = spatial[i].X[0][:, 0], spatial[i].V
        V_p, dV_p = spatial[p].V if p != GROUND else (np.zeros(6), np.zeros(6))
        np.testing.assert_allclose(J @ (dV - dV_p - se3.ad(V_p) @ V) / (J @ J), a[i], atol=1e-12)


@SEEDS
def test_meaning_of_the_least_squares(seed):
    """E-32: with noise K-24 solves the normal equations of relative twists, not of J q' = V.

    The claim of [K] remark 9, that its residual |J q' - V| is minimal, fails.
    """
    tree, trajectory = tree_of(random_geometry(seed, N)), random_trajectory(seed, N)
    q, v = trajectory[:2]
    V = body_twists(tree, q, v) + 0.1 * np.random.default_rng(seed).normal(size=(N, 6))
    own = factors(tree, q)
    J, X = own.jacobian, own.X
    relative, best = joint_rates_of(tree, q, V), least_squares_rates(tree, q, V)
    np.testing.assert_allclose(X.T @ (own.A_inv @ V.ravel() - X @ relative), 0.0, atol=1e-13)
    np.testing.assert_allclose(J.T @ (V.ravel() - J @ best), 0.0, atol=1e-12)
    assert np.abs(relative - best).max() > 1e-2
    assert np.linalg.norm(J @ relative - V.ravel()) > 1.05 * np.linalg.norm(J @ best - V.ravel())


def test_what_is_refused():
    tree = tree_of(random_geometry(0, 3))
    with pytest.raises(ArgumentError, match=r'V must have shape \(3, 6\).*body1, body2, body3'):
        joint_rates_of(tree, np.zeros(3), np.zeros((2, 6)))
    with pytest.raises(UnknownNameError, match="no representation named 'local'"):
        joint_rates_of(tree, np.zeros(3), np.zeros((3, 6)), 'local')


def test_recorded_scalars():
    tree = tree_of(random_geometry(0, 3, chain=True))
    recorder = Recorder()
    q, v = recorder.inputs('q', 3), recorder.inputs('v', 3)
    for representation in REPRESENTATIONS:
        V = body_twists(tree, q, v, representation)
        rates = joint_rates_of(tree, q, V, representation)
        assert all(isinstance(rate, Scalar) for rate in rates)
