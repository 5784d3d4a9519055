# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reports, pictures and files of `identify`: every number read back, of a result made up here."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import numpy as np
import pytest
import yaml
from scipy.stats import t as student

from screw_dynamics_ros.cli import command_line
from screw_dynamics_ros.cli.identify import picture, report
from screw_dynamics_ros.cli.identify.command import Outcome, write
from screw_dynamics_ros.cli.identify.output_files import drive_parameters, parameter_file
from screw_dynamics_ros.cli.identify.recordings import of_reported_efforts
from screw_dynamics_ros.core import Drive
from screw_dynamics_ros.core.annotation.unloaded_residual import UnloadedResidual
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.description.robot_description import Finding
from screw_dynamics_ros.core.identification import DynamicIdentification
from screw_dynamics_ros.core.identification.effort_delay import EffortDelay
from screw_dynamics_ros.core.identification.model_check import ModelCheck
from screw_dynamics_ros.core.identification.result import Torques
from support.paths import URDF

RNG = np.random.default_rng(0)
DESCRIPTION = read_urdf((URDF / 'planar_2r.urdf').read_text())
JOINTS = ('joint1', 'joint2', 'joint3')
MEASURED, IDENTIFIED, NOMINAL, REPORTED = RNG.normal(size=(4, 50, 3)) * [10.0, 1.0, 0.1]
MEASURED[:, 2] = np.nan  # no efforts
HELD_OUT = np.isin(np.arange(50), [*range(10, 20), *range(45, 50)])
TORQUES = Torques(0.02 * np.arange(50), np.zeros(50, int), HELD_OUT, MEASURED, IDENTIFIED,
                  NOMINAL, REPORTED, np.zeros(50, int))  # fmt: skip
DRIVES = {
    'joint1': Drive(armature=0.125, damping=0.5, coulomb=1.25),
    'joint2': Drive(coulomb=1.0, breakaway=1.5, load_friction=0.0625),
    'joint3': Drive(),
}
FREEDOM = np.array([4.0, 11.0, 30.0])
RESIDUAL = UnloadedResidual(JOINTS[:2], *np.array([[0.01, 0.02], [0.3, 0.4], [0.5, 0.6],
                            [0.7, 0.8], [1.1, 1.2], [2.1, 2.2]]))  # fmt: skip


@pytest.fixture
def result():
    """Return a result of three joints: calibrated, scaled, and without a scale."""
    return DynamicIdentification(
        description=DESCRIPTION,
        drives=DRIVES,
        payload=None,
        load=RigidBody(0.8125, [0.125, -0.25, 0.5], np.zeros((3, 3))),
        joint_names=JOINTS,
        effort_scale=np.array([1.0, -12.5, np.nan]),
        effort_offset=np.array([0.25, -0.75, np.nan]),
        scale_deviation=np.array([0.0, 0.625, np.inf]),
        scale_freedom=np.array([1.0, 6.0, 1.0]),
        parameters=('link2/mx', 'joint1/damping', 'joint2/offset'),
        groups=({'link2/mx': 1.0, 'link1/m': 0.5}, {'joint1/damping': 1.0}, {'joint2/offset': 1.0}),
        units=('kg m', 'N m s/rad', 'N m'),
        nominal=np.array([1.5, 0.25, 0.0]),
        values=np.array([-1.75, 0.5, 0.125]),
        deviations=np.array([0.02, 0.03, 0.04]),
        identified=np.array([True, True, False]),
        physical=np.array([1.625, 0.375, 0.0625]),
        held=tuple({f'link1/p{k}': 1.0} for k in range(22)),
        degrees_of_freedom=FREEDOM,
        checks=(),
        findings=(Finding('warning', 'joint joint2', 'is scaled', 'set it'),),
        torques=TORQUES,
        effort_delay=EffortDelay(0.0125, 0.001, 8),
        noise=np.ones(3),
        correlation=np.ones(3),
        condition=123.0,
        cutoff=4.75,
        success=True,
    )


def rms(x):
    return np.sqrt((x**2).mean(axis=0))


def rows_of(lines, names):
    """Return the cells behind the names at the beginning of lines."""
    split = [line.split() for line in lines]
    return {row[0]: row[1:] for row in split if row and row[0] in names}


def test_heading_and_order(result):
    first, *others = report.of_fit(result, ['run.csv: gaps'], RESIDUAL)
    assert first.title == (
        'robot planar_2r: 50 samples below 4.75 Hz, 15 held out; 3 base parameters, '
        '2 identified, condition number 123'
    )
    assert first.text()[1:] == [
        '  note    run.csv: gaps', '  WARNING joint joint2: is scaled (set it)',
    ]  # fmt: skip
    assert others == [
        report.errors(result),
        report.drives(result),
        report.base_parameters(result),
        report.external_torques(RESIDUAL),
    ]
    assert report.groups(result).lines == ['link2/mx represents +1 link2/mx +0.5 link1/m']
    assert [each.title for each in report.of_fit(result)][1:] == [each.title for each in others[:3]]
    assert report.of_fit(replace(result, findings=()))[0].text() == [first.title]


