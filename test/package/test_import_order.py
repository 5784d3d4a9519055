"""What may import what: no circles of files or folders, and an order of folders.

doc/architecture.md shows the order.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import screw_dynamics_ros
from support.paths import DOC

PACKAGE = Path(screw_dynamics_ros.__file__).parent
NAME = PACKAGE.name

#: Folders, and files beside them, from the bottom up: each imports from those before it only.
ORDER = """
    pipes
    core.errors  core.types  core.units
    core.files  core.arguments  core.linear  core.kinematic_model
    core.least_squares  core.reproducible
    core.lie
    core.compile
    core.description
    core.tree
    core.kinematics
    core.kinematics
    core.dynamics
    core.arms.inverse
    core.arms.families
    core.integration  core.measurement.identification
    core.constraints  core.textbook.formulations
    core.mechanisms.absolute_coordinates
    core.mechanisms.parallel
    core.robot
    core.mechanisms.closures  core.robot.autograd
    core.motion.control  core.motion.trajectory  core.simulation  core.measurement.estimation
    core.mobile  core.measurement.annotation
    core
    comparison
    ros.names  ros.status  ros.share  ros.yaml_text
    ros.parameter_files
    ros.process
    ros.xacro_source
    ros.xacro_expansion
    ros.description_file
    ros.description  ros.parameters  ros.launch_arguments  ros.ros2_control  ros.drivers
    ros.data_folder
    ros.diagnostics
    ros.services
    ros.immediate_services  ros.standard_services
    ros.messages
    ros.joint_states
    ros.recordings
    ros.topics
    nodes.model
    nodes.parameters
    nodes.services
    nodes.hosting
    nodes.outputs  nodes.simulation
    nodes.mechanism
    nodes.mobile_base
    nodes.parallel
    nodes.trajectory
    nodes.force_torque
    nodes
    cli.command_line  cli.library_messages  cli.progress
    cli.doctor  cli.parity  cli.calibrate  cli.rviz  cli.identify  cli.excite
    cli.annotate  cli.replay
    cli
    cli.demo
"""

RANKS = {place: rank for rank, line in enumerate(ORDER.split('\n')) for place in line.split()}


def module_name(file: Path) -> str:
    """Return the dotted name of a file of the package."""
    parts = (NAME, *file.relative_to(PACKAGE).with_suffix('').parts)
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


FILES = {module_name(file): file for file in sorted(PACKAGE.rglob('*.py'))}


def imported(source: str) -> Iterator[str]:
    """Yield the modules of the package that a file imports, in functions too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in FILES)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(NAME):
            for alias in node.names:
                name = f'{node.module}.{alias.name}'
                yield name if name in FILES else node.module


@pytest.fixture(scope='module')
def imports() -> dict[str, set[str]]:
    """Return what each module imports."""
    return {
        module: set(imported(file.read_text(encoding='utf-8'))) - {module}
        for module, file in FILES.items()
    }


def place(module: str) -> str:
    """Return the first of `ORDER` that a module is in: the longest; '' for none."""
    parts = module.split('.')[1:]
    names = ('.'.join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((name for name in names if name in RANKS), '')


def circle(imports: dict[str, set[str]]) -> list[str]:
    """Return modules that import one another in a circle, none if there is no such circle."""
    left = {module: set(others) & set(imports) - {module} for module, others in imports.items()}
    while True:
        free = [module for module, others in left.items() if not others]
        if not free:
            return sorted(left)
        for module in free:
            del left[module]
        for others in left.values():
            others.difference_update(free)


def test_no_circle_of_files(imports):
    assert circle(imports) == []


def test_no_circle_of_folders_and_their_order_holds(imports):
    wrong = [
        f'{module} imports {other}'
        for module, others in imports.items()
        for other in others
        if place(module)
        and place(other)
        and place(module) != place(other)
        and RANKS[place(other)] >= RANKS[place(module)]
    ]
    assert wrong == []


def test_every_file_has_a_place():
    without = {module for module in FILES if not place(module)}
    assert without == {
        NAME,
        *(f'{NAME}.{name}' for name in ('__main__', 'entry', 'registry', 'ros')),
    }


def test_the_ros_border_needs_little_of_the_core(imports):
    needed = {
        place(other)
        for module, others in imports.items()
        if place(module).startswith('ros')
        for other in others
        if place(other).startswith('core')
    }
    assert needed <= {
        'core.errors',
        'core.types',
        'core.units',
        'core.files',
        'core.lie',
        'core.compile',
        'core.description',
    }


def test_the_page_shows_this_order():
    """One line for each rank."""
    page = (DOC / 'architecture.md').read_text(encoding='utf-8')
    shown = re.findall(r'^\| ((?:`[\w.]+`(?:, )?)+) \|', page, re.MULTILINE)
    assert [' '.join(re.findall(r'`([\w.]+)`', line)) for line in shown] == [
        ' '.join(line.split()) for line in ORDER.strip().split('\n')
    ]


@pytest.mark.parametrize('folder', ['core', 'ros', 'nodes', 'cli'])
def test_the_core_knows_no_ros_and_ros_no_nodes(imports, folder):
    names = ['core', 'ros', 'nodes', 'cli']
    higher = {f'{NAME}.{name}' for name in names[names.index(folder) + 1 :]}
    found = [
        f'{module} imports {other}'
        for module, others in imports.items()
        if module.startswith(f'{NAME}.{folder}')
        for other in others
        if any(other.startswith(name) for name in higher)
    ]
    assert found == []


def test_a_circle_is_found():
    assert circle({'a': {'b'}, 'b': {'c'}, 'c': {'b'}, 'd': set()}) == ['a', 'b', 'c']
    assert circle({'a': {'b'}, 'b': {'c'}, 'c': set()}) == []
    assert set(imported(f'def f():\n    from {NAME}.core import errors')) == {f'{NAME}.core.errors'}
