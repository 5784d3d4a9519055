# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node `mechanism_simulator`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.errors import (
    ArgumentError,
    DivergenceError,
    ScrewDynamicsError,
    UnknownNameError,
)
from screw_dynamics_ros.core.lie import se3
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
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.names import shown, topic_tokens
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.timers import every
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.publishers import Publishers

from ..parameters import closure_parameters
from ..simulation.assembly import INITIAL, description_text
from ..simulation.parameters import check
from ..simulation.simulation_node import HOUSEKEEPING_PERIOD_S, MAX_CATCHING_UP, SimulationNode
from .parameters import GROUPS, TABLE, TABLEAUS

COMMANDS, WRENCHES = 'joint_commands', '~/external_wrench'


class MechanismOutputs:
    """The topics of a simulated mechanism; nothing is computed for those without subscribers.

    * /tf: the pose of each body in `world_frame`
    * `joint_states`: revolute and prismatic joints, with the commanded torques as effort
    * `~/energy`: kinetic, potential and total energy [J], and the change of the total energy since
      the start, relative to the initial kinetic energy
    * `~/violation`: gap [rad, m] and its rate [rad/s, m/s] of each joint
    * `~/reaction/<joint>`: wrench of the joint on its child, in the frame of the child

    Parameters
    ----------
    node : rclpy.node.Node
    mechanism : SimulatedMechanism
    forces : callable
        Returns the generalized forces (6 n,) at a time [ns], and the joint torques by joint.
    world_frame : str
    """

    def __init__(
        self,
        node: Node,
        mechanism: SimulatedMechanism,
        forces: Callable[[int], tuple[Array, dict[str, float]]],
        world_frame: str,
    ) -> None:
        self._mechanism, self._forces = mechanism, forces
        self._publishers = Publishers(node)
        self._wrenches: dict[str, Array] | None = None
        self.restart()
        self._topics = [
            *self._numbers_of_state(),
            *self._reactions(),
            *self._transforms(world_frame),
        ]

    def restart(self) -> None:
        """Set the current energy as the initial energy."""
        mechanism = self._mechanism
        self._start = mechanism.system.energy(mechanism.q, mechanism.v)

    def _numbers_of_state(self) -> Iterator[tuple[Channel, Callable[[int], Array]]]:
        mechanism, system = self._mechanism, self._mechanism.system
        moving = list(system.joint_positions(mechanism.q))

        def joint_states(now: int) -> Array:
            positions = system.joint_positions(mechanism.q)
            rates = system.joint_rates(mechanism.q, mechanism.v)
            torques = self._forces(now)[1]
            return np.array(
                [
                    *(positions[name] for name in moving),
                    *(rates[name].item() for name in moving),
                    *(torques.get(name, 0.0) for name in moving),
                ]
            )

        def energy(now: int) -> Array:
            T, U = system.energy(mechanism.q, mechanism.v)
            change = T + U - self._start.total
            scale = self._start.kinetic
            return np.array([T, U, T + U, change / scale if scale else np.nan])

        def violation(now: int) -> Array:
            return np.array(list(system.violation(mechanism.q, mechanism.v).values())).ravel()

        publishers = self._publishers
        if moving:
            template = templates.joint_states(moving)
            yield Channel(publishers.get(JointState, 'joint_states'), template), joint_states
        labels = ('kinetic', 'potential', 'total', 'relative change')
        template = templates.matrix(labels)
        yield Channel(publishers.get(Float64MultiArray, '~/energy'), template), energy
        if system.joints:
            names = [joint.name for joint in system.joints]
            template = templates.matrix(names, ('gap', 'rate'))
            yield Channel(publishers.get(Float64MultiArray, '~/violation'), template), violation

    def _reactions(self) -> Iterator[tuple[Channel, Callable[[int], Array]]]:
        system = self._mechanism.system
        tokens = topic_tokens([joint.name for joint in system.joints])
        for joint in system.joints:
            to_body = se3.Ad(se3.inverse(joint.child_frame)).T

            def numbers(now: int, name: str = joint.name, to_body: Array = to_body) -> Array:
                return swap_linear_angular(to_body @ self._wrenches_at(now)[name])

            name = f'~/reaction/{tokens[joint.name]}'
            template = templates.wrench(joint.child)
            yield Channel(self._publishers.get(WrenchStamped, name), template), numbers

    def _wrenches_at(self, now: int) -> dict[str, Array]:
        """Return the reaction wrenches of all joints, solved once for all of their topics."""
        if self._wrenches is None:
            mechanism, forces = self._mechanism, self._forces(now)[0]
            self._wrenches = mechanism.system.reactions(mechanism.q, mechanism.v, forces)
        return self._wrenches

    def _transforms(self, world_frame: str) -> Iterator[tuple[Channel, Callable[[int], Array]]]:
        mechanism = self._mechanism
        frames = [(world_frame, body.name) for body in mechanism.system.bodies]
        template = templates.transforms(frames)
        yield Channel(self._publishers.get(TFMessage, '/tf'), template), lambda now: mechanism.q

    def count_listeners(self) -> None:
        """Count the subscribers of all topics."""
        for topic, _ in self._topics:
            topic.count_listeners()

    def publish(self, now: int) -> None:
        """Publish the state at a time [ns]."""
        self._wrenches = None
        for topic, numbers in self._topics:
            if topic.listened:
                topic.put(numbers(now), now)


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
