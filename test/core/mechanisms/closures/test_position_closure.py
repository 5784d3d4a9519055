# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Position closure, mobility from rank, and what is refused (C-007, C-008, C-011)."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.errors import (
    DescriptionError,
    InfeasibleConstraintsError,
    SingularClosureError,
)
from screw_dynamics_ros.core.lie import screws, se3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import REVOLUTE, ConstraintJoint
from screw_dynamics_ros.core.mechanisms.closures import (
    ClosedRobot,
    LoopClosures,
    read_loop_closures,
)
from screw_dynamics_ros.core.mechanisms.closures.closure_equations import closure_jacobian, gap
from screw_dynamics_ros.core.mechanisms.closures.example_loops import golden_four_bar
from support.closed_chains import (
    excavator,
    figure_5_7,
    four_revolute_one_prismatic,
    slider_with_prismatic_cut,
    stewart_gough,
)
from support.models import random_description

CHAINS = [
    golden_four_bar,
    figure_5_7,
    four_revolute_one_prismatic,
    slider_with_prismatic_cut,
    excavator,
]
ALIGNED = float(np.arccos((4.5**2 - 25.0) / 24.0))  # of the rocker: crank and coupler in one line


def with_motors(closed: ClosedRobot, *motors: str, **options: object) -> ClosedRobot:
    """Return the same mechanism with other motors."""
    positions = dict(zip(closed.robot.joint_names, closed.assembly.tolist()))
    loops = LoopClosures(closed.loops.closures, motors, positions=positions, **options)
    return ClosedRobot(closed.robot, loops)


def test_golden_four_bar() -> None:
    """Golden case 8.6 to its digits, in at most six iterations to 1e-12 (C-008, C-009)."""
    linkage = golden_four_bar()
    rough = [np.pi / 3, -0.6, 1.6]
    closing = linkage.close([np.pi / 3], rough, tolerance=1e-12)
    assert closing.success
    assert closing.iterations <= 6
    assert closing.gap <= 1e-12
    np.testing.assert_allclose(closing.q[1:], [-0.418482424, 1.795774973], atol=5e-10)
    np.testing.assert_allclose(
        linkage.state([np.pi / 3]).G[:, 0], [1.0, -1.211457636, 0.147301188], atol=5e-10
    )


@pytest.mark.parametrize('chain', CHAINS)
def test_gap_is_the_logarithm_on_the_constrained_directions(chain) -> None:
    """Near closure g = N log(T_1^-1 T_2) to second order, J its slope (C-007, C-008)."""
    closed = chain()
    tree, cut = closed.robot.tree, closed.loops.closures[:1]
    dq = 1e-4 * np.random.default_rng(1).standard_normal(tree.nq)
    q = closed.assembly + dq
    ends = [
        (closed.robot.link_pose(q, link) if link != 'ground' else np.eye(4)) @ S
        for link, S in ((cut[0].parent, cut[0].parent_frame), (cut[0].child, cut[0].child_frame))
    ]
    C = se3.inverse(ends[0]) @ ends[1]
    admitted = cut[0].pair.nearest(C)  # turn and slide of the cut joint do not count
    expected = cut[0].pair.N @ se3.log(se3.inverse(admitted) @ C)
    np.testing.assert_allclose(gap(tree, q, cut), expected, atol=1e-7)
    J = closure_jacobian(tree, closed.assembly, cut)
    np.testing.assert_allclose(gap(tree, q, cut), J @ dq, atol=3e-7)


