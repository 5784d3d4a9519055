# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Runge-Kutta methods on Lie groups with adaptive step size by an embedded method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import check_count, check_number
from ..errors import ArgumentError, DivergenceError
from ..types import Array
from .configuration_space import ConfigurationSpace
from .integrator import DynamicSystem, Integrator, Torques
from .runge_kutta import Motion, munthe_kaas_stages
from .tableau import DORMAND_PRINCE, Tableau

#: Of the step that the error allows, this part is taken; and a step changes by these factors.
SAFETY_FACTOR, MIN_STEP_FACTOR, MAX_STEP_FACTOR = 0.9, 0.2, 5.0

#: A step must not be shorter, relative to the time and the whole interval.
MIN_STEP = 16 * np.finfo(float).eps


@dataclass(frozen=True, eq=False)
class AdaptiveRun:
    """Where `AdaptiveRungeKutta.until` has arrived, and how."""

    #: Configuration (nq,) and velocity (nv,) [rad, m, 1/s], or stacks.
    q: Array
    v: Array
    #: Accepted and rejected steps.
    steps: int
    rejections: int
    #: Length [s] that the error allows for the next step.
    next_step: float


@dataclass(frozen=True, eq=False)
class _Trial:
    """A step that may be rejected: its end, and its error as a multiple of the tolerance."""

    q: Array
    v: Array
    error: float
    worst: str


