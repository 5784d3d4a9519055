# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A hash of a URDF that programs without this package can compute, to compare robot and model.

It is the SHA-256 of the canonical text: the tags of <link>, <inertial> and <joint> and of all
within <inertial> and <joint>, after the attribute `version` of the root. Between tags nothing is
kept, in tags no white space but within values, there one space for each; values have double quotes,
and each element ends with ``</>``.

So it does not depend on the layout, on the comment of xacro with the path of its file, on meshes,
materials, transmissions, and on the tags of simulators and ros2_control. `description_hash.hpp` of
screw_dynamics_control computes the same.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from .xml_document import MARKUP

_END_OF_NAME = re.compile(r'[\s/>]', re.ASCII)
_VALUE = re.compile(r"""("[^"]*"|'[^']*')""")
_SPACE = re.compile(r'\s+', re.ASCII)
_VERSION = re.compile('version="[^"]*"')


def description_hash(urdf: str) -> str:
    """Return the hash of a URDF, 64 hexadecimal digits; texts that are no XML have one, too.

    Examples
    --------
    >>> link = '<robot name="r"><!-- by xacro --><link name="base"><visual/></link></robot>'
    >>> canonical_text(link)
    '<linkname="base"></>'
    >>> description_hash(link) == description_hash("<robot><link name='base' /></robot>")
    True
    """
    return hashlib.sha256(canonical_text(urdf).encode()).hexdigest()


def canonical_text(urdf: str) -> str:
    """Return the text whose hash it is."""
    return ''.join(_tags(urdf))


def _tags(urdf: str) -> Iterator[str]:
    path: list[str] = []
    for markup in filter(None, MARKUP.findall(urdf)):
        if not markup.startswith('</'):
            path.append(_END_OF_NAME.split(markup[1:], maxsplit=1)[0])
            tag = ''.join(map(_canonical, _VALUE.split(markup[1:-1]))).removesuffix('/')
            version = _VERSION.search(tag) if len(path) == 1 else None
            yield version[0] if version else f'<{tag}>' if _is_kept(path) else ''
        if (path and markup.startswith('</')) or markup.endswith('/>'):
            if _is_kept(path):
                yield '</>'
            path.pop()


def _canonical(part: str) -> str:
    """Return a value with single spaces and double quotes, or the text between values."""
    if part[:1] in ('"', "'"):
        return f'"{_SPACE.sub(" ", part[1:-1]).strip(" ")}"'
    return _SPACE.sub('', part)


def _is_kept(path: list[str]) -> bool:
    """Whether an element is part of the canonical text, by the names from the root to it."""
    return path[1:2] == ['joint'] or path[1:3] in (['link'], ['link', 'inertial'])
