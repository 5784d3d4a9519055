# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Functions in C: what a C compiler makes of them agrees with the recursion itself."""

from __future__ import annotations

import ctypes
import math
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from screw_dynamics_ros.cli import compile as command
from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.compile.text import c_body
from screw_dynamics_ros.core.compile.text.c_body import number
from screw_dynamics_ros.core.compile.text.c_source import CSource, is_name
from screw_dynamics_ros.core.robot.functions import FUNCTIONS, INPUTS
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.entry import DONE, NEGATIVE, UNUSABLE
from support.models import random_description
from support.robots import urdf_path

COMPILER = shutil.which('cc')
STRICT = ['-O0', '-Wall', '-Wextra', '-pedantic', '-Werror']
needs_compiler = pytest.mark.skipif(COMPILER is None, reason='no C compiler')


def write(code: CSource, name: str, folder: Path) -> Path:
    (folder / f'{name}.h').write_text(code.header)
    path = folder / f'{name}.c'
    path.write_text(code.source)
    return path


def run(
    code: CSource,
    name: str,
    folder: Path,
    inputs: Sequence[np.ndarray],
    shapes: Sequence[tuple[int, ...]],
    flags: Sequence[str] = (),
) -> list[np.ndarray]:
    """Compile, and call the function."""
    library = folder / f'{name}.so'
    subprocess.run(
        [
            COMPILER,
            '-std=c99',
            *STRICT,
            *flags,
            '-shared',
            '-fPIC',
            '-o',
            library,
            write(code, name, folder),
            '-lm',
        ],
        check=True,
    )
    outputs = [np.full(shape, np.nan) for shape in shapes]
    function = getattr(ctypes.CDLL(str(library)), name)
    function.restype = None
    function(
        *(ctypes.c_void_p(np.ascontiguousarray(array).ctypes.data) for array in (*inputs, *outputs))
    )
    return outputs


OUTPUTS = (
    'inverse_dynamics',
    'forward_dynamics',
    'mass_matrix',
    'friction_torques',
    'potential_energy',
    'joint_transforms',
    'inverse_dynamics_derivatives',
)


@needs_compiler
@pytest.mark.parametrize(
    ('name', 'link', 'floating'),
    [('panda', 'panda_link7', True), ('gripper_tree', 'palm', False)],
)
def test_the_compiled_function_is_the_recursion(name, link, floating, tmp_path):
    robot = Robot.from_urdf(urdf_path(name), floating_base=floating, backend='reference')
    outputs = (*OUTPUTS, ('jacobian', link, 'body'))
    reference = robot.fuse(*outputs)
    random = np.random.default_rng(4)
    q = random.uniform(-1.0, 1.0, robot.nq)
    if floating:
        q[3:7] /= np.linalg.norm(q[3:7])
    sizes = {'q': q, 'gravity': np.array([0.3, -0.2, -9.7])}
    inputs = [sizes.get(array, random.uniform(-1.0, 1.0, robot.nv)) for array in reference.inputs]
    code = robot.c_source('model', *outputs)
    results = run(code, 'model', tmp_path, inputs, reference.shapes)
    for result, expected in zip(results, reference(*inputs)):
        np.testing.assert_allclose(
            result, expected, rtol=1e-11, atol=1e-11 * max(1.0, np.abs(expected).max())
        )


@needs_compiler
@pytest.mark.parametrize('displacement', [0.0, 1e-3, 2.0, np.nan])
def test_limits_of_numbers(displacement, tmp_path):
    """The exponential map clamps its angle; NaN stays NaN."""
    robot = Robot(random_description(0, 3), floating_base=True, backend='reference')
    q = np.zeros(robot.nq)
    q[6] = 1.0
    step = np.full(robot.nv, displacement)
    source = robot.c_source('integrate', ('integrate', 'body'))
    (result,) = run(source, 'integrate', tmp_path, [q, step], [(robot.nq,)])
    (expected,) = robot.fuse(('integrate', 'body'))(q, step)
    np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-13)
    assert np.isnan(result).any() == np.isnan(displacement)


@pytest.mark.skipif(shutil.which('g++') is None, reason='no C++ compiler')
def test_it_is_cpp_as_well(tmp_path):
    """And takes inputs that nothing reads, and parameters of formulas."""
    robot = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    scaled = Formula('scaled torque!', ('gravity_torques', 'factor'), lambda g, f: g * f[0])
    code = robot.c_source('planar', 'mass_matrix', scaled, parameters={'factor': 1, 'unused': 2})
    assert 'double scaled_torque_[2]' in code.header
    assert 'in:  unused (2,)' in code.header
    path = write(code, 'planar', tmp_path)
    subprocess.run(['g++', '-x', 'c++', *STRICT, '-c', path, '-o', tmp_path / 'o'], check=True)


