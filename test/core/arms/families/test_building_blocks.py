# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What closed forms are put together from: triangles, wrists, Newton steps, choice, duplicates."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.arms.families import subproblems
from screw_dynamics_ros.core.arms.families.alignment import _angles
from screw_dynamics_ros.core.arms.families.branches import nearest, nearest_image
from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.families.chain_solutions import (
    LIMIT_TOLERANCE,
    MIN_STEADY_RATIO,
    ChainSolutions,
    are_distinct,
    continued,
    distances,
    error_and_jacobian,
    merged,
    polished,
)
from screw_dynamics_ros.core.lie import screws, se3

SIDES = (-1.0, 1.0)

# --- axes on axes ---------------------------------------------------------------------------------


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize('kind', ['skew', 'parallel', 'sliding', 'along x', 'along y', 'along z'])
def test_angles_that_put_an_axis_on_another(kind, sign):
    """One of them does for each screw that was turned away, up to its sign, by one angle."""
    rng = np.random.default_rng(4)
    for turn in rng.uniform(-3.0, 3.0, 5):
        e, f = (x / np.linalg.norm(x) for x in rng.normal(size=(2, 3)))
        about = screws.unit_screw(e, rng.normal(size=3))
        target = screws.unit_screw(f if kind == 'skew' else e, rng.normal(size=3))
        if kind not in ('skew', 'parallel'):
            f = f if kind == 'sliding' else np.eye(3)['xyz'.index(kind[-1])]
            target = np.append(np.zeros(3), f)
        away = sign * screws.transform_twist(se3.exp(-turn * about), target)
        found = [
            screws.transform_twist(se3.exp(angle * about), away)
            for angle in _angles(about, away, target)
        ]
        missed = [np.abs(X - side * target).max() for X in found for side in SIDES]
        assert min(missed) < 1e-12


# --- triangles and wrists -------------------------------------------------------------------------


@pytest.mark.parametrize('side', SIDES)
@pytest.mark.parametrize('lateral', [0.0, 0.3, -0.3])
def test_a_shoulder_turns_its_plane_through_a_point(lateral, side):
    rng = np.random.default_rng(0)
    for px, py in rng.normal(size=(10, 2)):
        q, rho = subproblems.shoulder(px, py, lateral, side)
        turned = Rotation.from_euler('z', q).as_matrix() @ [lateral, rho, 0.0]
        if np.hypot(px, py) > abs(lateral):
            assert np.sign(rho) == side
            np.testing.assert_allclose(turned[:2], [px, py], atol=1e-12)
        else:
            assert rho == 0.0
    q, rho = subproblems.shoulder(0.0, 0.1, 0.5, side)  # nearer to the axis than the arm
    assert abs(rho) == 0.0
    assert q == pytest.approx(np.pi / 2)


@pytest.mark.parametrize('side', SIDES)
def test_two_links_reach_a_point_of_their_plane(side):
    a, b = 0.7, 0.4
    rng = np.random.default_rng(1)
    for h, v in rng.uniform(-1.5, 1.5, (20, 2)):
        q, c, s = subproblems.two_links(h, v, a, b, side)
        x = np.arctan2(s, c)
        end = a * np.array([np.sin(q), np.cos(q)]) + b * np.array([np.sin(q + x), np.cos(q + x)])
        far = np.hypot(h, v)
        near = far * np.clip(1.0, abs(a - b) / far, (a + b) / far) / far * np.array([h, v])
        np.testing.assert_allclose(end, near, atol=1e-7)  # stretched or folded towards it
        assert s * side >= 0.0
        assert np.hypot(c, s) == pytest.approx(1.0)


#: (function, rotation that its angles make)
WRISTS = [
    (subproblems.wrist_zxz, lambda a, b, c: Rotation.from_euler('ZXZ', [a, -b, c])),
    (subproblems.wrist_zyz, lambda a, b, c: Rotation.from_euler('ZYZ', [a, b, c])),
    (subproblems.wrist_xzx, lambda a, b, c: Rotation.from_euler('XZX', [-a, b, c])),
]
EACH_WRIST = pytest.mark.parametrize(('wrist', 'made'), WRISTS, ids=['zxz', 'zyz', 'xzx'])


