# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The XML of robot descriptions: parsed safely, from any source; its values, checked."""

from __future__ import annotations

import math
import os
import pathlib
import re
from collections.abc import Iterable
from contextlib import suppress
from xml.dom.minidom import Document, Element
from xml.parsers.expat import ExpatError, ParserCreate
from xml.parsers.expat.errors import XML_ERROR_MISPLACED_XML_PI, codes

import numpy as np
from defusedxml import DefusedXmlException, expatbuilder

from .. import files
from ..errors import ArgumentError, DescriptionError, InertiaError
from ..reproducible import product, sine_cosine, unit
from ..types import Array
from .body_inertia import Inertia

MAX_FILE_BYTES = 64 * 2**20  # bytes of a file: a hundred times what the largest robots have
#: Elements of the semantic description that MoveIt reads beside a URDF.
SRDF_ELEMENTS = frozenset(
    {
        'group',
        'group_state',
        'virtual_joint',
        'passive_joint',
        'end_effector',
        'disable_collisions',
        'disable_default_collisions',
    }
)

#: Elements around an element; no description needs more.
_MAX_DEPTH = 5000

#: Key of the user data of elements.
_LINE = 'line'

#: What stands in angle brackets in well-formed XML without a DTD; group 1 is a tag.
MARKUP = re.compile(
    r"""<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|(<(?:[^"'>]|"[^"]*"|'[^']*')*>)""", re.DOTALL
)
_COMMENT = re.compile(r'<!--(.*?)-->', re.DOTALL)
_VALUE = re.compile(r""""[^"]*"|'[^']*'""")
_BREAKS = str.maketrans({'\t': '&#9;', '\n': '&#10;', '\r': '&#13;'})
#: Characters of a name: they become frames, topics and lines of files.
MAX_NAME_LENGTH = 255

#: No robot needs larger numbers (SI units), and their products would overflow further on.
MAX_NUMBER = 1e30

#: Rotation matrix entries this close to 0, 1 or -1 are rounding residue of a right angle.
_RIGHT_ANGLE_TOLERANCE = 1e-15


def robot_element(text_or_path: str | bytes | os.PathLike[str]) -> Element:
    """Return the <robot> of a URDF, given as its text or as the path of a file.

    Raises `DescriptionError` if it is no URDF, also for xacro files and SRDFs, `ArgumentError` for
    other types.
    """
    robot = parsed_root(source_of(text_or_path), 'robot', 'convert the description to URDF')
    _refuse_xacro(robot)
    if child(robot, 'link') is None:
        refuse_srdf(node.nodeName for node in robot.childNodes)
    return robot


def parsed_root(source: str | bytes, expected: str, remedy: str = 'correct it') -> Element:
    """Return the root element of a text; raises `DescriptionError` if that has another name."""
    root = parsed(source).documentElement
    if root is None or root.tagName != expected:
        tag = root.tagName if root is not None else 'none'
        raise DescriptionError(f'the root element is <{tag}>, not <{expected}>; {remedy}')
    return root


class _RootFoundError(Exception):
    """Ends parsing at the root element."""


def root_tag(source: str | bytes) -> str:
    """Return the name of the root element of a text, '' if that cannot be parsed or has a DTD."""
    found = ['']

    def stop(tag: str = '', *_: object) -> None:
        found[0] = tag
        raise _RootFoundError

    parser = ParserCreate()
    parser.StartElementHandler = stop
    parser.StartDoctypeDeclHandler = lambda *_: stop()
    with suppress(_RootFoundError, ExpatError, ValueError, LookupError):
        parser.Parse(with_plain_comments(source), True)
    return found[0]


def refuse_srdf(tags: Iterable[str]) -> None:
    """Raise `DescriptionError` if elements of these names are an SRDF."""
    found = sorted(SRDF_ELEMENTS.intersection(tags))
    if found:
        raise DescriptionError(
            f'this is an SRDF (it has <{found[0]}>), which names groups of joints and pairs of '
            'links, but does not describe them; give the URDF of its robot'
        )


def with_line_breaks(source: str | bytes) -> str | bytes:
    """Return a well-formed text whose line breaks and tabs in attributes survive parsing.

    XML makes spaces of them, unless they are written as references; the parser of urdfdom does not.
    """
    # Latin-1 gives each byte a character, whatever the encoding, and gives it back.
    text = source if isinstance(source, str) else source.decode('latin-1')
    if '\0' in text:  # UTF-16, which urdfdom cannot read at all
        return source
    kept = MARKUP.sub(
        lambda found: (
            _VALUE.sub(lambda value: value[0].translate(_BREAKS), found[1])
            if found[1] is not None
            else found[0]
        ),
        text,
    )
    return kept if isinstance(source, str) else kept.encode('latin-1')


