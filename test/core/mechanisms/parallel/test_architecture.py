# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Special arrangements of pivots, against the determinant of the wrenches at sampled poses."""

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError
from screw_dynamics_ros.core.lie import so3
from screw_dynamics_ros.core.mechanisms.parallel import Mechanism, example_mechanisms
from screw_dynamics_ros.core.mechanisms.parallel.architecture import architecture
from screw_dynamics_ros.core.mechanisms.parallel.mechanism_description import check_home
from screw_dynamics_ros.core.mechanisms.parallel.platform_singularities import (
    is_architecturally_singular,
)

TILTED = so3.exp([0.2, -0.3, 0.7])
HEXAGON = example_mechanisms.circle(0.5, range(0, 360, 60))
OVAL = example_mechanisms.circle(0.5, [0, 40, 110, 170, 250, 300])


def platform_of(base, platform):
    legs = example_mechanisms.lengthening(np.asarray(base), np.asarray(platform))
    return Mechanism('platform', legs, example_mechanisms.home(0.6))


def scattered(seed):
    return np.random.default_rng(seed).normal(size=(6, 3)) * [0.4, 0.4, 0.0]


STRETCHED = np.array([[0.5, 0.3, 0.0], [-0.1, 0.8, 0.0], [0.0, 0.0, 1.0]])

CASES = {
    'hexagons': (HEXAGON, 0.6 * HEXAGON @ TILTED.T, 'similar', True),
    'turned over': (HEXAGON, 0.6 * HEXAGON * [1, -1, -1], 'similar', True),
    'similar on a circle': (OVAL, 0.5 * OVAL @ TILTED.T, 'similar', True),
    'affine on a conic': (OVAL, OVAL @ STRETCHED.T + [0.1, 0.0, 0.05], 'affine', True),
    'similar, no conic': (scattered(1), 0.5 * scattered(1) @ TILTED.T, 'similar', False),
    'affine, no conic': (scattered(1), scattered(1) @ STRETCHED.T, 'affine', False),
    'circles, not related': (OVAL, 0.6 * HEXAGON, 'none', False),
    'next corner': (HEXAGON, 0.6 * HEXAGON[[1, 2, 3, 4, 5, 0]], 'similar', True),
    'other order': (HEXAGON, 0.6 * HEXAGON[[1, 0, 3, 2, 5, 4]], 'none', False),
    'planes only': (scattered(1), scattered(2), 'none', False),
    'spatial': (scattered(1) + [0, 0, 0.1] * np.arange(6)[:, None] ** 2, HEXAGON, 'none', False),
}


@pytest.mark.parametrize('name', CASES)
def test_relations_and_what_they_mean(name):
    """C-122: recognized; singular in all poses just where sampled determinants vanish."""
    base, platform, relation, singular = CASES[name]
    mechanism = platform_of(base, platform)
    found = architecture(mechanism)
    assert (found.relation, found.singular) == (relation, singular)
    assert is_architecturally_singular(mechanism) == singular


def test_names():
    """C-122: regular hexagons are named, in descriptions that are refused, too."""
    found = architecture(platform_of(*CASES['hexagons'][:2]))
    assert found.regular_hexagon
    assert 'similar regular hexagons: singular in all poses' in found.message
    assert 'polygons on conics' in architecture(platform_of(OVAL, 0.5 * OVAL)).message
    assert architecture(example_mechanisms.stewart_gough()).message == 'nothing special'
    with pytest.raises(DescriptionError, match='similar regular hexagons: singular in all poses'):
        check_home(platform_of(HEXAGON, 0.6 * HEXAGON))


def test_five_pivots_on_a_line():
    """C-122: on either side; four are not enough."""
    random = np.random.default_rng(3)
    line = np.outer([0.0, 0.1, 0.3, 0.35, 0.6, 0.9], [0.5, 0.4, 0.1])
    line[2] = [0.3, -0.4, 0.0]
    other = random.normal(size=(6, 3)) * 0.3
    names = ('leg_1', 'leg_2', 'leg_4', 'leg_5', 'leg_6')
    assert architecture(platform_of(line, other)).collinear == {'base': names}
    found = architecture(platform_of(other, line))
    assert found.collinear == {'platform': names}
    assert 'leg_6 on the platform lie on a line' in found.message
    line[4] += [0.0, 0.0, 0.1]
    assert architecture(platform_of(line, other)).collinear == {}


def test_other_legs_are_refused():
    with pytest.raises(ArgumentError, match='six UPS legs'):
        architecture(example_mechanisms.hexa())
