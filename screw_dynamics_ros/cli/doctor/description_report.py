# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Report of `doctor` on a description: joints, carried masses, findings, comparison."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile.kernels import LARGE, LONGEST_OF_LARGE, WITHOUT_LLVMLITE
from screw_dynamics_ros.core.description.formats import has_other_format, urdf_of
from screw_dynamics_ros.core.description.robot_description import Finding, Joint
from screw_dynamics_ros.core.description.urdf_elements import version_text
from screw_dynamics_ros.core.description.xml_document import robot_element
from screw_dynamics_ros.core.types import Array

from ..library_messages import caught_messages
from ..report import Section
from .outliers import outliers
from .pinocchio_oracle import by_pinocchio

REPEATS, FEW_REPEATS = 1000, 10  # calls, compiled and not
STATES = 100  # for the comparison with Pinocchio
PINOCCHIO_TOLERANCE = 1e-9  # relative
ROUNDING = 1e-4  # of gravity torques, by which Coriolis torques that are zero may be wrong


def description_sections(robot: Robot, urdf: str) -> list[Section]:
    """Return the sections that do not need a running robot."""
    joints = joints_section(robot)
    if not has_other_format(urdf):
        version = version_text(robot_element(urdf))
        if not any(version in each.message for each in joints.findings):
            joints.lines.append(version)
    return [joints, speed_section(robot), second_opinion(robot, urdf)]


def joints_section(robot: Robot) -> Section:
    """Return a table of the movable joints, and the findings of the reader."""
    described = robot.description
    section = Section(
        f'robot {described.name}: {len(described.links)} links on {described.root}, '
        f'{len(robot.joint_names)} movable joints, {robot.total_mass:.6g} kg',
        findings=[
            *described.findings,
            *empty_limits(described.joints),
            *outliers(described),
        ],
    )
    carried = carried_masses(robot)
    head = ('joint', 'type', 'lower', 'upper', 'velocity', 'effort', 'carries [kg]')
    section.table(
        head,
        [
            (
                joint.name,
                joint.type if joint.mimic is None else f'follows {joint.mimic.joint}',
                *(
                    f'{limit:.4g}'
                    for limit in (
                        joint.limits.lower,
                        joint.limits.upper,
                        joint.limits.velocity,
                        joint.limits.effort,
                    )
                ),
                f'{carried[joint.child]:.4g}',
            )
            for joint in described.joints
            if not joint.kind.is_fixed
        ],
    )
    return section


def carried_masses(robot: Robot) -> dict[str, float]:
    """Return the mass of each link with all links below it [kg].

    The value of the last joint shows whether a gripper is missing in the description.
    """
    carried = {
        link.name: 0.0 if link.inertia is None else link.inertia.mass
        for link in robot.description.links
    }
    for joint in reversed(robot.description.joints):
        carried[joint.parent] += carried[joint.child]
    return carried


def empty_limits(joints: tuple[Joint, ...]) -> Iterator[Finding]:
    """Yield a finding for each limit of 0, which templates often contain."""
    for joint in joints:
        for name in ('velocity', 'effort'):
            if joint.kind.is_scalar and getattr(joint.limits, name) == 0.0:
                yield Finding(
                    'warning',
                    f'joint {joint.name}',
                    f'its {name} limit is 0',
                    'set the value given by the manufacturer',
                )


def speed_section(robot: Robot) -> Section:
    """Return the time of the first and of further calls of the inverse dynamics."""
    section = Section('speed')
    q, v = np.zeros(robot.nq), np.zeros(robot.nv)
    start = time.perf_counter()
    robot.inverse_dynamics(q, v, v)
    first = time.perf_counter() - start
    used = robot.kernels['inverse_dynamics', (), ()].backend
    repeats = REPEATS if used == robot.backend else FEW_REPEATS
    start = time.perf_counter()
    for _ in range(repeats):
        robot.inverse_dynamics(q, v, v)
    mean = (time.perf_counter() - start) / repeats
    section.lines.append(
        f'inverse dynamics on the {used} backend: first {first:.2f} s, then {mean * 1e6:.2f} us'
    )
    if used != robot.backend:
        section.lines.append(
            f'not compiled: more than {LONGEST_OF_LARGE} operations, for more than {LARGE} bodies'
        )
    if robot.backend != 'native':
        section.findings.append(
            Finding(
                'warning',
                'llvmlite',
                f'is not used: all computations are {WITHOUT_LLVMLITE}',
                'apt install python3-llvmlite, or pip install llvmlite',
            )
        )
    return section


def second_opinion(robot: Robot, urdf: str) -> Section:
    """Compare gravity and Coriolis torques in random states with Pinocchio, if it is installed."""
    section = Section('compared with Pinocchio')
    kinds = {
        joint.type
        for joint in robot.description.joints
        if joint.kind.nv > 1 or joint.kind.has_pitch
    }
    if kinds or not robot.nv:
        section.lines.append(f'skipped: {", ".join(kinds) or "no"} joints')
        return section
    rng = np.random.default_rng(0)
    lower, upper = (
        np.nan_to_num(limit, posinf=np.pi, neginf=-np.pi)
        for limit in (robot.limits.lower, robot.limits.upper)
    )
    q = rng.uniform(lower, upper, (STATES, robot.nq))
    v = rng.uniform(-1.0, 1.0, (STATES, robot.nv))
    refusal, expected = '', None
    with caught_messages() as printed:
        try:
            expected = by_pinocchio(
                urdf_of(urdf, robot.description), robot.link_names[-1], robot.joint_names, q, v
            )
        except ValueError as error:
            refusal = [line for line in str(error).splitlines() if line.strip()][-1]
    section.findings += [Finding('info', 'Pinocchio', f'prints: {line}') for line in printed]
    if 'URDF' in refusal:
        section.findings.append(
            Finding(
                'warning',
                'Pinocchio',
                f'refuses the description: {refusal}',
                'other programs that use urdfdom refuse it too; see the notes for its messages',
            )
        )
    elif refusal:  # some mimic joints are not supported
        section.lines.append(f'skipped: Pinocchio does not support this robot: {refusal}')
    elif expected is None:
        section.lines.append(
            'skipped: no Pinocchio with mimic joints is installed (pip install pin)'
        )
    else:
        ours = {
            'gravity torques': (robot.gravity_torques(q), expected.gravity),
            'Coriolis torques': (robot.coriolis_torques(q, v), expected.coriolis),
        }
        for name, (mine, theirs) in ours.items():
            least = ROUNDING * float(np.abs(expected.gravity).max())
            compare(section, name, mine, theirs, least, is_complete=not printed)
    return section


def compare(
    section: Section, name: str, ours: Array, theirs: Array, least: float, *, is_complete: bool
) -> None:
    """Report the difference of torques, relative to the largest one, or to `least` if that is more.

    `is_complete` if Pinocchio printed no message.
    """
    difference = float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), least, 1e-9))
    section.lines.append(f'{name}: relative difference {difference:.1e} in {STATES} states')
    if not difference <= PINOCCHIO_TOLERANCE:
        section.findings.append(
            Finding(
                'error' if is_complete else 'warning',
                name,
                f'differ from those of Pinocchio by {difference:.1e}',
                'the two read the description differently; please report it'
                if is_complete
                else 'it has not read the whole description; see the notes for its messages',
            )
        )
