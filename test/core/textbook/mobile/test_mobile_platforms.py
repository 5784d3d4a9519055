# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Platforms as kinematic models, and platforms and planar joints that are made of plain data."""

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Joint, Link, RobotDescription
from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError
from screw_dynamics_ros.core.kinematic_model import KinematicModel
from screw_dynamics_ros.core.lie import screws, se3
from screw_dynamics_ros.core.mobile import planar, platforms
from screw_dynamics_ros.core.textbook.mobile.mobile_kinematics import MobileKinematics
from screw_dynamics_ros.core.textbook.mobile.platform_description import (
    base_joints,
    on_planar_joint,
    platform_from,
)
from support.planar_2r import planar_2r

CORNERS = [[0.4, 0.3], [0.4, -0.3], [-0.4, 0.3], [-0.4, -0.3]]
SWERVE = platforms.swerve(CORNERS, 0.1)
DIFFERENTIAL = platforms.differential_drive(0.5, 0.1, 0.11)
PLATFORMS = {
    'mecanum': (platforms.mecanum(0.6, 0.4, 0.1), []),
    'differential drive': (DIFFERENTIAL, []),
    'bicycle': (platforms.bicycle(1.2, 0.3), [0.35]),
    'swerve': (SWERVE, platforms.steering_for(SWERVE, [0.5, 1.0, 0.3])),
}
each = pytest.mark.parametrize('name', PLATFORMS)


def admissible(name, rng):
    """Return a platform, its steering angles, and a twist without slip."""
    platform, steering = PLATFORMS[name]
    A = platform.slip_matrix(steering)
    free = np.eye(3) if not len(A) else np.linalg.svd(A)[2][np.linalg.matrix_rank(A, 1e-9) :].T
    return platform, steering, free @ rng.normal(size=free.shape[1])


@each
def test_calls_of_every_kinematic_model(name):
    """Positions of one arc, velocities by differences, forces by virtual work (C-012)."""
    rng = np.random.default_rng(4)
    platform, steering, t = admissible(name, rng)
    model = MobileKinematics(platform)
    assert isinstance(model, KinematicModel)
    t *= 0.5 / np.abs(t).max()
    q = np.concatenate([platform.wheel_rates(t, steering), steering])
    pose = model.forward_position(q)
    np.testing.assert_allclose(pose, se3.exp(planar.EMBEDDING @ t), atol=1e-12)
    back = model.inverse_position(pose, q)
    np.testing.assert_allclose(model.forward_position(back), pose, atol=1e-12)
    v = np.concatenate([q[: model.n], np.zeros(model.k)])  # along the arc
    h = 1e-6
    ends = [model.forward_position(q + s * h * v) for s in (-1, 1)]
    rate = (ends[1] - ends[0]) / (2 * h)
    V = model.forward_velocity(q, v)
    np.testing.assert_allclose(V[3:], rate[:3, 3], atol=1e-8)
    np.testing.assert_allclose(V[2], (rate[:3, :3] @ pose[:3, :3].T)[1, 0], atol=1e-8)
    np.testing.assert_allclose(model.inverse_velocity(q, V), v, atol=1e-9)
    W = planar.EMBEDDING @ rng.normal(size=3)
    assert model.inverse_force(q, W) @ v == pytest.approx(screws.power(W, V), abs=1e-10)
    tau = np.concatenate([rng.normal(size=model.n), np.zeros(model.k)])
    assert screws.power(model.forward_force(q, tau), V) == pytest.approx(tau @ v, abs=1e-10)


def test_poses_and_twists_that_slip_are_refused():
    model = MobileKinematics(DIFFERENTIAL)
    with pytest.raises(ArgumentError, match=r"wheel 'right' would slip .*turn_drive_turn"):
        model.inverse_position(planar.to_space([0.0, 0.0, 1.0]))
    with pytest.raises(ArgumentError, match='admissible_twist'):
        model.inverse_velocity([0, 0], [0, 0, 0, 0, 1, 0])
    with pytest.raises(ArgumentError, match='finite'):
        model.forward_position([np.nan, 0])


def test_an_arc_starts_at_a_seed():
    model = MobileKinematics(DIFFERENTIAL)
    start = planar.to_space([0.7, -1.0, 2.0])
    arc = model.forward_position([3.0, 5.0])
    np.testing.assert_allclose(model.forward_position([3.0, 5.0], start), start @ arc, atol=1e-12)


