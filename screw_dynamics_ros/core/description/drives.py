# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drives of joints: rotor with gear, coupled motors, springs and friction.

A rotor of inertia J that rotates G times as fast as its joint has the reflected inertia G^2 J. This
is sufficient if the gear ratio is large; in general the rotor also has the angular momentum J G q'
along an axis of the link it is mounted on, so that the angular acceleration of that link causes a
joint torque, and the link is subject to a gyroscopic moment. With `rotor_axis` these are exact.
Friction has a table of its terms, `friction.FRICTION`.

Source: Bruyninckx 2010, section 6.2.6, which leaves the axis of the rotor open (C-054).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import is_number
from ..compile.program.tracing import clamp
from ..errors import ArgumentError, DescriptionError, UnknownNameError
from ..reproducible import product, unit
from .friction import FRICTION, Friction, NumberBounds, number
from .joint_types import scalar_types
from .motor_coupling import check_coupled_joints, check_motors_move_joints

if TYPE_CHECKING:
    from .robot_description import Joint, RobotDescription

Vector = tuple[float, float, float]

#: Pivots of a counterbalance.
PIVOTS = ('counterbalance_on_parent', 'counterbalance_on_child')

#: Fields that mimic joints cannot have, and whether joints that are mimicked cannot either.
SHARED = {
    'load_friction': True,
    'bristle_stiffness': True,
    'stall_torque': False,
    'peak_torque': False,
}

#: Of the pivots of a counterbalance, from the axis and from each other [m].
MIN_LEVER = 1e-6


