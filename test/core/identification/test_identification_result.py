# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Intervals and errors of results, against SciPy's distributions and counted shares."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from scipy.stats import t

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.identification import DynamicIdentification
from screw_dynamics_ros.core.identification.result import Torques


def result(**given):
    """Return a result with some fields; all others are None."""
    names = [each.name for each in fields(DynamicIdentification)]
    return DynamicIdentification(**dict.fromkeys(names) | given)


@pytest.mark.parametrize('probability', [0.5, 0.95])
def test_intervals_of_parameters_are_those_of_student(probability):
    values, deviations, freedom = np.array([2.0, -3.0]), np.array([0.5, 0.1]), np.array([3.0, 50.0])
    found = result(values=values, deviations=deviations, degrees_of_freedom=freedom)
    expected = np.transpose(t.interval(probability, freedom, values, deviations))
    np.testing.assert_allclose(found.intervals(probability), expected, rtol=1e-12)
    if probability == 0.95:
        np.testing.assert_array_equal(found.intervals(), found.intervals(0.95))
        for wrong in (0.0, 1.0, -0.1, np.nan):
            with pytest.raises(ArgumentError, match='between 0 and 1'):
                found.intervals(wrong)


@pytest.mark.parametrize('scale', [4.0, -4.0])
@pytest.mark.parametrize('probability', [0.9, 0.95])
def test_intervals_of_scales_are_those_of_their_reciprocals(scale, probability):
    """The gain 1 / scale has the deviation (deviation of the scale) / scale^2."""
    found = result(
        effort_scale=np.array([scale, 1.0]),
        scale_deviation=np.array([0.8, 0.0]),
        scale_freedom=np.array([6.0, 1.0]),
    )
    gains = t.interval(probability, 6.0, 1.0 / scale, 0.8 / scale**2)
    expected = np.sort(1.0 / np.array(gains))
    np.testing.assert_allclose(found.scale_intervals(probability)[0], expected, rtol=1e-12)
    assert found.scale_intervals()[1].tolist() == [1.0, 1.0]
    if probability == 0.95:
        np.testing.assert_array_equal(found.scale_intervals(), found.scale_intervals(0.95))


def test_a_scale_whose_gain_may_be_zero_has_no_bound():
    found = result(
        effort_scale=np.array([4.0]), scale_deviation=np.array([4.0]), scale_freedom=np.array([6.0])
    )
    with np.errstate(divide='ignore'):
        ((low, high),) = found.scale_intervals()
    assert low == pytest.approx(4.0 / (1.0 + t.ppf(0.975, 6.0)))
    assert high == np.inf


def test_errors_of_instants_that_were_held_out_or_fitted():
    """Root mean squares; the nominal model is compared with efforts without offset."""
    held = np.array([True, True, False, False])
    measured = np.array([[3.0], [-4.0], [1.0], [7.0]])
    identified = measured - [[1.0], [-2.0], [0.1], [0.3]]
    reported = measured + 10.0
    nominal = reported + [[5.0], [5.0], [2.0], [-2.0]]
    numbers = np.zeros(4, dtype=int)
    given = Torques(np.arange(4.0), numbers, held, measured, identified, nominal, reported, numbers)
    found = result(torques=given)
    expected = np.sqrt([[12.5], [2.5], [25.0]]), np.sqrt([[25.0], [0.05], [4.0]])
    np.testing.assert_allclose(found.errors(), expected[0])
    np.testing.assert_allclose(found.errors(held_out=True), expected[0])
    np.testing.assert_allclose(found.errors(held_out=False), expected[1])
    none = Torques(
        np.arange(4.0), numbers, ~held | held, measured, identified, nominal, reported, numbers
    )
    assert np.isnan(result(torques=none).errors(held_out=False)).all()
