# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Planes and springs around a robot: compiled for the links they act on, with numbers as inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..compile.kernels import Kernel, KernelSpecification, compiled_into, make_kernel
from ..compile.sources import origin
from ..errors import ArgumentError
from ..robot.robot import Robot
from ..tree.multibody_tree import Tree
from ..types import Array
from .compliant_forces import Effects, Structure, effects
from .contacts import ContactPoint, Plane
from .springs import Spring


class Environment:
    """Planes, contact points and springs of one robot.

    What contacts remember, the memory (m,), are the poses of their links when it was made, (3, 4)
    each, and for each point the stretch s (3,) in each plane [m]; see `simulation.contacts`. From
    the poses follows how far the material has moved meanwhile, so that the forces can be evaluated
    anywhere within a step. All methods take stacks, too.

    Parameters
    ----------
    robot : Robot
    planes : sequence of Plane
    contact_points : sequence of ContactPoint
    springs : sequence of Spring

    Attributes
    ----------
    contact_links : tuple of str
        Links with contact points, the rows of `Effects.wrenches`.
    structure : Structure
    numbers : array
        Parameters of planes, contact points and springs.

    Raises
    ------
    ArgumentError
        If they are of other types.
    UnknownNameError
        If a link does not exist.
    """

    def __init__(
        self,
        robot: Robot,
        planes: Sequence[Plane] = (),
        contact_points: Sequence[ContactPoint] = (),
        springs: Sequence[Spring] = (),
    ) -> None:
        check_kind('planes', planes, Plane)
        check_kind('contact_points', contact_points, ContactPoint)
        check_kind('springs', springs, Spring)
        for link in (part.link for parts in (contact_points, springs) for part in parts):
            robot.tree.frame(link)
        self._robot = robot
        points, faces = list(contact_points), list(planes)
        if not (points and faces):
            points, faces = [], []
        self.contact_links = tuple(dict.fromkeys(point.link for point in contact_points))
        self.structure = Structure(
            tuple(point.link for point in points),
            len(faces),
            tuple(spring.link for spring in springs),
        )
        parameters = [
            *(plane.parameters for plane in faces),
            *(point.parameters for point in points),
            *(spring.parameters for spring in springs),
        ]
        self.numbers = np.concatenate(parameters or [np.zeros(0)])
        if not self.is_empty:
            self._kernels = [self._make_kernel(name) for name in ('torques', 'effects')]
            self._torques, self._effects = map(compiled_into, self._kernels)

    @property
    def is_empty(self) -> bool:
        """Whether nothing ever acts."""
        return not (self.structure.point_links or self.structure.spring_links)

    def memory(self, q: Array) -> Array:
        """Return the memory (m,) of contacts that begin at q, without stretch."""
        structure = self.structure
        if not structure.point_links:
            return np.zeros((*q.shape[:-1], 0))
        poses = self._robot.link_poses(q)
        places = [self._robot.link_names.index(link) for link in structure.links]
        flat = poses[..., places, :3, :].reshape(*q.shape[:-1], -1)
        stretches = np.zeros((*q.shape[:-1], structure.memory_size - flat.shape[-1]))
        return np.concatenate([flat, stretches], axis=-1)

    def torques(self, q: Array, v: Array, memory: Array) -> Array:
        """Return the generalized forces (nv,) in a state [N m, N]."""
        if q.ndim == 2:
            return self._stacked(0, q, v, memory)[0]
        result = np.empty(self._robot.nv)
        self._torques(q, v, memory, self.numbers, result)
        return result

    def effects(self, q: Array, v: Array, memory: Array) -> Effects:
        """Return all that planes and springs do in a state, and the memory for the next step."""
        if q.ndim == 2:
            return Effects(*self._stacked(1, q, v, memory))
        result = Effects(*(np.empty(shape) for shape in self._kernels[1].shapes))
        self._effects(q, v, memory, self.numbers, *result)
        return result

    def wrenches_by_link(self, effects: Effects | None) -> dict[str, Array]:
        """Return {link: (6,)} of all links with contact points; zeros if nothing ever acts."""
        if effects is None or not self.structure.point_links:
            return {link: np.zeros(6) for link in self.contact_links}
        return {link: effects.wrenches[..., k, :] for k, link in enumerate(self.contact_links)}

    def _stacked(self, number: int, q: Array, v: Array, memory: Array) -> tuple[Array, ...]:
        inputs = [np.ascontiguousarray(x, dtype=float) for x in (q, v, memory)]
        return self._kernels[number].stack([*inputs, self.numbers])

    def _make_kernel(self, name: str) -> Kernel:
        """Return what is compiled: only the torques, or everything."""
        tree, structure = self._robot.regrouped_tree, self.structure

        def build(tree: Tree, *state: Array) -> tuple[Array, ...]:
            found = effects(tree, structure, *state)
            return found[:1] if name == 'torques' else tuple(found)

        sizes = ('q', tree.nq), ('v', tree.nv), ('memory', structure.memory_size)
        where = origin(effects)
        return make_kernel(
            KernelSpecification(
                f'{name} of {structure}',
                (*sizes, ('numbers', len(self.numbers))),
                build,
                where and repr((name, where, tree.digest, structure)),
                frozenset({'numbers'}),
                (tree,),
            ),
            self._robot.backend,
        )


def check_kind(name: str, parts: Sequence[Any], kind: type) -> None:
    """Raise `ArgumentError` unless `parts` is a sequence of objects of one kind."""
    if not isinstance(parts, Sequence) or not all(isinstance(part, kind) for part in parts):
        raise ArgumentError(f'{name} must be a sequence of {kind.__name__}, got {parts!r}')
