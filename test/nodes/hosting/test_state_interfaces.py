# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outputs as state interfaces of ros2_control, with the messages of pal_statistics_msgs."""

import struct

import numpy as np
import pytest
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from rclpy.serialization import deserialize_message

from screw_dynamics_ros.core.description.ros2_control import read_ros2_control
from screw_dynamics_ros.nodes.hosting import controller_topics
from support.host_bench import Bench, Outputs, serialized
from support.robots import urdf_path

ARM, OTHER = (urdf_path(name).read_text() for name in ('panda', 'planar_2r'))
Q = np.array([0.3, -0.4, 0.2, -1.9, 0.1, 1.8, 0.5, 0.02])
VALUES = '/arm/estimates/values'
INTERFACES = {
    'state_interface_component': 'arm/estimates',
    'state_interfaces': ['tool=wrench/panda_hand_tcp', 'touch=contact', 'weight=gravity'],
}


@pytest.fixture
def bench(monkeypatch, keep):
    """Return a function that returns a node with the arm."""

    def make(**parameters):
        made = keep(Bench(monkeypatch, Outputs, 'all', **parameters))
        made.describe(ARM)
        return made

    return make


@pytest.fixture
def names(monkeypatch):
    """Return the names that have been published."""
    pytest.importorskip('pal_statistics_msgs.msg._statistics_names')
    found = []
    get = controller_topics.Publishers.get

    class Recorded:
        def __init__(self, publisher):
            self.publisher = publisher

        def publish(self, message):
            found.append((list(message.names), message.names_version))

        def __getattr__(self, name):
            return getattr(self.publisher, name)

    def recorded(publishers, kind, topic, *rest):
        made = get(publishers, kind, topic, *rest)
        return Recorded(made) if topic.endswith('/names') else made

    monkeypatch.setattr(controller_topics.Publishers, 'get', recorded)
    return found


def states(bench, count=1, effort=3.0):
    """Send joint states; return the messages of the last one by topic."""
    joints = list(bench.host.mapper.joints)
    for _ in range(count):
        bench.sent.clear()
        bench.clock.offset += 0.002
        efforts = np.full(len(joints), effort)
        stamp = bench.clock.time_ns()
        data = serialized(joints, Q[: len(joints)], stamp, None, efforts)
        bench.host.states.receive(data, {})
    return dict(bench.sent)


def decoded(data):
    """Return stamp [ns], values and version of a StatisticsValues, by its definition.

    pal_statistics, commit 1b0436ab: std_msgs/Header header, float64[] values, uint32 names_version.
    """
    assert data[:4] == b'\0\1\0\0'  # CDR, little endian
    body = data[4:]
    sec, nanosec, length = struct.unpack_from('<iII', body)
    assert body[12 : 12 + length] == b'\0'  # no frame
    (count,) = struct.unpack_from('<I', body, 16)
    values = struct.unpack_from(f'<{count}d', body, 24)
    (version,) = struct.unpack_from('<I', body, 24 + 8 * count)
    return sec * 10**9 + nanosec, np.array(values), version


def test_definitions_are_those_of_pal_statistics():
    pytest.importorskip('pal_statistics_msgs.msg._statistics_names')
    from pal_statistics_msgs import msg as messages

    header = {'header': 'std_msgs/Header'}
    for name, fields in (
        ('StatisticsNames', {'names': 'sequence<string>', 'names_version': 'uint32'}),
        ('StatisticsValues', {'values': 'sequence<double>', 'names_version': 'uint32'}),
    ):
        assert getattr(messages, name).get_fields_and_field_types() == header | fields


def test_names_and_values_belong_together(bench, names):
    made = bench(**INTERFACES)
    sent = states(made, 5)
    stamp, values, version = decoded(sent[VALUES])
    assert stamp == made.host.mapper.stamp
    found, of_names = names[-1]
    assert version == of_names > 0
    joints = [f'panda_joint{k}' for k in range(1, 8)] + ['panda_finger_joint1']
    axes = [f'{part}.{axis}' for part in ('force', 'torque') for axis in 'xyz']
    assert found == [
        *(f'state_interface.tool/{axis}' for axis in axes),
        'state_interface.touch/raised',
        *(f'state_interface.weight/{joint}' for joint in joints),
    ]
    topics = {each.topic: each for each in made.host.states.channels}
    for name, part in (
        ('wrench/panda_hand_tcp', values[:6]),
        ('contact', values[6:7]),
        ('gravity', values[7:]),
    ):
        (source,) = (each for topic, each in topics.items() if topic.endswith(f'/{name}'))
        np.testing.assert_array_equal(np.hstack(source.arrays), part)
    assert np.isfinite(values).all()


