# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The wheeled platform of a node, built from its parameters, and its joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.mobile import platforms
from screw_dynamics_ros.core.mobile.wheeled_platform import WheeledPlatform

from .parameters import DIFFERENTIAL, axis_limits

#: Required dimensions of each platform, in addition to wheel_radius.
DIMENSIONS = {
    DIFFERENTIAL: ('wheel_separation',),
    'bicycle': ('wheelbase',),
    'ackermann': ('wheelbase', 'wheel_separation'),
    'omnidirectional': ('robot_radius',),
    'mecanum': ('wheelbase', 'wheel_separation'),
    'swerve': (),
}


@dataclass(frozen=True)
class MobileBase:
    """A platform and its joints.

    Attributes
    ----------
    platform : WheeledPlatform
    wheels : tuple of tuples of str
        Joints of each driven wheel, in the order of the platform; those of one wheel turn together.
    steering : tuple of str
        Joint of each steered wheel.
    """

    platform: WheeledPlatform
    wheels: tuple[tuple[str, ...], ...]
    steering: tuple[str, ...]

    @property
    def joints(self) -> tuple[str, ...]:
        """All joints."""
        return (*(name for group in self.wheels for name in group), *self.steering)


def make_base(values: Mapping[str, Any]) -> MobileBase:
    """Return the platform; raises `ArgumentError` with the missing or invalid parameter."""
    kind = values['platform']
    for name in ('wheel_radius', *DIMENSIONS[kind]):
        if not values[name] > 0.0:
            raise ArgumentError(
                f'{name} must be set to a positive length [m] for a {kind} platform'
            )
    platform = _platform(kind, values)
    wheels = _wheels(kind, values)
    for what, names, count in (
        ('wheel_names', wheels, len(platform.driven)),
        ('steering_names', values['steering_names'], len(platform.steered)),
    ):
        if len(names) != count:
            raise ArgumentError(
                f'{what} must be {count} joints for a {kind} platform, got {len(names)}'
            )
    base = MobileBase(platform, wheels, tuple(values['steering_names']))
    double = sorted({name for name in base.joints if base.joints.count(name) > 1})
    if double:
        raise ArgumentError(f'each joint moves one wheel: {", ".join(double)} is named twice')
    odom_joints = values['odom_joint_names']
    if len(odom_joints) not in (0, 3) or set(odom_joints) & set(base.joints):
        raise ArgumentError(
            'odom_joint_names must be empty or three joints for x, y and heading that are not '
            f'joints of wheels, got {", ".join(odom_joints)}'
        )
    axis_limits(values)
    return base


def _wheels(kind: str, values: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    if kind != DIFFERENTIAL:
        return tuple((name,) for name in values['wheel_names'])
    for name in ('left_wheel_names', 'right_wheel_names'):
        if not values[name]:
            raise ArgumentError(f'{name} must name the joints of a differential drive')
    return tuple(values['right_wheel_names']), tuple(values['left_wheel_names'])


def _platform(kind: str, values: Mapping[str, Any]) -> WheeledPlatform:
    radius = values['wheel_radius']
    if kind == DIFFERENTIAL:
        return platforms.differential_drive(
            values['wheel_separation'] * values['wheel_separation_multiplier'],
            radius * values['right_wheel_radius_multiplier'],
            radius * values['left_wheel_radius_multiplier'],
        )
    if kind == 'bicycle':
        return platforms.bicycle(values['wheelbase'], radius)
    if kind == 'ackermann':
        return platforms.ackermann(values['wheelbase'], values['wheel_separation'], radius)
    if kind == 'mecanum':
        return platforms.mecanum(values['wheelbase'], values['wheel_separation'], radius)
    names: Sequence[str] = values['wheel_names']
    if kind == 'omnidirectional':
        return platforms.omnidirectional(
            len(names), values['robot_radius'], radius, values['wheel_offset']
        )
    places = values['wheel_positions']
    if len(places) != 2 * len(names):
        raise ArgumentError(
            f'wheel_positions must be x and y for each of wheel_names: {2 * len(names)} numbers, '
            f'got {len(places)}'
        )
    return platforms.swerve(np.reshape(places, (-1, 2)), radius)
