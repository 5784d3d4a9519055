# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Formulas and programs are what they compute: none is taken for another, in memory or on disk."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.arms.inverse import position as inverse
from screw_dynamics_ros.core.compile import kernels, sources
from screw_dynamics_ros.core.compile.kernels import KernelSpecification
from screw_dynamics_ros.core.compile.llvm import native
from screw_dynamics_ros.core.compile.program.tracing import Program, Recorder, program
from screw_dynamics_ros.core.compile.sources import origin
from screw_dynamics_ros.core.estimation.observers.quantities import Efforts
from screw_dynamics_ros.core.robot.functions import FUNCTIONS
from screw_dynamics_ros.core.robot.fused_kernel import Formula, fused_specification, identity
from support.compilation import BACKENDS, COMPILED, ROOT, needs_llvmlite
from support.models import random_description

DESCRIPTION = random_description(0, 3)
Q = np.array([0.1, 0.2, 0.3])


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    path = tmp_path / 'cache'
    monkeypatch.setenv('SCREW_DYNAMICS_CACHE', str(path))
    return path


def value(backend: str, formula: Formula, **parameters: int) -> np.ndarray:
    """Return a formula of q at `Q`."""
    return Robot(DESCRIPTION, backend=backend).fuse(formula, parameters=parameters)(Q)[0]


