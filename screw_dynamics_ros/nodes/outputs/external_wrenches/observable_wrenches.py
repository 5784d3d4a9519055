# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The observable part of a contact wrench: reduced wrench, its validity and covariance."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.estimation.wrench_observability import (
    ReducedWrench,
    WrenchObservability,
)
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.actuated import actuated
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.parameters import Parameters

from . import observable_step as o
from .contacts import Contact
from .torque_covariance import TorqueCovariance

NO_STATE = -1  # not the number of a state


class ObservableWrench(o.ObservableState):
    """The observable part of the wrench at one link in the current state.

    The decomposition of its Jacobian is computed at most once for each state.

    Parameters
    ----------
    model : RunningModel
    mapper : JointStateMapper
    contact : Contact
    torques : Formula
        Filtered external torques (n,) of the joints of the model.
    covariances : pair of TorqueCovariance
        Covariance of the torques before and after the filter of the wrench.
    parameters : Parameters
        With `damping`, `characteristic_length`, `singularity_threshold` and `wrench_cutoff`.
    bands : (3,) array
        Dead bands, see `OutputFilters`.
    freedoms : int
        The largest rank of the Jacobian.
    """

    def __init__(
        self,
        model: RunningModel,
        mapper: JointStateMapper,
        contact: Contact,
        torques: Formula,
        covariances: tuple[TorqueCovariance, TorqueCovariance],
        parameters: Parameters,
        bands: Array,
        freedoms: int,
    ) -> None:
        self._mapper = mapper
        self.jacobian, self.torques = model.results[contact.jacobian], model.results[torques]
        self._covariances, self._parameters, self.bands = covariances, parameters, bands
        self.freedoms, self.reduced = freedoms, ReducedWrench()
        motors = actuated(model.robot).joint_names
        self.places = np.array([model.joints.index(name) for name in motors], dtype=np.int64)
        n = len(motors)
        self.decomposition = self._seen = WrenchObservability(n)
        self.variances, self.selected, self.covariance = np.zeros(n), np.zeros(n), np.zeros(n * n)
        self.use_parameters()

    def write_into(self, validity: Array, reduced: Array, covariance: Array) -> None:
        """Use these numbers of messages in the compiled loop."""
        self.validity_numbers, self.reduced_numbers = validity, reduced
        self.covariance_numbers = covariance

    def use_parameters(self) -> None:
        """Apply the current values of the parameters."""
        value, seen = self._parameters, self._seen
        seen.threshold, seen.damping = value['singularity_threshold'], value['damping']
        seen.characteristic_length = value['characteristic_length']
        # Without a filter, that of the topic of the torques need not be computed again.
        self.torque_covariance = self._covariances[value['wrench_cutoff'] > 0.0]
        self.torque_covariance.use_parameters()
        self.variances[:] = self.torque_covariance.of_model[self.places]
        self.reduced.filter.set_cutoff(value['wrench_cutoff'])
        self.decomposed = NO_STATE

    @property
    def seen(self) -> WrenchObservability:
        """The observability of the wrench in the current state."""
        if self.decomposed != self._mapper.accepted:
            self._seen.decompose(self.jacobian)
            self.decomposed = self._mapper.accepted
        return self._seen

    @property
    def is_near_singular(self) -> bool:
        """Whether the rank is lower than in regular configurations."""
        return self.seen.rank < self.freedoms
