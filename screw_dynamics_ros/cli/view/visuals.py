# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Visual and collision geometry of a URDF: primitives and meshes with colors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args
from xml.dom.minidom import Element

import numpy as np

from screw_dynamics_ros.core.description.shapes import Shape, ShapeKind
from screw_dynamics_ros.core.description.xml_document import (
    child,
    children,
    robot_element,
)
from screw_dynamics_ros.core.description.xml_values import rotation_from_rpy
from screw_dynamics_ros.core.errors import ArgumentError
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
        pose = origin(child(element, 'origin'))
        mesh = child(geometry, 'mesh')
        if mesh is not None:
            scale = numbers(mesh, 'scale', (1.0, 1.0, 1.0))
            return Visual(pose, None, mesh.getAttribute('filename'), scale, color)
        for kind in get_args(ShapeKind):
            primitive = child(geometry, kind)
            if primitive is not None:
                shape = Shape(kind, extents(kind, primitive), pose)
                return Visual(pose, shape, '', np.ones(3), color)
    except (ArgumentError, ValueError):
        return None
    return None


def extents(kind: ShapeKind, primitive: Element) -> Array:
    """Return the extents (3,) of a `Shape` [m]; raises `ValueError`."""
    if kind == 'box':
        return numbers(primitive, 'size', None)
    width = 2.0 * number(primitive, 'radius')
    return np.array([width, width, width if kind == 'sphere' else number(primitive, 'length')])


def origin(element: Element | None) -> Array:
    """Return the pose (4, 4) of an <origin>; raises `ValueError`."""
    pose = np.eye(4)
    if element is not None:
        pose[:3, 3] = numbers(element, 'xyz', (0.0, 0.0, 0.0))
        pose[:3, :3] = rotation_from_rpy(*numbers(element, 'rpy', (0.0, 0.0, 0.0)))
    return pose


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


def number(element: Element, key: str) -> float:
    """Return an attribute; raises `ValueError` if it is not finite or beyond `MAX_LENGTH`."""
    value = float(element.getAttribute(key))
    if not abs(value) <= MAX_LENGTH:
        raise ValueError(key)
    return value


def numbers(element: Element, key: str, default: tuple[float, float, float] | None) -> Array:
    """Return an attribute of three numbers, (3,); raises `ValueError`."""
    if default is not None and not element.hasAttribute(key):
        return np.array(default)
    values = np.array([float(word) for word in element.getAttribute(key).split()])
    if values.shape != (3,) or not (np.abs(values) <= MAX_LENGTH).all():
        raise ValueError(key)
    return values