@EACH_WRIST
@pytest.mark.parametrize('side', SIDES)
def test_wrists_make_any_rotation(wrist, made, side):
    for R in Rotation.random(10, random_state=2).as_matrix():
        angles = wrist(R, side)
        np.testing.assert_allclose(made(*angles).as_matrix(), R, atol=1e-12)
        assert np.sign(np.sin(angles[1])) == side


@EACH_WRIST
@pytest.mark.parametrize('bend', [0.0, np.pi])
@pytest.mark.parametrize('side', SIDES)
def test_stretched_wrists_keep_one_joint_near_a_seed(wrist, made, side, bend):
    """Without a seed, too, the rotation is right; next to no bend still determines both joints."""
    R = made(0.4, bend, 0.9).as_matrix()
    free = 2 if wrist is subproblems.wrist_xzx else 0
    for near in (None, 0.3):
        angles = wrist(R, side, near)
        np.testing.assert_allclose(made(*angles).as_matrix(), R, atol=1e-7)
        if near is not None:
            assert angles[free] == near
    for tiny, is_near in ((0.5e-8, True), (2e-8, False)):
        R = made(0.4, bend + tiny, 0.9).as_matrix()
        assert bool(wrist(R, side, 0.3)[free] == 0.3) is is_near


def test_lengths_and_roots_never_fail():
    assert subproblems.root(-1.0) == 0.0
    assert subproblems.root(4.0) == 2.0
    assert subproblems.length(3.0, 4.0, 12.0) == pytest.approx(13.0)
    assert 0.0 < subproblems.length(0.0, 0.0) < 1e-11
    for make, axis in (
        (subproblems.rotation_x, 'x'),
        (subproblems.rotation_y, 'y'),
        (subproblems.rotation_z, 'z'),
    ):
        expected = Rotation.from_euler(axis, 0.7).as_matrix()
        np.testing.assert_allclose(make(0.7), expected, atol=1e-15)


# --- Newton steps ---------------------------------------------------------------------------------


def arm(**limits) -> SerialChain:
    """Return a chain of five revolute joints and a prismatic one, with axes anywhere."""
    rng = np.random.default_rng(3)
    screws = []
    for k in range(6):
        e = rng.normal(size=3)
        e /= np.linalg.norm(e)
        p = rng.normal(size=3)
        screws.append([0, 0, 0, *e] if k == 2 else [*e, *np.cross(p, e)])
    names = tuple(f'j{k}' for k in range(6))
    return SerialChain(names, screws, se3.exp(rng.normal(size=6)), **limits)


Q = np.array([0.3, -0.5, 0.2, 0.7, -0.4, 1.1])
MOVING = tuple(range(6))


def test_error_and_jacobian_by_differences():
    chain, h = arm(), 1e-6
    e, J = error_and_jacobian(chain, Q, chain.pose(Q))
    np.testing.assert_allclose(e, 0.0, atol=1e-12)
    home = se3.inverse(chain.pose(Q))
    columns = [
        (se3.log(home @ chain.pose(Q + h * d)) - se3.log(home @ chain.pose(Q - h * d))) / (2 * h)
        for d in np.eye(6)
    ]
    np.testing.assert_allclose(J, np.transpose(columns), atol=1e-8)
    target = chain.pose(Q) @ se3.exp(1e-6 * np.arange(1.0, 7.0))
    e, _ = error_and_jacobian(chain, Q, target)
    np.testing.assert_allclose(e, 1e-6 * np.arange(1.0, 7.0), rtol=1e-4)


def test_polishing_makes_solutions_exact():
    """Quadratically: three steps from 1e-3 away; angles come back within half a turn."""
    chain = arm()
    target = chain.pose(Q)
    turns = 2 * np.pi * np.array([1, -2, 0, 3, 0, 1])
    q, (residual, determinant, outside, number) = polished(
        chain, MOVING, 3, Q + turns + 1e-3, target.reshape(-1)
    )
    np.testing.assert_allclose(q, Q, atol=1e-11)
    assert residual < 1e-10
    assert outside == 0.0
    J = error_and_jacobian(chain, Q, target)[1]
    assert determinant == pytest.approx(np.linalg.det(J @ J.T), rel=1e-3)
    other = polished(chain, MOVING, 3, Q - turns + 1e-3, target.reshape(-1))[1][3]
    assert number == pytest.approx(other, abs=1e-9)
    elsewhere = polished(chain, MOVING, 1, Q + 0.1, chain.pose(Q + 0.1).reshape(-1))[1][3]
    assert abs(elsewhere - number) > 1e-3


