# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The heavy top by Euler's equations about its pivot: independent of everything it is used for.

    Q' = 1/2 (e0 omega + e x omega, -e . omega),    Theta_P omega' = M - omega x Theta_P omega

with the quaternion Q = (e, e0), the inertia Theta_P = Theta_0 + m (|r0|^2 1 - r0 r0^T) about the
pivot and the moment M of the weight about it, integrated with variable steps by SciPy.

Source: Müller and Terze, section 5.1, which names the equations; formulas derived (I-36).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from screw_dynamics_ros.core.lie import quaternions, so3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import Example
from screw_dynamics_ros.core.types import Array


class Accuracy(NamedTuple):
    """A method of SciPy with its tolerances."""

    method: str
    relative: float
    absolute: float


#: Ten more digits than what is compared with it.
TIGHT = Accuracy('DOP853', 1e-13, 1e-13)
#: What the paper has taken for its reference.
OF_THE_PAPER = Accuracy('RK45', 1e-6, 1e-9)


class TopMotion(NamedTuple):
    """Positions of the center of mass (k, 3) [m] and body-fixed angular velocities (k, 3)."""

    r: Array
    omega: Array


def top_motion(top: Example, times: Array, accuracy: Accuracy = TIGHT) -> TopMotion:
    """Return the motion of a heavy top at increasing times (k,) [s].

    Parameters
    ----------
    top : Example
        Of `examples.heavy_top`: body frame at the center of mass, pivot at the origin.
    times : (k,)
    accuracy : Accuracy
    """
    (body,), (pivot,) = top.system.bodies, top.system.joints
    m, r0 = body.inertia.mass, -pivot.child_frame[:3, 3]
    Theta = body.inertia.matrix + m * (r0 @ r0 * np.eye(3) - np.outer(r0, r0))
    Theta_inverse, weight = np.linalg.inv(Theta), m * top.system.gravity
    arm = so3.hat(r0)

    def rate(_: float, state: Array) -> Array:
        Q, omega = state[:4], state[4:]
        e, e0, W = Q[:3], Q[3], so3.hat(omega)
        moment = -W @ (Theta @ omega)
        if weight.any():
            moment += arm @ quaternions.to_matrix(Q / np.linalg.norm(Q)).T @ weight
        return np.concatenate(
            [
                (e0 * omega - W @ e) / 2,
                [-(e @ omega) / 2],
                Theta_inverse @ moment,
            ]
        )

    solution = solve_ivp(
        rate,
        (0.0, float(times[-1])),
        np.concatenate([top.q[3:], top.v[:3]]),
        accuracy.method,
        times,
        rtol=accuracy.relative,
        atol=accuracy.absolute,
    )
    Q = solution.y[:4].T
    R = quaternions.to_matrix(Q / np.linalg.norm(Q, axis=1)[:, None])
    return TopMotion(R @ r0, solution.y[4:].T)
