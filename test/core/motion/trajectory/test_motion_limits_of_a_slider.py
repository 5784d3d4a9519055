# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Limits of a mass of 2 kg on a rail, from both sides: position, velocity, effort, and words."""

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Inertia, Joint, Limits, Link, RobotDescription
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.motion.trajectory import feasible_motion
from screw_dynamics_ros.core.motion.trajectory.feasible_motion import ExceededLimitError
from screw_dynamics_ros.core.motion.trajectory.limits import (
    LimitExcess,
    exceeded_limits,
    extreme,
)
from screw_dynamics_ros.core.motion.trajectory.motion import Motion


@pytest.fixture(scope='module')
def slider():
    """Between -1 and 2 m, up to 3 m/s and 8 N."""
    rail = Joint(
        'rail',
        'prismatic',
        'base',
        'mass',
        se3.pose(np.eye(3), np.zeros(3)),
        np.array([1.0, 0, 0]),
        Limits(-1.0, 2.0, 3.0, 8.0),
    )
    mass = Link('mass', Inertia(2.0, np.zeros(3), 0.1 * np.eye(3)))
    description = RobotDescription.from_parts('slider', [Link('base'), mass], [rail])
    return Robot(description, backend='reference')


def motion(q=(0.0, 0.0, 0.0), v=(0.0, 0.0, 0.0), a=(0.0, 0.0, 0.0)):
    """Return three samples, 1 s apart."""
    return Motion(np.arange(3.0), *(np.array(x, dtype=float)[:, None] for x in (q, v, a)))


@pytest.mark.parametrize(
    ('samples', 'options', 'message'),
    [
        ({'q': (0, 2 + 0.9e-6, 0)}, {}, ''),
        ({'q': (0, 2 + 1.1e-6, 0)}, {}, r"position of joint 'rail' beyond its limit 2 from 1 s"),
        ({'q': (0, -1 - 1.1e-6, 0)}, {}, r"position of joint 'rail' beyond its limit -1 from 1 s"),
        ({'q': (2.5, 0, 0)}, {}, r'limit 2 from 0 s to 0 s: 2\.5 at 0 s'),
        ({'q': (2.5, 0, 0)}, {'is_measured': True}, ''),
        ({'q': (2.5, 2.4, 0)}, {'is_measured': True}, 'limit 2 from 0 s to 1 s: 2.5 at 0 s'),
        ({'q': (0, 2.5, 0)}, {'is_measured': True}, 'limit 2 from 1 s to 1 s'),
        ({'v': (0, 3 * 1.0009, 0)}, {}, ''),
        ({'v': (0, -3 * 1.0011, 0)}, {}, "velocity of joint 'rail' beyond its limit -3 from 1 s"),
        ({'a': (0, 4 * 1.0009, 0)}, {}, ''),
        (
            {'a': (0, 4 * 1.0011, 0)},
            {},
            r"effort of joint 'rail' beyond its limit 8 .*: 8\.0088 at",
        ),
        ({'a': (0, 2.1, 0)}, {'effort_limit_factor': 0.5}, r'limit 4 from 1 s to 1 s: 4\.2 at 1 s'),
        ({'a': (0, 1.9, 0)}, {'effort_limit_factor': 0.5}, ''),
    ],
)
def test_limits_from_both_sides(slider, samples, options, message):
    """1e-6 m of position, 0.1 % of velocity and effort are rounding."""
    given = motion(**samples)
    if message:
        with pytest.raises(ExceededLimitError, match=message):
            feasible_motion(slider, given, on_excess='refuse', **options)
        return
    found = feasible_motion(slider, given, on_excess='refuse', **options)
    assert found.motion is given
    assert (found.exceeded, found.slowness, found.reason) == ([], 1.0, '')


