"""The same quantities by Pinocchio, an independent implementation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Expected:
    """What must come out for n states.

    Attributes
    ----------
    position, rotation : (n, 3) array, n rotations
        Pose of the tool in the root frame [m].
    gravity, coriolis : (n, joints) arrays
        Torques [N m, N].
    """

    position: Array
    rotation: Rotation
    gravity: Array
    coriolis: Array


def by_pinocchio(
    urdf: Path, tool: str, joints: Sequence[str], q: Array, v: Array,
) -> Expected | None:
    """Return what Pinocchio computes, None where it is missing or too old for mimic joints.

    Parameters
    ----------
    urdf : Path
        A robot on a fixed base.
    tool : str
        The frame.
    joints : sequence of str
        All its revolute and prismatic joints, except those that mimic another.
    q, v : (n, len(joints)) arrays, n > 0
        States [rad, m], [rad/s, m/s].
    """
    try:
        import pinocchio  # type: ignore[import-untyped, unused-ignore]

        model = pinocchio.buildModelFromUrdf(str(urdf), mimic=True)
    except (ImportError, TypeError):
        return None
    data = model.createData()
    frame = model.getFrameId(tool)
    order = [model.joints[model.getJointId(joint)].idx_q for joint in joints]
    theirs = np.argsort(order)
    poses, gravity, coriolis = (np.empty((len(q), *shape)) for shape in (
        (4, 4), (len(joints),), (len(joints),)))
    for k, (positions, velocities) in enumerate(zip(q[:, theirs], v[:, theirs])):
        pinocchio.framesForwardKinematics(model, data, positions)
        poses[k] = data.oMf[frame].homogeneous
        gravity[k] = pinocchio.computeGeneralizedGravity(model, data, positions)[order]
        coriolis[k] = pinocchio.nonLinearEffects(
            model, data, positions, velocities)[order] - gravity[k]
    return Expected(poses[:, :3, 3], Rotation.from_matrix(poses[:, :3, :3]), gravity, coriolis)
