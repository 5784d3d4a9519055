# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes `controller` in the process of a test."""

import pytest


@pytest.fixture
def control(monkeypatch, ros_domain):
    """Return a function that makes a `Controlled` with a law and parameters."""
    rclpy = pytest.importorskip('rclpy')
    from screw_dynamics_ros.ros.process.worker import Worker
    from support.controlled import Controlled

    rclpy.init(domain_id=ros_domain)
    made = []

    def make(law, kind=Controlled, **parameters):
        made.append(kind(monkeypatch, law, **parameters))
        return made[-1]

    yield make
    for each in made:
        each.bench.close()
    Worker.end_all()
    rclpy.shutdown()
