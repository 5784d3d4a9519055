# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The topic `model_state` of `annotate`, with the layout of `bringup`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.outputs import OUTPUTS, unit_of
from screw_dynamics_ros.ros.model_state import ModelStateLayout, StatePart
from screw_dynamics_ros.ros.model_state_forms import ModelStateStacks
from screw_dynamics_ros.ros.recordings.outputs import Stack
from screw_dynamics_ros.ros.recordings.states import States

from .topics import Topics

NODE = 'bringup'


class ModelStates:
    """Model states made of the messages of topics.

    Parameters
    ----------
    robot : Robot
    joints : sequence of str
        Joints of the states.
    topics : Topics
    namespace : str
        Prefix of the topic.
    """

    def __init__(
        self, robot: Robot, joints: Sequence[str], topics: Topics, namespace: str = ''
    ) -> None:
        self._names = in_order(list(topics.topics))
        self._places = {name: k for k, name in enumerate(topics.topics)}
        parts = [
            *(
                StatePart(name, (tuple(joints),), unit=unit_of(name))
                for name in ('position', 'velocity', 'effort')
            ),
            *(topics.topics[name].part for name in self._names),
        ]
        layout = ModelStateLayout.of(robot.description.name, robot.description.root, parts)
        held = [part.name.startswith('singularity/') for part in parts]
        self._stacks = ModelStateStacks(topic_name(namespace), layout, held)
        self.layout, self.topic, self.form = layout, self._stacks.topic, self._stacks.form

    def stack(self, states: States, stacks: Sequence[Stack]) -> Stack:
        """Return the messages of the next block of states, from those of its topics."""
        joints = [
            (x, np.asarray(np.isfinite(x).all(axis=1))) for x in (states.q, states.v, states.tau)
        ]
        chosen = [stacks[self._places[name]] for name in self._names]
        return self._stacks.stack(
            states.stamps, [*joints, *((each.numbers, each.present) for each in chosen)]
        )


def topic_name(namespace: str) -> str:
    """Return the name of the topic; that of the layout ends with _layout."""
    return '/' + '/'.join(filter(None, (namespace.strip('/'), NODE, 'model_state')))


def in_order(names: Sequence[str]) -> list[str]:
    """Return names of outputs in the order of the parts of `bringup`."""
    links = list(dict.fromkeys(name.partition('/')[2] for name in names if '/' in name))
    rows = list(OUTPUTS)
    nodes = list(dict.fromkeys(row.node for row in OUTPUTS.values()))

    def key(name: str) -> tuple[int, int, int]:
        kind, _, link = name.partition('/')
        node = nodes.index(OUTPUTS[kind].node)
        return node, links.index(link) if link else -1, rows.index(kind)

    return sorted(names, key=key)
