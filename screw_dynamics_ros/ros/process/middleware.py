# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Settings of the middleware besides QoS."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

from screw_dynamics_ros.share import share_folder

#: For Fast DDS 2 and 3: environment variable, profiles of this package, default file of profiles.
PROFILES = (
    ('FASTRTPS_DEFAULT_PROFILES_FILE', 'fastrtps.xml', 'DEFAULT_FASTRTPS_PROFILES.xml'),
    ('FASTDDS_DEFAULT_PROFILES_FILE', 'fastdds.xml', 'DEFAULT_FASTDDS_PROFILES.xml'),
)


def generation() -> int:
    """Return the index in `PROFILES` of the Fast DDS that rmw_fastrtps_cpp uses."""
    with suppress(PackageNotFoundError, OSError):  # another middleware, or no ament index
        manifest = Path(get_package_share_directory('rmw_fastrtps_cpp'), 'package.xml')
        return int('<build_depend>fastdds<' in manifest.read_text())
    return 0


def use_profiles() -> None:
    """Make Fast DDS in this process use the profiles in config/, unless the user has profiles.

    To be called before ROS is initialized. Other middleware ignores them.
    """
    ours = generation()
    variable, name, found_by_itself = PROFILES[ours]
    # Fast DDS 3 still reads the variable of Fast DDS 2.
    chosen_by_user = any(known in os.environ for known, *_ in PROFILES[: ours + 1])
    file = share_folder() / 'config' / name
    if not chosen_by_user and not Path(found_by_itself).exists() and file.is_file():
        os.environ[variable] = str(file)
