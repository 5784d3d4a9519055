# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Transforms of the joints in one message, without the other joints."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.tree.multibody_tree import mimic_map
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.fields import measured
from screw_dynamics_ros.ros.joint_states.name_map import NameMap
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.serialized import Template
from screw_dynamics_ros.ros.process.rate_limit import RateLimit

MAX_KINDS = 16  # sets of joints with a stored template


class ReportedTransforms:
    """Messages with the transforms of the joints that one joint state contains.

    Parameters
    ----------
    model : RunningModel
        Model of a robot without loops, because loops couple several joints.
    prefix : str
        Prefix of all frame names.
    """

    def __init__(self, model: RunningModel, prefix: str) -> None:
        self._model = model
        description = model.robot.description
        children = {joint.name: joint for joint in description.joints}
        self._frames = [
            (prefix + children[name].parent, prefix + children[name].child)
            for name in model.robot.transform_joints
        ]
        masters = mimic_map(description)
        moved = defaultdict(list)
        for row, name in enumerate(model.robot.transform_joints):
            moved[masters[name][0]].append(row)
        self._moved = [moved[joint] for joint in model.joints]
        self._kinds: dict[tuple[float, ...], tuple[Template, RateLimit | None]] = {}

    def encoded(
        self, message: JointStateMessage, names: NameMap, stamp: int, rate: float
    ) -> bytes | None:
        """Return the tf2_msgs/TFMessage of a joint state, or None for no message.

        Parameters
        ----------
        message : JointStateMessage
        names : NameMap
            Name map of its layout.
        stamp : int
            Stamp of the transforms [ns].
        rate : float
            Largest rate of messages with these joints, by stamps [Hz]; 0: every stamp.
        """
        values, is_number = measured(message.position, names)
        joints = names.target[is_number]
        if names.refusal is not None or not len(joints):
            return None
        template, limit = self._kind(joints, rate)
        if limit is not None and not limit.use(stamp):
            return None
        positions = np.zeros(len(self._moved))
        positions[joints] = values[is_number]
        transforms: Array = self._model.robot.joint_transforms(self._model.whole_q(positions))
        if not np.isfinite(transforms).all():
            return None
        return template.fill(transforms[self._rows(joints)], stamp)

    def _rows(self, joints: NDArray[np.intp]) -> list[int]:
        """Return the indices of the transforms that joints move."""
        return [row for joint in joints for row in self._moved[joint]]

    def _kind(self, joints: NDArray[np.intp], rate: float) -> tuple[Template, RateLimit | None]:
        """Return template and limit for a set of joints and a rate, created at first use."""
        key = (rate, *joints.tolist())
        if key not in self._kinds:
            if len(self._kinds) >= MAX_KINDS:
                self._kinds.clear()
            self._kinds[key] = (
                templates.transforms([self._frames[row] for row in self._rows(joints)]),
                RateLimit(rate) if rate else None,
            )
        return self._kinds[key]
