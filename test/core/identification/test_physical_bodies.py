# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The physically possible bodies nearest to data, against SciPy's minimum over factors of Sigma."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.identification import EffortModel
from screw_dynamics_ros.core.identification.physical_fit import fit_bodies
from screw_dynamics_ros.core.identification.pseudo_inertia import (
    metric,
    parameters_of,
    physical,
    pseudo_inertia,
)
from screw_dynamics_ros.core.identification.unknowns import Unknowns
from support.robots import UNIT_INERTIA, one_joint

BODY = f'<inertial><origin xyz="0.3 0.1 0"/><mass value="2"/>{UNIT_INERTIA}</inertial>'
TEXT = one_joint('<axis xyz="0 1 0"/>', 'continuous').replace(
    '<link name="b"/>', f'<link name="b">{BODY}</link>'
)


@pytest.fixture(scope='module')
def unknowns():
    """Return ten parameters of a body, armature, friction and an offset of one joint."""
    return Unknowns(Robot.from_urdf(TEXT, backend='reference'), EffortModel())


@pytest.fixture(scope='module')
def L(unknowns):
    return unknowns.deviations(*np.array([[8.0], [2.0], [4.0]]))


def fitted(unknowns, L, target, weight):
    """Return the fit to all parameters, measured with the same relative weight."""
    R = weight * np.linalg.inv(L)
    return fit_bodies(unknowns, np.eye(len(target)), (R, R @ target), L)


def test_possible_data_are_reproduced(unknowns, L):
    """With weights of 1000 only a millionth of the difference from the nominal robot remains."""
    target = unknowns.nominal.copy()
    target[:10] *= 1.3
    target[10:] = [0.2, 0.4, 0.6, -0.3]
    theta, success = fitted(unknowns, L, target, 1e3)
    assert success
    np.testing.assert_allclose(theta, target, rtol=1e-4, atol=1e-5)


def test_impossible_drives_are_zero_and_offsets_may_be_negative(unknowns, L):
    names = [name.rpartition('/')[2] for name in unknowns.names[10:]]
    assert names == ['armature', 'damping', 'coulomb', 'offset']
    target = unknowns.nominal.copy()
    target[10:] = [-0.5, -1.0, 0.7, -2.0]
    theta, _ = fitted(unknowns, L, target, 1e2)
    assert theta[10:12].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(theta[12:], [0.7, -2.0], rtol=1e-3)


@pytest.mark.parametrize(('share', 'is_zero'), [(0.9e-4, True), (1.1e-4, False)])
def test_drives_below_a_ten_thousandth_of_their_prior_are_zero(unknowns, L, share, is_zero):
    """The barrier, of weight 1e-6 beside 1e6 of the data, leaves this number as it is."""
    target = unknowns.nominal.copy()
    target[10:] = np.diag(L)[10:] * [0.5, share, 0.5, 0.0]
    theta, _ = fitted(unknowns, L, target, 1e5)
    assert (theta[11] == 0.0) == is_zero
    if not is_zero:
        assert theta[11] == pytest.approx(target[11], rel=0.05)


def test_impossible_bodies_become_the_nearest_possible_ones(unknowns, L):
    """The minimum of the same squares over Sigma = F F^T, by SciPy's BFGS."""
    target = unknowns.nominal.copy()
    target[4] -= 1.6  # a negative moment of inertia
    target[1] += 0.5
    weight, nominal = 30.0, unknowns.nominal[:10]
    inverse = np.linalg.inv(L[:10, :10])

    def cost(factor):
        F = np.zeros((4, 4))
        F[np.tril_indices(4)] = factor
        phi = parameters_of(F @ F.T)
        data, prior = inverse @ (phi - target[:10]), inverse @ (phi - nominal)
        return 0.5 * (weight**2 * data @ data + prior @ prior)

    start = np.linalg.cholesky(physical(nominal))[np.tril_indices(4)]
    best = minimize(cost, start, method='BFGS', options={'gtol': 1e-9, 'maxiter': 2000})
    theta, success = fitted(unknowns, L, target, weight)
    assert success
    Sigma = pseudo_inertia(theta[:10])
    assert np.linalg.eigvalsh(Sigma)[0] > 0.0
    own = np.linalg.cholesky(Sigma)[np.tril_indices(4)]
    assert cost(own) == pytest.approx(best.fun, rel=1e-3)
    assert np.linalg.eigvalsh(pseudo_inertia(target[:10]))[0] < 0.0


def test_parameters_without_data_stay_near_the_nominal_robot(unknowns, L):
    """Only the first moment along z and the damping are measured; the barrier is a thousandth."""
    k = [unknowns.names.index(name) for name in ('b/mz', 'j/damping')]
    grouping = np.eye(len(unknowns.names))[k]
    wanted = unknowns.nominal[k] + [0.1, 0.3]
    R = 1e3 * np.diag(1.0 / np.linalg.norm(grouping @ L, axis=1))
    theta, success = fit_bodies(unknowns, grouping, (R, R @ wanted), L)
    assert success
    np.testing.assert_allclose(theta[k], wanted, atol=1e-4)
    change = np.linalg.solve(L, theta - unknowns.nominal)
    shift = np.linalg.solve(L, np.eye(len(theta))[k[0]])
    # the smallest change of the body with this first moment, in the metric of the prior
    least = 0.1 / np.linalg.norm(L[k[0]])
    assert np.linalg.norm(change[:10]) == pytest.approx(least, rel=2e-2)
    assert np.linalg.norm(0.1 * shift) > least


# --- pseudo-inertias ------------------------------------------------------------------------------


@pytest.mark.parametrize('radius', [1e-3, 0.05])
def test_the_smallest_radius_of_gyration(radius):
    """Second moments about the center of mass are m r^2 at least; others are as they were."""
    second = np.diag([0.3, 0.02, 1e-9])
    com, m = np.array([0.3, -0.2, 0.5]), 2.0
    Sigma = np.block([[second + m * np.outer(com, com), m * com[:, None]], [m * com, m]])
    found = physical(parameters_of(Sigma), radius)
    expected = np.diag(np.maximum([0.3, 0.02, 1e-9], m * radius**2))
    np.testing.assert_allclose(found[:3, :3] - m * np.outer(com, com), expected, atol=1e-12)
    np.testing.assert_allclose(found[3], [*(m * com), m])
    default = physical(parameters_of(Sigma))
    np.testing.assert_allclose(default, physical(parameters_of(Sigma), 1e-3))


def test_bodies_without_mass_get_a_milligram():
    found = physical(np.zeros(10))
    np.testing.assert_allclose(found, np.diag([1e-12, 1e-12, 1e-12, 1e-6]))


def test_a_displacement_by_the_radius_is_a_difference_of_the_root_of_two():
    """Of a sphere: the first moment stands twice in Sigma; small bodies count as 5 cm."""
    for r, typical in ((0.2, 0.2), (0.01, 0.05)):
        m = 3.0
        phi = parameters_of(np.diag([m * r**2] * 3 + [m]))
        change = np.zeros(10)
        change[2] = m * typical
        assert np.linalg.norm(metric(phi) @ change) == pytest.approx(np.sqrt(2.0))
