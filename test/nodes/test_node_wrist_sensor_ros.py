"""The node `wrist_sensor` through DDS, beside the simulator; its joint states make the sensor."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import WrenchStamped
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from screw_dynamics_ros.core import Robot
from support.robots import urdf_path

FRAME, MASS, COM = 'panda_link8', 1.5, np.array([0.0, 0.02, 0.1])
BIAS = np.array([2.0, -1.0, 4.0, 0.1, 0.2, -0.3])  # force, moment


@pytest.fixture(scope='module')
def client(start, connect):
    start('simulator', {'rate': 200.0, 'motion_amplitude': 0.0}, ['-r', '__ns:=/wrist'])
    start(
        'wrist_sensor',
        {'tool_mass': MASS, 'tool_center_of_mass': COM.tolist(), 'max_delay': 0.0},
        ['-r', '__ns:=/wrist', '-r', 'wrench:=sensor'],
    )
    made = connect('wrist')
    made.subscribe(WrenchStamped, 'wrist_sensor/wrench')
    return made


@pytest.fixture(scope='module')
def sensor(client):
    """Answer each joint state with what a sensor shows of the tool there, and of a contact."""
    robot, contact = Robot.from_urdf(urdf_path('panda')), np.zeros(6)
    publisher = client.publisher(WrenchStamped, 'sensor', qos_profile_sensor_data)

    def sense(state):
        q = [state.position[list(state.name).index(name)] for name in robot.joint_names]
        g = robot.link_pose(q, FRAME)[:3, :3].T @ [0.0, 0.0, -9.81]
        shown = np.concatenate([MASS * g, np.cross(MASS * COM, g)]) + BIAS + contact
        message = WrenchStamped(header=state.header)
        message.header.frame_id, w = FRAME, message.wrench
        w.force.x, w.force.y, w.force.z, w.torque.x, w.torque.y, w.torque.z = shown.tolist()
        publisher.publish(message)

    client.node.create_subscription(JointState, 'joint_states', sense, qos_profile_sensor_data)
    return contact


def shown(client):
    """Return the next force and moment."""
    received = client.received['wrist_sensor/wrench']
    received.clear()
    w = client.wait(lambda: received, what='a wrench')[-1].wrench
    return np.array([w.force.x, w.force.y, w.force.z, w.torque.x, w.torque.y, w.torque.z])


def test_tare_leaves_the_contact(client, sensor):
    np.testing.assert_allclose(shown(client), BIAS, atol=0.05)  # the simulator holds still
    answer = client.wait(
        lambda: client.call(Trigger, 'wrist_sensor/tare', Trigger.Request()).success, what='a tare'
    )
    assert answer
    np.testing.assert_allclose(shown(client), 0.0, atol=0.05)
    sensor[:] = [5.0, 0.0, -8.0, 0.4, 0.0, 0.1]
    client.wait(lambda: shown(client)[0] > 4.0, what='the contact')
    np.testing.assert_allclose(shown(client), sensor, atol=0.05)
    client.expect('wrist/wrist_sensor: outputs', 0)
