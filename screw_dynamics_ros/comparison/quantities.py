# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The quantities that are compared, their values in ours, and how large a difference is."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from ..core.errors import InertiaError
from ..core.types import Array
from .reading import DescriptionReading, carriers, inertia_of

#: Name and unit, in the order of the report. Units of prismatic joints are not written out.
UNITS = {
    'mass': 'kg',
    'center of mass': 'm',
    'link positions': 'm',
    'link orientations': 'rad',
    'mass matrix': 'kg m^2',
    'gravity torques': 'N m',
    'Coriolis torques': 'N m',
    'forward dynamics': 'rad/s^2',
    'kinetic energy': 'J',
    'potential energy': 'J',
}

OF_LINKS = ('link positions', 'link orientations')
OF_JOINTS = ('mass matrix', 'gravity torques', 'Coriolis torques', 'forward dynamics')

ZERO_SHARE = 1e-3  # of the natural size of a quantity, below which it is treated as zero


@dataclass(frozen=True, eq=False)
class SampledStates:
    """States in which is compared.

    Attributes
    ----------
    q, v, tau : (n, nv) arrays
        Positions [rad, m], velocities [rad/s, m/s] and joint torques [N m, N].
    gravity : (3,) array
        Acceleration of free fall in the root frame [m/s^2].
    """

    q: Array
    v: Array
    tau: Array
    gravity: Array

    def first(self, count: int) -> SampledStates:
        """Return the first of these states."""
        return SampledStates(self.q[:count], self.v[:count], self.tau[:count], self.gravity)


@dataclass(frozen=True, eq=False)
class Values:
    """Values of the quantities in n states.

    Mass, center of mass and potential energy are those of the links that move: links fixed to
    the root have no influence on motion, and programs disagree on whether to include them.

    Attributes
    ----------
    arrays : {name of `UNITS`: array, first axis n}
        A quantity that a program cannot give is missing.
    links : tuple of str
        Links of the second axis of positions and orientations: those the program knows.
    """

    arrays: Mapping[str, Array]
    links: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """The largest difference of one quantity.

    Attributes
    ----------
    absolute : float
        In the unit of the quantity.
    relative : float
        Compared with the tolerance: joint coordinates are scaled so that the mass matrix has
        a diagonal of at most 1, otherwise a light wrist would vanish beside the shoulder.
    where : str
        Link or joint.
    """

    absolute: float
    relative: float
    where: str = ''


def random_states(
    reading: DescriptionReading, count: int, seed: int, gravity: Array
) -> SampledStates:
    """Return random states within the limits, with torques for accelerations of about 1."""
    robot = reading.robot(gravity, 'reference')
    rng = np.random.default_rng(seed)
    lower = np.where(np.isfinite(robot.limits.lower), robot.limits.lower, -np.pi)
    upper = np.where(np.isfinite(robot.limits.upper), robot.limits.upper, np.pi)
    q = rng.uniform(np.minimum(lower, upper), np.maximum(lower, upper), (count, robot.nv))
    v = rng.uniform(-1.0, 1.0, q.shape)
    a = rng.uniform(-1.0, 1.0, q.shape)
    tau = np.array([robot.inverse_dynamics(*state) for state in zip(q, v, a)])
    return SampledStates(q, v, tau.reshape(q.shape), gravity)


def our_values(
    reading: DescriptionReading, states: SampledStates, backend: str = 'reference'
) -> Values:
    """Return the quantities as this package computes them."""
    robot = reading.robot(states.gravity, backend)
    q, v, tau, g = states.q, states.v, states.tau, states.gravity
    poses = np.array([robot.link_poses(x) for x in q])
    mass, moment = fixed_mass(reading)
    moving = robot.total_mass - mass
    center = np.zeros((len(q), 3))  # of no mass
    if moving:
        center = robot.total_mass * np.array([robot.center_of_mass(x) for x in q]) - moment
        center /= moving
    arrays = {
        'mass': np.full(len(q), moving),
        'center of mass': center,
        'link positions': poses[:, :, :3, 3],
        'link orientations': poses[:, :, :3, :3],
        'mass matrix': np.array([robot.mass_matrix(x) for x in q]),
        'gravity torques': np.array([robot.gravity_torques(x) for x in q]),
        'Coriolis torques': np.array([robot.coriolis_torques(x, y) for x, y in zip(q, v)]),
        'kinetic energy': np.array([robot.kinetic_energy(x, y) for x, y in zip(q, v)]),
        'potential energy': np.array([robot.potential_energy(x) for x in q]) + g @ moment,
    }
    with suppress(InertiaError):  # joints that move no mass: accelerations are not defined
        accelerations = [robot.forward_dynamics(*state) for state in zip(q, v, tau)]
        arrays['forward dynamics'] = np.array(accelerations)
    return Values(arrays, robot.link_names)


