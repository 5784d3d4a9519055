# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The observable part of a contact wrench (C-107), against pseudoinverses and known arms."""

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.estimation import contact_wrench
from screw_dynamics_ros.core.estimation.low_pass import low_pass_step, weights
from screw_dynamics_ros.core.estimation.wrench_observability import (
    ReducedWrench,
    observability,
)
from screw_dynamics_ros.core.lie import so3
from support.robots import urdf_path

LENGTH = 0.3
D = np.diag([LENGTH] * 3 + [1.0] * 3)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.mark.parametrize('joints', [1, 3, 4, 6, 7, 9])
@pytest.mark.parametrize('threshold', [0.01, 0.5])
def test_reduced_wrench_is_the_truncated_pseudoinverse(rng, joints, threshold):
    for _ in range(10):
        J, tau = rng.normal(size=(6, joints)), rng.normal(size=joints)
        seen = observability(J, threshold, LENGTH)
        largest = np.linalg.norm(D @ J, 2)
        expected = D @ np.linalg.pinv((D @ J).T, rcond=threshold / largest) @ tau
        np.testing.assert_allclose(seen.wrench(tau), expected, atol=1e-9)
        assert seen.axis_shares.sum() == pytest.approx(seen.rank)
        assert seen.axis_shares.min() >= 0.0
        assert seen.axis_shares.max() <= 1.0 + 1e-12


@pytest.mark.parametrize('damping', [0.0, 0.05])
def test_the_whole_wrench_where_all_is_observable(rng, damping):
    J, tau = rng.normal(size=(6, 8)), rng.normal(size=8)
    seen = observability(J, 1e-3, LENGTH, damping)
    assert seen.rank == 6
    np.testing.assert_allclose(seen.axis_shares, 1.0, atol=1e-12)
    np.testing.assert_allclose(
        seen.wrench(tau), contact_wrench(J, tau, damping, LENGTH), atol=1e-12
    )
    assert seen.condition == pytest.approx(np.linalg.cond(D @ J))


def test_a_planar_arm_of_three_joints_sees_its_plane(rng):
    robot = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    link, q = robot.link_names[-1], np.array([0.3, 0.9])
    J = robot.jacobian(q, link, 'body')
    third = np.zeros((6, 1))
    axis = J[:3, 0]
    third[:3, 0] = axis  # a third joint through the origin of the link
    seen = observability(np.hstack([J, third]), 1e-3, LENGTH)
    assert seen.rank == 3
    along = np.abs(axis) > 0.5
    np.testing.assert_allclose(seen.axis_shares, [*along, *~along], atol=1e-12)
    w = np.zeros(6)
    w[:3], w[3:] = 2.0 * axis, np.array([3.0, -4.0, 5.0]) * ~along
    np.testing.assert_allclose(seen.wrench(np.hstack([J, third]).T @ w), w, atol=1e-10)


def test_what_is_not_observable_is_zero_and_does_not_disturb(rng):
    """Of any wrench its projection comes back: nothing leaks from the other directions."""
    J, w = rng.normal(size=(6, 4)), rng.normal(size=6)
    seen = observability(J, 1e-3, LENGTH)
    found = seen.wrench(J.T @ w)
    P = seen.directions @ seen.directions.T
    np.testing.assert_allclose(found, D @ P @ np.linalg.solve(D, w), atol=1e-10)
    np.testing.assert_allclose(J.T @ found, J.T @ w, atol=1e-10)  # explains the torques
    np.testing.assert_allclose(seen.axis_shares, np.diag(P), atol=1e-12)


def test_axes_of_the_frame_do_not_matter(rng):
    J, tau, R = rng.normal(size=(6, 4)), rng.normal(size=4), so3.exp(rng.normal(size=3))
    both = np.kron(np.eye(2), R)
    seen, turned = (observability(A, 1e-3, LENGTH) for A in (J, both @ J))
    np.testing.assert_allclose(turned.wrench(tau), both @ seen.wrench(tau), atol=1e-12)
    np.testing.assert_allclose(turned.singular_values, seen.singular_values, atol=1e-12)


def test_covariance_against_samples(rng):
    J, A = rng.normal(size=(6, 5)), rng.normal(size=(5, 5))
    seen, P = observability(J, 0.2, LENGTH, damping=0.1), A @ A.T
    wrenches = np.array([seen.wrench(torques) for torques in np.eye(5)])
    samples = rng.multivariate_normal(np.zeros(5), P, 40_000) @ wrenches
    covariance = seen.covariance(P)
    np.testing.assert_allclose(covariance, np.cov(samples.T), atol=0.05 * np.abs(covariance).max())
    assert covariance.tolist() == covariance.T.tolist()
    blind = np.linalg.solve(D, np.eye(6)) @ (np.eye(6) - seen.directions @ seen.directions.T)
    np.testing.assert_allclose(blind @ np.linalg.solve(D, covariance), 0.0, atol=1e-8)


def test_nothing_is_observable_without_joints_or_motion():
    for J in (np.zeros((6, 0)), np.zeros((6, 3))):
        seen = observability(J, 0.02, LENGTH)
        assert seen.rank == 0
        assert seen.condition == np.inf
        assert seen.axis_shares.tolist() == [0.0] * 6
        assert seen.wrench(np.zeros(J.shape[1])).tolist() == [0.0] * 6
        assert seen.covariance(np.eye(J.shape[1])).tolist() == np.zeros((6, 6)).tolist()


def test_the_threshold_is_exclusive():
    J = np.diag([0.5 / LENGTH] * 3 + [0.5] * 3)
    assert observability(J, 0.5 * (1.0 - 1e-12), LENGTH).rank == 6
    assert observability(np.eye(6), 1.0, 1.0).rank == 0


def test_the_reduced_wrench_is_filtered_and_restarts_after_what_was_left_out(rng):
    seen = observability(rng.normal(size=(6, 7)), 0.0, 1.0)
    one, two = rng.normal(size=(2, 7))
    reduced, step = ReducedWrench(), 10**6
    reduced.filter.set_cutoff(20.0)

    def take(number, torques, restarted=False, what=seen):
        return reduced.take(what, torques, number, 0 if restarted else step)

    np.testing.assert_allclose(take(1, one), seen.wrench(one))
    expected = low_pass_step(
        np.tile(seen.wrench(one), 2), seen.wrench(two), weights(20.0, step * 1e-9)
    )[6:]
    np.testing.assert_allclose(take(2, two), expected)
    np.testing.assert_allclose(take(4, one), seen.wrench(one))  # 3 was left out
    np.testing.assert_allclose(take(5, two, restarted=True), seen.wrench(two))
    assert not np.isfinite(take(6, one * np.nan)).any()
    np.testing.assert_allclose(take(7, one), seen.wrench(one))
    fewer = observability(np.eye(6)[:, :3], 0.0, 1.0)
    np.testing.assert_allclose(take(8, two[:3], what=fewer), fewer.wrench(two[:3]))
    assert take(9, two, what=observability(np.zeros((6, 7)), 0.0, 1.0)) is None
    np.testing.assert_allclose(take(10, two), seen.wrench(two))
