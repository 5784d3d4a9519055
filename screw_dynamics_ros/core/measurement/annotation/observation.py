# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""External torques along a recorded motion, by the observers of `core.measurement.estimation`.

The steps are those of the node `wrench_estimator`. They are exact for any step length. The observer
restarts after pauses, if stamps do not advance, and after missing velocities or efforts; nothing is
reported before it has settled. A `FirstOrderObserver` is a linear filter, computed for all steps at
once; other observers are computed step by step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.compile.kernels import KernelSpecification, compiled_into, make_kernel
from screw_dynamics_ros.core.types import Array

from ..estimation.delay_line import StackDelay
from ..estimation.observers import table
from ..estimation.observers.observer import FirstOrderObserver, Observer, Sample
from ..estimation.observers.parameters import values_of_joints
from ..estimation.observers.quantities import SIGNS, late_names
from .first_order import first_order
from .settings import AnnotationSettings


class StackObserver:
    """Runs an observer over blocks of samples.

    Parameters
    ----------
    joints : sequence of n str
        Those of the torques.
    settings : AnnotationSettings
    backend : str
        Backend of observers that are computed step by step.
    """

    def __init__(self, joints: Sequence[str], settings: AnnotationSettings, backend: str) -> None:
        n = len(joints)
        self._n, self._settings = n, settings
        deviations = values_of_joints(vars(settings), 'observer_model_deviation', joints)
        self._of_model = np.diag(np.nan_to_num(deviations) ** 2)
        self._observer = table.OBSERVERS[settings.observer]
        self._delay = StackDelay(round(1e9 * settings.effort_delay))
        self._last: tuple[int, Array, Array] | None = None  # stamp and rows of the last sample
        self._began = 0  # stamp of the start
        self._r: Array | None = None
        self._gap = True  # the next sample starts a run
        self._stepped: SteppedObserver | None = None
        if self._observer.state_size(n) and not isinstance(self._observer, FirstOrderObserver):
            self._stepped = SteppedObserver(joints, settings, backend)

    def torques(
        self,
        t: NDArray[np.int64],
        starts: NDArray[np.bool_],
        complete: NDArray[np.bool_],
        model: Mapping[str, Array],
        efforts: Array,
    ) -> tuple[Array, Array | None]:
        """Return the external torques (N, n) and, if the observer estimates it, their covariance.

        Parameters
        ----------
        t : (N,) array of int
            Stamps [ns].
        starts : (N,) array of bool
            Samples after a pause.
        complete : (N,) array of bool
            Samples with velocities and efforts.
        model : mapping
            What the observer reads, without efforts, arrays with N rows by name.
        efforts : (N, n) array
            Measured efforts.

        Both are NaN where no estimate exists: in incomplete samples, and before it has settled.
        """
        observer, n = self._observer, self._n
        torques = np.full((len(t), n), np.nan)
        names = (*observer.reads, *observer.torques_read)
        results = self._of_late_efforts(t, starts, model, efforts)
        rows = [results[name] for name in names]
        known = rows[1 if len(rows) > 1 else 0]
        index = np.flatnonzero(complete & np.isfinite(known @ np.ones(n)))
        if not observer.state_size(n):
            torques[index] = rows[0][index]
            return torques, None
        covariance = np.full((len(t), n, n), np.nan) if observer.estimates_covariance else None
        if not len(index):
            self._gap = True
            return torques, covariance
        chosen = [row[index] for row in rows]
        if self._last is None:  # a step of length 0 restarts
            self._last = (int(t[index[0]]), *(row[0] for row in chosen[:2]))
        begins = self._begins(t, starts, index, self._last[0])
        self._gap = bool(index[-1] != len(t) - 1)
        if self._stepped is not None:
            h = np.where(begins, 0, np.diff(t[index], prepend=self._last[0]))
            states = self._stepped.advance(h, begins, chosen[: len(observer.reads)])
        else:
            states = self._first_order(t[index], begins, chosen, self._last)
        settled = self._settled(t[index], begins)
        valid = index[settled]
        torques[valid] = observer.torques(n, states, dict(zip(names, chosen)))[settled]
        if covariance is not None:
            found = observer.covariance(n, states[settled]).reshape(-1, n, n)
            covariance[valid] = found + self._of_model
        self._last = (int(t[index[-1]]), *(row[-1] for row in chosen[:2]))
        return torques, covariance

    def _of_late_efforts(
        self,
        t: NDArray[np.int64],
        starts: NDArray[np.bool_],
        model: Mapping[str, Array],
        efforts: Array,
    ) -> dict[str, Array]:
        """Return what the observer reads, of the model at the time of the efforts."""
        names = late_names(self._settings.observer)
        late = self._delay.take(t, starts, np.concatenate([model[name] for name in names], axis=1))
        parts = zip(names, np.split(late, len(names), axis=1))
        return {
            **model,
            **{name: part + SIGNS[name] * efforts if SIGNS[name] else part for name, part in parts},
        }

    def _begins(
        self, t: NDArray[np.int64], starts: NDArray[np.bool_], index: NDArray[np.intp], last: int
    ) -> NDArray[np.bool_]:
        """Return which of the samples `index` restart the observer; `last` is the stamp before."""
        h = np.diff(t[index], prepend=last) * 1e-9
        begins = starts[index] | ~((h > 0.0) & (h <= self._settings.longest_step))
        begins[1:] |= np.diff(index) != 1
        begins[0] |= self._gap or index[0] != 0
        return np.asarray(begins)

    def _settled(self, t: NDArray[np.int64], begins: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which samples are after the settling time of their run."""
        begin = np.maximum.accumulate(np.where(begins, np.arange(len(t)), -1))
        began = np.where(begin < 0, self._began, t[np.maximum(begin, 0)])
        self._began = int(began[-1])
        settling = self._observer.settling_time(self._settings.observer_time_constant)
        return np.asarray(t - began >= settling)

    def _first_order(
        self,
        t: NDArray[np.int64],
        begins: NDArray[np.bool_],
        rows: list[Array],
        before: tuple[int, Array, Array],
    ) -> Array:
        """Return the states of a first-order observer, computed by filters only.

        `before` are stamp and rows of the last sample.
        """
        observer, size = self._observer, self._observer.state_size(self._n)
        assert isinstance(observer, FirstOrderObserver)
        h = np.where(begins, 1, np.diff(t, prepend=before[0])) * 1e-9
        first, second = (
            np.concatenate([old[None], now[:-1]]) for old, now in zip(before[1:], rows)
        )
        inputs = self._added(observer, (first, second), rows, 1.0 / h)
        inputs[begins] = 0.0
        decay = np.exp(-h / self._settings.observer_time_constant)
        y = first_order(decay, inputs, begins, self._r)
        self._r = y[-1]
        states = np.empty((len(t), size))
        states[:, -y.shape[1] :] = y
        return states

    def _added(
        self,
        observer: FirstOrderObserver,
        before: tuple[Array, Array],
        rows: list[Array],
        rate: Array,
    ) -> Array:
        """Return the input of the observer's filters: its state after a step without memory."""
        shape = rows[0].shape
        rates = np.repeat(rate, shape[1])
        nothing = np.zeros_like(rates)
        last = [array.ravel() for array in before]
        given = dict(zip(observer.reads, (row.ravel() for row in rows)))
        state = observer.advance(
            np.concatenate([*last, *[nothing] * observer.filters]),
            Sample(given, (), nothing, rates, nothing, nothing),
        )
        return np.concatenate(state.reshape(-1, *shape)[2:], axis=1)


class SteppedObserver:
    """Advances an observer step by step, with a compiled program.

    Parameters are those of `StackObserver`.
    """

    def __init__(self, joints: Sequence[str], settings: AnnotationSettings, backend: str) -> None:
        n, name = len(joints), settings.observer
        self._n = n
        observer = self._observer = table.OBSERVERS[name]
        self._state = np.zeros(observer.state_size(n))
        self._time_constant = settings.observer_time_constant
        self._values = np.concatenate(
            [values_of_joints(vars(settings), each, joints) for each in observer.parameters]
            or [np.zeros(n)]
        )
        sizes = {name: n * n if name == 'moved_mass' else n for name in observer.reads}
        self._step = compiled_into(
            make_kernel(
                KernelSpecification(
                    f'step of the observer {name}',
                    (
                        ('state', len(self._state)),
                        *sizes.items(),
                        ('parameters', len(self._values)),
                        ('step', n + 3),
                    ),
                    partial(advanced, observer),
                    f'observer {name} of {n} torques',
                ),
                backend,
            )
        )

    def advance(self, h: NDArray[np.int64], begins: NDArray[np.bool_], rows: list[Array]) -> Array:
        """Return the states after N samples, (N, size).

        Parameters
        ----------
        h : (N,) array of int
            Lengths of the steps [ns], 0 where it restarts.
        begins : (N,) array of bool
            Samples where it restarts.
        rows : list of arrays
            Its inputs, N rows each.
        """
        steps, count = self._steps(h, begins), len(h)
        states, start = np.empty((count + 1, len(self._state))), np.zeros_like(self._state)
        states[0] = self._state
        flat = [np.ascontiguousarray(row.reshape(count, -1)) for row in rows]
        for k in range(count):
            before = start if begins[k] else states[k]
            self._step(before, *(row[k] for row in flat), self._values, steps[k], states[k + 1])
        self._state = states[-1].copy()
        return states[1:]

    def _steps(self, h: NDArray[np.int64], begins: NDArray[np.bool_]) -> Array:
        """Return the rows of `ObserverSteps.numbers`, (N, n + 3)."""
        n, seconds = self._n, h * 1e-9
        steps = np.empty((len(h), n + 3))
        steps[:, :n] = np.exp(-seconds / self._time_constant)[:, None]
        steps[:, n] = np.divide(1.0, seconds, out=np.zeros(len(h)), where=~begins)
        steps[:, n + 1], steps[:, n + 2] = seconds, begins
        return steps


def advanced(observer: Observer, state: Array, *arrays: Array) -> tuple[Array]:
    """Return the next state; matrices are passed as vectors."""
    n = len(arrays[-1]) - 3
    shaped = [
        array.reshape(n, n) if name == 'moved_mass' else array
        for name, array in zip(observer.reads, arrays)
    ]
    sample = Sample.of(observer, [*shaped, *arrays[len(shaped) :]])
    return (observer.advance(state, sample),)
