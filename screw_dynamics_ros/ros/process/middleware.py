"""Settings of the middleware beyond its QoS."""

from __future__ import annotations

import os
from pathlib import Path

from screw_dynamics_ros.ros.share import share_folder

#: For each generation of Fast DDS: its variable, our profiles, and those it finds by itself.
PROFILES = (
    ('FASTRTPS_DEFAULT_PROFILES_FILE', 'fastrtps.xml', 'DEFAULT_FASTRTPS_PROFILES.xml'),
    ('FASTDDS_DEFAULT_PROFILES_FILE', 'fastdds.xml', 'DEFAULT_FASTDDS_PROFILES.xml'),
)


def use_profiles() -> None:
    """Let Fast DDS of this process use the profiles in config/, unless the user has profiles.

    To be called before ROS begins. Another middleware does not look at them.
    """
    folder = share_folder() / 'config'
    for variable, ours, found_by_itself in PROFILES:
        chosen_by_user = variable in os.environ or Path(found_by_itself).exists()
        if not chosen_by_user and (folder / ours).is_file():  # an older installation lacks it
            os.environ[variable] = str(folder / ours)
