# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gravity in the root frame from a parameter, /tf or an IMU, filtered at each joint state."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.errors import MissingStateError, ScrewDynamicsError
from screw_dynamics_ros.core.measurement.estimation.gravity_direction import (
    OrientationCheck,
    TurningGravity,
    down_by_orientation,
)
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.names import printable
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.status import Level, Status
from screw_dynamics_ros.ros.topics.frame_chain import FrameChain

from ..parameters.gravity_parameters import IMU, PARAMETER, STOP, TF
from ..services.payload_services import link_of, relative_pose
from .imu_messages import UNKNOWN, down_at_rest, down_to_compare
from .state_pipeline import StatePipeline

TRANSFORM_PERIOD_S = 0.02  # between evaluations of the transforms


class GravitySource:
    """Writes the vector of gravity that the kernel reads.

    Parameters
    ----------
    node : rclpy.node.Node
        Owns the subscriptions.
    parameters : Parameters
        With `gravity` and the rows of `gravity_parameters`.
    states : StatePipeline
        Suspended while the direction is out of date, with on_gravity_loss stop.
    gravity : (3,) array
        Written in place.
    """

    def __init__(
        self, node: Node, parameters: Parameters, states: StatePipeline, gravity: Array
    ) -> None:
        self._node, self._parameters, self._states = node, parameters, states
        self._turning = TurningGravity(gravity)
        self._down: Array | None = None  # last unit vector, in the root frame
        self._arrival = -math.inf
        self._reason = ''
        self._looked = -math.inf
        self._chain: FrameChain | None = None
        self._has_imu = False
        self._check = OrientationCheck()
        self.update_parameters()

    def update_parameters(self) -> None:
        """Apply the parameters: create required subscriptions, and restart the filter."""
        source = self._parameters['gravity_source']
        self._down, self._arrival, self._looked = None, -math.inf, -math.inf
        self._reason, self._check = 'no message so far', OrientationCheck()
        self._turning.restart(time.monotonic())
        if source == TF and self._chain is None:
            self._chain = FrameChain(self._node, TFMessage, '')
        if source == IMU and not self._has_imu:
            from sensor_msgs.msg import Imu

            self._has_imu = True
            self._node.create_subscription(
                Imu,
                'imu',
                FAULTS.guarded('an IMU message', STATE_LOCK.exclusive(self.receive)),
                qos_profile_sensor_data,
            )
        self.look()

    # --- sources --------------------------------------------------------------------------------

    def look(self) -> None:
        """Read the direction from the transforms; suspend outputs if it is out of date."""
        source = self._parameters['gravity_source']
        if source == TF and self._chain is not None and self._states.model is not None:
            root = self._states.model.robot.description.root
            self._chain.frame = self._parameters['frame_prefix'] + root
            try:
                R, age = self._chain.rotation(self._parameters['gravity_frame'])
                self._take(-R[2], time.monotonic() - age)
            except MissingStateError as error:
                self._reason = str(error)
        self._states.suspend(
            'gravity',
            source != PARAMETER and self._parameters['on_gravity_loss'] == STOP and self.is_stale,
        )

    def receive(self, message: Any) -> None:
        """Read the direction from an IMU message."""
        if self._parameters['gravity_source'] != IMU:
            return
        model, mapper = self._states.model, self._states.mapper
        if model is None:
            self._reason = 'no robot description yet'
            return
        down = self._of_imu(message)
        if down is None:
            return
        robot = model.robot
        try:
            link = link_of(robot, self._parameters['frame_prefix'], message.header.frame_id, 'imu')
            R = relative_pose(model, mapper, robot.description.root, link)[:3, :3]
        except ScrewDynamicsError as error:
            self._reason = str(error)
            return
        self._take(R @ down, time.monotonic())

    def _of_imu(self, message: Any) -> Array | None:
        """Return the direction of gravity in the frame of the IMU, or None with a reason."""
        magnitude = float(np.linalg.norm(self._parameters['gravity']))
        if message.orientation_covariance[0] == UNKNOWN:
            at_rest = down_at_rest(message, magnitude)
            if at_rest is None:
                self._reason = 'it has no orientation and is not at rest, or its scale is wrong'
            return at_rest
        o = message.orientation
        down = down_by_orientation(np.array([o.x, o.y, o.z, o.w]))
        if down is None:
            self._reason = 'the orientation is not a unit quaternion'
        elif not self._check.admits(down, down_to_compare(message, magnitude)):
            self._reason = self._check.fault
            return None
        return down

    def _take(self, down: Array, arrival: float) -> None:
        if np.isfinite(down).all():
            self._down, self._arrival, self._reason = down, arrival, ''

    # --- results --------------------------------------------------------------------------------

    @property
    def is_stale(self) -> bool:
        """Whether the direction is out of date or unknown."""
        timeout = self._parameters['gravity_timeout'] or math.inf
        return self._down is None or time.monotonic() - self._arrival > timeout

    @property
    def is_changing(self) -> bool:
        """Whether gravity follows a source."""
        return bool(self._parameters['gravity_source'] != PARAMETER)

    def prepare(self) -> None:
        """Rotate gravity towards its source; call it before each state."""
        if self._parameters['gravity_source'] == PARAMETER:
            return
        now = time.monotonic()
        if now - self._looked > TRANSFORM_PERIOD_S:
            self._looked = now
            self.look()
        if self._down is None:
            self._turning.restart(now)
            return
        target = float(np.linalg.norm(self._parameters['gravity'])) * self._down
        self._turning.turn(target, self._parameters['gravity_cutoff'], now)

    def keep_house(self) -> None:
        """Update gravity and the model of the robot, also without joint states."""
        if self._parameters['gravity_source'] != PARAMETER:
            self.look()
            model = self._states.model
            if model is not None:
                model.robot.gravity = self._turning.gravity

    @property
    def fault(self) -> str:
        """Why the direction of gravity is unknown."""
        what = f'no direction of gravity by gravity_source {self._parameters["gravity_source"]}'
        if self._down is not None:
            what += f' for {time.monotonic() - self._arrival:.1f} s'
        return what + (f': {printable(self._reason)}' if self._reason else '')

    def report(self, status: Status) -> None:
        """Report gravity, its source and its faults."""
        source = self._parameters['gravity_source']
        vector = ', '.join(f'{value:.4g}' for value in self._turning.gravity)
        status.values['gravity [m/s^2]'] = f'{vector} ({source})'
        if source == PARAMETER:
            return
        if not self.is_stale:
            if self._check.fault:
                status.report(Level.WARN, f'{self._check.fault}; the last vector stays active')
            return
        consequence = (
            'outputs have stopped (on_gravity_loss)'
            if self._states.suspended
            else f'{"the last vector" if self._down is not None else "the parameter gravity"} '
            'stays active'
        )
        status.report(Level.ERROR, f'{self.fault}; {consequence}')
