# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Driver presets in nodes: accepted, and active between defaults and parameters of one's own."""

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from screw_dynamics_ros.ros.drivers import find_driver, presets
from support.host_bench import Bench
from support.paths import CONFIG
from support.robots import urdf_path
from support.ros_harness import WARN, stamp_of, vector

FOLDER = CONFIG / 'drivers'
MODEL = CONFIG / 'model.yaml'
TOOL = 'panda_hand_tcp'
PARAMETER = 'use_currents_as_efforts'


@pytest.mark.parametrize('name', presets(FOLDER))
def test_terms_are_active(name, monkeypatch, keep):
    """Of what efforts contain, and of what the robot adds to commands."""
    driver = find_driver(name, FOLDER)
    given = {**driver.parameters['/**'], **driver.parameters['/**/dynamics']}
    bench = keep(Bench(monkeypatch, **given))
    bench.describe(urdf_path('planar_2r').read_text())
    compensated = driver.terms('/**/dynamics', 'compensated_terms')
    contained = driver.terms('/**', 'effort_terms')
    assert list(bench.part.shares) == [term not in compensated for term in TERMS]
    assert list(bench.host.effort_shares) == [term in contained for term in TERMS]


def test_a_preset_between_defaults_and_parameters_of_ones_own(start, connect, tmp_path):
    """As bringup.launch.py gives them; efforts of xarm are not known to be torques: no wrenches."""
    own = tmp_path / 'own.yaml'
    own.write_text('/**/dynamics: {ros__parameters: {compensated_terms: [gravity, friction]}}')
    files = (MODEL, FOLDER / 'xarm.yaml', own)
    arguments = [word for file in files for word in ('--params-file', str(file))]
    start('bringup', {}, ['-r', '__ns:=/driver', *arguments])
    client = connect('driver')
    client.wait(lambda: 'driver/bringup: robot description' in client.diagnostics)
    assert list(client.parameters('bringup')['nodes']) == ['kinematics', 'dynamics']
    assert list(client.parameters('dynamics')['compensated_terms']) == ['gravity', 'friction']
    client.describe(urdf_path('planar_2r').read_text())
    topics = client.node.get_topic_names_and_types
    client.wait(lambda: '/driver/dynamics/gravity' in dict(topics()), what='topics of dynamics')
    assert not any(topic.startswith('/driver/wrench_estimator/') for topic in dict(topics()))


def numbers(message):
    """Return force and torque of a wrench, (6,)."""
    return np.concatenate([vector(message.wrench.force), vector(message.wrench.torque)])


def described(value):
    """Return an arm whose description has the parameter of the UR driver, or not (None)."""
    given = '' if value is None else f'<param name="{PARAMETER}">{value}</param>'
    tag = f'<ros2_control name="ur" type="system"><hardware>{given}</hardware></ros2_control>'
    return urdf_path('panda').read_text().replace('</robot>', f'{tag}</robot>')


@pytest.fixture(scope='module')
def ur(start, connect):
    """Return a client of `bringup` with the preset, beside a simulator without gravity.

    So its efforts are torques without gravity and weight of the payload, as those of the driver.
    """
    space = ['-r', '__ns:=/ur']
    simulated = {
        'gravity': '[0.0, 0.0, 0.0]',
        'rate': 100.0,
        'motion_amplitude': 0.0,
        'initial_joints': '[panda_joint2, panda_joint4, panda_joint6]',
        'initial_positions': '[-0.5, -1.9, 1.8]',
        'wrench_timeout': 10.0,
    }
    start('simulator', simulated, [*space, '-r', 'robot_description:=of_the_simulator'])
    files = (MODEL, FOLDER / 'ur.yaml')
    arguments = [word for file in files for word in ('--params-file', str(file))]
    start('bringup', {'frames': f'[{TOOL}]'}, [*space, *arguments])
    return connect('ur')


def test_wrenches_of_torques_without_gravity(ur):
    """The description states that efforts are torques: the wrench is that of the push."""
    push = WrenchStamped(header=Header(frame_id=TOOL))
    push.wrench.force.x, push.wrench.force.z, push.wrench.torque.y = 8.0, -12.0, 1.5
    ur.describe(described('false'))
    topic = f'wrench_estimator/wrench/{TOOL}'
    ur.subscribe(WrenchStamped, topic)

    def is_estimated():
        ur.publisher(WrenchStamped, 'simulator/external_wrench').publish(push)
        return any(
            np.allclose(numbers(message), numbers(push), atol=0.2)
            for message in ur.received[topic][-1:]
        )

    ur.wait(is_estimated, what='the wrench of the push')


@pytest.mark.parametrize(
    ('value', 'reason'),
    [
        ('true', f"{PARAMETER} is 'true' in the description, not 'false'"),
        (None, f'no <ros2_control> tag of the description has the parameter {PARAMETER}'),
        ('maybe', f"{PARAMETER} is 'maybe' in the description; it must be true or false"),
    ],
)
def test_efforts_that_may_be_currents_make_no_wrenches(ur, value, reason):
    topic, gravity = f'wrench_estimator/wrench/{TOOL}', 'dynamics/gravity'
    ur.describe(described(value))
    ur.subscribe(WrenchStamped, topic)
    ur.subscribe(JointState, gravity)
    ur.expect('ur/bringup: joint states', WARN, 'efforts are not used', reason)
    ur.received[gravity].clear()
    ur.wait(lambda: len(ur.received[gravity]) > 20, what='what needs no efforts')
    last = stamp_of(ur.received[gravity][-1])  # wrenches of earlier states may arrive late
    ur.wait(lambda: len(ur.received[gravity]) > 40, what='what needs no efforts')
    assert not [each for each in ur.received[topic] if stamp_of(each) > last]


def test_what_is_not_a_condition_ends_the_node_with_its_name(start):
    node = start('wrench_estimator', {'effort_condition': 'currents'})
    assert node.wait() == 1
    assert "effort_condition: 'currents' is not a condition NAME=VALUE" in node.output
