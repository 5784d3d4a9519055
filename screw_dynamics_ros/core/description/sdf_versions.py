# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Versions of SDFormat: files of 1.4 to 1.6 are changed into what 1.7 and newer mean.

Source: SDFormat, sdf/1.5/1_4.convert to sdf/1.8/1_7.convert, and Model.cc for equal names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.dom.minidom import Element

from ..errors import DescriptionError
from .robot_description import Finding
from .sdf_elements import flag_of, place_of
from .sdf_frames import MODEL_FRAME
from .xml_document import child, children, short

Version = tuple[int, int]

_OLDEST_VERSION, _NEWEST_VERSION = (1, 4), (1, 12)

#: The first version with <gravity> in <world>, not in its <physics>.
_GRAVITY_IN_WORLD = (1, 6)

#: The first version with `relative_to` and `expressed_in`, and one name for one part of a model.
_FRAME_SEMANTICS = (1, 7)


def converted(sdf: Element) -> list[Finding]:
    """Change an <sdf> of an older version into 1.7, in place.

    Returns
    -------
    list of Finding
        A version that does not exist, and joints and frames that were renamed.

    Raises
    ------
    DescriptionError
        There is no version, or one before 1.4; a flag is neither true nor false.
    """
    given = sdf.getAttribute('version')
    numbers = re.fullmatch(r'(\d{1,3})\.(\d{1,3})(\.\d{1,3})?', given)
    version = (0, 0) if numbers is None else (int(numbers[1]), int(numbers[2]))
    if version < _OLDEST_VERSION:
        what = f'version is {short(given)!r}' if given else 'it has no version'
        raise DescriptionError(
            f'{place_of(sdf)}: {what}; SDFormat 1.4 and newer are read, give its version, or '
            'convert it with `gz sdf -p robot.sdf > converted.sdf`'
        )
    used = min(version, _NEWEST_VERSION)
    findings = []
    if given != f'{used[0]}.{used[1]}':
        findings.append(
            Finding.warning(
                f'file of version {given}',
                f'there is no such version of SDFormat, and libsdformat refuses it; it is read as '
                f'{used[0]}.{used[1]}',
                'correct the version',
            )
        )
    if used < _FRAME_SEMANTICS:
        for element in _elements(sdf):
            if element.tagName == 'pose' and element.getAttribute('frame'):
                element.setAttribute('relative_to', element.getAttribute('frame'))
            elif element.tagName == 'joint':
                _express_axes(element, used)
            elif element.tagName == 'model':
                findings.extend(_separate_names(element))
            elif element.tagName == 'world' and used < _GRAVITY_IN_WORLD:
                _move_gravity(element)
    return findings


def _elements(root: Element) -> Iterator[Element]:
    pending = [root]  # not getElementsByTagName: it recurses, and depth is the sender's choice
    while pending:
        element = pending.pop()
        yield element
        pending.extend(node for node in element.childNodes if isinstance(node, Element))


def _express_axes(joint: Element, version: Version) -> None:
    """Set the frame of axes: of the model for 1.4, or with use_parent_model_frame."""
    for axis in (*children(joint, 'axis'), *children(joint, 'axis2')):
        flag, xyz = child(axis, 'use_parent_model_frame'), child(axis, 'xyz')
        in_model = version < (1, 5) if flag is None else flag_of(axis, 'use_parent_model_frame')
        if in_model and xyz is not None:
            xyz.setAttribute('expressed_in', MODEL_FRAME)
        for each in children(axis, 'use_parent_model_frame'):
            axis.removeChild(each)


def _separate_names(model: Element) -> Iterator[Finding]:
    """Rename joints and frames that have the name of another part, as libsdformat does."""
    taken = {
        each.getAttribute('name') for tag in ('link', 'model') for each in children(model, tag)
    }
    for tag in ('joint', 'frame'):
        names: set[str] = set()
        for element in children(model, tag):
            old = name = element.getAttribute('name')
            if old in names:
                continue  # two joints of one name: refused later
            names.add(old)
            number = -1
            while name in taken:
                name = f'{old}_{tag}' + (str(number) if number >= 0 else '')
                number += 1
            taken.add(name)
            if name != old:
                where = place_of(element)
                element.setAttribute('name', name)
                yield Finding.warning(
                    f'{tag} {name}',
                    f'{where} has the name of another part of its model, and is renamed as '
                    'libsdformat does',
                    'give it a unique name',
                )


def _move_gravity(world: Element) -> None:
    physics = child(world, 'physics')
    gravity = None if physics is None else child(physics, 'gravity')
    if gravity is not None and child(world, 'gravity') is None:
        world.appendChild(gravity)
