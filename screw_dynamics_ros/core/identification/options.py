# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Options of the identification from recordings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..arguments import check_number
from ..errors import ArgumentError, UnknownNameError
from .recording import DynamicModel
from .unknowns import EffortModel


@dataclass(frozen=True)
class IdentificationOptions:
    """Options of the identification from recordings.

    Attributes
    ----------
    model : EffortModel
        Estimated terms.
    scale : 'auto', 'known' or sequence of str
        Joints whose effort scale is estimated; 'auto': those whose efforts disagree with the
        nominal model by more than a factor of two, or with most other joints by more than 1.25.
    cutoff : float, optional
        Cutoff of the filter [Hz]; by default from the bandwidth of the motion.
    held_out : float
        Fraction of the recordings kept for validation, in blocks, 0 to 0.5.
    robust : bool
        Whether to use smaller weights for outliers (contacts).
    measured_velocities : bool
        Whether to use the recorded velocities. Derivatives of positions, the default, have no delay
        and usually less noise.
    alternatives : bool
        Whether findings name terms of friction and centers of mass with which held-out efforts are
        explained better; each takes another fit.
    """

    model: EffortModel = field(default_factory=EffortModel)
    scale: str | Sequence[str] = 'auto'
    cutoff: float | None = None
    held_out: float = 0.2
    robust: bool = False
    measured_velocities: bool = False
    alternatives: bool = True


def check_options(options: IdentificationOptions, robot: DynamicModel) -> None:
    """Raise ArgumentError or UnknownNameError for options that are invalid for a robot."""
    if options.cutoff is not None:
        check_number('cutoff', options.cutoff, positive=True)
    check_number('held_out', options.held_out)
    if options.held_out > 0.5:
        raise ArgumentError(f'held_out = {options.held_out} must be between 0 and 0.5')
    check_number('smoothing', options.model.smoothing, positive=True)
    if options.model.stribeck_speed is not None:
        check_number('stribeck_speed', options.model.stribeck_speed, positive=True)
    if isinstance(options.scale, str):
        if options.scale not in ('auto', 'known'):
            raise ArgumentError(
                f"scale = {options.scale!r}: give 'auto', 'known', or a sequence of joints"
            )
        return
    unknown = [name for name in options.scale if name not in robot.joint_names]
    if unknown:
        raise UnknownNameError(
            f'scale: no joint {unknown[0]!r}; the joints are {", ".join(robot.joint_names)}'
        )
