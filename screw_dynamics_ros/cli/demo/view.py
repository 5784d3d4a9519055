# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The live view of the demo: contents, and display on the terminal."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

import numpy as np

from screw_dynamics_ros.core.types import Array

from .push import Push
from .recording import OUTPUTS, DemoRecording, singular_values
from .report import percentile, rate

RATE_WINDOW = 200  # messages for the computation of rates
LATENCY_WINDOW = 3  # messages for the latency; few, because they are deserialized
#: A line consists of (text, style) pieces; styles are keys of STYLES.
Line = list[tuple[str, str]]
STYLES = {'': '', 'title': '1', 'dim': '2', 'push': '33', 'bar': '36'}

LABEL_WIDTH = 13  # columns of the labels on the left
CELL_WIDTH = 8  # columns of a number in the table of joints
POSE_CELL, FORCE_CELL = 10, 11
ASCII_FALLBACK = str.maketrans('━─█│┃…', '=-#|!.')  # for terminals without Unicode
AXES = ('x', 'y', 'z')


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Contents of the live view.

    Attributes
    ----------
    time, duration : float
        Elapsed time and duration of the run [s].
    push : (2,) tuple
        Start and end of the push [s].
    tool, root : str
        Frames.
    position : (3,) array
        Position of the tool in the root frame [m].
    angles : (3,) array
        Roll, pitch, yaw of the tool in the root frame [deg].
    singular_values : (k,) array
        Singular values of the Jacobian of the tool, descending.
    joints : tuple of str
    rows : tuple of (label, (n,) array)
        Joint quantities.
    applied, estimated : (3,) arrays
        Force on the tool in the tool frame [N].
    scale : float
        Force that fills half a bar [N].
    rates : tuple of (topic, messages per second)
    latency : float
        Median for the newest joint states [s]; NaN if none of them has all outputs.
    """

    time: float
    duration: float
    push: tuple[float, float]
    tool: str
    root: str
    position: Array
    angles: Array
    singular_values: Array
    joints: tuple[str, ...]
    rows: tuple[tuple[str, Array], ...]
    applied: Array
    estimated: Array
    scale: float
    rates: tuple[tuple[str, float], ...]
    latency: float


def take_snapshot(recording: DemoRecording, push: Push, time: float, duration: float) -> Snapshot:
    """Return the latest values; NaN for missing ones."""
    count = len(recording.joints)

    def latest(name: str, width: int) -> Array:
        series = recording.series[name]
        return series.values(1)[0] if len(series) else np.full(width, np.nan)

    state = latest('joint_states', 3 * count)
    tf, jacobian = recording.series['tf'], recording.series['jacobian']
    position, angles = np.full(3, np.nan), np.full(3, np.nan)
    if len(tf):
        positions, rotations = recording.tool_pose(tf.values(1))
        position, angles = positions[0], rotations.as_euler('xyz', degrees=True)[0]
    return Snapshot(
        time=time,
        duration=duration,
        push=(push.start, push.end),
        tool=recording.tool,
        root=recording.root,
        position=position,
        angles=angles,
        singular_values=(
            singular_values(jacobian.values(1))[0] if len(jacobian) else np.full(6, np.nan)
        ),
        joints=recording.joints,
        rows=(
            ('position', state[:count]),
            ('gravity', latest('gravity', count)),
            ('Coriolis', latest('coriolis', count)),
            ('feedforward', latest('feedforward', count)),
            ('simulator', state[2 * count :]),
        ),
        applied=latest('applied', 3),
        estimated=latest('wrench', 6)[:3],
        scale=1.5 * max(abs(component) for component in push.force),
        rates=tuple(
            (name, rate(recording.series[name].arrivals(RATE_WINDOW)))
            for name in ('joint_states', *OUTPUTS)
        ),
        latency=percentile(recording.latency(LATENCY_WINDOW)[1], 50),
    )


def lines(snapshot: Snapshot, width: int, title: str = '') -> list[Line]:
    """Return the view in at most `width` columns, top to bottom."""
    s = snapshot
    clock = f'{s.time:.1f} of {s.duration:.0f} s'
    fill = max(1, width - len(title) - len(clock))
    view: list[Line] = [
        [(title, 'title'), (' ' * fill, ''), (clock, 'dim')],
        progress(s, width),
        [],
        [('tool frame', 'title'), (f'  {s.tool} in {s.root}', 'dim')],
        row('position m', s.position, '{:.4f}', POSE_CELL, width),
        row('rpy deg', s.angles, '{:.2f}', POSE_CELL, width),
        row('Jacobian sv', s.singular_values, '{:.3f}', CELL_WIDTH, width),
        [],
        joint_header(s.joints, width),
        *(row(label, values, '{:.3f}', CELL_WIDTH, width) for label, values in s.rows),
        [],
        [
            (f'{"push N":<{LABEL_WIDTH}}', 'title'),
            (f'{"applied":>{FORCE_CELL}}{"estimated":>{FORCE_CELL}}', 'dim'),
        ],
        *(
            force_bar(axis, a, e, s.scale, width)
            for axis, a, e in zip(AXES, s.applied, s.estimated)
        ),
        [],
        *footer(s, width),
    ]
    return [cut(line, width) for line in view]


def one_line(snapshot: Snapshot) -> str:
    """Return the view as one line, for logs."""
    s = snapshot
    return (
        f'{s.time:6.1f} s  tool{cells(s.position, "{:.3f}", 7)} m  '
        f'sv {s.singular_values[0]:.2f}..{s.singular_values[-1]:.2f}  '
        f'push{cells(s.applied, "{:.1f}", 6)}  estimated{cells(s.estimated, "{:.1f}", 6)} N'
    )


def row(label: str, values: Array, form: str, size: int, width: int) -> Line:
    """Return a label and as many complete numbers as fit."""
    return [(f'{label:<{LABEL_WIDTH}}' + cells(values[: columns(size, width)], form, size), '')]


def columns(size: int, width: int) -> int:
    """Return the number of columns of `size` that fit beside a label."""
    return max(0, (width - LABEL_WIDTH) // size)


def cells(values: Sequence[float] | Array, form: str, size: int) -> str:
    """Return numbers right-aligned in columns of `size`, zero without a sign."""
    texts = (form.format(value) for value in values)
    return ''.join(f'{text.lstrip("-") if float(text) == 0.0 else text:>{size}}' for text in texts)


def joint_header(joints: Sequence[str], width: int) -> Line:
    """Return the header of the table: the joint names without their common prefix."""
    first = joints[0][: joints[0].find('_') + 1]
    prefix = first if all(name.startswith(first) for name in joints) else ''
    short = (name.removeprefix(prefix) for name in joints)
    names = ''.join(
        f'{name if len(name) < CELL_WIDTH else name[: CELL_WIDTH - 2] + "…":>{CELL_WIDTH}}'
        for name in list(short)[: columns(CELL_WIDTH, width)]
    )
    return [(f'{"joints (SI)":<{LABEL_WIDTH}}', 'title'), (names, 'dim')]


def progress(snapshot: Snapshot, width: int) -> Line:
    """Return the progress of the run as a bar in which the push is marked."""
    s = snapshot
    size = max(10, width)
    done = round(size * min(1.0, s.time / s.duration))
    begin, end = (round(size * t / s.duration) for t in s.push)
    line: Line = []
    for i in range(size):
        style = 'push' if begin <= i < end else 'bar'
        character = '━' if i < done else '─'
        if line and line[-1][1] == style:
            line[-1] = (line[-1][0] + character, style)
        else:
            line.append((character, style))
    return line


def force_bar(axis: str, applied: float, estimated: float, scale: float, width: int) -> Line:
    """Return one axis: both numbers, a bar for the estimate, a mark for the applied force."""
    text = f'  {axis:<{LABEL_WIDTH - 2}}' + cells((applied, estimated), '{:.2f}', FORCE_CELL) + '  '
    half = (width - len(text) - 1) // 2
    if half < 4:
        return [(text, '')]
    middle = half
    end, mark = (half + reach(value, scale, half) for value in (estimated, applied))
    bar = [' '] * (2 * half + 1)
    for i in range(min(middle, end), max(middle, end) + 1):
        bar[i] = '█'
    bar[middle] = '│'
    before, after = ''.join(bar[:mark]), ''.join(bar[mark + 1 :])
    return [(text, ''), (before, 'bar'), ('│' if mark == middle else '┃', 'push'), (after, 'bar')]


def reach(value: float, scale: float, half: int) -> int:
    """Return the number of columns for `value`."""
    if not np.isfinite(value):
        return 0
    return round(float(np.clip(value / scale, -1.0, 1.0)) * half)


def footer(snapshot: Snapshot, width: int) -> list[Line]:
    """Return rates and latency, in as many lines as they need."""
    parts = [f'{name} {rate:.0f}/s' for name, rate in snapshot.rates]
    if np.isfinite(snapshot.latency):
        parts.append(f'latency {snapshot.latency * 1e3:.2f} ms')
    rows: list[str] = []
    for part in parts:
        if rows and len(rows[-1]) + 2 + len(part) <= width:
            rows[-1] += '  ' + part
        else:
            rows.append(part)
    return [[(row, 'dim')] for row in rows]


def cut(line: Line, width: int) -> Line:
    """Return the line truncated to `width` columns."""
    result: Line = []
    for text, style in line:
        result.append((text[:width], style))
        width -= len(text[:width])
    return result


def paint(line: Line) -> str:
    """Return the line with its styles as ANSI sequences."""
    return ''.join(f'\033[{STYLES[style]}m{text}\033[0m' if style else text for text, style in line)


class Screen:
    """Draws snapshots: in place on a terminal, as a line once a second elsewhere.

    Parameters
    ----------
    stream : text file
        Where to draw.
    title : str
        The first line on a terminal.
    """

    def __init__(self, stream: TextIO, title: str) -> None:
        self._stream, self._title = stream, title
        self.live = stream.isatty() and os.environ.get('TERM', 'dumb') != 'dumb'
        self._styled = not os.environ.get('NO_COLOR')
        self._unicode = 'utf' in (stream.encoding or '').lower()
        self._size = os.terminal_size((0, 0))
        self._drawn = 0
        self._last_line = -np.inf

    def __enter__(self) -> Screen:
        if self.live:
            self._stream.write('\033[?25l')  # hide the cursor
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self._stream.write('\033[?25h')
            self._stream.flush()

    def draw(self, snapshot: Snapshot) -> None:
        """Show a snapshot."""
        if self.live:
            self._redraw(snapshot)
        elif snapshot.time >= self._last_line + 1.0:
            self._last_line = np.floor(snapshot.time)
            self._stream.write(one_line(snapshot) + '\n')
            self._stream.flush()

    def _redraw(self, snapshot: Snapshot) -> None:
        size = shutil.get_terminal_size()
        # Leave the last column empty: a full line would wrap on some terminals.
        view = lines(snapshot, size.columns - 1, self._title)[: size.lines - 1]
        text = [
            paint(line) if self._styled else ''.join(piece for piece, _ in line) for line in view
        ]
        if not self._unicode:
            text = [line.translate(ASCII_FALLBACK) for line in text]
        if self._drawn and size != self._size:
            start = '\033[2J\033[H'  # a resized terminal has wrapped the previous lines
        else:
            start = f'\033[{self._drawn}A\r' if self._drawn else ''
        self._stream.write(start + ''.join(f'{line}\033[K\n' for line in text) + '\033[J')
        self._stream.flush()
        self._size, self._drawn = size, len(view)