def test_wheels_are_steered_to_the_side_that_is_near_the_seed():
    """The same arc, driven forward or backward by the wheel that steers."""
    model = MobileKinematics(PLATFORMS['bicycle'][0])
    pose = planar.to_space(planar.exp([0.2, 1.0, 0.0]))
    ahead = model.inverse_position(pose)
    turned = model.inverse_position(pose, [0.0, ahead[1] + np.pi - 0.1])
    assert ahead[1] == pytest.approx(np.arctan(1.2 * 0.2), abs=1e-12)
    assert turned[1] == pytest.approx(ahead[1] + np.pi, abs=1e-12)


@pytest.mark.parametrize(('slip', 'is_refused'), [(0.5e-6, False), (2e-6, True)])
def test_slip_that_is_rounding(slip, is_refused):
    """1 um per meter, of the largest component, or of 1 rad and 1 m if all are smaller."""
    model = MobileKinematics(DIFFERENTIAL)
    for size in (0.0, 0.5, 10.0):
        twist = [0, 0, 0.1 * size, size, max(size, 1.0) * slip, 0]
        if is_refused:
            with pytest.raises(ArgumentError, match=r"the twist is not .*'right' would slip"):
                model.inverse_velocity([0, 0], twist)
        else:
            model.inverse_velocity([0, 0], twist)


def test_vectors_that_are_not_finite_are_refused():
    model, rest = MobileKinematics(DIFFERENTIAL), [0.0, 0.0]
    for call, name in (
        (lambda x: model.forward_position(x[:2]), 'q must be finite'),
        (lambda x: model.forward_velocity(rest, x[:2]), 'v must be finite'),
        (lambda x: model.forward_force(rest, x[:2]), 'tau must be finite'),
        (lambda x: model.inverse_force(rest, x), 'the wrench must be finite'),
    ):
        with pytest.raises(ArgumentError, match=name):
            call(np.array([np.nan, 0, 0, 0, 0, 0]))


# --- plain data -----------------------------------------------------------------------------------

#: (kind, dimensions, function)
KINDS = [
    ('differential', {'separation': 0.5, 'radius': 0.1}, platforms.differential_drive),
    ('bicycle', {'wheelbase': 1.2, 'radius': 0.3}, platforms.bicycle),
    ('ackermann', {'wheelbase': 1.2, 'track': 0.6, 'radius': 0.3}, platforms.ackermann),
    ('omnidirectional', {'count': 3, 'distance': 0.3, 'radius': 0.05}, platforms.omnidirectional),
    (
        'omnidirectional',
        {'count': 3, 'distance': 0.3, 'radius': 0.05, 'first': 0.2},
        platforms.omnidirectional,
    ),
    ('mecanum', {'length': 0.6, 'width': 0.4, 'radius': 0.1}, platforms.mecanum),
    ('swerve', {'positions': CORNERS, 'radius': 0.1}, platforms.swerve),
]


@pytest.mark.parametrize(('kind', 'dimensions', 'make'), KINDS)
def test_each_kind_with_its_dimensions(kind, dimensions, make):
    """In the order in which the functions have them."""
    content = {'kind': kind, **dimensions}
    made, expected = platform_from(content), make(*dimensions.values())
    for a, b in zip(made.wheels, expected.wheels):
        assert (a.name, a.radius, a.steered, a.driven) == (b.name, b.radius, b.steered, b.driven)
        np.testing.assert_array_equal(a.position, b.position)
        assert (a.direction, a.roller_angle) == (b.direction, b.roller_angle)
    for key in content:
        if key not in ('kind', 'first'):
            less = {k: value for k, value in content.items() if k != key}
            reason = f'the platform: unknown: none; missing: {key}; there are '
            with pytest.raises(DescriptionError, match=reason):
                platform_from(less)
    with pytest.raises(DescriptionError, match='unknown: color; missing: none; there are '):
        platform_from({**content, 'color': 1})


def test_names_of_the_wheels_of_a_kind():
    content = {'kind': 'differential', 'separation': 0.5, 'radius': 0.1}
    made = platform_from(content)
    have = ', '.join(wheel.name for wheel in made.wheels)
    for names in (['r'], ['a', 'b', 'c'], 'rl', 3):
        with pytest.raises(DescriptionError, match=f'one name for each of {have}, got '):
            platform_from({**content, 'wheels': names})
    with pytest.raises(DescriptionError, match='each of wheels must have keys and values, got 3'):
        platform_from({'wheels': [3]})


