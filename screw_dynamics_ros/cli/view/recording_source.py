# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A recorded robot: the states of a recording, with outputs as the nodes would publish them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.annotation import Annotator
from screw_dynamics_ros.core.annotation.annotate import MotionArrays
from screw_dynamics_ros.core.description.formats import read_robot_description, urdf_of
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import UnknownNameError
from screw_dynamics_ros.core.outputs import OUTPUTS
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.nodes.model.running_model import joint_state_mapper, leaf_links
from screw_dynamics_ros.nodes.model.scalar_joints import ScalarJoints
from screw_dynamics_ros.ros.description import urdf_text
from screw_dynamics_ros.ros.names import topic_tokens
from screw_dynamics_ros.ros.recordings.coverage import refusals
from screw_dynamics_ros.ros.recordings.recording import JOINT_STATE, read_recording
from screw_dynamics_ros.ros.recordings.sources import RecordingError
from screw_dynamics_ros.ros.recordings.stamped import ARRAY, POSE, WRENCH, read_arrays, read_stamped
from screw_dynamics_ros.ros.recordings.storage import RecordingReader

from ..annotate.annotation import Progress, description, read_states, whole_motion
from ..annotate.request import Request
from .state import (
    TORQUE_OUTPUTS,
    ContactForce,
    DiagnosticLine,
    LinkWrench,
    ViewState,
    add_payload_controls,
    installed_mesh,
    local_mesh,
    localized_contacts,
)

SPEEDS = ('0.1', '0.25', '0.5', '1', '2', '5', '10')
MIN_STEP_S = 0.01  # of the slider
SLIDER_PERIOD_S = 0.2  # between updates of the slider while time runs
ESTIMATOR = 'wrench_estimator'
MOMENT_FIRST = [3, 4, 5, 0, 1, 2]  # of the numbers of messages, which begin with the force
#: The numbers of messages that are shown: of a wrench, a covariance (6, 6), a point.
SHOWN_NUMBERS = {
    WRENCH: MOMENT_FIRST,
    ARRAY: [6 * row + column for row in MOMENT_FIRST for column in MOMENT_FIRST],
    POSE: [0, 1, 2],
}
BLOCK = 1024  # states computed at once
TIMEOUT = NANOSECONDS // 2  # ns; values older than this are not shown


