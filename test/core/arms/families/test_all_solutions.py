# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Every solution of the inverse position kinematics, its label and its certificate.

Spec IDs: B-005, C-087, C-101, C-102, C-103.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.arms.families.all_solutions import AllInverseKinematics
from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.families.chain_solutions import distances
from screw_dynamics_ros.core.arms.families.serial_solver import SerialSolver
from screw_dynamics_ros.core.arms.families.spherical_shoulder_elbow_wrist import (
    SphericalShoulderElbowWrist,
)
from screw_dynamics_ros.core.arms.families.three_two_one import ThreeTwoOne
from screw_dynamics_ros.core.description.robot_description import Limits
from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError, UnknownNameError
from screw_dynamics_ros.core.lie import se3
from support import arm_321
from support.arms import arm
from support.compilation import needs_llvmlite
from support.robots import urdf_path

TURN = 2 * np.pi
NOTHING = np.empty(0)


def six_axes(rng, joints: int = 6, **limits) -> SerialChain:
    e = rng.normal(size=(joints, 3))
    e /= np.linalg.norm(e, axis=1)[:, None]
    S = np.hstack([e, np.cross(0.5 * rng.normal(size=(joints, 3)), e)])
    return SerialChain(tuple('abcdef'[:joints]), S, se3.exp(rng.normal(size=6)), **limits)


def solved(
    chain, C, *, images=True, respect_limits=True, swivel=NOTHING, backend='python', **locked
):
    solver = AllInverseKinematics(chain, len(chain), backend)
    return solver.solve(C, np.zeros(len(chain)), locked, swivel, images, respect_limits)


@pytest.fixture(scope='module')
def robot():
    """The arm of the golden numbers, and a way to give its joints other limits."""
    golden = ThreeTwoOne(l1=0.4, l2=0.5, l3=0.45, l6=0.1)

    @cache
    def shared(backend):
        return Robot(golden.description(), backend=backend)

    def make(backend='reference', limits=None):
        limited = limits and Robot(golden.description(limits=limits), backend=backend)
        return limited or shared(backend)

    return make


@pytest.mark.parametrize('backend', ['python', pytest.param('native', marks=needs_llvmlite)])
def test_golden_solutions(robot, backend):
    """C-101: all eight of golden 8.1, each once, to rounding, with their labels, certified."""
    found = robot(backend).all_inverse_kinematics(arm_321.POSE, 'tool', respect_limits=False)
    # the golden pose is rounded to nine digits: the nearest rigid motion has the golden angles
    assert len(found) == 8 == found.bound
    assert found.complete
    assert found.message == '321: 8 of at most 8 solutions'
    away = distances(found.q, arm_321.Q)
    assert away.min() < 1e-7
    assert found.labels[int(away.argmin())] == 'forward, up, no flip'
    assert len(set(found.labels)) == 8


def test_golden_pose_must_be_rigid(robot):
    broken = arm_321.POSE.copy()
    broken[0, 0] += 1e-3
    with pytest.raises(ArgumentError, match='not a rigid motion'):
        robot().all_inverse_kinematics(broken, 'tool')
    with pytest.raises(ArgumentError, match='not a rigid motion'):
        robot().all_inverse_kinematics(np.full((4, 4), np.nan), 'tool')
    with pytest.raises(ArgumentError, match=r'pose must have shape \(4, 4\)'):
        robot().all_inverse_kinematics(np.eye(3), 'tool')


@pytest.mark.parametrize(
    ('changed', 'value', 'reason'),
    [
        ((0, 3), np.nan, 'not a rigid motion: its position must be finite, got .nan'),
        ((2, 3), np.inf, 'its position must be finite, got .*inf'),
        ((3, 3), 2.0, r'its last row must be \(0, 0, 0, 1\), got .*2.0'),
        ((3, 0), 0.1, 'the position stands in the last column'),
        ((3, 1), np.nan, 'its last row'),
    ],
)
def test_what_is_no_pose_is_not_out_of_reach(robot, changed, value, reason):
    """Neither certified to have no solution, nor solved as if nothing were wrong."""
    arm = robot()
    q = np.array([0.3, 0.4, 0.7, -0.5, 0.6, 1.1])
    poses = arm.link_pose(np.stack([q, q]), 'tool')
    poses[(1, *changed)] = value
    for pose in (poses[1], poses):
        with pytest.raises(ArgumentError, match=reason):
            arm.all_inverse_kinematics(pose, 'tool')


