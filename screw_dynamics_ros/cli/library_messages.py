# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What libraries print on stderr past Python: caught, and counted where it repeats itself."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, suppress

from screw_dynamics_ros.ros.names import printable

MAX_KINDS = 20  # kinds of messages
MAX_MESSAGE_LENGTH = 300  # characters of one
MAX_INPUT_BYTES = 2**20  # bytes that are looked at

_one_at_a_time = threading.RLock()

#: A message of console_bridge with its place in the source of the library, or any other line.
_MESSAGE = re.compile(
    r'^(?P<level>Error|Warning): +(?P<text>(?:(?!^(?:Error|Warning):)[\s\S])*?)'
    r'\n +at line \d+ in .*$|^(?P<line>.*\S.*)$',
    re.MULTILINE,
)
#: What differs between messages of one kind: names and values.
_PARTICULAR = re.compile(r'\[[^\]]*\]|\([^)]*\)|"[^"]*"|\'[^\']*\'|\d+')


@contextmanager
def caught_messages() -> Iterator[list[str]]:
    """Catch what is written to the file descriptor of stderr within the block.

    Yields a list that holds the messages when the block has ended (`counted`). What Python writes
    to ``sys.stderr`` meanwhile appears as ever. If an exception leaves the block, what was caught
    is printed after all.

    The descriptor belongs to the process: one block is executed at a time, and what other threads
    write to it is caught, too. So this is for commands, not for nodes.
    """
    messages: list[str] = []
    with _one_at_a_time, ExitStack() as opened:
        try:
            before = os.dup(2)
            opened.callback(os.close, before)
            file = opened.enter_context(tempfile.TemporaryFile())
        except OSError:  # there is no stderr, or nowhere to keep it: nothing is caught
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
    """Let ``sys.stderr`` write there, if it writes to descriptor 2."""
    own = None
    with suppress(AttributeError, OSError, ValueError):  # None, closed, or no file
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
