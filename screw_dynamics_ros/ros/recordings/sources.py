# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bags of ROS 2 and ROS 1, read by the package `rosbags`.

All formats of ROS 2 are supported: MCAP and SQLite, compressed or not, split into several files
with a metadata.yaml, or a single file. Messages of ROS 1 are converted to those of ROS 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from screw_dynamics_ros.core.errors import ScrewDynamicsError

INSTALL = 'pip install rosbags'

ROS_1 = '.bag'
METADATA = 'metadata.yaml'  # in recordings that are folders
BAG_FILES = ('.mcap', '.db3')  # in a folder with METADATA, or alone
#: Types of ROS 1 whose names differ in ROS 2.
RENAMED_TYPES = {'tf/msg/tfMessage': 'tf2_msgs/msg/TFMessage'}
HEADER = 'std_msgs/msg/Header'

FORMATS = (
    'name a .mcap or .db3 file, a folder with metadata.yaml, a .bag of ROS 1, or a .csv or .npz '
    'file'
)
RECOVER = (
    'if it is incomplete, "mcap recover FILE" restores its messages, "ros2 bag reindex FOLDER" its '
    'metadata.yaml'
)


class RecordingError(ScrewDynamicsError):
    """A recording cannot be read or written; the message names the file and the fault."""


class Definition(NamedTuple):
    """A topic: type, text and hash of its definition, and quality of service."""

    kind: str
    text: str
    digest: str
    qos: Any


class Source(Protocol):
    """The content of a recording in any format.

    Attributes
    ----------
    types : {topic: type}
        Such as 'sensor_msgs/msg/JointState'.
    counts : {topic: int}
        Number of messages of each topic.
    """

    types: dict[str, str]
    counts: dict[str, int]

    def messages(self, topic: str | None = None) -> Iterator[tuple[str, int, bytes]]:
        """Yield topic, time of recording [ns] and CDR of the messages, of all topics or of one."""

    def definitions(self) -> dict[str, Definition]:
        """Return what there is to know of each topic."""

    def close(self) -> None:
        """Close the files."""


class Ros2Bag:
    """A .mcap or .db3 file, or a folder with metadata.yaml."""

    def __init__(self, path: Path) -> None:
        reader = rosbags_module('rosbags.rosbag2').Reader
        check_folder(path)
        self._reader = reader(path)
        self._reader.open()
        topics = self._reader.topics
        self.types: dict[str, str] = {
            name: topic.connections[0].msgtype for name, topic in topics.items()
        }
        self.counts: dict[str, int] = {name: topic.msgcount for name, topic in topics.items()}

    @property
    def is_compressed(self) -> bool:
        """Whether messages or files are compressed, apart from the chunks of MCAP."""
        return bool(self._reader.compression_mode)

    def messages(self, topic: str | None = None) -> Iterator[tuple[str, int, bytes]]:
        """Yield topic, time of recording [ns] and CDR of the messages, of all topics or of one."""
        connections = [each for each in self._reader.connections if each.topic == topic]
        if topic is None or connections:
            for connection, received, data in self._reader.messages(connections):
                yield connection.topic, received, data

    def definitions(self) -> dict[str, Definition]:
        """Return what there is to know of each topic."""
        return {
            each.topic: Definition(
                each.msgtype, each.msgdef.data, each.digest, each.ext.offered_qos_profiles
            )
            for each in self._reader.connections
        }

    def close(self) -> None:
        """Close the files."""
        self._reader.close()


class Ros1Bag:
    """A .bag file of ROS 1, with messages converted to ROS 2: headers have no `seq` there."""

    def __init__(self, path: Path) -> None:
        typesys = rosbags_module('rosbags.typesys')
        self._reader = rosbags_module('rosbags.rosbag1').Reader(path)
        self._reader.open()
        known: dict[str, Any] = {}
        for each in self._reader.connections:
            known |= typesys.get_types_from_msg(each.msgdef.data, each.msgtype)
        known |= {RENAMED_TYPES[name]: known[name] for name in RENAMED_TYPES.keys() & known.keys()}
        ros_2 = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
        known[HEADER] = ros_2.fielddefs[HEADER]
        self._store = typesys.get_typestore(typesys.Stores.EMPTY)
        self._store.register(known)
        self._kinds = {
            each.msgtype: RENAMED_TYPES.get(each.msgtype, each.msgtype)
            for each in self._reader.connections
        }
        topics = self._reader.topics
        self.types: dict[str, str] = {
            name: self._kinds[topic.connections[0].msgtype] for name, topic in topics.items()
        }
        self.counts: dict[str, int] = {name: topic.msgcount for name, topic in topics.items()}

    def messages(self, topic: str | None = None) -> Iterator[tuple[str, int, bytes]]:
        """Yield topic, time of recording [ns] and CDR of the messages, of all topics or of one."""
        connections = [each for each in self._reader.connections if each.topic == topic]
        if topic is None or connections:
            for connection, received, data in self._reader.messages(connections):
                kind = self._kinds[connection.msgtype]
                yield connection.topic, received, bytes(self._store.ros1_to_cdr(data, kind))

    def definitions(self) -> dict[str, Definition]:
        """Return what there is to know of each topic."""
        return {
            name: Definition(
                kind,
                self._store.generate_msgdef(kind, ros_version=2)[0],
                self._store.hash_rihs01(kind),
                (),
            )
            for name, kind in self.types.items()
        }

    def close(self) -> None:
        """Close the file."""
        self._reader.close()


def check_folder(path: Path) -> None:
    """Raise RecordingError for a folder without metadata."""
    if path.is_dir() and not (path / METADATA).is_file():
        bags = sorted(each for each in path.iterdir() if each.suffix in BAG_FILES)
        remedy = f'this folder is no recording; {FORMATS}'
        if bags:
            remedy = (
                f'if its recording was interrupted, "ros2 bag reindex {path}" writes it; or name '
                f'{bags[0]}'
            )
        raise RecordingError(f'{path} has no {METADATA}: {remedy}')


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Convert exceptions while a file is read to a `RecordingError` that names the file."""
    try:
        yield
    except RecordingError:
        raise
    except Exception as error:
        reason, remedy = 'there is no such file', FORMATS
        if path.exists():
            reason = ' '.join(str(error).split()).rstrip('.') or type(error).__name__
            remedy = RECOVER if path.is_dir() or path.suffix == '.mcap' else FORMATS
        raise RecordingError(f'cannot read the recording {path}: {reason}; {remedy}') from error


def rosbags_module(name: str) -> Any:
    """Return a module of `rosbags`; raises `RecordingError` if that is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise RecordingError(
            f'reading and writing recordings requires the package rosbags, which is not installed '
            f'({error}); install it with "{INSTALL}"'
        ) from None
