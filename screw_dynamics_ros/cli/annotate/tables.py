# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outputs as model states of a recording, and as a Parquet table with one row for each state.

Columns: `timestamp` [s since the first state], `stamp` [ns], `observation.state` (joint positions,
named as in LeRobot data sets), `observation.velocity`, `observation.effort`, and
`annotation.<output>`: lists of fixed length, matrices row by row, angular part first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.annotation.annotate import MotionArrays
from screw_dynamics_ros.core.outputs import OUTPUTS, unit_of
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.model_state import ModelStateLayout, StatePart
from screw_dynamics_ros.ros.model_state_forms import ModelStateStacks
from screw_dynamics_ros.ros.recordings.outputs import Stack, TemporaryFile, writable
from screw_dynamics_ros.ros.recordings.sources import RecordingError
from screw_dynamics_ros.ros.recordings.states import States

from .request import Topics

INSTALL = 'pip install pyarrow'


class ParquetTable:
    """Writes a table block by block, under a temporary name until it is complete.

    Parameters
    ----------
    path : Path
    robot : Robot
        Its joint names are written into the metadata of the file.

    Raises
    ------
    RecordingError
        The file already exists, or `pyarrow` is not installed.
    OutputError
        The file cannot be written.
    """

    def __init__(self, path: Path, robot: Robot) -> None:
        try:
            self._arrow, self._parquet = import_module('pyarrow'), import_module('pyarrow.parquet')
        except ImportError:
            raise RecordingError(
                f'writing tables requires pyarrow, which is not installed; install it with '
                f'"{INSTALL}"'
            ) from None
        if path.exists():
            raise RecordingError(f'{path} already exists; give another name, or remove it')
        with writable(path):
            self._place = TemporaryFile(path, 'table')
        self._names = ','.join(robot.joint_names)
        self._writer: Any = None

    def add(self, motion: MotionArrays, part: slice, results: Mapping[str, Array]) -> None:
        """Add the rows of some states."""
        stamps = motion.t[part]
        columns = {
            'timestamp': (stamps - motion.t[0]) * 1e-9,
            'stamp': stamps,
            'observation.state': motion.q[part],
            'observation.velocity': motion.v[part],
            'observation.effort': motion.tau[part],
            **{f'annotation.{name}': values for name, values in results.items()},
        }
        table = self._arrow.table({name: self._column(each) for name, each in columns.items()})
        table = table.replace_schema_metadata({'joint_names': self._names})
        with writable(self._place.path):
            if self._writer is None:
                self._writer = self._parquet.ParquetWriter(
                    self._place.temporary, table.schema, compression='zstd'
                )
            self._writer.write_table(table)

    def _column(self, values: Array) -> Any:
        """Return an array (N, ...) as a column, with lists of fixed length for several numbers."""
        if values.ndim == 1:
            return self._arrow.array(values)
        width = math.prod(values.shape[1:])
        return self._arrow.FixedSizeListArray.from_arrays(self._arrow.array(values.ravel()), width)

    def finish(self) -> None:
        """Rename the file, which has rows, to its final name."""
        with writable(self._place.path):
            self._writer.close()
            self._place.take_name()

    def abandon(self) -> None:
        """Remove the temporary file."""
        with suppress(OSError):  # of a full disk, reported already
            if self._writer is not None:
                self._writer.close()
        self._place.remove()


NODE = 'bringup'


class ModelStates:
    """Model states made of the messages of topics.

    Parameters
    ----------
    robot : Robot
    joints : sequence of str
        Joints of the states.
    topics : Topics
    namespace : str
        Prefix of the topic.
    """

    def __init__(
        self, robot: Robot, joints: Sequence[str], topics: Topics, namespace: str = ''
    ) -> None:
        self._names = in_order(list(topics.topics))
        self._places = {name: k for k, name in enumerate(topics.topics)}
        parts = [
            *(
                StatePart(name, (tuple(joints),), unit=unit_of(name))
                for name in ('position', 'velocity', 'effort')
            ),
            *(topics.topics[name].part for name in self._names),
        ]
        layout = ModelStateLayout.of(robot.description.name, robot.description.root, parts)
        held = [part.name.startswith('singularity/') for part in parts]
        self._stacks = ModelStateStacks(topic_name(namespace), layout, held)
        self.layout, self.topic, self.form = layout, self._stacks.topic, self._stacks.form

    def stack(self, states: States, stacks: Sequence[Stack]) -> Stack:
        """Return the messages of the next block of states, from those of its topics."""
        joints = [
            (x, np.asarray(np.isfinite(x).all(axis=1))) for x in (states.q, states.v, states.tau)
        ]
        chosen = [stacks[self._places[name]] for name in self._names]
        return self._stacks.stack(
            states.stamps, [*joints, *((each.numbers, each.present) for each in chosen)]
        )


def topic_name(namespace: str) -> str:
    """Return the name of the topic; that of the layout ends with _layout."""
    return '/' + '/'.join(filter(None, (namespace.strip('/'), NODE, 'model_state')))


def in_order(names: Sequence[str]) -> list[str]:
    """Return names of outputs in the order of the parts of `bringup`."""
    links = list(dict.fromkeys(name.partition('/')[2] for name in names if '/' in name))
    rows = list(OUTPUTS)
    nodes = list(dict.fromkeys(row.node for row in OUTPUTS.values()))

    def key(name: str) -> tuple[int, int, int]:
        kind, _, link = name.partition('/')
        node = nodes.index(OUTPUTS[kind].node)
        return node, links.index(link) if link else -1, rows.index(kind)

    return sorted(names, key=key)