class AdaptiveRungeKutta(Integrator):
    """Steps whose estimated error stays within a tolerance.

    The methods of a pair give two increments of q and v in a step, Phi and Phi_hat, both in the Lie
    algebra. Their difference estimates the error, which a component may have up to

        atol + rtol                 increments of q [rad, m],
        atol + rtol max |v_i|       velocities, before and after the step.

    Coordinates have no natural zero, so that their tolerance does not depend on their value. The
    largest ratio of error to tolerance of all components, and of all samples of a stack, determines
    the step size; all samples have the same steps.
    With the error e_n in units of the tolerance and the lower order p of the pair, the next step is
    0.9 e_n^(-0.7/k) e_(n-1)^(0.4/k) times as long, k = p + 1 (a PI controller). A step with an
    error above 1, with a number that is not finite, or that turns a free body by 2 pi, is repeated
    with a shorter one.

    Sources: Müller and Terze (36), (37) (I-23); E. Hairer, G. Wanner, *Solving Ordinary
    Differential Equations II*, section IV.2; K. Gustafsson, *Control theoretic techniques for
    stepsize selection in explicit Runge-Kutta methods*, ACM Transactions on Mathematical Software
    17 (1991).

    Parameters
    ----------
    robot : DynamicSystem
        A `Robot`, or any system with forward dynamics.
    tableau : Tableau
        An embedded pair (`tableau.EMBEDDED`).
    rtol, atol : float
        Relative and absolute tolerance of a step.
    increments : {'body', 'spatial', 'mixed', 'hybrid'}
        Local coordinates of free bodies, see `kinematics.reconstruction`.
    shortest_step : float
        Smallest step size [s]; a smaller one raises `DivergenceError`.
    most_steps : int
        Largest number of steps of one call, including rejected ones; more raise `DivergenceError`.

    Raises
    ------
    ArgumentError
        If the tableau is not an embedded pair, or a tolerance is not positive.
    """

    def __init__(
        self,
        robot: DynamicSystem,
        tableau: Tableau = DORMAND_PRINCE,
        rtol: float = 1e-6,
        atol: float = 1e-9,
        increments: str = 'body',
        shortest_step: float = 0.0,
        most_steps: int = 1_000_000,
    ) -> None:
        super().__init__(robot)
        if tableau.b_hat is None or tableau.order_hat is None:
            raise ArgumentError(
                f'{tableau!r} has no embedded method that estimates errors; take DORMAND_PRINCE, '
                'BOGACKI_SHAMPINE, HEUN_EULER, or give it b_hat and order_hat'
            )
        check_number('rtol', rtol)
        check_number('atol', atol, positive=True)
        check_number('shortest_step', shortest_step)
        check_count('most_steps', most_steps)
        self.tableau, self.space = tableau, ConfigurationSpace(robot, increments)
        self.rtol, self.atol = rtol, atol
        self.shortest_step, self.most_steps = shortest_step, most_steps
        self._defect = tableau.b - tableau.b_hat
        self._exponent = 1.0 / (min(tableau.order, tableau.order_hat) + 1)

    def step(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: Torques,
        dt: float,
        wrenches: Mapping[str, ArrayLike] | None = None,
        t: float = 0.0,
    ) -> tuple[Array, Array]:
        """Return q and v a time `dt` later, by adaptive steps; see `Integrator.step`."""
        end = self.until(q, v, tau, t, t + dt, wrenches)
        return end.q, end.v

    def until(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: Torques,
        t0: float,
        t1: float,
        wrenches: Mapping[str, ArrayLike] | None = None,
        first_step: float | None = None,
    ) -> AdaptiveRun:
        """Return the state at the time t1 [s] of a motion that starts at t0; t1 < t0 goes back.

        Parameters
        ----------
        q, v, tau, wrenches
            As in `Integrator.step`.
        first_step : float, optional
            Length [s] to try first, `next_step` of the run before for example.

        Raises
        ------
        ArgumentError
            Wrong shapes or times.
        DivergenceError
            If the state is not finite, or steps become too short or too many; the message has the
            time and the component with the largest error.

        Examples
        --------
        >>> from screw_dynamics_ros.core import Robot
        >>> robot = Robot.from_urdf('urdf/planar_2r.urdf', backend='python')
        >>> integrator = AdaptiveRungeKutta(robot, rtol=1e-8)
        >>> end = integrator.until(np.array([0.3, -0.8]), np.zeros(2), np.zeros(2), 0.0, 1.0)
        >>> back = integrator.until(end.q, end.v, np.zeros(2), 1.0, 0.0)
        >>> np.allclose(back.q, [0.3, -0.8], atol=1e-6)
        True
        """
        q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
        if not (isfinite(t0) and isfinite(t1)):
            raise ArgumentError(f't0 and t1 must be finite numbers, got {t0!r} and {t1!r}')
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise DivergenceError(f'the state at t = {t0:.6g} s is not finite')
        acceleration = self.acceleration(tau, wrenches)

        def motion(t: float, q: Array, v: Array) -> tuple[Array, Array]:
            return v, acceleration(t, q, v)

        t, way = t0, 1.0 if t1 >= t0 else -1.0
        h = abs(first_step) if first_step else self._first_step(motion, t0, q, v)
        steps = rejections = 0
        before, longest = (
            1.0,
            MAX_STEP_FACTOR,
        )  # error of the last step, factor by which the next may grow
        while t != t1:
            left = abs(t1 - t)
            length = left if left < 1.01 * h else h
            trial = self._trial(motion, q, v, way * length, t)
            if trial.error <= 1.0:
                next_h = length * min(longest, self._factor(trial.error, before))
                h = max(h, next_h) if length < h else next_h  # the last step is shorter than h
                t = t1 if length == left else t + way * length
                q, v, steps, before, longest = (
                    trial.q,
                    trial.v,
                    steps + 1,
                    trial.error,
                    MAX_STEP_FACTOR,
                )
            else:
                h = length * max(MIN_STEP_FACTOR, SAFETY_FACTOR * trial.error**-self._exponent)
                rejections, longest = rejections + 1, 1.0
                self._check_progress(h, max(abs(t), abs(t1 - t0)), t, trial)
            if steps + rejections >= self.most_steps and t != t1:
                raise DivergenceError(
                    f'{self.most_steps} steps only lead to t = {t:.6g} s: the motion is stiff, or '
                    'the tolerance too small; raise rtol and atol, or take GeneralizedAlpha'
                )
        return AdaptiveRun(q, v, steps, rejections, h)

    def _trial(self, motion: Motion, q: Array, v: Array, dt: float, t: float) -> _Trial:
        """Return what a step gives; its error is infinite if it cannot be taken."""
        with np.errstate(over='ignore', invalid='ignore'):
            increments, k = munthe_kaas_stages(self.space, motion, q, v, dt, self.tableau, t)
            X, Y = increments[-1]
            turn, name = self.space.largest_turn(increments[:, 0])
            if turn >= 2 * np.pi:
                return _Trial(q, v, inf, f'{name!r}, which turns by {turn:.3g} rad')
            q_next, v_next = self.space.moved(q, X), v + Y
            scale = np.stack([np.ones_like(v), np.maximum(np.abs(v), np.abs(v_next))])
            error = np.abs(dt * np.tensordot(self._defect, k, 1)) / (self.atol + self.rtol * scale)
        if not (np.isfinite(error).all() and np.isfinite(q_next).all()):
            return _Trial(q, v, inf, 'numbers that are not finite')
        i = np.unravel_index(np.argmax(error), error.shape)
        return _Trial(q_next, v_next, float(error[i]), f'{"qv"[i[0]]}, component {i[-1]}')

    def _factor(self, error: float, before: float) -> float:
        """Return the length of the next step as a multiple of this one, which was accepted."""
        least = 1e-4  # smaller errors say nothing about the next step
        error, before = max(error, least), max(before, least)
        growth = error ** (-0.7 * self._exponent) * before ** (0.4 * self._exponent)
        return min(MAX_STEP_FACTOR, max(MIN_STEP_FACTOR, SAFETY_FACTOR * growth))

    def _check_progress(self, h: float, span: float, t: float, trial: _Trial) -> None:
        """Raise `DivergenceError` if steps are too short to be repeated."""
        if h < max(self.shortest_step, MIN_STEP * span):
            raise DivergenceError(
                f'steps from t = {t:.6g} s would have to be shorter than {h:.1e} s: the error is '
                f'{trial.error:.3g} times the tolerance because of {trial.worst}; '
                'raise rtol and atol, or look for torques that jump or grow without bound'
            )

    def _first_step(self, motion: Motion, t: float, q: Array, v: Array) -> float:
        """Return a length [s] in which increments stay far below 1 and velocities change little."""
        _, a = motion(t, q, v)
        size = max(1.0, float(np.abs(v).max(initial=0.0)))
        with np.errstate(over='ignore', invalid='ignore'):
            rate = max(size, float(np.abs(a).max(initial=0.0)) / size)
        tolerance = min(1.0, self.atol + self.rtol)
        return tolerance**self._exponent / rate if isfinite(rate) else tolerance
