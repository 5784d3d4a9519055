# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The meshes of links: visual geometry, else collision geometry, else capsules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.dom.minidom import Element

import numpy as np
import trimesh

from screw_dynamics_ros.core.description.robot_description import RobotDescription
from screw_dynamics_ros.core.description.shapes import Shape
from screw_dynamics_ros.core.description.urdf_elements import (
    origin_in,
    primitive_of,
    shape_in,
    vector,
)
from screw_dynamics_ros.core.description.xml_document import child, children, robot_element
from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError
from screw_dynamics_ros.core.types import Array

Color = tuple[int, int, int]  # red, green, blue from 0 to 255

MAX_LENGTH = 1e3  # m; larger geometry is not drawn


@dataclass(frozen=True, eq=False)
class Visual:
    """A visual or collision element of a link.

    Attributes
    ----------
    pose : (4, 4) array
        Pose of the mesh in the frame of the link [m]; `shape` contains its own pose.
    shape : Shape or None
        A primitive, or None for a mesh.
    mesh : str
        File name in the description; '' for a primitive.
    scale : (3,) array
        Scale of the mesh.
    color : tuple of 3 int, or None
        Color, or None if the description has none.
    """

    pose: Array
    shape: Shape | None
    mesh: str
    scale: Array
    color: Color | None


@dataclass(frozen=True)
class LinkVisuals:
    """Visual and collision geometry of a link."""

    visual: tuple[Visual, ...] = ()
    collision: tuple[Visual, ...] = ()


def link_visuals(urdf: str) -> dict[str, LinkVisuals]:
    """Return the geometry of each link; elements with invalid numbers are omitted.

    Raises `DescriptionError` if the text is not a URDF.
    """
    robot = robot_element(urdf)
    materials = {
        material.getAttribute('name'): color
        for material in children(robot, 'material')
        if (color := own_color(material)) is not None
    }
    return {
        link.getAttribute('name'): LinkVisuals(
            *(parts(link, kind, materials) for kind in ('visual', 'collision'))
        )
        for link in children(robot, 'link')
    }


def parts(link: Element, kind: str, materials: Mapping[str, Color]) -> tuple[Visual, ...]:
    """Return the elements <visual> or <collision> of a link."""
    read = (part(element, materials) for element in children(link, kind))
    return tuple(each for each in read if each is not None)


def part(element: Element, materials: Mapping[str, Color]) -> Visual | None:
    """Return one element; None without geometry or with an invalid number."""
    geometry, material = child(element, 'geometry'), child(element, 'material')
    if geometry is None:
        return None
    color = None
    if material is not None:
        color = own_color(material) or materials.get(material.getAttribute('name'))
    try:
        pose = origin_in(element, 'visual')
        mesh, primitive = child(geometry, 'mesh'), primitive_of(geometry)
        if mesh is not None:
            scale = np.array(vector(mesh, 'scale', 'mesh', (1.0, 1.0, 1.0)))
            read = Visual(pose, None, mesh.getAttribute('filename'), scale, color)
        elif primitive is not None:
            shape = shape_in(primitive, pose, 'visual')
            read = Visual(pose, shape, '', np.ones(3), color)
        else:
            return None
    except (ArgumentError, DescriptionError):
        return None
    sizes = read.scale if read.shape is None else read.shape.extents
    return read if max(np.abs(pose[:3, 3]).max(), np.abs(sizes).max()) <= MAX_LENGTH else None


def own_color(material: Element) -> Color | None:
    """Return the color that a <material> contains."""
    element = child(material, 'color')
    try:
        values = [float(word) for word in element.getAttribute('rgba').split()] if element else []
        if len(values) != 4 or not np.isfinite(values).all():
            return None
    except ValueError:
        return None
    red, green, blue = (round(255.0 * min(max(value, 0.0), 1.0)) for value in values[:3])
    return red, green, blue


GRAY: Color = (190, 193, 198)
CAPSULE_RADIUS = 0.12  # fraction of its length
MIN_CAPSULE_LENGTH = 1e-3  # m
SECTIONS = 40  # of a cylinder
MAX_SMOOTH_FACES = 20_000  # of a mesh for which sharp edges are detected

MeshFile = Callable[[str], Path | None]


@dataclass(frozen=True, eq=False)
class ColoredMesh:
    """Triangles of one color: vertices (n, 3) in the frame of the link [m], faces (m, 3)."""

    vertices: Array
    faces: Array
    color: Color


