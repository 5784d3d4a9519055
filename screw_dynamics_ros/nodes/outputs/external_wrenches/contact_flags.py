# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether the robot touches something, and whether it has collided: `~/contact`, `~/collision`."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message
from std_msgs.msg import Bool

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.measurement.estimation.threshold_flag import ThresholdFlag
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.nodes.model.scalar_joints import scalar_joints
from screw_dynamics_ros.nodes.parameters.per_joint import PerJoint
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.publishers import Publishers

LEVELS = ('contact', 'collision')
OWN = PerJoint('flag_joints', ('contact_thresholds', 'collision_thresholds'))

TABLE = (
    Specification(
        'contact_share',
        0.1,
        'External torque of a joint above which ~/contact is raised, as a share of its effort '
        'limit, for joints without threshold of their own. 0: these joints are not watched.',
        minimum=0.0,
        maximum=10.0,
        rule='less than collision_share',
    ),
    Specification(
        'collision_share',
        0.3,
        'The same for ~/collision.',
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
        'External torque above which ~/contact is raised, for each of flag_joints [N m, N].',
        minimum=1e-9,
        rule='empty, or one for each of flag_joints, less than its collision threshold',
    ),
    Specification(
        'collision_thresholds',
        [],
        'The same for ~/collision.',
        minimum=1e-9,
        rule='empty, or one for each of flag_joints, greater than its contact threshold',
    ),
    Specification(
        'release_ratio',
        0.7,
        'External torques below which flags are lowered, divided by those above which they are '
        'raised.',
        minimum=0.0,
        maximum=1.0,
        rule='less than 1',
    ),
    Specification(
        'contact_duration',
        0.02,
        'How long a torque must be above its threshold before ~/contact is raised [s].',
        minimum=0.0,
        maximum=10.0,
    ),
    Specification(
        'collision_duration',
        0.004,
        'The same for ~/collision.',
        minimum=0.0,
        maximum=10.0,
    ),
    Specification(
        'release_duration',
        0.1,
        'How long all torques must be below the release thresholds before a flag is lowered [s].',
        minimum=0.0,
        maximum=10.0,
    ),
)


