# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cache of machine code on disk, by content: code is compiled once and then loaded.

A file name is a hash of everything the code depends on, so a file is never wrong, only absent.
Files are written under a temporary name and renamed, so that concurrent processes never read a
partial one; a checksum detects damaged files, and files under a wrong name. Where nothing can be
written (a read-only home) the cache is silently not used.

What is loaded is executed. So a folder counts only if nobody but its user can have written there;
else a warning says so once, and an empty folder for this process alone replaces it.
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

from screw_dynamics_ros.core import files
from screw_dynamics_ros.core.compile import sources

log = logging.getLogger(__name__)

ENVIRONMENT_VARIABLE = 'SCREW_DYNAMICS_CACHE'
LARGEST_SIZE = 512 * 2**20  # bytes; the files longest unused go first
LOOKS = 32  # at the directory, while a process fills it once
_unseen: dict[Path, int] = {}  # bytes that this process has written since it looked


def directory() -> Path | None:
    """Return the cache directory, or None without one.

    An empty variable switches caching off, and so does a package whose sources cannot be read.
    """
    if not sources.FILES:
        return None
    chosen = os.environ.get(ENVIRONMENT_VARIABLE)
    if chosen is not None:
        return Path(chosen) if chosen else None
    base = os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache'
    return Path(base) / 'screw_dynamics_ros'


def key(kind: str, *parts: object) -> str:
    """Return a file name for a kind of file, with a hash of what `repr` says of the rest."""
    return f'{hashlib.sha256(repr(parts).encode()).hexdigest()}.{kind}'


def checksum(name: str, header: bytes, code: bytes) -> bytes:
    """Return what the file `name` begins with."""
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
    """Store bytes and what is to be known about them under `name`."""
    header = json.dumps(metadata).encode()
    content = b'\n'.join([checksum(name, header, code), header, code])
    try:
        folder = _folder()
        if folder is None:
            return
        files.write(folder / name, content)
        _unseen[folder] = _unseen.get(folder, LARGEST_SIZE) + len(content)
        if _unseen[folder] > LARGEST_SIZE // LOOKS:  # thousands of files take long to look at
            _prune(folder)
            _unseen[folder] = 0
    except OSError as error:
        log.debug('cache of compiled programs not written: %s', error)


def _folder() -> Path | None:
    """Return the folder to use, made if there is none; raises `OSError` if it cannot be made."""
    chosen = directory()
    if chosen is None:
        return None
    chosen.mkdir(mode=0o700, parents=True, exist_ok=True)
    reason = files.why_not_private(chosen)
    return _of_this_process(chosen, reason) if reason else chosen


@cache
def _of_this_process(instead_of: Path, reason: str) -> Path:
    """Return a folder that ends with this process; a warning says why."""
    log.warning(
        'the cache of compiled programs is not used, %s, so others could have written its files; '
        'this process compiles again. Choose a folder of your own by %s',
        reason,
        ENVIRONMENT_VARIABLE,
    )
    made = tempfile.mkdtemp(prefix='screw_dynamics_ros_')
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def _prune(folder: Path) -> None:
    """Delete the files longest unused until the directory is below its size limit."""
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
