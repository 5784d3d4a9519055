# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node `trajectory_proxy`: adds efforts to trajectories and enforces limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message
from std_srvs.srv import Trigger

from screw_dynamics_ros.core import ArgumentError, Robot, ScrewDynamicsError
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.messages.cdr import stamp_of_clock
from screw_dynamics_ros.ros.messages.trajectories import read_trajectory, stamp_of
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.latest import Latest
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.process.worker import FunctionError, Worker, WorkerError
from screw_dynamics_ros.ros.topics.channel import Channel

from ..hosting.host import ModelHost
from ..hosting.node_process import Process
from ..model.parts import Adopted, Plan, Stage
from ..services.requests import RequestContext, pickled
from .chunk_preparation import SentMotion
from .chunk_stream import IMPEDANCE, OWN, ChunkStream
from .contact_watch import COMPLIANT, RETREAT, ContactWatch
from .goal_preparation import (
    INVALID_GOAL,
    MAX_GIVEN_POINTS,
    PATH_TOLERANCE_VIOLATED,
    PreparedGoal,
    Settings,
    prepare,
    warm_up,
)
from .parameters import TABLE

if TYPE_CHECKING:
    from .goal_relay import GoalRelay

try:
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None

T = TypeVar('T')

ACTION, RESUME = '~/follow_joint_trajectory', '~/resume'
COMPLIANT_STIFFNESS = 0.1  # after a contact, part of that before
DELIVERY_TIMEOUT_S = 0.3  # for the last results to reach their clients

ABSENT = (
    'no action server: the package control_msgs is not installed; install it '
    '(ros-<distribution>-control-msgs) and start the node again'
)


