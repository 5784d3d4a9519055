# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The motion of a system in absolute coordinates, in steps that end where it cannot be followed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number, vector
from ...errors import ArgumentError, DivergenceError, InfeasibleConstraintsError
from ...integration import RK4, RungeKutta, Tableau
from ...types import Array
from .bodies import checked_configuration
from .constraint_projection import check_closed, project_configuration, project_velocity
from .system import AbsoluteSystem

#: What a state may violate its joints by when it is set [rad, m; 1/s].
SET_TOLERANCE = 1e-6
#: Closure error of joints beyond which the motion is lost [rad, m].
MAX_GAP = 0.01


class SimulatedMechanism:
    """The state of a system, and steps of a Munthe-Kaas method.

    Parameters
    ----------
    system : AbsoluteSystem
    q : (7 n,), optional
        Where it starts; `system.configuration` if not given.
    v : (6 n,), optional
        How fast, at rest if not given.
    tableau : Tableau
    project : bool
        Whether to return to the constraints after each step.

    Attributes
    ----------
    q, v : (7 n,) and (6 n,) arrays
        The last valid state.

    Raises
    ------
    ArgumentError, InfeasibleConstraintsError
        If the state does not fit, is not finite, or violates the joints.

    Examples
    --------
    >>> from screw_dynamics_ros.core.mechanisms.absolute_coordinates import example_systems
    >>> heavy_top = example_systems.heavy_top
    >>> top = SimulatedMechanism(*heavy_top())
    >>> top.step(0.001)
    >>> bool(top.system.violation(top.q, top.v)['pivot'].gap < 1e-15)
    True
    """

    def __init__(
        self,
        system: AbsoluteSystem,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        *,
        tableau: Tableau = RK4,
        project: bool = False,
    ) -> None:
        self.system, self._integrator = system, RungeKutta(system, tableau)
        self._project = project
        self.q, self.v = system.configuration, np.zeros(system.nv)
        self.set_state(self.q if q is None else q, self.v if v is None else v)

    def set_state(self, q: ArrayLike, v: ArrayLike) -> None:
        """Replace the state; a state that is refused leaves the present one as it is."""
        system = self.system
        q = checked_configuration(system.bodies, q).copy()
        v = vector('v', system.nv, v).copy()
        if not np.isfinite(v).all():
            raise ArgumentError('the velocities of the bodies must be finite numbers')
        check_closed(system, q, SET_TOLERANCE)
        for joint, violation in system.violation(q, v).items():
            if not violation.velocity <= SET_TOLERANCE * max(1.0, float(np.abs(v).max())):
                raise InfeasibleConstraintsError(
                    f'joint {joint!r} does not admit these velocities: its constraints change at '
                    f'{violation.velocity:.3g} (rad/s, m/s); project_velocity makes them admissible'
                )
        self.q, self.v = q, v

    def step(
        self,
        dt: float,
        tau: ArrayLike | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        """Move on by `dt` [s].

        Parameters
        ----------
        dt : float
            Longer than zero.
        tau : (6 n,), optional
            Generalized forces, constant meanwhile; `AbsoluteSystem.joint_forces` gives those of
            motors.
        wrenches : {body: (6,)}, optional
            Wrenches (moment, force) on bodies, in the body frames [N m, N].

        Raises
        ------
        ArgumentError
            A step that is no positive number, forces of the wrong shape or not finite.
        DivergenceError
            If the motion cannot be followed; the state stays the last valid one.
        """
        check_number('dt', dt, positive=True)
        forces = np.zeros(self.system.nv) if tau is None else vector('tau', self.system.nv, tau)
        if not np.isfinite(forces).all():
            raise ArgumentError('tau must be finite numbers')
        for body, wrench in (wrenches or {}).items():
            if not np.isfinite(vector(f'the wrench on {body!r}', 6, wrench)).all():
                raise ArgumentError(f'the wrench on {body!r} must be finite numbers')
        try:
            q, v = self._integrator.step(self.q, self.v, forces, dt, wrenches)
            if self._project:
                q = project_configuration(self.system, q)
                v = project_velocity(self.system, q, v)
        except (ArgumentError, InfeasibleConstraintsError) as error:
            raise DivergenceError(f'{error}') from None
        self._check(q, v)
        self.q, self.v = q, v

    def _check(self, q: Array, v: Array) -> None:
        """Raise `DivergenceError` if a state is no continuation of the motion."""
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise DivergenceError('velocities grow beyond all numbers; take shorter steps')
        for joint, violation in self.system.violation(q, v).items():
            if not violation.gap <= MAX_GAP:
                raise DivergenceError(
                    f'joint {joint!r} gapes by {violation.gap:.3g} (rad, m): take shorter steps, '
                    'or a stabilization'
                )
