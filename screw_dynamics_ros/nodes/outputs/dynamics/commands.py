# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Torques for a controller, and what impedance drives and servos get beside them.

They are enabled explicitly, limited, continuous, never older than a limit, and end in a defined
way; `core.motion.control.TorqueCommand` implements these rules.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.core.compile.typed.functions import Ints
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.motion.control import (
    ActedLimit,
    CommandSettings,
    Mode,
    TorqueCommand,
    command_limits,
    drive_targets,
    rate_limits,
)
from screw_dynamics_ros.core.motion.control.command_rules import activity
from screw_dynamics_ros.core.motion.control.drive_targets import DriveTargets, follow_state
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.model.actuated import actuated
from screw_dynamics_ros.nodes.model.parts import StateStep
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.data_path.records import STEP_FAILED
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.cdr import packed
from screw_dynamics_ros.ros.messages.serialized import Template
from screw_dynamics_ros.ros.names import printable, shorten
from screw_dynamics_ros.ros.parameters import NodeTables, Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.python_function import PythonFunction
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.process.timers import every
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.channel_record import BEFORE, Gate
from screw_dynamics_ros.ros.topics.publishers import Publishers

from . import command_step
from .command_parameters import CONTINUE, IMPEDANCE, LIMITED, LOCKED, PER_JOINT, SERVOS, TABLE
from .command_step import CommandMessage, CommandState

try:
    from screw_dynamics_msgs.msg import ImpedanceCommand
except ImportError:  # not installed, or without this message
    ImpedanceCommand = None

WATCH_PERIOD_S = 0.01  # s between checks for missing joint states
LAST_RANK = 1  # publish last: each deadline of Fast DDS delays later messages
DELIVERY_TIMEOUT_S = 0.2  # for subscribers to acknowledge the last command of a process
LIMIT_HOLD_S = 3.0  # an active limit stays on /diagnostics for this time

REFUSED = 'the robot description is refused (on_refused_description)'
NO_VELOCITY = 'joint states contain no velocity (velocity_policy)'
NOT_ENABLED = 'torques are not enabled; call ~/enable first'

ALWAYS = np.ones(1, dtype=np.int64)

LOST_MODES = (Mode.SILENT, Mode.HOLDING, Mode.GRAVITY, Mode.RAMPING_TO_ZERO)


def settings_of(
    joints: Sequence[str], efforts: Mapping[str, float], values: Mapping[str, Any], action: str = ''
) -> CommandSettings:
    """Return the settings for joints with limits of effort [N m, N]; `action` is `on_loss` now."""
    given = {
        what: {name: x for name, x in LIMITED.of(what, values).items() if name in joints}
        for what in LIMITED.numbers
    }
    limits = command_limits(
        joints,
        {name: efforts[name] for name in joints},
        values['effort_limit_factor'],
        given['effort_limits'],
    )
    return CommandSettings(
        joints,
        limits,
        rate_limits(joints, limits, values['effort_rate_factor'], given['effort_rates']),
        blend_time=values['blend_time'],
        ramp_time=values['ramp_time'],
        age_limit=values['age_limit'],
        on_loss=action or values['on_loss'],
        on_end=values['on_end'],
    )


