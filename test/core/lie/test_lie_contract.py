# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What all functions of the Lie layer share: stacks, NaN, recorded scalars, refused arguments."""

from functools import partial

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import (
    euler,
    orientations,
    points,
    poses,
    quaternions,
    screws,
    se3,
    so3,
    so3xr3,
)
from support.lie import ANGLES, Traced, trace, untrace

rng = np.random.default_rng(5)
AXIS = np.array([0.6, 0.0, 0.8])
JOINTS = [
    screws.unit_screw(AXIS, [1, 2, 3]),
    screws.unit_screw(AXIS, [1, 2, 3], 0.1),
    screws.unit_screw(AXIS, pitch=np.inf),
]
#: Stacks (2, 3, ...) of each kind of argument.
X = rng.normal(size=(2, 3, 6)) * np.logspace(-5, 0.1, 6).reshape(2, 3, 1)
Q = rng.normal(size=(2, 3, 4))
STACKS = {
    't': rng.normal(size=(2, 3)),
    'x': X[..., :3],
    'X': X,
    'R': so3.exp(X[..., :3]),
    'C': se3.exp(X),
    'q': Q / np.linalg.norm(Q, axis=-1, keepdims=True),
    'J': rng.normal(size=(2, 3, 6, 2)),
    'U': np.stack([JOINTS, JOINTS[::-1]]),
}

#: Functions of recorded scalars, and the kinds of their arguments.
RECORDABLE = [
    (so3.hat, 'x'), (so3.vee, 'R'), (so3.ad, 'x'), (so3.Ad, 'R'), (so3.inverse, 'R'),
    (so3.compose, 'RR'), (so3.exp_unit_axis, 'xt'),
    (quaternions.product, 'qq'), (quaternions.conjugate, 'q'), (quaternions.to_matrix, 'q'),
    (quaternions.exp_unit_axis, 'xt'), (quaternions.left_matrix, 'q'),
    (quaternions.right_matrix, 'q'), (quaternions.rotate, 'qx'), (quaternions.rate, 'qx'),
    (quaternions.angular_velocity, 'qq'),
    (se3.hat, 'X'), (se3.vee, 'C'), (se3.ad, 'X'), (se3.Ad, 'C'), (se3.Ad_R, 'R'),
    (se3.Ad_r, 'x'), (se3.pose, 'Rx'), (se3.inverse, 'C'), (se3.compose, 'CC'),
    (so3xr3.compose, 'CC'), (so3xr3.inverse, 'C'), (so3xr3.Ad, 'C'), (so3xr3.ad, 'X'),
    (screws.swap, 'X'), (screws.reciprocal_product, 'XX'), (screws.power, 'XX'),
    (screws.motor_product, 'XX'), (screws.dual_motor_product, 'XX'),
    (screws.transform_twist, 'CX'), (screws.inverse_transform_twist, 'CX'),
    (screws.transform_wrench, 'CX'), (screws.inverse_transform_wrench, 'CX'),
    (screws.general_twist, 'XCR'), (screws.relative_twist, 'XXC'),
    (orientations.infinitesimal_rotation, 'x'), (orientations.rotation_rate, 'Rx'),
    (orientations.angular_velocity, 'RR'), (partial(orientations.frame_rotation, 'Y'), 't'),
    (partial(euler.to_matrix, 'ZXZ'), 'x'), (partial(euler.to_matrix, 'xyz'), 'x'),
    (partial(euler.rate_matrix, 'ZXZ'), 'x'),
    (partial(euler.rate_matrix, 'xyz', axes='body'), 'x'),
    (poses.twist, 'CC'), (poses.rate, 'CX'), (poses.from_second_kind, 'X'),
    (poses.infinitesimal_displacement, 'X'), (poses.infinitesimal_twist, 'C'),
    (partial(poses.from_displacement, 'zyz'), 'X'), (poses.displace, 'CC'),
    (poses.change_frame, 'CC'), (points.transform_point, 'Cx'), (points.transform_vector, 'Cx'),
    *(
        (partial(function, source=a, target=b), kinds)
        for a in screws.REPRESENTATIONS
        for b in screws.REPRESENTATIONS
        if a != b
        for function, kinds in (
            (screws.convert_twist, 'XC'), (screws.convert_wrench, 'XC'),
            (screws.convert_jacobian, 'JC'),
        )
    ),
]  # fmt: skip
BRANCHING = [
    *((getattr(each, name), 'X') for each in (se3, so3xr3) for name in ('exp', 'dexp', 'dexp_inv')),
    (se3.log, 'C'), (so3xr3.log, 'C'), (se3.exp_unit_screw, 'Ut'),
    (so3.exp, 'x'), (so3.dexp, 'x'), (so3.dexp_inv, 'x'), (so3.log, 'R'), (so3.distance, 'RR'),
    (quaternions.exp, 'x'), (quaternions.log, 'q'), (quaternions.from_matrix, 'R'),
    (quaternions.slerp, 'qqt'), (screws.unit_screw, 'xx'),
    (orientations.from_axis_angle, 'xt'), (orientations.to_axis_angle, 'R'),
    (partial(euler.from_matrix, 'zyz'), 'R'), (partial(euler.from_matrix, 'xyz'), 'R'),
    (partial(euler.normalize, 'XYX'), 'x'), (partial(euler.rates, 'XYZ'), 'xx'),
    (poses.residual, 'CC'), (poses.to_second_kind, 'C'),
    (partial(poses.to_displacement, 'ZXZ'), 'C'), (points.angle, 'xx'), (points.distance, 'xx'),
]  # fmt: skip


