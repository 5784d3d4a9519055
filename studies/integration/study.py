# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Everything the study computes, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from screw_dynamics_ros.core.integration import RK4, TABLEAUS, Tableau
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.history import History, record
from screw_dynamics_ros.core.types import Array
from studies.integration import body_frames, lower_pairs, orders, runs
from studies.integration.constraint_forms import (
    ACTUAL_ARM,
    CONSTANT_ARM,
    INERTIAL,
    top_in_form,
)
from studies.integration.cost import Cost, all_costs
from studies.integration.free_flight import deviation_from_line
from studies.integration.implicit import MethodResult, all_methods
from studies.integration.lower_pairs import PairResult
from studies.integration.orders import Convergence
from studies.integration.runs import (
    CASES,
    GROUPS,
    STEP,
    ReferenceErrors,
    Runs,
)
from studies.integration.slow_base import pair_with_heavy_base
from studies.integration.stabilization import all_ways

Result = TypeVar('Result')


class Extent(NamedTuple):
    """How much is computed.

    Attributes
    ----------
    duration : float
        Of the examples [s].
    pairs, forms, baumgarte, projection, methods : float
        Durations of lower pairs, forms of the constraints, stabilization, implicit methods [s].
    tableaus : sequence of Tableau
        Whose orders are measured.
    long_steps : sequence of float
        Steps of the order of the classical method over a second [s].
    factors : sequence of float
        Masses of the slowly moving base, in those of the body.
    """

    duration: float = 10.0
    pairs: float = 2.0
    forms: float = 5.0
    baumgarte: float = 5.0
    projection: float = 0.5
    methods: float = 0.1
    tableaus: Sequence[Tableau] = TABLEAUS
    long_steps: Sequence[float] = orders.LONG_STEPS
    factors: Sequence[float] = (1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6)


FULL = Extent()
QUICK = Extent(1.0, 0.1, 1.0, 0.2, 0.02, 0.02, (RK4,), orders.LONG_STEPS[:3], (1.0, 1e4, 1e6))


class FrameResult(NamedTuple):
    """The heavy top after a second, with its body frame somewhere.

    Attributes
    ----------
    place, group : str
    gap : float
        The largest on the way [m].
    com : (3,)
        The center of mass [m].
    """

    place: str
    group: str
    gap: float
    com: Array


class Study(NamedTuple):
    """All results.

    Attributes
    ----------
    extent : Extent
    runs : {case: {group: History}}
    mixed : History
        The double pendulum with SE(3) for the body on the ground alone.
    reference : ReferenceErrors
    forms : {form: History}
        The heavy top in SO(3) x R^3 with its constraints in three forms.
    frames : list of FrameResult
    heavy_base : {group: {factor: gap}}
        Largest gaps within a second [m].
    pairs : list of PairResult
    stabilization : {way: History}
    free_flight : {group: float}
        Deviation of a free center of mass from its line [m].
    orders : list of Convergence
        Of all tableaus.
    order_of_the_paper : list of Convergence
    methods : list of MethodResult
        Explicit and implicit ones, of the heavy top.
    costs : list of Cost
    """

    extent: Extent
    runs: Runs
    mixed: History
    reference: ReferenceErrors
    forms: Mapping[str, History]
    frames: Sequence[FrameResult]
    heavy_base: Mapping[str, Mapping[float, float]]
    pairs: Sequence[PairResult]
    stabilization: Mapping[str, History]
    free_flight: Mapping[str, float]
    orders: Sequence[Convergence]
    order_of_the_paper: Sequence[Convergence]
    methods: Sequence[MethodResult]
    costs: Sequence[Cost]


#: How often `carry_out` says what it computes.
STEPS = len(CASES) + 6


def carry_out(extent: Extent = FULL, say: Callable[[str], object] = lambda _: None) -> Study:
    """Compute everything; `say` gets the name of each step."""
    examples: dict[str, dict[str, History]] = {}
    for case in CASES:
        say(f'{case}: {CASES[case].title}, {extent.duration:g} s in steps of {1e3 * STEP:g} ms')
        examples[case] = {group: runs.run(case, group, extent.duration) for group in GROUPS}
    say('reference, mixed groups, forms of the constraints, body frames, free flight')
    return Study(
        extent,
        examples,
        runs.run_mixed(min(5.0, extent.duration)),
        runs.reference_errors(examples),
        {
            form: record(*top_in_form(form), duration=extent.forms, dt=STEP, every=runs.EVERY)
            for form in (INERTIAL, CONSTANT_ARM, ACTUAL_ARM)
        },
        [frame_result(place, group) for place in body_frames.PLACES for group in GROUPS],
        announced(say, 'a slowly moving base', lambda: heavy_bases(extent.factors)),
        announced(say, 'all lower pairs', lambda: lower_pairs.all_pairs(extent.pairs)),
        announced(say, 'stabilization', lambda: all_ways(extent.baumgarte, extent.projection)),
        {group: deviation_from_line(group, 1.0) for group in GROUPS},
        announced(say, 'orders of convergence', lambda: orders.all_tableaus(extent.tableaus)),
        orders.of_the_paper(extent.long_steps),
        all_methods(extent.methods),
        announced(say, 'cost', all_costs),
    )


def announced(say: Callable[[str], object], what: str, compute: Callable[[], Result]) -> Result:
    """Return a result, after saying what is computed."""
    say(what)
    return compute()


def frame_result(place: str, group: str) -> FrameResult:
    """Let the heavy top turn for a second with its body frame at a place."""
    where = body_frames.PLACES[place]
    motion = record(*body_frames.top_with_frame(where, group), duration=1.0, dt=STEP, every=20)
    com = body_frames.centers_of_mass(motion, where)[-1]
    return FrameResult(place, group, float(motion.gaps['pivot'].max()), com)


def heavy_bases(factors: Sequence[float]) -> dict[str, dict[float, float]]:
    """Return the largest gaps [m] of the joint to a base of so many masses, within a second."""
    found: dict[str, dict[float, float]] = {}
    for group in GROUPS:
        motions = {
            factor: record(*pair_with_heavy_base(factor, group), duration=1.0, dt=STEP, every=20)
            for factor in factors
        }
        found[group] = {f: float(np.max(each.gaps['joint'])) for f, each in motions.items()}
    return found
