# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Shapes of links: read from URDF, and where lines enter them, against points of their surfaces."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.description.shapes import Shape
from support.robots import urdf_path

EXTENTS = {'box': (0.4, 0.1, 0.2), 'cylinder': (0.3, 0.3, 0.5), 'sphere': (0.3, 0.3, 0.3)}
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
    'arguments',
    [
        ('cone', np.ones(3), np.eye(4)),
        ('box', np.ones(2), np.eye(4)),
        ('box', np.array([1, 0, 1.0]), np.eye(4)),
        ('box', np.array([1, np.inf, 1.0]), np.eye(4)),
        ('sphere', np.ones(3), np.eye(3)),
    ],
)
def test_what_is_no_shape_is_refused(arguments):
    with pytest.raises(ArgumentError):
        Shape(*arguments)