def test_platforms_from_plain_data():
    """A kind with its dimensions, or wheel by wheel; faults are named with the file."""
    named = platform_from(
        {'kind': 'differential', 'separation': 0.5, 'radius': 0.1, 'wheels': ['r', 'l']}
    )
    assert [wheel.name for wheel in named.wheels] == ['r', 'l']
    wheels = [
        {'name': n, 'position': [0, y], 'radius': 0.1} for n, y in (('r', -0.25), ('l', 0.25))
    ]
    own = platform_from({'wheels': wheels})
    np.testing.assert_array_equal(own.wrench_basis(), named.wrench_basis())
    for content, reason in (
        ({'kind': 'hover'}, "base.yaml: kind is 'hover'; use one of differential"),
        ({'kind': 'differential', 'separation': 0.5}, 'missing: radius'),
        ({'kind': 'bicycle', 'wheelbase': 1.0, 'radius': 0}, "'rear': radius"),
        ({'kind': 'bicycle', 'wheelbase': 'long', 'radius': 1}, 'wheelbase'),
        ({'wheels': [{'name': 'a', 'position': [0, 0]}]}, 'missing: radius'),
        ({'wheels': 3}, 'must be a list'),
        ([], 'keys and values'),
    ):
        with pytest.raises(DescriptionError, match=reason):
            platform_from(content, 'base.yaml')


# --- the planar joint -----------------------------------------------------------------------------


@pytest.mark.parametrize('scalar', [False, True])
def test_a_robot_on_a_planar_joint(scalar):
    """Coordinates (x, y, phi) of the old root in the new one, at the height of the origin."""
    height = se3.pose(np.eye(3), [0.0, 0.0, 0.4])
    made = on_planar_joint(planar_2r(), joint='plane', odom='ground', origin=height, scalar=scalar)
    assert made.root == 'ground'
    assert made.name == planar_2r().name
    names = ['plane1', 'plane2', 'plane3'] if scalar else ['plane']
    assert [joint.name for joint in made.joints][: len(names)] == names
    assert [joint.name for joint in base_joints(made, 'plane')] == names
    robot = Robot(made, backend='reference')
    q = np.array([1.0, 2.0, 0.5, 0.3, -0.4])
    expected = height @ planar.to_space([0.5, 1.0, 2.0])
    np.testing.assert_allclose(robot.link_pose(q, planar_2r().root), expected, atol=1e-12)
    default = on_planar_joint(planar_2r(), odom='odom', scalar=scalar)
    assert base_joints(default, 'mobile_base')[0].parent == default.root == 'odom'
    with pytest.raises(DescriptionError):
        on_planar_joint(planar_2r(), odom=planar_2r().links[1].name, scalar=scalar)


def changed(description, k, **changes):
    joints = list(description.joints)
    joints[k] = replace(joints[k], **changes)
    return replace(description, joints=tuple(joints))


X = np.array([1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    'description',
    [
        planar_2r(),
        changed(on_planar_joint(planar_2r()), 0, axis=X),
        changed(on_planar_joint(planar_2r()), 0, type='floating'),
        changed(on_planar_joint(planar_2r(), scalar=True), 0, axis=X[[1, 0, 2]]),
        changed(on_planar_joint(planar_2r(), scalar=True), 1, axis=X),
        changed(on_planar_joint(planar_2r(), scalar=True), 1, type='continuous'),
        changed(on_planar_joint(planar_2r(), scalar=True), 2, axis=X),
        changed(on_planar_joint(planar_2r(), scalar=True), 2, name='other'),
        RobotDescription.from_parts(
            'r',
            [Link('world'), *on_planar_joint(planar_2r()).links],
            [
                Joint('f', 'fixed', 'world', 'odom', np.eye(4), X),
                *on_planar_joint(planar_2r()).joints,
            ],
        ),
    ],
    ids=[
        'none',
        'axis',
        'floating',
        'axis1',
        'axis2',
        'turning',
        'axis3',
        'name',
        'not_on_the_root',
    ],
)
def test_robots_without_a_joint_for_their_base(description):
    with pytest.raises(ArgumentError, match="no planar joint 'mobile_base' with the normal z"):
        base_joints(description, 'mobile_base')
