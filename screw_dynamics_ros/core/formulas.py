# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Formulas of outputs for `Robot.fuse`, angular part first."""

from __future__ import annotations

import numpy as np

from .estimation.contact_wrench import contact_wrench, observability_pivots
from .estimation.observers.quantities import concatenated
from .robot.actuated_robot import REST, Source, inertial
from .robot.fused_kernel import Formula
from .robot.robot import Robot
from .types import Array

CENTER_OF_MASS = Formula(
    'center of mass and its velocity',
    ('center_of_mass', 'center_of_mass_velocity'),
    concatenated,
)


def not_rotating(velocity: Array) -> Array:
    """Return the twist (6,) of a frame with axes that do not turn, whose origin has a velocity."""
    return np.concatenate([np.zeros_like(velocity), velocity])


CENTER_TWIST = Formula('twist of the center of mass', ('center_of_mass_velocity',), not_rotating)


def inertial_torques(a: Source) -> Formula:
    """Return M a, (nv,) [N m, N]."""
    return Formula('inertial torques', ('mass_matrix', a), inertial)


def both_energies(v: Array, M: Array, potential: Array) -> Array:
    """Return kinetic and potential energy, (2,) [J]; the first one is v M v / 2."""
    return np.stack([0.5 * (v @ (M @ v)), potential])


ENERGY = Formula('energies', ('v', 'mass_matrix', 'potential_energy'), both_energies)


def base_tilt(robot: Robot) -> Formula:
    """Return roll, pitch and tilt of the root link with respect to gravity, (3,) [rad].

    Rz(yaw) Ry(pitch) Rx(roll) turns axes of the world, z up, into those of the link; the tilt is
    the angle between both z axes.
    """
    return Formula('tilt', (('link_pose', robot.description.root), 'gravity'), tilt_of)


def tilt_of(pose: Array, gravity: Array) -> Array:
    """Return roll, pitch and tilt (3,) of a frame with a pose (4, 4) in the axes of gravity."""
    x, y, z = -gravity @ pose[:3, :3]  # up, in axes of the frame
    return np.stack(
        [
            np.arctan2(y, z),
            np.arctan2(-x, np.sqrt(y * y + z * z)),
            np.arctan2(np.sqrt(x * x + y * y), z),
        ]
    )


def base_wrench(robot: Robot) -> Formula:
    """Return moment and force (6,) that a floating base lacks to be in equilibrium.

    The environment exerts it in the measured motion, with payload, if the velocities v do not
    change: at rest the weight, hence the sum of all contact wrenches. At the origin and in the axes
    of the root link.
    """
    carried = robot.substitute('payload_torques', a=REST)
    return Formula('base wrench', ('gravity_torques', 'coriolis_torques', carried), of_base)


def of_base(*torques: Array) -> Array:
    """Return the elements of the base, (6,), of the sum of torques (nv,)."""
    return np.sum(torques, axis=0)[:6]


def contact(jacobian: Source, torques: Source) -> tuple[Formula, Formula]:
    """Return the wrench of a contact (6,), and numbers that are positive if it can be estimated.

    Parameters
    ----------
    jacobian : Source
        Jacobian of the body at the contact (6, n).
    torques : Source
        External torques (n,).

    They read the parameter 'contact': damping, characteristic length and threshold [m].
    """
    return (
        Formula('contact wrench', (jacobian, torques, 'contact'), wrench_at_contact),
        Formula('observability pivots', (jacobian, 'contact'), pivots_at_contact),
    )


def wrench_at_contact(J: Array, torques: Array, options: Array) -> Array:
    """Return moment and force of a contact; options are damping and characteristic length."""
    return contact_wrench(J, torques, options[0], options[1])


def pivots_at_contact(J: Array, options: Array) -> Array:
    """Return numbers that are positive if a wrench can be estimated with these options."""
    return observability_pivots(J, options[2], options[1])
