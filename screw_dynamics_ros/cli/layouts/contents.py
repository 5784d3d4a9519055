# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contents of layouts: frames of the robot, and curves of topics of the nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.outputs import OUTPUTS
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import leaf_links
from screw_dynamics_ros.nodes.model.scalar_joints import scalar_joints
from screw_dynamics_ros.ros.names import topic_tokens

from .command import MODEL_STATE, LayoutNames

MIN_EXTENT = 0.05  # m, for a robot without extent

#: Curves of one plot, from the palette of matplotlib.
COLORS = (
    '#1f77b4',
    '#ff7f0e',
    '#2ca02c',
    '#d62728',
    '#9467bd',
    '#8c564b',
    '#e377c2',
    '#7f7f7f',
    '#bcbd22',
    '#17becf',
)

#: Outputs with a torque or force for each joint, and the titles of their plots.
JOINT_EFFORTS = {
    'gravity': 'Gravity torques',
    'coriolis': 'Coriolis torques',
    'friction': 'Friction torques',
    'external_torque': 'External torques',
}
WRENCH_PARTS = {'force': 'Force', 'torque': 'Moment'}


@dataclass(frozen=True)
class Curve:
    """An element of a message over time.

    Attributes
    ----------
    topic : str
        Absolute name.
    fields : tuple of str
        Path from the message to the number or, with `joint`, to an array with one number per
        joint.
    label : str
    color : str
    joint : str
        Name of the joint if the message is a JointState.
    index : int
        Index of the number in an array of messages of the nodes; -1 without an array, and in
        messages of a driver, whose order is unknown.
    """

    topic: str
    fields: tuple[str, ...]
    label: str
    color: str
    joint: str = ''
    index: int = -1


@dataclass(frozen=True)
class Plot:
    """Curves in one diagram."""

    title: str
    curves: tuple[Curve, ...]


def measured_efforts(robot: Robot, names: LayoutNames) -> Plot:
    """Return the plot of the efforts that the driver publishes."""
    if names.model_state is not None:
        return Plot('Measured efforts', tuple(part_curves(names, 'effort')))
    return Plot('Measured efforts', efforts(robot, names.topic('joint_states'), is_ordered=False))


def joint_plots(robot: Robot, names: LayoutNames) -> Iterator[Plot]:
    """Yield a plot for each of `JOINT_EFFORTS`."""
    for name, title in JOINT_EFFORTS.items():
        if names.model_state is not None:
            yield Plot(title, tuple(part_curves(names, name)))
            continue
        yield Plot(title, efforts(robot, names.topic(OUTPUTS[name].topic)))


def wrench_plots(robot: Robot, names: LayoutNames) -> Iterator[Plot]:
    """Yield plots of force and moment for each link with an estimated wrench."""
    for link, token in topic_tokens(leaf_links(robot)).items():
        topic = names.topic(f'{OUTPUTS["wrench"].topic}/{token}')
        elements = list(part_curves(names, f'wrench/{token}'))
        for half, (field, title) in enumerate(WRENCH_PARTS.items()):
            if names.model_state is not None:
                yield Plot(f'{title} on {link}', tuple(elements[3 * half : 3 * half + 3]))
                continue
            curves = (
                Curve(topic, ('wrench', field, axis), axis, color)
                for axis, color in zip('xyz', COLORS)
            )
            yield Plot(f'{title} on {link}', tuple(curves))


def part_curves(names: LayoutNames, name: str) -> Iterator[Curve]:
    """Yield a curve for each element of a vector in the model state, if it is one of its parts."""
    for part in names.model_state.parts if names.model_state is not None else ():
        if part.name == name:
            for k, label in enumerate(part.labels[0]):
                color = COLORS[k % len(COLORS)]
                yield Curve(
                    names.topic(MODEL_STATE), ('data',), label, color, index=part.offset + k
                )


def efforts(robot: Robot, topic: str, is_ordered: bool = True) -> tuple[Curve, ...]:
    """Return a curve for each joint with one coordinate, of the efforts on a topic."""
    return tuple(
        Curve(
            topic,
            ('effort',),
            joint,
            COLORS[place % len(COLORS)],
            joint,
            place if is_ordered else -1,
        )
        for place, joint in enumerate(scalar_joints(robot))
    )


def shown_links(robot: Robot, names: LayoutNames) -> list[str]:
    """Return the links whose frames are shown: the fixed frame, root and tools."""
    return list(dict.fromkeys([names.fixed, robot.description.root, *leaf_links(robot)]))


def extent(robot: Robot) -> tuple[Array, float]:
    """Return center (3,) and largest side [m] of the box around the origins of all links."""
    origins = robot.link_poses(robot.neutral())[:, :3, 3]
    low, high = origins.min(axis=0), origins.max(axis=0)
    return (low + high) / 2, max(float((high - low).max()), MIN_EXTENT)


def rounded(number: float) -> float:
    """Return a positive number with two digits."""
    return round(number, 1 - math.floor(math.log10(number)))
