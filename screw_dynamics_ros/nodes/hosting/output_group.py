# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The interface of output groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.robot.functions import Output
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.topics.channel import Channel

from ..model.host_part import Stage
from ..model.running_model import RunningModel


@dataclass(frozen=True, eq=False)
class Plan:
    """Requirements of a group for one robot; immutable.

    Groups define subclasses with the data they need to bind a model.

    Attributes
    ----------
    outputs : sequence
        Outputs of the kernel, as for `Robot.fuse`, finite for finite states.
    unbounded : sequence
        Further outputs, which may be infinite or NaN.
    parameters : mapping
        Further vectors that formulas read; the kernel reads these arrays at each evaluation.
    """

    outputs: Sequence[Output | Formula]
    unbounded: Sequence[Output | Formula] = ()
    parameters: Mapping[str, Array] = field(default_factory=dict)


P = TypeVar('P', bound=Plan)


@dataclass(frozen=True)
class Adopted(Generic[P]):
    """The model that a group has adopted.

    Attributes
    ----------
    model : RunningModel
    mapper : JointStateMapper
        The state of the joints; a new mapper means a new robot.
    plan : Plan
        The plan of the group.
    """

    model: RunningModel
    mapper: JointStateMapper
    plan: P


class OutputGroup(Protocol[P]):
    """A group of outputs; a node consists of one group, `bringup` of several."""

    def stages(self) -> Sequence[Stage]:
        """Return the stages for each joint state, in order."""

    def plan(self, robot: Robot) -> P:
        """Return the plan for a robot. Runs in another thread; may compile kernels."""

    def bind(self, adopted: Adopted[P]) -> list[Channel]:
        """Adopt a new model, and return its topics."""

    def status(self) -> Status:
        """Report on /diagnostics."""


@dataclass(frozen=True)
class BoundPlan:
    """The plan of a group, and the function with which the group adopts a model.

    Attributes
    ----------
    name : str
        Name of the group.
    plan : Plan
    bind : callable
    """

    name: str
    plan: Plan
    bind: Callable[[RunningModel, JointStateMapper], list[Channel]]


def planned(group: OutputGroup[P], robot: Robot) -> BoundPlan:
    """Return the plan of a group for a robot."""
    plan = group.plan(robot)
    return BoundPlan(
        type(group).__name__,
        plan,
        lambda model, mapper: group.bind(Adopted(model, mapper, plan)),
    )
