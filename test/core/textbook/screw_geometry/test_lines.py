# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lines and their representations (B-015, B-017 to B-023, B-030)."""

from itertools import pairwise
from math import pi

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.lie import screws, se3
from screw_dynamics_ros.core.textbook.screw_geometry import lines
from support.lie import close

N = 1000
X_AXIS = lines.through([0, 0, 0], [1, 0, 0])
G1 = lines.through([1, 2, 3], [0, 0.6, 0.8])


def same(line1, line2, tolerance=1e-12):
    """The same points and the same direction."""
    close(line1.direction, line2.direction, tolerance)
    close(line1.point, line2.point, tolerance)


def random_lines(seed, count=N):
    """Lines of all directions at distances of about 2 m."""
    rng = np.random.default_rng(seed)
    return lines.through(2 * rng.normal(size=(count, 3)), rng.normal(size=(count, 3)))


def special_lines():
    """The Z axis both ways, parallels to it, lines that meet it, level lines, the other axes."""
    points = [
        [0, 0, 0],
        [0, 0, 0],
        [1, 2, 3],
        [1, 2, 3],
        [0, 0, 2],
        [0, 0, 2],
        [0, 0, 0],
        [1, 0, -3],
        [0, 5, 0],
    ]
    directions = [
        [0, 0, 1],
        [0, 0, -1],
        [0, 0, 1],
        [0, 0, -1],
        [1, 1, 1],
        [1, -2, -3],
        [1, 0, 0],
        [0, 1, 0],
        [1, 1, 0],
    ]
    return lines.through(points, directions)


def elementary(axis, angle=0.0, distance=0.0):
    """Rotation about and translation along a frame axis."""
    e = np.eye(3)['XYZ'.index(axis)]
    return se3.pose(Rotation.from_rotvec(angle * e).as_matrix(), distance * e)


# --- two vectors and Plücker -----------------------------------------------------------------


def test_canonical_form():
    """B-015: |e| = 1, p0 . e = 0, whatever the point and the length of the direction were."""
    rng = np.random.default_rng(0)
    p, d = rng.normal(size=(2, N, 3))
    line = lines.through(p, d)
    close(np.linalg.norm(line.direction, axis=1), 1)
    close(np.sum(line.direction * line.point, axis=1), 0)
    close(np.cross(line.point - p, d), 0)
    same(lines.through(p + 3 * d, 5 * d), line, 1e-11)
    same(lines.through(p, -d), lines.Line(-line.direction, line.point))


def test_plucker_golden_value():
    """G1, B-017: moment and nearest point."""
    close(lines.to_plucker(G1), [0, 0.6, 0.8, -0.2, -0.8, 0.6])
    close(G1.point, [1, -0.16, 0.12])


def test_plucker_round_trip():
    """B-017, B-021: homogeneous, d . m = 0, the moment is that about the origin of any point."""
    line = random_lines(1)
    L = lines.to_plucker(line)
    close(np.sum(L[:, :3] * L[:, 3:], axis=1), 0)
    t = np.random.default_rng(2).normal(size=(N, 1))
    close(np.cross(line.point + t * line.direction, line.direction), L[:, 3:])
    close(L, screws.unit_screw(line.direction, line.point))
    for k in (1.0, 1e-3, 70.0):
        same(lines.from_plucker(k * L), line)
    same(lines.from_plucker(-L), lines.Line(-line.direction, line.point))


def test_a_screw_is_not_a_line():
    """B-017, (2.7): d . m != 0 is refused with the pitch it means; rounding is not."""
    with pytest.raises(ArgumentError, match=r'is a screw, not a line: .* pitch of 0\.25 m'):
        lines.from_plucker([0, 0, 2, 0, -2, 0.5])
    with pytest.raises(ArgumentError, match=r'direction of L is \(0, 0, 0\)'):
        lines.from_plucker([0, 0, 0, 0, 0, 1])
    lines.from_plucker([0, 0, 1, 3, -2, 1e-9])


