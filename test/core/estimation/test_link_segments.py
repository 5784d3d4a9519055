# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Segments of links: their ends by forward kinematics, and the joints that move them."""

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.estimation.link_segments import (
    distance_from_segment,
    link_segments,
    longest_of_each_direction,
)

INERTIA = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
URDF = f"""
<robot name="branches">
  <link name="base">
    <collision><geometry><box size="1 1 1"/></geometry></collision>
  </link>
  <link name="arm">
    <collision>
      <origin xyz="0.1 0 0"/><geometry><cylinder radius="0.05" length="0.6"/></geometry>
    </collision>
  </link>
  <link name="flange">
    <collision>
      <origin xyz="0 0 0.2" rpy="0 0.3 0"/><geometry><box size="0.1 0.5 0.1"/></geometry>
    </collision>
  </link>
  <link name="camera"/>
  <link name="hand">
    <inertial><origin xyz="0.01 0.02 0.06"/><mass value="1"/>{INERTIA}</inertial>
  </link>
  <link name="finger"/>
  <link name="thumb">
    <inertial><origin xyz="0 0.04 0"/><mass value="1"/>{INERTIA}</inertial>
  </link>
  <joint name="turn" type="continuous">
    <parent link="base"/><child link="arm"/><axis xyz="0 0 1"/><origin xyz="0 0 0.3"/>
  </joint>
  <joint name="bolts" type="fixed">
    <parent link="arm"/><child link="flange"/><origin xyz="0.5 0.1 0" rpy="0.4 0 0.2"/>
  </joint>
  <joint name="mount" type="fixed">
    <parent link="flange"/><child link="camera"/><origin xyz="0 -0.3 0.2"/>
  </joint>
  <joint name="lift" type="prismatic">
    <parent link="flange"/><child link="hand"/><axis xyz="0 0 1"/><origin xyz="0 0 0.4"/>
    <limit lower="0" upper="1" effort="1" velocity="1"/>
  </joint>
  <joint name="grip" type="revolute">
    <parent link="hand"/><child link="finger"/><axis xyz="1 0 0"/><origin xyz="0.02 0 0.1"/>
    <limit lower="0" upper="1" effort="1" velocity="1"/><mimic joint="lift" multiplier="2"/>
  </joint>
  <joint name="bend" type="revolute">
    <parent link="arm"/><child link="thumb"/><axis xyz="1 0 0"/><origin xyz="0 0.2 0"/>
    <limit lower="0" upper="1" effort="1" velocity="1"/>
  </joint>
</robot>
"""


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(URDF, backend='python')


def position(robot, body, link, point=(0.0, 0.0, 0.0)):
    """Return a point of a link in the frame of a body, by forward kinematics."""
    q = robot.neutral()
    return (np.linalg.inv(robot.link_pose(q, body)) @ robot.link_pose(q, link) @ [*point, 1.0])[:3]


def test_ends_and_shapes_of_all_moved_bodies(robot):
    """In the frame of the first link of each body; the base does not move, a finger has no end."""
    segments = link_segments(robot.description, robot.joint_names)
    arm = [each for each in segments if each.link == 'arm']
    names = {'to lift', 'to camera', 'to bend', 'cylinder', 'box of flange'}
    assert {each.part for each in arm} == names
    assert {each.link for each in segments} == {'arm', 'hand', 'thumb'}
    found = {(each.link, each.part): each for each in segments}
    for part, end in (('to lift', 'hand'), ('to camera', 'camera'), ('to bend', 'thumb')):
        np.testing.assert_allclose(found['arm', part].end, position(robot, 'arm', end), atol=1e-12)
        assert found['arm', part].start.tolist() == [0.0, 0.0, 0.0]
        assert found['arm', part].shape is None
    assert len({*segments}) == len(segments)  # they can be members of sets
    grip = found['hand', 'to grip']
    np.testing.assert_allclose(grip.end, position(robot, 'hand', 'finger'), atol=1e-12)
    assert ('hand', 'to twice its center of mass') not in found  # it carries a joint
    thumb = found['thumb', 'to twice its center of mass']
    np.testing.assert_allclose(thumb.end, [0.0, 0.08, 0.0])
    cylinder = found['arm', 'cylinder']
    np.testing.assert_allclose([cylinder.start, cylinder.end], [[0.1, 0, -0.3], [0.1, 0, 0.3]])
    assert cylinder.length == pytest.approx(0.6)
    box = found['arm', 'box of flange']
    for point, y in ((box.start, -0.25), (box.end, 0.25)):
        np.testing.assert_allclose(point, position(robot, 'arm', 'flange', (0, y, 0.2)), atol=1e-12)
    np.testing.assert_allclose(box.shape.axis()[:2], [box.start, box.end])


def test_joints_are_those_that_move_the_link(robot):
    """By finite motions of each joint; those that are not given are ignored, with their links."""
    given = ('turn', 'bend', 'grip')  # grip follows lift, which is not measured
    for joints in (robot.joint_names, given):
        for each in link_segments(robot.description, joints):
            moving = set()
            for name in robot.joint_names:
                q = robot.neutral()
                q[robot.joint_coordinates(name)[0]] += 0.1
                moved = robot.link_pose(q, each.link) - robot.link_pose(robot.neutral(), each.link)
                if np.abs(moved).max() > 1e-6 and name in joints:
                    moving.add(name)
            assert each.joints == moving - {'grip'}
    assert {each.link for each in link_segments(robot.description, ['bend'])} == {'thumb'}
    assert link_segments(robot.description, ()) == ()


@pytest.mark.parametrize('beside', [0.9e-3, 1.1e-3])
def test_ends_within_a_millimeter_of_a_longer_segment_are_part_of_it(beside):
    long, near = np.array([1.0, 0.0, 0.0]), np.array([0.4, 0.0, beside])
    kept = longest_of_each_direction(iter([('near', near), ('long', long)]))
    assert [name for name, _ in kept] == ['long', 'near'][: 1 if beside < 1e-3 else 2]
    assert len(longest_of_each_direction(iter([('short', beside * long)]))) == (beside > 1e-3)


def test_distance_from_a_segment():
    rng = np.random.default_rng(0)
    for _ in range(20):
        point, end = rng.normal(size=(2, 3))
        points = np.linspace(0.0, 1.0, 10001)[:, None] * end
        least = np.linalg.norm(point - points, axis=1).min()
        assert distance_from_segment(point, end) == pytest.approx(least, abs=1e-6)
