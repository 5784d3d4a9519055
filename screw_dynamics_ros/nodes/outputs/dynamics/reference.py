# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The reference of the feedforward: a message, the state of a controller, or none.

`~/reference` has priority over the state of the controller. Joints that no reference names follow
the measured state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.exceptions import InvalidTopicNameException
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node
from rclpy.validate_full_topic_name import validate_full_topic_name
from trajectory_msgs.msg import JointTrajectory

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.measurement.reference_torques import GIVEN, rows
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.messages.reference import Reference
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.topics.command_topic import CommandTopic

from .reference_controller import ControllerReference
from .reference_joints import ReferenceJoints
from .reference_parameters import TABLE
from .reference_trajectory import TrajectoryReference

MEASURED = 'measured state'


class FollowedReference:
    """Writes the reference into the parameter 'reference' of the kernel at each joint state.

    Parameters
    ----------
    node : rclpy.node.Node
    host : ModelHost
    blend : callable
        Called when torques may make a step because the source of the reference changes.
    refusal : callable, optional
        Returns why references are refused now, '' if they are not.
    afterwards : str
        What happens after the end of a reference.

    Attributes
    ----------
    source : str
        Name of the active source, `MEASURED` without a reference.
    """

    def __init__(
        self,
        node: Node,
        host: ModelHost,
        blend: Callable[[], None],
        refusal: Callable[[], str] = lambda: '',
        afterwards: str = 'feedforward follows the measured state',
    ) -> None:
        self._node, self._blend = node, blend
        self._parameters = Parameters(node, TABLE, self._check, self._apply)
        self._check(self._parameters.values)
        self._trajectory = TrajectoryReference(self._parameters, refusal, afterwards)
        self._controller = ControllerReference(node, self._parameters)
        self._mapper: JointStateMapper | None = None
        self._rows = np.zeros((4, 0))
        self._latest: Reference | None = None
        self.source, self._paths_begun = MEASURED, 0
        self._topic = CommandTopic(
            node,
            JointTrajectory,
            '~/reference',
            self.receive,
            self._trajectory.refuse,
            lambda: self._trajectory.timeout,
            lambda: self._trajectory.is_followed,
        )

    def receive(self, message: JointTrajectory) -> None:
        """Follow a trajectory_msgs/JointTrajectory, or refuse it."""
        self._trajectory.receive(message)

    def bind(self, model: RunningModel, mapper: JointStateMapper, reference: Array) -> None:
        """Adopt a new model, whose kernel reads the vector `reference`, (4 n,)."""
        joints = ReferenceJoints.of(model)
        self._mapper, self._rows = mapper, rows(reference)
        self.source, self._latest = MEASURED, None
        self._trajectory.bind(joints, mapper)
        self._controller.bind(joints)
        self.update()

    @property
    def is_followed(self) -> bool:
        """Whether there is, or was, a reference."""
        return self.source != MEASURED or self._trajectory.is_given or self._controller.is_given

    def forget(self) -> None:
        """Follow nothing that has been received."""
        self._topic.release()
        self._trajectory.forget()
        self._controller.forget()

    def update(self) -> None:
        """Write the reference at the stamp of the current joint state."""
        mapper = self._mapper
        assert mapper is not None
        self._topic.look()
        source, reference = self._wanted(mapper)
        names_others = (reference is None) != (self.source == MEASURED) or (
            reference is not None and not np.array_equal(self._rows[GIVEN], reference.given)
        )
        begun = self._trajectory.paths_begun
        if names_others or source != self.source or begun != self._paths_begun:
            self._blend()
        self.source, self._paths_begun = source, begun
        if reference is self._latest:
            return
        self._latest = reference
        if reference is None:
            self._rows[:] = 0.0
        else:
            self._rows[:] = reference.given, reference.q, reference.v, reference.a

    def _wanted(self, mapper: JointStateMapper) -> tuple[str, Reference | None]:
        """Return the name of the source and its reference."""
        reference = self._trajectory.at(mapper.stamp, mapper.q, mapper.v)
        if reference is not None:
            return self._trajectory.name, reference
        reference = self._controller.at(mapper.stamp)
        return (MEASURED if reference is None else self._controller.name), reference

    def report(self, status: Status) -> None:
        """Report why sources are not used; `source` is active then."""
        if self._mapper is not None:
            self.update()
        self._topic.report(status)
        self._trajectory.report(status)
        self._controller.report(status)

    def _check(self, values: dict[str, Any]) -> None:
        topic = values.get('controller_state_topic')
        if topic:
            try:
                validate_full_topic_name(
                    expand_topic_name(topic, self._node.get_name(), self._node.get_namespace())
                )
            except (ValueError, InvalidTopicNameException) as error:
                raise ArgumentError(f'controller_state_topic {topic!r}: {error}') from None

    def _apply(self, values: dict[str, Any]) -> None:
        if 'controller_state_topic' in values:
            self._controller.subscribe()
