# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reports of joints whose friction is no longer that of the model, see `friction_drift`."""

from __future__ import annotations

from collections.abc import Callable

from screw_dynamics_ros.core.estimation.effort_terms import FRICTION
from screw_dynamics_ros.core.estimation.friction_drift import FrictionDrift, observe_friction
from screw_dynamics_ros.core.estimation.observers.observer_state import ObserverState
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.parts import Stage, StateStep
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import TAKEN, LoopRecord
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.topics.channel_record import EFFORT, VELOCITY

from .external_torque import effort_terms

TABLE = (
    Specification(
        'friction_drift',
        0.15,
        'Change of the dry friction of a joint, as a fraction of that of the model, that '
        '/diagnostics report and by which thresholds of flags are widened. 0: not monitored.',
        minimum=0.0,
        maximum=1.0,
    ),
)


class MonitoredFriction(FrictionDrift):
    """The friction of the joints of a robot whose external torques an observer estimates."""

    observer: ObserverState


@compiled_step
def take_friction(d: MonitoredFriction, loop: LoopRecord) -> int:
    """Use the external torques of a joint state."""
    is_valid = loop.has == VELOCITY | EFFORT and d.observer.is_settled
    velocities = loop.state[len(d.share) :]
    observe_friction(d, velocities, loop.mapper.stamp, loop.state_clock.elapsed, is_valid)
    return TAKEN


class FrictionMonitor:
    """Compares the friction of the joints with the model while the robot moves.

    Parameters
    ----------
    parameters : Parameters
        With `TABLE` and `tare_velocity_limit`.
    effort_shares : callable
        Returns which terms the efforts contain.

    Attributes
    ----------
    record : MonitoredFriction
    """

    def __init__(self, parameters: Parameters, effort_shares: Callable[[], Array]) -> None:
        self._parameters, self._effort_shares = parameters, effort_shares
        self.record = MonitoredFriction(0)

    def bind(
        self,
        model: RunningModel,
        mapper: JointStateMapper,
        torques: Formula,
        observer: ObserverState,
    ) -> None:
        """Restart with a new model and its filtered external torques."""
        self._model, self._mapper = model, mapper
        self.record = MonitoredFriction(len(model.joints))
        self.record.observer = observer
        self._outputs = torques, effort_terms(model.robot)[FRICTION]
        self.update_parameters()

    def update_parameters(self) -> None:
        """Apply the current values of the parameters."""
        self.record.limit = self._parameters['friction_drift']
        self.record.slow = self._parameters['tare_velocity_limit']
        if not self.record.limit:
            self.record.count[:], self.record.widening[:] = 0, 0.0

    def stage(self) -> Stage:
        """Return the stage that processes each joint state."""
        return Stage(
            consume=StateStep(take_friction, self._connected),
            is_needed=lambda: bool(
                self.record.limit and self._effort_shares()[FRICTION] and self._model.results
            ),
        )

    def _connected(self) -> MonitoredFriction:
        """Return the record with the arrays of the results, which may have become a message's."""
        record = self.record
        record.torques, record.friction = (self._model.results[each] for each in self._outputs)
        return record

    def report(self, status: Status) -> None:
        """Report the joints whose friction has changed."""
        record = self.record
        for j in record.drifted:
            share, minutes = record.share[j], (self._mapper.stamp - record.since[j]) / 60e9
            status.warn(
                f'friction of {self._model.joints[j]} has been {100.0 * abs(share):.0f} % '
                f'{"below" if share > 0.0 else "above"} the model for {minutes:.0f} min: identify '
                'again, or fit the residual'
            )
