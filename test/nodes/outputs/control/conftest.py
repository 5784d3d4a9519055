# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes `controller` in the process of a test."""

import pytest


@pytest.fixture(scope='module')
def law_loader():
    """Return the process in which all nodes of a file load control laws: it takes long to start."""
    from screw_dynamics_ros.ros.process.worker import Worker

    yield Worker('loads control laws')
    Worker.end_all()


@pytest.fixture
def control(monkeypatch, ros_domain, law_loader):
    """Return a function that makes a `Controlled` with a law and parameters."""
    import rclpy

    from screw_dynamics_ros.nodes.outputs.control import law_process
    from support.controlled import Controlled

    monkeypatch.setattr(law_process, 'Worker', lambda purpose: law_loader)
    rclpy.init(domain_id=ros_domain)
    made = []

    def make(law, kind=Controlled, **parameters):
        made.append(kind(monkeypatch, law, **parameters))
        return made[-1]

    yield make
    for each in made:
        each.bench.close()
    rclpy.shutdown()
