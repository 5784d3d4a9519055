# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Legs: which dimensions they may have, and the motor positions of a point by hand."""

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.mechanisms.parallel import PUS, RUS, UPS, Mechanism, example_mechanisms

SLIDE = {'name': 's', 'base': [0, 0, 0], 'platform': [0, 0, 0], 'direction': [0, 0, 1], 'length': 2}
CRANK = {
    'name': 'c',
    'base': [0, 0, 0],
    'platform': [0, 0, 0],
    'axis': [0, 0, 1],
    'zero': [1, 0, 0],
    'crank': 1.0,
    'length': 2.0,
}
ROD = {'name': 'r', 'base': [1, 0, 0], 'platform': [0, 0, 0]}
PAIR = np.array([[0.0, 0.0, 0.1], [0.0, 0.0, -0.1]])


@pytest.mark.parametrize(
    ('kind', 'changes', 'message'),
    [
        (UPS, {'base': [1, 2]}, r"leg 'r': base must be a point \(3,\), or one for each rod"),
        (UPS, {'platform': np.zeros((1, 1, 3))}, "leg 'r': platform must be a point"),
        (UPS, {'base': [np.inf, 0, 0]}, 'of finite numbers, got .inf, 0'),
        (UPS, {'base': PAIR}, "leg 'r': 2 pivots of the base and 1 of the platform"),
        (UPS, {'base': PAIR, 'platform': PAIR}, 'a motor cannot lengthen 2 rods'),
        (UPS, {'branch': 0}, "leg 'r': branch must be 1 or -1, got 0"),
        (UPS, {'lower': 1.0, 'upper': 1.0}, r'two rising numbers, got 1\.0 and 1\.0'),
        (UPS, {'lower': np.nan}, 'limits must be two rising numbers'),
        (UPS, {'upper': 'high'}, "two rising numbers, got 0.0 and 'high'"),
        (UPS, {'lower': 0.5, 'offset': -0.51}, r'lower \+ offset = 0\.5 \+ -0\.51 m, must not be'),
        (UPS, {'offset': None}, 'must not be negative'),
        (PUS, {'direction': [0, 0, 1 + 2e-6]}, "leg 's': direction must be a unit vector"),
        (PUS, {'direction': [0, 1]}, 'direction must be a unit vector'),
        (PUS, {'length': np.inf}, r"leg 's': length must be a positive length \[m\], got inf"),
        (PUS, {'length': -1.0}, 'length must be a positive length'),
        (RUS, {'axis': [0, 0, 2]}, "leg 'c': axis must be a unit vector"),
        (RUS, {'zero': [0, 2, 0]}, "leg 'c': zero must be a unit vector"),
        (RUS, {'crank': 0.0}, "leg 'c': crank must be a positive length"),
        (RUS, {'length': '2'}, "leg 'c': length must be a positive length"),
        (
            RUS,
            {'zero': [np.cos(2e-6), 0, np.sin(2e-6)]},
            r'orthogonal to the axis of the motor; their product is 2e-06',
        ),
        (
            RUS,
            {'base': PAIR + [[0, 0, 0], [2e-6, 0, 0]], 'platform': PAIR},
            'the pivots of its 2 rods must lie on one line',
        ),
    ],
)
def test_refused(kind, changes, message):
    start = {UPS: ROD, PUS: SLIDE, RUS: CRANK}[kind]
    with pytest.raises(ArgumentError, match=message):
        kind(**{**start, **changes})


def test_numbers_of_files_are_accepted():
    """Directions to 1e-6, made exact; a rod that may have no length."""
    slide = PUS(**{**SLIDE, 'direction': [0, 5e-7, 1 + 5e-7]})
    assert np.linalg.norm(slide.direction) == 1.0
    crank = RUS(**{**CRANK, 'zero': [1, 0, 5e-7], 'base': PAIR + [5e-7, 0, 0], 'platform': PAIR})
    assert abs(crank.axis @ crank.zero) < 1e-16
    assert np.linalg.norm(crank.zero) == pytest.approx(1.0, abs=1e-15)
    assert crank.base.shape == (2, 3)
    rod = UPS(**ROD, lower=0.5, offset=-0.5)
    assert (rod.base.shape, rod.platform.shape) == ((1, 3), (1, 3))
    assert (rod.lower, rod.upper, rod.branch) == (0.5, np.inf, 1)
    free = RUS(**CRANK)
    assert (free.lower, free.upper) == (-np.inf, np.inf)


