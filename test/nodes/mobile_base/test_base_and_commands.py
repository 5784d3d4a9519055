# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Platforms of parameters, and commands to twists, without ROS running."""

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.nodes.mobile_base.assembly import make_base
from screw_dynamics_ros.nodes.mobile_base.odometry_node import CommandFilter
from screw_dynamics_ros.nodes.mobile_base.parameters import TABLE

DEFAULTS = {s.name: [x for x in s.default if x] if s.default == [''] else s.default for s in TABLE}
WHEELS = {
    'wheel_radius': 0.1,
    'wheel_separation': 0.5,
    'left_wheel_names': ['l1', 'l2'],
    'right_wheel_names': ['r1', 'r2'],
}
CAR = {
    'platform': 'bicycle',
    'wheel_radius': 0.3,
    'wheelbase': 1.2,
    'wheel_names': ['rear'],
    'steering_names': ['front'],
}


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'wheel_radius': 0.0}, 'wheel_radius must be set to a positive length'),
        ({'wheel_separation': 0.0}, 'wheel_separation must be set'),
        ({'left_wheel_names': []}, 'left_wheel_names must name'),
        ({'left_wheel_names': ['r1']}, 'r1 is named twice'),
        ({'odom_joint_names': ['x', 'y']}, 'odom_joint_names must be empty or three joints'),
        ({'platform': 'bicycle'}, 'wheelbase must be set'),
        ({**CAR, 'wheel_names': []}, 'wheel_names must be 1 joints for a bicycle'),
        ({**CAR, 'steering_names': []}, 'steering_names must be 1 joints'),
        ({'platform': 'swerve', 'wheel_names': ['a', 'b']}, 'wheel_positions must be x and y'),
        ({'platform': 'omnidirectional', 'robot_radius': 0.3}, 'at least 3 wheels'),
    ],
)
def test_parameters_that_do_not_fit(changes, reason):
    with pytest.raises(ArgumentError, match=reason):
        make_base({**DEFAULTS, **WHEELS, **changes})


@pytest.mark.parametrize(
    ('kind', 'wheels', 'steering'),
    [('ackermann', 2, 2), ('mecanum', 4, 0), ('omnidirectional', 3, 0), ('swerve', 2, 2)],
)
def test_other_platforms(kind, wheels, steering):
    base = make_base(
        {
            **DEFAULTS,
            **WHEELS,
            'platform': kind,
            'wheelbase': 0.7,
            'robot_radius': 0.3,
            'wheel_positions': [0.3, 0.0, -0.3, 0.0],
            'wheel_names': [f'w{k}' for k in range(wheels)],
            'steering_names': [f's{k}' for k in range(steering)],
        }
    )
    assert base.joints == (*(f'w{k}' for k in range(wheels)), *(f's{k}' for k in range(steering)))


# --- commands ------------------------------------------------------------------------------------


def filter_of(**changes):
    values = {**DEFAULTS, **WHEELS, **changes}
    return CommandFilter(make_base(values).platform, lambda: values)


def test_command_is_filtered_and_ends_with_zero():
    """Sideways is taken out; after the timeout the platform stops, then nothing is sent."""
    commands = filter_of(cmd_vel_timeout=0.1, **{'linear.x.max_acceleration': 10.0})
    assert commands.next(0.0, 0.02) is None
    commands.take([0.5, 1.0, 0.3], 0.0)
    first = commands.next(0.02, 0.02)
    np.testing.assert_allclose(first, [0.5, 0.2, 0.0], atol=1e-12)
    assert 'not feasible' in commands.acting
    assert 'limits' in commands.acting
    sent = [commands.next(t, 0.02) for t in np.arange(2, 20) * 0.02]
    ends = [k for k, twist in enumerate(sent) if twist is None]
    assert not sent[ends[0] - 1].any()
    assert all(twist is None for twist in sent[ends[0] :])
    assert max(twist[1] for twist in sent[: ends[0]]) == pytest.approx(1.0)


def test_curvature_of_commands_is_that_of_the_steering():
    commands = filter_of(**CAR, max_steering_angle=0.35)
    commands.take([2.0, 1.0, 0.0], 0.0)
    omega, v, _ = commands.next(0.01, 0.01)
    assert (omega, v) == pytest.approx((np.tan(0.35) / 1.2, 1.0))


def test_bad_command_leaves_the_one_before_active():
    commands = filter_of()
    commands.take([0.0, 1.0, 0.0], 0.0)
    with pytest.raises(ArgumentError, match='not finite'):
        commands.take([np.nan, 0.0, 0.0], 0.1)
    np.testing.assert_allclose(commands.next(0.2, 0.1), [0.0, 1.0, 0.0], atol=1e-12)
