"""Write what follows from the registry of executables and the declarations of parameters.

    python tools/registry_pages.py

doc/parameters.md, and the tables of executables in doc/nodes.md. `--check` changes nothing and ends
with status 1 if something would change.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from rclpy.parameter import Parameter

from screw_dynamics_ros.nodes.known_parameters import SHARED, own_parameters
from screw_dynamics_ros.nodes.parameters import drive_parameters
from screw_dynamics_ros.nodes.simulation import world_parameters
from screw_dynamics_ros.registry import COMMANDS, NODES
from screw_dynamics_ros.ros import diagnostics
from screw_dynamics_ros.ros.parameters import Specification

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r'(<!-- registry: (\w+) -->\n).*?(<!-- end of table -->)', re.DOTALL)

HEAD = """\
# Parameters of the nodes

Generated from the declarations by `python tools/registry_pages.py`; `ros2 param describe` prints
the same texts. The files in `config/` contain all parameters with their defaults, as templates;
[nodes.md](nodes.md) explains their use.

The type of a parameter never changes. Integers are accepted for doubles at startup and, except in
humble, while the node runs. An empty list of strings is written `['']`. "Changes" states whether a
parameter can be changed while the node runs; a change is validated as a whole, and is either active
or refused with the reason. rclpy adds `use_sim_time`, `start_type_description_service` and
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


def pages() -> dict[Path, str]:
    """Return the content of all files."""
    nodes = ROOT / 'doc' / 'nodes.md'
    return {
        ROOT / 'doc' / 'parameters.md': parameters_page(),
        nodes: BLOCK.sub(
            lambda block: f'{block[1]}{EXECUTABLES[block[2]]()}{block[3]}',
            nodes.read_text(encoding='utf-8'),
        ),
    }


# --- doc/nodes.md -------------------------------------------------------------------------------


def node_rows() -> str:
    """Return the table of nodes."""
    lines = ['| node | | parameters | launch file |', '|---|---|---|---|']
    for name, row in NODES.items():
        launch = f'`{row.launch}.launch.py`' if row.launch else ''
        lines.append(f'| `{name}` | {row.purpose} | `config/{row.config}.yaml` | {launch} |')
    return '\n'.join(lines) + '\n'


def command_rows() -> str:
    """Return the table of commands."""
    rows = (f'| `{name}` | {row.purpose} |\n' for name, row in COMMANDS.items())
    return '| command | |\n|---|---|\n' + ''.join(rows)


EXECUTABLES = {'nodes': node_rows, 'commands': command_rows}


# --- doc/parameters.md --------------------------------------------------------------------------


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
        f'Of {", ".join(alone[:-1])} and {alone[-1]}.\nNodes in `bringup` have those of `bringup`.',
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


def written(default: object) -> str:
    """Return a default as YAML has it."""
    return str(default).lower() if isinstance(default, bool) else repr(default)


def main() -> int:
    """Write the files, or compare them; return the exit status."""
    stale = [path for path, text in pages().items() if path.read_text(encoding='utf-8') != text]
    for path in stale:
        print(f'{path.relative_to(ROOT)} is not what the registry says', file=sys.stderr)
    if '--check' in sys.argv[1:]:
        return 1 if stale else 0
    for path, text in pages().items():
        path.write_text(text, encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
