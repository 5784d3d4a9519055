# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Findings as text: faults of drivers, and parameters that a motion does not determine."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..description.robot_description import Finding, RobotDescription
from ..state_checks import joints_subject
from ..statistics.intervals import between
from ..tree.multibody_tree import GROUND
from ..types import Array
from .effort_check import EffortCheck
from .effort_equations import EffortEquations
from .effort_fit import EffortFit
from .effort_problem import MASS_DEVIATION
from .result import Torques, quantiles, scale_intervals
from .unknowns import Unknowns

#: Speed relative to the smoothing from which dry friction is constant.
AT_LEVEL = 3.0

#: R2 of held-out efforts below which the model does not explain a joint.
MIN_R2 = 0.8

#: Relative change of the total mass that is reported.
MASS_CHANGE = 0.25

#: Factor between efforts and nominal torques that errors of nominal masses do not explain.
COMMON_GAIN = 1.4

#: Coefficients of groupings below this come from rounded geometry (angles with few digits).
NEGLIGIBLE = 1e-6

#: Offsets above this fraction of the torques of a joint are faults.
LARGE_OFFSET = 0.1


def all_findings(
    unknowns: Unknowns,
    fitted: EffortEquations,
    checks: tuple[EffortCheck, ...],
    fit: EffortFit,
    offsets: Array,
    moves: NDArray[np.bool_],
    by_nominal_masses: bool,
    absent: Collection[str],
) -> tuple[Finding, ...]:
    """Return all findings, those of the driver first.

    Offsets (n,) [N m, N]; joints that are `absent` from recordings have no findings.
    """
    scale = Finding.warning(
        'efforts',
        'the scale of no joint is known: motions determine ratios only, and the nominal masses fix '
        'the scale; intervals of scales, inertias and friction contain a common error of these '
        f'masses of {MASS_DEVIATION:.1%} (standard deviation)',
        'name a joint whose scale is known, or add a recording with a known payload',
    )
    return (
        *_silent_joints(checks, fit, moves, absent),
        *_effort_findings(checks, fit, unknowns),
        *_offset_findings(unknowns, fitted, fit, offsets),
        *([scale] if by_nominal_masses else []),
        *_motion_findings(unknowns, fitted, moves & ~np.isnan(fit.noise)),
    )


def _silent_joints(
    checks: tuple[EffortCheck, ...],
    fit: EffortFit,
    moves: NDArray[np.bool_],
    absent: Collection[str],
) -> Iterator[Finding]:
    """Yield joints without efforts or motion, but for those that are not recorded at all."""
    joints = np.array([check.joint for check in checks])
    recorded = ~np.isin(joints, list(absent))
    silent = np.isnan(fit.noise) & recorded
    if silent.any():
        yield Finding.warning(
            joints_subject(joints[silent]),
            'no efforts were recorded, or zeros throughout: drives and scales are not identified',
            'let the driver report efforts, or leave the joints out',
        )
    still = ~moves & ~silent & recorded
    if still.any():
        yield Finding.warning(
            joints_subject(joints[still]),
            'never moved: friction, armature and the bodies that only these joints move are not '
            'identified',
            'let them move, see `excite`',
        )


def _effort_findings(
    checks: tuple[EffortCheck, ...], fit: EffortFit, unknowns: Unknowns
) -> Iterator[Finding]:
    gains, count = fit.gains[list(fit.free)], len(fit.x)
    shares = np.sqrt(np.diag(fit.covariance))[count:] / np.abs(gains)
    intervals = scale_intervals(1.0 / gains, shares, fit.freedom[count:])
    for i, check in enumerate(checks):
        subject = f'joint {check.joint}'
        if np.isnan(fit.noise[i]):
            continue
        if fit.gains[i] < 0.0:
            yield Finding.warning(
                subject,
                'efforts have the other sign: they fall where torque rises',
                f'effort_scale {1.0 / fit.gains[i]:.4g}',
            )
        if i in fit.free:
            k = fit.free.index(i)
            scale, (low, high) = 1.0 / fit.gains[i], intervals[k].tolist()
            identified = bool(fit.identified[count + k])
            if identified and low <= np.sign(scale) <= high:
                continue
            yield Finding.warning(
                subject,
                'efforts are not torques (currents, or a gear ratio is missing): '
                f'{between(abs(scale), (high - low) / 2.0)} N m or N per unit'
                if identified
                else 'the scale of its efforts cannot be separated from the inertia that it moves',
                f'effort_scale {scale:.4g}'
                if identified
                else 'load the joint by gravity, or --scale',
            )
        elif check.is_scaled and not unknowns.model.payload_link:
            yield Finding.warning(
                subject,
                f'efforts are {check.gain:.3g} times the nominal torques: the masses that it moves '
                'differ from the description, or the efforts are not torques',
                'compare the identified bodies with the robot, or estimate its scale too',
            )


