# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Closed forms run on recorded scalars, and the program gives the same numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from oracles import program_interpreter
from screw_dynamics_ros.core.compile.program.tracing import Recorder, Scalar, program
from support.serial_families import RANDOM_ARMS, branches, difference


@pytest.fixture(autouse=True)
def arctangents(monkeypatch):
    """Record arctangents as an operation of two operands, where the recorder has none."""
    monkeypatch.setitem(program_interpreter.SCALAR, 'arctan2', math.atan2)
    if not hasattr(Scalar, 'arctan2'):
        monkeypatch.setattr(
            Scalar,
            'arctan2',
            lambda y, x: y.recorder.put(('arctan2', y.index, x.index)),
            raising=False,
        )


@pytest.mark.parametrize('family', RANDOM_ARMS)
def test_recorded_branches(family):
    rng = np.random.default_rng(4)
    arm = RANDOM_ARMS[family](rng)
    chain, recorder = arm.chain(), Recorder()
    C = np.vstack([recorder.inputs('C', 12).reshape(3, 4), [[0.0, 0.0, 0.0, 1.0]]])
    swivel = recorder.inputs('swivel', 1)
    recorded = arm.branches(C, swivel[0]) if family == 'S-R-S' else arm.branches(C)
    made = program(recorder, [('C', 12), ('swivel', 1)], [recorded])
    assert made.operation_count < 700
    for q in rng.uniform(-3.0, 3.0, (3, len(chain))):
        C = chain.pose(q)
        angle = arm.swivel_of(q) if family == 'S-R-S' else 0.0
        (found,) = program_interpreter.run(made, C=C[:3].ravel(), swivel=np.array([angle]))
        apart = difference(chain, found, branches(arm, C, q))
        np.testing.assert_allclose(apart, 0.0, atol=1e-9)
