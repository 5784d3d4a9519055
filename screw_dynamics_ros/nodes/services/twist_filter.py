# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The service `filter_twist`: the feasible part of a commanded twist."""

from __future__ import annotations

from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.arms.inverse.singularity_policies import (
    Deviate,
    PolicyStatus,
    ScaleSpeed,
    SingularityPolicy,
    Stop,
)
from screw_dynamics_ros.core.arms.inverse.weighted_inverse import AdaptiveDamping, length_metric
from screw_dynamics_ros.core.constraints import kinetostatic_filter
from screw_dynamics_ros.core.constraints.contact_models import Constraint
from screw_dynamics_ros.core.errors import NotFiniteError, UnsupportedRobotError
from screw_dynamics_ros.core.lie import screws, se3
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.names import shorten

from ..model.actuated import actuated
from .requests import ServiceModel, finite

MIN_METRIC_LENGTH, MAX_METRIC_LENGTH = 1e-3, 1e3  # m, for the metric of twists


def filter_twist(queried: ServiceModel, request: Any, response: Any) -> None:
    """Answer a FilterTwist request: first the contact (C-046), then the joints (C-024)."""
    if not MIN_METRIC_LENGTH <= request.length <= MAX_METRIC_LENGTH:
        raise ArgumentError(
            f'length must be between {MIN_METRIC_LENGTH:g} and {MAX_METRIC_LENGTH:g} m, the '
            f'velocity [m/s] with the same weight as 1 rad/s; got {request.length}'
        )
    policy = policy_of(request)
    if policy is None and not request.wrenches:
        raise ArgumentError(
            'wrenches is empty; give at least one wrench of the contact, or a policy'
        )
    V = components(request.twist.twist.angular, request.twist.twist.linear)
    removed = np.zeros(6)
    if request.wrenches:
        constraint = Constraint.bearing(contact_wrenches(queried, request), request.unilateral)
        found = kinetostatic_filter.filter_twist(V, constraint, length_metric(request.length))
        V, removed, response.pushing = found.twist, found.removed, found.pushing.tolist()
    if policy is not None:
        status = guarded(queried, request, policy, V)
        V = status.executed
        fill_in(queried, response, status)
    response.twist, of_contact = (
        templates.stamped_twist(
            request.twist.header.stamp,
            request.twist.header.frame_id,
            finite('a twist', swap_linear_angular(twist)).tolist(),
        )
        for twist in (V, removed)
    )
    response.removed = of_contact.twist
    root = queried.robot.description.root
    response.header.frame_id = queried.frame_id(frame_of(queried, request.twist, 'twist', root))


# --- policies near singularities ------------------------------------------------------------------


def policy_of(request: Any) -> SingularityPolicy | None:
    """Return the policy of a request, or None; raises `ArgumentError`."""
    if request.policy == request.NO_POLICY:
        return None
    if request.policy == request.SCALE:
        return ScaleSpeed()
    if request.policy == request.STOP:
        return Stop(request.stop, request.slow)
    if request.policy == request.DEVIATE:
        if request.wrenches:
            raise ArgumentError(
                'the policy DEVIATE leaves the path and would work against the wrenches of the '
                'contact; use SCALE or STOP'
            )
        return Deviate(AdaptiveDamping(request.damping, request.slow))
    raise ArgumentError(
        f'policy {request.policy} does not exist; use NO_POLICY ({request.NO_POLICY}), SCALE '
        f'({request.SCALE}), STOP ({request.STOP}) or DEVIATE ({request.DEVIATE})'
    )


def guarded(
    queried: ServiceModel, request: Any, policy: SingularityPolicy, V: Array
) -> PolicyStatus:
    """Apply a policy to the twist (6,) of a link, in the frame of the link."""
    queried.check_tree('policies near singularities', 'use NO_POLICY')
    if queried.is_free:
        raise UnsupportedRobotError(
            'joint rates alone do not determine the motion of the robot: it has planar, ball or '
            f'floating joints, or a floating base ({shorten(queried.free)})'
        )
    robot = queried.robot
    link = frame_of(queried, request.twist, 'twist', robot.description.root)
    q = queried.requested_state(request.joint_state).q
    if not robot.jacobian(q, link, 'body').any():
        raise ArgumentError(
            f'twist: no joint moves the link {link!r}; a policy needs a frame_id of a moving one'
        )
    return robot.guarded_velocity(
        q,
        V,
        link,
        request.period,
        policy,
        representation='body',
        task_metric=length_metric(request.length),
    )


def fill_in(queried: ServiceModel, response: Any, status: PolicyStatus) -> None:
    """Write the status of a policy into the response."""
    response.state, response.message = status.state, status.message
    response.rates = JointState(
        name=actuated(queried.robot).velocity_labels, velocity=finite('a rate', status.v).tolist()
    )
    response.scale, response.limiting = float(status.scale), list(status.limiting)
    response.smallest_singular_value = float(status.smallest)


# --- contacts -------------------------------------------------------------------------------------


def contact_wrenches(queried: ServiceModel, request: Any) -> Array:
    """Return the normalized wrenches in the frame of the twist, (6, k), moments first."""
    root = queried.robot.description.root
    own = frame_of(queried, request.twist, 'twist', root)
    links = [
        frame_of(queried, stamped, f'wrenches[{k}]', root)
        for k, stamped in enumerate(request.wrenches)
    ]
    poses = {}
    if set(links) != {own}:
        state = queried.requested_state(request.joint_state)
        q, _ = queried.whole_state(state, moving=False)
        to_own = se3.inverse(queried.robot.link_pose(q, own))
        poses = {link: to_own @ queried.robot.link_pose(q, link) for link in set(links)}
    columns = []
    for k, (link, stamped) in enumerate(zip(links, request.wrenches)):
        W = components(stamped.wrench.torque, stamped.wrench.force)
        if not np.isfinite(W).all() or not W.any():
            error = ArgumentError if np.isfinite(W).all() else NotFiniteError
            raise error(f'wrenches[{k}] must be finite and not zero, got {W.tolist()}')
        W = W / np.abs(W).max()  # only the screw axis and pitch matter
        columns.append(screws.transform_wrench(poses[link], W) if poses else W)
    return finite('a wrench', np.transpose(columns))


def frame_of(queried: ServiceModel, stamped: Any, name: str, root: str) -> str:
    """Return the link of a message's frame, `root` if frame_id is empty."""
    frame = stamped.header.frame_id
    return queried.find_link(frame, f'{name}: frame_id') if frame else root


def components(first: Any, second: Any) -> Array:
    """Return two geometry_msgs/Vector3 as (6,)."""
    return np.array([first.x, first.y, first.z, second.x, second.y, second.z])
