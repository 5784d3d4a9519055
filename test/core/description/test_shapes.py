# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Shapes of links: read from URDF, and where lines enter them, against points of their surfaces."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.description.shapes import Shape, flat_span, round_span
from support.robots import urdf_path

EXTENTS = {
    'box': (0.4, 0.1, 0.2),
    'capsule': (0.3, 0.3, 0.7),
    'cylinder': (0.3, 0.3, 0.5),
    'sphere': (0.3, 0.3, 0.3),
}
TURNED = np.array([[0.0, 0, 1, 0.3], [1, 0, 0, -0.2], [0, 1, 0, 0.7], [0, 0, 0, 1]])


def link(content):
    return read_urdf(f'<robot name="r"><link name="base">{content}</link></robot>')


def surface_point(kind, extents, rng):
    """Return a point of the surface of a shape and the outward normal there, (3,) each."""
    half = 0.5 * np.array(extents)
    if kind == 'sphere':
        normal = rng.normal(size=3)
        normal /= np.linalg.norm(normal)
        return half * normal, normal
    if kind == 'capsule':
        normal = rng.normal(size=3) * [1, 1, rng.integers(2)]  # of a cap, or of the cylinder
        normal /= np.linalg.norm(normal)
        height = half[2] - half[0]
        end = np.sign(normal[2]) if normal[2] else rng.uniform(-0.9, 0.9)
        return half[0] * normal + np.array([0, 0, end * height]), normal
    k = rng.integers(3)
    side = np.eye(3)[k] * rng.choice([-1.0, 1.0])
    if kind == 'cylinder' and k != 2:
        angle = rng.uniform(-np.pi, np.pi)
        normal = np.array([np.cos(angle), np.sin(angle), 0.0])
        return half[0] * normal + np.array([0, 0, rng.uniform(-0.9, 0.9) * half[2]]), normal
    inner = rng.uniform(-0.6, 0.6, 3) * half  # also within the circle of a cylinder's end
    return np.where(side == 0.0, inner, side * half), side


@pytest.mark.parametrize('kind', EXTENTS)
def test_lines_enter_where_they_meet_the_surface_first(kind):
    rng = np.random.default_rng(3)
    shape = Shape(kind, np.array(EXTENTS[kind]), TURNED)
    R, center = TURNED[:3, :3], TURNED[:3, 3]
    for _ in range(50):
        point, normal = surface_point(kind, EXTENTS[kind], rng)
        direction = rng.normal(size=3)
        direction *= -np.sign(direction @ normal)  # inwards
        on_line = point + rng.uniform(-2.0, 2.0) * direction
        found = shape.entry(center + R @ on_line, R @ direction)
        np.testing.assert_allclose(found, center + R @ point, atol=1e-12)
        assert shape.entry(center + R @ (point + normal), R @ np.cross(normal, direction)) is None


def test_lines_along_the_sides():
    box = Shape('box', np.array([0.4, 0.1, 0.2]), np.eye(4))
    np.testing.assert_allclose(box.entry(np.zeros(3), np.array([2.0, 0, 0])), [-0.2, 0, 0])
    assert box.entry(np.array([0, 0.06, 0]), np.array([1.0, 0, 0])) is None
    rod = Shape('cylinder', np.array([0.1, 0.1, 0.6]), np.eye(4))
    np.testing.assert_allclose(rod.entry(np.zeros(3), np.array([0, 0, -1.0])), [0, 0, 0.3])
    assert rod.entry(np.array([0.06, 0, 0]), np.array([0, 0, 1.0])) is None


@pytest.mark.parametrize(
    ('kind', 'point', 'direction', 'expected'),
    [
        ('sphere', (0.15, 0, 1), (0, 0, 1), (0.15, 0, 0)),  # tangent
        ('sphere', (0.15 + 1e-9, 0, 1), (0, 0, 1), None),
        ('cylinder', (0.15, 1, 0.25), (0, 2, 0), (0.15, 0, 0.25)),  # along the rim
        ('cylinder', (0.15, 0, 5), (0, 0, 3), (0.15, 0, -0.25)),
        ('cylinder', (0.15 + 1e-9, 0, 5), (0, 0, 3), None),
        ('cylinder', (0, 1, 0.25 + 1e-9), (0, 1, 0), None),
        ('capsule', (0.15, 1, 0.2), (0, 2, 0), (0.15, 0, 0.2)),
        ('capsule', (0, 0, 5), (0, 0, -3), (0, 0, 0.35)),
        ('capsule', (0, 1, 0.35 + 1e-9), (0, 1, 0), None),
        ('box', (0.2, 3, -0.1), (0, -1, 0), (0.2, 0.05, -0.1)),  # along an edge
        ('box', (0.2 + 1e-9, 3, 0), (0, -1, 0), None),
        ('box', (0.3, 0.15, 0), (1, 1, 0), (0.1, -0.05, 0)),  # from behind
        ('sphere', (0, 0, 0), (0, 0, 0), None),  # no line
    ],
)
def test_lines_that_touch(kind, point, direction, expected):
    shape = Shape(kind, np.array(EXTENTS[kind]), np.eye(4))
    found = shape.entry(np.array(point, dtype=float), np.array(direction, dtype=float))
    if expected is None:
        assert found is None
    else:
        np.testing.assert_allclose(found, expected, atol=1e-8)


