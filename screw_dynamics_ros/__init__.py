"""The whole model state of any robot: kinematics and dynamics from its description, live in ROS 2."""

__version__ = '0.1.0'
