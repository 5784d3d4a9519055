"""Write doc/parameters.md, all parameters of the nodes, from their declarations.

python tools/parameters_page.py
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rclpy.parameter import Parameter

from screw_dynamics_ros.nodes.known_parameters import TABLES
from screw_dynamics_ros.nodes.parameters import drive_parameters, shared_parameters
from screw_dynamics_ros.nodes.simulation import world_parameters
from screw_dynamics_ros.ros import diagnostics
from screw_dynamics_ros.ros.parameters import Specification

PAGE = Path(__file__).resolve().parents[1] / 'doc/parameters.md'

HEAD = """\
# Parameters of the nodes

Generated from the declarations by `python tools/parameters_page.py`; `ros2 param describe` prints
the same texts. `config/model.yaml`, `config/simulator.yaml`, `config/mechanism_simulator.yaml`,
`config/odometry.yaml` and `config/parallel_robot.yaml` contain all parameters with their defaults,
as templates;
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

#: Heading, what comes below it, and the parameters.
SECTIONS: tuple[tuple[str, str, Sequence[Specification]], ...] = (
    (
        'Shared',
        'Of `bringup`, for all nodes that it hosts, of `trajectory_proxy`, and of `kinematics`, '
        '`dynamics` and\n`wrench_estimator` when they run by themselves.',
        (*shared_parameters.TABLE, *diagnostics.TABLE),
    ),
    (
        'Drives',
        'Shared, too: one set for each of `drive_joints`, named `drives.<joint>.<name>`.',
        drive_parameters.TABLE,
    ),
    ('bringup', '', TABLES['bringup']),
    ('kinematics', '', TABLES['kinematics']),
    ('dynamics', '', TABLES['dynamics']),
    ('wrench_estimator', '', TABLES['wrench_estimator']),
    (
        'trajectory_proxy',
        'Runs by itself, with the shared parameters, too.',
        TABLES['trajectory_proxy'],
    ),
    ('wrist_sensor', '', TABLES['wrist_sensor']),
    ('mechanism_simulator', '', (*TABLES['mechanism_simulator'], *diagnostics.TABLE)),
    ('odometry', '', (*TABLES['odometry'], *diagnostics.TABLE)),
    ('parallel_robot', '', (*TABLES['parallel_robot'], *diagnostics.TABLE)),
    ('simulator', '', (*TABLES['simulator'], *diagnostics.TABLE)),
    *(
        (
            f'simulator: {prefix.replace("_", " ")}',
            f'One set for each of `{names.name}`, named `{prefix}.<name>.<parameter>`.',
            table,
        )
        for names, (prefix, table) in zip(world_parameters.NAMES, world_parameters.TABLES.items())
    ),
)


def page() -> str:
    """Return the text of the page."""
    parts = [HEAD]
    for heading, text, table in SECTIONS:
        parts.append(f'## {heading}\n' + (f'\n{text}\n' if text else ''))
        parts.append('\n'.join(rows(table)) + '\n')
    return '\n'.join(parts)


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


if __name__ == '__main__':
    PAGE.write_text(page())
