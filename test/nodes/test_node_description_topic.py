# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The robot description of the parameter on the topic, as robot_state_publisher has it there."""

import pytest
import rclpy
from rclpy.parameter import Parameter
from std_msgs.msg import String

from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.nodes.outputs.kinematics import kinematics_outputs
from screw_dynamics_ros.ros.description import PARAMETER, TOPIC
from screw_dynamics_ros.ros.diagnostics import Level
from support.host_bench import Bench
from support.robots import urdf_path
from support.ros_harness import LATCHED
from support.sdf import axis, joint, link, sdf

PLANAR, PANDA = urdf_path('planar_2r').read_text(), urdf_path('panda').read_text()


@pytest.fixture
def launch(monkeypatch, keep):
    """Make the node with parameters; it has not looked round yet."""

    def make(**parameters):
        bench = keep(Bench(monkeypatch, kinematics_outputs.Kinematics, 'kinematics', **parameters))
        bench.finish()
        return bench

    return make


@pytest.fixture
def rival(launch):
    node = rclpy.create_node('robot_state_publisher', namespace='/life')
    yield node
    node.destroy_node()


def look(bench):
    """Let a second pass."""
    bench.part._description.look()


def publishers(bench):
    return [info.node_name for info in bench.node.get_publishers_info_by_topic(topic(bench))]


def topic(bench):
    return bench.node.resolve_topic_name('robot_description')


def hear(bench, text):
    """Let what this node has published come back to it, as the middleware does."""
    bench.describe(text)


def heard_later(bench):
    """Return what a new subscriber gets from the last publisher."""
    received = []
    node = rclpy.create_node('late')
    node.create_subscription(
        String, topic(bench), lambda message: received.append(message.data), LATCHED
    )
    bench.wait(lambda: rclpy.spin_once(node, timeout_sec=0.05) or received)
    node.destroy_node()
    return received[-1]


def set_description(bench, text):
    (result,) = bench.node.set_parameters([Parameter('robot_description', value=text)])
    bench.finish()
    return result


def report(bench):
    return bench.part.status().values['robot_description']


def test_whoever_comes_later_gets_it(launch):
    """Byte for byte; and each new one, as soon as it is active."""
    bench = launch(robot_description=PLANAR)
    assert publishers(bench) == []  # before it is known whether another node has it
    look(bench)
    assert heard_later(bench) == PLANAR
    assert report(bench) == 'published by this node'
    assert set_description(bench, PANDA).successful
    assert heard_later(bench) == PANDA
    look(bench)
    assert publishers(bench) == ['kinematics']


def test_other_formats_are_published_as_urdf(launch):
    """As others read them; neither the own message nor that of another node differs from it."""
    text = sdf(link('a'), link('b'), joint(axis()))
    bench = launch(robot_description=text)
    look(bench)
    urdf = heard_later(bench)
    assert [each.name for each in read_urdf(urdf).joints] == ['j']
    hear(bench, urdf)
    assert bench.host.source.descriptions.from_topic is None
    for same in (urdf, text):  # from other nodes
        hear(bench, same)
        assert bench.host.source.descriptions.from_topic == same
        assert 'differs' not in bench.host.description_status().summary
    hear(bench, PANDA)
    assert 'differs' in bench.host.description_status().summary
    assert heard_later(bench) == urdf


def test_what_comes_back_is_no_description_of_the_topic(launch):
    """The parameter cleared, what is active stays that of the parameter."""
    bench = launch(robot_description=PLANAR)
    look(bench)
    hear(bench, PLANAR)
    assert bench.host.source.descriptions.from_topic is None
    assert set_description(bench, '').successful
    assert bench.host.source.descriptions.active.origin == PARAMETER
    hear(bench, PLANAR)  # a second time it is from another node
    assert bench.host.source.descriptions.from_topic == PLANAR


def test_a_refused_one_is_not_passed_on(launch):
    bench = launch(robot_description=PLANAR)
    look(bench)
    assert not set_description(bench, '<robot name="r"/>').successful
    assert heard_later(bench) == PLANAR
    bench.host.source.receive(String(data=PANDA))  # the parameter shuts out the topic
    bench.finish()
    look(bench)
    assert heard_later(bench) == PLANAR


def test_somebody_else_has_it(launch, rival):
    bench = launch(robot_description=PLANAR)
    publisher = rival.create_publisher(String, topic(bench), LATCHED)
    look(bench)
    assert publishers(bench) == ['robot_state_publisher']
    assert report(bench) == 'published by /life/robot_state_publisher'
    rival.destroy_publisher(publisher)
    look(bench)  # it has died
    assert heard_later(bench) == PLANAR


def test_somebody_else_comes_later(launch, rival):
    """Two texts would be in conflict: the topic follows what is active, and it is reported."""
    bench = launch(robot_description=PLANAR)
    look(bench)
    rival.create_publisher(String, topic(bench), LATCHED)
    look(bench)
    assert report(bench) == 'published by this node and /life/robot_state_publisher'
    hear(bench, PLANAR)
    hear(bench, PANDA)  # from the other one
    status = bench.host.description_status()
    assert status.level == Level.WARN
    assert 'the topic robot_description differs' in status.summary
    set_description(bench, '')
    assert bench.host.source.descriptions.active.origin == TOPIC
    assert heard_later(bench) == PANDA


def test_a_description_of_the_topic_is_not_repeated(launch, rival):
    bench = launch()
    rival.create_publisher(String, topic(bench), LATCHED)
    hear(bench, PLANAR)
    look(bench)
    assert publishers(bench) == ['robot_state_publisher']
    rival.destroy_node()
    look(bench)
    assert publishers(bench) == []
    assert report(bench) == 'not published'


def test_always_and_never(launch, rival):
    bench = launch(robot_description=PLANAR, publish_description='never')
    look(bench)
    assert publishers(bench) == []
    rival.create_publisher(String, topic(bench), LATCHED)
    bench.node.set_parameters([Parameter('publish_description', value='auto')])
    look(bench)
    assert publishers(bench) == ['robot_state_publisher']
    bench.node.set_parameters([Parameter('publish_description', value='always')])
    assert heard_later(bench) == PLANAR
    (result,) = bench.node.set_parameters([Parameter('publish_description', value='sometimes')])
    assert not result.successful
    assert 'auto, always, never' in result.reason
