# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Services of `kinematics`: forward and inverse kinematics, Jacobian, contacts, calibration.

Requests and responses are similar to moveit_msgs/GetPositionFK and GetPositionIK: joints and links
by name, poses in any frame of the robot, and a reason for each failure.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core import FusedKernel, Robot
from screw_dynamics_ros.core.kinematics.jacobians import check_representation
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import pose, swap_linear_angular, time_message
from screw_dynamics_ros.ros.names import twist_frame

from ..model.actuated import actuated
from .calibration_service import calibrate
from .inverse_kinematics import inverse_kinematics
from .requests import ServiceHost, ServiceModel, finite
from .twist_filter import filter_twist

DEFAULT_REPRESENTATION = 'hybrid'


def register(host: ServiceHost, node: Node) -> None:
    """Offer the services of `node`."""
    host.serve(node, 'ForwardKinematics', '~/forward_kinematics', forward_kinematics)
    host.serve(node, 'InverseKinematics', '~/inverse_kinematics', inverse_kinematics)
    host.serve(node, 'FilterTwist', '~/filter_twist', filter_twist)
    host.serve(node, 'Jacobian', '~/jacobian', jacobian)
    host.serve(node, 'Calibrate', '~/calibrate', calibrate)


def forward_kinematics(queried: ServiceModel, request: Any, response: Any) -> None:
    """Answer a ForwardKinematics request."""
    robot = queried.robot
    links = [queried.find_link(name, 'frames') for name in request.frames]
    root = robot.description.root
    reference = (
        queried.find_link(request.reference_frame, 'reference_frame')
        if request.reference_frame
        else root
    )
    measured = queried.measured
    moving = bool(request.joint_state.velocity) or (
        not request.joint_state.name and measured is not None and measured.has_velocity
    )
    fields = ('position', 'velocity') if moving else ('position',)
    state = queried.requested_state(request.joint_state, fields)
    stamp = time_message(state.stamp)
    q, v = queried.whole_state(state, moving)
    response.header.frame_id = queried.frame_id(reference)
    poses = dict(zip(robot.link_names, finite('a pose', robot.link_poses(q))))
    to_reference = se3.inverse(poses[reference])
    response.transforms = [
        templates.transform(
            stamp,
            queried.frame_id(reference),
            queried.frame_id(link),
            pose(to_reference @ poses[link]).tolist(),
        )
        for link in links or robot.link_names
    ]
    response.joint_state = joint_state_message(queried, stamp, q, v if moving else None)
    representation = request.representation or DEFAULT_REPRESENTATION
    check_representation(representation)
    if moving:
        chosen = tuple(dict.fromkeys(links)) or robot.link_names
        twists = dict(zip(chosen, velocities(robot, chosen, representation)(q, v)))
        response.twists = [
            templates.stamped_twist(
                stamp,
                twist_frame(representation, queried.frame_id(root), queried.frame_id(link)),
                finite('a twist', swap_linear_angular(twists[link])).tolist(),
            )
            for link in links or robot.link_names
        ]


def joint_state_message(queried: ServiceModel, stamp: Any, q: Array, v: Array | None) -> JointState:
    """Return the state (nq,), (nv,) of all joints with one coordinate as a message."""
    message = JointState(name=list(queried.joints))
    message.header.stamp = stamp
    message.position = finite('a position', queried.positions_of_joints(q)).tolist()
    if v is not None:
        message.velocity = finite('a velocity', queried.of_joints(v)).tolist()
    return message


def jacobian(queried: ServiceModel, request: Any, response: Any) -> None:
    """Answer a Jacobian request."""
    robot = queried.robot
    link = queried.find_link(request.frame, 'frame')
    state = queried.requested_state(request.joint_state)
    representation = request.representation or DEFAULT_REPRESENTATION
    response.header.frame_id = twist_frame(
        representation, queried.frame_id(robot.description.root), queried.frame_id(link)
    )
    J = queried.model.jacobian(state.q, link, representation, **state.options)
    response.joint_names = actuated(robot).velocity_labels
    response.jacobian = finite('jacobian', swap_linear_angular(J)).reshape(-1).tolist()


@lru_cache(maxsize=8)
def velocities(robot: Robot, links: tuple[str, ...], representation: str) -> FusedKernel:
    """Return the twists (omega, v) of links, (6,) each, as a function of (q, v)."""
    return robot.fuse(*(('velocity', link, representation) for link in links))
