# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""`bench`: a row for each function, whatever the backend; the figures themselves are not judged."""

from __future__ import annotations

import pytest

from screw_dynamics_ros.cli import bench
from screw_dynamics_ros.cli.bench import FUNCTIONS
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.entry import DONE, NEGATIVE, UNUSABLE
from support.robots import urdf_path


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(bench, 'SAMPLES', 8)
    monkeypatch.setattr(bench, 'MIN_RUN_DURATION_S', 1e-4)


def measured(capsys, *arguments):
    """Return the rows of the table."""
    assert bench.main([str(urdf_path('planar_2r')), *arguments, '--ros-args']) == DONE
    title, head, *rows = capsys.readouterr().out.splitlines()
    assert title.startswith("Robot('planar_2r'")
    assert head.split() == ['function', 'first', 'call', '[ms]', 'call', '[us]', 'of', '8', '[us]']
    return {row.split()[0]: [float(figure) for figure in row.split()[1:]] for row in rows}


@pytest.mark.parametrize('backend', ['auto', 'python', 'reference'])
def test_all_functions(backend, capsys):
    rows = measured(capsys, '--backend', backend)
    assert list(rows) == list(FUNCTIONS)
    assert all(call > 0.0 and sample > 0.0 for _, call, sample in rows.values())


def test_some_functions_of_a_robot_that_floats(capsys):
    rows = measured(capsys, 'regressor', 'mass_matrix', '--floating-base')
    assert list(rows) == ['regressor', 'mass_matrix']


def test_a_fast_function_is_called_more_often(monkeypatch):
    """What is returned is the time of one call all the same."""
    monkeypatch.setattr(bench, 'MIN_RUN_DURATION_S', 0.01)
    calls = []
    assert bench.shortest(calls.append, 0) < 1e-3
    assert len(calls) > 1000


def test_what_cannot_be_measured(tmp_path, capsys):
    broken = tmp_path / 'broken.urdf'
    assert bench.main([str(broken)]) == UNUSABLE
    assert f'argument FILE: cannot read the description {broken}' in capsys.readouterr().err
    broken.write_text('<robot name="nothing"/>')
    assert bench.main([str(broken)]) == NEGATIVE
    assert 'refused: ' in capsys.readouterr().err
    with pytest.raises(SystemExit):
        bench.main([str(urdf_path('planar_2r')), 'jacobia'])
    assert "'jacobia'" in capsys.readouterr().err


def test_an_optional_argument_is_not_called_required(capsys):
    with pytest.raises(SystemExit):
        bench.main([])
    assert capsys.readouterr().err.endswith('the following arguments are required: FILE\n')


def test_functions_are_those_of_a_robot():
    assert all(callable(getattr(Robot, name)) for name in FUNCTIONS)
