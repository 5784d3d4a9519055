# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Euler angles (B-029, B-042 to B-049, B-053): 24 sets, rates, gimbal lock."""

from math import pi

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.lie import euler, so3
from support.lie import close, derivative

N = 1000
ALL = pytest.mark.parametrize('sequence', [*euler.MOVING, *euler.FIXED])
AXES = pytest.mark.parametrize('axes', ['reference', 'body'])

G6 = np.array([0.3, 0.7, -0.4])
G6_MOVING = [
    [0.9679419716, 0.1638415238, 0.1903793441],
    [-0.0123487016, 0.7880833558, -0.6154446636],
    [-0.2508701839, 0.5933637834, 0.7648421873],
]
G6_FIXED = [
    [0.9679419716, 0.0123487016, -0.2508701839],
    [-0.1638415238, 0.7880833558, -0.5933637834],
    [0.1903793441, 0.6154446636, 0.7648421873],
]
G7 = [
    [0.3980680463, -0.9166462858, -0.0360751621],
    [0.7821080382, 0.3596694365, -0.5088663017],
    [0.4794255386, 0.1743487403, 0.8600893382],
]


def proper(sequence):
    """First and last axis agree."""
    return sequence[0] == sequence[2]


def middle(sequence, sine):
    """A middle angle whose distance from the singularity is this sine."""
    return np.arcsin(sine) if proper(sequence) else np.arccos(sine)


def normalized(sequence, seed, margin=0.0):
    """Random triples in the ranges of the set."""
    rng = np.random.default_rng(seed)
    low, high = (0, pi) if proper(sequence) else (-pi / 2, pi / 2)
    return rng.uniform([-pi, low + margin, -pi], [pi, high - margin, pi], (N, 3))


# --- forward and inverse ---------------------------------------------------------------------


def test_there_are_twelve_sets():
    """B-043: no axis twice in a row; B-044: twelve more with fixed axes."""
    assert len(euler.MOVING) == len(set(euler.MOVING)) == 12
    assert sum(proper(sequence) for sequence in euler.MOVING) == 6
    assert set(euler.FIXED) == {sequence.lower() for sequence in euler.MOVING}


def test_golden_values():
    """G6, G7: ZXZ about moving and fixed axes, roll, pitch and yaw (B-042, B-044, B-045)."""
    close(euler.to_matrix('ZXZ', G6), G6_MOVING, 1e-10)
    close(euler.to_matrix('zxz', G6), G6_FIXED, 1e-10)
    close(euler.to_matrix(euler.RPY, [0.2, -0.5, 1.1]), G7, 1e-10)
    close(euler.to_matrix('ZYX', [1.1, -0.5, 0.2]), G7, 1e-10)
    close(euler.from_matrix('ZXZ', np.round(G6_MOVING, 10)).angles, G6, 1e-9)
    close(euler.from_matrix(euler.RPY, np.round(G7, 10)).angles, [0.2, -0.5, 1.1], 1e-9)


def test_zxz_entry_by_entry():
    """B-042: matrix (3.27) and its inverse (3.28)-(3.30)."""
    (ca, cb, cg), (sa, sb, sg) = np.cos(G6), np.sin(G6)
    R = euler.to_matrix('ZXZ', G6)
    close(
        R,
        [
            [ca * cg - sa * cb * sg, -ca * sg - sa * cb * cg, sa * sb],
            [sa * cg + ca * cb * sg, -sa * sg + ca * cb * cg, -ca * sb],
            [sb * sg, sb * cg, cb],
        ],
        4e-15,
    )
    a = np.arctan2(R[0, 2], -R[1, 2])
    b = np.arctan2(-R[1, 2] * np.cos(a) + R[0, 2] * np.sin(a), R[2, 2])
    close(euler.from_matrix('ZXZ', R).angles, [a, b, np.arctan2(R[2, 0], R[2, 1])], 4e-15)


def test_zxz_inverse_as_printed_fails():
    """Section 3.13: the entry (2, 3) is -sin b cos a; printed with cos(theta), no angle of ZXZ."""
    a, b, c = G6
    R = euler.to_matrix('ZXZ', G6)
    close(R[1, 2], -np.sin(b) * np.cos(a))
    for theta in (b, c):
        assert abs(R[1, 2] + np.sin(b) * np.cos(theta)) > 0.01