def test_signs_of_the_closure_equation() -> None:
    """E-01: columns of the two branches have opposite signs; all plus, as printed, is refuted.

    The twists of the point and the axis of the cut joint 6 of Fig. 5.7 are taken from each branch
    by itself; turns about that axis do not count.
    """
    closed = figure_5_7()
    robot, (cut,) = closed.robot, closed.loops.closures
    state = closed.state(closed.assembly[closed.places], [0.3, -0.7, 0.4])
    to_parent, to_child = (
        robot.jacobian(state.q, link, 'spatial') for link in (cut.parent, cut.child)
    )
    cut_pose = robot.link_pose(state.q, cut.child) @ cut.child_frame
    without_turn = [0, 1, 3, 4, 5]
    two_three, four = (np.isin(robot.joint_names, names) for names in (['j2', 'j3'], ['j4']))
    assert np.abs(state.v[two_three | four]).min() > 0.1
    one_branch, other_branch = (
        screws.inverse_transform_twist(cut_pose, J[:, joints] @ state.v[joints])[without_turn]
        for J, joints in ((to_child, two_three), (to_parent, four))
    )
    np.testing.assert_allclose(one_branch - other_branch, 0.0, atol=1e-9)
    assert np.abs(one_branch + other_branch).max() > 0.1


@pytest.mark.parametrize('chain', CHAINS)
def test_assembly_is_kept(chain) -> None:
    """Away from the assembly and back: the same configuration, which closes the loops (C-008)."""
    closed = chain()
    start = closed.assembly[closed.places]
    away = start + 0.1 * (np.arange(closed.nq) % 2 - 0.5)
    there = closed.close(away)
    assert there.success, there.message
    assert there.gap <= closed.tolerance
    back = closed.close(start, there.q)
    np.testing.assert_allclose(back.q, closed.assembly, atol=1e-8)


def test_continuous_joints_take_the_shorter_way() -> None:
    """A crank that has turned past pi is one step further, not a turn back."""
    linkage = golden_four_bar()
    before = linkage.configuration([3.1])
    after = linkage.close([3.2 - 2 * np.pi], before)
    assert after.success
    assert after.iterations < 10
    np.testing.assert_allclose(after.q[1:], linkage.configuration([3.2])[1:], atol=1e-9)


@pytest.mark.parametrize(
    ('chain', 'freedoms'),
    [
        (golden_four_bar, (3, 5, 2, 1)),
        (figure_5_7, (5, 5, 2, 3)),
        (four_revolute_one_prismatic, (4, 5, 2, 2)),
        (slider_with_prismatic_cut, (3, 5, 2, 1)),
        (excavator, (12, 20, 8, 4)),
        (stewart_gough, (36, 30, 30, 6)),
    ],
)
def test_mobility_from_rank(chain, freedoms) -> None:
    """Stewart-Gough: 36 joint freedoms, 5 loops, rank 30, mobility 6; others planar (C-011)."""
    closed = chain()
    found = closed.mobility(closed.assembly[closed.places])
    assert (found.joint_freedoms, found.equations, found.rank, found.mobility) == freedoms
    assert found.gained == 0
    assert found.redundant == found.equations - found.rank


def test_stewart_gough_platform_at_its_golden_pose() -> None:
    """The leg lengths of golden case 8.4 put the platform where they were computed (C-010)."""
    closed = stewart_gough()
    legs = [0.67593838, 0.698265778, 0.757770207, 0.682220877, 0.702204393, 0.6220111]
    pose = closed.link_pose(legs, 'platform')  # its frame is at the first joint of the platform
    axis = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
    np.testing.assert_allclose(se3.log(pose)[:3], 0.2 * axis, atol=1e-7)
    top = 0.3 * np.array([np.cos(np.radians(50)), np.sin(np.radians(50)), 0.0])
    origin = pose[:3, 3] - pose[:3, :3] @ top
    np.testing.assert_allclose(origin, [0.05, -0.03, 0.6], atol=1e-7)


def test_gained_freedom_where_crank_and_coupler_align() -> None:
    """Driven at its rocker, the linkage is singular where crank and coupler align (C-011)."""
    driven = with_motors(golden_four_bar(), 'rocker_joint')
    almost = driven.configuration([ALIGNED + 1e-7])
    assert abs(almost[driven.robot.joint_names.index('coupler_joint')]) < 1e-2
    with pytest.raises(SingularClosureError, match='rocker_joint = '):
        driven.state([ALIGNED])
    with pytest.raises(InfeasibleConstraintsError, match='do not close'):
        driven.state([ALIGNED - 0.05])
    aligned = np.zeros(3)
    aligned[driven.robot.joint_names.index('rocker_joint')] = ALIGNED
    angle = np.arctan2(3 * np.sin(ALIGNED), 4 + 3 * np.cos(ALIGNED))
    aligned[driven.robot.joint_names.index('crank_joint')] = angle
    found = driven.mobility([ALIGNED], aligned)
    assert (found.mobility, found.gained) == (1, 1)