def test_transform():
    """B-030: like the pose acts on two of its points, and like the screw of pitch 0."""
    line = random_lines(3)
    C = se3.exp(np.random.default_rng(4).normal(size=(N, 6)))
    moved = lines.transform(C, line)
    p, q = line.point, line.point + line.direction
    p, q = ((C @ np.column_stack([x, np.ones(N)])[..., None])[:, :3, 0] for x in (p, q))
    same(moved, lines.join(p, q))
    close(lines.to_plucker(moved), screws.transform_twist(C, lines.to_plucker(line)), 1e-11)


def test_join_and_meet():
    """B-023: the X axis out of two points and out of two planes; random planes contain the line."""
    same(lines.join([-1, 0, 0], [5, 0, 0]), X_AXIS)
    same(lines.meet([3, 0, 8], [0, 3, 0], [7, 1, 0], [0, 0, 2]), X_AXIS)
    back = lines.meet([7, 1, 0], [0, 0, 2], [3, 0, 8], [0, 3, 0])
    same(back, lines.through([0, 0, 0], [-1, 0, 0]))
    p, n, q, m = np.random.default_rng(5).normal(size=(4, N, 3))
    line = lines.meet(p, n, q, m)
    on = line.point + 2 * line.direction
    scale = 1 + np.abs(on).max(axis=1)
    close(np.sum(n * (on - p), axis=1) / scale, 0, 1e-11)
    close(np.sum(m * (on - q), axis=1) / scale, 0, 1e-11)
    assert (np.sum(line.direction * np.cross(n, m), axis=1) > 0).all()


# --- distances -------------------------------------------------------------------------------


def test_common_normal_golden_value():
    """G2, B-018: (k, l, m), distance and common normal of the X axis and a line through (1,1,2)."""
    r2, d2 = np.array([1.0, 1, 2]), np.array([0, 0.6, 0.8])
    line2 = lines.through(r2, d2)
    normal = lines.common_normal(X_AXIS, line2)
    close(normal.foot1, [1, 0, 0])
    close((r2 - normal.foot2) @ d2, 2.2)
    close(normal.distance, 0.4)
    close(lines.to_plucker(normal.line), [0, -0.8, 0.6, 0, -0.6, -0.8])
    close(screws.reciprocal_product(lines.to_plucker(X_AXIS), lines.to_plucker(line2)), -0.4)
    # (2.12) as it stands, for the three unknowns
    A = np.column_stack([[1, 0, 0], np.cross([1, 0, 0], d2), d2])
    close(np.linalg.solve(A, r2), [1, 0.4, 2.2])


def test_common_normal_is_the_shortest_connection():
    """B-018: the feet minimize the distance, by least squares over both lines."""
    line1, line2 = random_lines(6), random_lines(7)
    normal = lines.common_normal(line1, line2)
    for i in range(N):
        (e1, p1), (e2, p2) = ((x.direction[i], x.point[i]) for x in (line1, line2))
        t = np.linalg.lstsq(np.column_stack([e1, -e2]), p2 - p1, rcond=None)[0]
        scale = 1 / (1 - (e1 @ e2) ** 2)
        close(normal.foot1[i], p1 + t[0] * e1, 1e-13 * scale)
        close(normal.foot2[i], p2 + t[1] * e2, 1e-13 * scale)
    close(np.linalg.norm(normal.foot2 - normal.foot1, axis=1), normal.distance, 1e-8)
    for line in (line1, line2):
        close(np.sum(normal.line.direction * line.direction, axis=1), 0)
    assert not normal.parallel.any()


def test_distance_in_plucker_coordinates():
    """B-018: |d1 . m2 + d2 . m1| / |d1 × d2|."""
    line1, line2 = random_lines(8), random_lines(9)
    L1, L2 = lines.to_plucker(line1), lines.to_plucker(line2)
    sine = np.linalg.norm(np.cross(L1[:, :3], L2[:, :3]), axis=1)
    formula = np.abs(screws.reciprocal_product(L1, L2)) / sine
    close(lines.distance(line1, line2) * sine, formula * sine)
    close(
        lines.common_normal(line1, line2).angle,
        np.arccos(np.sum(L1[:, :3] * L2[:, :3], axis=1)),
        1e-7,
    )


