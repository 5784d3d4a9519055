# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topics that command the simulated robot; a valid message clears the refusal of its topic."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from screw_dynamics_ros.core.description.ros2_control import (
    HardwareComponent,
    commanded_joints,
    read_ros2_control,
)
from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError, ScrewDynamicsError
from screw_dynamics_ros.core.motion.trajectory.joint_path import JointPath
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.messages.trajectories import read_trajectory, stamp_of
from screw_dynamics_ros.ros.names import check_joint_names, printable, shorten, shown
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.status import Level, Status
from screw_dynamics_ros.ros.topics import qos

from .joint_targets import EFFORT, INTERFACES, POSITION, VELOCITY, Command, JointTargets, Trajectory
from .plant import Plant
from .simulation_time import SimulationTime

COMMANDS = {
    '~/effort_commands': EFFORT,
    '~/position_commands': POSITION,
    '~/velocity_commands': VELOCITY,
}
JOINT_COMMANDS, TRAJECTORIES = 'joint_commands', '~/joint_trajectory'
WRENCHES, STATES = '~/external_wrench', '~/set_state'

#: Called after each joint command with its stamp [ns]; 0 if it has none.
Answered = Callable[[int], None]


def read_numbers(message: Any, joints: Sequence[str], interface: str) -> Command:
    """Return the command of a std_msgs/Float64MultiArray: one number for each joint, in order.

    Raises `ArgumentError` for a wrong length and numbers that are not finite.
    """
    fits = len(message.data) == len(joints)
    values = np.array(message.data if fits else [])
    if not fits or not np.isfinite(values).all():
        raise ArgumentError(
            f'expected {len(joints)} finite numbers, for {", ".join(joints)}; got '
            f'{len(message.data)}: {list(message.data[:20])}'
        )
    return Command(interface, np.arange(len(joints)), values)


def read_joint_commands(
    message: Any,
    joints: Sequence[str],
    known: Collection[str],
    components: Sequence[HardwareComponent],
) -> tuple[list[Command], str]:
    """Return the commands of a sensor_msgs/JointState, and a text about omitted joints.

    The format is that of `joint_state_topic_hardware_interface`: `name` lists all joints of a
    component; each array has numbers only for joints with that command interface. An array as long
    as `name` has a number for each joint; otherwise the `<ros2_control>` tags of the description
    assign the numbers. NaN marks an unclaimed command interface and is ignored. If a joint has
    several numbers, position has priority, with velocity as its rate; then velocity; then effort.

    Parameters
    ----------
    message : sensor_msgs/JointState
    joints : sequence of str
        Joints that can be commanded.
    known : collection of str
        Names that are permitted and ignored: mimic and fixed joints.
    components : sequence of HardwareComponent

    Raises
    ------
    ArgumentError, UnknownNameError
        Unknown or repeated names, arrays that cannot be assigned to joints, infinite numbers, or no
        number at all.
    """
    names = list(message.name)
    check_joint_names('the message', names, joints, known)
    given = {
        interface: _numbers_by_joint(interface, names, values, components)
        for interface, values in (
            (POSITION, message.position),
            (VELOCITY, message.velocity),
            (EFFORT, message.effort),
        )
    }
    numbers = {
        interface: {name: x for name, x in by_joint.items() if name in joints and x == x}
        for interface, by_joint in given.items()
    }
    if not any(numbers.values()):
        raise ArgumentError(
            f'the message has no number for {shorten(names) or "any joint"}; position, velocity '
            'and effort are empty or NaN'
        )
    return _by_priority(numbers, joints), _left_out(given, numbers, joints)


