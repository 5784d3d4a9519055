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
