# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts on links from joint torques; torques of contacts are found by moving their points."""

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.estimation.contact_localization import (
    ContactLocator,
    Hypotheses,
    LocalizationOptions,
)
from screw_dynamics_ros.core.estimation.link_segments import link_segments
from support.planar_3r import planar_3r
from support.robots import urdf_path

THIN = LocalizationOptions(link_radius=0.0)
STEP = 1e-6


class Arm:
    """A robot that is touched."""

    def __init__(self, robot, deviation, options=None, only_joints=False):
        self.robot, self.deviation = robot, deviation
        segments = link_segments(robot.description, robot.joint_names)
        if only_joints:
            segments = [each for each in segments if each.shape is None]
        self.locator = ContactLocator(segments, robot.joint_names, options=options)
        self.covariance = deviation**2 * np.eye(robot.nv)

    def configuration(self, rng):
        limits = self.robot.limits
        return rng.uniform(np.maximum(limits.lower, -3.0), np.minimum(limits.upper, 3.0))

    def torques(self, q, link, point, force):
        """Return the torques of a force in root axes: its power by finite differences."""

        def place(q):
            C = self.robot.link_pose(q, link)
            return C[:3, :3] @ point + C[:3, 3]

        steps = STEP * np.eye(self.robot.nv)
        return np.array([force @ (place(q + d) - place(q - d)) for d in steps]) / (2.0 * STEP)

    def found(self, q, torques):
        jacobians = [self.robot.jacobian(q, link, 'body') for link in self.locator.links]
        return self.locator.locate(np.array(jacobians), torques, self.covariance)

    def touched(self, q, link, point, force, rng=None):
        """Return what is found of a touch, with noise if there is a generator."""
        noise = self.deviation * rng.normal(size=self.robot.nv) if rng else 0.0
        return self.found(q, self.torques(q, link, point, force) + noise)


@pytest.fixture(scope='module')
def panda():
    return Arm(Robot.from_urdf(urdf_path('panda')), 0.1, THIN, only_joints=True)


@pytest.fixture(scope='module')
def planar():
    return Arm(Robot(planar_3r()), 0.05, THIN)


def direction(rng):
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


def test_information_that_is_not_positive_definite_is_refused(panda):
    """Rounding leaves such with covariances of torques over many orders of magnitude."""
    for place in range(4):
        information = np.eye(4)
        information[place, place] = -1e-3
        found = Hypotheses(
            *(np.array([0]), np.ones((1, 3)), np.array([0.5])),
            *(information[None], np.array([0.0]), np.array([0.0])),
        )
        result = panda.locator._judged(found)
        assert result.contact is None
        assert 'too badly conditioned' in result.reason


@pytest.mark.parametrize(
    ('link', 'point'), [('panda_link7', [0, 0, 0.15]), ('panda_link4', [-0.04125, 0.192, 0.0])]
)
def test_without_noise_link_place_and_force_are_exact(panda, link, point):
    exact, rng = Arm(panda.robot, 1e-3, THIN, only_joints=True), np.random.default_rng(1)
    reported = 0
    for _ in range(20):
        q, force = panda.configuration(rng), 40.0 * direction(rng)
        contact = exact.touched(q, link, np.array(point), force).contact
        if contact is None:
            continue
        reported += 1
        R = panda.robot.link_pose(q, link)[:3, :3]
        assert contact.segment.link == link
        np.testing.assert_allclose(contact.point, point, atol=1e-5 + 0.1 * contact.deviation)
        error = np.abs(contact.force - R.T @ force)
        assert (error < 1e-3 + 0.1 * np.sqrt(contact.force_covariance.diagonal())).all()
    assert reported >= 15


@pytest.mark.parametrize(('link', 'least'), [('panda_link7', 300), ('panda_link4', 150)])
def test_errors_are_as_large_as_stated_and_the_link_is_right(panda, link, least):
    """Pushes of 60 N: the reported link is right in 99 %, the place within its deviation."""
    rng = np.random.default_rng(2)
    segment = next(each for each in panda.locator.segments if each.link == link)
    normalized, wrong = [], 0
    for _ in range(400):
        share = rng.uniform(0.2, 0.9)
        point = segment.start + share * (segment.end - segment.start)
        found = panda.touched(panda.configuration(rng), link, point, 60.0 * direction(rng), rng)
        if found.contact is None:
            continue
        if found.contact.segment.link != link:
            wrong += 1
            continue
        contact = found.contact
        normalized.append((contact.along - share * segment.length) / contact.deviation)
    assert len(normalized) >= least
    assert wrong <= 0.01 * len(normalized)
    inner = np.array(normalized)
    assert 0.7 < np.mean(inner**2) < 1.3  # 1 +- 0.1; less where places are cut at the ends
    assert np.mean(np.abs(inner) < 3.0) > 0.98


