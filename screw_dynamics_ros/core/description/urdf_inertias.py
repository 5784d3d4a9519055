# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Other inertias and friction in the text of a URDF: meshes, comments and tags of others stay."""

from __future__ import annotations

from collections.abc import Mapping
from xml.dom.minidom import Document, Element

from ..errors import UnknownNameError
from .body_inertia import Inertia
from .urdf_writer import inertial_attributes, number_text
from .xml_document import child, children, document_text, robot_document


def with_dynamics(
    text: str,
    inertias: Mapping[str, Inertia],
    friction: Mapping[str, tuple[float, float]] | None = None,
) -> str:
    r"""Return a URDF with the <inertial> of some links and the <dynamics> of some joints replaced.

    Parameters
    ----------
    text : str
        The URDF.
    inertias : {link: Inertia}
    friction : {joint: (damping, friction)}, optional
        [N m s/rad, N m; N s/m, N]

    Raises
    ------
    DescriptionError
        The text is no URDF.
    UnknownNameError
        It has no such link or joint.

    Examples
    --------
    >>> import numpy as np
    >>> urdf = '<robot name="r"><link name="a"><!-- steel --></link></robot>'
    >>> text = with_dynamics(urdf, {'a': Inertia(2.0, np.zeros(3), np.diag([0.1, 0.2, 0.2]))})
    >>> print(text.replace('><', '>\n<'))
    <?xml version="1.0"?>
    <robot name="r">
    <link name="a">
    <inertial>
    <origin xyz="0.0 0.0 0.0" rpy="0 0 0"/>
    <mass value="2.0"/>
    <inertia ixx="0.1" ixy="0.0" ixz="0.0" iyy="0.2" iyz="0.0" izz="0.2"/>
    </inertial>
    <!-- steel -->
    </link>
    </robot>
    <BLANKLINE>
    """
    robot, document = robot_document(text)
    links, joints = (
        {each.getAttribute('name'): each for each in children(robot, kind)}
        for kind in ('link', 'joint')
    )
    for names, there, kind in ((inertias, links, 'link'), (friction or {}, joints, 'joint')):
        for name in names:
            if name not in there:
                raise UnknownNameError(f'no {kind} named {name!r}; there are {", ".join(there)}')
    for name, inertia in inertias.items():
        inertial = _emptied(document, links[name], 'inertial')
        for tag, attributes in inertial_attributes(inertia).items():
            _add(document, inertial, tag, attributes)
    for name, (damping, dry) in (friction or {}).items():
        dynamics = child(joints[name], 'dynamics')
        if dynamics is None:
            dynamics = document.createElement('dynamics')
            joints[name].appendChild(dynamics)
        dynamics.setAttribute('damping', number_text(damping))
        dynamics.setAttribute('friction', number_text(dry))
    return document_text(document)


def _emptied(document: Document, parent: Element, tag: str) -> Element:
    """Return the child of that name without content, a new one if there is none."""
    element = child(parent, tag)
    if element is None:
        element = document.createElement(tag)
        parent.insertBefore(element, parent.firstChild)
    while element.firstChild is not None:
        element.removeChild(element.firstChild)
    return element


def _add(document: Document, parent: Element, tag: str, attributes: Mapping[str, str]) -> None:
    element = document.createElement(tag)
    for key, value in attributes.items():
        element.setAttribute(key, value)
    parent.appendChild(element)