def read_path(
    message: Any,
    joints: Sequence[str],
    known: Collection[str],
    now: int,
    state: tuple[Array, Array],
) -> tuple[Trajectory, Array]:
    """Return the trajectory of a trajectory_msgs/JointTrajectory, and its points (N, k).

    It starts at the stamp of the message, or now if the stamp is zero. If the first point is later
    than the start, the trajectory begins with the current state.

    Parameters
    ----------
    message : trajectory_msgs/JointTrajectory
    joints, known : collections of str
        As in `read_joint_commands`.
    now : int
        Time of the simulation [ns].
    state : two (n,) arrays
        Current positions and velocities of the joints.

    Raises
    ------
    ArgumentError, UnknownNameError
        As `read_trajectory`, and if the trajectory ends in the past.
    """
    given = read_trajectory(message, joints, known)
    indices = np.array([joints.index(name) for name in given.joints], dtype=np.intp)
    stamp = message.header.stamp
    start = stamp.sec * NANOSECONDS + stamp.nanosec or now
    if start + int(given.stamps[-1]) < now:
        raise ArgumentError(
            f'the trajectory ended {(now - start - int(given.stamps[-1])) / NANOSECONDS:.3f} s '
            'ago; correct header.stamp, or leave it zero for an immediate start'
        )
    times, rows = given.stamps / NANOSECONDS, [given.q, given.v, given.a]
    if given.stamps[0] > 0:
        offset = max(now - start, 0)
        if offset < given.stamps[0]:
            first = (state[0][indices], state[1][indices], np.zeros(len(indices)))
            times = np.concatenate([[offset / NANOSECONDS], times])
            rows = [
                None if row is None else np.vstack([begin, row]) for begin, row in zip(first, rows)
            ]
    _, v, a = rows
    path = JointPath(times, rows[0], v, a if v is not None else None)  # type: ignore[arg-type]
    return Trajectory(indices, start, path), given.q


def _numbers_by_joint(
    interface: str,
    names: Sequence[str],
    values: Sequence[float],
    components: Sequence[HardwareComponent],
) -> dict[str, float]:
    """Return the numbers of one array by joint."""
    if not len(values):
        return {}
    whose = list(names)
    if len(values) != len(names):
        whose = commanded_joints(components, names, interface)
        if len(values) != len(whose):
            tags = (
                f'the <ros2_control> tags of the description have {len(whose)} of these joints '
                f'with a command interface {interface}'
                if components
                else 'the description has no <ros2_control> tag that assigns them to joints'
            )
            raise ArgumentError(
                f'{len(values)} numbers of {interface} for {len(names)} names, and {tags}'
            )
    for name, value in zip(whose, values):
        if np.isinf(value):
            raise ArgumentError(f'{interface} of joint {shown(name)} is {value}')
    return dict(zip(whose, values))


def _by_priority(numbers: dict[str, dict[str, float]], joints: Sequence[str]) -> list[Command]:
    """Return one command per interface; each joint uses its interface of highest priority."""
    commands, taken = [], set()
    for interface in INTERFACES:
        mine = [name for name in numbers[interface] if name not in taken]
        taken.update(mine)
        if mine:
            rates = [numbers[VELOCITY].get(name, 0.0) for name in mine]
            commands.append(
                Command(
                    interface,
                    np.array([joints.index(name) for name in mine], dtype=np.intp),
                    np.array([numbers[interface][name] for name in mine]),
                    np.array(rates) if interface == POSITION else None,
                )
            )
    return commands


def _left_out(
    given: dict[str, dict[str, float]],
    numbers: dict[str, dict[str, float]],
    joints: Sequence[str],
) -> str:
    """Return a text with the joints that have only NaN; '' if there are none."""
    without = [
        name
        for name in joints
        if any(name in each for each in given.values())
        and not any(name in each for each in numbers.values())
    ]
    return f'no command for {shorten(without)}: all numbers are NaN' if without else ''


