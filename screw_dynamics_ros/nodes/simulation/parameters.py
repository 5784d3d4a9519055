# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of the simulator: robot, integration, motion without commands, time."""

from __future__ import annotations

from screw_dynamics_ros.core.compile.kernels import BACKENDS
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.simulation import INTEGRATORS
from screw_dynamics_ros.ros.parameters import Specification, Value

from ..parameters import drive_parameters
from ..parameters.shared_parameters import PROCESS

#: Integrators for fixed and floating bases.
SIMULATOR_INTEGRATORS = tuple(name for name in INTEGRATORS if name != 'momentum_preserving')

WALL, PUBLISH, LOCK_STEP = CLOCKS = ('wall', 'publish', 'lock_step')

MIN_REAL_TIME_FACTOR, MAX_REAL_TIME_FACTOR = 0.1, 100.0  # 0 is also permitted
MAX_TIMEOUT_S = 1e6
MAX_GAIN = 1e9  # N m/rad, N m s/rad

ROBOT = (
    Specification(
        'robot_description',
        '',
        'Text of the URDF, SDFormat or MJCF of the robot. Empty: the file `urdf`.',
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
        'floating_base',
        False,
        'Whether the root link moves freely. Its pose is then published on /tf.',
        read_only=True,
    ),
    Specification(
        'world_frame',
        'world',
        'Parent frame on /tf of a floating base.',
        rule='the name of a frame',
        read_only=True,
    ),
    Specification(
        'gravity',
        [0.0, 0.0, -9.81],
        'Acceleration of free fall in the frame of the root link, of a floating base in '
        'world_frame [m/s^2].',
        size=3,
        read_only=True,
    ),
    Specification(
        'friction',
        False,
        'Whether joints have friction: from their drives, or else from the description. '
        'Always true with drive_joints.',
        read_only=True,
    ),
    drive_parameters.JOINTS,
)

INTEGRATION = (
    Specification(
        'rate', 500.0, 'Rate of joint_states [Hz].', minimum=1.0, maximum=10000.0, read_only=True
    ),
    Specification(
        'step',
        0.002,
        'Longest step of the integration [s]; shortened to divide 1 / rate. Fast motion is '
        'integrated in shorter steps.',
        minimum=1e-6,
        maximum=0.1,
        read_only=True,
    ),
    Specification(
        'integrator',
        'runge_kutta',
        'Method of integration: runge_kutta (order 4) or semi_implicit (Euler, order 1, a '
        'quarter of the computing time).',
        choices=SIMULATOR_INTEGRATORS,
        read_only=True,
    ),
    Specification(
        'initial_joints',
        [''],
        'Joints to which initial_positions apply.',
        rule='joints of the robot',
        read_only=True,
    ),
    Specification(
        'initial_positions',
        [],
        'Initial positions [rad, m] for each of initial_joints, within their limits; other '
        'joints start at 0, or at the nearest limit.',
        rule='empty, or one for each of initial_joints',
        read_only=True,
    ),
    Specification(
        'initial_base_pose',
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        'Initial pose of a floating base in world_frame: x, y, z [m], quaternion x, y, z, w.',
        size=7,
        rule='a unit quaternion',
        read_only=True,
    ),
)

