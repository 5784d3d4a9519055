# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The configurations and states of n free bodies as Lie groups, with a choice for each body.

A body has the configuration C = (R, r). Two groups give the same set of configurations:

==============  =====================  ============================  ==============================
group           product                velocity C^-1 C'              exp (xi, eta)
==============  =====================  ============================  ==============================
`SE3`           (R1 R2, r1 + R1 r2)    body-fixed twist (omega, v)   (exp xi, dexp_xi eta)
`SO3xR3`        (R1 R2, r1 + r2)       hybrid (omega, r')            (exp xi, eta)
==============  =====================  ============================  ==============================

omega is body-fixed in both. The configuration group of n bodies is the product of their groups,
and the state group has the velocities, which add, as a further factor.

Source: Müller and Terze (4) to (34), with (9) and (34) corrected, and section 6 for the choice per
body (I-01 to I-15).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...errors import UnknownNameError
from ...lie import joint_groups
from ...types import Array

SE3, SO3xR3 = 'SE(3)', 'SO(3) x R^3'

#: Right increments of each group, by their names in `lie.joint_groups`.
INCREMENTS = {SE3: 'body', SO3xR3: 'mixed'}


def check_group(name: str) -> str:
    """Return the name of a group; raises `UnknownNameError`."""
    if name not in INCREMENTS:
        raise UnknownNameError(f'no group named {name!r} for a body; choose one of {SE3}, {SO3xR3}')
    return name


class ConfigurationGroup:
    """The configurations of n bodies, (..., n, 4, 4), as the product of n groups.

    All operations are body by body (I-14): elements C (..., n, 4, 4), elements X of the algebra
    (..., n, 6), angular part first.

    Parameters
    ----------
    groups : sequence of {'SE(3)', 'SO(3) x R^3'}
        One per body.

    Examples
    --------
    Two bodies turn by 90 degrees about z and move along x meanwhile: one on a circle, one straight:

    >>> group = ConfigurationGroup([SE3, SO3xR3])
    >>> C = group.exp(np.pi / 2 * np.array([[0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0]]))
    >>> C[:, :3, 3].round(3)
    array([[1.   , 1.   , 0.   ],
           [1.571, 0.   , 0.   ]])
    """

    def __init__(self, groups: Sequence[str]) -> None:
        self.groups = tuple(check_group(name) for name in groups)

    @property
    def dimension(self) -> int:
        """Dimension of the group, 6 n."""
        return 6 * len(self.groups)

    def identity(self) -> Array:
        """Return the unit element (n, 4, 4)."""
        return np.tile(np.eye(4), (len(self.groups), 1, 1))

    def compose(self, C1: Array, C2: Array) -> Array:
        """Return the product C1 C2."""
        return self._each('compose', 2, C1, C2)

    def inverse(self, C: Array) -> Array:
        """Return the inverse."""
        return self._each('inverse', 2, C)

    def exp(self, X: Array) -> Array:
        """Return exp X, (..., n, 4, 4)."""
        return self._each('exp', 1, X)

    def log(self, C: Array) -> Array:
        """Return the X with exp X = C, (..., n, 6), no rotation beyond pi."""
        return self._each('log', 2, C)

    def dexp(self, X: Array) -> Array:
        """Return the right-trivialized differentials of exp, (..., n, 6, 6)."""
        return self._each('dexp', 1, X)

    def dexp_inv(self, X: Array) -> Array:
        """Return their inverses; raises `ArgumentError` at rotations by 2 pi."""
        return self._each('dexp_inv', 1, X)

    def ad(self, X: Array) -> Array:
        """Return the matrices (..., n, 6, 6) of the Lie bracket, [X, Y] = ad_X Y."""
        return self._each('ad', 1, X)

    def _each(self, function: str, trailing: int, *arguments: Array) -> Array:
        """Apply a map of the Lie layer to each body; arguments have `trailing` axes after n."""
        bodies = [np.moveaxis(np.asarray(a), -trailing - 1, 0) for a in arguments]
        values = [
            getattr(joint_groups.INCREMENTS[INCREMENTS[group]][0], function)(
                *(a[k] for a in bodies)
            )
            for k, group in enumerate(self.groups)
        ]
        return np.stack(values, axis=bodies[0].ndim - 1 - trailing)


class GroupState(NamedTuple):
    """An element of the state group, or of its algebra.

    Attributes
    ----------
    C : (..., n, 4, 4) array, or (..., n, 6) in the algebra
        Configurations; in the algebra the increments X.
    V : (..., n, 6) array
        Velocities; in the algebra the accelerations A.
    """

    C: Array
    V: Array


class StateGroup:
    """The states (C, V) of n bodies: the configuration group times the additive velocities.

    Source: Müller and Terze (12) to (15), (21) to (24), (26) to (29), (31) to (34) with the second
    argument's A in (34) (I-13, I-14).

    Parameters
    ----------
    groups : sequence of {'SE(3)', 'SO(3) x R^3'}
    """

    def __init__(self, groups: Sequence[str]) -> None:
        self.configurations = ConfigurationGroup(groups)

    @property
    def dimension(self) -> int:
        """Dimension of the group, 12 n."""
        return 2 * self.configurations.dimension

    def identity(self) -> GroupState:
        """Return the unit element."""
        C = self.configurations.identity()
        return GroupState(C, np.zeros((len(C), 6)))

    def compose(self, x1: GroupState, x2: GroupState) -> GroupState:
        """Return the product (C1 C2, V1 + V2)."""
        return GroupState(self.configurations.compose(x1.C, x2.C), x1.V + x2.V)

    def inverse(self, x: GroupState) -> GroupState:
        """Return (C^-1, -V)."""
        return GroupState(self.configurations.inverse(x.C), -x.V)

    def exp(self, x: GroupState) -> GroupState:
        """Return (exp X, A)."""
        return GroupState(self.configurations.exp(x.C), x.V)

    def bracket(self, x1: GroupState, x2: GroupState) -> GroupState:
        """Return ([X1, X2], 0)."""
        ad = self.configurations.ad(x1.C)
        return GroupState(np.einsum('...ij,...j->...i', ad, x2.C), np.zeros_like(x2.V))

    def dexp(self, x1: GroupState, x2: GroupState) -> GroupState:
        """Return dexp_x1 x2 = (dexp_X1 X2, A2)."""
        return GroupState(np.einsum('...ij,...j->...i', self.configurations.dexp(x1.C), x2.C), x2.V)

    def dexp_inv(self, x1: GroupState, x2: GroupState) -> GroupState:
        """Return dexp^-1_x1 x2 = (dexp^-1_X1 X2, A2)."""
        return GroupState(
            np.einsum('...ij,...j->...i', self.configurations.dexp_inv(x1.C), x2.C), x2.V
        )
