"""The whole model state of any robot: kinematics and dynamics, live in ROS 2."""

from importlib.metadata import PackageNotFoundError, version

try:
    # package.xml holds the version; the installed package has it in its metadata.
    __version__ = version('screw_dynamics_ros')
except PackageNotFoundError:
    __version__ = '0+uninstalled'
