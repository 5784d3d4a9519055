# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings: an hour of joint states at 1 kHz annotated on one core, and nodes run over them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from figures import Figure
from run import ROOT

from screw_dynamics_ros.core import Robot
from support.recordings import write_stack
from support.robots import urdf_path

GROUP = 'Recordings: states at 1 kHz of an arm with 7 joints and a gripper, on one core'
ROBOT = 'panda'
TARGET = 100.0  # times faster than real time
OBSERVER = 'momentum'

TORQUES = ('--outputs', 'gravity,coriolis,friction,inertia,external_torque')


def figures(quick: bool) -> Iterator[Figure]:
    """Measure in processes of their own, reading and writing included."""
    text = urdf_path(ROBOT).read_text()
    robot, share = Robot.from_urdf(text), 60 if quick else 1
    for name, tool, count, options in (
        ('annotate, a short one: what is compiled is compiled', 'annotate', 6_000 * share, ()),
        ('annotate, all outputs but matrices', 'annotate', 3_600_000, ()),
        ('annotate, torques alone', 'annotate', 600_000, TORQUES),
        ('replay, wrench_estimator', 'replay', 60_000, ()),
    ):
        with tempfile.TemporaryDirectory() as folder:
            source = write_stack(Path(folder, 'run.mcap'), robot, count // share, text)
            found = figure(name, tool, source, count // share, *options)
            if 'short' not in name:
                yield found
            if tool == 'replay':
                yield rosbags_alone(source, count // share)


def figure(name: str, tool: str, source: Path, count: int, *options: str) -> Figure:
    """Return how many times faster than real time a tool is."""
    target = source.with_name('out.mcap')
    wall, processor, memory = run(tool, source, target, *options)
    size = target.stat().st_size
    target.unlink()
    duration = count / 1000.0
    return Figure(
        GROUP,
        'Panda',
        f'{name}, {duration:.0f} s of states',
        duration / wall,
        unit='times real time',
        required=TARGET if tool == 'annotate' else float('nan'),
        meaning='ours at least',
        more=True,
        note=f'{wall:.1f} s, {processor:.1f} s of processor time, {memory:.1f} GB of memory; '
        f'{source.stat().st_size * 1e-9:.2f} GB read, {size * 1e-9:.2f} GB written',
    )


def run(tool: str, source: Path, target: Path, *options: str) -> tuple[float, float, float]:
    """Return seconds on the clock, of processor time, and memory [GB] of a run on one core."""
    core = min(os.sched_getaffinity(0))
    observer = (
        ('--set', f'observer={OBSERVER}')
        if tool == 'annotate'
        else ('--ros-args', '-p', f'observer:={OBSERVER}')
    )
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, '-m', 'screw_dynamics_ros', tool, source, '-o', target]
        + [*options, *observer],
        stdout=subprocess.DEVNULL,
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f'{tool} ended with status {status}')
    seconds = used.ru_utime + used.ru_stime
    return time.perf_counter() - start, seconds, used.ru_maxrss * 1024e-9


def rosbags_alone(source: Path, count: int) -> Figure:
    """Return how many times faster than real time `rosbags` reads and deserializes the states."""
    from rosbags.rosbag2 import Reader

    from support.recordings import STORE

    start = time.perf_counter()
    with Reader(source) as reader:
        connections = [each for each in reader.connections if each.topic == '/joint_states']
        for connection, _, data in reader.messages(connections):
            STORE.deserialize_cdr(data, connection.msgtype)
    return Figure(
        GROUP,
        'Panda',
        'rosbags: reading and deserializing alone, message by message',
        count / 1000.0 / (time.perf_counter() - start),
        unit='times real time',
        more=True,
        note=f'{count / 1000.0:.0f} s of states',
    )
