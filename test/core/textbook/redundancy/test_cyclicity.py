# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drift of joints over closed paths (C-039), the counter-example E-10, a cyclic alternative."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.arms.inverse.velocity import inverse_velocity
from screw_dynamics_ros.core.textbook.redundancy.cyclicity import (
    cyclic_velocity,
    drift,
    extended_inverse,
)
from screw_dynamics_ros.core.textbook.redundancy.joint_springs import PostureSprings
from support import planar_3r

Q = np.array([0.3, 0.7, 0.6])


COST = PostureSprings([0.0, 1.0, 0.8], np.diag([1.0, 2.0, 1.0]))
ARM = Robot(planar_3r.planar_3r(), backend='reference')


def circle(t):
    """Twist of a tip that goes round a circle of radius 0.3 in 1 s."""
    angle = 2 * np.pi * t
    return 0.6 * np.pi * np.array([-np.sin(angle), np.cos(angle)])


def test_closed_forms_are_those_of_the_robot():
    rows = planar_3r.IN_THE_PLANE
    np.testing.assert_allclose(rows @ ARM.jacobian(Q, 'tip'), planar_3r.jacobian(Q), atol=1e-12)
    slopes = np.einsum('mi,ijk->mjk', rows, ARM.jacobian_partials(Q, 'tip'))
    np.testing.assert_allclose(slopes, planar_3r.partials(Q), atol=1e-12)
    np.testing.assert_allclose(ARM.mass_matrix(Q), planar_3r.mass_matrix(Q), atol=1e-8)


def test_weighted_pseudo_inverse_is_not_cyclic():
    """E-10: with the mass matrix joints drift by 1.188 rad a cycle, with unit weights by 0.0044.

    The book calls the first one cyclic. A constraint that is the derivative of a function of q is:
    C-028 with q_3 = 2 q_2.
    """

    def least_energy(q, V):
        return inverse_velocity(planar_3r.jacobian(q), V, joint_metric=planar_3r.mass_matrix(q)).v

    weighted = drift(least_energy, Q, circle)
    assert weighted.total == pytest.approx(1.188, abs=1e-3)
    assert not weighted.cyclic
    unit = drift(lambda q, V: inverse_velocity(planar_3r.jacobian(q), V).v, Q, circle)
    assert unit.total == pytest.approx(0.0044, abs=1e-4)
    assert not unit.cyclic
    A = [[0.0, 2.0, -1.0]]
    extended = drift(lambda q, V: extended_inverse(planar_3r.jacobian(q), A)[0] @ V, Q, circle)
    assert extended.total < 1e-6
    assert extended.cyclic


def baillieul(gain=20.0):
    """Return joint rates that keep the cost at its extremum for the pose."""

    def resolution(q, V):
        J, dJ = planar_3r.jacobian(q), planar_3r.partials(q)
        return cyclic_velocity(J, dJ, V, COST.gradient(ARM, q), COST.hessian(ARM, q), gain)

    return resolution


def test_extremum_of_a_cost_is_cyclic():
    """C-039: Baillieul's extended Jacobian, drift below 1e-6 rad over two cycles."""
    resolution = baillieul()
    q = drift(resolution, Q, lambda t: np.zeros(2), period=2.0, steps=100).cycles[-1]
    found = drift(resolution, q, circle, cycles=2, steps=120)
    assert found.after_each.max() < 1e-6
    assert found.total < 1e-6
    assert found.cyclic
    np.testing.assert_allclose(planar_3r.tip(q), planar_3r.tip(Q), atol=1e-5)


def test_the_extremum_is_found_and_kept():
    """h = Z^T grad H decays with its gain from anywhere, and stays zero on the way."""

    def h(q):
        Z = np.linalg.svd(planar_3r.jacobian(q))[2][2]
        return abs(Z @ COST.gradient(ARM, q))

    start = h(Q)
    end = drift(baillieul(3.0), Q, lambda t: np.zeros(2), period=1.0).cycles[-1]
    assert h(end) == pytest.approx(start * np.exp(-3.0), rel=1e-6)
    q = drift(baillieul(), Q, lambda t: np.zeros(2), period=2.0).cycles[-1]
    half = drift(baillieul(0.0), q, lambda t: 0.4 * circle(0.4 * t)).cycles[-1]
    assert h(q) < 1e-12
    assert h(half) < 1e-7  # without any gain: A is the derivative of h


def test_refusals():
    for options, message in [
        ({'period': 0.0}, 'period'),
        ({'cycles': 0}, 'at least 1'),
        ({'steps': 1.5}, 'whole number'),
    ]:
        with pytest.raises(ArgumentError, match=message):
            drift(lambda q, V: q, Q, circle, **options)
    J, dJ = np.eye(2, 3), np.zeros((2, 3, 3))
    with pytest.raises(ArgumentError, match='lost rank'):
        cyclic_velocity(np.ones((2, 3)), dJ, np.zeros(2), np.zeros(3), np.eye(3))
    with pytest.raises(ArgumentError, match='dJ must have shape'):
        cyclic_velocity(J, dJ[0], np.zeros(2), np.zeros(3), np.eye(3))
    with pytest.raises(ArgumentError, match='dependent rows'):
        cyclic_velocity(J, dJ, np.zeros(2), np.zeros(3), np.zeros((3, 3)))
