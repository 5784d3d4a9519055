# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Calibration with several targets on several links (C-016, C-017)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from screw_dynamics_ros.core.calibration.measurements import (
    MeasuredDistances,
    MeasuredPoints,
    MeasuredPoses,
)
from screw_dynamics_ros.core.calibration.robot_calibration import calibrate_robot
from screw_dynamics_ros.core.calibration.target_errors import TargetErrors
from screw_dynamics_ros.core.calibration.weighted_problem import registered_frames
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.lie import se3
from support.calibration import arm, configurations, displaced, poses
from support.models import random_pose
from support.robots import joint, links, robot

TWO_HANDS = robot(
    links('base trunk left right'),
    joint('waist', 'base', 'trunk', '<axis xyz="0 0 1"/><origin xyz="0 0 0.5"/>', 'continuous'),
    joint('arm', 'trunk', 'left', '<axis xyz="1 0 0"/><origin xyz="0.3 0.2 0"/>', 'continuous'),
    joint('slide', 'trunk', 'right', '<axis xyz="0 1 0"/><limit lower="-1" upper="1"/>',
          'prismatic'),
)  # fmt: skip
HANDS = {'l': 'left', 'r': 'right'}


def test_columns_against_differences():
    """C-016: shared joints and the base are the same parameters; each target has its own."""
    rng = np.random.default_rng(1)
    groups = ('axes', 'offsets', 'scales', 'base', 'target')
    targets = {name: random_pose(rng) for name in HANDS}
    model = TargetErrors(read_urdf(TWO_HANDS), HANDS, groups, random_pose(rng), targets)
    assert model.coordinates == ('waist', 'arm', 'slide')
    assert len(model.names) == len(set(model.names)) == 4 + 4 + 2 + 3 + 3 + 6 + 6 + 6
    P = rng.uniform(-0.3, 0.3, len(model.names))
    q, which = rng.uniform(-1, 1, (4, 3)), np.array([1, 0, 0, 1])
    T, J = model.predicted(q, P, which)
    own = np.stack([poses(model.corrected(0 * P), link, q) for link in HANDS.values()])
    C = model.base(0 * P) @ own[which, range(4)] @ np.stack([*targets.values()])[which]
    np.testing.assert_allclose(model.pose(q, 0 * P, which), C, atol=1e-14)
    h = 2e-6
    for k, name in enumerate(model.names):
        dP = h * np.eye(len(P))[k]
        moved = (model.pose(q, P + dP, which) - model.pose(q, P - dP, which)) / (2 * h)
        np.testing.assert_allclose(
            se3.hat(J[..., k]), np.linalg.inv(T) @ moved, rtol=0, atol=1e-9, err_msg=name
        )


@pytest.mark.parametrize(
    ('kind', 'estimate', 'free', 'found'),
    [
        ('poses', ('base', 'target'), (True, True), 'all'),
        ('poses', ('base', 'target'), (True, False), 'base'),
        ('poses', ('base', 'axes'), (True, True), 'base'),
        ('points', ('base', 'target'), (True, True), 'base'),
        ('poses', ('base', 'target'), (False, True), 'none'),
        ('poses', ('target', 'axes'), (True, True), 'none'),
        ('distances', ('base', 'axes'), (True, True), 'none'),
    ],
)
def test_frames_that_registration_finds(kind, estimate, free, found):
    """Base and targets from exact poses, the base alone if targets are known, else the given."""
    rng = np.random.default_rng(4)
    base, assumed = random_pose(rng), np.eye(4) if free[0] else random_pose(rng)
    targets = {name: random_pose(rng) for name in HANDS}
    q, which = rng.uniform(-1, 1, (9, 3)), np.array([1, 0, 0, 1, 0, 1, 0, 0, 1])
    description = read_urdf(TWO_HANDS)
    own = np.stack([poses(description, link, q) for link in HANDS.values()])[which, range(9)]
    T = base @ own @ np.stack([*targets.values()])[which]
    measured = {
        'poses': MeasuredPoses(T, 1e-3, 1e-3),
        'points': MeasuredPoints(T[:, :3, 3], 1e-3),
        'distances': MeasuredDistances(np.linalg.norm(T[:, :3, 3], axis=1), np.zeros(3), 1e-3),
    }[kind]
    given = None if found == 'all' else targets
    model = TargetErrors(description, HANDS, estimate, assumed, given, measured.of_base,
                         measured.of_target)  # fmt: skip
    start, on_links = registered_frames(model, q, which, measured, estimate, *free)
    np.testing.assert_allclose(start, assumed if found == 'none' else base, atol=1e-9)
    for name, pose in targets.items():
        np.testing.assert_allclose(on_links[name], pose, atol=1e-9)


