# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The unit of systemd, and a node that is killed at any moment and started again by its rules."""

import configparser
import os
import shlex
import shutil
import signal
import subprocess

import numpy as np
import pytest

pytest.importorskip('rclpy')

from sensor_msgs.msg import JointState

from screw_dynamics_ros.core import Robot
from support.paths import ROOT
from support.robots import urdf_path
from support.ros_harness import stamp_of

UNIT = ROOT / 'config/systemd/screw_dynamics_ros.service'
ARM = urdf_path('planar_2r').read_text()
GRAVITY = (0.0, -9.81, 0.0)
KILLS = int(os.environ.get('KILLS', '4'))  # 200 take a quarter of an hour


def adapted(folder):
    """Return the text of the unit for a user and a workspace."""
    user = subprocess.run(['id', '-un'], capture_output=True, text=True, check=True).stdout.strip()
    return UNIT.read_text().replace('<user>', user).replace('<workspace>', str(folder))


@pytest.mark.skipif(shutil.which('systemd-analyze') is None, reason='no systemd')
def test_systemd_accepts_the_unit(tmp_path):
    path = tmp_path / UNIT.name
    path.write_text(adapted(tmp_path))
    done = subprocess.run(
        ['systemd-analyze', 'verify', path], capture_output=True, text=True, check=False
    )
    assert not [line for line in done.stderr.splitlines() if UNIT.name in line], done.stderr


def test_the_unit_starts_a_node(tmp_path):
    """Its command is one of this package, and replaces the shell, which gets the signals."""
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(adapted(tmp_path))
    service = unit['Service']
    shell, flag, line = shlex.split(service['ExecStart'])
    (tmp_path / 'install').mkdir()
    (tmp_path / 'install/setup.bash').write_text('python3() { echo "$BASHPID $@"; }\n')
    line = line.replace('exec python3', 'exec_python3=1; python3')
    done = subprocess.run([shell, flag, line], capture_output=True, text=True, check=True)
    module = ['-m', 'screw_dynamics_ros', 'bringup', '--ros-args', '--params-file']
    assert done.stdout.split()[1:] == [*module, f'{tmp_path}/robot.yaml']
    assert service['Restart'] == 'always'
    assert unit['Unit']['StartLimitIntervalSec'] == '0'
    assert service['KillSignal'] == 'SIGINT'


def test_killed_at_any_moment(start, connect):
    """It comes back each time, and no torque is of a state before its start."""
    robot, rng = Robot.from_urdf(ARM, gravity=GRAVITY), np.random.default_rng(7)
    client = connect('boot')
    weights, received = {}, client.received['dynamics/feedforward']

    def sent():
        angle = 0.01 * len(weights) + np.arange(robot.nv)
        q, v = 0.5 * np.sin(angle), 0.5 * np.cos(angle)
        weights[client.send(robot.joint_names, q, v)] = robot.inverse_dynamics(q, v, 0.0 * v)
        client.executor.spin_once(timeout_sec=0.01)

    def run():
        rules = {
            'nodes': "['dynamics']",
            'enabled': True,
            'ramp_time': 0.2,
            'age_limit': 10.0,
            'effort_rate_factor': 1e6,
            'gravity': list(GRAVITY),
        }
        return start('bringup', rules, ['-r', '__ns:=/boot'])

    process = run()
    client.describe(ARM)
    client.subscribe(JointState, 'dynamics/feedforward', profile=2000)
    for _ in range(KILLS):
        for _ in range(rng.integers(400)):  # it starts, waits, compiles, ramps up or commands
            sent()
        process.stop(signal.SIGKILL)
        process, count = run(), len(received)
    client.wait(lambda: sent() or full(received[count:], weights), what='torques')
    stamps = [stamp_of(message) for message in received]
    assert stamps == sorted(stamps)
    for stamp, message in zip(stamps, received):
        share = share_of_weight(message.effort, weights[stamp])
        assert -1e-9 <= share <= 1.0 + 1e-9


def share_of_weight(effort, weight):
    """Return how much of the torques of its state a command is; fails for another direction."""
    share = np.dot(effort, weight) / np.dot(weight, weight)
    np.testing.assert_allclose(effort, share * weight, atol=1e-6)
    return share


def full(received, weights):
    """Return whether the last command holds the robot."""
    return bool(received) and np.allclose(
        received[-1].effort, weights[stamp_of(received[-1])], atol=1e-6
    )
