# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Requirements of trajectories: efforts, exceeded limits, largest speed and payload."""

from .feasible_motion import FeasibleMotion, feasible_motion
from .joining import JoinedPath, joined
from .joint_path import completed_path
from .limits import LimitExcess, exceeded_limits
from .motion import Motion, sampled_motion
from .payload_capacity import PayloadCapacity, payload_capacity
from .recorded_motion import smooth_motion
from .required_efforts import MotionWithEfforts, feedforward_efforts, with_efforts
from .retiming import Retiming, retimed
from .time_scaling import SpeedLimit, largest_speed_factor

__all__ = [
    'FeasibleMotion',
    'JoinedPath',
    'LimitExcess',
    'Motion',
    'MotionWithEfforts',
    'PayloadCapacity',
    'Retiming',
    'SpeedLimit',
    'completed_path',
    'exceeded_limits',
    'feasible_motion',
    'feedforward_efforts',
    'joined',
    'largest_speed_factor',
    'payload_capacity',
    'retimed',
    'sampled_motion',
    'smooth_motion',
    'with_efforts',
]
