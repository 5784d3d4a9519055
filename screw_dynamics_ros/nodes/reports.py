"""Statuses for /diagnostics: the description, the joint states, the outputs."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from screw_dynamics_ros.nodes.part import Channel
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.joint_states import JointStateMapper
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.policies import Reason

if TYPE_CHECKING:
    from screw_dynamics_ros.nodes.host import ModelHost

RECENT = 3.0  # s for which an incident stays on /diagnostics
SHORT_OF_FIELD = {Reason.VELOCITY_MISSING: 'velocity', Reason.EFFORT_MISSING: 'effort'}


class Load:
    """Arrivals of joint states and the time spent on them, since the last report and in all."""

    def __init__(self) -> None:
        self.started = self.last_arrival = time.monotonic()
        self.arrivals = 0
        self.overflows = 0
        self.last_overflow = self.last_unreadable = -math.inf
        self.unreadable_reason = ''
        self._reported = self.started
        self._reset()

    def _reset(self) -> None:
        self._count, self._served, self._busy, self._longest = 0, 0, 0.0, 0.0

    def arrived(self, now: float) -> None:
        """Count a message that came at `now` on the monotonic clock [s]."""
        self.arrivals += 1
        self._count += 1
        self.last_arrival = now

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
    status = Status('robot description')
    if host.model is not None:
        robot = host.model.robot
        status.values.update({
            'robot': robot.description.name, 'source': host.origin, 'backend': robot.backend,
            'total mass [kg]': f'{robot.total_mass:.6g}', 'joints': ', '.join(robot.joint_names),
            'root link': robot.description.root,
            'drives': ', '.join(host.parameters['drive_joints']) or 'friction of the description'})
    if host.compiling:
        status.report(Level.OK, 'compiling a robot description')
    elif host.reason:
        status.report(Level.ERROR, f'robot description refused: {host.reason}'
                      + ('; the one before stays in use' if host.model else ''))
    elif host.model is None:
        status.report(patience(host), 'no robot description yet: nothing on the topic '
                      'robot_description, and the parameter of that name is empty')
    if host.ignores_topic:
        status.report(Level.WARN, 'the topic robot_description differs from the parameter of that '
                      'name, which is in force; clear the parameter to follow the topic')
    if host.model is not None:
        if host.model.held:
            status.report(Level.WARN, 'planar and floating joints cannot come by joint states and '
                          f'are held at zero: {shorten(host.model.held)}')
        for finding in host.model.robot.description.findings:
            status.report(Level.OK if finding.severity == 'info' else Level.WARN, str(finding))
    return status


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
    if now - host.backlog.last < RECENT:
        native = host.model.robot.backend == 'native'
        status.report(Level.WARN, 'joint states come faster than they can be answered: '
                      f'{host.backlog.passed_over} passed over so far; lower their rate, listen to '
                      'fewer topics, or ' + ('set realtime_priority if others keep the processors '
                                             'busy' if native else 'install llvmlite'))
    if now - host.load.last_unreadable < RECENT:
        status.report(Level.WARN, f'unreadable message: {host.load.unreadable_reason}')
    report_records(status, mapper, host.channels, now)
    return status


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
