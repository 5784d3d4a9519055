# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joints of a URDF that are held at zero."""

from __future__ import annotations

from collections.abc import Collection

from ..errors import UnknownNameError
from .xml_document import child, children, document_text, robot_document


def with_fixed_joints(text: str, names: Collection[str]) -> str:
    """Return a URDF whose joints of these names, and all that follow them, are fixed at zero.

    Raises
    ------
    DescriptionError
        The text is no URDF.
    UnknownNameError
        It has no such joint.

    Examples
    --------
    >>> urdf = '<robot name="r"><joint name="a" type="revolute"/></robot>'
    >>> 'type="fixed"' in with_fixed_joints(urdf, ['a'])
    True
    """
    robot, document = robot_document(text)
    joints = {each.getAttribute('name'): each for each in children(robot, 'joint')}
    unknown = [name for name in names if name not in joints]
    if unknown:
        raise UnknownNameError(
            f'no joint named {unknown[0]!r} to leave out; there are {", ".join(joints)}'
        )
    mimics = {name: child(joint, 'mimic') for name, joint in joints.items()}
    fixed = set(names)
    for _ in joints:  # mimic joints of mimic joints, whatever their order
        fixed |= {
            name for name, mimic in mimics.items() if mimic and mimic.getAttribute('joint') in fixed
        }
    for name in fixed:
        joints[name].setAttribute('type', 'fixed')
        mimic = mimics[name]
        if mimic is not None:
            joints[name].removeChild(mimic)
    return document_text(document)