@pytest.mark.parametrize('has_held_out', [True, False])
def test_errors_of_held_out_data(result, has_held_out):
    """Of the others if none are held out; a joint without efforts has no row."""
    torques = replace(TORQUES, held_out=HELD_OUT & has_held_out)
    section = report.errors(replace(result, torques=torques))
    head, lines = section.title, section.lines
    assert ('held-out data' in head, 'fitted data' in head) == (has_held_out, not has_held_out)
    chosen = HELD_OUT if has_held_out else slice(None)
    differences = (MEASURED, MEASURED - IDENTIFIED, REPORTED - NOMINAL)
    expected = np.stack([rms(x[chosen]) for x in differences], axis=1)
    found = rows_of(lines, JOINTS)
    assert list(found) == ['joint1', 'joint2']
    for name, row in zip(found, expected):
        assert [float(x) for x in found[name]] == pytest.approx(row, rel=1e-3)


def test_drives(result):
    """Breakaway is Coulomb friction without one; intervals of scales are those of the gain."""
    head, *lines = report.drives(result).lines
    names = 'drive armature damping coulomb breakaway load_friction scale 95 % +- offset'
    assert ' '.join(head.split()) == names
    share = 0.625 / 12.5 * student.ppf(0.975, 6)
    half = 12.5 * (1 / (1 - share) - 1 / (1 + share)) / 2
    found = rows_of(lines, JOINTS)
    assert [float(x) for x in found['joint1']] == [0.125, 0.5, 1.25, 1.25, 0.0, 1.0, 0.0, 0.25]
    assert [float(x) for x in found['joint2']] == pytest.approx(
        [0.0, 0.0, 1.0, 1.5, 0.0625, -12.5, half, -0.75], rel=1e-3
    )
    assert 'joint3' not in found
    assert 'joint3: not determined: the motion does not determine its scale' in lines


def test_numbers_have_the_digits_of_their_intervals(result):
    """A scale of 12.28 with an interval of 0.0014 is 12.2800."""
    found = replace(result, effort_scale=np.array([12.28, -12.5, np.nan]))
    intervals = np.array([[12.2786, 12.2814], [-12.6, -12.4], [np.nan, np.nan]])
    object.__setattr__(found, 'scale_intervals', lambda: intervals)
    rows = rows_of(report.drives(found).lines, JOINTS)
    assert rows['joint1'][5:7] == ['12.2800', '0.0014']
    assert rows['joint2'][5:7] == ['-12.50', '0.1']


def test_base_parameters(result):
    head, *lines = report.base_parameters(result).lines
    assert ' '.join(head.split()) == 'parameter nominal estimated 95 % +- physical'
    half = np.array([0.02, 0.03, 0.04]) * student.ppf(0.975, FREEDOM)
    found = rows_of(lines, result.parameters)
    for k, name in enumerate(result.parameters[:2]):
        numbers = [float(x) for x in found[name][:4]]
        expected = [result.nominal[k], result.values[k], half[k], result.physical[k]]
        assert numbers == pytest.approx(expected, rel=0.06)
        assert ' '.join(found[name][4:]) == result.units[k]
    assert found['joint2/offset'] == ['0', 'no', '0.0625', 'N', 'm']


def test_delay_load_and_what_is_held(result):
    (line,) = report.delay(result)
    value, half = re.search(r'positions: (\S+) \+- (\S+) ms \(95 %\), compensated$', line).groups()
    assert float(value) == 12.5
    assert float(half) == pytest.approx(1e3 * 0.001 * student.ppf(0.975, 8), rel=0.05)
    small = replace(result, effort_delay=EffortDelay(0.0005, 0.001, 8))
    assert next(report.delay(small)).endswith(', not compensated')
    assert list(report.delay(replace(result, effort_delay=EffortDelay()))) == []
    (line,) = report.load(result)
    assert 'load: 0.8125 kg, center of mass (0.125, -0.250, 0.500) m' in line
    assert list(report.load(replace(result, load=None))) == []
    lines = [line for line in report.base_parameters(result).lines if line.startswith('HELD')]
    assert len(lines) == 21
    assert lines[0].endswith('not identified: +1 link1/p0')
    assert lines[-1] == 'HELD    and 2 more'
    twenty = replace(result, held=result.held[:20])
    assert report.base_parameters(twenty).lines[-20:] == lines[:20]


