# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reference values from Pinocchio, an independent implementation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.types import Array


@dataclass(frozen=True, eq=False)
class Expected:
    """Expected results for n states.

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
    urdf: str,
    tool: str,
    joints: Sequence[str],
    q: Array,
    v: Array,
) -> Expected | None:
    """Return the results of Pinocchio, None if it is missing or too old for mimic joints.

    Parameters
    ----------
    urdf : str
        A robot on a fixed base, as XML.
    tool : str
        The frame.
    joints : sequence of str
        All its joints with one coordinate, except those that mimic another.
    q, v : (n, len(joints)) arrays, n > 0
        States [rad, m], [rad/s, m/s].
    """
    try:
        import pinocchio  # type: ignore[import-untyped, unused-ignore]

        model = pinocchio.buildModelFromXML(urdf, mimic=True)
    except (ImportError, TypeError):
        return None
    data = model.createData()
    frame = model.getFrameId(tool, pinocchio.BODY)  # a joint may have the same name
    theirs = [model.joints[model.getJointId(joint)] for joint in joints]
    order = [joint.idx_v for joint in theirs]
    poses, gravity, coriolis = (
        np.empty((len(q), *shape)) for shape in ((4, 4), (len(joints),), (len(joints),))
    )
    positions, velocities = np.zeros(model.nq), np.zeros(model.nv)
    for k in range(len(q)):
        velocities[order] = v[k]
        for joint, angle in zip(theirs, q[k]):  # continuous joints are (cos, sin) in Pinocchio
            positions[joint.idx_q : joint.idx_q + joint.nq] = (
                angle if joint.nq == 1 else (np.cos(angle), np.sin(angle))
            )
        pinocchio.framesForwardKinematics(model, data, positions)
        poses[k] = data.oMf[frame].homogeneous
        gravity[k] = pinocchio.computeGeneralizedGravity(model, data, positions)[order]
        coriolis[k] = (
            pinocchio.nonLinearEffects(model, data, positions, velocities)[order] - gravity[k]
        )
    return Expected(poses[:, :3, 3], Rotation.from_matrix(poses[:, :3, :3]), gravity, coriolis)
