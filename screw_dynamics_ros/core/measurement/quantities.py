# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Quantities that nodes publish for each state and `annotate` writes for recordings: one row each.

Formulas are for `Robot.fuse`, angular part first; messages have the linear part first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arms.inverse.manipulability import MEASURES
from ..lie.screws import TWIST_ROWS
from ..robot.actuated_robot import Source, inertial
from ..robot.fused_kernel import Formula
from ..types import Array
from .estimation.contact_wrench import contact_wrench, observability_pivots
from .estimation.observers.quantities import concatenated

#: Rows of momenta in messages: linear, then angular part.
MOMENTUM_ROWS = ('px', 'py', 'pz', 'lx', 'ly', 'lz')

#: Rows of the center of mass: position, velocity.
CENTER_ROWS = ('x', 'y', 'z', 'vx', 'vy', 'vz')

#: Messages of two vectors.
SCREWS = ('twist', 'wrench')

#: Placeholders of labels: joints with one coordinate, independent velocities.
JOINTS, VELOCITIES = 'joints', 'velocities'


def inertial_torques(a: Source) -> Formula:
    """Return M a, (nv,) [N m, N]."""
    return Formula('inertial torques', ('mass_matrix', a), inertial)


def both_energies(v: Array, M: Array, potential: Array) -> Array:
    """Return kinetic and potential energy, (2,) [J]; the first one is v M v / 2."""
    return np.stack([0.5 * (v @ (M @ v)), potential])


def wrench_at_contact(J: Array, torques: Array, options: Array) -> Array:
    """Return moment and force of a contact; options are damping and characteristic length."""
    return contact_wrench(J, torques, options[0], options[1])


def pivots_at_contact(J: Array, options: Array) -> Array:
    """Return numbers that are positive if a wrench can be estimated with these options."""
    return observability_pivots(J, options[2], options[1])


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


@dataclass(frozen=True)
class Quantity:
    """A quantity and its topic `<node>/<name>`, for those of links `<node>/<name>/<link>`.

    Attributes
    ----------
    node, name : str
    message : str
        'joint_efforts', 'matrix', 'twist' or 'wrench'.
    output : Source or None
        Output in the program of a robot without loops, if the quantity is a single output.
    labels : tuple
        Labels of each dimension of efforts and matrices: `JOINTS`, `VELOCITIES` or texts.
    of_positions : bool
        Whether it is also published without velocities.
    """

    node: str
    name: str
    message: str = 'joint_efforts'
    output: Source | None = None
    labels: tuple[str | tuple[str, ...], ...] = (JOINTS,)
    of_positions: bool = False

    @property
    def is_screw(self) -> bool:
        """Whether linear and angular part are exchanged in messages."""
        return self.message in SCREWS or self.labels[0] in (TWIST_ROWS, MOMENTUM_ROWS)

    def arguments(
        self, joints: Sequence[str], velocities: Sequence[str], frame: str = ''
    ) -> tuple[str | Sequence[str], ...]:
        """Return the arguments of a function that creates the `message`."""
        if self.message in SCREWS:
            return (frame,)
        known: dict[object, Sequence[str]] = {JOINTS: joints, VELOCITIES: velocities}
        return tuple(known.get(label, label) for label in self.labels)


CENTER_OF_MASS = Formula(
    'center of mass and its velocity',
    ('center_of_mass', 'center_of_mass_velocity'),
    concatenated,
)
ENERGY = Formula('energies', ('v', 'mass_matrix', 'potential_energy'), both_energies)

#: All quantities, by name.
QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        Quantity('dynamics', 'gravity', output='gravity_torques', of_positions=True),
        Quantity('dynamics', 'coriolis', output='coriolis_torques'),
        Quantity('dynamics', 'friction', output='friction_torques'),
        Quantity('dynamics', 'inertia', output=inertial_torques('a'), of_positions=True),
        Quantity('dynamics', 'payload', output='payload_torques'),
        Quantity('dynamics', 'mass_matrix', 'matrix', 'mass_matrix', (VELOCITIES,) * 2, True),
        Quantity('dynamics', 'energy', 'matrix', ENERGY, (('kinetic', 'potential'),)),
        Quantity('dynamics', 'momentum', 'matrix', 'centroidal_momentum', (MOMENTUM_ROWS,)),
        Quantity('dynamics', 'center_of_mass', 'matrix', CENTER_OF_MASS, (CENTER_ROWS,)),
        Quantity('dynamics', 'base_wrench', 'wrench'),
        Quantity('kinematics', 'jacobian', 'matrix', None, (TWIST_ROWS, VELOCITIES), True),
        Quantity('kinematics', 'twist', 'twist'),
        Quantity('kinematics', 'singularity', 'matrix', None, (MEASURES,), True),
        Quantity('wrench_estimator', 'external_torque'),
        Quantity('wrench_estimator', 'external_torque_covariance', 'matrix', None, (JOINTS,) * 2),
        Quantity('wrench_estimator', 'wrench', 'wrench'),
    )
}