def test_errors_of_external_torques():
    section = report.external_torques(RESIDUAL)
    names, *lines = section.lines
    assert 'observer momentum' in section.title
    assert ' '.join(names.split()) == 'joint deviation of model contact collision'
    found = {name: [float(x) for x in row] for name, row in rows_of(lines, JOINTS).items()}
    assert found == {'joint1': [0.7, 0.5, 1.1, 2.1], 'joint2': [0.8, 0.6, 1.2, 2.2]}
    derived = replace(RESIDUAL, derived_share=np.array([0.25, 0.5]))
    assert report.external_torques(derived).lines == [
        *section.lines,
        'no velocities are recorded: noise of differences of positions is 50% of the mean square '
        'error of joint2',
    ]


def parameters_of(*arguments):
    return yaml.safe_load(parameter_file(*arguments))['/**']['ros__parameters']


def test_parameter_file(result):
    """Without joints whose scale is unknown; a delay only if it is certain and positive."""
    found = parameters_of(result, '', RESIDUAL)
    assert found['drive_joints'] == found['effort_joints'] == ['joint1', 'joint2']
    assert found['effort_scale'] == [1.0, -12.5]
    assert found['effort_offset'] == [0.25, -0.75]
    assert found['effort_delay'] == 0.0125
    assert found['observer_joints'] == found['flag_joints'] == ['joint1', 'joint2']
    lists = {'observer_velocity_deviation': [0.01, 0.02], 'observer_effort_deviation': [0.3, 0.4],
             'observer_model_deviation': [0.5, 0.6], 'contact_thresholds': [1.1, 1.2],
             'collision_thresholds': [2.1, 2.2]}  # fmt: skip
    assert {name: found[name] for name in lists} == lists
    for delay in (EffortDelay(-0.0125, 0.001, 8), EffortDelay(0.0125, 0.1, 8)):
        assert 'effort_delay' not in parameters_of(replace(result, effort_delay=delay))
    assert 'payload_mass' not in found
    nothing = replace(result, effort_scale=np.full(3, np.nan), effort_delay=EffortDelay())
    assert parameters_of(nothing) == {}


def test_numbers_of_files_have_nine_digits(result):
    scale = np.array([1.0 / 3.0, 1e7 / 3.0, np.nan])
    residual = replace(RESIDUAL, contact_threshold=np.array([1.0 / 3.0, 2.0]))
    found = parameters_of(replace(result, effort_scale=scale), '', residual)
    assert found['effort_scale'] == [0.333333333, 3333333.33]
    assert found['contact_thresholds'] == [0.3333, 2.0]


def test_drive_parameters():
    """The usual four always, others only if they are not the default."""
    assert drive_parameters(Drive()) == {
        'armature': 0.0, 'damping': 0.0, 'coulomb': 0.0, 'smoothing': 0.01,
    }  # fmt: skip
    drive = Drive(coupled_joints=('a', 'b'), coupling_ratios=(1.0 / 3.0, -1.0), breakaway=0.5,
                  coulomb=0.25, load_friction=0.0625)  # fmt: skip
    found = drive_parameters(drive)
    assert found['coupled_joints'] == ['a', 'b']
    assert found['coupling_ratios'] == [0.333333333, -1.0]
    assert (found['breakaway'], found['load_friction']) == (0.5, 0.0625)
    assert set(found) == {'armature', 'damping', 'coulomb', 'smoothing', 'breakaway',
                          'load_friction', 'coupled_joints', 'coupling_ratios'}  # fmt: skip


def test_results_for_calibrated_efforts_become_those_for_reported_ones(result):
    """torque = s (k e + o) + b, for any effort e."""
    scale, offset = np.array([3.0, -2.0, 1.0]), np.array([0.5, 0.25, 0.0])
    found = of_reported_efforts(result, (scale, offset))
    e = 1.75
    expected = result.effort_scale * (scale * e + offset) + result.effort_offset
    np.testing.assert_allclose(found.effort_scale * e + found.effort_offset, expected)
    assert found.scale_deviation.tolist() == [0.0, 1.25, np.inf]
    same = of_reported_efforts(result, (None, None))
    np.testing.assert_array_equal(same.effort_scale, result.effort_scale)
    np.testing.assert_array_equal(same.effort_offset, result.effort_offset)


CHECK = ModelCheck(DESCRIPTION, JOINTS, TORQUES, np.array([True, False, True]),
                   np.array([0.98765, 0.5, np.nan]), np.array([11.25, 2.5, np.nan]),
                   np.array([0.75, 0.125, np.nan]), np.array([-0.25, 0.0625, np.nan]),
                   (Finding('warning', 'joint joint1', 'is poor'),), 3.25,
                   *np.full((2, 3, 3), np.nan))  # fmt: skip


