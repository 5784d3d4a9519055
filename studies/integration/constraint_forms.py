# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Figure 3: the energy of the heavy top depends on how its constraints are written.

In SO(3) x R^3 the constraints (42) are R (omega x -r0) + r' = 0 and their derivative. The gap
g = r0 - R^T r of (38) has the derivative -(rho x omega + R^T r'), rho = R^T r, and with it

    J = (hat(rho), R^T),    eta = -omega x (omega x rho) + 2 omega x R^T r',

or the same with the constant r0 in place of rho. On the constraints all three are equal; off them,
where the steps lead, they are not, and the energy shows it.

Source: derived from Müller and Terze (38) (spec 9.1, I-35).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.lie import quaternions, so3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import AbsoluteSystem, SO3xR3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import (
    Example,
    heavy_top,
)
from screw_dynamics_ros.core.types import Array

#: The forms of the constraints of the top in SO(3) x R^3.
INERTIAL, CONSTANT_ARM, ACTUAL_ARM = (
    'in the inertial frame, (42)',
    'in the body frame, arm r0',
    'in the body frame, arm R^T r',
)


class TopInBodyFrame(AbsoluteSystem):
    """A heavy top in SO(3) x R^3, free of forces, whose constraints are resolved in its frame.

    Attributes
    ----------
    actual_arm : bool
        Whether the arm is rho instead of r0.
    """

    actual_arm = False

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return the rates (omega', r'') without applied forces, (6,)."""
        q, v = np.asarray(q), np.asarray(v)
        R = quaternions.to_matrix(q[3:])
        W, u = so3.hat(v[:3]), R.T @ v[3:]
        arm = R.T @ q[:3] if self.actual_arm else -self.joints[0].child_frame[:3, 3]
        inertia = self.bodies[0].inertia
        equations = np.zeros((9, 9))
        equations[:3, :3], equations[3:6, 3:6] = inertia.matrix, inertia.mass * np.eye(3)
        equations[6:, :3], equations[6:, 3:6] = so3.hat(arm), R.T
        equations[:6, 6:] = equations[6:, :6].T
        right = np.concatenate(
            [
                -W @ (inertia.matrix @ v[:3]),
                np.zeros(3),
                -W @ (W @ arm) + 2 * W @ u,
            ]
        )
        return np.linalg.solve(equations, right)[:6]


def top_in_form(form: str) -> Example:
    """Return the heavy top in SO(3) x R^3 with its constraints in one of the three forms."""
    top = heavy_top([SO3xR3])
    if form == INERTIAL:
        return top
    system = TopInBodyFrame(
        top.system.bodies, top.system.joints, configuration=top.q, gravity=top.system.gravity
    )
    system.actual_arm = form == ACTUAL_ARM
    return Example(system, top.q, top.v)
