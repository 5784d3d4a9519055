# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The measured motion of bodies with several freedoms, in the state of the robot.

They are the root link on a floating base, and the child links of planar, ball and floating joints.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from rclpy.node import Node

from screw_dynamics_ros.core.compile.typed.functions import Floats, typed
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.kinematics.joint_poses import (
    FreeCoordinates,
    PlanarCoordinates,
    write_planar,
)
from screw_dynamics_ros.core.kinematics.pose_history import PoseHistory, find_motion, rest
from screw_dynamics_ros.core.lie import quaternions, se3
from screw_dynamics_ros.core.lie.screws import swap
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.data_path.loop import compiled_step, note_loss
from screw_dynamics_ros.ros.data_path.records import TAKEN, InputRecord, LoopRecord
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.topics.frame_chain import fault_of, listed

from ..model.running_model import RunningModel
from ..parameters import base_parameters
from .measured_input import MeasuredInput
from .state_pipeline import StatePipeline

JUMP = NANOSECONDS  # stamps that run back by more restart the history [ns]


class MeasuredBody(Record):
    """Measurements of one body.

    Parameters
    ----------
    q, v : arrays
        Its coordinates and velocities in those of the robot.
    coordinates : FreeCoordinates or PlanarCoordinates

    Attributes
    ----------
    history : PoseHistory
        In the axes of the plane of a planar joint.
    """

    history: PoseHistory
    is_planar: bool
    q: Floats
    v: Floats

    def __init__(self, q: Array, v: Array, coordinates: FreeCoordinates | PlanarCoordinates):
        self.q, self.v, self.coordinates = q, v, coordinates
        self.is_planar = isinstance(coordinates, PlanarCoordinates)
        self.history = PoseHistory()

    def take(self, stamp: int, pose: Array, twist: Array | None) -> bool:
        """Add a measurement, see `PoseHistory.add`; stamps that run back far restart."""
        newest = self.history.newest
        if newest is not None and newest - stamp > JUMP:
            self.history.clear()
        return self.history.add(stamp, *self.coordinates.aligned(pose, twist))


class MotionRecord(InputRecord):
    """Measured bodies in the state of a robot."""

    bodies: tuple[MeasuredBody, ...]


@typed
def write_motion(body: MeasuredBody, stamp: int, timeout: float) -> bool:
    """Write the motion of a body at a time [ns] into the state of the robot.

    Returns whether a measurement is near, at most `timeout` [s]. Otherwise the body rests in its
    last pose, and where it is without any measurement.
    """
    history = body.history
    find_motion(history, stamp)
    is_near = history.age <= timeout
    if history.written == 0:
        for k in range(len(body.v)):
            body.v[k] = 0.0
        return False
    if not is_near:
        rest(history)
    if body.is_planar:
        write_planar(history.pose, history.twist, body.q, body.v)
    else:
        for k in range(len(body.q)):  # a ball has the quaternion, and the angular velocity
            body.q[k] = history.pose[7 - len(body.q) + k]
        for k in range(len(body.v)):
            body.v[k] = history.twist[k]
    return is_near


@compiled_step
def write_motions(record: MotionRecord, loop: LoopRecord) -> int:
    """Write the motions of all bodies at the stamp of the current joint state."""
    are_near = True
    for k in range(len(record.bodies)):
        is_near = write_motion(record.bodies[k], loop.mapper.stamp, record.timeout)
        are_near = are_near and is_near
    note_loss(record, not are_near, loop)
    return TAKEN


class MotionSource(MeasuredInput):
    """Writes the motion of bodies into the state of the model.

    Parameters as for `MeasuredInput`, without record and step.
    """

    QUANTITY, PARAMETERS = 'base', base_parameters.NAMES
    record: MotionRecord

    def __init__(self, node: Node, parameters: Parameters, states: StatePipeline) -> None:
        self._bodies: dict[str, MeasuredBody] = {}
        self._model: RunningModel | None = None  # the one of `_bodies`
        record = MotionRecord()
        record.bodies = ()
        super().__init__(node, parameters, states, record, write_motions)

    @abstractmethod
    def _bodies_of(self, model: RunningModel) -> dict[str, MeasuredBody]:
        """Return the bodies of a model by name."""

    def _forget(self) -> None:
        for body in self._bodies.values():
            body.history.clear()

    def restart_time(self) -> None:
        """Forget all measurements."""
        self.update_parameters()

    def keep_house(self) -> None:
        """Adopt the bodies of another robot; those of the last one keep their measurements."""
        model = self._states.model
        if model is not None and model is not self._model:
            self._model, before = model, self._bodies
            self._bodies = self._bodies_of(model)
            for name in before.keys() & self._bodies.keys():
                self._bodies[name].history = before[name].history
            self.record.bodies = tuple(self._bodies.values())
        super().keep_house()


def measurement(
    position: Any, orientation: Any, twist: Any | None = None
) -> tuple[Array, Array | None]:
    """Return pose (4, 4) and twist (6,), angular part first, from parts of messages.

    Parameters
    ----------
    position : message with x, y, z
    orientation : geometry_msgs/Quaternion
    twist : geometry_msgs/Twist, optional

    Raises
    ------
    ArgumentError
        If a number is not finite, or the orientation is not a unit quaternion.
    """
    p, o = vector(position), np.array([getattr(orientation, axis) for axis in 'xyzw'])
    V = None if twist is None else swap(vector(twist.linear, twist.angular))
    fault = fault_of(o, p)
    if fault:
        raise ArgumentError(fault)
    if V is not None and not np.isfinite(V).all():
        raise ArgumentError(f'a number is not finite: twist ({listed(V)})')
    return se3.pose(quaternions.to_matrix(o), p), V


def stamped(stamp: int) -> int:
    """Return a stamp [ns]; raises `ArgumentError` if it is not positive."""
    if stamp <= 0:
        raise ArgumentError('a message has no stamp')
    return stamp


def vector(*parts: Any) -> Array:
    """Return the components x, y, z of messages."""
    return np.array([getattr(part, axis) for part in parts for axis in 'xyz'])
