# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings as arrays of a robot, known loads, wrenches of sensors, and their reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from screw_dynamics_ros.cli.command_line import UnusableError
from screw_dynamics_ros.cli.identify import payload, tool
from screw_dynamics_ros.cli.identify.command import known_payload, parse
from screw_dynamics_ros.cli.identify.recordings import (
    are_poses,
    known_robot,
    of_robot,
    recorded_description,
)
from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.estimation.moved_tool import MovedTool
from screw_dynamics_ros.core.estimation.payload_estimation import PayloadEstimate
from screw_dynamics_ros.core.estimation.tool_identification import ToolEstimate
from screw_dynamics_ros.core.identification import JointRecording, KnownLoad
from screw_dynamics_ros.ros.joint_states.policies import Reason
from screw_dynamics_ros.ros.recordings.recording import Recording
from support.paths import URDF

LIMITS = '<limit lower="0.5" upper="1.5" velocity="10" effort="50"'
URDF_TEXT = (URDF / 'planar_2r.urdf').read_text()
ROBOT = Robot.from_urdf(
    URDF_TEXT.replace('joint2" type="continuous"', 'joint2" type="prismatic"').replace(
        '<limit velocity="10" effort="50"', LIMITS
    ),
    backend='reference',
)
NAN = np.nan
START = 1_700_000_000_000_000_000


def recorded(names, q, v=None, tau=None, t=None, **more):
    q = np.array(q, dtype=float)
    v, tau = (np.full_like(q, NAN) if x is None else np.array(x, dtype=float) for x in (v, tau))
    t = np.arange(len(q)) * 10_000_000 if t is None else np.array(t)
    return Recording(
        Path('run.csv'), '/joint_states', tuple(names), START + t, t, q, v, tau, **more
    )


def test_joints_in_the_order_of_the_robot():
    """Scaled efforts, notes on what is not used; a joint that is not recorded is at home."""
    states = recorded(['x', 'joint1'], [[9, 1], [9, 2]], [[0, 3], [0, 4]], [[0, 5], [0, 6]],
                      left_out={Reason.DUPLICATE_STAMP: 3})  # fmt: skip
    load = KnownLoad('link2', 1.0, None)
    calibration = np.array([2.0, 7.0]), np.array([0.5, 0.0])
    found, notes = of_robot(states, ROBOT, load, calibration=calibration)
    assert found.t.tolist() == pytest.approx([0.0, 0.01])
    home = float(ROBOT.home()[1])
    assert home != 0.0
    assert found.q.tolist() == [[1, home], [2, home]]
    np.testing.assert_array_equal(found.v, [[3, NAN], [4, NAN]])
    np.testing.assert_array_equal(found.tau, [[10.5, NAN], [12.5, NAN]])
    assert (found.load, list(found.absent)) == (load, ['joint2'])
    assert notes == [
        f'3 messages: {Reason.DUPLICATE_STAMP.value}',
        'not joints of the robot, or mimic joints: x',
        'not recorded, assumed at rest, drives not identified: joint2',
    ]
    offset = of_robot(states, ROBOT, None, calibration=(None, np.array([0.5, 0.0])))[0]
    assert offset.tau[:, 0].tolist() == [5.5, 6.5]


def test_states_that_are_omitted():
    """Numbers of a joint that other states have, and repeated stamps."""
    q = [[0, 1], [NAN, 1], [2, 1], [3, 1], [4, 1], [5, 1]]
    v = [[0, NAN], [1, NAN], [2, NAN], [3, NAN], [NAN, NAN], [5, NAN]]
    tau = [[7, 8], [7, 8], [7, 8], [7, 8], [7, 8], [7, NAN]]
    t = [0, 10, 20, 20, 30, 40]
    found, notes = of_robot(recorded(['joint1', 'joint2'], q, v, tau, t), ROBOT, None)
    assert found.q[:, 0].tolist() == [0, 2]
    assert found.t.tolist() == pytest.approx([0.0, 20e-9])
    np.testing.assert_array_equal(found.v, [[0, NAN], [2, NAN]])
    assert notes == ['3 of 6 states lack numbers', '1 of 6 states repeat the previous stamp']
    zero, notes = of_robot(recorded(['joint1', 'joint2'], q, v, tau, np.zeros(6, int)), ROBOT, None)
    assert len(zero.t) == 3  # refused later, with the reason
    assert notes == ['3 of 6 states lack numbers']


