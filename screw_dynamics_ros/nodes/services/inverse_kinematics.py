# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The service `inverse_kinematics`: one solution, or all solutions.

NUMERIC iterates from a start to the first solution, for one or several links of any robot; with
loops for one link, in positions of the motors. ALL and NEAREST find all solutions for one link of a
tree, with a certificate of completeness (`core.arms.families.all_solutions`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.arms.families.all_solutions import AllSolutions
from screw_dynamics_ros.core.arms.families.branches import nearest_image
from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.inverse.position import InverseKinematicsResult
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
from screw_dynamics_ros.core.errors import ErrorCode, NotFiniteError, UnsupportedRobotError
from screw_dynamics_ros.core.lie import screws, se3
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import matrix, swap_linear_angular
from screw_dynamics_ros.ros.names import shorten, shown

from ..model.actuated import actuated
from .requests import RequestedState, ServiceModel, finite

DEFAULT_TOLERANCE = 1e-9  # angle [rad] and distance [m] in one norm
DEFAULT_TIMEOUT, MAX_TIMEOUT = 1.0, 60.0  # s
RESTARTS_PER_CLOCK_CHECK = 20  # random starts between readings of the clock
MAX_ANGLE = 1e4  # rad, limit for joints without limits: angles have 12 digits there


def inverse_kinematics(queried: ServiceModel, request: Any, response: Any) -> None:
    """Answer an InverseKinematics request."""
    links = wanted_links(queried, request)
    if request.method == request.NUMERIC:
        by_steps(queried, request, response, links)
    elif request.method in (request.ALL, request.NEAREST):
        all_at_once(queried, request, response, links)
    else:
        raise ArgumentError(
            f'method {request.method} does not exist; use NUMERIC ({request.NUMERIC}), '
            f'ALL ({request.ALL}) or NEAREST ({request.NEAREST})'
        )


def wanted_links(queried: ServiceModel, request: Any) -> list[str]:
    """Return the links of the request, one for each target."""
    links = [queried.find_link(name, 'frames') for name in request.frames]
    if not links or len(request.targets) != len(links):
        raise ArgumentError(
            f'{len(request.targets)} targets for {len(links)} frames; give at least one frame, and '
            'one target for each'
        )
    if len(set(links)) < len(links):
        raise ArgumentError('frames contain a link twice; give one target for each link')
    if queried.is_free:
        raise UnsupportedRobotError(
            'joint positions alone do not determine the pose of the robot: it has a '
            f'floating base, or planar, ball or floating joints ({shorten(queried.free)})'
        )
    return links


def target_poses(
    queried: ServiceModel, request: Any, links: Sequence[str], state: RequestedState
) -> Array:
    """Return the target poses in the root frame, (k, 4, 4)."""
    q, _ = queried.whole_state(state, moving=False)
    targets = []
    for link, target in zip(links, request.targets):
        frame = target.header.frame_id
        C = matrix(target.pose, f'target of {link}')
        if frame:
            reference = queried.find_link(frame, f'target of {link}: frame_id')
            C = finite('a target', queried.robot.link_pose(q, reference) @ C)
        targets.append(C)
    return np.array(targets)


# --- one numerical solution -----------------------------------------------------------------------


def by_steps(queried: ServiceModel, request: Any, response: Any, links: Sequence[str]) -> None:
    """Answer a request with method NUMERIC."""
    timeout = request.timeout.sec + 1e-9 * request.timeout.nanosec or DEFAULT_TIMEOUT
    if not 0.0 <= request.tolerance < np.inf:
        raise ArgumentError(f'tolerance must be finite and >= 0, got {request.tolerance}')
    if not 0.0 < timeout <= MAX_TIMEOUT:
        raise ArgumentError(
            f'timeout must be between 0 and {MAX_TIMEOUT:g} s, because other services wait; got '
            f'{timeout:g}'
        )
    if request.locked.name or len(request.swivel):
        raise ArgumentError('locked joints and swivel angles need the method ALL or NEAREST')
    state = queried.requested_state(request.joint_state)
    targets = target_poses(queried, request, links, state)
    best = solve(
        queried.solver(targets, links, state.q), request.tolerance or DEFAULT_TOLERANCE, timeout
    )
    response.success, response.residual = best.success, best.residual
    response.iterations, response.message = best.iterations, best.message
    if best.success:
        response.solution = solution_message(queried, best.q)
    else:
        response.error_code = int(ErrorCode.TIMEOUT)


def solve(
    attempt: Callable[..., InverseKinematicsResult], tolerance: float, timeout: float
) -> InverseKinematicsResult:
    """Return the result of a `ServiceModel.solver`, or the best one found within `timeout` [s].

    The time for compiling the solver, at the first request for these links, is not included.
    """
    best = attempt(tolerance=tolerance, restarts=0)
    iterations, seed, end = best.iterations, 0, time.monotonic() + timeout
    while not best.success and time.monotonic() < end:
        result = attempt(tolerance=tolerance, restarts=RESTARTS_PER_CLOCK_CHECK, seed=seed)
        iterations, seed = iterations + result.iterations, seed + 1
        if result.residual < best.residual:
            best = result
    message = (
        best.message
        if best.success
        else (
            f'no solution within the joint limits and {timeout:g} s: the smallest pose error is '
            f'{best.residual:.3g} (tolerance {tolerance:.3g}); the target is out of reach, or a '
            'longer timeout is needed'
        )
    )
    return replace(best, iterations=iterations, message=message)


# --- all solutions --------------------------------------------------------------------------------


def all_at_once(queried: ServiceModel, request: Any, response: Any, links: Sequence[str]) -> None:
    """Answer a request with method ALL or NEAREST."""
    queried.check_tree('all solutions', 'use the method NUMERIC')
    if len(links) > 1:
        raise ArgumentError(
            f'the methods ALL and NEAREST solve for one link, got {len(links)} frames: give one '
            'frame, or use the method NUMERIC'
        )
    (link,) = links
    robot = queried.robot
    state = queried.requested_state(request.joint_state)
    seed = state.q
    (C,) = target_poses(queried, request, links, state)
    chain = SerialChain.of(robot.tree, link)
    locked = held_joints(chain, request.locked, seed)
    swivel = np.array(request.swivel)
    if not np.isfinite(swivel).all():
        raise NotFiniteError(f'swivel angles must be finite [rad], got {swivel.tolist()}')
    images = request.method == request.ALL and request.images
    found = robot.all_inverse_kinematics(
        C, link, locked=locked, swivel=swivel if len(swivel) else None, q0=seed, images=images
    )
    assert isinstance(found, AllSolutions)
    q = turned_next_to(seed, found.q, chain, locked, images)
    order = np.argsort(np.abs(q - seed).max(axis=1, initial=0.0), kind='stable')
    if request.method == request.NEAREST:
        order = order[:1]
    solutions = [solution_message(queried, q[k]) for k in order]
    response.success, response.complete = bool(solutions), found.complete
    response.message = (
        found.message if solutions else f'no solution within the joint limits: {found.message}'
    )
    response.residual = float(found.residuals[order[0]]) if solutions else np.inf
    labels = found.labels
    response.labels = [labels[k] for k in order]
    response.residuals = found.residuals[order].tolist()
    response.discarded = [
        f'{each.label}: {each.reason}' if each.label else each.reason for each in found.discarded
    ]
    if solutions:
        response.solution = solutions[0]
    else:
        response.error_code = int(ErrorCode.NO_SOLUTION)
    if request.method == request.ALL:
        response.solutions = solutions


def held_joints(chain: SerialChain, message: Any, q: Array) -> dict[str, float]:
    """Return the positions of locked joints; the default is their position in q (nq,)."""
    names, positions = list(message.name), list(message.position)
    own = dict(zip(chain.joint_names, q[chain.places].tolist()))
    for name in names:
        if name not in own:
            raise UnknownNameError(
                f"locked contains joint '{shown(name)}', which does not move the link; choose from "
                f'{shorten(chain.joint_names, 30)}'
            )
    if len(set(names)) < len(names):
        raise ArgumentError('locked contains a joint twice')
    if len(positions) not in (0, len(names)):
        raise ArgumentError(f'locked has {len(positions)} positions for {len(names)} names')
    held = dict(zip(names, positions or [own[name] for name in names]))
    for name, value in held.items():
        if not np.isfinite(value):
            raise NotFiniteError(f'locked: position of joint {name!r} is {value}; must be finite')
    return held


def turned_next_to(
    seed: Array, q: Array, chain: SerialChain, locked: dict[str, float], images: bool
) -> Array:
    """Return configurations (k, nq), shifted by multiples of 2 pi next to a seed (nq,).

    Positions stay within the limits and within +-1e4 rad. With `images`, q already contains the
    images of joints with limits, and only joints without limits are shifted. Locked joints never
    are.
    """
    endless = np.isinf(chain.lower) & np.isinf(chain.upper)
    turns = endless if images else np.ones(len(chain), dtype=bool)
    turns &= [name not in locked for name in chain.joint_names]
    near = np.clip(seed[chain.places], -MAX_ANGLE, MAX_ANGLE)
    own = nearest_image(q[:, chain.places], near, chain)
    turned = q.copy()
    turned[:, chain.places[turns]] = np.clip(own, chain.lower, chain.upper)[:, turns]
    return turned


def solution_message(queried: ServiceModel, q: Array) -> JointState:
    """Return a configuration (nq,), of the motors if there are loops, as sensor_msgs/JointState."""
    names, positions = queried.named_positions(q)
    return JointState(name=list(names), position=positions.tolist())


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
