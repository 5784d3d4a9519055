# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Manipulability and ellipsoids: what depends on metrics, units and frames, and what does not."""

from dataclasses import astuple

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.arms.inverse.manipulability import (
    dexterity,
    freedoms,
    velocity_ellipsoid,
)
from screw_dynamics_ros.core.arms.inverse.singularities import singularity_report
from screw_dynamics_ros.core.lie import so3
from screw_dynamics_ros.core.lie.se3 import Ad_R
from support.robots import urdf_path


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('panda'))


@pytest.fixture
def rng():
    return np.random.default_rng(2)


def test_invariant_under_units_and_axes(robot, rng):
    """B-130, B-079: millimeters and grams, or link axes instead of root axes, change nothing.

    With the length in the same unit; the plain index sqrt(det(J J^T)) changes.
    """
    q = rng.uniform(-1.0, 1.0, robot.nv)
    J, M = robot.jacobian(q, 'panda_hand'), robot.mass_matrix(q)
    in_metres = dexterity(J, 6, 0.2, M)
    in_millimetres = dexterity(np.vstack([J[:3], 1e3 * J[3:]]), 6, 200.0, 1e6 * 1e3 * M)
    body = dexterity(robot.jacobian(q, 'panda_hand', 'body'), 6, 0.2, M)
    scale = 1e3 / np.sqrt(1e9)  # m/sqrt(kg m^2) in mm/sqrt(g mm^2)
    assert in_millimetres.condition == pytest.approx(in_metres.condition)
    assert in_millimetres.smallest == pytest.approx(scale * in_metres.smallest)
    assert in_millimetres.manipulability == pytest.approx(scale**6 * in_metres.manipulability)
    assert body.manipulability == pytest.approx(in_metres.manipulability)
    assert body.smallest == pytest.approx(in_metres.smallest)
    plain = [np.sqrt(np.linalg.det(X @ X.T)) for X in (J, np.vstack([J[:3], 1e3 * J[3:]]))]
    assert plain[1] != pytest.approx(plain[0], rel=1.0)


def test_least_twist_of_unit_joint_rates(robot, rng):
    """`smallest` bounds |V| from below over joint rates orthogonal to the null motions."""
    q = rng.uniform(-1.0, 1.0, robot.nv)
    J, M, length = robot.jacobian(q, 'panda_hand'), robot.mass_matrix(q), 0.3
    measures = dexterity(J, 6, length, M)
    D = np.diag([length] * 3 + [1.0] * 3)
    found = np.inf
    for wrench in rng.normal(size=(2000, 6)):  # rates M^-1 J^T w have no part along null motions
        rates = np.linalg.solve(M, J.T @ D @ wrench)
        found = min(found, np.linalg.norm(D @ J @ rates) / np.sqrt(rates @ M @ rates))
    assert measures.smallest <= found + 1e-12
    assert found < 3.0 * measures.smallest + 0.1


def test_rank_and_freedoms(robot):
    """At zero the Panda has lost a freedom; a link behind one joint has one."""
    zero = np.zeros(robot.nv)
    singular = dexterity(robot.jacobian(zero, 'panda_hand'), 6, 0.2)
    assert (singular.rank, singular.condition) == (5, np.inf)
    assert singular.smallest == pytest.approx(0.0, abs=1e-12)
    stack = np.linspace(-1.0, 1.0, 3)[:, None] * np.ones(robot.nv)
    assert freedoms(robot.jacobian(stack, 'panda_hand')) == 6
    assert freedoms(robot.jacobian(stack, 'panda_link1')) == 1
    assert freedoms(robot.jacobian(stack, 'panda_link0')) == 0
    assert dexterity(robot.jacobian(zero, 'panda_link0'), 0, 0.2).manipulability == 0.0


@pytest.mark.parametrize('with_inertia', [False, True])
def test_velocities_of_unit_joint_rates_lie_in_the_ellipsoid(robot, rng, with_inertia):
    """B-130. Forces of the ellipsoid with the inverse semi-axes take torques of size 1."""
    q = rng.uniform(-1.0, 1.0, robot.nv)
    J, M = robot.jacobian(q, 'panda_hand', 'body'), robot.mass_matrix(q)
    metric = M if with_inertia else np.eye(robot.nv)
    axes, semi_axes = velocity_ellipsoid(J, M if with_inertia else None)
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    rates = rng.normal(size=(500, robot.nv))
    rates /= np.sqrt(np.einsum('ki,ij,kj->k', rates, metric, rates))[:, None]
    inside = ((rates @ J[3:].T @ axes / semi_axes) ** 2).sum(axis=1)
    assert inside.max() <= 1.0 + 1e-12
    for axis, size in zip(axes.T, semi_axes):
        torque = J[3:].T @ axis / size  # of the force 1/size along the axis
        assert torque @ np.linalg.solve(metric, torque) == pytest.approx(1.0)


def test_turning_the_frame_turns_the_ellipsoid(robot, rng):
    J = robot.jacobian(rng.uniform(-1.0, 1.0, robot.nv), 'panda_hand')
    R = so3.exp(rng.normal(size=3))
    axes, semi_axes = velocity_ellipsoid(J)
    turned, sizes = velocity_ellipsoid(Ad_R(R) @ J)
    np.testing.assert_allclose(sizes, semi_axes, atol=1e-12)
    np.testing.assert_allclose(np.abs(np.sum((R @ axes) * turned, axis=0)), 1.0, atol=1e-9)


def test_flat_ellipsoids_and_singular_metrics_stay_finite():
    J = np.zeros((6, 2))
    J[3, 0] = J[3, 1] = 1.0
    np.testing.assert_allclose(velocity_ellipsoid(J)[1], [np.sqrt(2.0), 0.0, 0.0], atol=1e-15)
    massless = np.diag([1.0, 0.0])
    assert np.isfinite(velocity_ellipsoid(J, massless)[1]).all()
    assert np.isfinite(dexterity(J, 1, 1.0, massless).smallest)


def test_same_as_the_singularity_report(robot, rng):
    """Which has more to tell and takes longer."""
    q = rng.uniform(-1.0, 1.0, robot.nv)
    for link, freedom in (('panda_hand', 6), ('panda_link4', 4)):
        J, M = robot.jacobian(q, link), robot.mass_matrix(q)
        report = singularity_report(J, length=0.2, joint_metric=M)
        measures = dexterity(J, freedom, 0.2, M)
        for name in ('smallest', 'condition', 'rank', 'manipulability'):
            assert getattr(measures, name) == pytest.approx(getattr(report, name)), name


def test_dexterities(rng):
    """Regular, singular and zero Jacobians, by their singular values."""
    J = rng.normal(size=(20, 6, 5))
    J[3, :, 2] = J[3, :, 1]
    J[4] = 0.0
    for freedom in (0, 4, 5):
        for one in J:
            row = astuple(dexterity(one, freedom, 0.3))
            s = np.linalg.svd(np.diag([0.3] * 3 + [1.0] * 3) @ one, compute_uv=False)[:freedom]
            rank = np.count_nonzero(s > 1e-9)
            condition = s[0] / s[-1] if freedom and rank == freedom else np.inf
            expected = s[-1] if freedom else 0.0, condition, rank, freedom and np.prod(s)
            np.testing.assert_allclose(row, expected, rtol=1e-9, atol=1e-14)
