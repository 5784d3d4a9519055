# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The results as tables, in text and Markdown alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from screw_dynamics_ros.core.mechanisms.absolute_coordinates import SE3, SO3xR3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.history import History
from screw_dynamics_ros.core.types import Array
from studies.integration.claims import all_claims
from studies.integration.lower_pairs import BETWEEN, CENTRAL, TO_GROUND
from studies.integration.orders import Convergence
from studies.integration.runs import GROUPS, TIMES, EnergyUnit, energy_drift
from studies.integration.study import Study


class Table(NamedTuple):
    """A table with its title."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return it as Markdown, its columns aligned."""
        lines = [[cell.replace('|', '\\|') for cell in line] for line in (self.head, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines)]
        rows = ['| ' + ' | '.join(map(str.ljust, line, widths)) + ' |' for line in lines]
        rule = '|' + '|'.join('-' * (width + 2) for width in widths) + '|'
        return '\n'.join([f'### {self.title}', '', rows[0], rule, *rows[1:], ''])


def all_tables(study: Study) -> list[Table]:
    """Return all tables, the claims last."""
    return [
        drifts(study),
        errors_of_the_top(study),
        orders('Order over a second, classical Runge-Kutta', study.order_of_the_paper),
        orders('Order over 0.1 s, all tableaus', study.orders),
        methods(study),
        forms(study),
        frames(study),
        pairs(study),
        heavy_base(study),
        stabilization(study),
        costs(study),
        claims(study),
    ]


def number(value: float, digits: int = 3) -> str:
    """Return a number with some digits; rounding errors with one."""
    return f'{value:.1g}' if abs(value) < 1e-11 else f'{value:.{digits}g}'


def times_of(study: Study) -> list[float]:
    """Return the times up to which maxima are reported [s]."""
    return [t for t in TIMES if t <= study.extent.duration]


def maxima(history: History, values: Array, times: Sequence[float]) -> str:
    """Return the largest values up to some times, separated by slashes."""
    return ' / '.join(number(history.largest(values, t)) for t in times)


def drifts(study: Study) -> Table:
    """Return gaps and energy drifts of the examples (spec 9.1)."""
    times = times_of(study)
    title = f'up to {" / ".join(f"{t:g}" for t in times)} s'
    rows = [
        row
        for case, by_group in study.runs.items()
        for row in drifts_of(case, [by_group[group] for group in GROUPS], times)
    ]
    mixed = study.mixed
    rows += [
        ['E2, SE(3) for body 1 only', f'|g| of {joint} [m], {mixed.t[-1]:g} s', number(g.max()), '']
        for joint, g in mixed.gaps.items()
    ]
    head = ('example', 'quantity', *GROUPS)
    return Table(f'Gaps and energy, classical Runge-Kutta, 1 ms: largest {title}', head, rows)


def drifts_of(
    case: str, histories: Sequence[History], times: Sequence[float]
) -> Iterator[list[str]]:
    """Yield the rows of one example."""
    for joint in histories[0].gaps:
        gaps = [maxima(h, h.gaps[joint], times) for h in histories]
        yield [case, f'|g| of {joint} [m]', *gaps]
        rates = [maxima(h, h.gap_rates[joint], times) for h in histories]
        yield [case, f'|J v| of {joint} [m/s]', *rates]
    unit: EnergyUnit = 'relative' if case.startswith('E1') else 'J'
    name = {'relative': 'energy drift / T at first', 'J': 'energy drift [J]'}[unit]
    yield [case, name, *(maxima(h, energy_drift(h, unit), times) for h in histories)]


def errors_of_the_top(study: Study) -> Table:
    """Return distances from the reference of the heavy top."""
    errors = study.reference
    series = [
        *((group, errors.by_group[group]) for group in GROUPS),
        ("the paper's tolerances", errors.tolerances_of_the_paper),
    ]
    k = int(np.abs(errors.t - 1.0).argmin())
    return Table(
        'E1: center of mass beside the reference with variable steps [m]',
        ('integration', 'at 1 s', f'largest up to {errors.t[-1]:g} s'),
        [(name, number(e[k]), number(e.max())) for name, e in series],
    )


