# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Identify the dynamics of a robot from recorded joint states.

    identify run.mcap --urdf robot.urdf --output identified

RECORDING contains joint states with efforts: a bag of ROS 2 (.mcap, .db3, a folder) or ROS 1
(.bag), or a table (.csv, .npz; columns in doc/how_to/recordings.md). The command estimates
inertias, armatures, friction and effort offsets, also sign and scale of efforts if the driver does
not report torques. The report names parameters that the motion does not identify. `excite` designs
a motion that identifies most parameters. Use --gravity for a robot that is mounted differently from
its description.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.annotation.unloaded_residual import (
    OBSERVER,
    UnloadedResidual,
    as_of_nodes,
    settings_of,
    unloaded_residual,
)
from screw_dynamics_ros.core.description.friction import FRICTION
from screw_dynamics_ros.core.dynamics.definite_mass_matrix import definiteness
from screw_dynamics_ros.core.estimation.observers.table import OBSERVERS
from screw_dynamics_ros.core.identification import (
    DynamicIdentification,
    EffortModel,
    IdentificationOptions,
    JointRecording,
    KnownLoad,
    identify_recordings,
)
from screw_dynamics_ros.core.identification.model_check import CHANGES, check_model
from screw_dynamics_ros.core.identification.residual_fit import ResidualFit, fit_residual
from screw_dynamics_ros.core.identification.unknowns import GROUPS
from screw_dynamics_ros.core.tree.multibody_tree import build_tree
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.entry import DONE, NEGATIVE
from screw_dynamics_ros.nodes.outputs.external_wrenches.residual_recordings import model_text
from screw_dynamics_ros.ros.recordings.recording import read_recording

from ..command_line import (
    UnusableError,
    add_gravity,
    between,
    command_parser,
    execute,
    exit_statuses,
    names,
    option,
    positive,
    progress_bar,
    some_of,
    write_file,
    write_whole,
)
from ..recorded_joints import add_recorded_robot
from ..report import Section, add_html, html, markdown, text
from . import output_files, payload, picture, report, tool
from .recordings import (
    KnownRobot,
    are_poses,
    known_robot,
    of_reported_efforts,
    of_robot,
    recorded_description,
)

URDF, PARAMETERS, RESIDUAL = 'identified.urdf', 'drives.yaml', 'residual.yaml'


