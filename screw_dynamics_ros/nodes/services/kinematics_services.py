# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Services of `kinematics`: forward and inverse kinematics, Jacobian, contacts, calibration.

Requests and responses are similar to moveit_msgs/GetPositionFK and GetPositionIK: joints and links
by name, poses in any frame of the robot, and a reason for each failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from sensor_msgs import msg

from screw_dynamics_ros.core import ArgumentError, FusedKernel, Robot
from screw_dynamics_ros.core.calibration.chain_errors import ChainErrors
from screw_dynamics_ros.core.calibration.measurements import (
    MeasuredPoints,
    MeasuredPoses,
    Measurements,
)
from screw_dynamics_ros.core.calibration.robot_calibration import (
    DEFAULT_ESTIMATE,
    RobotCalibration,
    calibrate_robot,
)
from screw_dynamics_ros.core.calibration.validation import objection, validated
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.description.urdf_writer import with_origins, write_urdf
from screw_dynamics_ros.core.errors import ErrorCode
from screw_dynamics_ros.core.kinematics.jacobians import check_representation
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.description import urdf_text
from screw_dynamics_ros.ros.joint_states.requested_state import JointState, read_requested_state
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import (
    matrix,
    pose,
    swap_linear_angular,
    time_message,
)
from screw_dynamics_ros.ros.names import twist_frame

from ..model.actuated import actuated
from .requests import ServiceModel, finite

REMEDY = (
    'no description is returned. Measure more poses, or estimate fewer parameters (estimate, '
    'fixed); the command calibrate can also set a prior, or write the description nevertheless'
)
MAX_MEASUREMENTS = 10_000  # measurements per request: other services wait


def calibrate(queried: ServiceModel, request: Any, response: Any) -> None:
    """Answer a Calibrate request."""
    given = request.robot_description
    if not given:
        queried.check_tree('calibration', 'send the robot_description, and positions of all joints')
        description = queried.robot.description
    else:
        description = read_robot_description(urdf_text(given, 'robot_description'))
    link = request.frame if given else queried.find_link(request.frame, 'frame')
    estimate = tuple(request.estimate) or DEFAULT_ESTIMATE
    measured = measurements(request)
    target = matrix(request.target, 'target')
    model = ChainErrors(description, link, estimate)
    q = configurations(model, request.joint_states, len(measured))

    def fit(held_out: Sequence[int], robust: bool = False) -> RobotCalibration:
        return calibrate_robot(
            description,
            link,
            q,
            measured,
            estimate=estimate,
            target=None if (target == np.eye(4)).all() else target,
            fixed=list(request.fixed),
            held_out=held_out,
            robust=robust,
        )

    result = fit((), request.robust)
    fault = objection(result, validated(fit, q, result)) if result.success else ''
    response.header.frame_id = queried.frame_id(description.root)
    response.success, response.message = result.success and not fault, result.message
    if not result.success:
        response.error_code = int(ErrorCode.NO_SOLUTION)
    elif fault:
        response.error_code, response.message = int(ErrorCode.NOT_ENOUGH_DATA), f'{fault}; {REMEDY}'
    else:
        response.robot_description = (
            with_origins(given, result.origins) if given else write_urdf(result.description)
        )
    fill_in(response, result)


def measurements(request: Any) -> Measurements:
    """Return the measurements of a request; raises `ArgumentError`."""
    count = len(request.joint_states)
    if bool(request.poses) == bool(request.points) or count > MAX_MEASUREMENTS:
        raise ArgumentError(
            f'the request has {len(request.poses)} poses and {len(request.points)} points for '
            f'{count} joint states; give either poses or points, one for each joint state, at '
            f'most {MAX_MEASUREMENTS}'
        )
    if request.poses:
        C = np.stack([matrix(each, f'poses[{k}]') for k, each in enumerate(request.poses)])
        return MeasuredPoses(C, request.rotation_deviation, request.position_deviation)
    points = [[point.x, point.y, point.z] for point in request.points]
    return MeasuredPoints(points, request.position_deviation)


def configurations(model: ChainErrors, messages: Any, count: int) -> Array:
    """Return q (N, nq); joints that do not move the link may be omitted and are then zero."""
    if len(messages) != count:
        raise ArgumentError(f'{len(messages)} joint_states for {count} measurements')
    joints = model.coordinates
    known = {joint.name for joint in model.description.joints} - set(joints)
    nothing = np.zeros(len(joints))
    elsewhere = JointState(nothing, nothing, nothing, nothing)
    rows = []
    for k, message in enumerate(messages):
        missing = [name for name in model.moving if name not in message.name]
        if missing:
            raise ArgumentError(
                f'joint_states[{k}] does not name {", ".join(missing)}; name all joints that '
                'move the link'
            )
        rows.append(read_requested_state(message, joints, known=known, measured=elsewhere).q)
    return np.array(rows)


def fill_in(response: Any, result: RobotCalibration) -> None:
    """Write the results into the response."""
    response.parameters = list(result.parameters)
    response.corrections = result.values.tolist()
    response.deviations = result.deviations.tolist()
    response.held = [next(iter(combination)) for combination in result.held]
    for message, C in ((response.base, result.base), (response.target, result.target)):
        fields = pose(C).tolist()
        message.position.x, message.position.y, message.position.z = fields[:3]
        turn = message.orientation
        turn.x, turn.y, turn.z, turn.w = fields[3:]
    for when, e in (('before', result.residuals_before), ('after', result.residuals_after)):
        if e.shape[1] == 6:
            setattr(response, f'angles_{when}', np.linalg.norm(e[:, :3], axis=1).tolist())
        setattr(response, f'distances_{when}', np.linalg.norm(e[:, -3:], axis=1).tolist())
    response.outliers = list(result.outliers)
    response.misfit = result.misfit


DEFAULT_REPRESENTATION = 'hybrid'


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


def joint_state_message(
    queried: ServiceModel, stamp: Any, q: Array, v: Array | None
) -> msg.JointState:
    """Return the state (nq,), (nv,) of all joints with one coordinate as a message."""
    message = msg.JointState(name=list(queried.joints))
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
