# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of the node `trajectory_proxy`."""

from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from screw_dynamics_ros.core.motion.trajectory.feasible_motion import REACTIONS, SLOW
from screw_dynamics_ros.ros.parameters import Specification

from .chunk_stream import OUTPUTS, TRAJECTORY
from .contact_watch import HOLD
from .contact_watch import REACTIONS as CONTACT_REACTIONS

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
    Specification(
        'controller_topic',
        '',
        'Topic (trajectory_msgs/JointTrajectory) of the controller for chunks on '
        '~/joint_trajectory. Empty: joint_trajectory beside controller_action.',
        rule='the name of a topic',
        read_only=True,
    ),
    Specification(
        'chunk_output',
        TRAJECTORY,
        'Messages sent for chunks: trajectories on controller_topic, or frames for drives '
        '(screw_dynamics_msgs/ImpedanceCommand) on ~/impedance_command.',
        choices=OUTPUTS,
        read_only=True,
    ),
    Specification(
        'join_time',
        0.1,
        'Shortest time in which the motion passes to a chunk, and comes to rest at its end [s].',
        minimum=0.001,
        maximum=10.0,
    ),
    Specification(
        'join_lead',
        0.02,
        'Shortest time from the arrival of a chunk to its join [s]; longer if the preparation of '
        'chunks takes longer.',
        minimum=0.0,
        maximum=0.5,
    ),
    Specification(
        'chunk_joints',
        [''],
        'Joints with limits of acceleration and jerk other than those of the description, or with '
        'gains in ~/impedance_command.',
        rule='joints of the robot',
    ),
    Specification(
        'acceleration_limits',
        [],
        'Largest acceleration [rad/s^2, m/s^2], for each of chunk_joints.',
        minimum=1e-9,
        rule='empty, or one for each of chunk_joints',
    ),
    Specification(
        'jerk_limits',
        [],
        'Largest jerk of chunks [rad/s^3, m/s^3], for each of chunk_joints.',
        minimum=1e-9,
        rule='empty, or one for each of chunk_joints',
    ),
    Specification(
        'impedance_rate',
        200.0,
        'Rate of ~/impedance_command [Hz].',
        minimum=1.0,
        maximum=1000.0,
        read_only=True,
    ),
    Specification(
        'impedance_stiffness',
        [],
        'Stiffness in ~/impedance_command [N m/rad, N/m], for each of chunk_joints.',
        minimum=0.0,
        rule='empty, or one for each of chunk_joints',
    ),
    Specification(
        'impedance_damping',
        [],
        'Damping in ~/impedance_command [N m s/rad, N s/m], for each of chunk_joints.',
        minimum=0.0,
        rule='empty, or one for each of chunk_joints',
    ),
    Specification(
        'contact_topic',
        '',
        'Flag (std_msgs/Bool) that stops motions when it is raised, such as '
        '/wrench_estimator/contact. Empty: none.',
        rule='the name of a topic',
        read_only=True,
    ),
    Specification(
        'contact_reaction',
        HOLD,
        'Reaction to a contact: hold the position, retreat along the path, or hold it with a '
        'tenth of the stiffness (compliant; only with chunk_output impedance_command).',
        choices=CONTACT_REACTIONS,
    ),
    Specification(
        'contact_timeout',
        0.1,
        'Time without a message on contact_topic or guard_topic after which motions are stopped '
        'and refused [s].',
        minimum=0.001,
    ),
    Specification(
        'retreat_time',
        0.2,
        'Time from the position to which the robot retreats to the contact [s].',
        minimum=0.0,
        maximum=10.0,
    ),
    Specification(
        'guard_topic',
        '',
        'Wrench (geometry_msgs/WrenchStamped) that stops motions at guard_force, such as '
        '/wrench_estimator/wrench/tool0. Empty: none.',
        rule='the name of a topic',
        read_only=True,
    ),
    Specification(
        'guard_force',
        0.0,
        'Force on guard_topic above which there is a contact [N]. 0: not watched.',
        minimum=0.0,
    ),
)
