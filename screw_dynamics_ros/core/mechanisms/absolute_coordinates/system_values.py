# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inputs and results of a system in absolute coordinates, in a few numbers each."""

from __future__ import annotations

from typing import NamedTuple


class Stabilization(NamedTuple):
    """Baumgarte's terms: J a = eta - 2 alpha J v - beta^2 g [1/s] (I-44)."""

    alpha: float = 0.0
    beta: float = 0.0


NO_STABILIZATION = Stabilization()


class Energy(NamedTuple):
    """Kinetic and potential energy [J]; the potential of the weight is zero at the origin."""

    kinetic: float
    potential: float

    @property
    def total(self) -> float:
        """T + U [J]."""
        return self.kinetic + self.potential


class Violation(NamedTuple):
    """Errors of joint constraints.

    Attributes
    ----------
    gap : float
        |g| [rad, m].
    velocity : float
        |J v| [rad/s, m/s].
    """

    gap: float
    velocity: float
