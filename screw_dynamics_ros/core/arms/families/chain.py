# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A serial chain as its joint screws at zero and the pose of its tool there.

Families of arms differ in nothing else: not in frames of links, not in how a description
distributes offsets between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ArgumentError, DescriptionError, UnknownNameError
from ...lie import screws, se3
from ...reproducible import reproducible
from ...tree.joint_limits import position_limits
from ...tree.multibody_tree import Tree
from ...types import Array


@dataclass(frozen=True, eq=False)
class SerialChain:
    """Joints in series from a base to a tool: C(q) = exp(S_1 q_1) ... exp(S_n q_n) home.

    Attributes
    ----------
    joint_names : tuple of str
        From the base to the tool.
    screws : (n, 6) array
        Unit screws at q = 0 in the base frame, angular part first: (e, p x e) of a revolute joint
        about a line with direction e through p, (0, e) of a prismatic one.
    home : (4, 4) array
        Pose of the tool in the base frame at q = 0 [m].
    lower, upper : (n,) arrays
        Limits [rad or m], infinite where there are none, as by default.
    places : (n,) array of int
        Where the coordinates of the chain stand in those of its robot; 0 ... n - 1 by default.

    Raises
    ------
    ArgumentError
        If shapes do not match or a screw is neither revolute nor prismatic.

    Examples
    --------
    An arm of two parallel axes, links of 1 m along x, turned by a quarter in its elbow:

    >>> chain = SerialChain(
    ...     ('shoulder', 'elbow'),
    ...     [[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, -1, 0]],
    ...     se3.pose(np.eye(3), [2, 0, 0]),
    ... )
    >>> chain.turns
    (True, True)
    >>> chain.pose([0, np.pi / 2])[:3, 3].round(9) + 0.0
    array([1., 1., 0.])
    """

    joint_names: tuple[str, ...]
    screws: Array
    home: Array
    lower: Array = field(default_factory=lambda: np.empty(0))
    upper: Array = field(default_factory=lambda: np.empty(0))
    places: Array = field(default_factory=lambda: np.empty(0, dtype=int))

    def __post_init__(self) -> None:
        n = len(self.joint_names)
        free = np.full(n, np.inf)
        given = {
            'screws': (np.array(self.screws, dtype=float), (n, 6)),
            'home': (np.array(self.home, dtype=float), (4, 4)),
            'lower': (np.array(self.lower if len(self.lower) else -free, dtype=float), (n,)),
            'upper': (np.array(self.upper if len(self.upper) else free, dtype=float), (n,)),
            'places': (np.array(self.places if len(self.places) else range(n), dtype=int), (n,)),
        }
        for name, (array, shape) in given.items():
            if array.shape != shape:
                raise ArgumentError(
                    f'{name} of a chain of {n} joints must have shape {shape}, got {array.shape}'
                )
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        e, v = self.screws[:, :3], self.screws[:, 3:]
        turns = np.linalg.norm(e, axis=1) > 0.0
        length = np.linalg.norm(np.where(turns[:, None], e, v), axis=1)
        pitch = np.einsum('ij,ij->i', e, v)
        for i in np.flatnonzero(~(np.abs(length - 1.0) < 1e-9) | ~(np.abs(pitch) < 1e-9)):
            raise ArgumentError(
                f'joint {self.joint_names[i]!r}: {self.screws[i]} is the screw of neither a '
                'revolute nor a prismatic joint; give (e, p x e) or (0, e) with |e| = 1'
            )

    @cached_property
    def turns(self) -> tuple[bool, ...]:
        """Whether each joint is revolute; the others are prismatic."""
        return tuple(bool(e.any()) for e in self.screws[:, :3])

    def __len__(self) -> int:
        """Return the number of joints."""
        return len(self.joint_names)

    @property
    def identity(self) -> str:
        """All of the chain that its recorded kinematics depends on."""
        return repr((self.screws.tolist(), self.home.tolist()))

    @property
    def length(self) -> float:
        """Unit of length [m] of about the size of the arm: the largest lever at q = 0, or 1."""
        levers = np.abs(self.screws[:, 3:]).max(), np.abs(self.home[:3, 3]).max()
        return float(max(levers)) or 1.0

    def pose(self, q: ArrayLike) -> Array:
        """Return the pose (..., 4, 4) of the tool for q (..., n); q may be recorded scalars."""
        q = np.asarray(q)
        if q.ndim == 0 or q.shape[-1] != len(self):
            raise ArgumentError(f'q must have shape (..., {len(self)}), got {q.shape}')
        C = np.eye(4)
        for i, X in enumerate(self.screws):
            C = C @ se3.exp_unit_screw(X, q[..., i])
        return C @ self.home

    def jacobian(self, q: ArrayLike) -> Array:
        """Return the spatial Jacobian (6, n) for q (n,): the joint screws where q has taken them.

        Source: Bruyninckx 2010, section 7.6 (C-098).
        """
        q = np.asarray(q)
        columns, C = [], np.eye(4)
        for i, X in enumerate(self.screws):
            columns.append(screws.transform_twist(C, X))
            C = C @ se3.exp_unit_screw(X, q[i])
        return np.stack(columns, axis=1)

    def locked(self, joints: Mapping[str, float]) -> SerialChain:
        """Return the chain of the other joints, with these at rest at positions [rad or m].

        Raises
        ------
        UnknownNameError
            If the chain has no such joint.
        """
        unknown = [name for name in joints if name not in self.joint_names]
        if unknown:
            raise UnknownNameError(
                f'no joint named {unknown[0]!r} in the chain of {", ".join(self.joint_names)}'
            )
        return self.with_held({self.joint_names.index(name): joints[name] for name in joints})

    def with_held(self, positions: Mapping[int, float]) -> SerialChain:
        """Return the chain of the other joints, with these at rest at positions [rad or m]."""
        free = [i for i in range(len(self)) if i not in positions]
        S, displacements = self.displaced({i: float(at) for i, at in positions.items()})
        return SerialChain(
            tuple(self.joint_names[i] for i in free),
            S,
            displacements[-1] @ self.home,
            self.lower[free],
            self.upper[free],
            self.places[free],
        )

    def displaced(self, positions: Mapping[int, Any]) -> tuple[Array, list[Array]]:
        """Return the screws (m, 6) of the joints that have no position; may be recorded.

        And the displacements (4, 4) by those that have one [rad or m]: by none, by the first of
        them, by the first two, ... by all.
        """
        displacements, moving = [np.eye(4)], []
        for i, X in enumerate(reproducible(self.screws)):
            if i in positions:
                displacements.append(displacements[-1] @ se3.exp_unit_screw(X, positions[i]))
            else:
                moving.append(screws.transform_twist(displacements[-1], X))
        return np.reshape(moving, (-1, 6)), displacements

    def padded(self) -> SerialChain:
        """Return a chain of six joints: one of fewer carries further ones with axes anywhere.

        Solutions of the shorter chain are those whose further joints are at zero.
        """
        rng = np.random.default_rng(1)
        further, names = [], list(self.joint_names)
        for k in range(6 - len(self)):
            e = rng.normal(size=3)
            e /= np.linalg.norm(e)
            further.append(np.concatenate([e, np.cross(self.home[:3, 3] + rng.normal(size=3), e)]))
            names.append(f'further joint {k + 1}')
        return SerialChain(tuple(names), np.array([*self.screws, *further]), self.home)

    @classmethod
    def of(cls, tree: Tree, link: str) -> SerialChain:
        """Return the chain from the root frame of a robot to one of its links.

        Raises
        ------
        UnknownNameError
            If there is no such link.
        DescriptionError
            If a joint in between has six freedoms, is helical, or moves in a ratio to another one
            (mimic): then the link is not the tool of a serial chain.
        """
        frame = reproducible(tree.frame(link))
        bodies = [reproducible(tree.bodies[i]) for i in tree.path(frame.body)]
        C, screw_list = np.eye(4), []
        for body in bodies:
            name = body.joint or 'the floating base'
            if body.dof != 1:
                raise DescriptionError(
                    f'{name} carries {link!r} with {body.dof} freedoms: a serial chain has joints '
                    'of one; use a fixed base'
                )
            if (body.multiplier, body.offset) != (1.0, 0.0):
                raise DescriptionError(
                    f'joint {name!r}, which carries {link!r}, mimics another one: the chain to '
                    'that link is not serial; name a link before it'
                )
            X = body.X[:, 0]
            if abs(X[:3] @ X[3:]) > 1e-9:
                raise DescriptionError(
                    f'joint {name!r}, which carries {link!r}, is helical: closed forms are for '
                    'revolute and prismatic joints'
                )
            C = C @ body.B
            screw_list.append(screws.transform_twist(C, X))
        places, (lower, upper) = [body.q.start for body in bodies], position_limits(tree)
        if len(set(places)) < len(places):
            raise DescriptionError(f'two joints that carry {link!r} share a coordinate')
        return cls(
            tuple(body.joint for body in bodies),
            np.reshape(screw_list, (-1, 6)),
            C @ frame.S,
            lower[places],
            upper[places],
            np.array(places, dtype=int),
        )