def test_joints_left_out():
    """Their efforts and velocities are ignored, their positions used if all are known."""
    q, v, tau = [[0, 1], [2, 3]], [[4, 5], [6, NAN]], [[7, 8], [9, 10]]
    states = recorded(['joint1', 'joint2'], q, v, tau)
    found, notes = of_robot(states, ROBOT, None, ['joint2'])
    assert (found.q.tolist(), notes) == (q, [])
    np.testing.assert_array_equal(found.v, [[4, NAN], [6, NAN]])
    np.testing.assert_array_equal(found.tau, [[7, NAN], [9, NAN]])
    gaps = recorded(['joint1', 'joint2'], [[0, NAN], [2, 3]], v, tau)
    found, notes = of_robot(gaps, ROBOT, None, ['joint2'])
    assert list(found.absent) == ['joint2']
    assert notes == ['not recorded, assumed at rest, drives not identified: joint2']
    with pytest.raises(UnknownNameError, match='but of no joint of'):
        of_robot(recorded(['a'], [[0.0]]), ROBOT, None)
    with pytest.raises(UnknownNameError, match="no joint 'a'; it has joint1, joint2"):
        of_robot(states, ROBOT, None, ['a'])


def test_poses_are_samples_a_fifth_of_a_second_apart():
    def run(*t):
        zero = np.zeros((len(t), 2))
        return JointRecording(np.array(t), zero, None, zero)

    assert are_poses([run(0.0, 0.25, 0.5)])
    assert not are_poses([run(0.0, 0.19, 0.38)])
    assert are_poses([run(0.0, 0.01, 0.26, 0.51)])  # the median
    assert not are_poses([run(0.0, 0.25), run(0.0, 0.1)])
    assert are_poses([run(0.0), run(0.0, 0.25)])
    assert are_poses([run(0.0)])


def test_the_first_description():
    none, first, second = (
        recorded(['a'], [[0.0]], robot_description=text) for text in (None, '<a/>', '<b/>')
    )
    given = SimpleNamespace(urdf=None)
    assert recorded_description(given, [none, first, second]) == '<a/>'
    with pytest.raises(UnusableError, match='no robot_description is recorded; give --urdf'):
        recorded_description(given, [none])


@pytest.mark.parametrize(
    ('words', 'expected'),
    [
        (['link2', '0.8'], KnownLoad('link2', 0.8, None)),
        (['link2', '0.8', '1', '2', '3'], KnownLoad('link2', 0.8, (1.0, 2.0, 3.0))),
        (['link2', '0.8', '1', '2'], "'0.8 1 2' is neither a mass"),
        (['link2', 'x'], "'x' is neither a mass"),
        (['link2'], "'' is neither a mass"),
    ],
)
def test_known_payloads(words, expected):
    options = parse(['r', '--loaded', 'l', '--known-payload', *words])
    if isinstance(expected, KnownLoad):
        assert known_payload(options) == expected
        return
    with pytest.raises(UnusableError, match=expected):
        known_payload(options)


def test_a_known_payload_and_its_recording_belong_together():
    assert known_payload(parse(['r'])) is None
    for alone in (['--loaded', 'l'], ['--known-payload', 'link2', '1']):
        with pytest.raises(UnusableError, match='must be used together'):
            known_payload(parse(['r', *alone]))


