# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The frame of the commands for other programs, and the contents of their layouts."""

from __future__ import annotations

import argparse
import math
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from std_msgs.msg import String

from screw_dynamics_ros.core import DescriptionError, Robot, ScrewDynamicsError
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.outputs import OUTPUTS
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.entry import DONE, INTERRUPTED, UNUSABLE
from screw_dynamics_ros.nodes.model.running_model import leaf_links
from screw_dynamics_ros.nodes.model.scalar_joints import scalar_joints
from screw_dynamics_ros.ros.launch_arguments import program_path
from screw_dynamics_ros.ros.model_state import ModelStateLayout
from screw_dynamics_ros.ros.names import topic_tokens
from screw_dynamics_ros.ros.topics import qos

from ..command_line import UnusableError, command_parser, execute, option

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


try:
    from screw_dynamics_msgs.msg import ModelStateLayout as ModelStateLayoutMessage
except ImportError:  # not installed, or without this message
    ModelStateLayoutMessage = None

REMINDER_PERIOD_S = 10.0
MODEL_STATE = 'bringup/model_state'


@dataclass(frozen=True)
class LayoutNames:
    """Names in a layout that are not in the description.

    Attributes
    ----------
    namespace : str
        Absolute namespace of the topics.
    prefix : str
        Prefix of all frames, as the parameter `frame_prefix` of the nodes.
    fixed : str
        Fixed frame, without the prefix.
    model_state : ModelStateLayout or None
        Parts of `MODEL_STATE`, from which the curves are read; None: from separate topics.
    """

    namespace: str
    prefix: str
    fixed: str
    model_state: ModelStateLayout | None = None

    def topic(self, name: str) -> str:
        """Return the absolute name of a topic."""
        return f'{self.namespace.rstrip("/")}/{name}'


@dataclass(frozen=True)
class Visualizer:
    """A program that opens layouts.

    Attributes
    ----------
    name : str
        Name of the command.
    package, executable : str
        Location of the program; see `program_path`.
    suffix : str
        Suffix of layout files.
    layout : callable
        Returns the text of a layout for a `Robot` and `LayoutNames`.
    arguments : callable
        Returns the command line for the path of a layout and the namespace.
    note : str
        Printed when the program is started; {path} is the path of the layout.
    has_curves : bool
        Whether its layouts have curves, and the command the option --model-state.
    """

    name: str
    package: str
    executable: str
    suffix: str
    layout: Callable[[Robot, LayoutNames], str]
    arguments: Callable[[str, str], Sequence[str]]
    note: str = ''
    has_curves: bool = False


def run(
    visualizer: Visualizer, description: str | None, arguments: Sequence[str] | None = None
) -> int:
    """Wait for a description, then run the program; return the exit status."""
    return execute(
        visualizer.name,
        partial(parse, visualizer, description),
        partial(start, visualizer),
        arguments,
    )


def start(visualizer: Visualizer, options: argparse.Namespace) -> int:
    """Wait for a description, then run the program."""
    if options.model_state and ModelStateLayoutMessage is None:
        raise UnusableError(
            '--model-state requires the package screw_dynamics_msgs; build it, or omit the option'
        )
    path = program_path(visualizer.package, visualizer.executable)
    if not options.print and path is None:
        raise UnusableError(
            f'{visualizer.executable} is not installed; install the package {visualizer.package}, '
            'or use --print'
        )
    rclpy.init(args=options.given)
    try:
        node = rclpy.create_node(f'{visualizer.name}_configuration')
        made, name = made_of(node, visualizer, options.model_state)
        namespace = node.get_namespace()
        node.destroy_node()
    except ExternalShutdownException:
        raise KeyboardInterrupt from None
    finally:
        rclpy.try_shutdown()
    if path is None or options.print:
        print(made, end='')
        return DONE
    return run_with(visualizer, path, made, name, namespace)


def made_of(node: Node, visualizer: Visualizer, has_model_state: bool = False) -> tuple[str, str]:
    """Return the layout for the first valid description, and the name of the robot.

    With `has_model_state`, wait for the parts of `MODEL_STATE`, too.
    """
    prefix = node.declare_parameter('frame_prefix', '').value
    fixed = node.declare_parameter('fixed_frame', '').value
    texts: list[str] = []
    subscription = node.create_subscription(
        String, 'robot_description', lambda message: texts.append(message.data), qos.LATCHED
    )
    layouts: list[ModelStateLayout] = []

    def adopt(message: Any) -> None:
        try:
            layouts.append(ModelStateLayout.from_message(message))
        except ScrewDynamicsError as error:
            node.get_logger().error(f'invalid layout of {MODEL_STATE}: {error}')

    if has_model_state:
        node.create_subscription(
            ModelStateLayoutMessage, f'{MODEL_STATE}_layout', adopt, qos.LATCHED
        )
    remind = time.monotonic() + REMINDER_PERIOD_S
    while True:
        rclpy.spin_once(node, timeout_sec=0.2)
        if texts and (layouts or not has_model_state):
            try:
                robot = robot_of(texts.pop())
                model_state = layouts[-1] if layouts else None
                names = LayoutNames(
                    node.get_namespace(), prefix, fixed or robot.description.root, model_state
                )
                return visualizer.layout(robot, names), robot.description.name
            except ScrewDynamicsError as error:
                node.get_logger().error(
                    f'invalid description: {error}; waiting for another one on '
                    f'{subscription.topic_name}'
                )
        elif time.monotonic() > remind:
            what = (
                f'the layout of {MODEL_STATE}: set the parameter model_state of bringup'
                if texts
                else f'a description on {subscription.topic_name}'
            )
            node.get_logger().info(f'waiting for {what}')
            remind += REMINDER_PERIOD_S


def robot_of(text: str) -> Robot:
    """Return the robot of a description; raises `ScrewDynamicsError`."""
    if '<' not in text:  # a path would be opened
        raise DescriptionError(f'the description is not XML but {text[:60]!r}')
    return Robot(read_robot_description(text), backend='reference')


def run_with(visualizer: Visualizer, path: str, made: str, robot: str, namespace: str) -> int:
    """Run a program with a layout in a temporary file; signals are forwarded to the program."""
    with tempfile.TemporaryDirectory(prefix='screw_dynamics_ros_') as folder:
        stem = ''.join(c if c.isalnum() and c.isascii() else '_' for c in robot) or 'robot'
        layout = Path(folder) / f'{stem}{visualizer.suffix}'
        layout.write_text(made, encoding='utf-8')
        if visualizer.note:
            print(visualizer.note.format(path=layout), flush=True)
        process = subprocess.Popen([path, *visualizer.arguments(str(layout), namespace)])
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: process.send_signal(number))
        return process.wait()


def parse(
    visualizer: Visualizer, description: str | None, arguments: Sequence[str]
) -> argparse.Namespace:
    """Return the options of the command line."""
    shown = shlex.join([visualizer.executable, *visualizer.arguments('LAYOUT', 'NAMESPACE')])
    parser = command_parser(
        visualizer.name,
        description,
        f'runs: {shown}\nexit status: that of {visualizer.executable}, {UNUSABLE} if it is '
        f'not installed, {INTERRUPTED} if interrupted before it runs',
    )
    parser.set_defaults(model_state=False)
    if visualizer.has_curves:
        option(
            parser,
            '--model-state',
            f'curves of the parts of {MODEL_STATE}, instead of separate topics',
        )
    option(parser, '--print', 'print the layout and exit')
    return parser.parse_args(arguments)
