# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Commands in a terminal: progress, and the end by Ctrl-C; files are written as a whole."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from screw_dynamics_ros.cli import parity
from screw_dynamics_ros.cli.annotate import command as annotate
from screw_dynamics_ros.cli.command_line import write_whole
from screw_dynamics_ros.cli.identify import command as identify
from screw_dynamics_ros.core import Robot
from support.paths import ROOT
from support.recordings import write_stack
from support.robots import urdf_path

COMMAND = [sys.executable, '-m', 'screw_dynamics_ros']
PANDA = str(urdf_path('panda'))
CALIBRATION = ('--link', 'panda_hand', '--position-deviation', '1e-3', '--folds', '200')
RUN_BY_PATH = {
    'integration_study': [str(ROOT / 'studies' / 'integration'), '--quick', '--out', '/nowhere'],
    'benchmark': [str(ROOT / 'benchmarks' / 'run.py'), '--quick', '--results', '{folder}'],
}


class Terminal:
    """A process whose terminal is this test."""

    def __init__(self, words):
        self.text = ''
        self._side, other = pty.openpty()
        size = struct.pack('HHHH', 24, 80, 0, 0)  # tqdm shows nothing in a terminal without columns
        fcntl.ioctl(other, termios.TIOCSWINSZ, size)
        settings = termios.tcgetattr(other)
        settings[3] &= ~termios.ECHO  # '^C' may come before or after what the process answers
        termios.tcsetattr(other, termios.TCSANOW, settings)
        self.process = subprocess.Popen(
            words,
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
            preexec_fn=own_terminal,  # Ctrl-C is for the processes of this terminal
        )
        os.close(other)

    def read_until(self, wanted):
        """Read until a text has come."""
        while wanted not in self.text:
            assert self._read(), self.text

    def press_ctrl_c(self):
        os.write(self._side, b'\x03')

    def end(self):
        """Read all that comes; return the exit status."""
        while self._read():
            pass
        os.close(self._side)
        return self.process.wait()

    def _read(self):
        with suppress(OSError):  # the other side is closed
            data = os.read(self._side, 65536).decode(errors='replace')
            self.text += data
            return bool(data)
        return False


def own_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture(scope='module')
def points(tmp_path_factory):
    """Return a file with 200 measured points of the hand."""
    robot, rng = Robot.from_urdf(PANDA, backend='reference'), np.random.default_rng(0)
    low, high = robot.limits.lower, robot.limits.upper
    q = rng.uniform(low, high, (200, robot.nq))
    seen = robot.link_pose(q, 'panda_hand')[:, :3, 3] + rng.normal(0.0, 1e-3, (200, 3))
    names = [*robot.joint_names, *(f'measured.{axis}' for axis in 'xyz')]
    path = tmp_path_factory.mktemp('measured') / 'points.csv'
    np.savetxt(path, np.hstack([q, seen]), delimiter=',', header=','.join(names), comments='')
    return path


@pytest.mark.parametrize(
    'words',
    [
        ['bench', PANDA],
        ['excite', PANDA, '--output', '{folder}/motion.yaml', '--restarts', '1000000'],
        ['calibrate', PANDA, '{points}', *CALIBRATION, '--output', '{folder}/robot.urdf'],
    ],
    ids=lambda words: words[0],
)
def test_progress_is_shown_and_ctrl_c_ends_it(words, tmp_path, points):
    """In one line, with status 130 and without a file."""
    terminal = Terminal(
        [*COMMAND, *(word.format(folder=tmp_path, points=points) for word in words)]
    )
    terminal.read_until(f'{words[0]} [')
    terminal.press_ctrl_c()
    assert terminal.end() == 130, terminal.text
    assert terminal.text.splitlines()[-1] == f'{words[0]}: interrupted'
    assert 'Traceback' not in terminal.text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ('module', 'inner', 'words'),
    [
        (annotate, 'annotate_recording', ['run.mcap', '-o', 'out.mcap']),
        (identify, 'recorded', ['run.npz']),
        (parity, 'run', [PANDA]),
    ],
)
def test_interrupted_commands_say_so(module, inner, words, monkeypatch, capsys):
    """In a line of its own, below what has been written."""

    def interrupted(*_, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, inner, interrupted)
    assert module.main(words) == 130
    name = module.__name__.removesuffix('.command').rpartition('.')[2]
    assert capsys.readouterr().err == f'\n{name}: interrupted\n'


