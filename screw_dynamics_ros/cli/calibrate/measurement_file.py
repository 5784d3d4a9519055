# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files of measurements: joint positions by name, and measured poses, points or distances.

CSV, with columns for joints and measurements:

    shoulder_pan_joint, ..., measured.x, measured.y, measured.z, measured.qx, ..., measured.qw

with x, y, z [m] and a unit quaternion for poses, x, y, z alone for points, `measured.distance` [m]
for distances. YAML, the same as a list:

    measurements:
      - positions: {shoulder_pan_joint: 0.1, ...}
        measured: {x: 0.4, y: 0.1, z: 0.3, qx: 0.0, qy: 0.0, qz: 0.0, qw: 1.0}

With several targets, the columns (or keys beside `positions`) `target` and `link` contain the name
of the target and its link; `link` alone is sufficient if each link has one target. Joint positions
are in rad or m. Joints that do not move the target may be omitted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from screw_dynamics_ros.core import ArgumentError, UnknownNameError, files
from screw_dynamics_ros.core.calibration.target_errors import TARGET
from screw_dynamics_ros.core.lie import quaternions, se3
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.text_files import read_csv, read_yaml

from ..command_line import UnusableError

PREFIX = 'measured.'
POSITION, ORIENTATION = ('x', 'y', 'z'), ('qx', 'qy', 'qz', 'qw')

#: Kinds of measurements and their columns.
KINDS = {'poses': (*POSITION, *ORIENTATION), 'points': POSITION, 'distances': ('distance',)}

LABELS = ('target', 'link')  # columns of names
ENTRIES = ('positions', 'measured')  # of a measurement in YAML
NORM_TOLERANCE = 1e-2  # of the norm of a quaternion, for rounding
MAX_FILE_BYTES = 16_000_000


class MeasurementFile(NamedTuple):
    """The content of a file.

    Attributes
    ----------
    positions : {joint: (N,) array}
        [rad or m]
    kind : {'poses', 'points', 'distances'}
    values : (N, 4, 4), (N, 3) or (N,) array
        [m]
    labels : {'target' or 'link': N str}
        Label columns of the file.
    """

    positions: dict[str, Array]
    kind: str
    values: Array
    labels: dict[str, list[str]]

    def links(self, given: str | None) -> tuple[dict[str, str], list[str]]:
        """Return {target: link}, and the target of each measurement.

        `given` is the link if the file does not name any. Raises ArgumentError if neither is given,
        or a target is on two links.
        """
        if not {'link', 'target'} & set(self.labels) and given is not None:
            return {TARGET: given}, [TARGET] * len(self.values)
        carriers = self.labels.get('link', [given or ''] * len(self.values))
        targets = self.labels.get('target', carriers)
        links: dict[str, str] = {}
        for number, (target, link) in enumerate(zip(targets, carriers), 1):
            if not target or not link:
                raise ArgumentError(
                    f'measurement {number} does not name its {"target" if link else "link"}; fill '
                    'the column link, or give --link'
                )
            if links.setdefault(target, link) != link:
                raise ArgumentError(
                    f'target {target!r} is on link {links[target]!r} and, in measurement {number}, '
                    f'on {link!r}; give the two targets different names'
                )
        return links, list(targets)

    def configurations(self, joint_names: Sequence[str], needed: Sequence[str]) -> Array:
        """Return q (N, n) for the joints of a robot; omitted joints are zero.

        Raises UnknownNameError if the file lacks a needed joint.
        """
        missing = [name for name in needed if name not in self.positions]
        if missing:
            raise UnknownNameError(
                f'the measurements have no positions of {", ".join(missing)}; add a column for '
                'every joint that moves the link'
            )
        zero = np.zeros(len(self.values))
        return np.stack([self.positions.get(name, zero) for name in joint_names], axis=1)


