# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outputs of the node `kinematics`: frames, Jacobians, twists, singularities, markers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.lie.screws import REPRESENTATIONS
from screw_dynamics_ros.core.outputs import OUTPUTS
from screw_dynamics_ros.core.robot.actuated_robot import Source
from screw_dynamics_ros.core.robot.functions import Output
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting import statuses
from screw_dynamics_ros.nodes.hosting.drawing import source_of
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.model.actuated import actuated
from screw_dynamics_ros.nodes.model.parts import Adopted, Plan, Stage
from screw_dynamics_ros.nodes.model.running_model import RunningModel, of_joints
from screw_dynamics_ros.nodes.parameters import frame_parameters, transform_parameters
from screw_dynamics_ros.nodes.parameters.frame_parameters import Frames
from screw_dynamics_ros.nodes.services.requests import KINEMATICS
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.names import twist_frame
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.publishers import Publishers

from .. import marker_topic
from ..marker_topic import MarkerPlan, MarkerTopic
from ..quantity_messages import channel_of, numbers_of
from . import kinematics_markers, singularity_measures
from .description_topic import DescriptionTopic
from .singularity_measures import Singularities
from .transforms import TransformPublisher


def representation(name: str, of: str) -> Specification:
    """Return the parameter for the representation of a quantity."""
    return Specification(
        name,
        'hybrid',
        f'Representation of {of}. hybrid: velocity of the link origin, both parts in root axes; '
        'body: the same in link axes; spatial: velocity of the body point at the root origin, in '
        'root axes; mixed: linear part in root axes, angular part in link axes.',
        choices=REPRESENTATIONS,
    )


TABLE = (
    frame_parameters.specification('Jacobian, twist and singularity measures are'),
    representation('jacobian_representation', 'Jacobians'),
    representation('twist_representation', 'twists'),
    *transform_parameters.TABLE,
    *singularity_measures.TABLE,
    *marker_topic.TABLE,
    *kinematics_markers.TABLE,
)


#: Outputs of links that are computed by formulas.
PUBLISHED = [
    row.name
    for row in OUTPUTS.values()
    if row.node == 'kinematics' and row.of_links and row.formula
]

#: Parameters that require a new model, and those of drawings only.
SHAPING = {
    'frames',
    'jacobian_representation',
    'twist_representation',
    'joint_metric',
    'publish_tf',
}
DRAWN = {
    each.name
    for each in (*singularity_measures.TABLE, *marker_topic.TABLE, *kinematics_markers.TABLE)
} - SHAPING


@dataclass(frozen=True)
class LinkOutputs:
    """The outputs for one link: published quantities, and inputs of singularities and markers.

    Attributes
    ----------
    published : dict
        Numbers of messages by the name of the output.
    body_jacobian, body_velocity : output or Formula
        Angular part first; the Jacobian has the columns of joints with one coordinate.
    """

    published: dict[str, Source]
    body_jacobian: Output | Formula
    body_velocity: Output | Formula

    @property
    def outputs(self) -> list[Output | Formula]:
        """All outputs."""
        return [*self.published.values(), self.body_jacobian, self.body_velocity]


@dataclass(frozen=True, eq=False)
class KinematicsPlan(Plan):
    """The plan of `Kinematics` for one robot.

    Attributes
    ----------
    frames : Frames
    transforms : list of Formula
        Inputs of /tf.
    links : dict of str to LinkOutputs
    inertia : Formula, optional
        The joint metric, if it is the mass matrix.
    center : output or Formula, optional
        Center of mass, of a robot with mass.
    """

    frames: Frames = field(kw_only=True)
    transforms: list[Formula] = field(kw_only=True)
    links: dict[str, LinkOutputs] = field(kw_only=True)
    inertia: Formula | None = field(kw_only=True)
    center: Source | None = field(kw_only=True)


