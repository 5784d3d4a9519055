# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Configuration of a process at startup: refuses invalid arguments, files and names.

ROS 2 silently ignores a parameter that no node declares: with a misspelled name the default stays
active. A section of a file may be for nodes of several processes, so that not every undeclared name
is misspelled. Two kinds of names are refused:

* names on the command line, or in a section for one node, that no node of the process declares;
* names in a section for any node (``/**``) that no node of this package has, and that are similar
  to a parameter of this process. Dissimilar ones are reported, because they may be for other nodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from rclpy.node import Node
from rclpy.utilities import remove_ros_args

from screw_dynamics_ros.core.errors import ArgumentError

from ..names import shorten
from ..parameter_files import ParameterSection, read_parameter_file

#: Parameters that rclpy declares, some of them after startup.
FOREIGN = re.compile(r'use_sim_time|start_type_description_service|qos_overrides\..*')
LEVELS = ('debug', 'info', 'warn', 'error', 'fatal')
RENAMING = re.compile(r'(\w+:)?(?P<what>__ns|__node|__name):=(?P<name>.*)')
#: Similarity of names from 0 to 1: for a hint, and for a refusal.
HINT_SIMILARITY, CLEAR_SIMILARITY = 0.6, 0.8


@dataclass(frozen=True)
class ParameterSource:
    """Origin of parameters: an argument, or a section of a file.

    Attributes
    ----------
    text : str
        Description for users.
    section : ParameterSection
    is_argument : bool
        Whether it applies to the nodes of this process only.
    """

    text: str
    section: ParameterSection
    is_argument: bool = False


def ros_arguments(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (option, value) of the arguments between --ros-args and --; '' for a missing value."""
    within, words = False, iter(arguments)
    for word in words:
        if word == '--ros-args':
            within = True
        elif word == '--':
            within = False
        elif within and word in ('-p', '--param', '--params-file', '-r', '--remap', '--log-level'):
            yield ({'-p': '--param', '-r': '--remap'}.get(word, word), next(words, ''))


def check_arguments(arguments: Sequence[str]) -> None:
    """Refuse invalid files, names and log levels on the command line.

    Raises
    ------
    ArgumentError
        With the argument, the fault and the remedy.
    """
    for option, value in ros_arguments(arguments):
        if option == '--params-file':
            file_sections(value)
        if option == '--param' and ':=' not in value:
            raise ArgumentError(f'-p {value}: write -p NAME:=VALUE')
        level = value.rpartition(':=')[2]
        if option == '--log-level' and level.lower() not in (*LEVELS, 'unset'):
            raise ArgumentError(
                f'--log-level {value}: there is no level {level!r}; give one of '
                f'{", ".join(LEVELS)}, or LOGGER:=LEVEL'
            )
        rule = RENAMING.fullmatch(value)
        if option == '--remap' and rule is not None:
            check_name(f'-r {value}', rule['name'], is_namespace=rule['what'] == '__ns')


def check_name(origin: str, name: str, *, is_namespace: bool) -> None:
    """Refuse an invalid node name or namespace; `origin` is for the message."""
    token = r'[A-Za-z_]\w*'
    if not re.fullmatch(rf'/|(/{token})+' if is_namespace else token, name, re.ASCII):
        raise ArgumentError(
            f'{origin}: {name!r} cannot be the {"namespace" if is_namespace else "name"} of a '
            f'node; use letters, digits and _, no digit first'
            + (', like /left or /cell/left' if is_namespace else '')
        )


def namespaces(arguments: Sequence[str]) -> list[str]:
    """Return the absolute namespaces that a command line names, one for each robot.

    Parameters
    ----------
    arguments : sequence of str
        The command line. Its words that are not for ROS are namespaces; relative ones are below
        that of the process (``-r __ns:=/cell``).

    Raises
    ------
    ArgumentError
        For an invalid namespace, and one that is given twice.
    """
    rules = [RENAMING.fullmatch(v) for option, v in ros_arguments(arguments) if option == '--remap']
    own = next((rule['name'] for rule in rules if rule and rule['what'] == '__ns'), '/')
    found: list[str] = []
    for word in remove_ros_args(arguments)[1:]:
        space = word if word.startswith('/') else f'{own.rstrip("/")}/{word}'
        check_name(f'argument {word}', space, is_namespace=True)
        if space in found:
            raise ArgumentError(f'argument {word}: two robots cannot have the namespace {space}')
        found.append(space)
    return found


def file_sections(path: str) -> list[ParameterSection]:
    """Return the sections of a parameter file; raises `ArgumentError` with its name."""
    try:
        return read_parameter_file(Path(path))
    except ArgumentError as refusal:
        raise ArgumentError(f'parameter file {path}: {refusal}') from None


def reason(error: Exception) -> str:
    """Return the message of rclpy about its arguments, without source locations."""
    text = re.sub(r', at \S+:\d+', '', str(error)).removeprefix('failed to initialize rcl: ')
    unknown = 'unknown arguments ' if type(error).__name__ == 'UnknownROSArgsError' else ''
    return f'ROS refuses the command line: {unknown}{" ".join(text.split())}'


def sources(arguments: Sequence[str]) -> Iterator[tuple[str, list[ParameterSource]]]:
    """Yield each parameter file or argument of the command line, with its sources.

    Raises `ArgumentError` for an invalid file.
    """
    for option, value in ros_arguments(arguments):
        if option == '--params-file':
            file = f'parameter file {value}'
            yield (
                file,
                [
                    ParameterSource(f'section {section.pattern} of {file}', section)
                    for section in file_sections(value)
                ],
            )
        elif option == '--param':
            node, _, name = value.partition(':=')[0].rpartition(':')
            section = ParameterSection('/' + (node or '**').removeprefix('/'), (name,))
            yield f'argument -p {value}', [ParameterSource(f'argument -p {value}', section, True)]


def undeclared(node: Node) -> list[str]:
    """Return the names of parameters given to a node at start that it does not declare.

    To be called after it has declared its parameters; those that rclpy declares are excluded.
    """
    return [
        name
        for name in getattr(node, '_parameter_overrides', ())
        if not node.has_parameter(name) and not FOREIGN.fullmatch(name)
    ]


def check_parameters(
    nodes: Sequence[Node], is_known: Callable[[str], bool], arguments: Sequence[str]
) -> None:
    """Refuse parameters that would be ignored, and files without a section for this process.

    Parameters
    ----------
    nodes : sequence of rclpy.node.Node
        All nodes of the process, with all parameters declared.
    is_known : callable
        Whether any node of the package, also in other processes, has a parameter with this name.
    arguments : sequence of str
        The command line.

    Raises
    ------
    ArgumentError
        With the parameter, its origin and the nearest name.
    """
    given: list[ParameterSource] = []
    for origin, some in sources(arguments):
        if not any(
            source.section.matches(node.get_fully_qualified_name())
            for source in some
            for node in nodes
        ):
            raise ArgumentError(f'{origin}: {nothing_applies(some, nodes)}')
        given += some
    warnings = {
        _check_name(name, source, node, nodes, is_known)
        for node in nodes
        for name in undeclared(node)
        for source in given
        if name in source.section.names and source.section.matches(node.get_fully_qualified_name())
    }
    for warning in sorted(warnings - {''}):
        nodes[0].get_logger().warning(warning)


def nothing_applies(given: Sequence[ParameterSource], nodes: Sequence[Node]) -> str:
    """Return the text of the error that no section matches any of the nodes."""
    there = shorten([source.section.pattern for source in given]) or 'none'
    here = shorten([node.get_fully_qualified_name() for node in nodes])
    remedy = (
        f'name one of them, or /**/{nodes[0].get_name()} for any namespace'
        if not any(source.is_argument for source in given)
        else 'arguments apply to nodes without a namespace only; use a parameter file for others'
    )
    return f'it is for {there}, and the nodes of this process are {here}; {remedy}'


