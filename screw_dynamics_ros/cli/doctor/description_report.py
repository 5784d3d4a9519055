# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Report of `doctor` on a description: joints, carried masses, findings, comparison."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from screw_dynamics_ros.comparison import report
from screw_dynamics_ros.comparison.peer import ModelSource
from screw_dynamics_ros.comparison.programs import STATES, TOLERANCE, check, outcome
from screw_dynamics_ros.core import DescriptionError, Robot
from screw_dynamics_ros.core.compile.kernels import LARGE, LONGEST_OF_LARGE, WITHOUT_LLVMLITE
from screw_dynamics_ros.core.description.formats import (
    has_other_format,
    read_robot_description,
    urdf_of,
)
from screw_dynamics_ros.core.description.robot_description import Finding, Joint
from screw_dynamics_ros.core.description.urdf_elements import version_text
from screw_dynamics_ros.core.description.xml_document import robot_element
from screw_dynamics_ros.core.dynamics.definite_mass_matrix import definiteness
from screw_dynamics_ros.core.errors import UnsupportedRobotError
from screw_dynamics_ros.core.motion.trajectory.payload_capacity import holding_torques, own_bodies
from screw_dynamics_ros.core.tree.joint_limits import velocity_names

from ..library_messages import caught_messages
from ..report import Section
from .outliers import outliers

#: What the joint limiter of ros2_control does with efforts at a limit of 0.
LIMITER = {
    'velocity': 'efforts in the direction of its motion become 0',
    'effort': 'every effort command becomes 0',
}
REPEATS, FEW_REPEATS = 1000, 10  # calls, compiled and not


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
            *exceeded_limits(robot),
            *outliers(described),
            definiteness(robot.tree).finding,
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
        for name, effect in LIMITER.items():
            if joint.kind.is_scalar and getattr(joint.limits, name) == 0.0:
                yield Finding.warning(
                    f'joint {joint.name}',
                    f'its {name} limit is 0: where ros2_control enforces limits, {effect}',
                    'set the value given by the manufacturer',
                )


def exceeded_limits(robot: Robot) -> Iterator[Finding]:
    """Yield a finding for each joint that gravity loads beyond its effort limit in some pose."""
    torques = holding_torques(robot, own_bodies(robot))
    joints = {joint.name: joint for joint in robot.description.joints}
    for name, torque in zip(velocity_names(robot), torques.tolist()):
        joint = joints.get(name)
        if joint is None or not joint.kind.is_scalar or not 0.0 < joint.limits.effort < torque:
            continue
        unit = joint.kind.effort_unit
        yield Finding.warning(
            f'joint {name}',
            f'gravity loads it with {torque:.4g} {unit} in some pose, its effort limit is '
            f'{joint.limits.effort:.4g} {unit}: without a spring it cannot hold the robot there, '
            'and ros2_control clamps the command where it enforces limits',
            'correct the limit, the masses, or the limits of positions; give springs as drives',
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
            Finding.warning(
                'llvmlite',
                f'is not used: all computations are {WITHOUT_LLVMLITE}',
                'apt install python3-llvmlite, or pip install llvmlite',
            )
        )
    return section


def second_opinion(robot: Robot, urdf: str) -> Section:
    """Compare the model with Pinocchio in random states, if it is installed."""
    section = Section('compared with Pinocchio')
    text = urdf_of(urdf, robot.description)
    with caught_messages() as printed:
        try:
            check(robot.description, '')
            source = ModelSource(
                text, robot.description, read_robot_description(text), robot.gravity
            )
            found = outcome('pinocchio', source, STATES, 0, TOLERANCE, 'reference')
        except (UnsupportedRobotError, DescriptionError) as error:
            section.lines.append(f'skipped: {error}')
            return section
    section.findings += [Finding('info', 'Pinocchio', f'prints: {line}') for line in printed]
    section.lines += report.findings(found)
    if 'refuses' in found.refusal:
        section.findings.append(
            Finding.warning(
                'Pinocchio',
                found.refusal,
                'other programs that use urdfdom refuse it too; see the notes for its messages',
            )
        )
    if found.comparison is not None:
        section.findings += [
            Finding(
                'warning' if printed else 'error',
                name,
                f'differ from those of Pinocchio by {each.absolute:.1e}',
                'it has not read the whole description; see the notes for its messages'
                if printed
                else 'the two read the description differently; please report it',
            )
            for name, each in found.comparison.differences.items()
            if each.relative > TOLERANCE
        ]
    return section