def test_surface_of_a_cylinder():
    """Pushes within a friction cone on the forearm of an arm with shapes."""
    arm = Arm(Robot.from_urdf(urdf_path('panda')), 0.1)
    rng = np.random.default_rng(3)
    segment = next(
        each
        for each in arm.locator.segments
        if (each.link, each.part) == ('panda_link7', 'cylinder')
    )
    axis = (segment.end - segment.start) / segment.length
    inside = reported = 0
    for _ in range(150):
        out = np.cross(axis, direction(rng))
        out /= np.linalg.norm(out)
        share = rng.uniform(0.1, 0.9)
        point = segment.start + share * segment.length * axis + segment.shape.axis()[2] * out
        q = arm.configuration(rng)
        R = arm.robot.link_pose(q, 'panda_link7')[:3, :3]
        force = 60.0 * R @ (-out + 0.2 * direction(rng))
        found = arm.touched(q, 'panda_link7', point, force, rng)
        if found.contact is None:
            continue
        reported += 1
        assert found.contact.segment.link == 'panda_link7'
        error = found.contact.point - point
        P = found.contact.covariance
        inside += error @ np.linalg.solve(P, error) < 16.0
    assert reported > 50
    assert inside > 0.95 * reported


def test_planar_arm_tells_the_place_on_its_third_link(planar):
    """Parallel axes feel two components of a force: with the place three numbers, three torques."""
    rng = np.random.default_rng(4)
    normalized = []
    for _ in range(200):
        q, share = rng.uniform(0.4, 1.2, 3), rng.uniform(0.3, 0.9)
        angle = rng.uniform(-np.pi, np.pi)
        force = 20.0 * np.array([np.cos(angle), np.sin(angle), 0.0])
        found = planar.touched(q, 'rod3', np.array([share, 0, 0]), force, rng)
        if found.contact is None:
            continue
        assert found.link == 'rod3'
        normalized.append((found.contact.along - share) / found.contact.deviation)
    assert len(normalized) > 60
    assert 0.6 < np.mean(np.square(normalized)) < 1.4


def test_too_few_joints_are_a_reason(planar):
    found = planar.touched(
        np.array([0.3, 0.5, 0.4]), 'rod2', np.array([0.5, 0, 0]), np.array([0.0, 30, 0])
    )
    assert found.contact is None
    assert 'two links explain' in found.reason or found.link == 'rod2'
    two = Arm(Robot.from_urdf(urdf_path('planar_2r')), 0.05, THIN, only_joints=True)
    found = two.touched(
        np.array([0.3, 0.8]), 'link2', np.array([0.3, 0, 0]), np.array([-4.0, 9, 0])
    )
    assert (found.contact, found.link) == (None, 'link2')
    assert 'two joints' in found.reason or '2 joints' in found.reason
    assert 'four are needed' in found.reason


def test_small_torques_are_no_contact(panda):
    found = panda.found(np.zeros(8), np.full(8, 0.4))
    assert (found.contact, found.link) == (None, '')
    assert 'beyond its noise' in found.reason


def test_a_moment_is_a_misfit(panda):
    rng = np.random.default_rng(5)
    q = panda.configuration(rng)
    wrench = np.array([6.0, -8.0, 5.0, 20.0, 10.0, -15.0])
    found = panda.found(q, panda.robot.jacobian(q, 'panda_hand', 'body').T @ wrench)
    assert found.contact is None
    assert 'no single force' in found.reason
    assert 'moment' in found.reason


