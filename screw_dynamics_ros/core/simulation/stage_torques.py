# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Torques with those of planes and springs, as integrators ask for them in the stages of a step."""

from __future__ import annotations

from screw_dynamics_ros.core.simulation.environment import Environment
from screw_dynamics_ros.core.types import Array


class StageTorques:
    """The torques (nv,) in a stage as a function of t, q, v.

    It notes in which stage planes and springs acted most: a contact may begin and end within a
    step, and what is before and after does not show it.

    Parameters
    ----------
    environment : Environment
    tau : (nv,) array
        Torques that are constant in the step [N m, N].
    memory : (m,) array
        Of contacts, from before the step.

    Attributes
    ----------
    strongest : tuple of q and v, or None
        The state of the stage in which they acted most; None if they did in none.
    """

    def __init__(self, environment: Environment, tau: Array, memory: Array) -> None:
        self._environment, self._tau, self.memory = environment, tau, memory
        self._size = 0.0
        self.strongest: tuple[Array, Array] | None = None

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return all torques (nv,) in a state."""
        torques = self._environment.torques(q, v, self.memory)
        size = float(torques.dot(torques))
        if size > self._size:
            self._size, self.strongest = size, (q, v)
        return self._tau + torques

    def forget(self) -> None:
        """Begin another step."""
        self._size, self.strongest = 0.0, None
