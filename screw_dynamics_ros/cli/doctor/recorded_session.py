# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Data of a recorded robot for `doctor`: joint states, efforts, topics."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import joint_state_mapper
from screw_dynamics_ros.nodes.parameters.robot_parameters import robot_parameters
from screw_dynamics_ros.ros.joint_states.policies import Policies
from screw_dynamics_ros.ros.recordings.coverage import rename_joints
from screw_dynamics_ros.ros.recordings.recording import JOINT_STATE
from screw_dynamics_ros.ros.recordings.stacks import joint_state_stacks
from screw_dynamics_ros.ros.recordings.states import StateMaker, States
from screw_dynamics_ros.ros.recordings.storage import Block, RecordingReader

from ..joint_motions import JointMotions, moving
from ..recorded_joints import given_description, recorded_robot
from .session_data import Configuration, SessionData

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
            for field, start, end in zip(lacking, ends, ends[1:]):
                numbers = stack.numbers[:, start:end]
                for k, name in enumerate(layout.names):
                    known = np.isfinite(numbers[:, k]).sum() if k < numbers.shape[1] else 0
                    lacking[field][name] += len(stack.rows) - int(known)
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