@ALL
def test_against_scipy(sequence):
    """B-043, B-044: the matrix and the normalized angles of all sets, capitals moving."""
    angles = np.random.default_rng(1).uniform(-7, 7, (N, 3))
    R = euler.to_matrix(sequence, angles)
    close(R, Rotation.from_euler(sequence, angles).as_matrix(), 4e-15)
    found = euler.from_matrix(sequence, R)
    close(euler.to_matrix(sequence, found.angles), R, 4e-15)
    assert not found.singular.any()
    scipy = Rotation.from_matrix(R).as_euler(sequence)
    turns = (found.angles - scipy) / (2 * pi)
    close(turns, np.round(turns), 1e-11)


@ALL
def test_round_trip(sequence):
    """B-043, B-044: normalized angles come back."""
    angles = normalized(sequence, 2, margin=1e-3)
    close(euler.from_matrix(sequence, euler.to_matrix(sequence, angles)).angles, angles, 1e-12)


@pytest.mark.parametrize('sequence', euler.MOVING)
def test_fixed_axes_multiply_in_reverse(sequence):
    """B-044, (3.31)-(3.35): R^f_ijk(a, b, c) = R_k(c) R_j(b) R_i(a) = R^m_kji(c, b, a)."""
    angles = normalized(sequence, 3)
    fixed = euler.to_matrix(sequence.lower(), angles)
    close(fixed, euler.to_matrix(sequence[::-1], angles[:, ::-1]), 4e-15)
    R = np.eye(3)
    for axis, angle in zip(sequence, angles[0], strict=True):
        R = so3.exp(angle * np.eye(3)['XYZ'.index(axis)]) @ R
    close(fixed[0], R, 4e-15)


def test_fixed_axes_read_as_moving_ones_fail():
    """Section 3.14, step 3: X of the fixed frame; printed 'of {a}', the moving one."""
    r, p, y = 0.2, -0.5, 1.1
    x, z = np.eye(3)[0], np.eye(3)[2]
    after_two = so3.exp([0, p, 0]) @ so3.exp(r * x)
    close(so3.exp(y * z) @ after_two, G7, 1e-10)
    moving = so3.exp(y * (after_two @ z)) @ after_two
    assert np.abs(moving - G7).max() > 0.1


@ALL
def test_second_solution(sequence):
    """B-042, B-043, B-045: the other triple of the same rotation, and back."""
    angles = normalized(sequence, 4)
    other = euler.second_solution(sequence, angles)
    close(euler.to_matrix(sequence, other), euler.to_matrix(sequence, angles), 1e-14)
    assert (np.abs(other[:, 1] - angles[:, 1]) > 1e-9).all()
    turns = (euler.second_solution(sequence, other) - angles) / (2 * pi)
    close(turns, np.round(turns), 1e-12)


@ALL
def test_one_normalised_triple_per_rotation(sequence):
    """B-046: equal rotations have equal normalized angles, in their ranges."""
    angles = np.random.default_rng(5).uniform(-20, 20, (N, 3))
    found = euler.normalize(sequence, angles)
    close(found, euler.from_matrix(sequence, euler.to_matrix(sequence, angles)).angles, 1e-11)
    low, high = (0, pi) if proper(sequence) else (-pi / 2, pi / 2)
    assert ((found[:, 1] >= low) & (found[:, 1] <= high)).all()
    assert ((found[:, ::2] > -pi) & (found[:, ::2] <= pi)).all()
    close(euler.normalize(sequence, found), found, 0)


def test_range_printed_for_zyz_reaches_half_of_the_rotations():
    """Section 3.13: b in [-pi/2, pi/2] gives R33 >= 0 only; [0, pi] gives all."""
    b = np.random.default_rng(6).uniform(-pi / 2, pi / 2, N)
    reached = euler.to_matrix('ZYZ', np.column_stack([normalized('ZYZ', 7)[:, 0], b, b]))
    assert (reached[:, 2, 2] >= 0).all()
    R = Rotation.from_quat(np.random.default_rng(8).normal(size=(N, 4))).as_matrix()
    assert (R[:, 2, 2] < 0).any()
    close(euler.to_matrix('ZYZ', euler.from_matrix('ZYZ', R).angles), R, 1e-14)


