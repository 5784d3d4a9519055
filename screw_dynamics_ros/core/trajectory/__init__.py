"""What joint motions take of the drives: efforts, limits exceeded, how much faster they may run."""

from screw_dynamics_ros.core.trajectory.annotation import Annotation, annotate
from screw_dynamics_ros.core.trajectory.limits import Excess, exceeded_limits
from screw_dynamics_ros.core.trajectory.motion import Motion, sampled_motion
from screw_dynamics_ros.core.trajectory.time_scaling import SpeedLimit, largest_speed_factor

__all__ = [
    'Annotation',
    'Excess',
    'Motion',
    'SpeedLimit',
    'annotate',
    'exceeded_limits',
    'largest_speed_factor',
    'sampled_motion',
]
