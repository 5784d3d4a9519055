# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Requests that are answered, for services that refuse whatever is made at random.

`Garbage` changes some of their fields: most then pass the first checks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

TOOL = """<robot name="tool"><link name="tool"><inertial><origin xyz="0 0 0.05"/><mass value="0.4"/>
<inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="5e-4"/></inertial></link></robot>"""
CALIBRATION_POSES = 10


class Prototypes:
    """Makes requests for a robot.

    Parameters
    ----------
    robot : Robot
        With joints that have one coordinate each.
    random : numpy.random.Generator
    """

    def __init__(self, robot: Any, random: np.random.Generator) -> None:
        self._robot, self._random, self._tip = robot, random, robot.link_names[-1]
        self._makers: dict[str, Callable[[Any], None]] = {
            'InverseKinematics_Request': self._inverse_kinematics,
            'Calibrate_Request': self._calibrate,
            'CompareModel_Request': self._compare_model,
            'SetPayload_Request': self._set_payload,
            'SetLinkInertia_Request': self._set_link_inertia,
            'AttachTool_Request': self._attach_tool,
        }

    def make(self, kind: type) -> Any:
        """Return a request of a type; None for one of those that can be made at random."""
        maker = self._makers.get(kind.__name__)
        if maker is None:
            return None
        made = kind()
        maker(made)
        return made

    def _q(self) -> np.ndarray:
        """Return positions within the middle of the limits."""
        limits = self._robot.limits
        middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * (limits.upper - limits.lower)
        q: np.ndarray = middle + 0.5 * half * self._random.uniform(-1.0, 1.0, len(half))
        return q

    def _state(self, q: np.ndarray) -> Any:
        from sensor_msgs.msg import JointState

        return JointState(name=list(self._robot.joint_names), position=q.tolist())

    def _pose(self, q: np.ndarray) -> Any:
        from geometry_msgs.msg import Point, Pose, Quaternion

        from screw_dynamics_ros.core.lie import quaternions

        C = self._robot.link_pose(q, self._tip)
        x, y, z, w = quaternions.from_matrix(C[:3, :3]).tolist()
        position = Point(**dict(zip('xyz', C[:3, 3].tolist())))
        return Pose(position=position, orientation=Quaternion(x=x, y=y, z=z, w=w))

    def _inertia(self, inertia: Any) -> None:
        inertia.m, inertia.com.z = 0.5, 0.05
        inertia.ixx, inertia.iyy, inertia.izz = 2e-3, 2e-3, 1e-3

    def _inverse_kinematics(self, request: Any) -> None:
        from geometry_msgs.msg import PoseStamped
        from sensor_msgs.msg import JointState

        q, arm = self._q(), len(self._robot.joint_names)
        request.joint_state, request.frames = self._state(q + 0.05), [self._tip]
        request.targets = [PoseStamped(pose=self._pose(q))]
        request.method = int(self._random.choice([0, 0, request.ALL, request.NEAREST]))
        if request.method and arm > 6:
            held = slice(6, arm)
            names = list(self._robot.joint_names[held])
            request.locked = JointState(name=names, position=q[held].tolist())

    def _calibrate(self, request: Any) -> None:
        configurations = [self._q() for _ in range(CALIBRATION_POSES)]
        request.frame = self._tip
        request.joint_states = [self._state(q) for q in configurations]
        request.poses = [self._pose(q + 0.02) for q in configurations]  # zero positions are wrong
        request.rotation_deviation = request.position_deviation = 1e-3
        request.target.orientation.w = 1.0
        request.estimate = ['offsets']

    def _compare_model(self, request: Any) -> None:
        request.programs, request.states = ['pinocchio'], 2

    def _set_payload(self, request: Any) -> None:
        request.name, request.inertia.header.frame_id = 'a', self._tip
        self._inertia(request.inertia.inertia)
        request.transition_time.nanosec = int(self._random.choice([0, 100_000_000]))

    def _set_link_inertia(self, request: Any) -> None:
        request.link = str(self._random.choice(self._robot.link_names[1:]))
        request.reset = bool(self._random.random() < 0.3)
        self._inertia(request.inertia)

    def _attach_tool(self, request: Any) -> None:
        request.link, request.description = self._tip, TOOL
        request.pose.orientation.w = 1.0