def test_rpy_is_that_of_urdf_and_tf():
    """B-045: the origin of a URDF joint; tf_transformations' 'sxyz', through its base."""
    transforms3d = pytest.importorskip('transforms3d')
    for rpy in normalized('xyz', 9)[:20]:
        close(euler.to_matrix(euler.RPY, rpy), transforms3d.euler.euler2mat(*rpy, axes='sxyz'))
        numbers = ' '.join(map(repr, map(float, rpy)))
        urdf = (
            f'<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="fixed">'
            f'<parent link="a"/><child link="b"/><origin rpy="{numbers}"/></joint></robot>'
        )
        close(euler.to_matrix(euler.RPY, rpy), read_urdf(urdf).joints[0].origin[:3, :3])
    close(
        euler.to_matrix(euler.BRYANT, [0.1, 0.2, 0.3]),
        Rotation.from_euler('XYZ', [0.1, 0.2, 0.3]).as_matrix(),
    )


def test_bryant_and_rpy_inverse_entry_by_entry():
    """B-045, (3.37)-(3.39): r, y, p of the matrix, and the second solution."""
    R = np.round(G7, 10)
    y = np.arctan2(R[1, 0], R[0, 0])
    expected = [
        np.arctan2(R[2, 1], R[2, 2]),
        np.arctan2(-R[2, 0], np.cos(y) * R[0, 0] + np.sin(y) * R[1, 0]),
        y,
    ]
    close(euler.from_matrix(euler.RPY, R).angles, expected, 1e-9)
    r, p, y = expected
    close(euler.second_solution(euler.RPY, expected), [r - pi, -pi - p, y - pi])


# --- gimbal lock -----------------------------------------------------------------------------


def test_zxz_without_nutation():
    """B-042, B-047: b = 0 returns (a + c, 0, 0) with the flag."""
    found = euler.from_matrix('ZXZ', euler.to_matrix('ZXZ', [0.7, 0, -0.3]))
    close(found.angles, [0.4, 0, 0])
    assert found.singular


@ALL
@pytest.mark.parametrize('sine', [0.0, 1e-12, 4e-10, 6e-10, 1e-7])
def test_gimbal_lock(sequence, sine):
    """B-007, B-047: flagged, R rebuilt to 1e-9, the last angle zero where it is undetermined."""
    angles = normalized(sequence, 10)
    for b in (middle(sequence, sine), pi - middle(sequence, sine), -middle(sequence, sine)):
        angles[:, 1] = b
        R = euler.to_matrix(sequence, angles)
        found = euler.from_matrix(sequence, R)
        assert found.singular.all()
        assert np.isfinite(found.angles).all()
        close(euler.to_matrix(sequence, found.angles), R, 1e-9 if 1e-15 < sine < 5e-10 else 3e-15)
        if sine < 4e-10:
            close(found.angles[:, 2], 0, 0)
    regular = np.array([0.3, middle(sequence, 2e-6), 0.2])
    assert not euler.from_matrix(sequence, euler.to_matrix(sequence, regular)).singular
    assert euler.from_matrix(sequence, euler.to_matrix(sequence, regular), margin=1e-4).singular


@ALL
def test_previous_angles_are_kept_at_the_lock(sequence):
    """B-047: the last angle stays, the others rebuild R, even some turns away."""
    angles = normalized(sequence, 11)
    for b in (middle(sequence, 0.0), pi - middle(sequence, 0.0)):
        angles[:, 1] = b
        previous = angles + [2 * pi, 0, -4 * pi] + [0.1, 0, 0]
        R = euler.to_matrix(sequence, angles)
        found = euler.from_matrix(sequence, R, previous)
        close(found.angles, previous - [0.1, 0, 0], 1e-12)
        assert found.singular.all()


@ALL
def test_a_motion_through_the_lock_is_followed(sequence):
    """B-047: angles stay continuous although b leaves its range; without `previous` they jump."""
    t = np.linspace(0, 3, 61)
    path = np.column_stack([0.4 + 2 * t, middle(sequence, 0.0) + 0.8 * (t - 1.5), 9 - 1.5 * t])
    R = euler.to_matrix(sequence, path)
    followed = [path[0]]
    for matrix in R[1:]:
        followed.append(euler.from_matrix(sequence, matrix, followed[-1]).angles)
    at_lock = np.arange(len(t)) == 30  # where the last angle is the one before
    close(np.array(followed)[~at_lock], path[~at_lock], 1e-10)
    close(np.array(followed)[at_lock], path[at_lock], 0.1)
    alone = euler.from_matrix(sequence, R).angles
    assert np.abs(np.diff(alone, axis=0)).max() > 1


