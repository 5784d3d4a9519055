# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Driver presets, config/drivers: what a robot driver measures and compensates, and its topics.

A preset is a parameter file for the nodes. Its section ``/**/driver`` has the properties that are
not parameters of a node: joints, frames, controllers and topics. doc/start/drivers.md gives the
source of each fact.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeGuard

from ..core.description.ros2_control import (
    hardware_parameter,
    read_condition,
    read_ros2_control,
    unmet_condition,
)
from ..core.errors import ArgumentError, DescriptionError, UnknownNameError
from ..share import share_folder
from .parameter_files import PARAMETERS, read_parameter_file
from .text_files import read_yaml_file

FACTS = '/**/driver'
SHARED = '/**'
CONDITION = 'effort_condition'
NODES = ('/**', '/**/bringup', '/**/kinematics', '/**/dynamics', '/**/wrench_estimator')
EFFORTS = ('torque', 'current', 'unknown')


@dataclass(frozen=True)
class DriverProperties:
    """Properties of a driver, with names without prefix; empty if missing or undocumented.

    Attributes
    ----------
    joints : tuple of str
        In the order of the controllers.
    root_frame, tool_frame : str
    effort : str
        Unit of the measured efforts: 'torque' [N m, N], 'current' [A] or 'unknown'. If the preset
        has an `effort_condition`, this is the unit of robots that meet it.
    joint_states_topic : str
    trajectory_controllers, effort_controllers : tuple of str
        Names of controllers, the current name first.
    wrench_topic, wrench_frame : str
        Topic of the measured wrench, and the frame in which it is resolved.
    """

    joints: tuple[str, ...]
    root_frame: str
    tool_frame: str
    effort: str
    joint_states_topic: str
    trajectory_controllers: tuple[str, ...]
    effort_controllers: tuple[str, ...]
    wrench_topic: str
    wrench_frame: str


@dataclass(frozen=True)
class Driver:
    """A driver preset.

    Attributes
    ----------
    name : str
        File name without extension: 'ur' for ur.yaml.
    path : Path
    facts : DriverProperties
    parameters : mapping
        Parameters of the nodes by section of the file and name.
    """

    name: str
    path: Path
    facts: DriverProperties
    parameters: Mapping[str, Mapping[str, Any]]

    def terms(self, section: str, name: str) -> tuple[str, ...]:
        """Return a parameter with a list of terms; empty if the preset does not have it."""
        return tuple(term for term in self.parameters.get(section, {}).get(name, ()) if term)

    @property
    def condition(self) -> str:
        """The parameter `effort_condition`, empty if efforts do not depend on the description."""
        return str(self.parameters.get(SHARED, {}).get(CONDITION, ''))

    def effort(self, urdf: str) -> str:
        """Return the unit of the efforts of a robot with this description, as in `facts`.

        It is 'unknown' if the description does not meet the condition.
        """
        return 'unknown' if unmet_condition(urdf, self.condition) else self.facts.effort

    def condition_of(self, urdf: str) -> str:
        """Return the condition that this description meets, empty without `effort_condition`.

        Measured values are valid for drivers with the same condition only.
        """
        if not self.condition:
            return ''
        name, _ = read_condition(self.condition)
        try:
            value = hardware_parameter(read_ros2_control(urdf), name)
        except DescriptionError:
            return ''
        return f'{name}={value}' if value else ''


def presets(folder: Path | None = None) -> dict[str, Path]:
    """Return the preset files of a folder, by name; the default is the folder of this package."""
    folder = share_folder() / 'config' / 'drivers' if folder is None else folder
    return {path.stem: path for path in sorted(folder.glob('*.yaml'))}


def find_driver(value: str, folder: Path | None = None) -> Driver:
    """Return the preset with this name, or from the file with this path.

    Raises
    ------
    UnknownNameError
        If there is no such preset; lists all presets.
    ArgumentError
        As `read_driver`.
    """
    known = presets(folder)
    if value in known:
        return read_driver(known[value])
    if '/' in value or value.endswith('.yaml'):
        return read_driver(Path(value))
    like = get_close_matches(value, known, 1)
    raise UnknownNameError(
        f'there is no driver preset {value!r}; '
        + (f'did you mean {like[0]}? ' if like else '')
        + f'there are {", ".join(known)}, or name a file (.yaml)'
    )


