# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Services for a robot at rest: tare, record poses, identify the tool."""

from __future__ import annotations

import math
import time
from collections import deque
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter

from screw_dynamics_ros.core.errors import ArgumentError, MissingDescriptionError, NotAtRestError
from screw_dynamics_ros.core.estimation.steadiness import two_levels
from screw_dynamics_ros.core.estimation.tool_identification import ToolEstimate, identify_tool
from screw_dynamics_ros.core.estimation.wrist_sensor import external_wrench, inertia_matrix
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper, ObservedState
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular, time_message
from screw_dynamics_ros.ros.messages.templates import vector
from screw_dynamics_ros.ros.parameters import Parameters

from ..hosting.host import ModelHost
from ..model.running_model import RunningModel
from .parameters import tool_of
from .sensor_messages import SensorMessages, WrenchSample, check_one_sensor

MAX_POSES = 1000
MIN_LOAD_STEPS = np.repeat([0.2, 2.0], 3)  # of moment and force between two loads [N m, N]


MAX_STATES = 20_000  # stored joint states
MIN_SAMPLES = 10  # or pose_samples, if that is less


class RestStates:
    """The latest joint states, without a pause between them."""

    def __init__(self) -> None:
        self._states: deque[tuple[int, Array, Array]] = deque(maxlen=MAX_STATES)

    def forget(self) -> None:
        """Discard all states."""
        self._states.clear()

    def observe(self, observed: ObservedState) -> None:
        """Store a state; after a pause discard earlier ones."""
        stamp, (q, v, _) = observed.stamp, observed.state
        before = self._states[-1][0] if self._states else stamp - 1
        if observed.restarted or not 0 < stamp - before <= observed.mapper.policies.timeout:
            self.forget()
        self._states.append((stamp, q.copy(), v.copy()))

    def positions(
        self,
        mapper: JointStateMapper,
        samples: list[WrenchSample],
        limit: float,
        gap: float,
        timeout: float,
        most: int,
    ) -> Array:
        """Return the mean positions (n,) of the robot, which must be at rest during the samples.

        Parameters
        ----------
        mapper : JointStateMapper
        samples : list of WrenchSample
            The latest samples, without a pause between them.
        limit : float
            Largest velocity [rad/s, m/s].
        gap : float
            Largest difference between first or last stamps of states and samples [s].
        timeout : float
            Largest age of the last sample [s].
        most : int
            Requested number of samples; at least `MIN_SAMPLES`, or `most` if smaller, are required.

        Raises
        ------
        NotAtRestError
            The robot moves.
        ArgumentError
            Too few or too old samples, or no joint states at their times.
        """
        now = time.monotonic()
        if len(samples) < min(MIN_SAMPLES, most):
            raise ArgumentError(
                f'{len(samples)} sensor messages without a pause, at least '
                f'{min(MIN_SAMPLES, most)} are needed: call again later; see /diagnostics'
            )
        if now - samples[-1].arrival > timeout:
            raise ArgumentError(
                f'no sensor message for {now - samples[-1].arrival:.1f} s: check that the driver '
                'of the sensor is running'
            )
        states = [each for each in self._states if each[0] >= samples[0].stamp - gap * 1e9]
        age = now - mapper.last_accepted
        if not states or age > (mapper.policies.state_timeout or math.inf):
            raise ArgumentError(
                f'no joint state for {age:.1f} s: check that the driver of the robot is running'
            )
        if states[-1][0] < samples[-1].stamp - gap * 1e9 or states[0][0] > (
            samples[0].stamp + gap * 1e9
        ):
            raise ArgumentError(
                'no joint states match the stamps of the sensor messages, which differ by '
                f'{abs(states[-1][0] - samples[-1].stamp) * 1e-9:.3g} s; check the clocks, or '
                'call again later'
            )
        return self._at_rest(mapper, states, limit)

    def _at_rest(
        self, mapper: JointStateMapper, states: list[tuple[int, Array, Array]], limit: float
    ) -> Array:
        q, v = (np.array([state[k] for state in states]) for k in (1, 2))
        moved = q - q[0]
        turns = mapper.continuous
        moved[:, turns] = (moved[:, turns] + np.pi) % (2.0 * np.pi) - np.pi
        seconds = (states[-1][0] - states[0][0]) * 1e-9
        speeds = np.abs(v).max(axis=0)
        spread = moved.max(axis=0) - moved.min(axis=0)
        moving = (speeds > limit) | (spread > max(limit * seconds, 1e-9))
        if moving.any():
            k = int(np.argmax(moving))
            raise NotAtRestError(
                f'{mapper.joints[k]} moves: {speeds[k]:.3g} rad/s or m/s, by {spread[k]:.3g} rad '
                f'or m within {seconds:.3g} s, more than rest_velocity_limit ({limit:g}) allows; '
                'wait until the robot is at rest and call again'
            )
        mean: Array = q[0] + moved.mean(axis=0)
        return mean


