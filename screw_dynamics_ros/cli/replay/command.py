# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Run the nodes on a recording and record their outputs.

    replay run.mcap -o replayed.mcap --nodes wrench_estimator --ros-args -p observer:=momentum

The nodes run in this process with the same code as live: every joint state is read, checked,
completed and processed as on arrival, with the time of recording as the current time. The outputs
are written together with the recorded messages. Nothing is sent or received. The arguments after
--ros-args are for the nodes: parameters, parameter files, names.

Topics that depend on more than joint states, or sensor messages of `wrist_sensor`, are omitted:
commands, markers, singularity measures and /tf. With the parameter model_state, ~/model_state and
its layout are written; singularity measures are not valid there. `annotate` is much faster and uses
the whole motion.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from heapq import merge
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import yaml

from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.entry import DONE
from screw_dynamics_ros.nodes.parameters.robot_parameters import robot_parameters
from screw_dynamics_ros.registry import NODES, load
from screw_dynamics_ros.ros.model_state_forms import layout_message
from screw_dynamics_ros.ros.parameter_files import PARAMETERS
from screw_dynamics_ros.ros.recordings.blocks import Block
from screw_dynamics_ros.ros.recordings.coverage import check_coverage, refusals, rename_joints
from screw_dynamics_ros.ros.recordings.forms import MODEL_STATE_LAYOUT, is_known
from screw_dynamics_ros.ros.recordings.mcap import COMPRESSIONS
from screw_dynamics_ros.ros.recordings.outputs import open_output
from screw_dynamics_ros.ros.recordings.recording import JOINT_STATE
from screw_dynamics_ros.ros.recordings.sources import RecordingError
from screw_dynamics_ros.ros.recordings.storage import RecordingReader

from ..command_line import (
    UnusableError,
    command_parser,
    execute,
    heed_interrupts,
    names,
    option,
    own_arguments,
    progress_bar,
)
from ..recorded_joints import (
    JointMotions,
    add_recorded_robot,
    given_description,
    moving,
    recorded_robot,
)
from ..report import finding_lines

if TYPE_CHECKING:
    from screw_dynamics_ros.ros.model_state import ModelStateLayout

    from .hosted_node import HostedNode, Send