def test_lines_that_meet():
    """B-018, (2.10): through one point they intersect, and the reciprocal product is zero."""
    rng = np.random.default_rng(10)
    p, d, e = rng.normal(size=(3, N, 3))
    line1, line2 = lines.through(p, d), lines.through(p, e)
    assert lines.intersect(line1, line2, 1e-12).all()
    close(lines.common_normal(line1, line2).foot1, p, 1e-10)
    close(screws.reciprocal_product(lines.to_plucker(line1), lines.to_plucker(line2)), 0, 1e-13)
    apart = lines.through(p + 1e-6 * np.cross(line1.direction, line2.direction), e)
    assert not lines.intersect(line1, apart).any()


@pytest.mark.parametrize('sense', [1, -1])
def test_parallel_lines(sense):
    """B-018: the distance |d × (p2 - p1)|; reciprocal without meeting; flagged."""
    rng = np.random.default_rng(11)
    p, q, d = rng.normal(size=(3, N, 3))
    line1, line2 = lines.through(p, d), lines.through(q, sense * d)
    normal = lines.common_normal(line1, line2)
    assert normal.parallel.all()
    assert not lines.intersect(line1, line2, 1e9).any()
    expected = np.linalg.norm(np.cross(d, q - p), axis=1) / np.linalg.norm(d, axis=1)
    close(normal.distance, expected)
    close(normal.angle, 0 if sense > 0 else pi, 4e-15)
    close(np.sum(normal.line.direction * line1.direction, axis=1), 0, 1e-10)
    close(normal.foot1, line1.point)
    close(normal.foot2, lines.nearest_point(line2, line1.point))
    close(normal.foot1 + normal.distance[:, None] * normal.line.direction, normal.foot2)
    itself = lines.common_normal(line1, line1)
    close(itself.distance, 0, 4e-15)
    close(np.sum(itself.line.direction * line1.direction, axis=1), 0)
    assert np.isfinite(itself.line.point).all()


def test_near_parallel_lines_stay_accurate():
    """B-018: lines at 1e-6 rad that meet 1 km away."""
    e = np.array([1, 1e-6, 0])
    close(lines.distance(X_AXIS, lines.through([0, -1e-3, 0.5], e)), 0.5)
    close(lines.common_normal(X_AXIS, lines.through([0, -1e-3, 0.5], e)).foot1, [1000, 0, 0], 1e-6)


def test_points_and_lines():
    """B-018: the foot of the perpendicular."""
    line, p = random_lines(12), np.random.default_rng(13).normal(size=(N, 3))
    foot = lines.nearest_point(line, p)
    close(np.sum((p - foot) * line.direction, axis=1), 0)
    close(np.cross(foot - line.point, line.direction), 0)
    distance = np.linalg.norm(np.cross(p - line.point, line.direction), axis=1)
    close(lines.point_distance(line, p), distance)


# --- Denavit-Hartenberg ----------------------------------------------------------------------


def test_denavit_hartenberg_golden_value():
    """G1, B-019."""
    dh = lines.to_denavit_hartenberg(G1)
    close(dh[:4], [1, 1 / 3, 0, -0.6435011088], 1e-10)
    assert not dh.singular


def test_denavit_hartenberg_round_trip():
    """B-019, B-021: any line, lines at the singularities too; distance never negative."""
    for line in (random_lines(14), special_lines()):
        dh = lines.to_denavit_hartenberg(line)
        assert (dh.distance >= 0).all()
        assert np.isfinite(np.array(dh[:4])).all()
        same(lines.from_denavit_hartenberg(*dh[:4]), line, 1e-10)
    close(dh.singular, [True, True, True, True, False, False, False, False, False])


