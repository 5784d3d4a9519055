# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""pip install into an empty environment: the core computes, and one command is on the PATH.

`WHEEL_PYTHONS='python3.10 python3.12'` names the interpreters; the default is the running one.
"""

import os
import re
import shutil
import subprocess
import sys

import pytest

from screw_dynamics_ros.registry import EXECUTABLES
from support.working_tree import copy_tracked

PYTHONS = os.environ.get('WHEEL_PYTHONS', sys.executable).split()
TORQUE = """
import numpy
from screw_dynamics_ros.core import Robot, bundled_urdf
robot = Robot.from_urdf(bundled_urdf('panda'))
print(robot.backend, robot.gravity_torques(numpy.zeros(robot.nq))[1].round(3))
"""


@pytest.fixture(scope='module', params=PYTHONS)
def prefix(request, tmp_path_factory):
    """An environment with the package and what pip brings with it."""
    place = tmp_path_factory.mktemp('wheel')
    source = copy_tracked(place / 'source')
    run(request.param, '-m', 'venv', place / 'venv', folder=place)
    # what is imported is compiled then: all of SciPy takes half a minute
    run(place / 'venv/bin/pip', 'install', '--no-input', '--no-compile', source, folder=place)
    yield place / 'venv'
    shutil.rmtree(place)  # 300 MB, which pytest would keep


def run(*command, folder):
    """Return what a command prints, run without what the environment of the tests has set."""
    unset = ('PYTHONPATH', 'AMENT_PREFIX_PATH', 'LD_PRELOAD', 'VIRTUAL_ENV')
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name not in unset},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if 'name resolution' in done.stderr or 'NewConnectionError' in done.stderr:
        pytest.skip('pip reaches no package index')
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_a_torque_is_computed_by_compiled_code(prefix, tmp_path):
    """The torque is that of the clone, the code is that of the environment."""
    assert run(prefix / 'bin/python', '-c', TORQUE, folder=tmp_path) == 'native -4.104\n'


def test_one_command_is_installed(prefix, tmp_path):
    text = run(prefix / 'bin/screw-dynamics', '--help', folder=tmp_path)
    assert all(f'\n  {name} ' in text for name in EXECUTABLES)
    assert not {path.name for path in (prefix / 'bin').iterdir()} & set(EXECUTABLES)


def test_links_of_the_long_description_hold_outside_of_the_repository(prefix):
    (metadata,) = prefix.rglob('screw_dynamics_ros-*.dist-info/METADATA')
    _, text = metadata.read_text(encoding='utf-8').split('\n\n', 1)
    targets = re.findall(r'(?:\]\(| src(?:set)?=")([^")]+)', text)
    assert len(targets) > 10
    assert [target for target in targets if not target.startswith('https://')] == []


def test_commands_run_without_ros(prefix, tmp_path):
    robot = prefix / 'share/screw_dynamics_ros/urdf/planar_2r.urdf'
    text = run(prefix / 'bin/screw-dynamics', 'bench', robot, 'inverse_dynamics', folder=tmp_path)
    assert 'inverse_dynamics' in text
