# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The C++ header: arrays of the standard library and of Eigen, wrong ones refused."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile.text.cpp_library import cmake_library, cpp_header
from support.robots import urdf_path

COMPILER, CMAKE = shutil.which('g++'), shutil.which('cmake')
pytestmark = pytest.mark.skipif(COMPILER is None, reason='no C++ compiler')
FLAGS = ['-std=c++17', '-Wall', '-Wextra', '-pedantic', '-Werror']

STANDARD = """
#include <array>
#include <cstdio>
#include <vector>
#include "planar.hpp"
int main() {
  const std::array<double, 2> q{0.1, 0.2};
  std::array<double, 3> gravity{1.0, -9.81, 0.0};
  std::array<double, 2> torques;
  std::vector<double> M(4);
  planar_gravity_torques(q, gravity, torques);
  planar_mass_matrix(q, M);
  std::printf("%.17g %.17g %.17g %.17g\\n", torques[0], torques[1], M[0], M[1]);
  double plain[2] = {0.1, 0.2}, result[4], *pointer = plain;  // as in C
  planar_mass_matrix(plain, result);
  planar_mass_matrix(pointer, result);
  std::printf("%.17g\\n", result[1]);
  try {
    planar_mass_matrix(std::vector<double>(3), M);
  } catch (const std::invalid_argument &error) {
    std::puts(error.what());
  }
#ifdef WRONG
  WRONG;
#endif
}
"""

EIGEN = """
#include <Eigen/Core>
#include <cstdio>
#include "planar.hpp"
using Square = Eigen::Matrix<double, 2, 2, Eigen::RowMajor>;
int main() {
  Eigen::Vector2d q(0.1, 0.2), torques;
  Eigen::VectorXd gravity(3);
  gravity << 1.0, -9.81, 0.0;
  Square M;
  double memory[4];
  planar_gravity_torques(q, gravity, torques);
  planar_mass_matrix(q, M);
  planar_mass_matrix(q, Eigen::Map<Square>(memory));
  std::printf("%.17g %.17g %.17g %.17g\\n", torques[0], torques[1], M(0, 0), memory[1]);
  Eigen::Matrix<double, 4, 4, Eigen::RowMajor> whole;
  try {
    planar_mass_matrix(q, whole.block<2, 2>(1, 1));
  } catch (const std::invalid_argument &error) {
    std::puts(error.what());
  }
#ifdef WRONG
  WRONG;
#endif
}
"""


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('planar_2r'), backend='reference')


@pytest.fixture(scope='module')
def folder(robot, tmp_path_factory):
    """Return a folder with all files, and the object file."""
    folder = tmp_path_factory.mktemp('cpp')
    code = robot.c_source('planar', 'gravity_torques', 'mass_matrix', separate=True)
    files = {
        'planar.h': code.header,
        'planar.c': code.source,
        'planar.hpp': cpp_header('planar', code.functions),
        'planar.cmake': cmake_library('planar'),
        'standard.cpp': STANDARD,
        'eigen.cpp': EIGEN,
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    subprocess.run(['gcc', '-std=c99', '-c', 'planar.c'], cwd=folder, check=True)
    return folder


def eigen():
    """Return what the compiler needs to find Eigen."""
    pin = pytest.importorskip('pinocchio')
    prefix = next(p for p in Path(pin.__file__).parents if p.name == 'cmeel.prefix')
    found = prefix / 'include' / 'eigen3'
    if not (found / 'Eigen').is_dir():
        pytest.skip('no Eigen')
    return ['-isystem', str(found)]


def run(folder, source, *flags):
    """Compile, link and run a program; return what it prints."""
    command = [COMPILER, *FLAGS, *flags, source, 'planar.o', '-lm', '-o', f'{source}.out']
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(
        [folder / f'{source}.out'], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()


def test_arrays_of_the_standard_library(robot, folder):
    numbers, element, error = run(folder, 'standard.cpp')
    g, M = expected(robot)
    assert [float(x) for x in numbers.split()] == pytest.approx([*g, M[0, 0], M[0, 1]], rel=1e-14)
    assert float(element) == pytest.approx(M[0, 1], rel=1e-14)
    assert error == 'q: expected 2 contiguous elements'


def test_arrays_of_eigen(robot, folder):
    numbers, error = run(folder, 'eigen.cpp', *eigen())
    g, M = expected(robot)
    assert [float(x) for x in numbers.split()] == pytest.approx([*g, M[0, 0], M[0, 1]], rel=1e-14)
    assert error == 'mass_matrix: expected 4 contiguous elements'


@pytest.mark.parametrize(
    ('source', 'wrong', 'words'),
    [
        ('standard.cpp', 'std::array<double, 3> x; planar_mass_matrix(x, M)', 'another number of'),
        ('standard.cpp', 'std::array<float, 2> x; planar_mass_matrix(x, M)', 'must hold double'),
        ('eigen.cpp', 'Eigen::Matrix2d x; planar_mass_matrix(q, x)', 'must be row-major'),
    ],
)
def test_the_compiler_refuses_wrong_arrays(folder, source, wrong, words):
    flags = eigen() if source == 'eigen.cpp' else []
    done = subprocess.run(
        [COMPILER, '-std=c++17', *flags, f'-DWRONG={wrong}', '-fsyntax-only', source],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert words in done.stderr


@pytest.mark.skipif(CMAKE is None, reason='no CMake')
def test_cmake_makes_a_static_library(robot, folder):
    project = folder / 'project'
    project.mkdir()
    (project / 'CMakeLists.txt').write_text(
        'cmake_minimum_required(VERSION 3.16)\n'
        'project(controller CXX)\n'
        'set(CMAKE_CXX_STANDARD 17)\n'
        'include(../planar.cmake)\n'
        'add_executable(controller ../standard.cpp)\n'
        'target_link_libraries(controller planar)\n'
    )
    for arguments in (['-S', '.', '-B', 'build'], ['--build', 'build']):
        subprocess.run([CMAKE, *arguments], cwd=project, check=True, capture_output=True)
    assert list(project.glob('build/*planar.a'))
    done = subprocess.run(
        [project / 'build' / 'controller'], check=True, capture_output=True, text=True
    )
    assert float(done.stdout.split()[0]) == pytest.approx(expected(robot)[0][0], rel=1e-14)


def expected(robot):
    """Return torques and mass matrix."""
    robot.gravity = [1.0, -9.81, 0.0]
    return robot.gravity_torques([0.1, 0.2]), robot.mass_matrix([0.1, 0.2])
