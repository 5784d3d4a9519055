# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Scale and offset of efforts, against NumPy's polynomials and what made the data."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.identification.effort_scales import effort_scale


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
