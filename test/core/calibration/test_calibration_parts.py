# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of calibration against NumPy and SciPy: least squares, texts, clusters, frames, choices."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.calibration.chain_errors import ChainErrors
from screw_dynamics_ros.core.calibration.measurements import (
    MeasuredDistances,
    MeasuredPoints,
    MeasuredPoses,
)
from screw_dynamics_ros.core.calibration.observability import (
    d_optimal,
    informative_configurations,
)
from screw_dynamics_ros.core.calibration.validation import (
    Validation,
    objection,
    validated,
)
from screw_dynamics_ros.core.calibration.weighted_problem import (
    register_frames,
    register_points,
)
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.statistics.jackknife import (
    jackknife,
    state_classes,
    time_blocks,
)
from screw_dynamics_ros.core.statistics.least_squares import (
    Fit,
    described,
    progress,
)
from support.models import random_pose
from support.robots import joint, links, robot

# --- linear least squares -------------------------------------------------------------------------


@pytest.mark.parametrize('scale', [1.0, 1e-4, 1e4])
def test_full_rank_fits_are_those_of_numpy(scale):
    """Whatever the units of the columns; singular values are those of columns of unit length."""
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(30, 4)) * [1.0, scale, 3.0, 0.2], rng.normal(size=30)
    fit = Fit(A, 1e-6)
    assert fit.rank == 4
    np.testing.assert_allclose(fit.solve(b), np.linalg.lstsq(A, b, rcond=None)[0], rtol=1e-9)
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(A.T @ A), rtol=1e-8)
    unit = A / np.linalg.norm(A, axis=0)
    np.testing.assert_allclose(fit.s, np.linalg.svd(unit, compute_uv=False), rtol=1e-10)
    assert fit.combinations('abcd') == ()
    assert fit.null_basis()[0] == []


@pytest.mark.parametrize(('size', 'rank'), [(0.9e-3, 2), (1.1e-3, 3)])
def test_the_cutoff(size, rank):
    """Singular values relative to the largest one."""
    U = np.linalg.qr(np.random.default_rng(0).normal(size=(9, 3)))[0]
    V = Rotation.random(random_state=1).as_matrix()
    A = U @ np.diag([1.0, 1.0, size]) @ V
    unit = np.linalg.svd(A / np.linalg.norm(A, axis=0), compute_uv=False)
    fit = Fit(A, 1e-3 * unit[2] / unit[0] / size)
    assert fit.rank == rank


@pytest.mark.parametrize(('deviation', 'rank'), [(9.9, 1), (10.1, 2)])
def test_directions_with_large_deviations_are_undetermined(deviation, rank):
    """Columns are not normalized then: s = 0.1 is a deviation of 10."""
    A = np.array([[5.0, 0.0], [0.0, 0.1], [0.0, 0.0]])
    fit = Fit(A, 1e-9, largest_deviation=deviation)
    assert fit.rank == rank
    np.testing.assert_allclose(fit.s, [5.0, 0.1])
    assert fit.solve(np.array([5.0, 1.0, 0.0])) == pytest.approx([1.0, 10.0 * (rank == 2)])


def test_null_spaces_are_those_of_scipy():
    """Basis and pivots: each pivot is in one combination; preferred unknowns are pivots."""
    rng = np.random.default_rng(2)
    A = rng.normal(size=(20, 3)) @ rng.normal(size=(3, 5))
    fit = Fit(A, 1e-9)
    assert fit.rank == 3
    expected = null_space(A)
    preference = np.array([1.0, 1e6, 1.0, 1e3, 1.0])
    pivots, basis = fit.null_basis(preference)
    assert set(pivots) == {1, 3}
    np.testing.assert_allclose(basis[:, pivots], np.eye(2), atol=1e-9)
    np.testing.assert_allclose(A @ basis.T, 0.0, atol=1e-9)
    assert np.linalg.matrix_rank(np.concatenate([basis, expected.T]), 1e-9) == 2
    for each in fit.combinations('abcde', preference):
        assert max(abs(x) for x in each.values()) == pytest.approx(1.0)
    x = fit.solve(A @ np.ones(5))
    np.testing.assert_allclose(A @ x, A @ np.ones(5), atol=1e-9)


