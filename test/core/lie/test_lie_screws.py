# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Screws, twists, wrenches and their representations.

K-04, K-06 to K-09, K-34, D-01 to D-03; B-024 to B-028, B-064 to B-073.
"""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.lie import screws, se3, so3
from support.lie import (
    PROPERTY,
    close,
    derivative,
    directions,
    pose_of,
    poses,
    rotations,
    twists,
    vectors,
)

TOLERANCE = 1e-12
PAIRS = list(itertools.product(screws.REPRESENTATIONS, repeat=2))


def same_line(a, b, tolerance=TOLERANCE):
    """Two screws on one line with one sense, pitch and magnitude."""
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


# --- axis, pitch, magnitude ------------------------------------------------------------------


def test_unit_screw_golden_value():
    """G3 of doc/spec/golden_numbers.md; joint screws of K-04, (2)."""
    close(screws.unit_screw([0, 0, 1], [1, 0, 0], 0.5), [0, 0, 1, 0, -1, 0.5], 0)
    close(screws.unit_screw([0, 0, 3]), [0, 0, 1, 0, 0, 0], 0)
    close(screws.unit_screw([0, 0, 3], pitch=0.2), [0, 0, 1, 0, 0, 0.2], 0)
    close(screws.unit_screw([0, 0, 3], [5, 6, 7], np.inf), [0, 0, 0, 0, 0, 1], 0)


@PROPERTY
@given(directions(), vectors(), st.floats(-3, 3), st.floats(-3, 3), st.floats(0.01, 100))
def test_screw_axis_round_trip(e, p, h, shift, magnitude):
    """K-04, B-024, B-025, I-04: any point of the axis will do; axis and pitch come back."""
    X = screws.unit_screw(2 * e, p, h)
    close(X, [*e, *(np.cross(p, e) + h * e)])
    close(screws.unit_screw(e, p + shift * e, h), X)
    axis = screws.screw_axis(magnitude * X)
    same_line(axis, screws.Screw(e, p - (p @ e) * e, h, magnitude))
    close(screws.from_axis(axis), magnitude * X, 1e-12 * magnitude * 10)


@PROPERTY
@given(twists(3.0))
def test_screw_axis_of_a_twist(V):
    """B-067: points on the axis move along it, and none moves more slowly."""
    assume(np.linalg.norm(V[:3]) > 1e-3)
    axis = screws.screw_axis(V)
    scale = 1 + np.linalg.norm(axis.point)

    def velocity(p):
        return V[3:] + np.cross(V[:3], p)

    close(velocity(axis.point), axis.pitch * axis.magnitude * axis.direction, TOLERANCE * scale)
    close(axis.point @ axis.direction, 0, TOLERANCE * scale)
    slowest = np.linalg.norm(velocity(axis.point))
    for p in np.eye(3):
        assert np.linalg.norm(velocity(axis.point + p)) >= slowest - TOLERANCE * scale


def test_screws_without_an_axis():
    """K-04, B-025: translations, couples, the null screw, and rotation that is only round-off."""
    for X in ([0, 0, 0, 0, -2, 0], [0, 0, 1e-16, 0, -2, 0]):
        axis = screws.screw_axis(X)
        assert np.isinf(axis.pitch)
        close(axis.direction, [0, -1, 0], 0)
        close(axis.magnitude, 2, 0)
        close(screws.from_axis(axis), [0, 0, 0, 0, -2, 0], 0)
    null = screws.screw_axis(np.zeros(6))
    assert null.magnitude == 0
    assert np.isnan(null.pitch)
    close(null.direction, np.zeros(3), 0)
    close(screws.from_axis(null), np.zeros(6), 0)
    stack = screws.screw_axis(np.stack([np.zeros(6), [0, 0, 2, 0, -2, 1], [0, 0, 0, 3, 0, 0]]))
    close(stack.magnitude, [0, 2, 3], 0)
    close(stack.pitch[1:], [0.5, np.inf], 0)
    close(screws.from_axis(stack)[1], [0, 0, 2, 0, -2, 1], 0)
    assert np.isnan(screws.screw_axis([np.nan, 0, 1, 0, 0, 0]).direction).all()
    assert np.isnan(screws.screw_axis([0, 0, 1, 0, np.nan, 0]).point).any()


@PROPERTY
@given(vectors(), vectors(), directions(), st.floats(0.1, 10))
def test_poinsot(p, couple, e, size):
    """D-03, B-071: a force at a point and a couple, resolved on Poinsot's axis and summed."""
    f = size * e
    W = np.concatenate([np.cross(p, f) + couple, f])
    axis = screws.wrench_axis(W)
    on_axis = axis.magnitude * axis.direction
    rebuilt = [*(np.cross(axis.point, on_axis) + axis.pitch * on_axis), *on_axis]
    close(rebuilt, W, 1e-11)
    close(axis.pitch, W[:3] @ f / (f @ f))
    close(screws.swap(screws.from_axis(axis)), W, 1e-11)
    assert np.isinf(screws.wrench_axis([*e, 0, 0, 0]).pitch)