def test_quality_of_service_is_that_of_sensor_data(bench, names):
    made = bench(**INTERFACES)
    for topic in ('names', 'values'):
        (info,) = made.node.get_publishers_info_by_topic(f'/arm/estimates/{topic}')
        assert info.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
        assert info.qos_profile.durability == DurabilityPolicy.VOLATILE


def test_names_are_repeated(bench, names):
    made = bench(**INTERFACES)
    before = len(names)
    made.host.controller_topics._publish_names()
    assert names[before:] == names[before - 1 : before]
    periods = [timer.timer_period_ns for timer in made.node.timers]
    assert 10**9 in periods


def test_values_that_are_not_valid_are_nan(bench, names):
    """Only those: gravity torques need no efforts. Without joint states all."""
    made = bench(**INTERFACES)
    states(made, 5)
    made.host.controller_topics.watch()
    _, values, version = decoded(states(made, effort=np.nan)[VALUES])
    assert np.isnan(values[:7]).all()
    assert np.isfinite(values[7:]).all()
    status = made.host.controller_topics.status()
    assert 'NaN, because there are no numbers of' in status.summary
    assert 'contact' in status.summary
    assert 'gravity' not in status.summary
    states(made, 5)
    made.host.controller_topics.watch()
    made.clock.offset += 0.2
    made.sent.clear()
    made.host.controller_topics.watch()
    _, values, of_lost = decoded(dict(made.sent)[VALUES])
    assert np.isnan(values).all()
    assert of_lost == version


def test_another_robot_has_another_version(bench, names):
    """The values of the robot before are NaN first: the component would keep them."""
    made = bench(**INTERFACES)
    _, before, version = decoded(states(made, 5)[VALUES])
    made.sent.clear()
    made.describe(OTHER)
    lost = [decoded(data) for topic, data in made.sent if topic == VALUES]
    assert [(len(each), which) for _, each, which in lost] == [(len(before), version)]
    assert np.isnan(lost[0][1]).all()
    _, values, other = decoded(states(made, 5)[VALUES])
    assert other not in (0, version)
    assert names[-1][1] == other
    assert len(names[-1][0]) == len(values) == 3  # contact, and the gravity torques of two joints
    assert 'wrench/panda_hand_tcp is not one of' in made.host.controller_topics.status().summary


def test_a_wrench_that_is_never_observable_leaves_the_others(bench, names):
    """Two joints do not show six components."""
    made = bench(
        state_interface_component='estimates',
        state_interfaces=['tool=wrench/tip', 'weight=gravity'],
    )
    made.describe(OTHER)
    _, values, _ = decoded(states(made, 5)['/estimates/values'])
    assert np.isnan(values[:6]).all()
    assert np.isfinite(values[6:]).all()
    assert len(values) == 8


def test_outputs_of_a_sensor_need_another_component(bench, names, monkeypatch):
    """They come at other times than joint states."""
    monkeypatch.setattr(controller_topics, 'is_put', lambda each: each.topic.endswith('/contact'))
    made = bench(**INTERFACES)
    assert 'contact of a sensor needs a separate component' in (
        made.host.controller_topics.status().summary
    )
    assert not [name for name in names[-1][0] if 'touch' in name]


def test_the_generated_tag_has_these_interfaces(bench, names):
    made = bench(**INTERFACES)
    tag = made.host.controller_topics.status().values['<ros2_control>']
    (component,) = read_ros2_control(f'<robot name="r"><link name="l"/>{tag}</robot>')
    assert (component.name, component.type) == ('estimates', 'system')
    assert component.plugin == 'cm_topic_hardware_component/CMTopicSystem'
    for name in names[-1][0]:
        sensor, interface = name.removeprefix('state_interface.').split('/')
        before = tag.partition(f'<sensor name="{sensor}">')[2].partition('</sensor>')[0]
        assert f'<state_interface name="{interface}" />' in before


def test_a_missing_package_is_reported(bench, monkeypatch):
    monkeypatch.setattr(controller_topics, 'StatisticsNames', None)
    made = bench(**INTERFACES)
    status = made.host.controller_topics.status()
    assert 'pal_statistics_msgs is not installed; install it' in status.summary
    assert states(made, 2)
    made.node.set_parameters([Parameter('state_interfaces', value=[''])])
    made.finish()
    assert not made.host.controller_topics.status().texts


def test_the_middleware_reads_the_bytes(bench, names):
    made = bench(**INTERFACES)
    data = states(made, 5)[VALUES]
    from pal_statistics_msgs.msg import StatisticsValues

    message = deserialize_message(data, StatisticsValues)
    stamp, values, version = decoded(data)
    np.testing.assert_array_equal(message.values, values)
    assert message.names_version == version
    assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == stamp
