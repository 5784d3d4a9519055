# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node `simulator`: a simulated robot driver."""

from __future__ import annotations

import time

from rclpy.node import Node

from screw_dynamics_ros.core.description.ros2_control import impedance_gains
from screw_dynamics_ros.core.errors import DivergenceError
from screw_dynamics_ros.core.simulation.joint_sensor import JointSensor
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.diagnostics import Diagnostics, Status
from screw_dynamics_ros.ros.parameters import Parameters, Value
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.scheduling import use_real_time
from screw_dynamics_ros.ros.process.timers import every

from ..model.scalar_joints import ScalarJoints
from . import parameters, world_parameters
from .assembly import description_text, make_motors, make_robot, make_simulated
from .command_messages import components_of
from .command_topics import CommandTopics
from .fault_parameters import FaultParameters
from .outputs import SimulationReport, StateOutputs
from .parameters import LOCK_STEP
from .plant import AppliedWrenches, Plant, Timeouts
from .simulation_node import HOUSEKEEPING_PERIOD_S, MAX_CATCHING_UP, SimulationNode

TABLE = (
    *parameters.ROBOT,
    *parameters.INTEGRATION,
    *parameters.MOTION,
    *world_parameters.NAMES,
    *parameters.TIME,
    *parameters.PROCESSING,
)

POLL_PERIOD_S = 0.001  # period of the timer with a simulated clock


