# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Requirements of trajectories: efforts, exceeded limits, largest speed and payload."""

from screw_dynamics_ros.core.motion.trajectory.feasible_motion import (
    FeasibleMotion,
    feasible_motion,
)
from screw_dynamics_ros.core.motion.trajectory.feedforward_efforts import feedforward_efforts
from screw_dynamics_ros.core.motion.trajectory.limits import LimitExcess, exceeded_limits
from screw_dynamics_ros.core.motion.trajectory.motion import Motion, sampled_motion
from screw_dynamics_ros.core.motion.trajectory.payload_capacity import (
    PayloadCapacity,
    payload_capacity,
)
from screw_dynamics_ros.core.motion.trajectory.required_efforts import (
    MotionWithEfforts,
    with_efforts,
)
from screw_dynamics_ros.core.motion.trajectory.retiming import Retiming, retimed
from screw_dynamics_ros.core.motion.trajectory.time_scaling import SpeedLimit, largest_speed_factor

__all__ = [
    'FeasibleMotion',
    'LimitExcess',
    'Motion',
    'MotionWithEfforts',
    'PayloadCapacity',
    'Retiming',
    'SpeedLimit',
    'exceeded_limits',
    'feasible_motion',
    'feedforward_efforts',
    'largest_speed_factor',
    'payload_capacity',
    'retimed',
    'sampled_motion',
    'with_efforts',
]
