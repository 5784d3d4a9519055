# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Physical checks of a description.

`physical_findings` reports doubtful values of a readable description: inertias
no body can have (severity 'error'), joints that move no mass or cannot move and values that smell
of wrong units ('warning'), where the mass is ('info'). It never raises; `read_urdf` decides what
follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InertiaError
from .body_inertia import Inertia, inertia_fault
from .joint_types import JOINT_TYPES
from .robot_description import Finding, Joint, RobotDescription

STANDARD_GRAVITY = (0.0, 0.0, -9.81)  # of the nodes and of `Robot` [m/s^2]

LOOP = 'loop closure '  # subjects of findings about loops that a tree leaves open

#: Treatment of physically impossible inertias by the readers of descriptions, see `read_urdf`.
InertiaCheck = Literal['error', 'warn', 'ignore']

#: Relative inertia about a joint axis below which the joint moves no mass.
_ZERO_INERTIA_TOLERANCE = 1e-12


def physical_findings(description: RobotDescription) -> tuple[Finding, ...]:
    """Return physical remarks on a description, errors first.

    Parameters
    ----------
    description : RobotDescription

    Returns
    -------
    tuple of Finding
        error: inertia without mass, not positive semidefinite, or against the triangle inequality
        (spec D-17). warning: joints that move no mass, so that forward dynamics is singular; mass
        farther from its link than the robot is long; joints with limits that leave one position;
        closures of loops.
        info: total mass, and which links have none.
    """
    bodies = _moving_bodies(description)
    return (
        *_impossible_inertias(description),  # errors
        *_far_masses(description),  # warnings
        *_massless_motion(description, bodies),
        *_single_positions(description),
        *_open_loops(description),
        *_mass_overview(description, bodies),
    )


def check_inertia_check(inertia_check: str) -> None:
    """Raise `ArgumentError` unless it is an `InertiaCheck`."""
    if inertia_check not in get_args(InertiaCheck):
        raise ArgumentError(f"inertia_check is {inertia_check!r}; use 'error', 'warn' or 'ignore'")


def judged_findings(
    description: RobotDescription, inertia_check: InertiaCheck
) -> tuple[Finding, ...]:
    """Return `physical_findings` without errors: raised as `InertiaError`, warnings, or ignored."""
    findings = physical_findings(description)
    errors = [finding for finding in findings if finding.severity == 'error']
    if errors and inertia_check == 'error':
        raise InertiaError('; '.join(map(str, errors)))
    warnings = [replace(each, severity='warning') for each in errors if inertia_check == 'warn']
    return (*warnings, *(each for each in findings if each.severity != 'error'))


def gravity_findings(robot: str, gravity: tuple[float, float, float]) -> Iterator[Finding]:
    """Report the gravity of a file that is not that of nodes and of `Robot`."""
    if gravity != STANDARD_GRAVITY:
        yield Finding.warning(
            robot,
            f'gravity is {" ".join(f"{x:g}" for x in gravity)} m/s^2 in the file',
            'set the parameter or argument gravity if you do not use Robot.from_mjcf or from_sdf',
        )


def _impossible_inertias(description: RobotDescription) -> Iterator[Finding]:
    for link in description.links:
        if link.inertia is not None and (fault := inertia_fault(link.inertia)) is not None:
            yield Finding('error', f'link {link.name}', *fault)


def _far_masses(description: RobotDescription) -> Iterator[Finding]:
    """Report masses the robot is too small for: wrong units (mm, g mm^2)."""
    reach = sum(float(np.linalg.norm(joint.origin[:3, 3])) for joint in description.joints)
    bound = max(1.0, reach)
    for link in description.links:
        if link.inertia is None or link.inertia.mass <= 0.0:
            continue
        distance = float(np.linalg.norm(link.inertia.com))
        if distance > bound:
            yield Finding.warning(
                f'link {link.name}',
                f'center of mass is {distance:.4g} m from the link frame, while the whole robot is '
                f'at most {reach:.4g} m long',
                'check the units (m) and the <origin> of its <inertial>',
            )
        largest = float(np.linalg.eigvalsh(link.inertia.matrix)[-1])
        gyration = np.sqrt(max(largest, 0.0) / link.inertia.mass)
        if gyration > bound:
            yield Finding.warning(
                f'link {link.name}',
                f'radius of gyration is {gyration:.4g} m ({largest:.4g} kg m^2 for '
                f'{link.inertia.mass:.4g} kg), while the whole robot is at most {reach:.4g} m long',
                'check the units (kg m^2) of its <inertia>',
            )


# --- bodies: links joined by fixed joints ---------------------------------------------------------


