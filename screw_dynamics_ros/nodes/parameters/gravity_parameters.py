# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where the direction of gravity comes from, as parameters."""

from __future__ import annotations

from screw_dynamics_ros.ros.parameters import Specification

PARAMETER, TF, IMU = SOURCES = ('parameter', 'tf', 'imu')
HOLD, STOP = ACTIONS = ('hold', 'stop')

TABLE = (
    Specification(
        'gravity_source',
        PARAMETER,
        'Where the direction of gravity comes from, in the frame of the root link. parameter: '
        'gravity; tf: the frame gravity_frame on /tf, whose z axis points up; imu: the topic imu. '
        'The magnitude is always that of gravity, and its direction too until something arrives.',
        choices=SOURCES,
    ),
    Specification(
        'gravity_frame',
        'world',
        'Frame whose z axis points up, above the root link on /tf, for gravity_source tf.',
        rule='the name of a frame',
    ),
    Specification(
        'gravity_cutoff',
        1.0,
        'Cut-off frequency with which the direction follows its source [Hz].',
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
        'What happens when the direction is out of date, or none has arrived. hold: the last one '
        'stays active, with an error on /diagnostics; stop: outputs stop.',
        choices=ACTIONS,
    ),
)
