# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Screw-theoretic kinematics and dynamics of robots, without ROS."""

from .annotation.annotate import annotate_arrays
from .annotation.settings import AnnotationSettings
from .arms.inverse.closed_loop import CoincidentFrames
from .arms.inverse.position import InverseKinematicsResult
from .arms.inverse.task_priority import Task
from .arms.inverse.weighted_inverse import AdaptiveDamping
from .constraints.constrained_dynamics import ConstrainedMotion
from .constraints.motion_constraint import MotionConstraint
from .description.bundled import bundled_urdf
from .description.drives import Drive
from .errors import (
    ArgumentError,
    BackendError,
    DescriptionError,
    InertiaError,
    InfeasibleConstraintsError,
    ScrewDynamicsError,
    UnknownNameError,
)
from .robot.fused_kernel import FusedKernel
from .robot.robot import Robot

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