def test_zero_columns_are_undetermined():
    A = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]])
    fit = Fit(A, 1e-6)
    assert fit.rank == 1
    assert fit.combinations('ab') == ({'b': 1.0},)
    assert Fit(np.zeros((3, 2)), 1e-6).rank == 0


def test_texts_of_an_iteration():
    assert progress(True, 1, 1e-9) == 'converged in 1 step'
    assert progress(True, 2, 1e-9) == 'converged in 2 steps'
    text = 'corrections still above 1e-09 after 5 steps; start nearer, or fix parameters'
    assert progress(False, 5, 1e-9) == text


def test_combinations_as_text():
    """The first, then descending; a thousandth of the largest is omitted, eight are named."""
    found = described({'a': 0.5, 'b': -2.0, 'c': 2.1e-3, 'd': 1.9e-3, 'e': 1.0})
    assert found == '+0.5 a -2 b +1 e +0.0021 c'
    many = dict.fromkeys('abcdefghij', 1.0)
    assert described(many) == ' '.join(f'+1 {name}' for name in 'abcdefgh') + ' and 2 more'
    assert 'more' not in described(dict.fromkeys('abcdefgh', 1.0))
    assert described(many, 9).endswith(' +1 i and 1 more')


# --- clusters -------------------------------------------------------------------------------------


def test_classes_of_states():
    """Of each joint: fast +1, accelerating +2, loaded +4, and eight for each joint."""
    v = np.array([[10.0, -3.0], [-20.0, 1.0], [30.0, 2.0]])
    a = np.array([[-1.0, -1.0], [-1.0, 0.0], [1.0, -1.0]])
    load = np.array([[9.0, 1.0], [5.0, 2.0], [1.0, 3.0]])
    assert state_classes(v, a, load).tolist() == [[4, 11], [2, 8], [3, 12]]


@pytest.mark.parametrize(('time', 'duration'), [(4.0, 0.4), (9.0, 0.9), (30.0, 1.0)])
def test_blocks_of_time(time, duration):
    """Of a second, or a tenth of the recorded time if that is shorter; gaps end a block."""
    t = np.arange(0.0, time, 0.01) + 0.005
    blocks = time_blocks(t, np.zeros(len(t), dtype=int), np.zeros((len(t), 2)))
    borders = np.flatnonzero(np.diff(blocks))
    assert np.diff(t[borders]).mean() == pytest.approx(duration, rel=0.02)
    state = np.zeros((2 * len(t), 2))
    both = time_blocks(np.concatenate([t, t]), np.repeat([0, 1], len(t)), state)
    assert set(both[: len(t)]).isdisjoint(both[len(t) :])
    assert time_blocks(np.zeros(3), np.zeros(3, dtype=int), state[:3]).tolist() == [0, 0, 0]


def test_clusters_of_different_size_have_fewer_freedoms():
    """(sum s)^2 / sum s^2 - 1 with s = (m_g / (M - m_g))^2 / m_g for a mean, but not below 1."""
    sizes = np.array([10, 10, 20, 60])
    cluster = np.repeat(np.arange(4), sizes)
    U, factor = np.full((100, 1), 0.1), np.array([[0.1]])
    r = np.random.default_rng(0).normal(size=100)
    r -= r.mean()
    covariance, freedom = jackknife(U, r, [cluster], factor)
    s = sizes / (100.0 - sizes) ** 2
    assert freedom[0] == pytest.approx(max(s.sum() ** 2 / (s**2).sum() - 1.0, 1.0), rel=1e-6)
    changes = [r[cluster == g].sum() / (100 - m) for g, m in enumerate(sizes)]
    assert covariance[0, 0] == pytest.approx(0.75 * np.sum(np.square(changes)), rel=1e-6)
    equal = np.repeat(np.arange(10), 10)
    assert jackknife(U, r, [equal], factor)[1][0] == pytest.approx(9.0, rel=1e-6)