def read_driver(path: Path) -> Driver:
    """Return the preset of a file.

    Raises
    ------
    ArgumentError
        If it is not a parameter file, has other sections, or a fact is missing or invalid; the
        message names it.
    """
    read_parameter_file(path)  # has better messages for invalid parameter files
    content = read_yaml_file(path)
    sections = {key: value.get(PARAMETERS) for key, value in content.items()}
    for key in sections:
        if key not in (FACTS, *NODES):
            raise ArgumentError(
                f'section {key} is for no node of a driver preset; there are {", ".join(NODES)}, '
                f'and {FACTS} for facts'
            )
    if FACTS not in sections:
        raise ArgumentError(f'there is no section {FACTS} with the facts about the driver')
    facts = facts_of(sections.pop(FACTS) or {})
    driver = Driver(path.stem, path, facts, {key: value or {} for key, value in sections.items()})
    if driver.condition:
        read_condition(driver.condition)
    for key, values in driver.parameters.items():
        for name, value in values.items():
            if name.endswith('_terms') and not is_list_of_names(value):
                raise ArgumentError(f'{key}: {name} must be a list of names, found {value!r}')
    return driver


def is_list_of_names(value: Any) -> TypeGuard[list[str]]:
    """Return whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def facts_of(content: Mapping[str, Any]) -> DriverProperties:
    """Return the facts of a section; raises `ArgumentError`."""
    wanted = {field.name: field.type == 'str' for field in fields(DriverProperties)}
    for name in content:
        if name not in wanted:
            raise ArgumentError(f'{FACTS}: there is no {name}; there are {", ".join(wanted)}')
    found: dict[str, Any] = {}
    for name, is_text in wanted.items():
        value = content.get(name)
        if is_text and isinstance(value, str):
            found[name] = value
        elif not is_text and is_list_of_names(value):
            found[name] = tuple(each for each in value if each)
        else:
            kind = 'text' if is_text else "a list of names, [''] for none"
            raise ArgumentError(f'{FACTS}: {name} must be {kind}, found {value!r}')
    if found['effort'] not in EFFORTS:
        raise ArgumentError(
            f'{FACTS}: effort is {found["effort"]!r}; it must be one of {", ".join(EFFORTS)}'
        )
    if len(set(found['joints'])) < len(found['joints']):
        raise ArgumentError(f'{FACTS}: joints names a joint twice')
    return DriverProperties(**found)


def recognized(
    joints: Collection[str], links: Collection[str], drivers: Collection[Driver]
) -> tuple[Driver, str] | None:
    """Return the driver whose joints and frames a robot has, and their prefix; None without one.

    Arms of a family may have fewer joints than the preset: its first five joints are enough, or all
    if it has fewer. Root and tool frame are required. If several presets match, the one with the
    shortest prefix is returned: ``fr3_joint1`` also matches ``joint1`` with a prefix.

    Examples
    --------
    >>> ur = find_driver('ur')
    >>> driver, prefix = recognized(
    ...     ['left_' + joint for joint in ur.facts.joints], ['left_base_link', 'left_tool0'], [ur])
    >>> driver.name, prefix
    ('ur', 'left_')
    """
    found = []
    for driver in drivers:
        facts = driver.facts
        first, *rest = facts.joints or ('',)
        for joint in joints if first else ():
            prefix = joint.removesuffix(first)
            here = [prefix + name in joints for name in (first, *rest[:4])]
            frames = [prefix + frame in links for frame in (facts.root_frame, facts.tool_frame)]
            if joint.endswith(first) and all(here + frames):
                found.append((len(prefix), driver.name, driver, prefix))
    return min(found)[2:] if found else None
