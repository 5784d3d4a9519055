"""An independent computation of the tool frame."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]


def tool_pose(
    urdf: Path, tool: str, joints: Sequence[str], q: Array,
) -> tuple[Array, Rotation] | None:
    """Return positions (n, 3) [m] and orientations of a frame by Pinocchio, None without it.

    Parameters
    ----------
    urdf : Path
    tool : str
        The frame; joints behind it are left at zero.
    joints : sequence of str
        Revolute and prismatic joints.
    q : (n, len(joints)) array
    """
    try:
        import pinocchio  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return None
    model = pinocchio.buildModelFromUrdf(str(urdf))
    data = model.createData()
    frame = model.getFrameId(tool)
    columns = [model.joints[model.getJointId(joint)].idx_q for joint in joints]
    configuration = pinocchio.neutral(model)
    poses = np.empty((len(q), 4, 4))
    for positions, pose in zip(q, poses):
        configuration[columns] = positions
        pinocchio.framesForwardKinematics(model, data, configuration)
        pose[:] = data.oMf[frame].homogeneous
    return poses[:, :3, 3], Rotation.from_matrix(poses[:, :3, :3])
