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

    That of noise: of the observer if it estimates one, as the filters behind it only lessen it,
    otherwise of the stated deviations of efforts and velocities, as they pass the observer and the
    filters. To it are added the variances of the model, as far as they are known, and of residuals.

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
        variances = np.nan_to_num(self.of_model)
        residuals = self._residuals()
        if residuals is not None:
            variances += residuals
        return self._of_noise() + np.diag(variances)

    @property
    def of_model(self) -> Array:
        """The variances of errors of the model (n,), NaN where they are not known."""
        return self._observer.model_variances

    def _of_noise(self) -> Array:
        """Return the covariance of noise."""
        observed, results = self._observation, self._model.results
        if observed.covariance is not None:
            n = len(self._model.joints)
            return results[observed.covariance].reshape(n, n)
        return self._noise.covariance(
            self._observer.noise_stages,
            [steps.weights for steps in self._filters if steps.cutoff],
            self._observer.noise_deviations,
            None if observed.inertia is None else results[observed.inertia],
            self._mapper.accepted,
        )