def test_failure_says_so_and_leaves_nothing() -> None:
    """A piston that is too long: not closed, with status, and no exception from `close`."""
    closed = excavator()
    q = closed.assembly[closed.places] + [0, 0, 0, 0.4]
    closing = closed.close(q)
    assert not closing.success
    assert closing.gap > 0.01
    assert 'do not close' in closing.message
    with pytest.raises(InfeasibleConstraintsError, match=r'bucket_cylinder = 0\.72'):
        closed.gravity_torques(q)


@pytest.mark.parametrize(
    ('motors', 'options', 'error', 'text'),
    [
        ((), {}, InfeasibleConstraintsError, '1 freedoms'),
        (('crank_joint', 'rocker_joint'), {}, InfeasibleConstraintsError, '2 actuated'),
        (('crank_joint', 'knee'), {}, UnknownNameError, "'knee'"),
    ],
)
def test_wrong_motors(motors, options, error, text) -> None:
    with pytest.raises(error, match=text):
        with_motors(golden_four_bar(), *motors, **options)


def test_motors_that_do_not_decide() -> None:
    """Both motors of a chain in one branch, the loop left to itself: refused by role."""
    with pytest.raises(SingularClosureError, match='the actuated joints j1, j2, j3 leave'):
        with_motors(figure_5_7(), 'j1', 'j2', 'j3')
    with pytest.raises(SingularClosureError, match='the sensed joints j1, j5'):
        with_motors(figure_5_7(), 'j1', 'j2', 'j5', sensed=['j1', 'j5'])


def test_bad_arguments() -> None:
    linkage = golden_four_bar()
    with pytest.raises(ArgumentError, match='finite'):
        linkage.gravity_torques([np.nan])
    with pytest.raises(ArgumentError, match='shape'):
        linkage.gravity_torques([0.1, 0.2])
    lost = ConstraintJoint('pin', REVOLUTE, 'nowhere', 'coupler')
    with pytest.raises(UnknownNameError, match="closure 'pin': no link named 'nowhere'"):
        ClosedRobot(linkage.robot, LoopClosures([lost], ['crank_joint']))
    with pytest.raises(ArgumentError, match='no closures'):
        ClosedRobot(linkage.robot, LoopClosures([], ['crank_joint']))
    free = Robot(linkage.robot.description, floating_base=True, backend='reference')
    with pytest.raises(ArgumentError, match='AbsoluteSystem'):
        ClosedRobot(free, linkage.loops)
    planar = Robot(random_description(1, kinds=('planar',)), backend='reference')
    with pytest.raises(ArgumentError, match='has 3 freedoms'):
        ClosedRobot(planar, linkage.loops)


@pytest.mark.parametrize(
    ('change', 'text'),
    [
        ({'actuated': 'a'}, 'actuated must be a list'),
        ({'actuated': ['a', 'a']}, 'twice'),
        ({'positions': {'a': 'b'}}, "positions, 'a' must be a finite number"),
        ({'tolerance': 0.0}, 'tolerance must be positive'),
        ({'tolerance': float('nan')}, 'tolerance must be a finite number'),
        ({'motors': ['a']}, "unknown key 'motors'"),
        ({'closures': None}, 'list named closures'),
    ],
)
def test_wrong_files(change, text) -> None:
    with pytest.raises(DescriptionError, match=text):
        read_loop_closures({'closures': [], 'actuated': ['a'], **change})


def test_sensed_joints_default_to_the_actuated_ones() -> None:
    """Flags of the file; a map of positions (C-006)."""
    loops = read_loop_closures({'closures': [], 'actuated': ['b', 'a'], 'positions': {'c': 1}})
    assert loops.sensed == ('b', 'a')
    assert loops.positions == {'c': 1.0}
    assert loops.tolerance == 1e-3
