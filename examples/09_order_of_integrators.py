# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""
Order of integrators on a Lie group
===================================

A body that tumbles in space, without singular coordinates: the error of each method falls with the
step as its order says.

Run: python examples/09_order_of_integrators.py
"""

import numpy as np
from matplotlib import pyplot as plt

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Inertia, Link, RobotDescription
from screw_dynamics_ros.core.integration import (
    DORMAND_PRINCE,
    EULER,
    RK4,
    TABLEAUS,
    RungeKutta,
    Variational,
)

# %%
# A book of 1 kg, turned about its middle axis: the motion that turns over by itself.
book = Inertia(1.0, np.zeros(3), np.diag([1e-3, 2e-3, 3e-3]))
description = RobotDescription.from_parts('book', [Link('book', book)], [])
robot = Robot(description, floating_base=True, gravity=(0.0, 0.0, 0.0))
q0 = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])  # x y z, quaternion
v0 = np.array([0.05, 6.0, 0.05, 0.1, 0.0, 0.0])  # angular, linear, in its own frame


def final_state(method, steps):
    """Return configuration and velocity after two seconds."""
    q, v = q0, v0
    for _ in range(steps):
        q, v = method.step(q, v, np.zeros(6), 2.0 / steps)
    return q, v


# %%
# The mean slope between the coarsest and the finest steps is the measured order.
exact, _ = final_state(RungeKutta(robot, DORMAND_PRINCE), 4000)
methods = {
    'Euler': RungeKutta(robot, EULER),
    'midpoint': RungeKutta(robot, TABLEAUS[1]),
    'variational': Variational(robot),
    'Runge-Kutta': RungeKutta(robot, RK4),
}
counts = np.array([100, 200, 400, 800])
figure, place = plt.subplots(figsize=(6, 4.4), layout='constrained')
for name, method in methods.items():
    ends = [final_state(method, count)[0] for count in counts]
    errors = [np.linalg.norm(robot.difference(exact, end)) for end in ends]
    order = np.log(errors[1] / errors[-1]) / np.log(counts[-1] / counts[1])
    print(f'{name}: order {order:.1f}')
    place.loglog(2.0 / counts, errors, 'o-', label=f'{name}, order {order:.1f}')
place.set(xlabel='step [s]', ylabel='error of the pose after 2 s [rad, m]')
place.legend()
plt.show()
