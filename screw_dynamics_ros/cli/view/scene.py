# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The robot in the scene: links, arrows and ellipsoids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.arms.inverse.manipulability import velocity_ellipsoid
from screw_dynamics_ros.core.description.body_inertia import (
    Inertia,
    equivalent_ellipsoid,
    sphere_radius,
)
from screw_dynamics_ros.core.lie import quaternions
from screw_dynamics_ros.core.types import Array

from .link_meshes import ColoredMesh
from .state import ContactForce, LinkWrench, ViewState

#: The colors of the markers of the nodes.
FORCE_COLOR, MOMENT_COLOR = (230, 38, 26), (242, 179, 26)
AXIS_COLOR, ELLIPSOID_COLOR = (51, 153, 255), (51, 204, 51)
INERTIA_COLOR, MASS_COLOR = (153, 102, 230), (230, 204, 26)

POSE_TOLERANCE = 1e-5  # m and quaternion; smaller changes are not sent
MIN_ARROW = 2e-3  # m
MAX_ARROW = 2.0  # m
FORCE_SCALE = 0.01  # m/N
MOMENT_SCALE = 0.03  # m/(N m)
ELLIPSOID_SCALE = 0.2  # m per 1 m/s at joint rates of norm 1
MIN_SEMI_AXIS = 1e-4  # m