def orders(title: str, found: Sequence[Convergence]) -> Table:
    """Return measured orders."""
    steps = [f'{1e3 * dt:g} ms' for dt in (found[0].steps if found else ())]
    return Table(
        title,
        ('example', 'tableau', 'group', 'error of', *steps, 'expected', 'measured'),
        [
            (
                c.case,
                c.tableau,
                c.group,
                c.quantity,
                *map(number, c.errors),
                str(c.expected),
                'exact' if c.exact else f'{c.order:.2f}',
            )
            for c in found
        ],
    )


def methods(study: Study) -> Table:
    """Return explicit and implicit methods side by side."""
    return Table(
        f'E1, {study.extent.methods:g} s in steps of 1 ms: methods that solve for the reactions',
        ('method', 'group', 'gap [m]', 'error of the center of mass [m]'),
        [(m.method, m.group, number(m.gap), number(m.error)) for m in study.methods],
    )


def forms(study: Study) -> Table:
    """Return the energy of the heavy top by the form of its constraints (Fig. 3)."""
    times = [t for t in (0.1, 1.0, 5.0) if t <= study.extent.forms]
    histories = {'SE(3), (40)': study.runs['E1'][SE3]}
    histories |= {f'SO(3) x R^3, {form}': history for form, history in study.forms.items()}
    return Table(
        f'E1: constraints and energy, max up to {" / ".join(f"{t:g}" for t in times)} s',
        ('constraints', 'energy drift / T', 'gap [m]'),
        [
            (
                name,
                maxima(h, energy_drift(h, 'relative'), times),
                maxima(h, h.gaps['pivot'], times),
            )
            for name, h in histories.items()
        ],
    )


def frames(study: Study) -> Table:
    """Return what depends on the body frame of the heavy top."""
    com = {(each.place, each.group): each.com for each in study.frames}
    return Table(
        'E1 with the body frame elsewhere, 1 s',
        ('body frame at', 'group', 'gap [m]', 'center of mass, from that of frame 1 [m]'),
        [
            (
                each.place,
                each.group,
                number(each.gap),
                number(float(np.linalg.norm(each.com - com[study.frames[0].place, each.group]))),
            )
            for each in study.frames
        ],
    )


def pairs(study: Study) -> Table:
    """Return what is predicted and found of all lower pairs."""
    found = {(each.pair, each.place, each.group): each for each in study.pairs}
    places = (TO_GROUND, CENTRAL, BETWEEN)
    heads = [f'{place}, {group}' for place in places for group in GROUPS]

    def cell(pair: str, place: str, group: str) -> str:
        each = found[pair, place, group]
        return f'{each.gap:.0e}' + (', exact' if each.predicted else '')

    return Table(
        f'Lower pairs, {study.extent.pairs:g} s: largest gap, and what is predicted to be exact',
        ('pair', *heads),
        [
            (pair, *(cell(pair, place, group) for place in places for group in GROUPS))
            for pair in dict.fromkeys(each.pair for each in study.pairs)
        ],
    )


def heavy_base(study: Study) -> Table:
    """Return gaps of the joint to a slowly moving base."""
    factors = list(study.heavy_base[SE3])
    return Table(
        'A joint to a base of so many masses: largest gap within 1 s [m]',
        ('group', *(f'{factor:g}' for factor in factors)),
        [(group, *(number(study.heavy_base[group][f]) for f in factors)) for group in GROUPS],
    )


def stabilization(study: Study) -> Table:
    """Return what stabilization does for the double pendulum."""
    return Table(
        'E2 in SE(3), stabilized: largest values',
        ('stabilization', 'up to', 'gap of joint 1 [m]', 'gap of joint 2 [m]', '|J v| [m/s]'),
        [
            (
                way,
                f'{h.t[-1]:g} s',
                *(number(h.gaps[joint].max()) for joint in ('joint 1', 'joint 2')),
                number(h.gap_rates['joint 2'].max()),
            )
            for way, h in study.stabilization.items()
        ],
    )


def costs(study: Study) -> Table:
    """Return what the groups cost."""
    return Table(
        'Cost of the groups for one body',
        ('operation', SE3, SO3xR3, 'ratio'),
        [
            (f'{c.what} [{c.unit}]', *(f'{a:.0f}' for a in c.amounts), f'{c.ratio:.2f}')
            for c in study.costs
        ],
    )


def claims(study: Study) -> Table:
    """Return the claims of the paper."""
    return Table(
        'Claims of the paper (numbers: SE(3) : SO(3) x R^3, largest on the way)',
        ('claim', 'what the paper says', 'what we find', 'verdict'),
        all_claims(study),
    )
