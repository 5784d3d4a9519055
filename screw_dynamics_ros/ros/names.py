# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Names of frames in topic names, of joints in messages, and lists of names in texts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from ..core.errors import ArgumentError, UnknownNameError

MAX_SHOWN_LENGTH = 60  # characters of a name in messages to users

#: Names that the middleware reports for endpoints without a node, or with one not yet discovered.
UNDISCOVERED, NO_NODE = '_NODE_NAME_UNKNOWN_', '_CREATED_BY_BARE_DDS_APP_'
NO_NODE_IN_WORDS = 'a program without ROS'


def topic_tokens(frames: Iterable[str]) -> dict[str, str]:
    """Return a valid and unique topic name token for each frame.

    Characters other than letters and digits become underscores; a leading digit is preceded by one.
    A number distinguishes frames that would share a token.

    Examples
    --------
    >>> topic_tokens(['tool0', 'tool-0', '7th/link', 'tool_0'])
    {'tool0': 'tool0', 'tool-0': 'tool_0', '7th/link': '_7th_link', 'tool_0': 'tool_0_2'}
    """
    tokens: dict[str, str] = {}
    used: set[str] = set()
    for frame in frames:
        token = re.sub(r'[^A-Za-z0-9_]', '_', frame)
        if not token or token[0].isdigit():
            token = '_' + token
        distinct, number = token, 2
        while distinct in used:
            distinct, number = f'{token}_{number}', number + 1
        tokens[frame] = distinct
        used.add(distinct)
    return tokens


def check_joint_names(
    what: str, names: Sequence[str], joints: Sequence[str], known: Collection[str] = ()
) -> None:
    """Check that a message names each joint at most once, and only `joints` and `known`.

    `what` describes the message in errors. Raises `UnknownNameError` and `ArgumentError`.
    """
    allowed, named = {*joints, *known}, set()
    for name in names:
        if name not in allowed:
            raise UnknownNameError(
                f"{what} names joint '{shown(name)}', which the robot does not have; "
                f'it has {shorten(joints, 30)}'
            )
        if name in named:
            raise ArgumentError(f"{what} names joint '{shown(name)}' twice")
        named.add(name)


def shown(name: str) -> str:
    r"""Return an arbitrary name as text: shortened, with control characters escaped.

    Examples
    --------
    >>> shown('elbow')
    'elbow'
    >>> print(shown('two' + chr(10) + 'lines'))
    two\nlines
    """
    return printable(name, MAX_SHOWN_LENGTH)


def shorten(names: Sequence[str], most: int = 8) -> str:
    """Return the names as text, only the first few of a long list."""
    text = ', '.join(map(shown, names[:most]))
    return text + (f', ... ({len(names)} in all)' if len(names) > most else '')


def printable(text: str, most: int = 300) -> str:
    """Return a text from outside as one line, shortened and without control characters."""
    return escaped(text[:most]) + ('...' if len(text) > most else '')


def escaped(text: str) -> str:
    """Return a text as one line, with control characters escaped."""
    if text.isprintable():
        return text
    return ''.join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def twist_frame(representation: str, root: str, link: str) -> str:
    """Return the frame in which a twist is resolved; both frames of a mixed twist, as text.

    No frame has the latter name, so transforming such a message fails instead of giving a wrong
    result.
    """
    return {'body': link, 'mixed': f'{root} (linear), {link} (angular)'}.get(representation, root)
