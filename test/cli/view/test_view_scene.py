# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the browser view makes of a description and of a state, without a browser."""

from __future__ import annotations

import re

import numpy as np
import pytest

from screw_dynamics_ros.cli.view import state as source
from screw_dynamics_ros.cli.view.link_meshes import link_visuals
from screw_dynamics_ros.cli.view.posture_source import PostureSource, middle
from screw_dynamics_ros.cli.view.torque_bars import bars
from screw_dynamics_ros.core import bundled_urdf
from screw_dynamics_ros.core.description.rigid_body import RigidBody

URDF = """
<robot name="r">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="a">
    <visual>
      <origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/>
      <geometry><box size="1 2 3"/></geometry><material name="red"/>
    </visual>
    <visual><geometry><sphere radius="nan"/></geometry></visual>
    <visual><geometry><box size="0 1 1"/></geometry></visual>
    <visual><geometry><cylinder radius="1"/></geometry></visual>
    <collision><geometry><mesh filename="package://p/a.stl" scale="2 2 2"/></geometry></collision>
  </link>
  <link name="b/c"/>
  <joint name="j" type="fixed"><parent link="a"/><child link="b/c"/><origin xyz="0 0 1"/></joint>
</robot>
"""


def panda():
    path = bundled_urdf('panda')
    return PostureSource(path.read_text(), path)


def test_visuals_with_invalid_numbers_are_left_out():
    visuals = link_visuals(URDF)
    (box,) = visuals['a'].visual
    assert box.color == (255, 0, 0)
    assert box.shape.extents.tolist() == [1.0, 2.0, 3.0]
    assert box.pose[:3, 3].tolist() == [0.0, 0.0, 1.0]
    assert visuals['a'].collision[0].mesh == 'package://p/a.stl'
    assert visuals['b/c'].visual == ()


def test_meshes_of_a_local_description(tmp_path):
    folder = tmp_path / 'p' / 'urdf'
    folder.mkdir(parents=True)
    mesh, other = tmp_path / 'p' / 'a.stl', folder / 'notes.txt'
    mesh.write_text('solid')
    other.write_text('text')
    urdf = folder / 'r.urdf'
    assert source.local_mesh('package://p/a.stl', urdf) == mesh
    assert source.local_mesh(f'file://{mesh}', urdf) == mesh
    assert source.local_mesh('../a.stl', urdf).samefile(mesh)
    assert source.local_mesh('notes.txt', urdf) is None
    assert source.local_mesh('package://absent/a.stl', urdf) is None


def test_a_description_of_a_topic_names_no_file_outside_of_packages(tmp_path, monkeypatch):
    packages = pytest.importorskip('ament_index_python.packages')
    share = tmp_path / 'share' / 'p'
    share.mkdir(parents=True)
    inside, outside = share / 'a.stl', tmp_path / 'share' / 'b.stl'
    for mesh in (inside, outside):
        mesh.write_text('solid')
    monkeypatch.setattr(packages, 'get_package_share_directory', lambda name: str(share))
    assert source.installed_mesh('package://p/a.stl') == inside
    for uri in (
        'package://p/../b.stl',
        f'package://p/{outside}',
        f'file://{inside}',
        str(inside),
        'package://p/a.stl\0',
    ):
        assert source.installed_mesh(uri) is None


def test_the_robot_alone_has_the_torques_of_its_posture_and_payload():
    source = panda()
    robot, q = source.robot, source.latest().q
    assert (q >= source.lower).all()
    assert (q <= source.upper).all()
    moved = q + 0.1
    source.move(moved)
    source.carry('panda_hand', RigidBody(2.0, np.zeros(3), np.zeros((3, 3))))
    state = source.latest()
    held = {'panda_hand': np.concatenate([np.zeros(3), weight(robot, moved, 2.0)])}
    np.testing.assert_allclose(state.torques['gravity'], robot.gravity_torques(moved))
    np.testing.assert_allclose(
        state.torques['payload'], robot.inverse_force(moved, held), atol=1e-12
    )


def weight(robot, q, mass):
    """Return the weight (3,) of a mass at the origin of the hand, in its frame [N]."""
    return robot.link_pose(q, 'panda_hand')[:3, :3].T @ [0.0, 0.0, -9.81 * mass]


@pytest.mark.parametrize('q', [np.full(8, np.nan), np.zeros(3)])
def test_the_robot_alone_ignores_what_is_not_a_configuration(q):
    source = panda()
    before = source.latest()
    source.move(q)
    assert source.latest() is before


def test_the_middle_of_ranges():
    """Of those with two ends; other coordinates are neutral."""
    robot = panda().robot
    lower, upper = np.full((2, robot.nq), 1.0) * [[-1.0], [2.0]]
    lower[1], upper[2], lower[3], upper[3] = -np.inf, np.inf, -np.inf, np.inf
    expected = np.full(robot.nq, 0.5)
    expected[1:4] = robot.neutral()[1:4]
    np.testing.assert_array_equal(middle(robot, lower, upper), expected)


def rectangles(svg, color):
    return [
        (float(x), float(width))
        for x, width in re.findall(f'<rect x="([^"]*)" [^>]*width="([^"]*)"[^>]*{color}', svg)
    ]


def test_bars_are_stacked_and_end_at_the_limit():
    svg = bars(
        ['<b>'], {'gravity': np.array([5.0]), 'payload': np.array([100.0])}, np.array([10.0])
    )
    (x, width), (next_x, rest) = (rectangles(svg, color)[-1] for color in ('#4477aa', '#aa3377'))
    assert x + width == pytest.approx(next_x, abs=0.1)
    assert width == pytest.approx(rest, abs=0.1)  # a half of the range, and the other one
    assert '>105.0<' in svg
    assert '<b>' not in svg


def test_bars_of_numbers_that_are_not_finite():
    svg = bars(['j'], {'gravity': np.array([np.nan]), 'measured': np.array([np.inf])}, np.ones(1))
    assert 'nan' not in svg
    assert 'inf' not in svg
