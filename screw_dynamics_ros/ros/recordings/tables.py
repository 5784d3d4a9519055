# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tables of joint states and wrenches, CSV and NPZ, as recordings.

CSV files have a row for each time, with columns

    t, hip.position, hip.velocity, hip.effort, ..., wrench.force.x, ..., wrench.torque.z

`t` (or `time`, `timestamp`) [s], positions [rad, m], velocities [rad/s, m/s], efforts, force [N]
and torque [N m] of a force-torque sensor. Columns are optional, and empty cells are missing values.
They become the topics /joint_states and /wrench. Columns of PlotJuggler contain their topics:
`__time`, `/joint_states/hip/position`, `/ft_sensor/wrench/force/x`.

NPZ files have arrays `joint_names` (n,), `t` (N,), `q` (N, n) and optionally `v`, `tau` (N, n) and
`wrench` (N, 6), force and torque.

A table is a recording whose messages have the times as stamps. Because stamp 0 means a missing
stamp in ROS 2, tables that begin at t <= 0 are shifted by whole seconds to begin after 1 s.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core import files
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS

from ..joint_states.layouts import located
from ..joint_states.serialization import NO_HEADER, serialized
from ..messages.cdr import MAX_STAMP, STAMP_OFFSET, align
from ..text_files import read_csv
from .forms import column, definition, packed_stamps
from .sources import Definition, RecordingError

TABLES = ('.csv', '.npz')
JOINT_STATE, WRENCH = 'sensor_msgs/msg/JointState', 'geometry_msgs/msg/WrenchStamped'
TOPICS = {JOINT_STATE: '/joint_states', WRENCH: '/wrench'}

TIMES = ('t', 'time', 'timestamp', '__time')
FIELDS = ('position', 'velocity', 'effort')
COMPONENTS = tuple(f'{vector}.{axis}' for vector in ('force', 'torque') for axis in 'xyz')
ARRAYS = ('joint_names', 't', 'q')
FIELD_ARRAYS = dict(zip(FIELDS, ('q', 'v', 'tau')))

WRENCH_COLUMN = re.compile(r'(?:(/.+)/)?wrench[./](force|torque)[./]([xyz])')
JOINT_COLUMN = re.compile(rf'(?:(/.+)/)?(.+)[./]({"|".join(FIELDS)})')
FOREIGN_COLUMN = '/'  # prefix of columns of other topics

MAX_FILE_BYTES = 2**29
CHUNK_ROWS = 4096  # rows serialized together


class TableTopic(NamedTuple):
    """The messages of a topic.

    Attributes
    ----------
    kind : str
    data : bytes
        A message with placeholders for stamp and numbers.
    places : list of (offset, first, last)
        Offsets in it of the columns from first to last.
    stamps : (N,) array of int
        [ns].
    numbers : (N, m) array
    """

    kind: str
    data: bytes
    places: list[tuple[int, int, int]]
    stamps: NDArray[np.int64]
    numbers: Array

    def messages(self) -> Iterator[bytes]:
        """Yield the serialized messages."""
        for first in range(0, len(self.stamps), CHUNK_ROWS):
            part = slice(first, first + CHUNK_ROWS)
            stamps, numbers = packed_stamps(self.stamps[part]), self.numbers[part]
            rows = np.tile(np.frombuffer(self.data, np.uint8), (len(stamps), 1))
            column(rows, STAMP_OFFSET, '<u8', 1)[:, 0] = stamps
            for offset, start, end in self.places:
                column(rows, offset, '<f8', end - start)[:] = numbers[:, start:end]
            yield from map(bytes, rows)


