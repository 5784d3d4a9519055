# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Settings of commanded torques: limits, times, and actions when states are lost."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number, is_number, vector
from ...errors import ArgumentError, UnknownNameError
from ...types import Array

#: What can be done when states are lost, and at the end of the process.
ACTIONS = HOLD, GRAVITY, RAMP_TO_ZERO, STOP = 'hold', 'gravity', 'ramp_to_zero', 'stop'

NO_LIMITS: Mapping[str, float] = {}


@dataclass(frozen=True)
class CommandSettings:
    """Rules for the commanded torques of n joints; settings with the same values are equal.

    Attributes
    ----------
    joints : sequence of str
        Names, each one once; gives the order of all arrays.
    limits : (n,) array_like
        Largest magnitudes [N m, N], infinite for no limit.
    rates : (n,) array_like
        Largest rates of change [N m/s, N/s], positive, infinite for no limit.
    blend_time : float
        Time over which payload, gravity, reference and model changes take effect [s].
    ramp_time : float
        Time in which torques rise from zero and fall to zero [s].
    age_limit : float
        Largest age of a state whose torques may be commanded [s].
    on_loss : {'hold', 'gravity', 'ramp_to_zero', 'stop'}
        What to do when states stop, grow old or cannot be used.
    on_end : {'hold', 'gravity', 'ramp_to_zero', 'stop'}
        What to do before the process ends.

    Raises
    ------
    ArgumentError
        Names the setting, the joint and the value at fault.
    """

    joints: Sequence[str]
    limits: ArrayLike
    rates: ArrayLike
    blend_time: float = 0.3
    ramp_time: float = 1.0
    age_limit: float = 0.1
    on_loss: str = RAMP_TO_ZERO
    on_end: str = RAMP_TO_ZERO

    def __post_init__(self) -> None:
        joints = tuple(self.joints)
        for name in joints:
            if joints.count(name) > 1:
                raise ArgumentError(f'joints: {name!r} is named twice')
        limits = vector('limits', len(joints), self.limits).tolist()
        rates = vector('rates', len(joints), self.rates).tolist()
        for name, limit, rate in zip(joints, limits, rates):
            if not limit >= 0.0:
                raise ArgumentError(f'limits: joint {name!r} has {limit}; give a number >= 0')
            if not rate > 0.0:
                raise ArgumentError(f'rates: joint {name!r} has {rate}; give a positive number')
        check_number('blend_time', self.blend_time)
        check_number('ramp_time', self.ramp_time)
        check_number('age_limit', self.age_limit, positive=True)
        for setting in ('on_loss', 'on_end'):
            if getattr(self, setting) not in ACTIONS:
                raise ArgumentError(
                    f'{setting} must be one of {", ".join(ACTIONS)}, got {getattr(self, setting)!r}'
                )
        for setting, values in (('joints', joints), ('limits', limits), ('rates', rates)):
            object.__setattr__(self, setting, tuple(values))


def command_limits(
    joints: Sequence[str],
    efforts: Mapping[str, float],
    factor: float = 1.0,
    per_joint: Mapping[str, float] = NO_LIMITS,
) -> Array:
    """Return the largest magnitudes of the commanded torques, (n,) [N m, N].

    Parameters
    ----------
    joints : sequence of n str
    efforts : mapping
        Effort limits of the description by joint; a joint that is not in it has none. With the
        limit 0 a joint gets no torque.
    factor : float
        The share of them that may be commanded, positive.
    per_joint : mapping
        Limits that replace those of the description, taken as they are.

    Raises
    ------
    ArgumentError, UnknownNameError
        An invalid limit or factor, a joint that is not among `joints`.

    Examples
    --------
    >>> command_limits(['a', 'b', 'c'], {'a': 80.0, 'b': 40.0}, 0.5, {'b': 10.0})
    array([40., 10., inf])
    """
    check_number('effort limit factor', factor, positive=True)
    _check_limits('effort limit', joints, per_joint)
    _check_limits('effort limit of the description', efforts, efforts)
    limits = [per_joint.get(name, factor * efforts.get(name, math.inf)) for name in joints]
    return np.array(limits, dtype=np.float64)


def rate_limits(
    joints: Sequence[str],
    limits: Array,
    rate_factor: float = math.inf,
    per_joint: Mapping[str, float] = NO_LIMITS,
) -> Array:
    """Return the largest rates of change of the commanded torques, (n,) [N m/s, N/s].

    Parameters
    ----------
    joints : sequence of n str
    limits : (n,) array
        See `command_limits`.
    rate_factor : float
        Largest rate as a multiple of the limit [1/s]: one over the time from zero to the limit;
        infinite for none.
    per_joint : mapping
        Rates that replace those.

    Raises
    ------
    ArgumentError, UnknownNameError
        An invalid rate or factor, a joint that is not among `joints`.

    Examples
    --------
    >>> rate_limits(['a', 'b', 'c'], np.array([40.0, 0.0, np.inf]), 5.0)
    array([200.,  inf,  inf])
    """
    if not (is_number(rate_factor) and rate_factor > 0.0):
        raise ArgumentError(f'rate limit factor must be a positive number, got {rate_factor!r}')
    _check_limits('rate limit', joints, per_joint, positive=True)
    rates = rate_factor * np.where(limits > 0.0, limits, np.inf)  # no torque, no rate to limit
    return np.array([per_joint.get(name, rate) for name, rate in zip(joints, rates.tolist())])


def _check_limits(
    what: str, joints: Collection[str], limits: Mapping[str, float], positive: bool = False
) -> None:
    for name, limit in limits.items():
        if name not in joints:
            raise UnknownNameError(
                f'{what}: there is no joint {name!r}; the joints are {", ".join(joints)}'
            )
        if not (is_number(limit) and limit >= 0.0 and (limit or not positive)):
            raise ArgumentError(
                f'{what}: joint {name!r} has {limit!r}; give a '
                f'{"positive number" if positive else "number >= 0"}'
            )
