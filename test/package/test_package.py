# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The package as colcon, pip and rosdep see it: package.xml, setup.py, what is installed."""

import ast
import configparser
import importlib
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import setuptools

import screw_dynamics_ros
from screw_dynamics_ros.registry import COMMANDS, EXECUTABLES, NODES, load
from support.compilation import run_python
from support.paths import ROOT
from support.working_tree import tracked

PACKAGE = ROOT / 'screw_dynamics_ros'
STAND_INS = ('tools/tf2_msgs', 'tools/control_msgs', 'tools/pal_statistics_msgs')

# rosdep keys of what is imported under another name; what is not here is a ROS package.
ROSDEP_KEYS = {
    'defusedxml': 'python3-defusedxml',
    'llvmlite': 'python3-numba',
    'matplotlib': 'python3-matplotlib',
    'numpy': 'python3-numpy',
    'scipy': 'python3-scipy',
    'tqdm': 'python3-tqdm',
    'yaml': 'python3-yaml',
}
# Used where they are: services (rosdep cannot see a package inside this one), a window on request,
# a second opinion in the demo, xacro files; transforms3d stands in for tf_transformations, which
# depends on it.
OPTIONAL = {
    'screw_dynamics_msgs',
    'pal_statistics_msgs',
    'rviz2',
    'plotjuggler',
    'foxglove_bridge',
    'ros2doctor',
    'controller_manager',
    'pinocchio',
    'mujoco',
    'PyKDL',
    'transforms3d',
    'xacro',
    'torch',
    'jax',
    'trimesh',
    'viser',
    'websockets',  # viser brings it
}


@pytest.fixture
def arguments(monkeypatch) -> dict[str, Any]:
    """What setup.py hands to setuptools."""
    captured: dict[str, Any] = {}
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(setuptools, 'setup', captured.update)
    runpy.run_path('setup.py')
    return captured


def manifest(folder: Path = ROOT) -> ElementTree.Element:
    return ElementTree.parse(folder / 'package.xml').getroot()


def sources(*folders: Path) -> Iterator[Path]:
    for folder in folders:
        yield from (path for path in folder.rglob('*.py') if '__pycache__' not in path.parts)