class RobotScene:
    """Draws a robot and its state into a `viser.SceneApi`.

    Parameters
    ----------
    scene : viser.SceneApi
    robot : Robot
    meshes : {link: list of ColoredMesh}
    """

    def __init__(self, scene: Any, robot: Robot, meshes: dict[str, list[ColoredMesh]]) -> None:
        self.robot = robot
        self.numbers = {link: k for k, link in enumerate(robot.link_names)}
        self.frames = [
            # By index, because link names may contain slashes, which separate paths here.
            scene.add_frame(f'/robot/{k}', show_axes=False)
            for k in range(len(robot.link_names))
        ]
        for link, pieces in meshes.items():
            for j, piece in enumerate(pieces):
                scene.add_mesh_simple(
                    f'/robot/{self.numbers[link]}/{j}',
                    piece.vertices.astype(np.float32),
                    piece.faces.astype(np.uint32),
                    color=piece.color,
                    side='double',
                )
        self._drawn = np.full((len(self.frames), 7), np.nan)
        size = robot_length(robot)
        self.forces = Arrows(scene, '/forces', FORCE_COLOR, size)
        self.moments = Arrows(scene, '/moments', MOMENT_COLOR, size)
        self.contacts = Arrows(scene, '/contacts', FORCE_COLOR, size)
        self.axes = Arrows(scene, '/joint_axes', AXIS_COLOR, size)
        self.axis_length = 0.15 * size
        self.velocities = Ellipsoids(scene, '/velocities', ELLIPSOID_COLOR)
        self.deviations = Ellipsoids(scene, '/deviations', FORCE_COLOR)
        self.inertias = Ellipsoids(scene, '/inertias', INERTIA_COLOR)
        self.masses = Ellipsoids(scene, '/masses', MASS_COLOR)
        self.show_axes, self.show_wrenches, self.show_contacts = False, True, True
        self.show_inertias = self.show_masses = False
        self.ellipsoid_link = ''

    def draw(self, state: ViewState) -> Array:
        """Draw a state; return the poses (n_links, 4, 4) of the links."""
        poses = self.robot.link_poses(state.q)
        self._place(poses)
        wrenches = state.wrenches if self.show_wrenches else ()
        self.forces.draw(arrows_of(poses, self.numbers, wrenches, 3, FORCE_SCALE))
        self.moments.draw(arrows_of(poses, self.numbers, wrenches, 0, MOMENT_SCALE))
        self.contacts.draw(
            contact_arrows(poses, self.numbers, state.contacts if self.show_contacts else ())
        )
        self.axes.draw(self._axes(poses) if self.show_axes else np.empty((0, 2, 3)))
        self.velocities.draw(self._velocity_ellipsoid(state.q, poses))
        self.deviations.draw(force_deviations(poses, self.numbers, wrenches))
        self.inertias.draw(self._inertias(poses) if self.show_inertias else ())
        self.masses.draw(self._masses(state.q, poses) if self.show_masses else ())
        return poses

    def _place(self, poses: Array) -> None:
        rows = np.concatenate(
            [poses[:, :3, 3], np.roll(quaternions.from_matrix(poses[:, :3, :3]), 1, axis=-1)],
            axis=-1,
        )
        changed = ~(np.abs(rows - self._drawn) <= POSE_TOLERANCE)
        for k in np.flatnonzero(changed[:, :3].any(axis=1)):
            self.frames[k].position = rows[k, :3]
        for k in np.flatnonzero(changed[:, 3:].any(axis=1)):
            self.frames[k].wxyz = rows[k, 3:]
        self._drawn = np.where(changed.any(axis=1)[:, None], rows, self._drawn)

    def _axes(self, poses: Array) -> Array:
        """Return arrows (n, 2, 3) along the axes of the joints [m]."""
        joints = [joint for joint in self.robot.description.joints if joint.kind.is_scalar]
        found = np.empty((len(joints), 2, 3))
        for row, joint in zip(found, joints):
            pose = poses[self.numbers[joint.child]]
            half = self.axis_length * (pose[:3, :3] @ joint.axis)
            row[0], row[1] = pose[:3, 3] - half, pose[:3, 3] + half
        return found

    def _inertias(self, poses: Array) -> list[Ellipsoid]:
        """Return the homogeneous ellipsoid with the inertia of each link."""
        found = []
        for center, R, body in self._bodies(poses):
            semi_axes, axes = equivalent_ellipsoid(body)
            found.append(Ellipsoid(center, R @ axes, semi_axes))
        return found

    def _masses(self, q: Array, poses: Array) -> list[Ellipsoid]:
        """Return spheres at the centers of mass of the links and of the robot."""
        found = [(center, body.mass) for center, _, body in self._bodies(poses)]
        if found:
            found.append((self.robot.center_of_mass(q), self.robot.total_mass))
        return [Ellipsoid(c, np.eye(3), np.full(3, sphere_radius(m))) for c, m in found]

    def _bodies(self, poses: Array) -> Iterator[tuple[Array, Array, Inertia]]:
        """Yield center of mass, orientation and inertia of each link with mass."""
        for link in self.robot.description.links:
            if link.inertia is not None and link.inertia.mass:
                R, p = poses[self.numbers[link.name], :3, :3], poses[self.numbers[link.name], :3, 3]
                yield R @ link.inertia.com + p, R, link.inertia

    def _velocity_ellipsoid(self, q: Array, poses: Array) -> list[Ellipsoid]:
        link = self.ellipsoid_link
        if link not in self.numbers or not self.robot.nv:
            return []
        axes, semi_axes = velocity_ellipsoid(self.robot.jacobian(q, link))
        center = poses[self.numbers[link]][:3, 3]
        return [Ellipsoid(center, axes, ELLIPSOID_SCALE * semi_axes)]


class Ellipsoid(NamedTuple):
    """Center (3,), directions of the axes as columns (3, 3), right-handed, semi-axes (3,) [m]."""

    center: Array
    axes: Array
    semi_axes: Array


class Ellipsoids:
    """Transparent ellipsoids of one color."""

    def __init__(self, scene: Any, name: str, color: tuple[int, int, int]) -> None:
        self._scene, self._name, self._color = scene, name, color
        self.nodes: list[Any] = []

    def draw(self, shapes: Sequence[Ellipsoid]) -> None:
        """Draw these ellipsoids and hide others."""
        for k in range(len(self.nodes), len(shapes)):
            self.nodes.append(
                self._scene.add_icosphere(
                    f'{self._name}/{k}', 1.0, self._color, opacity=0.35, cast_shadow=False
                )
            )
        for k, node in enumerate(self.nodes):
            if node.visible != (k < len(shapes)):
                node.visible = k < len(shapes)
        for node, shape in zip(self.nodes, shapes):
            node.position = shape.center
            node.wxyz = np.roll(quaternions.from_matrix(shape.axes), 1)
            node.scale = tuple(np.clip(shape.semi_axes, MIN_SEMI_AXIS, MAX_ARROW).tolist())


