# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Preparation of a goal for the controller: rates, efforts, limits; in a separate process."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message

from screw_dynamics_ros.core import ArgumentError, Robot, ScrewDynamicsError, UnknownNameError
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import NotFiniteError
from screw_dynamics_ros.core.motion.trajectory import (
    feasible_motion,
    feedforward_efforts,
    sampled_motion,
)
from screw_dynamics_ros.core.motion.trajectory.joining import State
from screw_dynamics_ros.core.motion.trajectory.joint_path import JointPath, completed_path, refined
from screw_dynamics_ros.core.motion.trajectory.motion import Motion
from screw_dynamics_ros.core.motion.trajectory.required_efforts import held_at_end
from screw_dynamics_ros.core.motion.trajectory.retiming import described_limits
from screw_dynamics_ros.core.tree.joint_limits import of_velocities
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.messages.trajectories import (
    MAX_DURATION_S,
    JointTrajectory,
    duration_stamp,
    read_trajectory,
    set_duration,
    stamp_of,
    trajectory_points,
)
from screw_dynamics_ros.ros.names import printable, shown

from ..model.actuated import actuated
from ..model.scalar_joints import coordinates
from ..services.dynamics_services import resting_configuration
from ..services.requests import RequestContext, ServiceModel, robot_of, service_model

#: Error codes of control_msgs/action/FollowJointTrajectory.
SUCCESSFUL, INVALID_GOAL, INVALID_JOINTS, OLD_HEADER_TIMESTAMP = 0, -1, -2, -3
PATH_TOLERANCE_VIOLATED = -4

MAX_POINTS = 2000
MAX_GIVEN_POINTS = 10_000  # of a goal: nothing else is relayed while a message is converted
MAX_REASON_LENGTH = 1000  # characters


@dataclass(frozen=True)
class Settings:
    """Options of the preparation; see the parameters of the node."""

    on_excess: str
    effort_limit_factor: float
    effort_share: float
    compensated_terms: Collection[str]
    scale_tolerances: bool
    resolution: float
    start_tolerance: float
    join_time: float = 0.1
    acceleration_limits: Mapping[str, float] = field(default_factory=dict)
    jerk_limits: Mapping[str, float] = field(default_factory=dict)

    def limits(self, robot: Robot) -> tuple[Array, Array, Array]:
        """Return the limits of effort, acceleration and jerk of a robot, (nv,) each."""
        effort = robot.limits.effort * self.effort_limit_factor
        acceleration = described_limits(robot, 'acceleration', 'deceleration')
        jerk = described_limits(robot, 'jerk')
        for limit, given in ((acceleration, self.acceleration_limits), (jerk, self.jerk_limits)):
            for name, value in given.items():
                if name in robot.joint_names:
                    limit[robot.joint_names.index(name)] = value
        effort, acceleration, jerk = (
            of_velocities(robot, limit) for limit in (effort, acceleration, jerk)
        )
        return effort, acceleration, jerk


@dataclass(frozen=True)
class PreparedGoal:
    """Result of the preparation.

    Attributes
    ----------
    data : bytes
        Serialized goal for the controller; empty if it is refused.
    code : int
        Error code of the action.
    text : str
        Reason for a refusal, or a description of changes; may be empty.
    """

    data: bytes
    code: int = SUCCESSFUL
    text: str = ''


class OldGoalError(ArgumentError):
    """The trajectory ends before its arrival."""


def prepare(situation: RequestContext, settings: Settings, data: bytes, now: int) -> PreparedGoal:
    """Return a goal with rates and efforts, within the limits, or the reason for a refusal.

    Parameters
    ----------
    situation : RequestContext
    settings : Settings
    data : bytes
        Serialized FollowJointTrajectory.Goal.
    now : int
        Current time, on the clock of the stamps [ns].
    """
    from control_msgs.action import FollowJointTrajectory

    goal = deserialize_message(data, FollowJointTrajectory.Goal)
    try:
        text = change(goal, service_model(situation), settings, now)
    except ScrewDynamicsError as error:
        return PreparedGoal(b'', code_of(error), printable(str(error), MAX_REASON_LENGTH))
    return PreparedGoal(serialize_message(goal), text=text)


