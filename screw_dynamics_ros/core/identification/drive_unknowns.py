# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The unknowns of drives, and their factors in the equations of efforts.

Efforts are those of motors: tau_m = C^-T (tau_rigid + armatures, springs, friction of joints) and
the rotors and friction of coupled motors, which move at C q' (`motor_coupling`). Each unknown is at
one joint or motor. Friction by load is linear in mu for given torques |L| of an earlier estimate.

Source: Gautier, Janot and Vandanjon 2013 for the coupled wrist of a TX40; Hamon, Gautier and
Garrec 2010 for friction by load.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..description.drives import Drive
from ..description.friction import FRICTION, Friction, FrictionTerm
from ..description.motor_coupling import motor_coupling
from ..dynamics.drive_forces import lever
from ..errors import ArgumentError
from ..types import Array
from .recording import DynamicModel


@dataclass(frozen=True, eq=False)
class MotionSamples:
    """Samples of a motion, (N, n) each; Y (N, n, 10 n_links) is its regressor.

    L are the transmitted torques of drives [N m, N] if friction depends on them, otherwise zeros.
    """

    q: Array
    v: Array
    a: Array
    Y: Array
    L: Array


@dataclass(frozen=True)
class Kind:
    """One kind of unknown.

    Attributes
    ----------
    group : str
        Name in `unknowns.GROUPS`.
    units : (str, str)
        Units for revolute and prismatic joints.
    nominal : callable
        Returns the nominal value of a drive.
    of_motor : bool
        Whether it is on the motor side.
    exists : callable
        Whether a drive has this unknown.
    term : FrictionTerm, optional
        Its term of friction.
    """

    group: str
    units: tuple[str, str]
    nominal: Callable[[Drive], float]
    of_motor: bool = False
    exists: Callable[[Drive], bool] = lambda drive: True
    term: FrictionTerm | None = None


def is_coupled(drive: Drive) -> bool:
    """Whether a motor is coupled to several joints."""
    return bool(drive.coupled_joints)


def has_counterbalance(drive: Drive) -> bool:
    """Whether there is a spring with two pivots."""
    return drive.counterbalance_on_parent is not None


def of_friction(row: FrictionTerm, field: str, *, of_motor: bool = False) -> Kind:
    """Return the kind of the coefficient of a term of friction, which is a field of drives."""

    def nominal(drive: Drive) -> float:
        return float(getattr(drive, field))

    def exists(drive: Drive) -> bool:
        return is_coupled(drive) if of_motor else row.is_common or nominal(drive) != 0.0

    return Kind('friction', row.units, nominal, of_motor, exists, row)


def of_cogging(part: Callable[[float], float]) -> Kind:
    """Return the kind of a part of the amplitude of cogging, of a given order."""
    return Kind(
        'spring',
        ('N m', 'N'),
        lambda d: d.cogging * part(d.cogging_phase),
        exists=lambda d: d.cogging > 0.0,
    )


KINDS = {
    'armature': Kind('armature', ('kg m^2', 'kg'), lambda d: d.reflected_inertia),
    **{name: of_friction(row, name) for name, row in FRICTION.items()},
    'rotor': Kind('armature', ('kg m^2', 'kg'), lambda d: d.motor_inertia, True, is_coupled),
    **{
        row.motor: of_friction(row, row.motor, of_motor=True)
        for row in FRICTION.values()
        if row.motor
    },
    'spring_stiffness': Kind(
        'spring',
        ('N m/rad', 'N/m'),
        lambda d: d.spring_stiffness,
        exists=lambda d: d.spring_stiffness > 0.0,
    ),
    'counterbalance_preload': Kind(
        'spring', ('N', 'N'), lambda d: d.counterbalance_preload, exists=has_counterbalance
    ),
    'counterbalance_stiffness': Kind(
        'spring', ('N/m', 'N/m'), lambda d: d.counterbalance_stiffness, exists=has_counterbalance
    ),
    'cogging_sine': of_cogging(math.cos),
    'cogging_cosine': of_cogging(math.sin),
    'offset': Kind('offset', ('N m', 'N'), lambda d: 0.0, of_motor=True),
}

