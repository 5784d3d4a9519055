# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files, read up to a size and never from a device or a pipe; private ones, and writing as a whole.

Files that are loaded without a request must be from this user. A folder is private if it belongs to
the user, no other user may write in it, and no other user can replace it: each folder above it
belongs to the user or to root, and others may write there at most where the sticky bit protects
files of others.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from .errors import ArgumentError

NO_LINKS = getattr(os, 'O_NOFOLLOW', 0)
NO_WAITING = os.O_RDONLY | getattr(os, 'O_NONBLOCK', 0) | getattr(os, 'O_BINARY', 0)


def expanded(path: str | Path) -> Path:
    """Return a path with ~ resolved; raises `ArgumentError` if there is no such home directory."""
    try:
        return Path(path).expanduser()
    except RuntimeError:  # a user without entry, as in containers and services, and no HOME
        raise ArgumentError(
            f'{path}: there is no such home directory; set HOME, or give a path without ~'
        ) from None


def why_not_private(folder: Path) -> str:
    """Return why others could have written the files of an existing folder, '' if they could not.

    Raises `OSError` if it cannot be looked at.
    """
    if not hasattr(os, 'geteuid'):  # Windows keeps the profile of a user private
        return ''
    found = os.lstat(folder)
    if stat.S_ISLNK(found.st_mode):
        return f'{folder} is a link'
    if not stat.S_ISDIR(found.st_mode):
        return f'{folder} is no folder'
    if found.st_uid != os.geteuid():
        return f'{folder} belongs to another user'
    if _others_write(found):
        return f'others may write in {folder}'
    return _why_not_trusted(Path(os.path.realpath(folder)).parents)


def why_not_trusted(path: Path) -> str:
    """Return why others than root could have written an existing file, '' if they could not.

    Links are followed. Raises `OSError` if it cannot be looked at.
    """
    if not hasattr(os, 'geteuid'):
        return ''
    real = Path(os.path.realpath(path))
    if _others_write(os.stat(real)):
        return f'others may write {real}'
    return _why_not_trusted([real, *real.parents])


def _why_not_trusted(places: Iterable[Path]) -> str:
    """Return why others than root and the user could replace the files of some folders."""
    for place in places:
        found = os.stat(place)
        if found.st_uid not in (0, os.geteuid()):
            return f'{place} belongs to another user'
        if _others_write(found) and not found.st_mode & stat.S_ISVTX:
            return f'others may write in {place}'
    return ''


def read(path: Path, largest: int, private: bool = False) -> bytes:
    """Return the content of a regular file.

    Parameters
    ----------
    path : Path
    largest : int
        Size beyond which it is not read [bytes].
    private : bool
        Whether links are refused, and files that others may have written.

    Raises
    ------
    OSError
        It cannot be read, or is refused; `strerror` is the reason.
    """
    flags = NO_WAITING | (NO_LINKS if private else 0)
    with open(path, 'rb', opener=lambda name, _: os.open(name, flags)) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, 'Not a regular file', str(path))
        if private and _is_from_others(found):
            raise PermissionError(errno.EPERM, 'Others may have written it', str(path))
        content = file.read(largest + 1)
        if len(content) > largest:
            raise OSError(errno.EFBIG, f'Larger than {largest} bytes', str(path))
        return content


def text_of(path: Path, largest: int, kind: str = '') -> str:
    """Return the text of a file.

    Raises `ArgumentError`, without its path; of a folder, with the `kind` of file to name in it.
    """
    try:
        return read(path, largest).decode('utf-8-sig')
    except FileNotFoundError:
        raise ArgumentError('there is no such file') from None
    except IsADirectoryError:
        remedy = f'; name a {kind} file in it' if kind else ''
        raise ArgumentError(f'this is a folder{remedy}') from None
    except UnicodeDecodeError:
        raise ArgumentError('it is not UTF-8 text') from None
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or 'this is no name of a file'
        raise ArgumentError(f'it cannot be read: {reason}') from None


def write(path: Path, content: bytes) -> None:
    """Replace a file atomically; raises `OSError`."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix='.writing-')
    try:
        with os.fdopen(handle, 'wb') as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _is_from_others(found: os.stat_result) -> bool:
    """Whether a file belongs to another user, or others may write it."""
    return hasattr(os, 'geteuid') and (found.st_uid != os.geteuid() or _others_write(found))


def _others_write(found: os.stat_result) -> bool:
    """Whether others than the user and root may write; the user's own group is no other."""
    others = bool(found.st_mode & stat.S_IWOTH)
    group = bool(found.st_mode & stat.S_IWGRP) and not _is_own_group(found.st_gid)
    return others or group


def _is_own_group(group: int) -> bool:
    """Whether a group has the name of the user and no other members, as many systems make it."""
    import grp
    import pwd

    with suppress(KeyError):
        user, known = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
        return known.gr_name == user and set(known.gr_mem) <= {user}
    return False