def test_denavit_hartenberg_is_a_chain_of_elementary_motions():
    """B-019, (5.5): line = Z axis of R(Z, a) Tr(Z, h) Tr(X, d) R(X, t), X axis = common normal."""
    Z = lines.through([0, 0, 0], [0, 0, 1])
    for d, h, a, t in np.random.default_rng(15).uniform([0, -2, -3, -3], [2, 2, 3, 3], (100, 4)):
        C = elementary('Z', a, h) @ elementary('X', t, d)
        line = lines.from_denavit_hartenberg(d, h, a, t)
        same(line, lines.through(C[:3, 3], C[:3, 2]))
        normal = lines.common_normal(Z, line)
        close(normal.foot1, [0, 0, h], 1e-10)
        close(normal.foot2, C[:3, 3], 1e-10)
        close(normal.distance, d, 1e-10)
        close(lines.to_denavit_hartenberg(line)[:4], [d, h, a, t], 1e-9)


def test_lines_that_meet_the_z_axis():
    """B-021: the sense of the normal is free at distance 0; Z × e is taken, of both senses of e."""
    for e, azimuth in (([1, 1, 1], 3 * pi / 4), ([1, 0, -2], pi / 2), ([-1, 0, 0], -pi / 2)):
        dh = lines.to_denavit_hartenberg(lines.through([0, 0, 2], e))
        close([dh.distance, dh.height, dh.azimuth], [0, 2, azimuth])
        assert not dh.singular
        same(lines.from_denavit_hartenberg(*dh[:4]), lines.through([0, 0, 2], e))


def test_twist_in_the_printed_sense_fails():
    """Section 2.5.3, item 3: 'brings L parallel to Z' is the opposite sense to (5.5)."""
    dh = lines.to_denavit_hartenberg(G1)
    n = [np.cos(dh.azimuth), np.sin(dh.azimuth), 0]

    def turned(angle):
        return Rotation.from_rotvec(angle * np.array(n)).apply([0, 0, 1])

    close(turned(dh.twist), G1.direction)
    assert np.abs(turned(-dh.twist) - G1.direction).max() > 1


# --- Hayati-Roberts --------------------------------------------------------------------------


def test_hayati_roberts_golden_value():
    """G1, B-020, with (l_x, l_y) in the XY plane."""
    hr = lines.to_hayati_roberts(G1)
    close(hr[:5], [0, 0.6, 1, -0.25, 1])
    assert not hr.singular


def test_hayati_roberts_round_trip():
    """B-020, B-021: through (l_x, l_y, 0), up or down by the sign; level lines are flagged."""
    line = random_lines(16)
    hr = lines.to_hayati_roberts(line)
    scale = 1 + np.hypot(hr.l_x, hr.l_y)
    rebuilt = lines.from_hayati_roberts(*hr[:5])
    steep = 1 / np.abs(line.direction[:, 2])
    assert (np.abs(rebuilt.direction - line.direction).max(axis=1) < 1e-15 * steep**2).all()
    assert (np.abs(rebuilt.point - line.point).max(axis=1) < 1e-14 * scale * steep**2).all()
    foot = np.column_stack([hr.l_x, hr.l_y, np.zeros(N)])
    close(lines.point_distance(line, foot) / scale, 0)
    special = lines.to_hayati_roberts(special_lines())
    close(special.singular, [False] * 6 + [True] * 3)
    assert np.isfinite(np.array(special[:5])).all()
    regular = [
        lines.Line(*(x[:6] for x in special_lines())),
        lines.from_hayati_roberts(*(x[:6] for x in special[:5])),
    ]
    same(*regular)


