# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Planes and springs around a robot, and their forces on the links of its tree.

The recursion is compiled for the links they act on, with the numbers as inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arms.inverse.force import inverse_force
from ..compile.calls import compiled_into
from ..compile.kernels import Kernel, KernelSpecification, make_kernel
from ..compile.sources import origin
from ..errors import ArgumentError
from ..kinematics.jacobians import velocity
from ..kinematics.poe import link_pose
from ..lie.so3 import hat
from ..linear import zeros
from ..robot.robot import Robot
from ..tree.multibody_tree import Tree
from ..types import Array
from .contacts import CompliantForce, ContactPoint, Plane, contact_force
from .springs import Spring, spring_force


class Effects(NamedTuple):
    """What planes and springs do in one state; leading axes as those of the state.

    Attributes
    ----------
    torques, elastic : (nv,) arrays
        Generalized forces, and those without what depends on velocities [N m, N].
    energy : () array
        Stored in springs and in the deformation of contacts [J].
    wrenches : (links, 6) array
        (moment, force) of the planes on each link with contact points [N m, N].
    memory : (m,) array
        For the next step.
    """

    torques: Array
    elastic: Array
    energy: Array
    wrenches: Array
    memory: Array


@dataclass(frozen=True)
class Structure:
    """What decides which program is compiled.

    Attributes
    ----------
    point_links, spring_links : tuples of str
        The link of each contact point and of each spring.
    planes : int
        Number of planes.
    """

    point_links: tuple[str, ...]
    planes: int
    spring_links: tuple[str, ...]

    @property
    def links(self) -> tuple[str, ...]:
        """Links with contact points, each once."""
        return tuple(dict.fromkeys(self.point_links))

    @property
    def memory_size(self) -> int:
        """Number of elements of the memory."""
        return 12 * len(self.links) + 3 * self.planes * len(self.point_links)

    def remembered(self, memory: Array) -> tuple[Array, Array]:
        """Return poses (links, 3, 4) and stretches (points, planes, 3) of a memory."""
        poses, stretches = np.split(memory, [12 * len(self.links)])
        shape = len(self.point_links), self.planes, 3
        return poses.reshape(len(self.links), 3, 4), stretches.reshape(shape)

    def parameters(self, numbers: Array) -> tuple[Array, Array, Array]:
        """Return the parameters of planes (k, 9), points (n, 4) and springs (m, 9)."""
        ends = 9 * self.planes, 9 * self.planes + 4 * len(self.point_links)
        planes, points, springs = np.split(numbers, ends)
        return planes.reshape(-1, 9), points.reshape(-1, 4), springs.reshape(-1, 9)


def effects(
    tree: Tree, structure: Structure, q: Array, v: Array, memory: Array, numbers: Array
) -> Effects:
    """Return what planes and springs do in a state; recorded."""
    planes, points, springs = structure.parameters(numbers)
    poses, stretches = structure.remembered(memory)
    links = {
        link: ContactLinkMotion(tree, q, v, link)
        for link in dict.fromkeys((*structure.point_links, *structure.spring_links))
    }
    before = dict(zip(structure.links, poses))
    new_stretches = zeros(stretches.shape, q, v, memory, numbers)
    touching = ContactLoads()
    for i, (link, point) in enumerate(zip(structure.point_links, points)):
        for k, plane in enumerate(planes):
            x, depth, moved = links[link].contact(point, plane, before[link])
            acting, new_stretches[i, k] = contact_force(
                depth, links[link].velocity(x), stretches[i, k] + moved, plane
            )
            touching.add(link, links[link], x, acting)
    pulling = ContactLoads()
    for link, spring in zip(structure.spring_links, springs):
        x = links[link].position(spring[:3])
        pulling.add(link, links[link], x, spring_force(x, links[link].velocity(x), spring))
    wrenches = [touching.total[link] for link in structure.links]
    here = [np.column_stack([links[link].R, links[link].r]) for link in structure.links]
    return Effects(
        -inverse_force(tree, q, added(touching.total, pulling.total)),
        -inverse_force(tree, q, added(touching.elastic, pulling.elastic)),
        np.asarray(touching.energy + pulling.energy),
        np.array(wrenches).reshape(len(structure.links), 6),
        np.concatenate([*(pose.ravel() for pose in here), new_stretches.ravel()]),
    )


class ContactLinkMotion:
    """Pose R, r and hybrid twist omega, v of a link, in the root frame."""

    def __init__(self, tree: Tree, q: Array, v: Array, link: str) -> None:
        C, V = link_pose(tree, q, link), velocity(tree, q, v, link, 'hybrid')
        self.R, self.r = C[:3, :3], C[:3, 3]
        self.omega, self.v = V[:3], V[3:]

    def position(self, p: Array) -> Array:
        """Return where a point p of the link is."""
        x: Array = self.R @ p + self.r
        return x

    def velocity(self, x: Array) -> Array:
        """Return the velocity of the material at x."""
        velocity: Array = self.v + hat(self.omega) @ (x - self.r)
        return velocity

    def wrench(self, x: Array, force: Array) -> Array:
        """Return the wrench (moment, force) of a force at x, at and in the frame of the link."""
        return np.concatenate([self.R.T @ (hat(x - self.r) @ force), self.R.T @ force])

    def contact(self, point: Array, plane: Array, before: Array) -> tuple[Array, Any, Array]:
        """Return the lowest point of a contact, its depth, and the displacement of its material.

        That is since the pose `before` (3, 4), the sphere turning on the plane: a wheel that rolls
        has not moved.
        """
        origin, n = plane[:3], plane[3:6]
        p, radius = point[:3], point[3]
        center, arm = self.position(p), -radius * n
        x = center + arm
        moved = center - (before[:, :3] @ p + before[:, 3])
        turned = small_rotation_vector(self.R @ before[:, :3].T)
        return x, n @ (origin - x), moved + hat(turned) @ arm


class ContactLoads:
    """Wrenches on links, added up."""

    def __init__(self) -> None:
        self.total: dict[str, Array] = {}
        self.elastic: dict[str, Array] = {}
        self.energy: Any = 0.0

    def add(self, link: str, motion: ContactLinkMotion, x: Array, acting: CompliantForce) -> None:
        """Add a force at x."""
        for loads, force in ((self.total, acting.force), (self.elastic, acting.elastic)):
            wrench = motion.wrench(x, force)
            loads[link] = loads[link] + wrench if link in loads else wrench
        self.energy = self.energy + acting.energy


def added(first: dict[str, Array], second: dict[str, Array]) -> dict[str, Array]:
    """Return the sums of wrenches on the same links."""
    return {
        link: sum((loads[link] for loads in (first, second) if link in loads), np.zeros(6))
        for link in {**first, **second}
    }


def small_rotation_vector(R: Array) -> Array:
    r"""Return the rotation vector (3,) of a rotation by less than about 0.5 rad; free of branches.

    theta / sin(theta) = 1 + c / 3 + 2 c^2 / 15 + ..., c = 1 - cos(theta): relative error 0.06
    theta^6.
    """
    sine = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    c = 0.5 * (3.0 - (R[0, 0] + R[1, 1] + R[2, 2]))
    result: Array = sine * (1.0 + c / 3.0 + c * c * (2.0 / 15.0))
    return result


class Environment:
    """Planes, contact points and springs of one robot.

    What contacts remember, the memory (m,), are the poses of their links when it was made, (3, 4)
    each, and for each point the stretch s (3,) in each plane [m]; see `simulation.contacts`. The
    poses determine the displacement of the material meanwhile, so that the forces can be evaluated
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
        """Return a kernel: of the torques only, or of everything."""
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
