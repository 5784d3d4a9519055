# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The types of joints, one row each: everything that depends on the type asks its row.

The child frame has its 3-axis along the joint axis here. A joint of several freedoms is one body
with a free pose or orientation, or several bodies in series: a planar joint is two
translations in the plane and a rotation about its normal (macro joint, K-10).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..lie.joint_groups import BODY_GROUPS, VectorGroup
from ..types import Array

#: Components of twists, angular part first; the axis is the third of each part.
_ABOUT_AXIS, _ALONG_AXIS = 2, 5


@dataclass(frozen=True)
class JointType:
    """What a joint of this type lets its child link do.

    Attributes
    ----------
    name : str
        As `Joint.type` and a URDF have it.
    freedoms : tuple of tuple of int
        For each body of the joint the components of its twist that are free, angular part first.
    pair : str
        The lower pair in absolute coordinates, '' if there is none.
    has_range : bool
        Whether there are limits of position.
    is_periodic : bool
        Whether positions that differ by 2 pi are the same.
    has_pitch : bool
        Whether the child advances along the axis as it turns; see `Joint.pitch`.
    in_urdf : bool
        Whether other programs read such joints in a URDF; here all types may be in one.
    """

    name: str
    freedoms: tuple[tuple[int, ...], ...]
    pair: str = ''
    has_range: bool = False
    is_periodic: bool = False
    has_pitch: bool = False
    in_urdf: bool = True

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return sum(map(len, self.freedoms))

    @property
    def group(self) -> Any:
        """The group of its configurations: that of its only body, or R^n."""
        return BODY_GROUPS[self.nv] if len(self.freedoms) == 1 else VectorGroup(self.nv)

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.group.nq

    @property
    def has_quaternion(self) -> bool:
        """Whether the coordinates contain a quaternion and do not add."""
        return self.nq > self.nv

    @property
    def is_fixed(self) -> bool:
        """Whether nothing moves."""
        return not self.freedoms

    @property
    def is_scalar(self) -> bool:
        """Whether there is one coordinate, its rate the velocity."""
        return self.nv == 1

    @property
    def is_free(self) -> bool:
        """Whether every motion is admitted."""
        return self.nv == 6

    @property
    def has_drive(self) -> bool:
        """Whether there may be friction and inertia of a drive: of a ball isotropic ones."""
        return self.is_scalar or (self.has_quaternion and not self.is_free)

    @property
    def has_axis(self) -> bool:
        """Whether the axis has a meaning."""
        return not (self.is_fixed or self.has_quaternion)

    @property
    def turns(self) -> bool:
        """Whether the child turns; the coordinate of a scalar joint is an angle [rad] then."""
        return any(k < 3 for body in self.freedoms for k in body)

    @property
    def slides(self) -> bool:
        """Whether the child has a free translation [m]."""
        return any(k >= 3 for body in self.freedoms for k in body)

    @property
    def position_unit(self) -> str:
        """Unit of the coordinate of a scalar joint."""
        return 'rad' if self.turns else 'm'

    @property
    def effort_unit(self) -> str:
        """Unit of the effort of a scalar joint; effort times rate is power [W]."""
        return 'N m' if self.turns else 'N'

    def screws(self, pitch: float = 0.0) -> tuple[Array, ...]:
        """Return the unit screws (6, k) of each body in a frame with its 3-axis along the axis.

        A screw of pitch h [m/rad] about e is (e, h e). Source: Bruyninckx 2010, (2.14) (B-024).
        """
        screws = tuple(np.eye(6)[:, list(body)] for body in self.freedoms)
        if self.has_pitch:
            screws[0][_ALONG_AXIS] = pitch
        return screws


_ROTATION, _TRANSLATION = ((_ABOUT_AXIS,),), ((_ALONG_AXIS,),)

JOINT_TYPES = {
    row.name: row
    for row in (
        JointType('revolute', _ROTATION, 'revolute', has_range=True),
        JointType('continuous', _ROTATION, 'revolute', is_periodic=True),
        JointType('prismatic', _TRANSLATION, 'prismatic', has_range=True),
        JointType('fixed', ()),
        JointType('floating', (tuple(range(6)),)),
        JointType('ball', ((0, 1, 2),), 'spherical', in_urdf=False),
        JointType('planar', ((3,), (4,), (_ABOUT_AXIS,)), 'planar'),
        JointType('helical', _ROTATION, 'helical', has_range=True, has_pitch=True, in_urdf=False),
    )
}


def scalar_types(conjunction: str = 'and') -> str:
    """Return the names of the types with one coordinate, for messages.

    >>> scalar_types('or')
    'revolute, continuous, prismatic or helical'
    """
    *names, last = (row.name for row in JOINT_TYPES.values() if row.is_scalar)
    return f'{", ".join(names)} {conjunction} {last}'
