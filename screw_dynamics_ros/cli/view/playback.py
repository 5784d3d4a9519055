# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Playback of a recording: play, pause, seek, speed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

SPEEDS = ('0.1', '0.25', '0.5', '1', '2', '5', '10')
MIN_STEP_S = 0.01  # of the slider
SLIDER_PERIOD_S = 0.2  # between updates of the slider while time runs


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