# --- rates -----------------------------------------------------------------------------------


def spin(sequence, angles, rates, axes):
    """Angular velocity by differences of R."""
    R_dot = derivative(lambda t: euler.to_matrix(sequence, angles + t * rates), 0.0)
    R = euler.to_matrix(sequence, angles)
    R_T = np.swapaxes(R, -1, -2)
    return so3.vee(R_dot @ R_T if axes == 'reference' else R_T @ R_dot)


@ALL
@AXES
def test_rates_against_finite_differences(sequence, axes):
    """B-048: omega = E rates for all sets, in reference and body axes; E^-1 E = 1; det E."""
    angles = np.random.default_rng(12).uniform(-4, 4, (N, 3))
    speeds = np.random.default_rng(13).normal(size=(N, 3))
    omega = euler.angular_velocity(sequence, angles, speeds, axes)
    close(omega, spin(sequence, angles, speeds, axes), 1e-9)
    E = euler.rate_matrix(sequence, angles, axes)
    close((E @ speeds[..., None])[..., 0], omega)
    b = angles[:, 1]
    sine = np.sin(b) if proper(sequence) else np.cos(b)
    close(np.abs(np.linalg.det(E)), np.abs(sine))
    inverse = euler.inverse_rate_matrix(sequence, angles, axes)
    close(inverse @ E * np.abs(sine)[:, None, None], np.eye(3) * np.abs(sine)[:, None, None], 4e-15)
    found = euler.rates(sequence, angles, omega, axes)
    assert not found.singular.any()
    close(found.rates * sine[:, None], speeds * sine[:, None], 1e-14)


def test_zxz_rates_entry_by_entry():
    """B-048: (3.40), (3.41) with its second row corrected."""
    (ca, cb, _), (sa, sb, _) = np.cos(G6), np.sin(G6)
    E = [[0, ca, sb * sa], [0, sa, -sb * ca], [1, 0, cb]]
    close(euler.rate_matrix('ZXZ', G6), E, 4e-15)
    inverse = [[-sa * cb / sb, ca * cb / sb, 1], [ca, sa, 0], [sa / sb, -ca / sb, 0]]
    close(euler.inverse_rate_matrix('ZXZ', G6), inverse, 4e-15)
    printed = np.array(inverse)
    printed[1] = [ca, sa / sb, 0]
    assert np.abs(printed @ E - np.eye(3)).max() > 0.1


@ALL
@AXES
def test_rates_at_the_lock(sequence, axes):
    """B-007, B-048: flagged; the least rates that come nearest to omega; refused by the inverse."""
    angles = normalized(sequence, 14)
    angles[:, 1] = middle(sequence, 0.0)
    omega = np.random.default_rng(15).normal(size=(N, 3))
    found = euler.rates(sequence, angles, omega, axes)
    assert found.singular.all()
    E = euler.rate_matrix(sequence, angles, axes)
    for i in range(0, N, 50):
        close(found.rates[i], np.linalg.lstsq(E[i], omega[i], rcond=1e-8)[0])
    lost = np.cross(E[..., 0], E[..., 1])  # the axis about which no rate turns
    missing = omega - (E @ found.rates[..., None])[..., 0]
    close(missing, np.sum(omega * lost, axis=1, keepdims=True) * lost)
    with pytest.raises(ArgumentError, match=f'{sequence} is singular at angles'):
        euler.inverse_rate_matrix(sequence, angles, axes)
    mixed = np.stack([angles[0], G6])
    both = euler.rates(sequence, mixed, omega[:2], axes)
    close(both.singular, [True, False])
    close(both.rates[1], np.linalg.solve(euler.rate_matrix(sequence, G6, axes), omega[1]))


# --- what angles are not ---------------------------------------------------------------------


