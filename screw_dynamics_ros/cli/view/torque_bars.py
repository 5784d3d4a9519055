# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bars of joint torques relative to effort limits, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from screw_dynamics_ros.core.types import Array

from .state import TORQUE_TERMS

#: Distinguishable with any color vision, on light and dark background.
COLORS = {
    'gravity': '#4477aa',
    'inertia': '#66ccee',
    'coriolis': '#228833',
    'friction': '#ccbb44',
    'payload': '#aa3377',
    'external': '#ee6677',
}
WIDTH, NAME_WIDTH, NUMBER_WIDTH = 300.0, 86.0, 52.0
ROW_HEIGHT, BAR_HEIGHT = 20.0, 9.0
MAX_ROWS = 40
MAX_NAME_LENGTH = 15


def bars(names: Sequence[str], torques: Mapping[str, Array], limits: Array) -> str:
    """Return the SVG of a table of bars.

    Parameters
    ----------
    names : sequence of nv str
        Names of the joints.
    torques : {name: (nv,) array}
        See `ViewState` [N m, N]. The terms are stacked from zero, positive ones to the right and
        negative ones to the left; 'measured' is a line, 'external' a thin bar.
    limits : (nv,) array
        Effort limits, the ends of the scale. Without a limit the scale ends at the largest torque.
    """
    terms = [name for name in TORQUE_TERMS if name in torques]
    shown = [*terms, *(['external'] if 'external' in torques else [])]
    parts = [legend(shown, 'measured' in torques)]
    for k, name in enumerate(names[:MAX_ROWS]):
        values = {each: float(array[k]) for each, array in torques.items()}
        parts.append(row(k, name, values, terms, float(limits[k])))
    height = ROW_HEIGHT * (min(len(names), MAX_ROWS) + 1) + 4.0
    return (
        f'<svg class="torque-bars" viewBox="0 0 {WIDTH:g} {height:g}" width="100%" '
        'font-family="sans-serif" font-size="10" fill="currentColor" '
        f'style="padding:0 0.6em;box-sizing:border-box">{"".join(parts)}</svg>'
    )


def legend(shown: Sequence[str], measured: bool) -> str:
    """Return the first row: a square and the name of each term."""
    parts, x = [], 2.0
    for name in shown:
        parts.append(f'<rect x="{x:g}" y="5" width="8" height="8" fill="{COLORS[name]}"/>')
        parts.append(f'<text x="{x + 10:g}" y="13">{name}</text>')
        x += 17.0 + 5.2 * len(name)
    if measured:
        parts.append(f'<path d="M{x + 2:g} 4v10" stroke="currentColor" stroke-width="2"/>')
        parts.append(f'<text x="{x + 7:g}" y="13">measured</text>')
    return ''.join(parts)


def row(k: int, name: str, values: Mapping[str, float], terms: Sequence[str], limit: float) -> str:
    """Return the row of a joint."""
    top = ROW_HEIGHT * (k + 1) + 5.0
    left, right = NAME_WIDTH, WIDTH - NUMBER_WIDTH
    middle, half = 0.5 * (left + right), 0.5 * (right - left)
    total = sum(values[term] for term in terms if np.isfinite(values[term]))
    shown = round(total, 1) + 0.0  # no negative zero
    limited = 0.0 < limit < np.inf
    largest = max((abs(each) for each in values.values() if np.isfinite(each)), default=0.0)
    scale = half / (limit if limited else max(1.25 * largest, 1.0))
    parts = [
        f'<rect x="{left:g}" y="{top:g}" width="{2 * half:g}" height="{BAR_HEIGHT:g}" '
        f'opacity="{0.14 if limited else 0.06:g}"/>'
    ]
    ends = {True: 0.0, False: 0.0}
    for term in terms:
        value = values[term]
        if not np.isfinite(value) or value == 0.0:
            continue
        positive = value > 0.0
        start, ends[positive] = ends[positive], ends[positive] + value
        parts.append(bar(middle, scale, half, start, ends[positive], top, BAR_HEIGHT, COLORS[term]))
    external = values.get('external', 0.0)
    if np.isfinite(external) and external != 0.0:
        color = COLORS['external']
        parts.append(bar(middle, scale, half, 0.0, external, top + BAR_HEIGHT + 1.0, 3.0, color))
    measured = values.get('measured', np.nan)
    if np.isfinite(measured):
        x = middle + min(max(measured * scale, -half), half)
        parts.append(
            f'<path d="M{x:.1f} {top - 2:g}v{BAR_HEIGHT + 4:g}" stroke="currentColor" '
            'stroke-width="2"/>'
        )
    emphasis = ' fill="#e6261a" font-weight="bold"' if limited and abs(total) > limit else ''
    parts.append(f'<path d="M{middle:g} {top - 1:g}v{BAR_HEIGHT + 2:g}" stroke="currentColor"/>')
    parts.append(
        f'<text x="{WIDTH - 2:g}" y="{top + 8:g}" text-anchor="end"{emphasis}>{shown:.1f}</text>'
    )
    parts.append(f'<text x="2" y="{top + 8:g}">{escape(short(name))}</text>')
    return ''.join(parts)


def bar(
    middle: float,
    scale: float,
    half: float,
    start: float,
    end: float,
    top: float,
    height: float,
    color: str,
) -> str:
    """Return a bar between two torques, clipped to the scale."""
    a, b = sorted(middle + min(max(x * scale, -half), half) for x in (start, end))
    return f'<rect x="{a:.1f}" y="{top:g}" width="{b - a:.1f}" height="{height:g}" fill="{color}"/>'


def short(name: str) -> str:
    """Return the end of a long name, which is usually more specific than its beginning."""
    return name if len(name) <= MAX_NAME_LENGTH else f'…{name[1 - MAX_NAME_LENGTH :]}'
