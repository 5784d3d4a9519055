# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The measured motion of bodies with several freedoms, in the state of the robot.

They are the root link on a floating base, and the child links of planar and floating joints.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from rclpy.node import Node

from screw_dynamics_ros.core.compile.typed.functions import Floats, typed
from screw_dynamics_ros.core.compile.typed.memory import copy_bytes
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
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import TAKEN, InputRecord, LoopRecord, note_loss
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.topics.frame_chain import fault_of, listed

from ..model.running_model import RunningModel
from .measured_input import MeasuredInput
from .state_pipeline import StatePipeline

JUMP = NANOSECONDS  # stamps that run back by more restart the history [ns]


class MeasuredBody(Record):
    """Measurements of one body.

    Parameters
    ----------
    q, v : slices
        Places of its coordinates and velocities in those of the robot.
    coordinates : FreeCoordinates or PlanarCoordinates

    Attributes
    ----------
    history : PoseHistory
        In the axes of the plane of a planar joint.
    q_place, v_place : int
        The first place of each.
    is_planar : bool
    is_lost : bool
        Whether the last state had no measurement.
    """

    history: PoseHistory
    q_place: int
    v_place: int
    is_planar: bool
    is_lost: bool

    def __init__(
        self, q: slice, v: slice, coordinates: FreeCoordinates | PlanarCoordinates
    ) -> None:
        self.q_place, self.v_place, self.coordinates = q.start, v.start, coordinates
        self.is_planar = isinstance(coordinates, PlanarCoordinates)
        self.history, self.is_lost = PoseHistory(), True

    def take(self, stamp: int, pose: Array, twist: Array | None) -> bool:
        """Add a measurement, see `PoseHistory.add`; stamps that run back far restart."""
        newest = self.history.newest
        if newest is not None and newest - stamp > JUMP:
            self.history.clear()
        return self.history.add(stamp, *self.coordinates.aligned(pose, twist))


class MotionRecord(InputRecord):
    """Measured bodies in the state of a robot.

    Attributes
    ----------
    bodies : tuple of MeasuredBody
    q, v : (nq,), (nv,) arrays
        The state.
    """

    bodies: tuple[MeasuredBody, ...]
    q: Floats
    v: Floats


@typed
def write_motion(body: MeasuredBody, q: Floats, v: Floats, stamp: int, timeout: float) -> None:
    """Write the motion of a body at a time [ns] into a state of the robot, q (nq,) and v (nv,).

    It is lost if no measurement is near, at most `timeout` [s]. Then it rests in its last pose, and
    where it is without any measurement.
    """
    history = body.history
    find_motion(history, stamp)
    body.is_lost = not history.age <= timeout
    if history.written == 0:
        for k in range(3 if body.is_planar else 6):
            v[body.v_place + k] = 0.0
        return
    if body.is_lost:
        rest(history)
    if body.is_planar:
        write_planar(history.pose, history.twist, q[body.q_place :], v[body.v_place :])
    else:
        copy_bytes(q[body.q_place :], history.pose, 56)
        copy_bytes(v[body.v_place :], history.twist, 48)


@compiled_step
def write_motions(record: MotionRecord, loop: LoopRecord) -> int:
    """Write the motions of all bodies at the stamp of the current joint state."""
    is_lost = False
    for k in range(len(record.bodies)):
        body = record.bodies[k]
        write_motion(body, record.q, record.v, loop.mapper.stamp, record.timeout)
        is_lost = is_lost or body.is_lost
    note_loss(record, is_lost, loop.mapper)
    return TAKEN


class MotionSource(MeasuredInput):
    """Writes the motion of bodies into the state of the model.

    Parameters as for `MeasuredInput`, without the record.
    """

    QUANTITY = 'base'
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

    def keep_house(self) -> None:
        """Adopt the bodies of another robot; those of the last one keep their measurements."""
        model = self._states.model
        if model is not None and model is not self._model:
            self._model, before = model, self._bodies
            self._bodies = self._bodies_of(model)
            for name in before.keys() & self._bodies.keys():
                self._bodies[name].history = before[name].history
            record = self.record
            record.q, record.v, record.bodies = model.q, model.v, tuple(self._bodies.values())
        super().keep_house()

    @property
    def _lost(self) -> list[str]:
        return [name for name, body in self._bodies.items() if body.is_lost]


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