def test_motor_positions_by_hand():
    rod = UPS(**ROD, offset=0.5)
    np.testing.assert_allclose(rod.positions(0, [1, 3, 4]), [4.5, 4.5])
    assert rod.lengths(4.5) == 5.0
    np.testing.assert_array_equal(rod.elbows(4.5), [[1, 0, 0]])
    assert rod.lever(4.5, np.array([0, 0.6, 0.8])) == 1.0

    slide = PUS(**{**SLIDE, 'base': [[0, 0, 0], [1, 0, 0]], 'platform': [[0, 0, 0], [1, 0, 0]]})
    np.testing.assert_allclose(slide.positions(0, [1.2, 0, 5]), [6.6, 3.4])
    np.testing.assert_allclose(slide.positions(1, [2.2, 0, 5]), [6.6, 3.4])
    np.testing.assert_array_equal(slide.elbows(3.0), [[0, 0, 3], [1, 0, 3]])
    assert slide.lever(3.0, np.array([0.6, 0, 0.8])) == 0.8
    assert np.isnan(slide.positions(0, [2.1, 0, 5])).all()

    crank = RUS(**CRANK)  # about z, along x at 0: at a quarter of a turn along y
    np.testing.assert_allclose(crank.elbows(np.pi / 2), [[0, 1, 0]], atol=1e-16)
    # elbow and pivot with the sides 1, 2 and sqrt(5): a right angle at the elbow
    both = crank.positions(0, [np.sqrt(5), 0, 0])
    np.testing.assert_allclose(sorted(both), [-np.arctan(2), np.arctan(2)], atol=1e-15)
    for q in both:
        assert np.linalg.norm(crank.elbows(q)[0] - [np.sqrt(5), 0, 0]) == pytest.approx(2.0)
    across = np.array([0.0, 1.0, 0.0])
    assert crank.lever(0.0, across) == pytest.approx(1.0)  # a rod across the crank
    assert crank.lever(np.pi / 2, across) == pytest.approx(0.0, abs=1e-15)  # one along it


def test_size_and_pivots():
    """The size is the largest distance from the mean, on base or platform."""
    mechanism = example_mechanisms.three_two_one()
    for pivots in (mechanism.base_pivots, mechanism.platform_pivots):
        far = max(np.linalg.norm(p - pivots.mean(axis=0)) for p in pivots)
        assert far <= mechanism.size
    base = mechanism.base_pivots
    assert mechanism.size == max(np.linalg.norm(p - base.mean(axis=0)) for p in base)
    legs = example_mechanisms.lengthening(mechanism.platform_pivots, base, 0.2, 0.8)
    turned = Mechanism('turned', legs, mechanism.home)
    assert turned.size == mechanism.size
    np.testing.assert_array_equal(turned.lower, 0.2)
    np.testing.assert_array_equal(turned.upper, 0.8)
    assert turned.inertia.mass == 0.0
    delta = example_mechanisms.delta()
    assert delta.rod_legs == ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1))
    expected = np.repeat(np.eye(3), 2, axis=0)
    np.testing.assert_array_equal(delta.motor_of_rod, expected)


@pytest.mark.parametrize(
    ('home', 'message'),
    [
        (np.eye(3), r'm: home must be a pose \(4, 4\)'),
        (np.full((4, 4), np.nan), 'm: home must be a pose'),
        (np.diag([1.0, 1, 2, 1]), 'm: home'),
    ],
)
def test_homes_that_are_refused(home, message):
    with pytest.raises(ArgumentError, match=message):
        Mechanism('m', example_mechanisms.stewart_gough().legs, home)
