"""The contents of a sensor_msgs/JointState."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.joint_states.policies import Reason


@dataclass(eq=False)
class JointStateMessage:
    """The fields of sensor_msgs/JointState as tuple and arrays; `stamp` in ns, 0 for none.

    Whoever sends the same object again and again, with other numbers in the same arrays, lays them
    one after the other in `numbers`: then they are taken over at once. `refusal` says why a message
    cannot be used, whatever its contents are.
    """

    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array
    stamp: int
    numbers: Array | None = None
    refusal: tuple[Reason, str] | None = None

    @classmethod
    def refused(cls, reason: Reason, detail: str) -> JointStateMessage:
        """Return a message without contents that is refused for a reason."""
        nothing = np.zeros(0)
        return cls((), nothing, nothing, nothing, 0, refusal=(reason, detail))
