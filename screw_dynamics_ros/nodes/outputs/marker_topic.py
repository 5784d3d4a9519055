# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The topic `~/markers` of a node: shapes for rviz."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice

import numpy as np
from visualization_msgs.msg import MarkerArray

from screw_dynamics_ros.core.lie.screws import Screw
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.messages.markers import (
    Markers,
    MarkerShape,
    delete_all,
    draw_arrow,
    draw_line,
)
from screw_dynamics_ros.ros.parameters import Specification
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.publishers import Publishers

from ..hosting.drawing import DrawingProcess, DrawnNumbers, DrawnTopic

TABLE = (
    Specification(
        'marker_rate',
        30.0,
        'Rate of ~/markers [Hz], at most the rate of the joint states.',
        minimum=1.0,
        maximum=1000.0,
    ),
    Specification(
        'marker_width', 0.01, 'Diameter of the shafts of arrows in ~/markers [m].', minimum=1e-4
    ),
)


def color(name: str, of: str, default: Sequence[float]) -> Specification:
    """Return the parameter for a color in ~/markers."""
    return Specification(
        name,
        list(default),
        f'Color of {of} in ~/markers: red, green, blue, opacity, each 0 to 1.',
        minimum=0.0,
        maximum=1.0,
        size=4,
    )


def scale(name: str, of: str, unit: str, default: float) -> Specification:
    """Return the parameter for a length in ~/markers."""
    return Specification(name, default, f'Length of {of} in ~/markers [{unit}].', minimum=1e-6)


@dataclass(frozen=True)
class MarkerShapes:
    """A group of shapes, and the function that writes their numbers; can be pickled.

    Attributes
    ----------
    shapes : tuple of MarkerShape
    draw : callable
        ``draw(numbers, *values)`` writes the numbers of each shape; a function at the top level of
        a module, or a `partial` of one.
    """

    shapes: tuple[MarkerShape, ...]
    draw: Callable[..., None]


@dataclass(frozen=True)
class MarkerPlan:
    """A drawing and its inputs for each state; without inputs it never changes."""

    drawing: MarkerShapes
    sources: tuple[DrawnNumbers, ...] = ()


@dataclass(frozen=True)
class MarkerMaker:
    """Creates the messages of `~/markers` in the other process.

    Attributes
    ----------
    drawings : tuple of (Drawing, int)
        Each drawing with the number of its input arrays.
    lifetime : float
        Lifetime of markers without further messages [s].
    """

    drawings: tuple[tuple[MarkerShapes, int], ...]
    lifetime: float

    @cached_property
    def _markers(self) -> Markers:
        """The message, with constant drawings already written."""
        markers = Markers(shapes_of(drawing for drawing, _ in self.drawings), self.lifetime)
        for (drawing, count), numbers in zip(self.drawings, self._parts(markers)):
            if not count:
                drawing.draw(numbers)
        return markers

    def _parts(self, markers: Markers) -> Iterator[list[Array]]:
        """Return the numbers of the shapes of each drawing."""
        numbers = iter(markers.numbers)
        return (list(islice(numbers, len(drawing.shapes))) for drawing, _ in self.drawings)

    def __call__(self, stamp: bytes, *values: Array) -> bytes | None:
        """Return the message, or None if some of its numbers are not finite."""
        markers, values_left = self._markers, iter(values)
        for (drawing, count), numbers in zip(self.drawings, self._parts(markers)):
            if count:
                drawing.draw(numbers, *islice(values_left, count))
        if not all(np.isfinite(numbers).all() for numbers in markers.numbers):
            return None
        return markers.template.encode(stamp)


def screw(
    shapes: tuple[MarkerShape, MarkerShape, MarkerShape],
    axis_of: Callable[[Array], Screw],
    scales: tuple[float, float],
    length: float,
) -> MarkerShapes:
    """Return the drawing of a twist or wrench (6,), angular part first: two arrows and its axis.

    Parameters
    ----------
    shapes : tuple of 3 MarkerShape
        Arrows of the linear and of the angular part from the origin, and the line.
    axis_of : callable
        `screw_axis` or `wrench_axis`.
    scales : (float, float)
        Lengths of the arrows of unit magnitude, linear and angular [m].
    length : float
        Length of the line [m].
    """
    return MarkerShapes(shapes, partial(draw_screw, axis_of, scales, length))


def draw_screw(
    axis_of: Callable[[Array], Screw],
    scales: tuple[float, float],
    length: float,
    numbers: Sequence[Array],
    X: Array,
) -> None:
    """Write the numbers of a `screw` X (6,), angular part first."""
    linear, angular = scales
    draw_arrow(numbers[0], linear * X[3:])
    draw_arrow(numbers[1], angular * X[:3])
    axis = axis_of(X)
    draw_line(numbers[2], axis.point, 0.5 * length * axis.direction)


def shapes_of(drawings: Iterable[MarkerShapes]) -> tuple[MarkerShape, ...]:
    """Return the shapes of drawings, in order."""
    return tuple(shape for drawing in drawings for shape in drawing.shapes)


class MarkerTopic:
    """The topic `~/markers`, which persists when the robot changes.

    Parameters
    ----------
    publishers : Publishers
        Publishers of the node.
    process : DrawingProcess
    """

    def __init__(self, publishers: Publishers, process: DrawingProcess) -> None:
        self._publishers, self._process = publishers, process
        process.is_used = True
        self._drawn: DrawnTopic | None = None
        self._shapes: tuple[MarkerShape, ...] = ()

    def bind(self, pictures: Sequence[MarkerPlan], rate: float) -> list[Channel]:
        """Return the topic for a new robot; see `redraw`."""
        publisher = self._publishers.get(MarkerArray, '~/markers')
        self._drawn = DrawnTopic(publisher, self._process)
        self.redraw(pictures, rate)
        return [self._drawn.channel]

    def redraw(self, pictures: Sequence[MarkerPlan], rate: float) -> None:
        """Set the drawings of the same robot, and the largest rate [Hz].

        Shapes that are not shown again are deleted. Has no effect before the first `bind`.
        """
        if self._drawn is None:
            return
        drawings = [picture.drawing for picture in pictures]
        shapes = shapes_of(drawings)
        counts = [len(picture.sources) for picture in pictures]
        maker = MarkerMaker(tuple(zip(drawings, counts)), lifetime=0.5 + 2.0 / rate)
        sources = [source for picture in pictures for source in picture.sources]
        self._drawn.draw(maker if shapes else None, sources, rate)
        if self._shapes and shapes != self._shapes:
            self._drawn.channel.send(delete_all())
        self._shapes = shapes
