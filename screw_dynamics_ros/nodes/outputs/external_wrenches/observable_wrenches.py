# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The observable part of a contact wrench: reduced wrench, its validity and covariance."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.measurement.estimation.wrench_observability import (
    ReducedWrench,
    WrenchObservability,
)
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.state_clock import StateClock
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.actuated import actuated
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
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
    covariance : TorqueCovariance
        Covariance of the torques after the filter of the wrench.
    parameters : Parameters
        With `damping`, `characteristic_length`, `singularity_threshold` and `wrench_cutoff`.
    bands : (3,) array
        Dead bands, see `OutputFilters`.
    freedoms : int
        The largest rank of the Jacobian.
    clock : StateClock
    """

    def __init__(
        self,
        model: RunningModel,
        mapper: JointStateMapper,
        contact: Contact,
        torques: Formula,
        covariance: TorqueCovariance,
        parameters: Parameters,
        bands: Array,
        freedoms: int,
        clock: StateClock,
    ) -> None:
        self._model, self._mapper, self._contact, self._torques = model, mapper, contact, torques
        self._covariance, self._parameters, self.bands = covariance, parameters, bands
        self.freedoms, self.reduced = freedoms, ReducedWrench()
        motors = actuated(model.robot).joint_names
        self.places = np.array([model.joints.index(name) for name in motors], dtype=np.int64)
        n = len(motors)
        self.decomposition = self._seen = WrenchObservability(n)
        self.variances, self.selected, self.covariance = np.zeros(n), np.zeros(n), np.zeros(n * n)
        self._constant_since: int | None = None  # changes of the observer, None: not known
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
        self.variances[:] = self._covariance.of_model[self.places]
        self.reduced.filter.set_cutoff(value['wrench_cutoff'])
        self.decomposed, self._constant_since = NO_STATE, None

    def refresh(self) -> None:
        """Prepare the record for the compiled loop."""
        results = self._model.results
        self.jacobian = results[self._contact.jacobian]
        self.torques = results[self._torques]
        self.has_constant_covariance = self._covariance.is_constant
        if not self.has_constant_covariance:
            self._constant_since = None
        elif self._constant_since != self._covariance.changes:
            self._constant_since = self._covariance.changes
            self.covariance[:] = self._of_torques().ravel()

    @property
    def seen(self) -> WrenchObservability:
        """The observability of the wrench in the current state."""
        if self.decomposed != self._mapper.accepted:
            self._seen.decompose(self._model.results[self._contact.jacobian])
            self.decomposed = self._mapper.accepted
        return self._seen

    @property
    def is_near_singular(self) -> bool:
        """Whether the rank is lower than in regular configurations."""
        return self.seen.rank < self.freedoms

    def fill_covariance(self, numbers: Array) -> bool:
        """Write the covariance (36,) of force and moment, row by row; always valid."""
        covariance = self.seen.covariance(self._of_torques())
        numbers[:] = swap_linear_angular(swap_linear_angular(covariance).T).ravel()
        return True

    def _of_torques(self) -> Array:
        """Return the covariance (n, n) of the torques of the joints of the Jacobian."""
        return self._covariance.now()[np.ix_(self.places, self.places)]
