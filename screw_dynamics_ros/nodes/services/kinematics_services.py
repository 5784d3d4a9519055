"""Services of the node `kinematics`: forward and inverse kinematics, Jacobian, calibration.

Shaped like moveit_msgs/GetPositionFK and GetPositionIK: the state by joint names, links by name,
poses in any of the robot's frames, and a reason where there is no answer.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from rclpy.node import Node

from screw_dynamics_ros.core import ArgumentError, FusedKernel, Robot
from screw_dynamics_ros.core.inverse.position import InverseKinematicsResult
from screw_dynamics_ros.core.kinematics.jacobians import check_representation
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import velocity_labels
from screw_dynamics_ros.nodes.services.calibration_service import calibrate
from screw_dynamics_ros.nodes.services.requests import (
    QueriedRobot,
    ServiceHost,
    finite,
    requested_state,
)
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import (
    matrix,
    pose,
    swap_linear_angular,
    time_message,
)
from screw_dynamics_ros.ros.names import shorten, twist_frame

DEFAULT_REPRESENTATION = 'hybrid'
DEFAULT_TOLERANCE = 1e-9  # of inverse kinematics: angle [rad] and distance [m] in one norm
DEFAULT_TIMEOUT, LONGEST_TIMEOUT = 1.0, 60.0  # s
RESTARTS = 20  # random starts between looks at the clock


def register(host: ServiceHost, node: Node) -> None:
    """Offer the services of `node`."""
    host.serve(node, 'ForwardKinematics', '~/forward_kinematics', forward_kinematics)
    host.serve(node, 'InverseKinematics', '~/inverse_kinematics', inverse_kinematics)
    host.serve(node, 'Jacobian', '~/jacobian', jacobian)
    host.serve(node, 'Calibrate', '~/calibrate', calibrate)


def forward_kinematics(queried: QueriedRobot, request: Any, response: Any) -> None:
    """Answer a ForwardKinematics request."""
    robot, prefix = queried.robot, queried.prefix
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
    state = requested_state(queried, request.joint_state, fields)
    stamp = time_message(state.stamp)
    poses = dict(zip(robot.link_names, finite('a pose', robot.link_poses(state.q))))
    to_reference = se3.inverse(poses[reference])
    response.transforms = [
        templates.transform(
            stamp, prefix + reference, prefix + link, pose(to_reference @ poses[link]).tolist()
        )
        for link in links or robot.link_names
    ]
    representation = request.representation or DEFAULT_REPRESENTATION
    check_representation(representation)
    if moving:
        chosen = tuple(dict.fromkeys(links)) or robot.link_names
        twists = dict(zip(chosen, velocities(robot, chosen, representation)(state.q, state.v)))
        response.twists = [
            templates.stamped_twist(
                stamp,
                twist_frame(representation, prefix + root, prefix + link),
                finite('a twist', swap_linear_angular(twists[link])).tolist(),
            )
            for link in links or robot.link_names
        ]


def inverse_kinematics(queried: QueriedRobot, request: Any, response: Any) -> None:
    """Answer an InverseKinematics request."""
    robot = queried.robot
    links = [queried.find_link(name, 'frames') for name in request.frames]
    if not links or len(request.targets) != len(links):
        raise ArgumentError(
            f'there are {len(request.targets)} targets for {len(links)} frames; '
            'give one target for each, and at least one'
        )
    if len(set(links)) < len(links):
        raise ArgumentError('frames name a link twice; give one target for each link')
    if queried.held:
        raise ArgumentError(
            'joint positions alone do not determine the pose of the robot: it has planar or '
            f'floating joints ({shorten(queried.held)})'
        )
    timeout = request.timeout.sec + 1e-9 * request.timeout.nanosec or DEFAULT_TIMEOUT
    if not 0.0 <= request.tolerance < np.inf:
        raise ArgumentError(f'tolerance must be finite and >= 0, got {request.tolerance}')
    if not 0.0 < timeout <= LONGEST_TIMEOUT:
        raise ArgumentError(
            f'timeout must be within 0 and {LONGEST_TIMEOUT:g} s: the other '
            f'services wait meanwhile; got {timeout:g}'
        )
    state = requested_state(queried, request.joint_state)
    targets = []
    for link, target in zip(links, request.targets):
        frame = target.header.frame_id
        C = matrix(target.pose, f'target of {link}')
        if frame:
            reference = queried.find_link(frame, f'target of {link}: frame_id')
            C = finite('a target', robot.link_pose(state.q, reference) @ C)
        targets.append(C)
    tolerance = request.tolerance or DEFAULT_TOLERANCE
    best = solve(robot, np.array(targets), links, state.q, tolerance, timeout)
    response.success, response.residual = best.success, best.residual
    response.iterations, response.message = best.iterations, best.message
    if best.success:
        response.solution.name = list(queried.joints)
        response.solution.position = queried.positions_of_joints(best.q).tolist()


def jacobian(queried: QueriedRobot, request: Any, response: Any) -> None:
    """Answer a Jacobian request."""
    robot = queried.robot
    link = queried.find_link(request.frame, 'frame')
    q = requested_state(queried, request.joint_state).q
    J = robot.jacobian(q, link, request.representation or DEFAULT_REPRESENTATION)
    response.joint_names = velocity_labels(robot)
    response.jacobian = finite('jacobian', swap_linear_angular(J)).reshape(-1).tolist()


@lru_cache(maxsize=8)
def velocities(robot: Robot, links: tuple[str, ...], representation: str) -> FusedKernel:
    """Return the twists (omega, v) of links, (6,) each, as a function of (q, v)."""
    return robot.fuse(*(('velocity', link, representation) for link in links))


def solve(
    robot: Robot,
    targets: Array,
    links: Sequence[str],
    q: Array,
    tolerance: float,
    timeout: float,
) -> InverseKinematicsResult:
    """Return a configuration for the targets (k, 4, 4), or the best one found within `timeout` [s].

    Compiling the solver, at the first request for these links, is not counted.
    """
    best = robot.inverse_kinematics(targets, links, q, tolerance=tolerance, restarts=0)
    iterations, seed, end = best.iterations, 0, time.monotonic() + timeout
    while not best.success and time.monotonic() < end:
        result = robot.inverse_kinematics(
            targets, links, q, tolerance=tolerance, restarts=RESTARTS, seed=seed
        )
        iterations, seed = iterations + result.iterations, seed + 1
        if result.residual < best.residual:
            best = result
    message = (
        best.message
        if best.success
        else (
            f'no solution within the joint limits and {timeout:g} s: the smallest pose error is '
            f'{best.residual:.3g} (tolerance {tolerance:.3g}); the target is out of reach, or more '
            'time is needed'
        )
    )
    return replace(best, iterations=iterations, message=message)