def test_triples_do_not_add():
    """B-029: the sum of two triples is not the composition of their rotations."""
    a, b = np.array([0.3, 0.2, 0.1]), np.array([-0.5, 0.4, 0.9])
    composed = euler.to_matrix(euler.RPY, a) @ euler.to_matrix(euler.RPY, b)
    assert np.abs(euler.to_matrix(euler.RPY, a + b) - composed).max() > 0.1


@pytest.mark.parametrize('sequence', euler.MOVING)
def test_distance_is_at_most_the_sum_of_the_angles(sequence):
    """B-053: the angle of the equivalent axis is the shortest way."""
    angles = normalized(sequence, 16)
    distance = so3.distance(np.eye(3), euler.to_matrix(sequence, angles))
    assert (distance <= np.abs(angles).sum(axis=1) + 1e-12).all()
    assert (distance < np.abs(angles).sum(axis=1) - 0.1).any()


def test_angular_velocity_is_not_the_rate_of_anything():
    """B-049: along two paths between equal angles the integrals of omega differ, R does not."""
    t = np.linspace(0, 1, 2001)
    ends = []
    for bend in (0.0, 1.5):
        path = np.column_stack([0.9 * t, 1.2 * t + bend * np.sin(pi * t), 0.7 * t**2])
        speeds = np.gradient(path, t, axis=0, edge_order=2)
        omega = euler.angular_velocity('ZXZ', path, speeds)
        integral = 0.5 * np.sum((omega[1:] + omega[:-1]) * np.diff(t)[:, None], axis=0)
        ends.append((integral, euler.to_matrix('ZXZ', path[-1])))
    close(ends[0][1], ends[1][1], 1e-12)
    assert abs(ends[0][0] - ends[1][0])[1] > 0.1


# --- stacks, tracing, bad input --------------------------------------------------------------


def test_nan_is_no_singularity():
    """It stays in its member of a stack; `test_lie_contract.py` has stacks of all functions."""
    R = euler.to_matrix('ZXZ', np.random.default_rng(17).uniform(-1, 1, (2, 3, 3)) + [0, 1, 0])
    R[0, 1] = np.nan
    found = euler.from_matrix('xyz', R)
    assert np.isnan(found.angles[0, 1]).all()
    assert not found.singular.any()
    assert np.isfinite(found.angles[1]).all()


@pytest.mark.parametrize(
    ('call', 'error', 'message'),
    [
        (
            lambda: euler.to_matrix('ZZX', [0, 0, 0]),
            UnknownNameError,
            "no Euler set 'ZZX'; use one of",
        ),
        (lambda: euler.to_matrix('Zxz', [0, 0, 0]), UnknownNameError, "no Euler set 'Zxz'"),
        (lambda: euler.to_matrix('ZXZ', [0, 0]), ArgumentError, r'angles .* got \(2,\)'),
        (
            lambda: euler.from_matrix('ZXZ', np.diag([1, 1, -1])),
            ArgumentError,
            'not a rotation matrix',
        ),
        (lambda: euler.from_matrix('ZXZ', np.eye(4)), ArgumentError, r'R .* got \(4, 4\)'),
        (
            lambda: euler.from_matrix('ZXZ', np.eye(3), [0, 0]),
            ArgumentError,
            r'previous .* got \(2,\)',
        ),
        (
            lambda: euler.rate_matrix('ZXZ', G6, 'world'),
            UnknownNameError,
            "axes must be .* 'world'",
        ),
        (lambda: euler.rates('ZXZ', G6, [1]), ArgumentError, r'omega .* got \(1,\)'),
    ],
)
def test_bad_input_is_refused_by_name(call, error, message):
    """Bad input: what is at fault, its value, the remedy."""
    with pytest.raises(error, match=message):
        call()


def test_angles_are_wrapped_to_the_half_open_turn():
    """(-pi, pi], unchanged within it."""
    within = [np.pi, np.nextafter(-np.pi, 0.0), -3.0, 0.0, 1e-300]
    np.testing.assert_array_equal(euler._wrap(np.array(within)), within)
    np.testing.assert_array_equal(euler._wrap(np.array([-np.pi])), [np.pi])
    np.testing.assert_allclose(
        euler._wrap(np.array([3.5, -10.0])), [3.5 - 2 * np.pi, 4 * np.pi - 10]
    )
