# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Each option of `excite`, and every number that it prints and writes."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pytest
import yaml

from screw_dynamics_ros.cli import excite
from screw_dynamics_ros.cli.excite import (
    csv_text,
    designed,
    lines,
    main,
    parse,
    sampled,
    writer,
    yaml_text,
)
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.identification.excitation import Excitation
from screw_dynamics_ros.core.identification.fourier_motion import FourierMotion
from screw_dynamics_ros.entry import DONE, INTERRUPTED
from support.paths import URDF

PLANAR = URDF / 'planar_2r.urdf'
PERIOD = 4.0
W = 2.0 * np.pi / PERIOD
A, B = np.array([[0.5, -0.5], [-0.25, 0.25]]), np.array([[0.5, -0.25], [0.0, 0.0]])
CENTER = np.array([0.25, -1.0])
MOTION = FourierMotion(PERIOD, CENTER, A, B)


def motion(t):
    """Return q, v, a (N, 2) in closed form."""
    q, v, a = np.zeros((3, len(t), 2)) + CENTER * np.array([1.0, 0.0, 0.0])[:, None, None]
    for k in (1, 2):
        s, c = np.sin(k * W * t)[:, None], np.cos(k * W * t)[:, None]
        q += (s * A[:, k - 1] - c * B[:, k - 1]) / (k * W)
        v += c * A[:, k - 1] + s * B[:, k - 1]
        a += k * W * (c * B[:, k - 1] - s * A[:, k - 1])
    return q, v, a


def effort_of(joint, capsys):
    """Return the largest torque of a joint in the printed table."""
    (effort,) = re.findall(rf'(?m)^  {joint} .* (\S+) +\S+$', capsys.readouterr().out)
    return float(effort)


def test_samples_begin_and_end_at_rest():
    """At the rate, over all periods; exactly at rest, although sums of cosines are not."""
    t, values = sampled(MOTION, 12.5, 3)
    np.testing.assert_allclose(t, 0.08 * np.arange(151))
    expected = np.stack(motion(t), axis=2)
    np.testing.assert_allclose(values, expected, atol=1e-12)
    assert not values[[0, -1], :, 1:].any()
    assert sampled(MOTION, 0.33, 1)[0].tolist() == [0.0, 4.0]


def test_files_hold_the_numbers():
    t = np.array([0.0, 1.25, 2.0 - 1e-10, 3.9999999996])
    values = np.arange(24.0).reshape(4, 2, 3) / 7.0 - 1.0
    points = yaml.safe_load(yaml_text(['a', 'b'], t, values))['trajectory']['points']
    times = [point['time_from_start'] for point in points]
    assert [(each['sec'], each['nanosec']) for each in times] == [
        (0, 0), (1, 250_000_000), (2, 0), (4, 0),
    ]  # fmt: skip
    for k, kind in enumerate(('positions', 'velocities', 'accelerations')):
        found = [point[kind] for point in points]
        np.testing.assert_allclose(found, values[:, :, k], atol=6e-10)
    rows = list(csv.DictReader(io.StringIO(csv_text(['a', 'b'], t, values))))
    np.testing.assert_allclose([float(row['time']) for row in rows], t, rtol=1e-8)
    for i, name in enumerate('ab'):
        for k, kind in enumerate(('position', 'velocity', 'acceleration')):
            found = [float(row[f'{name}.{kind}']) for row in rows]
            np.testing.assert_allclose(found, values[:, i, k], rtol=1e-8)
    tiny = np.full((1, 1, 3), -1e-12)
    assert 'positions: [0.0]' in yaml_text(['a'], t[:1], tiny)


def test_report():
    """Extremes of a period, largest torques beside their limits."""
    held = ({'link1/mz': 1.0, 'link1/m': -0.25},)
    effort = np.array([61.25, 7.5])
    found = Excitation(MOTION, ('joint1', 'joint2'), 12.5, 345.0, ('a', 'b', 'c'), held, effort, ())
    text = list(lines(found, Robot.from_urdf(PLANAR, backend='reference')))
    assert text[0] == 'robot planar_2r: 4 s, up to 0.5 Hz, for 3 base parameters'
    assert text[1] == ('condition number 12.5; random motions within the same limits: 345 (median)')
    assert text[2] == 'HELD    not identified by this motion: +1 link1/mz -0.25 link1/m'
    head = 'joint start lowest highest speed acceler. effort its limit'
    assert text[3] == 'motion [rad, m, s; N m, N]'
    assert ' '.join(text[4].split()) == head
    q, v, a = motion(np.linspace(0.0, PERIOD, 4001))
    for i, row in enumerate(text[5:7]):
        name, *numbers = row.split()
        assert name == f'joint{i + 1}'
        start, low, high, speed, acceleration, effort, limit = map(float, numbers)
        assert start == pytest.approx(q[0, i], rel=1e-3)
        assert low == pytest.approx(q[:, i].min(), rel=2e-3)
        assert high == pytest.approx(q[:, i].max(), rel=2e-3)
        assert speed == pytest.approx(np.abs(v[:, i]).max(), rel=2e-3)
        assert acceleration == pytest.approx(np.abs(a[:, i]).max(), rel=2e-3)
        assert (effort, limit) == ((61.25, 100.0), (7.5, 50.0))[i]
    assert 'were not checked' in text[7]


