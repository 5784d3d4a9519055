"""Who else publishes the frames of a robot, as far as it is known at the moment."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

rclpy = pytest.importorskip('rclpy')

from geometry_msgs.msg import TransformStamped  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

from screw_dynamics_ros.ros.names import NO_NODE, UNDISCOVERED  # noqa: E402
from screw_dynamics_ros.ros.topics.other_transforms import OtherTransforms  # noqa: E402


@pytest.fixture
def node(ros_domain):
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=ros_domain)
    node = rclpy.create_node('kinematics', namespace='/arm', context=context)
    yield node
    node.destroy_node()
    context.shutdown()


@pytest.fixture
def others(node):
    """Return the watch of a node that has seen the frame `tool` of somebody else."""
    others = OtherTransforms(node, TFMessage)
    others.watch(['tool'], 1)
    others.receive_static(TFMessage(transforms=[TransformStamped(child_frame_id='tool')]))
    return others


def publish(node, *senders):
    """Let the node believe that these (namespace, name) publish all transforms."""
    node.get_publishers_info_by_topic = lambda topic: [
        SimpleNamespace(node_namespace=space, node_name=name)
        for space, name in (('/arm', 'kinematics'), *senders)
    ]


def test_a_node_that_has_not_told_its_name_is_no_fault_and_found_later(node, others):
    publish(node, ('_NODE_NAMESPACE_UNKNOWN_', UNDISCOVERED))
    assert others.found() == []
    other = rclpy.create_node('other', context=node.context)
    publish(node, ('/', 'other'))
    assert others.found() == ['/other']
    other.destroy_node()


def test_a_program_without_ros_publishes_them(node, others):
    publish(node, (NO_NODE, NO_NODE))
    assert others.found() == ['a program without ROS']


def test_a_node_that_is_gone_is_no_fault(node, others):
    publish(node, ('/arm', 'gone'))
    assert others.found() == []
    publish(node)
    assert others.found() == []
