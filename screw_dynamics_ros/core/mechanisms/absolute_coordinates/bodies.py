# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies and joints of a system in absolute coordinates, as its user states them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import float_array, vector
from ...description.body_inertia import Inertia
from ...description.rigid_body import RigidBody
from ...errors import ArgumentError, InertiaError, UnknownNameError
from ...lie import se3
from ...lie._arrays import check_pose
from ...tree.multibody_tree import rotation_of_z_to
from ...types import Array
from .groups import SE3, check_group
from .lower_pairs import LowerPair

#: The name of what does not move.
GROUND = 'ground'


@dataclass(frozen=True, eq=False)
class AbsoluteBody:
    """One body, with a frame anywhere on it.

    Attributes
    ----------
    name : str
    inertia : Inertia
        Mass, center of mass in the body frame and inertia about it, resolved in the body frame.
    group : {'SE(3)', 'SO(3) x R^3'}
        Its configuration group, and with it what its velocity is: the body-fixed twist (omega, v),
        or (omega, r') with r' resolved in the inertial frame.

    Raises
    ------
    InertiaError
        If the inertia does not resist all motions.
    """

    name: str
    inertia: Inertia
    group: str = SE3

    def __post_init__(self) -> None:
        check_group(self.group)
        if self.name == GROUND:
            raise ArgumentError(f'a body cannot be named {GROUND!r}: that is what does not move')
        moments = np.linalg.eigvalsh(self.inertia.matrix)
        if not self.inertia.mass > 0.0 or not moments[0] > 0.0:
            raise InertiaError(
                f'body {self.name!r} has mass {self.inertia.mass:g} kg and principal moments '
                f'{moments} kg m^2: in absolute coordinates each body needs a mass and three '
                'moments > 0; complete its <inertial>, or weld it to its neighbor'
            )

    @property
    def mass_matrix(self) -> Array:
        """Inertia (6, 6) with respect to the body frame, angular part first [kg, kg m, kg m^2]."""
        return rigid_body(self.inertia).mass_matrix


@dataclass(frozen=True, eq=False)
class ConstraintJoint:
    """A lower pair between two bodies, or between the ground and a body.

    Attributes
    ----------
    name : str
    pair : LowerPair
        What it admits.
    parent : str
        The body it starts at; may be `GROUND`.
    child : str
        The body it leads to.
    parent_frame, child_frame : (4, 4) array
        Frames S_i, S_j of the joint in the frames of the bodies [m]: they coincide where the joint
        stands at zero. The 3-axis is the axis of the joint.
    """

    name: str
    pair: LowerPair
    parent: str
    child: str
    parent_frame: Array = field(default_factory=lambda: np.eye(4))
    child_frame: Array = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        if not isinstance(self.pair, LowerPair):
            raise ArgumentError(
                f'joint {self.name!r}: pair must be a LowerPair, got {self.pair!r}; take REVOLUTE '
                'or another one of lower_pairs'
            )
        for name in ('parent_frame', 'child_frame'):
            frame = float_array(f'joint {self.name!r}: {name}', getattr(self, name))
            if frame.shape != (4, 4) or not np.isfinite(frame).all():
                raise ArgumentError(
                    f'joint {self.name!r}: {name} must be a finite pose (4, 4), got {frame}'
                )
            check_pose(f'joint {self.name!r}: {name}', frame)
            object.__setattr__(self, name, frame)
        if self.child == GROUND:
            raise ArgumentError(
                f'joint {self.name!r} leads to the ground; exchange parent and child, and their '
                'frames'
            )
        if self.parent == self.child:
            raise ArgumentError(f'joint {self.name!r} connects {self.child!r} with itself')


def check_structure(bodies: Sequence[AbsoluteBody], joints: Sequence[ConstraintJoint]) -> None:
    """Raise errors about names that are taken twice or that nothing has."""
    if not bodies:
        raise ArgumentError('a system needs at least one body')
    names = [body.name for body in bodies]
    for kind, given in (('bodies', names), ('joints', [joint.name for joint in joints])):
        twice = sorted({name for name in given if given.count(name) > 1})
        if twice:
            raise ArgumentError(f'two {kind} are named {twice[0]!r}; names must differ')
    for joint in joints:
        for end in (joint.parent, joint.child):
            if end not in names and end != GROUND:
                raise UnknownNameError(
                    f'joint {joint.name!r} leads to {end!r}, which is no body; there are '
                    f'{GROUND}, {", ".join(names)}'
                )


def checked_configuration(bodies: Sequence[AbsoluteBody], q: ArrayLike) -> Array:
    """Return the configuration (7 n,) as an array; raises `ArgumentError` unless it is poses."""
    q = vector('configuration', 7 * len(bodies), q)
    poses = q.reshape(-1, 7)
    lengths = np.linalg.norm(poses[:, 3:], axis=1)
    valid = np.isfinite(poses).all(axis=1) & (np.abs(lengths - 1.0) < 1e-6)
    if not valid.all():
        raise ArgumentError(
            f'configuration: the pose of {bodies[int(np.argmin(valid))].name!r} is not finite, or '
            'its quaternion (x, y, z, w) has not the length 1'
        )
    return q


def rigid_body(inertia: Inertia) -> RigidBody:
    """Return an inertia as one that can be moved and added."""
    return RigidBody(inertia.mass, inertia.com, inertia.matrix)


def frame(position: ArrayLike = (0, 0, 0), axis: ArrayLike = (0, 0, 1)) -> Array:
    """Return the frame (4, 4) at a position [m] whose 3-axis is along `axis`.

    >>> frame([1, 0, 0], [0, 1, 0])[:3, 2:].round(6) + 0.0
    array([[0., 1.],
           [1., 0.],
           [0., 0.]])
    """
    position, axis = float_array('position', position), float_array('axis', axis)
    length = np.linalg.norm(axis)
    if position.shape != (3,) or axis.shape != (3,) or not length > 0.0:
        raise ArgumentError(f'a frame needs a position and an axis, got {position} and {axis}')
    return se3.pose(rotation_of_z_to(axis / length), position)
