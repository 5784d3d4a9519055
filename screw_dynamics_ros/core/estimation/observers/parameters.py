# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The parameters of observers: names, defaults, bounds and descriptions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import ArgumentError, UnknownNameError
from ...types import Array

Default = float | tuple[float, ...] | tuple[str, ...]


def parameter(
    default: Default,
    text: str,
    *,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    rule: str = '',
) -> Any:
    """Return a field; `{observers}` in its text is replaced by the observers that read it."""
    bounds = {'minimum': minimum, 'maximum': maximum, 'rule': rule}
    return field(default=default, kw_only=True, metadata={'text': text, **bounds})


#: The parameter with names of joints, and the rule for lists of numbers for them.
JOINTS = 'observer_joints'
ONE_OR_EACH = f'one for all joints, or one for each of {JOINTS}'


@dataclass(frozen=True)
class ObserverParameters:
    """Values for all observers; those in `PER_JOINT` are common to all joints, or one for each."""

    observer_time_constant: float = parameter(
        0.02,
        'Time constant with which {observers} follow external torques [s].',
        minimum=1e-4,
        maximum=10.0,
    )
    observer_joints: tuple[str, ...] = parameter(
        (),
        'Joints of the elements in the lists of deviations; other joints use the default.',
        rule='joints of the robot',
    )
    observer_velocity_deviation: tuple[float, ...] = parameter(
        (0.002,),
        'Standard deviation of the measured velocities from one state to the next, for {observers} '
        'and for covariances [rad/s, m/s].',
        minimum=1e-9,
        rule=ONE_OR_EACH,
    )
    observer_effort_deviation: tuple[float, ...] = parameter(
        (0.2,),
        'Standard deviation of the measured efforts from one state to the next, for {observers} '
        'and for covariances [N m, N].',
        minimum=0.0,
        rule=ONE_OR_EACH,
    )
    observer_model_deviation: tuple[float, ...] = parameter(
        (),
        'Standard deviation of external torques by model errors in unloaded motion, which filters '
        'do not reduce; added to all covariances [N m, N]. Empty: unknown.',
        minimum=0.0,
        rule=f'empty, {ONE_OR_EACH}',
    )
    effort_delay: float = parameter(
        0.0,
        'Delay of efforts relative to positions and velocities of the same stamp [s]; external '
        'torques have the same delay.',
        minimum=0.0,
        maximum=1.0,
    )
    observer_torque_change: float = parameter(
        20.0,
        'Standard deviation of the change of an external torque within a second, for {observers}: '
        'larger values follow faster, with more noise [N m, N].',
        minimum=1e-6,
    )
    observer_torque_rate: float = parameter(
        1000.0,
        'Largest rate of change of an external torque that is followed, for {observers}: larger '
        'values follow faster, with more noise [N m/s, N/s].',
        minimum=1e-3,
    )


DEFAULTS = ObserverParameters()

#: Parameters with a number for each joint.
PER_JOINT = ('observer_velocity_deviation', 'observer_effort_deviation', 'observer_model_deviation')


def check_per_joint(values: Mapping[str, Any], joints: Sequence[str] | None = None) -> None:
    """Refuse lists that do not match `observer_joints`, and joints that a robot does not have.

    Raises ArgumentError, UnknownNameError.
    """
    named = [name for name in values[JOINTS] if name]
    if len(set(named)) < len(named):
        raise ArgumentError(f'{JOINTS}: {", ".join(named)} names a joint twice')
    for name in PER_JOINT:
        count = np.size(values[name])
        if count not in (1, len(named)) and (count or getattr(DEFAULTS, name)):
            raise ArgumentError(
                f'{name} has {count} elements for {len(named)} {JOINTS}: give one for all joints, '
                'or one for each of these'
            )
    unknown = [name for name in named if joints is not None and name not in joints]
    if joints is not None and unknown:
        raise UnknownNameError(
            f'{JOINTS}: the robot has no joint {unknown[0]!r} with one coordinate; it has '
            f'{", ".join(joints)}'
        )


def values_of_joints(values: Mapping[str, Any], name: str, joints: Sequence[str]) -> Array:
    """Return the value of a parameter for each joint, (n,); NaN if unknown.

    Parameters
    ----------
    values : mapping
        All parameters by name.
    name : str
        Name of a parameter with a number or a list.
    joints : sequence of str

    Examples
    --------
    >>> values = {'observer_joints': ['b', 'a'], 'observer_effort_deviation': [3.0, 1.0]}
    >>> values_of_joints(values, 'observer_effort_deviation', ['a', 'b', 'c'])
    array([1. , 3. , 0.2])
    """
    given = np.atleast_1d(np.asarray(values[name], dtype=float))
    named = [joint for joint in values[JOINTS] if joint] if name in PER_JOINT else []
    if len(given) == 1 and len(named) != 1:
        return np.full(len(joints), given[0])
    defaults = getattr(DEFAULTS, name)
    known = dict(zip(named, given.tolist()))
    return np.array([known.get(joint, defaults[0] if defaults else math.nan) for joint in joints])