class Commands:
    """The torque topics of one node, which persist when the robot changes.

    Parameters
    ----------
    node : rclpy.node.Node
    host : ModelHost
    fault : callable, optional
        Returns why the wanted torques cannot be used now, '' if they can.
    valid : (1,) array of int64, optional
        Not 0 if they can, for the compiled loop.
    switched : callable, optional
        Called when the torques are enabled or disabled.
    """

    def __init__(
        self,
        node: Node,
        host: ModelHost,
        fault: Callable[[], str] = lambda: '',
        valid: Ints = ALWAYS,
        switched: Callable[[], None] = lambda: None,
    ) -> None:
        self._node, self._host, self._fault = node, host, fault
        self._switched = switched
        self._joints: tuple[str, ...] = ()
        self._motors: tuple[str, ...] = ()
        self._efforts: dict[str, float] = {}
        self._topics: list[tuple[Channel, tuple[CommandMessage, ...]]] = []
        self._state = command_step.CommandState(valid)
        self._drives = DriveTargets(np.zeros(0), np.zeros(0))
        self._stopped = ''  # reason why a description stopped the torques
        self._action = ''  # action for that reason
        self._is_ending = False
        #: Time and details of the last action of each limit, by joint and quantity.
        self._limited: dict[tuple[str, str], tuple[float, ActedLimit]] = {}
        self._parameters = Parameters(node, TABLE, self._check, self._apply)
        self._check({})
        self.torque = TorqueCommand(settings_of((), {}, self._parameters.values))
        for each in {node, host.node}:
            NodeTables.of(each).guards.append(self._refuse_locked)
        #: Lifespan: messages of a stalled process are dropped.
        self._age = Duration(nanoseconds=round(self._parameters['age_limit'] * 1e9))
        host.services.serve(
            'SetBool', '~/enable', lambda request, _: self._enable(request.data), owner=node
        )
        every(node, WATCH_PERIOD_S, self.watch)
        host.on_step(self.blend)
        host.diagnostics.add(self.status, node)

    def bind(
        self,
        model: RunningModel,
        publishers: Publishers,
        wanted: Array,
        weight: Array,
        reference: Array,
        measured: Array,
        order: Sequence[str],
        is_new: bool,
    ) -> list[Channel]:
        """Return the topics for a model.

        Parameters
        ----------
        model : RunningModel
        publishers : Publishers
        wanted, weight : (n,) arrays
            Arrays into which the kernel writes the torques of the joints, and those for the weight.
        reference, measured : (4 n,) and (3, n) arrays
            See `DriveTargets`.
        order : sequence of str
            Joints of the commands; empty: only `~/feedforward` is published.
        is_new : bool
            Whether the robot has changed.
        """
        self._wanted, self._weight = wanted, weight
        self._drives = self._drives_of(model, reference, measured)
        self._joints, self._motors = model.joints, actuated(model.robot).joint_names
        self._efforts = dict(zip(model.robot.joint_names, model.robot.limits.effort.tolist()))
        if is_new and self._topics:
            self._react_to_description(model)
        self._configure()
        self._topics = []
        template, n = templates.joint_efforts(model.joints), len(model.joints)
        self._add(publishers, JointState, '~/feedforward', template, np.arange(n))
        if order:
            places = np.array([model.joints.index(name) for name in order])
            for block, what, topic, by_name in (
                (drive_targets.EFFORT, 'effort', '~/commands', '~/joint_command'),
                (drive_targets.SERVO, 'position', '~/position_command', '~/joint_position_command'),
            ):
                at = places + block * n
                self._add(publishers, Float64MultiArray, topic, templates.matrix(order), at)
                kind, template = templates.joint_command(order, what)
                self._add(publishers, kind, by_name, template, at)
            if ImpedanceCommand is not None:
                template = templates.impedance_command(ImpedanceCommand, order)
                at = np.concatenate([places + block * n for block in drive_targets.IMPEDANCE])
                self._add(publishers, ImpedanceCommand, '~/impedance_command', template, at)
        return [channel for channel, _ in self._topics]

    def _drives_of(self, model: RunningModel, reference: Array, measured: Array) -> DriveTargets:
        """Return the targets of drives for a model; known positions are kept by joint."""
        drives, before, limits = DriveTargets(reference, measured), self._drives, model.robot.limits
        at = [model.robot.joint_names.index(name) for name in model.joints]
        drives.lower, drives.upper, drives.speeds = (
            each[at] for each in (limits.lower, limits.upper, limits.velocity)
        )
        for k, name in enumerate(self._joints):
            if name in model.joints:
                place = model.joints.index(name)
                drives.q[place], drives.base[place] = before.q[k], before.base[k]
        drives.last = before.last
        return drives

    def _refuse_locked(self, names: Collection[str]) -> None:
        """Refuse changes that could move the robot while enabled; raises `ArgumentError`."""
        locked = LOCKED[self._parameters['command_parameters_locked']].intersection(names)
        if self._parameters['enabled'] and locked:
            raise ArgumentError(
                f'{shorten(sorted(locked))}: locked while enabled (command_parameters_locked); '
                'call ~/enable with false first'
            )

    def _add(
        self, publishers: Publishers, kind: type, topic: str, template: Template, places: Ints
    ) -> None:
        # Deadline: controllers notice a stalled process. ~/feedforward has its stamp instead.
        deadline = {} if topic == '~/feedforward' else {'deadline': self._age}
        profile = QoSProfile(
            depth=qos.OUTPUT.depth,
            reliability=qos.OUTPUT.reliability,
            lifespan=self._age,
            **deadline,
        )
        publisher = publishers.get(kind, topic, profile, qos.COMMAND_OVERRIDES)
        channel = Channel(
            publisher,
            template,
            name=topic.removeprefix('~/') if topic in ('~/feedforward', '~/commands') else '',
            gates=(Gate(BEFORE, self._state.element('latest')),),
            rank=LAST_RANK,
            follows_states=False,
        )
        channel.explain = self._explain
        parts = np.split(places, np.cumsum([len(each) for each in template.arrays])[:-1])
        self._topics.append((channel, tuple(map(CommandMessage, template.arrays, parts))))

    # --- settings -------------------------------------------------------------------------------

    def _configure(self) -> None:
        """Apply the parameters and the limits of the robot."""
        values, drives = self._parameters.values, self._drives
        settings = settings_of(self._joints, self._efforts, values, self._action)
        gains = [
            group.array(what, values, self._joints, 0.0)
            for group in (IMPEDANCE, SERVOS)
            for what in group.numbers
        ]
        drives.configure(np.array(settings.limits), *gains)
        settings = drives.settings(settings)
        if self.torque.settings != settings:
            self.torque = TorqueCommand.continued(self.torque, settings)
        if not self._parameters['enabled']:
            self.torque.disable()
        elif not self._is_ending:
            self.torque.enable()

    def _check(self, changed: dict[str, Any]) -> None:
        for group in PER_JOINT:
            is_named = bool(self._joints) and group.names in changed
            given = {**self._parameters.values, **changed}
            group.check(given, self._joints if is_named else None)

    def _apply(self, values: dict[str, Any]) -> None:
        if 'enabled' in values:
            self._switched()
        if values.get('enabled'):
            self._stopped = self._action = ''
        self._configure()

    def blend(self) -> None:
        """Blend to the changed torques over `blend_time`."""
        self.torque.blend()

    @property
    def changed(self) -> Ints:
        """A flag (1,): 1 lets the command for the current state `blend`."""
        return self._state.element('is_changed')

    # --- commands -------------------------------------------------------------------------------

    @property
    def refusal(self) -> str:
        """Why the robot is not to be commanded now, '' if it may be."""
        return '' if self._parameters['enabled'] else NOT_ENABLED

    @property
    def activity(self) -> int:
        """Activity of the torques: `OFF`, `RESTING` or `FOLLOWING` the wanted ones."""
        return activity(self.torque, time.monotonic())

    def look(self) -> CommandState:
        """Return the record of `step` with the current activity."""
        self._state.activity = self.activity
        return self._state

    @property
    def _listened(self) -> list[tuple[Channel, tuple[CommandMessage, ...]]]:
        return [topic for topic in self._topics if topic[0].listened]

    def step(self) -> StateStep:
        """Return the step that commands the torques."""
        carefully = PythonFunction('commands', self._command_carefully, STEP_FAILED)
        return StateStep(command_step.command, self._record, carefully)

    def _record(self) -> CommandState:
        """Return the record of `command_step.command`, of the current torques and topics."""
        state = self.look()
        state.torque, state.wanted, state.gravity = self.torque, self._wanted, self._weight
        state.drives, state.numbers = self._drives, self._drives.numbers
        messages = tuple(message for _, parts in self._listened for message in parts)
        if messages != state.messages:
            state.messages = messages
        state.is_stopped = bool(self._stopped)
        return state

    @property
    def is_listened(self) -> bool:
        """Whether `step` has anything to do."""
        return bool(self._listened)

    def _command_carefully(self) -> None:
        """Command the torques for a state that cannot be used."""
        torque, mapper, now = self.torque, self._host.mapper, time.monotonic()
        assert mapper is not None
        sent = self._state.stamp_time
        if self._stopped:
            command = torque.unusable(now, self._stopped, sent)
        elif reason := (self._fault() if mapper.has_velocity else NO_VELOCITY):
            command = torque.unusable(now, reason)
        else:
            drives = self._drives
            follow_state(drives, torque, self._wanted, self._weight)
            command = torque.step(now, drives.wanted, drives.gravity, sent)
        if command is not None:
            command_step.write_command_of_drives(self._state)

    def watch(self) -> None:
        """React to missing joint states and to refused descriptions."""
        is_fresh = time.monotonic() - self._state.stamp_time <= WATCH_PERIOD_S
        if not is_fresh or self._stopped or self._host.source.descriptions.reason:
            with STATE_LOCK:
                self._watch()

    def _watch(self) -> None:
        self._react_to_refusal()
        now = time.monotonic()
        if now - self._state.stamp_time <= WATCH_PERIOD_S:
            return  # joint states arrive
        if self._listened:
            self._send(
                self.torque.unusable(now, self._stopped)
                if self._stopped and now - self._state.stamp_time > self._parameters['age_limit']
                else self.torque.tick(now),
                now,
            )

    def _send(self, command: Array | None, now: float) -> None:
        """Publish a command without a joint state; its stamp is extrapolated with time.

        Before the first state of a robot with other joints their positions are unknown: torques
        only.
        """
        if command is None:
            return
        mapper, n = self._host.mapper, len(self._drives.q)
        assert mapper is not None
        stamp = packed(mapper.stamp + round(1e9 * (now - self._state.stamp_time)))
        state, is_known = self._record(), not np.isnan(self._drives.q).any()
        if is_known:
            command_step.write_command_of_drives(state)
        else:
            state.numbers[:n] = command[:n]
            command_step.write_command(state)
        for channel, messages in self._listened:
            has_only_torques = all((message.places < n).all() for message in messages)
            if channel.is_sent and (is_known or has_only_torques):
                with FAULTS.caught(f'output {channel.topic}'):
                    channel.publish(stamp)

    # --- descriptions ---------------------------------------------------------------------------

    def _react_to_description(self, model: RunningModel) -> None:
        """Execute the configured action for another robot description."""
        action = self._parameters['on_new_description']
        if action == CONTINUE:
            self.torque.blend()
        elif self._parameters['enabled']:
            self._action, self._stopped = (
                action,
                f'another robot description, {model.robot.description.name!r}, is active '
                '(on_new_description); enable the torques again',
            )

    def _react_to_refusal(self) -> None:
        """Execute the configured action while a description is refused."""
        if not self._topics:
            return
        action = self._parameters['on_refused_description']
        refused = bool(self._host.source.descriptions.reason) and action != CONTINUE
        if self._stopped == ('' if refused else REFUSED):
            self._action, self._stopped = (action, REFUSED) if refused else ('', '')
            self._configure()

    # --- shutdown -------------------------------------------------------------------------------

    @STATE_LOCK.exclusive
    def begin(self) -> None:
        """Start the action before the process exits."""
        self._is_ending = True
        now = time.monotonic()
        self._send(self.torque.end(now), now)

    @property
    def ended(self) -> bool:
        """Whether the action is complete."""
        if not self._listened:
            return True
        if self.torque.has_ended:
            for channel, _ in self._listened:
                channel.publisher.wait_for_all_acked(Duration(seconds=DELIVERY_TIMEOUT_S))
            return True
        return False

    # --- services and diagnostics ---------------------------------------------------------------

    def _enable(self, wanted: bool) -> str:
        result = self._node.set_parameters_atomically([Parameter('enabled', value=wanted)])
        if not result.successful:
            raise ArgumentError(result.reason)
        if wanted and self._stopped:  # also clears a stop while enabled
            self._apply({'enabled': True})
        return result.reason or ('enabled' if wanted else 'disabled')

    def _explain(self) -> str:
        """Return why nothing is published although joint states arrive; empty if it is."""
        if self._parameters['enabled'] or not self.torque.is_silent:
            return ''
        return 'torques are not enabled: call ~/enable with true, or set the parameter enabled'

    def status(self) -> Status:
        """Report mode and active limits of the commands."""
        status = Status('commands')
        status.values['enabled'] = 'yes' if self._parameters['enabled'] else 'no: see ~/enable'
        if not self._topics:
            return status
        with STATE_LOCK:
            report, now = self.torque.report(), time.monotonic()
        reason = self._host.suspension or report.reason
        status.values.update({'mode': report.mode.value, 'losses': str(report.losses)})
        if report.mode in LOST_MODES and reason and self._parameters['enabled'] and self._listened:
            status.error(f'{report.mode.value}: {printable(reason)}')
        elif self._stopped:
            status.error(self._stopped)
        self._limited.update(
            {(limit.joint, limit.quantity): (now, limit) for limit in report.limited}
        )
        for acted, (last, limit) in list(self._limited.items()):
            if now - last < LIMIT_HOLD_S:
                status.warn(str(limit))
            else:
                del self._limited[acted]
        without = [
            name
            for name, limit in zip(self._joints, self.torque.upper.tolist())
            if limit == 0.0 and name in self._motors
        ]
        if without and self._parameters['enabled']:
            status.warn(
                f'the effort limit of {shorten(without)} is 0: no torque; '
                'correct the description, or set limited_joints and effort_limits'
            )
        servos = SERVOS.named(self._parameters)
        still = [n for n, v in zip(self._joints, self._drives.speeds) if v == 0.0 and n in servos]
        if still:
            text = f'the velocity limit of {shorten(still)} is 0: ~/position_command follows no'
            status.warn(f'{text} references; correct the description')
        for group in PER_JOINT:
            group.report(status, self._parameters.values, self._joints)
        return status