@pytest.mark.parametrize(
    ('option', 'good', 'bad'),
    [
        ('held_out', ['0', '0.5'], ['-0.01', '0.51']),
        ('hold', ['armature', 'friction,offset'], ['mass']),
        ('smoothing', ['0.01'], ['0']),
        ('cutoff', ['4'], ['0', 'x']),
    ],
)  # fmt: skip
def test_values_of_options(option, good, bad, capsys):
    name = f'--{option.replace("_", "-")}'
    for value in good:
        found = getattr(parse(['r', name, value]), option)
        assert found == (tuple(value.split(',')) if option == 'hold' else float(value))
    for value in bad:
        with pytest.raises(SystemExit):
            parse(['r', name, value])
        assert f'argument {name}' in capsys.readouterr().err


def known(tmp_path, **parameters):
    """Return what is known of the planar arm by a parameter file."""
    file = tmp_path / 'drives.yaml'
    file.write_text(yaml.safe_dump({'/**': {'ros__parameters': parameters}}))
    options = SimpleNamespace(drives=file, gravity=(0.5, -9.81, 0.0))
    return known_robot(URDF_TEXT, options)


def test_a_robot_with_the_terms_of_its_efforts(tmp_path):
    """Without gravity in the efforts there is none; efforts without other terms are refused."""
    terms = ['gravity', 'coriolis', 'friction', 'inertia']
    plain = known(tmp_path, effort_terms=terms, effort_delay=0.0125)
    assert (list(plain.robot.gravity), plain.notes, plain.delay) == ([0.5, -9.81, 0.0], [], 0.0125)
    assert plain.calibration == (None, None)
    without = known(tmp_path, effort_terms=terms[1:])
    assert list(without.robot.gravity) == [0.0, 0.0, 0.0]
    assert without.notes == ['efforts do not contain gravity (effort_terms): identified without it']
    assert without.delay == 0.0
    with pytest.raises(ArgumentError, match='efforts without friction, inertia do not determine'):
        known(tmp_path, effort_terms=terms[:2])


def test_a_robot_with_calibrated_efforts(tmp_path):
    """Unless the description does not meet their condition."""
    given = {'effort_joints': ['joint2'], 'effort_scale': [3.0], 'effort_offset': [0.5]}
    found = known(tmp_path, **given)
    assert [each.tolist() for each in found.calibration] == [[1.0, 3.0], [0.0, 0.5]]
    (note,) = found.notes
    assert note.startswith('efforts are scaled with ')
    unmet = known(tmp_path, effort_condition='x=1', effort_terms=['gravity'], **given)
    assert unmet.calibration == (None, None)
    (note,) = unmet.notes
    assert 'is not met' in note


# --- tools ----------------------------------------------------------------------------------------


def sensed(t, values):
    wrenches = np.tile(np.array(values, dtype=float)[:, None], (1, 6))
    return SimpleNamespace(t=START + np.array(t), wrenches=wrenches, frame='tip')