@pytest.mark.parametrize('kind', ['points', 'poses'])
def test_targets_on_two_links(kind):
    """C-017: the true robot, and poses of three targets that were never measured."""
    nominal, tip = arm('UR5')
    carriers = {'side': 'wrist_1_link', 'one': tip, 'two': tip}
    truth = displaced(nominal, tip, 1e-3, seed=2, tool=False)
    rng = np.random.default_rng(3)
    base = random_pose(rng)
    near = {name: expm(se3.hat(rng.uniform(-0.1, 0.1, 6))) for name in carriers}
    anywhere = {name: random_pose(rng) for name in carriers}
    target = near if kind == 'points' else anywhere
    q, other = configurations(nominal, 40), configurations(nominal, 10, seed=8)

    def seen(robot, base, target, q):
        """Return poses of all targets, one target after the other."""
        return np.concatenate(
            [base @ poses(robot, link, q) @ target[name] for name, link in carriers.items()]
        )

    C = seen(truth, base, target, q)
    points = kind == 'points'
    measured = MeasuredPoints(C[:, :3, 3], 1e-5) if points else MeasuredPoses(C, 1e-4, 1e-4)
    of = [name for name in carriers for _ in q]
    result = calibrate_robot(nominal, carriers, np.tile(q, (3, 1)), measured, targets=of)
    assert result.success
    assert len(result.held) == 6  # what moves like the base
    assert result.links == carriers
    expected = seen(truth, base, target, other)
    predicted = seen(result.description, result.base, result.targets, other)
    np.testing.assert_allclose(predicted[:, :3, 3], expected[:, :3, 3], rtol=0, atol=1e-9)
    with pytest.raises(ArgumentError, match='several targets: side, one, two'):
        _ = result.target
    if points:  # one target on the tip alone determines less
        alone = calibrate_robot(nominal, tip, q, measured.part(range(40, 80)))
        values, less = (dict(zip(r.parameters, r.deviations)) for r in (result, alone))
        assert all(values[n] < less[n] for n in less if n.startswith(('elbow', 'wrist_1')))


def test_refusals():
    """C-017: names of targets that are missing, unknown or in use, and what targets exclude."""
    hands, q = read_urdf(TWO_HANDS), np.zeros((2, 3))
    seen = MeasuredPoints(np.eye(3)[:2], 1e-3)

    def refused(error, message, links=HANDS, targets=('l', 'r'), **options):
        with pytest.raises(error, match=message):
            calibrate_robot(hands, links, q, seen, targets=targets, **options)

    refused(ArgumentError, 'name that of each of the 2 measurements, of l, r', targets=None)
    refused(ArgumentError, 'name that of each of the 2 measurements', targets=('l',))
    refused(UnknownNameError, "there is no target 'x'; there are l, r", targets=('l', 'x'))
    refused(ArgumentError, 'no measurement of target r is fitted', targets=('l', 'l'))
    refused(ArgumentError, 'no measurement of target r is fitted', held_out=(1,))
    refused(ArgumentError, 'there is no nominal pose of one', target=np.eye(4))
    refused(ArgumentError, 'tool cannot be estimated with several', estimate=('axes', 'tool'))
    named = {'l': 'left', 'arm': 'right'}
    refused(ArgumentError, "target 'arm' has the name of a joint", named, ('l', 'arm'))
    with pytest.raises(ArgumentError, match='there is no target; name a link'):
        TargetErrors(hands, {}, ('axes',))
