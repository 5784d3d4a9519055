# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recorded joint states as arrays in the order of a robot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.cli.command_line import UnusableError
from screw_dynamics_ros.cli.recorded_joints import check_left_out, renamed_joints
from screw_dynamics_ros.core import Robot, UnknownNameError
from screw_dynamics_ros.core.measurement.identification.dynamics import (
    JointRecording,
    KnownLoad,
)
from screw_dynamics_ros.core.types import Array

#: Arrays of an .npz file: joint_names (n,), t (N,) [s], q, tau (N, n) and, if known, v (N, n).
ARRAYS = ('joint_names', 't', 'q', 'tau')


@dataclass(frozen=True, eq=False)
class RecordedStates:
    """Joint states as recorded: names, t [s], q, v, tau with NaN where there is nothing."""

    path: Path
    joint_names: tuple[str, ...]
    t: Array
    q: Array
    v: Array
    tau: Array
    robot_description: str | None = None
    notes: tuple[str, ...] = field(default=())

    def renamed(self, names: Mapping[str, str]) -> RecordedStates:
        """Return the states with other names of joints, {recorded name: name}.

        Raises UnknownNameError if a name is not recorded, ArgumentError if two become one.
        """
        return replace(self, joint_names=renamed_joints(self.joint_names, names, str(self.path)))


def read_states(path: Path, topic: str) -> RecordedStates:
    """Return what a rosbag2 recording or an .npz file holds.

    Raises
    ------
    UnusableError
        The file cannot be read.
    RecordingError, UnknownNameError
        What it holds are no joint states; no such topic.
    """
    if path.suffix == '.npz':
        return _arrays(path)
    if not path.exists():
        raise UnusableError(
            f'argument RECORDING: there is no {path}; name a recording of rosbag2 (.mcap, .db3, a '
            'folder) or an .npz file'
        )
    from screw_dynamics_ros.ros.recordings.recording import read_recording

    recording = read_recording(path, topic)
    notes = tuple(f'{count} messages: {why.value}' for why, count in recording.left_out.items())
    return RecordedStates(
        path,
        recording.joint_names,
        (recording.t - recording.t[0]) * 1e-9,
        recording.q,
        recording.v,
        recording.tau,
        recording.robot_description,
        notes,
    )


def _arrays(path: Path) -> RecordedStates:
    try:
        with np.load(path, allow_pickle=False) as file:
            missing = [name for name in ARRAYS if name not in file]
            if missing:
                raise UnusableError(
                    f'argument RECORDING: {path} has no array {missing[0]!r}; it needs '
                    f'{", ".join(ARRAYS)}, and may have v'
                )
            t, q, tau = (np.asarray(file[name], dtype=np.float64) for name in ARRAYS[1:])
            v = np.asarray(file['v'], dtype=np.float64) if 'v' in file else np.full_like(q, np.nan)
            names = tuple(map(str, np.atleast_1d(file['joint_names'])))
    except (OSError, ValueError, EOFError) as error:
        raise UnusableError(f'argument RECORDING: cannot read {path}: {error}') from None
    shape = (len(np.atleast_1d(t)), len(names))
    for name, array in (('q', q), ('v', v), ('tau', tau)):
        if array.shape != shape:
            raise UnusableError(
                f'argument RECORDING: {name} in {path} has shape {array.shape}; {shape} is '
                'expected: a row for each t, a column for each of joint_names'
            )
    return RecordedStates(path, names, t, q, v, tau)


def of_robot(
    states: RecordedStates,
    robot: Robot,
    load: KnownLoad | None,
    left_out: Collection[str] = (),
) -> tuple[JointRecording, list[str]]:
    """Return the recording in the order of the robot's joints, and what had to be left out.

    Joints that were not recorded stand still at `Robot.home`, without effort. States
    that repeat the stamp before, or lack the position of a joint that others have, are left out.
    Of joints that are `left_out`, efforts and velocities are not used, and positions only if all
    are recorded.

    Raises UnknownNameError if the recording has none of the joints.
    """
    check_left_out(left_out, robot.joint_names)
    known = [
        name
        for name in robot.joint_names
        if name in states.joint_names
        and (name not in left_out or np.isfinite(states.q[:, states.joint_names.index(name)]).all())
    ]
    if not known:
        raise UnknownNameError(
            f'{states.path} has joint states of {", ".join(states.joint_names)}, and none of the '
            f'joints of {robot.description.name!r}: {", ".join(robot.joint_names)}; name the URDF '
            'of this robot'
        )
    notes = list(states.notes)
    others = [name for name in states.joint_names if name not in robot.joint_names]
    if others:
        notes.append(f'not joints of the robot, or mimic joints: {", ".join(others)}')
    missing = [name for name in robot.joint_names if name not in known]
    if missing:
        notes.append(f'not recorded, taken as still: {", ".join(missing)}')
    places = [states.joint_names.index(name) for name in known]
    unused = [name in left_out for name in known]
    rates, efforts = states.v[:, places], states.tau[:, places]
    rates[:, unused] = efforts[:, unused] = np.nan
    complete = np.asarray(np.isfinite(states.q[:, places]).all(axis=1))
    for column in (rates, efforts):
        recorded = np.isfinite(column).any(axis=0)
        complete &= np.isfinite(column[:, recorded]).all(axis=1)
    repeated: NDArray[np.bool_] = np.r_[False, np.diff(states.t) == 0.0] & complete
    if repeated.all() or not np.diff(states.t).any():
        repeated[:] = False  # constant stamps are refused elsewhere
    for count, reason in (
        (int((~complete).sum()), 'lack numbers'),
        (int(repeated.sum()), 'repeat the stamp before'),
    ):
        if count:
            notes.append(f'{count} of {len(states.t)} states {reason}')
    rows = complete & ~repeated
    q = np.tile(robot.home(), (int(rows.sum()), 1))
    v, tau = np.full((2, *q.shape), np.nan)
    columns = [robot.joint_names.index(name) for name in known]
    for array, recorded in ((q, states.q[:, places]), (v, rates), (tau, efforts)):
        array[:, columns] = recorded[rows]
    return JointRecording(states.t[rows], q, v, tau, load=load), notes


def descriptions(recorded: Sequence[RecordedStates]) -> str | None:
    """Return the first description that was recorded."""
    return next((each.robot_description for each in recorded if each.robot_description), None)
