"""How far a pose is from another one, as a screw that can be recorded."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.types import Array


def pose_error(C: Array, target: Array) -> Array:
    """Return the displacement from C to the target in the frame of C, (6,) [rad, m].

    The angular part is 2 sin(angle / 2) times the axis, which agrees with the logarithm to third
    order, grows almost to half a turn, where it has no direction and is zero, and needs no branch.
    """
    R = C[:3, :3].T @ target[:3, :3]
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    half_turn = 1.0 + np.trace(R)  # (2 cos(angle / 2))^2, at least rounding error
    return np.concatenate(
        [axis / np.sqrt(half_turn + 1e-12), C[:3, :3].T @ (target[:3, 3] - C[:3, 3])]
    )