@pytest.mark.parametrize('value', [np.nan, np.inf, None, 'far', [0.1, 0.2]])
def test_positions_of_locked_joints_are_numbers(robot, value):
    with pytest.raises(ArgumentError, match=r"position of joint 'joint2' must be a finite number"):
        robot().all_inverse_kinematics(np.eye(4), 'tool', locked={'joint2': value})


def test_arguments_of_other_types(robot):
    arm = robot()
    with pytest.raises(ArgumentError, match=r'locked must be \{joint: position\}, got'):
        arm.all_inverse_kinematics(np.eye(4), 'tool', locked=['joint2'])
    with pytest.raises(UnknownNameError, match=r"no link named \['tool'\]"):
        arm.all_inverse_kinematics(np.eye(4), ['tool'])
    for swivel in (np.nan, [0.1, np.inf], [[0.1]]):
        with pytest.raises(ArgumentError, match='swivel must be a finite angle or a list'):
            arm.all_inverse_kinematics(np.eye(4), 'tool', swivel=swivel)


def test_a_joint_that_is_locked_beyond_its_limits_is_where_it_is(robot):
    limited = robot(limits={'joint2': Limits(-0.2, 0.2)})
    q = np.array([0.3, 0.4, 0.7, -0.5, 0.6, 1.1])
    found = limited.all_inverse_kinematics(
        limited.link_pose(q, 'tool'), 'tool', locked={'joint2': 0.4}
    )
    assert np.abs(found.q[found.nearest(q)] - q).max() < 1e-9


def test_limits_and_what_is_left_out(robot):
    """Solutions outside the limits are named with the joint; those inside are all there."""
    limits = {f'joint{k}': Limits(-1.5, 1.5) for k in range(1, 7)}
    limited = robot(limits=limits)
    q = np.array([0.3, 0.4, 0.7, -0.5, 0.6, 1.1])
    found = limited.all_inverse_kinematics(limited.link_pose(q, 'tool'), 'tool')
    free = limited.all_inverse_kinematics(
        limited.link_pose(q, 'tool'), 'tool', respect_limits=False
    )
    inside = (np.abs(free.q) <= 1.5).all(axis=1)
    assert len(found) == inside.sum() > 0
    np.testing.assert_allclose(found.q, free.q[inside], atol=1e-12)
    assert len(found.discarded) == 8 - inside.sum()
    assert found.found == 8
    assert 'outside the limits' in found.message
    for each in found.discarded:
        assert 'is outside its limits -1.5000 to 1.5000' in each.reason
        assert each.label in free.labels


def test_images_by_whole_turns(robot):
    """Joints 4 and 6 may turn twice: every image within the limits, none outside, none twice."""
    limits = {
        'joint1': Limits(-np.pi, np.pi),
        'joint4': Limits(-2 * np.pi, 2 * np.pi),
        'joint6': Limits(-1.0, 8.0),
    }
    limited = robot(limits=limits)
    q = np.array([0.3, 0.4, 0.7, -0.5, 0.6, 1.1])
    C = limited.link_pose(q, 'tool')
    found = limited.all_inverse_kinematics(C, 'tool')
    base = limited.all_inverse_kinematics(C, 'tool', respect_limits=False).q
    expected = []
    for row in base:
        for turns in np.ndindex(5, 5):
            image = row + TURN * np.array([0, 0, 0, turns[0] - 2, 0, turns[1] - 2])
            if abs(image[3]) <= TURN and -1.0 <= image[5] <= 8.0:
                expected.append(image)
    assert len(found) == len(expected) > 20
    for image in expected:
        assert np.abs(found.q - image).max(axis=1).min() < 1e-9
    one_each = limited.all_inverse_kinematics(C, 'tool', images=False)
    assert len(one_each) == len(set(found.labels))
    for row in one_each.q:
        same = distances(found.q, row) < 1e-6
        assert np.abs(row).max() <= np.abs(found.q[same]).max(axis=1).min() + 1e-9


