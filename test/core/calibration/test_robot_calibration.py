# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Calibration of robot descriptions by exact poses, points and distances.

Spec IDs: C-016 (Jacobian of errors), C-017 (fit, rank report, corrected model), C-019 (valid near
parallel axes). The truth is made by displacing the joints of the description, not by the package's
own correction, and the model is compared with `Robot`.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from screw_dynamics_ros.core.calibration.chain_errors import ChainErrors
from screw_dynamics_ros.core.calibration.measurements import (
    MeasuredDistances,
    MeasuredPoints,
    MeasuredPoses,
)
from screw_dynamics_ros.core.calibration.robot_calibration import calibrate_robot
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import se3
from support.calibration import (
    ARMS,
    LOCATE,
    POSES,
    ROBOT,
    arm,
    configurations,
    displaced,
    errors_of,
    poses,
    with_displacements,
)
from support.models import random_pose
from support.robots import joint, links, robot

# --- C-016: the linear model ----------------------------------------------------------------------

BENT = robot(
    links('base a b c d tip'),
    joint(
        'turn', 'base', 'a', '<axis xyz="0.36 0.48 0.8"/><origin xyz="0.1 0 0.3"/>', 'continuous'
    ),
    joint('slide', 'a', 'b', '<axis xyz="0 1 0"/><limit lower="-1" upper="1"/>', 'prismatic'),
    joint('plate', 'b', 'c', '<origin xyz="0.2 0.1 0" rpy="0.3 0.4 0.5"/>', 'fixed'),
    joint(
        'follow',
        'c',
        'd',
        '<axis xyz="0.8 0 -0.6"/><origin xyz="0 0.2 0.1"/>'
        '<mimic joint="turn" multiplier="-0.5" offset="0.2"/>',
        'continuous',
    ),
    joint('mount', 'd', 'tip', '<origin xyz="0.1 0.2 0.3" rpy="1 0 0"/>', 'fixed'),
)


@pytest.mark.parametrize('size', [0.0, 0.3], ids=['nominal', 'far from it'])
@pytest.mark.parametrize('last', ['tool', 'target'])
def test_columns_against_differences(size, last):
    """C-016, (5.30): body twists of the target; general axes, prismatic and mimic joints."""
    rng = np.random.default_rng(1)
    groups = ('axes', 'offsets', 'scales', 'base', last)
    model = ChainErrors(read_urdf(BENT), 'tip', groups, random_pose(rng), random_pose(rng))
    assert len(model.names) == 4 + 2 + 4 + 3 + 3 + 6 + 6
    assert model.joints == ('turn', 'slide', 'follow')
    P, q = rng.uniform(-size, size, len(model.names)), rng.uniform(-1, 1, (4, 2))
    T, J = model.predicted(q, P)
    h = 2e-6
    for k, name in enumerate(model.names):
        dP = h * np.eye(len(P))[k]
        moved = np.linalg.inv(T) @ (model.pose(q, P + dP) - model.pose(q, P - dP)) / (2 * h)
        np.testing.assert_allclose(se3.hat(J[..., k]), moved, rtol=0, atol=1e-9, err_msg=name)


def test_model_is_that_of_the_corrected_description():
    """C-016: the error model predicts what `Robot` computes with the corrected description."""
    nominal = read_urdf(BENT)
    model = ChainErrors(nominal, 'tip', ('axes', 'offsets', 'tool'))
    rng = np.random.default_rng(2)
    P, q = rng.uniform(-0.2, 0.2, len(model.names)), rng.uniform(-1, 1, (5, 2))
    np.testing.assert_allclose(model.pose(q, 0 * P), poses(nominal, 'tip', q), atol=1e-14)
    np.testing.assert_allclose(model.pose(q, P), poses(model.corrected(P), 'tip', q), atol=1e-14)
    assert set(model.origins(P)) == {'turn', 'slide', 'follow', 'mount'}


# --- C-017: recovery ------------------------------------------------------------------------------