@dataclass(frozen=True)
class Drive(Friction):
    """Drive of a joint with one degree of freedom; units of revolute, prismatic joints.

    Its friction has the fields of `Friction`; all fields after `armature` are given by name.

    Attributes
    ----------
    rotor_inertia : float
        J, inertia of the rotor about its own axis [kg m^2].
    gear_ratio : float
        G, rotation of the rotor per displacement of the joint [rad/rad, rad/m]; its sign has an
        effect only with `rotor_axis`.
    armature : float
        Additional reflected inertia at the joint, such as that of gears [kg m^2, kg].
    rotor_axis : (float, float, float), optional
        Axis of the rotor in the frame of its carrier, for positive joint rate times `gear_ratio`.
        Without it (zeros) only the reflected inertia of the rotor is included.
    carrier : str, optional
        Link on which the motor is mounted, with `rotor_axis`; by default the parent of the joint.
        Its inertia in the description includes the motor with locked rotor, as exported by CAD
        programs.
    coupled_joints : tuple of str
        Other joints that turn the motor of this one, as in wrists with concentric shafts. The rotor
        turns with the motor, and measured efforts are those of the motors.
    coupling_ratios : tuple of float
        Share of their displacement that each adds to that of this joint [rad/rad, rad/m, m/rad].
    spring_stiffness : float
        Stiffness of a spring along the joint [N m/rad, N/m].
    spring_position : float
        Joint position at which this spring is relaxed [rad, m].
    counterbalance_on_parent : (float, float, float), optional
        Pivot of a counterbalance (coil or gas spring beside the joint) in the frame of the parent
        link [m].
    counterbalance_on_child : (float, float, float), optional
        Pivot of the counterbalance in the frame of the child link [m].
    counterbalance_preload : float
        Preload of the counterbalance [N]. Its tension is preload + stiffness * distance of the
        pivots. Coil spring: -stiffness * rest length.
    counterbalance_stiffness : float
        Stiffness of the counterbalance [N/m].
    torque_constant : float
        Torque of the motor per current, before the gear [N m/A]; 0: not known.
    cogging : float
        Amplitude of the cogging torque of the motor, at the joint [N m, N]: c sin(n q + phase) at
        the position q, as of a spring.
    cogging_order : float
        n, periods of the cogging per 2 pi of the joint position [1, rad/m].
    cogging_phase : float
        Phase of the cogging at the joint position 0 [rad].
    stall_torque : float
        Torque of the motor at rest, at the joint [N m, N]. With `no_load_speed` it is the line of
        speed and torque of a DC motor at its supply voltage; 0: no such line.
    no_load_speed : float
        Speed at which the motor has no torque left, at the joint [rad/s, m/s].
    peak_torque : float
        Largest torque of the motor, as by the current of its driver, at the joint [N m, N]; 0: no
        such limit.

    Raises
    ------
    ArgumentError
        A number that is not finite or out of range; names the field.

    Examples
    --------
    >>> drive = Drive(rotor_inertia=2e-5, gear_ratio=100, damping=0.1, coulomb=0.5, breakaway=0.8)
    >>> round(drive.reflected_inertia, 6)
    0.2
    >>> drive.friction(np.array([-1.0, 0.0, 1.0])).round(4)
    array([-0.6029,  0.    ,  0.6029])
    """

    rotor_inertia: float = number(minimum=0.0)
    gear_ratio: float = number(1.0)
    armature: float = number(minimum=0.0, described='armature')
    _: KW_ONLY
    rotor_axis: Vector | None = None
    carrier: str | None = None
    coupled_joints: tuple[str, ...] = ()
    coupling_ratios: tuple[float, ...] = ()
    spring_stiffness: float = number(minimum=0.0, described='spring_stiffness')
    spring_position: float = number(described='spring_position')
    counterbalance_on_parent: Vector | None = None
    counterbalance_on_child: Vector | None = None
    counterbalance_preload: float = number()
    counterbalance_stiffness: float = number()
    torque_constant: float = number(minimum=0.0)
    cogging: float = number(minimum=0.0)
    cogging_order: float = number(minimum=0.0)
    cogging_phase: float = number()
    stall_torque: float = number(minimum=0.0)
    no_load_speed: float = number(minimum=0.0)
    peak_torque: float = number(minimum=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gear_ratio == 0.0:
            raise ArgumentError('Drive: gear_ratio is 0; a rotor that turns with its joint has 1')
        if self.rotor_axis is not None:
            object.__setattr__(self, 'rotor_axis', _unit(self.rotor_axis))
        elif self.carrier is not None:
            raise ArgumentError(
                f'Drive: carrier is {self.carrier!r} but there is no rotor_axis; the carrier '
                'matters for the spin of the rotor only, so give its axis too'
            )
        self._check_coupling()
        self._check_counterbalance()
        if self.cogging and not self.cogging_order:
            raise ArgumentError(
                f'Drive: cogging is {self.cogging} and cogging_order 0; give its periods per turn '
                'of the joint'
            )
        if bool(self.stall_torque) != bool(self.no_load_speed):
            raise ArgumentError(
                f'Drive: stall_torque is {self.stall_torque} and no_load_speed '
                f'{self.no_load_speed}; give both, which are the ends of one line, or none'
            )

    def _check_coupling(self) -> None:
        """Refuse ratios that are not numbers, and what only a coupled motor has."""
        names, ratios = tuple(self.coupled_joints), tuple(self.coupling_ratios)
        if len(names) != len(ratios) or len(set(names)) < len(names):
            raise ArgumentError(
                f'Drive: {len(ratios)} coupling_ratios for the coupled_joints '
                f'{", ".join(map(str, names)) or "(none)"}; give one for each, and each joint once'
            )
        for joint, ratio in zip(names, ratios):
            if not (is_number(ratio) and math.isfinite(ratio) and ratio):
                raise ArgumentError(
                    f'Drive: the coupling_ratio of {joint!r} is {ratio!r}; give a finite number '
                    'that is not 0'
                )
        object.__setattr__(self, 'coupled_joints', names)
        object.__setattr__(self, 'coupling_ratios', ratios)
        refused = {'rotor_axis': self.rotor_axis, 'stall_torque': self.stall_torque}
        for name, value in (refused | {'peak_torque': self.peak_torque}).items():
            if ratios and value:
                raise ArgumentError(
                    f'Drive: a motor with coupled_joints has no {name}; leave it out'
                )
        of_motor = {row.motor: name for name, row in FRICTION.items() if row.motor}
        if not ratios and any(getattr(self, name) for name in of_motor):
            raise ArgumentError(
                f'Drive: {" and ".join(of_motor)} are those of a motor with coupled_joints; '
                f'without them give {" and ".join(of_motor.values())}'
            )

    def _check_counterbalance(self) -> None:
        """Refuse a counterbalance without two pivots, or pivots without a spring."""
        given = [name for name in PIVOTS if getattr(self, name) is not None]
        acts = bool(self.counterbalance_preload or self.counterbalance_stiffness)
        if (len(given) == 2) != acts or len(given) == 1:
            raise ArgumentError(
                f'Drive: a counterbalance needs {" and ".join(PIVOTS)}, and counterbalance_preload '
                f'or counterbalance_stiffness; given are only {", ".join(given) or "the forces"}'
            )
        for name in given:
            point = finite_vector(getattr(self, name))
            if point is None:
                raise ArgumentError(
                    f'Drive: {name} is {getattr(self, name)!r}; give three finite numbers [m]'
                )
            object.__setattr__(self, name, point)

    @property
    def reflected_inertia(self) -> float:
        """Reflected inertia d at the joint, without that of moved bodies [kg m^2] ([kg]).

        With a `rotor_axis` the rotor is such a body, with `coupled_joints` it turns with several
        joints; d is the armature alone then.
        """
        moves_alone = self.rotor_axis is None and not self.coupled_joints
        return self.armature + (self.motor_inertia if moves_alone else 0.0)

    @property
    def ratios(self) -> dict[str, float]:
        """Ratios of the coupled joints by name."""
        return dict(zip(self.coupled_joints, self.coupling_ratios))

    @property
    def motor_inertia(self) -> float:
        """G^2 J, the inertia of the rotor in units of the joint [kg m^2] ([kg])."""
        return self.gear_ratio**2 * self.rotor_inertia

    def available_torques(self, rate: Any, limit: float = math.inf) -> tuple[Any, Any]:
        """Return the lowest and the highest torque of the motor at a joint rate [N m, N].

        Torques in the direction of motion fall from `stall_torque` at rest to 0 at `no_load_speed`;
        all of it brakes. Both are bounded by `peak_torque` and by `limit`. Can be recorded.

        Source: the characteristic of a DC motor at constant voltage, as on data sheets.

        Parameters
        ----------
        rate : float or array
            [rad/s, m/s]
        limit : float
            Of the joint [N m, N].

        Examples
        --------
        >>> motor = Drive(stall_torque=10.0, no_load_speed=5.0, peak_torque=6.0)
        >>> lowest, highest = motor.available_torques(np.array([-5.0, 0.0, 1.0, 4.0, 9.0]))
        >>> highest, lowest
        (array([6., 6., 6., 2., 0.]), array([ 0., -6., -6., -6., -6.]))
        """
        most = min(limit, self.peak_torque or math.inf, self.stall_torque or math.inf)
        if not self.stall_torque:
            return 0.0 * rate - most, 0.0 * rate + most
        slope = self.stall_torque / self.no_load_speed
        return (
            clamp(-self.stall_torque - slope * rate, -most, 0.0),
            clamp(self.stall_torque - slope * rate, 0.0, most),
        )

    @property
    def torque_per_current(self) -> float:
        """Joint torque per current of the motor, `gear_ratio` times `torque_constant` [N m/A, N/A].

        The `effort_scale` of a driver that reports currents, and the `torque_constants` of a
        simulated one; losses of the gear are friction. Raises ArgumentError without a constant.

        >>> drive = Drive(gear_ratio=-50.0, torque_constant=0.04)
        >>> drive.torque_per_current, 6.0 / drive.torque_per_current  # A that give 6 N m
        (-2.0, -3.0)
        """
        if not self.torque_constant:
            raise ArgumentError('Drive: torque_constant is 0; give that of the motor [N m/A]')
        return self.gear_ratio * self.torque_constant

    @property
    def limits_torque(self) -> bool:
        """Whether the motor has a line of speed and torque, or a peak torque."""
        return bool(self.stall_torque or self.peak_torque)

    @property
    def has_spring(self) -> bool:
        """Whether there is a spring along the joint, a counterbalance beside it, or cogging."""
        along = bool(self.spring_stiffness or self.cogging)
        return along or self.counterbalance_on_parent is not None


#: The fields of `Drive` by name, those of friction last.
DRIVE_FIELDS = {
    each.name: each for each in sorted(fields(Drive), key=lambda each: hasattr(Friction, each.name))
}
BOUNDS: dict[str, NumberBounds] = {
    name: each.metadata.get('bounds', NumberBounds()) for name, each in DRIVE_FIELDS.items()
}
VECTORS = tuple(name for name, each in DRIVE_FIELDS.items() if each.type == 'Vector | None')


def drive_of(joint: str, values: Mapping[str, Any], described: Drive) -> Drive:
    """Return the drive of a joint, of values by the names of the fields of `Drive`.

    Zero means: friction, armature and spring as in the description, breakaway as coulomb, no rotor
    axis, no counterbalance; an empty carrier means the parent link. Fields without a value are
    zero, or as in `Drive`.

    Raises ArgumentError for values that cannot be, and other names.
    """
    unknown = [name for name in values if name not in DRIVE_FIELDS]
    if unknown:
        raise ArgumentError(
            f'drives.{joint}: a drive has no {unknown[0]!r}, but {", ".join(DRIVE_FIELDS)}'
        )
    given: dict[str, Any] = dict(values)
    has_spring = bool(given.get('spring_stiffness'))
    for name, each in DRIVE_FIELDS.items():
        if BOUNDS[name].described and not (has_spring and name == 'spring_position'):
            given[name] = given.get(name) or getattr(described, name)
        elif each.default is None and name not in VECTORS:
            given[name] = given.get(name) or None
    given['coupled_joints'] = tuple(each for each in given.get('coupled_joints', ()) if each)
    acts = given.get('counterbalance_preload') or given.get('counterbalance_stiffness')
    for name in VECTORS:
        vector = given.get(name, ())
        if np.shape(vector) not in ((0,), (3,)):
            raise ArgumentError(f'drives.{joint}: {name} is {vector!r}; give three numbers')
        is_given = any(vector) if name == 'rotor_axis' else acts and len(vector)
        given[name] = tuple(vector) if is_given else None
    try:
        return Drive(**given)
    except ArgumentError as error:
        text = str(error).removeprefix('Drive: ')
        raise ArgumentError(f'drives.{joint}: {text}') from None


def drives_of(
    description: RobotDescription, given: Mapping[str, Drive] | None = None
) -> dict[str, Drive]:
    """Return the drives of joints with one degree of freedom and of balls, given or described.

    A description can have viscous and Coulomb friction, armature and a spring (`<dynamics>`).
    A ball has an armature and a damping, the same about all axes; planar and floating joints have
    no drive.

    Raises
    ------
    ArgumentError
        If a value is not a `Drive`, a joint does not have one degree of freedom, the pivots of a
        counterbalance meet in some position, or give it no lever, or coupled motors do not
        determine their joints.
    DescriptionError
        Friction in the description is negative or not finite.
    UnknownNameError
        A joint or the carrier of a rotor does not exist.
    """
    joints = {joint.name: joint for joint in description.joints}
    links = [link.name for link in description.links]
    if not isinstance(given, Mapping | None):
        raise ArgumentError(f'drives must be a dict {{joint: Drive}}, got {given!r}')
    for name, drive in (given or {}).items():
        if name not in joints:
            raise UnknownNameError(
                f'drives: no joint named {name!r}; the joints are {", ".join(joints)}'
            )
        if not isinstance(drive, Drive):
            raise ArgumentError(f'drives: {name!r} must be given a Drive, got {drive!r}')
        if not joints[name].kind.has_drive:
            raise ArgumentError(
                f'drives: joint {name!r} is {joints[name].type}; only {scalar_types()} joints and '
                'balls have a drive'
            )
        if drive.carrier is not None and drive.carrier not in links:
            raise UnknownNameError(
                f'drives: no link named {drive.carrier!r} to carry the rotor of {name!r}; '
                f'the links are {", ".join(links)}'
            )
        _check_pivots(joints[name], drive)
        check_coupled_joints(name, drive, joints)
        followed = {other.mimic.joint for other in description.joints if other.mimic is not None}
        mimics = joints[name].mimic is not None
        for field, is_refused in SHARED.items():
            if getattr(drive, field) and (mimics or (is_refused and name in followed)):
                raise ArgumentError(
                    f'drives: {name!r} mimics a joint or is mimicked, and has a {field}: how '
                    f'mimic joints share a torque is not determined; leave {field} out'
                )
    check_motors_move_joints(given or {})
    driven = {name: joint for name, joint in joints.items() if joint.kind.has_drive}
    drives = {name: (given or {}).get(name) or _described(joint) for name, joint in driven.items()}
    for name, drive in drives.items():
        isotropic = Drive(armature=drive.armature, damping=drive.damping)
        if not joints[name].kind.is_scalar and drive != isotropic:
            raise (ArgumentError if name in (given or {}) else DescriptionError)(
                f'drives: joint {name!r} is a {joints[name].type}, whose drive has an armature and '
                'a damping only; leave out friction, spring and all else'
            )
    return drives


def _check_pivots(joint: Joint, drive: Drive) -> None:
    """Refuse a counterbalance that has no torque, or no direction somewhere."""
    if drive.counterbalance_on_parent is None:
        return
    R, r = joint.origin[:3, :3], joint.origin[:3, 3]
    ends = [
        product(R.T, (np.array(drive.counterbalance_on_parent) - r)[:, None])[:, 0],
        np.array(drive.counterbalance_on_child),
    ]
    heights = np.array([(end * joint.axis).sum() for end in ends])
    beside = [end - height * joint.axis for end, height in zip(ends, heights)]
    if joint.kind.turns:  # keeps radii, and heights unless it has a pitch
        radii = np.sqrt([(each * each).sum() for each in beside])
        if radii.min() < MIN_LEVER:
            raise ArgumentError(
                f'drives: a pivot of the counterbalance of {joint.name!r} is on the axis of the '
                'joint, so that its force gives no torque; give pivots beside the axis'
            )
        apart = [np.ptp(radii), 0.0 if joint.pitch else np.ptp(heights)]
    else:
        apart = beside[1] - beside[0]
    if np.abs(apart).max() < MIN_LEVER:
        raise ArgumentError(
            f'drives: the pivots of the counterbalance of {joint.name!r} meet in some position of '
            'the joint, where its force has no direction; give other pivots'
        )


def _described(joint: Joint) -> Drive:
    """Return the drive of a joint in a description."""
    found = {name: getattr(joint, b.described) for name, b in BOUNDS.items() if b.described}
    for name, value in found.items():
        reason = 'friction takes energy away, so ' if hasattr(Friction, name) else ''
        if not (is_number(value) and BOUNDS[name].minimum <= value < math.inf):
            raise DescriptionError(
                f'joint {joint.name!r}: {BOUNDS[name].described} is {value!r}; {reason}give a '
                'number that is not negative'
            )
    return Drive(**found)


def _unit(axis: Vector) -> Vector:
    direction = finite_vector(axis)
    if direction is None or not any(direction):
        raise ArgumentError(f'Drive: rotor_axis is {axis!r}; give three numbers, not all zero')
    x, y, z = unit(np.array(direction)).tolist()
    return x, y, z


def finite_vector(given: Any) -> Vector | None:
    """Return three finite numbers, or None for other values."""
    try:
        x, y, z = (float(each) for each in given)
    except (TypeError, ValueError):
        return None
    return (x, y, z) if all(map(math.isfinite, (x, y, z))) else None


#: A joint with this drive has no reflected inertia and no friction.
NO_DRIVE = Drive()
