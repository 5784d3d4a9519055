# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of the reference of the feedforward."""

from screw_dynamics_ros.ros.parameters import Specification

TABLE = (
    Specification(
        'reference_timeout',
        0.5,
        'Timeout of a reference [s], after its arrival, or after the end of a trajectory; '
        'feedforward then follows the measured state, a control law holds the last positions. '
        '0: never.',
        minimum=0.0,
    ),
    Specification(
        'leader_topic',
        '',
        'Topic with the joint states of another robot, whose positions and velocities are the '
        'reference unless ~/reference is active (doc/how_to/teleoperation.md). Empty: none.',
        rule='a topic name',
        read_only=True,
    ),
    Specification(
        'leader_joints',
        [''],
        'Joints that follow the leader: their names, or name=other with the name in its joint '
        'states. Empty: all joints that it names, with the same names.',
        rule='joints of the robot, or name=other',
        read_only=True,
    ),
    Specification(
        'leader_scale',
        [],
        'Position per position of the leader, for each of leader_joints; -1 mirrors a joint. '
        'Empty: 1.',
        rule='empty, or one for each of leader_joints, not 0',
        read_only=True,
    ),
    Specification(
        'leader_offset',
        [],
        'Position where that of the leader is 0, for each of leader_joints [rad, m]. Empty: 0.',
        rule='empty, or one for each of leader_joints',
        read_only=True,
    ),
    Specification(
        'leader_timeout',
        0.1,
        'Largest age of the joint states of the leader, and of its torques, since their arrival '
        '[s]; then the reference ends.',
        minimum=1e-3,
        maximum=10.0,
    ),
    Specification(
        'leader_tolerance',
        0.2,
        'Largest distance of each joint from the leader at which it begins to follow, and largest '
        'step of the leader [rad, m]; beyond it the leader is not followed.',
        minimum=0.0,
    ),
    Specification(
        'leader_torque_topic',
        '',
        'Topic with efforts of the leader in joint states, such as '
        '/leader/wrench_estimator/external_torque, for laws that read reference.tau. Empty: 0.',
        rule='a topic name',
        read_only=True,
    ),
    Specification(
        'controller_state_topic',
        '',
        'Topic of the state of a joint trajectory controller, such as '
        '/joint_trajectory_controller/controller_state. The feedforward follows its reference '
        'unless ~/reference is active. Empty: none.',
        rule='a topic name',
    ),
    Specification(
        'controller_state_timeout',
        0.1,
        'Largest difference between the stamps of a controller state and a joint state [s]; '
        'beyond it the controller state is not used.',
        minimum=0.0,
    ),
)
