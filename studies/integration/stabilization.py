# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What stabilization does for the double pendulum: Baumgarte's terms, and projection (I-44)."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from screw_dynamics_ros.core.integration import RungeKutta
from screw_dynamics_ros.core.integration.integrator import Torques
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    SE3,
    AbsoluteSystem,
    Stabilization,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.constraint_projection import (
    project_configuration,
    project_velocity,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import (
    Example,
    double_pendulum,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.history import History, record
from screw_dynamics_ros.core.types import Array
from studies.integration.runs import EVERY, STEP

#: alpha and beta of the study [1/s].
GAINS = Stabilization(50.0, 50.0)
NONE, BAUMGARTE, PROJECTION = 'none', 'Baumgarte, 50/s', 'projection in each step'


class ProjectedRungeKutta(RungeKutta):
    """Runge-Kutta steps that end on the constraints."""

    def step(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: Torques,
        dt: float,
        wrenches: Mapping[str, ArrayLike] | None = None,
        t: float = 0.0,
    ) -> tuple[Array, Array]:
        """Return q and v a time `dt` later; see `Integrator.step`."""
        system = self.robot
        assert isinstance(system, AbsoluteSystem)
        q, v = super().step(q, v, tau, dt, wrenches, t)
        q = project_configuration(system, q)
        return q, project_velocity(system, q, v)


def stabilized(system: AbsoluteSystem, stabilization: Stabilization) -> AbsoluteSystem:
    """Return the same system with Baumgarte's terms."""
    return AbsoluteSystem(
        system.bodies,
        system.joints,
        couplings=system.couplings,
        configuration=system.configuration,
        gravity=system.gravity,
        stabilization=stabilization,
    )


def all_ways(duration: float, projected: float) -> dict[str, History]:
    """Return the motion of the double pendulum in SE(3) with each way, over two durations [s]."""
    plain = double_pendulum([SE3, SE3])
    system = stabilized(plain.system, GAINS)
    return {
        NONE: record(*plain, duration=duration, dt=STEP, every=EVERY),
        BAUMGARTE: record(*Example(system, plain.q, plain.v), duration, STEP, every=EVERY),
        PROJECTION: record(
            *plain,
            duration=projected,
            dt=STEP,
            integrator=ProjectedRungeKutta(plain.system),
            every=EVERY,
        ),
    }
