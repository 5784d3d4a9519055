"""A signal ends nodes in order, whatever they are publishing just then."""

import os
import signal

import pytest

pytest.importorskip('rclpy')

from rclpy.qos import qos_profile_sensor_data
from robots import urdf_path
from sensor_msgs.msg import JointState


@pytest.mark.parametrize('executor', ['auto', 'single'])
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signal_while_publishing(start, connect, number, executor):
    """With driver and model nodes in one process, at a rate they cannot keep."""
    name = f'end_{number.name.lower()}_{executor}'
    node = start('bringup', {
        'nodes': "['kinematics', 'dynamics', 'simulator']", 'executor': executor,
        'rate': 2000.0, 'robot_description': f"'{urdf_path('planar_2r').read_text()}'",
    }, ['-r', f'__ns:=/{name}'])
    client = connect(name)
    client.subscribe(JointState, 'joint_states', profile=qos_profile_sensor_data)
    client.subscribe(JointState, 'dynamics/gravity')
    client.wait(lambda: len(client.received['dynamics/gravity']) > 20, what='gravity torques')
    assert node.stop(number) == 0
    for sign in ('Traceback', 'FATAL', 'ERROR', 'invalid'):
        assert sign not in node.output, node.output


def test_signal_while_starting(start, connect, tmp_path):
    """A driver that still waits for its description ends, too."""
    path = tmp_path / 'nobody_writes.urdf'
    os.mkfifo(path)
    client = connect('early')
    node = start('simulator', {'urdf': path}, ['-r', '__ns:=/early'])
    client.wait(lambda: 'simulator' in client.node.get_node_names(), what='the node')
    assert node.stop() == 0
    assert 'Traceback' not in node.output