@PROPERTY
@given(rotations(), vectors())
def test_chasles(R, p):
    """B-072: (1 - R) q = p - s e for the axis point q, the sliding s = pitch * angle."""
    C = pose_of(R, p)
    axis = screws.chasles(C)
    assume(np.isfinite(axis.pitch) and axis.magnitude > 1e-3)
    slide = axis.pitch * axis.magnitude * axis.direction
    close(R @ axis.direction, axis.direction)
    close((np.eye(3) - R) @ axis.point, p - slide, 1e-12 * (1 + np.linalg.norm(axis.point)))
    close(se3.exp_unit_screw(screws.unit_screw(*axis[:3]), axis.magnitude), C, 1e-11)
    # B-072's closed form of the point, away from the half turn where the cotangent vanishes anyway
    e, t = axis.direction, axis.magnitude
    q = 0.5 * (p - (p @ e) * e + np.cross(e, p) / np.tan(t / 2))
    close(axis.point, q, 1e-11 * (1 + np.linalg.norm(q)))


def test_chasles_of_translations():
    """B-072: a translation, and a translation with the round-off of a rotation matrix."""
    for R in (np.eye(3), so3.exp([0, 0, 1e-16])):
        axis = screws.chasles(se3.pose(R, [0, 3, 4]))
        assert np.isinf(axis.pitch)
        close(axis.magnitude, 5)
        close(axis.direction, [0, 0.6, 0.8])
    assert screws.chasles(np.eye(4)).magnitude == 0


@PROPERTY
@given(poses(), twists(3.0))
def test_invariants_of_a_screw(C, X):
    """B-073: a change of frame moves the axis as a line and keeps pitch and magnitude."""
    assume(np.linalg.norm(X[:3]) > 1e-2)
    a, b = screws.screw_axis(X), screws.screw_axis(screws.transform_twist(C, X))
    scale = 1 + np.linalg.norm(a.point) + abs(a.pitch)
    close([b.pitch, b.magnitude], [a.pitch, a.magnitude], 1e-11 * scale)
    R, r = C[:3, :3], C[:3, 3]
    close(b.direction, R @ a.direction)
    close(np.cross(R @ a.point + r - b.point, b.direction), np.zeros(3), 1e-11 * scale)
    millimeters = screws.screw_axis(X * [1, 1, 1, 1000, 1000, 1000])
    close(millimeters.pitch / 1000, a.pitch, 1e-12 * scale)


# --- products --------------------------------------------------------------------------------


