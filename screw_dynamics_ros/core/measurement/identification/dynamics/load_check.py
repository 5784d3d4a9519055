# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Check whether recordings with and without a known load agree."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from screw_dynamics_ros.core.description.robot_description import Finding

from .effort_fit import EffortFit, fit_efforts
from .effort_problem import EffortProblem

#: Recordings disagree if the residuals of one model for all, relative to those of separate models,
#: exceed this factor and this number of standard deviations.
MIN_DISAGREEMENT, SIGNIFICANT_SIGMAS = 0.2, 3.0


def load_findings(problem: EffortProblem, fit: EffortFit) -> Iterator[Finding]:
    """Yield a finding if separate models explain loaded and unloaded recordings better."""
    given = problem.fitted
    kinds = [given.rows(given.loaded == kind) for kind in (False, True)]
    joints = max(int(np.isfinite(fit.noise).sum()), 1)
    counts = [len(kind.t) for kind in kinds]
    if min(counts) * joints < 2 * len(fit.x):
        return
    together, apart = np.zeros((2, len(fit.gains)))
    for kind in kinds:
        alone = fit_efforts(kind, problem.names, fit.x, problem.likely, fit.gains, [], None)
        e = fit.gains * fit.torques(kind) - kind.effort
        together += np.sum(e**2, axis=0)
        apart += len(kind.t) * alone.noise**2
    ratio = np.sqrt(together / np.maximum(apart, 1e-300))
    # The relative standard deviation of the RMS of N independent numbers is 1 / sqrt(2 N).
    limit = np.maximum(
        MIN_DISAGREEMENT, SIGNIFICANT_SIGMAS * np.sqrt(fit.correlation / (2.0 * min(counts)))
    )
    names = problem.unknowns.robot.joint_names
    worse = [f'{names[i]} {ratio[i]:.2g} times' for i in np.flatnonzero(ratio - 1.0 > limit)]
    if worse:
        yield Finding(
            'warning',
            'load',
            'recordings with the load and without disagree: with one model for both, residuals '
            f'are larger than with one for each ({", ".join(worse)})',
            'give the mass of the load alone (--known-payload LINK KG) if its center of mass is '
            'not certain; check link and mass; record both in direct succession',
        )
