# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The covariance of external torques after observer and filters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from screw_dynamics_ros.core.compile.typed.library import calls
from screw_dynamics_ros.core.estimation.low_pass import LowPassSteps
from screw_dynamics_ros.core.estimation.noise_propagation import (
    NO_SAMPLE,
    TorqueNoise,
    update_covariance,
)
from screw_dynamics_ros.core.estimation.observers.observer_state import ObserverPlan
from screw_dynamics_ros.core.estimation.residual_offset import ResidualOffset
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import LoopRecord
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.topics.channel_record import VALID

from .torque_observer import TorqueObserver


class TorqueCovariance(TorqueNoise):
    """The covariance of external torques in the current state, for one topic.

    Parameters
    ----------
    model : RunningModel
    mapper : JointStateMapper
    observer : TorqueObserver
    plan : ObserverPlan
    filters : sequence of LowPassSteps
        Filters of the torques.
    offset : ResidualOffset
    """

    def __init__(
        self,
        model: RunningModel,
        mapper: JointStateMapper,
        observer: TorqueObserver,
        plan: ObserverPlan,
        filters: Sequence[LowPassSteps],
        offset: ResidualOffset,
    ) -> None:
        super().__init__(plan.steps, filters)
        self._mapper, self._observer = mapper, observer
        self.bind(plan.observation, model.results, offset)
        self.use_parameters()

    def use_parameters(self) -> None:
        """Apply the current values of the parameters."""
        self.effort_deviations, self.velocity_deviations = self._observer.noise_deviations
        self.variances = np.nan_to_num(self.of_model)
        self.number = NO_SAMPLE

    def now(self) -> Array:
        """Return the covariance (n, n), read-only; call it only if the torques are valid."""
        calls(update_covariance)[0](self, self._mapper.accepted, self._mapper.state)
        n = len(self.variances)
        return self.covariance.reshape(n, n)

    @property
    def is_complete(self) -> bool:
        """Whether it contains errors of the model of all joints."""
        found = self.offset.model
        return bool((found is not None and found.has_memory) or np.isfinite(self.of_model).all())

    @property
    def of_model(self) -> Array:
        """The variances due to model errors (n,), NaN if they are unknown."""
        return self._observer.model_variances


@compiled_step
def fill_torque_covariance(c: TorqueCovariance, loop: LoopRecord) -> int:
    """Set the covariance of the current state, row by row."""
    update_covariance(c, loop.mapper.accepted, loop.state)
    return VALID