@PROPERTY
@given(poses(), twists(), twists(), twists())
def test_products(C, X, Y, W):
    """D-01, D-03, B-026, B-028, B-076: motor product, its dual, reciprocal product; invariance."""
    close(screws.motor_product(X, Y), se3.ad(X) @ Y)
    close(screws.dual_motor_product(X, W), se3.ad(X).T @ W)
    close(
        screws.power(screws.dual_motor_product(X, W), Y),
        screws.power(W, screws.motor_product(X, Y)),
        1e-10,
    )
    close(screws.reciprocal_product(X, Y), X[:3] @ Y[3:] + X[3:] @ Y[:3])
    close(screws.reciprocal_product(X, Y), screws.power(screws.swap(X), Y))
    Ad = se3.Ad(C)
    close(screws.reciprocal_product(Ad @ X, Ad @ Y), screws.reciprocal_product(X, Y), 1e-10)
    close(screws.motor_product(Ad @ X, Ad @ Y), Ad @ screws.motor_product(X, Y), 1e-10)


@PROPERTY
@given(directions(), directions(), vectors(), vectors())
def test_lines_are_reciprocal_if_and_only_if_coplanar(e1, e2, p1, p2):
    """D-03, E-37: intersecting or parallel; otherwise minus distance times sine of the angle."""
    line = screws.unit_screw
    close(screws.reciprocal_product(line(e1, p1), line(e2, p1)), 0)
    close(screws.reciprocal_product(line(e1, p1), line(e1, p2)), 0)  # parallel, not intersecting
    volume = np.linalg.det([p1 - p2, e1, e2])
    close(screws.reciprocal_product(line(e1, p1), line(e2, p2)), volume)


def test_golden_lines():
    """G2, G5 of doc/spec/golden_numbers.md."""
    line = screws.unit_screw([0, 0.6, 0.8], [1, 1, 2])
    close(screws.reciprocal_product(screws.unit_screw([1, 0, 0]), line), -0.4)
    close(
        screws.motor_product([1, 2, 3, 4, 5, 6], [-1, 0.5, 2, 0, 1, -3]), [2.5, -5, 2.5, -2, -11, 8]
    )


# --- frame changes ---------------------------------------------------------------------------


@PROPERTY
@given(poses(), poses(), twists(), twists())
def test_frame_changes(C1, C2, V, W):
    """K-06, D-03, B-030, B-066, B-069, B-070: Ad, Ad^-T, inverses, composition, invariant power."""
    close(screws.transform_twist(C1, V), se3.Ad(C1) @ V)
    close(screws.inverse_transform_twist(C1, V), np.linalg.inv(se3.Ad(C1)) @ V)
    close(screws.transform_wrench(C1, W), np.linalg.inv(se3.Ad(C1)).T @ W)
    close(screws.inverse_transform_wrench(C1, W), se3.Ad(C1).T @ W)
    close(
        screws.transform_twist(C1 @ C2, V),
        screws.transform_twist(C1, screws.transform_twist(C2, V)),
        1e-11,
    )
    close(
        screws.power(screws.transform_wrench(C1, W), screws.transform_twist(C1, V)),
        screws.power(W, V),
        1e-10,
    )


@PROPERTY
@given(poses(), twists())
def test_wrenches_do_not_transform_like_swapped_inverses(C, W):
    """Bruyninckx eq 4.21: Delta S Delta is S^-T; read as S^S = S^-1 it fails."""
    S, delta = se3.Ad(C), np.roll(np.eye(6), 3, axis=1)
    close(delta @ S @ delta, np.linalg.inv(S).T)
    close(delta @ S @ delta @ W, screws.transform_wrench(C, W))
    assume(np.abs(C[:3, 3]).max() > 0.1)
    assert np.abs(delta @ S @ delta - np.linalg.inv(S)).max() > 0.05


def test_weight_seen_from_the_origin():
    """B-069: 10 N downward at (1, 0, 0)."""
    W = screws.transform_wrench(se3.pose(np.eye(3), [1, 0, 0]), [0, 0, 0, 0, 0, -10])
    close(W, [0, 10, 0, 0, 0, -10], 0)


# --- motions, by finite differences ----------------------------------------------------------


class Motion:
    """A smooth motion of two bodies and their twists at t = 0, from the definitions alone."""

    def __init__(self, X, Y, rate):
        self.X, self.Y, self.rate = X, Y, rate

    def C_i(self, t):
        return se3.exp(self.X + t * self.rate) @ se3.exp(t * t * self.Y)

    def C_j(self, t):
        return se3.exp(self.Y - np.sin(t) * self.rate[::-1]) @ se3.exp(t * self.X)


