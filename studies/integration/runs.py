# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The four examples of the paper in both groups: how far joints gape and energy drifts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from screw_dynamics_ros.core.mechanisms.absolute_coordinates import SE3, SO3xR3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import (
    WEIGHT,
    Example,
    double_pendulum,
    floating_pair,
    heavy_top,
    three_bar_linkage,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.history import History, record
from screw_dynamics_ros.core.types import Array
from studies.integration.reference import (
    OF_THE_PAPER,
    TIGHT,
    top_motion,
)

#: The groups that are compared, in the order of tables and pictures.
GROUPS = (SE3, SO3xR3)
#: The step of the paper [s].
STEP = 1e-3
#: Steps from sample to sample: a ninth of the fastest turn.
EVERY = 10
#: Times up to which maxima are taken [s].
TIMES = (1.0, 5.0, 10.0)


class Case(NamedTuple):
    """An example of the paper.

    Attributes
    ----------
    title : str
    bodies : int
    make : callable
        Takes the groups of the bodies; returns the example.
    """

    title: str
    bodies: int
    make: Callable[..., Example]


CASES = {
    'E1': Case('heavy top', 1, heavy_top),
    'E1 with gravity': Case(
        'heavy top with gravity', 1, lambda groups: heavy_top(groups, gravity=WEIGHT)
    ),
    'E2': Case('double pendulum', 2, double_pendulum),
    'E3': Case('floating pair', 2, floating_pair),
    'E4': Case('three-bar linkage', 2, three_bar_linkage),
}

#: Histories by case and group.
Runs = Mapping[str, Mapping[str, History]]


def run(case: str, group: str, duration: float) -> History:
    """Return the motion of an example with all bodies in one group, as the paper integrates it."""
    made = CASES[case].make([group] * CASES[case].bodies)
    return record(*made, duration=duration, dt=STEP, every=EVERY)


def run_mixed(duration: float) -> History:
    """Return that of the double pendulum with SE(3) for the body on the ground alone (I-15)."""
    return record(*double_pendulum([SE3, SO3xR3]), duration=duration, dt=STEP, every=EVERY)


class ReferenceErrors(NamedTuple):
    """Distances of the center of mass of the heavy top from the reference.

    Attributes
    ----------
    t : (k,)
    by_group : {group: (k,)}
        Of the paper's integration [m].
    tolerances_of_the_paper : (k,)
        Of the reference with the tolerances of the paper [m].
    """

    t: Array
    by_group: dict[str, Array]
    tolerances_of_the_paper: Array


def reference_errors(runs: Runs) -> ReferenceErrors:
    """Compare the heavy top with its reference with variable steps (I-36)."""
    t, top = runs['E1'][SE3].t, heavy_top()
    r = top_motion(top, t, TIGHT).r
    return ReferenceErrors(
        t,
        {group: np.linalg.norm(runs['E1'][group].q[:, :3] - r, axis=1) for group in GROUPS},
        np.linalg.norm(top_motion(top, t, OF_THE_PAPER).r - r, axis=1),
    )


EnergyUnit = Literal['J', 'relative']


def energy_drift(history: History, unit: EnergyUnit) -> Array:
    """Return the drift of the energy (k,) in J, or relative to the kinetic one at first."""
    return history.energy_drift / (history.kinetic[0] if unit == 'relative' else 1.0)