@cache
def imported_packages(path: Path) -> set[str]:
    """Foreign top-level packages a file imports, and ROS packages its launch actions start."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
        elif isinstance(node, ast.keyword) and node.arg == 'package':
            names |= {node.value.value} if isinstance(node.value, ast.Constant) else set()
    tops = {name.partition('.')[0] for name in names}
    return tops - set(sys.stdlib_module_names) - {PACKAGE.name}


# --- one version, one manifest ---


def test_one_version():
    version = manifest().findtext('version')
    for folder in ('screw_dynamics_msgs', 'screw_dynamics_control'):
        assert manifest(ROOT / folder).findtext('version') == version
    if screw_dynamics_ros.__version__ != '0+uninstalled':
        assert screw_dynamics_ros.__version__ == version


def test_setup_takes_its_texts_from_the_manifest(arguments):
    assert arguments['name'] == manifest().findtext('name') == PACKAGE.name
    assert arguments['version'] == manifest().findtext('version')
    assert arguments['license'] == 'Apache-2.0'
    assert 'Apache License' in (ROOT / 'LICENSE').read_text()


@pytest.mark.parametrize(
    'folder', ['.', 'screw_dynamics_msgs', 'screw_dynamics_control', *STAND_INS]
)
def test_manifests_are_format_3(folder):
    text = (ROOT / folder / 'package.xml').read_text()
    assert 'xml-model' in text
    assert ElementTree.fromstring(text).get('format') == '3'


# --- what is installed ---


def test_every_source_file_is_packaged(arguments):
    """A folder without __init__.py would be missing from an installation."""
    packaged = set(arguments['packages'])
    for path in sources(PACKAGE):
        assert '.'.join(path.relative_to(ROOT).parent.parts) in packaged, path
    assert (PACKAGE / 'py.typed').exists()
    assert 'py.typed' in arguments['package_data'][PACKAGE.name]


def test_every_shared_file_is_installed(arguments):
    installed = {(target, file) for target, files in arguments['data_files'] for file in files}
    share = f'share/{PACKAGE.name}'
    assert (share, 'package.xml') in installed
    assert ('share/ament_index/resource_index/packages', f'resource/{PACKAGE.name}') in installed
    for folder in ('launch', 'config', 'urdf', 'rviz'):
        for path in (ROOT / folder).rglob('*'):
            if path.is_file() and '__pycache__' not in path.parts:
                relative = path.relative_to(ROOT)
                assert (f'{share}/{relative.parent}', str(relative)) in installed


def test_executables_are_where_ros2_run_looks():
    configuration = configparser.RawConfigParser()
    configuration.read(ROOT / 'setup.cfg')
    assert configuration['install']['install_scripts'] == f'$base/lib/{PACKAGE.name}'
    assert configuration['develop']['script_dir'] == f'$base/lib/{PACKAGE.name}'


def test_executables_exist(arguments):
    pytest.importorskip('rclpy')
    executables = arguments['entry_points']['console_scripts']
    names = {entry.partition(' = ')[0] for entry in executables}
    assert names == set(EXECUTABLES)
    for entry in executables:
        module, _, function = entry.partition(' = ')[2].partition(':')
        assert callable(getattr(importlib.import_module(module), function)), entry


def test_what_the_registry_names_exists():
    pytest.importorskip('rclpy')
    for name, row in NODES.items():
        assert callable(load(row.factory)), name
        assert all(each.name for table in row.tables for each in load(table)), name
        assert (ROOT / 'config' / f'{row.config}.yaml').exists(), name
        assert not row.launch or (ROOT / 'launch' / f'{row.launch}.launch.py').exists(), name
    for name, command in COMMANDS.items():
        assert callable(load(f'{command.module}:main')), name


def test_the_registry_needs_nothing():
    """An isolated build reads it by path, before anything is installed."""
    assert imported_packages(PACKAGE / 'registry.py') == set()
    text = (PACKAGE / 'registry.py').read_text()
    assert 'from screw_dynamics_ros' not in text


@pytest.mark.parametrize(
    ('arguments', 'status', 'words'),
    [
        (['--help'], 0, 'wrench_estimator'),
        ([], 0, 'wrench_estimator'),
        (['kinematic'], 2, "there is no 'kinematic'; did you mean kinematics?"),
        (['zzz'], 2, 'screw-dynamics --help lists all'),
        (['compile', '--help'], 0, 'usage: compile'),
    ],
)
def test_executables_run_by_their_names(arguments, status, words):
    done = subprocess.run(
        [sys.executable, '-m', PACKAGE.name, *arguments], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == status
    assert words in done.stdout + done.stderr


# --- dependencies ---


def test_dependencies_are_those_imported():
    imported = set().union(*map(imported_packages, sources(PACKAGE, ROOT / 'launch'))) - OPTIONAL
    needed = {ROSDEP_KEYS.get(name, name) for name in imported}
    declared = {element.text for element in manifest().iter('exec_depend')}
    assert declared - needed == set(), 'declared in package.xml and not imported'
    assert needed - declared == set(), 'imported and not declared in package.xml'


def test_core_imports_no_ros():
    allowed = {'numpy', 'scipy', 'llvmlite', 'defusedxml'}
    own = {
        'robot/autograd/pytorch.py': {'torch'},
        'robot/autograd/jax.py': {'jax'},
        'description/mjcf_model.py': {'mujoco'},
    }
    for path in sources(PACKAGE / 'core'):
        more = own.get(path.relative_to(PACKAGE / 'core').as_posix(), set())
        assert imported_packages(path) <= allowed | more, path


@pytest.mark.parametrize(('module', 'library'), [('pytorch', 'PyTorch'), ('jax', 'JAX')])
def test_what_is_missing_for_gradients_is_named(module, library):
    code = f"""
        import sys
        sys.modules[{'torch' if module == 'pytorch' else 'jax'!r}] = None  # as if not installed
        import screw_dynamics_ros.core.robot.autograd.functions
        try:
            import screw_dynamics_ros.core.robot.autograd.{module}
        except ImportError as error:
            print(error)
    """
    assert f'needs {library}' in run_python(code)


def test_nodes_start_without_what_they_may_need_later():
    """SciPy takes as long to import as all the rest; requests are answered in another process."""
    pytest.importorskip('rclpy')
    code = """
        import sys
        from screw_dynamics_ros.nodes import bringup, executables
        from screw_dynamics_ros.registry import NODES, load
        for row in NODES.values():
            if row.hosted and row.kind == 'outputs' and 'control' not in row.factory:
                load(row.factory)
        names = 'scipy', *(
            f'screw_dynamics_ros.{name}'
            for name in (
                'comparison',
                'core.calibration',
                'core.simulation',
                'nodes.known_parameters',
                'nodes.services.dynamics_services',
                'nodes.services.inverse_kinematics',
                'nodes.services.kinematics_services',
            )
        )
        print([name for name in names if name in sys.modules])
    """
    assert run_python(code).strip() == '[]'


def test_dependencies_have_no_conditions():
    """bloom evaluates conditions without the variables of a user, and would drop them."""
    assert [each.text for each in manifest().iter() if each.get('condition')] == []


@pytest.mark.parametrize('command', ['bdist_wheel', 'dist_info', 'editable_wheel'])
def test_pip_puts_one_command_into_the_path(command, arguments, monkeypatch):
    monkeypatch.setattr(sys, 'argv', ['setup.py', command])
    runpy.run_path('setup.py')
    assert arguments['entry_points']['console_scripts'] == [
        'screw-dynamics = screw_dynamics_ros.entry:main'
    ]
    assert arguments['install_requires']


def test_colcon_leaves_dependencies_to_rosdep(arguments):
    assert arguments['install_requires'] == []


def test_wheels_and_the_set_up_need_the_same_versions(arguments, monkeypatch):
    monkeypatch.setattr(sys, 'argv', ['setup.py', 'bdist_wheel'])
    runpy.run_path('setup.py')
    texts = [path.read_text() for path in (ROOT / 'requirements').glob('*.txt')]
    listed = {line.partition('#')[0].strip() for text in texts for line in text.split('\n')}
    extras = arguments['extras_require']
    assert {*arguments['install_requires'], *extras['all'], *extras['test']} <= listed


def test_nodes_without_ros_name_the_remedy():
    code = """
        import sys
        sys.modules['rclpy'] = None  # as if not installed
        sys.stderr = sys.stdout
        from screw_dynamics_ros.entry import UNUSABLE, run_command, run_node
        for name in ('rviz', 'doctor'):
            sys.argv = [name]
            assert run_command(name) == UNUSABLE
        try:
            run_node('dynamics')
        except SystemExit as error:
            print(error)
    """
    answer = run_python(code)
    assert answer.count("needs ROS 2, and there is no module 'rclpy") == 3


def test_each_node_prints_its_usage_without_ros():
    """With its parameters' file and a launch file, which exist; nothing is imported for that."""
    code = """
        import sys
        sys.modules['rclpy'] = sys.modules['numpy'] = None  # as if not installed
        from screw_dynamics_ros import entry
        for name in entry.NODES:
            for option in ('-h', '--help'):
                sys.argv = ['screw-dynamics', name, option, '--ros-args', '-r', '__ns:=/cell']
                assert not entry.main()
    """
    answer = run_python(code)
    assert answer.count('usage: ') == 2 * len(NODES)
    for name, row in NODES.items():
        assert f'usage: ros2 run screw_dynamics_ros {name} ' in answer
        assert row.purpose in answer
    files = re.findall(r'\S+[.]yaml', answer)
    launch_files = re.findall(r'\w+[.]launch[.]py', answer)
    assert len(files) == len(launch_files) == 2 * len(NODES)
    for path in (*files, *(ROOT / 'launch' / name for name in launch_files)):
        assert Path(path).is_file()


