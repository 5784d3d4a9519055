# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where inverse kinematics begins to say no: tolerances from both sides, messages, defaults."""

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.arms.inverse import singularities
from screw_dynamics_ros.core.arms.inverse.bounded_velocity import (
    damping_for,
    joint_limited_acceleration,
    joint_limited_velocity,
)
from screw_dynamics_ros.core.arms.inverse.force import forward_force, partial_wrenches
from screw_dynamics_ros.core.arms.inverse.link_motion import link_names, per_link, stacked_rows
from screw_dynamics_ros.core.arms.inverse.position import (
    check_positions,
    check_targets,
    rigid_defect,
    squared_distance,
)
from screw_dynamics_ros.core.arms.inverse.singularities import smallest_singular_value
from screw_dynamics_ros.core.arms.inverse.velocity import inverse_velocity
from screw_dynamics_ros.core.arms.inverse.velocity_bounds import (
    Bounds,
    JointBounds,
    acceleration_limits,
)
from screw_dynamics_ros.core.arms.inverse.weighted_inverse import (
    AdaptiveDamping,
    WeightedInverse,
    finite,
    length_metric,
    metric,
)
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.tree.multibody_tree import JointLimits
from support.planar_2r import planar_2r

# --- velocities and forces ------------------------------------------------------------------------


@pytest.mark.parametrize(('missed', 'is_reached'), [(0.9e-6, True), (1.1e-6, False)])
def test_a_millionth_of_a_twist_may_be_left(missed, is_reached):
    for size in (1.0, 100.0):
        found = inverse_velocity([[1.0], [0.0]], [size, size * missed])
        assert found.success is is_reached
        assert found.residual == pytest.approx([0.0, size * missed])
    reason = 'the joints reach 1 of the 2 directions of the task here; 0.00011 of 100 is left'
    assert found.message == ('reached' if is_reached else reason)


@pytest.mark.parametrize(('missed', 'is_reached'), [(3.9e-6, True), (4.1e-6, False)])
def test_rounding_of_large_rates_is_no_failure(missed, is_reached):
    """A thousand millionth of the terms |J| (|v| + |v_0|), here 4000."""
    found = inverse_velocity([[1.0, 1.0], [0.0, 0.0]], [0.0, missed], secondary=[1e3, -1e3])
    assert found.success is is_reached
    np.testing.assert_allclose(found.v, [1e3, -1e3])


def test_damping_that_holds_back():
    found = inverse_velocity([[2.0]], [1.0], damping=0.5)
    assert found.v == pytest.approx(2.0 / (4.0 + 0.25))
    assert found.damping == 0.5
    assert found.message == 'held back by the damping 0.5; 0.0588 of 1 is left'


@pytest.mark.parametrize(('missed', 'is_balanced'), [(0.9e-6, True), (1.1e-6, False)])
def test_a_millionth_of_torques_may_be_left(missed, is_balanced):
    """Of a joint that does not move the link."""
    J, tau = np.eye(6, 7), np.zeros(7)
    tau[[3, 6]] = 100.0, 100.0 * missed
    found = forward_force(J, tau)
    assert found.success is is_balanced
    np.testing.assert_allclose(found.wrench, [0, 0, 0, -100.0, 0, 0])
    reason = 'no wrench on these links balances 0.00011 of 100'
    assert found.message == ('balanced' if is_balanced else reason)


def test_forces_that_no_joint_carries():
    J = np.diag([1.0, 1, 1, 1, 1, 1e-12])
    found = forward_force(J, np.zeros(6))
    assert found.message.startswith('no joint supports 1 of 6 directions: the smallest wrench')
    assert forward_force(J, np.zeros(6), cutoff=1e-13).success
    rng = np.random.default_rng(0)
    J, tau = rng.normal(size=(6, 8)), rng.normal(size=8)
    sizes = [0.4] * 3 + [1.0] * 3  # a moment of 0.4 N m corresponds to 1 N
    found = forward_force(J, tau, length=0.4, least_squares=True)
    expected = np.linalg.svd(J.T * sizes, compute_uv=False)
    np.testing.assert_allclose(found.singular_values, expected)
    fewer = forward_force(J[:, :4], tau[:4], length=0.4, least_squares=True)
    scaled = fewer.undetermined / np.array(sizes)[:, None]
    np.testing.assert_allclose(scaled.T @ scaled, np.eye(2), atol=1e-12)
    J = np.diag([1.0, 1, 1, 1, 1, 1e-12])
    with pytest.raises(ArgumentError, match='singular: smallest singular value 1e-12'):
        partial_wrenches(J)
    assert partial_wrenches(J, cutoff=1e-13)[5, 5] == pytest.approx(1e12)
    with pytest.raises(ArgumentError, match='singular: smallest singular value 0'):
        partial_wrenches(np.zeros((6, 6)))
    with pytest.raises(ArgumentError, match=r'must have six rows for each link, got \(0, 3\)'):
        forward_force(np.zeros((0, 3)), np.zeros(3))


