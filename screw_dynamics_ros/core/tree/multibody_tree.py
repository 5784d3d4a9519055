# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The multibody tree the recursions run on: fixed links folded in, mimic joints mapped.

Each moving body i is connected to its predecessor p(i) by a joint with screw coordinates X_i given
in the body-fixed frame, C_{p,i}(q_i) = B_i exp(X_i q_i): the body-fixed product of exponentials
(Müller 2018a (8), K-13).
Body-fixed frames sit at the joint with the 3-axis along the joint axis, so that X_i is a unit
vector: the cheapest choice (D-31). Poses, Jacobians and wrenches of *links* are in the frames of
the description.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..description.body_inertia import Inertia
from ..description.drives import NO_DRIVE, Drive, drives_of
from ..description.friction import Friction
from ..description.joint_types import JOINT_TYPES
from ..description.robot_description import Joint, RobotDescription
from ..errors import UnknownNameError
from ..lie import se3, so3
from ..lie.joint_groups import BODY_GROUPS
from ..linear import cross
from ..reproducible import product, unit
from ..types import Array

GROUND = -1


def plain(value: Any) -> Any:
    """Return data classes, arrays and dicts as nested lists, with a complete `repr`."""
    if is_dataclass(value):
        return [plain(getattr(value, each.name)) for each in fields(value)]
    if isinstance(value, np.ndarray):
        return [value.shape, value.tolist()]
    if isinstance(value, dict):
        value = value.items()
    elif not isinstance(value, tuple | list):
        return value
    return [plain(each) for each in value]


def per_body(count: int) -> tuple[dict[int, Array], ...]:
    """Return empty tables of quantities that every body has, by the index of the body."""
    return tuple({} for _ in range(count))


@dataclass(frozen=True, eq=False)
class Body:
    """One moving body with the joint that carries it.

    Attributes
    ----------
    name : str
        The link that moves with the body (the first one, if fixed joints attach more).
    joint : str
        The joint that connects the body to its predecessor.
    parent : int
        Index of the predecessor, `GROUND` for the root frame.
    B : (4, 4) array
        Configuration in the predecessor's frame at q = 0 [m].
    X : (6, k) array
        Joint screws in the body frame (angular, linear): unit vectors.
    q, v : slice
        Where the joint's coordinates and velocities stand in the vectors of the robot.
    multiplier, offset : float
        Mimic map: the joint's own coordinate is multiplier * q[...] + offset (1, 0 otherwise).
    m, h, I : float, (3,) array, (3, 3) array
        Mass [kg], first moment m d [kg m], and inertia about the origin of the body frame [kg m^2].
    drive : Drive
        Reflected inertia at the joint, springs and friction.
    pivots : (2, 3) array, optional
        Of the counterbalance, in the predecessor's frame and in the body's own [m].
    is_rotor : bool
        A rotor that spins about an axis fixed in its predecessor; `name` is its carrier.
    massless_about_joint : bool
        The joint is not resisted by the body itself, only by what the body carries; so there may be
        configurations in which nothing resists it (set by `regrouped`).
    """

    name: str
    joint: str
    parent: int
    B: Array
    X: Array
    q: slice
    v: slice
    multiplier: float = 1.0
    offset: float = 0.0
    m: float = 0.0
    h: Array = field(default_factory=lambda: np.zeros(3))
    I: Array = field(default_factory=lambda: np.zeros((3, 3)))  # noqa: E741
    drive: Drive = NO_DRIVE
    pivots: Array | None = None
    is_rotor: bool = False
    massless_about_joint: bool = False

    @property
    def dof(self) -> int:
        """Number of degrees of freedom of the joint: 1, 3 on a ball joint, or 6 of a free body."""
        return self.X.shape[1]

    @property
    def group(self) -> Any:
        """The group of its configurations relative to the predecessor."""
        return BODY_GROUPS[self.dof]

    @cached_property
    def screw_terms(self) -> Array:
        """(4, 4, 4) array: the constants of exp(X q) of a single joint, see `unit_screw_terms`."""
        return se3.unit_screw_terms(self.X[:, 0])


@dataclass(frozen=True, eq=False)
class CoupledMotor:
    """A motor that turns with several joints (`Drive.coupled_joints`).

    Attributes
    ----------
    joint : str
    row : (nv,) array
        Its rate is row @ v, in units of its joint.
    inertia : float
        Of its rotor, in these units [kg m^2] ([kg]).
    friction : Friction
        At that rate.
    """

    joint: str
    row: Array
    inertia: float
    friction: Friction