def test_commands_have_one_thread_of_linear_algebra():
    """Unless the environment has another number."""
    code = """
        import os
        from types import SimpleNamespace
        from screw_dynamics_ros import entry
        os.environ.pop('OPENBLAS_NUM_THREADS', None)
        os.environ['OMP_NUM_THREADS'] = '3'
        def main():
            print(*map(os.environ.get, ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS')))
        entry.import_module = lambda _: SimpleNamespace(main=main)
        entry.run_command('excite')
    """
    assert run_python(code).split() == ['1', '3']


def test_requirements_hold_what_is_imported():
    listed = set(re.findall(r'^[\w-]+', (ROOT / 'requirements/run.txt').read_text(), re.M))
    imported = set().union(*map(imported_packages, sources(PACKAGE)))
    assert {'PyYAML' if name == 'yaml' else name for name in imported & set(ROSDEP_KEYS)} <= listed
    assert 'transforms3d' in listed  # in place of tf_transformations, which is no wheel


# --- interface packages ---


def test_interfaces_are_all_generated():
    folder = ROOT / 'screw_dynamics_msgs'
    listed = set(re.findall(r'(?:srv|msg)/\w+\.\w+', (folder / 'CMakeLists.txt').read_text()))
    assert listed == {
        str(path.relative_to(folder))
        for kind in ('srv', 'msg')
        for path in folder.glob(f'{kind}/*')
    }


