# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Selection of the effort gains to estimate with the base parameters, and of their scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError
from ..types import Array
from .effort_check import SIGNIFICANT_SIGMAS, EffortCheck
from .effort_equations import EffortEquations
from .effort_fit import EffortFit, fit_efforts
from .options import IdentificationOptions
from .unknowns import Unknowns

#: Factor of the prior deviations of friction and armature if the unit of efforts is unknown.
UNKNOWN_UNIT = 10.0

#: Smallest number of joints to compare gains, and largest factor between similar gains.
MIN_ALIKE, MAX_ALIKE = 3, 1.25

MAX_UNIT_ROUNDS = 5
MAX_UNIT_CHANGE = 1.5  # change of gains above which prior deviations are computed again

#: Suffixes of the parameters on which gravity torques depend.
MOMENTS = ('/m', '/mx', '/my', '/mz')

#: Prior relative standard deviation of the common error of nominal masses, if they fix the scale.
MASS_DEVIATION = 0.125

GROUPING_TOLERANCE = 1e-9  # smaller singular values of groupings are zero


class EffortProblem:
    """The base parameters of a robot, and the gains that are estimated with them.

    Attributes
    ----------
    names : tuple of p str
    nominal : (p,) array
        Base parameters of the nominal robot.
    L : (P, P) array
        Prior deviations of all parameters (see `Unknowns.deviations`), after `fit`.
    by_nominal_masses : bool
        Whether only nominal masses fix the scale of the efforts, after `fit`.
    common_gain : float
        The gain of most joints relative to nominal masses, if all efforts are assumed to be
        torques; 1 if unknown.
    """

    def __init__(
        self,
        unknowns: Unknowns,
        columns: NDArray[np.int64],
        grouping: Array,
        fitted: EffortEquations,
        options: IdentificationOptions,
        checks: tuple[EffortCheck, ...],
        has_known_payload: bool,
    ) -> None:
        self.unknowns, self.columns, self.grouping = unknowns, columns, grouping
        self.fitted, self.options, self.checks = fitted, options, checks
        self.names = tuple(unknowns.names[k] for k in columns)
        self.nominal = grouping @ unknowns.nominal
        self.has_known_payload, self.by_nominal_masses = has_known_payload, False
        self.common_gain = 1.0

    def fit(self) -> EffortFit:
        """Return base parameters and gains."""
        found = self._fit()
        return found.with_common_error(MASS_DEVIATION) if self.by_nominal_masses else found

    def _fit(self) -> EffortFit:
        joints = self.unknowns.robot.joint_names
        scale = self.options.scale
        # An unknown payload multiplies efforts, too; the fit separates it from gains.
        has_payload = bool(self.unknowns.model.payload_link)
        gains = np.array([check.sign for check in self.checks])
        if scale == 'known':
            return self._solve(np.ones(len(joints)), [])
        reporting = [i for i in range(len(joints)) if not np.isnan(self.fitted.effort[:, i]).any()]
        free = [i for i in reporting if joints[i] in scale]
        if scale == 'auto':
            identified = [check for check in self.checks if check.identified]
            free = [i for i in reporting if self.checks[i].is_scaled]
            # A driver that reports currents does so for all joints.
            if 2 * len(free) > len(identified) or (has_payload and free):
                free = reporting
            elif not free:
                free = self._unlike(reporting)
        sizes = [abs(self.checks[i].gain) for i in free if self.checks[i].identified]
        usual = float(np.median(sizes)) if sizes else 1.0
        for i in free:
            check = self.checks[i]
            gains[i] = check.gain if check.identified else check.sign * usual
        fit = self._solve(gains, free)
        if scale != 'auto':
            return fit
        # Drivers have gains of 1 or -1 unless the data exclude them.
        deviations = np.sqrt(np.diag(fit.covariance))[len(fit.x) :]
        likely = [
            i
            for i, deviation in zip(free, deviations)
            if abs(abs(fit.gains[i]) - 1.0) < 3.0 * deviation
        ]
        if not likely or (free == reporting and not has_payload):
            return fit
        gains = fit.gains.copy()
        gains[likely] = np.sign(gains[likely])
        return self._solve(gains, [i for i in free if i not in likely])

    def _unlike(self, reporting: Sequence[int]) -> list[int]:
        """Return the joints whose gain certainly differs from that of most others.

        Ratios of gains do not depend on nominal masses, so that smaller factors are significant.
        """
        if len(reporting) < MIN_ALIKE:
            return []
        start = np.array([check.sign for check in self.checks])
        try:
            fit = self._solve(start, reporting)
        except ArgumentError:  # no nominal mass fixes the scale
            return []
        known = np.flatnonzero(fit.scale_identified)
        known = known[np.isin(known, reporting)]
        if len(known) < MIN_ALIKE:
            return []
        k = [len(fit.x) + fit.free.index(i) for i in known.tolist()]
        size = np.abs(fit.gains[known])
        error = np.sqrt(np.diag(fit.covariance)[k]) / size
        change = np.abs(np.log(size / np.median(size)))
        unlike = (change > np.log(MAX_ALIKE)) & (change > SIGNIFICANT_SIGMAS * error)
        if 2 * int(unlike.sum()) >= len(known):
            return []
        self.common_gain = float(np.median(size))
        return known[unlike].tolist()

    def _solve(self, gains: Array, free: Sequence[int]) -> EffortFit:
        reporting = np.flatnonzero(~np.isnan(self.fitted.effort).any(axis=0)).tolist()
        all_free = bool(free) and set(free) >= set(reporting)
        self.by_nominal_masses = all_free and not self.has_known_payload
        for _ in range(MAX_UNIT_ROUNDS):
            self.L = self._deviations(gains, free)
            self.likely = np.linalg.norm(self.grouping @ self.L, axis=1)
            fit = fit_efforts(
                self.fitted,
                self.names,
                self.nominal,
                self.likely,
                gains,
                free,
                self._gauge() if all_free and not self.fitted.known.any() else None,
                self.options.robust,
            )
            # The prior deviation of friction is a fraction of the efforts in their unit.
            change = np.abs(np.log(np.abs(fit.gains / gains)))
            gains = fit.gains
            if np.all(change < np.log(MAX_UNIT_CHANGE)):
                break
        return fit

    def _deviations(self, gains: Array, free: Sequence[int]) -> Array:
        """Return the prior deviations of all parameters (see `Unknowns.deviations`)."""
        nominal, effort = (
            np.sqrt(np.mean(x**2, axis=0))
            for x in (self.fitted.nominal, self.fitted.effort / gains)
        )
        torque = np.fmax(np.maximum(nominal, 1e-2 * nominal.max() + 1e-6), effort)
        torque[list(free)] *= UNKNOWN_UNIT
        speed, acceleration = (
            np.sqrt(np.mean(x**2, axis=0)) for x in (self.fitted.v, self.fitted.a)
        )
        return self.unknowns.deviations(torque, speed, acceleration)

    def _gauge(self) -> Array:
        """Return the gauge that fixes the scale by the nominal first moments.

        A motion determines parameters up to a common factor. For first moments with the prior
        covariance C, the factor follows from h_0^T C^-1 (h - h_0) = 0 with h = N x. N excludes
        parameters that are grouped with armature, friction or offset, which descriptions lack.
        """
        moments = [k for k, name in enumerate(self.names) if name.endswith(MOMENTS)]
        bodies = 10 * len(self.unknowns.bodies)
        grouping = self.grouping[moments]
        drives = grouping[:, bodies:]
        U, s, _ = np.linalg.svd(drives)
        N = U[:, int(np.sum(s > GROUPING_TOLERANCE)) :]
        likely = N.T @ grouping[:, :bodies] @ self.L[:bodies, :bodies]
        gauge = np.zeros(len(self.names))
        if N.shape[1]:
            gauge[moments] = N @ np.linalg.pinv(likely @ likely.T) @ N.T @ self.nominal[moments]
        if not gauge.any():
            raise ArgumentError(
                'scale: the scale of all efforts is unknown, and no nominal mass fixes it; give '
                'one joint a known scale, or record with a known payload too'
            )
        return gauge
