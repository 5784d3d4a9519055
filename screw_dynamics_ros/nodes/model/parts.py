# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The interface of the parts of a model node, and of its groups of outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import ClassVar, Generic, Protocol, TypeVar

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.robot.functions import Output
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.data_path.records import STEP_FAILED
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper, ObservedState
from screw_dynamics_ros.ros.process.python_function import PythonFunction
from screw_dynamics_ros.ros.status import Status
from screw_dynamics_ros.ros.topics.channel import Channel

from .running_model import RunningModel

NO_RECORD = Record()


@dataclass(frozen=True)
class StateStep:
    """A step of the loop.

    Attributes
    ----------
    function : callable or PythonFunction
        A `compiled_step`, which returns TAKEN or DECLINED.
    record : callable
        Returns its record; called before states are given to the loop.
    otherwise : PythonFunction or None
        Takes the step if `function` declines it.
    """

    function: Callable[..., int]
    record: Callable[[], Record]
    otherwise: PythonFunction | None = None


def python_step(name: str, function: Callable[[], None]) -> StateStep:
    """Return a step that Python takes; errors are reported with its name."""
    return StateStep(PythonFunction(name, function, STEP_FAILED), lambda: NO_RECORD)


def always() -> bool:
    """Return True."""
    return True


@dataclass(frozen=True)
class Stage:
    """Steps and callbacks for each joint state, in addition to the kernel.

    `ModelHost.stages` determines their order.

    Attributes
    ----------
    prepare : StateStep, optional
        Taken before the kernel is evaluated, which requires a subscriber.
    consume : StateStep, optional
        Taken after the kernel, before results are published.
    is_needed : callable
        Whether the steps have anything to do for the next states, unless a parameter, a service or
        another message changes that.
    observe : callable, optional
        ``observe(state)`` is called for every state, even without subscribers: some time after it
        was processed, but before anything else depends on it.
    use_refused : callable, optional
        ``use_refused(mapper, message)`` is called for refused messages; see `mapper.refused`.
    """

    prepare: StateStep | None = None
    consume: StateStep | None = None
    is_needed: Callable[[], bool] = always
    observe: Callable[[ObservedState], None] | None = None
    use_refused: Callable[[JointStateMapper, JointStateMessage], None] | None = None


class HostPart:
    """A part of a `ModelHost`; each method does nothing unless a part defines it.

    All but `stages` and `report` are called with the lock of states.

    Attributes
    ----------
    PARAMETERS : set of str
        Names of parameters; `update_parameters` is called when one of them changes.
    """

    PARAMETERS: ClassVar[Set[str]] = frozenset()

    def stages(self) -> Sequence[Stage]:
        """Return the stages for each joint state, in order."""
        return ()

    def use(self, model: RunningModel) -> None:
        """Adopt a model."""

    def keep_house(self) -> None:
        """Do periodic work, also without joint states, and after a model has been adopted."""

    def update_parameters(self) -> None:
        """Apply the parameters."""

    def restart_time(self) -> None:
        """Discard measurements, because simulated time went back."""

    def report(self, status: Status) -> None:
        """Report in the status `payload`."""


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
