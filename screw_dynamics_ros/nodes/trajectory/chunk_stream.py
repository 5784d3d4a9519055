# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Chunks of trajectories from a topic, joined to the motion that is being sent.

One chunk is prepared at a time, in another process; meanwhile the newest one waits. Everything runs
in the thread of the actions.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.core import ScrewDynamicsError
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.messages.cdr import stamp_of_clock
from screw_dynamics_ros.ros.messages.conversions import time_message
from screw_dynamics_ros.ros.messages.trajectories import set_duration
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.timers import every
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.command_topic import CommandTopic

from ..parameters.per_joint import PerJoint
from ..services.requests import RequestContext
from .chunk_preparation import PreparedChunk, SentMotion, prepare_chunk
from .contact_watch import HOLD, RETREAT
from .goal_preparation import MAX_POINTS, Settings

try:
    from screw_dynamics_msgs.msg import ImpedanceCommand
except ImportError:
    ImpedanceCommand = None

TOPIC, FRAMES = '~/joint_trajectory', '~/impedance_command'
TRAJECTORY, IMPEDANCE = OUTPUTS = ('trajectory', 'impedance_command')
#: For some joints, in this order.
OWN = PerJoint(
    'chunk_joints',
    ('acceleration_limits', 'jerk_limits', 'impedance_stiffness', 'impedance_damping'),
)

PUBLISHER_TIMEOUT_S = 1.0  # without a chunk, after the end of the motion
PREPARATIONS = 10  # whose longest time determines the time until the join
RESERVE = 1.5  # of that time
MAX_LEAD_S = 0.5
MAX_TRIES = 3  # for a chunk whose preparation takes too long
UNPREPARED_REACTION_S = 0.2  # if it cannot be prepared


@dataclass(frozen=True)
class ChunkRequest:
    """A chunk to be prepared.

    Attributes
    ----------
    data : bytes
        Serialized trajectory_msgs/JointTrajectory.
    tries : int
        How often its preparation took too long.
    reaction : str
        To a contact, which must be sent; empty for the chunk of a policy.
    """

    data: bytes
    tries: int = 0
    reaction: str = ''