def test_one_damped_step():
    """By the normal equations; the damping is a thousandth of the squared error, or 1e-14."""
    chain = arm()
    C = chain.pose(Q)
    for away in (0.3, 0.0):
        q = Q + away
        e, J = error_and_jacobian(chain, q, C)
        least = 1e-14 * np.diag([1.0] * 3 + [chain.length**2] * 3)
        normal = J @ J.T + 1e-3 * (e @ e) * np.eye(6) + least
        expected = q + J.T @ np.linalg.solve(normal, e)
        moved, (_, determinant, _, _) = polished(chain, MOVING, 1, q, C.reshape(-1))
        np.testing.assert_allclose(np.exp(1j * moved), np.exp(1j * expected), rtol=1e-9, atol=1e-12)
        assert determinant == pytest.approx(np.linalg.det(normal), rel=1e-6)


def test_held_joints_stay_and_the_residual_tells():
    """The first joint may not move: the pose is missed by what the others cannot make up for."""
    chain = arm()
    q, (residual, *_) = polished(chain, (1, 2, 3, 4, 5), 20, Q + 0.05, chain.pose(Q).reshape(-1))
    assert q[0] == Q[0] + 0.05
    C, target = chain.pose(q), chain.pose(Q)
    angle = np.linalg.norm(Rotation.from_matrix(C[:3, :3].T @ target[:3, :3]).as_rotvec())
    apart = C[:3, 3] - target[:3, 3]
    assert residual == pytest.approx(np.sqrt((2 * np.sin(angle / 2)) ** 2 + apart @ apart))
    assert residual > 1e-4


def test_distance_from_the_limits():
    """Squared, of all moving joints, and from a little within the limits."""
    lower, upper = np.full(6, -2.0), np.full(6, 2.0)
    lower[0], upper[3], upper[4] = Q[0] + 0.1, Q[3] - 0.2, Q[4]
    chain = arm(lower=lower, upper=upper)
    target = chain.pose(Q).reshape(-1)
    outside = polished(chain, MOVING, 1, Q, target)[1][2]
    assert outside == pytest.approx(0.1**2 + 0.2**2)
    outside = polished(chain, MOVING[1:], 1, Q, target)[1][2]
    assert outside == pytest.approx(0.2**2)
    edge = arm(lower=np.full(6, -2.0), upper=np.array([Q[0], *[2.0] * 5]))
    assert polished(edge, MOVING, 1, Q, target)[1][2] == pytest.approx(
        LIMIT_TOLERANCE**2, rel=1e-3, abs=1e-30
    )


def test_a_solution_nearby_is_continued():
    """How far the start missed, and a bound below which no singular value is."""
    chain = arm()
    target = chain.pose(Q)
    start = Q + 1e-3
    q, checks, steadiness, missed = continued(chain, MOVING, start, target.reshape(-1))
    least = (steadiness + MIN_STEADY_RATIO * missed) / min(1.0, chain.length)
    np.testing.assert_allclose(q, Q, atol=1e-11)
    assert checks[0] < 1e-10
    C = chain.pose(start)
    angle = np.linalg.norm(Rotation.from_matrix(C[:3, :3].T @ target[:3, :3]).as_rotvec())
    apart = C[:3, 3] - target[:3, 3]
    assert missed == pytest.approx(np.sqrt((2 * np.sin(angle / 2)) ** 2 + apart @ apart))
    J = error_and_jacobian(chain, Q, target)[1]
    J[3:] /= chain.length
    s = np.linalg.svd(J, compute_uv=False)
    assert least == pytest.approx(1.0 / np.sqrt((1.0 / s**2).sum()), rel=1e-6)
    assert s[-1] / np.sqrt(6.0) <= least <= s[-1]


# --- choice and duplicates ------------------------------------------------------------------------


def single(lower=-np.inf, upper=np.inf) -> SerialChain:
    return SerialChain(('j',), [[0, 0, 1, 0, 0, 0]], np.eye(4), lower=[lower], upper=[upper])


@pytest.mark.parametrize(('over', 'image'), [(0.9e-9, 3.0), (1.1e-9, 3.0 - 2 * np.pi)])
def test_rounding_at_a_limit_is_not_outside(over, image):
    """Of an angle that is at a limit; its other image is within the limits, too."""
    chain = single(-4.0, 3.0 - over)
    assert nearest_image([3.0], [3.0], chain) == pytest.approx([image])
    mirrored = single(-3.0 + over, 4.0)
    assert nearest_image([-3.0], [-3.0], mirrored) == pytest.approx([-image])
    _, chosen = nearest([[3.0], [1.0]], [3.0], single(-2.0, 3.0 - over))
    assert chosen == pytest.approx([3.0 if over < 1e-9 else 1.0])