def test_positions_are_named_before_what_could_be_slowed(slider):
    given = motion(q=(0, 0, 2.5), v=(0, 9.0, 0))
    for on_excess in ('slow', 'refuse'):
        with pytest.raises(ExceededLimitError, match='position of joint'):
            feasible_motion(slider, given, on_excess=on_excess)
    passed = feasible_motion(slider, given, on_excess='pass')
    assert [excess.quantity for excess in passed.exceeded] == ['velocity', 'position']
    with pytest.raises(ExceededLimitError, match='velocity of joint'):
        feasible_motion(slider, motion(v=(0, 9.0, 0)), on_excess='refuse')


def test_a_single_sample_cannot_be_slowed(slider):
    alone = Motion(np.zeros(1), np.zeros((1, 1)), np.full((1, 1), 4.0), np.zeros((1, 1)))
    with pytest.raises(ExceededLimitError, match='velocity of joint'):
        feasible_motion(slider, alone)


def test_stretches_and_their_words(slider):
    """Each with its first, last and worst sample; in the order of time."""
    q = np.array([0, 2.1, 2.4, 2.2, 0, -1.5, 0, 0, 0.0])
    v = np.array([0, 0, 0, 0, 0, 0, 3.5, -4.0, 0])
    n = len(q)
    given = Motion(0.5 * np.arange(n), q[:, None], v[:, None], np.zeros((n, 1)))
    efforts = np.zeros((n, 1))
    efforts[0], efforts[-1] = 9.0, -10.0
    found = exceeded_limits(slider, given, efforts)
    expected = [
        LimitExcess('rail', 'effort', 0.0, 0.0, 0.0, 9.0, 8.0),
        LimitExcess('rail', 'position', 0.5, 1.5, 1.0, 2.4, 2.0),
        LimitExcess('rail', 'position', 2.5, 2.5, 2.5, -1.5, -1.0),
        LimitExcess('rail', 'velocity', 3.0, 3.5, 3.5, -4.0, -3.0),
        LimitExcess('rail', 'effort', 4.0, 4.0, 4.0, -10.0, -8.0),
    ]
    assert found == expected
    assert [excess.amount for excess in found] == pytest.approx([1.0, 0.4, 0.5, 1.0, 2.0])
    assert str(found[1]) == (
        "position of joint 'rail' beyond its limit 2 from 0.5 s to 1.5 s: 2.4 at 1 s"
    )
    assert len(exceeded_limits(slider, given, efforts, np.array([9.5]))) == 4
    exact = motion(q=(2.0, -1.0, 0), v=(3.0, -3.0, 0))
    assert exceeded_limits(slider, exact, np.array([[8.0], [-8.0], [0.0]])) == []


@pytest.mark.parametrize('count', [1, 63, 64, 65, 128, 200])
def test_extremes_of_columns(count):
    values = np.random.default_rng(count).normal(size=(count, 3))
    np.testing.assert_array_equal(extreme(np.maximum, values), values.max(axis=0))
    np.testing.assert_array_equal(extreme(np.minimum, values), values.min(axis=0))


def test_a_motion_that_is_too_fast_after_its_start(slider):
    """It starts as given and is slowed from there on; where it starts too fast it is refused."""
    time, q = 0.1 * np.arange(4), np.array([0.0, 0.3, 0.62, 0.92])
    v, a = np.array([2.8, 3.3, 3.1, 2.8]), np.array([1.0, 0.0, -1.0, 0.0])
    given = Motion(time, q[:, None], v[:, None], a[:, None])
    found = feasible_motion(slider, given)
    assert found.motion.v[0, 0] == pytest.approx(2.8, rel=1e-3)
    assert found.motion.v.max() <= 3.0 * (1 + 1e-3)
    assert found.slowness == pytest.approx(np.ptp(found.motion.time) / 0.3)
    assert found.slowness > 1.0
    assert found.reason == str(found.exceeded[0])
    assert "velocity of joint 'rail' beyond its limit 3 from 0.1 s to 0.2 s: 3.3" in found.reason
    v[0] = 3.3
    with pytest.raises(ExceededLimitError, match='cannot be slowed down from its start, where the'):
        feasible_motion(slider, Motion(time, q[:, None], v[:, None], a[:, None]))