def test_the_larger_variance_of_two_sets_of_clusters():
    """For each unknown, with its freedoms; correlations are those of the sum."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=(120, 2))
    U, s, V_T = np.linalg.svd(A, full_matrices=False)
    factor, r = V_T.T / s, rng.normal(size=120)
    r -= U @ (U.T @ r)
    sets = [np.arange(120) // 10, np.arange(120) % 8]
    alone = [jackknife(U, r, [each], factor) for each in sets]
    both, freedom = jackknife(U, r, sets, factor)
    variances = np.array([each[0].diagonal() for each in alone])
    np.testing.assert_allclose(both.diagonal(), variances.max(axis=0))
    larger = variances.argmax(axis=0)
    np.testing.assert_allclose(freedom, [alone[k][1][i] for i, k in enumerate(larger)])
    total = alone[0][0] + alone[1][0]
    correlation = total[0, 1] / np.sqrt(total[0, 0] * total[1, 1])
    assert both[0, 1] / np.sqrt(both[0, 0] * both[1, 1]) == pytest.approx(correlation)


# --- frames ---------------------------------------------------------------------------------------


@pytest.mark.parametrize('seed', range(4))
def test_frames_of_instrument_and_target(seed):
    rng = np.random.default_rng(seed)
    base, target = random_pose(rng), random_pose(rng)
    T = np.stack([random_pose(rng) for _ in range(6)])
    found = register_frames(T, base @ T @ target)
    np.testing.assert_allclose(found[0], base, atol=1e-9)
    np.testing.assert_allclose(found[1], target, atol=1e-9)


@pytest.mark.parametrize(('angle', 'is_refused'), [(1e-5, True), (0.02, False)])
def test_rotations_about_one_axis_do_not_separate_the_frames(angle, is_refused):
    rng = np.random.default_rng(0)
    base, target = random_pose(rng), random_pose(rng)
    T = np.broadcast_to(np.eye(4), (8, 4, 4)).copy()
    turns = rng.uniform(-2.0, 2.0, (8, 3)) * [angle, angle, 1.0]
    T[:, :3, :3] = Rotation.from_rotvec(turns).as_matrix()
    T[:, :3, 3] = rng.normal(size=(8, 3))
    if is_refused:
        with pytest.raises(ArgumentError, match='two different axes'):
            register_frames(T, base @ T @ target)
    else:
        np.testing.assert_allclose(register_frames(T, base @ T @ target)[0], base, atol=1e-6)


@pytest.mark.parametrize(('width', 'is_refused'), [(0.9e-3, True), (1.1e-3, False)])
def test_points_near_a_line(width, is_refused):
    """The second singular value, a square of the width, is below a millionth of the first."""
    points = np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, width, 0], [0, -width, 0]])
    if is_refused:
        with pytest.raises(ArgumentError, match='on one line'):
            register_points(points, points)
    else:
        np.testing.assert_allclose(register_points(points, points), np.eye(4), atol=1e-9)


# --- choices of configurations --------------------------------------------------------------------


def test_exchanges_replace_a_greedy_choice():
    """The first choice is the longest row, which the best pair does not contain."""
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.72, 0.72], [0.1, 0.2]])
    A = rows[:, None, :]
    assert d_optimal(A, 2) == [0, 1]
    assert d_optimal(A, 3) == [0, 1, 2]
    assert d_optimal(A, 4) == [0, 1, 2, 3]


ARM = read_urdf(
    robot(
        links('a b c tip'),
        joint('i', 'a', 'b', '<axis xyz="0 0 1"/>', 'continuous'),
        joint('j', 'b', 'c', '<axis xyz="0 1 0"/><origin xyz="0.4 0 0.2"/>', 'continuous'),
        joint('mount', 'c', 'tip', '<origin xyz="0.3 0.1 0"/>', 'fixed'),
    )
)


def test_indices_of_chosen_configurations():
    """O_1 and the condition number from the singular values of the stacked Jacobians, by NumPy."""
    q = np.random.default_rng(0).uniform(-2, 2, (12, 2))
    known = {'estimate': ('offsets', 'target'), 'base': np.eye(4)}
    design = informative_configurations(
        ARM, 'tip', q, 5, lambda T: MeasuredPoses(T, 2e-3, 1e-3), **known
    )
    assert len(design.chosen) == 5
    assert list(design.chosen) == sorted(set(design.chosen))
    model = ChainErrors(ARM, 'tip', ('offsets', 'target'))
    J = model.jacobian(q, np.zeros(len(model.names))) / np.repeat([2e-3, 1e-3], 3)[:, None]
    held = model.names.index('j.offset')  # it moves as the target does
    columns = [k for k in range(J.shape[2]) if k != held]
    rank = np.linalg.matrix_rank(J.reshape(72, -1), 1e-6)
    assert rank == len(columns)
    A = J[:, :, columns]
    A = A / np.linalg.norm(A.reshape(72, -1), axis=0)
    s = np.linalg.svd(A[list(design.chosen)].reshape(30, -1), compute_uv=False)
    own = A[list(design.chosen)].reshape(30, -1)
    unit = np.linalg.svd(own / np.linalg.norm(own, axis=0), compute_uv=False)
    assert design.condition == pytest.approx(unit[0] / unit[-1], rel=1e-6)
    assert s[-1] > 0.0
    assert design.index == pytest.approx(np.exp(np.mean(np.log(unit))) / np.sqrt(5), rel=1e-6)


# --- measurements ---------------------------------------------------------------------------------


def instruments(T):
    center = np.array([0.5, -0.3, 2.0])
    return (
        MeasuredPoses(T, 2e-3, 1e-3),
        MeasuredPoints(T[:, :3, 3], 3e-3),
        MeasuredDistances(np.linalg.norm(T[:, :3, 3] - center, axis=1), center, 4e-3),
    )


@pytest.mark.parametrize('number', range(3))
def test_parts_of_measurements(number):
    """Some rows, with the same deviations and center; numbers cannot be changed."""
    rng = np.random.default_rng(0)
    T = np.stack([random_pose(rng) for _ in range(5)])
    other = np.stack([random_pose(rng) for _ in range(5)])
    seen = instruments(T)[number]
    assert len(seen) == 5
    part = seen.part([3, 1])
    np.testing.assert_array_equal(part.values, seen.values[[3, 1]])
    np.testing.assert_array_equal(part.deviations, seen.deviations)
    np.testing.assert_allclose(part.residuals(other[[3, 1]]), seen.residuals(other)[[3, 1]])
    expected = ([2e-3] * 3 + [1e-3] * 3, [3e-3] * 3, [4e-3])[number]
    assert seen.deviations.tolist() == expected
    assert seen.kind == ('poses', 'points', 'distances')[number]
    with pytest.raises(ValueError, match='read-only'):
        seen.values[0] = 1.0


@pytest.mark.parametrize('number', range(3))
def test_linearized_residuals_against_differences(number):
    """residuals(T exp(J dP)) = e - A dP, far from zero residuals."""
    rng = np.random.default_rng(1)
    T = np.stack([random_pose(rng) for _ in range(4)])
    near = T.copy()
    near[:, :3, :3] = T[:, :3, :3] @ Rotation.from_rotvec(rng.normal(size=(4, 3)) / 3).as_matrix()
    near[:, :3, 3] += 0.2 * rng.normal(size=(4, 3))
    seen, J, h = instruments(T)[number], rng.normal(size=(4, 6, 7)), 1e-6
    e, A = seen.linearized(near, J)
    np.testing.assert_array_equal(e, seen.residuals(near))

    def moved(step):
        """Return poses displaced by a twist J dP in their own axes, to second order."""
        V = J[..., k] * step
        C = near.copy()
        C[:, :3, :3] = near[:, :3, :3] @ Rotation.from_rotvec(V[:, :3]).as_matrix()
        C[:, :3, 3] += np.einsum('nij,nj->ni', near[:, :3, :3], V[:, 3:])
        return seen.residuals(C)

    for k in range(7):
        low, high = moved(-h), moved(h)
        if seen.kind == 'points':  # of the length alone, which does not depend on the axes
            slope = (np.sum(high**2, axis=1) - np.sum(low**2, axis=1)) / (4 * h)
            np.testing.assert_allclose(slope, -np.sum(e * A[..., k], axis=1), atol=1e-7)
        else:
            np.testing.assert_allclose((high - low) / (2 * h), -A[..., k], atol=1e-7)


# --- errors of a chain ----------------------------------------------------------------------------


def test_names_preferences_and_priors():
    """Axes by joints from the root, before tool, target and base; scales are joint positions."""
    text = robot(
        links('a b c tip'),
        joint('turn', 'a', 'b', '<axis xyz="0 0.9 0.1"/>', 'continuous'),
        joint('slide', 'b', 'c', '<axis xyz="1 0 0"/><limit lower="-1" upper="1"/>', 'prismatic'),
        joint('mount', 'c', 'tip', kind='fixed'),
    )
    model = ChainErrors(read_urdf(text), 'tip', ('axes', 'offsets', 'scales', 'tool', 'base'),
                        of_base=('x', 'rz'), of_target=('y',))  # fmt: skip
    expected = {
        'turn.rx': (1e7, 'angle'), 'turn.rz': (1e7, 'angle'), 'turn.x': (1e7, 'length'),
        'turn.z': (1e7, 'length'), 'slide.ry': (1e6 * 10**0.5, 'angle'),
        'slide.rz': (1e6 * 10**0.5, 'angle'), 'turn.offset': (1e10, 'angle'),
        'slide.offset': (1e9 * 10**0.5, 'length'), 'turn.scale': (1e13, 'angle'),
        'slide.scale': (1e12 * 10**0.5, 'length'), 'tool.y': (1e3, 'length'),
        'base.x': (1e-3, None), 'base.rz': (1e-3, None),
    }  # fmt: skip
    spread = model.spread_of_errors(0.3, 0.7)
    sizes = {'angle': 0.3, 'length': 0.7, None: np.inf}
    found = {n: (p, s) for n, p, s in zip(model.names, model.preference, spread)}
    assert set(found) == set(expected)
    for name, (preference, kind) in expected.items():
        assert found[name] == (pytest.approx(preference), sizes[kind]), name
    of_turn = {name for name in expected if name.startswith('turn.')}
    assert model.held(['turn', 'tool.y']) == of_turn | {'tool.y'}


# --- validation -----------------------------------------------------------------------------------


def validation(before, after, poses=10):
    shape = (poses, 3)
    return Validation(5, np.full(shape, before), np.full(shape, after), np.arange(poses))


@pytest.mark.parametrize(
    ('before', 'after', 'improved', 'text'),
    [
        (2.0, 1.0, True, ''),
        (1.0, 1.0, True, ''),
        (1.0, 1.01, True, 'larger residuals at the held-out poses'),
        (2.0, 1.0, False, 'does not improve the prediction of poses'),
    ],
)
def test_objections(before, after, improved, text):
    """Only the distances of held-out measurements are compared."""
    e = np.full((3, 6), 9.0)
    e_before, e_after = e.copy(), e.copy()
    e_before[1, 3:], e_after[1, 3:] = before, after
    e_after[:, :3] = 99.0
    result = SimpleNamespace(held_out=(1,), residuals_before=e_before, residuals_after=e_after)
    given = validation(2.0, 1.0) if improved else validation(1.0, 1.0)
    found = objection(result, given)
    assert text in found
    assert bool(found) == bool(text)
    assert objection(result, 'too few') == (
        'it is unknown whether the corrected robot is better: too few'
    )


def test_validations_that_are_not_possible_are_reasons():
    result = SimpleNamespace(used=(0, 1))
    text = validated(lambda held_out: None, np.zeros((2, 1)), result)
    assert text == 'cross-validation takes two poses of the robot or more, not 1'


@pytest.mark.parametrize(('spread', 'improved'), [(0.45, True), (0.55, False)])
def test_improvements_are_two_standard_errors(spread, improved):
    """Gains of 1 +- spread sqrt(N) of N poses: the sum is 1 / spread errors from zero."""
    count = 10
    z = np.resize([1.0, -1.0], count)
    z /= np.std(z, ddof=1)
    gains = 1.0 + spread * np.sqrt(count) * z
    before = np.sqrt(np.full(count, 9.0) + gains)
    e = np.zeros((2, count, 3))
    e[0, :, 0], e[1, :, 0] = before, 3.0
    assert Validation(5, e[0], e[1], np.arange(count)).improved == improved