def test_hayati_roberts_near_the_z_axis():
    """B-020: a tilt of 1e-6 rad changes the four numbers by as much; Denavit's jump."""
    tilt = 1e-6
    axis = lines.through([0.5, 0.2, 0], [0, 0, 1])
    for azimuth in np.linspace(0, 6, 20):
        e = [tilt * np.cos(azimuth), tilt * np.sin(azimuth), 1]
        tilted = lines.through([0.5, 0.2, 0], e)
        change = np.array(lines.to_hayati_roberts(tilted)[:4]) - lines.to_hayati_roberts(axis)[:4]
        assert np.abs(change).max() <= 1.0001 * tilt
    heights = [
        lines.to_denavit_hartenberg(lines.through([0.5, 0.2, 1], e)).height
        for e in ([tilt, 0, 1], [0, tilt, 1])
    ]
    assert abs(heights[0] - heights[1]) > 1e4


def test_hayati_roberts_is_singular_for_all_level_lines():
    """Section 2.5.4: not only for lines parallel to X or Y, as printed."""
    for azimuth in np.linspace(0, 6, 20):
        level = lines.through([0, 0, 1], [np.cos(azimuth), np.sin(azimuth), 0])
        assert lines.to_hayati_roberts(level).singular
        almost = lines.through([0, 0, 1], [np.cos(azimuth), np.sin(azimuth), 1e-5])
        assert not lines.to_hayati_roberts(almost).singular
        assert np.hypot(*lines.to_hayati_roberts(almost)[2:4]) > 9e4


def test_hayati_roberts_without_the_sign_fails():
    """Section 2.5.4: e_z = +sqrt(...) cannot tell a directed line from one going down."""
    down = lines.through([1, 2, 3], [0.1, 0.2, -1])
    hr = lines.to_hayati_roberts(down)
    assert hr.sign == -1
    same(lines.from_hayati_roberts(*hr[:5]), down)
    printed = lines.from_hayati_roberts(*hr[:4])
    assert np.abs(printed.direction - down.direction).max() > 1


# --- patches ---------------------------------------------------------------------------------


def test_each_representation_is_singular_where_the_other_is_not():
    """B-022: lines parallel to Z, lines parallel to X."""
    for e, dh_singular in (([0, 0, 1], True), ([1, 0, 0], False)):
        line = lines.through([1, 2, 3], e)
        assert lines.to_denavit_hartenberg(line).singular == dh_singular
        assert lines.to_hayati_roberts(line).singular != dh_singular
    assert not (
        lines.to_denavit_hartenberg(random_lines(17)).singular
        | lines.to_hayati_roberts(random_lines(17)).singular
    ).any()


def test_patches_change_over_without_flicker():
    """B-022: a line that swings from Z to X and back changes twice, and moves smoothly between."""
    rng = np.random.default_rng(18)
    angles = np.concatenate([np.linspace(0, pi / 2, 200), np.linspace(pi / 2, 0, 200)])
    functions = {
        'denavit_hartenberg': lines.to_denavit_hartenberg,
        'hayati_roberts': lines.to_hayati_roberts,
    }
    current, history, steps = None, [], []
    x = np.zeros(4)
    for angle in angles:
        shake = rng.uniform(-0.004, 0.004)
        line = lines.through([0.3, -0.5, 0.2], [np.sin(angle + shake), 0.1, np.cos(angle + shake)])
        current, before = lines.patch(line, current), current
        coordinates = functions[current](line)
        assert not coordinates.singular
        if current == before:
            steps.append(np.abs(coordinates[:4] - x).max())
        x = np.array(coordinates[:4])
        history.append(current)
    changes = [a for a, b in pairwise(history) if a != b]
    assert changes == ['hayati_roberts', 'denavit_hartenberg']
    assert max(steps) < 1  # either one alone goes to infinity or jumps on the way
    assert lines.patch(X_AXIS) == 'denavit_hartenberg'


# --- errata, stacks, bad input ---------------------------------------------------------------


