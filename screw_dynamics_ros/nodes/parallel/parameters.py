# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of the node `parallel_robot`, and the robot built from them."""

from __future__ import annotations

from pathlib import Path

from screw_dynamics_ros.core.compile.kernels import BACKENDS
from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError
from screw_dynamics_ros.core.mechanisms.parallel.example_mechanisms import stewart_gough
from screw_dynamics_ros.core.mechanisms.parallel.mechanism import Mechanism
from screw_dynamics_ros.core.mechanisms.parallel.mechanism_description import mechanism_of
from screw_dynamics_ros.core.mechanisms.parallel.parallel_robot import ParallelRobot
from screw_dynamics_ros.ros.parameters import Parameters, Specification, Value
from screw_dynamics_ros.ros.text_files import read_yaml_file

from ..parameters.shared_parameters import PROCESS
from ..parameters.state_parameters import AS_MEASURED

ROBOT = (
    Specification(
        'mechanism',
        '',
        'Path of the YAML file that describes the robot (doc/theory/parallel_robots.md). Empty: '
        'the Stewart-Gough platform of this package.',
        rule='a path, or empty',
        read_only=True,
    ),
    Specification(
        'base_frame',
        'base',
        'Frame of the base, in which pose and twist of the platform are expressed.',
        rule='the name of a frame',
        read_only=True,
    ),
    Specification(
        'platform_frame',
        'platform',
        'Frame of the platform, in which wrenches on it are expressed.',
        rule='the name of another frame',
        read_only=True,
    ),
    Specification('publish_tf', True, 'Whether to publish the platform on /tf.', read_only=True),
    Specification(
        'gravity',
        [0.0, 0.0, -9.81],
        'Acceleration of free fall in base_frame [m/s^2].',
        size=3,
    ),
    Specification(
        'backend',
        'auto',
        'Backend that evaluates the model: native, python, reference, or auto.',
        choices=('auto', *BACKENDS),
        read_only=True,
    ),
)

TRACKING = (
    Specification(
        'smallest_singular_value',
        0.02,
        'Smallest singular value of the rod wrenches, with moments divided by the size of the '
        'robot. Below this value nothing is published until ~/reset, because assembly modes meet '
        'at singularities.',
        minimum=0.0,
        maximum=1.0,
    ),
    Specification(
        'largest_turn',
        0.3,
        'Largest rotation of the platform from one joint state to the next [rad]; beyond it '
        'nothing is published until ~/reset.',
        minimum=1e-6,
        maximum=3.0,
    ),
    Specification(
        'largest_shift',
        0.1,
        'Largest translation of the platform from one joint state to the next [m]; beyond it '
        'nothing is published until ~/reset.',
        minimum=1e-6,
        maximum=100.0,
    ),
    Specification(
        'length_tolerance',
        1e-3,
        'Largest residual of the rod lengths that is attributed to measurement errors [m]; used '
        'with more than six rods only.',
        minimum=1e-9,
        maximum=1.0,
    ),
    Specification(
        'wrench_timeout',
        0.1,
        'Time for which a message on ~/external_wrench acts [s].',
        minimum=0.001,
        maximum=3600.0,
    ),
)

TABLE = (*ROBOT, *TRACKING, *AS_MEASURED, *PROCESS)


def check(values: dict[str, Value]) -> None:
    """Refuse empty or equal names of frames; raises `ArgumentError`."""
    frames = [values[name] for name in ('base_frame', 'platform_frame') if name in values]
    if '' in frames or len(set(map(str, frames))) < len(frames):
        raise ArgumentError(
            f'base_frame and platform_frame must be the names of two frames, got {frames}'
        )


def make_robot(parameters: Parameters) -> ParallelRobot:
    """Return the robot of the parameter `mechanism`; raises `DescriptionError`."""
    path = parameters['mechanism']
    try:
        mechanism = read_mechanism(Path(path)) if path else stewart_gough()
    except DescriptionError as error:
        raise DescriptionError(f'parameter mechanism: {error}') from None
    return ParallelRobot(mechanism, parameters['backend'])


def read_mechanism(path: Path) -> Mechanism:
    """Return the mechanism of a YAML file; raises `DescriptionError` with the file name."""
    try:
        content = read_yaml_file(path)
    except ArgumentError as error:
        raise DescriptionError(f'{path.name}: {error}') from None
    return mechanism_of(content, path.name)
