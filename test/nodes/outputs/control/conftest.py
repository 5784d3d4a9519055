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
def control(monkeypatch, keep, law_loader):
    """Return a function that makes a `Controlled` with a law and parameters."""
    from screw_dynamics_ros.nodes.outputs.control import law_process
    from support.controlled import Controlled

    monkeypatch.setattr(law_process, 'Worker', lambda purpose: law_loader)

    def make(law, kind=Controlled, **parameters):
        return keep(kind(monkeypatch, law, **parameters))

    return make
