# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Random sequences of steps through a state machine: the same few in each run, or many others."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

FEW = 20


def run_sequences(
    machine: type[RuleBasedStateMachine], steps: int, variable: str = '', few: int = FEW
) -> None:
    """Run sequences of up to so many steps.

    As many sequences as an environment variable says, other ones each time; `few` if it is not set,
    always the same.
    """
    count = int(os.environ.get(variable, few))
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=count,
            stateful_step_count=steps,
            deadline=None,
            derandomize=count == few,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
