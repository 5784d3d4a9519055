# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node `trajectory_proxy`: adds efforts to trajectories and enforces limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message

from screw_dynamics_ros.core import Robot, ScrewDynamicsError
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.messages.cdr import stamp_of_clock
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.latest import Latest
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.process.worker import FunctionError, Worker, WorkerError
from screw_dynamics_ros.ros.topics.channel import Channel

from ..hosting.host import ModelHost
from ..hosting.node_process import Process
from ..model.parts import Adopted, Plan, Stage
from ..services.requests import pickled
from .goal_preparation import (
    INVALID_GOAL,
    MAX_GIVEN_POINTS,
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

ACTION = '~/follow_joint_trajectory'
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
        self._parameters = Parameters(node, TABLE)
        self._worker = Worker('prepares trajectories')
        # Only the newest robot and the newest goal are processed, in turns, in the other process.
        self._compilation, self._preparation = (
            Latest[None](f'{what} trajectories', in_ordinary_time=False)
            for what in ('compilation for', 'preparation of')
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
        robot = pickled(adopted.model.robot)

        def task() -> None:
            with suppress(WorkerError):  # the first goal reports the reason
                self._call(warm_up, robot)

        self._compilation.ask(task)
        return []

    # --- goals ------------------------------------------------------------------------------------

    def _settings(self) -> Settings:
        names = (
            'on_excess',
            'effort_limit_factor',
            'effort_share',
            'compensated_terms',
            'scale_tolerances',
            'resolution',
            'start_tolerance',
        )
        return Settings(*(self._parameters[name] for name in names))

    def _prepare(self, goal: Any, done: Callable[[Any, int, str], None]) -> None:
        """Prepare a goal in the other process; `done` is called in the thread of the actions."""
        count = len(goal.trajectory.points)
        if count > MAX_GIVEN_POINTS:
            text = f'the trajectory has {count} points, at most {MAX_GIVEN_POINTS} are accepted'
            done(None, INVALID_GOAL, f'{text}; send fewer, the controller interpolates')
            return
        with STATE_LOCK:  # no output of this node reads the motion of the base
            self._host.base_source.prepare()
            self._host.multi_dof_source.prepare()
        suspension = self._host.suspension
        if suspension:
            done(None, INVALID_GOAL, f'no efforts can be computed: {suspension}')
            return
        try:
            situation = self._host.situation(self._host.payloads.bodies())
        except ScrewDynamicsError as error:
            done(None, INVALID_GOAL, str(error))
            return
        now, begin = stamp_of_clock(self._node.get_clock().now().nanoseconds), time.monotonic()
        arguments = situation, self._settings(), serialize_message(goal), now

        def task() -> None:
            try:
                prepared = self._call(prepare, *arguments)
            except WorkerError as error:
                prepared = PreparedGoal(
                    b'', INVALID_GOAL, f'the trajectory could not be prepared: {error}'
                )
            self._duration = time.monotonic() - begin
            executor = self._actions.executor
            if executor is not None:
                executor.create_task(
                    FAULTS.guarded('a prepared trajectory', partial(finish, prepared))
                )

        def finish(prepared: PreparedGoal) -> None:
            kind, data = FollowJointTrajectory.Goal, prepared.data
            goal = deserialize_message(data, kind) if data else None
            done(goal, prepared.code, prepared.text)

        self._preparation.ask(task)

    def _call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in the other process; repeat the call once if the process has died."""
        try:
            return self._worker.call(function, *arguments)
        except FunctionError:
            raise
        except WorkerError:  # it may have died while idle
            return self._worker.call(function, *arguments)

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
            status.report(Level.ERROR, ABSENT)
            return status
        if not relay.is_ready:
            status.report(
                Level.WARN,
                f'no action server {self._parameters["controller_action"]} (controller_action)',
            )
        if relay.refusal:
            status.report(Level.WARN, f'the latest goal was refused: {relay.refusal}')
        if relay.fault:
            status.report(Level.WARN, relay.fault)
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
