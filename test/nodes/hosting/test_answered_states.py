# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All outputs of an arm, of a moving base and of a mechanism leave the states to machine code.

Each observer, filter, input and completion alone is compared with Python in `test_compiled_loop`,
`test_inputs_in_a_loop` and `test_completed_states`.
"""

import os
import sys

import pytest

pytest.importorskip('llvmlite')
pytest.importorskip('nav_msgs')
pytest.importorskip('screw_dynamics_msgs.msg._model_state')
if not sys.platform.startswith('linux'):
    pytest.skip('the loop is for Linux', allow_module_level=True)


from support.answered_states import RUNS, Run

STATES = int(os.environ.get('ANSWERED_STATES', '250'))
AFTER_A_CHANGE = 20  # states that Python may answer


@pytest.fixture
def run(monkeypatch, keep):
    """Return a function that makes a run."""

    def make(name):
        return keep(Run(monkeypatch, **RUNS[name]))

    return make


@pytest.mark.parametrize('name', RUNS)
def test_states_are_answered_in_machine_code(run, name):
    """Python may answer some states after a start and after a change of parameters."""
    made = run(name)
    for change in ({}, {'observer_time_constant': 0.03, 'characteristic_length': 0.3}):
        made.set(**change)
        made.states(STATES)
        outcomes = made.outcomes
        assert outcomes.total() == STATES
        assert outcomes['done'] >= STATES - AFTER_A_CHANGE, made.node.called
    assert not {'all/model_state', 'dynamics/gravity', 'wrenchestimator/residual'} & made.silent