def _offset_findings(
    unknowns: Unknowns, fitted: EffortEquations, fit: EffortFit, offsets: Array
) -> Iterator[Finding]:
    for i, joint in enumerate(unknowns.robot.joint_names):
        size = float(np.sqrt(np.mean((fitted.effort[:, i] / fit.gains[i]) ** 2)))
        if abs(offsets[i]) > LARGE_OFFSET * size:  # not if NaN
            yield Finding.warning(
                f'joint {joint}',
                f'efforts are off by {-offsets[i]:.3g} N m or N, of {size:.3g} (rms)',
                f'effort_offset {offsets[i]:.4g}',
            )


def _motion_findings(
    unknowns: Unknowns, fitted: EffortEquations, moves: NDArray[np.bool_]
) -> Iterator[Finding]:
    level = AT_LEVEL * unknowns.model.smoothing
    for i, joint in enumerate(unknowns.robot.joint_names):
        if moves[i] and not (fitted.v[:, i].max() > level and fitted.v[:, i].min() < -level):
            yield Finding.warning(
                f'joint {joint}',
                'never reversed: dry friction and offset of its effort cannot be separated',
                'let it move both ways, see `excite`',
            )


def torque_findings(
    joints: Sequence[str], torques: Torques, moves: NDArray[np.bool_], others: str = 'fitted'
) -> Iterator[Finding]:
    """Yield findings about moving joints whose efforts the identified model does not explain.

    By R2 = 1 - mean square of residuals / that of a constant, of instants held out if there are
    any, else of all, which texts call `others`. The constant is the mean of the other instants.
    """
    held_out = torques.held_out
    rows = held_out if held_out.any() else ~held_out
    measured, residual = torques.measured[rows], (torques.measured - torques.identified)[rows]
    data = 'held-out' if held_out.any() else others
    constant = np.mean(torques.measured[~held_out], axis=0)
    variance = np.maximum(np.mean((measured - constant) ** 2, axis=0), 1e-300)
    for name, R2, moved in zip(joints, 1.0 - np.mean(residual**2, axis=0) / variance, moves):
        if moved and R2 < MIN_R2:  # not if NaN
            what = (
                'a constant explains its efforts better than the model'
                if R2 < 0.0
                else 'the model explains only a part of its efforts'
            )
            yield Finding.warning(
                f'joint {name}',
                f'{what}: R2 {R2:.2f} on {data} data',
                'do not use its values; look for springs, coupled joints, contacts, friction that '
                'depends on load, or late efforts',
            )


def payload_findings(names: Sequence[str], fit: EffortFit) -> tuple[Finding, ...]:
    """Return a finding if the estimated payload is smaller than its uncertainty.

    The criterion is its mass, or its other parameters if torques do not depend on the mass alone.
    """
    own = [k for k, name in enumerate(names) if name.startswith('payload/')]
    mass = [k for k in own if names[k] == 'payload/m']
    half = quantiles(0.95, fit.freedom) * np.sqrt(np.diag(fit.covariance))
    if any(fit.identified[k] and abs(fit.x[k]) > half[k] for k in mass or own) and all(
        fit.x[k] > 0.0 for k in mass
    ):
        return ()
    size = ''.join(f': {between(fit.x[k], half[k])} kg' for k in mass)
    finding = Finding.warning(
        'payload',
        f'smaller than its uncertainty{size}; no payload is assumed',
        'if there is one, move the joints that carry it faster and farther, see `excite`',
    )
    return (finding,)


def common_gain_findings(gain: float) -> Iterator[Finding]:
    """Yield a finding if all joints report a similar fraction of their torques."""
    if abs(np.log(gain)) > np.log(COMMON_GAIN):
        yield Finding.warning(
            'efforts',
            f'of all joints are alike, {gain:.3g} times the torques of the described masses: the '
            'driver reports this share of the torques, or the links are so much lighter or heavier',
            'compare the identified masses with the data sheet; --scale all if the description is '
            'right',
        )


def mass_findings(
    unknowns: Unknowns, found: RobotDescription, grouping: Array
) -> Iterator[Finding]:
    """Yield findings about the total mass: a large change, or no separation from offsets."""
    frames = unknowns.robot.tree.frames
    described, identified = (
        sum(
            link.inertia.mass
            for link in description.links
            if link.inertia is not None and frames[link.name].body != GROUND
        )
        for description in (unknowns.robot.description, found)
    )
    masses = f'{identified:.4g} kg are identified, {described:.4g} kg described'
    offsets = [k for k, name in enumerate(unknowns.names) if name.endswith('/offset')]
    weights = [k for k, name in enumerate(unknowns.names) if name.endswith('/m')]
    hidden = (np.abs(grouping[:, weights]) > NEGLIGIBLE).any(axis=1)
    joints = [
        unknowns.names[k].removesuffix('/offset')
        for k in offsets
        if (hidden & (np.abs(grouping[:, k]) > NEGLIGIBLE)).any()
    ]
    if joints:
        yield Finding.warning(
            joints_subject(joints),
            'the mass that is lifted and the offset of the efforts cannot be separated; of moving '
            f'links {masses}',
            '--hold offset if the driver has none, or --hold inertia if the masses are known',
        )
    elif abs(identified - described) > MASS_CHANGE * described:
        yield Finding.warning(
            'total mass',
            f'of moving links {masses}',
            'weigh the robot or compare with its data sheet; scales of efforts that are wrong '
            'change all masses',
        )
