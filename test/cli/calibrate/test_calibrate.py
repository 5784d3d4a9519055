# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The command `calibrate`: URDF and recorded measurements to a corrected URDF (C-018)."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.cli.calibrate import command, report
from screw_dynamics_ros.cli.calibrate.command import calibrated, held_out, main, parse
from screw_dynamics_ros.cli.calibrate.measurement_file import read_measurements
from screw_dynamics_ros.cli.doctor.command import main as doctor
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.calibration import calibrate_robot
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.entry import DONE, NEGATIVE, UNUSABLE
from support.robots import urdf_path

UR5 = urdf_path('ur_description/urdf/ur5_robot')
LINK = 'tool0'
JOINTS = Robot.from_urdf(UR5, backend='reference').joint_names
SEEN = [f'measured.{c}' for c in ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')]
BASE = expm(se3.hat([0.3, -0.2, 2, 1.5, 0.4, 0.2]))
TARGET = expm(se3.hat([0.1, 0, 0, 0.05, 0, 0.04]))
ANGLE, DISTANCE = 2e-4, 1e-4


@pytest.fixture(scope='module')
def truth():
    """Return a UR5 with errors of about a millimeter in each joint after the first."""
    text = UR5.read_text()
    rng = np.random.default_rng(0)
    for name in JOINTS[1:]:
        start = text.index('<origin', text.index(f'<joint name="{name}"'))
        end = text.index('/>', start)
        numbers = [float(x) for x in re.findall(r'[-\d.e]+(?=[ "])', text[start:end])]
        moved = np.array(numbers) + rng.uniform(-1e-3, 1e-3, 6)
        new = '<origin rpy="{} {} {}" xyz="{} {} {}"'.format(*moved)
        text = text[:start] + new + text[end:]
    return Robot.from_urdf(text, backend='reference')


@pytest.fixture(scope='module')
def table(truth):
    """Return q (40, 6) and what a camera saw (40, 7), with noise."""
    rng = np.random.default_rng(1)
    q = rng.uniform(-2, 2, (40, 6))
    C = BASE @ truth.link_pose(q, LINK) @ TARGET
    turns = Rotation.from_matrix(C[:, :3, :3]) * Rotation.from_rotvec(rng.normal(0, ANGLE, (40, 3)))
    return q, np.hstack([C[:, :3, 3] + rng.normal(0, DISTANCE, (40, 3)), turns.as_quat()])


def write_csv(path: Path, header, rows) -> Path:
    with path.open('w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([[repr(float(x)) for x in row] for row in rows])
    return path


@pytest.fixture
def recorded(tmp_path, table):
    return write_csv(tmp_path / 'poses.csv', [*JOINTS, *SEEN], np.hstack(table))


def run(*arguments, link=LINK, distance=DISTANCE):
    known = ('--link', link, '--position-deviation', distance)
    return main([str(argument) for argument in (UR5, *arguments, *known)])


def test_corrected_urdf(tmp_path, recorded, truth, capsys):
    """C-018: the file predicts poses never measured ten times better, keeps the rest of the
    description, also in the eyes of doctor; the report and the picture say how well.
    """
    output, picture = tmp_path / 'new' / 'ur5.urdf', tmp_path / 'residuals.png'
    arguments = ('--rotation-deviation', ANGLE, '--held-out', 0.2, '--output', output)
    assert run(recorded, *arguments, '--picture', picture) == DONE
    text = capsys.readouterr().out
    assert '40 measured poses, 32 fitted, 8 held out; converged in' in text
    assert 'HELD    shoulder_pan_joint.rx' in text
    assert f'written: {output}' in text
    misfit = float(re.search(r'misfit ([\d.]+)', text).group(1))
    assert misfit == pytest.approx(1.0, abs=0.15)
    assert picture.read_bytes()[:4] == b'\x89PNG'

    old, new = UR5.read_text(), output.read_text()
    assert old.count('<mesh') == new.count('<mesh') > 0
    assert old.count('<!--') == new.count('<!--') > 0
    nominal, result = (Robot.from_urdf(x, backend='reference') for x in (old, new))
    assert result.limits.upper.tolist() == nominal.limits.upper.tolist()
    # The gauge of base and target is free: compare the poses relative to each other.
    q = np.random.default_rng(9).uniform(-2, 2, (20, 6))
    base = [float(x) for x in re.search(r'instrument: xyz="(.*?)"', text).group(1).split()]
    assert np.linalg.norm(np.array(base) - BASE[:3, 3]) < 0.01
    worst = [misplaced(robot, truth, q) for robot in (nominal, result)]
    assert worst[1] < 0.3 * worst[0]

    warnings = []
    for file in (UR5, output):
        assert doctor([str(file)]) == 0
        lines = capsys.readouterr().out.splitlines()
        warnings.append([x for x in lines if x.lstrip().startswith('WARNING')])
    old, new = warnings  # of moments of inertia, which are not corrected
    assert len(old) == len(new)
    assert all('radius of gyration' in warning for warning in (*old, *new))


def test_printed_intervals_are_those_of_the_fit(recorded):
    """Each row: the correction, and half of the interval, two digits of it."""
    arguments = ['--link', LINK, '--position-deviation', str(DISTANCE)]
    options = parse([str(UR5), str(recorded), *arguments, '--rotation-deviation', str(ANGLE)])
    result = calibrated(UR5.read_text(), options)[0]
    rows = report.corrections(replace(result, held=()), 'poses').lines[1:]
    assert len(rows) == len(result.parameters) > 20
    for row, name, value, deviation in zip(
        rows, result.parameters, result.values, np.sqrt(np.diag(result.covariance))
    ):
        printed, correction, half, *_ = row.split()
        assert printed == name
        assert float(correction) == pytest.approx(value, rel=1e-5)
        assert float(half) == pytest.approx(1.96 * deviation, rel=0.06)


def test_a_fit_that_does_not_converge_is_not_written(tmp_path, recorded, monkeypatch, capsys):
    """Stopped after one step, while more are needed."""
    monkeypatch.setattr(command, 'calibrate_robot', partial(calibrate_robot, max_iterations=1))
    output = tmp_path / 'ur5.urdf'
    assert run(recorded, '--rotation-deviation', ANGLE, '--output', output, '--force') == NEGATIVE
    assert 'not converged, nothing is written' in capsys.readouterr().err
    assert not output.exists()


def misplaced(robot, truth, q):
    """Return the largest error of distances between points of a tool in different poses [m]."""
    points = [(r.link_pose(q, LINK) @ TARGET)[:, :3, 3] for r in (robot, truth)]
    apart = [np.linalg.norm(p[:, None] - p[None], axis=-1) for p in points]
    return np.abs(apart[0] - apart[1]).max()


def test_yaml_and_csv_of_a_spreadsheet(tmp_path, recorded, table):
    """C-018: the same numbers; a byte order mark, semicolons, comments and empty lines are read."""
    measurements = [
        {
            'positions': dict(zip(JOINTS, map(float, q))),
            'measured': dict(zip([c.removeprefix('measured.') for c in SEEN], map(float, x))),
        }
        for q, x in zip(*table)
    ]
    others = tmp_path / 'poses.yaml', tmp_path / 'sheet.csv'
    others[0].write_text(yaml.safe_dump({'measurements': measurements}))
    others[1].write_text('\ufeff# camera 1\n\n' + recorded.read_text().replace(',', ' ; '))
    found = read_measurements(recorded, JOINTS)
    for path in others:
        other = read_measurements(path, JOINTS)
        np.testing.assert_equal(other.positions, found.positions)
        np.testing.assert_array_equal(other.values, found.values)
        assert (other.kind, other.labels) == (found.kind, found.labels) == ('poses', {})


def test_points_and_distances(tmp_path, table, capsys):
    """C-018: the kind of measurement follows from the columns."""
    q, seen = table
    points = write_csv(tmp_path / 'points.csv', [*JOINTS, *SEEN[:3]], np.hstack([q, seen[:, :3]]))
    beside = ('--target', 0.05, 0, 0.04, 0, 0, 0)
    assert run(points, *beside) == DONE
    assert '40 measured points' in capsys.readouterr().out
    center = np.array([1.0, 0.5, 0.3])
    distances = np.linalg.norm(seen[:, :3] - center, axis=1)[:, None]
    header = [*JOINTS, 'measured.distance']
    path = write_csv(tmp_path / 'distances.csv', header, np.hstack([q, distances]))
    assert run(path, *beside) == UNUSABLE
    assert '--center: required for measured distances' in capsys.readouterr().err
    yaw, pitch, roll = Rotation.from_matrix(BASE[:3, :3]).as_euler('ZYX')
    base = ('--base', *BASE[:3, 3], roll, pitch, yaw)
    beside = ('--target', *TARGET[:3, 3], 0, 0, 0)
    assert run(path, *beside, *base, '--center', *center, '--estimate', 'axes') == DONE
    assert '40 measured distances' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda t: t.replace('elbow_joint', 'knee'), 'knee: neither a joint of the robot nor'),
        (lambda t: t.replace('elbow_joint,', 'wrist_1_joint,'), 'named twice: wrist_1_joint'),
        (lambda t: t.replace('measured.qw', 'measured.w'), 'give the columns of one kind, poses:'),
        (lambda t: '\n'.join(t.split('\n')[:4]), '3 poses give 18 equations for 36 parameters'),
        (lambda t: t.split('\n')[0], 'has no measurements'),
        (lambda t: '', 'has no measurements'),
        (lambda t: t + '1,2,3\n', 'measurement 41 has 3 cells under 13 columns'),
        (lambda t: re.sub(r'\n[^,]*,', '\nnan,', t, count=1), "shoulder_pan_joint: 'nan' is not"),
        (lambda t: re.sub(r'\n[^,]*,', '\n1 2,', t, count=1), "'1 2' is not a finite number"),
        (lambda t: re.sub(r'[^,]*\r?\n$', '7.0\n', t), 'measurement 40: the quaternion'),
    ],
)  # fmt: skip
def test_unusable_measurements(recorded, change, message, capsys, tmp_path):
    """C-018: wrong columns, rows and numbers are refused by name, and nothing is written."""
    recorded.write_text(change(recorded.read_text()))
    output = tmp_path / 'out.urdf'
    assert run(recorded, '--rotation-deviation', ANGLE, '--output', output) == NEGATIVE
    assert message in capsys.readouterr().err
    assert not output.exists()


