# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Presliding friction of simulated joints: the bristles of the LuGre model.

The contact of two surfaces is one of elastic bristles with the mean deflection z,

    z' = v - sigma_0 |v| z / g(v),    F = sigma_0 z + sigma_1 z' + viscous friction,

with the dry friction g(v) of steady motion, here `Friction.level`: Coulomb friction with the
Stribeck curve of the drive. At rest the bristles are a spring: the joint holds a load without
creep.

They are stiff, so that a step of dt is implicit in the velocities v+ at its end. With the share
w = g / (g + sigma_0 |v| dt) of the deflection that does not slip in the step,

    z+ = w (z + v+ dt),    F = sigma_0 z+ + sigma_1 (z+ - z) / dt = f + D v+,    D >= 0,

and v+ = v + dt M^-1 (tau - h - f - D v+) is linear in v+ for given w and g. These are those of an
estimate of v+ by the diagonal of M, found in `PASSES` passes. F is constant in the step of the
integrator.

* z+ is a weighted mean of z and the deflection of sliding, g / sigma_0 in the direction of motion:
  it is bounded for all stiffnesses and steps.
* F v+ dt exceeds the change of the energy sigma_0 z^2 / 2 by sigma_1 (z+ - z)^2 / dt + (1 / w - 1)
  z+ F at least, so that friction takes energy away while F has the sign of z+. Where bristles relax
  in sliding, as when g falls in the Stribeck region, sigma_1 z' is limited for that; the equations
  themselves are dissipative only for small sigma_1 (Barabanov and Ortega).
* For stiff bristles v+ tends to zero in one step (L-stable).

After the step z is moved on by the displacement of the joint, by the same formula.

Sources: C. Canudas de Wit, H. Olsson, K. J. Astrom and P. Lischinsky, A new model for control of
systems with friction, IEEE Trans. Automatic Control 40(3), 1995, with the Stribeck curve of
`description.friction` instead of a Gaussian; N. Barabanov and R. Ortega, Necessary and sufficient
conditions for passivity of the LuGre friction model, IEEE Trans. Automatic Control 45(4), 2000.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..compile.program.recorded_arrays import plain, recorded
from ..linear import is_recorded, solve_positive_definite, zeros
from ..robot.robot import Robot
from ..types import Array

#: Each with the share and the dry friction at the velocity that the one before found.
PASSES = 3

#: What a drive without dry friction has.
NO_DRY_FRICTION: dict[str, Any] = {
    'coulomb': 0.0,
    'coulomb_asymmetry': 0.0,
    'breakaway': None,
    'bristle_stiffness': 0.0,
    'bristle_damping': 0.0,
}


class Bristles:
    """The bristles of the joints of a robot; deflections z (..., n) [rad, m].

    States are single ones, also recorded, or stacks.

    Parameters
    ----------
    robot : Robot
        Drives with `bristle_stiffness` have bristles, if the robot has friction.

    Attributes
    ----------
    drives : tuple of n Drive
    robot : Robot
        The same without the dry friction of these drives; the robot itself without bristles.
    """

    def __init__(self, robot: Robot) -> None:
        found = {name: drive for name, drive in robot.drives.items() if drive.bristle_stiffness}
        self.drives = tuple(found.values()) if robot.with_friction else ()
        self.robot = robot
        if not self.drives:
            return
        viscous = {name: replace(drive, **NO_DRY_FRICTION) for name, drive in found.items()}
        make, arguments = robot.__reduce__()
        self.robot = make(*arguments, drives=robot.drives | viscous)
        places = [robot.joint_coordinates(name) for name in found]
        self._q, self._v = (np.array([each.start for each in pair]) for pair in zip(*places))
        self._stiffness = np.array([drive.bristle_stiffness for drive in self.drives])
        self._damping = np.array([drive.bristle_damping for drive in self.drives])

    def split(self, memory: Array) -> tuple[Array, Array]:
        """Return the memory of contacts (..., m) and the deflections of a memory (..., m + n)."""
        m = memory.shape[-1] - len(self.drives)
        return memory[..., :m], memory[..., m:]

    def energy(self, z: Array) -> Any:
        """Return the energy of deflected bristles [J]."""
        return 0.5 * (z * z) @ self._stiffness if self.drives else 0.0

    def less_friction(self, robot: Any, state: Any, memory: Array, tau: Array, dt: float) -> Array:
        """Return the torques tau (..., nv) less the friction of a step of dt [s].

        Parameters
        ----------
        robot
            The attribute, or it recorded.
        state : tuple
            q, v, and what planes and springs do there, or None.
        """
        if not self.drives:
            return tau
        q, v, effects = state
        M, z, rates = robot.mass_matrix(q), self.split(memory)[1], v[..., self._v]
        free = tau - robot.inverse_dynamics(q, v, np.zeros(v.shape))
        if effects is not None:
            free = free + effects.torques
        (friction, D), end = zeros((2, *v.shape), v), rates
        stiffness, damping, inertias = self._stiffness, self._damping, M.diagonal(0, -2, -1)
        for _ in range(PASSES):
            g, speed = self._level(end), abs(end)
            elastic, most = stiffness * z, damping * speed + stiffness * abs(z)
            relaxing = damping * speed * elastic / g
            above, below = (np.clip(each - most, 0.0, None) for each in (relaxing, -relaxing))
            share = g / (g + stiffness * dt * speed)
            slope = share * (stiffness * dt + damping)
            held = share * (elastic - relaxing + above - below)
            friction[..., self._v], D[..., self._v] = held + slope * rates, slope
            impulse = dt * (free - friction)
            end = rates + (impulse / (inertias + dt * D))[..., self._v]
        change = solve(M + dt * D[..., None] * np.eye(v.shape[-1]), impulse)
        return tau - friction - D * change

    def remembered(self, memory: Array, q: Array, after: Any) -> Array:
        """Return the memory after a step from q to the state `after`, as in `less_friction`."""
        contacts, z = self.split(memory)
        if after[2] is not None:
            contacts = after[2].memory
        if not self.drives:
            return contacts
        way, g = (after[0] - q)[..., self._q], self._level(after[1][..., self._v])
        deflected = g * (z + way) / (g + self._stiffness * abs(way))
        return np.concatenate([contacts, deflected], axis=-1)

    def _level(self, rates: Array) -> Array:
        """Return the dry friction g (..., n) of steady motions."""
        each = zip(np.moveaxis(rates, -1, 0), self.drives)
        return np.stack([drive.level(rate) for rate, drive in each], axis=-1)


def solve(A: Array, b: Array) -> Array:
    """Return A^-1 b of a symmetric positive definite matrix, recorded, or of stacks of them."""
    if is_recorded(A):
        return recorded(solve_positive_definite(plain(A), plain(b)))
    return np.linalg.solve(A, b[..., None])[..., 0]
