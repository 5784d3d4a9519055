# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Each option of `calibrate`, on points of a planar arm whose errors are known."""

from __future__ import annotations

import re
from contextlib import contextmanager

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.cli.calibrate import command
from screw_dynamics_ros.cli.calibrate.command import (
    beyond_limits,
    calibrated,
    held_out,
    main,
    measurements,
    parse,
    pose,
)
from screw_dynamics_ros.cli.calibrate.measurement_file import MeasurementFile
from screw_dynamics_ros.cli.command_line import UnusableError
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.entry import INTERRUPTED, UNUSABLE
from support.paths import URDF

PLANAR = URDF / 'planar_2r.urdf'
PLACE = [0.3, -0.2, 0.5, 0.1, -0.4, 0.7]  # of the base: x, y, z, roll, pitch, yaw
DEVIATION = 1e-5
OFFSET = 0.02  # rad, of joint2
SHIFT = np.array([0.004, -0.003])  # m, of joint2


@pytest.fixture
def points(tmp_path):
    """Return a file of points of the tip, in closed form; the last one is an outlier."""
    rng = np.random.default_rng(4)
    q = rng.uniform(-2.5, 2.5, (30, 2))
    R, r = Rotation.from_euler('xyz', PLACE[3:]).as_matrix(), np.array(PLACE[:3])
    c, s = np.cos(q[:, 0]), np.sin(q[:, 0])
    elbow = np.stack([1.0 + SHIFT[0], SHIFT[1]])
    turn = q.sum(axis=1) + OFFSET
    x = c * elbow[0] - s * elbow[1] + 0.5 * np.cos(turn)
    y = s * elbow[0] + c * elbow[1] + 0.5 * np.sin(turn)
    seen = np.stack([x, y, 0.0 * x], axis=1) @ R.T + r + DEVIATION * rng.normal(size=(30, 3))
    seen[-1] += 0.05
    path = tmp_path / 'points.csv'
    header = 'joint1,joint2,measured.x,measured.y,measured.z'
    rows = np.hstack([q, seen])
    np.savetxt(path, rows, '%.17g', delimiter=',', header=header, comments='')
    return path


def options(points, *more):
    known = ['--link', 'tip', '--position-deviation', str(DEVIATION)]
    return [str(PLANAR), str(points), *known, *more]


def fit(points, *more):
    result, validation, kind = calibrated(PLANAR.read_text(), parse(options(points, *more)))
    assert kind == 'points'
    return result, validation


def test_an_outlier_is_excluded_if_asked_for(points):
    """Then the link has the true length; --fixed keeps what it names, --folds makes folds."""
    result, validation = fit(points, '--robust', '--fixed', 'joint1,joint2.ry', '--folds', '3')
    assert result.outliers == (29,)
    assert validation.folds == 3
    found = dict(zip(result.parameters, result.values))
    assert not [name for name in found if name.startswith('joint1.') or name == 'joint2.ry']
    assert found['joint2.x'] == pytest.approx(SHIFT[0], abs=1e-4)
    assert fit(points)[0].outliers == ()


def test_fixed_frames_and_groups(points):
    """A base that is given and not estimated is as given; of groups only those are estimated."""
    base = [str(x) for x in PLACE]
    target = ['0.01', '0', '0', '0', '0', '0']
    more = ['--estimate', 'offsets', '--base', *base, '--target', *target, '--robust']
    result = fit(points, *more)[0]
    np.testing.assert_allclose(result.base, pose(PLACE), atol=1e-12)
    np.testing.assert_allclose(result.targets['target'], pose([0.01, 0, 0, 0, 0, 0]), atol=1e-12)
    assert set(result.parameters) <= {'joint1.offset', 'joint2.offset'}


def test_prior_of_lengths_and_of_angles(points):
    """The first number is for lengths: a tiny one leaves angles alone free."""
    for numbers, tiny in ((('1e-9', '0.1'), 'xyz'), (('0.1', '1e-9'), ('rx', 'ry', 'rz'))):
        result = fit(points, '--prior', *numbers)[0]
        of_joint = {
            name.split('.')[1]: abs(value)
            for name, value in zip(result.parameters, result.values)
            if name.startswith('joint2.')
        }
        assert max(of_joint[name] for name in of_joint if name in tiny) < 1e-6
        assert max(of_joint[name] for name in of_joint if name not in tiny) > 1e-3


def test_progress_of_the_folds(points, monkeypatch):
    shown = []

    @contextmanager
    def progress(name):
        yield lambda *each: shown.append(each)

    monkeypatch.setattr(command, 'progress_bar', progress)
    fit(points, '--folds', '3', '--robust')
    assert shown == [(k / 4, f'fold {k}') for k in (1, 2, 3)]


