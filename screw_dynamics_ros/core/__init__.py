"""Screw-theoretic kinematics and dynamics of robots, without ROS."""

from screw_dynamics_ros.core.dynamics.constraints.constrained_dynamics import ConstrainedMotion
from screw_dynamics_ros.core.dynamics.constraints.motion_constraint import MotionConstraint
from screw_dynamics_ros.core.errors import (
    ArgumentError,
    BackendError,
    DescriptionError,
    InertiaError,
    InfeasibleConstraintsError,
    ScrewDynamicsError,
    UnknownNameError,
)
from screw_dynamics_ros.core.fused import FusedKernel
from screw_dynamics_ros.core.kinematics.closed_loop import Gap
from screw_dynamics_ros.core.kinematics.inverse import InverseKinematicsResult
from screw_dynamics_ros.core.kinematics.task_priority import Task
from screw_dynamics_ros.core.kinematics.weighted_inverse import AdaptiveDamping
from screw_dynamics_ros.core.model.drives import Drive
from screw_dynamics_ros.core.robot import Robot

__all__ = [
    'AdaptiveDamping',
    'ArgumentError',
    'BackendError',
    'ConstrainedMotion',
    'DescriptionError',
    'Drive',
    'FusedKernel',
    'Gap',
    'InertiaError',
    'InfeasibleConstraintsError',
    'InverseKinematicsResult',
    'MotionConstraint',
    'Robot',
    'ScrewDynamicsError',
    'Task',
    'UnknownNameError',
]
