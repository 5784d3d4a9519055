# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The contents of a sensor_msgs/JointState."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.types import Array

from .policies import Reason


class JointStateLayout(NamedTuple):
    """Names in a message, and the numbers of positions, velocities and efforts."""

    names: tuple[str, ...]
    positions: int
    velocities: int
    efforts: int

    @property
    def size(self) -> int:
        """Total number of values."""
        return self.positions + self.velocities + self.efforts

    @property
    def is_complete(self) -> bool:
        """Whether each name has a position, a velocity and an effort."""
        return len(self.names) == self.positions == self.velocities == self.efforts


@dataclass(eq=False)
class JointStateMessage:
    """The fields of sensor_msgs/JointState: layout, concatenated numbers, stamp.

    Attributes
    ----------
    layout : JointStateLayout
    numbers : (layout.size,) array
        Positions, then velocities, then efforts.
    stamp : int
        [ns], 0 for none.
    refusal : (Reason, str), optional
        Why the message cannot be used, regardless of its contents.
    """

    layout: JointStateLayout
    numbers: Array
    stamp: int
    refusal: tuple[Reason, str] | None = None

    @classmethod
    def of(
        cls,
        names: tuple[str, ...],
        position: ArrayLike,
        velocity: ArrayLike,
        effort: ArrayLike,
        stamp: int,
    ) -> JointStateMessage:
        """Return the message with these fields."""
        fields = [np.asarray(values, dtype=float) for values in (position, velocity, effort)]
        layout = JointStateLayout(tuple(names), *map(len, fields))
        return cls(layout, np.concatenate(fields), stamp)

    @classmethod
    def refused(cls, reason: Reason, detail: str) -> JointStateMessage:
        """Return a message without contents, refused for this reason."""
        return cls(JointStateLayout((), 0, 0, 0), np.zeros(0), 0, (reason, detail))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the joints."""
        return self.layout.names

    @property
    def position(self) -> Array:
        """The positions."""
        return self.numbers[: self.layout.positions]

    @property
    def velocity(self) -> Array:
        """The velocities."""
        return self.numbers[self.layout.positions : self.layout.positions + self.layout.velocities]

    @property
    def effort(self) -> Array:
        """The efforts."""
        return self.numbers[self.layout.positions + self.layout.velocities :]
