# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Diagnostics of the description, the joint states and the outputs."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy

from screw_dynamics_ros.core.state_checks import velocity_fault_findings
from screw_dynamics_ros.ros.description import DescriptionSource
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.policies import Reason
from screw_dynamics_ros.ros.names import printable, shorten
from screw_dynamics_ros.ros.topics.channel import Channel

from ..model.running_model import RunningModel
from .load import Load

INCIDENT_HOLD_S = 3.0  # an incident stays on /diagnostics for this time
OVERFLOW = 'results are not finite, as for positions or velocities that are too large'
SHORT_OF_FIELD = {
    Reason.VELOCITY_MISSING: 'velocity',
    Reason.EFFORT_MISSING: 'effort',
    Reason.EFFORT_UNKNOWN: 'effort',
}


def level_while_waiting(load: Load) -> Level:
    """Return the level for an input that has not arrived yet."""
    return Level.ERROR if time.monotonic() - load.started > INCIDENT_HOLD_S else Level.OK


def description_status(
    node: Node,
    descriptions: DescriptionSource,
    model: RunningModel | None,
    load: Load,
    *,
    drives: Sequence[str],
    compiling: bool,
    multi_dof: bool = False,
) -> Status:
    """Report the robot in use, its drives, and why another description was refused."""
    status, active = Status('robot description'), descriptions.active
    if model is not None:
        robot = model.robot
        status.values.update(
            {
                'robot': robot.description.name,
                'backend': model.backend,
                'source': active.origin if active else '',
                'total mass [kg]': f'{robot.total_mass:.6g}',
                'joints': ', '.join(robot.joint_names),
                'root link': robot.description.root,
                'drives': ', '.join(drives) or 'friction of the description',
            }
        )
    reason = printable(descriptions.reason)
    if reason:
        status.error(
            f'robot description refused: {reason}'
            + ('; the previous one stays in use' if model else '')
        )
    if compiling:
        status.report(Level.OK, 'compiling a robot description')
    elif model is None and not descriptions.reason:
        status.report(
            level_while_waiting(load),
            'no robot description yet: no message on the topic robot_description, and the '
            'parameter of that name is empty',
        )
    if model is None:
        report_volatile_descriptions(status, node)
    if descriptions.ignores_topic:
        status.warn(
            'the topic robot_description differs from the parameter of that '
            'name, which is active; clear the parameter to follow the topic'
        )
    if model is not None:
        if model.held and not multi_dof:
            status.warn(
                'joint states cannot contain planar, ball and floating joints, which are held at '
                f'zero: {shorten(model.held)}; set multi_dof_joint_states if a topic contains them'
            )
        for finding in model.robot.description.findings:
            status.report(Level.OK if finding.severity == 'info' else Level.WARN, str(finding))
    return status


def report_volatile_descriptions(status: Status, node: Node) -> None:
    """Name publishers of robot_description whose message later subscribers do not receive."""
    topic = node.resolve_topic_name('robot_description')
    names = publishers(node, topic, DurabilityPolicy.VOLATILE)
    if names:
        status.error(
            f'{shorten(names)} publishes {topic} with volatile durability, so that later '
            'subscribers do not receive it; publish it with transient local durability'
        )


def publishers(node: Node, topic: str, durability: DurabilityPolicy | None = None) -> list[str]:
    """Return the nodes that publish a topic, with a durability or any."""
    return [
        f'{info.node_namespace.rstrip("/")}/{info.node_name}'
        for info in node.get_publishers_info_by_topic(topic)
        if durability in (None, info.qos_profile.durability)
    ]


def report_clock(status: Status, node: Node) -> None:
    """Report a simulated clock that does not run."""
    if node.get_parameter('use_sim_time').value and node.get_clock().now().nanoseconds == 0:
        status.warn('use_sim_time is set, but no message has arrived on /clock')


def joint_state_status(
    node: Node,
    model: RunningModel | None,
    mapper: JointStateMapper | None,
    load: Load,
    channels: Sequence[Channel],
    *,
    timeout: float,
    model_since: float,
    scheduling_fault: str,
) -> Status:
    """Report whether states arrive, and their faults.

    `timeout` is the longest time without states [s], `model_since` the time of adoption of the
    model [s].
    """
    status, now = Status('joint states'), time.monotonic()
    status.values.update(load.take(now))
    silence = now - load.last_arrival
    report_clock(status, node)
    if scheduling_fault:
        status.warn(scheduling_fault)
    if model is None or mapper is None:
        status.warn('waiting for the robot description')
        return status
    if not model.joints:
        status.report(Level.OK, 'the robot has no joints to report')
        return status
    if not load.arrivals:
        topic = node.resolve_topic_name('joint_states')
        status.report(
            level_while_waiting(load),
            f'no message has arrived on {topic}, which has {node.count_publishers(topic)} '
            'publishers',
        )
    elif silence > timeout:
        status.error(f'no joint state for {silence:.1f} s; outputs have stopped')
    # Messages arrive, but none of them is valid.
    starved = silence <= timeout < now - max(mapper.last_accepted, model_since)
    if starved:
        status.error('no valid joint state for longer than state_timeout; outputs have stopped')
    if now - load.last_overflow < INCIDENT_HOLD_S:
        status.warn(f'{OVERFLOW}: {load.overflows} states without results so far')
    report_messages(status, load, now, remedy(model))
    report_records(status, mapper, needs(channels), now)
    return status


