# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motion and torques of a reference for some of the joints, by elements."""

import numpy as np
import pytest

from screw_dynamics_ros.core.annotation.reference_torques import (
    Q,
    V,
    acceleration_less_compensated,
    feedforward_torques,
    reference_acceleration,
    replaced,
    torques_of_named,
    weight_torques,
)
from screw_dynamics_ros.core.estimation.effort_terms import TERMS

PLACES = (3, 0, 2)  # of the three joints with one coordinate
NAMED = (True, False, True)
ROWS = np.array([[1.0, 0, 1], [0.1, 0.2, 0.3], [1.1, 1.2, 1.3], [2.1, 0.0, 2.3]])
REFERENCE = ROWS.ravel()


@pytest.mark.parametrize(('row', 'values'), [(Q, ROWS[1]), (V, ROWS[2])])
def test_a_row_replaces_the_measured_values_of_named_joints(row, values):
    measured = np.array([10.0, 11.0, 12.0, 13.0])
    expected = measured.copy()
    for place, value, is_named in zip(PLACES, values, NAMED):
        if is_named:
            expected[place] = value
    assert replaced(measured, REFERENCE, row, PLACES).tolist() == expected.tolist()
    assert measured.tolist() == [10.0, 11.0, 12.0, 13.0]


def test_accelerations_and_torques_of_named_joints():
    assert reference_acceleration(REFERENCE, PLACES, 5).tolist() == [0.0, 0.0, 2.3, 2.1, 0.0]
    assert torques_of_named(np.array([5.0, 6.0, 7.0]), REFERENCE).tolist() == [5.0, 0.0, 7.0]


@pytest.mark.parametrize('lacking', [*TERMS, None])
def test_torques_that_a_robot_compensates_are_not_added(lacking):
    """Needed torques are rigid-body torques, payload and friction."""
    rigid, payload, friction, gravity, coriolis = np.random.default_rng(0).normal(size=(5, 3))
    shares = np.array([float(term != lacking) for term in TERMS])
    expected = rigid + payload + friction
    without = {
        'gravity': gravity, 'coriolis': coriolis, 'friction': friction, 'payload': payload,
    }  # fmt: skip
    if lacking in without:
        expected = expected - without[lacking]
    found = feedforward_torques(rigid, payload, friction, gravity, coriolis, shares)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    weight = gravity * (lacking != 'gravity') + payload * (lacking != 'payload')
    np.testing.assert_allclose(weight_torques(gravity, payload, shares), weight)
    found = acceleration_less_compensated(rigid, shares)
    assert found.tolist() == (rigid * (lacking != 'inertia')).tolist()
