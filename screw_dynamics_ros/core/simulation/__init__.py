# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Simulated robots: motion under torques and contacts, and joint servos."""

from .contacts import ContactPoint, Plane
from .joint_servo import JointServo
from .posture import Posture
from .simulated_robot import INTEGRATORS, SavedState, SimulatedRobot, SimulatedStack
from .springs import Spring

__all__ = [
    'INTEGRATORS',
    'ContactPoint',
    'JointServo',
    'Plane',
    'Posture',
    'SavedState',
    'SimulatedRobot',
    'SimulatedStack',
    'Spring',
]