def report_messages(status: Status, load: Load, now: float, remedy: str = '') -> None:
    """Report late, lost and unreadable messages."""
    status.values['late, skipped'] = str(load.late)
    status.values['lost or merged'] = str(load.lost)
    if now - load.last_late < INCIDENT_HOLD_S:
        status.warn(
            f'a joint state was received {load.delay:.3f} s after its publication, later than '
            f'max_delay: {load.late} skipped so far; this process was stopped or is overloaded'
            + remedy
        )
    if load.loses:
        status.warn(
            f'{load.lost} joint states so far were lost in transport or merged into newer ones: '
            'they arrive faster than they can be transported and processed' + remedy
        )
    if now - load.last_unreadable < INCIDENT_HOLD_S:
        status.warn(f'unreadable message: {printable(load.unreadable_reason)}')


def needs(channels: Sequence[Channel]) -> set[str]:
    """Return the fields of joint states that topics require: 'velocity', 'effort'."""
    return {
        field for field in SHORT_OF_FIELD.values() if any(getattr(each, field) for each in channels)
    }


def remedy(model: RunningModel) -> str:
    """Return a remedy for slow processing, empty if there is none."""
    if model.backend == 'native':
        return ''
    is_too_long = model.robot.backend == 'native'  # to be compiled
    return '; describe a part of the robot' if is_too_long else '; install llvmlite'


def report_records(
    status: Status,
    mapper: JointStateMapper,
    needs: Collection[str],
    now: float,
    *,
    only_needs: bool = False,
) -> None:
    """Report data that the mapper has recently refused or substituted.

    `needs` are the fields from `needs`; with `only_needs` other fields are only counted.
    """
    for reason, record in mapper.records.items():
        status.values[f'{reason.name.lower()} count'] = str(record.count)
        if now - record.last >= INCIDENT_HOLD_S:
            continue
        field = SHORT_OF_FIELD.get(reason)
        is_missed = field is None or field in needs
        if only_needs and not is_missed:
            continue
        level = Level.ERROR if reason is Reason.DISPUTED else Level.WARN
        status.report(
            level if is_missed else Level.OK,
            reason.value + (f': {record.detail}' if record.detail else ''),
        )
    use = (
        f'are ignored (velocity_policy: {mapper.policies.velocity})'
        if mapper.policies.velocity_conflict == 'refuse'
        else 'are used (velocity_conflict_policy: report)'
    )
    if 'velocity' in needs or not only_needs:
        for finding in velocity_fault_findings(mapper.velocity_faults):
            status.report(
                Level.ERROR if 'velocity' in needs else Level.OK,
                f'{finding.subject}: {finding.message}, and {use}; {finding.remedy}',
            )
    status.values['age [ms]'] = f'{mapper.age * 1e3:.3f}'
    status.values['states'] = str(mapper.accepted)


def report_channels(
    status: Status, channels: Sequence[Channel], mapper: JointStateMapper | None
) -> None:
    """Report published topics, and why those with subscribers are silent; also log that once."""
    for channel in channels:
        status.values[channel.topic] = (
            f'{channel.published} messages, {channel.listeners} subscribers'
        )
    if mapper is None or not mapper.accepted:
        return
    report_explained(status, channels)
    for field, present in (('velocity', mapper.has_velocity), ('effort', mapper.has_effort)):
        silent = [channel.topic for channel in channels if getattr(channel, field)]
        if silent and not present:
            status.warn(f'not published: joint states contain no {field}: {shorten(silent)}')


def report_explained(status: Status, channels: Sequence[Channel]) -> None:
    """Report topics that have subscribers and are not published on purpose, with the remedy."""
    topics: dict[str, list[str]] = {}
    logged = set()
    for channel in channels:
        reason = channel.explain() if channel.explain is not None and channel.listeners else ''
        if reason:
            topics.setdefault(reason, []).append(channel.topic)
        if reason != channel.explained:
            channel.explained = reason
            logged.add(reason)
    for reason, silent in topics.items():
        text = f'{shorten(silent)}: subscribed, but not published: {reason}'
        status.report(Level.OK, text)
        if reason in logged:
            get_logger('screw_dynamics_ros').info(text)
