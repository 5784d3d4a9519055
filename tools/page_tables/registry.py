# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What follows from the registry of executables and the declarations of parameters.

These are doc/reference/parameters.md and the parameter files in config/, as a whole, and the tables
of executables in doc/reference/nodes/index.md.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from rclpy.parameter import Parameter

from screw_dynamics_ros.nodes.known_parameters import SHARED, own_parameters
from screw_dynamics_ros.nodes.parameters import drive_parameters, shared_parameters
from screw_dynamics_ros.nodes.simulation import world_parameters
from screw_dynamics_ros.registry import COMMANDS, NODES, load
from screw_dynamics_ros.ros import diagnostics
from screw_dynamics_ros.ros.parameters import Specification

#: Parts of ranges that a default shows, and what stays in one line of a comment.
SEEN = re.compile(r'(each )?finite|\d+ elements')
TOGETHER = re.compile(r'[<>]= \S+|\[\S+, \S+\]')

HEAD = """\
# Parameters of the nodes

Generated from the declarations by `python tools/pages.py`; `ros2 param describe` prints
the same texts. The files in `config/` contain all parameters with their defaults, as templates;
[nodes](nodes/index.md) explains their use.

The type of a parameter never changes. Integers are accepted for doubles at startup and, except in
humble, while the node runs. An empty list of strings is written `['']`. "Changes" states whether a
parameter can be changed while the node runs; a change is validated as a whole, and is either active
or refused with the reason. Declarations, ranges, read-only flags and this page come from tables in
Python, as those of generate_parameter_library from YAML; no code is generated. rclpy adds
`use_sim_time`, `start_type_description_service` and
`qos_overrides.<topic>.<publisher or subscription>.<policy>`.
"""

TYPES = {
    Parameter.Type.BOOL: 'bool',
    Parameter.Type.INTEGER: 'integer',
    Parameter.Type.DOUBLE: 'double',
    Parameter.Type.STRING: 'string',
    Parameter.Type.DOUBLE_ARRAY: 'double array',
    Parameter.Type.STRING_ARRAY: 'string array',
}

#: Tables of which there is one for each name in a parameter, by that: prefix of the names, table.
NAMED = {
    drive_parameters.JOINTS.name: ('drives', drive_parameters.TABLE),
    **{
        names.name: (prefix, table)
        for names, (prefix, table) in zip(world_parameters.NAMES, world_parameters.TABLES.items())
    },
}


# --- doc/reference/nodes/index.md -----------------------------------------------------------------


def nodes(folder: Path) -> str:
    """Return the table of nodes."""
    lines = ['| node | | parameters | launch file |', '|---|---|---|---|']
    for name, row in NODES.items():
        launch = f'`{row.launch}.launch.py`' if row.launch else ''
        lines.append(f'| `{name}` | {row.purpose} | `config/{row.config}.yaml` | {launch} |')
    return '\n'.join(lines) + '\n'


def commands(folder: Path) -> str:
    """Return the table of commands."""
    rows = (f'| `{name}` | {row.purpose} |\n' for name, row in COMMANDS.items())
    return '| command | |\n|---|---|\n' + ''.join(rows)


# --- doc/reference/parameters.md ---------------------------------------------------------------


def parameters_page() -> str:
    """Return the page of all parameters."""
    parts = [HEAD]
    for heading, text, table in sections():
        parts.append(f'## {heading}\n' + (f'\n{text}\n' if text else ''))
        parts.append('\n'.join(rows(table)) + '\n')
    return '\n'.join(parts)


def sections() -> Iterator[tuple[str, str, Iterable[Specification]]]:
    """Yield heading, what comes below it, and parameters."""
    alone = [f'`{name}`' for name, row in NODES.items() if row.config == 'model']
    yield (
        'Shared',
        f'Of {listed(alone)}.\nNodes in `bringup` have those of `bringup`.',
        SHARED,
    )
    yield from named_sections('', SHARED)
    for name, row in NODES.items():
        table = own_parameters(name)
        yield name, '', table if row.config == 'model' else (*table, *diagnostics.TABLE)
        yield from named_sections(f'{name}: ', table)


def named_sections(
    node: str, table: Iterable[Specification]
) -> Iterator[tuple[str, str, Iterable[Specification]]]:
    """Yield the sections of what parameters in a table name."""
    for names in table:
        if names.name in NAMED:
            prefix, each = NAMED[names.name]
            text = f'One set for each of `{names.name}`, named `{prefix}.<name>.<parameter>`.'
            yield f'{node}{prefix.replace("_", " ")}', text, each