def test_missing_joints(tmp_path, recorded, table, capsys):
    """A joint that moves the link must have a column; one beyond it need not."""
    rows = np.hstack(table)
    path = write_csv(recorded, [*JOINTS[:5], *SEEN], np.delete(rows, 5, axis=1))
    assert run(path, '--rotation-deviation', ANGLE) == NEGATIVE
    assert 'no positions of wrist_3_joint' in capsys.readouterr().err
    # The target was not on that link, so no correction predicts it.
    arguments = ('--rotation-deviation', ANGLE, '--output', tmp_path / 'ur5.urdf', '--folds', 2)
    assert run(path, *arguments, link='wrist_2_link') == NEGATIVE
    assert 'does not improve the prediction of poses' in capsys.readouterr().err
    assert not (tmp_path / 'ur5.urdf').exists()
    assert run(path, *arguments, '--force', link='wrist_2_link') == DONE
    assert (tmp_path / 'ur5.urdf').exists()


@pytest.mark.parametrize(
    ('text', 'message', 'status'),
    [
        ('measurements: 3', 'no list "measurements"', NEGATIVE),
        ('measurements: [1]', 'measurement 1: expected positions and measured', NEGATIVE),
        ('a: [', 'is not YAML', UNUSABLE),
    ],
)
def test_unusable_yaml(tmp_path, text, message, status, capsys):
    path = tmp_path / 'm.yaml'
    path.write_text(text)
    assert run(path, '--rotation-deviation', ANGLE) == status
    assert message in capsys.readouterr().err


