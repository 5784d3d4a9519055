# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A robot of a file in simulation."""

from __future__ import annotations

import os
import signal

import pytest

pytest.importorskip('rclpy')

from screw_dynamics_ros.cli.view import live_source
from screw_dynamics_ros.cli.view.live_source import SimulatedSource
from support.processes import is_running, wait_for
from support.robots import urdf_path

PLANAR = urdf_path('planar_2r')


def test_simulated_and_estimated(ros_domain, monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', '')
    monkeypatch.setattr(live_source, 'free_domain', lambda: ros_domain)
    source = SimulatedSource(PLANAR.read_text(), PLANAR)
    try:
        pids = source.processes
        wait_for(lambda: {'measured', 'gravity', 'external'} <= source.latest().torques.keys())
        assert source.robot.joint_names == ('joint1', 'joint2')
        assert not any(line.level == 'error' for line in source.latest().diagnostics)
        os.kill(pids['bringup'], signal.SIGKILL)
        wait_for(lambda: 'error' in {line.level for line in source.latest().diagnostics})
    finally:
        source.close()
    assert not any(map(is_running, pids.values()))
