# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Add the outputs of the nodes to a recording.

    annotate run.mcap -o annotated.mcap --outputs gravity,external_torque --set observer=momentum

The command computes the outputs for every joint state of the recording and adds them as topics,
with names and types as published by the nodes and the original stamps. Recorded messages are copied
unchanged. The description is from the recording or --urdf. RECORDING is a bag of ROS 2 (.mcap,
.db3, a folder) or ROS 1 (.bag), or a table (.csv, .npz; columns in doc/how_to/recordings.md). The
output NAME.mcap is one MCAP file; any other name is a folder with SQLite and metadata.yaml. The
report lists contacts: where external torques exceed the thresholds of ~/contact. Without an output
there is only the report.

    annotate runs/ -o annotated/ --workers 8

annotates all recordings in a folder and its subfolders with 8 processes. Existing outputs are
skipped, so the same command resumes an interrupted run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from screw_dynamics_ros.core.annotation.settings import DEFAULT, OUTPUTS
from screw_dynamics_ros.entry import DONE, PARTIAL
from screw_dynamics_ros.nodes.parameters.robot_parameters import robot_parameters
from screw_dynamics_ros.ros.recordings.coverage import record_lines
from screw_dynamics_ros.ros.recordings.mcap import COMPRESSIONS

from ..command_line import (
    UnusableError,
    command_parser,
    execute,
    exit_statuses,
    heed_interrupts,
    names,
    option,
    progress_bar,
)
from ..recorded_joints import add_recorded_robot, given_description
from ..report import finding_lines
from . import folders
from .annotation import AnnotationReport, annotate_recording
from .request import Request, parameter_values


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the annotated recording; return the exit status."""
    return execute('annotate', parse, run, arguments)


def run(options: argparse.Namespace) -> int:
    """Write the annotated recording, or those of a folder; return the exit status."""
    heed_interrupts()
    request = request_of(options)
    if folders.is_folder_of_recordings(options.recording):
        return annotate_all(options, request)
    with progress_bar('annotate') as progress:
        report = annotate_recording(
            *(options.recording, options.output, request),
            *(options.parquet, progress, options.trajectory),
        )
    print('\n'.join(lines(report)))
    # For some robots not all default outputs exist.
    return PARTIAL if options.outputs and not all(report.topics.values()) else DONE


def annotate_all(options: argparse.Namespace, request: Request) -> int:
    """Annotate a folder; return the exit status."""
    if options.output is None or options.parquet is not None or options.trajectory is not None:
        raise UnusableError(
            'a folder of recordings requires -o FOLDER, without --parquet and --trajectory'
        )
    if options.output.exists() and not options.output.is_dir():
        raise UnusableError(f'argument -o: {options.output} is not a folder')
    source, target = options.recording.resolve(), options.output.resolve()
    if target in (source, *source.parents):
        raise UnusableError(
            f'argument -o: {options.output} contains the recordings; name another folder, such as '
            f'{options.recording / "annotated"}'
        )
    every = folders.tasks(options.recording, options.output)
    todo = [task for task in every if not task.target.exists()]
    faults, doubts = [], list[str]()
    with progress_bar('annotate') as progress:
        for outcome in (
            folders.annotate_folder(todo, request, options.workers, options.scheduler, progress)
            if todo
            else ()
        ):
            if outcome.fault:
                faults.append(outcome)
            doubts += [f'{outcome.source}: {line}' for line in outcome.findings]
    for outcome in sorted(faults):
        print(f'failed: {outcome.source}: {outcome.fault}', file=sys.stderr)
    print(''.join(f'{line}\n' for line in sorted(doubts)), end='')
    print(
        f'{len(every)} recordings: {len(todo) - len(faults)} annotated, '
        f'{len(every) - len(todo)} existed, {len(faults)} failed'
    )
    return PARTIAL if faults else DONE


def lines(report: AnnotationReport) -> list[str]:
    """Return a report as text."""
    text = [f'{report.states} states of {report.messages} joint states']
    text += record_lines(report.records)
    text += finding_lines(report.findings)
    text += [f'trajectory: {each}' for each in report.excess]
    text += report.contacts
    if report.why_no_contact and not report.contacts:
        text.append(f'contacts: {report.why_no_contact}')
    text += [f'{count:8d} {topic}' for topic, count in report.topics.items()]
    empty = [topic for topic, count in report.topics.items() if not count]
    if empty:
        text.append(f'no message on {", ".join(empty)}: {report.why_empty}')
    text += [
        f'{topic}: none for {report.states - count} of {report.states} states: near a singularity '
        'the joints do not determine all of it (reduced_wrench contains the rest), or the observer '
        'has not settled'
        for topic, count in report.topics.items()
        if '/wrench/' in topic and 0 < count < report.states
    ]
    return text


def request_of(options: argparse.Namespace) -> Request:
    """Return the request of the options; raises `UnusableError`."""
    unknown = [name for name in options.outputs if name not in OUTPUTS]
    if unknown:
        raise UnusableError(
            f'argument --outputs: {", ".join(unknown)}: choose from {", ".join(OUTPUTS)}'
        )
    drives = robot_parameters(options.drives, options.leave_out)
    return Request(
        options.topic,
        options.description_topic,
        given_description(options),
        options.outputs or DEFAULT,
        options.frames,
        parameter_values(options.set, drives),
        options.namespace,
        options.compression,
        options.leave_out,
        tuple(options.rename),
        drives,
        options.model_state,
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the request."""
    add = partial(option, parser)
    add(
        '--outputs A,B',
        f'outputs, from {", ".join(OUTPUTS)} (default: all except matrices)',
        names,
        (),
    )
    add('--frames A,B', 'links for outputs of links (default: the moving leaf links)', names, ())
    add(
        '--set NAME=VALUE',
        'a parameter of the nodes, such as observer=momentum or payload_mass=1.2',
        default=[],
        action='append',
    )
    add(
        '--model-state',
        'write all outputs in one message for each joint state, too, on /bringup/model_state',
    )
    add_recorded_robot(parser)
    add('--namespace NAMESPACE', 'namespace of the added topics', default='')
    add(
        '--compression',
        'compression of the added chunks (default: lz4)',
        default='lz4',
        choices=COMPRESSIONS,
    )


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    partial = 'recordings of a folder were skipped, or outputs of --outputs have no messages'
    parser = command_parser('annotate', __doc__, exit_statuses(partial=partial))
    option(parser, 'recording RECORDING', kind=Path)
    option(parser, '-o --output NAME', 'NAME.mcap or a folder', Path)
    option(parser, '--parquet FILE', 'write a table of the outputs', Path)
    option(
        parser,
        '--trajectory FILE',
        'write the smoothed motion as a goal of FollowJointTrajectory (.yaml)',
        Path,
    )
    option(
        parser,
        '--workers N',
        'number of processes for a folder (default: number of processors)',
        int,
        0,
    )
    option(parser, '--scheduler ADDRESS', 'address of a Dask cluster to use instead', default='')
    add_options(parser)
    return parser.parse_args(arguments)
