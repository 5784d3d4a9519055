# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which recorded value is shown at a time, and the ranges of sliders."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from screw_dynamics_ros.cli.view import recording_source
from screw_dynamics_ros.cli.view.posture_source import middle, slider_ranges
from screw_dynamics_ros.cli.view.recording_source import Playback, PlaybackControls, RecordedOutput
from screw_dynamics_ros.core import Robot
from support.paths import URDF

HALF = 500_000_000  # ns


def test_the_last_value_within_half_a_second():
    """Messages in any order; numbers that are not finite hide earlier ones."""
    t = np.array([3, 1, 2]) * 2 * HALF
    values = np.array([[30.0, 1.0], [10.0, 1.0], [np.nan, 1.0]])
    output = RecordedOutput.of(t, values, np.array(['c', 'a', 'b'], dtype=object))
    second = 2 * HALF
    for stamp, expected in (
        (second - 1, None), (second, 10.0), (second + HALF, 10.0), (second + HALF + 1, None),
        (2 * second, None), (3 * second, 30.0), (3 * second + HALF + 1, None),
    ):  # fmt: skip
        found = output.framed(stamp)
        assert (found if found is None else found[1][0]) == expected
    assert output.framed(3 * second)[0] == 'c'
    assert output.at(3 * second).tolist() == [30.0, 1.0]
    assert output.at(0) is None
    assert RecordedOutput.of(t, values).framed(second)[0] == ''


def test_ranges_of_sliders():
    """Limits, at most a turn to either side; none for joints with several coordinates."""
    text = (URDF / 'planar_2r.urdf').read_text()
    limited = text.replace('joint1" type="continuous"', 'joint1" type="revolute"').replace(
        '<limit velocity="10" effort="100"', '<limit lower="-1" upper="9" velocity="1" effort="1"'
    )
    robot = Robot.from_urdf(limited, backend='reference')
    lower, upper = slider_ranges(robot)
    np.testing.assert_allclose(lower, [-1.0, -2 * np.pi])
    np.testing.assert_allclose(upper, [2 * np.pi, 2 * np.pi])
    np.testing.assert_allclose(middle(robot, lower, upper), [np.pi - 0.5, 0.0])
    floating = Robot.from_urdf(text.replace('"continuous"', '"floating"', 1), backend='reference')
    lower, upper = slider_ranges(floating)
    assert len(lower) == floating.nq
    assert np.isinf(lower).sum() == np.isinf(upper).sum() == floating.nq - 1
    q = middle(floating, lower, upper)
    np.testing.assert_array_equal(q, floating.neutral())


class Widget(SimpleNamespace):
    """A control that a user sets, or the program."""

    def on_click(self, callback):
        self.callback = callback

    on_update = on_click

    def set(self, value):
        self.value = value
        self.callback(SimpleNamespace(client=object()))


class Gui:
    """Keeps the controls."""

    def add_folder(self, name):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def add_button(self, label):
        self.button = Widget(label=label)
        return self.button

    def add_slider(self, label, low, high, step, value):
        self.slider = Widget(low=low, high=high, step=step, value=value)
        return self.slider

    def add_dropdown(self, label, options, initial_value):
        self.speed = Widget(options=options, value=initial_value)
        return self.speed


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(value=50.0)
    monkeypatch.setattr(recording_source, 'time', SimpleNamespace(monotonic=lambda: now.value))
    return now


def test_controls_of_a_playback(clock):
    """The slider follows five times a second; what the program sets does not seek."""
    gui, subject = Gui(), Playback(400.0, lambda: clock.value)
    controls = PlaybackControls(gui, subject)
    assert (gui.slider.low, gui.slider.high, gui.slider.step) == (0.0, 400.0, 0.04)
    gui.speed.set('2')
    gui.button.callback(None)
    assert subject.is_playing
    clock.value += 1.0
    controls.update()
    assert (gui.button.label, gui.slider.value) == ('Pause', 2.0)
    clock.value += 0.19
    controls.update()
    assert gui.slider.value == 2.0
    clock.value += 0.02
    controls.update()
    assert gui.slider.value == pytest.approx(2.42)
    gui.slider.value = 300.0
    gui.slider.callback(SimpleNamespace(client=None))
    assert subject.now() == pytest.approx(2.42)
    gui.slider.set(300.0)
    assert subject.now() == 300.0
    gui.speed.set('nonsense')
    assert subject.speed == 2.0
    gui.button.callback(None)
    controls.update()
    assert (gui.button.label, subject.is_playing) == ('Play', False)
    short = Gui()
    PlaybackControls(short, Playback(0.0, lambda: clock.value))
    assert (short.slider.high, short.slider.step) == (0.01, 0.01)
