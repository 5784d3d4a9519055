# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The recording for first trials: what its pages promise is found by the commands."""

import re

import numpy as np
import pytest

from screw_dynamics_ros.cli.annotate import command as annotate
from screw_dynamics_ros.cli.doctor import command as doctor
from screw_dynamics_ros.cli.identify import command as identify
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.entry import DONE
from screw_dynamics_ros.ros.recordings.recording import read_recording
from support.paths import ROOT

pytest.importorskip('rosbags')
RECORDING = ROOT / 'examples/recordings/panda.mcap'
DRIVES = ROOT / 'examples/recordings/panda_drives.yaml'
MASS = 1.3  # kg

#: Begin and end [s] by a joint that feels it; tools/example_recording.py.
PUSHES = {0: (24.0, 24.6), 2: (57.0, 57.5)}


def test_it_is_small():
    assert RECORDING.stat().st_size < 2e6


@pytest.mark.parametrize(
    ('command', 'page'),
    [
        ('doctor', 'reference/doctor'),
        ('identify', 'how_to/identification'),
        ('annotate', 'how_to/recordings'),
        ('replay', 'how_to/recordings'),
        ('view', 'how_to/view'),
    ],
)
def test_the_first_example_of_each_page_needs_no_robot(command, page):
    text = (ROOT / 'doc' / f'{page}.md').read_text(encoding='utf-8')
    start = r'^(?: {4})?(?:python -m screw_dynamics_ros |ros2 run screw_dynamics_ros |)'
    first = re.search(rf'{start}{command} (.*)$', text, re.MULTILINE)
    assert str(RECORDING.relative_to(ROOT)) in first[1]


def test_no_joint_reaches_a_stop():
    """It would be a contact that the page does not mention."""
    found = read_recording(RECORDING, '/joint_states')
    limits = Robot.from_urdf(found.robot_description, backend='reference').limits
    assert (found.q[:, :7] > 0.95 * limits.lower[:7] + 0.05 * limits.upper[:7]).all()
    assert (found.q[:, :7] < 0.05 * limits.lower[:7] + 0.95 * limits.upper[:7]).all()


def test_doctor(capsys):
    assert doctor.main([str(RECORDING)]) == DONE
    printed = capsys.readouterr().out
    assert '6000 states of 8 joints' in printed
    assert '0 errors, 0 warnings' in printed


def test_the_pushes_as_text(capsys):
    """One command prints both, with joints, torques and thresholds, and nothing else."""
    assert annotate.main([str(RECORDING), '--drives', str(DRIVES)]) == DONE
    lines = re.findall(r'contact from (\S+) to (\S+) s: (.*)', capsys.readouterr().out)
    assert len(lines) == 2
    for (begin, end, text), (joint, (true_begin, true_end)) in zip(lines, PUSHES.items()):
        assert 0.0 <= float(begin) - true_begin < 0.1
        assert 0.0 <= float(end) - true_end < 0.25  # release_duration, and the observer
        felt = dict(re.findall(r'panda_joint(\d) -?(\S+) N m \(threshold \S+\)', text))
        assert float(felt[str(joint + 1)]) > 2.0


def test_the_payload_and_the_pushes(tmp_path, capsys):
    """The mass is in its interval; torques of unknown origin are large during pushes only."""
    parquet = pytest.importorskip('pyarrow.parquet')
    folder = tmp_path / 'identified'
    options = ['--payload', 'panda_hand', '-o', str(folder)]
    assert identify.main([str(RECORDING), *options]) == DONE
    line = re.search(r'payload/m .*', capsys.readouterr().out)[0].split()
    assert abs(float(line[2]) - MASS) < float(line[3]) < 0.2
    table = tmp_path / 'torques.parquet'
    settings = ['observer=momentum', 'payload_link=panda_hand', f'payload_mass={MASS}']
    words = [word for each in settings for word in ('--set', each)]
    words += ['--drives', str(folder / 'drives.yaml'), '--outputs', 'external_torque']
    assert annotate.main([str(RECORDING), '--parquet', str(table), *words]) == DONE
    column = parquet.read_table(table)['annotation.external_torque'].to_pylist()
    torques, time = np.abs(column), 0.01 * np.arange(len(column))
    free = time > 1.0
    for joint, (begin, end) in PUSHES.items():
        assert np.nanmax(torques[(time > begin) & (time < end), joint]) > 2.0  # N m
        free &= (time < begin) | (time > end + 0.5)
    assert np.nanmax(torques[free][:, list(PUSHES)]) < 1.0
