# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Models for a host: built in the background, adopted by the thread of the node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.ros2_control import unmet_condition
from screw_dynamics_ros.core.errors import UnsupportedRobotError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.topics.channel import Channel

from ..model.actuated import actuated
from ..model.parts import BoundPlan, OutputGroup, planned
from ..model.running_model import RunningModel, joint_state_mapper
from ..parameters.per_joint import effort_calibration

MAX_FREEDOMS = 300  # of a robot: time and messages of mass matrices grow with the square


@dataclass(frozen=True)
class BuiltModel:
    """Everything that is built from a description.

    Attributes
    ----------
    model : RunningModel
    mapper : JointStateMapper
        The state of the joints; replaced by the previous mapper if the robot is the same.
    plans : sequence of BoundPlan
        The plan of each group.
    """

    model: RunningModel
    mapper: JointStateMapper
    plans: Sequence[BoundPlan]

    def bind(self, mapper: JointStateMapper, gravity: Array) -> list[Channel]:
        """Connect the model to its inputs and topics; return the topics of all groups.

        Runs in the thread of the node. A group that fails has no topics.
        """
        model = self.model
        model.connect(mapper.state, gravity)
        channels: list[Channel] = []
        for plan in self.plans:
            with FAULTS.caught(f'outputs of {plan.name}'):
                channels += plan.bind(model, mapper)
        model.write_into(
            {output: array for channel in channels for output, array in channel.targets.items()}
        )
        return channels


class ModelBuilder:
    """Builds the models of a host.

    Parameters
    ----------
    parameters : Parameters
        Parameters of every model node.
    clock : callable
        Returns the current time on the clock of the stamps [ns].

    Attributes
    ----------
    groups : list of OutputGroup
        Output groups that use the models.
    """

    def __init__(self, parameters: Parameters, clock: Callable[[], int]) -> None:
        self._parameters, self._clock = parameters, clock
        self.groups: list[OutputGroup[Any]] = []

    def build(self, text: str, robot: Robot) -> BuiltModel:
        """Return the model of a description; runs in a background thread.

        Raises `UnsupportedRobotError` for more than `MAX_FREEDOMS`.
        """
        if robot.nv > MAX_FREEDOMS:
            raise UnsupportedRobotError(
                f'robot {robot.description.name} has {robot.nv} degrees of freedom, at most '
                f'{MAX_FREEDOMS} are supported by the nodes; describe a part of it'
            )
        bound = [planned(group, robot) for group in self.groups]
        plans = [each.plan for each in bound]
        model = RunningModel(
            text,
            robot,
            [output for plan in plans for output in plan.outputs],
            [output for plan in plans for output in plan.unbounded],
            {name: array for plan in plans for name, array in plan.parameters.items()},
        )
        calibration = effort_calibration(self._parameters.values, actuated(robot).sensed)
        mapper = joint_state_mapper(
            robot,
            calibration=calibration,
            clock=self._clock,
            effort_fault=unmet_condition(text, self._parameters['effort_condition']),
        )
        if model.joints:
            model.evaluate()  # so that the first joint state is not delayed
            model.results_at(*np.zeros((2, len(model.joints))))  # nor what adopts the model
        return BuiltModel(model, mapper, bound)
