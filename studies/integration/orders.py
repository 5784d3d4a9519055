# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Orders of convergence: of gaps, and of the solution, for every tableau (I-40)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from screw_dynamics_ros.core.integration import RK4, TABLEAUS, RungeKutta, Tableau
from screw_dynamics_ros.core.integration.tableau import DORMAND_PRINCE
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import (
    double_pendulum,
    heavy_top,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.history import record
from screw_dynamics_ros.core.types import Array
from studies.integration.reference import top_motion
from studies.integration.runs import CASES, GROUPS

#: Steps [s] and durations [s] of the study of all tableaus, and of the paper's method alone.
STEPS, DURATION = (2e-3, 1e-3, 5e-4, 2.5e-4), 0.1
LONG_STEPS, LONG_DURATION = (4e-3, 2e-3, 1e-3, 5e-4), 1.0
#: Step of the reference of the double pendulum, by Dormand and Prince's method [s].
FINEST = 1e-4
#: Below this, gaps are rounding and have no order [m].
ROUNDING = 1e-12
#: The joint whose gap is measured: in SE(3) exact for the first, not for the second.
JOINT = {'E1': 'pivot', 'E2': 'joint 2'}


class Convergence(NamedTuple):
    """Errors at one end of a motion, for several steps.

    Attributes
    ----------
    case, tableau, group, quantity : str
        The quantity is 'gap' (the largest on the way) or 'solution' (of positions, at the end).
    expected : int
        The order of the tableau.
    steps, errors : (k,)
        Steps [s] and errors [m].
    """

    case: str
    tableau: str
    group: str
    quantity: str
    expected: int
    steps: Array
    errors: Array

    @property
    def exact(self) -> bool:
        """Whether there is nothing but rounding."""
        return bool(self.errors.max() < ROUNDING)

    @property
    def order(self) -> float:
        """The slope between the two shortest steps above rounding; NaN for what is exact."""
        if self.exact:
            return float('nan')
        k = max(2, int((self.errors > ROUNDING).sum()))
        coarse, fine = k - 2, k - 1
        ratio, steps = (
            self.errors[coarse] / self.errors[fine],
            self.steps[coarse] / self.steps[fine],
        )
        return float(np.log(ratio) / np.log(steps))


def convergence(
    case: str, tableau: Tableau, group: str, steps: Sequence[float], end: Array, duration: float
) -> list[Convergence]:
    """Measure both quantities.

    Parameters
    ----------
    case, group : str
    tableau : Tableau
    steps : sequence of float
        From long to short [s].
    end : (n, 3)
        True positions of the bodies at the end [m].
    duration : float
        [s]
    """
    example = CASES[case].make([group] * CASES[case].bodies)
    integrator, gaps, errors = RungeKutta(example.system, tableau), [], []
    for dt in steps:
        every = max(1, round(duration / dt / 20))
        motion = record(*example, duration=duration, dt=dt, integrator=integrator, every=every)
        gaps.append(motion.gaps[JOINT[case]].max())
        errors.append(np.linalg.norm(positions(motion.q[-1]) - end))
    return [
        Convergence(case, tableau.name, group, name, tableau.order, np.array(steps), np.array(each))
        for name, each in (('gap', gaps), ('solution', errors))
    ]


def positions(q: Array) -> Array:
    """Return the positions (n, 3) of the bodies [m]."""
    return np.asarray(q).reshape(-1, 7)[:, :3]


def ends(duration: float) -> dict[str, Array]:
    """Return the true positions of both examples after a time [s]."""
    pendulum = double_pendulum()
    finest = RungeKutta(pendulum.system, DORMAND_PRINCE)
    fine = record(*pendulum, duration=duration, dt=FINEST, integrator=finest, every=10**6)
    return {
        'E1': top_motion(heavy_top(), np.array([0.0, duration])).r[-1:],
        'E2': positions(fine.q[-1]),
    }


def all_tableaus(tableaus: Sequence[Tableau] = TABLEAUS) -> list[Convergence]:
    """Measure the orders of tableaus on both examples in both groups."""
    end = ends(DURATION)
    return [
        found
        for case in JOINT
        for tableau in tableaus
        for group in GROUPS
        for found in convergence(case, tableau, group, STEPS, end[case], DURATION)
    ]


def of_the_paper(steps: Sequence[float] = LONG_STEPS) -> list[Convergence]:
    """Measure the order of the classical method over a second."""
    end = top_motion(heavy_top(), np.array([0.0, LONG_DURATION])).r[-1:]
    nothing = np.full((2, 3), np.nan)  # the double pendulum is not converged after a second
    found = [
        each
        for case, true in (('E1', end), ('E2', nothing))
        for group in GROUPS
        for each in convergence(case, RK4, group, steps, true, LONG_DURATION)
    ]
    return [each for each in found if not np.isnan(each.errors).any()]