class Kinematics:
    """Publishes transforms, Jacobians, twists, singularity measures and markers.

    Topics: `/tf`, `/tf_static`, `~/jacobian/<frame>`, `~/twist/<frame>`, `~/singularity/<frame>`,
    `~/markers`, `robot_description`. Also offers `KINEMATICS` services.
    """

    def __init__(self, node: Node, host: ModelHost) -> None:
        self._host = host
        self._publishers = Publishers(node)
        self._singularities: Singularities | None = None
        self._markers = MarkerTopic(self._publishers, host.drawing)
        self._adopted: Adopted[KinematicsPlan] | None = None
        self._channels: list[Channel] = []
        self._parameters = Parameters(node, TABLE, self._check, self._apply)
        self._transforms = TransformPublisher(
            node, host.parameters['frame_prefix'], self._parameters
        )
        self._description = DescriptionTopic(
            node, host.source, lambda: self._parameters['publish_description']
        )
        host.serve(node, KINEMATICS)
        host.diagnostics.add(self._singularity_status, node)

    def plan(self, robot: Robot) -> KinematicsPlan:
        """Choose the frames."""
        chosen, motors = Frames.choose(self._parameters['frames'], robot), actuated(robot)
        transforms = self._transforms.outputs(robot)
        values = self._parameters.values
        kinds = {name: values.get(f'{name}_representation', 'hybrid') for name in PUBLISHED}
        links = {
            link: LinkOutputs(
                {name: numbers_of(name, robot, link, kinds[name]) for name in PUBLISHED},
                motors.columns_of_motors(of_joints(robot, ('jacobian', link, 'body'))),
                ('velocity', link, 'body'),
            )
            for link in chosen.tokens
        }
        inertia = (
            motors.inertia_of_joints() if self._parameters['joint_metric'] == 'inertia' else None
        )
        center = numbers_of('center_of_mass', robot) if robot.total_mass else None
        drawn = [center] if center and 'centers_of_mass' in self._parameters['markers'] else []
        outputs = [output for link in links.values() for output in link.outputs]
        return KinematicsPlan(
            [*transforms, *outputs, *([inertia] if inertia else []), *drawn],
            frames=chosen,
            transforms=transforms,
            links=links,
            inertia=inertia,
            center=center,
        )

    def stages(self) -> list[Stage]:
        """Return the stages that process each joint state."""
        return [Stage(use_refused=self._transforms.use_refused)]

    def bind(self, adopted: Adopted[KinematicsPlan]) -> list[Channel]:
        """Adopt a new model."""
        self._adopted, self._singularities = adopted, None
        model, mapper, plan = adopted.model, adopted.mapper, adopted.plan
        self._description.update()
        self._channels = self._transforms.bind(model, mapper, plan.transforms)
        if links := links_of(adopted):
            self._singularities = Singularities(
                model,
                mapper,
                {name: link.body_jacobian for name, link in links.items()},
                plan.inertia,
                self._parameters,
            )
            for name, link in links.items():
                self._channels += self._link_channels(
                    model, plan.frames.tokens[name], name, link, self._singularities
                )
        self._channels += self._markers.bind(
            self._pictures(adopted), self._parameters['marker_rate']
        )
        return self._channels

    def _link_channels(
        self,
        model: RunningModel,
        token: str,
        name: str,
        link: LinkOutputs,
        singularities: Singularities,
    ) -> list[Channel]:
        """Return the topics of one link."""
        prefix, root = self._host.parameters['frame_prefix'], model.robot.description.root
        columns = actuated(model.robot).velocity_labels
        frame = twist_frame(self._parameters['twist_representation'], prefix + root, prefix + name)
        channels = [
            channel_of(self._publishers, quantity, (model.joints, columns, frame), output, token)
            for quantity, output in link.published.items()
        ]
        if singularities.is_defined:
            publisher = self._publishers.get(Float64MultiArray, f'~/singularity/{token}')
            channels.append(singularities.channel(name, token, publisher))
        return channels

    def _pictures(self, adopted: Adopted[KinematicsPlan]) -> list[MarkerPlan]:
        """Return the contents of `~/markers`."""
        model = adopted.model
        parameters, prefix = self._parameters, self._host.parameters['frame_prefix']
        wanted, singularities = parameters['markers'], self._singularities
        pictures = []
        if 'joint_axes' in wanted and model.results:
            pictures += kinematics_markers.joint_axes(model.robot, prefix, parameters)
        if model.results:
            masses = [kind for kind in kinematics_markers.MASSES if kind in wanted]
            pictures += kinematics_markers.masses(model.robot, prefix, parameters, masses)
        center = adopted.plan.center
        if 'centers_of_mass' in wanted and center in model.results:
            frame, mass = prefix + model.robot.description.root, model.robot.total_mass
            pictures.append(
                kinematics_markers.center_of_mass(frame, mass, parameters, source_of(model, center))
            )
        for name, link in links_of(adopted).items():
            frame = prefix + name
            if 'twists' in wanted:
                pictures.append(
                    kinematics_markers.twist(
                        frame,
                        parameters,
                        source_of(
                            model, link.body_velocity, value=partial(known_twist, adopted.mapper)
                        ),
                    )
                )
            kinds = [kind for kind in wanted if kind in kinematics_markers.ELLIPSOIDS]
            if kinds and singularities is not None and singularities.is_defined:
                pictures.append(
                    kinematics_markers.ellipsoids(
                        frame,
                        parameters,
                        kinds,
                        source_of(model, link.body_jacobian),
                        singularities.joint_metric,
                    )
                )
        return pictures

    def status(self) -> Status:
        """Report the outputs."""
        status = Status('outputs')
        if self._adopted is not None:
            self._adopted.plan.frames.report(status)
            self._transforms.report(status)
            self._description.report(status)
            statuses.report_channels(status, self._channels, self._host.mapper)
        return status

    def _singularity_status(self) -> Status:
        if self._singularities is None:
            return Status('singularities')
        return self._singularities.status()

    def _check(self, values: dict[str, Any]) -> None:
        frame_parameters.check(values, self._host.model.robot if self._host.model else None)

    def _apply(self, values: dict[str, Any]) -> None:
        if values.keys() & {'publish_tf', 'publish_frequency', 'ignore_timestamp'}:
            self._transforms.update_parameters()
        if 'publish_description' in values:
            self._description.look()
        adopted = self._adopted
        if values.keys() & SHAPING or (adopted is not None and self._lacks_center(adopted)):
            self._host.reload()
        elif values.keys() & DRAWN and adopted is not None:
            self._redraw(adopted)

    def _lacks_center(self, adopted: Adopted[KinematicsPlan]) -> bool:
        """Whether the center of mass is to be drawn, and the model does not compute it."""
        center = adopted.plan.center
        return (
            'centers_of_mass' in self._parameters['markers']
            and center is not None
            and center not in adopted.model.results
        )

    def _redraw(self, adopted: Adopted[KinematicsPlan]) -> None:
        """Apply parameters that do not require a new model."""
        if self._singularities is not None:
            self._singularities.use_parameters()
        self._markers.redraw(self._pictures(adopted), self._parameters['marker_rate'])


def links_of(adopted: Adopted[KinematicsPlan]) -> dict[str, LinkOutputs]:
    """Return the outputs for each link; empty without a kernel."""
    return adopted.plan.links if adopted.model.results else {}


def known_twist(mapper: JointStateMapper, twist: Array) -> Array:
    """Return the body twist of a link (6,), zero while it is unknown."""
    return twist if mapper.has_velocity else np.zeros(6)