def check(values: Mapping[str, Any], robot: Robot | None) -> None:
    """Refuse values of `TABLE` that contradict each other, or the robot.

    Raises `ArgumentError`, `UnknownNameError`.
    """
    ratio = values['release_ratio']
    if ratio >= 1.0:
        raise ArgumentError(
            f'release_ratio must be less than 1, got {ratio:g}: flags must be lowered at a lower '
            'torque than they are raised at'
        )
    contact, collision = values['contact_share'], values['collision_share']
    if contact and collision and contact >= collision:
        raise ArgumentError(
            f'contact_share {contact:g} must be less than collision_share {collision:g}'
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
    """Return which joint of a robot would collide before it touches, empty if there is none."""
    low, high = (thresholds(level, values, robot) for level in LEVELS)
    for name, contact, collision in zip(scalar_joints(robot), low.tolist(), high.tolist()):
        if contact >= collision and contact < math.inf:
            return contradiction(name, contact, collision)
    return ''


def contradiction(joint: str, contact: float, collision: float) -> str:
    """Return why two thresholds are refused."""
    return (
        f'the contact threshold {contact:g} of {joint} must be less than its collision threshold '
        f'{collision:g}'
    )


def thresholds(level: str, values: Mapping[str, Any], robot: Robot) -> Array:
    """Return the thresholds of one of `LEVELS` (n,), infinite for joints that are not watched."""
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


def flag_channel(publisher: Any, flag: ThresholdFlag, is_valid: Any) -> Channel:
    """Return the topic of one flag, std_msgs/Bool: the last one also for later subscribers."""
    messages = [encoded(value) for value in (False, True)]  # without a stamp
    return Channel(
        publisher,
        lambda stamp: messages[flag.is_raised],
        velocity=True,
        effort=True,
        is_valid=is_valid,
        rank=1,
    )


def encoded(value: bool) -> bytes:
    """Return a serialized Bool, always the same: the middleware leaves its padding as it is."""
    return serialize_message(Bool(data=value))[:5] + bytes(3)


class ContactFlags:
    """The flags of the external torques of one robot.

    A flag keeps its value while no states come, while the observer has not settled, and while there
    are no subscribers; each of these interrupts the times that `ThresholdFlag` measures.

    Parameters
    ----------
    parameters : Parameters
        With the values of `TABLE`.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._flags: dict[str, ThresholdFlag] = {}
        self._channels: dict[str, Channel] = {}
        self._mapper: JointStateMapper | None = None

    def bind(
        self,
        model: RunningModel,
        mapper: JointStateMapper,
        torques: Formula,
        publishers: Publishers,
        is_settled: Any,
    ) -> Sequence[Channel]:
        """Adopt a new model; the flags of another robot are down."""
        is_new = mapper is not self._mapper
        self._model, self._mapper, self._torques = model, mapper, torques
        if is_new:
            never = np.full(len(model.joints), math.inf)
            self._flags = {level: ThresholdFlag(never, never, 0.0, 0.0) for level in LEVELS}
            self._causes = dict.fromkeys(LEVELS, '')
            self._seen = dict.fromkeys(LEVELS, -1)
        self.update_parameters()
        self._channels = {
            level: flag_channel(
                publishers.get(Bool, f'~/{level}', qos.LATCHED),
                flag,
                lambda level=level: is_settled() and self._take(level),
            )
            for level, flag in self._flags.items()
        }
        return list(self._channels.values())

    def update_parameters(self) -> None:
        """Apply the present values of the parameters."""
        value = self._parameters.values
        for level, flag in self._flags.items():
            upper = thresholds(level, value, self._model.robot)
            flag.set_thresholds(upper, value['release_ratio'] * upper)
            flag.rise, flag.fall = value[f'{level}_duration'], value['release_duration']

    def reset(self) -> None:
        """Lower all flags."""
        for flag in self._flags.values():
            flag.reset()

    def _take(self, level: str) -> bool:
        """Look at the present state; return whether any joint is watched."""
        flag, mapper = self._flags[level], self._mapper
        assert mapper is not None
        if not np.isfinite(flag.upper).any():
            return False
        follows = self._seen[level] == mapper.accepted - 1
        self._seen[level] = mapper.accepted
        flag.lengths.longest = mapper.policies.timeout * 1e-9
        torques, was_raised = self._model.results[self._torques], flag.is_raised
        flag.take(mapper.stamp, torques, mapper.restarted or not follows)
        if flag.is_raised and not was_raised and flag.cause is not None:
            self._causes[level] = (
                f'{self._model.joints[flag.cause]}: {torques[flag.cause]:.4g} beyond '
                f'{flag.upper[flag.cause]:.4g}'
            )
        return True

    def report(self, status: Status) -> None:
        """Say which flags are raised, by which joint, and what holds while nothing comes."""
        mapper = self._mapper
        if mapper is None or not mapper.accepted:
            return
        OWN.report(status, self._parameters.values, self._model.joints)
        fault = first_contradiction(self._parameters.values, self._model.robot)
        if fault:
            status.report(Level.ERROR, fault)
        silence = time.monotonic() - mapper.last_accepted
        for level, flag in self._flags.items():
            watched = np.isfinite(flag.upper)
            listened = self._channels[level].listened
            if not watched.any():
                status.values[level] = 'no joint is watched'
                if listened:
                    status.report(
                        Level.WARN,
                        f'no ~/{level}: no joint has an effort limit; set flag_joints and '
                        f'{level}_thresholds',
                    )
                continue
            value = f'yes, {self._causes[level]}' if flag.is_raised else 'no'
            if not listened:
                value += ', not watched: no subscribers'
            elif silence > (mapper.policies.state_timeout or math.inf):
                value += f', held: no joint states for {silence:.1f} s'
            elif self._seen[level] != mapper.accepted:
                value += ', held: no external torques'
            status.values[level] = value
            if flag.is_raised and listened:
                found = f'{level} at {self._causes[level]}'
                held = value.partition(', held: ')[2]
                status.report(
                    Level.WARN if level == 'collision' else Level.OK,
                    f'{found} (held: {held})' if held else found,
                )
            if listened and not watched.all():
                names = [n for n, known in zip(self._model.joints, watched) if not known]
                status.values[f'{level} not watched'] = shorten(names)
