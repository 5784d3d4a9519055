# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters for the source of the direction of gravity."""

from __future__ import annotations

from screw_dynamics_ros.ros.parameters import Specification

PARAMETER, TF, IMU = SOURCES = ('parameter', 'tf', 'imu')
HOLD, STOP = ACTIONS = ('hold', 'stop')

TABLE = (
    Specification(
        'gravity_source',
        PARAMETER,
        'Source of the direction of gravity in the frame of the root link. parameter: '
        'gravity; tf: the frame gravity_frame on /tf, whose z axis points up; imu: the topic imu. '
        'The parameter gravity always sets the magnitude, and the direction until the first '
        'message.',
        choices=SOURCES,
    ),
    Specification(
        'gravity_frame',
        'world',
        'Frame whose z axis points up, an ancestor of the root link on /tf, for gravity_source tf.',
        rule='the name of a frame',
    ),
    Specification(
        'gravity_cutoff',
        1.0,
        'Cut-off frequency of the low-pass filter on the direction [Hz].',
        minimum=1e-3,
        maximum=100.0,
    ),
    Specification(
        'gravity_timeout',
        1.0,
        'Age at which a direction from tf or imu is out of date [s]. 0: never.',
        minimum=0.0,
    ),
    Specification(
        'on_gravity_loss',
        HOLD,
        'Reaction to a direction that is out of date or was never received. hold: keep the last '
        'one and report an error on /diagnostics; stop: stop the outputs.',
        choices=ACTIONS,
    ),
)