def warm_up(data: bytes) -> None:
    """Compile the functions that goals for a pickled robot need."""
    robot = robot_of(data)
    if actuated(robot).has_loops:
        return
    q = robot.neutral()
    rest = np.zeros((3, robot.nv))
    motion = sampled_motion(robot, [0.0, 0.5, 1.0], np.stack([q, q, q]), rest, rest)
    loads = {robot.link_names[-1]: RigidBody(1e-3, np.zeros(3), np.zeros((3, 3)))}
    with suppress(ScrewDynamicsError):
        feasible_motion(robot, motion, loads)
        feedforward_efforts(robot, motion, loads, ('gravity', 'coriolis', 'inertia'))


def code_of(error: ScrewDynamicsError) -> int:
    """Return the error code of the action for an error."""
    if isinstance(error, OldGoalError):
        return OLD_HEADER_TIMESTAMP
    return INVALID_JOINTS if isinstance(error, UnknownNameError) else INVALID_GOAL


def change(goal: Any, queried: ServiceModel, settings: Settings, now: int) -> str:
    """Change a goal in place; return a description of the changes.

    Raises
    ------
    ScrewDynamicsError
        If the goal cannot be executed.
    """
    queried.check_tree('trajectories', 'send goals to the controller itself')
    if goal.multi_dof_trajectory.points:
        raise ArgumentError('multi_dof_trajectory has points; only joints with one coordinate move')
    check_tolerances(goal)
    robot = queried.robot
    known = {joint.name for joint in robot.description.joints} - set(queried.held)
    given = read_trajectory(goal.trajectory, queried.joints, known)
    path, is_measured = path_of(queried, given)
    motion = whole_motion(queried, given, path, settings.resolution)
    first = int(np.searchsorted(motion.time, given.stamps[0] / NANOSECONDS))
    feasible = feasible_motion(
        robot,
        motion,
        queried.payloads,
        on_excess=settings.on_excess,
        effort_limit_factor=settings.effort_limit_factor,
        acceleration_limits=settings.limits(robot)[1],
        is_measured=is_measured,
    )
    moved = held_at_end(feasible.motion)
    efforts = efforts_of(queried, settings, moved)
    late = check_time(goal.trajectory, float(moved.time[-1]), now)
    check_start(queried, given.joints, moved, late, settings.start_tolerance)
    write(goal.trajectory, queried, given, moved, settings, efforts, first)
    if feasible.slowness > 1.0 and settings.scale_tolerances:
        scale_tolerances(goal, feasible.slowness)
    if not feasible.reason:
        return f'sent although beyond limits: {feasible.exceeded[0]}' if feasible.exceeded else ''
    return f'slowed down, takes {feasible.slowness:.3g} times as long: {feasible.reason}'


def check_tolerances(goal: Any) -> None:
    """Raise `NotFiniteError` for tolerances that are not finite: NaN would never be exceeded."""
    for kind in ('path_tolerance', 'goal_tolerance'):
        for tolerance in getattr(goal, kind):
            for quantity in ('position', 'velocity', 'acceleration'):
                value = getattr(tolerance, quantity)
                if not np.isfinite(value):
                    raise NotFiniteError(
                        f'{kind} of joint {shown(tolerance.name)!r}: {quantity} is {value}'
                    )


def path_of(queried: ServiceModel, given: JointTrajectory) -> tuple[JointPath, bool]:
    """Return the path of the named joints, and whether it begins at the measured state.

    It does if time_from_start of the first point is positive and a state is known.
    """
    time, rows = given.stamps / NANOSECONDS, [given.q, given.v, given.a]
    if time[0] < 0.0:
        raise ArgumentError(f'time_from_start of the trajectory begins at {time[0]:g} s')
    start = np.zeros(len(given.joints))
    is_measured = time[0] > 0.0 and queried.measured is not None
    if is_measured:
        begin = measured_state(queried, given.joints)
        start, time = begin[1], np.append(0.0, time)
        rows = [
            None if row is None else np.vstack([values, row]) for values, row in zip(begin, rows)
        ]
    q, v, a = rows
    assert q is not None
    return completed_path(time, q, v, a, start), is_measured


def measured_state(queried: ServiceModel, joints: Sequence[str]) -> State:
    """Return the measured q, v of some joints, without velocities at rest, and no acceleration."""
    state = queried.measured
    assert state is not None
    places = [queried.joints.index(name) for name in joints]
    rest = np.zeros(len(places))
    return state.q[places], state.v[places] if state.has_velocity else rest, rest


def whole_motion(
    queried: ServiceModel, given: JointTrajectory, path: JointPath, resolution: float
) -> Motion:
    """Return samples of the motion of the whole robot; joints not named are at rest."""
    robot = queried.robot
    times = refined(path.times, resolution, MAX_POINTS)
    rest = resting_configuration(queried, given)
    return motion_of(robot, given.joints, rest, times, *path.samples(times))