def test_interface_fields_are_explained():
    """Every field stands under a comment or under another field of the same comment."""
    for path in (ROOT / 'screw_dynamics_msgs').glob('srv/*.srv'):
        for paragraph in re.split(r'\n\s*\n|---\n', path.read_text()):
            assert paragraph.startswith('#'), f'{path.name}: {paragraph}'


def test_interfaces_import():
    # Not built, the folder of that name in this repository would pass for a namespace package.
    pytest.importorskip('screw_dynamics_msgs.srv._jacobian')
    services = importlib.import_module('screw_dynamics_msgs.srv')
    for path in (ROOT / 'screw_dynamics_msgs').glob('srv/*.srv'):
        response = getattr(services, path.stem).Response()
        assert response.success is False
        assert response.message == ''


@pytest.mark.parametrize('folder', STAND_INS)
def test_stand_ins_are_hidden_from_colcon(folder):
    assert (ROOT / folder / 'COLCON_IGNORE').exists()


def test_stand_in_is_what_tf2_msgs_is():
    """The type that a real tf2_msgs has; DDS matches the two by it."""
    messages = pytest.importorskip('tf2_msgs.msg')
    assert messages.TFMessage.get_fields_and_field_types() == {
        'transforms': 'sequence<geometry_msgs/TransformStamped>'
    }


def test_stand_in_is_what_control_msgs_is():
    """The fields that control_msgs has in jazzy and that are used here, by their types."""
    action = pytest.importorskip('control_msgs.action').FollowJointTrajectory
    state = importlib.import_module('control_msgs.msg').JointTrajectoryControllerState
    point = 'trajectory_msgs/JointTrajectoryPoint'
    for kind, expected in (
        (state, {'joint_names': 'sequence<string>', 'reference': point}),
        (action.Result, {'error_code': 'int32', 'error_string': 'string'}),
        (action.Feedback, {'desired': point, 'actual': point, 'error': point}),
        (
            action.Goal,
            {
                'trajectory': 'trajectory_msgs/JointTrajectory',
                'path_tolerance': 'sequence<control_msgs/JointTolerance>',
                'goal_tolerance': 'sequence<control_msgs/JointTolerance>',
                'goal_time_tolerance': 'builtin_interfaces/Duration',
            },
        ),
    ):
        assert expected.items() <= kind.get_fields_and_field_types().items()
    assert [action.Result.SUCCESSFUL, action.Result.GOAL_TOLERANCE_VIOLATED] == [0, -5]


# --- tests beside a ROS 2 ---


@pytest.mark.parametrize('plugin', ['launch_testing', 'launch_ros'])
def test_plugins_of_launch_do_not_collect(request, plugin):
    """They import modules outside of pytest's care: the first one that is skipped ends the run."""
    assert request.config.pluginmanager.is_blocked(plugin)


# --- sources ---


def test_source_files_have_a_copyright_statement():
    """REP 2004 wants one in each file; it stands above everything but the interpreter's line."""
    statement = re.compile(
        r'(#!.*\n)?(#|//) Copyright \d{4} The screw_dynamics_ros authors\n'
        r'(#|//) SPDX-License-Identifier: Apache-2\.0\n(?!#|//)'
    )
    sources = [name for name in tracked() if name.endswith(('.py', '.pyi', '.sh', '.c', '.cpp'))]
    assert len(sources) > 1000
    assert [n for n in sources if not statement.match((ROOT / n).read_text('utf-8'))] == []


def test_no_machine_paths():
    """Nothing in the repository knows the machine it was written on."""
    pattern = re.compile(r'/(?:home|root|Users)/[\w.]')
    for name in tracked():
        path = ROOT / name
        if path != Path(__file__).resolve():
            assert not pattern.search(path.read_text(errors='ignore')), name