def with_plain_comments(source: str | bytes) -> str | bytes:
    """Return a text without hyphens in comments: two of them are an error for Expat alone.

    TinyXML, the parser of urdfdom, libsdformat and MuJoCo, accepts them.
    """
    text = source if isinstance(source, str) else source.decode('latin-1')
    if '--' not in text or '\0' in text:
        return source
    plain = _COMMENT.sub(lambda found: f'<!--{found[1].replace("-", " ")}-->', text)
    return plain if isinstance(source, str) else plain.encode('latin-1')


def children(element: Element, tag: str) -> list[Element]:
    """Return the children of that name."""
    return [
        node for node in element.childNodes if isinstance(node, Element) and node.tagName == tag
    ]


def child(element: Element, tag: str) -> Element | None:
    """Return the first child of that name, as urdfdom does."""
    return next(iter(children(element, tag)), None)


def text_of(element: Element | None) -> str:
    """Return the text in an element without white space around it; '' if it is missing."""
    if element is None:
        return ''
    return ''.join(
        node.data for node in element.childNodes if node.nodeType in (node.TEXT_NODE, 4)
    ).strip()


def short(text: str, most: int = 80) -> str:
    """Return a text for an error message, cut if it is long."""
    return text if len(text) <= most else f'{text[:most]}...'


def source_of(text_or_path: str | bytes | os.PathLike[str]) -> str | bytes:
    """Return the XML text, read from the file if a path is given.

    Raises `DescriptionError` if there is none, `ArgumentError` for other types.
    """
    if isinstance(text_or_path, bytes):
        return text_or_path.lstrip()
    if isinstance(text_or_path, str):
        text = text_or_path.lstrip('\ufeff \t\r\n')
        if not text:
            raise DescriptionError(
                'the description is empty; expected URDF text or the path of a file'
            )
        if '<' in text:
            return text
    elif not isinstance(text_or_path, os.PathLike):
        raise ArgumentError(
            f'text_or_path is a {type(text_or_path).__name__}; give URDF text or a path'
        )
    try:
        return files.read(pathlib.Path(text_or_path), MAX_FILE_BYTES).lstrip()
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise DescriptionError(
            f'cannot read the file {short(str(text_or_path))!r} ({reason}), and as text it is no '
            'XML; check the path, or pass the URDF text itself'
        ) from None


class _NumberedBuilder(expatbuilder.DefusedExpatBuilder):
    """Keeps the line on which each element begins, and limits how deep elements are."""

    depth = 0

    def start_element_handler(self, name: str, attributes: list[str]) -> None:
        line = self.getParser().CurrentLineNumber
        self.depth += 1
        if self.depth > _MAX_DEPTH:  # minidom climbs to the root for each attribute
            raise DescriptionError(
                f'<{short(name)}> (line {line}) is in more than {_MAX_DEPTH} other elements; '
                'close the elements around it'
            )
        super().start_element_handler(name, attributes)
        self.curNode.setUserData(_LINE, line, None)

    def end_element_handler(self, name: str) -> None:
        self.depth -= 1
        super().end_element_handler(name)


def line_of(element: Element) -> int:
    """Return the line of a description on which an element begins, 0 for one that was added."""
    line = element.getUserData(_LINE)
    return 0 if line is None else int(line)


def parsed(source: str | bytes) -> Document:
    """Return the document of an XML text; raises `DescriptionError`."""
    source = with_plain_comments(source)
    try:
        # Namespaces off: old URDFs use prefixes they never declare, and no reader looks at them.
        document: Document = _NumberedBuilder(forbid_dtd=True).parseString(source)
    except DefusedXmlException as error:
        raise DescriptionError(
            f'the description has a DTD or entity declarations, refused as unsafe ({error}); '
            'remove the <!DOCTYPE ...> and write the values out'
        ) from None
    except ExpatError as error:
        remedy = 'check it with `xmllint --noout`'
        if error.code == codes[XML_ERROR_MISPLACED_XML_PI]:
            remedy = 'put <?xml ...?> before all else, comments too, or delete it'
        raise DescriptionError(
            f'the description is not well-formed XML: {error}; {remedy}'
        ) from None
    except DescriptionError:
        raise
    except (ValueError, LookupError) as error:
        raise DescriptionError(
            f'the description cannot be decoded: {error}; save it as UTF-8'
        ) from None
    return document