REPLAYED = ('wrench_estimator', 'dynamics', 'kinematics', 'wrist_sensor')
RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'  # applies to nodes created while it is set


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the replayed recording; return the exit status."""
    return execute('replay', parse, run, arguments)


def run(options: argparse.Namespace) -> int:
    """Write the replayed recording."""
    heed_interrupts()
    with TemporaryDirectory() as folder:
        of_ros = options.given[len(own_arguments(options.given)) :]
        counts, faults = replay(options, [*drive_arguments(options, Path(folder)), *of_ros])
    print(''.join(f'{line}\n' for line in faults), end='')
    for topic, count in counts.items():
        print(f'{count:8d} {topic}')
    return DONE


def drive_arguments(options: argparse.Namespace, folder: Path) -> list[str]:
    """Return ROS arguments with the parameters of --drives, except those of omitted joints."""
    if options.drives is None:
        return []
    file = folder / 'drives.yaml'
    values = robot_parameters(options.drives, options.leave_out).values
    file.write_text(yaml.safe_dump({'/**': {PARAMETERS: dict(values)}}))
    return ['--ros-args', '--params-file', str(file)]


def replay(
    options: argparse.Namespace, ros_arguments: Sequence[str]
) -> tuple[dict[str, int], list[str]]:
    """Write the recording; return the number of messages on each topic, and faults of states."""
    unknown = [name for name in options.nodes if name not in REPLAYED]
    if unknown or not options.nodes:
        raise UnusableError(
            f'argument --nodes: {", ".join(unknown)!r}: choose from {", ".join(REPLAYED)}'
        )
    with RecordingReader(options.recording) as reader:
        reader.check(options.topic, JOINT_STATE)
        rename_joints(reader, options.topic, dict(options.rename))
        text = recorded_robot(
            reader, options.description_topic, given_description(options), options.leave_out
        )
        counts: dict[str, int] = {}
        now = 0
        with (
            Nodes(
                options, text, ros_arguments, lambda topic, data: put(topic, data), reader
            ) as nodes,
            open_output(options.output, reader, options.compression, str(os.getpid())) as output,
            progress_bar('replay') as progress,
        ):
            topics = nodes.topics()
            if not topics:
                raise UnusableError(
                    f'argument --topics: no topic name contains {", ".join(options.topics)}'
                )
            for topic, kind in topics.items():
                check_is_new(reader, topic)
                if is_known(kind):
                    output.add_topic(topic, kind)
                    counts[topic] = 0

            def put(topic: str, data: bytes) -> None:
                if topic in counts:
                    output.write_message(topic, now, data)
                    counts[topic] += 1

            nodes.check(reader, options)
            layouts = nodes.model_state_layouts()
            for topic in layouts:
                check_is_new(reader, topic)
                output.add_topic(topic, MODEL_STATE_LAYOUT, latched=True)
            topics_read = [options.topic, *nodes.sensor_topics()]
            motions = JointMotions(reader.counts[options.topic])
            total = sum(reader.counts[topic] for topic in topics_read)
            for done, (received, topic, data) in enumerate(recorded(reader, topics_read, motions)):
                now = received
                if not done:
                    for name, layout in layouts.items():
                        output.write_message(name, now, layout_message(layout, now))
                nodes.receive(None if topic == options.topic else topic, data, received)
                progress(done / total)
            if not any(counts.values()):
                raise RecordingError(
                    f'{reader.path}: no message is published on any topic: '
                    f'{nodes.refusals() or "the joint states have no faults"}'
                )
            output.finish()
            found = motions.findings(read_robot_description(text))
            return counts, [*nodes.faults_of_states(), *finding_lines(found)]


def check_is_new(reader: RecordingReader, topic: str) -> None:
    """Raise RecordingError if a topic is recorded."""
    if topic in reader.types:
        raise RecordingError(
            f'{reader.path}: {topic} is already recorded; give the nodes another name or namespace '
            'after --ros-args'
        )


def recorded(
    reader: RecordingReader, topics: Sequence[str], motions: JointMotions
) -> Iterator[tuple[int, str, bytes]]:
    """Yield time of recording [ns], topic and content of messages in the order of recording.

    Messages with the same time are in the order of `topics`. The first topic has joint states,
    which are added to `motions`.
    """
    states, *others = topics
    blocks = moving(reader.blocks(states), motions)
    return merge(
        messages_of(blocks, states),
        *(messages_of(reader.blocks(topic), topic) for topic in others),
        key=itemgetter(0),
    )


def messages_of(blocks: Iterable[Block], topic: str) -> Iterator[tuple[int, str, bytes]]:
    """Yield time of recording [ns], topic and content of the messages of a topic."""
    for block in blocks:
        for k, received in enumerate(block.received.tolist()):
            yield received, topic, block.message(k)


class Nodes:
    """Nodes in this process without network; use it in a `with` statement."""

    def __init__(
        self,
        options: argparse.Namespace,
        text: str,
        ros_arguments: Sequence[str],
        send: Send,
        reader: RecordingReader,
    ) -> None:
        self._range_before = os.environ.get(RANGE)
        os.environ[RANGE] = 'OFF'
        try:
            import rclpy
            from rclpy.signals import SignalHandlerOptions

            from .hosted_node import HostedNode

            factories = [load(NODES[name].factory) for name in options.nodes]
        except ImportError as error:
            self._restore_range()
            raise UnusableError(
                f'the nodes require ROS 2, which is missing ({error}); source it, or use annotate'
            ) from None
        self._rclpy = rclpy
        try:
            # With its own signal handlers, rclpy would shut down at the same time as `_end`.
            rclpy.init(
                args=list(ros_arguments) or None, signal_handler_options=SignalHandlerOptions.NO
            )
        except Exception as error:  # rclpy has several classes, without a common base
            self._restore_range()
            raise UnusableError(f'arguments after --ros-args: {error}') from None
        self._nodes: list[HostedNode] = []
        try:
            for name, factory in zip(options.nodes, factories):
                self._nodes.append(HostedNode(name))
                self._nodes[-1].prepare(factory, text, send, options.topics, reader)
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Nodes:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        for each in self._nodes:
            each.close()
        self._rclpy.try_shutdown()
        self._restore_range()

    def _restore_range(self) -> None:
        if self._range_before is None:
            os.environ.pop(RANGE, None)
        else:
            os.environ[RANGE] = self._range_before

    def topics(self) -> dict[str, str]:
        """Return the types of all topics."""
        return {topic: kind for each in self._nodes for topic, kind in each.topics().items()}

    def model_state_layouts(self) -> dict[str, ModelStateLayout]:
        """Return the layouts of model states, by topic."""
        found = (each.model_state_layout() for each in self._nodes)
        return dict(pair for pair in found if pair is not None)

    def check(self, reader: RecordingReader, options: argparse.Namespace) -> None:
        """Raise RecordingError if the recording gives no valid state for a node."""
        for each in self._nodes:
            check_coverage(
                reader,
                options.topic,
                each.mapper.measured_joints,
                each.mapper.policies,
                set(options.nodes) == {'wrench_estimator'} and not options.topics,
            )

    def sensor_topics(self) -> list[str]:
        """Return the topics of force-torque sensors that nodes read."""
        return list(dict.fromkeys(topic for each in self._nodes for topic in each.sensors))

    def faults_of_states(self) -> list[str]:
        """Return lines about joint states that were refused, completed or without results."""
        return list(dict.fromkeys(line for each in self._nodes for line in each.faults_of_states()))

    def refusals(self) -> str:
        """Return a text about faults of joint states and sensor messages."""
        texts = dict.fromkeys(
            text for each in self._nodes for text in (refusals(each.mapper), *each.faults())
        )
        return '; '.join(filter(None, texts))

    def receive(self, topic: str | None, data: bytes, received: int) -> None:
        """Let nodes process a message of a sensor, or, without a topic, a joint state."""
        for each in self._nodes:
            if topic is None:
                each.receive(data, received)
            elif topic in each.sensors:
                each.receive_wrench(topic, data)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = command_parser('replay', __doc__)
    add = partial(option, parser)
    add('recording RECORDING', kind=Path)
    add('-o --output NAME', 'NAME.mcap or a folder', Path, required=True)
    add(
        '--nodes A,B',
        f'nodes, from {", ".join(REPLAYED)} (default: wrench_estimator)',
        names,
        ('wrench_estimator',),
    )
    add('--topics A,B', 'parts of topic names, such as external_torque (default: all)', names, ())
    add_recorded_robot(parser)
    add('--compression', 'compression of the added chunks', default='lz4', choices=COMPRESSIONS)
    return parser.parse_args(arguments)
