# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The examples run as they are, from anywhere, and say what is true."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest

from support.paths import ROOT

EXAMPLES = sorted((ROOT / 'examples').glob('*.py'))

#: What each must say: numbers that can be known without it.
SAID = {
    '01_gravity_compensation': ['compensated: moved by ', 'without torques: moved by '],
    '02_inverse_kinematics': ['solved: success True', 'out of reach: success False', '0.005 mm'],
    '03_contact_wrench': ['[ 0.   0.   0.5 10.   0.  -5. ]', 'rank 6 of 6'],
    '04_trajectory_efforts': ["velocity of joint 'panda_joint1' beyond its limit 2.175", '0.77'],
    # sin and cos of 0.3 and 0.7; 9.81 (3/2 cos 0.3 + 1/2 cos 0.7) and 9.81/2 cos 0.7
    '05_robot_made_in_python': ['[1.7202 0.9397 0.    ]', '[17.809  3.752]', 'same pose: 0.0e+00'],
}


def test_all_examples_are_here():
    assert [path.stem for path in EXAMPLES] == sorted(SAID)


@pytest.mark.parametrize('path', EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path):
    done = subprocess.run(
        [sys.executable, path],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join([str(ROOT), *sys.path[1:]])},
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    for words in SAID[path.stem]:
        assert words in done.stdout, done.stdout


@pytest.mark.parametrize('path', EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_says_how_to_run_it(path):
    text = path.read_text(encoding='utf-8')
    assert len(text.splitlines()) < 60
    assert f'Run: python examples/{path.name}' in (ast.get_docstring(ast.parse(text)) or '')