#: Functions whose refusals name the one that they call.
DELEGATING = {
    'so3.ad', 'quaternions.rate', 'screws.convert_twist', 'screws.convert_wrench',
    'screws.convert_jacobian', 'screws.relative_twist', 'screws.reciprocal_product',
    'orientations.infinitesimal_rotation', 'orientations.rotation_rate',
    'orientations.to_axis_angle', 'poses.twist', 'poses.rate', 'poses.residual', 'poses.displace',
    'poses.change_frame', 'poses.infinitesimal_twist', 'poses.infinitesimal_displacement',
}  # fmt: skip


def name_of(value):
    if isinstance(value, str):
        return value
    function = getattr(value, 'func', value)
    constants = [*getattr(value, 'args', ()), *getattr(value, 'keywords', {}).values()]
    return '-'.join([f'{function.__module__.rsplit(".", 1)[1]}.{function.__name__}', *constants])


def arrays(result):
    """Return the arrays of a result, which may have several."""
    return [np.asarray(each) for each in (result if isinstance(result, tuple) else (result,))]


def check_member(stack, single, *place):
    for found, expected in zip(arrays(stack), arrays(single), strict=True):
        found = found[place] if found.ndim else found  # a flag of all members
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14)


each_function = pytest.mark.parametrize(
    ('function', 'kinds'), [*RECORDABLE, *BRANCHING], ids=name_of
)


@each_function
def test_stacks_equal_single_calls(function, kinds):
    """Leading axes are stacks, broadcast against each other; float32 is taken as float64."""
    stacks = [STACKS[kind] for kind in kinds]
    found = function(*stacks)
    for place in np.ndindex(2, 3):
        check_member(found, function(*(each[place] for each in stacks)), *place)
    for k in range(len(kinds)) if len(kinds) > 1 else ():
        mixed = [each[1, 2] if i == k else each for i, each in enumerate(stacks)]
        check_member(
            function(*mixed),
            function(*(m if i == k else m[0, 1] for i, m in enumerate(mixed))),
            0,
            1,
        )
    for each in arrays(function(*(each[:0] for each in stacks))):
        assert each.shape[:2] == (0, 3)
    singles = [each[1, 1].astype(np.float32) for each in stacks]
    if not set(kinds) & set('RCqU'):  # those are of unit length, to rounding
        assert all(each.dtype != np.float32 for each in arrays(function(*singles)))


@each_function
def test_nan_in_nan_out(function, kinds):
    """In its member of a stack only, and without an error."""
    stacks = [STACKS[kind] for kind in kinds]
    before = function(*stacks)
    for k in range(len(kinds)):
        spoiled = [each.copy() for each in stacks]
        spoiled[k][0, 1] = np.nan
        found = function(*spoiled)
        assert any(np.isnan(each[0, 1]).any() for each in arrays(found) if each.dtype == float)
        check_member(found, tuple(each[1, 0] for each in arrays(before)), 1, 0)


@each_function
def test_other_arguments_are_refused_by_name(function, kinds):
    """By module and function, with the shape that is wrong."""
    singles = [STACKS[kind][0, 1] for kind in kinds]
    place = name_of(getattr(function, 'func', function))
    place = r'\w+\.\w+' if place in DELEGATING else place
    for k, kind in enumerate(kinds):
        wrong = [np.zeros((2, 5)), np.zeros((4, 4, 2)), 'abc', None, [[1, 2], [3]], [1j, 0, 0]]
        for value in wrong if kind != 't' else ():
            with pytest.raises(ArgumentError, match=rf'^{place}: '):
                function(*(value if i == k else each for i, each in enumerate(singles)))


# --- recorded scalars ----------------------------------------------------------------------------


def check(actual, expected):
    assert actual.dtype == object
    np.testing.assert_allclose(untrace(actual), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize(('function', 'kinds'), RECORDABLE, ids=name_of)
def test_traced_arguments_give_traced_results(function, kinds):
    """One recursion for numbers and for traces: the same values, all of them traced."""
    arguments = [STACKS[kind][1, 1] for kind in kinds]
    expected, result = function(*arguments), np.asarray(function(*map(trace, arguments)))
    check(result, expected)
    assert any(isinstance(x, Traced) for x in result.flat)
    for k in range(len(arguments)) if len(arguments) > 1 else ():  # a constant beside a traced one
        mixed = [trace(a) if i == k else a for i, a in enumerate(arguments)]
        check(np.asarray(function(*mixed)), expected)


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
