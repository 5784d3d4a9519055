# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Control laws for a node: those in files are loaded and recorded in another process.

Functions of a user never run in the process that commands torques. A `Worker` forks a process with
limits for each load (`ros.process.limited`), checks what it returns, and passes on data: the
declaration of the law, its files, and its program for a robot. Laws of the library are recorded
here.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial, reduce
from operator import add
from pathlib import Path
from typing import Any

from screw_dynamics_ros.core import Robot, ScrewDynamicsError
from screw_dynamics_ros.core.errors import NotRecordableError
from screw_dynamics_ros.core.law import LAWS, RobotLaw
from screw_dynamics_ros.core.motion.laws.law import described, line_of, place_of, record
from screw_dynamics_ros.core.motion.laws.law_fields import LawDeclaration
from screw_dynamics_ros.core.motion.laws.law_source import (
    LawFiles,
    LawSource,
    Stamp,
    are_changed,
    is_path,
    names_of,
    stamp_of,
)
from screw_dynamics_ros.core.motion.laws.robot_law import LawRecording
from screw_dynamics_ros.ros.process.latest import Latest
from screw_dynamics_ros.ros.process.limited import LimitedError, run_limited
from screw_dynamics_ros.ros.process.worker import Worker, WorkerError


@dataclass(frozen=True)
class LoadedLaw:
    """What a process has found in the files of a law.

    Attributes
    ----------
    reason : str
        Why the law is refused, with file and line; '' if it is not.
    stamps : {path: Stamp}
        The files that it depends on.
    place : str
        Name, file and line of the law.
    contents : {path: bytes}
    law : LawDeclaration or None
        None if it is refused.
    recording : LawRecording or None
        None if no robot was given.
    """

    reason: str
    stamps: Mapping[str, Stamp]
    place: str = ''
    contents: Mapping[str, bytes] = field(default_factory=dict)
    law: LawDeclaration | None = None
    recording: LawRecording | None = None


class LawVersion:
    """A law as it was in its files at one time.

    Parameters
    ----------
    law : LawDeclaration
    record : callable
        Returns the recording for a robot, or raises `ScrewDynamicsError`.
    options : dict

    place : str
        Name, file and line.

    Attributes
    ----------
    law, place
        As given.
    """

    def __init__(
        self,
        law: LawDeclaration,
        record: Callable[[Robot], LawRecording],
        options: Mapping[str, str],
        place: str = '',
    ) -> None:
        self.law, self.place = law, place or law.name
        self._record, self._options = record, options
        self._known: tuple[str, LawRecording] | None = None

    def keep(self, robot: Robot, recording: LawRecording) -> None:
        """Use a recording for a robot."""
        self._known = robot.regrouped_tree.digest, recording

    def on(self, robot: Robot) -> RobotLaw:
        """Return the law for a robot; raises `ScrewDynamicsError` with the line at fault."""
        known = self._known
        if known is None or known[0] != robot.regrouped_tree.digest:
            self.keep(robot, recording := self._record(robot))
        else:
            recording = known[1]
        return RobotLaw(self.law, robot, self._options, recording)


