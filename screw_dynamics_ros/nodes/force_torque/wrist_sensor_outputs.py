# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outputs of the node `wrist_sensor`: the external wrench on the tool."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node

from screw_dynamics_ros.core import ArgumentError, Robot, ScrewDynamicsError
from screw_dynamics_ros.core.compile.typed.functions import Floats
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.estimation.wrist_sensor import (
    FilteredAcceleration,
    StampedValues,
    add_values,
    advance_acceleration,
    external_wrench,
    has_settled,
    inertia_matrix,
    relative_pose,
    sensor_motion,
)
from screw_dynamics_ros.core.lie import screws
from screw_dynamics_ros.core.linear import zeros
from screw_dynamics_ros.core.motion.trajectory.payload_capacity import check_payload
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import TAKEN, LoopRecord
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.names import printable, topic_tokens
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.channel import NO_OUTPUT, Channel
from screw_dynamics_ros.ros.topics.channel_record import VELOCITY
from screw_dynamics_ros.ros.topics.publishers import Publishers

from ..hosting import statuses
from ..hosting.host import ModelHost
from ..model.parts import Adopted, Plan, Stage, StateStep
from ..model.scalar_joints import coordinates, scalar_joints
from ..parameters import frame_parameters
from .parameters import TABLE, bias_of, tool_of
from .sensor_messages import INPUT, SensorMessages, check_one_sensor
from .tool_poses import ToolPoses

OUTPUT = '~/wrench'
MAX_KINDS = 20  # of refusals reported
STATE_HISTORY = 200  # joint states in which the one of a sensor message is searched


class SensorMotion(Record):
    """The motion of a sensor.

    Attributes
    ----------
    acceleration : FilteredAcceleration
    motion : (m,) array
        From the kernel.
    history : StampedValues
        The latest ones.
    """

    acceleration: FilteredAcceleration
    motion: Floats
    history: StampedValues


@compiled_step
def advance_motion(m: SensorMotion, loop: LoopRecord) -> int:
    """Update the filtered accelerations before a state is evaluated."""
    if loop.has & VELOCITY != 0:
        v = loop.state[len(m.acceleration.value) :]
        advance_acceleration(m.acceleration, loop.state_clock.elapsed, v)
    else:
        m.acceleration.is_running = False
    return TAKEN


@compiled_step
def keep_motion(m: SensorMotion, loop: LoopRecord) -> int:
    """Store the motion of the sensor in a state."""
    if loop.mapper.restarted:
        m.history.count = 0
    if loop.has & VELOCITY != 0 and has_settled(m.acceleration):
        add_values(m.history, loop.mapper.stamp, m.motion)
    return TAKEN


@dataclass(frozen=True)
class Refusal:
    """Sensor messages refused for one kind of reason: time of the last [s], count, reason."""

    last: float
    count: int
    reason: str


@dataclass(frozen=True, eq=False)
class SensorPlan(Plan):
    """Outputs and settings for one robot.

    Attributes
    ----------
    frame : str
        The link of the sensor, '' if it is unknown or the robot does not have it.
    fault : str
        Reason for an empty frame.
    tokens : dict
        Further links, with the last part of their topic names.
    motion : Formula or None
        `sensor_motion`, then the poses of the sensor in the frames of these links, flat.
    acceleration : FilteredAcceleration
    """

    frame: str = field(kw_only=True)
    fault: str = field(kw_only=True)
    tokens: dict[str, str] = field(kw_only=True)
    motion: Formula | None = field(kw_only=True)
    acceleration: FilteredAcceleration = field(kw_only=True)