def test_limits_period_and_rate_of_options(tmp_path, said):
    """The written motion reaches the limits of its options; its seed makes it another one."""
    options = ['--period', '4', '--harmonics', '3', '--periods', '2', '--rate', '50']
    options += ['--speed', '0.1', '--acceleration', '2', '--range', '0.25', '--restarts', '1']
    options += ['--ignore-effort', '--joints', 'joint2']
    found = []
    for seed in ('0', '1'):
        path = tmp_path / f'{seed}.csv'
        assert said(main, PLANAR, *options, '--seed', seed, '-o', path).startswith(
            'robot planar_2r: 4 s, up to 0.75 Hz'
        )
        found.append(np.loadtxt(path, delimiter=',', skiprows=1))
        t, q, v, a = found[-1].T
        np.testing.assert_allclose(t, 0.02 * np.arange(401))
        shares = [np.ptp(q) / (2 * 0.25 * np.pi), np.abs(v).max() / 1.0, np.abs(a).max() / 2.0]
        assert 0.9 < max(shares) <= 1.0  # the tightest
    assert np.abs(found[0] - found[1]).max() > 0.01


def test_effort_limits_payload_gravity_and_joints(capsys):
    """Torques by gravity, other parameters with a payload, joints at rest."""
    quick = ['--restarts', '1', '--harmonics', '2', '--range', '0.1', '--joints', 'joint2']
    down = ['--gravity', '0', '-9.81', '0']

    def of(*more):
        shown = []
        options = parse([str(PLANAR), *quick, *more])
        found = designed(Robot.from_urdf(PLANAR), options, shown.append)
        assert 0.0 <= shown[0] < shown[-1] <= 1.0
        return found

    found = of()
    assert not np.ptp(found.motion.at(np.linspace(0.0, 10.0, 50))[0][:, 0])
    assert not any(name.startswith('payload/') for name in found.parameters)
    assert any(name.startswith('payload/') for name in of('--payload', 'link2').parameters)
    assert parse([str(PLANAR), *down]).gravity == [0.0, -9.81, 0.0]
    assert parse([str(PLANAR)]).gravity == (0.0, 0.0, -9.81)
    assert main([str(PLANAR), *quick, *down]) == DONE
    assert effort_of('joint1', capsys) > 9.81  # the weight of the arm
    assert main([str(PLANAR), *quick]) == DONE
    assert effort_of('joint1', capsys) < 9.81


def test_drives_of_a_file(tmp_path, capsys):
    """Friction of the file is part of the torques."""
    file = tmp_path / 'drives.yaml'
    parameters = {'drive_joints': ['joint2'], 'drives': {'joint2': {'coulomb': 20.0}}}
    file.write_text(yaml.safe_dump({'/**': {'ros__parameters': parameters}}))
    quick = [str(PLANAR), '--restarts', '1', '--harmonics', '2', '--range', '0.1']
    assert main(quick) == DONE
    assert effort_of('joint2', capsys) < 10.0
    assert main([*quick, '--drives', str(file)]) == DONE
    assert effort_of('joint2', capsys) > 10.0


def test_number_of_points_and_suffixes(tmp_path, monkeypatch, capsys, refused, unusable):
    """A hundred thousand points are the most; each suffix has its format."""
    assert writer(tmp_path / 'a.yaml') is writer(tmp_path / 'a.yml') is yaml_text
    assert writer(tmp_path / 'a.csv') is csv_text

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(excite, 'designed', interrupted)
    assert main([str(PLANAR), '--rate', '5000', '--periods', '2']) == INTERRUPTED
    assert 'excite: interrupted' in capsys.readouterr().err
    assert 'more than 100000 points; lower --rate, --period' in unusable(
        main, PLANAR, '--rate', '5001', '--periods', '2'
    )
    bad = tmp_path / 'bad.urdf'
    bad.write_text('<robot name="x"/>')
    assert 'refused: ' in refused(main, bad)


@pytest.mark.parametrize('option', ['--harmonics', '--periods', '--restarts'])
def test_whole_numbers(option, capsys):
    assert vars(parse(['r', option, '1']))[option[2:]] == 1
    for wrong in ('0', '-1', '1.5', 'x'):
        with pytest.raises(SystemExit):
            parse(['r', option, wrong])
        assert f'{wrong!r} is not a whole number of at least 1' in capsys.readouterr().err


def test_defaults():
    """As the help says."""
    found = vars(parse(['r']))
    expected = {'period': 10.0, 'harmonics': 5, 'periods': 2, 'range': 1.0, 'speed': 1.0,
                'acceleration': None, 'joints': None, 'rate': 20.0, 'restarts': 24, 'seed': 0,
                'payload': '', 'ignore_effort': False}  # fmt: skip
    assert {name: found[name] for name in expected} == expected