def _refuse_xacro(robot: Element) -> None:
    pending = [robot]  # not getElementsByTagName: it recurses, and depth is the sender's choice
    while pending:
        element = pending.pop()
        pending.extend(node for node in element.childNodes if isinstance(node, Element))
        if element.tagName.startswith('xacro:'):
            raise DescriptionError(
                f'the description is a xacro file (it has <{element.tagName}>); expand it first: '
                '`xacro robot.urdf.xacro > robot.urdf`, in a launch file Command(["xacro ", path])'
            )


def robot_document(text: str) -> tuple[Element, Document]:
    """Return the <robot> of a URDF and the document it belongs to, to be changed and written.

    Raises `DescriptionError` if the text is no URDF.
    """
    robot = robot_element(text)
    document = robot.ownerDocument
    if not isinstance(document, Document):
        raise ArgumentError('the URDF has no document to be written')
    return robot, document


def document_text(document: Document) -> str:
    """Return the text of a changed URDF."""
    # Comments and instructions around <robot> lose their lines: document.toxml() would join them.
    parts = ['<?xml version="1.0"?>', *(node.toxml() for node in document.childNodes)]
    return '\n'.join(parts) + '\n'


def name_attribute(element: Element) -> str:
    """Return the name of an element; raises `DescriptionError` if it has none."""
    name = element.getAttribute('name')
    if not name:
        raise DescriptionError(f'a <{element.tagName}> has no name; add name="..."')
    if len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise DescriptionError(
            f'the name of a <{element.tagName}> has control characters, or more than '
            f'{MAX_NAME_LENGTH}: {short(ascii(name))}; rename it'
        )
    return name


def number_in(text: str, *, bound: bool = False) -> float | None:
    """Return the finite number of a text, or None; a `bound` may also be infinite."""
    try:
        value = math.nan if '_' in text else float(text)
    except ValueError:
        return None
    return value if abs(value) <= (math.inf if bound else MAX_NUMBER) else None


def numbers_in(text: str, count: int) -> tuple[float, ...] | None:
    """Return finite numbers separated by spaces, or None for anything else."""
    found = tuple(value for value in map(number_in, text.split()) if value is not None)
    return found if len(found) == len(text.split()) == count else None


def xacro_hint(text: str) -> str:
    """Return what to add to an error about a number that is a xacro expression."""
    return ' (a xacro expression: expand the file with xacro first)' if '${' in text else ''


def axis_of(components: Array, owner: str) -> Array:
    """Return the unit vector (3,) of an axis; raises `DescriptionError` for zero."""
    # Scaled first: the square of a small or large component must not vanish or overflow.
    largest = np.abs(components).max()
    if largest == 0.0:
        raise DescriptionError(
            f'{owner}: axis is zero; give it a direction, or make the joint fixed'
        )
    return unit(components / largest)


def inertia_in(pose: Array, mass: float, moments: Array, owner: str) -> Inertia:
    """Return the inertia of a body in the frame of its link.

    Parameters
    ----------
    pose : (4, 4) array
        Of the center of mass and the axes of `moments` in the link frame [m].
    mass : float
        [kg]
    moments : (3, 3) array
        About the center of mass [kg m^2].
    owner : str
        The link, for the `InertiaError` of a negative mass.
    """
    if mass < 0.0:
        raise InertiaError(f'{owner}: mass is {mass:g} kg; a mass cannot be negative, correct it')
    rotation = pose[:3, :3]
    if not np.array_equal(rotation, np.eye(3)):
        moments = product(rotation, moments, rotation.T)
        moments = 0.5 * (moments + moments.T)
    return Inertia(mass, pose[:3, 3], moments)


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll), right angles exact."""
    (sr, cr), (sp, cp), (sy, cy) = map(sine_cosine, (roll, pitch, yaw))
    return without_residue(
        np.array(
            [
                [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                [-sp, cp * sr, cp * cr],
            ]
        )
    )


def rotation_from_quaternion(quaternion: Array) -> Array:
    """Return the rotation matrix of a quaternion (x, y, z, w) of any length, right angles exact."""
    x, y, z, w = unit(quaternion / np.abs(quaternion).max()).tolist()
    return without_residue(
        np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
    )


def without_residue(rotation: Array) -> Array:
    """Return a rotation matrix (3, 3) whose right angles are exact."""
    nearest = np.round(rotation)
    return np.where(np.abs(rotation - nearest) <= _RIGHT_ANGLE_TOLERANCE, nearest + 0.0, rotation)
