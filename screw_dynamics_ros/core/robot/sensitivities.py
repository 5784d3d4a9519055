"""How the dynamics of a robot depend on time, state, geometry and inertias."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import check_count, vector
from screw_dynamics_ros.core.dynamics.geometric_sensitivity import torque_sensitivity
from screw_dynamics_ros.core.dynamics.regressor import (
    BaseParameters,
    base_parameters,
    random_configurations,
)
from screw_dynamics_ros.core.dynamics.state_space import StateSpace, state_space
from screw_dynamics_ros.core.robot.dynamic_functions import DynamicFunctions
from screw_dynamics_ros.core.types import Array


class Sensitivities(DynamicFunctions):
    """What is made of the derivatives of a `Robot`'s dynamics; doc/dynamics_derivatives.md."""

    def inverse_dynamics_rates(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, jerk: ArrayLike, jounce: ArrayLike
    ) -> tuple[Array, Array, Array]:
        """Return (tau, dtau/dt, d2tau/dt2) of a motion, (nv,) each (muller.md D-42).

        `jerk` and `jounce` are the third and fourth time derivatives of the joint coordinates.
        """
        return self._evaluate('inverse_dynamics_rates', (q, v, a, jerk, jounce))

    def linearised(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> StateSpace:
        """Return the linear model of the motion near a state and its torques (muller.md D-40)."""
        state = (
            vector('q', self._tree.nq, q),
            vector('v', self._tree.nv, v),
            vector('tau', self._tree.nv, tau),
        )
        return state_space(self._tree, state[1], *self.forward_dynamics_derivatives(*state))

    def geometric_sensitivity(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, joint: str) -> Array:
        """Return the derivative of `inverse_dynamics` by the placement of a joint, (nv, 6).

        Rotation [rad] and translation [m] of the joint in its own frame (muller.md D-41). Not
        compiled, one sample.
        """
        state = (
            vector('q', self._tree.nq, q),
            vector('v', self._tree.nv, v),
            vector('a', self._tree.nv, a),
        )
        return torque_sensitivity(self._tree, *state, self._gravity, joint)

    def base_parameters(self, samples: int = 0, seed: int = 0) -> BaseParameters:
        """Return a minimal set of inertial parameters, found from random motions (muller.md D-43).

        `samples` motions are drawn; 0 takes twice as many as there are unknowns.
        """
        check_count('samples', samples)
        check_count('seed', seed)
        unknowns = 10 * len(tuple(self._tree.frames))
        count = samples or 2 * -(-unknowns // max(self._tree.nv, 1))
        rng = np.random.default_rng(seed)
        q = random_configurations(self._tree, rng, count)
        v, a = rng.normal(size=(2, count, self._tree.nv))
        return base_parameters(
            self.regressor(q, v, a).reshape(-1, unknowns), tuple(self._tree.frames)
        )