class RestingPose(NamedTuple):
    """Mean reading of the sensor in one pose.

    Attributes
    ----------
    stamp : int
        Stamp of the last sample [ns].
    q : (n,) array
        Mean positions.
    wrench : (6,) array
        Mean moment and force.
    samples : int
    """

    stamp: int
    q: Array
    wrench: Array
    samples: int


class ToolPoses:
    """`~/tare`, `~/record_pose`, `~/identify_tool` and `~/forget_poses`.

    Parameters
    ----------
    node : rclpy.node.Node
    host : ModelHost
    parameters : Parameters
        With the rows of `parameters.TABLE`; the services set bias and tool.
    sensor : SensorMessages

    Attributes
    ----------
    rest : RestStates
        Observes the joint states.
    """

    def __init__(
        self, node: Node, host: ModelHost, parameters: Parameters, sensor: SensorMessages
    ) -> None:
        self._node, self._host = node, host
        self._parameters, self._sensor = parameters, sensor
        self._poses: list[RestingPose] = []
        self.rest = RestStates()
        self._frame, self._text = '', ''
        self._model: RunningModel | None = None
        self._mapper: JointStateMapper | None = None
        self._motion: Formula | None = None
        serve = partial(host.services.serve, owner=node)
        serve('Trigger', '~/tare', lambda *_: self._tare())
        serve('Trigger', '~/record_pose', lambda *_: self._record())
        serve('Trigger', '~/forget_poses', lambda *_: self._forget())
        serve('IdentifyTool', '~/identify_tool', self._identify)

    def bind(
        self, model: RunningModel, mapper: JointStateMapper, frame: str, motion: Formula | None
    ) -> None:
        """Adopt a new model; discard poses of another robot or frame."""
        if mapper is not self._mapper:
            self.rest.forget()
        if (model.text, frame) != (self._text, self._frame):
            self._poses.clear()
        self._model, self._mapper, self._motion = model, mapper, motion
        self._text, self._frame = model.text, frame

    def forget(self) -> None:
        """Discard all poses."""
        self._poses.clear()

    def report(self, status: Status) -> None:
        """Report the number of poses."""
        status.values['poses recorded'] = str(len(self._poses))

    # --- requests -------------------------------------------------------------------------------

    def _present(self) -> RestingPose:
        """Return the current reading of one sensor, with the robot at rest.

        Raises `ScrewDynamicsError` if the robot moves, the reading alternates, or there are several
        sensors.
        """
        mapper, value = self._mapper, self._parameters
        self._known_motion()
        check_one_sensor(self._node)
        assert mapper is not None
        samples = self._sensor.samples
        q = self.rest.positions(
            mapper,
            samples,
            value['rest_velocity_limit'],
            value['match_limit'],
            value['sensor_timeout'],
            value['pose_samples'],
        )
        wrenches = np.array([sample.wrench for sample in samples])
        check_steady(wrenches)
        mean = wrenches.mean(axis=0)
        return RestingPose(samples[-1].stamp, q, mean, len(samples))

    def _known_motion(self) -> Formula:
        """Return the output with the motion; raises `MissingDescriptionError` without one."""
        if self._motion is None or self._model is None:
            raise MissingDescriptionError(
                'no robot description, or it does not contain the sensor frame; see /diagnostics'
            )
        return self._motion

    def _motion_at(self, q: Array) -> Array:
        """Return `sensor_motion` at rest, (12,)."""
        motion = self._known_motion()
        assert self._model is not None
        rest = np.zeros(len(q))
        result: Array = self._model.results_at(q, rest, joint_accelerations=rest)[motion][:12]
        return result

    def _tare(self) -> str:
        pose, M = self._present(), inertia_matrix(tool_of(self._parameters.values))
        bias = external_wrench(pose.wrench, np.zeros(6), M, self._motion_at(pose.q))
        self._set(bias=bias)
        force = ', '.join(f'{x:.4g}' for x in swap_linear_angular(bias))
        return f'bias of {pose.samples} sensor messages: {force}'

    def _record(self) -> str:
        if len(self._poses) >= MAX_POSES:
            raise ArgumentError(f'already {MAX_POSES} poses, the maximum: call ~/forget_poses')
        pose = self._present()
        self._poses.append(pose)
        return f'pose {len(self._poses)}: mean of {pose.samples} sensor messages'

    def _forget(self) -> str:
        count = len(self._poses)
        self._poses.clear()
        return f'{count} poses discarded'

    def _identify(self, request: Any, response: Any) -> str:
        self._known_motion()
        motions = [self._motion_at(pose.q) for pose in self._poses]
        gravity = -np.array([motion[9:] for motion in motions]).reshape(-1, 3)
        wrenches = np.array([pose.wrench for pose in self._poses]).reshape(-1, 6)
        tool = identify_tool(gravity, wrenches)
        prefix = self._host.parameters['frame_prefix']
        fill(response, tool, self._poses[-1].stamp, prefix + self._frame)
        if not request.apply:
            return ''
        self._set(tool_mass=tool.mass, tool_center_of_mass=tool.com.tolist(), bias=tool.bias)
        return f'applied, with tool_inertia {self._parameters["tool_inertia"]}'

    def _set(self, bias: Array, **tool: Any) -> None:
        """Set parameters, all or none; raises `ArgumentError`."""
        values = {'bias': swap_linear_angular(bias).tolist(), **tool}
        result = self._node.set_parameters_atomically(
            [Parameter(name, value=value) for name, value in values.items()]
        )
        if not result.successful:
            raise ArgumentError(result.reason)


