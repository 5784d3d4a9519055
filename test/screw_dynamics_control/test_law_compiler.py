# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""law_compiler.hpp: laws compiled by the command in another process, and what goes wrong there."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from screw_dynamics_ros.core import Robot
from support.cpp_programs import SANITIZERS, built, needs_compilers, run
from support.paths import ROOT
from support.robots import urdf_path

pytestmark = needs_compilers

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include "screw_dynamics_control/control_law.hpp"
#include "screw_dynamics_control/law_compiler.hpp"
using namespace screw_dynamics_control;

int main(int count, char ** arguments)
{
  std::ifstream file(arguments[1]);
  LawRequest request;
  request.description = std::string(std::istreambuf_iterator<char>(file), {});
  request.law = arguments[2];
  request.time_limit = std::atof(arguments[3]);
  for (int k = 4; k < count; ++k) {request.options.push_back(arguments[k]);}
  try {
    const CompiledLaw compiled(request);
    const ControlLaw law(compiled.path(), {});
    std::printf("%s\n%s\n", law.constants().robot_hash, law.constants().options);
  } catch (const LibraryError & error) {
    std::printf("refused: %s\n", error.what());
  }
}
"""


@pytest.fixture(scope='module')
def program(tmp_path_factory) -> Path:
    return built(tmp_path_factory.mktemp('compiler'), 'compiler', PROGRAM, '-O1', *SANITIZERS)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Return the folder for temporary files; the command is that of this tree."""
    command_line(tmp_path / 'bin', f'exec {sys.executable} -m screw_dynamics_ros "$@"')
    monkeypatch.setenv('PATH', f'{tmp_path}/bin{os.pathsep}{os.environ["PATH"]}')
    monkeypatch.setenv('PYTHONPATH', str(ROOT))
    folder = tmp_path / 'temporary'
    folder.mkdir()
    monkeypatch.setenv('TMPDIR', str(folder))
    yield folder
    assert not [*folder.iterdir()]


def command_line(folder: Path, text: str) -> None:
    """Write the program `screw-dynamics`."""
    folder.mkdir(exist_ok=True)
    path = folder / 'screw-dynamics'
    path.write_text(f'#!/bin/sh\n{text}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def compiled(program: Path, law: str, *options: str, limit: float = 120.0) -> list[str]:
    return run(program, str(urdf_path('planar_2r')), law, str(limit), *options)


def test_a_law_is_compiled_for_a_description(program, folder):
    """Numbers are those of the processor; the folder is removed."""
    robot = Robot.from_urdf(urdf_path('planar_2r'))
    lines = compiled(program, 'payload_compensation', 'link=tip')
    assert lines == [robot.regrouped_tree.digest, 'link=tip']


@pytest.mark.parametrize(
    ('law', 'options', 'reason'),
    [
        ('joint_impedanc', (), "'joint_impedanc'"),
        ('payload_compensation', (), 'needs the option link'),
        ('--help; true', (), "law '--help; true' cannot be compiled: "),
        ('gravity_compensation', ('a; exit 0',), 'a; exit 0'),
    ],
)
def test_a_faulty_law_is_named(program, folder, law, options, reason):
    text = '\n'.join(compiled(program, law, *options))
    assert text.startswith(f"refused: law '{law}' cannot be compiled: ")
    assert reason in text


def test_a_command_that_hangs_is_ended_with_its_children(program, folder, tmp_path):
    command_line(tmp_path / 'bin', 'echo waiting; sleep 1000 & sleep 1000')
    text = '\n'.join(compiled(program, 'gravity_compensation', limit=0.2))
    assert 'was not compiled within 0.2' in text
    assert 'waiting' in text


def test_an_empty_description_is_refused(program, folder, tmp_path):
    (tmp_path / 'empty').write_text('')
    assert run(program, str(tmp_path / 'empty'), 'gravity_compensation', '1') == [
        "refused: law 'gravity_compensation' needs a robot description, there is none"
    ]
