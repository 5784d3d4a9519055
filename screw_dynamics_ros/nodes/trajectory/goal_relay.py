# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Relay of goals to the controller, and of results back.

At most one goal is active at the controller, and one is pending. A new goal replaces the pending
one immediately, and preempts the active one when the controller accepts it. A refused goal thus has
no effect. An empty goal stops the robot.

A controller that was started again does not know its goals and never ends them: it is recognized by
the identity of its publisher of states, and by its answer to another request for the result.

Everything runs in the thread of the node's executor.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any

from action_msgs.srv import CancelGoal
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient, ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future

from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.timers import every

from .goal_preparation import INVALID_GOAL, SUCCESSFUL

POLL_PERIOD_S = 0.05  # between checks of the action server of the controller

# rclpy stores goals with their trajectories until their results expire: 15 min by default, which
# can fill the memory. The default of rclcpp is 10 s.
RESULT_TIMEOUT_S = 10

# Of action_msgs/GoalStatus.
ACCEPTED, SUCCEEDED, CANCELED, ABORTED = 1, 4, 5, 6

#: Answers to a cancellation after which the result is there, or there will never be one.
HAS_NO_SUCH_GOAL = (
    CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID,
    CancelGoal.Response.ERROR_GOAL_TERMINATED,
)


class Phase(Enum):
    """Phase of a goal."""

    PREPARED = 'being prepared'
    WAITING = 'waiting for the action server of the controller'
    SENT = 'sent to the controller'
    RUNNING = 'executed by the controller'
    ENDED = 'ended'


@dataclass(eq=False)
class Relay:
    """One goal.

    Attributes
    ----------
    handle : rclpy.action.server.ServerGoalHandle
    phase : Phase
    since : float
        Start of the phase, on the monotonic clock [s].
    goal : FollowJointTrajectory.Goal or None
        Goal for the controller.
    note : str
        Description of changes to the goal.
    controller : rclpy.action.client.ClientGoalHandle or None
        The goal at the controller.
    stop : str
        Reason for its cancellation at the controller; empty without one, or if it was refused.
    code : int
        Error code of its result if it is canceled for that reason; 0: that of the controller.
    asked : float
        When that began, on the monotonic clock [s].
    canceling : rclpy.task.Future or None
        The answer to its clients; None if the controller has not been asked, or has refused.
    answered : rclpy.task.Future or None
        Complete when rclpy has used this answer; None if no client waits for it.
    requested : float
        When its result was requested again, on the monotonic clock [s].
    servers : frozenset of bytes
        Publishers of the states of goals at the controller, when it accepted the goal.
    stopped_by : list of Relay
        Empty goals that wait for its end.
    """

    handle: Any
    phase: Phase = Phase.PREPARED
    since: float = 0.0
    goal: Any = None
    note: str = ''
    controller: Any = None
    stop: str = ''
    code: int = SUCCESSFUL
    asked: float = 0.0
    canceling: Any = None
    answered: Any = None
    requested: float = -math.inf
    servers: frozenset[bytes] = frozenset()
    stopped_by: list[Relay] = field(default_factory=list)

    def enter(self, phase: Phase) -> None:
        """Start a phase."""
        self.phase, self.since = phase, time.monotonic()


#: ``prepare(goal, done)`` calls ``done(goal or None, code, text)`` in the thread of the node.
Prepare = Callable[[Any, Callable[[Any, int, str], None]], None]


