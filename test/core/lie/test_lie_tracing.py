# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The branch-free functions of the Lie layer run on traced scalars, without looking at a value."""

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import quaternions, screws, se3, so3, so3xr3
from support.lie import ANGLES, Traced, trace, untrace

rng = np.random.default_rng(5)
X, Y, Q = rng.normal(size=6), rng.normal(size=6), rng.normal(size=4)
C1, C2 = se3.exp(X), se3.exp(Y)
R1, R2 = C1[:3, :3], C2[:3, :3]
AXIS = np.array([0.6, 0.0, 0.8])
JOINTS = [
    screws.unit_screw(AXIS, [1, 2, 3]),
    screws.unit_screw(AXIS, [1, 2, 3], 0.1),
    screws.unit_screw(AXIS, pitch=np.inf),
]

CALLS = [
    (so3.hat, X[:3]),
    (so3.vee, R1),
    (so3.ad, X[:3]),
    (so3.Ad, R1),
    (so3.inverse, R1),
    (so3.compose, R1, R2),
    (so3.exp_unit_axis, X[:3], X[3]),
    (quaternions.product, Q, Q),
    (quaternions.conjugate, Q),
    (quaternions.to_matrix, Q),
    (quaternions.exp_unit_axis, X[:3], X[3]),
    (se3.hat, X),
    (se3.vee, C1),
    (se3.ad, X),
    (se3.Ad, C1),
    (se3.Ad_R, R1),
    (se3.Ad_r, X[:3]),
    (se3.pose, R1, X[:3]),
    (se3.inverse, C1),
    (se3.compose, C1, C2),
    (so3xr3.compose, C1, C2),
    (so3xr3.inverse, C1),
    (so3xr3.Ad, C1),
    (so3xr3.ad, X),
    (screws.swap, X),
    (screws.reciprocal_product, X, Y),
    (screws.power, X, Y),
    (screws.motor_product, X, Y),
    (screws.dual_motor_product, X, Y),
    (screws.transform_twist, C1, X),
    (screws.inverse_transform_twist, C1, X),
    (screws.transform_wrench, C1, X),
    (screws.inverse_transform_wrench, C1, X),
    (screws.general_twist, X, C1, R2),
    (screws.relative_twist, X, Y, C1),
]
CONVERSIONS = [(a, b) for a in screws.REPRESENTATIONS for b in screws.REPRESENTATIONS if a != b]


def check(actual, expected):
    assert actual.dtype == object
    np.testing.assert_allclose(untrace(actual), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize('call', CALLS, ids=lambda call: f'{call[0].__module__}.{call[0].__name__}')
def test_traced_arguments_give_traced_results(call):
    """One recursion for numbers and for traces: the same values, all of them traced."""
    function, *arguments = call
    result = np.asarray(function(*map(trace, arguments)))
    check(result, function(*arguments))
    assert any(isinstance(x, Traced) for x in result.flat)
    if len(arguments) > 1:  # a constant with a traced argument, either way round
        for k in range(len(arguments)):
            mixed = [trace(a) if i == k else a for i, a in enumerate(arguments)]
            check(np.asarray(function(*mixed)), function(*arguments))


@pytest.mark.parametrize('angle', ANGLES)
def test_maps_that_branch_have_a_form_for_recorded_scalars(angle):
    """K-02, K-05, D-44, K-36: at angles below, at and above the limit of the series."""
    X = np.append(angle * AXIS, [0.3, -2.0, 1.0])
    for group, x in ((so3, X[:3]), (se3, X), (so3xr3, X)):
        for name in ('exp', 'dexp', 'dexp_inv'):
            function = getattr(group, name)
            exact = function(x)
            np.testing.assert_allclose(
                untrace(function(trace(x))), exact, rtol=0, atol=4e-15 * np.abs(exact).max()
            )
    check(quaternions.exp(trace(X[:3])), quaternions.exp(X[:3]))


@pytest.mark.parametrize('screw', JOINTS, ids=['revolute', 'helical', 'prismatic'])
def test_exp_unit_screw_of_a_traced_coordinate(screw):
    """K-05: the joint type is decided by the constant screw, the coordinate may be anything."""
    for q in (0.7, np.array([0.7, -0.2])):
        traced = trace(q) if np.ndim(q) else Traced(q)
        check(se3.exp_unit_screw(screw, traced), se3.exp_unit_screw(screw, q))
    check(
        se3.exp_unit_screw(np.stack(JOINTS), trace(np.array([0.7, -0.2, 3]))),
        se3.exp_unit_screw(np.stack(JOINTS), np.array([0.7, -0.2, 3])),
    )
    last_row = se3.exp_unit_screw(screw, Traced(0.7))[3]
    assert [x.value if isinstance(x, Traced) else x for x in last_row] == [0, 0, 0, 1]


@pytest.mark.parametrize('pair', CONVERSIONS, ids='-'.join)
def test_conversions_of_traced_quantities(pair):
    """K-09, D-03: the twelve conversions on traced twists, wrenches and Jacobians."""
    J = np.stack([X, Y], axis=1)
    for function, argument in (
        (screws.convert_twist, X),
        (screws.convert_wrench, X),
        (screws.convert_jacobian, J),
    ):
        expected = function(argument, C1, *pair)
        check(function(trace(argument), trace(C1), *pair), expected)
        check(function(trace(argument), C1, *pair), expected)
        check(function(argument, trace(C1), *pair), expected)


@pytest.mark.parametrize('function', [so3.exp, so3.dexp, so3.dexp_inv])
def test_branching_maps_refuse_what_is_no_number(function):
    """A map that must look at its argument says so instead of taking one branch for ever."""

    class Opaque:
        pass

    with pytest.raises(ArgumentError, match=r'branch-free form such as se3\.exp_unit'):
        function(np.array([Opaque(), 0.0, 0.0], dtype=object))
    np.testing.assert_array_equal(
        function(np.array([0.1, 0.2, 0.3], dtype=object)), function([0.1, 0.2, 0.3])
    )


def test_the_tracing_scalar_guards_itself():
    """The instrument: a branch, a comparison or a conversion is an AssertionError."""
    for look in (bool, float, abs, lambda x: x < 1, lambda x: x == 1):
        with pytest.raises(AssertionError, match='looked at a traced value'):
            look(Traced(1.0))
