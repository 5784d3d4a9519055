# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Annotation of folders of recordings with Dask, on this machine or on a cluster.

An output gets its final name only when it is complete. Existing outputs are therefore complete, and
starting a killed run again resumes it. Recordings that cannot be read are skipped and reported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.ros.recordings.sources import METADATA, RecordingError
from screw_dynamics_ros.ros.recordings.storage import SUFFIXES, is_recording

from ..report import finding_lines
from .annotation import annotate_recording
from .request import Request

INSTALL = "pip install 'dask[distributed]'"
SCHEDULER_TIMEOUT_S = 10.0  # for the response of a scheduler


class AnnotationTask(NamedTuple):
    """A recording, and its MCAP output file."""

    source: Path
    target: Path


class FileOutcome(NamedTuple):
    """Result of one recording: number of states or reason of a failure; findings and contacts."""

    source: Path
    states: int
    fault: str
    findings: tuple[str, ...] = ()


def is_folder_of_recordings(path: Path) -> bool:
    """Whether a path is a folder of recordings, not the folder of one recording."""
    return path.is_dir() and not is_recording(path)


def recordings_in(folder: Path) -> Iterator[Path]:
    """Yield the recordings below a folder: files, and folders with metadata.yaml."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith('.'):
            continue
        if is_recording(path):
            yield path
        elif path.is_dir():
            yield from recordings_in(path)


def tasks(folder: Path, target: Path) -> list[AnnotationTask]:
    """Return the tasks for a folder, sorted by name.

    Raises `RecordingError` without recordings, or if two names differ in the suffix only.
    """
    made: dict[Path, AnnotationTask] = {}
    for source in recordings_in(folder):
        if target.resolve() in source.resolve().parents:
            continue  # outputs in a subfolder
        relative = source.relative_to(folder)
        name = relative if source.is_dir() else relative.with_suffix('')
        place = target / name.parent / f'{name.name}.mcap'
        if place in made:
            raise RecordingError(f'{source} and {made[place].source} would both become {place}')
        made[place] = AnnotationTask(source, place)
    if not made:
        raise RecordingError(
            f'{folder}: no recordings ({", ".join(SUFFIXES)}, folders with {METADATA}); name a '
            'recording, or a folder that contains some'
        )
    return list(made.values())


def annotate_one(task: AnnotationTask, request: Request) -> FileOutcome:
    """Annotate a recording; runs in a process of the cluster."""
    for part in task.target.parent.glob(f'.{task.target.name}.*.part'):
        part.unlink(missing_ok=True)  # of a run that was killed
    try:
        report = annotate_recording(task.source, task.target, request)
    except (ScrewDynamicsError, OSError) as error:
        return FileOutcome(task.source, 0, str(error))
    texts = *finding_lines(report.findings), *report.contacts
    return FileOutcome(task.source, report.states, '', texts)


def annotate_folder(
    todo: list[AnnotationTask],
    request: Request,
    workers: int,
    scheduler: str,
    progress: Callable[[float, str], None],
) -> Iterator[FileOutcome]:
    """Yield the result of each recording as soon as it is complete.

    Parameters
    ----------
    todo : list of AnnotationTask
    request : Request
    workers : int
        Number of processes on this machine; 0: number of processors.
    scheduler : str
        Address of a cluster with access to the same files; empty for this machine.
    progress : callable
        Called with the completed fraction and the name of the last recording.

    Raises
    ------
    RecordingError
        Dask is not installed, or the cluster is not available.
    """
    distributed = dask_module()
    with client(distributed, workers, scheduler, len(todo)) as cluster:
        futures = cluster.map(annotate_one, todo, request=request, pure=False)
        known = {future.key: task for future, task in zip(futures, todo)}
        for done, future in enumerate(distributed.as_completed(futures), 1):
            source = known[future.key].source
            progress(done / len(todo), source.name)
            error = future.exception()
            if error is not None:  # such as a process killed by the out-of-memory killer
                yield FileOutcome(source, 0, f'{type(error).__name__}: {error}')
            else:
                yield future.result()
            future.release()


def dask_module() -> Any:
    """Return the module `distributed`; raises `RecordingError` if it is not installed."""
    try:
        return import_module('distributed')
    except ImportError:
        raise RecordingError(
            f'annotating folders requires Dask, which is not installed; install it with {INSTALL}'
        ) from None


def client(distributed: Any, workers: int, scheduler: str, most: int) -> Any:
    """Return a client of a cluster, or of processes on this machine."""
    if scheduler:
        try:
            return distributed.Client(scheduler, timeout=SCHEDULER_TIMEOUT_S)
        except (OSError, TimeoutError) as error:
            raise RecordingError(f'no scheduler at {scheduler}: {error}') from None
    count = workers or len(os.sched_getaffinity(0))
    return distributed.Client(
        n_workers=min(count, most), threads_per_worker=1, dashboard_address=None, silence_logs=50
    )
