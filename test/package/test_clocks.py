# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The command that runs tests at other times, and its place in CI."""

import os
import shutil
import subprocess

import pytest

from support.paths import ROOT
from tools import clocks

PLAIN = ['-n', '0', '-p', 'no:cacheprovider']


def test_each_run_has_its_clocks(tmp_path, capfd):
    """A failure of one run is the status, and its closing line is the last one."""
    path = tmp_path / 'test_at.py'
    path.write_text(
        'import os, time\n'
        'def test_early():\n'
        '    assert float(os.environ["BENCH_MONOTONIC"]) < 60.0\n'
        'def test_clock():\n'
        '    begin = float(os.environ["BENCH_MONOTONIC"])\n'
        f'    is_set = {bool(clocks.in_namespace(2.0))}\n'
        '    assert not is_set or 0.0 <= time.monotonic() - begin < 600.0\n'
    )
    assert clocks.main(['--clocks', '3000 2', str(path), *PLAIN]) == 1
    lines = capfd.readouterr().out.splitlines()
    assert lines[-2] == 'monotonic clock at 3000 s:'
    assert clocks.CLOSING.fullmatch(lines[-1])
    assert '1 failed, 1 passed' in lines[-1]
    assert '2 passed' in lines[-3]


def test_without_namespaces_the_clock_of_the_bench_is_left(monkeypatch):
    monkeypatch.setenv('PATH', '')
    assert clocks.in_namespace(2.0) == []


@pytest.mark.parametrize('names', ['', '0', '-3', 'nan', 'inf', 'noon'])
def test_clocks_are_positive_seconds(names, capsys):
    with pytest.raises(SystemExit):
        clocks.main(['--clocks', names])
    assert '--clocks' in capsys.readouterr().err


LINES = {
    'docs': '',
    'test': '===== {} in 1.00s =====',
    'clocks': '===== 5 passed in 1.00s =====\n===== {} in 1.00s =====',
}


@pytest.mark.parametrize('failing', [None, 'docs', 'test', 'clocks'])
def test_ci_ends_with_a_closing_line(failing, tmp_path):
    """Of a run that failed, and the status is not 0."""
    (tmp_path / '.ci').mkdir()
    shutil.copy(ROOT / '.ci/run', tmp_path / '.ci/run')
    (tmp_path / 'bin').mkdir()
    cases = '\n'.join(
        f"{name}) printf '%s\\n' '{text.format('1 failed' if name == failing else '3 passed')}'; "
        f'exit {int(name == failing) * 2};;'
        for name, text in LINES.items()
    )
    for name, text in {
        'make': f'case $1 in\n{cases}\nesac',
        'chromium': 'true',
        'chromedriver': 'true',
        'aarch64-linux-gnu-gcc': 'true',
    }.items():
        (tmp_path / 'bin' / name).write_text(f'#!/bin/sh\n{text}\n')
        (tmp_path / 'bin' / name).chmod(0o755)
    environment = {**os.environ, 'PATH': f'{tmp_path}/bin:{os.environ["PATH"]}'}
    ran = subprocess.run(
        [tmp_path / '.ci/run'], env=environment, capture_output=True, text=True, check=False
    )
    assert (ran.returncode != 0) == (failing is not None)
    last = ran.stdout.splitlines()[-1]
    assert ('1 failed' in last) == (failing in ('test', 'clocks'))
    assert last.endswith('in 1.00s =====')
    if failing in ('docs', 'clocks'):
        assert f'make {failing} failed' in ran.stderr