def python(code: str, path: Path, folder: Path, *arguments: str, **environment: str) -> list[str]:
    """Return the lines that another process prints, which imports from `path` and the tests."""
    done = subprocess.run(
        [sys.executable, '-c', textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=path,
        env={
            **os.environ,
            'SCREW_DYNAMICS_CACHE': str(folder),
            'PYTHONPATH': os.pathsep.join([str(path), str(ROOT / 'test'), str(ROOT)]),
            **environment,
        },
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def copied_package(path: Path) -> Path:
    """Return a folder with a copy of this package."""
    shutil.copytree(
        Path(sources.__file__).parents[2],
        path / 'screw_dynamics_ros',
        ignore=shutil.ignore_patterns('__pycache__'),
    )
    return path


# --- in one process -------------------------------------------------------------------------------


@BACKENDS
def test_formulas_of_one_name_are_not_taken_for_each_other(backend, folder):
    for factor in (2, 3, 2):
        formula = Formula('scaled', ('q',), lambda q, factor=factor: factor * q)
        np.testing.assert_array_equal(value(backend, formula), factor * Q)


@BACKENDS
def test_formulas_of_one_name_in_one_call(backend, folder):
    double, triple = (Formula('scaled', ('q',), f) for f in (lambda q: 2 * q, lambda q: 3 * q))
    both = Formula('sum', (double, triple), np.add)
    results = Robot(DESCRIPTION, backend=backend).fuse(double, triple, both)(Q)
    for result, factor in zip(results, (2, 3, 5)):
        np.testing.assert_allclose(result, factor * Q, rtol=1e-15)


@BACKENDS
def test_a_value_around_a_formula_that_changes(backend, folder):
    values = [2.0]
    formula = Formula('scaled', ('q',), lambda q: values[0] * q)
    np.testing.assert_array_equal(value(backend, formula), 2.0 * Q)
    values[0] = 3.0
    np.testing.assert_array_equal(value(backend, formula), 3.0 * Q)
    values[0] = np.nextafter(3.0, 4.0)
    np.testing.assert_array_equal(value(backend, formula), values[0] * Q)


@BACKENDS
def test_a_function_that_a_formula_calls_is_replaced(backend, folder, monkeypatch):
    helpers = ModuleType('helpers_of_a_formula')
    monkeypatch.setitem(sys.modules, helpers.__name__, helpers)
    exec('def gain(q):\n    return 2.0 * q\ndef law(q):\n    return gain(q)\n', helpers.__dict__)
    np.testing.assert_array_equal(value(backend, Formula('law', ('q',), helpers.law)), 2.0 * Q)
    monkeypatch.setattr(helpers, 'gain', lambda q: -2.0 * q)
    np.testing.assert_array_equal(value(backend, Formula('law', ('q',), helpers.law)), -2.0 * Q)


@BACKENDS
def test_parameters_of_other_sizes(backend, folder):
    formula = Formula('x', ('x',), np.negative)
    for size in (2, 3):
        kernel = Robot(DESCRIPTION, backend=backend).fuse(formula, parameters={'x': size})
        np.testing.assert_array_equal(kernel(np.arange(size))[0], -np.arange(size))


@BACKENDS
def test_substituted_formulas_are_of_their_robot(backend, folder):
    robots = [Robot(random_description(seed, 3), backend=backend) for seed in (0, 1)]
    zero = Formula('zero', ('q',), lambda q: 0.0 * q)
    formulas = [robot.substitute('mass_matrix', q=zero) for robot in robots]
    assert formulas[0] != formulas[1]
    assert formulas[0] == Robot(DESCRIPTION, backend=backend).substitute('mass_matrix', q=zero)
    for result, robot in zip(robots[0].fuse(*formulas)(Q), robots):
        np.testing.assert_allclose(result, robot.mass_matrix(np.zeros(3)), rtol=0, atol=1e-13)


@COMPILED
def test_links_whose_names_look_alike_when_they_are_joined(backend, folder):
    """Wrenches on 'a b' and 'c' are not those on 'a' and 'b c'."""
    links = [f'<link name="{name}"/>' for name in ('base', 'a', 'a b', 'b c', 'c')]
    joints = [
        f'<joint name="j{k}" type="continuous"><parent link="base"/><child link="{name}"/>'
        '<axis xyz="0 0 1"/></joint>'
        for k, name in enumerate(('a', 'a b', 'b c', 'c'))
    ]
    text = '<robot name="spaces">' + ''.join(links + joints) + '</robot>'
    for names in (('a b', 'c'), ('a', 'b c')):
        robot = Robot.from_urdf(text, backend=backend)
        wrenches = dict.fromkeys(names, (0, 0, 1, 0, 0, 0))
        expected = [-float(name in names) for name in ('a', 'a b', 'b c', 'c')]
        torques = robot.inverse_dynamics(*np.zeros((3, 4)), wrenches)
        np.testing.assert_allclose(torques, expected, rtol=0, atol=1e-15)


# --- on disk --------------------------------------------------------------------------------------


FORMULAS = """
    import sys
    from support.models import random_description
    from screw_dynamics_ros.core import Robot
    from screw_dynamics_ros.core.robot.fused_kernel import Formula
    import laws
    for backend in sys.argv[1:]:
        robot = Robot(random_description(0, 3), backend=backend)
        for law in laws.laws:
            print(*robot.fuse(Formula('law', ('q',), law))([0.1, 0.2, 0.3])[0])
"""

LAWS = """
    import gains
    def constant(q):
        return {0} * q
    def default(q, k={0}):
        return k * q
    factor = {0}
    def of_module(q):
        return factor * q
    def helper(q):
        return {0} * q
    def helped(q):
        return helper(q)
    def imported(q):
        return gains.gain(q)
    laws = [constant, default, of_module, helped, imported, (lambda k: lambda q: k * q)({0})]
"""


@needs_llvmlite
def test_formulas_of_other_processes_are_not_taken_for_each_other(tmp_path):
    """Whatever it is that makes the difference; with one cache directory."""
    for time, factor in enumerate((2, 3)):
        (tmp_path / 'laws.py').write_text(textwrap.dedent(LAWS.format(factor)))
        (tmp_path / 'gains.py').write_text(f'def gain(q):\n    return {factor} * q\n')
        for name in ('laws.py', 'gains.py'):  # byte code is known by the second and the size
            os.utime(tmp_path / name, (time, time))
        lines = python(FORMULAS, tmp_path, tmp_path / 'cache', 'native', 'python')
        results = [np.array(line.split(), dtype=float) for line in lines]
        np.testing.assert_array_equal(results, [factor * Q] * 12)
    assert len(files(tmp_path / 'cache', 'program')) == 2


TORQUES = """
    import sys
    from pathlib import Path
    from support.models import random_description
    import screw_dynamics_ros
    from screw_dynamics_ros.core import Robot
    from screw_dynamics_ros.core.annotation import reference_torques
    from screw_dynamics_ros.nodes.model import torque_terms
    folder, swapped = Path(sys.argv[1]), sys.argv[2]
    assert folder == Path(screw_dynamics_ros.__file__).parents[1]
    if swapped:
        Path(reference_torques.__file__).write_text(swapped)
    for backend in ('native', 'python'):
        robot = Robot(random_description(0, 3), backend=backend)
        kernel = robot.fuse(torque_terms.torque_terms(robot).feedforward, parameters={
            'reference': 12, 'shares': 5, 'payload': len(robot.payload_parameters({}))})
        inputs = {'q': [0.1, 0.2, 0.3], 'v': [1, 2, 3], 'gravity': [0, 0, -9.81],
                  'reference': [0] * 12, 'shares': [1] * 5, 'payload': robot.payload_parameters({})}
        print(*kernel(*(inputs[name] for name in kernel.inputs))[0])
"""


@needs_llvmlite
def test_the_torques_of_a_version_before_are_not_loaded(tmp_path):
    """A running process goes on with the formula that has changed, and does not keep it."""
    pytest.importorskip('rclpy')
    path, folder = copied_package(tmp_path / 'installed'), tmp_path / 'cache'
    module = path / 'screw_dynamics_ros' / 'core' / 'annotation' / 'reference_torques.py'
    old = module.read_text()
    new = old.replace('return feedforward(', 'return -feedforward(')
    assert new != old
    torques = []
    for written in ('', new, ''):
        lines = python(TORQUES, path, folder, str(path), written)
        torques.append([np.array(line.split(), dtype=float) for line in lines])
        shutil.rmtree(module.parent / '__pycache__', ignore_errors=True)
    before, meanwhile, after = np.array(torques)
    assert np.abs(before).max() > 0.1
    np.testing.assert_allclose(meanwhile, before, rtol=1e-12)
    np.testing.assert_allclose(after, -before, rtol=1e-12)
    np.testing.assert_allclose(*before, rtol=1e-12)


IDENTITIES = """
    from screw_dynamics_ros.core.compile import sources
    from screw_dynamics_ros.core.arms.inverse import position
    from screw_dynamics_ros.nodes.model import actuated
    from screw_dynamics_ros.nodes.outputs.external_wrenches import output_filters
    from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
    print(sources.COMPILING)
    print(sources.RECORDING.split()[0], sources.origin(position.program))
    for formula in (output_filters.wrench_outside_bands, actuated.block, swap_linear_angular):
        print(sources.origin(formula))
"""


def test_programs_depend_on_the_core_and_on_the_files_of_their_formulas(tmp_path):
    """A change of a node's text leaves all programs but those of its own formulas."""
    pytest.importorskip('rclpy')
    path = copied_package(tmp_path / 'installed')
    before = python(IDENTITIES, path, tmp_path)
    assert 'None' not in before
    for names, changed in (
        (['core/compile/cache.py'], {0, 1}),
        (['core/arms/inverse/force.py'], {1}),
        (
            [
                'nodes/hosting/host.py',
                'cli/command_line.py',
                'nodes/outputs/external_wrenches/output_filters.py',
            ],
            {2},
        ),
        (['nodes/model/actuated.py', 'ros/messages/conversions.py'], {3, 4}),
    ):
        for file in names:
            with open(path / 'screw_dynamics_ros' / file, 'a') as module:
                module.write('\n')
        after = python(IDENTITIES, path, tmp_path)
        assert {i for i, line in enumerate(after) if line != before[i]} == changed, names
        before = after


def test_formulas_of_a_file_that_was_replaced_meanwhile_are_recorded(monkeypatch):
    pytest.importorskip('rclpy')
    from screw_dynamics_ros.nodes.model import actuated

    sources.text_hash.cache_clear()
    monkeypatch.setattr(sources, 'STARTED', 0.0)
    assert origin(actuated.block) is None
    sources.text_hash.cache_clear()
    monkeypatch.undo()
    assert origin(actuated.block) is not None


@pytest.mark.parametrize(
    ('changed', 'wall', 'elapsed', 'expected'),
    [
        (900.0, 1000.0, 0.0, False),
        (1000.0, 1060.0, 60.0, True),
        (5e8, 1060.0, 60.0, False),  # no battery: the clock starts before the files
        (5e8, 6e8, 60.0, True),  # it was set meanwhile
        (900.0, 100.0, 60.0, True),  # it was set back meanwhile
    ],
)
def test_files_are_newer_than_the_process_by_the_wall_clock(
    monkeypatch, changed, wall, elapsed, expected
):
    monkeypatch.setattr(sources, 'STARTED', 1000.0)
    monkeypatch.setattr(sources, 'MONOTONIC_START', 20.0)
    clock = SimpleNamespace(time=lambda: wall, monotonic=lambda: 20.0 + elapsed)
    monkeypatch.setattr(sources, 'time', clock)
    assert sources.may_be_newer(changed) is expected


def test_formulas_of_the_nodes_use_functions_only_of_other_files_outside_the_core():
    """Constants, classes and modules of other files would not be in the names of programs."""
    pytest.importorskip('rclpy')
    outside = f'{sources.PACKAGE.name}.'
    found = []
    for path in sorted(sources.PACKAGE.rglob('*.py')):
        text = path.read_text()
        if sources.CORE in path.parents or 'Formula' not in text:
            continue
        module = importlib.import_module(
            '.'.join(path.relative_to(sources.PACKAGE.parent).with_suffix('').parts)
        )
        names = {
            alias.asname or alias.name
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.ImportFrom)
            and str(node.module).startswith(outside)
            and not str(node.module).startswith(f'{outside}core')
            for alias in node.names
        }
        todo = [
            getattr(module, argument.id, None)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Call)
            and getattr(node.func, 'id', '') in ('Formula', 'along_loops')
            for argument in node.args
            if isinstance(argument, ast.Name)
        ]
        known = []
        for function in todo:
            if not isinstance(function, FunctionType) or function in known:
                continue
            known.append(function)
            for name in function.__code__.co_names:
                used = getattr(module, name, None)
                if name in names and function.__module__ == module.__name__:
                    assert isinstance(used, FunctionType), (path, function.__name__, name)
                todo.append(used)
        found += known
    assert len(found) > 20


