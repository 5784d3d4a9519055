# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Templates of markers, read by rclpy."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rclpy.serialization import deserialize_message
from visualization_msgs.msg import Marker, MarkerArray

from screw_dynamics_ros.ros.messages import markers
from screw_dynamics_ros.ros.messages.markers import Markers, MarkerShape

STAMP = 1_700_000_000_250_000_000
COLOR = (0.125, 0.25, 0.5, 0.75)
SHAPES = [
    MarkerShape('arrow', 'forces', 'tip', COLOR, 0.0625),
    MarkerShape('line', 'axes', 'base', COLOR[::-1], 0.03125),
    MarkerShape('ellipsoid', 'measures', 'tool', COLOR),
]


def xyz(point):
    return [point.x, point.y, point.z]


@pytest.fixture(scope='module')
def shown():
    """Return the markers of shapes drawn with numbers that differ."""
    made = Markers(SHAPES, lifetime=2.25)
    arrow, line, ellipsoid = made.numbers
    arrow[:] = line[:] = ellipsoid[:] = 9.0
    markers.draw_arrow(arrow, np.array([1.0, 2.0, 3.0]))
    markers.draw_line(line, np.array([1.0, 2.0, 3.0]), np.array([0.25, 0.5, 0.75]))
    markers.draw_ellipsoid(ellipsoid, np.array([0.5, -0.5, 0.5, 0.5]), np.array([0.25, 1.0, 1e-4]))
    numbers = np.concatenate(made.numbers)
    return deserialize_message(bytes(made.template.fill(numbers, STAMP)), MarkerArray).markers


def test_heads(shown):
    """Names, frames, colors and lifetime; numbers of markers differ."""
    for k, (found, shape) in enumerate(zip(shown, SHAPES, strict=True)):
        assert (found.ns, found.header.frame_id, found.id) == (shape.namespace, shape.frame_id, k)
        assert (found.header.stamp.sec, found.header.stamp.nanosec) == divmod(STAMP, 10**9)
        assert (found.color.r, found.color.g, found.color.b, found.color.a) == shape.color
        assert (found.lifetime.sec, found.lifetime.nanosec) == (2, 250_000_000)
        assert found.action == Marker.ADD


def test_arrow_and_line(shown):
    arrow, line, _ = shown
    assert arrow.type == Marker.ARROW
    assert xyz(arrow.scale) == [0.0625, 0.125, 0.0]  # shaft and head
    assert [xyz(each) for each in arrow.points] == [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]
    assert line.type == Marker.LINE_LIST
    assert xyz(line.scale) == [0.03125, 0.0, 0.0]
    assert [xyz(each) for each in line.points] == [[0.75, 1.5, 2.25], [1.25, 2.5, 3.75]]


def test_ellipsoid(shown):
    """Diameters are twice the semi-axes; a flat one is a millimeter thick."""
    found = shown[2]
    assert found.type == Marker.SPHERE
    assert xyz(found.pose.position) == [0.0, 0.0, 0.0]
    q = found.pose.orientation
    assert (q.x, q.y, q.z, q.w) == (0.5, -0.5, 0.5, 0.5)
    assert xyz(found.scale) == [0.5, 2.0, 1e-3]


def test_markers_are_deleted():
    (found,) = deserialize_message(markers.delete_all(), MarkerArray).markers
    assert found.action == Marker.DELETEALL
