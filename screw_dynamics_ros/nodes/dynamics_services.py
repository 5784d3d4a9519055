"""Services of the node `dynamics`: inverse and forward dynamics, trajectories, payload, ...

They answer for the robot as the description has it; friction and the payload of the parameters
count where the service says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.dynamics.payload import payload_capacity
from screw_dynamics_ros.core.trajectory import (
    Excess,
    Motion,
    annotate,
    largest_speed_factor,
    sampled_motion,
)
from screw_dynamics_ros.core.trajectory.motion import with_rates
from screw_dynamics_ros.nodes import payload
from screw_dynamics_ros.nodes.host import ModelHost
from screw_dynamics_ros.nodes.model import Model, coordinates, velocity_labels
from screw_dynamics_ros.nodes.requests import State, find_link, requested_state
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.requested_state import latest
from screw_dynamics_ros.ros.trajectories import (
    NANOSECONDS,
    JointTrajectory,
    read_trajectory,
    set_duration,
)

Array = NDArray[np.float64]

DERIVED = {'v': 'velocities', 'a': 'accelerations'}


class DynamicsServices:
    """The services.

    Parameters
    ----------
    host : ModelHost
    parameters : Parameters
        Have the payload.
    """

    def __init__(self, host: ModelHost, parameters: Parameters) -> None:
        self._prefix: str = host.parameters['frame_prefix']
        self._parameters = parameters
        self._serve = host.serve

    def register(self, node: Node) -> None:
        """Offer the services of `node`."""
        for kind, name, answer in (
            ('InverseDynamics', 'inverse_dynamics', self._inverse_dynamics),
            ('ForwardDynamics', 'forward_dynamics', self._forward_dynamics),
            ('HybridDynamics', 'hybrid_dynamics', self._hybrid_dynamics),
            ('Linearize', 'linearize', self._linearize),
            ('MassMatrix', 'mass_matrix', self._mass_matrix),
            ('AnnotateTrajectory', 'annotate_trajectory', self._annotate_trajectory),
            ('PayloadCapacity', 'payload_capacity', self._payload_capacity),
        ):
            self._serve(node, kind, f'~/{name}', answer)

    def _inverse_dynamics(self, model: Model, request: Any, response: Any) -> None:
        robot = model.robot
        state = requested_state(
            model, request.joint_state, ('position', 'velocity'), request.acceleration
        )
        torques = robot.inverse_dynamics(state.q, state.v, state.a)
        torques = torques - self._contact_torques(robot, state, request.external_wrenches)
        response.joint_names = velocity_labels(robot)
        response.effort = finite('effort', torques).tolist()

    def _forward_dynamics(self, model: Model, request: Any, response: Any) -> None:
        robot = model.robot
        state = requested_state(model, request.joint_state, ('position', 'velocity', 'effort'))
        driven = state.tau + self._contact_torques(robot, state, request.external_wrenches)
        response.joint_names = velocity_labels(robot)
        response.acceleration = finite(
            'acceleration', robot.forward_dynamics(state.q, state.v, driven)
        ).tolist()

    def _hybrid_dynamics(self, model: Model, request: Any, response: Any) -> None:
        robot = model.robot
        state = requested_state(
            model, request.joint_state, ('position', 'velocity', 'effort'), request.acceleration
        )
        contact = self._contact_torques(robot, state, request.external_wrenches)
        a, tau = robot.hybrid_dynamics(
            state.q, state.v, state.a, state.tau + contact, list(request.prescribed)
        )
        response.joint_names = velocity_labels(robot)
        response.acceleration = finite('acceleration', a).tolist()
        response.effort = finite('effort', tau - contact).tolist()

    def _linearize(self, model: Model, request: Any, response: Any) -> None:
        robot = model.robot
        state = requested_state(model, request.joint_state, ('position', 'velocity', 'effort'))
        of = state.q, state.v, state.tau
        response.joint_names = velocity_labels(robot)
        response.acceleration = finite('acceleration', robot.forward_dynamics(*of)).tolist()
        response.da_dq, response.da_dv, response.da_dtau = (
            finite('a derivative', matrix).reshape(-1).tolist()
            for matrix in robot.forward_dynamics_derivatives(*of)
        )

    def _mass_matrix(self, model: Model, request: Any, response: Any) -> None:
        state = requested_state(model, request.joint_state)
        response.joint_names = velocity_labels(model.robot)
        response.mass_matrix = model.robot.mass_matrix(state.q).reshape(-1).tolist()

    def _payload_capacity(self, model: Model, request: Any, response: Any) -> None:
        robot, point = model.robot, request.point
        link = find_link(robot, request.frame, self._prefix, 'frame')
        q = requested_state(model, request.joint_state).q
        capacity = payload_capacity(robot, q, link, [point.x, point.y, point.z])
        response.feasible, response.limiting_joint = capacity.feasible, capacity.joint
        response.mass, response.least_mass = capacity.mass, capacity.least

    def _annotate_trajectory(self, model: Model, request: Any, response: Any) -> None:
        robot = model.robot
        known = {joint.name for joint in robot.description.joints} - set(model.held)
        given = read_trajectory(request.trajectory, model.joints, known)
        motion, derived = motion_of(model, given)
        loads = {} if request.without_payload else payload.on_robot(self._parameters, robot)
        friction = not request.without_friction
        annotation = annotate(robot, motion, loads, friction=friction)
        limit = largest_speed_factor(robot, motion, loads, friction=friction)
        fill_in(response.trajectory, request.trajectory, given, motion, annotation.efforts, model)
        response.derived = [DERIVED[name] for name in derived]
        response.exceeded = [message_of(excess) for excess in annotation.exceeded]
        response.speed_factor = limit.factor
        response.limiting_joint, response.limiting_quantity = limit.joint, limit.quantity
        set_duration(response.limiting_time, limit.time if limit.joint else 0.0)

    def _contact_torques(self, robot: Robot, state: State, wrenches: Sequence[Any]) -> Array:
        """Return sum J^T w over geometry_msgs/WrenchStamped, (nv,) [N m, N]."""
        total = np.zeros(robot.nv)
        for k, stamped in enumerate(wrenches):
            name = f'external_wrenches[{k}]'
            link = find_link(robot, stamped.header.frame_id, self._prefix, f'{name}: frame_id')
            force, moment = stamped.wrench.force, stamped.wrench.torque
            W = np.array([moment.x, moment.y, moment.z, force.x, force.y, force.z])
            if not np.isfinite(W).all():
                raise ArgumentError(f'{name} on {link!r} must be finite, got {W.tolist()}')
            total += robot.jacobian(state.q, link, 'body').T @ W
        return total


def finite(name: str, values: Array) -> Array:
    """Return `values` if all are finite numbers; raises `ArgumentError`."""
    if not np.isfinite(values).all():
        raise ArgumentError(
            f'{name} is not finite: some joint moves no mass, or numbers of the request are too '
            'large to compute with'
        )
    return values


def motion_of(model: Model, given: JointTrajectory) -> tuple[Motion, tuple[str, ...]]:
    """Return the motion of the whole robot, and which rates were derived.

    Joints that are not named stay where they were measured last.
    """
    robot, count = model.robot, len(given.stamps)
    absent = [name for name in model.joints if name not in given.joints]
    measured = latest(model.mapper) if absent else None
    if absent and measured is None:
        raise ArgumentError(
            f'the trajectory does not name {shorten(absent)}, and there is no current measured '
            'state to take instead; name all joints, or see /diagnostics'
        )
    rest = model.whole_q(np.zeros(len(model.joints)) if measured is None else measured.q)
    q, v, a = np.tile(rest, (count, 1)), *np.zeros((2, count, robot.nv))
    places_q, places_v = coordinates(robot, given.joints)
    time = given.stamps / NANOSECONDS
    q[:, places_q] = given.q
    v[:, places_v], a[:, places_v], derived = with_rates(time, given.q, given.v, given.a)
    return sampled_motion(robot, time, q, v, a), derived


def fill_in(
    message: Any,
    request: Any,
    given: JointTrajectory,
    motion: Motion,
    efforts: Array,
    model: Model,
) -> None:
    """Write a trajectory with its rates and efforts into a trajectory_msgs/JointTrajectory."""
    message.header = request.header
    message.joint_names = list(given.joints)
    message.points = request.points
    places = coordinates(model.robot, given.joints)[1]
    columns = (given.q, motion.v[:, places], motion.a[:, places], efforts[:, places])
    for point, *rows in zip(message.points, *columns):
        point.positions, point.velocities, point.accelerations, point.effort = (
            row.tolist() for row in rows
        )


def message_of(excess: Excess) -> Any:
    """Return a screw_dynamics_msgs/LimitExcess."""
    from screw_dynamics_msgs.msg import LimitExcess

    message = LimitExcess(
        joint=excess.joint, quantity=excess.quantity, value=excess.value, limit=excess.limit
    )
    for field in ('start', 'end', 'time'):
        set_duration(getattr(message, field), getattr(excess, field))
    return message