def read_measurements(path: Path, known_joints: Sequence[str]) -> MeasurementFile:
    """Return the content of a CSV or YAML file.

    Raises
    ------
    UnusableError
        The file cannot be read, or is neither CSV nor YAML.
    UnknownNameError
        A column is neither a joint of the robot nor a measurement.
    ArgumentError
        Invalid combination of columns, cells that are not finite numbers, rows of different
        lengths, no rows, quaternions without unit norm. The message names row and column.
    """
    text = _text(path)
    rows = _from_yaml(text, path) if path.suffix.lower() in ('.yaml', '.yml') else _from_csv(text)
    if not rows:
        raise ArgumentError(f'{path} has no measurements')
    names = list(rows[0])
    for number, row in enumerate(rows, 1):
        if set(row) != set(names):
            odd = ', '.join(sorted(map(str, set(row) ^ set(names))))
            raise ArgumentError(f'measurement {number} has other names than the first one: {odd}')
    kind = _kind([name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)])
    labels = {name: [str(row[name]).strip() for row in rows] for name in LABELS if name in names}
    names = [name for name in names if name not in labels]
    joints = [name for name in names if not name.startswith(PREFIX)]
    unknown = [name for name in joints if name not in known_joints]
    if unknown:
        raise UnknownNameError(
            f'{path}: {", ".join(unknown)}: neither a joint of the robot nor a measurement; the '
            f'joints are {", ".join(known_joints)}, measurements start with {PREFIX!r}, '
            f'names are in {" and ".join(LABELS)}'
        )
    table = {
        name: np.array([_number(row[name], name, k) for k, row in enumerate(rows, 1)])
        for name in names
    }
    seen = np.stack([table[PREFIX + column] for column in KINDS[kind]], axis=1)
    values = _poses(seen) if kind == 'poses' else seen[:, 0] if kind == 'distances' else seen
    return MeasurementFile({name: table[name] for name in joints}, kind, values, labels)


def _text(path: Path) -> str:
    try:
        return files.text_of(path, MAX_FILE_BYTES)
    except ArgumentError as error:
        raise UnusableError(f'argument MEASUREMENTS: {path}: {error}; name a CSV or YAML') from None


def _from_csv(text: str) -> list[dict[str, Any]]:
    """Return a dict for each row."""
    columns, rows = read_csv(text, 'measurement')
    return [dict(zip(columns, cells)) for cells in rows]


def _from_yaml(text: str, path: Path) -> list[dict[str, Any]]:
    try:
        content = read_yaml(text)
    except ArgumentError as error:
        raise UnusableError(f'argument MEASUREMENTS: {path}: {error}') from None
    listed = content.get('measurements') if isinstance(content, Mapping) else None
    if not isinstance(listed, list):
        raise ArgumentError(f'{path} has no list "measurements"')
    rows = []
    for number, each in enumerate(listed, 1):
        positions, measured = (
            each.get(key) if isinstance(each, Mapping) else None for key in ENTRIES
        )
        if not (isinstance(positions, Mapping) and isinstance(measured, Mapping)):
            raise ArgumentError(
                f'measurement {number}: expected {" and ".join(ENTRIES)}, each with names and '
                'numbers'
            )
        rows.append(
            {str(k): v for k, v in positions.items()}
            | {f'{PREFIX}{k}': v for k, v in measured.items()}
            | {k: each[k] for k in LABELS if k in each}
        )
    return rows


def _kind(columns: Sequence[str]) -> str:
    for kind, expected in KINDS.items():
        if set(columns) == set(expected):
            return kind
    choices = '; '.join(
        f'{kind}: {", ".join(PREFIX + column for column in each)}' for kind, each in KINDS.items()
    )
    raise ArgumentError(
        f'measured {", ".join(columns) or "nothing"}: give the columns of one kind, {choices}'
    )


def _number(cell: Any, name: str, row: int) -> float:
    try:
        value = math.nan if isinstance(cell, bool) else float(cell)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise ArgumentError(
            f'measurement {row}, {name}: {str(cell)[:40]!r} is not a finite number; correct it or '
            'remove the measurement'
        )
    return value


def _poses(seen: Array) -> Array:
    """Return poses (N, 4, 4) for x, y, z, qx, qy, qz, qw (N, 7)."""
    norms = np.linalg.norm(seen[:, 3:], axis=1)
    wrong = np.flatnonzero(np.abs(norms - 1.0) > NORM_TOLERANCE)
    if len(wrong):
        raise ArgumentError(
            f'measurement {wrong[0] + 1}: the quaternion (qx, qy, qz, qw) = '
            f'{seen[wrong[0], 3:].tolist()} has norm {norms[wrong[0]]:.6g}; it must be 1'
        )
    return se3.pose(quaternions.to_matrix(seen[:, 3:] / norms[:, None]), seen[:, :3])
