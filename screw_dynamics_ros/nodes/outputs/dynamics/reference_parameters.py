# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of the reference that the feedforward follows."""

from screw_dynamics_ros.ros.parameters import Specification

TABLE = (
    Specification(
        'reference_timeout',
        0.5,
        'Time after which a reference is no longer followed [s], from its arrival, of a trajectory '
        'from its end; feedforward then follows the measured state. 0: never.',
        minimum=0.0,
    ),
    Specification(
        'controller_state_topic',
        '',
        'Topic of the state of a joint trajectory controller, whose reference the feedforward '
        'follows while there is none on ~/reference, like '
        '/joint_trajectory_controller/controller_state. Empty: none.',
        rule='a topic name',
    ),
    Specification(
        'controller_state_timeout',
        0.1,
        'Largest difference of the stamps of a controller state and a joint state that follows it '
        '[s].',
        minimum=0.0,
    ),
)