# --- metrics and damping --------------------------------------------------------------------------


def test_metrics_but_for_rounding():
    """Symmetric to 1e-9 and positive to 1e-14 of the largest entry."""
    lopsided = np.diag([2.0, 1.0])
    lopsided[0, 1] = 1.8e-9
    made = metric('weight', 2, lopsided)
    np.testing.assert_array_equal(made, made.T)
    assert made[0, 1] == 0.9e-9
    lopsided[0, 1] = 2.2e-9
    with pytest.raises(ArgumentError, match='the weight must be symmetric'):
        metric('weight', 2, lopsided)
    metric('weight', 2, np.diag([2.0, 2.2e-14]))
    with pytest.raises(ArgumentError, match=r'indefinite: its smallest eigenvalue is 1.8e-14;'):
        metric('weight', 2, np.diag([2.0, 1.8e-14]))
    with pytest.raises(ArgumentError, match='indefinite: weight 1 is 0; weights must be positive'):
        metric('weight', 3, [1.0, 0.0, 2.0])
    with pytest.raises(ArgumentError, match=r'must have shape \(3,\) or \(3, 3\), got \(2, 2\)'):
        metric('weight', 3, np.eye(2))
    np.testing.assert_array_equal(metric('weight', 2, [2.0, 3.0]), np.diag([2.0, 3.0]))
    assert metric('weight', 0, np.zeros((0, 0))).shape == (0, 0)


def test_numbers_that_are_not_finite_have_a_place():
    with pytest.raises(ArgumentError, match=r'x holds NaN or infinity: inf at index \(1, 0\)'):
        finite('x', [[1.0, 2.0], [np.inf, np.nan]])


def test_singular_values_at_the_cutoff_are_zero():
    A = np.diag([2.0, 1.0])
    assert WeightedInverse(A, cutoff=0.5).rank == 1
    assert WeightedInverse(A, cutoff=0.49).rank == 2
    assert WeightedInverse(np.zeros((2, 3))).smallest == 0.0
    assert WeightedInverse(A).smallest == 1.0
    with pytest.raises(ArgumentError, match='cutoff'):
        WeightedInverse(A, cutoff=-1e-9)
    with pytest.raises(ArgumentError, match='the damping'):
        WeightedInverse(A).damping(-0.1)