def test_wrenches_are_interpolated_at_joint_states():
    """States farther than 20 ms from all messages are omitted; turns of a joint are unwrapped."""
    ms = 1_000_000
    t = np.array([0, 30, 50, 71, 100, 121]) * ms
    q = np.array([[3.0, 0.6]] * 3 + [[-3.0, 0.7]] * 3)
    states = recorded(['joint1', 'joint2'], q, t=t)
    run = of_robot(states, ROBOT, None)[0]
    found = tool.with_wrenches(
        run, states, sensed([10 * ms, 50 * ms, 100 * ms], [1, 3, 8]), -1.0, ROBOT, Path('x')
    )
    assert found.t.tolist() == pytest.approx([0.0, 0.03, 0.05, 0.1])
    assert found.tau[:, 0].tolist() == pytest.approx([-1.0, -2.0, -3.0, -8.0])
    assert found.tau.shape == (4, 6)
    assert found.v is None
    np.testing.assert_allclose(found.q[:, 0], [3.0, 3.0, 3.0, 2 * np.pi - 3.0])
    assert found.q[:, 1].tolist() == [0.6, 0.6, 0.6, 0.7]
    for stamps, match in (
        ([10 * ms, 10 * ms], 'stamps of joint states and of the sensor must increase'),
        ([500 * ms, 600 * ms], 'no joint state within 0.02 s'),
    ):
        with pytest.raises(ArgumentError, match=match):
            tool.with_wrenches(run, states, sensed(stamps, [1, 2]), 1.0, ROBOT, Path('x'))
    one = tool.with_wrenches(run, states, sensed([50 * ms], [4]), 1.0, ROBOT, Path('x'))
    assert one.tau[:, 0].tolist() == [4.0, 4.0]
    twice = replace(run, t=np.zeros(6))
    with pytest.raises(ArgumentError, match='must increase'):
        tool.with_wrenches(twice, states, sensed([0, ms], [1, 2]), 1.0, ROBOT, Path('x'))


MOVED = MovedTool(
    mass=1.25,
    mass_deviation=0.01,
    com=np.array([0.1, 0.2, 0.3]),
    com_deviation=np.array([0.01, 0.02, 0.03]),
    inertia=np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    inertia_deviation=np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
    bias=np.array([1.0, 2.0, 3.0, 10.0, 20.0, 30.0]),
    bias_deviation=np.array([0.01, 0.02, 0.03, 0.1, 0.2, 0.3]),
    moment_residual=0.25,
    force_residual=0.5,
    moment=2.5,
    force=7.5,
    instants=321,
    cutoff=4.25,
)
NAMES = ['mass', 'x', 'y', 'z', 'xx', 'xy', 'xz', 'yy', 'yz', 'zz',
         *(f'bias {kind}{axis}' for kind in 'fm' for axis in 'xyz')]  # fmt: skip
VALUES = [1.25, 0.1, 0.2, 0.3, 1, 2, 3, 4, 5, 6, 10, 20, 30, 1, 2, 3]
DEVIATIONS = [0.01, 0.01, 0.02, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.1, 0.2, 0.3, 0.01, 0.02, 0.03]
UNITS = ['kg', *['m'] * 3, *['kg m^2'] * 6, *['N'] * 3, *['N m'] * 3]


def numbers_of(lines):
    """Return name, value, half of the interval and unit of lines with intervals."""
    split = [line.split(' +- ') for line in lines if ' +- ' in line]
    return [
        (' '.join(left.split()[:-1]), float(left.split()[-1]), float(right.split()[0]),
         ' '.join(right.split()[1:])) for left, right in split
    ]  # fmt: skip


def test_report_of_a_tool():
    """Forces before moments, as in messages; 95 % of a normal distribution."""
    first, note, *lines = tool.section(tool.FoundTool(MOVED, 'tip', 1.0, ['gaps'])).text()
    assert first == 'tool on tip: 321 samples below 4.25 Hz; 95 % intervals'
    assert note == '  note    gaps'
    rows = numbers_of(lines)
    assert [(row[0], row[3]) for row in rows] == list(zip(NAMES, UNITS))
    assert [row[1] for row in rows] == VALUES
    assert [row[2] for row in rows] == pytest.approx(1.96 * np.array(DEVIATIONS), rel=0.05)
    assert lines[-1] == '  residuals 0.5 N, 0.25 N m of 7.5 N, 2.5 N m'
    slow = tool.section(tool.FoundTool(replace(MOVED, inertia=None), 'tip', 1.0, [])).text()
    rest = ToolEstimate(*(getattr(MOVED, name) for name in (
        'mass', 'mass_deviation', 'com', 'com_deviation', 'bias', 'bias_deviation',
        'moment_residual', 'force_residual')), poses=9)  # fmt: skip
    still = tool.section(tool.FoundTool(rest, 'tip', 1.0, [])).text()
    assert still[0] == 'tool on tip: 9 poses at rest; 95 % intervals'
    assert still[-2] == '  residuals 0.5 N, 0.25 N m'
    for lines in (still, slow):
        assert [row[0] for row in numbers_of(lines)] == NAMES[:4] + NAMES[10:]
        assert lines[-1].startswith('  note    inertia not determined')


