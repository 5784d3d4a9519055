"""The topic `~/markers` of a node: shapes for rviz, drawn while somebody looks, at a rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray
from visualization_msgs.msg import MarkerArray

from screw_dynamics_ros.core.lie.screws import Screw
from screw_dynamics_ros.nodes.part import Channel
from screw_dynamics_ros.ros.markers import Markers, Shape, delete_all, draw_arrow, draw_line
from screw_dynamics_ros.ros.parameters import Specification
from screw_dynamics_ros.ros.publishers import Publishers
from screw_dynamics_ros.ros.timers import at_most

Array = NDArray[np.float64]

TABLE = (
    Specification(
        'marker_rate',
        30.0,
        'Rate at which ~/markers are drawn [Hz], no faster than joint states come.',
        minimum=1.0,
        maximum=1000.0,
    ),
    Specification(
        'marker_width', 0.01, 'Diameter of the shafts of arrows in ~/markers [m].', minimum=1e-4
    ),
)


def color(name: str, of: str, default: Sequence[float]) -> Specification:
    """Return the parameter for the colour of something in ~/markers."""
    return Specification(
        name,
        list(default),
        f'Colour of {of} in ~/markers: red, green, blue, opacity, each 0 to 1.',
        minimum=0.0,
        maximum=1.0,
        size=4,
    )


def scale(name: str, of: str, unit: str, default: float) -> Specification:
    """Return the parameter for the size of something in ~/markers."""
    return Specification(name, default, f'Length of {of} in ~/markers [{unit}].', minimum=1e-6)


@dataclass(frozen=True)
class Drawing:
    """Shapes that belong together, and how their numbers are written.

    Attributes
    ----------
    shapes : sequence of Shape
    steps : sequence of callables
        Take the numbers of each shape; called one after the other, each when there is time.
    fixed : bool
        Whether it is drawn only once.
    """

    shapes: Sequence[Shape]
    steps: Sequence[Callable[[Sequence[Array]], None]]
    fixed: bool = False


def screw(
    shapes: Sequence[Shape],
    value: Callable[[], Array],
    is_known: Callable[[], bool],
    axis_of: Callable[[Array], Screw],
    scales: tuple[float, float],
    length: float,
) -> Drawing:
    """Return a twist or a wrench (6,), angular part first: two arrows and its axis as a line.

    Parameters
    ----------
    shapes : sequence of 3 Shape
        Arrows of the linear and of the angular part from the origin, and the line.
    value, is_known : callable
        What to draw, and whether there is anything.
    axis_of : callable
        `screw_axis` or `wrench_axis`.
    scales : (float, float)
        Lengths of arrows of size 1, linear and angular [m].
    length : float
        Of the line [m].
    """
    linear, angular = scales
    X = np.zeros(6)

    def draw_parts(numbers: Sequence[Array]) -> None:
        X[:] = value() if is_known() else 0.0
        draw_arrow(numbers[0], linear * X[3:])
        draw_arrow(numbers[1], angular * X[:3])

    def draw_axis(numbers: Sequence[Array]) -> None:
        axis = axis_of(X)
        draw_line(numbers[2], axis.point, 0.5 * length * axis.direction)

    return Drawing(shapes, [draw_parts, draw_axis])


class MarkerTopic:
    """`~/markers`, for as many robots as come one after the other.

    Parameters
    ----------
    publishers : Publishers
        Of the node.
    """

    def __init__(self, publishers: Publishers) -> None:
        self._publishers = publishers
        self._shapes: tuple[Shape, ...] = ()

    def bind(self, drawings: Sequence[Drawing], rate: float) -> list[Channel]:
        """Return the topic for other drawings, made at most `rate` times a second [Hz].

        Shapes shown before are deleted, if they are others.
        """
        shapes = tuple(shape for drawing in drawings for shape in drawing.shapes)
        if not shapes and not self._shapes:
            return []
        publisher = self._publishers.get(MarkerArray, '~/markers')
        if self._shapes and shapes != self._shapes:
            publisher.publish(delete_all())
        self._shapes = shapes
        if not shapes:
            return []
        markers = Markers(shapes, lifetime=0.5 + 2.0 / rate)
        edges = list(accumulate((len(drawing.shapes) for drawing in drawings), initial=0))
        parts = [markers.numbers[first:last] for first, last in pairwise(edges)]
        changing = []
        for drawing, numbers in zip(drawings, parts):
            if drawing.fixed:
                for step in drawing.steps:
                    step(numbers)
            else:
                changing += [partial(step, numbers) for step in drawing.steps]

        return [Channel(publisher, markers.template, {}, is_valid=at_most(rate), pieces=changing)]