def test_spans_of_lines():
    """From which to which parameter a line is inside; always, or never."""
    x, y, nothing = np.eye(2)[0], np.eye(2)[1], np.zeros(2)
    inf = np.inf
    assert round_span(3 * x, -x, 1.0) == (2.0, 4.0)
    assert round_span(3 * x, 2 * y, 1.0) == (inf, -inf)
    assert round_span(x, nothing, 1.0) == (-inf, inf)
    assert round_span(1.1 * x, nothing, 1.0) == (inf, -inf)
    assert flat_span(3.0, -2.0, 1.0) == flat_span(-3.0, 2.0, 1.0) == (1.0, 2.0)
    assert flat_span(1.0, 0.0, 1.0) == flat_span(-1.0, 0.0, 1.0) == (-inf, inf)
    assert flat_span(-1.1, 0.0, 1.0) == (inf, -inf)


@pytest.mark.parametrize('k', range(3))
def test_the_axis_of_a_box_is_along_its_longest_edge(k):
    extents = np.roll([0.9, 0.1, 0.4], k)
    start, end, radius = Shape('box', extents, TURNED).axis()
    np.testing.assert_allclose(end - start, 0.9 * TURNED[:3, k])
    np.testing.assert_allclose(start + end, 2.0 * TURNED[:3, 3])
    assert radius == pytest.approx(0.5 * np.sqrt(0.1 * 0.4))


def test_arrays_cannot_be_changed():
    extents = np.ones(3)
    shape = Shape('box', extents, np.eye(4))
    extents[0] = 2.0
    assert shape.extents[0] == 1.0
    for array in (shape.extents, shape.pose):
        with pytest.raises(ValueError, match='read-only'):
            array[0] = 0.0


def test_axes():
    start, end, radius = Shape('cylinder', np.array([0.1, 0.1, 0.6]), TURNED).axis()
    np.testing.assert_allclose(end - start, 0.6 * TURNED[:3, 2])
    np.testing.assert_allclose(start + end, 2.0 * TURNED[:3, 3])
    assert radius == 0.05
    start, end, radius = Shape('sphere', np.full(3, 0.1), TURNED).axis()
    assert (start == end).all()
    assert radius == 0.05


def test_collision_geometry_comes_before_visual_geometry():
    text = """
      <visual><geometry><sphere radius="1"/></geometry></visual>
      <collision><origin xyz="0 0 0.5" rpy="0 0 1.5707963267948966"/>
        <geometry><cylinder radius="0.1" length="2"/></geometry></collision>
      <collision><geometry><box size="1 2 3"/></geometry></collision>
      <collision><geometry><mesh filename="package://x/y.stl"/></geometry></collision>"""
    cylinder, box = link(text).links[0].shapes
    assert (cylinder.kind, cylinder.extents.tolist()) == ('cylinder', [0.2, 0.2, 2.0])
    np.testing.assert_array_equal(
        cylinder.pose, [[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0.5], [0, 0, 0, 1]]
    )
    assert (box.kind, box.extents.tolist()) == ('box', [1.0, 2.0, 3.0])
    (sphere,) = link('<visual><geometry><sphere radius="1"/></geometry></visual>').links[0].shapes
    assert sphere.extents.tolist() == [2.0, 2.0, 2.0]
    assert len(read_urdf(urdf_path('panda')).links[3].shapes) == 3


@pytest.mark.parametrize(
    'content',
    [
        '<box/>',
        '<box size="1 2"/>',
        '<box size="1 2 -3"/>',
        '<cylinder radius="0.1"/>',
        '<cylinder radius="nan" length="1"/>',
        '<sphere radius="0"/>',
    ],
)
def test_unusable_shapes_are_left_out_and_remarked(content):
    """A shape that nothing depends on does not make a robot unusable."""
    found = link(f'<collision><geometry>{content}</geometry></collision>')
    assert found.links[0].shapes == ()
    assert [f.subject for f in found.findings if 'shape' in f.message] == ['link base']


@pytest.mark.parametrize('content', ['', '<geometry/>', '<geometry><torus r="1"/></geometry>'])
def test_other_geometry_is_no_shape(content):
    found = link(f'<collision>{content}</collision>')
    assert found.links[0].shapes == ()
    assert not [f for f in found.findings if 'shape' in f.message]


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (
            ('cone', np.ones(3), np.eye(4)),
            "^no shape is a 'cone'; use box, capsule, cylinder, ",
        ),
        (('box', np.ones(2), np.eye(4)), r'^box: extents must be finite and of shape \(3,\)'),
        (('capsule', np.array([1, 1, 0.9]), np.eye(4)), 'length 0.9 m, .* at least its diameter 1'),
        (('box', np.array([1, 0, 1.0]), np.eye(4)), r'extents must be positive, got \[1\.0, 0\.0'),
        (('box', np.array([1, np.inf, 1.0]), np.eye(4)), r'extents must be finite .*inf'),
        (('sphere', np.ones(3), np.eye(3)), r'^sphere: pose must be finite and of shape \(4, 4\)'),
        (('sphere', np.ones(3), np.full((4, 4), np.nan)), '^sphere: pose must be finite'),
        (('sphere', 'abc', np.eye(4)), '^sphere: extents must hold real numbers'),
    ],
)
def test_what_is_no_shape_is_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        Shape(*arguments)