def test_degrees_are_suspected(tmp_path, table, capsys):
    """Positions beyond the limits are reported before anything else."""
    q, seen = table
    rows = np.hstack([np.degrees(q), seen])
    path = write_csv(tmp_path / 'degrees.csv', [*JOINTS, *SEEN], rows)
    assert run(path, '--rotation-deviation', ANGLE, '--folds', 2) in (DONE, NEGATIVE)
    text = capsys.readouterr().out
    assert 'WARNING joint elbow_joint: positions' in text
    assert 'rad and m are expected' in text


def test_files_and_options(tmp_path, recorded, capsys):
    for arguments, status, message in [
        ((tmp_path / 'none.csv', '--rotation-deviation', 1), UNUSABLE, 'there is no such file'),
        ((recorded,), UNUSABLE, 'argument --rotation-deviation: required for measured poses'),
        (
            (recorded, '--rotation-deviation', ANGLE, '--output', recorded / 'x'),
            UNUSABLE,
            '--output',
        ),
        ((recorded, '--rotation-deviation', ANGLE, '--fixed', 'hand'), NEGATIVE, "'hand'"),
    ]:
        assert run(*arguments) == status
        assert message in capsys.readouterr().err
    for wrong in (
        ('--folds', '1'),
        ('--prior', '1e-3', '0'),
        ('--estimate', 'axis'),
        ('--held-out', '0.9'),
        ('--center', 'x', '0', '0'),
    ):
        with pytest.raises(SystemExit) as ended:
            run(recorded, *wrong)
        assert ended.value.code == 2
    for link, message in (('hand', "no link 'hand'"), ('base_link', 'no joint moves link')):
        assert run(recorded, '--rotation-deviation', ANGLE, link=link) == NEGATIVE
        assert message in capsys.readouterr().err
    assert run(recorded, '--rotation-deviation', ANGLE, '--held-out', '0.01') == UNUSABLE
    assert '0.01 of 40 measurements is less than one' in capsys.readouterr().err