@dataclass(eq=False)
class _Body:
    """Links that move as one, with their inertia about the frame of the first one."""

    link: str
    joint: Joint | None
    parent: int
    mass: float = 0.0
    first_moment: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    second_moment: NDArray[np.float64] = field(default_factory=lambda: np.zeros((3, 3)))

    def add(self, inertia: Inertia | None, pose: NDArray[np.float64]) -> None:
        if inertia is not None:
            com = pose[:3, :3] @ inertia.com + pose[:3, 3]
            matrix = pose[:3, :3] @ inertia.matrix @ pose[:3, :3].T
            self.mass += inertia.mass
            self.first_moment += inertia.mass * com
            self.second_moment += matrix + _parallel_axes(inertia.mass, com)

    def resists(self) -> bool:
        """Return whether accelerating the body's own joint takes any effort."""
        assert self.joint is not None
        matrix, axis = self.second_moment, self.joint.axis
        nothing = _ZERO_INERTIA_TOLERANCE * float(np.abs(matrix.diagonal()).sum())
        kind = self.joint.kind
        if kind.slides and self.mass == 0.0:
            return False
        if not kind.turns:
            return True
        if kind.slides:  # free to rotate about the center of mass
            matrix = matrix - _parallel_axes(self.mass, self.first_moment / self.mass)
        if kind.has_quaternion:
            return float(np.abs(np.linalg.eigvalsh(matrix)).min()) > nothing
        felt = float(axis @ matrix @ axis) + self.joint.pitch**2 * self.mass
        return abs(felt) > nothing


def _parallel_axes(mass: float, com: NDArray[np.float64]) -> NDArray[np.float64]:
    return mass * (com @ com * np.eye(3) - np.outer(com, com))


def _moving_bodies(description: RobotDescription) -> list[_Body]:
    """Return the root body and one body for each joint that is not fixed, parents first."""
    inertias = {link.name: link.inertia for link in description.links}
    bodies = [_Body(description.root, None, -1)]
    bodies[0].add(inertias[description.root], np.eye(4))
    placed = {description.root: (0, np.eye(4))}
    for joint in description.joints:
        index, pose = placed[joint.parent]
        if joint.kind.is_fixed:
            pose = pose @ joint.origin
        else:
            bodies.append(_Body(joint.child, joint, index))
            index, pose = len(bodies) - 1, np.eye(4)
        bodies[index].add(inertias[joint.child], pose)
        placed[joint.child] = index, pose
    return bodies


def _massless_motion(description: RobotDescription, bodies: list[_Body]) -> Iterator[Finding]:
    """Report coordinates that accelerate no mass: a zero row in the mass matrix."""
    if len(bodies) == 1:
        return
    carried = [0.0] * len(bodies)
    for index in range(len(bodies) - 1, 0, -1):
        carried[bodies[index].parent] += carried[index] + bodies[index].mass
    if carried[0] == 0.0:
        yield Finding.warning(
            f'robot {description.name}',
            'no moving link has mass: every joint torque is zero and forward dynamics is singular',
            'add <inertial> elements; kinematics is not affected',
        )
        return
    joints = {joint.name: joint for joint in description.joints}
    moving_mass: dict[str, bool] = {}  # by independent joint: does it, or a joint that mimics it?
    for body, beyond in zip(bodies[1:], carried[1:], strict=True):
        assert body.joint is not None
        leader = body.joint
        while leader.mimic is not None:
            leader = joints[leader.mimic.joint]
        moves = beyond > 0.0 or body.resists()
        moving_mass[leader.name] = moving_mass.get(leader.name, False) or moves
    for name, moves in moving_mass.items():
        if not moves:
            child = joints[name].child
            yield Finding.warning(
                f'joint {name}',
                f'no inertia resists its motion (link {child!r} is massless, or a point on the '
                'axis): its torque is always zero and forward dynamics is singular',
                f'give link {child!r} an <inertial>, or make the joint fixed',
            )


def _single_positions(description: RobotDescription) -> Iterator[Finding]:
    """Report joints that cannot move: templates have limits of 0 and 0."""
    for joint in description.joints:
        if joint.limits.lower == joint.limits.upper:
            periodic = [
                row.name
                for row in JOINT_TYPES.values()
                if row.is_periodic and row.pair == joint.kind.pair
            ]
            unlimited = f'type="{periodic[0]}"' if periodic else 'its range'
            yield Finding.warning(
                f'joint {joint.name}',
                f'its lower and upper limit are both {joint.limits.lower:g}: it cannot move; it '
                'stays a joint of the model, with a coordinate, a velocity and a torque',
                f'make it fixed if it never moves; if it does, give it {unlimited}',
            )


def _open_loops(description: RobotDescription) -> Iterator[Finding]:
    for each in description.closures:
        yield Finding.warning(
            f'{LOOP}{each.name}',
            f'is a {each.pair} joint between {" and ".join(each.links)}, which `Robot` leaves open',
            'use LoopClosures.of, or set the parameter loop_closures to description',
        )


def _mass_overview(description: RobotDescription, bodies: list[_Body]) -> Iterator[Finding]:
    subject = f'robot {description.name}'
    massive = {
        link.name
        for link in description.links
        if link.inertia is not None and link.inertia.mass > 0.0
    }
    total = sum(body.mass for body in bodies)
    yield Finding(
        'info',
        subject,
        f'total mass {total:.6g} kg, in {len(massive)} of {len(description.links)} links',
    )
    without = [link.name for link in description.links if link.name not in massive]
    if without:
        yield Finding('info', subject, f'links with no inertia: {", ".join(without)}')
    empty = [body.link for body in bodies[1:] if body.mass == 0.0]
    if empty:
        yield Finding(
            'info',
            subject,
            f'moving links with no inertia, nor anything fixed to them: {", ".join(empty)}; '
            'that matters only where there is a warning about it',
        )
