# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Type checkers see the keywords that `compiled` adds; the stub is that of the functions of now."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys

import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.robot.functions import FUNCTIONS
from support.paths import ROOT

sys.path.append(str(ROOT / 'tools'))

import robot_stub


def test_the_stub_is_of_the_functions_of_now():
    written = ast.parse(robot_stub.STUB.read_text(encoding='utf-8'))
    wanted = ast.parse(robot_stub.stub())
    written, wanted = (
        [ast.dump(node) for node in tree.body if not isinstance(node, ast.ImportFrom)]
        for tree in (written, wanted)
    )
    assert written == wanted, 'run python tools/robot_stub.py'


@pytest.mark.parametrize('name', FUNCTIONS)
def test_keywords_are_those_of_the_inputs(name):
    """`gravity` where it is an input, and `out`, also in the docstring."""
    function = FUNCTIONS[name]
    method = getattr(Robot, name)
    keywords = [
        p.name for p in inspect.signature(method).parameters.values() if p.kind is p.KEYWORD_ONLY
    ]
    assert keywords == (['gravity'] if 'gravity' in function.inputs else []) + ['out']
    assert set(keywords) <= set(method.__annotations__)
    if name != 'hybrid_dynamics':
        assert inspect.getdoc(method).endswith(function.keywords_text)


CALLS = """
import numpy as np
from screw_dynamics_ros.core import Robot

def work(robot: Robot, x: np.ndarray) -> None:
    robot.inverse_dynamics(x, x, x, gravity=[0, 0, -1], out=x)
    robot.inverse_dynamics(x, v=x, a=x)
    robot.jacobian(x, 'tool', representation='body', out=x)
    robot.inverse_dynamics_derivatives(x, x, x, out=(x, x, x))
    robot.inverse_dynamics(x, x, x, gravitation=[0, 0, -1])  # wrong
    robot.mass_matrix(x, gravity=[0, 0, -1])  # wrong
    robot.inverse_dynamics(x, x, x, out=(x,))  # wrong
    robot.inverse_dynamics(x, x)  # wrong
"""


def test_a_type_checker_knows_the_keywords(tmp_path):
    pytest.importorskip('mypy')
    calls = tmp_path / 'calls.py'
    calls.write_text(CALLS)
    done = subprocess.run(
        [sys.executable, '-m', 'mypy', '--follow-imports=silent', str(calls)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=600,
    )
    lines = {int(line.split(':')[1]) for line in done.stdout.splitlines() if ': error:' in line}
    wrong = {i for i, line in enumerate(CALLS.splitlines(), 1) if line.endswith('# wrong')}
    assert lines == wrong, done.stdout + done.stderr
