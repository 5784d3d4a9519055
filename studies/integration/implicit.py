# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The heavy top with methods that solve for the reactions in each step (I-47)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from screw_dynamics_ros.core.integration import GeneralizedAlpha, RungeKutta, Variational
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import heavy_top
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.history import record
from studies.integration.reference import top_motion
from studies.integration.runs import GROUPS, STEP

METHODS = {
    'classical Runge-Kutta': RungeKutta,
    'generalized alpha, rho = 0.9': GeneralizedAlpha,
    'variational': Variational,
}


class MethodResult(NamedTuple):
    """What a method does to the heavy top.

    Attributes
    ----------
    method, group : str
    gap : float
        The largest on the way [m].
    error : float
        Of the center of mass at the end [m].
    """

    method: str
    group: str
    gap: float
    error: float

    @property
    def explicit(self) -> bool:
        """Whether the method knows nothing of the constraints but accelerations."""
        return METHODS[self.method] is RungeKutta


def all_methods(duration: float) -> list[MethodResult]:
    """Let the heavy top turn in steps of 1 ms with each method, in both groups."""
    end, results = top_motion(heavy_top(), np.array([0.0, duration])).r[-1], []
    for name, method in METHODS.items():
        for group in GROUPS:
            top = heavy_top([group])
            motion = record(
                *top, duration=duration, dt=STEP, integrator=method(top.system), every=10
            )
            error = float(np.linalg.norm(motion.q[-1, :3] - end))
            results.append(MethodResult(name, group, float(motion.gaps['pivot'].max()), error))
    return results