@dataclass(frozen=True, eq=False)
class Frame:
    """The frame of a link: fixed at configuration S in the frame of moving body `body`.

    `parent` is the link that carries it (None for the root), `inertia` that of the description.
    """

    body: int
    S: Array
    parent: str | None = None
    inertia: Inertia | None = None


@dataclass(frozen=True)
class MovingJoint:
    """A joint as the description has it, and the coordinates it moves with (see `Body`)."""

    joint: Joint
    q: slice
    multiplier: float
    offset: float


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Limits of the joints that own coordinates, (number of joints,) each.

    Infinite where none is set; `lower`, `upper` in rad or m, `velocity` in rad/s or m/s, `effort`
    in N m or N.
    """

    lower: Array
    upper: Array
    velocity: Array
    effort: Array

    def __post_init__(self) -> None:
        for limit in (self.lower, self.upper, self.velocity, self.effort):
            limit.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Tree:
    """Moving bodies in an order in which every predecessor comes before its successors.

    Attributes
    ----------
    bodies : tuple of Body
    frames : dict of str to Frame
        Every link of the description, in the order of the description.
    joint_names : tuple of str
        The joints that own coordinates: movable and not mimic.
    coordinates : dict of str to (slice, slice)
        For each of them its place in q and in v.
    nq, nv : int
        Size of the configuration and of the velocity.
    limits : JointLimits
        Arrays over `joint_names`, infinite where the description sets none.
    fixed_mass, fixed_moment : float, (3,) array
        Mass and first moment, in the root frame, of what does not move (the root link of a fixed
        base).
    moving_joints : tuple of MovingJoint
        Every joint that is not fixed, mimic joints included, in the order of the description.
    motors : tuple of CoupledMotor
    with_friction : bool
        Whether the equations of motion have the friction of the drives in them.
    """

    bodies: tuple[Body, ...]
    frames: dict[str, Frame]
    joint_names: tuple[str, ...]
    coordinates: dict[str, tuple[slice, slice]]
    nq: int
    nv: int
    limits: JointLimits
    fixed_mass: float
    fixed_moment: Array
    moving_joints: tuple[MovingJoint, ...]
    motors: tuple[CoupledMotor, ...] = ()
    with_friction: bool = False

    @property
    def link_names(self) -> tuple[str, ...]:
        """All links, in depth-first order of the description."""
        return tuple(self.frames)

    def joint_coordinates(self, joint: str) -> tuple[slice, slice]:
        """Return where the coordinates and velocities of one of `joint_names` stand in q and v."""
        try:
            return self.coordinates[joint]
        except (KeyError, TypeError):
            raise UnknownNameError(
                f'no joint named {joint!r} with independent coordinates; '
                f'there are {", ".join(self.joint_names)}'
            ) from None

    @property
    def total_mass(self) -> float:
        """Mass of all links, the root link included [kg]."""
        return self.fixed_mass + sum(body.m for body in self.bodies)

    @property
    def free_bodies(self) -> tuple[Body, ...]:
        """Bodies whose coordinates contain a quaternion: free ones, and those on ball joints."""
        return tuple(body for body in self.bodies if body.dof > 1)

    @property
    def is_coupled(self) -> bool:
        """Whether two bodies share a coordinate, or a motor turns with several joints."""
        shared = len({body.v.start for body in self.bodies}) < len(self.bodies)
        return shared or bool(self.motors)

    @property
    def has_load_friction(self) -> bool:
        """Whether the friction of a drive depends on the torque that it transmits."""
        return any(body.drive.depends_on_load for body in self.bodies)

    @cached_property
    def coupled_inertias(self) -> Array:
        """C^T J C, (nv, nv), of the rotors that turn with several joints."""
        inertias = np.zeros((self.nv, self.nv))
        for motor in self.motors:
            inertias = inertias + motor.inertia * np.outer(motor.row, motor.row)
        return inertias

    @cached_property
    def digest(self) -> str:
        """Hash of everything that is in this tree: what the recursions compute depends on it."""
        return hashlib.sha256(repr(plain(self)).encode()).hexdigest()

    def frame(self, link: str) -> Frame:
        """Return the frame of `link`; raises `UnknownNameError` with the names that exist."""
        try:
            return self.frames[link]
        except (KeyError, TypeError):
            raise UnknownNameError(
                f'no link named {link!r}; the links are {", ".join(self.frames)}'
            ) from None

    def path(self, i: int) -> list[int]:
        """Return the indices of the bodies from the root to body i, i included."""
        path = []
        while i != GROUND:
            path.append(i)
            i = self.bodies[i].parent
        return path[::-1]


def rotation_of_z_to(axis: Array) -> Array:
    """Return a rotation whose third column is `axis`, a signed permutation if possible."""
    k = int(np.argmax(np.abs(axis)))
    if np.abs(axis).sum() == 1.0:  # the other components are exactly zero
        Q = np.eye(3)[:, [(k + 1) % 3, (k + 2) % 3, k]]
        return Q if axis[k] > 0 else Q @ np.diag([1.0, -1.0, -1.0])
    k = int(np.argmin(np.abs(axis)))
    x = unit(np.eye(3)[k] - axis * axis[k])
    return np.column_stack([x, cross(axis, x), axis])


def mimic_map(description: RobotDescription) -> dict[str, tuple[str, float, float]]:
    """Return `{joint: (master, multiplier, offset)}`, chains of mimic joints multiplied out.

    A joint without mimic is its own master. The description has no cycles (see `urdf`).
    """
    joints = {joint.name: joint for joint in description.joints}
    result = {}
    for name, joint in joints.items():
        multiplier, offset = 1.0, 0.0
        while joint.mimic is not None:
            offset += multiplier * joint.mimic.offset
            multiplier *= joint.mimic.multiplier
            joint = joints[joint.mimic.joint]
        result[name] = joint.name, multiplier, offset
    return result


def build_tree(
    description: RobotDescription,
    *,
    floating_base: bool = False,
    drives: Mapping[str, Drive] | None = None,
    friction: bool | None = None,
) -> Tree:
    """Return the multibody tree of a description.

    Parameters
    ----------
    description : RobotDescription
    floating_base : bool
        Whether the root link moves freely; its coordinates then come first in q and v.
    drives : {joint: Drive}, optional
        Joints not named have the friction of the description.
    friction : bool, optional
        Whether friction takes part in the equations of motion: defaults to True if `drives` is
        given (even empty). Springs always do.
    """
    driven = drives_of(description, drives)
    links = {link.name: link for link in description.links}
    masters = mimic_map(description)
    owners = [
        joint
        for joint in description.joints
        if not joint.kind.is_fixed and masters[joint.name][0] == joint.name
    ]
    base = JOINT_TYPES['floating' if floating_base else 'fixed']
    nq, nv = base.nq, base.nv
    coordinates = {}
    for joint in owners:
        dq, dv = joint.kind.nq, joint.kind.nv
        coordinates[joint.name] = slice(nq, nq + dq), slice(nv, nv + dv)
        nq, nv = nq + dq, nv + dv

    bodies: list[Body] = []
    frames: dict[str, Frame] = {}
    for X in base.screws():
        place = slice(0, base.nq), slice(0, base.nv)
        bodies.append(Body(description.root, '', GROUND, np.eye(4), X, *place))
    root = links[description.root].inertia
    frames[description.root] = Frame(0 if floating_base else GROUND, np.eye(4), None, root)
    for joint in description.joints:
        parent, inertia = frames[joint.parent], links[joint.child].inertia
        placement = product(parent.S, joint.origin)
        if joint.kind.is_fixed:
            frames[joint.child] = Frame(parent.body, placement, joint.parent, inertia)
            continue
        Q = np.eye(4)
        if joint.kind.has_axis:
            Q[:3, :3] = rotation_of_z_to(joint.axis)
        master, multiplier, offset = masters[joint.name]
        q, v = coordinates[master]
        predecessor, B = parent.body, product(placement, Q)
        for k, X in enumerate(joint.kind.screws(joint.pitch)):  # several have one freedom each
            group = BODY_GROUPS[X.shape[1]]
            own_q, own_v = (
                slice(s.start + k, s.start + k + n) for s, n in ((q, group.nq), (v, group.nv))
            )
            body = Body(joint.child, joint.name, predecessor, B, X, own_q, own_v)
            drive = driven.get(joint.name, NO_DRIVE)
            body = replace(body, multiplier=multiplier, offset=offset, drive=drive)
            bodies.append(replace(body, pivots=pivots_of(drive, parent.S, Q.T)))
            predecessor, B = len(bodies) - 1, np.eye(4)
        frames[joint.child] = Frame(predecessor, Q.T, joint.parent, inertia)

    mass: dict[int, tuple[Any, ...]] = {
        i: (0.0, np.zeros(3), np.zeros((3, 3))) for i in range(GROUND, len(bodies))
    }
    for frame in frames.values():
        if frame.inertia is not None:
            part = inertia_in(frame, frame.inertia)
            mass[frame.body] = tuple(total + one for total, one in zip(mass[frame.body], part))
    for i, body in enumerate(bodies):
        m, h, I = mass[i]  # noqa: E741
        bodies[i] = replace(body, m=m, h=h, I=I)
    for joint in description.joints:
        if joint.name in driven and driven[joint.name].rotor_axis is not None:
            add_rotor(bodies, frames, joint)
    return Tree(
        bodies=tuple(bodies),
        frames=frames,
        joint_names=tuple(joint.name for joint in owners),
        coordinates=coordinates,
        nq=nq,
        nv=nv,
        limits=JointLimits(
            *(
                np.array([getattr(joint.limits, field) for joint in owners], dtype=float)
                for field in ('lower', 'upper', 'velocity', 'effort')
            )
        ),
        fixed_mass=mass[GROUND][0],
        fixed_moment=mass[GROUND][1],
        moving_joints=tuple(
            MovingJoint(joint, coordinates[masters[joint.name][0]][0], *masters[joint.name][1:])
            for joint in description.joints
            if not joint.kind.is_fixed
        ),
        motors=tuple(
            coupled_motor(joint, drive, coordinates, nv)
            for joint, drive in driven.items()
            if drive.coupled_joints
        ),
        with_friction=drives is not None if friction is None else friction,
    )


def coupled_motor(
    joint: str, drive: Drive, coordinates: Mapping[str, tuple[slice, slice]], nv: int
) -> CoupledMotor:
    """Return the motor of a joint that other joints turn as well."""
    row = np.zeros(nv)
    for name, ratio in ((joint, 1.0), *drive.ratios.items()):
        row[coordinates[name][1]] = ratio
    return CoupledMotor(joint, row, drive.motor_inertia, drive.of_motor)


def add_rotor(bodies: list[Body], frames: dict[str, Frame], joint: Joint) -> None:
    """Append the rotor of a joint's drive: a body without mass that mimics the joint (C-054).

    Its inertia about its axis is subtracted from the link that carries it, which included it.
    """
    driven = next(body for body in bodies if body.joint == joint.name)
    drive = driven.drive
    carrier = drive.carrier or joint.parent
    frame = frames[carrier]
    B = frame.S.copy()
    B[:3, :3] = product(B[:3, :3], rotation_of_z_to(np.array(drive.rotor_axis)))
    if frame.body != GROUND:
        axis = B[:3, 2]
        body = bodies[frame.body]
        held = drive.rotor_inertia * np.outer(axis, axis)
        bodies[frame.body] = replace(body, I=body.I - held)
    bodies.append(
        Body(
            name=carrier,
            joint=f'rotor of {joint.name}',
            parent=frame.body,
            B=B,
            X=np.eye(6)[:, [2]],
            q=driven.q,
            v=driven.v,
            multiplier=drive.gear_ratio * driven.multiplier,
            I=np.diag([0.0, 0.0, drive.rotor_inertia]),
            is_rotor=True,
        )
    )


def pivots_of(drive: Drive, parent: Array, child: Array) -> Array | None:
    """Return the pivots (2, 3) of a counterbalance in the frames of the predecessor and the body.

    `parent` and `child` (4, 4) are the configurations of the joint's links in these frames.
    """
    if drive.counterbalance_on_parent is None:
        return None
    ends = (parent, drive.counterbalance_on_parent), (child, drive.counterbalance_on_child)
    return np.stack([point_in(S, np.array(point)) for S, point in ends])


def point_in(S: Array, point: ArrayLike) -> Array:
    """Return a point (3,) of a frame at configuration S (4, 4) in the frame that carries it."""
    return product(S[:3, :3], np.asarray(point, dtype=float)[:, None])[:, 0] + S[:3, 3]


def inertia_in(frame: Frame, inertia: Inertia) -> tuple[float, Array, Array]:
    """Return mass, first moment and inertia in the body that carries `frame` (D-17)."""
    R = frame.S[:3, :3]
    d = product(R, inertia.com[:, None])[:, 0] + frame.S[:3, 3]
    about_com = product(R, inertia.matrix, R.T)
    return (
        inertia.mass,
        inertia.mass * d,
        about_com - inertia.mass * product(so3.hat(d), so3.hat(d)),
    )