def test_images_of_a_joint_with_one_limit(robot):
    """There is no end of them: the one next to zero is given, also where that is turns away."""
    q = np.array([0.3, 0.4, 0.7, -0.5, 0.6, 1.1])
    limited = robot(limits={'joint1': Limits(7.0, np.inf), 'joint6': Limits(-np.inf, 1.0)})
    C = limited.link_pose(q, 'tool')
    free = limited.all_inverse_kinematics(C, 'tool', respect_limits=False)
    found = limited.all_inverse_kinematics(C, 'tool')
    assert len(found) == len(free) == 8
    turns = (found.q - free.q) / TURN
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-9)
    assert ((found.q[:, 0] >= 7.0) & (found.q[:, 0] < 7.0 + TURN)).all()
    assert ((found.q[:, 5] <= 1.0) & (found.q[:, 5] > 1.0 - TURN)).all()


def test_limits_of_many_turns(robot):
    """More images than memory are refused; one of each is given."""
    limited = robot(limits={f'joint{k}': Limits(-1e3, 1e3) for k in range(1, 7)})
    C = limited.link_pose(np.array([0.3, 0.4, 0.7, -0.5, 0.6, 1.1]), 'tool')
    with pytest.raises(ArgumentError, match=r'more than 1000000 images.*images=False'):
        limited.all_inverse_kinematics(C, 'tool')
    assert len(limited.all_inverse_kinematics(C, 'tool', images=False)) == 8


def test_solutions_at_the_limits_are_kept(robot):
    """A configuration at its limits is a solution, not rounded away, and within them exactly."""
    q = np.array([0.3, 0.4, 0.7, -0.5, 0.6, 1.1])
    limits = {f'joint{k + 1}': Limits(value - 1.0, value) for k, value in enumerate(q)}
    limited = robot(limits=limits)
    found = limited.all_inverse_kinematics(limited.link_pose(q, 'tool'), 'tool')
    assert np.abs(found.q - q).max(axis=1).min() < 1e-9
    assert (found.q <= limited.limits.upper).all()
    assert (found.q >= limited.limits.lower).all()


def test_out_of_reach(robot):
    C = np.eye(4)
    C[:3, 3] = [3.0, 0.0, 0.0]
    found = robot().all_inverse_kinematics(C, 'tool')
    assert len(found) == 0
    assert found.q.shape == (0, 6)
    assert found.complete
    assert len(found.discarded) == 8
    assert all('out of reach' in each.reason for each in found.discarded)
    with pytest.raises(ArgumentError, match='no solution to choose from: 321: 0 of at most 8'):
        found.nearest(np.zeros(6))


def test_singular_poses_are_not_certified(robot):
    """C-102: a stretched wrist leaves the sum of joints 4 and 6: solutions are not isolated."""
    arm = robot('python')
    q = np.array([0.3, 0.4, 0.7, -0.5, 0.0, 1.1])
    found = arm.all_inverse_kinematics(arm.link_pose(q, 'tool'), 'tool')
    assert not found.complete
    assert 'singular' in found.message
    assert found.residuals.max() < 1e-10
    sums = found.q[:, 3] + found.q[:, 5]
    assert np.abs(sums - 0.6)[distances(found.q[:, :3], q[:3]) < 1e-6].min() < 1e-6


def test_stacks_of_poses(robot):
    arm = robot()
    q = np.random.default_rng(0).uniform(-1, 1, (3, 6))
    stack = arm.all_inverse_kinematics(arm.link_pose(q, 'tool'), 'tool')
    assert len(stack) == 3
    for row, found in zip(q, stack):
        alone = arm.all_inverse_kinematics(arm.link_pose(row, 'tool'), 'tool')
        np.testing.assert_array_equal(found.q, alone.q)
        assert np.abs(found.q[found.nearest(row)] - row).max() < 1e-9
        with pytest.raises(ArgumentError, match=r'q must have shape \(6,\), got \(3, 6\)'):
            found.nearest(q)
        with pytest.raises(ArgumentError, match='next to a q that is not finite'):
            found.nearest(np.full(6, np.nan))
    assert arm.all_inverse_kinematics(np.empty((0, 4, 4)), 'tool') == ()


def test_general_arms_have_even_numbers_of_solutions():
    """C-103: axes anywhere; exact, different from each other, complete, never an odd number."""
    rng = np.random.default_rng(1)
    counts = set()
    for _ in range(2):
        chain = six_axes(rng)
        for q in rng.uniform(-3, 3, (2, 6)):
            found = solved(chain, chain.pose(q))
            assert found.family == 'general 6R'
            assert found.complete
            assert distances(found.q, q).min() < 1e-9
            np.testing.assert_allclose(
                chain.pose(found.q), np.tile(chain.pose(q), (len(found), 1, 1)), atol=1e-10
            )
            for k, row in enumerate(found.q):
                assert distances(np.delete(found.q, k, axis=0), row).min() > 1e-5
            counts.add(len(found))
    assert all(count % 2 == 0 for count in counts)