def motion_of(
    robot: Robot, joints: Sequence[str], rest: Array, times: Array, *rows: Array
) -> Motion:
    """Return the motion of a robot from q, v, a (N, n) of some joints; others rest at `rest`."""
    q, v, a = np.tile(rest, (len(times), 1)), *np.zeros((2, len(times), robot.nv))
    places_q, places_v = coordinates(robot, joints)
    q[:, places_q], v[:, places_v], a[:, places_v] = rows
    return sampled_motion(robot, times, q, v, a)


def check_time(trajectory: Any, duration: float, now: int) -> float:
    """Return the time since the start [s]; raise `OldGoalError` if the trajectory has ended."""
    stamp = stamp_of(trajectory)
    since = (now - stamp) / NANOSECONDS if stamp else 0.0
    if since > duration:
        raise OldGoalError(
            f'the trajectory ended {since - duration:.3f} s ago; correct header.stamp, or leave it '
            'zero for an immediate start'
        )
    return since


def check_start(
    queried: ServiceModel, joints: Sequence[str], motion: Motion, since: float, tolerance: float
) -> None:
    """Raise `ArgumentError` if the controller would step from the measured state to the motion.

    Parameters
    ----------
    queried : ServiceModel
    joints : sequence of str
        Those that the trajectory names.
    motion : Motion
    since : float
        Time since its start [s]; until then, if negative, joints move there within their limits.
    tolerance : float
        [rad, m]; 0: not checked.
    """
    if not tolerance or queried.measured is None:
        return
    robot = queried.robot
    places_q, places_v = coordinates(robot, joints)
    speeds = robot.limits.velocity[places_v]
    for name, place, speed in zip(joints, places_q, speeds):
        measured = queried.measured.q[queried.joints.index(name)]
        first = np.interp(max(since, 0.0), motion.time, motion.q[:, place])
        step = joint_step(queried, name, first)
        if abs(step) > tolerance + (-since * speed if since < 0.0 else 0.0):
            raise ArgumentError(
                f'joint {name!r} would step by {step:.4g} from {measured:.4g} to {first:.4g}, more '
                f'than start_tolerance {tolerance:g}; begin at the measured state, or give the '
                'first point a time_from_start in which the joint can move there'
            )


def joint_step(queried: ServiceModel, joint: str, position: float) -> float:
    """Return the way of a joint from where it is measured; modulo 2 pi if it is periodic."""
    assert queried.measured is not None
    step = float(position - queried.measured.q[queried.joints.index(joint)])
    kinds = {each.name: each.kind for each in queried.robot.description.joints}
    if kinds[joint].is_periodic:
        step = float(np.remainder(step + np.pi, 2.0 * np.pi) - np.pi)
    return step


def efforts_of(queried: ServiceModel, settings: Settings, motion: Motion) -> Array:
    """Return the efforts for the points of a motion (N, nv); raises `NotFiniteError`."""
    terms = settings.compensated_terms
    efforts = feedforward_efforts(queried.robot, motion, queried.payloads, terms)
    if not np.isfinite(efforts).all():
        raise NotFiniteError('efforts along the trajectory are not finite')
    return settings.effort_share * efforts


def write(
    trajectory: Any,
    queried: ServiceModel,
    given: JointTrajectory,
    motion: Motion,
    settings: Settings,
    efforts: Array,
    first: int = 0,
) -> None:
    """Write a motion into a trajectory_msgs/JointTrajectory, from sample `first` on."""
    places_q, places_v = coordinates(queried.robot, given.joints)
    trajectory.joint_names = list(given.joints)
    trajectory.points = trajectory_points(
        motion.time[first:],
        motion.q[first:, places_q],
        motion.v[first:, places_v],
        motion.a[first:, places_v],
        efforts[first:, places_v if settings.effort_share else []],
    )


def scale_tolerances(goal: Any, slowness: float) -> None:
    """Scale tolerances for a trajectory that takes `slowness` times as long."""
    seconds = duration_stamp(goal.goal_time_tolerance) / NANOSECONDS
    longest = float(MAX_DURATION_S)
    set_duration(goal.goal_time_tolerance, min(max(seconds * slowness, -longest), longest))
    for tolerance in (*goal.path_tolerance, *goal.goal_tolerance):
        if tolerance.velocity > 0.0:
            tolerance.velocity /= slowness
        if tolerance.acceleration > 0.0:
            tolerance.acceleration /= slowness**2
