# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What pip installs runs where no module of ROS can be imported."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot, bundled_urdf
from support.paths import ROOT

EXAMPLE = ROOT / 'examples' / 'recordings'

#: Commands with their arguments, and a text of their output; REFUSED for what needs ROS.
REFUSED = 'ROS 2, '
COMMANDS = (
    ('compile', 'robot.urdf', 'gravity_torques', 'written: planar_2r.c'),
    ('compile', 'robot.urdf', '--model-library', 'written: planar_2r.c'),
    ('compile', 'robot.urdf', '--output', 'wrench/link2', REFUSED),
    ('doctor', 'robot.urdf', '0 errors'),
    ('doctor', 'states.npz', '--urdf', 'robot.urdf', '200 states of 2 joints'),
    ('annotate', 'states.npz', '--urdf', 'robot.urdf', '-o', 'torques.csv', '200 states of 200'),
    ('annotate', str(EXAMPLE / 'panda.mcap'), '--drives', str(EXAMPLE / 'panda_drives.yaml'),
     'contact from 57.0'),
    ('export', 'robot.urdf', 'written.urdf', 'written.urdf'),
    ('replay', 'states.npz', '--urdf', 'robot.urdf', '-o', 'replayed.mcap', REFUSED),
)  # fmt: skip

PROGRAM = """
import json, sys
from screw_dynamics_ros import entry

class NoRos:
    def find_spec(self, name, path=None, target=None):
        if entry.is_of_ros(name):
            raise ModuleNotFoundError(f'there is no {name}', name=name)

sys.meta_path.insert(0, NoRos())
for line in json.loads(sys.argv[1]):
    name, *arguments, _ = line
    sys.argv[1:] = [name, *arguments]
    print('status', entry.main(), flush=True)
"""


def test_commands_without_ros(tmp_path):
    pytest.importorskip('rosbags')
    urdf = bundled_urdf('planar_2r')
    robot = Robot.from_urdf(urdf, backend='reference')
    t = np.arange(200) * 0.01
    q, v, a = (np.outer(f(t), [1.0, 0.7]) for f in (np.sin, np.cos, lambda t: -np.sin(t)))
    tau = [robot.inverse_dynamics(*each) for each in zip(q, v, a)]
    (tmp_path / 'robot.urdf').write_text(urdf.read_text())
    np.savez(tmp_path / 'states.npz', t=t, q=q, v=v, tau=tau, joint_names=robot.joint_names)
    done = subprocess.run(
        [sys.executable, '-c', PROGRAM, json.dumps(COMMANDS)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    outputs = done.stdout.split('status ')
    assert len(outputs) == len(COMMANDS) + 1, done.stdout
    for command, output, after in zip(COMMANDS, outputs, outputs[1:]):
        assert command[-1] in output, output
        assert after[0] == ('2' if command[-1] == REFUSED else '0'), output
