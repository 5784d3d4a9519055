"""The service `filter_twist`: what a contact leaves of a commanded twist."""

from __future__ import annotations

from typing import Any

import numpy as np

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.constraints import kinetostatic_filter
from screw_dynamics_ros.core.constraints.contact_models import Constraint
from screw_dynamics_ros.core.inverse.weighted_inverse import length_metric
from screw_dynamics_ros.core.lie import screws, se3
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.services.requests import (
    QueriedRobot,
    finite,
    requested_state,
    whole_state,
)
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular

SHORTEST, LONGEST = 1e-3, 1e3  # m, of the length in the metric of twists


def filter_twist(queried: QueriedRobot, request: Any, response: Any) -> None:
    """Answer a FilterTwist request (C-046)."""
    if not SHORTEST <= request.length <= LONGEST:
        raise ArgumentError(
            f'length must be within {SHORTEST:g} and {LONGEST:g} m: 1 rad/s counts as much as this '
            f'velocity in m/s; got {request.length}'
        )
    if not request.wrenches:
        raise ArgumentError('wrenches is empty; give at least one that the contact transmits')
    constraint = Constraint.bearing(contact_wrenches(queried, request), request.unilateral)
    linear, angular = request.twist.twist.linear, request.twist.twist.angular
    found = kinetostatic_filter.filter_twist(
        components(angular, linear), constraint, length_metric(request.length)
    )
    response.twist, removed = (
        templates.stamped_twist(
            request.twist.header.stamp,
            request.twist.header.frame_id,
            finite('a twist', swap_linear_angular(twist)).tolist(),
        )
        for twist in (found.twist, found.removed)
    )
    response.removed, response.pushing = removed.twist, found.pushing.tolist()


def contact_wrenches(queried: QueriedRobot, request: Any) -> Array:
    """Return the wrenches, scaled, in the frame of the twist, (6, k), moments first."""
    root = queried.robot.description.root
    own = frame_of(queried, request.twist, 'twist', root)
    links = [
        frame_of(queried, stamped, f'wrenches[{k}]', root)
        for k, stamped in enumerate(request.wrenches)
    ]
    poses = {}
    if set(links) != {own}:
        state = requested_state(queried, request.joint_state)
        q, _ = whole_state(queried, state, moving=False)
        to_own = se3.inverse(queried.robot.link_pose(q, own))
        poses = {link: to_own @ queried.robot.link_pose(q, link) for link in set(links)}
    columns = []
    for k, (link, stamped) in enumerate(zip(links, request.wrenches)):
        W = components(stamped.wrench.torque, stamped.wrench.force)
        if not np.isfinite(W).all() or not W.any():
            raise ArgumentError(f'wrenches[{k}] must be finite and not zero, got {W.tolist()}')
        W = W / np.abs(W).max()  # only its screw counts
        columns.append(screws.transform_wrench(poses[link], W) if poses else W)
    return finite('a wrench', np.transpose(columns))


def frame_of(queried: QueriedRobot, stamped: Any, name: str, root: str) -> str:
    """Return the link in whose frame a message is, `root` where it names none."""
    frame = stamped.header.frame_id
    return queried.find_link(frame, f'{name}: frame_id') if frame else root


def components(first: Any, second: Any) -> Array:
    """Return two geometry_msgs/Vector3 as (6,)."""
    return np.array([first.x, first.y, first.z, second.x, second.y, second.z])