NUMBERS = st.floats(-4.0, 4.0).map(lambda x: round(x, 1)).filter(bool)
EXPRESSIONS = st.recursive(
    st.sampled_from([('q', 0), ('q', 1), ('v', 0)]),
    lambda inner: st.one_of(
        st.tuples(st.just('scale'), NUMBERS, inner),
        st.tuples(st.just('shift'), NUMBERS, inner),
        st.tuples(st.just('sin'), inner),
        st.tuples(st.just('mul'), inner, inner),
        st.tuples(st.just('add'), inner, inner),
        st.tuples(st.just('sub'), inner, inner),
    ),
    max_leaves=4,
)


def evaluated(expression: tuple, q: np.ndarray, v: np.ndarray) -> object:
    kind, *rest = expression
    if kind in 'qv':
        return (q if kind == 'q' else v)[rest[0]]
    if kind in ('scale', 'shift'):
        x = evaluated(rest[1], q, v)
        return rest[0] * x if kind == 'scale' else rest[0] + x
    x, *y = (evaluated(each, q, v) for each in rest)
    return {
        'sin': lambda: np.sin(x),
        'mul': lambda: x * y[0],
        'add': lambda: x + y[0],
        'sub': lambda: x - y[0],
    }[kind]()


@COMPILED
@given(expressions=st.lists(EXPRESSIONS, min_size=1, max_size=4))
@settings(derandomize=True, deadline=None, max_examples=15, database=None)
def test_random_formulas_of_one_name(backend, expressions):
    """One by one and together, all with one cache directory."""
    robot, v = Robot(DESCRIPTION, backend=backend), np.array([0.7, -0.3, 0.2])
    formulas = [
        Formula('f', ('q', 'v'), lambda q, v, e=e: np.array([evaluated(e, q, v)]))
        for e in expressions
    ]
    expected = [np.array([evaluated(e, Q, v)]) for e in expressions]
    results = [robot.fuse(formula)(Q, v)[0] for formula in formulas]
    for result, value in zip([*results, *robot.fuse(*formulas)(Q, v)], expected * 2):
        np.testing.assert_allclose(result, value, rtol=1e-12, atol=1e-12)


