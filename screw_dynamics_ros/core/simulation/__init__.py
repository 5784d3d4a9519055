# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Simulated robots: motion under torques and contacts, and joint servos."""

from screw_dynamics_ros.core.simulation.contacts import ContactPoint, Plane
from screw_dynamics_ros.core.simulation.joint_servo import JointServo
from screw_dynamics_ros.core.simulation.posture import Posture
from screw_dynamics_ros.core.simulation.simulated_robot import (
    INTEGRATORS,
    SavedState,
    SimulatedRobot,
)
from screw_dynamics_ros.core.simulation.simulated_stack import SimulatedStack
from screw_dynamics_ros.core.simulation.springs import Spring

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
