# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Annotation of one recording: read joint states, compute outputs, write both."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.annotation import Annotator
from screw_dynamics_ros.core.annotation.annotate import MotionArrays
from screw_dynamics_ros.core.annotation.contacts import ContactFinder
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.description.robot_description import Finding
from screw_dynamics_ros.core.description.ros2_control import unmet_condition
from screw_dynamics_ros.core.estimation.contact_flag import ContactFlag
from screw_dynamics_ros.core.estimation.observers.table import described
from screw_dynamics_ros.core.estimation.residual_model import ResidualModel
from screw_dynamics_ros.core.estimation.residual_offset import ResidualOffset
from screw_dynamics_ros.core.motion.trajectory import LimitExcess, smooth_motion, with_efforts
from screw_dynamics_ros.core.outputs import OUTPUTS
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import joint_state_mapper, leaf_links
from screw_dynamics_ros.nodes.model.scalar_joints import ScalarJoints, scalar_joints
from screw_dynamics_ros.nodes.outputs.external_wrenches import flag_parameters, residual_recordings
from screw_dynamics_ros.ros.data_folder import DataFolder
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.policies import Occurrences, Reason
from screw_dynamics_ros.ros.model_state_forms import layout_message
from screw_dynamics_ros.ros.recordings.coverage import check_coverage, refusals, rename_joints
from screw_dynamics_ros.ros.recordings.forms import MODEL_STATE_LAYOUT
from screw_dynamics_ros.ros.recordings.outputs import Output, open_output
from screw_dynamics_ros.ros.recordings.recording import JOINT_STATE
from screw_dynamics_ros.ros.recordings.sources import RecordingError
from screw_dynamics_ros.ros.recordings.states import StateMaker, States
from screw_dynamics_ros.ros.recordings.storage import RecordingReader

from ..command_line import write_file
from ..excite import yaml_text
from ..recorded_joints import JointMotions, moving, recorded_robot
from .request import Request, Topics
from .tables import ModelStates, ParquetTable, topic_name

Progress = Callable[[float], None]

#: Fraction of the time for reading.
READING_SHARE = 0.3

#: Outputs that require efforts.
OF_EFFORTS = {row.name for row in OUTPUTS.values() if row.effort}

#: The last annotator, because recordings of a folder are mostly of one robot.
ANNOTATORS: dict[tuple[str, str], Annotator] = {}


class AnnotationReport(NamedTuple):
    """Result of the annotation of a recording.

    Attributes
    ----------
    messages, states : int
        Number of recorded joint states, and of complete states.
    records : dict
        Faults of joint states by reason.
    topics : dict
        Number of messages added on each topic.
    why_empty : str
        Reason for topics without messages.
    findings : sequence of Finding
        Contradictions in the joint states, and a residual model for another observer.
    excess : sequence of LimitExcess
        Where the trajectory exceeds limits of velocity and effort.
    contacts : sequence of str
        A line for each contact, with its times since the first state.
    why_no_contact : str
        Empty if contacts were not searched.
    """

    messages: int
    states: int
    records: dict[Reason, Occurrences]
    topics: dict[str, int]
    why_empty: str
    findings: Sequence[Finding] = ()
    excess: Sequence[LimitExcess] = ()
    contacts: Sequence[str] = ()
    why_no_contact: str = ''


def annotate_recording(
    source: Path,
    target: Path | None,
    request: Request,
    parquet: Path | None = None,
    progress: Progress = lambda share: None,
    trajectory: Path | None = None,
) -> AnnotationReport:
    """Add outputs to a recording; see `annotate --help`.

    Raises
    ------
    ScrewDynamicsError
        The recording cannot be read or written, lacks joint states or a description, or the
        description is refused.
    """
    with RecordingReader(source) as reader:
        reader.check(request.topic, JOINT_STATE)
        rename_joints(reader, request.topic, dict(request.renamed))
        text = description(reader, request)
        annotator = annotator_for(text, request)
        robot = annotator.robot
        mapper = joint_state_mapper(
            robot,
            policies=request.policies,
            calibration=request.drives.calibration(scalar_joints(robot)),
            effort_fault=unmet_condition(text, request.value('effort_condition')),
        )
        check_coverage(
            reader,
            request.topic,
            mapper.measured_joints,
            request.policies,
            set(annotator.outputs) <= OF_EFFORTS,
        )
        motions = JointMotions(reader.counts[request.topic])
        states = read_states(
            reader, request.topic, mapper, lambda s: progress(READING_SHARE * s), motions
        )
        if not len(states.stamps):
            raise RecordingError(f'{source}: no valid state of the robot: {refusals(mapper)}')
        motion = whole_motion(annotator, states)
        excess = (
            write_trajectory(trajectory, robot, motion, request) if trajectory is not None else []
        )
        contacts = contact_finder(annotator, request)
        blocks = annotator.blocks(motion, contacts=contacts)
        table = ParquetTable(parquet, robot) if parquet is not None else None
        count = reader.counts[request.topic]
        added: dict[str, int] = {}
        try:
            if target is not None:
                added = write_recording(
                    reader, target, request, annotator, motion, states, table, progress, mapper,
                    blocks,
                )  # fmt: skip
            else:
                for part, results in blocks:
                    if table is not None:
                        table.add(motion, part, results)
                    progress(READING_SHARE + (1.0 - READING_SHARE) * part.stop / len(motion.t))
        except BaseException:
            if table is not None:
                table.abandon()
            raise
        if table is not None:
            table.finish()
        empty = why_empty(states, mapper)
        return AnnotationReport(
            count,
            len(motion.t),
            dict(mapper.records),
            added,
            empty,
            [*motions.findings(robot.description), *residual_findings(annotator, request)],
            excess,
            contact_lines(robot, contacts, int(motion.t[0])),
            why_no_contact(contacts, empty) if 'external_torque' in annotator.outputs else '',
        )