# --- names of files -------------------------------------------------------------------------------


def recorded(build, size: int = 2) -> Program:
    recorder = Recorder()
    return program(recorder, [('x', size)], [np.array(build(recorder.inputs('x', size)))])


def test_programs_that_differ_have_other_digests():
    nan = np.array([0x7FF8000000000000, 0x7FF8000000000001, 0xFFF8000000000000], dtype=np.uint64)
    builds = [
        lambda x: [x[0]], lambda x: [x[1]], lambda x: [x[0], x[0]], lambda x: [[x[0]]],
        lambda x: [2 * x[0]], lambda x: [2 + x[0]], lambda x: [np.nextafter(2, 3) * x[0]],
        lambda x: [-x[0]], lambda x: [1 / x[0]], lambda x: [x[0] + x[1]], lambda x: [x[0] - x[1]],
        lambda x: [x[1] - x[0]], lambda x: [x[0] * x[1]], lambda x: [np.sin(x[0])],
        lambda x: [np.cos(x[0])], lambda x: [0.0, x[0]], lambda x: [-0.0, x[0]],
        lambda x: [1.0, x[0]], *(lambda x, c=c: [c, x[0]] for c in nan.view(float)),
        lambda x: [], lambda x: np.zeros((0, 2)),
    ]  # fmt: skip
    digests = [recorded(build).digest() for build in builds]
    assert len(set(digests)) == len(builds)
    assert digests == [recorded(build).digest() for build in builds]
    assert recorded(builds[0], 3).digest() not in digests