MOTION = (
    Specification(
        'motion_amplitude',
        0.3,
        'Amplitude of the slow reference motion without commands [rad, m]. 0: hold the position.',
        minimum=0.0,
        read_only=True,
    ),
    Specification(
        'motion_period',
        10.0,
        'Period of the reference motion of the first joint [s].',
        minimum=0.1,
        read_only=True,
    ),
    Specification(
        'posture_frequency',
        20.0,
        'Natural frequency of the joint servos that track the reference motion [rad/s].',
        minimum=0.1,
        maximum=500.0,
        read_only=True,
    ),
    Specification(
        'servo_frequency',
        60.0,
        'Natural frequency of the joint servos that track position, velocity and trajectory '
        'commands [rad/s]; with the inertia at each joint it determines their stiffness.',
        minimum=0.1,
        maximum=500.0,
        read_only=True,
    ),
    Specification(
        'servo_damping_ratio',
        1.0,
        'Damping ratio of the joint servos; 1 is critical.',
        minimum=0.0,
        maximum=10.0,
        read_only=True,
    ),
    Specification(
        'impedance_joints',
        [''],
        'Joints with an impedance drive, of torque kp (q_d - q) + kd (v_d - v) + effort, instead '
        'of an ideal servo. Further ones have the parameters kp and kd in their <joint> of a '
        '<ros2_control> tag.',
        rule='joints of the robot',
        read_only=True,
    ),
    Specification(
        'impedance_stiffness',
        [],
        'kp [N m/rad, N/m] for each of impedance_joints.',
        minimum=0.0,
        maximum=MAX_GAIN,
        rule='one for each of impedance_joints',
        read_only=True,
    ),
    Specification(
        'impedance_damping',
        [],
        'kd [N m s/rad, N s/m] for each of impedance_joints.',
        minimum=0.0,
        maximum=MAX_GAIN,
        rule='one for each of impedance_joints',
        read_only=True,
    ),
    Specification(
        'command_timeout',
        0.1,
        'Simulated time after which efforts, velocities and gains of commands end and joints '
        'without a position hold theirs [s].',
        minimum=0.001,
        maximum=MAX_TIMEOUT_S,
    ),
    Specification(
        'wrench_timeout',
        0.1,
        'Simulated time for which a message on ~/external_wrench acts [s].',
        minimum=0.001,
        maximum=MAX_TIMEOUT_S,
    ),
)

TIME = (
    Specification(
        'clock',
        WALL,
        'wall: stamps and pace follow the system clock. publish: simulated time on /clock, at '
        'real_time_factor. lock_step: as publish, but after each joint state time stops until a '
        'command arrives.',
        choices=CLOCKS,
        read_only=True,
    ),
    Specification(
        'real_time_factor',
        1.0,
        'Simulated time per real time, with a simulated clock; an upper limit in lock step. 0: as '
        'fast as possible.',
        minimum=0.0,
        maximum=MAX_REAL_TIME_FACTOR,
        rule=f'0, or at least {MIN_REAL_TIME_FACTOR:g}',
    ),
    Specification(
        'lock_step_commands',
        1,
        'Number of commands for which lock step waits after each joint state: the number of '
        'commanding nodes.',
        minimum=1,
        maximum=1000,
    ),
    Specification(
        'lock_step_timeout',
        1.0,
        'Real time after which lock step continues with a warning without a command [s]. 0: never.',
        minimum=0.0,
        maximum=3600.0,
    ),
    Specification(
        'paused', False, 'Whether the simulation starts paused; see ~/pause.', read_only=True
    ),
    Specification(
        'steps_per_request',
        1,
        'Number of joint states that a call of ~/step simulates during a pause.',
        minimum=1,
        maximum=10_000,
    ),
    Specification(
        'seed',
        0,
        'Seed of the random numbers for sensor faults.',
        minimum=0,
        maximum=2**31 - 1,
        read_only=True,
    ),
)

PROCESSING = (
    Specification(
        'backend',
        'auto',
        'Backend that evaluates the model: native, python, reference, or auto.',
        choices=('auto', *BACKENDS),
        read_only=True,
    ),
    *PROCESS,
)


def check(values: dict[str, Value]) -> None:
    """Refuse values within their ranges that are still invalid; raises `ArgumentError`."""
    if values.get('world_frame') == '':
        raise ArgumentError('parameter world_frame is empty; name a frame')
    factor = values.get('real_time_factor', 0.0)
    if isinstance(factor, float) and 0.0 < factor < MIN_REAL_TIME_FACTOR:
        raise ArgumentError(
            f'parameter real_time_factor must be 0, for as fast as possible, or in '
            f'[{MIN_REAL_TIME_FACTOR:g}, {MAX_REAL_TIME_FACTOR:g}], got {factor:g}'
        )
