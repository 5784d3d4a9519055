# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of every node that computes model outputs from joint states."""

from __future__ import annotations

from screw_dynamics_ros.core.compile.kernels import BACKENDS
from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.process.executor import EXECUTORS

from . import (
    base_parameters,
    closure_parameters,
    controller_topic_parameters,
    drive_parameters,
    gravity_parameters,
    model_state_parameters,
    payload_parameters,
    state_parameters,
)

ROBOT_DESCRIPTION = Specification(
    'robot_description',
    '',
    'Text of the URDF, SDFormat or MJCF of the robot. Empty: from the topic robot_description.',
    rule='the text of a description, or empty',
)

PROCESS = (
    Specification(
        'executor',
        'auto',
        'Executor of the process: events, single (threaded), or auto: events if rclpy has it.',
        choices=EXECUTORS,
        read_only=True,
    ),
    Specification(
        'data_path',
        'auto',
        'What processes the joint states of a model: compiled (machine code in a separate thread, '
        'which calls Python where that is necessary), python, or auto: compiled if possible.',
        choices=('auto', 'compiled', 'python'),
        read_only=True,
    ),
    Specification(
        'realtime_priority',
        0,
        'Real-time priority (SCHED_FIFO) of the process, 1 to 99. 0: default scheduling.',
        minimum=0,
        maximum=99,
        read_only=True,
    ),
)

TABLE = (
    ROBOT_DESCRIPTION,
    Specification(
        'gravity',
        [0.0, 0.0, -9.81],
        'Acceleration of free fall in the frame of the root link [m/s^2].',
        size=3,
    ),
    *gravity_parameters.TABLE,
    *base_parameters.TABLE,
    Specification(
        'inertia_check',
        'warn',
        'Reaction to physically impossible inertias: refuse the description (error), report '
        'them (warn), or none (ignore).',
        choices=('error', 'warn', 'ignore'),
        read_only=True,
    ),
    *state_parameters.TABLE,
    Specification(
        'effort_joints',
        [''],
        'Joints to which effort_scale and effort_offset apply.',
        rule='joints of the robot',
    ),
    Specification(
        'effort_scale',
        [],
        'Factor that converts the effort reported by the driver to torque [N m or N per '
        'reported unit], for each of effort_joints; 1 for all others.',
        rule='empty, or one for each of effort_joints',
    ),
    Specification(
        'effort_offset',
        [],
        'Added to the scaled effort [N m, N], for each of effort_joints; 0 for all others.',
        rule='empty, or one for each of effort_joints',
    ),
    Specification(
        'effort_terms',
        list(TERMS),
        'Torques contained in the efforts of the joint states. Motor efforts contain all of them; '
        'efforts of torque sensors behind the gears lack friction, gravity-compensated efforts '
        'lack gravity, external torques lack all.',
        choices=TERMS,
    ),
    Specification(
        'effort_condition',
        '',
        'Required parameter of <hardware> in the <ros2_control> tag of the description, as '
        'NAME=VALUE. Efforts are ignored if it has another value or is missing. Empty: efforts '
        'are always used.',
        rule='empty, or NAME=VALUE',
        read_only=True,
    ),
    drive_parameters.JOINTS,
    *payload_parameters.TABLE,
    payload_parameters.DRIVER,
    closure_parameters.SPECIFICATION,
    *model_state_parameters.TABLE,
    *controller_topic_parameters.TABLE,
    Specification(
        'frame_prefix',
        '',
        'Prefix of all frame names in messages, as in robot_state_publisher.',
        rule='any text',
        read_only=True,
    ),
    Specification(
        'backend',
        'auto',
        'Backend that evaluates the model: native (machine code), python, reference (NumPy); auto: '
        'the fastest one available.',
        choices=('auto', *BACKENDS),
        read_only=True,
    ),
    *PROCESS,
)


def effort_shares(parameters: Parameters) -> list[float]:
    """Return 1 for each of `TERMS` that the efforts contain, else 0."""
    return [float(term in parameters['effort_terms']) for term in TERMS]
