# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Filtered equations of a recording for each joint: columns, known torques and efforts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError
from ..types import Array
from .filtering import needed_time, pieces
from .recording import JointRecording
from .unknowns import Unknowns

#: Number of time blocks, some of which are held out.
BLOCKS = 10

CHUNK_SIZE = 200  # samples whose regressors of all links are in memory at once


@dataclass(frozen=True, eq=False)
class EffortEquations:
    """M instants of filtered equations of n joints, u = k (W x + known) + noise for each joint.

    Attributes
    ----------
    t : (M,) array
        [s]
    part : (M,) array of int
        Parts of recordings; the instants of a part have a constant rate.
    W : (M, n, p) array
        Columns of the base parameters.
    known : (M, n) array
        Torques that are not estimated.
    effort : (M, n) array
        u, as reported; NaN if missing.
    rigid, nominal : (M, n) arrays
        Torques of the nominal bodies only, and with nominal friction and armature.
    q, v, a, direction : (M, n) arrays
        Positions, velocities, accelerations and smooth signs of velocities.
    loaded : (M,) array of bool
        Whether the robot carried the load.
    recording : (M,) array of int
        Number of the recording.
    """

    t: Array
    part: NDArray[np.int64]
    W: Array
    known: Array
    effort: Array
    rigid: Array
    nominal: Array
    q: Array
    v: Array
    a: Array
    direction: Array
    loaded: NDArray[np.bool_]
    recording: NDArray[np.int64]

    def rows(self, chosen: NDArray[np.bool_]) -> EffortEquations:
        """Return the instants selected by a mask (M,)."""
        return EffortEquations(*(getattr(self, each.name)[chosen] for each in fields(self)))


def equations(
    recordings: Sequence[JointRecording],
    unknowns: Unknowns,
    columns: NDArray[np.int64],
    cutoff: float,
    measured_velocities: bool = False,
) -> EffortEquations:
    """Return the filtered equations of all recordings.

    Raises ArgumentError if they are too short for the cutoff.
    """
    parts: list[EffortEquations] = []
    for number, recording in enumerate(recordings):
        loaded = recording.load is not None
        for piece in pieces(recording, cutoff, measured_velocities):
            arrays: list[list[Array]] = []
            for start in range(0, len(piece.t), CHUNK_SIZE):
                rows = slice(start, start + CHUNK_SIZE)
                q, v, a = piece.q[rows], piece.v[rows], piece.a[rows]
                motion = unknowns.motion(q, v, a, recording.payloads, loaded)
                W = unknowns.columns(motion, loaded, columns)
                known = unknowns.known_torques(motion, recording.payloads, loaded)
                rigid = unknowns.rigid_torques(motion, recording.payloads, loaded)
                nominal = unknowns.nominal_torques(rigid, motion)
                arrays.append([W, known, rigid, nominal, q, v, a, unknowns.drives.direction(v)])
            W, known, rigid, nominal, q, v, a, direction = (
                piece.low_pass(np.concatenate(each)) for each in zip(*arrays)
            )
            t = piece.low_pass(piece.t)
            part = np.full(len(t), len(parts))
            effort = piece.low_pass(piece.tau)
            parts.append(
                EffortEquations(
                    t,
                    part,
                    W,
                    known,
                    effort,
                    rigid,
                    nominal,
                    q,
                    v,
                    a,
                    direction,
                    np.full(len(t), loaded or bool(recording.payloads)),
                    np.full(len(t), number),
                )
            )
    if not parts:
        longest = max(float(recording.t[-1] - recording.t[0]) for recording in recordings)
        raise ArgumentError(
            f'too short: {longest:.3g} s, but a cutoff of {cutoff:.3g} Hz needs at least '
            f'{needed_time(cutoff):.3g} s without gaps; record longer (20 s and more), or raise '
            'the cutoff'
        )
    return EffortEquations(
        *(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(parts[0]))
    )


def divided(
    given: EffortEquations, share: float, cutoff: float
) -> tuple[EffortEquations, EffortEquations]:
    """Return the equations to fit and those held out: time blocks, separated by gaps.

    Raises ArgumentError if one of them is empty.
    """
    held, near = np.zeros((2, len(given.t)), dtype=bool)
    if share > 0.0:
        for part in np.unique(given.part):
            rows = np.flatnonzero(given.part == part)
            blocks = np.array_split(rows, BLOCKS)
            for k in range(BLOCKS):
                if int((k + 1) * share) > int(k * share):
                    held[blocks[k]] = True
            if not held[rows].any():
                continue
            apart = np.abs(given.t[rows, None] - given.t[rows][held[rows]]).min(axis=1)
            near[rows] = (apart < 1.0 / cutoff) & ~held[rows]
    if share > 0.0 and not held.any():
        raise ArgumentError(f'held_out: {share:g} of {BLOCKS} blocks is not even one; give more')
    return given.rows(~held & ~near), given.rows(held)
