# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of simulated faults of sensors and commands, which may change while the node runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from rclpy.node import Node
from rclpy.parameter import Parameter

from screw_dynamics_ros.core.simulation.joint_sensor import QUANTITIES, JointSensor, SensorFaults
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.status import Status

from .plant import Motors

PREFIX = 'faults.'
ENFORCE = f'{PREFIX}enforce_command_limits'

EACH = 'empty, one for all joints, or one for each joint of joint_states'
UNITS = {
    'position': 'rad, m',
    'velocity': 'rad/s, m/s',
    'effort': 'N m, N, or A with torque_constants',
}
JOINTS = 'joints of joint_states'


def _numbers(name: str, description: str, minimum: float = 0.0) -> Specification:
    return Specification(PREFIX + name, [], f'{description} Empty: none.', minimum, rule=EACH)


TABLE = (
    *(
        specification
        for quantity, unit in UNITS.items()
        for specification in (
            _numbers(
                f'{quantity}_noise',
                f'Standard deviation of the noise of reported {quantity} [{unit}].',
            ),
            _numbers(
                f'{quantity}_bias', f'Added to the reported {quantity} [{unit}].', -float('inf')
            ),
            _numbers(
                f'{quantity}_resolution',
                f'The reported {quantity} is rounded to multiples of it [{unit}].',
            ),
        )
    ),
    _numbers(
        'torque_constants',
        'Torque per current [N m/A, N/A]: efforts are reported as currents [A], not as torques; '
        'effort_bias and effort_noise then apply to the currents.',
        -float('inf'),
    ),
    Specification(
        PREFIX + 'delay',
        0.0,
        'Simulated time from measurement to publication of a joint state [s].',
        minimum=0.0,
        maximum=60.0,
    ),
    Specification(
        PREFIX + 'jitter',
        0.0,
        'Largest additional delay, uniformly distributed; joint states keep their order [s].',
        minimum=0.0,
        maximum=60.0,
    ),
    Specification(
        PREFIX + 'dropout',
        0.0,
        'Probability that a joint state is not published.',
        minimum=0.0,
        maximum=1.0,
    ),
    Specification(PREFIX + 'nan_joints', [''], 'Joints that report NaN.', rule=JOINTS),
    Specification(
        PREFIX + 'nan_quantities',
        list(QUANTITIES),
        'Quantities that nan_joints report as NaN.',
        choices=QUANTITIES,
    ),
    Specification(
        PREFIX + 'frozen_joints',
        [''],
        'Joints that keep reporting their last values.',
        rule=JOINTS,
    ),
    Specification(
        ENFORCE,
        False,
        'Clamp commanded efforts to the limits of the description as controller_manager does: to '
        'the effort limits, to 0 towards a position limit that is reached, and to 0 along a motion '
        'faster than the velocity limit.',
    ),
)


class FaultParameters:
    """The faults of a sensor and of motors; parameter changes take effect immediately.

    Parameters
    ----------
    node : rclpy.node.Node
    sensor : JointSensor
    motors : Motors
    """

    def __init__(self, node: Node, sensor: JointSensor, motors: Motors) -> None:
        self._node, self._sensor, self._motors = node, sensor, motors
        self._parameters = Parameters(node, TABLE, self._check, lambda values: self._apply())
        self._apply()

    def clear(self) -> None:
        """Remove all faults."""
        self._node.set_parameters_atomically(
            [
                Parameter(each.name, each.kind, [] if each.default == [''] else each.default)
                for each in TABLE
            ]
        )

    def status(self) -> Status:
        """Report the active faults as warnings."""
        status = Status('simulated faults')
        active = self._sensor.faults.active
        for name, value in active.items():
            shown = value if isinstance(value, float) else ', '.join(map(str, value))  # type: ignore
            status.values[PREFIX + name] = str(shown)
        if active:
            status.warn(
                f'joint states have simulated faults: {", ".join(active)}; ~/clear_faults removes '
                'them'
            )
        if self._motors.is_limited:
            status.warn(
                f'{ENFORCE}: commanded efforts are clamped to the limits of the description, as by '
                'controller_manager; ~/clear_faults ends it'
            )
        return status

    def _apply(self) -> None:
        self._sensor.faults = self._faults({})
        self._motors.is_limited = self._parameters[ENFORCE]

    def _check(self, values: dict[str, Any]) -> None:
        self._sensor.check(self._faults(values))

    def _faults(self, changed: Mapping[str, Any]) -> SensorFaults:
        given: dict[str, Any] = {}
        for field in fields(SensorFaults):
            name = PREFIX + field.name
            value = changed.get(name, self._parameters[name])
            given[field.name] = tuple(value) if isinstance(value, list) else value
        return SensorFaults(**given)
