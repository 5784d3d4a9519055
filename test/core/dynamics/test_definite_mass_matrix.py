# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether mass matrices are positive definite: against eigenvalues of Pinocchio in many samples."""

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.description import Inertia, RobotDescription
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from screw_dynamics_ros.core.dynamics.definite_mass_matrix import bounds, definiteness, ranges
from support.models import random_description
from support.robots import urdf_path

ROBOTS = ('planar_2r', 'panda', 'ur_description/urdf/ur5_robot', 'ur_description/urdf/ur10_robot',
          'xarm7', 'z1', 'so100', 'solo12', 'talos_left_arm', 'gripper_tree')  # fmt: skip
SAMPLES = 300


def impossible(description, link, share):
    """Return a description with moments of a link less by a share of the largest, about two axes.

    All are computed with the center of mass where it is.
    """

    def less(each):
        if each.name != link:
            return each
        own = each.inertia
        matrix = own.matrix - share * np.linalg.eigvalsh(own.matrix)[-1] * np.diag([0.0, 1.0, 1.0])
        return replace(each, inertia=Inertia(own.mass, own.com, matrix))

    links = [less(each) for each in description.links]
    return RobotDescription.from_parts('r', links, description.joints, check_inertias=False)


def robot_of(description, **options):
    return Robot(description, backend='python', **options)


@pytest.mark.parametrize('name', ROBOTS)
def test_public_robots_have_definite_mass_matrices(name):
    robot = Robot.from_urdf(urdf_path(name), backend='python')
    found = definiteness(robot.tree)
    assert (found.status, found.q) == ('proved', None)
    assert found.finding.severity == 'info'
    rng = np.random.default_rng(0)
    D, _ = bounds(robot.tree, q := robot.random_configuration(rng, 20), np.zeros_like(q))
    assert 0.0 < found.least <= D.min() * (1.0 + 1e-6)


@pytest.mark.parametrize('share', [0.3, 1.0, 4.0])
@pytest.mark.parametrize('seed', range(4))
def test_impossible_bodies_are_decided_as_many_samples_are(seed, share):
    """A proof is never refuted by a sample, a refutation is seen by Pinocchio, too."""
    pytest.importorskip('pinocchio')
    from oracles.pinocchio_model import Pinocchio

    kinds = ('revolute', 'prismatic')
    described = random_description(seed, 5, kinds, mimic=seed % 2)
    description = impossible(described, f'link{2 + seed % 4}', share)
    robot = robot_of(description)
    oracle = Pinocchio(write_urdf(description), robot)
    samples = robot.random_configuration(np.random.default_rng(seed), SAMPLES)
    least = min(np.linalg.eigvalsh(oracle.mass_matrix(q))[0] for q in samples)
    found = definiteness(robot.tree)
    if found.status == 'proved':
        assert least > 0.0
    if least < 0.0:
        assert found.status == 'refuted'
    if found.status == 'refuted':
        value = np.linalg.eigvalsh(oracle.mass_matrix(found.q))[0]
        assert value == pytest.approx(found.least, abs=1e-9)
        assert value <= 0.0
        assert found.finding.severity == 'warning'


def test_search_decides_what_a_single_bound_does_not():
    """Arms with a wrong body each: all but a few are decided, by boxes or by a configuration."""
    decided = {}
    for seed in range(6):
        for share in (1.0, 16.0):
            description = impossible(random_description(seed, 5, chain=True), 'link3', share)
            found = definiteness(robot_of(description).tree).status
            decided[found] = decided.get(found, 0) + 1
    assert decided.get('undecided', 0) <= 2
    assert min(decided['proved'], decided['refuted']) >= 4


@pytest.mark.parametrize('kinds', [('revolute',), ('prismatic',), ('revolute', 'prismatic')])
def test_bounds_of_boxes_hold_in_all_their_configurations(kinds):
    rng = np.random.default_rng(1)
    for seed in range(2):
        description = impossible(random_description(seed, 4, kinds), 'link3', 0.6)
        tree = robot_of(description).tree
        lower, upper = ranges(tree)
        center = rng.uniform(lower, upper, (30, tree.nq))
        for width in (0.02, 0.3, 2.0):
            half = width * rng.uniform(size=center.shape)
            D, _ = bounds(tree, center, half)
            valid = np.minimum.accumulate((D > 0.0)[:, ::-1], axis=1)[:, ::-1]  # and successors
            for _ in range(10):
                within, _ = bounds(tree, center + half * rng.uniform(-1, 1, half.shape), 0 * half)
                assert (within >= D - 1e-9)[valid].all()


def test_bounds_of_points_are_articulated_inertias():
    """Cholesky factors of the mass matrix, beginning with the last joint."""
    robot = robot_of(random_description(3, 5, chain=True))
    q = robot.random_configuration(np.random.default_rng(0), 4)
    D, _ = bounds(robot.tree, q, 0.0 * q)
    for each, expected in zip(q, D):
        M = robot.mass_matrix(each)[::-1, ::-1]
        pivots = np.diag(np.linalg.cholesky(M))[::-1] ** 2
        np.testing.assert_allclose(pivots, expected, rtol=1e-6)


def test_a_rotor_makes_a_wrong_body_definite():
    """By hand: a bar about its end, 1 kg at 0.5 m, with -0.3 kg m^2 about its center."""
    bar = Inertia(1.0, [0.5, 0.0, 0.0], np.diag([0.01, 0.02, -0.3]))
    described = random_description(0, 1, ('revolute',))
    joint = replace(described.joints[0], axis=np.array([0.0, 0.0, 1.0]))
    links = [described.links[0], replace(described.links[1], inertia=bar)]
    description = RobotDescription.from_parts('r', links, [joint], check_inertias=False)
    found = definiteness(robot_of(description).tree)
    assert found.status == 'refuted'
    assert found.least == pytest.approx(-0.05)
    assert '-0.05' in str(found.finding)
    found = definiteness(robot_of(description, drives={'joint1': Drive(armature=0.06)}).tree)
    assert found.status == 'proved'
    assert found.least == pytest.approx(0.01)
    assert found.joint == 'joint1'


def test_what_is_not_decided_has_a_reason():
    wrong = impossible(random_description(2, 4, ('revolute', 'helical'), chain=True), 'link4', 0.9)
    assert 'is helical' in definiteness(robot_of(wrong).tree).reason
    wrong = impossible(random_description(0, 5, chain=True), 'link3', 1.0)
    found = definiteness(robot_of(wrong).tree, max_boxes=0)
    assert found.status == 'undecided'
    assert '0 boxes do not decide joint' in str(found.finding)
    assert definiteness(robot_of(random_description(0, 0)).tree).reason == 'no joint moves'
    free = robot_of(impossible(random_description(1, 3), 'link2', 0.2), floating_base=True)
    assert definiteness(free.tree).status == 'proved'