class Simulator(SimulationNode):
    """A simulated robot driver that publishes `joint_states` and executes commands.

    One tick is one joint state and the motion until the next. Ticks, messages, services and
    parameters share one thread. An exception in one of them is counted and reported, and the node
    continues. A divergence stops the simulation at the last valid state.

    Parameters
    ----------
    node : rclpy.node.Node
    """

    def __init__(self, node: Node) -> None:
        super().__init__(node, Parameters(node, TABLE, parameters.check, self._on_parameters))
        parameters.check(self.parameters.values)
        text = description_text(self.parameters)
        robot = make_robot(node, self.parameters, text)
        simulated = make_simulated(node, self.parameters, robot)
        components, _ = components_of(text)
        targets, motors = make_motors(robot, self.parameters, impedance_gains(components))
        self._locked = self.parameters['clock'] == LOCK_STEP
        pushes = AppliedWrenches(robot, at_once=self._locked)
        joints = ScalarJoints(robot)
        self._plant = Plant(simulated, joints, motors, pushes, self._dt)
        self._sensor = JointSensor(joints.joints, self.parameters['seed'])
        self._outputs = StateOutputs(
            node, self._plant, self._sensor, self._timeouts, self.parameters['world_frame']
        )
        self._faults = FaultParameters(node, self._sensor, motors)
        self._plant.prepare(self._timeouts())
        self._outputs.prepare()

        self._begin()
        self._is_published = False
        self._topics = CommandTopics(
            node,
            self._plant,
            targets,
            self._time,
            text,
            self._on_command,
            self._on_replaced,
            self._timeouts,
        )
        self._report = SimulationReport(self._plant, targets, self._state, self._time, self._dt)
        self._serve()
        self._publish_description(text)
        diagnostics = Diagnostics(node)
        diagnostics.add(self.status)
        diagnostics.add(self._faults.status)
        diagnostics.add(self._services.status)
        diagnostics.add(FAULTS.status)
        priority = self.parameters['realtime_priority']
        self._scheduling_fault = use_real_time(priority) if priority else ''
        self._pace.start(time.monotonic())
        every(node, HOUSEKEEPING_PERIOD_S, self._look_around)
        turn = POLL_PERIOD_S if self._time.is_simulated else 1.0 / self.parameters['rate']
        every(node, turn, self._run)

    # --- ticks ----------------------------------------------------------------------------------

    def _run(self) -> None:
        """Simulate until the current time, a pause, or a joint state that waits for commands."""
        if not self._state.is_running:
            return
        now = time.monotonic()
        lost = self._pace.lost(now)
        if not self._time.is_simulated:
            self._time.skip(lost)
            self._report.lost += lost
        until = now + MAX_CATCHING_UP
        while self._state.is_running and time.monotonic() < until:
            if not self._is_published:
                if not self._pace.is_due(time.monotonic()) or not self._is_listened():
                    return
                self._pace.count(time.monotonic())
                self._publish()
            if self._is_waiting():
                return
            self._move()

    def _publish(self) -> None:
        """Publish time and state; in lock step start to wait for commands."""
        self._is_published = True
        self._publish_clock()
        sent = self._outputs.publish(self._time.stamp)
        if self._locked and sent is not None:
            commands = self.parameters['lock_step_commands']
            self._state.wait_for_answer(sent, time.monotonic(), commands)

    def _move(self) -> None:
        """Simulate until the next state; stop on divergence."""
        try:
            self._plant.advance(self._time.stamp, self._timeouts(), self._steps)
        except DivergenceError as error:
            self._state.stop(f'at {self._time.stamp / NANOSECONDS:.3f} s it diverged: {error}')
            return
        self._time.tick += 1
        self._report.ticks += 1
        self._is_published = False

    def _is_waiting(self) -> bool:
        """Whether lock step is waiting for commands."""
        if self._state.given_up(time.monotonic(), self.parameters['lock_step_timeout']):
            self._report.was_not_answered(f'at {self._time.stamp / NANOSECONDS:.3f} s')
        return self._state.awaited is not None

    def _is_listened(self) -> bool:
        """Whether lock step can begin: the first state has a subscriber."""
        if not self._locked or self._time.tick > 0:
            return True
        self._outputs.states.count_listeners()
        return self._outputs.states.listened

    def _on_command(self, stamp: int) -> None:
        """Continue lock step if a command, with its stamp [ns] or 0, was the last expected one."""
        if self._state.answered(stamp):
            self._run()

    # --- requests -------------------------------------------------------------------------------

    def _serve(self) -> None:
        """Offer the services."""
        super()._serve()
        serve = self._services.serve
        serve('Trigger', '~/clear_faults', lambda *_: self._clear_faults())
        serve('SetBool', '~/freeze_commands', lambda request, _: self._freeze(request.data))

    def _publish_last(self) -> None:
        if not self._is_published:
            self._publish()

    def _reset(self) -> str:
        self._plant.reset()
        self._sensor.restart()
        self._topics.forget()
        self._on_replaced(restart=True)
        return f'the initial state, at {self._control.seconds} s'

    def _clear_faults(self) -> str:
        self._faults.clear()
        return 'no faults'

    def _freeze(self, wanted: bool) -> str:
        self._topics.frozen = wanted
        return 'commands are ignored' if wanted else 'commands are executed'

    def _on_replaced(self, restart: bool = False) -> None:
        """Publish a state that was set as the next one; immediately during a pause."""
        self._control.replaced()
        if self._is_published:
            self._time.tick += 1  # no two states of one time
        self._is_published = False
        if restart:
            self._time.restart()
        if self._state.paused:
            self._publish()

    # --- parameters, subscribers, report --------------------------------------------------------

    def _timeouts(self) -> Timeouts:
        return Timeouts(self.parameters['command_timeout'], self.parameters['wrench_timeout'])

    def _on_parameters(self, values: dict[str, Value]) -> None:
        self._pace.period = self._period()

    def _look_around(self) -> None:
        """Count subscribers; publish the time to those that join while it is paused."""
        self._outputs.count_listeners()
        if not self._state.is_running or self._state.awaited is not None:
            self._publish_clock()

    def status(self) -> Status:
        """Report the state of the simulation."""
        status = self._report.status(self._timeouts())
        self._topics.report(status)
        self._report_clock(status)
        if self._scheduling_fault:
            status.warn(self._scheduling_fault)
        return status
