# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The covariance of external torques after observer and filters."""

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
    """The covariance of external torques in the current state, for one topic.

    The covariance of noise is that of the observer if it estimates one, because the filters only
    reduce it. Otherwise the deviations of efforts and velocities are propagated through observer
    and filters. The known variances of the model and of the residuals are added.

    Parameters
    ----------
    model : RunningModel
    mapper : JointStateMapper
    parameters : Parameters
        With the rows of `torque_observer.TABLE`.
    observer : TorqueObserver
    observation : Observation
    filters : sequence of LowPassSteps
        Filters of the torques.
    residuals : callable
        Returns the variances (n,) of the offset, None if they are unknown.
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
        """Return the covariance (n, n); call it only if the torques are valid."""
        variances = np.nan_to_num(self.of_model)
        residuals = self._residuals()
        if residuals is not None:
            variances += residuals
        return self._of_noise() + np.diag(variances)

    @property
    def of_model(self) -> Array:
        """The variances due to model errors (n,), NaN if they are unknown."""
        return self._observer.model_variances

    def _of_noise(self) -> Array:
        """Return the covariance due to noise."""
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