def write_trajectory(
    path: Path, robot: Robot, motion: MotionArrays, request: Request
) -> list[LimitExcess]:
    """Write the motion as a goal of a trajectory controller; return where it exceeds limits."""
    if ScalarJoints(robot).is_free:
        raise RecordingError('a trajectory needs a fixed base, and joints with one coordinate each')
    smooth = smooth_motion(robot, (motion.t - motion.t[0]) * 1e-9, motion.q)
    values = np.stack([smooth.q, smooth.v, smooth.a], axis=2)
    write_file(path, '--trajectory', yaml_text(robot.joint_names, smooth.time, values))
    return with_efforts(robot, smooth, request.payloads).exceeded


def contact_finder(annotator: Annotator, request: Request) -> ContactFinder:
    """Return the search for contacts with the thresholds of the request.

    Raises `ArgumentError`, `UnknownNameError`.
    """
    robot = annotator.robot
    joints = ScalarJoints(robot)
    flag_parameters.check(request.flags, robot)
    flag = ContactFlag(len(joints.joints))
    flag.offset = ResidualOffset()
    flag.offset.model = annotator.residual
    flag_parameters.configure_flag(flag, 'contact', request.flags, robot)
    return ContactFinder(flag, joints.v_places)


def contact_lines(robot: Robot, contacts: ContactFinder, start: int) -> list[str]:
    """Return a line for each contact: times since `start` [ns], joints, torques, thresholds."""
    kinds = {joint.name: joint.kind for joint in robot.description.joints}
    found = []
    for begin, end, torques, thresholds in contacts.found:
        parts = [
            f'{name} {torque:.3g} {kinds[name].effort_unit} (threshold {limit:.3g})'
            for name, torque, limit in zip(scalar_joints(robot), torques, thresholds)
            if torque
        ]
        span = f'{(begin - start) * 1e-9:.2f} to {(end - start) * 1e-9:.2f} s'
        found.append(f'contact from {span}: {", ".join(parts)}')
    return found


def why_no_contact(contacts: ContactFinder, empty: str) -> str:
    """Return why no contact was found; `empty` is why there are no external torques at all."""
    if not contacts.flag.is_monitored:
        return 'no joint has an effort limit; set flag_joints and contact_thresholds'
    found = f'none in {contacts.samples} states with external torques'
    return found if contacts.samples else f'{found}: {empty}'


def description(reader: RecordingReader, request: Request) -> str:
    """Return the description; raises as `recorded_robot`."""
    return recorded_robot(reader, request.description_topic, request.urdf, request.left_out)


def annotator_for(text: str, request: Request) -> Annotator:
    """Return the annotator for a description."""
    key = text, repr(request)
    if key not in ANNOTATORS:
        read = read_robot_description(text)
        robot = Robot(read, gravity=request.value('gravity'), drives=request.drives.drives(read))
        ANNOTATORS.clear()
        ANNOTATORS[key] = Annotator(
            robot,
            request.outputs,
            request.frames or leaf_links(robot),
            request.payloads,
            request.settings,
            residual_of(robot, request),
        )
    return ANNOTATORS[key]


def residual_of(robot: Robot, request: Request) -> ResidualModel | None:
    """Return the residuals of the parameter `residual_map`; raises `ArgumentError`."""
    name, joints = request.value('residual_map'), scalar_joints(robot)
    if not name:
        return None
    folder = DataFolder(request.value('data_folder'))
    found = residual_recordings.read(folder, name, joints, request.settings.effort_terms)
    return residual_recordings.model_of(name, found, robot, joints)


def residual_findings(annotator: Annotator, request: Request) -> list[Finding]:
    """Return a finding if the residual model is for another observer than the request."""
    found = annotator.residual
    fault = '' if found is None else found.other_observer(described(vars(request.settings)))
    remedy = 'set these parameters, or fit it again with identify --residual --observer'
    return [Finding.warning('residual_map', fault, remedy)] if fault else []


