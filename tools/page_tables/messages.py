# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""doc/reference/messages.md: the messages and services of screw_dynamics_msgs."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / 'screw_dynamics_msgs'

HEAD = """\
# Messages and services

Those of the package `screw_dynamics_msgs`, generated from its files by `python tools/pages.py`.
Topics of nodes have the standard types of ROS; [services](nodes/services.md) says which node offers
which service, and how they fail.
"""

#: What a file begins with: comments up to an empty line.
PURPOSE = re.compile(r'((?:#.*\n)+)\n')


def messages_page() -> str:
    """Return the page."""
    files = [*sorted(FOLDER.glob('srv/*.srv')), *sorted(FOLDER.glob('msg/*.msg'))]
    return '\n'.join([HEAD, *(section(file) for file in files)])


def section(file: Path) -> str:
    """Return the section of one file."""
    text = file.read_text(encoding='utf-8')
    purpose, found = '', PURPOSE.match(text)
    if found:
        purpose = ' '.join(line.removeprefix('#').strip() for line in found[1].splitlines())
        text = text[found.end() :]
    request, *response = (part.strip() for part in re.split(r'^---$', text, flags=re.MULTILINE))
    parts = [f'## {file.stem}']
    parts += [textwrap.fill(purpose, 120, break_on_hyphens=False)] if purpose else []
    parts += [f'```text\n{request}\n```'] if request else []
    parts += [f'Response:\n\n```text\n{part}\n```' for part in response]
    return '\n\n'.join(parts) + '\n'


FILES: dict[str, Callable[[], str]] = {'doc/reference/messages.md': messages_page}