def test_contacts_of_two_arms_are_no_single_one():
    """Torques in joints of two branches: no link is moved by all of them."""
    robot = Robot.from_urdf(urdf_path('gripper_tree'))
    segments = link_segments(robot.description, robot.joint_names)
    locator = ContactLocator(segments, robot.joint_names, 'reference')
    leaves = [
        each for each in segments if not any(each.joints < other.joints for other in segments)
    ]
    assert len({each.joints for each in leaves}) > 1
    jacobians = np.array([robot.jacobian(robot.neutral(), link, 'body') for link in locator.links])
    found = locator.locate(jacobians, np.full(robot.nv, 9.0), 0.01 * np.eye(robot.nv))
    assert found.contact is None
    assert 'no known part of a link is moved by all joints' in found.reason


def test_backends_agree(panda):
    rng = np.random.default_rng(6)
    q = panda.configuration(rng)
    torques = panda.torques(q, 'panda_link7', np.array([0, 0, 0.1]), 50.0 * direction(rng))
    results = []
    for backend in ('native', 'python', 'reference'):
        locator = ContactLocator(panda.locator.segments, panda.locator.joints, backend, THIN)
        jacobians = np.array([panda.robot.jacobian(q, link, 'body') for link in locator.links])
        stack = np.array([torques, 2.0 * torques, 0.0 * torques])
        results.append(locator.locate_all(np.array([jacobians] * 3), stack, panda.covariance))
        assert results[-1][2].contact is None
    for found in results[1:]:
        for ours, first in zip(found[:2], results[0]):
            np.testing.assert_allclose(ours.contact.point, first.contact.point, atol=1e-9)
            np.testing.assert_allclose(ours.contact.covariance, first.contact.covariance, atol=1e-9)


@pytest.mark.parametrize('change', ['jacobians', 'torques', 'covariance', 'variance', 'counts'])
def test_bad_arrays_are_refused(panda, change):
    locator = panda.locator
    jacobians = np.zeros((len(locator.links), 6, 8))
    torques, covariance = np.ones(8), panda.covariance.copy()
    if change == 'jacobians':
        jacobians = jacobians[1:]
    elif change == 'torques':
        torques = torques[1:]
    elif change == 'covariance':
        covariance = covariance[1:]
    elif change == 'variance':
        covariance[2, 2] = 0.0
    stack = 2 if change == 'counts' else 1
    with pytest.raises(ArgumentError, match='joint3' if change == 'variance' else 'shape|many'):
        locator.locate_all(jacobians[None], np.array([torques] * stack), covariance)


def test_torques_that_are_no_numbers_are_no_contact(panda):
    for value in (np.nan, np.inf):
        found = panda.found(np.zeros(8), np.full(8, value))
        assert found.contact is None


@pytest.mark.parametrize('size', [1e100, 1e200, 1e308])
def test_torques_too_large_to_compute_with(panda, size):
    torques = size * np.array([1.0, -1, 1, 1, -1, 1, 1, 0])
    with np.errstate(all='ignore'):
        found = panda.found(np.full(8, 0.3), torques)
    assert found.contact is None
    assert found.reason


def test_a_covariance_that_is_none(panda):
    covariance = np.full((8, 8), 0.1) - 0.05 * np.eye(8)  # positive variances, one value negative
    covariance[0, 1:] = covariance[1:, 0] = 0.2
    jacobians = [panda.robot.jacobian(np.zeros(8), link, 'body') for link in panda.locator.links]
    found = panda.locator.locate(np.array(jacobians), np.full(8, 9.0), covariance)
    assert 'not positive definite' in found.reason


def test_correlated_errors_count(panda):
    """A common error of all torques is not taken for a contact, if it is stated."""
    jacobians = [panda.robot.jacobian(np.full(8, 0.3), k, 'body') for k in panda.locator.links]
    common = 4.0 * np.ones(8)
    covariance = 0.01 * np.eye(8) + np.outer(common, common)
    found = panda.locator.locate(np.array(jacobians), 1.2 * common, covariance)
    assert found.contact is None


def test_options_can_be_changed(panda):
    rng = np.random.default_rng(7)
    arm = Arm(panda.robot, 0.1, THIN, only_joints=True)
    q, force = arm.configuration(rng), 40.0 * direction(rng)
    assert arm.touched(q, 'panda_link7', np.array([0, 0, 0.15]), force).contact
    arm.locator.options = replace(THIN, largest_deviation=1e-9)
    found = arm.touched(q, 'panda_link7', np.array([0, 0, 0.15]), force)
    assert (found.contact, found.link) == (None, 'panda_link7')