def read_states(
    reader: RecordingReader,
    topic: str,
    mapper: JointStateMapper,
    progress: Progress,
    motions: JointMotions | None = None,
) -> States:
    """Return all states of a recording; memory is allocated once for all messages.

    Positions and velocities as recorded are added to `motions`.
    """
    blocks = reader.blocks(topic)
    if motions is not None:
        blocks = moving(blocks, motions)
    total, n = reader.counts[topic], len(mapper.joints)
    whole = States(
        np.empty(total, np.int64),
        np.empty(total, np.int64),
        np.empty((total, n)),
        np.empty((total, n)),
        np.empty((total, n)),
        np.empty(total, dtype=bool),
    )
    count = 0
    for part in StateMaker(mapper).states(blocks):
        end = count + len(part.stamps)
        if end > total:
            raise RecordingError(
                f'{reader.path}: more messages on {topic} than its metadata states: {total}'
            )
        for target, values in zip(whole, part):
            target[count:end] = values
        count = end
        progress(count / max(total, 1))
    return whole.first(count)


def whole_motion(annotator: Annotator, states: States) -> MotionArrays:
    """Return the motion of all joints; planar, ball and floating joints are at zero."""
    robot = annotator.robot
    joints = ScalarJoints(robot)
    q, v, tau = states.q, states.v, states.tau
    if joints.held:
        count = len(states.stamps)
        q, v, tau = np.tile(robot.neutral(), (count, 1)), *np.zeros((2, count, robot.nv))
        q[:, joints.q_places] = states.q
        v[:, joints.v_places], tau[:, joints.v_places] = states.v, states.tau
    return annotator.motion(states.stamps, q, v, tau, states.restarted)


def write_recording(
    reader: RecordingReader,
    target: Path,
    request: Request,
    annotator: Annotator,
    motion: MotionArrays,
    states: States,
    table: ParquetTable | None,
    progress: Progress,
    mapper: JointStateMapper,
    blocks: Iterator[tuple[slice, dict[str, Array]]],
) -> dict[str, int]:
    """Write the recording with outputs; return the number of messages on each topic.

    Raises RecordingError and writes nothing if no topic has messages.
    """
    topics: Topics | None = None
    model_states: ModelStates | None = None
    counts: dict[str, int] = {}
    with open_output(target, reader, request.compression, str(os.getpid())) as output:
        for part, results in blocks:
            if topics is None:
                topics = topics_for(annotator, list(results), request, reader)
                for topic in topics.topics.values():
                    output.add_topic(topic.name, topic.form.kind)
                static = topics.static_transforms(int(motion.t[0]))
                has_tf = '/tf' in topics.names and '/tf_static' not in reader.types
                if static is not None and has_tf:
                    output.add_topic('/tf_static', static[0], latched=True)
                    output.write_message('/tf_static', int(states.received[0]), static[1])
                if request.model_state:
                    model_states = ModelStates(
                        annotator.robot, mapper.joints, topics, request.namespace
                    )
                    add_model_states(output, model_states, states)
            stacks = topics.stacks(results)
            if model_states is not None:
                stacks.append(model_states.stack(states.part(part), stacks))
            for stack in stacks:
                counts[stack.topic] = counts.get(stack.topic, 0) + int(stack.present.sum())
            output.write(states.received[part], motion.t[part], stacks)
            if table is not None:
                table.add(motion, part, results)
            progress(READING_SHARE + (1.0 - READING_SHARE) * part.stop / len(motion.t))
        if counts and not any(counts.values()):
            raise RecordingError(
                f'{reader.path}: no messages for {", ".join(counts)}: {why_empty(states, mapper)}'
            )
        output.finish()
    return counts


def add_model_states(output: Output, model_states: ModelStates, states: States) -> None:
    """Add the topics of model states, and write their layout before the first state."""
    name = f'{model_states.topic}_layout'
    output.add_topic(model_states.topic, model_states.form.kind)
    output.add_topic(name, MODEL_STATE_LAYOUT, latched=True)
    data = layout_message(model_states.layout, int(states.stamps[0]))
    output.write_message(name, int(states.received[0]), data)


def why_empty(states: States, mapper: JointStateMapper) -> str:
    """Return why no state has values of outputs, and the remedy."""
    for what, values, parameter in (
        ('efforts', states.tau, 'effort_policy'),
        ('velocities', states.v, 'velocity_policy'),
    ):
        lacking = ~np.isfinite(values)
        if lacking.any(axis=1).all():
            return (
                f'no state has all {what}, as {parameter} requires ({refusals(mapper)}); use '
                f'--leave-out for joints without them, or --set {parameter}=zero'
            )
    return (
        'the joints do not determine their values in any state, or positions, velocities or '
        'efforts are too large'
    )


def topics_for(
    annotator: Annotator, outputs: list[str], request: Request, reader: RecordingReader
) -> Topics:
    """Return the topics of outputs; raises `RecordingError` if one is already recorded.

    Transforms are omitted if the recording contains /tf, as the node does.
    """
    if '/tf' in reader.types:
        outputs = [name for name in outputs if name != 'transforms']
    topics = Topics(annotator.robot, outputs, request.namespace)
    state = topic_name(request.namespace)
    model_state = (state, f'{state}_layout') if request.model_state else ()
    for name in (*topics.names, *model_state):
        if name in reader.types:
            raise RecordingError(
                f'{reader.path}: {name} is already recorded; exclude it with --outputs, or use '
                '--namespace'
            )
    return topics
