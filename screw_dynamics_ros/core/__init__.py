# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Screw-theoretic kinematics and dynamics of robots, without ROS."""

from screw_dynamics_ros.core.arms.inverse.closed_loop import CoincidentFrames
from screw_dynamics_ros.core.arms.inverse.position import InverseKinematicsResult
from screw_dynamics_ros.core.arms.inverse.task_priority import Task
from screw_dynamics_ros.core.arms.inverse.weighted_inverse import AdaptiveDamping
from screw_dynamics_ros.core.constraints.constrained_dynamics import ConstrainedMotion
from screw_dynamics_ros.core.constraints.motion_constraint import MotionConstraint
from screw_dynamics_ros.core.description.bundled import bundled_urdf
from screw_dynamics_ros.core.description.drives import Drive
from screw_dynamics_ros.core.errors import (
    ArgumentError,
    BackendError,
    DescriptionError,
    InertiaError,
    InfeasibleConstraintsError,
    ScrewDynamicsError,
    UnknownNameError,
)
from screw_dynamics_ros.core.measurement.annotation.annotate import annotate_arrays
from screw_dynamics_ros.core.measurement.annotation.settings import AnnotationSettings
from screw_dynamics_ros.core.robot.fused_kernel import FusedKernel
from screw_dynamics_ros.core.robot.robot import Robot

__all__ = [
    'AdaptiveDamping',
    'AnnotationSettings',
    'ArgumentError',
    'BackendError',
    'CoincidentFrames',
    'ConstrainedMotion',
    'DescriptionError',
    'Drive',
    'FusedKernel',
    'InertiaError',
    'InfeasibleConstraintsError',
    'InverseKinematicsResult',
    'MotionConstraint',
    'Robot',
    'ScrewDynamicsError',
    'Task',
    'UnknownNameError',
    'annotate_arrays',
    'bundled_urdf',
]
