# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Common parts of all typed services: robot, states, frames.

Another process (`ros.services`) answers requests. It receives a `RequestContext` with each request,
and builds the robot again only if it has changed.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.arms.inverse.position import InverseKinematicsResult
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import NotFiniteError, UnsupportedRobotError
from screw_dynamics_ros.core.mechanisms.closures import ClosedRobot
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.registry import load
from screw_dynamics_ros.ros.joint_states.requested_state import JointState, read_requested_state
from screw_dynamics_ros.ros.messages.conversions import time_message
from screw_dynamics_ros.ros.names import shorten

from ..model.closed_loops import RobotWithLoops
from ..model.scalar_joints import ScalarJoints


@dataclass(frozen=True, eq=False)
class RequestContext:
    """All data that determine a response in addition to the request; can be pickled.

    Attributes
    ----------
    robot : bytes
        The active robot, pickled once for all requests.
    gravity : (3,) array
        [m/s^2].
    prefix : str
        Prefix of frame names.
    measured : JointState or None
        The latest state; None if it is out of date.
    payloads : mapping of str to RigidBody
        The payload of each link; the robot may not have the link.
    text : str
        The received description.
    state : pair of arrays or None
        Position (nq,) and velocity (nv,) of the robot, for its base and for planar, ball and
        floating joints; None if they are at zero.
    """

    robot: bytes
    gravity: Array
    prefix: str
    measured: JointState | None
    payloads: Mapping[str, RigidBody] = field(default_factory=dict)
    text: str = ''
    state: tuple[Array, Array] | None = None


class ServiceModel(ScalarJoints):
    """The robot of a request, with further data about it.

    Attributes
    ----------
    model : Robot or ClosedRobot
        Provides the functions for the request.
    prefix, measured, payloads, text
        As in the `RequestContext`; only payloads on links that the robot has.
    stamp : int
        Stamp of the measured state if the response uses it [ns], else 0.
    """

    def __init__(self, robot: Robot, situation: RequestContext) -> None:
        super().__init__(robot)
        if situation.state is not None:
            self.q, self.v = situation.state
        self.model: Robot | ClosedRobot = robot
        self.robot.gravity = situation.gravity
        self.prefix, self.measured, self.stamp = situation.prefix, situation.measured, 0
        self.text = situation.text
        self.payloads = {
            link: body for link, body in situation.payloads.items() if link in self.robot.link_names
        }

    def check_tree(self, subject: str, remedy: str) -> None:
        """Raise if the robot has loops, because `subject` is available for trees only."""

    def requested_state(
        self,
        message: Any,
        fields: Collection[str] = ('position',),
        acceleration: Sequence[float] = (),
    ) -> RequestedState:
        """Return the state from the sensor_msgs/JointState of a request.

        Arguments and errors as for `read_requested_state`. A floating base, and planar, ball and
        floating joints, which cannot be named, move as they were measured last, and are at rest
        unless `fields` contain the velocity.
        """
        known = {joint.name for joint in self.robot.description.joints} - set(self.held)
        state = read_requested_state(
            message,
            self.joints,
            known=known,
            measured=self.measured,
            fields=fields,
            acceleration=acceleration,
        )
        self.stamp = state.stamp
        return RequestedState(
            self.whole_q(state.q),
            self.moving_v(state.v) if 'velocity' in fields else self.whole_v(state.v),
            self.whole_v(state.a),
            self.whole_v(state.tau),
            state.stamp,
        )

    def whole_state(self, state: RequestedState, moving: bool) -> tuple[Array, Array]:
        """Return q (nq,) and, if the robot is `moving`, v (nv,) of all joints."""
        return state.q, state.v

    def solver(
        self, targets: Array, links: Sequence[str], q: Array
    ) -> Callable[..., InverseKinematicsResult]:
        """Return a function of options that solves for targets (k, 4, 4), starting at q (nq,)."""
        return partial(self.robot.inverse_kinematics, targets, links, q)

    def named_positions(self, q: Array) -> tuple[Sequence[str], Array]:
        """Return names and positions of the joints of a solution (nq,)."""
        return self.joints, self.positions_of_joints(q)

    def frame_id(self, link: str) -> str:
        """Return the name of the frame of a link in messages."""
        return self.prefix + link

    def find_link(self, frame: str, field: str) -> str:
        """Return the link with the frame name `frame`, with or without the prefix.

        Raises `UnknownNameError` with the field of the request.
        """
        for link in (frame[len(self.prefix) :] if frame.startswith(self.prefix) else '', frame):
            if link in self.robot.link_names:
                return link
        raise UnknownNameError(
            f'{field}: robot {self.robot.description.name} has no link {frame!r}; it has '
            f'{shorten(self.robot.link_names, 30)}'
        )


@dataclass(frozen=True, eq=False)
class RequestedState:
    """A state of the whole robot: arguments for the functions of `ServiceModel.model`.

    Attributes
    ----------
    q : (nq,) array
    v, a, tau : (nv,) arrays
    stamp : int
        Stamp of the measured state that completes the request [ns]; 0 if the request is complete.
    options : mapping
        Further arguments of the functions: `seed` for a mechanism with loops.
    """

    q: Array
    v: Array
    a: Array
    tau: Array
    stamp: int
    options: Mapping[str, Any] = field(default_factory=dict)


