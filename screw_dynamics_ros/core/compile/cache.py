# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Content-addressed cache of machine code on disk: code is compiled once and then loaded.

A file name is a hash of everything the code depends on, so files never become outdated. Files are
written under a temporary name and renamed, so that concurrent processes never read a partial one; a
checksum detects damaged and misnamed files. If the folder is not writable (a read-only home), the
cache is silently not used.

Loaded code is executed. The folder is therefore used only if no other user can write to it.
Otherwise a warning is logged once, and this process uses an empty temporary folder.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import logging
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from .. import files
from ..errors import ArgumentError
from . import sources

log = logging.getLogger(__name__)

ENVIRONMENT_VARIABLE = 'SCREW_DYNAMICS_CACHE'
LARGEST_SIZE = 512 * 2**20  # bytes; least recently used files are deleted first
LOOKS = 32  # checks of the directory size while a process writes LARGEST_SIZE bytes
_unseen: dict[Path, int] = {}  # bytes written by this process since the last check


def directory() -> Path | None:
    """Return the cache directory, or None without one.

    Caching is disabled if the environment variable is empty, the sources cannot be read, or there
    is no home directory.
    """
    if not sources.FILES:
        return None
    chosen = os.environ.get(ENVIRONMENT_VARIABLE)
    if chosen is not None:
        return Path(chosen) if chosen else None
    try:
        base = files.expanded(os.environ.get('XDG_CACHE_HOME') or '~/.cache')
    except ArgumentError as error:
        _warn_without_home(str(error))
        return None
    return base / 'screw_dynamics_ros'


@cache
def _warn_without_home(reason: str) -> None:
    log.warning(
        'each process compiles again, because the cache of compiled programs has no place: %s; or '
        'set its folder by %s',
        reason,
        ENVIRONMENT_VARIABLE,
    )


def key(kind: str, *parts: object) -> str:
    """Return a file name with a hash of the `repr` of `parts`, and `kind` as extension."""
    return f'{hashlib.sha256(repr(parts).encode()).hexdigest()}.{kind}'


def checksum(name: str, header: bytes, code: bytes) -> bytes:
    """Return the first bytes of the file `name`: the hash of name and contents."""
    return hashlib.sha256(name.encode() + header + code).hexdigest().encode()


def load(name: str) -> tuple[Any, bytes] | None:
    """Return (metadata, code) stored under `name`, or None; metadata is any JSON."""
    try:
        folder = _folder()
        if folder is None:
            return None
        path = folder / name
        start, header, code = files.read(path, LARGEST_SIZE, private=True).split(b'\n', 2)
        if checksum(name, header, code) != start:
            log.warning('ignoring a damaged file in the cache of compiled programs: %s', path)
            return None
        os.utime(path)
        return json.loads(header), code
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        log.debug('cache of compiled programs not read: %s', error)
        return None


def store(name: str, metadata: dict[str, Any], code: bytes) -> None:
    """Store code and its metadata under `name`."""
    header = json.dumps(metadata).encode()
    content = b'\n'.join([checksum(name, header, code), header, code])
    try:
        folder = _folder()
        if folder is None:
            return
        files.write(folder / name, content)
        _unseen[folder] = _unseen.get(folder, LARGEST_SIZE) + len(content)
        if _unseen[folder] > LARGEST_SIZE // LOOKS:  # listing thousands of files takes long
            _prune(folder)
            _unseen[folder] = 0
    except OSError as error:
        log.debug('cache of compiled programs not written: %s', error)


def _folder() -> Path | None:
    """Return the folder to use, created if missing; raises `OSError` if that fails."""
    chosen = directory()
    if chosen is None:
        return None
    chosen.mkdir(mode=0o700, parents=True, exist_ok=True)
    reason = files.why_not_private(chosen)
    return _of_this_process(chosen, reason) if reason else chosen


@cache
def _of_this_process(instead_of: Path, reason: str) -> Path:
    """Return a temporary folder, deleted when this process ends; log the reason as warning."""
    log.warning(
        'the cache of compiled programs is not used, %s, so others could have written its files; '
        'this process compiles again. Set another folder by %s',
        reason,
        ENVIRONMENT_VARIABLE,
    )
    made = tempfile.mkdtemp(prefix='screw_dynamics_ros_')
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def _prune(folder: Path) -> None:
    """Delete the least recently used files until the directory is below its size limit."""
    found = sorted(
        (entry.stat().st_mtime, entry.stat().st_size, entry.path)
        for entry in os.scandir(folder)
        if entry.is_file()
    )
    excess = sum(size for _, size, _ in found) - LARGEST_SIZE
    for _, size, path in found:
        if excess <= 0:
            break
        os.unlink(path)
        excess -= size
