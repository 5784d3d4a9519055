# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robots on a floating base over DDS, against the free-flyer of Pinocchio.

EVERY_ROBOT=1 tries all robots with legs of example-robot-data instead of one.
"""

import os

import numpy as np
import pytest

pytest.importorskip('pinocchio')
pytest.importorskip('nav_msgs')

from nav_msgs.msg import Odometry
from rclpy.qos import qos_profile_sensor_data

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.ros.model_state import subscribe_to_model_state
from screw_dynamics_ros.ros.status import Level
from support.free_robot import FreeModel
from support.robots import example_robots, robot_id, urdf_path

LEGS = (
    'a1_ alex anymal b1_ bolt centauro g1_ go1 go2 human hyq icub laikago quadruped romeo solo '
    'simple_humanoid talos_'
)
LEGGED = [
    path
    for path in example_robots()
    if any(f'/{name}' in path.as_posix() for name in LEGS.split())
    and 'arm' not in path.name
    and '<mimic' not in path.read_text()  # coupled here, independent joints in Pinocchio
]
ROBOTS = LEGGED if os.environ.get('EVERY_ROBOT') else [urdf_path('solo12')]
NAMES = ['mass_matrix', 'gravity', 'coriolis', 'center_of_mass', 'momentum', 'base_wrench']


@pytest.mark.parametrize('path', ROBOTS, ids=robot_id)
def test_results_follow_the_odometry(start, connect, path):
    text = path.read_text()
    joints = Robot.from_urdf(text, backend='reference', floating_base=True).joint_names
    made = FreeModel(text, joints)
    space = f'/robot{ROBOTS.index(path)}'
    parameters = {'base_source': 'odometry', 'base_timeout': 1.0, 'model_state': NAMES}
    start('bringup', parameters, ['-r', f'__ns:={space}'])
    client = connect(space)
    client.describe(text)
    states = {}
    subscribe_to_model_state(
        client.node, lambda state: states.update({state.stamp: state}), f'{space}/bringup'
    )
    odometry = client.publisher(Odometry, 'odom', qos_profile_sensor_data)
    first, last = client.stamp, client.stamp + 9 * 10**8

    def result(stamps):
        """Send odometry before and after all states; return a stamp that has a result."""
        for stamp in (first, last):
            odometry.publish(made.odometry(stamp, **made.moved((stamp - first) * 1e-9)))
        return next((stamp for stamp in stamps if stamp in states), None)

    stamp = client.drive(result, joints, made.q, made.v, what='a model state')
    assert stamp < last
    # Interpolated or extrapolated, whichever odometry has come: the twist is constant.
    expected = made.expected(**made.moved((stamp - first) * 1e-9))
    for topic, value in expected.items():
        numbers = states[stamp][topic.removeprefix('dynamics/')].ravel()
        scale = max(1.0, np.abs(value).max())
        np.testing.assert_allclose(numbers, value, atol=1e-10 * scale, err_msg=topic)
    client.stamp += 3 * 10**9
    client.expect(
        f'{space[1:]}/bringup: payload',
        Level.ERROR,
        'from the joint states',
        meanwhile=lambda: client.send(joints, made.q, made.v),
    )