class GoalRelay:
    """An action server that relays its goals to another one.

    Parameters
    ----------
    node : rclpy.node.Node
    name, controller : str
        Names of both actions.
    prepare : callable
        Converts a goal to the one that is sent to the controller.
    timeout : callable
        Returns the timeout of the controller [s].
    on_idle : callable
        Called when a goal has ended and no other one is pending or active.

    Attributes
    ----------
    coming, running : Relay or None
        The pending goal, and the one that the controller executes.
    refusal : str
        Reason why the latest goal was refused; empty if it was not.
    fault : str
        What the controller did wrong with the latest goal; empty if nothing.
    counts : dict
        Number of goals by result.
    """

    def __init__(
        self,
        node: Node,
        name: str,
        controller: str,
        prepare: Prepare,
        timeout: Callable[[], float],
        on_idle: Callable[[], None] = lambda: None,
    ) -> None:
        self._node, self._controller = node, controller
        self._prepare, self._timeout, self._on_idle = prepare, timeout, on_idle
        self.coming: Relay | None = None
        self.running: Relay | None = None
        self.refusal, self.note, self.fault = '', '', ''
        self.last_end = 0.0  # of a goal, on the monotonic clock [s]
        self.counts = {'succeeded': 0, 'canceled': 0, 'aborted': 0}
        self._away: float | None = None  # since when the controller has been absent during a goal
        self._relays: dict[bytes, Relay] = {}
        self._is_ending = False
        self._client = ActionClient(node, FollowJointTrajectory, controller)
        self._server = ActionServer(
            node,
            FollowJointTrajectory,
            name,
            execute_callback=unused,
            handle_accepted_callback=self._on_goal,
            cancel_callback=self._answer_cancel,
            # A client waits for its answer while the controller is asked.
            callback_group=ReentrantCallbackGroup(),
            result_timeout=RESULT_TIMEOUT_S,
        )
        every(node, POLL_PERIOD_S, self._watch)

    @property
    def is_ready(self) -> bool:
        """Whether the action server of the controller is available."""
        return bool(self._client.server_is_ready())

    @property
    def is_idle(self) -> bool:
        """Whether no goal is pending or active."""
        return self.coming is None and self.running is None

    def _servers(self) -> frozenset[bytes]:
        """Return the publishers of the states of goals at the controller.

        A killed process remains among them until the middleware has noticed.
        """
        topic = f'{self._controller}/_action/status'
        found = self._node.get_publishers_info_by_topic(topic)
        return frozenset(bytes(each.endpoint_gid) for each in found)

    # --- goals ------------------------------------------------------------------------------------

    def _on_goal(self, handle: Any) -> None:
        """Start the preparation of a goal."""
        relay = Relay(handle)
        relay.enter(Phase.PREPARED)
        self._relays[bytes(handle.goal_id.uuid)] = relay
        mark_executing(handle)
        if self._is_ending:
            self._end(relay, ABORTED, INVALID_GOAL, 'the trajectory proxy is shutting down')
        elif not (handle.request.trajectory.points or handle.request.multi_dof_trajectory.points):
            self._on_stop(relay)
        else:
            if self.coming is not None:
                self._end(self.coming, ABORTED, INVALID_GOAL, 'replaced by a newer goal')
            self.coming = relay
            self._prepare(handle.request, partial(self._on_prepared, relay))

    def _on_stop(self, relay: Relay) -> None:
        """Stop the robot for an empty goal, which succeeds when the robot has stopped."""
        if self.coming is not None:
            self._end(self.coming, ABORTED, INVALID_GOAL, 'stopped by an empty trajectory')
        if self.running is None:
            self._end(relay, SUCCEEDED, SUCCESSFUL, '')
        else:
            self.running.stopped_by.append(relay)
            self._cancel(self.running, 'stopped by an empty trajectory')

    def _on_prepared(self, relay: Relay, goal: Any, code: int, text: str) -> None:
        """Send a prepared goal, or abort it if it was refused."""
        if relay.phase is not Phase.PREPARED:
            return  # already canceled or replaced
        if goal is None:
            self.refusal = text
            self._end(relay, ABORTED, code, text)
            return
        self.refusal, self.note, self.fault = '', text, ''
        relay.goal, relay.note = goal, text
        relay.enter(Phase.WAITING)
        self._send(relay)

    def _send(self, relay: Relay) -> None:
        """Send a goal if the controller is available."""
        if not self.is_ready:
            return
        relay.enter(Phase.SENT)
        future = self._client.send_goal_async(relay.goal, partial(self._on_feedback, relay))
        future.add_done_callback(FAULTS.guarded('a goal', partial(self._on_answer, relay)))

    def _on_answer(self, relay: Relay, future: Any) -> None:
        """Make an accepted goal the active one; it preempts the previous one."""
        controller = future.result()
        if relay.phase is not Phase.SENT:
            if controller is not None and controller.accepted:
                controller.cancel_goal_async()  # already canceled or replaced
            return
        if controller is None or not controller.accepted:
            self.refusal = f'{self._controller} has rejected the trajectory; see its log'
            self._end(relay, ABORTED, INVALID_GOAL, self.refusal)
            return
        relay.controller, relay.servers = controller, self._servers()
        relay.enter(Phase.RUNNING)
        before, self.running, self.coming, self._away = self.running, relay, None, None
        if before is not None:
            self._end(before, ABORTED, INVALID_GOAL, 'preempted by a newer goal')
        self._ask_for_result(relay)
        if relay.stop:
            self._ask_to_cancel(relay)

    def _on_feedback(self, relay: Relay, message: Any) -> None:
        if relay.phase is Phase.RUNNING:
            relay.handle.publish_feedback(message.feedback)

    def _ask_for_result(self, relay: Relay) -> None:
        """Request the result; a controller that does not know the goal answers immediately."""
        relay.controller.get_result_async().add_done_callback(
            FAULTS.guarded('a result', partial(self._on_result, relay))
        )

    def _on_result(self, relay: Relay, future: Any) -> None:
        """End a goal with the result of the controller."""
        if relay.phase is not Phase.RUNNING:
            return
        response = future.result()
        if response is None or response.status not in (SUCCEEDED, CANCELED, ABORTED):
            self._give_up(relay, f'{self._controller} no longer knows the goal; was it restarted?')
            return
        result = response.result
        stop = '' if response.status == SUCCEEDED else relay.stop
        texts = (stop, relay.note, result.error_string)
        code = relay.code if stop and relay.code else result.error_code
        self._end(relay, response.status, code, '; '.join(filter(None, texts)))

    # --- cancellation -----------------------------------------------------------------------------

    async def _answer_cancel(self, handle: Any) -> CancelResponse:
        """Answer a client that cancels its goal, as the controller answers."""
        answer = self._on_cancel(handle)
        if isinstance(answer, CancelResponse):
            return answer
        relay = self._relays[bytes(handle.goal_id.uuid)]
        answered = relay.answered = relay.answered or Future()
        response: CancelResponse = await answer
        if not answered.done():
            answered.set_result(None)
        return response

    def _on_cancel(self, handle: Any) -> CancelResponse | Future:
        """Cancel a goal in any phase; a sent goal ends when the controller ends it.

        Returns the answer, or its future if the controller decides.
        """
        relay = self._relays.get(bytes(handle.goal_id.uuid))
        if relay is None or relay.phase is Phase.ENDED:
            return CancelResponse.REJECT
        if relay.phase in (Phase.PREPARED, Phase.WAITING):
            self._end(relay, CANCELED, SUCCESSFUL, 'canceled before it was sent')
            return CancelResponse.ACCEPT
        self._cancel(relay, 'canceled')
        return relay.canceling if relay.phase is Phase.RUNNING else CancelResponse.ACCEPT

    def _cancel(self, relay: Relay, reason: str) -> None:
        """Cancel a goal at the controller, as soon as the controller has accepted it."""
        relay.stop = relay.stop or reason
        if relay.canceling is None:
            relay.canceling, relay.asked = Future(), time.monotonic()
            if relay.controller is not None:
                self._ask_to_cancel(relay)

    def _ask_to_cancel(self, relay: Relay) -> None:
        relay.asked = time.monotonic()
        relay.controller.cancel_goal_async().add_done_callback(
            FAULTS.guarded('a cancellation', partial(self._on_cancel_answer, relay))
        )

    def _on_cancel_answer(self, relay: Relay, future: Any) -> None:
        """Pass on whether the controller cancels; if not, the goal continues."""
        if relay.phase is not Phase.RUNNING:
            return
        response = future.result()
        if response is not None and response.goals_canceling:
            answer(relay, CancelResponse.ACCEPT)
        elif response is not None and response.return_code in HAS_NO_SUCH_GOAL:
            self._ask_for_result(relay)
        else:
            self._on_refused_cancel(relay)

    def _on_refused_cancel(self, relay: Relay) -> None:
        """Let a goal continue that the controller does not cancel."""
        self.fault = f'{self._controller} refuses to cancel the goal, which continues; see its log'
        answer(relay, CancelResponse.REJECT)
        relay.canceling = relay.answered = None
        stopped_by, relay.stopped_by = relay.stopped_by, []
        for other in stopped_by:
            if other.phase is not Phase.ENDED:
                self._end(other, ABORTED, INVALID_GOAL, self.fault)
        if self._is_ending:
            self._give_up(relay, f'{relay.stop}; {self.fault}')
        relay.stop, relay.code = '', SUCCESSFUL

    def _give_up(self, relay: Relay, reason: str) -> None:
        """Abort a goal that the controller no longer reports."""
        self.fault = reason
        self._end(relay, ABORTED, INVALID_GOAL, reason)

    def _end(self, relay: Relay, status: int, code: int, text: str) -> None:
        """End a goal with a status, in a separate task: a cancellation must take effect first."""
        relay.enter(Phase.ENDED)
        self.last_end = relay.since
        answer(relay, CancelResponse.ACCEPT if status == CANCELED else CancelResponse.REJECT)
        self._relays.pop(bytes(relay.handle.goal_id.uuid), None)
        if relay is self.coming:
            self.coming = None
        if relay is self.running:
            self.running = None
        result = FollowJointTrajectory.Result(error_code=code, error_string=text)

        async def finish(handle: Any) -> Any:
            if relay.answered is not None:
                await relay.answered
            return self._finished(handle, status, result)

        if relay.handle.status == ACCEPTED:
            relay.handle.execute(finish)
        else:
            self._server.notify_execute(relay.handle, finish)
        for other in relay.stopped_by:
            if other.phase is not Phase.ENDED:
                self._end(other, SUCCEEDED, SUCCESSFUL, '')
        if self.is_idle:
            self._on_idle()

    def _finished(self, handle: Any, status: int, result: Any) -> Any:
        """Set the final state of a client's goal; return the result."""
        if status == SUCCEEDED:
            handle.succeed()
            self.counts['succeeded'] += 1
        elif status == CANCELED and handle.is_cancel_requested:
            handle.canceled()
            self.counts['canceled'] += 1
        else:
            handle.abort()
            self.counts['aborted'] += 1
        return result

    # --- absent controller, shutdown --------------------------------------------------------------

    def _watch(self) -> None:
        """Check whether the action server of the controller is available."""
        now, timeout = time.monotonic(), self._timeout()
        if self.coming is not None and self.coming.phase in (Phase.WAITING, Phase.SENT):
            self._watch_coming(self.coming, now, timeout)
        if self.running is not None:
            self._watch_running(self.running, now, timeout)

    def _watch_running(self, relay: Relay, now: float, timeout: float) -> None:
        """Abort a goal whose controller has ended, was restarted, or ignores a cancellation."""
        servers = self._servers()
        if servers and not servers & relay.servers:
            self._give_up(relay, f'{self._controller} was restarted during the goal')
        elif is_open(relay) and now - relay.asked > timeout:
            text = f'{self._controller} did not respond after {timeout:g} s; it may still move'
            self._give_up(relay, f'{relay.stop}: {text}')
        elif not self.is_ready:
            self._away = now if self._away is None else self._away
            if now - self._away > timeout:
                text = f'{self._controller} has been unavailable for {timeout:g} s'
                self._give_up(relay, text)
        elif self._away is not None or (
            servers - relay.servers and now - relay.requested > timeout
        ):
            self._away, relay.requested = None, now
            self._ask_for_result(relay)

    def _watch_coming(self, coming: Relay, now: float, timeout: float) -> None:
        """Send a goal as soon as the controller is available; abort it after the timeout."""
        if coming.phase is Phase.WAITING:
            self._send(coming)
        if now - coming.since > timeout:
            what = 'is not available' if coming.phase is Phase.WAITING else 'did not respond'
            self.refusal = (
                f'{self._controller} {what} after {timeout:g} s; start the controller, or correct '
                'controller_action'
            )
            self._end(coming, ABORTED, INVALID_GOAL, self.refusal)

    def stop_all(self) -> None:
        """Refuse new goals and cancel the active one, because the process is shutting down."""
        self._is_ending = True
        self.interrupt('the trajectory proxy is shutting down')

    def interrupt(self, reason: str, code: int = SUCCESSFUL) -> None:
        """Abort the pending goal and cancel the active one, with a reason and an error code."""
        if self.coming is not None:
            self._end(self.coming, ABORTED, code or INVALID_GOAL, reason)
        if self.running is not None:
            self.running.code = self.running.code or code
            self._cancel(self.running, reason)


def answer(relay: Relay, response: CancelResponse) -> None:
    """Answer the clients that wait for the cancellation of a goal, once."""
    if is_open(relay):
        relay.canceling.set_result(response)


def is_open(relay: Relay) -> bool:
    """Whether the controller has been asked to cancel a goal, and has not answered."""
    return relay.canceling is not None and not relay.canceling.done()


def mark_executing(handle: Any) -> None:
    """Set the state of a goal to executing.

    `ServerGoalHandle.execute` does so too, but makes the executor run a function until the goal
    ends. If this version of rclpy has another interface, the state changes only at the end.
    """
    with suppress(ImportError, AttributeError):
        from rclpy.impl.implementation_singleton import rclpy_implementation

        handle._update_state(rclpy_implementation.GoalEvent.EXECUTE)


def unused(handle: Any) -> Any:
    """Never called: goals end by `ActionServer.notify_execute`."""
    raise AssertionError