def read_state(message: Any, joints: Sequence[str]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the positions and velocities of a sensor_msgs/JointState, by joint.

    Either array may be empty. Raises `ArgumentError` and `UnknownNameError`.
    """
    names = list(message.name)
    check_joint_names('the state', names, joints)
    if not names:
        raise ArgumentError('the state names no joint')
    for field in ('position', 'velocity'):
        values = getattr(message, field)
        if len(values) not in (0, len(names)):
            raise ArgumentError(f'{len(values)} numbers of {field} for {len(names)} names')
        for name, value in zip(names, values):
            if not np.isfinite(value):
                raise ArgumentError(f'{field} of joint {shown(name)} is {value}')
    return dict(zip(names, message.position)), dict(zip(names, message.velocity))


class CommandTopics:
    """Subscriptions of commands, wrenches and states.

    Parameters
    ----------
    node : rclpy.node.Node
    plant : Plant
    targets : JointTargets
    time : SimulationTime
    text : str
        The description; its `<ros2_control>` tags may declare the command interfaces of joints.
    answered, replaced : callables
        Called after a joint command, and after the state was set.

    Attributes
    ----------
    frozen : bool
        Whether commands are ignored; may be set.
    """

    def __init__(
        self,
        node: Node,
        plant: Plant,
        targets: JointTargets,
        time: SimulationTime,
        text: str,
        answered: Answered,
        replaced: Callable[[], None],
    ) -> None:
        self._plant, self._targets, self._time = plant, targets, time
        self._answered, self._replaced = answered, replaced
        self._refused: dict[str, str] = {}
        self._notes: dict[str, str] = {}
        self.frozen, self._executed, self._ignored = False, 0, 0
        description = plant.joints.robot.description
        commanded = {*plant.joints.joints}
        self._known = {joint.name for joint in description.joints} - commanded
        self._components, self._tag_fault = components_of(text)
        for topic, interface in COMMANDS.items():
            on_numbers = partial(self._on_numbers, topic, interface)
            self._subscribe(node, Float64MultiArray, topic, on_numbers)
        for kind, topic, receive in (
            (JointState, JOINT_COMMANDS, self._on_joint_commands),
            (JointTrajectory, TRAJECTORIES, self._on_trajectory),
            (WrenchStamped, WRENCHES, self._on_wrench),
            (JointState, STATES, self._on_state),
        ):
            self._subscribe(node, kind, topic, receive)

    def _subscribe(
        self,
        node: Node,
        kind: type,
        topic: str,
        receive: Callable[[Any], None],
    ) -> None:
        def checked(message: Any) -> None:
            try:
                receive(message)
            except ScrewDynamicsError as error:
                self._refused[topic] = f'{topic}: {printable(str(error))}'
            else:
                self._refused.pop(topic, None)

        profile = qos.OUTPUT if topic == WRENCHES else qos.COMMAND
        node.create_subscription(
            kind, topic, FAULTS.guarded(f'a message on {topic}', checked), profile
        )

    def report(self, status: Status) -> None:
        """Report refused, clipped and ignored commands."""
        for refusal in list(self._refused.values()):
            status.report(Level.WARN, f'refused {refusal}')
        for topic, note in list(self._notes.items()):
            status.report(Level.WARN, f'{topic}: {note}')
        if self._tag_fault:
            status.report(Level.WARN, f'ros2_control tags: {self._tag_fault}')
        status.values['commands'] = f'{self._executed} executed, {self._ignored} ignored'
        if self.frozen:
            status.report(
                Level.WARN,
                'commands are ignored as requested; ~/freeze_commands with data: false ends this',
            )

    def forget(self) -> None:
        """Clear all reported refusals and notes."""
        self._refused.clear()
        self._notes.clear()

    # --- messages -------------------------------------------------------------------------------

    def _on_numbers(self, topic: str, interface: str, message: Any) -> None:
        command = read_numbers(message, self._plant.joints.joints, interface)
        if not self._is_ignored():
            self._note(topic, self._targets.command(command, topic, self._time.stamp))
        self._answered(0)

    def _on_joint_commands(self, message: Any) -> None:
        commands, left_out = read_joint_commands(
            message, self._plant.joints.joints, self._known, self._components
        )
        if not self._is_ignored():
            notes = [
                self._targets.command(command, JOINT_COMMANDS, self._time.stamp)
                for command in commands
            ]
            self._note(JOINT_COMMANDS, '; '.join(filter(None, (left_out, *notes))))
        self._answered(stamp_of(message))

    def _on_trajectory(self, message: Any) -> None:
        now, plant = self._time.stamp, self._plant
        trajectory, points = read_path(
            message, plant.joints.joints, self._known, now, (plant.positions, plant.velocities)
        )
        if not self._is_ignored():
            self._note(TRAJECTORIES, self._targets.clipped_path(trajectory.joints, points))
            self._targets.follow(trajectory, TRAJECTORIES, now)
        self._answered(0)

    def _on_wrench(self, message: Any) -> None:
        f, n = message.wrench.force, message.wrench.torque
        wrench = swap_linear_angular(np.array([f.x, f.y, f.z, n.x, n.y, n.z]))
        self._plant.pushes.push(message.header.frame_id, wrench, self._time.stamp)

    def _on_state(self, message: Any) -> None:
        positions, velocities = read_state(message, self._plant.joints.joints)
        self._plant.set_state(positions, velocities)
        self._replaced()

    def _is_ignored(self) -> bool:
        """Count a valid command; return whether it is ignored."""
        self._ignored += self.frozen
        self._executed += not self.frozen
        return self.frozen

    def _note(self, topic: str, text: str) -> None:
        """Store the note on changes to the last message of a topic; an empty text clears it."""
        self._notes.pop(topic, None)
        if text:
            self._notes[topic] = text


def components_of(text: str) -> tuple[tuple[HardwareComponent, ...], str]:
    """Return the hardware components of a description, and the error if they are invalid."""
    try:
        return read_ros2_control(text), ''
    except DescriptionError as error:
        return (), str(error)
