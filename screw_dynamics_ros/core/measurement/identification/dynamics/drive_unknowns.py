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

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core.description.drives import Drive
from screw_dynamics_ros.core.description.motor_coupling import motor_coupling
from screw_dynamics_ros.core.dynamics.drive_forces import lever
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array

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
    """

    group: str
    units: tuple[str, str]
    nominal: Callable[[Drive], float]
    of_motor: bool = False
    exists: Callable[[Drive], bool] = lambda drive: True


def is_coupled(drive: Drive) -> bool:
    """Whether a motor is coupled to several joints."""
    return bool(drive.coupled_joints)


def has_counterbalance(drive: Drive) -> bool:
    """Whether there is a spring with two pivots."""
    return drive.counterbalance_on_parent is not None


KINDS = {
    'armature': Kind('armature', ('kg m^2', 'kg'), lambda d: d.reflected_inertia),
    'damping': Kind('friction', ('N m s/rad', 'N s/m'), lambda d: d.damping),
    'coulomb': Kind('friction', ('N m', 'N'), lambda d: d.coulomb),
    'stribeck': Kind('friction', ('N m', 'N'), lambda d: 0.0),
    'load_friction': Kind(
        'friction', ('1', '1'), lambda d: d.load_friction, exists=lambda d: d.load_friction > 0.0
    ),
    'rotor': Kind('armature', ('kg m^2', 'kg'), lambda d: d.motor_inertia, True, is_coupled),
    'motor_damping': Kind(
        'friction', ('N m s/rad', 'N s/m'), lambda d: d.motor_damping, True, is_coupled
    ),
    'motor_coulomb': Kind('friction', ('N m', 'N'), lambda d: d.motor_coulomb, True, is_coupled),
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
    'offset': Kind('offset', ('N m', 'N'), lambda d: 0.0, of_motor=True),
}

#: Kinds that may be negative.
SIGNED = ('offset', 'counterbalance_preload')


class DriveUnknowns:
    """The unknowns of the drives of a robot.

    Attributes
    ----------
    joints : tuple of str
    drives : list of n Drive
    unknowns : list of (str, int)
        Kind, and index of the joint.
    """

    def __init__(
        self,
        robot: DynamicModel,
        estimate: frozenset[str],
        stribeck_speed: float | None,
        smoothing: float,
    ) -> None:
        self.joints, self._tree = robot.joint_names, robot.tree
        drives = robot.drives  # each access computes them
        self.drives = [drives[joint] for joint in self.joints]
        self._estimate, self._speed, self._smoothing = estimate, stribeck_speed, smoothing
        self.unknowns = [
            (name, k)
            for name, kind in KINDS.items()
            for k, drive in enumerate(self.drives)
            if kind.group in estimate
            and kind.exists(drive)
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
        return any(drive.load_friction for drive in self.drives)

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
        if kind == 'damping':
            return motion.v[:, k]
        if kind == 'coulomb':
            return self.direction(motion.v[:, k])
        if kind == 'stribeck':
            v = motion.v[:, k]
            return np.asarray(self.direction(v) / (1.0 + (v / (self._speed or 1.0)) ** 2))
        if kind == 'load_friction':
            return np.asarray(self.direction(motion.v[:, k]) * np.abs(motion.L[:, k]))
        if kind == 'rotor':
            return self._of_motor(motion.a, k)
        if kind == 'motor_damping':
            return self._of_motor(motion.v, k)
        if kind == 'motor_coulomb':
            return self.direction(self._of_motor(motion.v, k))
        if kind == 'spring_stiffness':
            return motion.q[:, k] - self.drives[k].spring_position
        if kind == 'offset':
            return -np.ones(len(motion.q))
        length, first = self._lever(motion.q, k)
        return first / length if kind == 'counterbalance_preload' else first

    def direction(self, v: Array) -> Array:
        """Return the smooth sign of velocities, as of `Drive.friction`."""
        return np.asarray(v / np.sqrt(v**2 + self._smoothing**2))

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
            if not chosen(name) or name == 'stribeck':
                continue
            for k, drive in enumerate(self.drives):
                if not kind.exists(drive):
                    continue
                if name == 'coulomb':  # the nominal law also has a breakaway torque
                    v = motion.v[:, k]
                    torque = drive.friction(v) - drive.damping * v
                else:
                    value = (found or {}).get((name, k), kind.nominal(drive))
                    if not value:
                        continue
                    torque = value * self.factors(name, k, motion)
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
        if kind in ('damping', 'motor_damping'):
            return float(torque[k] / max(v[k], 1e-3))
        if kind == 'load_friction':
            return 1.0
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
