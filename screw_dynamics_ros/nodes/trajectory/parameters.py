# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of the node `trajectory_proxy`."""

from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from screw_dynamics_ros.core.motion.trajectory.feasible_motion import REACTIONS, SLOW
from screw_dynamics_ros.ros.parameters import Specification

TABLE = (
    Specification(
        'controller_action',
        '/joint_trajectory_controller/follow_joint_trajectory',
        'Action (control_msgs/FollowJointTrajectory) of the controller that executes the goals.',
        rule='the name of an action',
        read_only=True,
    ),
    Specification(
        'controller_timeout',
        2.0,
        'Timeout for the action server of the controller, for its response to a goal or to a '
        'cancellation, and for its absence during a motion [s].',
        minimum=0.1,
    ),
    Specification(
        'on_excess',
        SLOW,
        'Reaction to a trajectory beyond velocity or effort limits: slow it down on the same path, '
        'refuse it, or send it unchanged (pass). A trajectory beyond position limits is refused '
        'except with pass.',
        choices=REACTIONS,
    ),
    Specification(
        'effort_limit_factor',
        1.0,
        'Fraction of the effort limits of the description that trajectories may use; the rest is '
        'for the feedback of the controller.',
        minimum=0.001,
        maximum=1.0,
    ),
    Specification(
        'effort_share',
        1.0,
        'Fraction of the model efforts that is written into the points. 0: no efforts.',
        minimum=0.0,
        maximum=1.0,
    ),
    Specification(
        'compensated_terms',
        [''],
        'Torques that the robot adds to its commands internally; the efforts of the points do not '
        'include them.',
        choices=TERMS,
    ),
    Specification(
        'scale_tolerances',
        True,
        'Whether goal_time_tolerance grows and tolerances of velocity and acceleration shrink with '
        'the duration of a trajectory that is slowed down.',
    ),
    Specification(
        'start_tolerance',
        0.05,
        'Largest distance of each joint from its measured position to that at which the controller '
        'begins [rad, m]; beyond it, a trajectory that begins without time to move there is '
        'refused. 0: not checked.',
        minimum=0.0,
    ),
    Specification(
        'resolution',
        0.02,
        'Longest time between points of the trajectory sent to the controller [s]; efforts and '
        'limits are evaluated at these points.',
        minimum=0.001,
        maximum=1.0,
    ),
)
