# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Random systems in absolute coordinates: bodies with joints of every kind, closed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from screw_dynamics_ros.core.description.body_inertia import Inertia
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    CYLINDRICAL,
    GROUND,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    SE3,
    SPHERICAL,
    WELD,
    AbsoluteBody,
    AbsoluteSystem,
    ConstraintJoint,
    LowerPair,
    SO3xR3,
    lower_pair,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.constraint_projection import (
    project_velocity,
)
from screw_dynamics_ros.core.types import Array

HELICAL = lower_pair('helical', 0.05)
LOWER_PAIRS = (REVOLUTE, PRISMATIC, HELICAL, CYLINDRICAL, SPHERICAL, PLANAR)
ALL_PAIRS = (*LOWER_PAIRS, WELD)
GROUPS = (SE3, SO3xR3)


def random_pose(rng: np.random.Generator, scale: float = 1.0) -> Array:
    """Return a pose."""
    return se3.exp(scale * rng.normal(size=6))


def random_inertia(rng: np.random.Generator, offset: float = 0.2) -> Inertia:
    """Return an inertia with its center of mass off the origin."""
    masses, places = rng.uniform(0.2, 1.0, 5), rng.normal(size=(5, 3)) * 0.3
    com = masses @ places / masses.sum()
    arms = places - com
    matrix = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms))
    return Inertia(float(masses.sum()), offset * rng.normal(size=3), matrix)


def joint_between(
    rng: np.random.Generator,
    name: str,
    pair: LowerPair,
    parent: tuple[str, Array],
    child: tuple[str, Array],
) -> ConstraintJoint:
    """Return a joint that is closed where two bodies are, and somewhere in its range."""
    S_j = random_pose(rng, 0.3)
    h = pair.nearest(random_pose(rng, 0.5))
    S_i = se3.inverse(parent[1]) @ child[1] @ S_j @ se3.inverse(h)
    return ConstraintJoint(name, pair, parent[0], child[0], S_i, S_j)


def random_system(
    rng: np.random.Generator,
    pair: LowerPair,
    groups: tuple[str, ...] = (SE3,),
    *,
    grounded: bool = True,
    backend: str = 'sparse',
) -> tuple[AbsoluteSystem, Array, Array]:
    """Return a chain with joints of one kind, and a state (q, v) that they admit."""
    poses = {GROUND: np.eye(4)} | {f'body {k}': random_pose(rng) for k in range(len(groups))}
    names = list(poses)
    bodies = [
        AbsoluteBody(name, random_inertia(rng), group) for name, group in zip(names[1:], groups)
    ]
    joints = [
        joint_between(rng, f'joint {k}', pair, (i, poses[i]), (j, poses[j]))
        for k, (i, j) in enumerate(pairwise(names))
        if grounded or k
    ]
    q = AbsoluteSystem(bodies, backend='sparse').configuration_of(poses)
    system = AbsoluteSystem(bodies, joints, configuration=q, backend=backend)
    return system, q, project_velocity(system, q, rng.normal(size=system.nv))