class LawProcess:
    """Loads the law of a node, and loads it again when its files change.

    Parameters
    ----------
    text : str
        See `LawSource`.
    options : dict
    timeout : callable
        Returns the time limit of a load [s].

    Attributes
    ----------
    first : LawVersion
        The law at the start.

    Raises
    ------
    ScrewDynamicsError
        If there is no such law, or it is refused.
    """

    def __init__(self, text: str, options: Mapping[str, str], timeout: Callable[[], float]) -> None:
        names = names_of(text)
        self._text, self._options, self._timeout = text, options, timeout
        self._worker = Worker('loads control laws')
        self._background: Latest[tuple[LoadedLaw, Robot | None]] = Latest('law loader')
        self._stamps: Mapping[str, Stamp] = {}
        if all(name in LAWS for name in names):
            law = reduce(add, (LAWS[name] for name in names))
            self.first = LawVersion(law, lambda robot: record(law, robot, options), options)
        else:
            self.first = self._version(self._load(None, None), None)

    @property
    def is_loading(self) -> bool:
        """Whether files that have changed are being loaded."""
        return self._background.is_busy

    def look(self, robot: Robot | None) -> None:
        """Begin to load the law again, for a robot, if a file has changed."""
        if not self._background.is_busy and are_changed(self._stamps):
            self._stamps = {path: stamp_of(path) for path in self._stamps}
            self._background.ask(lambda: (self._load(robot, None), robot))

    def poll(self) -> LawVersion | None:
        """Return each new version once, None if there is none; raises if it is refused."""
        outcome = self._background.poll()
        return None if outcome is None else self._version(*outcome)

    def _version(self, loaded: LoadedLaw, robot: Robot | None) -> LawVersion:
        self._stamps = loaded.stamps
        if loaded.law is None:
            raise NotRecordableError(loaded.reason)
        recorded = partial(self._recorded, loaded.contents)
        version = LawVersion(loaded.law, recorded, self._options, loaded.place)
        if robot is not None and loaded.recording is not None:
            version.keep(robot, loaded.recording)
        return version

    def _recorded(self, contents: Mapping[str, bytes], robot: Robot) -> LawRecording:
        """Record files that have been read before, whatever they contain now, for a robot."""
        loaded = self._load(robot, contents)
        if loaded.recording is None:
            raise NotRecordableError(loaded.reason)
        return loaded.recording

    def _load(self, robot: Robot | None, contents: Mapping[str, bytes] | None) -> LoadedLaw:
        known = {path: stamp_of(path) for path in (*self._stamps, *paths_in(self._text))}
        try:
            return self._worker.call(
                loaded_law,
                self._text,
                dict(self._options),
                None if robot is None else pickle.dumps(robot),
                contents,
                known,
                self._timeout(),
            )
        except WorkerError as error:
            return LoadedLaw(f'law {self._text}: {error}', known)


# --- in the other process -------------------------------------------------------------------------


def loaded_law(
    text: str,
    options: Mapping[str, str],
    robot: bytes | None,
    contents: Mapping[str, bytes] | None,
    known: Mapping[str, Stamp],
    timeout: float,
) -> LoadedLaw:
    """Return a law, loaded and recorded in a forked process.

    Parameters
    ----------
    text, options
        See `LawProcess`.
    robot : bytes or None
        Pickled.
    contents : {path: bytes} or None
        Files that are used instead of those that exist.
    known : {path: Stamp}
        Files that the law depended on before.
    timeout : float
        [s].
    """
    sources, model = LawFiles(contents), unpickled(robot) if robot else None

    def load() -> dict[str, Any]:
        try:
            law = LawSource(text, sources).law
            found = {
                'law': law.data(),
                'place': described(law),
                'recording': record(law, model, options).data() if model else None,
            }
        except BaseException as error:  # SystemExit, too
            found = {'reason': refusal(error, text, sources)}
        found['stamps'] = sources.stamps
        found['contents'] = {
            path: each.decode('latin-1') for path, each in sources.contents.items()
        }
        return found

    try:
        data = run_limited(load, timeout, lambda file: file in sources.contents)
        stamps = {**known, **{path: (int(t), int(n)) for path, (t, n) in data['stamps'].items()}}
        if 'reason' in data:
            return LoadedLaw(str(data['reason']) or 'refused', stamps)
        law = LawDeclaration.of(data['law'])
        recording = LawRecording.of(data['recording'], law, model) if model else None
        read = {str(path): each.encode('latin-1') for path, each in data['contents'].items()}
        return LoadedLaw('', stamps, str(data['place']), read, law, recording)
    except LimitedError as error:
        place = place_of(*error.place) if error.place[1] else f'law {text}'
        return LoadedLaw(f'{place}: {error}', known)
    except (AttributeError, KeyError, TypeError, ValueError, ScrewDynamicsError) as error:
        return LoadedLaw(f'law {text}: {type(error).__name__}: {error}', known)


def refusal(error: BaseException, text: str, sources: LawFiles) -> str:
    """Return why a law is refused, with its line."""
    if isinstance(error, ScrewDynamicsError):
        return str(error)
    place = line_of(error, sources.contents) or f'law {text}'
    return f'{place}: {type(error).__name__}: {error}'


@lru_cache(maxsize=2)
def unpickled(robot: bytes) -> Robot:
    """Return a robot of the node."""
    found: Robot = pickle.loads(robot)
    return found


def paths_in(text: str) -> list[str]:
    """Return the paths in the name of a law."""
    places = [name.rpartition(':')[0] for name in names_of(text)]
    return [str(Path(os.path.abspath(each))) for each in places if is_path(each)]