class Playback:
    """A position on a time axis [s].

    Parameters
    ----------
    duration : float
        Length of the axis [s].
    clock : callable
        Returns a time [s].

    Attributes
    ----------
    is_playing : bool
    speed : float
        Seconds of the recording in one second.
    """

    def __init__(self, duration: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.duration, self.speed, self.is_playing = duration, 1.0, False
        self._clock, self._position, self._since = clock, 0.0, clock()

    def now(self) -> float:
        """Return the current position; playback stops at the end."""
        at = self._clock()
        if self.is_playing:
            self._position += self.speed * max(0.0, at - self._since)
            if self._position >= self.duration:
                self._position, self.is_playing = self.duration, False
        self._since = at
        return self._position

    def seek(self, position: float) -> None:
        """Set the position, clipped to the axis; ignore values that are not finite."""
        self.now()
        if math.isfinite(position):
            self._position = min(max(position, 0.0), self.duration)

    def play(self) -> None:
        """Start playback, from the beginning if it is at the end."""
        if self.now() >= self.duration:
            self._position = 0.0
        self.is_playing = True

    def pause(self) -> None:
        """Pause playback."""
        self.now()
        self.is_playing = False

    def set_speed(self, speed: float) -> None:
        """Set the speed of playback."""
        self.now()
        self.speed = speed


class PlaybackControls:
    """Buttons and sliders of a playback.

    Parameters
    ----------
    gui : viser.GuiApi
    playback : Playback
    """

    def __init__(self, gui: Any, playback: Playback) -> None:
        self._playback, self._next_update = playback, 0.0
        with gui.add_folder('Recording'):
            self._button = gui.add_button('Play')
            step = max(MIN_STEP_S, playback.duration / 1e4)
            self._slider = gui.add_slider(
                'time [s]', 0.0, max(playback.duration, step), step, playback.now()
            )
            self._speed = gui.add_dropdown('speed', SPEEDS, initial_value='1')
        self._button.on_click(self._toggle)
        self._slider.on_update(self._seek)
        self._speed.on_update(self._change_speed)

    def update(self) -> None:
        """Show the position of the playback."""
        at = time.monotonic()
        if at < self._next_update:
            return
        self._next_update = at + SLIDER_PERIOD_S
        position, label = self._playback.now(), 'Pause' if self._playback.is_playing else 'Play'
        if self._button.label != label:
            self._button.label = label
        if abs(self._slider.value - position) > 0.5 * self._slider.step:
            self._slider.value = position

    def _toggle(self, _: Any) -> None:
        if self._playback.is_playing:
            self._playback.pause()
        else:
            self._playback.play()
        self._next_update = 0.0

    def _seek(self, event: Any) -> None:
        if event.client is not None:  # not set by `update`
            self._playback.seek(float(self._slider.value))

    def _change_speed(self, _: Any) -> None:
        if self._speed.value in SPEEDS:
            self._playback.set_speed(float(self._speed.value))


class RecordedOutput(NamedTuple):
    """A recorded topic.

    Attributes
    ----------
    t : (N,) array of int
        Stamps in ascending order [ns].
    values : (N, k) array
    frames : (N,) array of str
    """

    t: NDArray[np.int64]
    values: Array
    frames: NDArray[np.object_]

    @classmethod
    def of(
        cls, t: NDArray[np.int64], values: Array, frames: NDArray[np.object_] | None = None
    ) -> RecordedOutput:
        """Return the messages sorted by stamp."""
        order = np.argsort(t, kind='stable')
        names = np.full(len(t), '', dtype=object) if frames is None else frames
        return cls(t[order], values[order], names[order])

    def at(self, stamp: int) -> Array | None:
        """Return the latest values at or shortly before a stamp [ns], or None."""
        found = self.framed(stamp)
        return None if found is None else found[1]

    def framed(self, stamp: int) -> tuple[str, Array] | None:
        """Return frame and values of the same message."""
        k = int(np.searchsorted(self.t, stamp, side='right')) - 1
        if k < 0 or stamp - self.t[k] > TIMEOUT or not np.isfinite(self.values[k]).all():
            return None
        return str(self.frames[k]), self.values[k]


class RecordingSource:
    """The robot of a recording at a time chosen by the user; see `ViewSource`.

    Recorded torques and wrenches are shown; missing ones are computed as by `annotate`.

    Parameters
    ----------
    path : Path
    urdf : (str, Path), optional
        A description that replaces the recorded one, and its file.
    topic : str
        Topic of the joint states; other topics are in the same namespace.
    progress : callable
        Called with the fraction of the recording that has been read.

    Raises
    ------
    ScrewDynamicsError
        The recording cannot be read, or contains no state of the robot.
    """

    movable = False
    generation = 0

    def __init__(
        self,
        path: Path,
        urdf: tuple[str, Path] | None = None,
        topic: str = '/joint_states',
        progress: Progress = lambda share: None,
    ) -> None:
        start = topic.rpartition('/')[0] + '/'
        request = Request(topic, f'{start}robot_description', urdf[0] if urdf else None)
        self._urdf_path, self._lock = urdf[1] if urdf else None, threading.Lock()
        with RecordingReader(path) as reader:
            reader.check(topic, JOINT_STATE)
            text = urdf_text(description(reader, request), 'the robot description')
            self.robot = Robot(
                read_robot_description(text, inertia_check='warn'), gravity=request.value('gravity')
            )
            self.urdf = urdf_of(text, self.robot.description)
            mapper = joint_state_mapper(self.robot, policies=request.policies)
            states = read_states(reader, topic, mapper, progress)
            types = dict(reader.types)
        if not len(states.stamps):
            raise RecordingError(f'{path}: no valid state of the robot: {refusals(mapper)}')
        self._recorded = recorded_torques(path, types, start, ScalarJoints(self.robot))
        self._wrenches, self._covariances = (
            recorded_of_links(path, types, f'{start}{OUTPUTS[name].topic}', self.robot)
            for name in ('wrench', 'wrench_covariance')
        )
        self._contact = [
            recorded_numbers(path, types, f'{start}{ESTIMATOR}/{name}')
            for name in ('contact_point', 'contact_force')
        ]
        self._annotator = self._annotator_with({})
        self._block: tuple[int, dict[str, Array]] | None = None
        self._motion = whole_motion(self._annotator, states)
        self._times = np.maximum.accumulate(states.received)
        self.playback = Playback((self._times[-1] - self._times[0]) / NANOSECONDS)
        self._controls: PlaybackControls | None = None
        self._shown: tuple[int, bool] | None = None
        self._state: ViewState | None = None

    def latest(self) -> ViewState | None:
        """Return the state at the current time of the playback."""
        with self._lock:
            if self._controls is not None:
                self._controls.update()
            time = int(self._times[0]) + round(self.playback.now() * NANOSECONDS)
            k = max(int(np.searchsorted(self._times, time, side='right')) - 1, 0)
            is_old = time - self._times[k] > TIMEOUT
            shown = k, is_old
            if shown != self._shown:
                self._shown, self._state = shown, self._state_at(k, is_old)
            return self._state

    def _state_at(self, k: int, is_old: bool) -> ViewState:
        motion = self._motion
        q, v, stamp = motion.q[k], np.nan_to_num(motion.v[k]), int(motion.t[k])
        if is_old:
            line = DiagnosticLine('stale', 'joint_states', 'nothing is recorded at this time')
            return ViewState(q, np.zeros_like(v), stamp / NANOSECONDS, diagnostics=(line,))
        computed = self._computed(k)
        torques = {}
        for name, shown in TORQUE_OUTPUTS.items():
            recorded = self._recorded.get(name)
            value = recorded.at(stamp) if recorded is not None else computed.get(name)
            if value is not None and np.isfinite(value).all():
                torques[shown] = value
        if np.isfinite(motion.tau[k]).all():
            torques['measured'] = motion.tau[k]
        wrenches = []
        for link in {*self._wrenches, *self._annotator.frames}:
            recorded = self._wrenches.get(link)
            value = recorded.at(stamp) if recorded is not None else computed.get(f'wrench/{link}')
            if value is not None and np.isfinite(value).all():
                covariance = self._covariance(link, int(self._times[k]))
                wrenches.append(LinkWrench(link, value, covariance=covariance))
        contacts = self._contacts(stamp)
        return ViewState(q, v, stamp / NANOSECONDS, torques, tuple(wrenches), contacts)

    def _covariance(self, link: str, received: int) -> Array | None:
        """Return the covariance (6, 6) of (moment, force); its message has no stamp."""
        recorded = self._covariances.get(link)
        values = None if recorded is None else recorded.at(received)
        return None if values is None else values.reshape(6, 6)

    def _contacts(self, stamp: int) -> tuple[ContactForce, ...]:
        point, force = (each.framed(stamp) if each is not None else None for each in self._contact)
        if point is None or force is None:
            return ()
        return localized_contacts(self.robot.link_names, point, force)

    def _computed(self, k: int) -> dict[str, Array]:
        """Return the outputs of a state; blocks of states are computed at once and cached."""
        first = k - k % BLOCK
        if self._block is None or self._block[0] != first:
            t, q, v, tau, starts = self._motion
            places = slice(first, first + BLOCK)
            part = MotionArrays(t[places], q[places], v[places], tau[places], starts[places])
            self._block = first, next(iter(self._annotator.blocks(part)))[1]
        return {name: values[k - first] for name, values in self._block[1].items()}

    def mesh_file(self, uri: str) -> Path | None:
        """Return the file of a mesh; only a description from the user may name any file."""
        return local_mesh(uri, self._urdf_path) if self._urdf_path else installed_mesh(uri)

    def move(self, q: Array) -> None:
        """Do nothing: the recording determines the configuration."""

    def carry(self, link: str, payload: RigidBody | None) -> None:
        """Compute all torques and wrenches with a payload, including recorded ones."""
        annotator = self._annotator_with({link: payload} if payload else {})
        with self._lock:
            self._annotator, self._block, self._shown = annotator, None, None
            self._recorded, self._wrenches, self._covariances = {}, {}, {}
            self._contact = [None, None]

    def _annotator_with(self, payloads: Mapping[str, RigidBody]) -> Annotator:
        return Annotator(self.robot, (*TORQUE_OUTPUTS, 'wrench'), leaf_links(self.robot), payloads)

    def add_controls(self, gui: Any) -> None:
        """Add the time axis, and the sliders of a payload."""
        self._controls = PlaybackControls(gui, self.playback)
        add_payload_controls(gui, self.robot, self.carry)

    def close(self) -> None:
        """Do nothing: no thread was started."""


def recorded_torques(
    path: Path, types: dict[str, str], start: str, joints: ScalarJoints
) -> dict[str, RecordedOutput]:
    """Return the recorded torques (N, nv) of nodes, by the names of `TORQUE_OUTPUTS`."""
    found = {}
    for name in TORQUE_OUTPUTS:
        topic = f'{start}{OUTPUTS[name].topic}'
        if types.get(topic) != JOINT_STATE:
            continue
        try:
            recording = read_recording(path, topic)
        except (RecordingError, UnknownNameError):  # no valid message
            continue
        if not set(recording.joint_names) <= set(joints.joints):
            continue  # of another robot
        values = np.zeros((len(recording.t), joints.robot.nv))
        for joint, column in zip(recording.joint_names, recording.tau.T):
            values[:, joints.robot.joint_coordinates(joint)[1]] = column[:, None]
        found[name] = RecordedOutput.of(recording.t, values)
    return found


def recorded_of_links(
    path: Path, types: dict[str, str], start: str, robot: Robot
) -> dict[str, RecordedOutput]:
    """Return the recorded wrenches (N, 6) or covariances (N, 36) of nodes, by link."""
    found = {
        link: recorded_numbers(path, types, f'{start}/{token}')
        for link, token in topic_tokens(robot.link_names).items()
    }
    return {link: output for link, output in found.items() if output is not None}


def recorded_numbers(path: Path, types: dict[str, str], topic: str) -> RecordedOutput | None:
    """Return a topic with one of the types of `SHOWN_NUMBERS`, None without a valid message."""
    kind = types.get(topic, '')
    shown = SHOWN_NUMBERS.get(kind)
    if shown is None:
        return None
    try:
        if kind == ARRAY:
            read = read_arrays(path, topic, len(shown))
        else:
            read = read_stamped(path, topic, kind, len(shown))
    except (RecordingError, UnknownNameError):
        return None
    return RecordedOutput.of(read.t, read.values[:, shown], read.frames)
