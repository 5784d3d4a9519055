# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Options of `annotate`, the same for all recordings and processes; topics of its outputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.annotation.settings import DEFAULT, AnnotationSettings
from screw_dynamics_ros.core.description import Joint
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.description.ros2_control import read_condition
from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.core.estimation.observers.parameters import PER_JOINT
from screw_dynamics_ros.core.outputs import JOINTS, OUTPUTS, POSE_ROWS
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.actuated import actuated
from screw_dynamics_ros.nodes.model.scalar_joints import ScalarJoints
from screw_dynamics_ros.nodes.outputs.external_wrenches import flag_parameters
from screw_dynamics_ros.nodes.parameters.per_joint import FLAGS
from screw_dynamics_ros.nodes.parameters.robot_parameters import RobotParameters
from screw_dynamics_ros.ros.joint_states.policies import Policies
from screw_dynamics_ros.ros.model_state import StatePart
from screw_dynamics_ros.ros.names import topic_tokens, twist_frame
from screw_dynamics_ros.ros.recordings import forms
from screw_dynamics_ros.ros.recordings.forms import Form, packed_stamps
from screw_dynamics_ros.ros.recordings.outputs import Stack

from ..command_line import UnusableError

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


#: Parameters of the nodes that are not in `SETTINGS`, with their defaults.
OTHER_DEFAULTS: dict[str, Any] = {
    'position_policy': 'reject',
    'velocity_policy': 'differentiate',
    'effort_policy': 'reject',
    'effort_condition': '',
    'residual_map': '',
    'data_folder': '',
    'velocity_cutoff': 0.0,
    'max_stamp_age': 0.0,
    'gravity': [0.0, 0.0, -9.81],
    'payload_link': '',
    'payload_mass': 0.0,
    'payload_center_of_mass': [0.0] * 3,
    'payload_inertia': [0.0] * 6,
    **{
        row.name: tuple(row.default) if isinstance(row.default, list) else row.default
        for row in flag_parameters.TABLE
    },
}

SETTINGS = {each.name: each.default for each in dataclasses.fields(AnnotationSettings)}
SINGULARITY_RATE = 50.0  # Hz, the default of the node


@dataclass(frozen=True)
class Request:
    """Options for each recording.

    Attributes
    ----------
    topic, description_topic : str
    urdf : str or None
        The text of a description that replaces those in recordings.
    outputs, frames : tuple of str
        As for `annotate_arrays`; without frames, the moving leaf links.
    values : dict
        Parameters by name, see `SETTINGS` and `OTHER_DEFAULTS`.
    namespace : str
        Prefix of the names of topics.
    compression : {'none', 'lz4', 'zstd'}
        Compression of the chunks with outputs.
    left_out : tuple of str
        Joints that are held at zero.
    renamed : tuple of pairs of str
        Names of joints in recordings, and in the description.
    drives : RobotParameters
        Drives, and how efforts become torques.
    model_state : bool
        Whether to write all outputs for one state in one message, too.
    """

    topic: str = '/joint_states'
    description_topic: str = '/robot_description'
    urdf: str | None = None
    outputs: tuple[str, ...] = DEFAULT
    frames: tuple[str, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    namespace: str = ''
    compression: str = 'lz4'
    left_out: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    drives: RobotParameters = field(default_factory=RobotParameters)
    model_state: bool = False

    def value(self, name: str) -> Any:
        """Return the value of a parameter."""
        return self.values.get(name, OTHER_DEFAULTS[name])

    @property
    def settings(self) -> AnnotationSettings:
        """Settings of the computation; raises `ScrewDynamicsError`."""
        given = {name: value for name, value in self.values.items() if name in SETTINGS}
        return AnnotationSettings(**{'singularity_rate': SINGULARITY_RATE, **given})

    @property
    def flags(self) -> dict[str, Any]:
        """The parameters of flags."""
        return {row.name: self.value(row.name) for row in flag_parameters.TABLE}

    @property
    def policies(self) -> Policies:
        """The policies for incomplete joint states; raises `ScrewDynamicsError`."""
        return Policies(
            position=self.value('position_policy'),
            velocity=self.value('velocity_policy'),
            effort=self.value('effort_policy'),
            state_timeout=self.settings.state_timeout,
            max_stamp_age=self.value('max_stamp_age'),
            velocity_cutoff=self.value('velocity_cutoff'),
        )

    @property
    def payloads(self) -> dict[str, RigidBody]:
        """The payload by its link; raises `ScrewDynamicsError`."""
        return RobotParameters(values=self.values).payloads


def parameter_values(texts: Sequence[str], given: RobotParameters) -> dict[str, Any]:
    """Return the values of a file, overridden by NAME=VALUE; raises `UnusableError`."""
    known = {**SETTINGS, **OTHER_DEFAULTS}
    values = {name: of_file(x, known[name]) for name, x in given.values.items() if name in known}
    for text in texts:
        name, equals, word = text.partition('=')
        if not equals or name not in known:
            raise UnusableError(
                f'argument --set: {text!r} is not NAME=VALUE with one of {", ".join(known)}'
            )
        values[name] = converted(name, word.strip(), known[name])
    try:
        request = Request(values=values)
        assert request.settings
        assert request.policies
        assert request.payloads is not None
        flag_parameters.check(request.flags, None)
        if request.value('effort_condition'):
            read_condition(request.value('effort_condition'))
    except ScrewDynamicsError as error:
        raise UnusableError(f'argument --set or --drives: {error}') from None
    return values


def of_file(value: Any, default: Any) -> Any:
    """Return a value of a parameter file, converted to the type of the default."""
    if isinstance(default, tuple):
        return tuple(each for each in value if each != '')
    return float(value) if isinstance(default, float) else value


def converted(name: str, given: str, default: Any) -> Any:
    """Return a value of the type of the default; raises `UnusableError`."""
    if isinstance(default, str):
        return given
    try:
        if isinstance(default, tuple):
            words = [word.strip() for word in given.split(',') if word.strip()]
            return tuple(map(float, words) if name in (*PER_JOINT, *FLAGS.numbers) else words)
        if isinstance(default, list):
            numbers = [float(word) for word in given.split(',')]
            if len(numbers) != len(default):
                raise ValueError
            return numbers
        return float(given)
    except ValueError:
        wanted = 'a number'
        if isinstance(default, (list, tuple)):
            count = f'{len(default)} ' if isinstance(default, list) else ''
            wanted = f'{count}numbers separated by commas'
        raise UnusableError(f'argument --set: {name}={given!r} is not {wanted}') from None
