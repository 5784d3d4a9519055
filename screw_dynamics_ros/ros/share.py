"""Where the files of the package are: launch, config, urdf."""

from __future__ import annotations

from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory


def share_folder() -> Path:
    """Return share/screw_dynamics_ros of the installation, or the source tree without one."""
    try:
        return Path(get_package_share_directory('screw_dynamics_ros'))
    except (PackageNotFoundError, OSError):  # OSError: there is no index at all
        return Path(__file__).resolve().parents[2]