def test_sign_in_the_printed_proof_fails():
    """(2.10), proof: d1 . (d2 × r2) = -d1 . m2; printed with one minus sign more."""
    d1, d2, r1, r2 = np.array([[1, 0, 0], [0, 0.6, 0.8], [0, 0, 0], [1, 1, 2]])  # G2
    m1, m2 = np.cross(r1, d1), np.cross(r2, d2)
    volume = np.cross(d1, d2) @ (r2 - r1)
    close(d1 @ np.cross(d2, r2), -d1 @ m2)
    close(volume, d1 @ np.cross(d2, r2) - m1 @ d2)
    close(volume, -(d1 @ m2 + d2 @ m1))
    assert abs(-d1 @ np.cross(d2, r2) - m1 @ d2 - volume) > 0.7


def test_stacks_equal_single_calls():
    """Leading axes are stacks and broadcast."""
    line = random_lines(20, 6)
    stack = lines.Line(*(x.reshape(2, 3, 3) for x in line))
    one = lines.Line(*(x[4] for x in line))
    for function in (
        lines.to_plucker,
        lambda x: np.stack(lines.to_denavit_hartenberg(x), -1),
        lambda x: np.stack(lines.to_hayati_roberts(x), -1),
    ):
        close(function(stack)[1, 1], function(one), 0)
    third = lines.Line(*(x[2] for x in line))
    close(lines.distance(stack, one)[0, 2], lines.distance(third, one), 0)
    assert lines.common_normal(stack, one).line.point.shape == (2, 3, 3)
    made = lines.from_denavit_hartenberg(np.ones((4, 1)), 0, np.zeros(3), 1)
    assert made.point.shape == (4, 3, 3)


def test_nan_in_gives_nan_out():
    """In a stack only the member concerned."""
    line = lines.through([[1, 2, np.nan], [1, 2, 3]], [[0, 0.6, 0.8], [0, 0.6, 0.8]])
    assert np.isnan(lines.to_plucker(line)[0]).any()
    dh, hr = lines.to_denavit_hartenberg(line), lines.to_hayati_roberts(line)
    assert np.isnan(np.array(dh[:2])[:, 0]).all()
    assert np.isnan(hr.l_x[0])
    close(np.array(dh[:4])[:, 1], lines.to_denavit_hartenberg(G1)[:4], 0)
    assert np.isnan(lines.common_normal(line, X_AXIS).distance[0])
    assert np.isnan(lines.from_plucker([np.nan, 0, 1, 0, 0, 0]).direction).any()
    assert np.isnan(lines.from_hayati_roberts(np.nan, 0, 1, 1).direction).any()


@pytest.mark.parametrize(
    ('call', 'error', 'message'),
    [
        (lambda: lines.through([0, 0, 0], [0, 0, 0]), ArgumentError, r'direction is \(0, 0, 0\)'),
        (lambda: lines.join([1, 2, 3], [1, 2, 3]), ArgumentError, 'the same point'),
        (
            lambda: lines.meet([0, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, -2]),
            ArgumentError,
            'parallel',
        ),
        (
            lambda: lines.from_hayati_roberts(0.8, 0.7, 0, 0),
            ArgumentError,
            r'is 1\.13, more than 1',
        ),
        (lambda: lines.to_plucker([1, 2, 3, 4, 5, 6]), ArgumentError, 'line must be a Line'),
        (
            lambda: lines.to_plucker(lines.Line([0, 0, 2], [0, 0, 0])),
            ArgumentError,
            'unit direction',
        ),
        (lambda: lines.distance(X_AXIS, lines.Line([0, 0, 1], [0, 0, 7])), ArgumentError, 'line2'),
        (lambda: lines.transform(2 * np.eye(4), X_AXIS), ArgumentError, 'not a rigid motion'),
        (lambda: lines.patch(random_lines(21)), ArgumentError, r'takes one line, got .* \(1000,\)'),
        (lambda: lines.patch(X_AXIS, 'pluecker'), UnknownNameError, "got 'pluecker'"),
    ],
)
def test_bad_input_is_refused_by_name(call, error, message):
    """Bad input: what is at fault, its value, the remedy."""
    with pytest.raises(error, match=message):
        call()