def test_lost_directions_in_metrics():
    """y^T A = 0 of annihilators; `lost` are orthogonal to the range, of unit length, in C."""
    rng = np.random.default_rng(0)
    A, C = rng.normal(size=(4, 2)), np.diag([1.0, 2.0, 3.0, 4.0])
    C[0, 1] = C[1, 0] = 0.5
    inverse = WeightedInverse(A, [1.0, 5.0], C)
    np.testing.assert_allclose(inverse.annihilators.T @ A, 0.0, atol=1e-12)
    np.testing.assert_allclose(inverse.lost.T @ C @ A, 0.0, atol=1e-12)
    np.testing.assert_allclose(inverse.lost.T @ C @ inverse.lost, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(C @ inverse.lost, inverse.annihilators, atol=1e-12)
    b = rng.normal(size=4)
    assert inverse.range_norm(b) == pytest.approx(np.sqrt(b @ C @ b))
    for k in range(2):
        u = inverse.output_direction(k)
        assert u @ C @ u == pytest.approx(1.0)
    for damping in (0.0, 0.3):
        np.testing.assert_allclose(inverse.solve(b, damping), inverse.inverse(damping) @ b)


@pytest.mark.parametrize('name', ['largest', 'threshold'])
def test_adaptive_damping_is_positive(name):
    with pytest.raises(ArgumentError, match=f'{name} of the adaptive damping'):
        replace(AdaptiveDamping(0.2, 0.1), **{name: 0.0})


def test_a_length_weighs_rotations():
    np.testing.assert_array_equal(length_metric(2.0, 2), [4, 4, 4, 1, 1, 1] * 2)
    with pytest.raises(ArgumentError, match='characteristic length'):
        length_metric(0.0)


# --- bounds of joint velocities -------------------------------------------------------------------


def limits(**changes):
    free = np.full(2, np.inf)
    plain = {'lower': -np.ones(2), 'upper': 3 * np.ones(2), 'velocity': free, 'effort': free}
    return JointLimits(**{**plain, **changes})


@pytest.mark.parametrize(('share', 'is_outside'), [(0.9, False), (1.1, True)])
def test_positions_outside_by_more_than_rounding(share, is_outside):
    tree = Robot(planar_2r(), backend='reference').tree
    bounds = JointBounds(tree, 0.1, limits=limits())
    for value, rounding in ((-1.0, 2e-9), (3.0, 4e-9)):
        outside = value + np.sign(value) * share * rounding
        found = bounds.at(np.array([0.0, outside])).conflicts
        name = tree.joint_names[1]
        reason = f'{name} is outside of its range [-1, 3] at {value:g}'
        assert found == ((reason,) if is_outside else ())


@pytest.mark.parametrize(('share', 'is_conflict'), [(0.9, False), (1.1, True)])
def test_velocities_that_cannot_change_by_more_than_rounding(share, is_conflict):
    tree = Robot(planar_2r(), backend='reference').tree
    bounds = JointBounds(tree, 0.1, 2.0, limits(velocity=np.array([5.0, 1.0])))
    for sign in (-1, 1):
        v = np.array([0.0, sign * (1.2 + share * 2.2e-9)])  # after 0.1 s at least 1
        found = bounds.at(np.array([1.0, 1.0]), v)
        reason = f'{tree.joint_names[1]} cannot change its velocity {sign * 1.2:g} fast enough'
        assert [each.startswith(reason) for each in found.conflicts] == [True] * is_conflict
        assert found.lower[1] <= found.upper[1]


@pytest.mark.parametrize(
    'wrong', [{'lower': np.array([0.0, 3.1])}, {'velocity': np.array([1.0, -1e-9])}]
)
def test_limits_that_exclude_each_other(wrong):
    tree = Robot(planar_2r(), backend='reference').tree
    with pytest.raises(ArgumentError, match='lower <= upper and a velocity of at least 0'):
        JointBounds(tree, 0.1, limits=limits(**wrong))
    JointBounds(tree, 0.1, limits=limits(lower=np.full(2, 3.0), velocity=np.zeros(2)))


def test_limits_of_acceleration():
    np.testing.assert_array_equal(acceleration_limits(3, None), np.full(3, np.inf))
    np.testing.assert_array_equal(acceleration_limits(3, 2.0), np.full(3, 2.0))
    np.testing.assert_array_equal(acceleration_limits(2, [2.0, np.inf]), [2.0, np.inf])
    for wrong in (0.0, [1.0, 2.0], [1.0, -1.0, 1.0], np.nan):
        with pytest.raises(ArgumentError, match='one number or 3, got'):
            acceleration_limits(3, wrong)


def within(*sizes):
    names = tuple('abc'[: len(sizes)])
    return Bounds(-np.array(sizes, dtype=float), np.array(sizes, dtype=float), names)


def test_the_damping_that_makes_rates_unique():
    J = np.array([[3.0, 4.0]])
    assert damping_for(J, J, None) == pytest.approx(5e-6)
    assert damping_for(J, J, 0.3) == 0.3
    assert damping_for(J, J, AdaptiveDamping(0.2, 10.0)) == pytest.approx(0.2 * np.sqrt(0.75))
    assert damping_for(J, J, AdaptiveDamping(0.2, 1.0)) == pytest.approx(5e-6)
    damping = AdaptiveDamping(0.2, 2.0).at(1.5)  # 3 * 2 / 4 between the metrics
    metrics = {'task_metric': [9.0], 'joint_metric': [16.0], 'damping': AdaptiveDamping(0.2, 2.0)}
    found = joint_limited_velocity([[2.0]], [1.0], within(9.0), **metrics)
    assert found.v == pytest.approx(18.0 / (36.0 + 16.0 * damping**2))
    zero = np.zeros((1, 2))
    assert damping_for(zero, zero, None) > 0.0
    assert damping_for(zero, zero, AdaptiveDamping(0.2, 1.0)) == pytest.approx(0.2)


@pytest.mark.parametrize('size', [1.0, 2.0**-30, 2.0**30])
def test_joints_that_hold_back_are_named(size):
    found = joint_limited_velocity([[size, size]], [5.0 * size], within(1.0, 2.0))
    np.testing.assert_allclose(found.v, [1.0, 2.0])
    left = f'{2 * size:.3g} of {5 * size:.3g} is left'
    assert found.message == f'{left} because these joints are at their bounds: a, b'
    assert (found.success, found.active) == (False, ('a', 'b'))
    assert found.optimality < 1e-12


def test_reasons_without_joints_at_their_bounds():
    lost = joint_limited_velocity([[1.0], [0.0]], [1.0, 0.5], within(9.0))
    assert lost.message.startswith('0.5 of 1.12 is left: beyond what the joints reach here')
    assert lost.message.endswith('or held back by the damping 1e-06')
    conflict = replace(within(9.0, 9.0), conflicts=('a is outside',))
    found = joint_limited_velocity([[1.0, 1.0]], [1.0], conflict)
    assert (found.success, found.message) == (False, 'a is outside; reached')


def test_a_joint_that_rests_at_its_bound_is_not_active():
    """Unless it would move: its bounds are both zero, and it is not, or is, asked to move."""
    still = Bounds(np.array([0.0, -9.0]), np.array([0.0, 9.0]), ('a', 'b'))
    idle = joint_limited_velocity([[0.0, 1.0]], [20.0], still)
    assert idle.active == ('b',)
    pushed = joint_limited_velocity([[1.0, 1.0]], [20.0], still)
    assert pushed.active == ('a', 'b')


def test_accelerations_are_bounded_by_the_next_velocity():
    J, v, dt = np.eye(2), np.array([1.0, -2.0]), 0.5
    found = joint_limited_acceleration(J, [0.1, 0.2], [9.1, -0.8], within(2.0, 4.0), v, dt)
    np.testing.assert_allclose(found.v, [2.0, -1.0], atol=1e-6)
    assert found.active == ('a',)
    np.testing.assert_allclose(found.residual, [7.0, 0.0], atol=1e-6)


# --- singular values ------------------------------------------------------------------------------


def test_smallest_singular_value_in_metrics():
    """Of K^T J L^-T; its gradient by differences along a curve of Jacobians."""
    rng = np.random.default_rng(3)
    J, dJ = rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 3))
    M, C = np.diag([1.0, 2.0, 3.0]), np.array([[2.0, 0.3], [0.3, 1.0]])

    def sigma(X):
        values = np.linalg.eigvals(X @ np.linalg.inv(M) @ X.T @ C).real
        return np.sqrt(values.min())

    found, gradient = smallest_singular_value(J, dJ, task_metric=C, joint_metric=M)
    assert found == pytest.approx(sigma(J))
    h = 1e-6
    slopes = [(sigma(J + h * dJ[..., k]) - sigma(J - h * dJ[..., k])) / (2 * h) for k in range(3)]
    np.testing.assert_allclose(gradient, slopes, atol=1e-7)
    np.testing.assert_array_equal(smallest_singular_value(J)[1], np.zeros(3))
    with pytest.raises(ArgumentError, match=r'dJ must have shape \(2, 3, 3\), got \(2, 3, 2\)'):
        smallest_singular_value(J, dJ[..., :2])
    with pytest.raises(ArgumentError, match='the Jacobian is zero: no joint moves the link'):
        smallest_singular_value(np.zeros((2, 3)))
    idle = np.column_stack([J[:, 0], np.zeros((2, 2))])
    assert smallest_singular_value(idle)[0] == pytest.approx(np.linalg.norm(J[:, 0]))