def twists_of(C):
    """The four representations of the twist of t -> C(t) at 0 (doc/spec/golden_numbers.md)."""
    C0, C_dot = C(0.0), derivative(C, 0.0)
    inverse = np.linalg.inv(C0)
    body, spatial = se3.vee(inverse @ C_dot), se3.vee(C_dot @ inverse)
    r_dot = C_dot[:3, 3]
    return {
        'body': body,
        'spatial': spatial,
        'hybrid': np.array([*spatial[:3], *r_dot]),
        'mixed': np.array([*body[:3], *r_dot]),
    }


motions = st.builds(
    Motion, twists(3.0), twists(3.0), st.tuples(*[st.floats(-1, 1)] * 6).map(np.array)
)


@PROPERTY
@given(motions)
def test_twelve_conversions_against_finite_differences(motion):
    """K-09, B-064: every representation from every other."""
    V, C = twists_of(motion.C_i), motion.C_i(0.0)
    for source, target in PAIRS:
        close(screws.convert_twist(V[source], C, source, target), V[target], 1e-8)


@PROPERTY
@given(motions, poses(), rotations())
def test_general_twist(motion, C_point, R_axes):
    """K-07: velocity of the point of the body now at the origin of F_j, resolved in F_k."""
    V, C = twists_of(motion.C_i), motion.C_i(0.0)
    p = np.linalg.inv(C) @ C_point[:, 3]
    v = derivative(lambda t: motion.C_i(t) @ p, 0.0)[:3]
    expected = [*(R_axes.T @ V['spatial'][:3]), *(R_axes.T @ v)]
    close(screws.general_twist(V['spatial'], C_point, R_axes), expected, 1e-8)
    close(screws.general_twist(V['spatial'], C, C[:3, :3]), V['body'], 1e-8)
    close(screws.general_twist(V['spatial'], C, np.eye(3)), V['hybrid'], 1e-8)


@PROPERTY
@given(motions)
def test_relative_twist(motion):
    """K-08, (97): V_ij = vee(C_ij^-1 Cdot_ij)."""

    def C_ij(t):
        return np.linalg.inv(motion.C_i(t)) @ motion.C_j(t)

    V_i, V_j = twists_of(motion.C_i)['body'], twists_of(motion.C_j)['body']
    close(screws.relative_twist(V_i, V_j, C_ij(0.0)), twists_of(C_ij)['body'], 1e-7)


@PROPERTY
@given(motions, poses())
def test_change_of_body_and_inertial_frame(motion, S):
    """K-34: C S leaves V^s and maps V^b by Ad_S^-1; S C leaves V^b and maps V^s by Ad_S."""
    V = twists_of(motion.C_i)
    new_body = twists_of(lambda t: motion.C_i(t) @ S)
    close(new_body['spatial'], V['spatial'], 1e-8)
    close(new_body['body'], screws.inverse_transform_twist(S, V['body']), 1e-7)
    new_inertial = twists_of(lambda t: S @ motion.C_i(t))
    close(new_inertial['body'], V['body'], 1e-8)
    close(new_inertial['spatial'], screws.transform_twist(S, V['spatial']), 1e-7)


# --- representations -------------------------------------------------------------------------


