# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The four examples of Müller and Terze, section 5, and gravity as a fifth.

The paper omits masses, gravity, durations and all data of the last example; the values chosen here
are in doc/theory/choice_of_configuration_space.md (I-34 to I-39). `options` are those
of `AbsoluteSystem`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...description.body_inertia import Inertia
from ...errors import UnknownNameError
from ...lie import so3
from ...types import Array
from .bodies import GROUND, AbsoluteBody, ConstraintJoint, frame
from .groups import SE3
from .lower_pairs import SPHERICAL
from .system import AbsoluteSystem

ALUMINUM = 2700.0  # kg/m^3
WEIGHT = (0.0, 0.0, -9.81)
NO_WEIGHT = (0.0, 0.0, 0.0)
NO_OPTIONS: Mapping[str, Any] = {}


class Example(NamedTuple):
    """A system and its initial state.

    Attributes
    ----------
    system : AbsoluteSystem
    q, v : (7 n,) and (6 n,) arrays
    """

    system: AbsoluteSystem
    q: Array
    v: Array


def box(size: Sequence[float]) -> Inertia:
    """Return the inertia of an aluminum box with edges a, b, c [m], frame at its center."""
    a, b, c = size
    m = ALUMINUM * a * b * c
    return Inertia(m, np.zeros(3), m / 12 * np.diag([b**2 + c**2, a**2 + c**2, a**2 + b**2]))


def heavy_top(
    groups: Sequence[str] = (SE3,), gravity: Sequence[float] = NO_WEIGHT, **options: Any
) -> Example:
    """Return the spinning top of section 5.1: one body on a spherical joint (I-34).

    The paper simulates it without gravity, in spite of its heading.
    """
    r0 = np.array([0.5, 0.0, 0.0])
    inertia = Inertia(21.6, np.zeros(3), np.diag([0.36, 0.306, 0.09]))
    pivot = ConstraintJoint('pivot', SPHERICAL, GROUND, 'top', frame(), frame(-r0))
    omega = np.array([0.0, 20 * np.pi, 10 * np.pi])
    return started(
        [inertia],
        ['top'],
        groups,
        [pivot],
        [np.eye(3)],
        [r0],
        [omega],
        [np.cross(omega, r0)],
        gravity,
        options,
    )


def double_pendulum(
    groups: Sequence[str] = (SE3, SE3), gravity: Sequence[float] = WEIGHT, **options: Any
) -> Example:
    """Return the spherical double pendulum of section 5.2, two boxes in a row (I-37)."""
    half = np.array([0.1, 0.0, 0.0])
    joints = [
        ConstraintJoint('joint 1', SPHERICAL, GROUND, 'body 1', frame(), frame(-half)),
        ConstraintJoint('joint 2', SPHERICAL, 'body 1', 'body 2', frame(half), frame(-half)),
    ]
    omega_1, omega_2 = np.array([10.0, 0, 0]), np.pi * np.array([10.0, 10, 20])
    v_1 = np.cross(omega_1, half)
    v_2 = v_1 + np.cross(omega_1, half) + np.cross(omega_2, half)
    return started(
        [box((0.2, 0.1, 0.05))] * 2,
        ['body 1', 'body 2'],
        groups,
        joints,
        [np.eye(3)] * 2,
        [half, 3 * half],
        [omega_1, omega_2],
        [v_1, v_2],
        gravity,
        options,
    )


def floating_pair(
    groups: Sequence[str] = (SE3, SE3), gravity: Sequence[float] = NO_WEIGHT, **options: Any
) -> Example:
    """Return the two connected floating bodies of section 5.3, without linear momentum (I-38)."""
    half = np.array([0.1, 0.0, 0.0])
    joint = ConstraintJoint('joint 2', SPHERICAL, 'body 1', 'body 2', frame(half), frame(-half))
    omega_1, omega_2 = np.array([0, 0, -10.0]), np.array([1.0, -1.0, 2 * np.pi])
    v_2 = (np.cross(omega_1, half) + np.cross(omega_2, half)) / 2
    return started(
        [box((0.2, 0.1, 0.05))] * 2,
        ['body 1', 'body 2'],
        groups,
        [joint],
        [np.eye(3)] * 2,
        [half, 3 * half],
        [omega_1, omega_2],
        [-v_2, v_2],
        gravity,
        options,
    )


def three_bar_linkage(
    groups: Sequence[str] = (SE3, SE3), gravity: Sequence[float] = WEIGHT, **options: Any
) -> Example:
    """Return the closed linkage of section 5.4: two bars and the ground, three joints (I-39).

    The paper gives no data: bars and gravity of the double pendulum, an equilateral triangle, which
    rotates about its base while each bar spins.
    """
    half, base = np.array([0.1, 0.0, 0.0]), np.array([0.2, 0.0, 0.0])
    joints = [
        ConstraintJoint('joint 1', SPHERICAL, GROUND, 'body 1', frame(), frame(-half)),
        ConstraintJoint('joint 2', SPHERICAL, 'body 1', 'body 2', frame(half), frame(-half)),
        ConstraintJoint('joint 3', SPHERICAL, GROUND, 'body 2', frame(base), frame(half)),
    ]
    R_1, R_2 = so3.exp([0, 0, np.pi / 3]), so3.exp([0, 0, -np.pi / 3])
    turn = np.array([10.0, 0.0, 0.0])
    omega_1 = R_1.T @ turn + [20 * np.pi, 0, 0]
    omega_2 = R_2.T @ turn - [10 * np.pi, 0, 0]
    return started(
        [box((0.2, 0.1, 0.05))] * 2,
        ['body 1', 'body 2'],
        groups,
        joints,
        [R_1, R_2],
        [R_1 @ half, base - R_2 @ half],
        [omega_1, omega_2],
        [np.cross(omega_1, half), -np.cross(omega_2, half)],
        gravity,
        options,
    )


def started(
    inertias: Sequence[Inertia],
    names: Sequence[str],
    groups: Sequence[str],
    joints: Sequence[ConstraintJoint],
    rotations: Sequence[Array],
    positions: Sequence[Array],
    omega: Sequence[Array],
    v: Sequence[Array],
    gravity: Sequence[float],
    options: Mapping[str, Any] = NO_OPTIONS,
) -> Example:
    """Return a system that starts with rotations, positions and body-fixed twists."""
    bodies = [AbsoluteBody(*each) for each in zip(names, inertias, groups, strict=True)]
    poses = {}
    for name, R, r in zip(names, rotations, positions):
        poses[name] = np.eye(4)
        poses[name][:3, :3], poses[name][:3, 3] = R, r
    q = AbsoluteSystem(bodies, backend='sparse').configuration_of(poses)
    system = AbsoluteSystem(bodies, joints, configuration=q, gravity=gravity, **options)
    velocities = [
        np.append(w, u if group == SE3 else R @ u)
        for group, R, w, u in zip(groups, rotations, omega, v)
    ]
    return Example(system, q, np.concatenate(velocities))


EXAMPLES: dict[str, Callable[..., Example]] = {
    'heavy_top': heavy_top,
    'double_pendulum': double_pendulum,
    'floating_pair': floating_pair,
    'three_bar_linkage': three_bar_linkage,
}


def example(name: str) -> Callable[..., Example]:
    """Return the function that makes an example; raises `UnknownNameError`."""
    if name not in EXAMPLES:
        raise UnknownNameError(f'no example named {name!r}; choose one of {", ".join(EXAMPLES)}')
    return EXAMPLES[name]
