# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The claims of the paper beside our numbers: reproduced, not reproduced, or only partly.

S1 to S7 are statements of its abstract and conclusions, the others those about its figures. Limits:
'exact' is below 1e-11 m, 'similar' is within a factor of three, 'much better' means by a hundred.
The double pendulum (E2) is chaotic: rounding decides about it after some seconds, so that claims
about it are judged by its first one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from screw_dynamics_ros.core.mechanisms.absolute_coordinates import SE3, SO3xR3
from studies.integration.constraint_forms import CONSTANT_ARM
from studies.integration.lower_pairs import TO_GROUND
from studies.integration.runs import GROUPS, EnergyUnit, energy_drift
from studies.integration.study import Study

REPRODUCED, PARTLY, NOT = 'reproduced', 'partly', 'not reproduced'
EXACT, SIMILAR, MUCH = 1e-11, 3.0, 100.0
#: How many times as long a step must take to be called more expensive.
NOTICEABLE = 1.2
#: Up to when the motions of examples are judged [s].
UNTIL = {'E2': 1.0}


class Claim(NamedTuple):
    """A claim and what we find.

    Attributes
    ----------
    name : str
        'S1', 'Fig. 2'.
    text : str
        What the paper says.
    found : str
        Our numbers, SE(3) before SO(3) x R^3.
    verdict : {'reproduced', 'partly', 'not reproduced'}
    """

    name: str
    text: str
    found: str
    verdict: str


class Evidence:
    """Numbers of a study, as claims need them."""

    def __init__(self, study: Study) -> None:
        self.study = study

    def gaps(self, case: str, joint: str) -> tuple[float, float]:
        """Return the largest gaps of a joint [m], one for each group."""
        histories = [self.study.runs[case][group] for group in GROUPS]
        first, second = (
            each.largest(each.gaps[joint], UNTIL.get(case, np.inf)) for each in histories
        )
        return first, second

    def drifts(self, case: str, unit: EnergyUnit) -> tuple[float, float]:
        """Return the largest energy drifts, one for each group."""
        histories, until = self.study.runs[case], UNTIL.get(case, np.inf)
        first, second = (
            histories[group].largest(energy_drift(histories[group], unit), until)
            for group in GROUPS
        )
        return first, second

    def exact_only_in_se3(self, *joints: tuple[str, str]) -> tuple[str, bool]:
        """Return gaps as text, and whether they are exact in SE(3) and drift in the other."""
        pairs = [self.gaps(*joint) for joint in joints]
        return (
            '; '.join(f'{two(pair)} m' for pair in pairs),
            all(a < EXACT and b > MUCH * EXACT for a, b in pairs),
        )


def two(pair: tuple[float, float]) -> str:
    """Return two numbers as text."""
    return f'{pair[0]:.2g} : {pair[1]:.2g}'


def similar(pair: tuple[float, float]) -> bool:
    """Return whether two numbers are within a factor of three."""
    return 1 / SIMILAR <= pair[0] / pair[1] <= SIMILAR


def verdict(holds: bool) -> str:
    """Return the word for it."""
    return REPRODUCED if holds else NOT


def all_claims(study: Study) -> list[Claim]:
    """Return every claim with its verdict."""
    evidence = Evidence(study)
    return [*statements(evidence), *figures(evidence)]


def statements(evidence: Evidence) -> list[Claim]:
    """Return S1 to S7."""
    return [
        subgroup_motions(evidence),
        joints_to_the_ground(evidence),
        joints_between_bodies(evidence),
        second_joint(evidence),
        cheaper_group(evidence),
        other_integrators(evidence),
        screw_motions(evidence),
    ]


def subgroup_motions(evidence: Evidence) -> Claim:
    """S1."""
    found, holds = evidence.exact_only_in_se3(('E1', 'pivot'), ('E4', 'joint 1'))
    text = 'SE(3) reconstructs motions in a subgroup perfectly, SO(3) x R^3 does not'
    return Claim('S1', text, f'E1 pivot, E4 joint 1: {found}', verdict(holds))


def joints_to_the_ground(evidence: Evidence) -> Claim:
    """S2: true of the ground; of a moving base only as its mass grows."""
    study = evidence.study
    worst = max(r.gap for r in study.pairs if r.place == TO_GROUND and r.group == SE3)
    base = study.heavy_base[SE3]
    light, heavy = min(base), max(base)
    text = 'so does a lower pair to the ground, or to another slowly moving body'
    found = (
        f'six pairs to the ground, SE(3): at most {worst:.1g}; to a base of {light:g} masses '
        f'{base[light]:.1g} m, of {heavy:g} masses {base[heavy]:.1g} m: as 1/mass, never exact'
    )
    if worst > EXACT:
        return Claim('S2', text, found, NOT)
    return Claim('S2', text, found, REPRODUCED if base[light] < EXACT else PARTLY)


def joints_between_bodies(evidence: Evidence) -> Claim:
    """S3."""
    pairs = [evidence.gaps(case, 'joint 2') for case in ('E2', 'E3', 'E4')]
    found = f'E2, E3, E4 joint 2: {"; ".join(map(two, pairs))} m'
    text = 'between moving bodies both perform equally'
    return Claim('S3', text, found, verdict(all(map(similar, pairs))))


def second_joint(evidence: Evidence) -> Claim:
    """S4."""
    first, second = evidence.gaps('E2', 'joint 1'), evidence.gaps('E2', 'joint 2')
    holds = all(a < b for a, b in zip(first, second))
    text = 'a joint between two screw motions is violated more: joint 2 more than joint 1'
    return Claim('S4', text, f'E2: {two(first)} m, {two(second)} m', verdict(holds))


