# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The parameter `constraints`: links whose motion the environment blocks in some directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from screw_dynamics_ros.core import ArgumentError, Robot, ScrewDynamicsError, UnknownNameError
from screw_dynamics_ros.core.constraints.motion_constraint import MotionConstraint
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.parameters import Specification

#: In the order of the rows of a twist (omega, v).
MOTIONS = ('rx', 'ry', 'rz', 'x', 'y', 'z')
GROUPS = {'position': ('x', 'y', 'z'), 'orientation': ('rx', 'ry', 'rz')}

SPECIFICATION = Specification(
    'constraints',
    [''],
    'Links that the environment holds, and which of their motions it blocks: "tool0" (all of '
    'them), "tool0: position", "tool0: x y rz". Keywords: x, y, z, rx, ry, rz, position, '
    'orientation, in root axes through the origin of the link, or with "in tool0" at the end in '
    'its own axes.',
    rule='one entry for each link',
)


@dataclass(frozen=True)
class BlockedMotions:
    """Motions of one link that are blocked.

    Attributes
    ----------
    link : str
    motions : tuple of str
        Some of `MOTIONS`.
    axes : str
        The link whose axes these are; empty for the root link.
    """

    link: str
    motions: tuple[str, ...]
    axes: str = ''

    @classmethod
    def parse(cls, text: str) -> BlockedMotions:
        """Read "<link>", "<link>: <motions>" or "<link>: <motions> in <link>".

        Raises `ArgumentError` with the fault in the text.

        Examples
        --------
        >>> BlockedMotions.parse('tool0: position rz in tool0')
        BlockedMotions(link='tool0', motions=('rz', 'x', 'y', 'z'), axes='tool0')
        """
        link, colon, words = text.rpartition(':')
        if not colon:
            link, words = text, ' '.join(MOTIONS)
        link, (words, is_in, axes) = link.strip(), f' {words} '.partition(' in ')
        chosen: set[str] = set()
        for word in words.split():
            if word not in MOTIONS and word not in GROUPS:
                raise ArgumentError(
                    f'constraints: {text!r} contains {word!r}, which is not a motion; use x, y, z, '
                    'rx, ry, rz, position or orientation, as in "tool0: x y rz"'
                )
            chosen.update(GROUPS.get(word, (word,)))
        if not (link and chosen) or bool(is_in) > bool(axes.strip()):
            raise ArgumentError(
                f'constraints: {text!r} is incomplete; write a link and its blocked motions, as in '
                '"tool0", "tool0: position" or "tool0: x y rz in tool0"'
            )
        return cls(link, tuple(word for word in MOTIONS if word in chosen), axes.strip())

    def __str__(self) -> str:
        return f'{self.link}: {" ".join(self.motions)}' + (f' in {self.axes}' if self.axes else '')

    def on(self, robot: Robot) -> MotionConstraint:
        """Return the constraint of the core: zero acceleration along the blocked motions.

        Raises `UnknownNameError` if the robot does not have the link or the axes.
        """
        name, root = robot.description.name, robot.description.root
        if self.link not in robot.link_names:
            raise UnknownNameError(
                f'constraints: robot {name} has no link {self.link!r}; it has '
                f'{shorten(robot.link_names, 30)}'
            )
        if self.axes not in ('', root, self.link):
            raise UnknownNameError(
                f'constraints: "{self}" is in axes of {self.axes!r}; write "in {self.link}" for '
                f'axes that move with the link, or omit it for axes of the root link, {root}'
            )
        return MotionConstraint(
            self.link,
            np.eye(6)[:, [MOTIONS.index(word) for word in self.motions]],
            representation='body' if self.axes == self.link else 'hybrid',
            name=str(self),
        )


def read(texts: Sequence[str]) -> list[BlockedMotions]:
    """Return the blocked motions of each link; raises `ArgumentError`."""
    blocked = [BlockedMotions.parse(text) for text in texts]
    links = [each.link for each in blocked]
    for link in links:
        if links.count(link) > 1:
            raise ArgumentError(
                f'constraints: link {link!r} is named twice; put all its motions into one entry'
            )
    return blocked


def choose(
    texts: Sequence[str], robot: Robot
) -> tuple[dict[BlockedMotions, MotionConstraint], list[str]]:
    """Return the constraints on a robot, and the faults of invalid texts."""
    constraints, faults = {}, []
    for blocked in read(texts):
        try:
            constraints[blocked] = blocked.on(robot)
        except ScrewDynamicsError as error:
            faults.append(str(error))
    return constraints, faults


def check(values: dict[str, Any], robot: Robot | None) -> None:
    """Refuse invalid texts, and links that the robot does not have."""
    for blocked in read(values.get('constraints', ())):
        if robot is not None:
            blocked.on(robot)
