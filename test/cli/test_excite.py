# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The command `excite`: goals of FollowJointTrajectory, tables, limits."""

from __future__ import annotations

import csv

import numpy as np
import pytest
import yaml

from screw_dynamics_ros.cli.excite import WARNING, main, yaml_text
from screw_dynamics_ros.core.motion.trajectory.joint_path import JointPath
from screw_dynamics_ros.entry import DONE, NEGATIVE, UNUSABLE
from support.paths import URDF

PLANAR = str(URDF / 'planar_2r.urdf')
QUICK = ['--restarts', '3', '--harmonics', '3']

SLIDER = (
    '<robot name="slider"><link name="wall"/><link name="base"/><joint name="glide" type="{}">'
    '<parent link="wall"/><child link="base"/></joint></robot>'
)
BAR = '<joint axis="0 1 0" range="-1 1" limited="true"/><geom size="0.1"/></body>'
LOOP = (
    f'<mujoco model="loop"><worldbody><body name="a">{BAR}<body name="b" pos="1 0 0">{BAR}'
    '</worldbody><equality><connect body1="a" body2="b" anchor="0 0 1"/></equality></mujoco>'
)


def test_a_goal_that_a_joint_trajectory_controller_runs(tmp_path, said):
    paths = tmp_path / 'motion.yaml', tmp_path / 'deeper' / 'motion.csv'
    options = [x for path in paths for x in ('-o', str(path))]
    out = said(main, PLANAR, *QUICK, *options, '--rate', '10', '--periods', '2')
    assert WARNING in out
    assert 'random motions within the same limits' in out

    goal = yaml.safe_load(paths[0].read_text())['trajectory']
    assert goal['joint_names'] == ['joint1', 'joint2']
    times = [
        p['time_from_start']['sec'] + p['time_from_start']['nanosec'] * 1e-9 for p in goal['points']
    ]
    assert len(times) == 201
    assert times[0] == 0.0
    assert times[-1] == 20.0
    q, v, a = (
        np.array([point[key] for point in goal['points']])
        for key in ('positions', 'velocities', 'accelerations')
    )
    for rates in (v[[0, -1]], a[[0, -1]]):
        assert not rates.any()
    path = JointPath(times, q, v, a)  # quintic, as the controller has it
    assert np.allclose(path.at(3.05)[0], (path.at(3.0)[0] + path.at(3.1)[0]) / 2, atol=0.02)
    assert np.allclose(path.at(13.25)[0], path.at(3.25)[0], atol=1e-6)  # the second period

    with paths[1].open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row['joint2.velocity']) for row in rows] == pytest.approx(v[:, 1], abs=1e-6)
    for row in (rows[0], rows[-1]):
        rest = [float(x) for name, x in row.items() if name.endswith(('velocity', 'acceleration'))]
        assert rest == [0.0] * 4


def test_some_joints_in_a_part_of_their_range(tmp_path):
    path = tmp_path / 'motion.yaml'
    panda = str(URDF / 'panda.urdf')
    options = ['--joints', 'panda_joint4', '--range', '0.3', '-o', str(path)]
    assert main([panda, *QUICK, *options]) == DONE
    goal = yaml.safe_load(path.read_text())['trajectory']
    assert goal['joint_names'] == ['panda_joint4']
    positions = [point['positions'][0] for point in goal['points']]
    assert max(positions) - min(positions) < 0.3 * 3.1


def test_nothing_is_written_that_the_robot_is_too_weak_for(tmp_path, refused):
    weak = tmp_path / 'weak.urdf'
    weak.write_text((URDF / 'planar_2r.urdf').read_text().replace('effort="50"', 'effort="0.01"'))
    path = tmp_path / 'motion.yaml'
    down = ['--gravity', '0', '-9.81', '0']
    assert 'joint2 within the effort limits' in refused(main, weak, *QUICK, *down, '-o', path)
    assert not path.exists()
    assert main([str(weak), *QUICK, *down, '-o', str(path), '--ignore-effort']) == DONE


def test_refused(tmp_path, refused, unusable):
    assert 'neither .yaml nor .csv' in unusable(main, PLANAR, '-o', tmp_path / 'motion.txt')
    assert main([str(tmp_path / 'none.urdf')]) == UNUSABLE
    assert main([PLANAR, '--rate', '1e5']) == UNUSABLE
    assert "no joint 'elbow'" in refused(main, PLANAR, *QUICK, '--joints', 'elbow')
    assert main([PLANAR, *QUICK, '--range', '2']) == NEGATIVE
    (tmp_path / 'file').write_text('')
    assert main([PLANAR, *QUICK, '-o', str(tmp_path / 'file' / 'motion.csv')]) == UNUSABLE
    for kind in ('planar', 'floating'):
        (tmp_path / 'robot.urdf').write_text(SLIDER.format(kind))
        assert f"joints of one freedom are needed; joint 'glide' is {kind}" in refused(
            main, tmp_path / 'robot.urdf', *QUICK
        )
    for wrong in (['--period', '0'], ['--harmonics', 'x'], ['--speed', '-1']):
        with pytest.raises(SystemExit):
            main([PLANAR, *wrong])


def test_loops_are_refused(tmp_path, refused):
    pytest.importorskip('mujoco')
    (tmp_path / 'loop.xml').write_text(LOOP)
    assert "'loop' has loops: its joints cannot move independently" in refused(
        main, tmp_path / 'loop.xml', *QUICK
    )


def test_small_numbers_are_numbers_of_yaml():
    """Others are text in YAML 1.1: 1e-09."""
    text = yaml_text(['a'], np.array([0.0]), np.array([[[1e-9, -3e-8, 1234567.5]]]))
    (point,) = yaml.safe_load(text)['trajectory']['points']
    found = [point[kind][0] for kind in ('positions', 'velocities', 'accelerations')]
    assert found == [1e-9, -3e-8, 1234567.5]
