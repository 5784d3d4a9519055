# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The data folder: nodes read and write files named by run-time parameters only in this folder.

Any participant of the network can set parameters. They therefore name files in this folder only,
which is chosen when the node starts; no other file is opened, written or searched for.
"""

from __future__ import annotations

import os
import re
from functools import cached_property
from pathlib import Path

from ..core import files
from ..core.errors import ArgumentError
from .parameters import Specification

NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,99}')
RULE = 'a plain name of a file in data_folder, or empty'

SPECIFICATION = Specification(
    'data_folder',
    '',
    'Folder of the files that other parameters name. Empty: screw_dynamics_ros in $XDG_DATA_HOME '
    'or ~/.local/share. No other user may write there.',
    rule='a path, or empty',
    read_only=True,
)


def check_name(parameter: str, name: str) -> None:
    """Accept only plain file names, without accessing files; raises `ArgumentError`."""
    if name and not NAME.fullmatch(name):
        raise ArgumentError(
            f'{parameter} must be a plain name of a file in data_folder: at most 100 letters, '
            'digits, _, - and ., beginning with a letter or digit'
        )


class DataFolder:
    """Reads and writes files by plain names.

    Parameters
    ----------
    given : str
        The value of the parameter `data_folder`; `ArgumentError` if it begins with ~ and there is
        no such home directory.
    """

    def __init__(self, given: str) -> None:
        base = os.environ.get('XDG_DATA_HOME') or '~/.local/share'
        self._given = given or str(Path(base) / 'screw_dynamics_ros')
        if given:
            files.expanded(given)  # a folder that was named is refused at the start

    @cached_property
    def path(self) -> Path:
        """The folder, which may not exist; raises `ArgumentError` without a home directory."""
        return files.expanded(self._given).absolute()

    def read(self, name: str, largest: int) -> str | None:
        """Return the text of a file of at most `largest` bytes, None if it does not exist.

        Raises `ArgumentError`.
        """
        try:
            self._check(name)
            return files.read(self.path / name, largest, private=True).decode()
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            raise ArgumentError(f'{name} is not UTF-8 text') from None
        except OSError as error:
            raise ArgumentError(f'{name} cannot be read: {error.strerror}') from None

    def write(self, name: str, text: str, heading: str, largest: int) -> None:
        """Write a file whose first line is `heading`; overwrite only files with the same heading.

        Raises `ArgumentError` and changes nothing if that is not possible, also if the existing
        file is larger than `largest` bytes.
        """
        start = f'{heading}\n'.encode()
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check(name)
            path = self.path / name
            if os.path.lexists(path) and not files.read(path, largest, private=True).startswith(
                start
            ):
                raise ArgumentError(f'{name} is a file of another kind and is not overwritten')
            files.write(path, start + text.encode())
        except OSError as error:
            raise ArgumentError(f'{name} cannot be written: {error.strerror}') from None

    def _check(self, name: str) -> None:
        """Refuse invalid names, and a folder writable by other users; raises `OSError`, too."""
        if not NAME.fullmatch(name):
            raise ArgumentError('this is not a plain file name')
        reason = files.why_not_private(self.path)
        if reason:
            raise ArgumentError(f'data_folder is not used: {reason}')
