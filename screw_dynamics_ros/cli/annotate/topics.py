# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The topics of `annotate`, with names, types and labels of the nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Joint
from screw_dynamics_ros.core.outputs import JOINTS, OUTPUTS, POSE_ROWS
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.actuated import actuated
from screw_dynamics_ros.nodes.model.scalar_joints import ScalarJoints
from screw_dynamics_ros.ros.model_state import StatePart
from screw_dynamics_ros.ros.names import topic_tokens, twist_frame
from screw_dynamics_ros.ros.recordings import forms
from screw_dynamics_ros.ros.recordings.forms import Form, packed_stamps
from screw_dynamics_ros.ros.recordings.outputs import Stack

LINEAR_FIRST = np.array([3, 4, 5, 0, 1, 2])


class Topic(NamedTuple):
    """The topic of an output.

    Attributes
    ----------
    name : str
    form : Form
    order : tuple of arrays of int
        Indices of the elements in the message, for the first dimensions of the output.
    part : StatePart
        The same numbers as a part of a model state.
    """

    name: str
    form: Form
    order: tuple[NDArray[np.intp], ...]
    part: StatePart


class Topics:
    """The topics for the outputs of one robot.

    Parameters
    ----------
    robot : Robot
    outputs : sequence of str
        Names of outputs as `annotate_arrays` returns them.
    namespace : str
        Prefix of the names of the nodes.
    """

    def __init__(self, robot: Robot, outputs: Sequence[str], namespace: str = '') -> None:
        self._scalar, self._root = ScalarJoints(robot), robot.description.root
        self._labels = actuated(robot).velocity_labels
        self._space = '/' + namespace.strip('/') if namespace.strip('/') else ''
        tokens = topic_tokens(
            dict.fromkeys(name.split('/', 1)[1] for name in outputs if '/' in name)
        )
        self._moving = [joint for joint in robot.description.joints if is_moving(joint)]
        self._fixed = [joint for joint in robot.description.joints if joint.kind.is_fixed]
        self._places = np.array(
            [
                place
                for place, name in enumerate(robot.transform_joints)
                if name in {joint.name for joint in self._moving}
            ],
            dtype=np.intp,
        )
        self.topics: dict[str, Topic] = {}
        for name in outputs:
            topic = self._topic(name, tokens)
            if topic is not None:
                self.topics[name] = topic

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all topics except /tf_static."""
        return tuple(topic.name for topic in self.topics.values())

    def _topic(self, name: str, tokens: Mapping[str, str]) -> Topic | None:
        kind, _, link = name.partition('/')
        if kind not in OUTPUTS:
            return None  # the nodes do not publish it
        row, joints = OUTPUTS[kind], self._scalar.joints
        if row.form == 'transforms':
            if not self._moving:
                return None
            frames = [(joint.parent, joint.child) for joint in self._moving]
            links = tuple(joint.child for joint in self._moving)
            part = StatePart(kind, (links, POSE_ROWS), unit=row.unit)
            return Topic(row.topic, forms.transforms(frames), (self._places,), part)
        frame = twist_frame('hybrid', self._root, link) if kind == 'twist' else link
        arguments = row.arguments(joints, self._labels, frame)
        form = getattr(forms, row.form)(*arguments)
        places = (self._scalar.v_places,) if self._scalar.held else ()
        order = (LINEAR_FIRST,) if row.is_screw else places * row.labels.count(JOINTS)
        path = '/'.join((kind, *([tokens[link]] if link else [])))
        names = row.names(joints, self._labels)
        part = StatePart(path, names, frame if row.has_frame else '', unit=row.unit)
        return Topic('/'.join((self._space, row.node, path)), form, order, part)

    def stacks(self, results: Mapping[str, Array]) -> list[Stack]:
        """Return the messages for some states; messages with NaN are omitted."""
        made = []
        for name, topic in self.topics.items():
            values = results[name]
            for axis, places in enumerate(topic.order, 1):
                values = values.take(places, axis)
            numbers = values.reshape(len(values), -1)
            checked = numbers[:, [0, 2, 3]] if name.startswith('singularity') else numbers
            present = np.isfinite(checked @ np.ones(checked.shape[1]))  # sum by BLAS, which is fast
            made.append(Stack(topic.name, topic.form, numbers, present))
        return made

    def static_transforms(self, stamp: int) -> tuple[str, bytes] | None:
        """Return type and content of a message for /tf_static, None without fixed joints."""
        if not self._fixed:
            return None
        form = forms.transforms([(joint.parent, joint.child) for joint in self._fixed])
        poses = np.array([forms.pose(joint.origin) for joint in self._fixed])
        row = np.frombuffer(form.data, np.uint8).copy()[None]
        form.fill(row, 0, packed_stamps(np.array([stamp])), poses.reshape(1, -1))
        return form.kind, row.tobytes()


def is_moving(joint: Joint) -> bool:
    """Whether joint states determine the pose of the child link."""
    return joint.kind.is_scalar
