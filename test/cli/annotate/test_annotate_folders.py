# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""`annotate` for folders: killed, resumed, and with recordings that cannot be read."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip('rosbags')
pytest.importorskip('distributed')

from screw_dynamics_ros.cli.annotate import folders
from screw_dynamics_ros.cli.annotate.command import main
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.entry import DONE, PARTIAL
from support.paths import ROOT
from support.recordings import write_stack
from support.robots import urdf_path

PLANAR = urdf_path('planar_2r').read_text()
DEADLINE = 600.0  # s; only a failing test waits that long
COUNT = 10_000  # states


@pytest.fixture(scope='module')
def runs(tmp_path_factory):
    """Return a folder with six recordings, some of them in a folder below."""
    folder, robot = tmp_path_factory.mktemp('runs'), Robot.from_urdf(PLANAR)
    (folder / 'monday').mkdir()
    for k in range(6):
        name = f'monday/{k}.mcap' if k > 3 else f'{k}.mcap'
        write_stack(folder / name, robot, COUNT, PLANAR, seed=k)
    return folder


def started(source, target):
    """Start the command in a process group of its own."""
    path = os.pathsep.join([str(ROOT), *sys.path[1:]])
    return subprocess.Popen(
        [sys.executable, '-m', 'screw_dynamics_ros', 'annotate', source, '-o', target]
        + ['--workers', '2'],
        env={**os.environ, 'PYTHONPATH': path},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def made(folder):
    """Return the names of the outputs that are there."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob('*.mcap'))


def test_killed_and_resumed_it_is_the_same(tmp_path, runs):
    """With a recording that is truncated: it is named, the others are done.

    Until it is killed, one recording is a pipe without a writer, of which nothing can be made.
    """
    source, target = tmp_path / 'runs', tmp_path / 'annotated'
    shutil.copytree(runs, source)
    data = (source / '0.mcap').read_bytes()
    (source / 'cut.mcap').write_bytes(data[: len(data) // 2])
    (source / 'monday/5.mcap').unlink()
    os.mkfifo(source / 'monday/5.mcap')
    process, end = started(source, target), time.monotonic() + DEADLINE
    while not made(target):
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = {name: (target / name).stat().st_mtime_ns for name in made(target)}
    assert 0 < len(before) < 6
    (source / 'monday/5.mcap').unlink()
    shutil.copy(runs / 'monday/5.mcap', source / 'monday')
    process = started(source, target)
    assert process.wait(DEADLINE) == PARTIAL
    assert len(made(target)) == 6
    for name, changed in before.items():
        assert (target / name).stat().st_mtime_ns == changed
    assert not list(target.rglob('.*'))
    after = [name for name in made(target) if name not in before]
    for name in (*before, after[0], after[-1]):
        alone = tmp_path / 'alone.mcap'
        assert main([str(source / name), '-o', str(alone)]) == DONE
        assert alone.read_bytes() == (target / name).read_bytes()
        alone.unlink()


def test_what_is_done_is_not_done_again(tmp_path, said):
    """Without a cluster, as there is nothing to do."""
    (tmp_path / 'in').mkdir()
    (tmp_path / 'out').mkdir()
    for name in ('in/a.mcap', 'out/a.mcap'):
        (tmp_path / name).write_text('x')
    assert '1 recordings: 0 annotated, 1 existed, 0 failed' in said(
        main, tmp_path / 'in', '-o', tmp_path / 'out'
    )


def test_folders_of_recordings_are_found(tmp_path):
    for name in ('a/metadata.yaml', 'a/a_0.mcap', 'b/c.db3', 'd.mcap', 'e.txt', 'out/d.mcap'):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('')
    found = folders.tasks(tmp_path, tmp_path / 'out')
    assert [(str(task.source.relative_to(tmp_path)), task.target.name) for task in found] == [
        ('a', 'a.mcap'),
        ('b/c.db3', 'c.mcap'),
        ('d.mcap', 'd.mcap'),
    ]


def test_hidden_files_are_no_recordings(tmp_path):
    """Such as those of runs that were killed."""
    for name in ('.old/a.mcap', '.b.mcap', 'c.mcap'):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('')
    assert list(folders.recordings_in(tmp_path)) == [tmp_path / 'c.mcap']


def test_a_process_that_fails_is_reported(tmp_path, monkeypatch, capsys):
    """As one that has no memory left."""

    def fails(task, request):
        raise MemoryError(f'no memory for {task.source.name}')

    monkeypatch.setattr(folders, 'annotate_one', fails)
    for name in 'ba':
        (tmp_path / f'{name}.mcap').write_text('')
    options = ['-o', str(tmp_path / 'out'), '--workers', '1']
    assert main([str(tmp_path), *options]) == PARTIAL
    out, err = capsys.readouterr()
    assert '2 recordings: 0 annotated, 0 existed, 2 failed' in out
    assert [line for line in err.splitlines() if line.startswith('failed')] == [
        f'failed: {tmp_path / name}: MemoryError: no memory for {name}'
        for name in ('a.mcap', 'b.mcap')
    ]


def test_a_folder_needs_a_folder(tmp_path, unusable):
    for options in ([], ['-o', str(tmp_path / 'out'), '--parquet', str(tmp_path / 'a.parquet')]):
        assert 'requires -o FOLDER, without --parquet' in unusable(
            main, tmp_path, *(options or ['--parquet', 'a.parquet'])
        )


def test_outputs_with_one_name_are_refused(tmp_path, refused):
    for name in ('a.mcap', 'a.db3'):
        (tmp_path / name).write_text('')
    assert 'would both become' in refused(main, tmp_path, '-o', tmp_path / 'out')


def test_a_folder_without_recordings(tmp_path, refused):
    assert 'no recordings' in refused(main, tmp_path, '-o', tmp_path / 'out')


@pytest.mark.parametrize('place', ['.', 'day/..', '..'])
def test_an_output_folder_with_the_recordings(tmp_path, unusable, place):
    (tmp_path / 'day').mkdir()
    (tmp_path / 'a.mcap').write_text('')
    assert f'such as {tmp_path / "annotated"}' in unusable(main, tmp_path, '-o', tmp_path / place)


def test_dask_is_named_when_it_is_missing(tmp_path, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, 'distributed', None)
    (tmp_path / 'a.mcap').write_text('')
    assert folders.INSTALL in refused(main, tmp_path, '-o', tmp_path / 'out')


def test_a_cluster_that_is_not_there(tmp_path, refused, monkeypatch):
    monkeypatch.setattr(folders, 'SCHEDULER_TIMEOUT_S', 0.2)
    (tmp_path / 'a.mcap').write_text('')
    options = ['--scheduler', 'nowhere:1']
    assert 'no scheduler at nowhere:1' in refused(main, tmp_path, '-o', tmp_path / 'out', *options)


def test_a_file_in_place_of_the_output_folder(tmp_path, unusable):
    (tmp_path / 'in').mkdir()
    (tmp_path / 'out').write_text('')
    assert 'is not a folder' in unusable(main, tmp_path / 'in', '-o', tmp_path / 'out')