class WristSensor:
    """`~/wrench`, `~/wrench_at/<frame>`, and the services that identify tool and bias.

    For each sensor message one wrench with the same stamp is published; bias, weight and inertial
    forces of the tool are removed. The motion at that time is from the joint states.
    """

    def __init__(self, node: Node, host: ModelHost) -> None:
        self._node, self._host = node, host
        self._publishers = Publishers(node)
        self._parameters = Parameters(node, TABLE, self._check, self._apply)
        self._sensor = SensorMessages()
        self._adopted: Adopted[SensorPlan] | None = None
        self._channels: list[Channel] = []
        self.record = SensorMotion()
        self._refused: dict[str, Refusal] = {}  # by kind
        self._frame = self._parameters['sensor_frame']
        self._poses = ToolPoses(node, host, self._parameters, self._sensor)
        self._check({})
        self._follow()
        self._publishers.get(WrenchStamped, OUTPUT)  # exists before its frame is known
        node.create_subscription(
            WrenchStamped,
            INPUT,
            FAULTS.guarded('a sensor message', STATE_LOCK.exclusive(self._on_wrench)),
            qos.JOINT_STATES,
            qos_overriding_options=qos.OVERRIDABLE,
        )

    # --- the robot ------------------------------------------------------------------------------

    def plan(self, robot: Robot) -> SensorPlan:
        """Find the link of the sensor, and return the formula for its motion."""
        wanted, names = self._frame, robot.link_names
        acceleration = FilteredAcceleration(len(scalar_joints(robot)))
        fault = '' if wanted else 'no sensor message so far, and sensor_frame is not set'
        if wanted and wanted not in names:
            fault = (
                f'robot {robot.description.name} has no link {printable(wanted)}: set sensor_frame '
                'to the link of the sensor'
            )
        if fault:
            return SensorPlan(
                [], frame='', fault=fault, tokens={}, motion=None, acceleration=acceleration
            )
        frames = [name for name in self._parameters['frames'] if name in names]
        motion = motion_of(robot, wanted, frames)
        return SensorPlan(
            [motion],
            parameters={'joint_accelerations': acceleration.value},
            frame=wanted,
            fault='',
            tokens=topic_tokens(frames),
            motion=motion,
            acceleration=acceleration,
        )

    def stages(self) -> list[Stage]:
        """Return the stages that process each joint state."""
        return [
            Stage(observe=self._poses.rest.observe),
            Stage(
                prepare=StateStep(advance_motion, lambda: self.record),
                consume=StateStep(keep_motion, lambda: self.record),
                is_needed=lambda: (
                    self._adopted is not None and self._adopted.plan.motion is not None
                ),
            ),
        ]

    def bind(self, adopted: Adopted[SensorPlan]) -> list[Channel]:
        """Adopt a new model; return the topics."""
        self._adopted = adopted
        model, mapper, plan = adopted.model, adopted.mapper, adopted.plan
        self.record.acceleration = plan.acceleration
        motion = np.zeros(0) if plan.motion is None else model.results.get(plan.motion, np.zeros(0))
        self.record.motion, self.record.history = motion, StampedValues(STATE_HISTORY, motion.size)
        self._poses.bind(model, mapper, plan.frame, plan.motion)
        self._channels = []
        if plan.motion is not None and model.results:
            prefix = self._host.parameters['frame_prefix']
            self._add(OUTPUT, prefix + plan.frame)
            for link, token in plan.tokens.items():
                self._add(f'~/wrench_at/{token}', prefix + link)
        self._follow()
        return list(self._channels)

    def _add(self, topic: str, frame_id: str) -> None:
        publisher = self._publishers.get(WrenchStamped, topic)
        template = templates.wrench(frame_id)
        # Published for messages of the sensor, not for joint states.
        self._channels.append(Channel(publisher, template, velocity=True, gates=(NO_OUTPUT,)))

    # --- sensor messages ------------------------------------------------------------------------

    def _on_wrench(self, message: WrenchStamped) -> None:
        """Publish the external wrench, if the motion at that time is known."""
        value = self._parameters
        try:
            sample = self._sensor.take(
                message, value['sensor_frame'], value['sensor_sign'], value['sensor_timeout']
            )
            self._find_frame()
            if not any(channel.listened for channel in self._channels):
                return
            motion = self._motion_at(sample.stamp)
        except ScrewDynamicsError as error:
            self._refuse(str(error))
            return
        wrench = external_wrench(sample.wrench, self._bias, self._inertia, motion[:12])
        if not np.isfinite(wrench).all():
            self._refuse('the compensated wrench is not finite')
            return
        poses = motion[12:].reshape(-1, 4, 4)
        at_frames = (screws.transform_wrench(C, wrench) for C in poses)
        for channel, numbers in zip(self._channels, (wrench, *at_frames)):
            if channel.listened:
                channel.put(swap_linear_angular(numbers), sample.stamp)

    def _motion_at(self, stamp: int) -> Array:
        """Return the motion at a time [ns]; raises `ArgumentError` if it is unknown."""
        if not self.record.history.count:
            raise ArgumentError(
                'the motion is unknown: no joint states with velocities so far, or the filter of '
                'accelerations has not settled since the last pause'
            )
        try:
            return self.record.history.at(stamp, round(self._parameters['match_limit'] * 1e9))
        except ArgumentError as error:
            raise ArgumentError(f'no joint state matches its stamp: {error}') from None

    def _find_frame(self) -> None:
        """Use the frame of the first message if sensor_frame is empty."""
        frame = self._parameters['sensor_frame'] or self._sensor.frame
        prefix = self._host.parameters['frame_prefix']
        if not self._parameters['sensor_frame'] and prefix and frame.startswith(prefix):
            frame = frame[len(prefix) :]
        if frame != self._frame:
            self._frame = frame
            self._host.reload()

    def _refuse(self, reason: str) -> None:
        kind = reason.split(':')[0]
        known = self._refused.get(kind)
        if known or len(self._refused) < MAX_KINDS:
            count = known.count + 1 if known else 1
            self._refused[kind] = Refusal(time.monotonic(), count, printable(reason))

    # --- report ---------------------------------------------------------------------------------

    def status(self) -> Status:
        """Report the sensor, the tool, and missing inputs."""
        status, adopted = Status('outputs'), self._adopted
        value = self._parameters
        status.values.update(
            {
                'sensor frame': self._frame,
                'sensor messages': str(self._sensor.accepted),
                'tool mass [kg]': f'{value["tool_mass"]:.6g}',
                'tool center of mass [m]': ', '.join(
                    f'{x:.6g}' for x in value['tool_center_of_mass']
                ),
                'bias [N, N m]': ', '.join(f'{x:.6g}' for x in value['bias']),
            }
        )
        self._poses.report(status)
        now = time.monotonic()
        if now - self._sensor.last > value['sensor_timeout']:
            age = now - self._sensor.last
            status.warn(
                f'no valid message on {self._node.resolve_topic_name(INPUT)}'
                + (f' for {age:.3g} s' if math.isfinite(age) else ' so far')
            )
        try:
            check_one_sensor(self._node)
        except ArgumentError as error:
            status.warn(str(error))
        if adopted is not None and adopted.plan.fault:
            status.warn(adopted.plan.fault)
        for refusal in self._refused.values():
            if now - refusal.last < statuses.INCIDENT_HOLD_S:
                status.warn(f'sensor messages refused, {refusal.count} so far: {refusal.reason}')
        absent = [
            name
            for name in value['frames']
            if adopted is not None and not adopted.plan.fault and name not in adopted.plan.tokens
        ]
        if absent:
            status.error(f'the robot has no link {", ".join(absent)}: correct frames')
        statuses.report_channels(status, self._channels, self._host.mapper)
        return status

    # --- parameters -----------------------------------------------------------------------------

    def _check(self, values: Mapping[str, Any]) -> None:
        """Refuse invalid values; raises `ScrewDynamicsError`."""
        value = {**self._parameters.values, **values}
        tool = tool_of(value)
        frame, model = value['sensor_frame'] or self._frame, self._host.model
        is_given = values.keys() & {'tool_mass', 'tool_center_of_mass', 'sensor_frame'}
        if is_given and model is not None and frame in model.robot.link_names:
            check_payload(model.robot, frame, tool)
        if abs(value['sensor_sign']) != 1.0:
            raise ArgumentError(f'sensor_sign must be 1 or -1, got {value["sensor_sign"]:g}')
        robot = self._host.model.robot if self._host.model else None
        frame_parameters.check(dict(values), robot)
        frame = values.get('sensor_frame')
        if frame and robot is not None:
            try:
                frame_parameters.check({'frames': [frame]}, robot)
            except ScrewDynamicsError as error:
                raise type(error)(str(error).replace('frames:', 'sensor_frame:')) from None

    def _apply(self, values: Mapping[str, Any]) -> None:
        self._follow()
        if 'sensor_sign' in values:
            self._sensor.forget()
            self._poses.forget()
        if 'sensor_frame' in values:
            self._frame = values['sensor_frame']
            self._sensor.restart()
        if values.keys() & {'sensor_frame', 'frames'}:
            self._host.reload()

    def _follow(self) -> None:
        """Apply the current values of the parameters."""
        value = self._parameters
        self._inertia, self._bias = inertia_matrix(tool_of(value.values)), bias_of(value.values)
        self._sensor.keep(value['pose_samples'])
        if self._adopted is not None:
            self._adopted.plan.acceleration.cutoff = value['acceleration_cutoff']


def motion_of(robot: Robot, link: str, frames: Sequence[str]) -> Formula:
    """Return the output with the motion of a link, and its poses in other links.

    It reads the parameter 'joint_accelerations' of joints with one coordinate.
    """
    places = tuple(coordinates(robot, scalar_joints(robot))[1].tolist())
    a = Formula('accelerations', ('joint_accelerations',), scattered, (places, robot.nv))
    return Formula(
        'motion of the sensor',
        (
            ('velocity', link, 'body'),
            robot.substitute(('acceleration', link, 'body'), a=a),
            'gravity',
            ('link_pose', link),
            *(('link_pose', frame) for frame in frames),
        ),
        motion_and_poses,
    )


def scattered(values: Array, places: tuple[int, ...], size: int) -> Array:
    """Return a vector (size,) with values at some indices, zero elsewhere."""
    result = zeros(size, values)
    result[list(places)] = values
    return result


def motion_and_poses(V: Array, dV: Array, gravity: Array, C: Array, *frames: Array) -> Array:
    """Return `sensor_motion` and the poses of the sensor in other frames, in one vector."""
    poses = [relative_pose(C, frame) for frame in frames]
    return np.concatenate([sensor_motion(V, dV, C, gravity), *(pose.ravel() for pose in poses)])
