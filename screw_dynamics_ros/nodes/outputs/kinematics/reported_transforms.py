# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Transforms of the joints in one message, without the other joints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

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


class StampDecimation:
    """Selects stamps at a mean rate; a backward step of stamps restarts it.

    Parameters
    ----------
    frequency : callable
        Returns the largest rate [Hz], 0 for every stamp.
    """

    def __init__(self, frequency: Callable[[], float]) -> None:
        self._frequency = frequency
        self._rate, self._limit = 0.0, RateLimit(1.0)

    def is_due(self, stamp: int) -> bool:
        """Whether a stamp [ns] is selected; call it once for each stamp."""
        rate, before = self._frequency(), self._rate
        self._rate = rate
        if rate and rate != before:
            self._limit = RateLimit(rate)
        return not rate or self._limit.use(stamp)


class ReportedTransforms:
    """Messages with the transforms of the joints that one joint state contains.

    Parameters
    ----------
    model : RunningModel
        Model of a robot without loops, because loops couple several joints.
    prefix : str
        Prefix of all frame names.
    frequency : callable
        As for `StampDecimation`.
    """

    def __init__(self, model: RunningModel, prefix: str, frequency: Callable[[], float]) -> None:
        self._model, self._frequency = model, frequency
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
        self._kinds: dict[tuple[int, ...], tuple[Template, StampDecimation]] = {}

    def encoded(
        self, message: JointStateMessage, names: NameMap, stamp: int, *, in_any_order: bool
    ) -> bytes | None:
        """Return the tf2_msgs/TFMessage of a joint state, or None for no message.

        Parameters
        ----------
        message : JointStateMessage
        names : NameMap
            Name map of its layout.
        stamp : int
            Stamp of the transforms [ns].
        in_any_order : bool
            Whether to publish every stamp, in any order.
        """
        values, is_number = measured(message.position, names)
        joints = names.target[is_number]
        if names.refusal is not None or not len(joints):
            return None
        template, decimation = self._kind(joints)
        if not in_any_order and not decimation.is_due(stamp):
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

    def _kind(self, joints: NDArray[np.intp]) -> tuple[Template, StampDecimation]:
        """Return template and decimation for a set of joints, created at first use."""
        key = tuple(joints.tolist())
        if key not in self._kinds:
            if len(self._kinds) >= MAX_KINDS:
                self._kinds.clear()
            self._kinds[key] = (
                templates.transforms([self._frames[row] for row in self._rows(joints)]),
                StampDecimation(self._frequency),
            )
        return self._kinds[key]
