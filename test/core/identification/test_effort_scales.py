# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Scale and offset of efforts, against NumPy's polynomials and what made the data."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.identification.effort_scales import effort_scale, servo_stiffness


@pytest.mark.parametrize('scale', [0.02, 1.0, -7.5])
def test_a_straight_line(scale):
    """Exact without noise; with it the line of `numpy.polyfit`, and a misfit of its size."""
    rng = np.random.default_rng(4)
    torque = rng.uniform(-40.0, 40.0, 12)
    effort = (torque - 1.5) / scale
    found = effort_scale(torque, effort)
    assert (found.scale, found.offset) == (pytest.approx(scale), pytest.approx(1.5))
    assert found.misfit < 1e-12
    noisy = effort + rng.normal(0.0, 0.1 / abs(scale), 12)
    found = effort_scale(torque, noisy)
    slope, offset = np.polyfit(noisy, torque, 1)
    assert (found.scale, found.offset) == (pytest.approx(slope), pytest.approx(offset))
    rest = torque - np.polyval([slope, offset], noisy)
    assert found.misfit == pytest.approx(rest.std() / torque.std())


def test_what_is_no_line_has_a_misfit():
    rng = np.random.default_rng(4)
    assert effort_scale(rng.normal(size=20), rng.normal(size=20)).misfit > 0.5


@pytest.mark.parametrize(
    ('torque', 'effort', 'least'),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([], [], 0.0),
        ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], 0.0),
        ([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], 0.0),
        ([1.0, 1.2, 1.4], [1.0, 1.2, 1.4], 0.5),
        ([1.0, np.nan, 3.0], [1.0, 2.0, 3.0], 0.0),
        ([1.0, 2.0, 3.0], [1.0, np.inf, 3.0], 0.0),
    ],
)
def test_what_is_not_told(torque, effort, least):
    assert effort_scale(torque, effort, least) is None


@pytest.mark.parametrize(
    ('torque', 'effort'), [([1.0, 2.0, 3.0], [1.0, 2.0]), ([[1.0]], [[1.0]]), (None, [1.0])]
)
def test_wrong_shapes(torque, effort):
    with pytest.raises(ArgumentError):
        effort_scale(torque, effort)


@pytest.mark.parametrize('seed', range(5))
def test_stiffness_of_a_servo(seed):
    """The interval holds the truth with an offset and static friction, and is the least squares."""
    rng = np.random.default_rng(seed)
    torque = rng.uniform(-2.0, 3.0, 12)
    commanded = rng.uniform(-1.0, 1.0, 12)
    friction = 0.05 * rng.uniform(-1.0, 1.0, 12)
    measured = commanded - 0.004 - (torque + friction) / 18.0
    stiffness, low, high = servo_stiffness(torque, commanded, measured)
    assert low < 18.0 < high < 1.2 * low
    assert stiffness == pytest.approx(1.0 / np.polyfit(torque, commanded - measured, 1)[0])


@pytest.mark.parametrize(
    ('torque', 'measured'),
    [
        ([1.0, 2.0], [0.0, 0.0]),
        ([1.0, 1.0, 1.0], [0.0, -0.1, 0.1]),
        ([1.0, 2.0, 3.0], [0.1, 0.2, 0.3]),
        ([1.0, 2.0, np.nan], [-0.1, -0.2, -0.3]),
    ],
)
def test_poses_that_do_not_determine_a_stiffness(torque, measured):
    """Also a position beyond the commanded one, as with another sign of the torque."""
    with pytest.raises(ArgumentError, match='do not determine the stiffness'):
        servo_stiffness(torque, np.zeros(len(torque)), measured)


def test_a_stiffness_without_an_upper_bound():
    stiffness, low, high = servo_stiffness([0.0, 1.0, 2.0], [0.1, 0.0, 0.25], np.zeros(3))
    assert 0.0 < low < stiffness
    assert high == np.inf
