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
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.parameters import Parameters

from .torque_observer import TorqueObserver


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
    before : TorqueCovariance, optional
        Covariance before the last filter; equal to this one while that filter is off.
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
        before: TorqueCovariance | None = None,
    ) -> None:
        self._model, self._mapper, self._parameters = model, mapper, parameters
        self._observer, self._observation, self._filters = observer, observation, filters
        self._residuals, self._before = residuals, before
        self._noise = TorqueNoise()
        self._now, self._now_at = np.zeros(0), (-1, -1)  # covariance; its state and parameters

    def fill(self, numbers: Array) -> bool:
        """Write the covariance row by row, (n^2,); always valid."""
        numbers[:] = self.now().ravel()
        return True

    def now(self) -> Array:
        """Return the covariance (n, n), read-only; call it only if the torques are valid.

        It is computed once for each state.
        """
        if self._before is not None and not self._filters[-1].cutoff:
            return self._before.now()
        at = self._mapper.accepted, self.changes
        if self._now_at != at:
            self._now, self._now_at = self._of_noise(), at
            diagonal = np.einsum('ii->i', self._now)  # a view
            diagonal += self._observer.known_model_variances
            residuals = self._residuals()
            if residuals is not None:
                diagonal += residuals
        return self._now

    @property
    def is_constant(self) -> bool:
        """Whether the covariance is that of all states until `changes` changes."""
        return (
            self._observation.state is None
            and not any(steps.cutoff for steps in self._filters)
            and self._residuals() is None
        )

    @property
    def changes(self) -> int:
        """Number of changes of model or parameters."""
        return self._observer.changes

    @property
    def of_model(self) -> Array:
        """The variances due to model errors (n,), NaN if they are unknown."""
        return self._observer.model_variances

    def _of_noise(self) -> Array:
        """Return the covariance due to noise."""
        observed, results = self._observation, self._model.results
        if observed.covariance is not None:
            n = len(self._model.joints)
            return results[observed.covariance].reshape(n, n).copy()
        return self._noise.covariance(
            self._observer.noise_stages,
            [steps.weights.tolist() for steps in self._filters if steps.cutoff],
            self._observer.noise_deviations,
            None if observed.inertia is None else results[observed.inertia],
            self._mapper.accepted,
        )
