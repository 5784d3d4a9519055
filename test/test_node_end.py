"""A signal ends nodes in order, whatever they are publishing just then."""

import signal

import pytest

pytest.importorskip('rclpy')

from rclpy.qos import qos_profile_sensor_data
from robots import UNIT_INERTIA, joint, robot, urdf_path
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
    """A driver that still compiles a large robot ends, too."""
    path = tmp_path / 'chain.urdf'
    path.write_text(chain(40))
    client = connect('early')
    node = start('simulator', {'urdf': path}, ['-r', '__ns:=/early'])
    client.wait(lambda: 'simulator' in client.node.get_node_names(), what='the node')
    assert not client.node.count_publishers('joint_states')
    assert node.stop() == 0
    assert 'Traceback' not in node.output


def chain(count):
    """Return the URDF of an arm with some equal links."""
    inertial = f'<inertial><origin xyz="0.1 0 0"/><mass value="1"/>{UNIT_INERTIA}</inertial>'
    links = [f'<link name="l{k}">{inertial}</link>' for k in range(count + 1)]
    inner = '<origin xyz="0.2 0 0"/><axis xyz="0 0.6 0.8"/><limit effort="1" velocity="1"/>'
    joints = [joint(f'j{k}', f'l{k}', f'l{k + 1}', inner, 'continuous') for k in range(count)]
    return robot(*links, *joints)