def check_steady(wrenches: Array) -> None:
    """Raise `NotAtRestError` if moments and forces (N, 6) alternate between two values."""
    levels = two_levels(wrenches, MIN_LOAD_STEPS)
    if levels is None:
        return
    name, unit = ('moment', 'N m') if levels.place < 3 else ('force', 'N')
    quantity = f'the {name} along {"xyz"[levels.place % 3]}'
    raise NotAtRestError(levels.fault(quantity, unit, 'sensor messages'))


def fill(response: Any, tool: ToolEstimate, stamp: int, frame_id: str) -> None:
    """Fill in a response of IdentifyTool."""
    response.header.stamp, response.header.frame_id = time_message(stamp), frame_id
    response.tool.header = response.header
    response.tool.inertia.m, response.mass_deviation = tool.mass, tool.mass_deviation
    response.tool.inertia.com = vector(tool.com.tolist())
    response.center_of_mass_deviation = vector(tool.com_deviation.tolist())
    for wrench, numbers in (
        (response.bias, tool.bias),
        (response.bias_deviation, tool.bias_deviation),
    ):
        wrench.torque, wrench.force = vector(numbers[:3].tolist()), vector(numbers[3:].tolist())
    response.force_residual, response.moment_residual = tool.force_residual, tool.moment_residual
    response.poses_used = tool.poses
