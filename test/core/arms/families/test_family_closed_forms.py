# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What holds for every family: branches, recognition of robots, models from lengths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.families.classifier import FAMILIES
from screw_dynamics_ros.core.arms.families.prismatic_families import GantryWithWrist, Scara
from screw_dynamics_ros.core.arms.families.three_parallel_axes import ThreeParallelAxes
from screw_dynamics_ros.core.arms.families.three_two_one import ThreeTwoOne
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import se3, so3
from support.serial_families import RANDOM_ARMS, branches, difference, pose_errors

SAMPLES = 6

#: Number of branches that reach a pose that was reached; less where offsets put some out of reach.
COMPLETE = {'S-R-S': 8, 'SCARA': 2, 'gantry': 2}

#: Lengths that depend on where base and tool are said to be.
AT_THE_ENDS = {'l1', 'l6', 'l7'}


@pytest.fixture(params=RANDOM_ARMS, name='family')
def each_family(request):
    return request.param


def random_cases(family):
    rng = np.random.default_rng(7)
    for _ in range(SAMPLES):
        arm = RANDOM_ARMS[family](rng)
        yield arm, arm.chain(), rng.uniform(-3.0, 3.0, len(arm.sign))


def test_branches_of_random_arms(family):
    """C-089 to C-094, C-101: the branch of q is q; its twin by the wrist reaches the pose, too."""
    for arm, chain, q in random_cases(family):
        C = chain.pose(q)
        solutions = branches(arm, C, q)
        assert len(solutions) == len(arm.labels)
        own = difference(chain, solutions[arm.branch_of(q)], q)
        np.testing.assert_allclose(own, 0.0, atol=1e-9)
        reached = pose_errors(chain, solutions, C) < 1e-9
        assert reached.sum() == COMPLETE.get(family, reached.sum())
        assert reached.sum() % 2 == 0


def test_solutions_are_on_their_own_branches(family):
    """C-101: labels mean what they say, and no two solutions are the same."""
    for arm, chain, q in random_cases(family):
        C = chain.pose(q)
        solutions = branches(arm, C, q)
        for index in np.flatnonzero(pose_errors(chain, solutions, C) < 1e-9):
            assert arm.branch_of(solutions[index]) == index
            apart = np.abs(difference(chain, solutions, solutions[index])).max(axis=1)
            assert (apart > 1e-6).sum() == len(solutions) - 1


def test_recognized_by_its_screws(family):
    """C-087, C-090: base, tool, signs and offsets come back; other families do not claim it."""
    for arm, chain, q in random_cases(family):
        found = FAMILIES[family].recognized(chain)
        own = found.chain()
        np.testing.assert_allclose(own.screws, chain.screws, atol=1e-12)
        np.testing.assert_allclose(own.home, chain.home, atol=1e-12)
        C = chain.pose(q)
        at_q = difference(chain, branches(found, C, q)[found.branch_of(q)], q)
        np.testing.assert_allclose(at_q, 0.0, atol=1e-9)
        for name in set(arm.length_names()) - AT_THE_ENDS:
            assert abs(getattr(found, name)) == pytest.approx(abs(getattr(arm, name)), abs=1e-12)
        assert [name for name, each in FAMILIES.items() if each.recognized(chain)] == [family]


