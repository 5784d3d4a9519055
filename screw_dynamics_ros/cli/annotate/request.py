# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Options of `annotate`, the same for all recordings of a folder and all processes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.description.ros2_control import read_condition
from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.core.measurement.annotation.settings import DEFAULT, AnnotationSettings
from screw_dynamics_ros.core.measurement.estimation.observers.parameters import PER_JOINT
from screw_dynamics_ros.nodes.parameters.robot_parameters import RobotParameters
from screw_dynamics_ros.ros.joint_states.policies import Policies

from ..command_line import UnusableError

#: Parameters of the nodes that are not in `SETTINGS`, with their defaults.
OTHER_DEFAULTS: dict[str, Any] = {
    'position_policy': 'reject',
    'velocity_policy': 'differentiate',
    'effort_policy': 'reject',
    'effort_condition': '',
    'velocity_cutoff': 0.0,
    'max_stamp_age': 0.0,
    'gravity': [0.0, 0.0, -9.81],
    'payload_link': '',
    'payload_mass': 0.0,
    'payload_center_of_mass': [0.0] * 3,
    'payload_inertia': [0.0] * 6,
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
            return tuple(map(float, words) if name in PER_JOINT else words)
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
