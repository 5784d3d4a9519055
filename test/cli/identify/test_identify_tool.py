# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""`identify --sensor`: a tool of particles, whose forces are second differences of positions."""

import numpy as np
import pytest
import yaml

from screw_dynamics_ros.cli.identify.command import main
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.identification.fourier_motion import (
    FourierMotion,
    FourierSeries,
)
from screw_dynamics_ros.entry import NEGATIVE, UNUSABLE
from support.robots import urdf_path

PANDA = urdf_path('panda')
FRAME = 'panda_link8'
MASSES = np.array([0.4, 0.7, 0.2, 0.5])
PLACES = np.array([[0.02, 0.01, 0.1], [-0.03, 0.0, 0.15], [0.0, 0.05, 0.05], [0.01, -0.02, 0.2]])
BIAS = np.array([3.0, -2.0, 8.0, 0.2, -0.1, 0.05])  # force, moment
HOME = np.array([0.0, -0.5, 0.0, -1.8, 0.0, 1.6, 0.5, 0.02])
UNITS = np.r_[[1.0] * 3, [0.2] * 3]  # of noise, moments beside forces


@pytest.fixture(scope='module')
def moved():
    """Return names of joints, t, q and wrenches (N, 6) of a moving arm."""
    robot, rng = Robot.from_urdf(PANDA), np.random.default_rng(0)
    series = FourierSeries(10.0, 3)
    a, b = series.coefficients(rng.normal(size=(robot.nv, series.size)))
    a[7] = b[7] = 0.0
    motion = FourierMotion(10.0, HOME, 0.7 * a / np.abs(a).max(), 0.7 * b / np.abs(b).max())

    def poses(t):
        return robot.link_pose(motion.at(t)[0], FRAME)

    def places(C):
        return np.einsum('kij,pj->kpi', C[:, :3, :3], PLACES) + C[:, None, :3, 3]

    t, h = np.arange(0.0, 20.0, 0.004), 1e-4
    C = poses(t)
    a = (places(poses(t + h)) - 2.0 * places(C) + places(poses(t - h))) / h**2
    forces = -MASSES[:, None] * (a - [0.0, 0.0, -9.81])  # of the tool on the robot
    forces = np.einsum('kij,kpi->kpj', C[:, :3, :3], forces)
    wrench = np.concatenate([forces.sum(axis=1), np.cross(PLACES, forces).sum(axis=1)], axis=1)
    noise = 0.02 * UNITS * rng.normal(size=wrench.shape)
    return np.array(robot.joint_names), t, motion.at(t)[0], wrench + BIAS + noise


def saved(folder, moved, rows=slice(None), **changes):
    names, t, q, wrench = moved
    content = {'joint_names': names, 't': t[rows], 'q': q[rows], 'wrench': wrench[rows]} | changes
    np.savez(folder / 'run.npz', **content)
    return [str(folder / 'run.npz'), '--urdf', str(PANDA), '--sensor', '/wrench']


def truth():
    """Return mass, center of mass and inertia about it (xx, xy, xz, yy, yz, zz)."""
    mass = MASSES.sum()
    com = MASSES @ PLACES / mass
    r = PLACES - com
    second = np.einsum('p,pi,pj->ij', MASSES, r, r)
    inertia = np.trace(second) * np.eye(3) - second
    return mass, com, inertia[np.triu_indices(3)]


def printed(text):
    """Return {name: (value, interval)} of the report."""
    rows = [line.split(' +- ') for line in text.splitlines() if ' +- ' in line]
    return {
        ' '.join(left.split()[:-1]): (float(left.split()[-1]), float(right.split()[0]))
        for left, right in rows
    }