def test_messages_of_the_singularity_report():
    J = np.diag([1.0, 1, 1, 2, 2, 2])
    regular = singularities.singularity_report(J, length=0.5)
    assert regular.message == 'regular: smallest singular value 0.5 m with 1 rad as 0.5 m'
    assert regular.condition == pytest.approx(4.0)
    assert regular.manipulability == pytest.approx(0.5**3 * 2.0**3)
    lost = np.diag([1.0, 1, 1, 1, 1, 0])
    lost[0, 5] = 1.0
    singular = singularities.singularity_report(lost)
    assert singular.message == 'singular: 5 of 6 freedoms left'
    assert (singular.rank, singular.condition) == (5, np.inf)
    np.testing.assert_allclose(np.abs(singular.reciprocal_wrenches[:, 0]), np.eye(6)[5])
    nothing = singularities.singularity_report(np.zeros((6, 2)))
    assert (nothing.singular, nothing.smallest, nothing.condition) == (False, 0.0, np.inf)
    np.testing.assert_array_equal(nothing.weakest_twist, np.zeros(6))
    with pytest.raises(ArgumentError, match=r'must have shape \(6, n\), got \(5, 5\)'):
        singularities.singularity_report(np.eye(5))
    for factor, kinds in ((0.9e-9, ('wrist',)), (1.1e-9, ())):
        decoupled = singularities.Decoupled(-factor, 1.0, 1.0)
        assert singularities.singular_kinds(decoupled, 1e-9) == kinds


