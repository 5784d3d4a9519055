# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The service `compare_model` of the node `dynamics`: comparison with other programs.

The programs read the received description, or the corrected one if link inertias were corrected.
They also receive gravity, and the current armatures and viscous friction of the drives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from screw_dynamics_ros.comparison import report
from screw_dynamics_ros.comparison.field_differences import field_differences
from screw_dynamics_ros.comparison.peer import ModelSource
from screw_dynamics_ros.comparison.programs import (
    NAMES,
    PROGRAMS,
    STATES,
    TOLERANCE,
    check,
    outcome,
)
from screw_dynamics_ros.comparison.quantities import UNITS, our_values, random_states
from screw_dynamics_ros.comparison.reading import DescriptionReading
from screw_dynamics_ros.comparison.report import ProgramOutcome
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import RobotDescription
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from screw_dynamics_ros.core.errors import ArgumentError, ErrorCode, UnknownNameError
from screw_dynamics_ros.ros.names import shorten, shown

from .requests import ServiceModel

MAX_STATES = 1000


def compare_model(queried: ServiceModel, request: Any, response: Any) -> None:
    """Answer a CompareModel request."""
    queried.check_tree('comparison with other programs', 'compare the tree with "parity FILE"')
    names = wanted_programs(request)
    count, tolerance = request.states or STATES, request.tolerance or TOLERANCE
    if count > MAX_STATES:
        raise ArgumentError(
            f'states: at most {MAX_STATES}, because other services wait; got {count}'
        )
    if not 0.0 < tolerance < 1.0:
        raise ArgumentError(f'tolerance must be between 0 and 1, got {tolerance}')
    tip = queried.find_link(request.tip, 'tip') if request.tip else ''
    source = source_of(queried.robot, queried.text, tip)
    check(source.description, tip)
    outcomes = [
        outcome_of(name, source, count, request.seed, tolerance, queried.robot.backend)
        for name in names
    ]
    ours = DescriptionReading(source.description, source.armatures)
    values = our_values(ours, random_states(ours, count, request.seed, source.gravity))
    title = (
        f'robot {source.description.name}: largest differences in {count} random states (seed '
        f'{request.seed}); {report.MARK} above the relative tolerance {tolerance:g}'
    )
    response.explanation = '\n'.join([*report.text(title, values, outcomes), *remarks(queried)])
    fill_in(response, outcomes)


def wanted_programs(request: Any) -> list[str]:
    """Return the requested programs, each once; raises `UnknownNameError`."""
    names = [name.lower() for name in request.programs] or list(PROGRAMS)
    for name in names:
        if name not in PROGRAMS:
            raise UnknownNameError(
                f"programs: there is no '{shown(name)}'; there are {', '.join(PROGRAMS)}"
            )
    return list(dict.fromkeys(names))


def outcome_of(name: str, source: ModelSource, *options: Any) -> ProgramOutcome:
    """Return the outcome for one program; its exceptions do not affect the others."""
    try:
        return outcome(name, source, *options)
    except Exception as error:  # of the program, or from its results
        return ProgramOutcome(NAMES[name], refusal=f'fails: {type(error).__name__}: {error}')


def source_of(robot: Robot, text: str, tip: str) -> ModelSource:
    """Return the compared model: the robot with its gravity and drives."""
    drives = robot.drives
    joints = tuple(
        replace(joint, damping=drives[joint.name].damping) if joint.name in drives else joint
        for joint in robot.description.joints
    )
    description = replace(robot.description, joints=joints)
    read = text if is_active(text, robot.description) else write_urdf(robot.description)
    return ModelSource(
        read,
        description,
        read_robot_description(read, inertia_check='ignore'),
        robot.gravity,
        tip,
        armatures={name: drive.reflected_inertia for name, drive in drives.items()},
        drives_are_given=True,
    )


def is_active(text: str, description: RobotDescription) -> bool:
    """Return whether a text has the links and joints of a description, field by field."""
    received = read_robot_description(text, inertia_check='ignore')
    return (
        [link.name for link in received.links] == [link.name for link in description.links]
        and [joint.name for joint in received.joints]
        == [joint.name for joint in description.joints]
        and not any(
            field_differences(DescriptionReading(received), DescriptionReading(description), 0.0)
        )
    )


def remarks(queried: ServiceModel) -> list[str]:
    """Return notes on parts of the active model that are not compared."""
    rotors = [name for name, drive in queried.robot.drives.items() if drive.rotor_axis is not None]
    found = []
    if rotors:
        found.append(
            f'  note       joints {shorten(rotors)}: compared with reflected inertias only; no '
            'other program models the angular momentum of rotors'
        )
    coupled = [motor.joint for motor in queried.robot.tree.motors]
    if coupled:
        found.append(f'  note       the coupled motors of joints {shorten(coupled)} are omitted')
    springs = [name for name, drive in queried.robot.drives.items() if drive.has_spring]
    if springs:
        found.append(f'  note       the springs of joints {shorten(springs)} are not compared')
    if queried.payloads:
        found.append(
            f'  note       the payload on {shorten(list(queried.payloads))} is not compared'
        )
    return found


def fill_in(response: Any, outcomes: list[ProgramOutcome]) -> None:
    """Write the outcomes into the response."""
    from screw_dynamics_msgs.msg import ProgramComparison

    for each in outcomes:
        message = ProgramComparison(name=each.name, version=each.version, reason=each.refusal)
        comparison = each.comparison
        if comparison is not None:
            found = comparison.differences
            message.compared, message.agrees = True, comparison.agrees
            message.explained = comparison.explained
            message.quantities = list(found)
            message.units = [UNITS[name] for name in found]
            message.absolute = [difference.absolute for difference in found.values()]
            message.relative = [difference.relative for difference in found.values()]
            message.where = [difference.where for difference in found.values()]
            message.causes = [str(cause) for cause in comparison.causes]
            message.notes = [*map(str, comparison.harmless), *each.notes]
        response.programs.append(message)
    compared = [each.comparison for each in outcomes if each.comparison is not None]
    response.agree = bool(compared) and all(each.agrees for each in compared)
    response.message = '; '.join(map(in_short, outcomes))
    if not compared:
        response.success, response.error_code = False, int(ErrorCode.NOT_AVAILABLE)


def in_short(each: ProgramOutcome) -> str:
    """Return a short text for the outcome of one program."""
    name = report.title(each)
    if each.comparison is None:
        return f'{name} {each.refusal}'
    if each.comparison.agrees:
        return f'{name} agrees to {each.comparison.tolerance:.0e}'
    causes = [f'{c.difference.subject}: {c.difference.field}' for c in each.comparison.causes]
    return f'{name} DIFFERS' + (f' by {shorten(causes)}' if causes else '')