#: Kinds that may be negative.
SIGNED = (
    'offset',
    'counterbalance_preload',
    'cogging_sine',
    'cogging_cosine',
    *(name for name, row in FRICTION.items() if row.is_signed),
)


class DriveUnknowns:
    """The unknowns of the drives of a robot.

    Attributes
    ----------
    joints : tuple of str
    drives : list of n Drive
    unknowns : list of (str, int)
        Kind, and index of the joint.
    direction : callable
        Returns the smooth signs of velocities.
    """

    def __init__(
        self,
        robot: DynamicModel,
        estimate: frozenset[str],
        stribeck_speed: float | None,
        smoothing: float,
        terms: Collection[str] = (),
    ) -> None:
        self.joints, self._tree = robot.joint_names, robot.tree
        drives = robot.drives  # each access computes them
        self.drives = [drives[joint] for joint in self.joints]
        self._estimate, self.direction = estimate, Friction(smoothing=smoothing).sign
        form: dict[str, Any] = {'smoothing': smoothing} | (
            {'stribeck_speed': stribeck_speed} if stribeck_speed else {}
        )
        self._forms = [replace(drive, **form) for drive in self.drives]
        self.unknowns = [
            (name, k)
            for name, kind in KINDS.items()
            for k, drive in enumerate(self.drives)
            if kind.group in estimate
            and (kind.exists(drive) or name in terms)
            and (name != 'stribeck' or stribeck_speed is not None)
        ]
        coupled = bool(robot.tree.motors)
        springs = any(drive.has_spring for drive in self.drives)
        if (coupled or springs) and robot.tree.joint_names != self.joints:
            raise ArgumentError(
                'identification of robots with loops has no springs and no coupled motors: leave '
                'them out of the drives'
            )
        self._C = motor_coupling(self.joints, drives) if coupled else None
        self._to_motors = None if self._C is None else np.linalg.inv(self._C.T)

    @property
    def depend_on_load(self) -> bool:
        """Whether the friction of a drive depends on its load."""
        by_load = any(FRICTION[name].by_load for name, _ in self.unknowns if name in FRICTION)
        return by_load or any(drive.depends_on_load for drive in self.drives)

    @property
    def nominal(self) -> Array:
        """Nominal values of the unknowns."""
        return np.array([KINDS[kind].nominal(self.drives[k]) for kind, k in self.unknowns])

    @property
    def are_coupled(self) -> bool:
        """Whether the motors differ from the joints."""
        return self._to_motors is not None

    def of_motors(self, torques: Array) -> Array:
        """Return the efforts of motors (N, n) or (N, n, P) for torques of joints."""
        if self._to_motors is None:
            return torques
        return np.asarray(np.einsum('ij,nj...->ni...', self._to_motors, torques))

    def of_joints(self, efforts: Array) -> Array:
        """Return the torques of joints (N, n) for efforts of motors."""
        return efforts if self._C is None else np.asarray(efforts @ self._C)

    def factors(self, kind: str, k: int, motion: MotionSamples) -> Array:
        """Return the factor (N,) of the unknown of a kind at joint k."""
        if kind == 'armature':
            return motion.a[:, k]
        if term := KINDS[kind].term:
            return self._of_term(term, self._forms[k], kind, k, motion)
        if kind == 'rotor':
            return self._of_motor(motion.a, k)
        if kind == 'spring_stiffness':
            return motion.q[:, k] - self.drives[k].spring_position
        if kind == 'offset':
            return -np.ones(len(motion.q))
        if kind.startswith('cogging'):
            angle = self.drives[k].cogging_order * motion.q[:, k]
            return np.sin(angle) if kind == 'cogging_sine' else np.cos(angle)
        length, first = self._lever(motion.q, k)
        return first / length if kind == 'counterbalance_preload' else first

    def _of_term(
        self, term: FrictionTerm, drive: Drive, kind: str, k: int, motion: MotionSamples
    ) -> Array:
        """Return the torques (N,) of a term of friction with the coefficient 1."""
        v = self._of_motor(motion.v, k) if KINDS[kind].of_motor else motion.v[:, k]
        load = motion.L[:, k] if term.by_load else 1.0
        load = load if term.by_power else np.abs(load)
        return np.asarray(term.shape(v, drive.sign(v), drive) * load)

    def held_torques(self, motion: MotionSamples) -> tuple[Array, Array]:
        """Return the torques (N, n) of terms that are not estimated, of joints and of motors."""
        return self._sum(motion, lambda kind: KINDS[kind].group not in self._estimate)

    def nominal_torques(self, motion: MotionSamples, *, springs: bool) -> tuple[Array, Array]:
        """Return the nominal torques (N, n) of joints and motors: springs, or all other terms."""
        return self._sum(motion, lambda kind: (KINDS[kind].group == 'spring') == springs)

    def transmitted(self, motion: MotionSamples, values: Array) -> Array:
        """Return the torques of joints (N, n) of armatures, rotors and springs.

        `values` are those of the unknowns; held ones are nominal.
        """
        found = dict(zip(self.unknowns, values.tolist()))
        moving = ('armature', 'rotor', 'spring')
        joints, motors = self._sum(
            motion, lambda kind: kind == 'rotor' or KINDS[kind].group in moving, found
        )
        return joints + self.of_joints(motors)

    def _sum(
        self,
        motion: MotionSamples,
        chosen: Callable[[str], bool],
        found: dict[tuple[str, int], float] | None = None,
    ) -> tuple[Array, Array]:
        """Return the torques of some kinds, nominal unless found, of joints and of motors."""
        joints, motors = np.zeros((2, *motion.v.shape))
        for name, kind in KINDS.items():
            if not chosen(name):
                continue
            for k, drive in enumerate(self.drives):
                value = (found or {}).get((name, k), kind.nominal(drive))
                if not (kind.exists(drive) and value):
                    continue
                torque = value * (
                    self._of_term(kind.term, drive, name, k, motion)
                    if kind.term
                    else self.factors(name, k, motion)
                )
                (motors if kind.of_motor else joints)[:, k] += torque
        return joints, motors

    def sizes(self, torque: Array, v: Array, a: Array) -> Array:
        """Return the prior deviations of the unknowns: each could cause the whole torque.

        Arguments as in `Unknowns.deviations`.
        """
        return np.array([self._size(kind, k, torque, v, a) for kind, k in self.unknowns])

    def _size(self, kind: str, k: int, torque: Array, v: Array, a: Array) -> float:
        if kind in ('armature', 'rotor'):
            return float(torque[k] / max(a[k], 1e-3))
        if term := KINDS[kind].term:
            return 1.0 if term.by_load else float(torque[k] / max(v[k], 1e-3) ** term.power)
        if kind.startswith('counterbalance'):
            a_, b = (
                np.linalg.norm(pivot or (0.0,))
                for pivot in (
                    self.drives[k].counterbalance_on_parent,
                    self.drives[k].counterbalance_on_child,
                )
            )
            return float(torque[k] / b if kind.endswith('preload') else torque[k] / (b * (a_ + b)))
        return float(torque[k])

    def _of_motor(self, rates: Array, k: int) -> Array:
        """Return the rate (N,) of the motor of joint k."""
        return rates[:, k] if self._C is None else np.asarray(rates @ self._C[k])

    def _lever(self, q: Array, k: int) -> tuple[Array, Array]:
        """Return the distances (N,) of pivots, and the derivatives of half of their squares."""
        body = next(body for body in self._tree.bodies if body.joint == self.joints[k])
        found = np.array([lever(body, each)[:2] for each in q], dtype=float)
        return found[:, 0], found[:, 1]
