"""Statuses for /diagnostics: the description, the joint states, the outputs."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rclpy.qos import DurabilityPolicy

from screw_dynamics_ros.nodes.part import Channel
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.joint_states import JointStateMapper
from screw_dynamics_ros.ros.names import printable, shorten
from screw_dynamics_ros.ros.policies import Reason

if TYPE_CHECKING:
    from screw_dynamics_ros.nodes.host import ModelHost
    from screw_dynamics_ros.nodes.model import Model

RECENT = 3.0  # s for which an incident stays on /diagnostics
LOSSES = 0.1  # share of joint states, lost on the way or overtaken, that is worth a warning
SHORT_OF_FIELD = {Reason.VELOCITY_MISSING: 'velocity', Reason.EFFORT_MISSING: 'effort'}


class Load:
    """Arrivals of joint states and the time spent on them, since the last report and in all."""

    def __init__(self) -> None:
        self.started = self.last_arrival = time.monotonic()
        self.arrivals = 0
        self.overflows = self.late = self.lost = 0
        self.delay = 0.0
        self.last_overflow = self.last_unreadable = self.last_late = -math.inf
        self.unreadable_reason = ''
        self.loses = False
        self._reported = self.started
        self._reset()

    def _reset(self) -> None:
        self._count, self._served, self._busy, self._longest = 0, 0, 0.0, 0.0
        self._lost = self.lost

    def arrived(self, now: float) -> None:
        """Count a message that came at `now` on the monotonic clock [s]."""
        self.arrivals += 1
        self._count += 1
        self.last_arrival = now

    def was_late(self, now: float, delay: float) -> None:
        """Count a state that was not answered because it had been under way for `delay` [s]."""
        self.late += 1
        self.last_late, self.delay = now, delay

    def overflowed(self, now: float) -> None:
        """Count a state whose results were not finite."""
        self.overflows += 1
        self.last_overflow = now

    def unreadable(self, now: float, error: Exception) -> None:
        """Note a message that is no JointState."""
        self.last_unreadable = now
        self.unreadable_reason = str(error)

    def served(self, duration: float) -> None:
        """Count a message that was answered within `duration` [s]."""
        self._served += 1
        self._busy += duration
        self._longest = max(self._longest, duration)

    def take(self, now: float) -> dict[str, str]:
        """Return rates and times since the last report, and start anew."""
        interval = max(now - self._reported, 1e-9)
        self.loses = self.lost - self._lost > LOSSES * (self._count + self.lost - self._lost)
        values = {'rate [Hz]': f'{self._count / interval:.1f}'}
        if self._served:
            values['processing mean [us]'] = f'{self._busy / self._served * 1e6:.1f}'
            values['processing longest [us]'] = f'{self._longest * 1e6:.1f}'
        self._reported = now
        self._reset()
        return values


def patience(host: ModelHost) -> Level:
    """Return how bad it is that something has not come yet."""
    return Level.ERROR if time.monotonic() - host.load.started > RECENT else Level.OK


def description_status(host: ModelHost) -> Status:
    """Report which robot is in use, and why not another one."""
    status, in_force = Status('robot description'), host.descriptions.in_force
    if host.model is not None:
        robot = host.model.robot
        status.values.update({
            'robot': robot.description.name, 'backend': robot.backend,
            'source': in_force.origin if in_force else '',
            'total mass [kg]': f'{robot.total_mass:.6g}', 'joints': ', '.join(robot.joint_names),
            'root link': robot.description.root,
            'drives': ', '.join(host.parameters['drive_joints']) or 'friction of the description'})
    reason = printable(host.descriptions.reason)
    if reason:
        status.report(Level.ERROR, f'robot description refused: {reason}'
                      + ('; the one before stays in use' if host.model else ''))
    if host.compiling:
        status.report(Level.OK, 'compiling a robot description')
    elif host.model is None and not host.descriptions.reason:
        status.report(patience(host), 'no robot description yet: nothing on the topic '
                      'robot_description, and the parameter of that name is empty')
    report_volatile_descriptions(status, host)
    if host.descriptions.ignores_topic:
        status.report(Level.WARN, 'the topic robot_description differs from the parameter of that '
                      'name, which is in force; clear the parameter to follow the topic')
    if host.model is not None:
        if host.model.held:
            status.report(Level.WARN, 'planar and floating joints cannot come by joint states and '
                          f'are held at zero: {shorten(host.model.held)}')
        for finding in host.model.robot.description.findings:
            status.report(Level.OK if finding.severity == 'info' else Level.WARN, str(finding))
    return status


def report_volatile_descriptions(status: Status, host: ModelHost) -> None:
    """Name publishers of robot_description that nobody hears who comes after them."""
    if host.model is not None:
        return
    topic = host.node.resolve_topic_name('robot_description')
    names = [f'{info.node_namespace.rstrip("/")}/{info.node_name}'
             for info in host.node.get_publishers_info_by_topic(topic)
             if info.qos_profile.durability == DurabilityPolicy.VOLATILE]
    if names:
        status.report(Level.ERROR, f'{shorten(names)} publishes {topic} with volatile durability, '
                      'which reaches nobody who needs it later; publish it with transient local '
                      'durability')


def joint_state_status(host: ModelHost) -> Status:
    """Report whether states arrive, and what was wrong with them."""
    status, now = Status('joint states'), time.monotonic()
    status.values.update(host.load.take(now))
    timeout = host.parameters['state_timeout'] or math.inf
    silence = now - host.load.last_arrival
    if host.node.get_parameter('use_sim_time').value and (
            host.node.get_clock().now().nanoseconds == 0):
        status.report(Level.WARN, 'use_sim_time is set and nothing has come on /clock')
    if host.scheduling_fault:
        status.report(Level.WARN, host.scheduling_fault)
    if host.model is None:
        status.report(Level.WARN, 'waiting for the robot description')
        return status
    if not host.model.joints:
        status.report(Level.OK, 'the robot has no joints to report')
        return status
    mapper = host.model.mapper
    if not host.load.arrivals:
        topic = host.node.resolve_topic_name('joint_states')
        status.report(patience(host), f'nothing has come on {topic}, which has '
                      f'{host.node.count_publishers(topic)} publishers')
    elif silence > timeout:
        status.report(Level.ERROR, f'no joint state for {silence:.1f} s; outputs have stopped')
    # Messages come, but none of them is of use.
    starved = silence <= timeout < now - max(mapper.last_accepted, host.model_since)
    if starved:
        status.report(Level.ERROR, 'no usable joint state for longer than state_timeout; outputs '
                      'have stopped')
    if now - host.load.last_overflow < RECENT:
        status.report(Level.WARN, 'positions or velocities too large to compute with: '
                      f'{host.load.overflows} states without results so far')
    status.values['late, not answered'] = str(host.load.late)
    status.values['lost or overtaken'] = str(host.load.lost)
    if now - host.load.last_late < RECENT:
        status.report(Level.WARN, f'a joint state came {host.load.delay:.3f} s after it was sent, '
                      f'later than max_delay: {host.load.late} not answered so far; this process '
                      'stood still or has too much to do' + remedy(host.model))
    if host.load.loses:
        status.report(Level.WARN, f'{host.load.lost} joint states so far were lost on the way or '
                      'overtaken by newer ones before their turn: they come faster than they can '
                      'be sent and answered' + remedy(host.model))
    if now - host.load.last_unreadable < RECENT:
        status.report(Level.WARN, f'unreadable message: {printable(host.load.unreadable_reason)}')
    report_records(status, mapper, host.channels, now)
    return status


def remedy(model: Model) -> str:
    """Return what makes the answers faster, empty if nothing does."""
    return '' if model.robot.backend == 'native' else '; install llvmlite'


def report_records(
    status: Status, mapper: JointStateMapper, channels: Sequence[Channel], now: float,
) -> None:
    """Add what the mapper refused or repaired of late."""
    for reason, record in mapper.records.items():
        status.values[f'{reason.name.lower()} count'] = str(record.count)
        if now - record.last >= RECENT:
            continue
        field = SHORT_OF_FIELD.get(reason)
        is_missed = field is None or any(getattr(channel, field) for channel in channels)
        status.report(Level.WARN if is_missed else Level.OK,
                      reason.value + (f': {record.detail}' if record.detail else ''))
    status.values['age [ms]'] = f'{mapper.age * 1e3:.3f}'
    status.values['states'] = str(mapper.accepted)


def report_channels(status: Status, channels: Sequence[Channel], host: ModelHost) -> None:
    """Add what is published, and what cannot be for want of velocities or efforts."""
    for channel in channels:
        status.values[channel.topic] = (
            f'{channel.published} messages, {channel.listeners} listeners')
    if host.model is None or not host.model.mapper.accepted:
        return
    mapper = host.model.mapper
    for field, present in (('velocity', mapper.has_velocity), ('effort', mapper.has_effort)):
        silent = [channel.topic for channel in channels if getattr(channel, field)]
        if silent and not present:
            status.report(Level.WARN, f'not published for want of {field}: {shorten(silent)}')