class ChunkStream:
    """The topic of chunks, and the motions sent for them.

    Parameters
    ----------
    node : rclpy.node.Node
        Resolves names, and has the clock of the stamps.
    actions : rclpy.node.Node
        Has the topics.
    parameters : Parameters
    situation : callable
        Returns the current `RequestContext`; raises `ScrewDynamicsError` if it does not suffice.
    settings : callable
        Returns the current `Settings`.
    ask : callable
        ``ask(function, arguments, done)`` calls a function in another process, and ``done`` with
        its result or the error.
    clear : callable
        Ends goals because a chunk has come; returns why it is refused, '' if it is not.
    is_idle : callable
        Whether no goal is pending or active.

    Attributes
    ----------
    sent : SentMotion or None
        The motion that is followed.
    halted : str
        The contact since which chunks are refused; empty without one.
    """

    def __init__(
        self,
        node: Node,
        actions: Node,
        parameters: Parameters,
        situation: Callable[[], RequestContext],
        settings: Callable[[], Settings],
        ask: Callable[..., None],
        clear: Callable[[], str],
        is_idle: Callable[[], bool],
    ) -> None:
        self._node, self._parameters, self._situation = node, parameters, situation
        self._settings, self._ask, self._clear, self._is_idle = settings, ask, clear, is_idle
        self.sent: SentMotion | None = None
        self._refusal, self._note = '', ''
        self.resume()
        self._counts = {'sent': 0, 'refused': 0, 'late': 0}
        self._waiting: ChunkRequest | None = None
        self._is_busy = False
        self._generation = 0  # of chunks; earlier ones are discarded
        self._durations: deque[float] = deque(maxlen=PREPARATIONS)
        self._topic = CommandTopic(
            actions,
            JointTrajectory,
            node.resolve_topic_name(TOPIC),
            self._receive,
            self._refuse,
            lambda: PUBLISHER_TIMEOUT_S,
            lambda: self.is_moving,
        )
        self._fault = ''
        self._sends_frames = parameters['chunk_output'] == IMPEDANCE
        if not self._sends_frames:
            topic = parameters['controller_topic'] or controller_topic(
                parameters['controller_action']
            )
            topic = node.resolve_topic_name(topic)
            self._publisher = actions.create_publisher(JointTrajectory, topic, qos.OUTPUT)
        elif ImpedanceCommand is None:
            self._fault = f'no {FRAMES}: the package screw_dynamics_msgs is not installed'
        else:
            topic = node.resolve_topic_name(FRAMES)
            self._publisher = actions.create_publisher(ImpedanceCommand, topic, qos.COMMAND)
            every(actions, 1.0 / parameters['impedance_rate'], self._send_frame)

    @property
    def _now(self) -> int:
        return stamp_of_clock(self._node.get_clock().now().nanoseconds)

    @property
    def is_moving(self) -> bool:
        """Whether a motion has been sent that has not ended."""
        return self.sent is not None and self.sent.start <= self._now < self.sent.end

    @property
    def lead(self) -> float:
        """Time from the beginning of a preparation to the join [s]."""
        longest = RESERVE * max(self._durations, default=0.0)
        return min(max(self._parameters['join_lead'], longest), MAX_LEAD_S)

    # --- chunks -----------------------------------------------------------------------------------

    def _receive(self, message: Any) -> None:
        """Prepare a chunk as soon as no other one is being prepared."""
        reason = self._fault
        if len(message.points) > MAX_POINTS:
            reason = f'it has {len(message.points)} points, at most {MAX_POINTS} are accepted'
        elif self.halted:
            reason = f'{self.halted}; call ~/resume when the robot may move again'
        reason = reason or self._clear()
        if reason:
            self._refuse(reason)
            return
        self._waiting = ChunkRequest(serialize_message(message))
        self.begin()

    def begin(self) -> None:
        """Begin to prepare the chunk that waits, unless goals or another chunk are in progress."""
        request = self._waiting
        if request is None or self._is_busy or not self._is_idle():
            return
        self._waiting = None
        situation = self._current()
        if situation is None:
            return
        now, lead, reaction = self._now, self.lead, request.reaction
        sent = None if reaction else self.sent  # at a contact the robot is not where it is sent
        arguments = (situation, self._settings(), request.data, sent, now, lead, reaction)
        join = now + round(lead * NANOSECONDS)
        self._is_busy = True
        done = partial(self._on_prepared, request, self._generation, join, time.monotonic())
        self._ask(prepare_chunk, arguments, done)

    def _on_prepared(
        self, request: ChunkRequest, generation: int, join: int, begun: float, found: Any
    ) -> None:
        """Send a prepared chunk, or prepare it again if the time of its join has passed."""
        self._is_busy = False
        self._durations.append(time.monotonic() - begun)
        if generation == self._generation:
            self._use(request, join, found)
        self.begin()

    def _use(
        self, request: ChunkRequest, join: int, found: PreparedChunk | ScrewDynamicsError
    ) -> None:
        if isinstance(found, ScrewDynamicsError) or found.sent is None:
            text = str(found) if isinstance(found, ScrewDynamicsError) else found.text
            self._refuse(text)
            if request.reaction:
                self._send(request.data, None)
            return
        if self._current() is None:
            return
        if self._now > join:
            self._counts['late'] += 1
            if request.tries + 1 < MAX_TRIES or request.reaction:
                self._waiting = self._waiting or replace(request, tries=request.tries + 1)
            else:
                self._refuse('its preparation took too long; increase join_lead')
            return
        self._refusal, self._note = '', found.text
        self._counts['sent'] += 1
        self._send(found.data, found.sent)

    def _current(self) -> RequestContext | None:
        """Return the situation with a measured state; refuse the chunk if there is none."""
        try:
            situation = self._situation()
        except ScrewDynamicsError as error:
            self._refuse(str(error))
            return None
        if situation.measured is None:
            self._refuse('no current joint state; see /diagnostics')
            return None
        return situation

    def _send(self, data: bytes, sent: SentMotion | None) -> None:
        self.sent = sent
        if not self._sends_frames:
            self._publisher.publish(data)

    def _refuse(self, reason: str) -> None:
        """Store why the latest chunk was refused."""
        self._counts['refused'] += 1
        self._refusal = reason

    def forget(self) -> None:
        """Forget the motion and the chunks that wait: another motion replaces it."""
        self._generation += 1
        self._waiting = self.sent = None
        self.resume()

    def resume(self) -> None:
        """Accept chunks again after a contact."""
        self.halted, self._stiffness = '', 1.0

    # --- contact ----------------------------------------------------------------------------------

    def react(self, reason: str, motion: SentMotion | None, back: float, stiffness: float) -> None:
        """Stop at a contact, where the robot was on a motion some time before now [s]; 0: here.

        Without a motion chunks are refused only. Frames have `stiffness` times that of the
        parameters from then on.
        """
        self._generation += 1
        self._waiting, self.halted, self._stiffness = None, reason, stiffness
        if motion is None:
            return
        q, *_ = motion.at(max(self._now - round(back * NANOSECONDS), motion.start), motion.joints)
        point = JointTrajectoryPoint(positions=q.tolist())
        set_duration(point.time_from_start, UNPREPARED_REACTION_S)
        message = JointTrajectory(joint_names=list(motion.joints), points=[point])
        self._waiting = ChunkRequest(serialize_message(message), reaction=RETREAT if back else HOLD)
        self.begin()

    # --- frames -----------------------------------------------------------------------------------

    def _send_frame(self) -> None:
        """Publish position, velocity, effort and gains of the motion now."""
        sent = self.sent
        if sent is None:
            return
        if self._current() is None:
            self.sent = None
            return
        now = self._now
        q, v, _ = sent.at(now, sent.joints)
        frame = ImpedanceCommand(
            joint_names=list(sent.joints),
            position=q.tolist(),
            velocity=v.tolist(),
            effort=sent.efforts(now),
        )
        frame.header.stamp = time_message(now)
        for name, factor in (('stiffness', self._stiffness), ('damping', 1.0)):
            gains = OWN.array(f'impedance_{name}', self._parameters, sent.joints, np.nan)
            if np.isfinite(gains).all():
                setattr(frame, name, (factor * gains).tolist())
        self._publisher.publish(frame)

    # --- report -----------------------------------------------------------------------------------

    def report(self, status: Status) -> None:
        """Report the motion, and why the latest chunk was refused."""
        self._topic.report(status)
        if self._fault:
            status.error(self._fault)
        if self.halted:
            status.warn(f'chunks are refused: {self.halted}; ~/resume accepts them')
        elif self._refusal:
            status.warn(f'the latest chunk was refused: {self._refusal}')
        status.values['chunks'] = ', '.join(f'{n} {how}' for how, n in self._counts.items())
        state = 'moving' if self.is_moving else 'at its end'
        status.values['motion of chunks'] = 'none' if self.sent is None else state
        status.values['latest join'] = self._note or 'unchanged'
        status.values['time to the join [ms]'] = f'{1e3 * self.lead:.1f}'


def controller_topic(action: str) -> str:
    """Return the topic for trajectories of the controller with an action.

    Examples
    --------
    >>> controller_topic('/arm_controller/follow_joint_trajectory')
    '/arm_controller/joint_trajectory'
    """
    return f'{action.rpartition("/")[0]}/joint_trajectory'