def test_replay_ends_by_ctrl_c(tmp_path):
    """While nodes compute; nothing is left of the file that was being written."""
    pytest.importorskip('rclpy')
    recording, output = tmp_path / 'run.mcap', tmp_path / 'out.mcap'
    text = Path(PANDA).read_text(encoding='utf-8')
    write_stack(recording, Robot.from_urdf(PANDA), 20000, text)
    terminal = Terminal([*COMMAND, 'replay', str(recording), '-o', str(output)])
    terminal.read_until('replay [')
    terminal.press_ctrl_c()
    assert terminal.end() == 130, terminal.text
    assert terminal.text.splitlines()[-1] == 'replay: interrupted'
    assert 'Traceback' not in terminal.text
    assert list(tmp_path.iterdir()) == [recording]


@pytest.mark.parametrize(
    ('name', 'started'), [('integration_study', ' ...'), ('benchmark', 'measuring 1 of ')]
)
def test_programs_run_by_path_end_by_ctrl_c(name, started, tmp_path):
    words = [word.format(folder=tmp_path) for word in RUN_BY_PATH[name]]
    terminal = Terminal([sys.executable, *words])
    terminal.read_until(started)
    terminal.press_ctrl_c()
    assert terminal.end() == 130, terminal.text
    assert terminal.text.splitlines()[-1].startswith(f'{name}: interrupted')
    assert re.search(rf'{name} \[.* left', terminal.text)
    assert 'Traceback' not in terminal.text
    assert list(tmp_path.iterdir()) == []


def test_no_progress_in_a_log():
    done = subprocess.run(
        [*COMMAND, 'bench', PANDA, 'link_poses'], capture_output=True, text=True, check=True
    )
    assert done.stderr == ''
    assert 'link_poses' in done.stdout


def test_a_file_is_written_as_a_whole(tmp_path, monkeypatch):
    """What was there remains if it cannot be, and Ctrl-C waits until it is there."""
    path, link = tmp_path / 'a.yaml', tmp_path / 'link.yaml'
    path.write_text('before')
    link.symlink_to(path)
    replace = os.replace

    def interrupted(source, target):
        os.kill(os.getpid(), signal.SIGINT)
        replace(source, target)

    monkeypatch.setattr(os, 'replace', interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(link, b'after')
    assert path.read_text() == 'after'
    assert link.is_symlink()
    (other := tmp_path / 'b').touch()
    assert path.stat().st_mode == other.stat().st_mode

    def full(source, target):
        raise OSError('disk full')

    monkeypatch.setattr(os, 'replace', full)
    with pytest.raises(OSError, match='disk full'):
        write_whole(path, b'later')
    assert path.read_text() == 'after'
    assert {each.name for each in tmp_path.iterdir()} == {'a.yaml', 'b', 'link.yaml'}


INTERRUPTED_TEXT = """
import argparse, os, signal, sys
from screw_dynamics_ros.cli.command_line import execute, heed_interrupts

def run(options):
    heed_interrupts()
    try:
        interrupted()
    except KeyboardInterrupt:
        if sys.argv[1:]:
            raise
    return 0

def interrupted():
    exec('os.kill(os.getpid(), signal.SIGINT); [None for _ in iter(int, 1)]')

sys.exit(execute('a command', lambda given: argparse.Namespace(), run, []))
"""


@pytest.mark.parametrize(
    ('arguments', 'end'), [(['raise'], (130, '\na command: interrupted\n')), ([], (0, ''))]
)
def test_an_interrupt_in_exec_ends_with_the_same_status(tmp_path, arguments, end):
    """CPython notes it, and ends a module by a signal after the command has ended."""
    (tmp_path / 'program.py').write_text(INTERRUPTED_TEXT)
    words = [sys.executable, '-m', 'program', *arguments]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == end