class TrajectoryProxy:
    """An action server that forwards prepared goals to a joint trajectory controller.

    Actions belong to a separate node in a separate thread, beside the host of the model; goals are
    prepared in another process.

    Parameters
    ----------
    node : rclpy.node.Node
    host : ModelHost

    Attributes
    ----------
    nodes : list of rclpy.node.Node
        Nodes that must run in another thread.
    relay : GoalRelay or None
        None without control_msgs.
    """

    def __init__(self, node: Node, host: ModelHost) -> None:
        self._node, self._host = node, host
        self._parameters = Parameters(node, TABLE, self._check)
        self._check(self._parameters.values)
        self._worker = Worker('prepares trajectories')
        # Only the newest robot and the newest goal are processed, in turns, in the other process.
        self._compilation, self._preparation, self._joining = (
            Latest[None](f'{what} trajectories', in_ordinary_time=False)
            for what in ('compilation for', 'preparation of', 'joining of')
        )
        self._duration = 0.0  # of the latest preparation [s]
        self._ends: float | None = None
        self.nodes: list[Node] = []
        self.relay: GoalRelay | None = None
        if FollowJointTrajectory is None:
            return
        from .goal_relay import GoalRelay

        self._actions = Node(
            f'_{node.get_name()}_actions',
            namespace=node.get_namespace(),
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
            parameter_overrides=[Parameter('start_type_description_service', value=False)],
        )
        self.nodes.append(self._actions)
        self.relay = GoalRelay(
            self._actions,
            node.resolve_service_name(ACTION),
            node.resolve_service_name(self._parameters['controller_action']),
            self._prepare,
            lambda: self._parameters['controller_timeout'],
            lambda: self._chunks.begin(),
        )
        self._chunks = ChunkStream(
            node,
            self._actions,
            self._parameters,
            self._situation,
            self._settings,
            partial(self._ask, self._joining),
            self._clear,
            lambda: self.relay is not None and self.relay.is_idle,
        )
        self._watch = ContactWatch(
            self._actions, self._parameters, lambda: self._is_moving, self._react
        )
        self._actions.create_service(
            Trigger, node.resolve_service_name(RESUME), FAULTS.guarded('~/resume', self._resume)
        )
        host.endings.append(self)

    # --- model ------------------------------------------------------------------------------------

    def stages(self) -> list[Stage]:
        """Return no stages: joint states are not used."""
        return []

    def plan(self, robot: Robot) -> Plan:
        """Return an empty plan: nothing is computed for joint states."""
        return Plan([])

    def bind(self, adopted: Adopted[Plan]) -> list[Channel]:
        """Compile the functions for goals of a new robot, before the first goal."""
        if self.relay is not None:
            self._chunks.forget()
        robot = pickled(adopted.model.robot)

        def task() -> None:
            with suppress(WorkerError):  # the first goal reports the reason
                self._call(warm_up, robot)

        self._compilation.ask(task)
        return []

    # --- goals ------------------------------------------------------------------------------------

    def _check(self, given: dict[str, Any]) -> None:
        """Refuse numbers that do not fit the named joints, and reactions without frames."""
        values = {**self._parameters.values, **given}
        OWN.check(values)
        has_gains = values['chunk_output'] == IMPEDANCE and values['impedance_stiffness']
        if values['contact_reaction'] == COMPLIANT and not has_gains:
            raise ArgumentError(
                f'contact_reaction {COMPLIANT} needs chunk_output {IMPEDANCE}, and '
                'impedance_stiffness of all joints'
            )

    def _settings(self) -> Settings:
        names = (
            'on_excess',
            'effort_limit_factor',
            'effort_share',
            'compensated_terms',
            'scale_tolerances',
            'resolution',
            'start_tolerance',
            'join_time',
        )
        limits = (OWN.of(name, self._parameters) for name in OWN.numbers[:2])
        return Settings(*(self._parameters[name] for name in names), *limits)

    def _situation(self) -> RequestContext:
        """Return the current context; raises `ScrewDynamicsError` if efforts are unknown."""
        with STATE_LOCK:  # no output of this node reads the motion of the base
            self._host.base_source.prepare()
            self._host.multi_dof_source.prepare()
        suspension = self._host.suspension
        if suspension:
            raise ArgumentError(f'no efforts can be computed: {suspension}')
        return self._host.situation(self._host.payloads.bodies())

    def _prepare(self, goal: Any, done: Callable[[Any, int, str], None]) -> None:
        """Prepare a goal in the other process; `done` is called in the thread of the actions."""
        count = len(goal.trajectory.points)
        if count > MAX_GIVEN_POINTS:
            text = f'the trajectory has {count} points, at most {MAX_GIVEN_POINTS} are accepted'
            done(None, INVALID_GOAL, f'{text}; send fewer, the controller interpolates')
            return
        try:
            situation, fault = self._situation(), self._watch.fault
        except ScrewDynamicsError as error:
            fault = str(error)
        if fault:
            done(None, INVALID_GOAL, fault)
            return
        now = stamp_of_clock(self._node.get_clock().now().nanoseconds)

        def finish(prepared: PreparedGoal | WorkerError) -> None:
            if isinstance(prepared, WorkerError):
                text = f'the trajectory could not be prepared: {prepared}'
                prepared = PreparedGoal(b'', INVALID_GOAL, text)
            kind, data = FollowJointTrajectory.Goal, prepared.data
            if data:
                self._chunks.forget()
            goal = deserialize_message(data, kind) if data else None
            done(goal, prepared.code, prepared.text)

        arguments = situation, self._settings(), serialize_message(goal), now
        self._ask(self._preparation, prepare, arguments, finish)

    def _ask(
        self,
        thread: Latest[None],
        function: Callable[..., T],
        arguments: tuple[Any, ...],
        finish: Callable[[T | WorkerError], None],
    ) -> None:
        """Call a function in the other process, then `finish` in the thread of the actions."""
        begin = time.monotonic()

        def task() -> None:
            found: T | WorkerError
            try:
                found = self._call(function, *arguments)
            except WorkerError as error:
                found = error
            self._duration = time.monotonic() - begin
            executor = self._actions.executor
            if executor is not None:
                executor.create_task(
                    FAULTS.guarded('a prepared trajectory', partial(finish, found))
                )

        thread.ask(task)

    def _call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in the other process; repeat the call once if the process has died."""
        try:
            return self._worker.call(function, *arguments)
        except FunctionError:
            raise
        except WorkerError:  # it may have died while idle
            return self._worker.call(function, *arguments)

    # --- chunks and contacts ----------------------------------------------------------------------

    @property
    def _is_moving(self) -> bool:
        return self.relay is not None and (not self.relay.is_idle or self._chunks.is_moving)

    def _clear(self) -> str:
        """End goals because a chunk has come; return why it is refused, '' if it is not."""
        assert self.relay is not None
        fault = self._watch.fault or ('the proxy is shutting down' if self._ends else '')
        if not fault and not self.relay.is_idle:
            self.relay.interrupt('replaced by a trajectory on ~/joint_trajectory')
        return fault

    def _react(self, reason: str, is_lost: bool) -> None:
        """Stop the motion at a contact, or because a watched topic is silent."""
        if not self._is_moving or self._chunks.halted:
            return
        assert self.relay is not None
        reaction = '' if is_lost else self._parameters['contact_reaction']
        back = self._parameters['retreat_time'] if reaction == RETREAT else 0.0
        motion = self._chunks.sent
        if not self.relay.is_idle:  # the controller holds where it cancels
            motion = self._motion_of_goal() if back else None
            self.relay.interrupt(reason, PATH_TOLERANCE_VIOLATED)
        factor = COMPLIANT_STIFFNESS if reaction == COMPLIANT else 1.0
        self._chunks.react(reason, motion, back, factor)

    def _motion_of_goal(self) -> SentMotion | None:
        """Return the motion that the controller executes, None if it has none."""
        running = None if self.relay is None else self.relay.running
        if running is None:
            return None
        message, now = running.goal.trajectory, self._node.get_clock().now().nanoseconds
        since = round((time.monotonic() - running.since) * NANOSECONDS)
        given = read_trajectory(message, message.joint_names)
        rows = np.array([given.q, given.v, given.a, np.zeros_like(given.q)])
        start = stamp_of(message) or now - since
        return SentMotion(given.joints, start, given.stamps / NANOSECONDS, rows)

    def _resume(self, _: Any, response: Any) -> Any:
        self._chunks.resume()
        response.success = True
        return response

    # --- end --------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Cancel the active goal, because the process is shutting down."""
        self._ends = time.monotonic()
        executor = self._actions.executor
        if self.relay is not None and executor is not None:
            executor.create_task(FAULTS.guarded('the end', self.relay.stop_all))

    @property
    def ended(self) -> bool:
        """Whether clients and controller have been informed."""
        if self._ends is None or self.relay is None:
            return self.relay is None
        is_idle = self.relay.coming is None and self.relay.running is None
        since = time.monotonic() - max(self._ends, self.relay.last_end)
        return is_idle and since > DELIVERY_TIMEOUT_S

    # --- report -----------------------------------------------------------------------------------

    def status(self) -> Status:
        """Report the active goals, and why the latest goal was refused."""
        status = Status('trajectory proxy')
        relay = self.relay
        if relay is None:
            status.error(ABSENT)
            return status
        if not relay.is_ready:
            status.warn(
                f'no action server {self._parameters["controller_action"]} (controller_action)'
            )
        if relay.refusal:
            status.warn(f'the latest goal was refused: {relay.refusal}')
        if relay.fault:
            status.warn(relay.fault)
        self._chunks.report(status)
        if self._watch.fault:
            status.warn(f'motions are refused: {self._watch.fault}')
        self._worker.report(status, 'the next goal starts another one')
        goals = {'pending': relay.coming, 'active': relay.running}
        status.values['goal'] = (
            ', '.join(
                f'{where}: {goal.phase.value}' for where, goal in goals.items() if goal is not None
            )
            or 'none'
        )
        status.values['latest change'] = relay.note or 'none'
        status.values['latest preparation [ms]'] = f'{1e3 * self._duration:.1f}'
        status.values['goals'] = ', '.join(f'{n} {how}' for how, n in relay.counts.items())
        return status


def make_process() -> Process:
    """Return the process of the node, and of the separate node for its actions."""
    node = Node('trajectory_proxy')
    host = ModelHost(node)
    proxy = TrajectoryProxy(node, host)
    host.add(proxy, node)
    host.start()
    slow = [*host.services.nodes, *proxy.nodes]
    return Process([node], host.parameters['executor'], slow, host.endings)