def fixed_mass(reading: DescriptionReading) -> tuple[float, Array]:
    """Return mass [kg] and first moment (3,) [kg m] of links fixed to the root, in its frame."""
    description, mass, moment = reading.description, 0.0, np.zeros(3)
    held = carriers(description)
    for link in description.links:
        head, pose = held[link.name]
        if head == description.root:
            body = inertia_of(link)
            mass += body.mass
            moment = moment + body.mass * (pose[:3, :3] @ body.com + pose[:3, 3])
    return mass, moment


@dataclass(frozen=True, eq=False)
class Scale:
    """The sizes that differences are compared with.

    Attributes
    ----------
    joints : (nv,) array
        Square root of the largest diagonal entry of the mass matrix for each joint.
    sizes : {name of `UNITS`: float}
    names : tuple of str
        Joints.
    """

    joints: Array
    names: tuple[str, ...]
    sizes: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, ours: Values, names: tuple[str, ...], states: SampledStates) -> Scale:
        """Return the scale of a robot with these values and joints."""
        M = ours.arrays['mass matrix']
        diagonal = np.abs(np.diagonal(M, axis1=1, axis2=2)).max(axis=0, initial=0.0)
        joints = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        scale = cls(joints, names)
        mass = float(ours.arrays['mass'][0])
        length = max(float(np.abs(ours.arrays['link positions']).max(initial=0.0)), ZERO_SHARE)
        g = float(np.linalg.norm(states.gravity))
        speed = float(np.linalg.norm(joints * np.abs(states.v).max(axis=0, initial=0.0)))
        natural = {
            'mass': mass,
            'center of mass': length / ZERO_SHARE,
            'link positions': length / ZERO_SHARE,
            'link orientations': 1.0 / ZERO_SHARE,
            'mass matrix': 1.0 / ZERO_SHARE,
            'gravity torques': g * np.sqrt(mass),
            'Coriolis torques': speed,
            'forward dynamics': speed,
            'kinetic energy': 0.5 * speed**2,
            'potential energy': mass * g * length,
        }
        for name, value in natural.items():
            largest = 0.0
            if name in ours.arrays and name not in ('link orientations', 'center of mass'):
                largest = np.abs(scale.scaled(name, ours.arrays[name])).max(initial=0.0)
            scale.sizes[name] = float(max(largest, ZERO_SHARE * value, np.finfo(float).tiny))
        return scale

    def scaled(self, name: str, values: Array) -> Array:
        """Return joint quantities in coordinates in which M has a diagonal of at most 1."""
        if name == 'mass matrix':
            return values / np.multiply.outer(self.joints, self.joints)
        if name in ('gravity torques', 'Coriolis torques'):
            return values / self.joints
        if name == 'forward dynamics':
            return values * self.joints
        return values

    def difference(self, name: str, ours: Values, theirs: Values) -> Difference | None:
        """Return the largest difference of a quantity; None where one of both has no value."""
        if name not in ours.arrays or name not in theirs.arrays:
            return None
        own = ours.arrays[name]
        if name in OF_LINKS:
            own = own[:, [ours.links.index(link) for link in theirs.links]]
        apart = own - theirs.arrays[name]
        if name == 'link orientations':  # of two rotations by an angle x: 2 sqrt(2) sin(x / 2)
            sine = np.linalg.norm(apart, axis=(-2, -1)) / (2.0 * np.sqrt(2.0))
            apart = 2.0 * np.arcsin(np.clip(sine, 0.0, 1.0))
        if not apart.size:
            return Difference(0.0, 0.0)
        relative = np.abs(self.scaled(name, apart)) / self.sizes[name]
        relative = np.where(np.isnan(relative), np.inf, relative)
        worst = np.unravel_index(int(relative.argmax()), relative.shape)
        where = ''
        if name in OF_LINKS:
            where = theirs.links[worst[1]]
        elif name in OF_JOINTS:
            where = self.names[worst[1]]
        return Difference(float(np.abs(apart[worst])), float(relative[worst]), where)