def test_digests_are_the_same_in_other_processes(tmp_path):
    code = """
        from support.models import random_description
        from screw_dynamics_ros.core import Robot
        from screw_dynamics_ros.core.robot.fused_kernel import fused_specification
        tree = Robot(random_description(0, 3)).regrouped_tree
        specification = fused_specification(tree, ['forward_dynamics', 'link_poses'], {})
        print(specification.record().digest(), specification.identity)
    """
    lines = {python(code, tmp_path, tmp_path, PYTHONHASHSEED=seed)[0] for seed in '12'}
    assert len(lines) == 1


def files(folder: Path, kind: str) -> set[str]:
    return {path.name for path in folder.glob(f'*.{kind}')}


@needs_llvmlite
def test_equal_programs_share_a_file(folder):
    """Machine code is kept once; what has other names leads there, formulas of a user have none."""
    robot = Robot(DESCRIPTION, backend='native')
    robot.fuse('mass_matrix')
    assert (len(files(folder, 'program')), len(files(folder, 'name'))) == (1, 1)
    robot.fuse(Formula('matrix', ('mass_matrix',), lambda M: 1.0 * M))
    robot.mass_matrix(Q)
    assert (len(files(folder, 'program')), len(files(folder, 'name'))) == (1, 2)
    kinds = {each.suffix for each in folder.iterdir()}
    assert kinds - {'.typed'} == {'.name', '.program'}  # typed: of builtin functions, once