def rows(table: Iterable[Specification]) -> list[str]:
    """Return a table, in the order of the declarations."""
    lines = ['| name | type | default | range | changes | |', '|---|---|---|---|---|---|']
    for each in table:
        cells = (
            f'`{each.name}`',
            TYPES[each.kind],
            f'`{written(each.default)}`',
            each.range,
            'no' if each.read_only else 'yes',
            each.description,
        )
        lines.append('| ' + ' | '.join(cell.replace('|', '\\|') for cell in cells) + ' |')
    return lines


def listed(names: list[str]) -> str:
    """Return names as a list of words."""
    return ', '.join(names[:-1]) + ' and ' * (len(names) > 1) + names[-1]


def written(default: object) -> str:
    """Return a default as YAML has it."""
    return str(default).lower() if isinstance(default, bool) else repr(default)


# --- config/*.yaml ------------------------------------------------------------------------------


def parameter_file(config: str) -> str:
    """Return the file with the parameters of one node, or of all that compute the model."""
    names = [name for name, row in NODES.items() if row.config == config]
    parts = [
        *comment(
            f'All parameters of {listed(names)}, with their defaults; a template, generated by '
            'tools/pages.py.',
            '',
        ),
        '#',
        '# "Changes": can be changed while the node runs. All others are read at startup.',
        "# An empty list of names is written ['']. Their use: doc/reference/nodes/index.md.",
    ]
    common: tuple[Sequence[Specification], ...] = (diagnostics.TABLE,)
    if config == 'model':
        parts += [
            '',
            '# Each node that runs by itself has these; nodes in `bringup` use those of `bringup`.',
        ]
        parts += section('/**', (shared_parameters.TABLE, *common))
        common = ()
    for name in names:
        parts += ['', *section(f'/**/{name}', (*map(load, NODES[name].tables), *common))]
    return '\n'.join(parts) + '\n'


def section(pattern: str, tables: Iterable[Iterable[Specification]]) -> Iterator[str]:
    """Yield the lines of the section for some nodes."""
    yield from (f'{pattern}:', '  ros__parameters:')
    separator: list[str] = []
    for table in tables:
        yield from separator
        separator = ['']
        for each in table:
            yield from entry(each, ' ' * 4)
            if each.name in NAMED:
                yield from template(*NAMED[each.name])


def template(prefix: str, table: Iterable[Specification]) -> Iterator[str]:
    """Yield, as comments, the section of one name."""
    yield '    # For each of them a section with these parameters and defaults:'
    yield f'    # {prefix}:'
    yield '    #   name:'
    for each in table:
        yield from entry(each, '    #     ')
    yield ''


def entry(each: Specification, indent: str) -> Iterator[str]:
    """Yield a parameter and the comment that describes it."""
    values = '; '.join(part for part in each.range.split('; ') if not SEEN.fullmatch(part))
    text = [each.description]
    if values:
        text.append(f'{values[0].upper()}{values[1:]}.')
    if not each.read_only:
        text.append('Changes.')
    yield from comment(' '.join(text), indent)
    yield f'{indent}{each.name}: {yaml_text(each.default)}'


def comment(text: str, indent: str) -> list[str]:
    """Return a text as lines of a comment."""
    start = f'{indent}# '
    lines = textwrap.wrap(
        TOGETHER.sub(lambda found: found[0].replace(' ', '\xa0'), text),
        100,
        initial_indent=start,
        subsequent_indent=start,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace('\xa0', ' ') for line in lines]


def yaml_text(value: object) -> str:
    """Return a value as YAML 1.1 reads it back: numbers with exponents need a decimal point."""
    if isinstance(value, list):
        return f'[{", ".join(map(yaml_text, value))}]'
    if isinstance(value, float):
        mantissa, exponent, power = repr(value).partition('e')
        return f'{mantissa}{".0" if exponent and "." not in mantissa else ""}{exponent}{power}'
    return written(value)


#: Tables of doc/reference/nodes/index.md; they need no results.
TABLES: dict[str, Callable[[Path], str]] = {'nodes': nodes, 'commands': commands}

#: What makes a file as a whole.
FILES: dict[str, Callable[[], str]] = {
    'doc/reference/parameters.md': parameters_page,
    **{f'config/{row.config}.yaml': partial(parameter_file, row.config) for row in NODES.values()},
}
