# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Capture of messages that libraries print on stderr, with counts of repeated ones."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, suppress

from ..ros.names import printable

MAX_KINDS = 20  # kinds of messages
MAX_MESSAGE_LENGTH = 300  # characters
MAX_INPUT_BYTES = 2**20  # bytes that are read

_one_at_a_time = threading.RLock()

#: A message of console_bridge with its location in the source, or any other line.
_MESSAGE = re.compile(
    r'^(?P<level>Error|Warning): +(?P<text>(?:(?!^(?:Error|Warning):)[\s\S])*?)'
    r'\n +at line \d+ in .*$|^(?P<line>.*\S.*)$',
    re.MULTILINE,
)
#: Parts that differ between messages of one kind: names and values.
_PARTICULAR = re.compile(r'\[[^\]]*\]|\([^)]*\)|"[^"]*"|\'[^\']*\'|\d+')


@contextmanager
def caught_messages() -> Iterator[list[str]]:
    """Capture output to the file descriptor of stderr within the block.

    Yields a list that contains the messages after the block (`counted`). Output of Python to
    ``sys.stderr`` still appears. If an exception leaves the block, the captured output is printed.

    The descriptor belongs to the process: blocks are executed one at a time, and the output of
    other threads is captured too. Use it in commands, not in nodes.
    """
    messages: list[str] = []
    with _one_at_a_time, ExitStack() as opened:
        try:
            before = os.dup(2)
            opened.callback(os.close, before)
            file = opened.enter_context(tempfile.TemporaryFile())
        except OSError:  # no stderr or no temporary file: nothing is captured
            yield messages
            return
        caught = b''
        try:
            with _python_stderr_on(before):
                os.dup2(file.fileno(), 2)
                try:
                    yield messages
                finally:
                    os.dup2(before, 2)
                    file.seek(0)
                    caught = file.read(MAX_INPUT_BYTES)
        except BaseException:
            with suppress(OSError), open(2, 'wb', closefd=False) as stderr:
                stderr.write(caught)
            raise
    messages += counted(caught.decode(errors='replace'))


@contextmanager
def _python_stderr_on(descriptor: int) -> Iterator[None]:
    """Redirect ``sys.stderr`` to a descriptor, if it writes to descriptor 2."""
    own = None
    with suppress(AttributeError, OSError, ValueError):  # None, closed, or not a file
        sys.stderr.flush()
        own = sys.stderr.fileno()
    if own != 2:
        yield
        return
    encoding = sys.stderr.encoding
    with (
        open(descriptor, 'w', 1, encoding=encoding, errors='replace', closefd=False) as file,
        redirect_stderr(file),
    ):
        yield


def counted(text: str) -> list[str]:
    r"""Return the messages in a text, each kind once, in the order of the first of each kind.

    Messages are of one kind if they differ in names and numbers only.

    >>> counted('Error:   No mass in Link [a]\n         at line 9 in link.cpp\n' * 2 + 'bye\n')
    ['Error: No mass in Link [a] (2 times)', 'bye']
    >>> counted('lost [a]\nlost [b]\nlost [c]\n')
    ['lost [a] (and 2 more like this)']
    """
    kinds: dict[str, list[str]] = {}
    for found in _MESSAGE.finditer(text):
        message = found['line'] or f'{found["level"]}: {found["text"]}'
        kinds.setdefault(_PARTICULAR.sub('', message), []).append(message.strip())
    lines = []
    for alike in kinds.values():
        count, first = len(alike), printable(alike[0], MAX_MESSAGE_LENGTH)
        if count == 1:
            lines.append(first)
        elif len(set(alike)) == 1:
            lines.append(f'{first} ({count} times)')
        else:
            lines.append(f'{first} (and {count - 1} more like this)')
    left = len(lines) - MAX_KINDS
    return lines if left <= 0 else [*lines[:MAX_KINDS], f'... and {left} other messages']