def test_files_that_cannot_be_written(points, tmp_path, capsys, said):
    """The picture into a file of another kind; the report is printed before."""
    pytest.importorskip('matplotlib')
    more = ['--robust', '--force']
    picture = tmp_path / 'x.txt'
    assert main(options(points, *more, '--picture', str(picture))) == UNUSABLE
    printed = capsys.readouterr()
    assert 'robot planar_2r' in printed.out
    assert f'argument --picture: cannot write {picture}: ' in printed.err
    picture, output = tmp_path / 'x.svg', tmp_path / 'x.urdf'
    more += ['--picture', str(picture), '--output', str(output)]
    out = said(main, *options(points, *more))
    assert out.endswith(f'written: {output}\nwritten: {picture}\n')
    assert '<svg' in picture.read_text()
    (elbow,) = (j for j in read_urdf(output.read_text()).joints if j.name == 'joint2')
    yaw = Rotation.from_matrix(elbow.origin[:3, :3]).as_euler('xyz')[2]
    assert np.hypot(*elbow.origin[:2, 3]) == pytest.approx(
        np.hypot(1 + SHIFT[0], SHIFT[1]), abs=1e-4
    )
    assert np.isfinite(yaw)


def test_interruption_and_missing_matplotlib(points, monkeypatch, capsys, unusable):
    def interrupted(*_):
        raise KeyboardInterrupt

    def missing(*_):
        raise ImportError

    monkeypatch.setattr(command.report, 'save_picture', missing)
    assert 'argument --picture: requires matplotlib' in unusable(
        main, *options(points, '--robust', '--force', '--picture', 'x.png')
    )
    monkeypatch.setattr(command, 'calibrated', interrupted)
    assert main(options(points)) == INTERRUPTED
    assert 'calibrate: interrupted' in capsys.readouterr().err


def test_positions_beyond_limits():
    """A warning from more than 0.1 beyond either limit, with the numbers."""
    limited = PLANAR.read_text().replace('continuous', 'revolute')
    limited = limited.replace('<limit ', '<limit lower="-1" upper="2" ')
    description = read_urdf(limited)

    def warnings(low, high):
        positions = {'joint2': np.array([0.0, low, high])}
        return list(
            beyond_limits(MeasurementFile(positions, 'points', np.ones(3), {}), description)
        )

    assert warnings(-1.0999, 2.0999) == []
    assert warnings(-1.1001, 0.0) == [
        'WARNING joint joint2: positions -1.1 to 0 are beyond its limits -1 to 2; rad and m are '
        'expected'
    ]
    assert re.findall(r'[-\d.]+', warnings(-0.5, 2.125)[0])[1:5] == ['-0.5', '2.125', '-1', '2']


def test_pose_is_that_of_a_urdf():
    T = pose(PLACE)
    np.testing.assert_allclose(T[:3, :3], Rotation.from_euler('xyz', PLACE[3:]).as_matrix())
    assert T[:, 3].tolist() == [*PLACE[:3], 1.0]
    assert pose(None) is None


def test_deviations_of_the_options():
    arguments = ['r', 'm', '--position-deviation', '0.5', '--rotation-deviation', '0.25']
    given = parse([*arguments, '--center', '1', '2', '3'])
    poses = measurements(MeasurementFile({}, 'poses', np.eye(4)[None], {}), given)
    assert poses.deviations.tolist() == [0.25] * 3 + [0.5] * 3
    points = measurements(MeasurementFile({}, 'points', np.ones((1, 3)), {}), given)
    assert points.deviations.tolist() == [0.5] * 3
    distances = measurements(MeasurementFile({}, 'distances', np.ones(1), {}), given)
    assert (distances.deviations.tolist(), distances.center.tolist()) == ([0.5], [1, 2, 3])
    bare = parse(arguments[:4])
    assert measurements(MeasurementFile({}, 'points', np.ones((1, 3)), {}), bare).kind == 'points'
    for kind, option in (('poses', 'rotation-deviation'), ('distances', 'center')):
        with pytest.raises(UnusableError, match=f'argument --{option}: required for .* {kind}'):
            measurements(MeasurementFile({}, kind, np.ones(1), {}), bare)


@pytest.mark.parametrize(
    ('option', 'good', 'bad'),
    [
        ('--held-out', ['0', '0.5'], ['-0.01', '0.51', 'x', 'nan']),
        ('--folds', ['2', '7'], ['1', '2.5', 'x']),
        ('--estimate', ['axes', 'axes,tool'], [',', 'axes,x']),
        ('--position-deviation', ['1e-9'], ['0', '-1', 'inf']),
    ],
)  # fmt: skip
def test_values_of_options(option, good, bad, capsys):
    known = ['r', 'm', '--position-deviation', '1']
    for value in good:
        found = vars(parse([*known, option, value]))[option[2:].replace('-', '_')]
        assert found == (tuple(value.split(',')) if option == '--estimate' else float(value))
    for value in bad:
        with pytest.raises(SystemExit):
            parse([*known, option, value])
        assert f'argument {option}' in capsys.readouterr().err
    assert parse(known).folds == 5
    assert parse(known).held_out == 0.0


def test_held_out_measurements_that_are_none():
    assert held_out(10, 0.1) == [9]
    assert held_out(4, 0.5) == [1, 3]
    with pytest.raises(UnusableError, match=r'0\.1 of 9 measurements is less than one'):
        held_out(9, 0.1)