def test_the_model_itself_needs_no_signs_nor_offsets(family):
    """C-090: of several ways to see a robot, that with the smallest offsets is taken."""
    arm = RANDOM_ARMS[family](np.random.default_rng(2))
    n = len(arm.sign)
    plain = replace(arm, sign=np.ones(n), offset=np.zeros(n), base=np.eye(4), tool=np.eye(4))
    found = type(arm).recognized(plain.chain())
    np.testing.assert_array_equal(found.sign, np.ones(n))
    np.testing.assert_allclose(found.offset, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.base, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(found.tool, np.eye(4), atol=1e-12)


def test_joint_maps(family):
    """C-090: q_model = sign q + offset and back."""
    arm = RANDOM_ARMS[family](np.random.default_rng(3))
    q = np.random.default_rng(4).normal(size=(5, len(arm.sign)))
    np.testing.assert_allclose(arm.to_robot(arm.to_model(q)), q, atol=1e-15)
    np.testing.assert_allclose(arm.to_model(q), arm.sign * q + arm.offset, atol=1e-15)


def test_a_tilted_axis_is_noticed(family):
    """B-005: the closed form is for exact families only; 1e-3 rad leave it, 1e-6 rad do not."""
    arm = RANDOM_ARMS[family](np.random.default_rng(5))
    chain = arm.chain()
    joint = len(chain) - 2  # that of the last bend of a wrist; a parallel joint of a SCARA
    for angle, is_member in ((1e-3, False), (1e-6, True)):
        screws = chain.screws.copy()
        e = screws[joint, :3] if screws[joint, :3].any() else screws[joint, 3:]
        across = np.cross(e, [0.36, 0.48, 0.8])
        point = chain.home[:3, 3]
        tilt = se3.pose(so3.exp(angle * across / np.linalg.norm(across)), np.zeros(3))
        about = se3.pose(np.eye(3), point) @ tilt @ se3.pose(np.eye(3), -point)
        screws[joint] = se3.Ad(about) @ screws[joint]
        found = type(arm).recognized(replace(chain, screws=screws))
        assert (found is not None) == is_member


def test_models_become_robots(family):
    """C-089, C-095: a robot from a few lengths, through URDF and back, has the same poses."""
    arm = RANDOM_ARMS[family](np.random.default_rng(6))
    robot = Robot(read_urdf(write_urdf(arm.description('arm'))), backend='reference')
    q = np.random.default_rng(8).uniform(-2, 2, robot.nq)
    assert robot.link_names[0] == 'base'
    np.testing.assert_allclose(robot.link_pose(q, 'tool'), arm.chain().pose(q), atol=1e-9)
    found = type(arm).recognized(SerialChain.of(robot.tree, 'tool'))
    np.testing.assert_allclose(found.chain().home, arm.chain().home, atol=1e-9)


def test_what_is_out_of_reach_gives_numbers(family):
    """Every branch is there, finite, and its forward kinematics shows that it is not a solution."""
    for arm, chain, q in random_cases(family):
        C = chain.pose(q)
        far = C.copy()
        far[:3, 3] += 100.0 * arm.base[:3, 0]
        solutions = branches(arm, far, q)
        assert np.isfinite(solutions).all()
        if family != 'gantry':
            assert pose_errors(chain, solutions, far).min() > 50.0
        assert np.isnan(branches(arm, np.full((4, 4), np.nan), q)).any(axis=1).all()


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (lambda: ThreeTwoOne(0.4, 0.0, 0.4, 0.1), 'ThreeTwoOne: l2 must be positive'),
        (lambda: ThreeTwoOne(0.4, 0.5, -0.4, 0.1), 'l3 must be positive'),
        (lambda: ThreeTwoOne(np.nan, 0.5, 0.4, 0.1), 'l1 must be finite'),
        (lambda: ThreeParallelAxes(0.1, 0.4, 0.4, np.inf, 0.1), 'l5 must be finite'),
        (lambda: ThreeTwoOne(0.4, 0.5, 0.4, 0.1, sign=[1, 1, 2, 1, 1, 1]), '1 and -1 only'),
        (lambda: ThreeTwoOne(0.4, 0.5, 0.4, 0.1, offset=[1.0]), r'offset .* shape \(6,\)'),
        (lambda: ThreeTwoOne(0.4, 0.5, 0.4, 0.1, base=np.eye(3)), r'base .* shape \(4, 4\)'),
        (lambda: Scara(0.4, 0.0), 'Scara: l2 must be positive'),
        (lambda: Scara(0.4, 0.3, 4), 'slide must be 0, 1, 2 or 3'),
        (lambda: GantryWithWrist(0.1, 2 * np.eye(3)), 'unit vectors'),
        (lambda: GantryWithWrist(0.1, [[1, 0, 0], [0, 1, 0], [0.6, 0.8, 0]]), 'in one plane'),
    ],
)
def test_singular_lengths(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_a_stretched_wrist_of_a_gantry_is_not_flipped():
    arm = GantryWithWrist(l6=0.1)
    bends = (0.0, 1e-9, -1e-9, np.pi / 2, -np.pi / 2)
    found = [arm.branch_of([0.1, 0.2, 0.3, 0.4, bend, 0.5]) for bend in bends]
    assert found == [0, 0, 1, 0, 1]