@pytest.mark.parametrize('sign', ['1', '-1'])
def test_a_moved_tool(tmp_path, moved, said, sign):
    """Truth in the intervals that are printed; the file is for the node."""
    options = saved(tmp_path, moved, wrench=float(sign) * moved[3])
    options += ['--sensor-frame', FRAME, '--sensor-sign', sign, '-o', str(tmp_path)]
    found = printed(said(main, *options))
    mass, com, inertia = truth()
    expected = {'mass': mass} | dict(zip('xyz', com))
    expected |= dict(zip(('xx', 'xy', 'xz', 'yy', 'yz', 'zz'), inertia))
    names = [f'bias {kind}{axis}' for kind in 'fm' for axis in 'xyz']
    expected |= dict(zip(names, BIAS))
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        estimate, interval = found[name]
        assert abs(estimate - value) < 1.5 * interval, name  # 95 % of 16
    assert found['mass'][1] < 1e-3
    assert found['xx'][1] < 0.3 * inertia[0]
    content = yaml.safe_load((tmp_path / 'tool.yaml').read_text())
    values = content['/**/wrist_sensor']['ros__parameters']
    assert values['sensor_frame'] == FRAME
    assert values['sensor_sign'] == float(sign)
    np.testing.assert_allclose(values['tool_center_of_mass'], com, atol=2e-4)
    np.testing.assert_allclose(values['tool_inertia'], inertia, atol=5e-4)
    np.testing.assert_allclose(values['bias'], BIAS, atol=3e-3)


def test_poses_at_rest(tmp_path, moved, said):
    """A row for each pose: no inertia."""
    q = moved[2]
    rows = slice(0, None, 250)
    R = Robot.from_urdf(PANDA).link_pose(q[rows], FRAME)[:, :3, :3]
    mass, com, _ = truth()
    force = mass * R.transpose(0, 2, 1) @ [0.0, 0.0, -9.81]
    wrench = np.concatenate([force, np.cross(com, force)], axis=1) + BIAS
    options = saved(tmp_path, moved, rows, wrench=wrench)
    out = said(main, *options, '--sensor-frame', FRAME, '-o', tmp_path)
    assert f'{len(wrench)} poses at rest' in out
    assert 'inertia not determined' in out
    values = yaml.safe_load((tmp_path / 'tool.yaml').read_text())['/**/wrist_sensor']
    found = values['ros__parameters']
    assert found['tool_mass'] == pytest.approx(mass)
    assert found['tool_center_of_mass'] == pytest.approx(com.tolist())
    assert found['bias'] == pytest.approx(BIAS.tolist())
    assert found['tool_inertia'] == [0.0] * 6


def test_a_slow_motion_does_not_determine_the_inertia(tmp_path, moved, said):
    _, t, q, _ = moved
    slow = 40.0 * t
    R = Robot.from_urdf(PANDA).link_pose(q, FRAME)[:, :3, :3]
    mass, com, _ = truth()
    force = mass * R.transpose(0, 2, 1) @ [0.0, 0.0, -9.81]
    wrench = np.concatenate([force, np.cross(com, force)], axis=1) + BIAS
    wrench += 0.02 * UNITS * np.random.default_rng(1).normal(size=wrench.shape)
    options = saved(tmp_path, moved, t=slow, wrench=wrench)
    out = said(main, *options, '--sensor-frame', FRAME, '--cutoff', '0.2')
    assert 'inertia not determined' in out
    assert printed(out)['mass'][0] == pytest.approx(mass, rel=1e-3)
    assert 'xx' not in printed(out)


def test_what_is_refused(tmp_path, moved, said, refused, unusable):
    options = saved(tmp_path, moved)
    for more, status, match in (
        ([], NEGATIVE, 'give it with --sensor-frame'),
        (['--sensor-frame', 'tool9'], NEGATIVE, 'tool9'),
        (['--sensor-frame', FRAME, '--sensor-sign', '-1'], NEGATIVE, 'sign of the sensor'),
        (['--sensor', '/ft', '--sensor-frame', FRAME], NEGATIVE, "'/ft' is not recorded"),
        (['--sensor-frame', FRAME, '--urdf', 'none.urdf'], UNUSABLE, 'none.urdf'),
    ):
        assert match in said(main, *options, *more, status=status)
    assert 'no robot_description is recorded; give --urdf' in unusable(
        main, options[0], '--sensor', '/wrench', '--sensor-frame', FRAME
    )
    options = saved(tmp_path, moved, slice(0, 200))
    assert 'too short' in refused(main, *options, '--sensor-frame', FRAME)
    still = saved(tmp_path, moved, q=np.tile(HOME, (len(moved[1]), 1)))
    assert 'nearly the same orientation' in refused(main, *still, '--sensor-frame', FRAME)
