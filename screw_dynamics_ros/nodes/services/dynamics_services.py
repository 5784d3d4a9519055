# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Services of the node `dynamics`: dynamics, trajectories, payload capacity, comparison of models.

They use the robot of the description; friction and payloads are included only where the service
documents it. For a robot with loops, accelerations, efforts and mass matrices are those of its
motors (`core.mechanisms.closures.ClosedRobot`); functions of trees are refused. Other programs read
the received description, or the corrected one if link inertias were corrected; they also receive
gravity, and the current armatures and viscous friction of the drives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from screw_dynamics_ros.comparison import report
from screw_dynamics_ros.comparison.field_differences import field_differences
from screw_dynamics_ros.comparison.peer import ModelSource
from screw_dynamics_ros.comparison.programs import (
    NAMES,
    PROGRAMS,
    STATES,
    TOLERANCE,
    check,
    outcome,
)
from screw_dynamics_ros.comparison.quantities import UNITS, our_values, random_states
from screw_dynamics_ros.comparison.reading import DescriptionReading
from screw_dynamics_ros.comparison.report import ProgramOutcome
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import RobotDescription
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from screw_dynamics_ros.core.errors import (
    ArgumentError,
    ErrorCode,
    MissingStateError,
    NotFiniteError,
    UnknownNameError,
)
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
from screw_dynamics_ros.ros.names import shorten, shown

from ..model.actuated import actuated
from ..model.scalar_joints import coordinates
from .requests import RequestedState, ServiceModel, finite

MAX_STATES = 1000


def compare_model(queried: ServiceModel, request: Any, response: Any) -> None:
    """Answer a CompareModel request."""
    queried.check_tree('comparison with other programs', 'compare the tree with "parity FILE"')
    names = wanted_programs(request)
    count, tolerance = request.states or STATES, request.tolerance or TOLERANCE
    if count > MAX_STATES:
        raise ArgumentError(
            f'states: at most {MAX_STATES}, because other services wait; got {count}'
        )
    if not 0.0 < tolerance < 1.0:
        raise ArgumentError(f'tolerance must be between 0 and 1, got {tolerance}')
    tip = queried.find_link(request.tip, 'tip') if request.tip else ''
    source = source_of(queried.robot, queried.text, tip)
    check(source.description, tip)
    outcomes = [
        outcome_of(name, source, count, request.seed, tolerance, queried.robot.backend)
        for name in names
    ]
    ours = DescriptionReading(source.description, source.armatures)
    values = our_values(ours, random_states(ours, count, request.seed, source.gravity))
    title = (
        f'robot {source.description.name}: largest differences in {count} random states (seed '
        f'{request.seed}); {report.MARK} above the relative tolerance {tolerance:g}'
    )
    response.explanation = '\n'.join([*report.text(title, values, outcomes), *remarks(queried)])
    write_outcomes(response, outcomes)


def wanted_programs(request: Any) -> list[str]:
    """Return the requested programs, each once; raises `UnknownNameError`."""
    names = [name.lower() for name in request.programs] or list(PROGRAMS)
    for name in names:
        if name not in PROGRAMS:
            raise UnknownNameError(
                f"programs: there is no '{shown(name)}'; there are {', '.join(PROGRAMS)}"
            )
    return list(dict.fromkeys(names))


def outcome_of(name: str, source: ModelSource, *options: Any) -> ProgramOutcome:
    """Return the outcome for one program; its exceptions do not affect the others."""
    try:
        return outcome(name, source, *options)
    except Exception as error:  # of the program, or from its results
        return ProgramOutcome(NAMES[name], refusal=f'fails: {type(error).__name__}: {error}')


def source_of(robot: Robot, text: str, tip: str) -> ModelSource:
    """Return the compared model: the robot with its gravity and drives."""
    drives = robot.drives
    joints = tuple(
        replace(joint, damping=drives[joint.name].damping) if joint.name in drives else joint
        for joint in robot.description.joints
    )
    description = replace(robot.description, joints=joints)
    read = text if is_active(text, robot.description) else write_urdf(robot.description)
    return ModelSource(
        read,
        description,
        read_robot_description(read, inertia_check='ignore'),
        robot.gravity,
        tip,
        armatures={name: drive.reflected_inertia for name, drive in drives.items()},
        drives_are_given=True,
    )


def is_active(text: str, description: RobotDescription) -> bool:
    """Return whether a text has the links and joints of a description, field by field."""
    received = read_robot_description(text, inertia_check='ignore')
    return (
        [link.name for link in received.links] == [link.name for link in description.links]
        and [joint.name for joint in received.joints]
        == [joint.name for joint in description.joints]
        and not any(
            field_differences(DescriptionReading(received), DescriptionReading(description), 0.0)
        )
    )


def remarks(queried: ServiceModel) -> list[str]:
    """Return notes on parts of the active model that are not compared."""
    rotors = [name for name, drive in queried.robot.drives.items() if drive.rotor_axis is not None]
    found = []
    if rotors:
        found.append(
            f'  note       joints {shorten(rotors)}: compared with reflected inertias only; no '
            'other program models the angular momentum of rotors'
        )
    coupled = [motor.joint for motor in queried.robot.tree.motors]
    if coupled:
        found.append(f'  note       the coupled motors of joints {shorten(coupled)} are omitted')
    springs = [name for name, drive in queried.robot.drives.items() if drive.has_spring]
    if springs:
        found.append(f'  note       the springs of joints {shorten(springs)} are not compared')
    if queried.payloads:
        found.append(
            f'  note       the payload on {shorten(list(queried.payloads))} is not compared'
        )
    return found


def write_outcomes(response: Any, outcomes: list[ProgramOutcome]) -> None:
    """Write the outcomes into the response."""
    from screw_dynamics_msgs.msg import ProgramComparison

    for each in outcomes:
        message = ProgramComparison(name=each.name, version=each.version, reason=each.refusal)
        comparison = each.comparison
        if comparison is not None:
            found = comparison.differences
            message.compared, message.agrees = True, comparison.agrees
            message.explained = comparison.explained
            message.quantities = list(found)
            message.units = [UNITS[name] for name in found]
            message.absolute = [difference.absolute for difference in found.values()]
            message.relative = [difference.relative for difference in found.values()]
            message.where = [difference.where for difference in found.values()]
            message.causes = [str(cause) for cause in comparison.causes]
            message.notes = [*map(str, comparison.harmless), *each.notes]
        response.programs.append(message)
    compared = [each.comparison for each in outcomes if each.comparison is not None]
    response.agree = bool(compared) and all(each.agrees for each in compared)
    response.message = '; '.join(map(in_short, outcomes))
    if not compared:
        response.success, response.error_code = False, int(ErrorCode.NOT_AVAILABLE)


def in_short(each: ProgramOutcome) -> str:
    """Return a short text for the outcome of one program."""
    name = report.title(each)
    if each.comparison is None:
        return f'{name} {each.refusal}'
    if each.comparison.agrees:
        return f'{name} agrees to {each.comparison.tolerance:.0e}'
    causes = [f'{c.difference.subject}: {c.difference.field}' for c in each.comparison.causes]
    return f'{name} DIFFERS' + (f' by {shorten(causes)}' if causes else '')


DERIVED = {'v': 'velocities', 'a': 'accelerations'}


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