@needs_llvmlite
@pytest.mark.parametrize('what', ['sources', 'target', 'lanes', 'uniform', 'inputs'])
def test_all_that_machine_code_depends_on_is_in_its_name(folder, monkeypatch, what):
    inputs, lanes, uniform = (('x', 2), ('y', 2)), 2, ()

    def compiled() -> set[str]:
        before = files(folder, 'program')
        kernels.loaded(
            KernelSpecification('test', inputs, lambda x, y: (x + y,), None, frozenset(uniform)),
            lanes,
        )
        return files(folder, 'program') - before

    assert len(compiled()) == 1
    assert len(compiled()) == 0
    if what == 'sources':
        monkeypatch.setattr(sources, 'COMPILING', 'another version')
    elif what == 'target':
        monkeypatch.setattr(native, 'target_identity', lambda: 'another processor')
    elif what == 'lanes':
        lanes = 1
    elif what == 'uniform':
        uniform = ('y',)
    else:
        inputs = (('y', 2), ('x', 2))
    assert len(compiled()) == 1


@needs_llvmlite
def test_a_name_that_leads_nowhere_or_elsewhere(folder):
    """A file is refused under the name of another one, and a lost one is made again."""
    robot = Robot(DESCRIPTION, backend='native')
    one = robot.fuse('mass_matrix')(Q)[0]
    (first,) = files(folder, 'program')
    other = robot.fuse('inverse_mass_matrix')(Q)[0]
    (second,) = files(folder, 'program') - {first}
    shutil.copy(folder / first, folder / second)
    np.testing.assert_array_equal(robot.fuse('inverse_mass_matrix')(Q)[0], other)
    (folder / first).unlink()
    np.testing.assert_array_equal(robot.fuse('mass_matrix')(Q)[0], one)
    assert files(folder, 'program') == {first, second}


@needs_llvmlite
def test_without_sources_nothing_is_kept(folder, monkeypatch):
    """A package of byte code only could not tell its versions apart."""
    monkeypatch.setattr(sources, 'FILES', {})
    assert origin(inverse.program) is None
    Robot(DESCRIPTION, backend='native').fuse('mass_matrix')
    assert not folder.exists()


# --- formulas of the nodes are not recorded at each start -----------------------------------------


@needs_llvmlite
def test_formulas_of_the_nodes_are_recorded_once(folder, monkeypatch):
    """Made again they are equal, and a program of them is found without recording it."""
    pytest.importorskip('rclpy')
    from screw_dynamics_ros.core.formulas import ENERGY
    from screw_dynamics_ros.nodes.force_torque import wrist_sensor_outputs
    from screw_dynamics_ros.nodes.model import torque_terms
    from screw_dynamics_ros.nodes.model.actuated import actuated
    from screw_dynamics_ros.nodes.model.running_model import RunningModel, of_joints, scalar_joints
    from screw_dynamics_ros.nodes.outputs.external_wrenches import (
        contact_localization,
        contacts,
        external_torque,
        output_filters,
    )
    from screw_dynamics_ros.nodes.outputs.kinematics import transforms
    from screw_dynamics_ros.nodes.outputs.quantity_messages import numbers_of

    description = random_description(2, 5, ('revolute', 'planar', 'prismatic'))

    def wrench(robot: Robot) -> contacts.Contact:
        return contacts.contact_at(robot, 'link5', external_torque.external_torque(robot), ())

    def outputs(robot: Robot) -> list:
        terms, contact = torque_terms.torque_terms(robot), wrench(robot)
        jacobians = tuple(of_joints(robot, ('jacobian', f'link{k}', 'body')) for k in (4, 5))
        return [
            *vars(terms).values(),
            ENERGY,
            external_torque.external_torque(robot),
            contact.jacobian,
            contact.wrench,
            contact.pivots,
            Formula('body Jacobians', jacobians, contact_localization.stacked),
            wrist_sensor_outputs.motion_of(robot, 'link5', ['link3']),
            numbers_of('twist', robot, 'link5', 'hybrid'),
            actuated(robot).inertia_of_joints(),
            of_joints(robot, 'mass_matrix'),
            Formula('row', ('joint_transforms',), transforms.row, (1,)),
        ]

    def model(robot: Robot) -> RunningModel:
        wanted = outputs(robot)
        n = len(scalar_joints(robot))
        filters = output_filters.FilterPlan.of([wrench(robot).signal], np.zeros(3))
        return RunningModel(
            '',
            robot,
            wanted,
            parameters={
                'reference': np.zeros(4 * n),
                'shares': np.zeros(5),
                'offset': np.zeros(n),
                'payload': robot.payload_parameters({}),
                'contact': np.zeros(3),
                'effort_shares': np.zeros(5),
                'joint_accelerations': np.zeros(n),
                **filters.parameters,
            },
        )

    first, second = (Robot(description, backend='native') for _ in range(2))
    made = model(first)
    assert set(made.results) >= set(outputs(second))
    assert len(outputs(first)) == len(set(outputs(first) + outputs(second)))

    def fail(self) -> None:
        raise AssertionError('recorded again')

    monkeypatch.setattr(KernelSpecification, 'record', fail)
    assert model(second).results.keys() == made.results.keys()