def test_several_targets(tmp_path, truth, said, refused):
    """C-018: reflectors on two links in one file, without --link; each has its pose, and offsets
    have units.
    """
    rng = np.random.default_rng(5)
    header, rows = [*JOINTS, *SEEN[:3], 'target', 'link'], []
    carried = {'side': ('wrist_1_link', [0.05, -0.08, 0.02]), 'a': (LINK, [0.1, 0, 0.05]),
               'b': (LINK, [-0.08, 0.06, 0.1])}  # fmt: skip
    for q in rng.uniform(-2, 2, (20, 6)):
        for name, (link, x) in carried.items():
            C = BASE @ truth.link_pose(q, link)
            point = C[:3, :3] @ x + C[:3, 3] + rng.normal(0, 1e-5, 3)
            rows.append([*q.tolist(), *point.tolist(), name, link])
    path, output = tmp_path / 'points.csv', tmp_path / 'ur5.urdf'
    text = ''.join(','.join(map(str, row)) + '\n' for row in [header, *rows])
    path.write_text(text)
    known = [UR5, path, '--position-deviation', 1e-5, '--output', output, '--folds', 2]
    printed = said(main, *map(str, known))
    assert '60 measured points' in printed
    for name, (link, x) in carried.items():
        found = re.search(rf'target {name} on {link}: xyz="(.*?)"', printed).group(1).split()
        np.testing.assert_allclose([float(each) for each in found], x, atol=3e-3)
    q = rng.uniform(-2, 2, (20, 6))
    nominal, result = (Robot.from_urdf(x, backend='reference') for x in (UR5, output))
    assert misplaced(result, truth, q) < 0.2 * misplaced(nominal, truth, q)

    assert re.search(
        r'elbow_joint.offset +\S+ +\S+  rad\n',
        said(main, *map(str, known), '--estimate', 'offsets,base,target', '--force'),
    )
    for wrong, message in (
        (text.replace(',a,tool0', ',side,tool0', 1), "target 'side' is on link 'wrist_1_link' and"),
        (text.replace(',a,tool0', ',a,', 1), 'measurement 2 does not name its link'),
        (text.replace(',a,tool0', ',a,hand'), "no link 'hand'"),
        (text.replace(',a,tool0', ',base,tool0'), "target 'base' has the name of a joint or"),
        (re.sub(r'(?m),[^,]*,[^,]*$', '', text), 'does not name its link; fill the column link'),
    ):
        path.write_text(wrong)
        assert message in refused(main, *map(str, known))


