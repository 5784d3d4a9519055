# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Services of the node `dynamics`: inverse and forward dynamics, trajectories, payload capacity.

They use the robot of the description; friction and payloads are included only where the service
documents it. For a robot with loops, accelerations, efforts and mass matrices are those of its
motors (`core.mechanisms.closures.ClosedRobot`); functions of trees are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rclpy.node import Node

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import MissingStateError, NotFiniteError
from screw_dynamics_ros.core.motion.trajectory import (
    LimitExcess,
    Motion,
    largest_speed_factor,
    sampled_motion,
    with_efforts,
)
from screw_dynamics_ros.core.motion.trajectory.motion import with_rates
from screw_dynamics_ros.core.motion.trajectory.payload_capacity import (
    payload_capacity as largest_payload,
)
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.messages.trajectories import (
    JointTrajectory,
    read_trajectory,
    set_duration,
)
from screw_dynamics_ros.ros.names import shorten

from ..model.actuated import actuated
from ..model.scalar_joints import coordinates
from .comparison_service import compare_model
from .requests import RequestedState, ServiceHost, ServiceModel, finite

DERIVED = {'v': 'velocities', 'a': 'accelerations'}


def register(host: ServiceHost, node: Node, payloads: Callable[[], dict[str, RigidBody]]) -> None:
    """Offer the services of `node`; `payloads` returns the payload of each link."""
    for kind, name, query in (
        ('InverseDynamics', 'inverse_dynamics', inverse_dynamics),
        ('ForwardDynamics', 'forward_dynamics', forward_dynamics),
        ('HybridDynamics', 'hybrid_dynamics', hybrid_dynamics),
        ('Linearize', 'linearize', linearize),
        ('MassMatrix', 'mass_matrix', mass_matrix),
        ('AnnotateTrajectory', 'annotate_trajectory', annotate_trajectory),
        ('PayloadCapacity', 'payload_capacity', payload_capacity),
        ('CompareModel', 'compare_model', compare_model),
    ):
        host.serve(node, kind, f'~/{name}', query, payloads)


def inverse_dynamics(queried: ServiceModel, request: Any, response: Any) -> None:
    """Answer an InverseDynamics request."""
    state = queried.requested_state(
        request.joint_state, ('position', 'velocity'), request.acceleration
    )
    torques = queried.model.inverse_dynamics(state.q, state.v, state.a, **state.options)
    torques = torques - contact_torques(queried, state, request.external_wrenches)
    response.joint_names = actuated(queried.robot).velocity_labels
    response.effort = finite('effort', torques).tolist()


def forward_dynamics(queried: ServiceModel, request: Any, response: Any) -> None:
    """Answer a ForwardDynamics request."""
    state = queried.requested_state(request.joint_state, ('position', 'velocity', 'effort'))
    driven = state.tau + contact_torques(queried, state, request.external_wrenches)
    a = queried.model.forward_dynamics(state.q, state.v, driven, **state.options)
    response.joint_names = actuated(queried.robot).velocity_labels
    response.acceleration = finite('acceleration', a).tolist()


def hybrid_dynamics(queried: ServiceModel, request: Any, response: Any) -> None:
    """Answer a HybridDynamics request."""
    queried.check_tree('hybrid dynamics', 'use ClosedRobot.hybrid_dynamics in a program')
    robot = queried.robot
    state = queried.requested_state(
        request.joint_state, ('position', 'velocity', 'effort'), request.acceleration
    )
    contact = contact_torques(queried, state, request.external_wrenches)
    a, tau = robot.hybrid_dynamics(
        state.q, state.v, state.a, state.tau + contact, list(request.prescribed)
    )
    response.joint_names = actuated(robot).velocity_labels
    response.acceleration = finite('acceleration', a).tolist()
    response.effort = finite('effort', tau - contact).tolist()


def linearize(queried: ServiceModel, request: Any, response: Any) -> None:
    """Answer a Linearize request."""
    queried.check_tree('linearization', 'use finite differences of forward_dynamics')
    robot = queried.robot
    state = queried.requested_state(request.joint_state, ('position', 'velocity', 'effort'))
    of = state.q, state.v, state.tau
    response.joint_names = actuated(robot).velocity_labels
    response.acceleration = finite('acceleration', robot.forward_dynamics(*of)).tolist()
    response.da_dq, response.da_dv, response.da_dtau = (
        finite('a derivative', matrix).reshape(-1).tolist()
        for matrix in robot.forward_dynamics_derivatives(*of)
    )


def mass_matrix(queried: ServiceModel, request: Any, response: Any) -> None:
    """Answer a MassMatrix request."""
    state = queried.requested_state(request.joint_state)
    response.joint_names = actuated(queried.robot).velocity_labels
    M = queried.model.mass_matrix(state.q, **state.options)
    response.mass_matrix = finite('mass_matrix', M).reshape(-1).tolist()