def link_meshes(
    urdf: str, description: RobotDescription, mesh_file: MeshFile
) -> tuple[dict[str, list[ColoredMesh]], list[str]]:
    """Return the meshes of each link, and the names of missing files.

    Parameters
    ----------
    urdf : str
    description : RobotDescription
        The parsed description.
    mesh_file : callable
        Returns the file of a mesh named in the description, None if it must not be read.
    """
    visuals, missing = link_visuals(urdf), []
    bare = not any(each.visual or each.collision for each in visuals.values())
    meshes = {}
    for link in description.links:
        own = visuals.get(link.name, LinkVisuals())
        pieces, lacking = loaded(own.visual, mesh_file)
        if not pieces:
            pieces, further = loaded(own.collision, mesh_file)
            lacking = [] if pieces else [*lacking, *further]
        missing += lacking
        if not pieces and (bare or lacking):
            pieces = list(capsules(link.name, description))
        meshes[link.name] = merged(pieces)
    return meshes, sorted(set(missing))


def loaded(visuals: Iterable[Visual], mesh_file: MeshFile) -> tuple[list[ColoredMesh], list[str]]:
    """Return the parts that can be drawn, and the names of meshes that cannot."""
    pieces: list[ColoredMesh] = []
    lacking = []
    for visual in visuals:
        if visual.shape is not None:
            pieces.append(colored(primitive(visual.shape), visual.color or GRAY))
            continue
        path = mesh_file(visual.mesh)
        found = [] if path is None else list(of_file(path, visual))
        pieces += found
        if not found:
            lacking.append(visual.mesh)
    return pieces, lacking


def of_file(path: Path, visual: Visual) -> Iterator[ColoredMesh]:
    """Yield the meshes of a file; none if it cannot be read for any reason."""
    try:
        scene = trimesh.load_scene(path)
        units = scene.units if path.suffix.lower() == '.dae' else None
        pieces = [piece for piece in scene.dump() if isinstance(piece, trimesh.Trimesh)]
    except Exception:  # trimesh has no common error: missing reader, invalid file
        return
    for piece in pieces:
        if not (len(piece.faces) and np.isfinite(piece.vertices).all()):
            continue
        if units not in (None, 'm', 'meter', 'meters'):
            piece.apply_scale(trimesh.units.unit_conversion(units, 'meters'))
        piece.apply_scale(visual.scale)
        piece.apply_transform(visual.pose)
        yield colored(piece, visual.color or color_of(piece))


def color_of(mesh: Any) -> Color:
    """Return the color of a mesh from a file."""
    if mesh.visual.kind not in ('face', 'vertex', 'texture'):
        return GRAY
    visual = mesh.visual.to_color() if mesh.visual.kind == 'texture' else mesh.visual
    red, green, blue = (int(value) for value in np.asarray(visual.main_color)[:3])
    return red, green, blue


def primitive(shape: Shape) -> Any:
    """Return the mesh of a primitive."""
    if shape.kind == 'box':
        mesh = trimesh.creation.box(extents=shape.extents)
    elif shape.kind == 'sphere':
        mesh = trimesh.creation.icosphere(subdivisions=3, radius=0.5 * shape.extents[0])
    elif shape.kind == 'capsule':
        width, _, length = shape.extents
        mesh = capsule(length - width, 0.5 * width)
    else:
        mesh = trimesh.creation.cylinder(0.5 * shape.extents[0], shape.extents[2], SECTIONS)
    mesh.apply_transform(shape.pose)
    return mesh


def capsule(length: float, radius: float) -> Any:
    """Return the mesh of a capsule about the z axis, its middle at the origin."""
    mesh = trimesh.creation.capsule(length, radius, count=[16, 16])
    mesh.apply_translation([0.0, 0.0, -mesh.bounds[:, 2].mean()])  # it depends on the version
    return mesh


def capsules(link: str, description: RobotDescription) -> Iterator[ColoredMesh]:
    """Yield capsules from the origin of a link to its child joints."""
    for joint in description.joints:
        end = joint.origin[:3, 3]
        length = float(np.linalg.norm(end))
        if joint.parent != link or length < MIN_CAPSULE_LENGTH:
            continue
        mesh = capsule(length, CAPSULE_RADIUS * length)
        mesh.apply_translation([0.0, 0.0, 0.5 * length])
        mesh.apply_transform(trimesh.geometry.align_vectors([0.0, 0.0, 1.0], end))
        yield colored(mesh, GRAY)


def colored(mesh: Any, color: Color) -> ColoredMesh:
    """Return the triangles of a mesh, with sharp edges between flat faces."""
    if len(mesh.faces) <= MAX_SMOOTH_FACES:
        mesh = mesh.smooth_shaded
    return ColoredMesh(np.asarray(mesh.vertices), np.asarray(mesh.faces), color)


def merged(pieces: Sequence[ColoredMesh]) -> list[ColoredMesh]:
    """Return one mesh for each color."""
    by_color: dict[Color, list[ColoredMesh]] = {}
    for piece in pieces:
        by_color.setdefault(piece.color, []).append(piece)
    return [
        ColoredMesh(
            np.concatenate([piece.vertices for piece in group]),
            np.concatenate(
                [
                    piece.faces + offset
                    for piece, offset in zip(
                        group, np.cumsum([0, *(len(piece.vertices) for piece in group)])
                    )
                ]
            ),
            color,
        )
        for color, group in by_color.items()
    ]
