# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Flags of contacts and collisions: `~/contact`, `~/collision`."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import serialize_message
from std_msgs.msg import Bool

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.estimation.friction_drift import FrictionDrift
from screw_dynamics_ros.core.estimation.residual_model import ResidualModel, peak_level
from screw_dynamics_ros.core.estimation.residual_offset import ResidualOffset
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.nodes.model.scalar_joints import scalar_joints
from screw_dynamics_ros.nodes.parameters.per_joint import PerJoint
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.messages.serialized import Contents, Template
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.channel_record import CALL, TRUE, Gate
from screw_dynamics_ros.ros.topics.publishers import Publishers

from . import flag_step as step
from .flag_step import MonitoredFlag

LEVELS = ('contact', 'collision')
BOOL_OFFSET = 4  # of the value of a serialized Bool [bytes]
OWN = PerJoint('flag_joints', ('contact_thresholds', 'collision_thresholds'))

TABLE = (
    Specification(
        'contact_share',
        0.1,
        'External torque of a joint above which ~/contact is raised, as a fraction of its effort '
        'limit, for joints without an individual threshold. 0: these joints are not monitored.',
        minimum=0.0,
        maximum=10.0,
        rule='less than collision_share',
    ),
    Specification(
        'collision_share',
        0.3,
        'As contact_share, for ~/collision.',
        minimum=0.0,
        maximum=10.0,
        rule='greater than contact_share',
    ),
    Specification(
        'flag_joints',
        [''],
        'Joints with individual thresholds.',
        rule='joints of the robot',
    ),
    Specification(
        'contact_thresholds',
        [],
        'External torque above which ~/contact is raised [N m, N], for each of flag_joints.',
        minimum=1e-9,
        rule='empty, or one for each of flag_joints, less than its collision threshold',
    ),
    Specification(
        'collision_thresholds',
        [],
        'External torque above which ~/collision is raised [N m, N], for each of flag_joints.',
        minimum=1e-9,
        rule='empty, or one for each of flag_joints, greater than its contact threshold',
    ),
    Specification(
        'contact_false_alarms',
        1.0,
        'Rate of false contacts of all joints together without contact [1/h], for joints with a '
        'model of identify --residual, whose thresholds follow its deviations in each state. 0: '
        'these joints have constant thresholds, too.',
        minimum=0.0,
        maximum=1e4,
    ),
    Specification(
        'collision_false_alarms',
        0.001,
        'As contact_false_alarms, for ~/collision.',
        minimum=0.0,
        maximum=1e4,
        rule='less than contact_false_alarms, or 0',
    ),
    Specification(
        'release_ratio',
        0.7,
        'Hysteresis: external torque below which a flag is lowered, divided by the torque above '
        'which it is raised.',
        minimum=0.0,
        maximum=1.0,
        rule='less than 1',
    ),
    Specification(
        'contact_duration',
        0.02,
        'Time for which a torque must exceed its threshold before ~/contact is raised [s].',
        minimum=0.0,
        maximum=10.0,
    ),
    Specification(
        'collision_duration',
        0.004,
        'Time for which a torque must exceed its threshold before ~/collision is raised [s].',
        minimum=0.0,
        maximum=10.0,
    ),
    Specification(
        'release_duration',
        0.1,
        'Time for which all torques must be below the release thresholds before a flag is '
        'lowered [s].',
        minimum=0.0,
        maximum=10.0,
    ),
)


def check(values: Mapping[str, Any], robot: Robot | None) -> None:
    """Refuse values of `TABLE` that are inconsistent with each other or with the robot.

    Raises `ArgumentError`, `UnknownNameError`.
    """
    ratio = values['release_ratio']
    if ratio >= 1.0:
        raise ArgumentError(
            f'release_ratio must be less than 1, got {ratio:g}: flags must be lowered at a smaller '
            'torque than they are raised'
        )
    contact, collision = values['contact_share'], values['collision_share']
    if contact and collision and contact >= collision:
        raise ArgumentError(
            f'contact_share {contact:g} must be less than collision_share {collision:g}'
        )
    alarms = [values[f'{level}_false_alarms'] for level in LEVELS]
    if all(alarms) and alarms[1] >= alarms[0]:
        raise ArgumentError(
            f'collision_false_alarms {alarms[1]:g} must be less than contact_false_alarms '
            f'{alarms[0]:g}'
        )
    OWN.check(values, scalar_joints(robot) if robot is not None else None)
    for name, low, high in zip(*(values[name] for name in (OWN.names, *OWN.numbers))):
        if low >= high:
            raise ArgumentError(contradiction(name, low, high))
    if robot is not None:
        fault = first_contradiction(values, robot)
        if fault:
            raise ArgumentError(fault)


def first_contradiction(values: Mapping[str, Any], robot: Robot) -> str:
    """Return the fault of the first joint with inconsistent thresholds, empty if all fit."""
    low, high = (thresholds(level, values, robot) for level in LEVELS)
    for name, contact, collision in zip(scalar_joints(robot), low.tolist(), high.tolist()):
        if contact >= collision and contact < math.inf:
            return contradiction(name, contact, collision)
    return ''


def contradiction(joint: str, contact: float, collision: float) -> str:
    """Return a text about two inconsistent thresholds."""
    return (
        f'the contact threshold {contact:g} of {joint} must be less than its collision threshold '
        f'{collision:g}'
    )


def thresholds(level: str, values: Mapping[str, Any], robot: Robot) -> Array:
    """Return the thresholds of one of `LEVELS` (n,), infinite for joints not monitored."""
    joints, found = scalar_joints(robot), np.full(len(scalar_joints(robot)), math.inf)
    own = OWN.of(f'{level}_thresholds', values)
    share = values[f'{level}_share']
    for k, joint in enumerate(joints):
        limit = float(robot.limits.effort[robot.joint_names.index(joint)])
        if joint in own:
            found[k] = own[joint]
        elif share and 0.0 < limit < math.inf:
            found[k] = share * limit
    return found


def factors(model: ResidualModel | None, n: int, hourly: float) -> Array:
    """Return the thresholds (n,) divided by deviations for a rate of false alarms [1/h].

    They are 0 for joints without a model.
    """
    found = np.zeros(n)
    if model is not None and model.has_memory and hourly:
        high, mean, rate = model.tails.reshape(n, 3).T
        known = np.flatnonzero(rate > 0.0)
        for j in known.tolist():
            found[j] = peak_level(high[j], mean[j], rate[j], hourly / 3600.0 / len(known))
    return found


def configure_flag(
    flag: MonitoredFlag, level: str, values: Mapping[str, Any], robot: Robot
) -> None:
    """Apply the parameters of one of `LEVELS` to a flag."""
    upper, widening = thresholds(level, values, robot), flag.widening
    flag.release_ratio = values['release_ratio']
    flag.set_thresholds(upper + widening, flag.release_ratio * upper + widening)
    model = None if flag.offset is None else flag.offset.model
    flag.factors[:] = factors(model, len(upper), values[f'{level}_false_alarms'])
    flag.is_monitored = bool((np.isfinite(upper) | (flag.factors > 0.0)).any())
    flag.rise, flag.fall = values[f'{level}_duration'], values['release_duration']


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
        With the rows of `TABLE`.
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
        OWN.report(status, self._parameters.values, self._model.joints)
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
