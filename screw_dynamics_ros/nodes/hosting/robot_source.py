# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robot descriptions from a topic and a parameter; models are built in the background."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from rclpy.node import Node
from std_msgs.msg import String

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.ros.description import (
    DescriptionLoader,
    DescriptionOutcome,
    DescriptionSource,
    urdf_text,
)
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.topics import qos

from ..model.closed_loops import RobotWithLoops
from ..parameters import closure_parameters
from ..parameters.base_parameters import FIXED
from ..parameters.drive_parameters import DriveParameters

T = TypeVar('T')


class RobotSource(Generic[T]):
    """Reads the topic and the parameter `robot_description`.

    Parameters
    ----------
    parameters : Parameters
        Parameters of every model node.
    drives : DriveParameters
    build : callable
        Returns the model of a text and its robot; runs in another thread.

    Attributes
    ----------
    descriptions : DescriptionSource
        Offered and active descriptions, and the reason of a refusal.
    loader : DescriptionLoader
        Builds models in the background.
    own_text : str or None
        Text that this process has published and will receive once.
    """

    def __init__(
        self,
        parameters: Parameters,
        drives: DriveParameters,
        build: Callable[[str, Robot], T],
    ) -> None:
        self._parameters, self._drives, self._build = parameters, drives, build
        self.descriptions = DescriptionSource()
        self.loader: DescriptionLoader[T] = DescriptionLoader(self._make)
        self.own_text: str | None = None
        self._robot: tuple[str, dict[str, Any], bool, Robot] | None = None

    def subscribe(self, node: Node) -> None:
        """Read the parameter and subscribe to the topic."""
        self.descriptions.from_parameter = self._parameters['robot_description']
        self.reload()
        node.create_subscription(
            String,
            'robot_description',
            FAULTS.guarded('a robot description', self.receive),
            qos.LATCHED,
        )

    @property
    def compiling(self) -> bool:
        """Whether a new description is being compiled."""
        return self.loader.is_pending

    def reload(self) -> None:
        """Compile again, after changes of outputs, drives or description."""
        candidates = self.descriptions.candidates()
        if candidates:
            self.loader.submit(candidates)

    def receive(self, message: String) -> None:
        """Process a description from the topic."""
        if message.data == self.own_text:
            self.own_text = None
            return
        descriptions = self.descriptions
        descriptions.from_topic = message.data
        if descriptions.is_wanted and not self.compiling:
            descriptions.reason = ''
        else:
            self.reload()

    def follow_parameter(self, is_changed: bool) -> None:
        """Process the description from the parameter; retry a refused one."""
        self.descriptions.from_parameter = self._parameters['robot_description']
        if is_changed or self.descriptions.reason:
            self.reload()

    def poll(self) -> DescriptionOutcome[T] | None:
        """Return each new model once, None if there is no new one."""
        return self.loader.poll()

    def read(self, text: str) -> Robot:
        """Return the robot of a description; raises `DescriptionError` and others."""
        description = read_robot_description(
            urdf_text(text, 'the robot description'),
            inertia_check=self._parameters['inertia_check'],
        )
        # Friction is a separate term: fed back from a measured velocity it can drive a robot.
        options = {
            'backend': self._parameters['backend'],
            'drives': self._drives.on(description),
            'friction': False,
            'floating_base': self._parameters['base_source'] != FIXED,
        }
        path = self._parameters['loop_closures']
        if not path:
            return Robot(description, **options)
        return RobotWithLoops(description, closure_parameters.read(path, description), **options)

    def _make(self, text: str) -> T:
        made_of = text, self._drives.values, self._parameters['base_source'] != FIXED
        if self._robot is None or self._robot[:-1] != made_of:
            self._robot = *made_of, self.read(text)
        return self._build(text, self._robot[-1])
