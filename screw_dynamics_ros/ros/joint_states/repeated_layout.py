"""The short way of numbers from a message that comes again and again into the state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.name_map import NameMap


@dataclass(frozen=True)
class ShortWay:
    """How the numbers of one message object become the state: state = numbers[source].

    Attributes
    ----------
    message : JointStateMessage
        The object.
    numbers : (3 k,) array
        Those of the message.
    source : (3 n,) array
    unknown : str
        As in `NameMap`.
    """

    message: JointStateMessage
    numbers: Array
    source: NDArray[np.intp]
    unknown: str

    @classmethod
    def through(cls, message: JointStateMessage, names: NameMap) -> ShortWay | None:
        """Return the way for a message that is complete and laid out for it, else None."""
        sizes = {len(message.position), len(message.velocity), len(message.effort)}
        if message.numbers is None or not names.complete or sizes != {names.count}:
            return None
        source = np.concatenate([names.source + k * names.count for k in range(3)])
        return cls(message, message.numbers, source, names.unknown)
