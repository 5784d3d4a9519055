"""External torques along a recorded motion, by the observers of `core.estimation.observers`.

The steps are those of the node `wrench_estimator`: exact for any length, anew after pauses, where
stamps do not advance and where velocities or efforts are missing; nothing is told before the
observer has settled. The filtered and the momentum observer are first-order filters of what one
step of them adds, so that all steps are made at once; the Kalman filter is stepped.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.annotation.first_order import first_order
from screw_dynamics_ros.core.annotation.settings import AnnotationSettings
from screw_dynamics_ros.core.compile.kernels import (
    KernelSpecification,
    compiled_into,
    make_kernel,
)
from screw_dynamics_ros.core.estimation.observers.filtered_dynamics import filtered_step
from screw_dynamics_ros.core.estimation.observers.generalized_momentum import momentum_step
from screw_dynamics_ros.core.estimation.observers.kalman import Noise, kalman_size, kalman_step
from screw_dynamics_ros.core.estimation.observers.steps import SETTLED
from screw_dynamics_ros.core.types import Array

#: What each observer reads besides stamps: names of results, rows of all samples.
NEEDED = {
    'static': ('static_torque',),
    'filtered': ('velocity', 'static_torque', 'moved_mass'),
    'momentum': ('momentum_of_joints', 'known_torque'),
    'kalman': ('momentum_of_joints', 'known_torque', 'moved_mass'),
}


class StackObserver:
    """Leads an observer through blocks of samples.

    Parameters
    ----------
    n : int
        Number of torques.
    settings : AnnotationSettings
    backend : str
        What the Kalman filter runs on.
    """

    def __init__(self, n: int, settings: AnnotationSettings, backend: str) -> None:
        self._n, self._settings = n, settings
        self._last: tuple[int, Array, Array] | None = None  # stamp and rows of the last sample
        self._began = 0  # stamp of the start
        self._r: Array | None = None
        self._gap = True  # what comes next is a first sample
        if settings.observer == 'kalman':
            self._start_filter(backend)

    def torques(
        self,
        t: NDArray[np.int64],
        starts: NDArray[np.bool_],
        complete: NDArray[np.bool_],
        results: Mapping[str, Array],
    ) -> tuple[Array, Array | None]:
        """Return the external torques (N, n) and, if the observer tells it, their covariance.

        Parameters
        ----------
        t : (N,) array of int
            Stamps [ns].
        starts : (N,) array of bool
            Samples after a pause.
        complete : (N,) array of bool
            Samples with velocities and efforts.
        results : mapping
            Arrays with N rows by the names of `NEEDED`.

        Both are NaN where nothing can be told: incomplete samples, and before it has settled.
        """
        observer, n = self._settings.observer, self._n
        torques = np.full((len(t), n), np.nan)
        rows = [results[name] for name in NEEDED[observer]]
        known = rows[1 if len(rows) > 1 else 0]
        index = np.flatnonzero(complete & np.isfinite(known @ np.ones(n)))
        if observer == 'static':
            torques[index] = rows[0][index]
            return torques, None
        begins = np.empty(len(index), dtype=bool)
        if len(index):
            self._find_begins(t, starts, index, begins)
        self._gap = self._gap if not len(index) else bool(index[-1] != len(t) - 1)
        chosen = [row[index] for row in rows]
        covariance = None
        if observer == 'kalman':
            covariance = np.full((len(t), n, n), np.nan)
            torques[index], covariance[index] = self._filtered(t[index], begins, *chosen)
            settled = np.ones(len(index), dtype=bool)
        else:
            torques[index], settled = self._first_order(t[index], begins, chosen)
        torques[index[~settled]] = np.nan
        if len(index):
            self._last = (int(t[index[-1]]), *(row[-1] for row in chosen[:2]))
        return torques, covariance

    def _find_begins(
        self,
        t: NDArray[np.int64],
        starts: NDArray[np.bool_],
        index: NDArray[np.intp],
        begins: NDArray[np.bool_],
    ) -> None:
        """Tell which of the samples `index` start anew."""
        stamps = t[index]
        before = self._last[0] if self._last is not None else int(stamps[0])
        h = np.diff(stamps, prepend=before) * 1e-9
        begins[:] = starts[index] | ~((h > 0.0) & (h <= self._settings.longest_step))
        begins[1:] |= np.diff(index) != 1
        begins[0] |= self._gap or index[0] != 0 or self._last is None

    def _first_order(
        self, t: NDArray[np.int64], begins: NDArray[np.bool_], rows: list[Array]
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Return the torques of the filtered or the momentum observer, and which have settled."""
        if not len(t):
            return np.zeros((0, self._n)), np.zeros(0, dtype=bool)
        T = self._settings.observer_time_constant
        before = self._last or (int(t[0]), rows[0][0], rows[1][0])
        h = np.where(begins, 1, np.diff(t, prepend=before[0])) * 1e-9
        rate = np.where(begins, 0.0, 1.0 / h)
        first, second = (
            np.concatenate([old[None], now[:-1]]) for old, now in zip(before[1:], rows)
        )
        inputs = self._added((first, second), rows, rate)
        inputs[begins] = 0.0
        y = first_order(np.exp(-h / T), inputs, begins, self._r)
        self._r = y[-1]
        begin = np.maximum.accumulate(np.where(begins, np.arange(len(t)), -1))
        began = np.where(begin < 0, self._began, t[np.maximum(begin, 0)])
        self._began = int(began[-1])
        settled = t - began >= round(SETTLED * 1e9 * T)
        if self._settings.observer == 'momentum':
            return y, settled
        a, rest = y[:, : self._n], y[:, self._n :]
        return np.einsum('kij,kj->ki', rows[2], a) + rest, settled

    def _added(self, before: tuple[Array, Array], rows: list[Array], rate: Array) -> Array:
        """Return what the filter of the observer sees: its state after a step without memory."""
        shape = rows[0].shape
        rates = np.repeat(rate, shape[1])
        known = [array.ravel() for array in before]
        nothing, first, second = np.zeros_like(rates), rows[0].ravel(), rows[1].ravel()
        if self._settings.observer == 'momentum':
            state = momentum_step(np.concatenate([*known, nothing]), first, second, nothing, rates)
            return state.reshape(3, *shape)[2]
        state = filtered_step(
            np.concatenate([*known, nothing, nothing]), first, second, nothing, rates
        )
        return np.concatenate(state.reshape(4, *shape)[2:], axis=1)

    # --- Kalman filter ----------------------------------------------------------------------------

    def _start_filter(self, backend: str) -> None:
        n, settings = self._n, self._settings
        self._state = np.zeros(kalman_size(n))
        self._noise = np.repeat(
            [
                settings.observer_velocity_deviation,
                settings.observer_effort_deviation,
                settings.observer_torque_change,
                settings.observer_torque_change,
            ],
            n,
        )
        self._step = compiled_into(
            make_kernel(
                KernelSpecification(
                    'step of the Kalman filter',
                    (
                        ('state', kalman_size(n)),
                        ('p', n),
                        ('known', n),
                        ('mass', n * n),
                        ('noise', 4 * n),
                        ('step', 1),
                        ('first', 1),
                    ),
                    kalman_of_vectors,
                    f'Kalman filter of {n} torques',
                ),
                backend,
            )
        )

    def _filtered(
        self,
        t: NDArray[np.int64],
        begins: NDArray[np.bool_],
        p: Array,
        known: Array,
        M: Array,
    ) -> tuple[Array, Array]:
        """Return the torques (N, n) and their covariances (N, n, n)."""
        n, size = self._n, kalman_size(self._n)
        states = np.empty((len(t) + 1, size))
        states[0] = self._state
        start, last = np.zeros(size), self._last[0] if self._last is not None else 0
        h = np.where(begins, 0.0, np.diff(t, prepend=last) * 1e-9)[:, None]
        first, mass = begins[:, None].astype(float), np.ascontiguousarray(M.reshape(len(t), n * n))
        for k in range(len(t)):
            before = start if begins[k] else states[k]
            now = p[k], known[k], mass[k], self._noise, h[k], first[k]
            self._step(before, *now, states[k + 1])
        self._state = states[-1].copy()
        return states[1:, 2 * n : 3 * n], states[1:, size - n * n :].reshape(-1, n, n)


def kalman_of_vectors(
    state: Array, p: Array, known: Array, mass: Array, noise: Array, step: Array, first: Array
) -> tuple[Array]:
    """Return the next state; the mass matrix and the noise come as vectors."""
    n = len(p)
    return (
        kalman_step(state, p, known, mass.reshape(n, n), Noise(*noise.reshape(4, n)), step, first),
    )