def payload_capacity(queried: ServiceModel, request: Any, response: Any) -> None:
    """Answer a PayloadCapacity request."""
    queried.check_tree('payload capacity', 'use inverse_dynamics with the weight as a wrench')
    robot, point = queried.robot, request.point
    link = queried.find_link(request.frame, 'frame')
    q = queried.requested_state(request.joint_state).q
    capacity = largest_payload(robot, q, link, [point.x, point.y, point.z])
    response.feasible, response.limiting_joint = capacity.feasible, capacity.joint
    response.mass, response.least_mass = capacity.mass, capacity.least


def annotate_trajectory(queried: ServiceModel, request: Any, response: Any) -> None:
    """Answer an AnnotateTrajectory request."""
    queried.check_tree('trajectories', 'use inverse_dynamics for each point')
    robot = queried.robot
    known = {joint.name for joint in robot.description.joints} - set(queried.held)
    given = read_trajectory(request.trajectory, queried.joints, known)
    motion, derived = motion_of(queried, given)
    finite('a velocity or acceleration', np.concatenate([motion.v, motion.a]))
    loads = {} if request.without_payload else queried.payloads
    friction = not request.without_friction
    answer = with_efforts(robot, motion, loads, friction=friction)
    finite('effort', answer.efforts)
    limit = largest_speed_factor(robot, motion, loads, friction=friction)
    fill_in(response.trajectory, request.trajectory, given, motion, answer.efforts, queried)
    response.derived = [DERIVED[name] for name in derived]
    response.exceeded = [message_of(excess) for excess in answer.exceeded]
    response.speed_factor = limit.factor
    response.limiting_joint, response.limiting_quantity = limit.joint, limit.quantity
    set_duration(response.limiting_time, limit.time if limit.joint else 0.0)


def contact_torques(queried: ServiceModel, state: RequestedState, wrenches: Sequence[Any]) -> Array:
    """Return sum J^T w over geometry_msgs/WrenchStamped, (nv,) [N m, N]."""
    model = queried.model
    total = np.zeros(model.nv)
    for k, stamped in enumerate(wrenches):
        name = f'external_wrenches[{k}]'
        link = queried.find_link(stamped.header.frame_id, f'{name}: frame_id')
        force, moment = stamped.wrench.force, stamped.wrench.torque
        W = np.array([moment.x, moment.y, moment.z, force.x, force.y, force.z])
        if not np.isfinite(W).all():
            raise NotFiniteError(f'{name} on {link!r} must be finite, got {W.tolist()}')
        total += model.jacobian(state.q, link, 'body', **state.options).T @ W
    return total


def motion_of(queried: ServiceModel, given: JointTrajectory) -> tuple[Motion, tuple[str, ...]]:
    """Return the motion of the whole robot, and the names of derived rates.

    Joints not named rest at their last measured positions.
    """
    robot, count = queried.robot, len(given.stamps)
    rest = resting_configuration(queried, given)
    q, v, a = np.tile(rest, (count, 1)), *np.zeros((2, count, robot.nv))
    places_q, places_v = coordinates(robot, given.joints)
    time = given.stamps / NANOSECONDS
    q[:, places_q] = given.q
    v[:, places_v], a[:, places_v], derived = with_rates(time, given.q, given.v, given.a)
    return sampled_motion(robot, time, q, v, a), derived


def resting_configuration(queried: ServiceModel, given: JointTrajectory) -> Array:
    """Return a configuration (nq,) with joints not named at their last measured positions.

    Raises `MissingStateError` without a current measured state.
    """
    absent = [name for name in queried.joints if name not in given.joints]
    measured = queried.measured if absent else None
    if absent and measured is None:
        raise MissingStateError(
            f'the trajectory does not name {shorten(absent)}, and no current measured state is '
            'available for them; name all joints, or see /diagnostics'
        )
    queried.stamp = 0 if measured is None else measured.stamp
    return queried.whole_q(np.zeros(len(queried.joints)) if measured is None else measured.q)


def fill_in(
    message: Any,
    request: Any,
    given: JointTrajectory,
    motion: Motion,
    efforts: Array,
    queried: ServiceModel,
) -> None:
    """Write a trajectory with its rates and efforts into a trajectory_msgs/JointTrajectory."""
    message.header = request.header
    message.joint_names = list(given.joints)
    message.points = request.points
    places = coordinates(queried.robot, given.joints)[1]
    columns = (given.q, motion.v[:, places], motion.a[:, places], efforts[:, places])
    for point, *rows in zip(message.points, *columns):
        point.positions, point.velocities, point.accelerations, point.effort = (
            row.tolist() for row in rows
        )


def message_of(excess: LimitExcess) -> Any:
    """Return a screw_dynamics_msgs/LimitExcess."""
    from screw_dynamics_msgs.msg import LimitExcess

    message = LimitExcess(
        joint=excess.joint, quantity=excess.quantity, value=excess.value, limit=excess.limit
    )
    for field in ('start', 'end', 'time'):
        set_duration(getattr(message, field), getattr(excess, field))
    return message