class Table:
    """A .csv or .npz file; raises `RecordingError`, `ArgumentError` or `OSError`."""

    def __init__(self, path: Path) -> None:
        columns = _columns_of_npz(path) if path.suffix == '.npz' else _columns_of_csv(path)
        times = [name for name in TIMES if name in columns]
        if len(times) != 1:
            raise RecordingError(f'{path}: one column with times is needed, {", ".join(TIMES)}')
        stamps = _stamps(columns.pop(times[0]), path)
        self._topics = dict(_topics(columns, stamps))
        if not self._topics:
            raise RecordingError(
                f'{path}: no column is of a joint or a wrench; name them JOINT.position, '
                'JOINT.velocity, JOINT.effort, wrench.force.x to wrench.torque.z'
            )
        self.types = {name: topic.kind for name, topic in self._topics.items()}
        self.counts = {name: len(topic.stamps) for name, topic in self._topics.items()}

    def messages(self, topic: str | None = None) -> Iterator[tuple[str, int, bytes]]:
        """Yield topic, stamp [ns] and CDR of the messages, of all topics or of one."""
        chosen = [name for name in self._topics if topic in (None, name)]
        if not chosen:
            return
        stamps = np.concatenate([self._topics[name].stamps for name in chosen])
        which = np.repeat(np.arange(len(chosen)), [self.counts[name] for name in chosen])
        order = np.argsort(stamps, kind='stable') if len(chosen) > 1 else np.arange(len(stamps))
        contents = [self._topics[name].messages() for name in chosen]
        for k, stamp in zip(which[order].tolist(), stamps[order].tolist()):
            yield chosen[k], stamp, next(contents[k])

    def definitions(self) -> dict[str, Definition]:
        """Return what there is to know of each topic."""
        return {
            name: Definition(kind, definition(kind), '', ()) for name, kind in self.types.items()
        }

    def close(self) -> None:
        """Do nothing: the file is closed."""


def _topics(
    columns: Mapping[str, Array], stamps: NDArray[np.int64]
) -> Iterator[tuple[str, TableTopic]]:
    """Yield the topics of columns; raises RecordingError for a column with another name."""
    joints: dict[str, dict[tuple[str, str], Array]] = {}
    wrenches: dict[str, dict[str, Array]] = {}
    for name, values in columns.items():
        if match := WRENCH_COLUMN.fullmatch(name):
            topic, vector, axis = match.groups()
            wrenches.setdefault(topic or TOPICS[WRENCH], {})[f'{vector}.{axis}'] = values
        elif match := JOINT_COLUMN.fullmatch(name):
            topic, joint, field = match.groups()
            joints.setdefault(topic or TOPICS[JOINT_STATE], {})[field, joint] = values
        elif not name.startswith(FOREIGN_COLUMN):
            raise RecordingError(
                f'column {name!r} is neither JOINT.position, JOINT.velocity, JOINT.effort nor '
                f'wrench.force.x to wrench.torque.z; correct its name, or remove it'
            )
    for topic, given in joints.items():
        yield topic, _joint_states(given, stamps)
    for topic, wrench in wrenches.items():
        data = NO_HEADER + bytes(align(len(NO_HEADER), 8) - len(NO_HEADER) + 48)
        numbers = [wrench.get(each, np.full(len(stamps), np.nan)) for each in COMPONENTS]
        yield topic, _without_empty(WRENCH, data, [(len(data) - 48, 0, 6)], stamps, numbers)


def _joint_states(given: Mapping[tuple[str, str], Array], stamps: NDArray[np.int64]) -> TableTopic:
    names = list(dict.fromkeys(joint for _, joint in given))
    numbers, fields = [], []
    for field in FIELDS:
        known = any(each == field for each, _ in given)
        fields.append(bytes(8 * len(names)) if known else b'')
        if known:
            nothing = np.full(len(stamps), np.nan)
            numbers += [given.get((field, name), nothing) for name in names]
    data = serialized(NO_HEADER, names, fields)
    places, start = [], 0
    for offset, count in located(data)[2]:
        if count:
            places.append((offset, start, start + count))
        start += count
    return _without_empty(JOINT_STATE, data, places, stamps, numbers)


def _without_empty(
    kind: str,
    data: bytes,
    places: list[tuple[int, int, int]],
    stamps: NDArray[np.int64],
    numbers: list[Array],
) -> TableTopic:
    """Return a topic without the messages that have no value."""
    table = np.stack(numbers, axis=1)
    rows = np.isfinite(table).any(axis=1)
    return TableTopic(kind, data, places, stamps[rows], table[rows])