def table(C):
    """Table 3 of the kinematics paper as reconstructed in K-09, block by block."""
    R, r = C[:3, :3], C[:3, 3]
    one, nil, x = np.eye(3), np.zeros((3, 3)), so3.hat(r)
    return {
        ('body', 'body'): np.eye(6),
        ('spatial', 'spatial'): np.eye(6),
        ('hybrid', 'hybrid'): np.eye(6),
        ('mixed', 'mixed'): np.eye(6),
        ('body', 'spatial'): np.block([[R, nil], [x @ R, R]]),
        ('body', 'hybrid'): np.block([[R, nil], [nil, R]]),
        ('body', 'mixed'): np.block([[one, nil], [nil, R]]),
        ('spatial', 'body'): np.block([[R.T, nil], [-R.T @ x, R.T]]),
        ('spatial', 'hybrid'): np.block([[one, nil], [-x, one]]),
        ('spatial', 'mixed'): np.block([[R.T, nil], [-x, one]]),
        ('hybrid', 'body'): np.block([[R.T, nil], [nil, R.T]]),
        ('hybrid', 'spatial'): np.block([[one, nil], [x, one]]),
        ('hybrid', 'mixed'): np.block([[R.T, nil], [nil, one]]),
        ('mixed', 'body'): np.block([[one, nil], [nil, R.T]]),
        ('mixed', 'spatial'): np.block([[R, nil], [x @ R, one]]),
        ('mixed', 'hybrid'): np.block([[R, nil], [nil, one]]),
    }


@PROPERTY
@given(poses())
def test_conversion_matrices_are_the_table(C):
    """K-09: the twelve matrices, entry by entry."""
    for pair, matrix in table(C).items():
        close(screws.conversion_matrix(C, *pair), matrix, 1e-14)


@PROPERTY
@given(poses(), twists(), twists())
def test_conversions_close_around_loops(C, V, W):
    """K-09, D-03: any round trip is the identity; power is the same in all four representations."""
    for loop in itertools.permutations(screws.REPRESENTATIONS):
        X = V
        for source, target in zip(loop, [*loop[1:], loop[0]], strict=True):
            X = screws.convert_twist(X, C, source, target)
        close(X, V, 5e-12)
    for source, target in PAIRS:
        V_t = screws.convert_twist(V, C, source, target)
        W_t = screws.convert_wrench(W, C, source, target)
        close(screws.power(W_t, V_t), screws.power(W, V), 1e-10)


@PROPERTY
@given(poses(), twists())
def test_wrench_representations(C, W_s):
    """D-03: W^b = Ad_C^T W^s, W^h = Ad_r^T W^s = Ad_R W^b, W^m = (t^b, f^h), f^h = f^s."""
    R, r = C[:3, :3], C[:3, 3]
    W = {name: screws.convert_wrench(W_s, C, 'spatial', name) for name in screws.REPRESENTATIONS}
    close(W['body'], se3.Ad(C).T @ W_s)
    close(W['hybrid'], se3.Ad_r(r).T @ W_s)
    close(W['hybrid'], se3.Ad_R(R) @ W['body'])
    close(W['mixed'], [*W['body'][:3], *W['hybrid'][3:]])
    close(W['hybrid'][3:], W_s[3:])


@PROPERTY
@given(rotations(), twists())
def test_spatial_and_hybrid_coincide_with_the_origins(R, V):
    """E-38: the frames need not overlap, coincident origins are enough."""
    close(screws.convert_twist(V, pose_of(R, np.zeros(3)), 'hybrid', 'spatial'), V, 0)


def test_body_to_hybrid_with_the_printed_inverse_fails():
    """E-15: V^h = Ad_R V^b; the dynamics paper prints the inverse in section 3.3."""
    motion = Motion(np.array([0.3, -0.2, 0.5, 1, 2, -1]), np.ones(6), np.arange(1.0, 7.0))
    V, R = twists_of(motion.C_i), motion.C_i(0.0)[:3, :3]
    close(se3.Ad_R(R) @ V['body'], V['hybrid'], 1e-9)
    assert np.abs(se3.Ad_R(R).T @ V['body'] - V['hybrid']).max() > 1


# --- stacks and arguments --------------------------------------------------------------------


def test_bad_arguments_are_refused_by_name():
    """Unknown representation, zero axis."""
    for pair in (('body', 'local'), ('World', 'body')):
        with pytest.raises(UnknownNameError, match='body, spatial, hybrid, mixed'):
            screws.convert_twist(np.zeros(6), np.eye(4), *pair)
    with pytest.raises(ArgumentError, match='axis is'):
        screws.unit_screw([[0, 0, 1], [0, 0, 0]])
