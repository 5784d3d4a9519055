# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Output groups: what a host expects of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.robot.functions import Output
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.topics.channel import Channel


@dataclass(frozen=True)
class Plan:
    """What a group needs of one robot; immutable.

    Groups define subclasses with what they need to bind a model.

    Attributes
    ----------
    outputs : sequence
        What the kernel has to compute, as for `Robot.fuse`, finite for finite states.
    unbounded : sequence
        Further outputs, which may be infinite or NaN.
    parameters : mapping
        Further vectors that formulas read: the kernel always sees what the arrays hold.
    """

    outputs: Sequence[Output | Formula]
    unbounded: Sequence[Output | Formula] = ()
    parameters: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Stage:
    """What acts on each joint state besides the kernel, in the phases that it takes part in.

    `ModelHost.stages` has the order in which stages act.

    Attributes
    ----------
    prepare : callable, optional
        Called before anything is computed for a state that has subscribers.
    consume : callable, optional
        ``consume(mapper, sent)`` is called with its results, before they are published. `sent` is
        when the state was sent, on the monotonic clock of this process [s].
    observe : callable, optional
        ``observe(mapper)`` is called with every state after that, even without subscribers.
    use_refused : callable, optional
        ``use_refused(mapper, message)`` is called with messages that are refused:
        `mapper.refused`.
    """

    prepare: Callable[[], None] | None = None
    consume: Callable[[JointStateMapper, float], None] | None = None
    observe: Callable[[JointStateMapper], None] | None = None
    use_refused: Callable[[JointStateMapper, JointStateMessage], None] | None = None


P = TypeVar('P', bound=Plan)


@dataclass(frozen=True)
class Adopted(Generic[P]):
    """The model that a group has adopted.

    Attributes
    ----------
    model : RunningModel
    mapper : JointStateMapper
        Feeds it; another one is another robot.
    plan : Plan
        What the group wants of it.
    """

    model: RunningModel
    mapper: JointStateMapper
    plan: P


class OutputGroup(Protocol[P]):
    """A group of outputs; one of these makes a node."""

    def stages(self) -> Sequence[Stage]:
        """Return what acts on each joint state, in this order."""

    def plan(self, robot: Robot) -> P:
        """Return what to compute for a robot. Runs in another thread; may compile kernels."""

    def bind(self, adopted: Adopted[P]) -> list[Channel]:
        """Adopt a new model, and return the topics there are now."""

    def status(self) -> Status:
        """Report on /diagnostics."""


@dataclass(frozen=True)
class BoundPlan:
    """The plan of a group, and how the group adopts the model made of it.

    Attributes
    ----------
    name : str
        Of the group.
    plan : Plan
    bind : callable
    """

    name: str
    plan: Plan
    bind: Callable[[RunningModel, JointStateMapper], list[Channel]]


def planned(group: OutputGroup[P], robot: Robot) -> BoundPlan:
    """Return what a group wants of a robot."""
    plan = group.plan(robot)
    return BoundPlan(
        type(group).__name__,
        plan,
        lambda model, mapper: group.bind(Adopted(model, mapper, plan)),
    )
