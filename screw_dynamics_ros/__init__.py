# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The whole model state of any robot: kinematics and dynamics, live in ROS 2."""


def __getattr__(name: str) -> str:
    """Return `__version__`, looked up when asked for: that takes longer than importing the package.

    package.xml holds the version; the installed package has it in its metadata.
    """
    if name != '__version__':
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version('screw_dynamics_ros')
    except PackageNotFoundError:
        return '0+uninstalled'