@needs_llvmlite
def test_poses_at_which_the_elimination_cannot_tell():
    """Right angles of a real arm: solutions share joint angles; none is certified to be lacking."""
    robot = arm('Yaskawa HC10').robot()
    half = np.pi / 2
    for q in (
        [half, -np.pi, 3 * half, -half, half, 0],
        [-np.pi, half, 3 * half, -half, np.pi, -np.pi],
        [0, np.pi, 6.1959, -half, 0, -half],
    ):
        found = robot.all_inverse_kinematics(
            robot.link_pose(q, 'tool'), 'tool', respect_limits=False, images=False
        )
        there = len(found) > 0 and distances(found.q, np.array(q)).min() < 1e-6
        assert there or not found.complete
        assert found.residuals.max(initial=0.0) < 1e-10


@needs_llvmlite
def test_zeros_that_are_left_before_they_are_reached():
    """Near a stretched wrist steps to zeros become small too early: ten solutions, not eight."""
    robot = arm('AgileX PiPER').robot()
    q = [0.1446264039046956, 1.8919901722182, -0.11149292710812375]
    q += [-1.4930758883294666, -6.640432900550941e-05, 1.0224731302322057]
    C = robot.link_pose(np.array(q), 'tool')
    found = robot.all_inverse_kinematics(C, 'tool', respect_limits=False, images=False)
    assert distances(found.q, np.array(q)).min() < 1e-9
    assert len(found) == 10
    assert found.labels == ('',) * 10


def test_stretched_arms_are_singular_whatever_their_size():
    """det(J J^T) is not quite zero there, as steps are damped; solutions are each given once."""
    for size in (0.03, 1.0, 40.0):
        S = np.array(
            [
                [0, 0, 1, 0, 0, 0],
                [0, 1, 0, 0, 0, 0],
                [0, 1, 0, 0, 0, 0.4],
                [0, 1, 0, 0, 0, 0.8],
                [0, 0, 1, 0.1, -0.8, 0],
                [0, 1, 0, 0.1, 0, 0.8],
            ],
            dtype=float,
        )
        S[:, 3:] *= size
        chain = SerialChain(tuple('abcdef'), S, se3.pose(np.eye(3), size * np.array([0.9, 0.2, 0])))
        q = np.array([0.3, -0.4, 0.0, 0.7, 1.1, -0.2])
        found = solved(chain, chain.pose(q), images=False)
        assert found.family == 'three parallel axes'
        assert not found.complete
        assert len(found) > 0
        for k, row in enumerate(found.q):
            assert distances(np.delete(found.q, k, axis=0), row).min(initial=1.0) > 1e-6


@pytest.mark.parametrize('step', [1e-5, 1e-3])
def test_nearly_coinciding_solutions(step):
    """A pose next to one where two solutions meet: both are found, the short way and the long."""
    rng = np.random.default_rng(2)
    chain = six_axes(rng)
    q = rng.uniform(-3, 3, 6)
    for _ in range(60):  # to a singular configuration: det J = 0
        values = []
        for k in range(7):
            moved = q + 1e-6 * np.eye(7, 6)[k]
            values.append(np.linalg.det(chain.jacobian(moved)))
        gradient = (np.array(values[:6]) - values[6]) / 1e-6
        q = q - values[6] * gradient / (gradient @ gradient)
    direction = np.linalg.svd(chain.jacobian(q))[2][-1]
    one = q + step * direction
    C, solver = chain.pose(one), SerialSolver(chain, (), 'python')
    ways = [solver.solve(C, NOTHING, NOTHING)]
    if step > 1e-4:  # nearer, the short way is in doubt
        ways.append(solver.direct(C, NOTHING, NOTHING))
    for found in ways:
        assert not found.doubt
        close = found.q[distances(found.q, q) < max(1e-3, 3.0 * step)]
        assert distances(close, one).min() < 1e-7
        assert len(close) == 2
        assert len(found) % 2 == 0


