# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Report and picture of `calibrate`: every number read back, of a result made up here."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import norm, t

from screw_dynamics_ros.cli import command_line
from screw_dynamics_ros.cli.calibrate import report
from screw_dynamics_ros.cli.report import text
from screw_dynamics_ros.core.calibration import RobotCalibration
from screw_dynamics_ros.core.calibration.validation import Validation
from screw_dynamics_ros.core.description import read_urdf
from support.paths import URDF

PLANAR = (URDF / 'planar_2r.urdf').read_text()
SLIDING = PLANAR.replace('joint2" type="continuous"', 'joint2" type="prismatic"')
RNG = np.random.default_rng(0)
BEFORE, AFTER = 1e-2 * RNG.normal(size=(9, 6)), 1e-3 * RNG.normal(size=(9, 6))
NOMINAL, CALIBRATED = 1e-2 * RNG.normal(size=(2, 6, 6))
UNITS = {'joint1.rx': 'rad', 'joint2.y': 'm', 'joint1.offset': 'rad', 'joint2.offset': 'm',
         'joint1.scale': '', 'base.rz': 'rad', 'target.x': 'm'}  # fmt: skip
POSE = np.eye(4)
POSE[:3, :3] = Rotation.from_euler('xyz', [0.3, -0.0, 1.2]).as_matrix()
POSE[:3, 3] = 0.25, -0.0, 1.0 / 3.0


@pytest.fixture
def result():
    """Return a result of 9 poses: 6 fitted, 2 held out, an outlier."""
    A = RNG.normal(size=(7, 7))
    description = read_urdf(
        SLIDING.replace('<limit velocity', '<limit lower="-1" upper="1" velocity')
    )
    return RobotCalibration(
        description=description,
        origins={},
        base=POSE,
        links={'target': 'tip'},
        targets={'target': POSE},
        scales={'joint1': 1.25e-3},
        success=True,
        message='converged in 4 iterations; more text',
        iterations=4,
        parameters=tuple(UNITS),
        values=1e-3 * RNG.normal(size=7),
        covariance=1e-8 * A @ A.T,
        singular_values=np.ones(7),
        held=({'joint2.rx': 1.0, 'joint1.rx': -0.5},),
        residuals_before=BEFORE,
        residuals_after=AFTER,
        used=(0, 1, 3, 4, 6, 7),
        held_out=(2, 5),
        outliers=(8,),
        misfit=1.0625,
        degrees_of_freedom=29.0,
        prior=np.full(7, np.inf),
    )  # fmt: skip


def printed(result, validation='', kind='poses'):
    return text(report.sections(result, validation, kind))


def test_counts_and_what_is_held(result):
    first, *lines = printed(result).splitlines()
    assert first == (
        'robot planar_2r, link tip: 9 measured poses, 6 fitted, 2 held out; '
        'converged in 4 iterations'
    )
    place = next(k for k, line in enumerate(lines) if line.startswith('  HELD'))
    assert lines[place].split()[:2] == ['HELD', 'joint2.rx']
    assert lines[place + 1].split() == ['+1', 'joint2.rx', '-0.5', 'joint1.rx']
    (outlier,) = (line for line in lines if line.startswith('  OUTLIER'))
    assert outlier.startswith('  OUTLIER measurement 9 is excluded: ')
    numbers = re.search(r': (\S+) mrad, (\S+) mm$', outlier).groups()
    sizes = [1e3 * np.linalg.norm(AFTER[8, part]) for part in (slice(0, 3), slice(3, 6))]
    assert [float(x) for x in numbers] == pytest.approx(sizes, rel=5e-3)
    without = replace(result, held_out=(), outliers=(), held=())
    assert printed(without).startswith('robot planar_2r, link tip: 9 measured poses, 6 fitted; con')
    assert not re.search('OUTLIER|HELD|held out', printed(without))


@pytest.mark.parametrize('columns', [6, 3, 1])
def test_residuals(result, columns):
    """Poses have angles before positions, points and distances positions alone."""
    part = slice(-columns, None)
    found = replace(result, residuals_before=BEFORE[:, part], residuals_after=AFTER[:, part])
    poses = np.arange(6)
    validation = Validation(4, NOMINAL[:, part], CALIBRATED[:, part], poses)
    rows = re.findall(
        r'  (fitted|held out|4 folds) +(rms|largest) \[(mrad|mm)\] +(\S+) +(\S+)',
        printed(found, validation),
    )
    tables = {
        'fitted': (BEFORE[[0, 1, 3, 4, 6, 7]], AFTER[[0, 1, 3, 4, 6, 7]]),
        'held out': (BEFORE[[2, 5]], AFTER[[2, 5]]),
        '4 folds': (NOMINAL, CALIBRATED),
    }
    expected = []
    for name, pair in tables.items():
        for unit, slice_of in (('mrad', slice(0, 3)), ('mm', slice(max(3, 6 - columns), 6))):
            if unit == 'mrad' and columns < 6:
                continue
            x = [1e3 * np.sqrt((e[:, slice_of] ** 2).sum(axis=1)) for e in pair]
            expected.append((name, 'rms', unit, *(np.sqrt((each**2).mean()) for each in x)))
            expected.append((name, 'largest', unit, *(each.max() for each in x)))
    assert [row[:3] for row in rows] == [row[:3] for row in expected]
    numbers = [[float(x) for x in row[3:]] for row in rows]
    np.testing.assert_allclose(numbers, [row[3:] for row in expected], rtol=1e-3)