def test_the_nearest_by_its_furthest_joint():
    chain = SerialChain(('a', 'b'), [[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0]], np.eye(4))
    solutions = [[0.5, 0.5], [0.0, 0.6], [np.nan, 0.0], [6.3, 6.3]]
    index, chosen = nearest(solutions, [0.0, 0.0], chain)
    assert index == 0
    np.testing.assert_array_equal(chosen, [0.5, 0.5])
    images = nearest_image(solutions[3], [0.0, 0.0], chain)
    np.testing.assert_allclose(images, [6.3 - 2 * np.pi, 6.3])
    for wrong in ([[1.0]], [[1.0, 2.0, 3.0]]):
        with pytest.raises(ArgumentError, match='q and seed must hold 2 joints, got'):
            nearest_image(wrong, [0.0, 0.0], chain)
    with pytest.raises(ArgumentError, match='q and seed must hold 2 joints'):
        nearest_image([0.0, 0.0], [0.0], chain)
    for none in (np.empty((0, 2)), [[np.nan, 0.0]]):
        with pytest.raises(ArgumentError, match='there is no solution to choose from'):
            nearest(none, [0.0, 0.0], chain)


def solutions(q, residuals, numbers=None) -> ChainSolutions:
    q = np.array(q, dtype=float)
    checks = np.zeros((len(q), 4))
    checks[:, 0] = residuals
    checks[:, 3] = np.zeros(len(q)) if numbers is None else numbers
    return ChainSolutions(q, checks, np.arange(len(q)))


def test_each_solution_once_with_the_smallest_residual():
    turn = 2 * np.pi
    first = solutions([[0.0, 1.0], [0.0, 1.0 + 0.9e-6], [0.0, 1.0 + turn]], [3e-9, 1e-9, 2e-9])
    found = merged(first)
    np.testing.assert_array_equal(found.q, [[0.0, 1.0 + 0.9e-6]])
    np.testing.assert_array_equal(found.branches, [1])
    assert found.checks[0, 0] == 1e-9
    second = solutions([[0.0, 1.0 + 3e-6], [-turn, 1.0]], [0.0, 0.0])
    first.name, first.labels, first.bound = 'pieper', ('left', 'right'), 8
    both = merged(first, second)
    assert {tuple(q) for q in both.q} == {(-turn, 1.0), (0.0, 1.0 + 3e-6)}
    assert (both.name, both.labels, both.bound) == ('pieper', ('left', 'right'), 8)
    alone = solutions([[0.0, 1.0]], [1.0])
    assert merged(alone) is alone
    distinct = solutions([[0.0], [1.0]], [0.0, 0.0], [0.0, 2e-5])
    assert merged(distinct) is distinct
    different = solutions([[0.0], [1.0]], [0.0, 0.0])
    assert merged(different) is different


def test_numbers_that_certainly_differ():
    for gap, expected in ((0.9e-5, False), (1.1e-5, True)):
        checks = np.zeros((3, 4))
        checks[:, 3] = [0.5, -0.5, 0.5 + gap]
        assert are_distinct(checks) is expected


def test_distances_up_to_turns():
    q = np.array([[0.1, 0.2], [6.2, -0.3]])
    expected = [0.2, max(2 * np.pi - 6.2, 0.3)]
    np.testing.assert_allclose(distances(q, np.zeros(2)), expected)
    np.testing.assert_allclose(distances(q + 2 * np.pi, np.zeros(2)), expected)


def test_rows_of_a_chain_with_joints_at_rest():
    """`locked` by names is the chain with these joints at their positions."""
    chain = arm()
    at = {'j1': 0.4, 'j4': -0.3}
    rest = chain.locked(at)
    assert rest.joint_names == ('j0', 'j2', 'j3', 'j5')
    q = Q.copy()
    q[1], q[4] = at.values()
    np.testing.assert_allclose(rest.pose(Q[[0, 2, 3, 5]]), chain.pose(q), atol=1e-12)
    np.testing.assert_array_equal(rest.places, [0, 2, 3, 5])
