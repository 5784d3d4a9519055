# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Each output, input and completion leaves the states to machine code."""

import os
import sys

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('llvmlite')
pytest.importorskip('nav_msgs')
pytest.importorskip('screw_dynamics_msgs.msg._model_state')
if not sys.platform.startswith('linux'):
    pytest.skip('the loop is for Linux', allow_module_level=True)

import rclpy

from support.answered_states import RUNS, run_of

STATES = int(os.environ.get('ANSWERED_STATES', '1000'))
AFTER_A_CHANGE = 20  # states that Python may answer


@pytest.fixture
def run(monkeypatch, ros_domain, tmp_path):
    """Return a function that makes a run."""
    rclpy.init(domain_id=ros_domain)
    made = []

    def make(name):
        made.append(run_of(monkeypatch, name, tmp_path))
        return made[-1]

    yield make
    for each in made:
        each.close()
    rclpy.shutdown()


@pytest.mark.parametrize('name', RUNS)
def test_states_are_answered_in_machine_code(run, name):
    """Python may answer some states after a start and after a change of parameters."""
    made, count = run(name), STATES if name.startswith('all') else STATES // 4
    for change in ({}, {'observer_time_constant': 0.03, 'characteristic_length': 0.3}):
        made.set(**change)
        made.states(count)
        outcomes = made.outcomes
        assert outcomes.total() == count
        assert outcomes['done'] >= count - AFTER_A_CHANGE, made.node.called
    assert not {'all/model_state', 'dynamics/gravity', 'wrenchestimator/residual'} & made.silent
