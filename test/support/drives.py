# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robots with drives, for the tests of friction, felt inertias and rotors."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.description import Inertia, Joint, Link, RobotDescription
from support.models import random_configuration

GRAVITY = (0.7, -1.3, -9.6)
SCALAR = ('revolute', 'prismatic', 'continuous')


def close(actual: np.ndarray, expected: np.ndarray, tolerance: float = 1e-11) -> None:
    np.testing.assert_allclose(
        actual, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max())
    )


def state(robot: Robot, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed + 500)
    return (random_configuration(robot, rng), *rng.uniform(-1, 1, (2, robot.nv)))


def random_drives(description: RobotDescription, seed: int = 0) -> dict[str, Drive]:
    """Return drives for two thirds of the joints: felt inertia and all kinds of friction."""
    rng = np.random.default_rng(seed)
    return {
        joint.name: Drive(
            rotor_inertia=float(rng.uniform(1e-5, 1e-4)),
            gear_ratio=float(rng.uniform(30, 100)),
            armature=float(rng.uniform(0, 0.2)),
            damping=float(rng.uniform(0, 0.5)),
            coulomb=float(rng.uniform(0, 0.5)),
            breakaway=float(rng.uniform(0.5, 1.0)),
        )
        for k, joint in enumerate(description.joints)
        if joint.type in SCALAR and k % 3
    }


def two_masses() -> RobotDescription:
    """Return the planar arm of golden case 8.2: unit lengths, unit point masses at the tips."""
    mass = Inertia(1.0, np.array([1.0, 0, 0]), np.zeros((3, 3)))
    tip = np.eye(4)
    tip[0, 3] = 1.0
    axis = np.array([0, 0, 1.0])
    return RobotDescription.from_parts(
        'arm',
        [Link('base'), Link('one', mass), Link('two', mass)],
        [
            Joint('q1', 'continuous', 'base', 'one', np.eye(4), axis),
            Joint('q2', 'continuous', 'one', 'two', tip, axis),
        ],
    )