def test_every_function_of_the_package_is_known_by_its_name():
    names = [origin(function.evaluate) for function in FUNCTIONS.values()]
    assert None not in names
    assert len(set(names)) == len(names)
    assert (
        origin(inverse.program) == str(Path('core', 'arms', 'inverse', 'position.py')) + ' program'
    )


def test_programs_that_are_started_have_functions_of_one_module_name(monkeypatch):
    """Each is __main__ in its process."""
    origins = []
    for file in (inverse.__file__, kernels.__file__):
        main = ModuleType('__main__')
        main.__file__ = file
        exec('def law(q):\n    return q\n', main.__dict__)
        monkeypatch.setitem(sys.modules, '__main__', main)
        origins.append(origin(main.law))
    assert None not in origins
    assert origins[0] != origins[1]


def test_what_has_no_name_of_its_own_is_recorded(monkeypatch):
    """Also what passes itself off as a function of this package."""

    @functools.wraps(inverse.program)
    def wrapped(*arguments):
        return inverse.program(*arguments)

    copy = type(inverse.program)(inverse.program.__code__, {**vars(inverse)}, 'program')
    copy.__module__ = inverse.__name__
    for function in (lambda q: q, wrapped, copy, np.take, functools.partial(inverse.program), len):
        assert origin(function) is None
    original = inverse.program
    for function in (wrapped, copy):
        monkeypatch.setattr(inverse, 'program', function)
        assert origin(function) is origin(original) is None


def test_one_function_from_elsewhere_and_nothing_is_looked_up(monkeypatch):
    tree = Robot(DESCRIPTION).regrouped_tree
    mine = Formula('mine', ('mass_matrix',), lambda M: M)
    hidden = Formula('hidden', (mine,), inverse.program)
    for outputs in ([mine], ['mass_matrix', mine], [hidden, 'mass_matrix']):
        assert identity(tree, outputs, ('q',)) is None
        assert fused_specification(tree, outputs, {}).identity is None
    assert identity(tree, ['mass_matrix'], ('q',))
    nothing = Efforts('effort_shares', 'measured', 'offset', (0, 1)).none.measured
    assert identity(tree, [nothing], ())
    other = dataclasses.replace(FUNCTIONS['mass_matrix'], evaluate=lambda tree, q: q)
    monkeypatch.setitem(FUNCTIONS, 'mass_matrix', other)
    assert identity(tree, ['mass_matrix'], ('q',)) is None