def force_deviations(
    poses: Array, numbers: dict[str, int], wrenches: Sequence[LinkWrench]
) -> list[Ellipsoid]:
    """Return an ellipsoid of one standard deviation at the head of each force."""
    found = []
    for each in wrenches:
        if each.covariance is None or each.link not in numbers:
            continue
        if not np.isfinite([*each.wrench, *np.ravel(each.covariance)]).all():
            continue
        pose = poses[numbers[each.link]]
        variances, axes = np.linalg.eigh(each.covariance[3:, 3:])
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        center = pose[:3, 3] + FORCE_SCALE * (pose[:3, :3] @ each.wrench[3:])
        semi_axes = FORCE_SCALE * np.sqrt(np.maximum(variances, 0.0))
        found.append(Ellipsoid(center, pose[:3, :3] @ axes, semi_axes))
    return found


class Arrows:
    """Arrows of one color; only changes are sent."""

    def __init__(self, scene: Any, name: str, color: tuple[int, int, int], size: float) -> None:
        width = 0.006 * size
        self.points = np.empty((0, 2, 3), dtype=np.float32)
        self.node = scene.add_arrows(
            name,
            np.zeros((1, 2, 3), dtype=np.float32),
            color,
            shaft_radius=width,
            head_radius=2.5 * width,
            head_length=6.0 * width,
            visible=False,
        )

    def draw(self, points: Array) -> None:
        """Draw arrows from points[:, 0] to points[:, 1], (n, 2, 3) [m]."""
        points = points.astype(np.float32)
        if points.shape == self.points.shape and np.allclose(
            points, self.points, rtol=0.0, atol=POSE_TOLERANCE
        ):
            return
        if len(points):
            self.node.points = points
        if bool(len(points)) != self.node.visible:
            self.node.visible = bool(len(points))
        self.points = points


def arrows_of(
    poses: Array, numbers: dict[str, int], wrenches: Sequence[LinkWrench], first: int, scale: float
) -> Array:
    """Return arrows (n, 2, 3) [m] from the origins of links, for elements first to first + 3.

    Wrenches on unknown links, small ones and those that are not finite are omitted.
    """
    found = []
    for each in wrenches:
        if each.link in numbers:
            pose = poses[numbers[each.link]]
            found.append((pose[:3, 3], scale * (pose[:3, :3] @ each.wrench[first : first + 3])))
    return visible_arrows(found)


def contact_arrows(
    poses: Array, numbers: dict[str, int], contacts: Sequence[ContactForce]
) -> Array:
    """Return arrows (n, 2, 3) [m] whose heads touch the contact points."""
    found = []
    for each in contacts:
        if each.link in numbers:
            pose = poses[numbers[each.link]]
            vector = FORCE_SCALE * (pose[:3, :3] @ each.force)
            found.append((pose[:3, :3] @ each.point + pose[:3, 3] - vector, vector))
    return visible_arrows(found)


def visible_arrows(found: Sequence[tuple[Array, Array]]) -> Array:
    """Return arrows (n, 2, 3) from starts and vectors [m], shortened to `MAX_ARROW`."""
    rows = []
    for start, vector in found:
        length = float(np.linalg.norm(vector))
        if length >= MIN_ARROW and np.isfinite(length) and np.isfinite(start).all():
            rows.append([start, start + vector * min(1.0, MAX_ARROW / length)])
    return np.array(rows) if rows else np.empty((0, 2, 3))


def robot_length(robot: Robot) -> float:
    """Return the characteristic length of a robot [m], from the offsets of its joints."""
    reach = sum(float(np.linalg.norm(joint.origin[:3, 3])) for joint in robot.description.joints)
    return min(max(reach, 0.2), 2.0)