class ServiceMechanism(ServiceModel):
    """A robot with loops; requests name its motors, and `robot` is its spanning tree."""

    def __init__(self, robot: RobotWithLoops, situation: RequestContext) -> None:
        super().__init__(robot, situation)
        self.model = self.closed = robot.closed

    def check_tree(self, subject: str, remedy: str) -> None:
        """Raise `UnsupportedRobotError`."""
        raise UnsupportedRobotError(
            f'{subject}: not for robots with loops (parameter loop_closures), only for trees; '
            f'{remedy}'
        )

    def requested_state(
        self,
        message: Any,
        fields: Collection[str] = ('position',),
        acceleration: Sequence[float] = (),
    ) -> RequestedState:
        """Return the state of the motors, which determine all other joints.

        If motors are completed from the measured state, it is also the initial guess for the
        closure of loops. Otherwise the assembly configuration is, so that the response depends on
        the request only.

        Raises
        ------
        ArgumentError, UnknownNameError
            As `read_requested_state`; also if the message names passive joints but not all motors,
            because the state is then ambiguous.
        """
        closed = self.closed
        motors = closed.joint_names
        absent = [name for name in motors if name not in message.name]
        passive = [name for name in message.name if name in closed.passive]
        if passive and absent:
            raise ArgumentError(
                f'joint_state names {shorten(passive)}, which the motors determine, but not '
                f'{shorten(absent)}; name the joints with motors, {shorten(motors, 30)}'
            )
        known = {joint.name for joint in self.robot.description.joints}
        state = read_requested_state(
            message,
            motors,
            known=known | {cut.name for cut in closed.loops.closures},
            measured=of_motors(self.measured, closed),
            fields=fields,
            acceleration=acceleration,
        )
        self.stamp = state.stamp
        measured = self.measured if absent else None
        seed = closed.assembly if measured is None else measured.q
        return RequestedState(state.q, state.v, state.a, state.tau, state.stamp, {'seed': seed})

    def whole_state(self, state: RequestedState, moving: bool) -> tuple[Array, Array]:
        """Return q (nq,) and v (nv,); zero v unless `moving`, because singularities have no v."""
        if moving:
            motion = self.closed.state(state.q, state.v, **state.options)
            return motion.q, motion.v
        return self.closed.configuration(state.q, **state.options), np.zeros(self.robot.nv)

    def solver(
        self, targets: Array, links: Sequence[str], q: Array
    ) -> Callable[..., InverseKinematicsResult]:
        """Return the solver in positions of the motors, for one link only."""
        if len(links) > 1:
            self.check_tree('several links at once', 'request one')
        return partial(self.closed.inverse_kinematics, targets[0], links[0], q)

    def named_positions(self, q: Array) -> tuple[Sequence[str], Array]:
        """Return names and positions of the motors."""
        return self.closed.joint_names, q


def of_motors(measured: JointState | None, closed: ClosedRobot) -> JointState | None:
    """Return the state of the motors from a measured state of all joints."""
    if measured is None:
        return None
    q, v, a, tau = (
        values[closed.places] for values in (measured.q, measured.v, measured.a, measured.tau)
    )
    return JointState(q, v, a, tau, measured.stamp, measured.has_velocity)


def service_model(situation: RequestContext) -> ServiceModel:
    """Return the model for a request, of the class for the robot."""
    robot = robot_of(situation.robot)
    if isinstance(robot, RobotWithLoops):
        return ServiceMechanism(robot, situation)
    return ServiceModel(robot, situation)


#: Services of `kinematics` and `dynamics` by their type: the function that answers requests, as
#: module:function of this folder. Only the other process imports it.
KINEMATICS = {
    'ForwardKinematics': 'kinematics_services:forward_kinematics',
    'InverseKinematics': 'inverse_kinematics:inverse_kinematics',
    'FilterTwist': 'inverse_kinematics:filter_twist',
    'Jacobian': 'kinematics_services:jacobian',
    'Calibrate': 'kinematics_services:calibrate',
}
DYNAMICS = {
    'InverseDynamics': 'dynamics_services:inverse_dynamics',
    'ForwardDynamics': 'dynamics_services:forward_dynamics',
    'HybridDynamics': 'dynamics_services:hybrid_dynamics',
    'Linearize': 'dynamics_services:linearize',
    'MassMatrix': 'dynamics_services:mass_matrix',
    'AnnotateTrajectory': 'dynamics_services:annotate_trajectory',
    'PayloadCapacity': 'dynamics_services:payload_capacity',
    'CompareModel': 'dynamics_services:compare_model',
}


def answer(query: str, situation: RequestContext, request: Any, response: Any) -> None:
    """Answer a request, in the other process.

    The header contains the stamp of the measured state if the response depends on it, and the root
    link as frame unless the query sets another one.

    Parameters
    ----------
    query : str
        As in `KINEMATICS`; ``query(model, request, response)`` fills in the response, or raises
        `ScrewDynamicsError`.
    situation : RequestContext
    """
    queried = service_model(situation)
    response.header.frame_id = queried.frame_id(queried.robot.description.root)
    load(f'{__package__}.{query}')(queried, request, response)
    response.header.stamp = time_message(queried.stamp)


@lru_cache(maxsize=1)
def pickled(robot: Robot) -> bytes:
    """Return a robot as bytes, always the same bytes for the same robot."""
    return pickle.dumps(robot, pickle.HIGHEST_PROTOCOL)


@lru_cache(maxsize=1)
def robot_of(data: bytes) -> Robot:
    """Return a robot with its compiled functions, kept while requests use it."""
    robot: Robot = pickle.loads(data)
    return robot


def finite(name: str, values: Array) -> Array:
    """Return `values` if all are finite numbers; raises `NotFiniteError`."""
    if not np.isfinite(values).all():
        raise NotFiniteError(
            f'{name} is not finite: numbers of the request are too large, or a joint moves no mass'
        )
    return values
