# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Templates of visualization_msgs/MarkerArray: arrows, lines and ellipsoids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Pose, Quaternion
from numpy.typing import ArrayLike
from rclpy.serialization import serialize_message
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from screw_dynamics_ros.core.types import Array

from .serialized import Template
from .templates import vector

COUNTS = {'arrow': 6, 'line': 6, 'ellipsoid': 10}
MIN_THICKNESS = 1e-3  # m; flat ellipsoids are drawn as thick as this


@dataclass(frozen=True)
class MarkerShape:
    """One marker.

    Attributes
    ----------
    kind : {'arrow', 'line', 'ellipsoid'}
        Numbers of an arrow or a line: start and end; of an ellipsoid: center, orientation as
        quaternion (x, y, z, w), diameters.
    namespace : str
        Viewers can hide all shapes of a namespace.
    frame_id : str
    color : sequence of 4 float
        Red, green, blue, opacity.
    width : float
        Diameter of the shaft, or width of the line [m].
    """

    kind: str
    namespace: str
    frame_id: str
    color: Sequence[float]
    width: float = 0.0


class Markers:
    """A message with some shapes.

    Parameters
    ----------
    shapes : sequence of MarkerShape
    lifetime : float
        Time for which they are shown after the last message [s].

    Attributes
    ----------
    template : Template
    numbers : list of arrays
        Numbers of each shape, to be changed in place.
    """

    def __init__(self, shapes: Sequence[MarkerShape], lifetime: float) -> None:
        counts = [COUNTS[shape.kind] for shape in shapes]
        starts = list(accumulate(counts, initial=0))

        def build(stamp: Time, numbers: list[float]) -> MarkerArray:
            return MarkerArray(
                markers=[
                    marker(shape, i, stamp, numbers[start : start + count], lifetime)
                    for i, (shape, start, count) in enumerate(zip(shapes, starts, counts))
                ]
            )

        self.template = Template(build, starts[-1])
        self.numbers = [self.template.array(start, count) for start, count in zip(starts, counts)]


def marker(
    shape: MarkerShape, number: int, stamp: Time, numbers: Sequence[float], lifetime: float
) -> Marker:
    """visualization_msgs/Marker of a shape."""
    r, g, b, a = (float(np.float32(value)) for value in shape.color)
    message = Marker(
        header=Header(stamp=stamp, frame_id=shape.frame_id),
        ns=shape.namespace,
        id=number,
        action=Marker.ADD,
        color=ColorRGBA(r=r, g=g, b=b, a=a),
        lifetime=Duration(sec=int(lifetime), nanosec=round(lifetime % 1.0 * 1e9)),
    )
    if shape.kind == 'ellipsoid':
        (x, y, z), (qx, qy, qz, qw) = numbers[:3], numbers[3:7]
        message.type = Marker.SPHERE
        message.pose = Pose(
            position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw)
        )
        message.scale = vector(numbers[7:])
        return message
    message.type = Marker.ARROW if shape.kind == 'arrow' else Marker.LINE_LIST
    # Arrow: diameters of shaft and head; line: width.
    message.scale = vector([shape.width, 2.0 * shape.width if shape.kind == 'arrow' else 0.0, 0.0])
    message.points = [Point(x=x, y=y, z=z) for x, y, z in (numbers[:3], numbers[3:])]
    return message


def delete_all() -> bytes:
    """Return the serialized message that deletes all markers."""
    return serialize_message(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))


def draw_ellipsoid(
    numbers: Array, quaternion: Array, semi_axes: Array, center: ArrayLike = 0.0
) -> None:
    """Write an ellipsoid: orientation (x, y, z, w), lengths (3,) of its semi-axes, center (3,)."""
    numbers[:3] = center
    numbers[3:7] = quaternion
    numbers[7:] = np.maximum(2.0 * semi_axes, MIN_THICKNESS)


def draw_arrow(numbers: Array, tip: Array) -> None:
    """Write an arrow from the origin to a point (3,)."""
    numbers[:3], numbers[3:] = 0.0, tip


def draw_line(numbers: Array, middle: Array, half: Array) -> None:
    """Write a line given by its midpoint and the vector from there to its end, (3,) each."""
    numbers[:3], numbers[3:] = middle - half, middle + half
