# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the parts of a model node do for joint states, models and parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.ros.data_path.records import STEP_FAILED
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper, ObservedState
from screw_dynamics_ros.ros.process.python_function import PythonFunction
from screw_dynamics_ros.ros.status import Status

if TYPE_CHECKING:
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


def python_step(name: str, function: Callable[[], None], failed: int = STEP_FAILED) -> StateStep:
    """Return a step that Python takes; errors are reported with its name."""
    return StateStep(PythonFunction(name, function, failed), lambda: NO_RECORD)


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
    """

    def stages(self) -> Sequence[Stage]:
        """Return the stages for each joint state, in order."""
        return ()

    def use(self, model: RunningModel) -> None:
        """Adopt a model."""

    def keep_house(self) -> None:
        """Do periodic work, also without joint states."""

    def follow(self, names: Set[str]) -> None:
        """Apply the parameters, of which these have changed."""

    def restart_time(self) -> None:
        """Discard measurements, because simulated time went back."""

    def report(self, status: Status) -> None:
        """Report in the status `payload`."""
