# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The observable part of a contact wrench: reduced wrench, its validity and covariance."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.lie.screws import WRENCH_ROWS
from screw_dynamics_ros.core.measurement.estimation.wrench_observability import (
    ReducedWrench,
    WrenchObservability,
    observability,
)
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.actuated import actuated
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.nodes.outputs.external_wrenches.contacts import Contact
from screw_dynamics_ros.nodes.outputs.external_wrenches.output_filters import wrench_outside_bands
from screw_dynamics_ros.nodes.outputs.external_wrenches.torque_covariance import TorqueCovariance
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.parameters import Parameters

VALIDITY_LABELS = (
    *(f'share_{row}' for row in WRENCH_ROWS),
    *(f'singular_value_{k}' for k in range(1, 7)),
    'rank',
    'condition_number',
    'near_singular',
    *(f'model_deviation_{row}' for row in WRENCH_ROWS),
)


class ObservableWrench:
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
    ) -> None:
        self._model, self._mapper, self._contact, self._torques = model, mapper, contact, torques
        self._covariance, self._parameters, self._bands = covariance, parameters, bands
        self._freedoms = freedoms
        self._places = [model.joints.index(name) for name in actuated(model.robot).joint_names]
        self._seen: WrenchObservability | None = None
        self._seen_at = -1
        self._reduced = ReducedWrench()

    @property
    def seen(self) -> WrenchObservability:
        """The observability of the wrench in the current state."""
        if self._seen is None or self._seen_at != self._mapper.accepted:
            self._seen = observability(
                self._model.results[self._contact.jacobian],
                self._parameters['singularity_threshold'],
                self._parameters['characteristic_length'],
            )
            self._seen_at = self._mapper.accepted
        return self._seen

    def forget(self) -> None:
        """Discard the result, after a change of parameters."""
        self._seen = None

    @property
    def is_near_singular(self) -> bool:
        """Whether the rank is lower than in regular configurations."""
        return self.seen.rank < self._freedoms

    def fill_validity(self, numbers: Array) -> bool:
        """Write the numbers of `VALIDITY_LABELS`; return whether they may be published."""
        seen = self.seen
        numbers[:6] = swap_linear_angular(seen.axis_shares)
        numbers[6:12] = seen.singular_values
        numbers[12:15] = seen.rank, seen.condition, self.is_near_singular
        moves = self._model.results[self._contact.jacobian].any(axis=0)
        of_model = np.where(moves, self._covariance.of_model[self._places], 0.0)
        variances = np.square(seen.estimator(self._parameters['damping'])) @ of_model
        numbers[15:] = swap_linear_angular(np.sqrt(variances))
        return bool(np.isfinite(seen.singular_values[0]))

    def fill_reduced(self, numbers: Array) -> bool:
        """Write force and moment; return whether they may be published."""
        mapper, reduced = self._mapper, self._reduced
        reduced.filter.set_cutoff(self._parameters['wrench_cutoff'])
        reduced.filter.lengths.longest = mapper.policies.timeout * 1e-9
        wrench = reduced.take(
            self.seen,
            self._model.results[self._torques][self._places],
            self._parameters['damping'],
            mapper.accepted,
            mapper.stamp,
            mapper.restarted,
        )
        if wrench is None:
            return False
        wrench = swap_linear_angular(wrench)
        numbers[:] = wrench_outside_bands(wrench, self._bands) if self._bands.any() else wrench
        return True

    def fill_covariance(self, numbers: Array) -> bool:
        """Write the covariance (36,) of force and moment, row by row; always valid."""
        places = self._places
        of_torques = self._covariance.now()[places][:, places]
        covariance = self.seen.covariance(of_torques, self._parameters['damping'])
        numbers[:] = swap_linear_angular(swap_linear_angular(covariance).T).ravel()
        return True