@pytest.mark.parametrize(('misfit', 'is_large'), [(0.3, False), (1.5, False), (1.6, True)])
def test_corrections_have_intervals_of_residuals_if_these_are_large(result, misfit, is_large):
    found = replace(result, misfit=misfit)
    text = printed(found)
    assert f'misfit {misfit:.3g} with 29 degrees of freedom' in text
    assert ('WARNING the residuals are larger' in text) == is_large
    rows = report.corrections(replace(found, held=()), 'poses').lines[1:]
    deviation = np.sqrt(np.diag(result.covariance))
    half = deviation * (misfit * t.ppf(0.975, 29) if is_large else norm.ppf(0.975))
    assert len(rows) == len(UNITS)
    for row, name, value, width in zip(rows, UNITS, result.values, half):
        name_found, correction, half_found, *unit = row.split()
        assert (name_found, ''.join(unit)) == (name, UNITS[name])
        assert float(correction) == pytest.approx(value, rel=1e-5)
        assert float(half_found) == pytest.approx(width, rel=0.06)
    nothing = replace(found, parameters=(), held=())
    assert report.corrections(nothing, 'poses').lines == []


def test_validation_is_reported(result):
    poses = np.arange(6)
    for factor, verdict in ((0.1, 'is better'), (10.0, 'is NOT better')):
        validation = Validation(3, NOMINAL, factor * NOMINAL, poses)
        line = f'cross-validation with 3 folds: the corrected robot {verdict}'
        assert line in printed(result, validation)
    assert 'cross-validation' not in printed(result, 'too few poses')


def test_frames_and_scales(result):
    """Rotations as in a URDF: roll, pitch, yaw about fixed axes; no negative zero."""
    lines = list(report.frames(result))
    assert lines[0].startswith('base in the frame of the instrument: ')
    assert lines[1].startswith('target on the link: ')
    for line in lines[:2]:
        xyz, rpy = (each.split() for each in re.findall('"(.*?)"', line))
        assert '-0' not in (*xyz, *rpy)
        np.testing.assert_allclose([float(x) for x in xyz], POSE[:3, 3], atol=1e-9)
        turn = Rotation.from_euler('xyz', [float(x) for x in rpy]).as_matrix()
        np.testing.assert_allclose(turn, POSE[:3, :3], atol=1e-8)
    assert lines[2] == 'joint1 moves 1.00125 times its reading: correct this in the driver'
    other = np.eye(4)
    other[0, 3] = 0.5
    two = replace(result, links={'a': 'tip', 'b': 'link1'}, targets={'a': POSE, 'b': other})
    _, first, second, _ = report.frames(two)
    assert first.startswith('target a on tip: xyz="0.25 0 0.333')
    assert second == 'target b on link1: xyz="0.5 0 0" rpy="0 0 0"'
    assert 'link tip, link1: 9 measured' in printed(two)


@pytest.mark.parametrize('columns', [6, 3])
def test_picture_of_norms(tmp_path, monkeypatch, result, columns):
    """A plot for each unit; fitted, held-out and excluded measurements at their numbers from 1."""
    pytest.importorskip('matplotlib')
    figures = []
    monkeypatch.setattr(command_line, 'save_figure', lambda figure, *_: figures.append(figure))
    part = slice(-columns, None)
    found = replace(result, residuals_before=BEFORE[:, part], residuals_after=AFTER[:, part])
    report.save_picture(found, 'points', tmp_path / 'new' / 'x.png')
    (figure,) = figures
    assert (tmp_path / 'new').is_dir()
    assert figure.get_suptitle() == 'planar_2r: 9 measured points'
    units = {'residual [mrad]': slice(0, 3), 'residual [mm]': slice(3, 6)}
    labels = list(units)[-len(figure.axes) :]
    assert len(figure.axes) == columns // 3
    for axis, label in zip(figure.axes, labels):
        assert axis.get_ylabel() == label
        assert axis.get_yscale() == 'log'
        before, after = (1e3 * np.linalg.norm(e[:, units[label]], axis=1) for e in (BEFORE, AFTER))
        expected = {
            'nominal robot': range(9),
            'calibrated, fitted': result.used,
            'calibrated, held out': result.held_out,
            'outlier, excluded': result.outliers,
        }
        assert [line.get_label() for line in axis.lines] == list(expected)
        for line in axis.lines:
            rows = list(expected[line.get_label()])
            values = before if line.get_label() == 'nominal robot' else after
            np.testing.assert_array_equal(line.get_xdata(), np.array(rows) + 1)
            np.testing.assert_allclose(line.get_ydata(), values[rows])
            assert line.get_linestyle() == 'None'
        spans = np.sort([path.vertices[:, 1] for path in axis.collections[0].get_paths()], axis=1)
        np.testing.assert_allclose(spans, np.sort(np.stack([before, after], axis=1), axis=1))
    assert figure.axes[0].get_legend() is not None
    assert figure.axes[-1].get_xlabel() == 'measurement'
    none = replace(found, residuals_before=0.0 * BEFORE[:, part], outliers=())
    report.save_picture(none, 'points', tmp_path / 'x.png')
    assert {axis.get_yscale() for axis in figures[1].axes} == {'linear'}
    assert len(figures[1].axes[0].lines) == 3
