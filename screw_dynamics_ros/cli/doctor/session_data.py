# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Data of a running or recorded robot for `doctor`, before the evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.measurement.estimation.effort_terms import TERMS
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.parameters.per_joint import EFFORTS
from screw_dynamics_ros.nodes.parameters.robot_parameters import NO_EFFORTS
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper

from ..joint_motions import JointMotions


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
