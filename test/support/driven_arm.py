# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Errors of integrators on an arm that torques and a wrench drive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.integration import RungeKutta
from support.models import random_configuration, random_description, random_wrenches


def errors(make: Callable[[Robot], Any], floating: bool) -> np.ndarray:
    """Return the errors of (q, v) after 0.1 s in 10, 20 and 40 steps, beside 100 of Runge-Kutta.

    `make` returns an integrator of a robot. Torques depend on t, q and v; the wrench is constant.
    """
    robot = Robot(random_description(1, 3), floating_base=floating, backend='python')
    rng = np.random.default_rng(0)
    q0, v0 = random_configuration(robot, rng), rng.uniform(-1, 1, robot.nv)
    wrenches = random_wrenches(robot, rng)

    def torques(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.cos(3 * t + np.arange(robot.nv)) + 0.3 * np.sin(q[-1]) - 0.1 * v

    def run(integrator: Any, steps: int) -> np.ndarray:
        q, v, dt = q0, v0, 0.1 / steps
        for k in range(steps):
            q, v = integrator.step(q, v, torques, dt, wrenches, t=k * dt)
        return np.append(q, v)

    exact = run(RungeKutta(robot), 100)
    return np.array([np.abs(run(make(robot), n) - exact).max() for n in (10, 20, 40)])
