# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gravity in the root frame from a parameter, /tf or an IMU, filtered at each joint state."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from rclpy.node import Node

from screw_dynamics_ros.core.compile.typed.functions import Floats
from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.core.estimation.gravity_direction import (
    OrientationCheck,
    down_by_orientation,
    turn_gravity,
)
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.data_path.loop import compiled_step, note_loss
from screw_dynamics_ros.ros.data_path.records import TAKEN, InputRecord, LoopRecord
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.status import Status
from screw_dynamics_ros.ros.topics.frame_chain import FrameChain

from ..parameters import gravity_parameters
from ..parameters.gravity_parameters import IMU
from ..services.payload_services import link_of, relative_pose
from .imu_messages import UNKNOWN, down_at_rest, down_to_compare
from .measured_input import MeasuredInput
from .state_pipeline import StatePipeline


class GravityRecord(InputRecord):
    """Gravity by its source.

    Attributes
    ----------
    gravity, target : (3,) arrays
        Filtered and measured vector [m/s^2].
    cutoff : float
        [Hz].
    arrival, last : float
        Times of the last measurement, -inf without one, and of the last step [s], monotonic clock.
    """

    gravity: Floats
    target: Floats
    cutoff: float
    arrival: float
    last: float


@compiled_step
def follow_gravity(record: GravityRecord, loop: LoopRecord) -> int:
    """Rotate gravity towards its source."""
    is_known = record.arrival > -math.inf
    if is_known:
        turn_gravity(record.gravity, record.target, record.cutoff, loop.start - record.last)
    record.last = loop.start
    is_stale = loop.start - record.arrival > record.timeout > 0.0
    note_loss(record, is_stale or not is_known, loop)
    return TAKEN


class GravitySource(MeasuredInput):
    """Writes the vector of gravity that the kernel reads.

    Parameters
    ----------
    node, parameters, states
        As for `MeasuredInput`.
    gravity : (3,) array
        Written in place.
    """

    SOURCE, QUANTITY, _nothing = 'gravity_source', 'gravity', 'no message so far'
    PARAMETERS = frozenset({'gravity', *(each.name for each in gravity_parameters.TABLE)})
    record: GravityRecord

    def __init__(
        self, node: Node, parameters: Parameters, states: StatePipeline, gravity: Array
    ) -> None:
        record = GravityRecord()
        record.gravity, record.target = gravity, gravity.copy()
        super().__init__(node, parameters, states, record, follow_gravity)

    def _forget(self) -> None:
        self._check, self._without = OrientationCheck(), 'the parameter gravity stays active'
        record = self.record
        record.cutoff, record.arrival = self._parameters['gravity_cutoff'], -math.inf
        record.last = time.monotonic()

    # --- sources --------------------------------------------------------------------------------

    def _subscribe(self) -> None:
        from sensor_msgs.msg import Imu

        self._listen(Imu, 'imu', self.receive)

    def _take_transform(self, chain: FrameChain, world: str) -> None:
        R, arrival = chain.rotation(world)
        self._take(-R[2], arrival)

    def receive(self, message: Any) -> None:
        """Read the direction from an IMU message."""
        if self.source != IMU:
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
        magnitude = self._magnitude
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

    @property
    def _magnitude(self) -> float:
        return float(np.linalg.norm(self._parameters['gravity']))

    def _take(self, down: Array, arrival: float) -> None:
        if np.isfinite(down).all():
            self.record.target[:] = self._magnitude * down
            self.record.arrival, self._reason = arrival, ''
            self._without = 'the last vector stays active'

    def keep_house(self) -> None:
        """Read the transforms, and update the model of the robot, also without joint states."""
        super().keep_house()
        if self.record.is_used and self._states.model is not None:
            self._states.model.robot.gravity = self.record.gravity

    # --- results --------------------------------------------------------------------------------

    def _what(self) -> str:
        age = time.monotonic() - self.record.arrival
        duration = f' for {age:.1f} s' if age < math.inf else ''
        return f'no direction of gravity by gravity_source {self.source}{duration}'

    def report(self, status: Status) -> None:
        """Report gravity, its source and its faults."""
        vector = ', '.join(f'{value:.4g}' for value in self.record.gravity)
        status.values['gravity [m/s^2]'] = f'{vector} ({self.source})'
        if self._check.fault and not self.record.is_lost:
            status.warn(f'{self._check.fault}; the last vector stays active')
        super().report(status)
