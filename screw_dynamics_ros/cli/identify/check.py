# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Report of `identify --check`: comparison of a model with recordings, without a fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from screw_dynamics_ros.core.measurement.identification.dynamics.model_check import ModelCheck

PICTURE, REPORT = 'check.png', 'check.md'
HEAD = ('joint', 'R2', 'torque', 'residual', 'mean')


def lines(check: ModelCheck, notes: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the report."""
    yield (
        f'robot {check.description.name}: {len(check.torques.t)} samples below '
        f'{check.cutoff:.3g} Hz, not fitted'
    )
    for note in notes:
        yield f'note    {note}'
    for finding in check.findings:
        yield f'{finding.severity.upper():<7} {finding}'
    yield from table(check)


def table(check: ModelCheck) -> Iterator[str]:
    """Yield R2, root mean squares and offset of each joint with efforts."""
    yield '  RMS of torques and residuals, mean of residuals [N m, N]'
    width = max(map(len, (*check.joint_names, HEAD[0])))
    yield f'  {HEAD[0]:<{width}}' + ''.join(f'{name:>12}' for name in HEAD[1:])
    numbers = np.stack([check.R2, check.torque, check.residual, check.offset], axis=1)
    for name, row, moves in zip(check.joint_names, numbers, check.moves):
        if np.isfinite(row[1]):
            shown = f'{row[0]:12.4f}' if moves else f'{"at rest":>12}'
            yield f'  {name:<{width}}' + shown + ''.join(f'{x:12.4g}' for x in row[1:])


def page(check: ModelCheck, notes: Sequence[str], picture: str) -> str:
    """Return the report as Markdown."""
    head, *_ = lines(check, ())
    parts = [f'# Check of {check.description.name}', head]
    listed = [*(f'* {note}' for note in notes), *(f'* **{each}**' for each in check.findings)]
    if listed:
        parts.append('\n'.join(listed))
    if picture:
        parts.append(f'![torques and residuals]({picture})')
    rows = '\n'.join(table(check))
    parts.append(f'```\n{rows}\n```')
    return '\n\n'.join(parts) + '\n'