def cheaper_group(evidence: Evidence) -> Claim:
    """S5: the operations are there, the time is not."""
    update, *_, step = evidence.study.costs
    found = (
        f'operations of the update {update.amounts[0]:.0f} : {update.amounts[1]:.0f}; a compiled '
        f'step of E1 {step.ratio:.2f} times as long'
    )
    text = 'otherwise they are equivalent, and SO(3) x R^3 is cheaper'
    if not (update.ratio > 1 and similar(evidence.gaps('E3', 'joint 2'))):
        return Claim('S5', text, found, NOT)
    return Claim('S5', text, found, REPRODUCED if step.ratio > NOTICEABLE else PARTLY)


def other_integrators(evidence: Evidence) -> Claim:
    """S6: of explicit methods; implicit ones are exact in both groups, and differ in accuracy."""
    tried = [c for c in evidence.study.orders if c.case == 'E1' and c.quantity == 'gap']
    exact = [c.exact for c in tried if c.group == SE3]
    drifting = [not c.exact for c in tried if c.group == SO3xR3]
    text = 'the group decides, so it holds for Lie group integrators in general'
    implicit = [m for m in evidence.study.methods if not m.explicit]
    gaps = max(m.gap for m in implicit)
    alpha = {m.group: m.error for m in implicit if m.method.startswith('generalized')}
    found = (
        f'{sum(exact)} of {len(exact)} tableaus exact in SE(3), {sum(drifting)} drift otherwise; '
        f'implicit methods exact in both ({gaps:.0e} m), generalized alpha off by '
        f'{two((alpha[SE3], alpha[SO3xR3]))} m'
    )
    if not (all(exact) and all(drifting)):
        return Claim('S6', text, found, NOT)
    return Claim('S6', text, found, REPRODUCED if gaps > EXACT else PARTLY)


def screw_motions(evidence: Evidence) -> Claim:
    """S7: free flight is the counterexample."""
    flight = evidence.study.free_flight
    found = f'E2 joint 2: {two(evidence.gaps("E2", "joint 2"))} m; free flight of a box, 1 s, off '
    found += f'its line: {two((flight[SE3], flight[SO3xR3]))} m'
    text = 'general motions are best approximated as finite screw motions'
    return Claim('S7', text, found, verdict(flight[SE3] <= flight[SO3xR3]))


def figures(evidence: Evidence) -> list[Claim]:
    """Return the claims about the figures."""
    gap, exact = evidence.gaps, evidence.exact_only_in_se3
    base_1, base_3 = exact(('E4', 'joint 1')), exact(('E4', 'joint 3'))
    top, first = exact(('E1', 'pivot')), exact(('E2', 'joint 1'))
    second = gap('E2', 'joint 2')
    return [
        Claim('Fig. 2', 'E1: exact in SE(3), significant drift otherwise', top[0], verdict(top[1])),
        energy_of_the_top(evidence),
        Claim('Fig. 5', 'E2, joint 1: SE(3) better', first[0], verdict(first[1])),
        Claim(
            'Fig. 6',
            'E2, joint 2: SE(3) better',
            f'{two(second)} m',
            verdict(second[0] < second[1]),
        ),
        alike('Fig. 7', 'E2: energy drifts comparable', evidence.drifts('E2', 'J'), 'J'),
        alike('Fig. 9', 'E3: gaps similar', gap('E3', 'joint 2'), 'm'),
        alike('Fig. 10', 'E3: energy drifts similar', evidence.drifts('E3', 'J'), 'J'),
        Claim('Fig. 12', 'E4, joint 1: perfect in SE(3)', base_1[0], verdict(base_1[1])),
        alike('Fig. 13', 'E4, joint 2: similar', gap('E4', 'joint 2'), 'm'),
        Claim('Fig. 14', 'E4, joint 3: perfect in SE(3)', base_3[0], verdict(base_3[1])),
        alike('Fig. 15', 'E4: energy drifts similar', evidence.drifts('E4', 'J'), 'J'),
        accuracy_of_the_reference(evidence),
    ]


def alike(name: str, text: str, pair: tuple[float, float], unit: str) -> Claim:
    """Return the claim that two numbers are similar."""
    return Claim(name, text, f'{two(pair)} {unit}', verdict(similar(pair)))


def energy_of_the_top(evidence: Evidence) -> Claim:
    """Figure 3, at one second: true of another form of the constraints than the printed one."""
    study = evidence.study
    drifts = [
        history.largest(history.energy_drift, 1.0) / history.kinetic[0]
        for history in (
            study.runs['E1'][SE3],
            study.runs['E1'][SO3xR3],
            study.forms[CONSTANT_ARM],
        )
    ]
    printed, other = drifts[1] / drifts[0], drifts[2] / drifts[0]
    text = 'E1: energy drift of SE(3) two orders smaller'
    found = (
        f'at 1 s {drifts[0]:.2g} : {drifts[1]:.2g}, {printed:.2g} times with (42) as printed; '
        f'{other:.3g} times with constraints in the body frame'
    )
    if printed >= MUCH:
        return Claim('Fig. 3', text, found, REPRODUCED)
    return Claim('Fig. 3', text, found, PARTLY if other >= MUCH else NOT)


def accuracy_of_the_reference(evidence: Evidence) -> Claim:
    """Section 5.1: the reference of the paper is less accurate than what it judges."""
    errors = evidence.study.reference
    k = int(abs(errors.t - 1.0).argmin())
    reference, best = errors.tolerances_of_the_paper[k], errors.by_group[SE3][k]
    text = 'E1: variable steps with tolerances 1e-6, 1e-9 serve as reference'
    found = f'after 1 s it is {reference:.2g} m off, SE(3) in steps of 1 ms {best:.2g} m'
    return Claim('Sec. 5.1', text, found, verdict(bool(reference < 0.1 * best)))
