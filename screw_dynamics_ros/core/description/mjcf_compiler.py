# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""MuJoCo's compiler for MJCF: a file may include others, a text from the network reads none."""

from __future__ import annotations

import os
import pathlib
from typing import Any, NoReturn
from xml.dom.minidom import Element

from ..errors import DescriptionError
from .xml_document import parsed_root, root_tag, short, source_of

MAX_XML_DEPTH = 200  # nested elements; MuJoCo's own parser ends at 500

#: Elements of a text that are removed: they have no mass, and cost memory or refer to files.
DECORATION = frozenset({'texture', 'material', 'skin', 'size', 'visual', 'statistic'})

#: Elements that a text must not have, with the reason.
REFUSED = {
    'include': 'reads a file',
    'model': 'reads a file',
    'hfield': 'can need any amount of memory',
    'replicate': 'can need any amount of memory',
    'composite': 'can need any amount of memory',
    'flexcomp': 'can need any amount of memory',
}


def compiled_model(text_or_path: str | bytes | os.PathLike[str]) -> Any:
    """Return the `MjModel` of a file or of a text.

    Raises
    ------
    DescriptionError
        The package `mujoco` is missing, MuJoCo refuses the model, or a text refers to files.
    ArgumentError
        `text_or_path` is neither a text nor a path.
    """
    try:
        import mujoco  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise DescriptionError(
            'the description is an MJCF (root element <mujoco>), which requires the package '
            'mujoco; install it with `pip install mujoco`, or convert the description to URDF'
        ) from None
    source = source_of(text_or_path)
    if root_tag(source) == 'robot':  # MuJoCo reads URDF by rules of its own
        raise DescriptionError(
            'the root element is <robot>, not <mujoco>: this is a URDF; read it by Robot.from_urdf '
            'or read_robot_description'
        )
    text = without_files(source) if is_text(text_or_path) else ''
    warnings: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(warnings.append)  # otherwise it writes MUJOCO_LOG.TXT
    try:
        if text:
            return mujoco.MjModel.from_xml_string(text, {})
        return mujoco.MjModel.from_xml_path(str(pathlib.Path(os.fsdecode(text_or_path))))
    except (ValueError, MemoryError, mujoco.FatalError) as error:
        reason = ' '.join(str(error).split())
        raise DescriptionError(f'MuJoCo refuses the MJCF: {short(reason, 500)}') from None
    finally:
        mujoco.set_mju_user_warning(before)


def is_text(text_or_path: str | bytes | os.PathLike[str]) -> bool:
    """Return whether this is XML text, as `source_of` decides."""
    if isinstance(text_or_path, bytes):
        return True
    return isinstance(text_or_path, str) and '<' in text_or_path


def without_files(source: str | bytes) -> str:
    """Return a text without decoration, as it was parsed and checked here.

    Raises `DescriptionError` if it refers to files, or can need any amount of memory.
    """
    root = parsed_root(source, 'mujoco')
    pending = [(root, 0)]
    while pending:
        element, depth = pending.pop()
        if depth > MAX_XML_DEPTH:
            raise DescriptionError(
                f'the MJCF has more than {MAX_XML_DEPTH} nested elements; remove some'
            )
        _check_element(element)
        for key in ('material', 'texture'):
            if element.hasAttribute(key):
                element.removeAttribute(key)
        for node in [each for each in element.childNodes if isinstance(each, Element)]:
            if node.tagName in DECORATION:
                element.removeChild(node)
            else:
                pending.append((node, depth + 1))
    return str(root.toxml())


def _check_element(element: Element) -> None:
    tag = element.tagName
    name = f' name="{short(element.getAttribute("name"))}"' if element.hasAttribute('name') else ''
    if tag in REFUSED:
        _refuse(f'<{tag}{name}>', REFUSED[tag])
    for key in element.attributes.keys() if element.attributes else ():
        if key.startswith('file') or (tag == 'mesh' and key == 'builtin'):
            _refuse(f'<{tag}{name} {key}="...">', REFUSED['include' if key[0] == 'f' else 'hfield'])


def _refuse(element: str, reason: str) -> NoReturn:
    raise DescriptionError(
        f'the MJCF has {element}, which {reason}; a text from a topic or parameter must not: give '
        'the path of the file to a program that reads files, or its conversion by `export`'
    )