def _stamps(t: Array, path: Path) -> NDArray[np.int64]:
    """Return times [s] as stamps [ns]; raises RecordingError for times beyond the range."""
    wrong = np.flatnonzero(~np.isfinite(t))
    if len(wrong):
        raise RecordingError(f'{path}: row {wrong[0] + 1} has no time; give it one, or remove it')
    start = float(t.min()) if len(t) else 1.0
    shifted = t + (0.0 if start > 0.0 else 1.0 + math.ceil(-start))
    if len(t) and shifted.max() * NANOSECONDS > MAX_STAMP:
        raise RecordingError(
            f'{path}: times up to {t.max():.6g} s are beyond the stamps of ROS 2 (year 2038): are '
            'they in milliseconds or nanoseconds? Convert them to seconds'
        )
    whole = np.floor(shifted)  # separately: seconds since 1970 would lose digits
    rest: NDArray[np.int64] = np.round((shifted - whole) * NANOSECONDS).astype(np.int64)
    return whole.astype(np.int64) * NANOSECONDS + rest


def _columns_of_csv(path: Path) -> dict[str, Array]:
    names, rows = read_csv(files.text_of(path, MAX_FILE_BYTES, 'CSV'))
    if not names:
        raise RecordingError(f'{path} is empty; its first line names the columns')
    values = [_numbers(cells, names, k) for k, cells in enumerate(rows, 1)]
    if not values:
        raise RecordingError(f'{path} has no rows below the names of the columns')
    return dict(zip(names, np.array(values).T))


def _numbers(cells: list[str], names: list[str], row: int) -> list[float]:
    """Return the numbers of a row, NaN for empty cells; raises ArgumentError."""
    values: list[float] = []
    try:
        values += (float(cell) if cell and not cell.isspace() else math.nan for cell in cells)
    except ValueError:
        k = len(values)
        raise ArgumentError(f'row {row}, {names[k]}: {cells[k][:40]!r} is not a number') from None
    return values


def _shape(file: Mapping[str, Array], name: str) -> tuple[int, ...]:
    """Return the shape of an array of an NPZ file, () if it contains Python objects."""
    try:
        return file[name].shape
    except ValueError:  # these are not loaded, because that runs code
        return ()


def _columns_of_npz(path: Path) -> dict[str, Array]:
    with path.open('rb') as opened:
        if not zipfile.is_zipfile(opened):
            raise RecordingError(f'{path} is not an NPZ file; write it with numpy.savez')
    with np.load(path, allow_pickle=False) as file:
        missing = [name for name in ARRAYS if name not in file]
        if missing:
            raise RecordingError(
                f'{path} has no array {missing[0]!r}; it needs {", ".join(ARRAYS)}, and may have '
                'v, tau, wrench'
            )
        names = tuple(map(str, np.atleast_1d(file['joint_names'])))
        used = 't', *FIELD_ARRAYS.values(), 'wrench'
        arrays = {name: np.asarray(file[name], dtype=np.float64) for name in used if name in file}
        count = len(np.atleast_1d(arrays['t']))
        for name in sorted(set(file) - {*used, 'joint_names'}):
            if _shape(file, name) == (count, len(names)):
                raise RecordingError(
                    f'{path}: array {name!r} has a column for each joint, but is not q, v or '
                    'tau; correct its name, or remove it'
                )
    shapes = {'t': (count,), 'wrench': (count, 6)}
    for name, array in arrays.items():
        shape = shapes.get(name, (count, len(names)))
        if array.shape != shape:
            raise RecordingError(
                f'{name} in {path} has shape {array.shape}; {shape} is expected: a row for each t, '
                f'a column for each of {"force and torque" if name == "wrench" else "joint_names"}'
            )
    if len(set(names)) < len(names):
        raise RecordingError(f'{path}: joint_names has a joint twice')
    columns = {'t': arrays['t']}
    for field, name in FIELD_ARRAYS.items():
        if name in arrays:
            columns |= {f'{joint}.{field}': x for joint, x in zip(names, arrays[name].T)}
    if 'wrench' in arrays:
        columns |= {f'wrench.{each}': x for each, x in zip(COMPONENTS, arrays['wrench'].T)}
    return columns