@pytest.mark.parametrize('joints', [3, 5])
def test_fewer_joints(joints):
    """Poses that can be reached are, by the exact angles; others have no solution."""
    rng = np.random.default_rng(joints)
    chain = six_axes(rng, joints)
    q = rng.uniform(-2, 2, joints)
    found = solved(chain, chain.pose(q))
    assert distances(found.q, q).min() < 1e-9
    assert found.residuals.max() < 1e-10
    assert len(solved(chain, se3.exp(rng.normal(size=6)))) == 0


def test_prismatic_joints_outside_the_families_are_searched():
    """The Stanford arm, RRPRRR: found by search, which is not certified, and says so."""
    S = [
        [0, 0, 1, 0, 0, 0],
        [0, 1, 0, -0.4, 0, 0],
        [0, 0, 0, 0, 0, 1],
        [0, 0, 1, 0.15, 0, 0],
        [0, 1, 0, -0.7, 0, 0],
        [0, 0, 1, 0.15, 0, 0],
    ]
    S[3][:3], S[3][3:] = [0, 0, 1], np.cross([0, 0.15, 0], [0, 0, 1])
    S[5][3:] = np.cross([0, 0.15, 0], [0, 0, 1])
    chain = SerialChain(
        tuple('abcdef'),
        S,
        se3.pose(np.eye(3), [0, 0.15, 0.9]),
        lower=[-3, -3, 0.1, -3, -3, -3],
        upper=[3, 3, 0.8, 3, 3, 3],
    )
    q = np.array([0.3, 0.7, 0.4, -0.5, 0.8, 0.2])
    solver = AllInverseKinematics(chain, 6, 'python')
    found = solver.solve(chain.pose(q), np.zeros(6), {}, NOTHING, True, True)
    assert distances(found.q, q).min() < 1e-9
    assert not found.complete
    assert 'random configurations' in found.message
    assert found.family == 'search'


@pytest.fixture(scope='module')
def seven():
    arm = SphericalShoulderElbowWrist(l1=0.36, upper=0.42, lower=0.4, l7=0.126)
    return arm, arm.chain(lower=np.full(7, -2.9), upper=np.full(7, 2.9))


def test_swivel_angles(seven):
    """S-R-S: with the swivel angle of a configuration, that is among the solutions; or many."""
    arm, chain = seven
    q = np.array([0.3, 0.5, -0.4, 1.1, 0.2, -0.7, 0.9])
    swivel = arm.swivel_of(q)
    found = solved(chain, chain.pose(q), swivel=np.array([swivel]))
    assert distances(found.q, q).min() < 1e-9
    assert found.bound == 8
    several = solved(chain, chain.pose(q), swivel=np.array([swivel, swivel + 0.5, swivel + 1.0]))
    assert several.bound == 24
    assert distances(several.q, q).min() < 1e-9
    assert len(several) > len(found)
    for row in several.q:
        assert min(abs(np.sin(0.5 * (arm.swivel_of(row) - swivel - d))) for d in (0, 0.5, 1)) < 1e-7


def test_a_singular_arm_with_swivel_angle_is_not_certified(seven):
    """The elbow stretched: both elbow branches are one, and the swivel angle means nothing."""
    _, chain = seven
    q = np.array([0.3, 0.5, -0.4, 0.0, 0.2, -0.7, 0.9])
    found = solved(chain, chain.pose(q), swivel=np.array([0.4]))
    assert not found.complete
    assert 'singular' in found.message


@pytest.mark.parametrize('joint', [0, 2, 6])
def test_locked_joints(seven, joint):
    """Any joint locked, at the ends or in between: its position stays, the others are found."""
    _, chain = seven
    q = np.array([0.3, 0.5, -0.4, 1.1, 0.2, -0.7, 0.9])
    name = chain.joint_names[joint]
    found = solved(chain, chain.pose(q), **{name: q[joint]})
    assert distances(found.q, q).min() < 1e-9
    np.testing.assert_array_equal(found.q[:, joint], q[joint])
    assert found.residuals.max() < 1e-10


def axis_aligned(seed: int, joints: int) -> tuple[SerialChain, np.random.Generator]:
    """An arm with axes along x, y and z, some of them through the origin."""
    rng = np.random.default_rng(seed)
    e = np.eye(3)[rng.integers(0, 3, joints)]
    p = np.round(0.5 * rng.normal(size=(joints, 3)), 1) * rng.integers(0, 2, (joints, 3))
    home = se3.pose(np.eye(3), [0.3, 0.1, 0.2])
    return SerialChain(tuple('abcdef'[:joints]), np.hstack([e, np.cross(p, e)]), home), rng


