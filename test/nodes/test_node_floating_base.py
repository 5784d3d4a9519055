# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robots on a floating base over DDS, against the free-flyer of Pinocchio.

EVERY_ROBOT=1 tries all robots with legs of example-robot-data instead of one.
"""

import os

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('pinocchio')
pytest.importorskip('nav_msgs')

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.qos import qos_profile_sensor_data
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.ros.status import Level
from support.free_robot import FreeModel, numbers
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
WRENCH = '/dynamics/base_wrench'
MATRICES = '/dynamics/mass_matrix', '/dynamics/center_of_mass', '/dynamics/momentum'


@pytest.mark.parametrize('path', ROBOTS, ids=robot_id)
def test_results_follow_the_odometry(start, connect, path):
    text = path.read_text()
    joints = Robot.from_urdf(text, backend='reference', floating_base=True).joint_names
    made = FreeModel(text, joints)
    space = f'/robot{ROBOTS.index(path)}'
    parameters = {'base_source': 'odometry', 'base_timeout': 1.0}
    start('bringup', parameters, ['-r', f'__ns:={space}'])
    client = connect(space)
    client.describe(text)
    wrench, *matrices = (space + topic for topic in (WRENCH, *MATRICES))
    client.subscribe(WrenchStamped, wrench)
    client.subscribe(Float64MultiArray, *matrices)
    odometry = client.publisher(Odometry, 'odom', qos_profile_sensor_data)

    measured = client.stamp, client.stamp + 9 * 10**8

    def sent_with(*state, **options):
        """Send odometry before and after all states, each time the same, then the state."""
        for stamp in measured:
            odometry.publish(made.odometry(stamp))
        return send(*state, **options)

    send, client.send = client.send, sent_with
    found = {wrench: client.ask(wrench, joints, made.q, made.v)[1]}
    for topic in matrices:
        found[topic] = client.ask_unstamped(topic, wrench, joints, made.q, made.v)
    expected = made.expected()
    for topic, message in found.items():
        value = expected[topic.removeprefix(f'{space}/')]
        scale = max(1.0, np.abs(value).max())
        np.testing.assert_allclose(numbers(message), value, atol=1e-10 * scale, err_msg=topic)
    client.send = send
    assert client.stamp < measured[1]
    client.stamp += 3 * 10**9
    client.expect(
        f'{space[1:]}/bringup: payload',
        Level.ERROR,
        'from the joint states',
        meanwhile=lambda: client.send(joints, made.q, made.v),
    )