class Outcome(NamedTuple):
    """What a run prints and writes.

    Attributes
    ----------
    title : str
    sections : list of Section
    files : {str: str}
        Texts by file name.
    drawn : DynamicIdentification or ModelCheck, optional
        Result of the picture and the page, which are written with the files.
    name : str
        File name of the picture and the page, without suffix.
    more : sequence of Section
        Sections of the page only.
    status : int
        Exit status.
    """

    title: str
    sections: list[Section]
    files: dict[str, str]
    drawn: picture.Result | None = None
    name: str = ''
    more: Sequence[Section] = ()
    status: int = DONE


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report, write the files; return the exit status."""
    return execute('identify', parse, run, arguments)


def run(options: argparse.Namespace) -> int:
    """Print the report, write the files."""
    with progress_bar('identify') as progress:
        found = outcome(options, progress)
    print(text(found.sections))
    drawn = None
    if options.output is not None and (found.files or found.drawn):
        drawn = write(options.output, found)
    if options.html is not None:
        content = b'' if drawn is None else drawn.read_bytes()
        page = html(found.title, [*found.sections, *found.more], content)
        write_file(options.html, '--html', page)
    return found.status


def outcome(options: argparse.Namespace, progress: Callable[..., object]) -> Outcome:
    """Return the outcome for the kind of recordings that the options select."""
    if options.sensor is not None:
        found = tool.identified_tool(options)
        files = {tool.PARAMETERS: tool.parameter_file(found)}
        return Outcome(f'Tool on {found.frame}', [tool.section(found)], files)
    given = recorded(options, progress)
    if options.check:
        return checked(options, given)
    if options.payload and are_poses(given.recordings):
        return weighed(options, given)
    result, residual, fit, half_widths = identified(options, given)
    sections = report.of_fit(result, given.notes, residual)
    tree = build_tree(result.description, drives=result.drives)
    sections[0].findings.append(definiteness(tree).finding)
    if fit is not None:
        sections.append(report.residuals(fit))
    is_wrong = any(finding.severity == 'error' for finding in result.findings)
    files = {
        URDF: output_files.identified_urdf(given.text, result),
        PARAMETERS: output_files.parameter_file(
            result, options.payload, residual, half_widths, options.observer if fit else OBSERVER
        ),
    }
    if fit is not None:
        files[RESIDUAL] = model_text(fit.joint_names, given.known.terms, fit.model)
    return Outcome(
        f'Identification of {result.description.name}',
        sections,
        {} if is_wrong else files,
        result,
        'report',
        [report.groups(result)],
        NEGATIVE if is_wrong else DONE,
    )


class Recorded(NamedTuple):
    """The URDF, the nominal robot, its recordings, and notes on omitted data."""

    text: str
    known: KnownRobot
    recordings: list[JointRecording]
    notes: list[str]


def recorded(options: argparse.Namespace, progress: Callable[..., object]) -> Recorded:
    """Return the robot and its recordings; raises `ScrewDynamicsError`, `UnusableError`."""
    paths = [*options.recordings, *options.loaded]
    states = []
    for done, path in enumerate(paths):
        progress(done / (len(paths) + 1), f'reading {path.name}')
        states.append(
            read_recording(
                path, options.topic, options.description_topic, renamed=dict(options.rename)
            )
        )
    progress(len(paths) / (len(paths) + 1), 'comparing' if options.check else 'identifying')
    urdf = recorded_description(options, states)
    known = known_robot(urdf, options)
    load = known_payload(options)
    recordings, notes = [], list(known.notes)
    for path, each in zip(paths, states):
        carried = load if path in options.loaded else None
        recording, remarks = of_robot(
            each, known.robot, carried, options.leave_out, known.calibration
        )
        recordings.append(recording)
        notes += [f'{path.name}: {note}' for note in remarks]
    return Recorded(urdf, known, recordings, notes)


def weighed(options: argparse.Namespace, given: Recorded) -> Outcome:
    """Return the payload of poses at rest; its file only if it has a mass."""
    link, known = options.payload, given.known
    found = payload.payload_of_poses(known.robot, link, given.recordings, known.payloads)
    files = {payload.PARAMETERS: payload.parameter_file(found, link)} if found.has_mass else {}
    return Outcome(f'Payload on {link}', [payload.section(found, link, given.notes)], files)


def checked(options: argparse.Namespace, given: Recorded) -> Outcome:
    """Return the comparison of model and recordings."""
    found = check_model(
        given.known.robot,
        given.recordings,
        options.cutoff,
        given.known.payloads,
        given.known.delay,
        options.measured_velocities,
        given.known.half_widths,
    )
    if options.drives is not None and given.known.half_widths is None:
        given.notes.append(f'{options.drives} states no intervals: drift is not checked')
    title, status = f'Check of {found.description.name}', NEGATIVE if found.unexplained else DONE
    sections = report.of_check(found, given.notes)
    return Outcome(title, sections, {}, found, 'check', status=status)


def identified(
    options: argparse.Namespace, given: Recorded
) -> tuple[DynamicIdentification, UnloadedResidual | None, ResidualFit | None, Array]:
    """Return the result, errors of external torques, a model of these, half widths of intervals.

    The half widths (n, 3) are those of `CHANGES` in the same recordings.
    """
    _, known, recordings, _ = given
    robot = known.robot
    scale = robot.joint_names if options.scale == ('all',) else options.scale
    result = identify_recordings(
        robot,
        recordings,
        IdentificationOptions(
            model=EffortModel(
                estimate=tuple(group for group in GROUPS if group not in options.hold),
                payload_link=options.payload,
                stribeck_speed=options.stribeck,
                smoothing=options.smoothing,
                terms=options.friction,
            ),
            scale=scale[0] if scale in (('auto',), ('known',)) else scale,
            cutoff=options.cutoff,
            held_out=options.held_out,
            robust=options.robust,
            measured_velocities=options.measured_velocities,
        ),
    )
    identified_robot = Robot(result.description, gravity=robot.gravity, drives=result.drives)
    runs = as_of_nodes(identified_robot, result, recordings, options.payload)
    residual = unloaded_residual(identified_robot, result, recordings, runs)
    fit = None
    if options.residual:
        settings = replace(settings_of(result, residual), observer=options.observer)
        fit = fit_residual(identified_robot, runs, settings)
    half_widths = stated_half_widths(identified_robot, result, recordings, runs)
    return of_reported_efforts(result, known.calibration), residual, fit, half_widths


def stated_half_widths(
    robot: Robot,
    result: DynamicIdentification,
    recordings: Sequence[JointRecording],
    runs: Sequence[JointRecording],
) -> Array:
    """Return the half widths (n, 3) of `CHANGES` of an identified robot; `runs` have payloads."""
    if np.isnan(result.effort_scale).all():
        return np.full((len(result.joint_names), len(CHANGES)), np.nan)
    torques = [
        replace(
            each,
            tau=each.tau * result.effort_scale + result.effort_offset,
            payloads=run.payloads,
        )
        for each, run in zip(recordings, runs)
    ]
    delay = result.effort_delay.value if result.effort_delay.is_certain else 0.0
    return check_model(robot, torques, result.cutoff, delay=delay).half_widths


def known_payload(options: argparse.Namespace) -> KnownLoad | None:
    """Return the known load in --loaded recordings; raises `UnusableError`."""
    if (options.known_payload is None) != (not options.loaded):
        raise UnusableError('--loaded and --known-payload must be used together')
    if options.known_payload is None:
        return None
    link, *texts = options.known_payload
    try:
        mass, *com = map(float, texts)
        if len(com) not in (0, 3):
            raise ValueError
    except ValueError:
        raise UnusableError(
            f'argument --known-payload: {" ".join(texts)!r} is neither a mass [kg] nor a mass '
            'and a center of mass x y z in the frame of the link [m]; give a link and these numbers'
        ) from None
    return KnownLoad(link, mass, (com[0], com[1], com[2]) if com else None)


def write(folder: Path, found: Outcome) -> Path | None:
    """Write files, picture and page; return the picture's path; raises `UnusableError`."""
    files, drawn = dict(found.files), None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if found.drawn is not None:
            try:
                picture.save_picture(found.drawn, folder / f'{found.name}.png')
                drawn = folder / f'{found.name}.png'
            except ImportError:
                print('no picture: matplotlib is not installed', file=sys.stderr)
            sections = [*found.sections, *found.more]
            name = '' if drawn is None else drawn.name
            files[f'{found.name}.md'] = markdown(found.title, sections, name)
        for each, content in files.items():
            write_whole(folder / each, content.encode())
    except OSError as error:
        raise UnusableError(
            f'argument --output: cannot write to {folder}: {error.strerror}; choose a '
            'writable folder'
        ) from None
    names = [*files, *([] if drawn is None else [drawn.name])]
    print(f'written: {", ".join(names)} in {folder}')
    return drawn


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    negative = (
        'wrong units of positions (only the report is written); with --check: efforts of a moving '
        'joint are poorly modeled (R2 below 0.8)'
    )
    parser = command_parser('identify', __doc__, exit_statuses(negative))
    add = partial(option, parser)
    add('recordings RECORDING', kind=Path, nargs='+')
    add_recorded_robot(
        parser, 'joints whose efforts and velocities are ignored; their drives are not identified'
    )
    add('--output -o FOLDER', 'folder for URDF, drives.yaml and report', Path)
    add_html(parser)
    add(
        '--scale A,B',
        "joints whose effort scale is estimated: names, 'all', 'known' (none), or 'auto' "
        '(default): joints far from the nominal model',
        names,
        ('auto',),
    )
    add(
        '--hold A,B',
        f'groups of parameters to keep at nominal values, of {", ".join(GROUPS)}',
        some_of(GROUPS),
        (),
    )
    add(
        '--payload LINK',
        'estimate the payload on this link; inertias of links stay nominal',
        default='',
    )
    add('--check', 'compare the model (URDF, --drives) with the recordings, without a fit')
    add(
        '--sensor TOPIC',
        'estimate the tool on the force-torque sensor of this topic instead '
        '(geometry_msgs/WrenchStamped; /wrench of a table)',
    )
    add('--sensor-frame LINK', 'link of the sensor (default: recorded)', default='')
    add(
        '--sensor-sign',
        '-1: the sensor shows forces of the robot on the environment (default: 1)',
        default='1',
        choices=('1', '-1'),
    )
    add('--loaded RECORDING', default=[], kind=Path, action='append')
    add(
        '--known-payload KNOWN_PAYLOAD',
        'mass of the payload in --loaded recordings, and its center of mass if it is known '
        'accurately: determines the scale of the efforts',
        nargs='+',
        metavar=('LINK', 'KG [X Y Z]'),
    )
    add(
        '--stribeck SPEED',
        'estimate Stribeck friction, which is halved at this speed [rad/s, m/s]',
        positive,
    )
    add(
        '--friction A,B',
        f'terms of friction to estimate for all joints, of {", ".join(FRICTION)}',
        some_of(FRICTION),
        (),
    )
    add(
        '--smoothing SMOOTHING',
        'speed below which Coulomb friction is smoothed [rad/s, m/s] (0.01)',
        positive,
        0.01,
    )
    add('--cutoff HZ', 'cutoff frequency of the filter (default: from the motion)', positive)
    add('--held-out FRACTION', 'fraction of the data for validation (0.2)', between(0.0, 0.5), 0.2)
    add(
        '--residual',
        'fit a model of remaining errors (hysteresis, load, pose), for the parameter residual_map',
    )
    add(
        '--observer',
        'observer that estimates external torques with the model of --residual (momentum)',
        default=OBSERVER,
        choices=tuple(OBSERVERS),
    )
    add('--robust', 'reduce the weight of outliers, for instance contacts')
    add('--measured-velocities', 'use recorded velocities instead of derivatives of positions')
    add_gravity(parser)
    return parser.parse_args(arguments)
