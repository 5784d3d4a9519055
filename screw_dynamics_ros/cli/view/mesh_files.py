# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Resolution of mesh files, depending on the origin of the description."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE, FILE = 'package://', 'file://'

#: Kinds of files that are read as meshes.
SUFFIXES = frozenset({'.stl', '.dae', '.obj', '.ply', '.glb', '.gltf'})
MAX_MESH_BYTES = 64 * 2**20


def local_mesh(uri: str, urdf: Path) -> Path | None:
    """Return the file of a mesh in a description from a file of the local user.

    Parameters
    ----------
    uri : str
        package://NAME/PATH, file:///PATH, or a path, relative to the folder of the description.
    urdf : Path
        The file of the description. A package that is not installed is searched in its parent
        folders.
    """
    if uri.startswith(PACKAGE):
        name, _, rest = uri.removeprefix(PACKAGE).partition('/')
        above = (folder / rest for folder in urdf.resolve().parents if folder.name == name)
        installed = installed_mesh(uri)
        candidates = [*above, *([installed] if installed else [])]
    else:
        candidates = [urdf.resolve().parent / uri.removeprefix(FILE)]
    return next((path for path in candidates if is_mesh(path)), None)


def installed_mesh(uri: str) -> Path | None:
    """Return the file of a mesh in the share folder of an installed package, else None.

    This is for descriptions from a topic, whose publisher can name any file.
    """
    if not uri.startswith(PACKAGE):
        return None
    try:
        from ament_index_python.packages import get_package_share_directory
    except ImportError:  # no ROS
        return None
    name, _, rest = uri.removeprefix(PACKAGE).partition('/')
    try:
        folder = os.path.normpath(get_package_share_directory(name))
    except (LookupError, ValueError, OSError):  # not installed, or not a package name
        return None
    path = os.path.normpath(os.path.join(folder, rest))
    inside = '\0' not in path and os.path.commonpath([folder, path]) == folder
    return Path(path) if inside and is_mesh(Path(path)) else None


def is_mesh(path: Path) -> bool:
    """Whether a path is an existing mesh file of a supported type and size."""
    try:
        usual = path.suffix.lower() in SUFFIXES and path.is_file()
        return usual and path.stat().st_size <= MAX_MESH_BYTES
    except (OSError, ValueError):
        return False
