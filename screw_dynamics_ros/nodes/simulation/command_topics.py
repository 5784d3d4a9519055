# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topics that command the simulated robot; a valid message clears the refusal of its topic."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from screw_dynamics_ros.core.errors import ArgumentError, ScrewDynamicsError
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.messages.trajectories import stamp_of
from screw_dynamics_ros.ros.names import printable
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.services import REMEDY
from screw_dynamics_ros.ros.status import Status
from screw_dynamics_ros.ros.topics import qos

from .command_messages import (
    components_of,
    read_impedance,
    read_joint_commands,
    read_numbers,
    read_path,
    read_state,
)
from .joint_targets import EFFORT, POSITION, VELOCITY, JointTargets
from .plant import Plant, Timeouts
from .simulation_time import SimulationTime

try:
    from screw_dynamics_msgs.msg import ImpedanceCommand
except ImportError:
    ImpedanceCommand = None

COMMANDS = {
    '~/effort_commands': EFFORT,
    '~/position_commands': POSITION,
    '~/velocity_commands': VELOCITY,
}
JOINT_COMMANDS, TRAJECTORIES = 'joint_commands', '~/joint_trajectory'
IMPEDANCE_COMMANDS = '~/impedance_commands'
WRENCHES, STATES = '~/external_wrench', '~/set_state'

#: Called after each joint command with its stamp [ns]; 0 if it has none.
Answered = Callable[[int], None]


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
    timeouts : callable
        Returns the current timeouts of commands and wrenches.

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
        timeouts: Callable[[], Timeouts],
    ) -> None:
        self._plant, self._targets, self._time = plant, targets, time
        self._answered, self._replaced, self._timeouts = answered, replaced, timeouts
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
            (ImpedanceCommand, IMPEDANCE_COMMANDS, self._on_impedance),
            (JointTrajectory, TRAJECTORIES, self._on_trajectory),
            (WrenchStamped, WRENCHES, self._on_wrench),
            (JointState, STATES, self._on_state),
        ):
            if kind is not None:
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
            status.warn(f'refused {refusal}')
        for topic, note in list(self._notes.items()):
            status.warn(f'{topic}: {note}')
        if self._tag_fault:
            status.warn(f'ros2_control tags: {self._tag_fault}')
        if ImpedanceCommand is None and self._targets.is_drive.any():
            status.warn(
                f'no {IMPEDANCE_COMMANDS}: the package screw_dynamics_msgs is not installed, or is '
                f'too old; {REMEDY}'
            )
        status.values['commands'] = f'{self._executed} executed, {self._ignored} ignored'
        if self.frozen:
            status.warn(
                'commands are ignored as requested; ~/freeze_commands with data: false ends this'
            )

    def forget(self) -> None:
        """Clear all reported refusals and notes."""
        self._refused.clear()
        self._notes.clear()

    # --- messages -------------------------------------------------------------------------------

    def _on_numbers(self, topic: str, interface: str, message: Any) -> None:
        command = read_numbers(message, self._plant.joints.joints, interface)
        if not self._is_ignored():
            self._note(topic, self._targets.command(command, topic, self._time.stamp, keep=True))
        self._answered(0)

    def _on_joint_commands(self, message: Any) -> None:
        command, left_out = read_joint_commands(
            message, self._plant.joints.joints, self._known, self._components
        )
        if not self._is_ignored():
            note = self._targets.command(command, JOINT_COMMANDS, self._time.stamp)
            self._note(JOINT_COMMANDS, '; '.join(filter(None, (left_out, note))))
        self._answered(stamp_of(message))

    def _on_impedance(self, message: Any) -> None:
        targets, stamp = self._targets, stamp_of(message)
        drives = {
            name: kp
            for name, kp, is_drive in zip(targets.names, targets.gains[0], targets.is_drive)
            if is_drive
        }
        command = read_impedance(message, targets.names, self._known, drives)
        offset = (stamp or self._time.stamp) - self._time.stamp
        if abs(offset) > self._timeouts().command * NANOSECONDS:
            raise ArgumentError(
                f'header.stamp differs from the time of the simulation by {offset / NANOSECONDS:g} '
                's, more than command_timeout; correct the clock of the sender, or leave it zero'
            )
        if not self._is_ignored():
            note = targets.command(command, IMPEDANCE_COMMANDS, self._time.stamp)
            self._note(IMPEDANCE_COMMANDS, note)
        self._answered(stamp)

    def _on_trajectory(self, message: Any) -> None:
        now, plant, targets = self._time.stamp, self._plant, self._targets
        state = plant.positions, plant.velocities, targets.at(now).effort
        trajectory, points = read_path(message, targets.names, self._known, now, state)
        if not self._is_ignored():
            clipped = targets.clipped_path(trajectory.joints, points)
            ignored = targets.follow(trajectory, TRAJECTORIES, now)
            self._note(TRAJECTORIES, '; '.join(filter(None, (clipped, ignored))))
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