@needs_compiler
@pytest.mark.skipif(shutil.which('g++') is None, reason='no C++ compiler')
def test_parts_read_all_inputs_before_an_output_is_written(tmp_path, monkeypatch):
    """One result is written in place of an input that the other needs; in C and in C++."""
    robot = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    outputs = ('gravity_torques', 'inverse_dynamics')
    random, reference = np.random.default_rng(5), robot.fuse(*outputs)
    sizes = [3 if name == 'gravity' else 2 for name in reference.inputs]
    inputs = [random.normal(size=size) for size in sizes]
    expected, at = reference(*inputs), reference.inputs.index('a')
    monkeypatch.setattr(c_body, 'LONGEST', 1)
    for piece in (5, 20, 100):
        monkeypatch.setattr(c_body, 'PIECE', piece)
        code = robot.c_source('planar', *outputs)
        path = write(code, 'planar', tmp_path)
        for compiler in ('cc', 'g++'):
            library = tmp_path / f'{piece}_{compiler}.so'
            language = ['-x', 'c++'] if compiler == 'g++' else ['-std=c99']
            command = [compiler, *language, *STRICT[1:], '-O2', '-shared', '-fPIC', '-o', library]
            subprocess.run([*command, path, '-lm'], check=True)
            arrays = [array.copy() for array in (*inputs, expected[1])]
            places = [*range(len(inputs)), at, len(inputs)]
            addresses = [ctypes.c_void_p(arrays[k].ctypes.data) for k in places]
            ctypes.CDLL(str(library)).planar(*addresses)
            np.testing.assert_allclose(arrays[at], expected[0], rtol=1e-12)
            np.testing.assert_allclose(arrays[-1], expected[1], rtol=1e-12)


@needs_compiler
@pytest.mark.parametrize('flags', [[], ['-DNO_VECTORS'], ['-march=native']])
def test_elements_of_a_matrix_are_computed_together(flags, tmp_path):
    """With vectors of the compiler, with structures where it has none, and with wide ones."""
    robot = Robot.from_urdf(urdf_path('panda'), backend='reference')
    random, reference = np.random.default_rng(6), robot.fuse('forward_dynamics_derivatives')
    inputs = [random.normal(size=3 if n == 'gravity' else robot.nv) for n in reference.inputs]
    code = robot.c_source('model', 'forward_dynamics_derivatives')
    assert 'MULTIPLY_PACKS(x' in code.source
    assert 'sizeof x' in code.source  # packs are shared
    headers = '#ifdef NO_VECTORS\n#include <string.h>\n#include <math.h>\n#undef __GNUC__\n#endif\n'
    code = replace(code, source=headers + code.source)
    results = run(code, 'model', tmp_path, inputs, reference.shapes, flags)
    for result, expected in zip(results, reference(*inputs)):
        np.testing.assert_allclose(result, expected, atol=1e-10 * np.abs(expected).max())


def test_the_header_tells_where_joints_are():
    robot = Robot.from_urdf(urdf_path('panda'), floating_base=True, backend='reference')
    header = robot.c_source('arm', 'inverse_dynamics_derivatives').header
    assert 'panda_joint1: q[7], v[6]' in header
    assert 'in:  gravity (3,): acceleration of free fall in root axes' in header
    assert 'out: inverse_dynamics_derivatives_2 (14, 14)' in header
    assert 'double inverse_dynamics_derivatives_2[196]' in header


@pytest.mark.parametrize(
    'name',
    [
        '',
        '2r',
        'x1',
        'a-b',
        'ünder',
        '_Under',
        '__under',
        'un__der',
        'int',
        'restrict',
        'class',
        'co_await',
        'nullptr',
        'sin',
        'sinf',
        'fabsl',
        'y0',
        'NAN',
        'M_PI',
        'main',
        'printf',
        'abort',
    ],
)
def test_names_that_c_does_not_have_are_refused(name):
    robot = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    with pytest.raises(ArgumentError, match='cannot be a name in C'):
        robot.c_source(name, 'mass_matrix')


def test_an_array_cannot_be_called_like_a_word_of_c():
    robot = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    with pytest.raises(ArgumentError, match="'double' cannot be a name in C"):
        robot.c_source(
            'planar', Formula('torque', ('double',), lambda d: d), parameters={'double': 1}
        )


def test_our_own_names_are_names_in_c():
    assert all(map(is_name, (*FUNCTIONS, *INPUTS)))


