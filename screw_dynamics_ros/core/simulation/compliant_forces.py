# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Forces of planes and springs on the links of a tree: a recursion, recorded and compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arms.inverse.force import inverse_force
from ..kinematics.jacobians import velocity
from ..kinematics.poe import link_pose
from ..lie.so3 import hat
from ..linear import zeros
from ..tree.multibody_tree import Tree
from ..types import Array
from .contacts import CompliantForce, contact_force
from .springs import spring_force


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
        How many there are.
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
        """Return where a contact point is lowest, how deep, and how far its material has moved.

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
