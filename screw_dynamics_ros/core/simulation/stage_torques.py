# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Torques with those of planes and springs, as integrators ask for them in the stages of a step."""

from __future__ import annotations

from typing import Any

from ..types import Array
from .step_conditions import CompliantEnvironment, State, chosen, is_false


class StageTorques:
    """The torques (nv,) in a stage as a function of t, q, v; also recorded.

    It notes in which stage planes and springs acted most: a contact may begin and end within a
    step, and what is before and after does not show it.

    Parameters
    ----------
    environment : CompliantEnvironment
    tau : (nv,) array
        Torques that are constant in the step [N m, N].
    memory : (m,) array
        Of contacts, from before the step.

    Attributes
    ----------
    strongest : tuple of q and v, or None
        The state of the stage in which they acted most; None if they did in none.
    size : float
        The square of the torques of planes and springs there.
    """

    def __init__(self, environment: CompliantEnvironment, tau: Array, memory: Array) -> None:
        self._environment, self._tau, self.memory = environment, tau, memory
        self.size: Any = 0.0
        self.strongest: tuple[Array, Array] | None = None

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return all torques (nv,) in a state."""
        torques = self._environment.torques(q, v, self.memory)
        size = torques @ torques
        stronger = size > self.size
        if not is_false(stronger):
            before = self.strongest or (q, v)
            self.strongest = chosen(stronger, q, before[0]), chosen(stronger, v, before[1])
            self.size = chosen(stronger, size, self.size)
        return self._tau + torques

    def strongest_state(self) -> State:
        """Return the state `strongest` with what planes and springs do in it."""
        assert self.strongest is not None
        return *self.strongest, self._environment.effects(*self.strongest, self.memory)

    def forget(self) -> None:
        """Begin another step."""
        self.size, self.strongest = 0.0, None
