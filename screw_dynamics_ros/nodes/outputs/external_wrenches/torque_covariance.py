# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The covariance of external torques behind observer and filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from screw_dynamics_ros.core.measurement.estimation.low_pass import LowPassSteps
from screw_dynamics_ros.core.measurement.estimation.noise_propagation import TorqueNoise
from screw_dynamics_ros.core.measurement.estimation.observers.quantities import Observation
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.nodes.outputs.external_wrenches.torque_observer import TorqueObserver
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.parameters import Parameters


class TorqueCovariance:
    """The covariance that belongs to the present state, for one topic.

    That of the observer if it estimates one: the filters behind it only lessen it. Otherwise that
    of the stated deviations of efforts and velocities, as they pass the observer and the filters.

    Parameters
    ----------
    model : RunningModel
    mapper : JointStateMapper
    parameters : Parameters
        With the values of `torque_observer.TABLE`.
    observer : TorqueObserver
    observation : Observation
    filters : sequence of LowPassSteps
        What the torques pass.
    residuals : callable
        Returns the variances (n,) of what is taken as zero, None if they are not known.
    """

    def __init__(
        self,
        model: RunningModel,
        mapper: JointStateMapper,
        parameters: Parameters,
        observer: TorqueObserver,
        observation: Observation,
        filters: Sequence[LowPassSteps],
        residuals: Callable[[], Array | None],
    ) -> None:
        self._model, self._mapper, self._parameters = model, mapper, parameters
        self._observer, self._observation, self._filters = observer, observation, filters
        self._residuals = residuals
        self._noise = TorqueNoise()

    def fill(self, numbers: Array) -> bool:
        """Write the covariance row by row, (n^2,); always valid."""
        numbers[:] = self.now().ravel()
        return True

    def now(self) -> Array:
        """Return the covariance, (n, n); to be asked in states whose torques may be used."""
        variances = self._residuals()
        noise = self._of_noise()
        return noise if variances is None else noise + np.diag(variances)

    def _of_noise(self) -> Array:
        """Return the covariance without that of the residuals."""
        observed, results = self._observation, self._model.results
        if observed.covariance is not None:
            n = len(self._model.joints)
            return results[observed.covariance].reshape(n, n)
        return self._noise.covariance(
            self._observer.noise_stages,
            [steps.weights for steps in self._filters if steps.cutoff],
            (
                self._parameters['observer_effort_deviation'],
                self._parameters['observer_velocity_deviation'],
            ),
            None if observed.inertia is None else results[observed.inertia],
            len(self._model.joints),
            self._mapper.accepted,
        )