def test_refused_gradients_of_the_manipulability():
    gradient = singularities.manipulability_gradient
    with pytest.raises(ArgumentError, match='no gradient here: the Jacobian has rank 2 of 6'):
        gradient(np.eye(6)[:, :2], np.zeros((6, 2, 2)))
    with pytest.raises(ArgumentError, match=r'dJ must have shape \(6, 6, 6\), got \(6, 6\)'):
        gradient(np.eye(6), np.eye(6))


# --- targets and links ----------------------------------------------------------------------------


def test_what_a_target_may_miss_of_a_rigid_motion():
    """Six digits: 1e-4 of one column, of the last row, of the determinant."""
    assert rigid_defect(se3.exp(np.array([0.3, -0.2, 0.5, 1.0, 2.0, 3.0]))) < 1e-28
    assert rigid_defect(np.diag([1.0, 1.0, -1.0, 1.0])) == pytest.approx(4.0)
    for size in (1e-3, 1e-5):
        longer = np.diag([1.0, 1.0, 1.0 + size, 1.0])
        assert rigid_defect(longer) == pytest.approx(5.0 * size**2, rel=0.01)
        lower = np.eye(4)
        lower[3, 1] = size
        assert rigid_defect(lower) == pytest.approx(size**2, rel=0.01)
        if size > 1e-4:
            with pytest.raises(ArgumentError, match="the target for 'b' is not a rigid motion"):
                check_targets([0.0, rigid_defect(longer)], ['a', 'b'])
        else:
            check_targets([rigid_defect(longer), 0.99e-8], ['a', 'b'])
    with pytest.raises(ArgumentError, match=r"'b' is not a rigid motion: .*got \[0.0, nan, 0.0\]"):
        check_positions(np.array([np.eye(4), se3.pose(np.eye(3), [0, np.nan, 0])]), ['a', 'b'])


def test_distance_of_poses():
    """(2 sin(angle / 2))^2 + distance^2."""
    C = se3.exp(np.array([0.1, 0.2, -0.3, 1.0, 0.0, 2.0]))
    moved = C @ se3.exp(np.array([0.0, 0.0, 0.8, 0.0, 0.0, 0.5]))
    expected = (2 * np.sin(0.4)) ** 2 + 0.25
    assert squared_distance(moved, C) == pytest.approx(expected)
    assert squared_distance(C, C) == 0.0


def test_one_link_or_several():
    assert link_names('tip') == ('tip',)
    assert link_names(['a', 'b']) == ('a', 'b')
    with pytest.raises(ArgumentError, match='at least one link is needed'):
        link_names(())
    with pytest.raises(UnknownNameError, match='no link named 3'):
        link_names(3)
    assert per_link('x', np.arange(6.0), 1, (6,)).shape == (1, 6)
    assert per_link('x', np.zeros((1, 6)), 1, (6,)).shape == (1, 6)
    np.testing.assert_array_equal(
        stacked_rows('x', np.arange(12.0).reshape(2, 6), ('a', 'b')), np.arange(12.0)
    )
    with pytest.raises(ArgumentError, match=r'x must have shape \(2, 6\), got \(6,\)'):
        per_link('x', np.arange(6.0), 2, (6,))
    with pytest.raises(ArgumentError, match=r'x must have shape \(6,\), got \(2, 6\)'):
        per_link('x', np.zeros((2, 6)), 1, (6,))