@needs_llvmlite  # a search takes its time
@pytest.mark.parametrize('seed', [601, 613])
def test_arms_that_are_always_singular(seed):
    """With the joints of one direction too many, no closed form tells how many solutions there are.

    The first one looks like an arm of Pieper's.
    """
    chain, rng = axis_aligned(seed, 6)
    q = rng.uniform(-3, 3, 6)
    found = solved(chain, chain.pose(q), backend='native')
    assert found.family == 'search'
    assert not found.complete
    assert 'every configuration is singular' in found.message
    assert len(found) > 8
    assert found.residuals.max() < 1e-11


@needs_llvmlite
def test_arms_of_five_joints_at_right_angles():
    """Regular and singular poses: solutions are found, or nobody says that there are none."""
    chain, rng = axis_aligned(502, 5)
    solver = AllInverseKinematics(chain, 5, 'native')
    for k in range(5):
        q = rng.uniform(-3, 3, 5)
        if k == 4:
            q = np.pi / 2 * np.round(2 / np.pi * q)
        found = solver.solve(chain.pose(q), np.zeros(5), {}, NOTHING, True, True)
        there = len(found) > 0 and distances(found.q, q).min() < 1e-6
        assert there or not found.complete
        assert there or k == 4 or found.family == 'search'


def test_a_locked_elbow_leaves_a_continuum(seven):
    """The elbow alone decides how far the wrist is: with it locked, the swivel angle is free."""
    _, chain = seven
    q = np.array([0.3, 0.5, -0.4, 1.1, 0.2, -0.7, 0.9])
    found = solved(chain, chain.pose(q), joint4=q[3])
    assert not found.complete
    assert 'follow on continuously' in found.message
    assert 'at most' not in found.message


def test_seven_joints_need_to_be_told(seven):
    _, chain = seven
    C = chain.pose(np.full(7, 0.3))
    with pytest.raises(ArgumentError, match='needs its swivel angle'):
        solved(chain, C)
    with pytest.raises(ArgumentError, match='belongs to S-R-S arms'):
        solved(chain, C, swivel=np.array([0.1]), joint3=0.3)
    with pytest.raises(UnknownNameError, match=r"joint 'wheel' cannot be locked.*joint1, joint2"):
        solved(chain, C, wheel=0.3)
    tilted = chain.screws.copy()
    tilted[1] = tilted[2]
    other = replace(chain, screws=np.roll(tilted, 1, axis=0))
    with pytest.raises(
        ArgumentError, match='7 joints are more than a pose needs: lock all but six'
    ):
        solved(other, C)


def test_reduced_chains():
    rng = np.random.default_rng(3)
    chain = six_axes(rng)
    q = rng.uniform(-2, 2, 6)
    other = chain.locked({'b': q[1], 'f': q[5]})
    assert other.joint_names == ('a', 'c', 'd', 'e')
    np.testing.assert_allclose(other.pose(q[[0, 2, 3, 4]]), chain.pose(q), atol=1e-12)


def test_joints_that_do_not_carry_the_link_are_as_given():
    """The fingers of a real arm keep their positions; more than a serial arm is refused."""
    panda = Robot.from_urdf(urdf_path('panda'), backend='reference')
    q = panda.random_configuration(0)
    link = 'panda_link8' if 'panda_link8' in panda.link_names else 'panda_link7'
    locked = {'panda_joint7': q[6]}
    found = panda.all_inverse_kinematics(panda.link_pose(q, link), link, locked=locked, q0=q)
    assert np.abs(found.q - q).max(axis=1).min() < 1e-9
    np.testing.assert_array_equal(found.q[:, 7:], np.tile(q[7:], (len(found), 1)))
    with pytest.raises(UnknownNameError, match='no link'):
        panda.all_inverse_kinematics(np.eye(4), 'elsewhere')
    finger = next(link for link in panda.link_names if 'leftfinger' in link)
    with pytest.raises(ArgumentError, match='7 joints are more than a pose needs'):
        panda.all_inverse_kinematics(np.eye(4), finger, locked=locked)
    floating = Robot.from_urdf(urdf_path('panda'), floating_base=True, backend='reference')
    with pytest.raises(DescriptionError, match='use a fixed base'):
        floating.all_inverse_kinematics(np.eye(4), link)
