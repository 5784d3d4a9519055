# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Data of a running or recorded robot for `doctor`, before the evaluation."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import joint_state_mapper
from screw_dynamics_ros.nodes.parameters.per_joint import EFFORTS
from screw_dynamics_ros.nodes.parameters.robot_parameters import NO_EFFORTS, robot_parameters
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.policies import Policies
from screw_dynamics_ros.ros.recordings.blocks import Block
from screw_dynamics_ros.ros.recordings.coverage import rename_joints
from screw_dynamics_ros.ros.recordings.recording import JOINT_STATE
from screw_dynamics_ros.ros.recordings.stacks import joint_state_stacks
from screw_dynamics_ros.ros.recordings.states import StateMaker, States
from screw_dynamics_ros.ros.recordings.storage import RecordingReader

from ..recorded_joints import JointMotions, given_description, moving, recorded_robot

#: Of controller_manager: whether commands are clamped to the limits of the description.
ENFORCE = 'enforce_command_limits'


@dataclass(frozen=True)
class Configuration:
    """Parameters of running nodes.

    Attributes
    ----------
    values : mapping
        Parameters by name.
    owners : mapping
        Full name of the node with the parameter, by the name of the parameter.
    silent : tuple of str
        Full names of nodes without a response to some request.
    carried : mapping
        Payload and full name of the reporting node, by link; more recent than the parameters
        (`running_parameters`).
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    owners: Mapping[str, str] = field(default_factory=dict)
    silent: tuple[str, ...] = ()
    carried: Mapping[str, tuple[RigidBody, str]] = field(default_factory=dict)

    @property
    def terms(self) -> tuple[str, ...]:
        """Terms in the measured efforts."""
        return tuple(term for term in self.values.get('effort_terms', TERMS) if term)

    @property
    def gravity(self) -> tuple[float, ...] | None:
        """Acceleration of free fall [m/s^2]; None if unknown."""
        return tuple(self.values['gravity']) if len(self.values.get('gravity', ())) == 3 else None

    @property
    def payloads(self) -> dict[str, tuple[RigidBody, str]]:
        """Payload and reporting node by link; from parameters without inertia."""
        if self.carried:
            return {link: each for link, each in self.carried.items() if each[0].mass}
        mass, link = self.values.get('payload_mass'), self.values.get('payload_link')
        if not (mass and link):
            return {}
        center = self.values.get('payload_center_of_mass', (0.0, 0.0, 0.0))
        body = RigidBody(mass, np.array(center), np.zeros((3, 3)))
        return {link: (body, self.owners['payload_mass'])}

    def calibrated(self, joints: list[str], efforts: np.ndarray) -> np.ndarray:
        """Return torques [N m, N] from efforts (samples, joints), calibrated as by the nodes."""
        given = {name: self.values.get(name) or [] for name in NO_EFFORTS}
        scale = EFFORTS.array('effort_scale', given, joints, 1.0)
        return efforts * scale + EFFORTS.array('effort_offset', given, joints, 0.0)


@dataclass(frozen=True, eq=False)
class SessionData:
    """The data of a running or recorded robot.

    Attributes
    ----------
    text : str
        Its description.
    robot : Robot
    mapper : JointStateMapper
        Contains records of faults.
    arrivals : list of float
        Arrival times of joint states [s].
    states : list of (q, v, tau)
        States with efforts, in the order of `mapper.joints`.
    configuration : Configuration
        Parameters of running nodes of this package.
    joint_state_senders : list of str
        Full names of nodes, or the topic of a recording.
    transform_senders : list of str or None
        Full names of nodes; None if unknown, as in a recording.
    lacking : {'velocity' | 'effort': {joint: int}}
        Number of messages in which the field of a joint was missing or not finite.
    topics : {topic: list of types}
        All topics.
    nodes : list of str or None
        Full names of all nodes; None if unknown.
    motions : JointMotions
        Positions and velocities of all messages.
    """

    text: str
    robot: Robot
    mapper: JointStateMapper
    arrivals: list[float]
    states: list[tuple[Array, ...]]
    configuration: Configuration
    joint_state_senders: list[str]
    transform_senders: list[str] | None
    lacking: dict[str, Counter[str]] = field(default_factory=dict)
    topics: dict[str, list[str]] = field(default_factory=dict)
    nodes: list[str] | None = field(default_factory=list)
    motions: JointMotions = field(default_factory=JointMotions)


MAX_STATES = 20_000  # evaluated states, evenly spaced


def recorded_session(options: argparse.Namespace) -> SessionData:
    """Return the data of a recording; only states with efforts of all joints are included.

    Parameters
    ----------
    options : Namespace
        With the recording as `description`, and the options of `add_recorded_robot`.

    Raises
    ------
    ScrewDynamicsError
        The recording cannot be read or has no joint states; the description is refused.
    """
    parameters = robot_parameters(options.drives, options.leave_out)
    with RecordingReader(options.description) as reader:
        reader.check(options.topic, JOINT_STATE)
        rename_joints(reader, options.topic, dict(options.rename))
        text = recorded_robot(
            reader, options.description_topic, given_description(options), options.leave_out
        )
        robot = Robot(read_robot_description(text))
        # No limits of age: tables and bags may have stamps of other clocks.
        mapper = joint_state_mapper(robot, policies=Policies())
        arrivals: list[float] = []
        lacking = {'velocity': Counter[str](), 'effort': Counter[str]()}
        motions = JointMotions(reader.counts[options.topic])
        blocks = counted(moving(reader.blocks(options.topic), motions), arrivals, lacking)
        made = list(StateMaker(mapper).states(blocks))
        topics = {name: [kind] for name, kind in reader.types.items()}
    owners = dict.fromkeys(parameters.values, parameters.path)
    return SessionData(
        text,
        robot,
        mapper,
        arrivals,
        with_efforts(made),
        Configuration(parameters.values, owners),
        [f'{options.topic} of {options.description.name}'],
        None,
        lacking,
        topics,
        None,
        motions,
    )


def counted(
    blocks: Iterable[Block], arrivals: list[float], lacking: Mapping[str, Counter[str]]
) -> Iterator[Block]:
    """Yield blocks of joint states; store arrival times, and count missing numbers."""
    for block in blocks:
        arrivals += (block.received * 1e-9).tolist()
        for stack in joint_state_stacks(block):
            layout = stack.layout
            ends = np.cumsum([layout.positions, layout.velocities, layout.efforts])
            for part, start, end in zip(lacking, ends, ends[1:]):
                numbers = stack.numbers[:, start:end]
                for k, name in enumerate(layout.names):
                    known = np.isfinite(numbers[:, k]).sum() if k < numbers.shape[1] else 0
                    lacking[part][name] += len(stack.rows) - int(known)
        yield block


def with_efforts(made: Iterable[States]) -> list[tuple[Array, ...]]:
    """Return (q, v, tau) of states with efforts; missing velocities are zero."""
    rows = [
        (states.q, np.nan_to_num(states.v), states.tau, np.isfinite(states.tau).all(axis=1))
        for states in made
    ]
    every: list[tuple[Array, ...]] = []
    for q, v, tau, known in rows:
        every += zip(q[known], v[known], tau[known])
    return every[:: max(1, -(-len(every) // MAX_STATES))]