@needs_compiler
def test_functions_of_the_mathematical_library_are_refused():
    """All of those that this machine declares."""
    text = subprocess.run(
        [COMPILER, '-x', 'c', '-E', '-P', '-'],
        input='#include <math.h>\n',
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    declared = set(re.findall(r'extern [\w *]*?\b([a-z]\w*) \(', text))
    assert 'sin' in declared
    assert {name for name in declared if is_name(name)} == set()


def test_an_array_has_one_name():
    robot = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    with pytest.raises(ArgumentError, match='there twice: q, mass_matrix, mass_matrix'):
        robot.c_source('planar', 'mass_matrix', 'mass_matrix')


def test_names_cannot_end_the_comment():
    text = urdf_path('planar_2r').read_text().replace('name="joint1"', 'name="j*/ int x;"')
    header = Robot.from_urdf(text, backend='reference').c_source('planar', 'mass_matrix').header
    assert header.count('*/') == 2  # of the comment, and after #endif
    assert 'j* / int x;' in header


def test_constants_are_exact():
    for value in (0.1, -1e-300, 1.0 / 3.0, 5e22):
        assert float(number(value)) == value
    assert [number(value) for value in (math.inf, -math.inf, math.nan)] == [
        'INFINITY',
        '-INFINITY',
        'NAN',
    ]


class TestCommand:
    def test_files(self, tmp_path, capsys):
        folder = tmp_path / 'new'
        assert (
            command.main(
                [
                    str(urdf_path('planar_2r')),
                    'mass_matrix',
                    'jacobian:tip',
                    'velocity:tip:body',
                    '--folder',
                    str(folder),
                    '--ros-args',
                ]
            )
            == DONE
        )
        endings = sorted(path.suffix for path in folder.iterdir())
        assert endings == ['.c', '.cmake', '.h', '.hpp']
        assert {path.stem for path in folder.iterdir()} == {'planar_2r'}
        header = (folder / 'planar_2r.h').read_text()
        for array in ('mass_matrix[4]', 'jacobian_tip_hybrid[12]', 'velocity_tip_body[6]'):
            assert f'double {array}' in header
        assert str(folder / 'planar_2r.h') in capsys.readouterr().out

    @pytest.mark.parametrize(
        ('arguments', 'status', 'words'),
        [
            (['mass'], NEGATIVE, "no function named 'mass'; choose one of"),
            (
                ['jacobian'],
                NEGATIVE,
                "'jacobian' does not name an output; write jacobian:LINK:"
                'REPRESENTATION, where REPRESENTATION can be omitted',
            ),
            (['jacobian:'], NEGATIVE, "'jacobian:' does not name an output"),
            (['velocity:tip:body:1'], NEGATIVE, 'write velocity:LINK:REPRESENTATION'),
            (['mass_matrix:tip'], NEGATIVE, 'write mass_matrix\n'),
            (['jacobian:nose'], NEGATIVE, "no link named 'nose'"),
            (['mass_matrix', '--name', '2r'], NEGATIVE, "'2r' cannot be a name in C"),
            (['mass_matrix', '--name', 'int'], NEGATIVE, "'int' cannot be a name in C"),
            (['mass_matrix', '--name', 'sqrt'], NEGATIVE, "'sqrt' cannot be a name in C"),
            (
                ['mass_matrix', '--folder', __file__],
                UNUSABLE,
                f'compile: argument --folder: cannot write {__file__}/planar_2r.h: File exists; ',
            ),
        ],
    )
    def test_what_is_refused(self, arguments, status, words, capsys):
        assert command.main([str(urdf_path('planar_2r')), *arguments]) == status
        assert words in capsys.readouterr().err

    def test_a_file_that_is_not_there(self, tmp_path, capsys):
        assert command.main([str(tmp_path / 'none.urdf'), 'mass_matrix']) == UNUSABLE
        assert capsys.readouterr().err == (
            f'compile: argument FILE: cannot read the description {tmp_path / "none.urdf"}: there '
            'is no such file; name the URDF or xacro file of a robot\n'
        )

    def test_robots_whose_names_begin_with_digits(self):
        assert command.function_name('2R arm') == 'robot_2R_arm'
        assert command.function_name('') == 'robot_'

    def test_robots_that_are_called_like_a_word_of_c(self, tmp_path):
        urdf = tmp_path / 'robot.urdf'
        urdf.write_text(urdf_path('planar_2r').read_text().replace('"planar_2r"', '"int"'))
        assert command.main([str(urdf), 'mass_matrix', '--folder', str(tmp_path)]) == DONE
        assert (tmp_path / 'robot_int.c').exists()
