# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Terms of friction that the model lacks: found by cross-validation, confirmed by a second fit.

Each row of `FRICTION` that is not estimated is one more column of the residuals of a joint, beside
those of its base parameters. Coefficients are fitted without one fold of time blocks, and errors
are those of that fold. A term that reduces them is estimated with all other parameters; it is named
if the errors of held-out efforts decrease.

Source: Stone 1974, *Cross-validatory choice and assessment of statistical predictions*, J. R.
Stat. Soc. B 36(2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..description.friction import FRICTION, Friction, FrictionTerm
from ..description.robot_description import Finding
from ..state_checks import joints_subject
from ..statistics.jackknife import time_blocks
from ..types import Array
from .effort_equations import EffortEquations
from .result import DynamicIdentification
from .unknowns import EffortModel, Unknowns

FOLDS = 5
RANK_TOLERANCE = 1e-4  # of scaled columns: weaker combinations would only fit noise
MIN_REDUCTION = 0.05  # of root mean squares
SIGMAS = 3.0  # of the reduction of squares in blocks
STRIBECK_SPEEDS = (0.02, 0.05, 0.1, 0.2, 0.5)  # rad/s, m/s


def missing_terms(
    unknowns: Unknowns, given: EffortEquations, residuals: Array, moves: NDArray[np.bool_]
) -> list[tuple[EffortModel, NDArray[np.bool_]]]:
    """Return models with one more term that explains residuals (M, n) [N m, N], and the joints.

    One for each term, the best first.
    """
    found: dict[str, tuple[float, EffortModel, NDArray[np.bool_]]] = {}
    blocks = time_blocks(given.t, given.part, np.hstack([given.q, given.v]))
    judged = np.flatnonzero(moves & np.isfinite(residuals).all(axis=0)).tolist()
    columns = {i: given.W[:, i][:, given.W[:, i].any(axis=0)] for i in judged}
    before = {i: _errors(columns[i], residuals[:, i], blocks) ** 2 for i in judged}
    for name, term, model in _models(unknowns):
        drive = Friction(smoothing=model.smoothing, stribeck_speed=model.stribeck_speed or 1.0)
        load = given.rigid if term.by_power else np.abs(given.rigid) if term.by_load else 1.0
        factors = term.shape(given.v, given.direction, drive) * load
        shares = np.zeros(residuals.shape[1])
        for i in judged:
            more = np.column_stack([columns[i], factors[:, i]])
            after = _errors(more, residuals[:, i], blocks) ** 2
            shares[i] = _reduction(before[i], after, blocks)
        size = float(shares.sum())
        if size > found.get(name, (0.0,))[0]:
            found[name] = size, model, shares > 0.0
    return [row[1:] for row in sorted(found.values(), key=lambda row: -row[0])]


def friction_findings(
    result: DynamicIdentification,
    terms: Sequence[tuple[EffortModel, NDArray[np.bool_]]],
    again: Callable[[EffortModel], DynamicIdentification],
) -> Iterator[Finding]:
    """Yield a finding for each term with which errors of held-out efforts are smaller.

    One term for a joint, because others may explain the same errors. `again` returns the
    identification with another model.
    """
    named = np.zeros(len(result.joint_names), dtype=bool)
    for model, joints in terms:
        if not (joints & ~named).any():
            continue
        share = reduction(result, again(model))
        helped = joints & ~named & (share > MIN_REDUCTION)
        if helped.any() and float(np.nanmedian(share)) > -MIN_REDUCTION:
            named |= helped
            speed, (name, *_) = model.stribeck_speed, (*model.terms, 'stribeck')
            sizes = {f'{100.0 * each(share[helped]):.0f}': each for each in (np.min, np.max)}
            yield Finding.warning(
                joints_subject(np.array(result.joint_names)[helped]),
                f'friction has a term {name}: with it, errors of held-out efforts are '
                f'{" to ".join(sizes)} % smaller',
                f'--stribeck {speed:g}' if name == 'stribeck' else f'--friction {name}',
            )


def reduction(result: DynamicIdentification, other: DynamicIdentification) -> Array:
    """Return by which share (n,) errors of held-out efforts of another result are smaller."""
    (torque, error, _), (other_torque, other_error, _) = result.errors(), other.errors()
    return np.asarray(1.0 - other_error / other_torque * torque / error)


def _models(unknowns: Unknowns) -> Iterator[tuple[str, FrictionTerm, EffortModel]]:
    """Yield the models with one more term of friction."""
    model, known = unknowns.model, {kind for kind, _ in unknowns.drives.unknowns}
    if 'friction' not in model.estimate:
        return
    for name, term in FRICTION.items():
        if name == 'stribeck' and name not in known:
            for speed in STRIBECK_SPEEDS:
                yield name, term, replace(model, stribeck_speed=speed)
        elif name not in known:
            yield name, term, replace(model, terms=(name, *model.terms))


def _reduction(before: Array, after: Array, blocks: NDArray[np.int64]) -> float:
    """Return by which share root mean squares decrease, from squares (M,); 0 if by chance."""
    gain = np.bincount(blocks, before - after)
    share = 1.0 - np.sqrt(after.sum() / max(before.sum(), 1e-300))
    is_certain = gain.sum() > SIGMAS * np.std(gain) * np.sqrt(len(gain))
    return float(share) if share > MIN_REDUCTION and is_certain else 0.0


def _errors(A: Array, y: Array, blocks: NDArray[np.int64]) -> Array:
    """Return the errors (M,) of least squares fits of y (M,) to A (M, k) without their fold."""
    errors = np.zeros_like(y)
    scaled = A / np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    for fold in range(FOLDS):
        own = blocks % FOLDS == fold
        x, *_ = np.linalg.lstsq(scaled[~own], y[~own], rcond=RANK_TOLERANCE)
        errors[own] = y[own] - scaled[own] @ x
    return errors
