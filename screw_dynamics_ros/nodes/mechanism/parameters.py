# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of the mechanism simulator."""

from __future__ import annotations

from screw_dynamics_ros.core.compile.kernels import BACKENDS
from screw_dynamics_ros.core.integration import tableau
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import EXAMPLES
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.groups import SE3, SO3xR3
from screw_dynamics_ros.ros.parameters import Specification

from ..parameters.shared_parameters import PROCESS
from ..simulation.parameters import MAX_REAL_TIME_FACTOR, MAX_TIMEOUT_S, PUBLISH, WALL

GROUPS = {'auto': 'auto', 'se3': SE3, 'so3_r3': SO3xR3}
TABLEAUS = {
    'euler': tableau.EULER,
    'midpoint': tableau.MIDPOINT,
    'heun_2': tableau.HEUN_2,
    'kutta_3': tableau.KUTTA_3,
    'heun_3': tableau.HEUN_3,
    'rk4': tableau.RK4,
    'three_eighths': tableau.THREE_EIGHTHS,
    'dormand_prince': tableau.DORMAND_PRINCE,
}

MECHANISM = (
    Specification(
        'example',
        '',
        'An example of Müller and Terze, with its initial velocities. Empty: the URDF.',
        choices=('', *EXAMPLES),
        read_only=True,
    ),
    Specification(
        'robot_description',
        '',
        'Text of the URDF, SDFormat or MJCF of the mechanism. Empty: the file `urdf`.',
        rule='the text of a description, or empty',
        read_only=True,
    ),
    Specification(
        'urdf',
        '',
        'Path of the URDF, SDFormat or MJCF file. Empty: the Panda arm of this package.',
        rule='a path, or empty',
        read_only=True,
    ),
    Specification(
        'loop_closures',
        '',
        'Path of a YAML file with the joints that close loops (doc/theory/closed_loops.md); '
        'description: those of the description. Empty: none.',
        rule='a path, description, or empty',
        read_only=True,
    ),
    Specification(
        'floating_base', False, 'Whether the root link of the URDF moves freely.', read_only=True
    ),
    Specification(
        'initial_joints',
        [''],
        'Joints to which initial_positions apply.',
        rule='revolute, continuous or prismatic joints of the URDF',
        read_only=True,
    ),
    Specification(
        'initial_positions',
        [],
        'Positions of initial_joints before loops are closed [rad, m]; others are at 0.',
        rule='empty, or one for each of initial_joints',
        read_only=True,
    ),
    Specification(
        'gravity',
        [],
        'Acceleration of free fall in world_frame [m/s^2]. Empty: that of the example, and '
        '(0, 0, -9.81) for a URDF.',
        rule='empty, or three numbers',
        read_only=True,
    ),
    Specification(
        'world_frame',
        'world',
        'Parent frame of all bodies on /tf.',
        rule='the name of a frame',
        read_only=True,
    ),
)

INTEGRATION = (
    Specification(
        'groups',
        'auto',
        'Configuration group of the bodies: se3, so3_r3, or auto: SE(3) for bodies with a joint to '
        'the ground and SO(3) x R^3 for others.',
        choices=tuple(GROUPS),
        read_only=True,
    ),
    Specification(
        'tableau',
        'rk4',
        'Runge-Kutta method of the Munthe-Kaas steps.',
        choices=tuple(TABLEAUS),
        read_only=True,
    ),
    Specification(
        'step',
        0.001,
        'Longest step [s]; shortened to divide 1 / rate.',
        minimum=1e-6,
        maximum=0.1,
        read_only=True,
    ),
    Specification(
        'rate', 100.0, 'Rate of the outputs [Hz].', minimum=1.0, maximum=1000.0, read_only=True
    ),
    Specification(
        'stabilization',
        [0.0, 0.0],
        'Coefficients alpha and beta of Baumgarte stabilization [1/s]. 0: none.',
        size=2,
        rule='numbers >= 0',
        read_only=True,
    ),
    Specification(
        'project', False, 'Whether to project onto the constraints after each step.', read_only=True
    ),
    Specification(
        'backend',
        'auto',
        'Backend that evaluates the model: native, python, reference, sparse, or auto.',
        choices=('auto', *BACKENDS, 'sparse'),
        read_only=True,
    ),
)

TIME = (
    Specification(
        'clock',
        WALL,
        'wall: stamps and pace follow the system clock. publish: simulated time on /clock, at '
        'real_time_factor.',
        choices=(WALL, PUBLISH),
        read_only=True,
    ),
    Specification(
        'real_time_factor',
        1.0,
        'Simulated time per real time, with a simulated clock. 0: as fast as possible.',
        minimum=0.0,
        maximum=MAX_REAL_TIME_FACTOR,
        read_only=True,
    ),
    Specification(
        'paused', False, 'Whether the simulation starts paused; see ~/pause.', read_only=True
    ),
    Specification(
        'steps_per_request',
        1,
        'Number of outputs that a call of ~/step simulates during a pause.',
        minimum=1,
        maximum=100_000,
    ),
    Specification(
        'command_timeout',
        0.1,
        'Simulated time for which joint_commands and ~/external_wrench act [s].',
        minimum=0.001,
        maximum=MAX_TIMEOUT_S,
    ),
)

TABLE = (*MECHANISM, *INTEGRATION, *TIME, *PROCESS)
