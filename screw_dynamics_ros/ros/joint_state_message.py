"""The contents of a sensor_msgs/JointState."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(eq=False)
class JointStateMessage:
    """The fields of sensor_msgs/JointState as tuple and arrays; `stamp` in ns, 0 for none.

    Whoever sends the same object again and again, with other numbers in the same arrays, lays them
    one after the other in `numbers`: then they are taken over at once.
    """

    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array
    stamp: int
    numbers: Array | None = None
