"""Calibration of robot descriptions: poses, points, distances; confidence, outliers, refusals.

Spec IDs: C-016 (Jacobian of errors), C-017 (fit, rank report, corrected model), C-019 (valid near
parallel axes). The truth is made by displacing the joints of the description, not by the package's
own correction, and the model is compared with `Robot`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import RobotDescription, read_urdf
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.identification.chain_errors import ChainErrors
from screw_dynamics_ros.core.identification.measurements import (
    MeasuredDistances,
    MeasuredPoints,
    MeasuredPoses,
)
from screw_dynamics_ros.core.identification.robot_calibration import calibrate_robot
from screw_dynamics_ros.core.lie import se3
from support.models import random_pose
from support.robots import joint, links, one_joint, robot, urdf_path

ARMS = {'UR5': ('ur_description/urdf/ur5_robot', 'tool0'), 'Panda': ('panda', 'panda_hand_tcp')}
POSES = 50
ROBOT = ('axes', 'tool')  # all errors of the robot itself
LOCATE = (0.0, 0.0, 0.0, 0.05, 0.03, 0.04)  # of a reflector on the tool


def arm(name: str) -> tuple[RobotDescription, str]:
    path, link = ARMS[name]
    return read_urdf(urdf_path(path)), link


def displaced(
    description: RobotDescription, link: str, size: float, seed: int, tool: bool = True
) -> RobotDescription:
    """Return the description with random errors of all axes on the way to the link, and of it."""
    rng = np.random.default_rng(seed)
    joints = {j.child: j for j in description.joints}
    moved = {}
    child = link
    while child in joints:
        j = joints[child]
        if j.type != 'fixed':
            across = np.abs(j.axis) < 0.5  # these arms have axes along X, Y or Z
            moved[j.name] = rng.uniform(-size, size, 6) * np.tile(across, 2)
        elif child == link and tool:
            moved[j.name] = rng.uniform(-size, size, 6)
        child = j.parent
    return with_displacements(description, moved)


def with_displacements(description, moved):
    """Return the description with joints displaced by exp(x), by the matrix exponential."""
    return replace(
        description,
        joints=tuple(
            replace(j, origin=j.origin @ expm(se3.hat(moved[j.name]))) if j.name in moved else j
            for j in description.joints
        ),
    )


def poses(description: RobotDescription, link: str, q: np.ndarray) -> np.ndarray:
    return Robot(description, backend='reference').link_pose(q, link)


def configurations(description: RobotDescription, count: int = POSES, seed: int = 7) -> np.ndarray:
    nq = Robot(description, backend='reference').nq
    return np.random.default_rng(seed).uniform(-2, 2, (count, nq))


def noisy(C: np.ndarray, seed: int, angle: float, distance: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    turns = Rotation.from_rotvec(rng.normal(0, angle, (len(C), 3))).as_matrix()
    C = C.copy()
    C[:, :3, :3] = C[:, :3, :3] @ turns
    C[:, :3, 3] += rng.normal(0, distance, (len(C), 3))
    return C


def errors_of(nominal, truth, names):
    """Return the true value of each parameter, read off the joints of both descriptions."""
    before, after = ({j.name: j for j in d.joints} for d in (nominal, truth))
    mount = next(j.name for j in nominal.joints if j.child in ('tool0', 'panda_hand_tcp'))
    values = []
    for name in names:
        owner, _, part = name.partition('.')
        owner = mount if owner == 'tool' else owner
        x = se3.log(np.linalg.inv(before[owner].origin) @ after[owner].origin)
        values.append(x[('rx', 'ry', 'rz', 'x', 'y', 'z').index(part)])
    return np.array(values)


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
    """C-016, (5.30): columns of J_P are body twists of the target, at any values of the errors;
    general axes, prismatic and mimic joints."""
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
@pytest.mark.parametrize('size', [1e-1, 1e-3, 1e-6, 1e-9])
def test_errors_are_recovered(name, size):
    """C-017: errors of all axes and of the tool, 50 exact poses, within 1e-9 and four steps."""
    nominal, link = arm(name)
    truth = displaced(nominal, link, size, seed=1)
    q = configurations(nominal)
    result = calibrate_robot(
        nominal,
        link,
        q,
        MeasuredPoses(poses(truth, link, q), 1e-4, 1e-4),
        estimate=ROBOT,
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
    """C-017: a camera anywhere and a marker anywhere on the tool are found with the errors; of the
    36 or 40 parameters six are held, because they move like the base does."""
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


def test_distances_of_a_ballbar():
    """C-017: zero positions from distances to a fixed point; the first and the last joint turn
    about a line on which nothing changes, or like the base does."""
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
    """C-017: a gear ratio that is wrong by 1e-3 is told from the offsets, and not written."""
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


# --- C-019: nearly parallel axes ------------------------------------------------------------------


@pytest.mark.parametrize('tilt', [1e-1, 1e-6, 1e-12, 0.0])
def test_parallel_axes_do_not_matter(tilt):
    """C-019: two axes parallel up to any angle, as well conditioned as others; corrections are as
    large as the errors, where a common normal would jump."""
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


# --- C-017: noise, confidence, another solver -----------------------------------------------------


def test_confidence_is_what_it_says():
    """C-017: with noise of 0.1 mm and 0.2 mrad the 95 % ellipsoid holds the truth in about 95 of
    100 cases, and so do the intervals of single parameters (doc/calibration.md has 100 seeds)."""
    nominal, link = arm('UR5')
    truth = displaced(nominal, link, 1e-3, seed=1)
    q = configurations(nominal, 30)
    exact = poses(truth, link, q)
    inside, singles, misfits = [], [], []
    for seed in range(20):
        measured = MeasuredPoses(noisy(exact, seed, 2e-4, 1e-4), 2e-4, 1e-4)
        result = calibrate_robot(nominal, link, q, measured, estimate=ROBOT)
        assert result.success
        expected = errors_of(nominal, truth, result.parameters)
        error = result.values - expected
        inside.append(error @ np.linalg.solve(result.covariance, error) < chi2.ppf(0.95, 30))
        low, high = result.intervals(0.95).T
        singles.append(np.mean((low < expected) & (expected < high)))
        misfits.append(result.misfit)
    assert sum(inside) >= 17  # 16 or less happens once in 400 times
    assert abs(np.mean(singles) - 0.95) < 0.03
    assert abs(np.mean(misfits) - 1.0) < 0.05
    by_residuals = result.intervals(from_residuals=True)
    ratio = np.diff(by_residuals, axis=1) / np.diff(result.intervals(), axis=1)
    np.testing.assert_allclose(ratio, result.misfit, rtol=0.02)


def test_same_minimum_as_another_solver():
    """C-017: scipy's Levenberg-Marquardt on differences, with residuals written anew, ends at the
    same parameters."""
    nominal, link = arm('UR5')
    q = configurations(nominal, 20)
    measured = noisy(poses(displaced(nominal, link, 1e-3, 1), link, q), 3, 1e-3, 5e-4)
    known = ('shoulder_pan_joint', 'shoulder_lift_joint', 'wrist_3_joint')  # the others take time
    seen = MeasuredPoses(measured, 1e-3, 5e-4)
    result = calibrate_robot(nominal, link, q, seen, estimate=('axes',), fixed=known)

    def residuals(P):
        moved = {}
        for name, x in zip(result.parameters, P):
            owner, _, part = name.partition('.')
            place = ('rx', 'ry', 'rz', 'x', 'y', 'z').index(part)
            moved.setdefault(owner, np.zeros(6))[place] = x
        T = poses(with_displacements(nominal, moved), link, q)
        D = np.linalg.inv(T) @ measured
        turn = Rotation.from_matrix(D[:, :3, :3]).as_rotvec()
        e = se3.log(D)
        np.testing.assert_allclose(e[:, :3], turn, atol=1e-12)
        return (e / np.repeat([1e-3, 5e-4], 3)).ravel()

    other = least_squares(residuals, np.zeros(12), method='lm', xtol=1e-14, ftol=1e-14)
    np.testing.assert_allclose(result.values, other.x, rtol=0, atol=1e-8)
    assert np.sum(residuals(result.values) ** 2) <= 2 * other.cost * (1 + 1e-9)


def test_outliers_are_named():
    """C-017: three grossly wrong poses of 60 would spoil the fit; they are found, no others."""
    nominal, link = arm('Panda')
    truth = displaced(nominal, link, 1e-3, seed=1)
    q = configurations(nominal, 60)
    seen = noisy(poses(truth, link, q), 1, 2e-4, 1e-4)
    wrong = (4, 17, 42)
    for k in wrong:
        seen[k, :3, 3] += [0.05, -0.02, 0.01 * k]
    measured = MeasuredPoses(seen, 2e-4, 1e-4)
    plain = calibrate_robot(nominal, link, q, measured, estimate=ROBOT)
    robust = calibrate_robot(nominal, link, q, measured, estimate=ROBOT, robust=True)
    assert plain.misfit > 10
    assert robust.outliers == wrong
    assert robust.misfit == pytest.approx(1.0, abs=0.15)
    expected = errors_of(nominal, truth, robust.parameters)
    error, spoilt = (np.linalg.norm(r.values - expected) for r in (robust, plain))
    assert error < 0.1 * spoilt
    clean = np.setdiff1d(np.arange(60), wrong)
    alone = calibrate_robot(nominal, link, q[clean], measured.part(clean), estimate=ROBOT)
    np.testing.assert_allclose(robust.values, alone.values, rtol=0, atol=1e-9)


def test_held_out_measurements_are_not_fitted():
    """C-017: validation poses have residuals like noise, and do not change the result."""
    nominal, link = arm('UR5')
    truth = displaced(nominal, link, 1e-3, seed=1)
    q = configurations(nominal)
    seen = noisy(poses(truth, link, q), 1, 2e-4, 1e-4)
    held_out = range(0, POSES, 5)
    spoilt = seen.copy()
    spoilt[0] = np.eye(4)
    results = [
        calibrate_robot(
            nominal, link, q, MeasuredPoses(C, 2e-4, 1e-4), estimate=ROBOT,
            held_out=held_out,
        )
        for C in (seen, spoilt)
    ]  # fmt: skip
    np.testing.assert_array_equal(results[0].values, results[1].values)
    assert results[0].held_out == tuple(held_out)
    assert len(results[0].used) == 40
    rms = np.sqrt(np.mean(results[0].residuals_after[list(held_out), 3:] ** 2))
    before = np.sqrt(np.mean(results[0].residuals_before[list(held_out), 3:] ** 2))
    assert rms < 2e-4 < 1e-3 < before


def test_fixed_parameters_stay():
    """C-017: parameters known are not estimated, by their own name or by that of their owner."""
    nominal, link = arm('UR5')
    q = configurations(nominal)
    measured = MeasuredPoses(poses(displaced(nominal, link, 1e-3, 1), link, q), 1e-4, 1e-4)
    result = calibrate_robot(
        nominal, link, q, measured, estimate=ROBOT, fixed=('elbow_joint', 'tool.x')
    )
    assert len(result.parameters) == 30 - 5
    assert 'elbow_joint' not in result.origins
    with pytest.raises(UnknownNameError, match=r"no parameter 'elbow'.*elbow_joint\.rx"):
        calibrate_robot(nominal, link, q, measured, fixed=('elbow',))


# --- refusals -------------------------------------------------------------------------------------


def test_what_calibration_refuses():
    nominal, link = arm('UR5')
    q = configurations(nominal, 8)
    C = poses(nominal, link, q)
    good = MeasuredPoses(C, 1e-4, 1e-4)
    with pytest.raises(UnknownNameError, match="no link 'hand'"):
        calibrate_robot(nominal, 'hand', q, good)
    with pytest.raises(UnknownNameError, match='give several of axes, offsets'):
        calibrate_robot(nominal, link, q, good, estimate=('axis',))
    nan = q.copy()
    nan[3, 2] = np.nan
    for arguments, options, message in [
        ((link, q[:5], good), {}, '8 measured poses, but q has shape'),
        ((link, nan, good), {}, r'q\[3\] holds numbers'),
        ((link, q[:, :5], good), {}, r'q must have shape \(N, 6\)'),
        ((link, q[:3], good.part([0, 1, 2])), {}, '3 poses give 18 equations for 36'),
        ((link, q, good), {'held_out': [8]}, 'none is number 8'),
        ((link, q, good), {'estimate': ('tool', 'target')}, 'one hides the other'),
        (('wrist_3_link', q, good), {'estimate': ('tool',)}, "no fixed joint carries link 'wrist"),
        (('base_link', q, good), {'estimate': ('axes',)}, 'nothing to estimate'),
        ((link, q, good), {'target': np.ones((4, 4))}, 'target: not a rigid motion'),
        ((link, q, good), {'cutoff': 0.0}, 'cutoff must be a finite positive number'),
        ((link, np.tile(q[0], (8, 1)), MeasuredPoses(C[[0] * 8], 1, 1)), {}, 'two different axes'),
    ]:
        with pytest.raises(ArgumentError, match=message):
            calibrate_robot(nominal, *arguments, **options)
    still = read_urdf(one_joint('<axis xyz="0 0 1"/>', 'continuous'))
    points = MeasuredPoints(np.zeros((4, 3)), 1e-4)
    with pytest.raises(ArgumentError, match=r'tell nothing about j\.offset'):
        calibrate_robot(still, 'b', np.zeros((4, 1)), points, estimate=('offsets',))
    planar = read_urdf(one_joint('<axis xyz="0 0 1"/>', 'planar'))
    with pytest.raises(ArgumentError, match="joint 'j' on the way to link 'b' is planar"):
        calibrate_robot(planar, 'b', np.zeros((4, 3)), points, estimate=('axes',))
    named = read_urdf(one_joint('<axis xyz="0 0 1"/>', 'continuous').replace('"j"', '"base"'))
    with pytest.raises(ArgumentError, match="joint 'base' has the name of other parameters"):
        calibrate_robot(named, 'b', np.zeros((4, 1)), points, estimate=('axes',))


def test_what_measurements_refuse():
    C = np.broadcast_to(np.eye(4), (3, 4, 4)).copy()
    for make, message in [
        (lambda: MeasuredPoses(C[0], 1, 1), r'poses must have shape \(N, 4, 4\), got \(4, 4\)'),
        (lambda: MeasuredPoses(2 * C, 1, 1), 'not a rigid motion'),
        (lambda: MeasuredPoses(C, 0, 1), 'rotation_deviation must be'),
        (lambda: MeasuredPoses(C, 1, np.nan), 'position_deviation must be'),
        (lambda: MeasuredPoints([[0, 0, np.inf]], 1), r'points\[0\] holds numbers'),
        (lambda: MeasuredPoints([0, 0, 0], 1), r'points must have shape \(N, 3\)'),
        (lambda: MeasuredDistances([1, -1], [0, 0, 0], 1), 'distances must be positive'),
        (lambda: MeasuredDistances([1], [0, 0], 1), r'center must have shape \(3,\)'),
    ]:
        with pytest.raises(ArgumentError, match=message):
            make()


def test_most_measurements_wrong():
    """Where measurements do not agree at all, the fit says so instead of choosing a few."""
    nominal, link = arm('UR5')
    q = configurations(nominal, 12)
    rng = np.random.default_rng(0)
    measured = MeasuredPoses(np.stack([random_pose(rng) for _ in q]), 1e-4, 1e-4)
    result = calibrate_robot(nominal, link, q, measured, estimate=('offsets',), robust=True)
    assert not result.success or result.misfit > 100
