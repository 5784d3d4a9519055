# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The parameter `frames`: links of the robot for which outputs are published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from screw_dynamics_ros.core import Robot, UnknownNameError
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.names import shorten, topic_tokens
from screw_dynamics_ros.ros.parameters import Specification

from ..model.running_model import leaf_links


def specification(what: str) -> Specification:
    """Return the parameter for outputs described by `what`."""
    return Specification(
        'frames',
        [''],
        f'Links for which {what} published. Each topic ends in the name of its link, with '
        'underscores for characters not allowed in topic names. Empty: the moving leaf links '
        'without gripper fingers.',
        rule='links of the robot',
    )


@dataclass(frozen=True)
class Frames:
    """The links chosen by the parameter `frames`, or by default.

    Attributes
    ----------
    tokens : dict
        The last part of the topic name for each link.
    absent : tuple of str
        Requested links that the robot does not have.
    robot : str
        Name of the robot.
    """

    tokens: dict[str, str]
    absent: tuple[str, ...]
    robot: str

    @classmethod
    def choose(cls, names: Sequence[str], robot: Robot) -> Frames:
        """Choose the links `names`; if empty, the moving leaf links."""
        links = [name for name in dict.fromkeys(names) if name in robot.link_names]
        return cls(
            topic_tokens(links if names else leaf_links(robot)),
            tuple(name for name in names if name not in links),
            robot.description.name,
        )

    def report(self, status: Status) -> None:
        """Report the frames, and those that the robot does not have."""
        status.values['frames'] = ', '.join(self.tokens)
        if self.absent:
            status.error(
                f'robot {self.robot} has no link {shorten(self.absent)}: '
                'correct the parameter frames'
            )


def check(values: dict[str, Any], robot: Robot | None, parameter: str = 'frames') -> None:
    """Refuse links that the current robot does not have; raises `UnknownNameError`."""
    for name in values.get(parameter, ()):
        if robot is not None and name not in robot.link_names:
            raise UnknownNameError(
                f'{parameter}: robot {robot.description.name} has no link {name!r}; it has '
                f'{shorten(robot.link_names, 30)}'
            )
