# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of `~/contact` and `~/collision`, for nodes and for recordings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.estimation.contact_flag import ContactFlag
from screw_dynamics_ros.core.estimation.residual_model import ResidualModel, peak_level
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.scalar_joints import scalar_joints
from screw_dynamics_ros.nodes.parameters.per_joint import FLAGS
from screw_dynamics_ros.ros.parameters import Specification

LEVELS = ('contact', 'collision')

TABLE = (
    Specification(
        'contact_share',
        0.1,
        'External torque of a joint above which ~/contact is raised, as a fraction of its effort '
        'limit, for joints without an individual threshold. 0: these joints are not monitored.',
        minimum=0.0,
        maximum=10.0,
        rule='less than collision_share',
    ),
    Specification(
        'collision_share',
        0.3,
        'As contact_share, for ~/collision.',
        minimum=0.0,
        maximum=10.0,
        rule='greater than contact_share',
    ),
    Specification(
        'flag_joints',
        [''],
        'Joints with individual thresholds.',
        rule='joints of the robot',
    ),
    Specification(
        'contact_thresholds',
        [],
        'External torque above which ~/contact is raised [N m, N], for each of flag_joints.',
        minimum=1e-9,
        rule='empty, or one for each of flag_joints, less than its collision threshold',
    ),
    Specification(
        'collision_thresholds',
        [],
        'External torque above which ~/collision is raised [N m, N], for each of flag_joints.',
        minimum=1e-9,
        rule='empty, or one for each of flag_joints, greater than its contact threshold',
    ),
    Specification(
        'contact_false_alarms',
        1.0,
        'Rate of false contacts of all joints together without contact [1/h], for joints with a '
        'model of identify --residual, whose thresholds follow its deviations in each state. 0: '
        'these joints have constant thresholds, too.',
        minimum=0.0,
        maximum=1e4,
    ),
    Specification(
        'collision_false_alarms',
        0.001,
        'As contact_false_alarms, for ~/collision.',
        minimum=0.0,
        maximum=1e4,
        rule='less than contact_false_alarms, or 0',
    ),
    Specification(
        'release_ratio',
        0.7,
        'Hysteresis: external torque below which a flag is lowered, divided by the torque above '
        'which it is raised.',
        minimum=0.0,
        maximum=1.0,
        rule='less than 1',
    ),
    Specification(
        'contact_duration',
        0.02,
        'Time for which a torque must exceed its threshold before ~/contact is raised [s].',
        minimum=0.0,
        maximum=10.0,
    ),
    Specification(
        'collision_duration',
        0.004,
        'Time for which a torque must exceed its threshold before ~/collision is raised [s].',
        minimum=0.0,
        maximum=10.0,
    ),
    Specification(
        'release_duration',
        0.1,
        'Time for which all torques must be below the release thresholds before a flag is '
        'lowered [s].',
        minimum=0.0,
        maximum=10.0,
    ),
)


def check(values: Mapping[str, Any], robot: Robot | None) -> None:
    """Refuse values of `TABLE` that are inconsistent with each other or with the robot.

    Raises `ArgumentError`, `UnknownNameError`.
    """
    ratio = values['release_ratio']
    if ratio >= 1.0:
        raise ArgumentError(
            f'release_ratio must be less than 1, got {ratio:g}: flags must be lowered at a smaller '
            'torque than they are raised'
        )
    contact, collision = values['contact_share'], values['collision_share']
    if contact and collision and contact >= collision:
        raise ArgumentError(
            f'contact_share {contact:g} must be less than collision_share {collision:g}'
        )
    alarms = [values[f'{level}_false_alarms'] for level in LEVELS]
    if all(alarms) and alarms[1] >= alarms[0]:
        raise ArgumentError(
            f'collision_false_alarms {alarms[1]:g} must be less than contact_false_alarms '
            f'{alarms[0]:g}'
        )
    FLAGS.check(values, scalar_joints(robot) if robot is not None else None)
    for name, low, high in zip(*(values[name] for name in (FLAGS.names, *FLAGS.numbers))):
        if low >= high:
            raise ArgumentError(contradiction(name, low, high))
    if robot is not None:
        fault = first_contradiction(values, robot)
        if fault:
            raise ArgumentError(fault)


def first_contradiction(values: Mapping[str, Any], robot: Robot) -> str:
    """Return the fault of the first joint with inconsistent thresholds, empty if all fit."""
    low, high = (thresholds(level, values, robot) for level in LEVELS)
    for name, contact, collision in zip(scalar_joints(robot), low.tolist(), high.tolist()):
        if contact >= collision and contact < math.inf:
            return contradiction(name, contact, collision)
    return ''


def contradiction(joint: str, contact: float, collision: float) -> str:
    """Return a text about two inconsistent thresholds."""
    return (
        f'the contact threshold {contact:g} of {joint} must be less than its collision threshold '
        f'{collision:g}'
    )


def thresholds(level: str, values: Mapping[str, Any], robot: Robot) -> Array:
    """Return the thresholds of one of `LEVELS` (n,), infinite for joints not monitored."""
    joints, found = scalar_joints(robot), np.full(len(scalar_joints(robot)), math.inf)
    own = FLAGS.of(f'{level}_thresholds', values)
    share = values[f'{level}_share']
    for k, joint in enumerate(joints):
        limit = float(robot.limits.effort[robot.joint_names.index(joint)])
        if joint in own:
            found[k] = own[joint]
        elif share and 0.0 < limit < math.inf:
            found[k] = share * limit
    return found


def factors(model: ResidualModel | None, n: int, hourly: float) -> Array:
    """Return the thresholds (n,) divided by deviations for a rate of false alarms [1/h].

    They are 0 for joints without a model.
    """
    found = np.zeros(n)
    if model is not None and model.has_memory and hourly:
        high, mean, rate = model.tails.reshape(n, 3).T
        known = np.flatnonzero(rate > 0.0)
        for j in known.tolist():
            found[j] = peak_level(high[j], mean[j], rate[j], hourly / 3600.0 / len(known))
    return found


def configure_flag(flag: ContactFlag, level: str, values: Mapping[str, Any], robot: Robot) -> None:
    """Apply the parameters of one of `LEVELS` to a flag."""
    upper, widening = thresholds(level, values, robot), flag.widening
    flag.release_ratio = values['release_ratio']
    flag.set_thresholds(upper + widening, flag.release_ratio * upper + widening)
    model = None if flag.offset is None else flag.offset.model
    flag.factors[:] = factors(model, len(upper), values[f'{level}_false_alarms'])
    flag.is_monitored = bool((np.isfinite(upper) | (flag.factors > 0.0)).any())
    flag.rise, flag.fall = values[f'{level}_duration'], values['release_duration']