def test_report_of_a_check():
    first, table = report.of_check(CHECK, ['gaps'])
    assert first.title == 'robot planar_2r: 50 samples below 3.25 Hz, not fitted'
    assert first.text()[1:] == ['  note    gaps', '  WARNING joint joint1: is poor']
    found = rows_of(table.lines, JOINTS)
    assert list(found) == ['joint1', 'joint2']
    assert [float(x) for x in found['joint1']] == [0.9877, 11.25, 0.75, -0.25]
    assert found['joint2'] == ['at', 'rest', '2.5', '0.125', '0.0625']


def figure_of(monkeypatch, tmp_path, drawn):
    pytest.importorskip('matplotlib')
    figures = []
    monkeypatch.setattr(command_line, 'save_figure', lambda figure, *_: figures.append(figure))
    picture.save_picture(drawn, tmp_path / 'new' / 'x.png')
    assert (tmp_path / 'new').is_dir()
    return figures[0]


def lines_of(axis):
    return [np.asarray(line.get_ydata()) for line in axis.lines]


def test_picture_of_a_fit(tmp_path, monkeypatch, result):
    """Torques and errors of each joint with efforts, intervals of identified parameters."""
    gap = replace(TORQUES, t=TORQUES.t + np.where(np.arange(50) < 30, 0.0, 7.0))
    figure = figure_of(monkeypatch, tmp_path, replace(result, torques=gap))
    assert figure.get_suptitle() == 'planar_2r: identified dynamics'
    assert len(figure.axes) == 5
    for i in (0, 1):
        left, right = figure.axes[2 * i], figure.axes[2 * i + 1]
        assert left.get_ylabel() == JOINTS[i]
        curves = (MEASURED, NOMINAL, IDENTIFIED)
        for found, expected in zip(lines_of(left), curves, strict=True):
            np.testing.assert_array_equal(found, expected[:, i])
        errors = (REPORTED - NOMINAL, MEASURED - IDENTIFIED)
        for found, expected in zip(lines_of(right), errors, strict=True):
            np.testing.assert_array_equal(found, expected[:, i])
        for axis in (left, right):
            np.testing.assert_allclose(axis.lines[0].get_xdata(), 0.02 * np.arange(50))
            shaded = [patch.get_extents().transformed(axis.transData.inverted()).intervalx
                      for patch in axis.patches]  # fmt: skip
            np.testing.assert_allclose(shaded, [[0.2, 0.38], [0.9, 0.98]])
            assert ('time' in axis.get_xlabel()) == (i == 1)
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ['measured', 'nominal', 'identified']
    axis = figure.axes[4]
    assert [text.get_text() for text in axis.get_yticklabels()] == ['link2/mx', 'joint1/damping']
    estimated, nominal = axis.lines
    np.testing.assert_allclose(estimated.get_xdata(), [-1.0, 1.0])
    np.testing.assert_allclose(nominal.get_xdata(), [1.5 / 1.75, 0.5])
    assert list(estimated.get_ydata()) == list(nominal.get_ydata()) == [1, 0]
    segments = np.array(axis.collections[0].get_segments())[:, :, 0]
    half = np.array([0.02, 0.03]) * student.ppf(0.975, FREEDOM[:2]) / [1.75, 0.5]
    np.testing.assert_allclose(np.ptp(segments, axis=1) / 2, half)


def test_files_without_a_picture(tmp_path, monkeypatch, result, capsys):
    """Without matplotlib; the page does not show one."""
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    sections = report.of_fit(result)
    write(tmp_path / 'new', Outcome('Fit', sections, {'a.yaml': 'text'}, result, 'report'))
    assert not list((tmp_path / 'new').glob('*.png'))
    assert 'report.png' not in (tmp_path / 'new' / 'report.md').read_text()
    out, err = capsys.readouterr()
    assert err == 'no picture: matplotlib is not installed\n'
    assert out == f'written: a.yaml, report.md in {tmp_path / "new"}\n'


def test_picture_of_a_check(tmp_path, monkeypatch):
    unknown = replace(TORQUES, nominal=np.full((50, 3), np.nan), held_out=np.zeros(50, bool))
    figure = figure_of(monkeypatch, tmp_path, replace(CHECK, torques=unknown))
    assert figure.get_suptitle() == 'planar_2r: model and recording'
    assert len(figure.axes) == 4
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == [
        'measured', 'model',
    ]  # fmt: skip
    assert not figure.axes[0].patches
    assert figure.axes[2].get_xlabel() == 'time without gaps [s]'