def rms_of(name, text):
    """Return rms of positions before and after."""
    return [float(x) for x in re.search(name + r' +rms \[mm\] +(\S+) +(\S+)', text).groups()]


def test_few_noisy_poses(tmp_path, truth, capsys):
    """C-018: what predicts no better is not written, unless forced; a prior helps; too few poses to
    find out are refused with the reason.
    """
    rng = np.random.default_rng(3)
    q = rng.uniform(-2, 2, (16, 6))
    points = (BASE @ truth.link_pose(q, LINK) @ TARGET)[:, :3, 3] + rng.normal(0, 3e-3, (16, 3))
    rows = np.hstack([q, points])
    path = write_csv(tmp_path / 'points.csv', [*JOINTS, *SEEN[:3]], rows)
    output, picture = tmp_path / 'ur5.urdf', tmp_path / 'residuals.svg'
    arguments = ('--output', output, '--picture', picture)
    assert run(path, *arguments, distance=3e-3) == NEGATIVE
    printed = capsys.readouterr()
    assert 'the corrected robot is NOT better' in printed.out
    assert 'nothing is written. Measure more poses' in printed.err
    assert picture.exists()
    assert not output.exists()
    before, after = rms_of('5 folds', printed.out)
    assert after > before
    run(path, *arguments, '--prior', 1e-4, 1e-4, distance=3e-3)
    assert rms_of('5 folds', capsys.readouterr().out) == pytest.approx([before, before], rel=0.02)

    path = write_csv(tmp_path / 'points.csv', [*JOINTS, *SEEN[:3]], rows[:12])
    assert run(path, *arguments, distance=3e-3) == NEGATIVE
    assert (
        'corrected robot is better: without fold 1 of 5: 9 points give 27 equations'
        in capsys.readouterr().err
    )
    assert run(path, *arguments, '--force', distance=3e-3) == DONE
    assert output.exists()


def test_poses_held_out_are_predicted_worse(tmp_path, table, capsys):
    """C-018: poses of --held-out must not be predicted worse either: here they were measured with a
    robot without errors.
    """
    q, seen = table
    rows = held_out(40, 0.1)
    nominal = Robot.from_urdf(UR5, backend='reference')
    seen = seen.copy()
    seen[rows, :3] = (BASE @ nominal.link_pose(q[rows], LINK) @ TARGET)[:, :3, 3]
    path = write_csv(tmp_path / 'points.csv', [*JOINTS, *SEEN[:3]], np.hstack([q, seen[:, :3]]))
    output = tmp_path / 'ur5.urdf'
    assert run(path, '--held-out', 0.1, '--output', output) == NEGATIVE
    printed = capsys.readouterr()
    assert 'the corrected robot is better' in printed.out
    assert 'has larger residuals at the held-out poses; nothing is written' in printed.err
    before, after = rms_of('held out', printed.out)
    assert after > before
    assert not output.exists()


@pytest.mark.parametrize('share', [0.0, 0.1, 0.2, 0.3, 0.4, 0.45, 0.5])
def test_share_that_is_held_out(share):
    """As many as asked for, also where 1 / share is no whole number, and evenly spaced."""
    rows = held_out(100, share)
    assert len(rows) == pytest.approx(100 * share, abs=1)
    if rows:
        assert np.ptp(np.diff(rows)) <= 1