def _check_name(
    name: str,
    source: ParameterSource,
    node: Node,
    nodes: Sequence[Node],
    is_known: Callable[[str], bool],
) -> str:
    """Refuse a parameter that a node does not declare, or return a warning or ''."""
    owners = [other for other in nodes if other.has_parameter(name)]
    if source.section.is_for_any_node:
        if owners or (not source.is_argument and is_known(name)):
            return ''
        there = parameters_of(nodes)
        if not source.is_argument and not nearest(name, there, CLEAR_SIMILARITY):
            return f'parameter {name!r} ({source.text}) has no effect: no node here has it'
        whose = 'no node of this process has it'
    else:
        there = parameters_of([node])
        whose = f'node {node.get_name()} does not have it'
    if owners:
        remedy = f'{shorten([owner.get_name() for owner in owners])} has it'
    elif like := nearest(name, there, HINT_SIMILARITY):
        remedy = f'did you mean {like}?'
    else:
        remedy = f'there are {shorten(there, 12)}'
    raise ArgumentError(f'parameter {name!r} ({source.text}): {whose}; {remedy}')


def parameters_of(nodes: Sequence[Node]) -> list[str]:
    """Return the names of the parameters that nodes have declared themselves."""
    return sorted(
        {
            name
            for node in nodes
            for name in node.get_parameters_by_prefix('')
            if not FOREIGN.fullmatch(name)
        }
    )


def nearest(name: str, there: Sequence[str], least: float) -> str:
    """Return the most similar name, '' if none is similar enough."""
    return next(iter(get_close_matches(name, there, 1, least)), '')
