"""The messages of a recording, topic by topic, in blocks of serialized messages.

By the package `rosbags`, which reads every layout of rosbag2: MCAP and SQLite, compressed or not,
split into several files with a metadata.yaml, or a single file.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.errors import ScrewDynamicsError, UnknownNameError

BLOCK = 8192  # messages

INSTALL = 'pip install rosbags'


class RecordingError(ScrewDynamicsError):
    """A recording cannot be read or written; names the file and what is wrong with it."""


class Block(NamedTuple):
    """Some consecutive messages of one topic.

    Attributes
    ----------
    received : (N,) array of int
        When they were recorded [ns].
    data : bytes-like
        Where the messages stand.
    offsets, sizes : (N,) arrays of int
        Of each message in `data`.
    """

    received: NDArray[np.int64]
    data: Any
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def message(self, index: int) -> bytes:
        """Return one serialized message."""
        start = int(self.offsets[index])
        return bytes(self.data[start : start + int(self.sizes[index])])


class RecordingReader:
    """The topics of a recording; to be used in a `with` statement.

    Parameters
    ----------
    path : Path
        A .mcap or .db3 file, or a folder with a metadata.yaml.

    Attributes
    ----------
    types : dict
        The type of each topic, such as 'sensor_msgs/msg/JointState'.
    counts : dict
        How many messages each topic has.

    Raises
    ------
    RecordingError
        The file is absent, empty, truncated or none of these, or `rosbags` is not installed.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        reader = rosbags_module('rosbags.rosbag2').Reader
        with readable(self.path):
            self._reader = reader(self.path)
            self._reader.open()
            topics = self._reader.topics
        self.types: dict[str, str] = {
            name: topic.connections[0].msgtype for name, topic in topics.items()
        }
        self.counts: dict[str, int] = {name: topic.msgcount for name, topic in topics.items()}

    def __enter__(self) -> RecordingReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._reader.close()

    def topics_of(self, kind: str) -> list[str]:
        """Return the topics of a type."""
        return [name for name, each in self.types.items() if each == kind]

    def check(self, topic: str, kind: str) -> None:
        """Raise `UnknownNameError` if there is no such topic of this type."""
        if self.types.get(topic) == kind:
            return
        others = self.topics_of(kind)
        what = f'is of type {self.types[topic]}' if topic in self.types else 'is not recorded'
        raise UnknownNameError(
            f'{self.path}: topic {topic!r} {what}; {kind} is recorded on '
            + (', '.join(map(repr, others)) or 'no topic')
        )

    def blocks(self, topic: str) -> Iterator[Block]:
        """Yield the messages of a topic in the order of their recording."""
        connections = [each for each in self._reader.connections if each.topic == topic]
        messages = self._reader.messages(connections) if connections else iter(())
        while True:
            with readable(self.path):
                some = list(islice(messages, BLOCK))
            if not some:
                return
            sizes = np.array([len(data) for _, _, data in some], dtype=np.int64)
            yield Block(
                np.array([received for _, received, _ in some], dtype=np.int64),
                b''.join(data for _, _, data in some),
                np.cumsum(sizes) - sizes,
                sizes,
            )

    def last(self, topic: str) -> bytes | None:
        """Return the last message of a topic, None if there is none."""
        found = None
        for block in self.blocks(topic):
            found = block.message(len(block.sizes) - 1)
        return found


class readable:
    """Turns what goes wrong while a file is read into a `RecordingError` that names the file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None or not isinstance(error, Exception):
            return
        if isinstance(error, RecordingError):
            return
        if not self._path.exists():
            reason = 'there is no such file'
        else:
            reason = ' '.join(str(error).split()) or type(error).__name__
        raise RecordingError(
            f'cannot read the recording {self._path}: {reason}; name a .mcap or .db3 file, or a '
            'folder with metadata.yaml'
        ) from error


def rosbags_module(name: str) -> Any:
    """Return a module of `rosbags`; raises `RecordingError` if that is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise RecordingError(
            f'recordings are read and written by the package rosbags, which is not installed '
            f'({error}); install it with "{INSTALL}"'
        ) from None
