# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Flags of contacts and collisions: `~/contact`, `~/collision`."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import serialize_message
from std_msgs.msg import Bool

from screw_dynamics_ros.core.estimation.friction_drift import FrictionDrift
from screw_dynamics_ros.core.estimation.residual_offset import ResidualOffset
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.nodes.parameters.per_joint import FLAGS
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.messages.serialized import Contents, Template
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.channel_record import CALL, TRUE, Gate
from screw_dynamics_ros.ros.topics.publishers import Publishers

from . import flag_step as step
from .flag_parameters import LEVELS, configure_flag, first_contradiction
from .flag_step import MonitoredFlag

BOOL_OFFSET = 4  # of the value of a serialized Bool [bytes]


class FlagTopic:
    """The topic of one flag, std_msgs/Bool, latched for later subscribers.

    Parameters
    ----------
    publisher : rclpy.publisher.Publisher
    name : str
    flag : MonitoredFlag
    torques : (n,) array
        External torques of the current state.
    settled : (1,) array of int64
        Whether they are valid.

    Attributes
    ----------
    channel : Channel
    """

    def __init__(
        self,
        publisher: Any,
        name: str,
        flag: MonitoredFlag,
        torques: Array,
        settled: NDArray[np.int64],
    ) -> None:
        template = Template.constant(encoded(False))
        flag.torques = torques
        flag.value = template.bytes_at(BOOL_OFFSET, 1)
        self.channel = Channel(
            publisher,
            template,
            name=name,
            numbers=(Contents((('raised',),)), [flag.number]),
            velocity=True,
            effort=True,
            gates=(Gate(TRUE, settled), Gate(CALL, flag, step.take_flag)),
            rank=1,
        )


def encoded(value: bool) -> bytes:
    """Return a serialized Bool with zero padding, which the middleware leaves undefined."""
    return serialize_message(Bool(data=value))[: BOOL_OFFSET + 1] + bytes(3)


class ContactFlags:
    """The flags of the external torques of one robot.

    A flag keeps its value without joint states, without subscribers, and until the observer has
    settled. Each of these conditions interrupts the times that `ThresholdFlag` measures.

    Parameters
    ----------
    parameters : Parameters
        With the rows of `flag_parameters.TABLE`.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._flags: dict[str, MonitoredFlag] = {}
        self._channels: dict[str, Channel] = {}
        self._mapper: JointStateMapper | None = None

    def bind(
        self,
        model: RunningModel,
        mapper: JointStateMapper,
        torques: Formula,
        publishers: Publishers,
        settled: NDArray[np.int64],
        offset: ResidualOffset,
        friction: FrictionDrift,
    ) -> Sequence[Channel]:
        """Adopt a new model; a new robot starts with lowered flags, which `friction` widens."""
        is_new = mapper is not self._mapper
        self._model, self._mapper, self._torques = model, mapper, torques
        if is_new:
            self._flags = {level: MonitoredFlag(len(model.joints)) for level in LEVELS}
            for flag in self._flags.values():
                flag.offset = offset
        friction.flags = flags = tuple(self._flags.values())
        for flag in flags:
            flag.widening = friction.widening
        self.update_parameters()
        self._channels = {
            level: FlagTopic(
                publishers.get(Bool, f'~/{level}', qos.LATCHED),
                level,
                flag,
                model.results[torques],
                settled,
            ).channel
            for level, flag in self._flags.items()
        }
        return list(self._channels.values())

    @property
    def contact(self) -> MonitoredFlag:
        """The flag of contacts, after `bind`."""
        return self._flags[LEVELS[0]]

    def update_parameters(self) -> None:
        """Apply the current values of the parameters."""
        for level, flag in self._flags.items():
            configure_flag(flag, level, self._parameters.values, self._model.robot)

    def reset(self) -> None:
        """Lower all flags."""
        for flag in self._flags.values():
            flag.reset()

    def _cause(self, flag: MonitoredFlag) -> str:
        """Return the joint and the torque that raised a flag."""
        assert flag.cause is not None
        joint = self._model.joints[flag.cause]
        return f'{joint}: {flag.cause_signal:.4g} beyond {flag.cause_limit:.4g}'

    def report(self, status: Status) -> None:
        """Report raised flags with their joints, and flags that are held without new data."""
        mapper = self._mapper
        if mapper is None or not mapper.accepted:
            return
        FLAGS.report(status, self._parameters.values, self._model.joints)
        fault = first_contradiction(self._parameters.values, self._model.robot)
        if fault:
            status.error(fault)
        silence = time.monotonic() - mapper.last_accepted
        for level, flag in self._flags.items():
            watched = np.isfinite(flag.upper)
            listened = self._channels[level].listened
            if not watched.any():
                status.values[level] = 'no joint is monitored'
                if listened:
                    status.warn(
                        f'no ~/{level}: no joint has an effort limit; set flag_joints and '
                        f'{level}_thresholds'
                    )
                continue
            value = f'yes, {self._cause(flag)}' if flag.is_raised else 'no'
            if not listened:
                value += ', not monitored: no subscribers'
            elif silence > (mapper.policies.state_timeout or math.inf):
                value += f', held: no joint states for {silence:.1f} s'
            elif flag.seen != mapper.accepted:
                value += ', held: no external torques'
            status.values[level] = value
            if flag.is_raised and listened:
                found = f'{level} at {self._cause(flag)}'
                held = value.partition(', held: ')[2]
                status.report(
                    Level.WARN if level == 'collision' else Level.OK,
                    f'{found} (held: {held})' if held else found,
                )
            if listened and not watched.all():
                names = [n for n, known in zip(self._model.joints, watched) if not known]
                status.values[f'{level} not monitored'] = shorten(names)
