# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node `mechanism_simulator`."""

from __future__ import annotations

import time

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.errors import (
    ArgumentError,
    DivergenceError,
    ScrewDynamicsError,
    UnknownNameError,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import AbsoluteSystem, Stabilization
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.exactness import choose_groups
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import EXAMPLES
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.from_description import absolute_system
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.groups import SE3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.simulated_mechanism import (
    SimulatedMechanism,
)
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.diagnostics import Diagnostics, Status
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.names import shown
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.timers import every
from screw_dynamics_ros.ros.topics import qos

from ..parameters import closure_parameters
from ..simulation.assembly import INITIAL, description_text
from ..simulation.parameters import check
from ..simulation.simulation_node import HOUSEKEEPING_PERIOD_S, MAX_CATCHING_UP, SimulationNode
from .outputs import MechanismOutputs
from .parameters import GROUPS, TABLE, TABLEAUS

COMMANDS, WRENCHES = 'joint_commands', '~/external_wrench'


class MechanismLoads:
    """Joint torques and external wrenches on a mechanism.

    Parameters
    ----------
    system : AbsoluteSystem

    Attributes
    ----------
    refused : dict of str to str
        Reason why the last message on a topic was refused; a valid message clears it.
    """

    def __init__(self, system: AbsoluteSystem) -> None:
        self._system = system
        self._joints = list(system.joint_positions(system.configuration))
        self._torques: tuple[dict[str, float], int] = {}, -(2**62)
        self._wrenches: dict[str, tuple[Array, int]] = {}
        self.refused: dict[str, str] = {}

    def on_command(self, message: JointState, now: int) -> None:
        """Apply the efforts of a message to the joints that it names; others are free."""
        self._take(COMMANDS, lambda: self._command(message, now))

    def on_wrench(self, message: WrenchStamped, now: int) -> None:
        """Apply a wrench to the body of its frame, at the origin of the frame."""
        self._take(WRENCHES, lambda: self._wrench(message, now))

    def acting(
        self, q: Array, now: int, timeout: float
    ) -> tuple[Array, dict[str, float], dict[str, Array]]:
        """Return generalized forces of the joints (6 n,), their torques, and wrenches on bodies."""
        earliest = now - round(timeout * NANOSECONDS)
        torques, arrival = self._torques
        if arrival < earliest:
            torques = {}
        forces = self._system.joint_forces(q, torques) if torques else np.zeros(self._system.nv)
        wrenches = {body: W for body, (W, at) in self._wrenches.items() if at >= earliest}
        return forces, torques, wrenches

    def end(self) -> None:
        """End all torques and wrenches."""
        self._torques = {}, -(2**62)
        self._wrenches.clear()

    def _command(self, message: JointState, now: int) -> None:
        names, efforts = list(message.name), list(message.effort)
        if len(set(names)) < len(names) or len(efforts) != len(names):
            raise ArgumentError(
                f'expected different names and one effort for each, got {len(names)} names, '
                f'{len(set(names))} different, and {len(efforts)} efforts'
            )
        for name in names:
            if name not in self._joints:
                raise UnknownNameError(
                    f'no revolute or prismatic joint {shown(name)!r}; the joints are '
                    f'{", ".join(self._joints)}'
                )
        if not np.isfinite(efforts).all():
            raise ArgumentError('efforts must be finite numbers')
        self._torques = dict(zip(names, efforts)), now

    def _wrench(self, message: WrenchStamped, now: int) -> None:
        body, f, n = message.header.frame_id, message.wrench.force, message.wrench.torque
        if body not in self._system.free_bodies:
            raise UnknownNameError(
                f'header.frame_id {shown(body)!r} is not a body; the bodies are '
                f'{", ".join(self._system.free_bodies)}'
            )
        wrench = swap_linear_angular(np.array([f.x, f.y, f.z, n.x, n.y, n.z]))
        if not np.isfinite(wrench).all():
            raise ArgumentError(f'a number of the wrench on {body!r} is not finite')
        self._wrenches[body] = wrench, now

    def _take(self, topic: str, take: object) -> None:
        """Apply a message, or store the reason why it is refused."""
        try:
            take()  # type: ignore[operator]
        except ScrewDynamicsError as error:
            self.refused[topic] = f'{topic}: {error}'
        else:
            self.refused.pop(topic, None)


class MechanismSimulator(SimulationNode):
    """Publishes the motion of a mechanism driven by joint torques and external wrenches.

    A divergence stops the simulation at the last valid state, until ~/reset.

    Parameters
    ----------
    node : rclpy.node.Node
    """

    def __init__(self, node: Node) -> None:
        super().__init__(node, Parameters(node, TABLE, check))
        parameters = self.parameters
        check(parameters.values)
        self._mechanism, text = make_mechanism(parameters)
        self._initial = self._mechanism.q, self._mechanism.v
        self._loads = MechanismLoads(self._mechanism.system)
        self._outputs = MechanismOutputs(
            node, self._mechanism, self._forces, parameters['world_frame']
        )
        self._begin()
        self._lost = 0.0
        self._prepare()

        guarded = FAULTS.guarded
        node.create_subscription(
            JointState,
            COMMANDS,
            guarded(f'a message on {COMMANDS}', self._on_command),
            qos.COMMAND,
        )
        node.create_subscription(
            WrenchStamped,
            WRENCHES,
            guarded(f'a message on {WRENCHES}', self._on_wrench),
            qos.OUTPUT,
        )
        self._serve()
        if text:
            self._publish_description(text)
        diagnostics = Diagnostics(node)
        diagnostics.add(self.status)
        diagnostics.add(self._services.status)
        diagnostics.add(FAULTS.status)
        self._pace.start(time.monotonic())
        every(node, HOUSEKEEPING_PERIOD_S, self._outputs.count_listeners)
        every(node, min(1.0 / parameters['rate'], 0.01), self._run)

    def _prepare(self) -> None:
        """Compile the functions that steps need, before time starts."""
        q, v = self._initial
        self._mechanism.step(1e-9)
        self._mechanism.set_state(q, v)

    # --- motion ---------------------------------------------------------------------------------

    def _forces(self, now: int) -> tuple[Array, dict[str, float]]:
        """Return the generalized forces (6 n,) at a time [ns], and the torques of joints."""
        q, timeout = self._mechanism.q, self.parameters['command_timeout']
        forces, torques, wrenches = self._loads.acting(q, now, timeout)
        if wrenches:
            forces = forces + self._mechanism.system.applied_forces(q, wrenches)
        return forces, torques

    def _run(self) -> None:
        """Simulate as far as real time allows."""
        now = time.monotonic()
        lost = self._pace.lost(now) if self._state.is_running else 0.0
        self._time.skip(lost)
        self._lost += lost
        while (
            self._state.is_running
            and self._pace.is_due(time.monotonic())
            and time.monotonic() < now + MAX_CATCHING_UP
        ):
            self._pace.count(time.monotonic())
            self._publish()
            self._move()

    def _publish(self) -> None:
        self._publish_clock()
        try:
            self._outputs.publish(self._time.stamp)
        except ScrewDynamicsError as error:  # reactions to loads that are too large
            self._stop(self._time.stamp, error)

    def _move(self) -> None:
        """Simulate until the next output; stop on divergence."""
        if self._state.stopped:
            return
        mechanism, timeout = self._mechanism, self.parameters['command_timeout']
        for k in range(self._steps):
            instant = self._time.stamp + round(k * self._dt * NANOSECONDS)
            forces, _, wrenches = self._loads.acting(mechanism.q, instant, timeout)
            try:
                mechanism.step(self._dt, forces, wrenches)
            except ScrewDynamicsError as error:
                self._stop(instant, error)
                return
        self._time.tick += 1

    def _stop(self, instant: int, error: ScrewDynamicsError) -> None:
        what = 'it diverged' if isinstance(error, DivergenceError) else 'it has no solution'
        self._state.stop(f'at {instant / NANOSECONDS:.3f} s {what}: {error}')

    # --- messages and requests ------------------------------------------------------------------

    def _on_command(self, message: JointState) -> None:
        self._loads.on_command(message, self._time.stamp)

    def _on_wrench(self, message: WrenchStamped) -> None:
        self._loads.on_wrench(message, self._time.stamp)

    def _reset(self) -> str:
        self._mechanism.set_state(*self._initial)
        self._loads.end()
        self._outputs.restart()
        self._control.replaced()
        self._time.restart()
        return f'the initial state, at {self._control.seconds} s'

    # --- report ---------------------------------------------------------------------------------

    def status(self) -> Status:
        """Report the state of the simulation."""
        status, system = Status('simulation'), self._mechanism.system
        gaps = {
            name: violation.gap
            for name, violation in system.violation(self._mechanism.q, self._mechanism.v).items()
        }
        widest = max(gaps, key=gaps.__getitem__, default='')
        status.values.update(
            {
                'time [s]': f'{self._time.stamp / NANOSECONDS:.3f}',
                'step [s]': f'{self._dt:.6g}',
                'state': 'stopped'
                if self._state.stopped
                else 'paused'
                if self._state.paused
                else 'running',
                'groups': ', '.join(
                    f'{body.name}: {group_label(body.group)}' for body in system.bodies
                ),
                'redundant constraints': ', '.join(system.redundant) or 'none',
                'widest gap [rad, m]': f'{gaps[widest]:.3g} in {widest}' if widest else 'no joints',
                'time skipped [s]': f'{self._lost:.3f}',
            }
        )
        if self._state.stopped:
            status.error(f'the simulation has stopped, {self._state.stopped}; call ~/reset')
        self._report_clock(status)
        for refusal in list(self._loads.refused.values()):
            status.warn(f'refused {refusal}')
        return status


def make_mechanism(parameters: Parameters) -> tuple[SimulatedMechanism, str]:
    """Return the mechanism in its initial state, and the text of its URDF ('' for an example).

    Raises as `absolute_system` and `SimulatedMechanism`, and `ArgumentError` for inconsistent
    parameters.
    """
    gravity = parameters['gravity']
    if len(gravity) not in (0, 3):
        raise ArgumentError(f'gravity must be empty or three numbers, got {list(gravity)}')
    options = {'gravity': gravity} if len(gravity) else {}
    options['stabilization'] = Stabilization(*parameters['stabilization'])
    options['backend'] = parameters['backend']
    how = {'tableau': TABLEAUS[parameters['tableau']], 'project': parameters['project']}
    groups = GROUPS[parameters['groups']]
    if parameters['example']:
        make = EXAMPLES[parameters['example']]
        plain = make().system
        chosen = [body.group for body in choose_groups(plain.bodies, plain.joints)]
        example = make(chosen if groups == 'auto' else [groups] * len(chosen), **options)
        return SimulatedMechanism(*example, **how), ''
    INITIAL.check(parameters)  # `absolute_system` checks the names
    text = description_text(parameters)
    description = read_robot_description(text)
    closures, nominal = closure_parameters.assembly(parameters['loop_closures'], description)
    system = absolute_system(
        description,
        closures=closures,
        floating_base=parameters['floating_base'],
        groups=groups,
        positions={**nominal, **INITIAL.of('initial_positions', parameters)},
        **options,
    )
    return SimulatedMechanism(system, system.configuration, np.zeros(system.nv), **how), text


def group_label(group: str) -> str:
    """Return the name of a group in the parameter `groups`."""
    return 'se3' if group == SE3 else 'so3_r3'