@pytest.mark.parametrize('name', ARMS)
@pytest.mark.parametrize('size', [1e-1, 1e-9])
def test_errors_are_recovered(name, size):
    """C-017: errors of all axes and of the tool, 50 exact poses, within 1e-9 and four steps."""
    nominal, link = arm(name)
    truth = displaced(nominal, link, size, seed=1)
    q = configurations(nominal)
    result = calibrate_robot(
        nominal, link, q, MeasuredPoses(poses(truth, link, q), 1e-4, 1e-4), estimate=ROBOT
    )
    assert result.success
    assert result.iterations <= (4 if size <= 1e-3 else 6)
    assert not result.held
    assert len(result.parameters) == 4 * (7 if name == 'Panda' else 6) + 6
    expected = errors_of(nominal, truth, result.parameters)
    assert np.abs(expected).max() > 0.5 * size
    np.testing.assert_allclose(result.values, expected, rtol=0, atol=min(1e-9, 1e-4 * size))
    other = configurations(nominal, 10, seed=8)
    np.testing.assert_allclose(
        poses(result.description, link, other), poses(truth, link, other), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize('name', ARMS)
def test_base_and_target_anywhere(name):
    """C-017: found with the errors; six of 36 or 40 parameters move like the base does."""
    nominal, link = arm(name)
    truth = displaced(nominal, link, 1e-3, seed=2, tool=False)
    rng = np.random.default_rng(3)
    base, target = random_pose(rng), random_pose(rng)
    q, other = configurations(nominal), configurations(nominal, 10, seed=8)
    measured = MeasuredPoses(base @ poses(truth, link, q) @ target, 1e-4, 1e-4)
    result = calibrate_robot(nominal, link, q, measured)
    assert result.success
    assert result.iterations <= 4
    held = [next(iter(combination)) for combination in result.held]
    owners = [name.partition('.')[0] for name in held]
    joints = ChainErrors(nominal, link, ('axes',)).joints
    assert sorted(owners, key=joints.index) == [joints[0]] * 4 + [joints[1]] * 2
    predicted = result.base @ poses(result.description, link, other) @ result.target
    np.testing.assert_allclose(
        predicted, base @ poses(truth, link, other) @ target, rtol=0, atol=1e-10
    )
    assert np.abs(result.residuals_before).max() > 1e-3
    assert np.abs(result.residuals_after).max() < 1e-12
    for combination in result.held:
        assert combination[next(iter(combination))] == pytest.approx(1.0)
        model = ChainErrors(nominal, link, ('axes', 'base', 'target'), base, target)
        P = np.array([combination.get(n, 0.0) for n in model.names])
        np.testing.assert_allclose(model.jacobian(q, 0 * P) @ P, 0.0, atol=1e-9)


def test_points_of_a_laser_tracker():
    """C-017: positions of a reflector beside the last axis tell all but the turns of the target."""
    nominal, link = arm('UR5')
    truth = displaced(nominal, link, 1e-3, seed=4, tool=False)
    base, target = random_pose(np.random.default_rng(5)), expm(se3.hat(LOCATE))
    q, other = configurations(nominal), configurations(nominal, 10, seed=8)
    seen = (base @ poses(truth, link, q) @ target)[:, :3, 3]
    guess = target.copy()
    guess[:3, 3] += [1e-3, -2e-3, 1e-3]
    result = calibrate_robot(nominal, link, q, MeasuredPoints(seen, 1e-5), target=guess)
    assert result.success
    assert result.residuals_after.shape == (POSES, 3)
    held = {next(iter(combination)) for combination in result.held}
    assert len(held) == 6
    assert all(name.startswith('shoulder') for name in held)
    predicted = (result.base @ poses(result.description, link, other) @ result.target)[:, :3, 3]
    exact = (base @ poses(truth, link, other) @ target)[:, :3, 3]
    np.testing.assert_allclose(predicted, exact, rtol=0, atol=1e-10)
    assert np.abs(result.residuals_before).max() > 1e-3


def test_reflector_anywhere():
    """C-017: with nothing known about it, far from the last axis, the gauge of the base is held."""
    nominal, link = arm('Panda')
    truth = displaced(nominal, link, 1e-2, seed=6, tool=False)
    base, target = random_pose(np.random.default_rng(7)), expm(se3.hat([0, 0, 0, 0.1, -0.08, 0.1]))
    q = configurations(nominal)
    seen = (base @ poses(truth, link, q) @ target)[:, :3, 3]
    result = calibrate_robot(nominal, link, q, MeasuredPoints(seen, 1e-5))
    assert result.success
    held = {next(iter(combination)).partition('.')[0] for combination in result.held}
    assert held == {'panda_joint1', 'panda_joint2'}
    assert len(result.held) == 6
    assert np.abs(result.residuals_after).max() < 1e-12
    # A reflector on the last axis tells little about its tilt: it is held, instead of guessed.
    on_axis = (base @ poses(truth, link, q))[:, :3, 3]
    result = calibrate_robot(nominal, link, q, MeasuredPoints(on_axis, 1e-4))
    assert {'panda_joint7.rx', 'panda_joint7.ry'} & {next(iter(c)) for c in result.held}


def test_distances_of_a_ballbar():
    """C-017: zero positions; turns of the first and the last joint may change nothing."""
    nominal, link = arm('UR5')
    names = ('shoulder_lift_joint', 'elbow_joint', 'wrist_1_joint', 'wrist_2_joint')
    turned = {n: 1e-3 * (k + 1) * np.eye(6)[1] for k, n in enumerate(names)}
    turned['wrist_2_joint'] = 4e-3 * np.eye(6)[2]
    truth = with_displacements(nominal, turned)
    target, center = expm(se3.hat(LOCATE)), np.array([0.6, 0.2, 0.1])
    q = configurations(nominal)
    points = (poses(truth, link, q) @ target)[:, :3, 3]
    measured = MeasuredDistances(np.linalg.norm(points - center, axis=1), center, 1e-5)
    result = calibrate_robot(
        nominal,
        link,
        q,
        measured,
        estimate=('offsets', 'target', 'base'),
        base=expm(se3.hat([0, 0, 0, 1e-3, -1e-3, 2e-3])),
        target=target,
    )
    assert result.success
    held = {next(iter(combination)) for combination in result.held}
    assert held == {'shoulder_pan_joint.offset', 'wrist_3_joint.offset'}
    found = dict(zip(result.parameters, result.values))
    for k, name in enumerate(names):
        assert found[f'{name}.offset'] == pytest.approx(1e-3 * (k + 1), abs=1e-9)
    with pytest.raises(ArgumentError, match='puts the target onto the center'):
        MeasuredDistances([1.0], [0, 0, 0], 1e-5).linearized(np.eye(4)[None], np.zeros((1, 6, 1)))


def test_scales_of_gears_are_reported():
    """C-017: a gear ratio that is wrong by 1e-3 is separated from the offsets, and not written."""
    nominal, link = arm('UR5')
    q = configurations(nominal)
    real = q * (1.0 + 1e-3 * np.arange(6))
    measured = MeasuredPoses(poses(nominal, link, real), 1e-4, 1e-4)
    result = calibrate_robot(nominal, link, q, measured, estimate=('offsets', 'scales'))
    assert result.success
    np.testing.assert_allclose(list(result.scales.values()), 1e-3 * np.arange(6), atol=1e-12)
    np.testing.assert_allclose(result.values[:6], 0.0, atol=1e-12)
    for each, own in zip(result.description.joints, nominal.joints):
        np.testing.assert_allclose(each.origin, own.origin, atol=1e-11)


def test_joint_that_never_moved_is_named():
    """C-017: what the configurations do not excite is held, by name, and nothing else is harmed."""
    nominal, link = arm('UR5')
    truth = displaced(nominal, link, 1e-3, seed=1)
    q = configurations(nominal)
    q[:, 2] = 0.4
    measured = MeasuredPoses(poses(truth, link, q), 1e-4, 1e-4)
    result = calibrate_robot(nominal, link, q, measured, estimate=ROBOT)
    assert result.success
    held = {next(iter(combination)) for combination in result.held}
    assert len(held) == 4  # a rigid link with one joint less
    assert any(name.startswith('elbow_joint') for c in result.held for name in c)
    assert 'elbow_joint' in result.message
    np.testing.assert_allclose(result.residuals_after, 0.0, atol=1e-11)


def test_prismatic_and_mimic_joints():
    """C-017: axes of general direction, a prismatic joint, one that follows another."""
    nominal = read_urdf(BENT)
    model = ChainErrors(nominal, 'tip', ROBOT)
    P = np.random.default_rng(3).uniform(-1e-3, 1e-3, len(model.names))
    q = np.random.default_rng(4).uniform(-1, 1, (POSES, 2))
    seen = MeasuredPoses(poses(model.corrected(P), 'tip', q), 1e-4, 1e-4)
    result = calibrate_robot(nominal, 'tip', q, seen, estimate=ROBOT)
    assert result.success
    assert result.iterations <= 4
    assert not result.held
    assert len(result.parameters) == 4 + 2 + 4 + 6
    np.testing.assert_allclose(result.values, P, rtol=0, atol=1e-9)


# --- C-019: nearly parallel axes ------------------------------------------------------------------


@pytest.mark.parametrize('tilt', [1e-1, 1e-6, 1e-12, 0.0])
def test_parallel_axes_do_not_matter(tilt):
    """C-019: as well conditioned as others; corrections are as large as the errors."""
    z = '<axis xyz="0 0 1"/><origin xyz="0.4 0 0"/>'
    text = robot(
        links('base a b c tip'),
        joint('j1', 'base', 'a', z, 'continuous'),
        joint('j2', 'a', 'b', z, 'continuous'),
        joint('j3', 'b', 'c', '<axis xyz="1 0 0"/><origin xyz="0.3 0 0.1"/>', 'continuous'),
        joint('mount', 'c', 'tip', '<origin xyz="0 0.1 0"/>', 'fixed'),
    )
    nominal = read_urdf(text)
    truth = with_displacements(nominal, {'j2': np.array([tilt, -0.5 * tilt, 0, 0, 0, 0])})
    q = configurations(nominal, 30)
    measured = MeasuredPoses(poses(truth, 'tip', q), 1e-4, 1e-4)
    result = calibrate_robot(nominal, 'tip', q, measured, estimate=ROBOT)
    assert result.success
    assert not result.held
    assert result.singular_values[-1] > 0.1 * result.singular_values[0]
    found = dict(zip(result.parameters, result.values))
    assert found.pop('j2.rx') == pytest.approx(tilt, abs=1e-12)
    assert found.pop('j2.ry') == pytest.approx(-0.5 * tilt, abs=1e-12)
    np.testing.assert_allclose(list(found.values()), 0.0, atol=1e-12)
