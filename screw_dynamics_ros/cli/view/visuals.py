# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Visual and collision geometry of a URDF: primitives and meshes with colors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from xml.dom.minidom import Element

import numpy as np

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
