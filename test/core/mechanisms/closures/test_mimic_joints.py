# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mimic joints in loops: they move with their leaders, which close the loops with the rest (C-006).

Gearing and linkage together, as in grippers: a follower may be in the same loop as its leader, also
where the loop would prescribe the same motion by itself.
"""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.mechanisms.closures import ClosedRobot, read_loop_closures
from support.closed_chains import accelerations_of_bodies
from support.linkages import bar

REACH = 0.3  # between the shafts [m]
RATIO, OFFSET = -0.8, 2.2  # of the geared crank: right = RATIO left + OFFSET

#: Two cranks geared to each other, a rod on each, and the rods pinned together.
GEARED = f"""
<robot name="geared">
  <link name="base"/>
  {bar('left', 0.2)} {bar('right', 0.15)} {bar('left_rod', 0.4)} {bar('right_rod', 0.35)}
  <joint name="left" type="continuous"><parent link="base"/><child link="left"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="left_rod" type="continuous"><parent link="left"/><child link="left_rod"/>
    <origin xyz="0.2 0 0"/><axis xyz="0 0 1"/></joint>
  <joint name="right" type="continuous"><parent link="base"/><child link="right"/>
    <origin xyz="{REACH} 0 0"/><axis xyz="0 0 1"/>
    <mimic joint="left" multiplier="{RATIO}" offset="{OFFSET}"/></joint>
  <joint name="right_rod" type="continuous"><parent link="right"/><child link="right_rod"/>
    <origin xyz="0.15 0 0"/><axis xyz="0 0 1"/></joint>
</robot>"""

LOOPS = """
closures:
  - name: pin
    type: revolute
    parent: {link: left_rod, xyz: [0.4, 0, 0]}
    child: {link: right_rod, xyz: [0.35, 0, 0]}
actuated: [left]
positions: {left: 1.7, left_rod: -0.7, right_rod: 1.2}
"""


def geared(**changes) -> ClosedRobot:
    robot = Robot.from_urdf(GEARED, gravity=(0.0, -9.81, 0.0), backend='reference')
    loops = read_loop_closures({**yaml.safe_load(LOOPS), **changes})
    return ClosedRobot(robot, loops, tolerance=1e-13)


@pytest.fixture(scope='module')
def closed() -> ClosedRobot:
    return geared()


Q, V = np.array([1.6]), np.array([0.9])


def test_the_follower_counts_as_its_leader(closed) -> None:
    """Three joints that can move and one freedom, with a leader and its follower in one loop."""
    found = closed.mobility(Q)
    assert closed.robot.joint_names == ('left', 'left_rod', 'right_rod')
    assert (found.joint_freedoms, found.rank, found.mobility, found.gained) == (3, 2, 1, 0)


def test_position_against_two_circles(closed) -> None:
    """The pin is where circles about the ends of both cranks meet; the gearing holds."""
    left, right = (closed.link_pose(Q, rod)[:3, 3] for rod in ('left_rod', 'right_rod'))
    follower = RATIO * Q[0] + OFFSET
    np.testing.assert_allclose(left, 0.2 * np.array([np.cos(Q[0]), np.sin(Q[0]), 0]), atol=1e-12)
    end = [REACH + 0.15 * np.cos(follower), 0.15 * np.sin(follower), 0.0]
    np.testing.assert_allclose(right, end, atol=1e-12)
    pin = (closed.link_pose(Q, 'left_rod') @ [0.4, 0, 0, 1])[:3]
    assert np.linalg.norm(pin - right) == pytest.approx(0.35, abs=1e-10)


def test_torques_do_the_work_of_the_energy(closed) -> None:
    """The torque at the leader moves the follower, too."""
    h, a = 1e-5, np.array([2.0])

    def energy(t: float) -> float:
        q, v = Q + t * V + 0.5 * t * t * a, V + t * a
        return closed.kinetic_energy(q, v) + closed.potential_energy(q)

    power = (energy(h) - energy(-h)) / (2 * h)
    assert closed.inverse_dynamics(Q, V, a) @ V == pytest.approx(power, rel=1e-7)
    slope = closed.potential_energy(Q + h) - closed.potential_energy(Q - h)
    assert closed.gravity_torques(Q) == pytest.approx(slope / (2 * h), rel=1e-7)


def test_accelerations_against_absolute_coordinates(closed) -> None:
    """There the gearing is a coupling between two of the joints, with a force of its own."""
    ours, independent = accelerations_of_bodies(closed, Q, V, np.array([0.7]))
    np.testing.assert_allclose(ours, independent, rtol=1e-7, atol=1e-7)


def test_a_follower_that_the_loop_moves_alike() -> None:
    """A parallelogram whose second crank also mimics the first: nothing contradicts."""
    text = GEARED.replace(f'multiplier="{RATIO}" offset="{OFFSET}"', 'multiplier="1"')
    text = text.replace('0.15 0 0', '0.2 0 0')
    text = text.replace(
        '<joint name="right_rod" type="continuous">', '<joint name="right_rod" type="fixed">'
    )
    pin = {
        'name': 'pin',
        'type': 'revolute',
        'parent': {'link': 'left_rod', 'xyz': [REACH, 0, 0]},
        'child': {'link': 'right', 'xyz': [0.2, 0, 0]},
    }
    loops = {'closures': [pin], 'actuated': ['left'], 'positions': {'left': 1.0, 'left_rod': -1.0}}
    closed = ClosedRobot(Robot.from_urdf(text, backend='reference'), read_loop_closures(loops))
    found = closed.mobility([0.7])
    assert (found.joint_freedoms, found.rank, found.mobility) == (2, 1, 1)
    np.testing.assert_allclose(closed.configuration([0.7]), [0.7, -0.7], atol=1e-9)


@pytest.mark.parametrize(
    'changes',
    [
        {'actuated': ['right']},
        {'sensed': ['left', 'right']},
        {'positions': {'left': 1.7, 'right': 0.8}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_followers_have_no_role_of_their_own(changes) -> None:
    with pytest.raises(ArgumentError, match=r"joint 'right' mimics 'left': .*; name 'left'"):
        geared(**changes)