def test_file_of_a_tool():
    values = yaml.safe_load(tool.parameter_file(tool.FoundTool(MOVED, 'tip', -1.0, [])))
    assert values == {'/**/wrist_sensor': {'ros__parameters': {
        'sensor_frame': 'tip', 'sensor_sign': -1.0, 'tool_mass': 1.25,
        'tool_center_of_mass': [0.1, 0.2, 0.3], 'tool_inertia': [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        'bias': [10.0, 20.0, 30.0, 1.0, 2.0, 3.0],
    }}}  # fmt: skip


# --- payloads of poses at rest --------------------------------------------------------------------


def estimate(mass, deviation):
    parameters = np.r_[mass, mass * np.array([0.1, 0.2, 0.3]), np.zeros(6)]
    covariance = np.zeros((10, 10))
    covariance[0, 0] = deviation**2
    covariance[[1, 2, 3], [1, 2, 3]] = np.array([1e-6, 4e-6, 9e-6])
    return PayloadEstimate(parameters, covariance, 2.0, np.zeros(0), np.array([0.25, 0.5]),
                           ('joint1', 'joint2'), 12, 0)  # fmt: skip


def test_report_of_a_payload():
    found = estimate(1.5, 0.0)
    first, note, *lines = payload.section(found, 'tip', ['gaps']).text()
    assert first == 'payload on tip: 12 poses at rest, efforts of joint1, joint2'
    assert note == '  note    gaps'
    assert lines[-1] == '  residuals [N m, N]: joint1 0.25, joint2 0.5'
    rows = numbers_of(lines)
    assert [(row[0], row[3]) for row in rows] == [('mass', 'kg'), *((x, 'm') for x in 'xyz')]
    assert [row[1] for row in rows] == [1.5, 0.1, 0.2, 0.3]
    expected = [0.0, *(2.0 * np.array([1e-3, 2e-3, 3e-3]) / 1.5)]
    assert [row[2] for row in rows] == pytest.approx(expected, rel=0.05)
    values = yaml.safe_load(payload.parameter_file(found, 'tip'))['/**']['ros__parameters']
    assert values == {
        'payload_link': 'tip', 'payload_mass': 1.5,
        'payload_center_of_mass': pytest.approx([0.1, 0.2, 0.3]), 'payload_inertia': [0.0] * 6,
    }  # fmt: skip
    lines = payload.section(estimate(1.5, 0.9), 'tip', []).text()
    assert lines[1:] == [
        '  WARNING payload: 1.5 +- 1.8 kg, smaller than its interval; no payload is assumed'
    ]


def test_efforts_of_joints_that_all_runs_report(monkeypatch):
    """Each sample is a pose; a joint without efforts in one run is not used."""
    seen = []
    monkeypatch.setattr(
        payload, 'estimate_payload', lambda *given, **more: seen.append((given, more))
    )
    runs = [
        JointRecording(np.arange(3.0), np.ones((3, 2)) * k, None, np.array([[1.0, 2.0]] * 3))
        for k in (1, 2)
    ]
    runs[1].tau[2, 0] = NAN
    payload.payload_of_poses(ROBOT, 'tip', runs, {})
    (((robot, link, records), more),) = seen
    assert (robot, link, len(records)) == (ROBOT, 'tip', 6)
    assert more == {'known': {}, 'measured': ['joint2']}
    assert all(each.at_rest for each in records)
    assert [each.q.tolist() for each in records] == [[[1.0, 1.0]]] * 3 + [[[2.0, 2.0]]] * 3
