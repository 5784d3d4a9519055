# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The page and sources whose robot changes, ends, or has a time axis."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('viser')

from screw_dynamics_ros.cli.view.posture_source import PostureSource
from screw_dynamics_ros.cli.view.recording_source import Playback, PlaybackControls
from screw_dynamics_ros.cli.view.state import DiagnosticLine, ViewState
from screw_dynamics_ros.cli.view.viewer import Viewer
from screw_dynamics_ros.core import bundled_urdf

LOCAL_HOST, PORT = '127.0.0.1', 18300
ROBOTS = {
    name: PostureSource(bundled_urdf(name).read_text(), bundled_urdf(name))
    for name in ('planar_2r', 'gripper_tree')
}


class ChangingSource:
    """Shows another robot from the next reading on, as soon as `name` is set."""

    movable, generation, reads = False, 0, 0

    def __init__(self):
        self.name, self.lines = 'planar_2r', ()
        self._shown = self.name

    def __getattr__(self, name):
        return getattr(ROBOTS[self._shown], name)

    def latest(self):
        self.reads += 1
        if self.name != self._shown:
            self._shown, self.generation = self.name, self.generation + 1
        robot = self.robot
        return ViewState(robot.neutral(), np.zeros(robot.nv), diagnostics=self.lines)

    def add_controls(self, gui):
        pass


@pytest.fixture(scope='module')
def viewer():
    with Viewer(ChangingSource(), LOCAL_HOST, PORT) as viewer:
        yield viewer


def test_another_robot_at_any_reading(viewer):
    for name in ('gripper_tree', 'planar_2r'):
        viewer.source.name = name
        viewer.draw()
        assert viewer.scene.robot is ROBOTS[name].robot
        assert len(viewer.scene.frames) == len(ROBOTS[name].robot.link_names)


def test_what_is_stale_is_at_the_top(viewer, monkeypatch):
    for lines, visible in (
        ((DiagnosticLine('stale', 'joint_states', '<b>'),), True),
        ((DiagnosticLine('ok', 'joint_states', ''),), False),
    ):
        viewer.source.lines = lines
        viewer._bars_time = -np.inf
        viewer.draw()
        assert viewer._notice.visible == visible
        assert ('&lt;b&gt;' in viewer._notice.content) == visible


def test_nothing_is_read_while_no_page_is_open(viewer, monkeypatch):
    waits = iter([False, False])

    def wait(period):
        return next(waits)  # ends the loop by StopIteration

    before = viewer.source.reads
    monkeypatch.setattr(viewer._connected, 'wait', wait)
    with pytest.raises(StopIteration):
        viewer.run()
    assert viewer.source.reads == before


def test_controls_of_a_recording(viewer):
    playback = Playback(10.0)
    controls = PlaybackControls(viewer.server.gui, playback)
    controls._slider.value = 4.0
    controls._seek(SimpleNamespace(client=None))  # not by a user
    assert playback.now() == 0.0
    controls._seek(SimpleNamespace(client='some client'))
    assert playback.now() == 4.0
    controls._speed.value = '0.5'
    controls._change_speed(None)
    assert playback.speed == 0.5
    controls._toggle(None)
    controls.update()
    assert playback.is_playing
    assert controls._button.label == 'Pause'
    controls._toggle(None)
    controls.update()
    assert controls._button.label == 'Play'
