# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The robot that a control law gets: its functions on recorded scalars or numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...compile.program.recorded_arrays import plain, recorded
from ...errors import ArgumentError, UnknownNameError
from ...robot.functions import FUNCTIONS, find
from ...tree.multibody_tree import Tree
from ...types import Array

if TYPE_CHECKING:
    from ...robot.robot import Robot

#: Constants of a robot that a law may read, besides its mass, which changes with its inertias.
CONSTANTS = frozenset(
    {'nq', 'nv', 'joint_names', 'link_names', 'limits', 'floating_base', 'free_bodies'}
)


class RecordedRobot:
    """The functions of `Robot` that are recorded, with its gravity, and some constants.

    Parameters
    ----------
    tree : Tree
    robot : Robot
    gravity : (3,) array
    """

    def __init__(self, tree: Tree, robot: Robot, gravity: Array) -> None:
        self._tree, self._robot = tree, robot
        self.gravity = recorded(gravity)
        self.total_mass = recorded(tree.total_mass)

    def __getattr__(self, name: str) -> Any:
        if name in CONSTANTS:
            return getattr(self._robot, name)
        if name not in FUNCTIONS:
            known = ', '.join(['gravity', 'total_mass', *sorted(CONSTANTS), *sorted(FUNCTIONS)])
            raise UnknownNameError(f'a law cannot use robot.{name}; it can use {known}')
        return self._function(name)

    def _function(self, name: str) -> Callable[..., Any]:
        function = FUNCTIONS[name]

        def call(*arguments: Any, **options: Any) -> Any:
            count = len(function.given)
            known = function.options
            if len(arguments) < count:
                raise ArgumentError(f'robot.{name} needs {", ".join(function.given)}')
            gravity = self.gravity
            if 'gravity' in function.inputs:
                gravity = options.pop('gravity', gravity)
            chosen = {**function.option_defaults, **dict(zip(known, arguments[count:])), **options}
            if (
                len(arguments) > count + len(known)
                or None in chosen.values()
                or set(chosen) - set(known)
            ):
                raise ArgumentError(
                    f'robot.{name} in a law takes {", ".join((*function.given, *known))}'
                )
            values = tuple(str(chosen[each]) for each in known)
            find(self._tree, (name, *values))
            reason = function.not_recorded(self._tree, values)
            if reason:
                raise ArgumentError(f'robot.{name} cannot be recorded: {reason}')
            given = dict(zip(function.given, map(plain, arguments[:count])))
            given['gravity'] = plain(gravity)
            inputs = (given[each] for each in function.inputs)
            return recorded(function.evaluate(self._tree, *inputs, *values))

        return call
