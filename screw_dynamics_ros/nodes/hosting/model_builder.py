# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Models of robots with all that a host needs: built in the background, adopted by its thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.ros2_control import unmet_condition
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting.output_group import BoundPlan, OutputGroup, planned
from screw_dynamics_ros.nodes.model.actuated import actuated
from screw_dynamics_ros.nodes.model.running_model import RunningModel, joint_state_mapper
from screw_dynamics_ros.nodes.parameters import shared_parameters
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.topics.channel import Channel


@dataclass(frozen=True)
class BuiltModel:
    """What is built of a description.

    Attributes
    ----------
    model : RunningModel
    mapper : JointStateMapper
        The state of its joints, unless that of the same robot before is kept.
    plans : sequence of BoundPlan
        How each group adopts it.
    """

    model: RunningModel
    mapper: JointStateMapper
    plans: Sequence[BoundPlan]

    def bind(self, mapper: JointStateMapper, gravity: Array) -> list[Channel]:
        """Connect the model with its inputs and topics; return the topics of all groups.

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
        Those of every model node.
    clock : callable
        Returns the time on the time base of the stamps [ns].

    Attributes
    ----------
    groups : list of OutputGroup
        What the models are for.
    """

    def __init__(self, parameters: Parameters, clock: Callable[[], int]) -> None:
        self._parameters, self._clock = parameters, clock
        self.groups: list[OutputGroup[Any]] = []

    def build(self, text: str, robot: Robot) -> BuiltModel:
        """Return the model of a description; runs in a thread in the background."""
        bound = [planned(group, robot) for group in self.groups]
        plans = [each.plan for each in bound]
        model = RunningModel(
            text,
            robot,
            [output for plan in plans for output in plan.outputs],
            [output for plan in plans for output in plan.unbounded],
            {name: array for plan in plans for name, array in plan.parameters.items()},
        )
        calibration = shared_parameters.effort_calibration(self._parameters, actuated(robot).sensed)
        mapper = joint_state_mapper(
            robot,
            calibration=calibration,
            clock=self._clock,
            effort_fault=unmet_condition(text, self._parameters['effort_condition']),
        )
        if model.joints:
            model.evaluate()  # whatever is made at the first call is made now
        return BuiltModel(model, mapper, bound)
