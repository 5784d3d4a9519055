# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The table of doc/how_to/contact_localization.md: how well contacts are localized, simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.robot_description import Joint, Link, RobotDescription
from screw_dynamics_ros.core.estimation import (
    ContactLocator,
    LocalizationOptions,
    link_segments,
)
from screw_dynamics_ros.core.types import Array

ROOT = Path(__file__).resolve().parents[2]
HEAD = (
    '| touched | joints before it | force | nothing reported | link alone | place reported '
    '| link right | error along it, median | 95 % | stated deviation, median |',
    '|---|---|---|---|---|---|---|---|---|---|',
)
TRIALS = 300
DEVIATION = 0.2  # N m
FORCES = (10.0, 20.0, 40.0, 80.0)  # N
FRICTION = 0.3  # tangential part of a push


class Case(NamedTuple):
    """A part of a link to touch.

    Attributes
    ----------
    title : str
    robot : Robot
    link, part : str
    options : LocalizationOptions
    plane : bool
        Whether forces and joints are in the plane of x and y.
    """

    title: str
    robot: Robot
    link: str
    part: str
    options: LocalizationOptions
    plane: bool = False


def cases() -> list[Case]:
    """Return what is touched."""
    panda, surface = Robot.from_urdf(ROOT / 'urdf/panda.urdf'), LocalizationOptions()
    thin = LocalizationOptions(link_radius=0.0)
    return [
        Case('Panda, elbow', panda, 'panda_link4', 'cylinder', surface),
        Case('Panda, forearm', panda, 'panda_link5', 'box', surface),
        Case('Panda, wrist', panda, 'panda_link6', 'cylinder', surface),
        Case('Panda, tool', panda, 'panda_link7', 'to panda_hand_tcp', thin),
        Case('four rods in a plane, the third', planar(4), 'rod3', 'to j4', thin, True),
        Case('four rods in a plane, the last', planar(4), 'rod4', 'to tip', thin, True),
    ]


def planar(count: int) -> Robot:
    """Return an arm of rods of 0.4 m with parallel axes."""
    at_tip, axis = np.eye(4), np.array([0.0, 0.0, 1.0])
    at_tip[0, 3] = 0.4
    names = ['base', *(f'rod{k + 1}' for k in range(count)), 'tip']
    joints = [
        Joint(
            f'j{k + 1}',
            'revolute' if k < count else 'fixed',
            names[k],
            names[k + 1],
            at_tip if k else np.eye(4),
            axis,
        )
        for k in range(count + 1)
    ]
    return Robot(RobotDescription.from_parts('planar', [Link(name) for name in names], joints))


def errors(case: Case, force: float) -> tuple[list[tuple[float, float]], int, int, int]:
    """Return errors along the link and stated deviations [m], and three counts.

    Trials in which nothing was reported, in which only the link was, and in which a wrong one was.
    """
    robot, rng = case.robot, np.random.default_rng(1)
    segments = link_segments(robot.description, robot.joint_names)
    if case.options.link_radius == 0.0:
        segments = tuple(each for each in segments if each.shape is None)
    segment = next(each for each in segments if (each.link, each.part) == (case.link, case.part))
    radius = segment.shape.axis()[2] if segment.shape else 0.0
    locator = ContactLocator(segments, robot.joint_names, options=case.options)
    along = (segment.end - segment.start) / segment.length
    S = DEVIATION**2 * np.eye(robot.nv)
    found, nothing, alone, wrong = [], 0, 0, 0
    for _ in range(TRIALS):
        q = rng.uniform(np.maximum(robot.limits.lower, -2.5), np.minimum(robot.limits.upper, 2.5))
        out, slip = unit(np.cross(along, direction(rng, not case.plane))), rng.normal(size=3)
        if case.plane:
            out = unit(np.cross(direction(rng, True) * [0, 0, 1], along))
            slip[2] = 0.0
        share = rng.uniform(0.1, 0.9)
        point = segment.start + share * segment.length * along + radius * out
        f = force * unit(-out + FRICTION * unit(slip))
        J = robot.jacobian(q, case.link, 'body')
        torques = J.T @ np.concatenate([np.cross(point, f), f])
        torques += DEVIATION * rng.normal(size=robot.nv)
        jacobians = np.array([robot.jacobian(q, link, 'body') for link in locator.links])
        result = locator.locate(jacobians, torques, S)
        wrong += result.link not in ('', case.link)
        if result.contact is None:
            nothing += not result.link
            alone += bool(result.link)
        elif result.link == case.link:
            contact = result.contact
            axis = (
                contact.segment.start
                + (contact.along / contact.segment.length)
                * (contact.segment.end - contact.segment.start)
                if contact.segment.length
                else contact.segment.start
            )
            place = float((axis - segment.start) @ along)
            found.append((abs(place - share * segment.length), contact.deviation))
    return found, nothing, alone, wrong


def direction(rng: np.random.Generator, whole: bool) -> Array:
    """Return a random unit vector, along z if not `whole`."""
    return unit(rng.normal(size=3)) if whole else np.array([0.0, 0.0, 1.0])


def unit(x: Array) -> Array:
    """Return x / |x|."""
    return x / np.linalg.norm(x)


def rows(forces: Sequence[float] = FORCES) -> Iterator[str]:
    """Yield the rows of the table, for some forces [N]."""
    for case in cases():
        segments = link_segments(case.robot.description, case.robot.joint_names)
        joints = len(next(each for each in segments if each.link == case.link).joints)
        for force in forces:
            found, nothing, alone, wrong = errors(case, force)
            reported = TRIALS - nothing
            figures = ['-'] * 3
            if len(found) >= TRIALS // 20:
                e, d = 1e3 * np.array(found).T
                figures = [
                    f'{np.median(e):.0f} mm',
                    f'{np.quantile(e, 0.95):.0f} mm',
                    f'{np.median(d):.0f} mm',
                ]
            yield (
                ' | '.join(
                    [
                        f'| {case.title}',
                        str(joints),
                        f'{force:.0f} N',
                        f'{100 * nothing / TRIALS:.0f} %',
                        f'{100 * alone / TRIALS:.0f} %',
                        f'{100 * (reported - alone) / TRIALS:.0f} %',
                        f'{100 * (1 - wrong / reported):.1f} %' if reported else '-',
                        *figures,
                    ]
                )
                + ' |'
            )


def contacts(folder: Path) -> str:
    """Return the table; it needs no results."""
    return '\n'.join([*HEAD, *rows()]) + '\n'


TABLES: dict[str, Callable[[Path], str]] = {'contacts': contacts}
