# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The C interface of ROS is used only if it behaves as the compiled loop requires."""

import ctypes
import sys

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('llvmlite')
if not sys.platform.startswith('linux'):
    pytest.skip('the loop is for Linux', allow_module_level=True)

import rclpy
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core.compile.typed.functions import declaration_of
from screw_dynamics_ros.core.compile.typed.library import Module
from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.nodes import bringup  # noqa: F401 - with all steps
from screw_dynamics_ros.ros import compatibility
from screw_dynamics_ros.ros.data_path import loop, rcl

SECOND = 10**9


@pytest.fixture
def subscription(ros_domain):
    """Return a subscription with its context."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=ros_domain)
    node = rclpy.create_node('taker', context=context)
    made = node.create_subscription(JointState, 'joint_states', print, 5)
    yield made, context, node
    node.destroy_node()
    rclpy.try_shutdown(context=context)


@pytest.fixture(scope='module')
def functions():
    return rcl.Rcl()


def taken(functions, subscription):
    made, context, _ = subscription
    return rcl.LoopSubscription(functions, context.handle, made.handle)


def test_the_structs_of_this_distribution_are_verified(functions, subscription):
    found = taken(functions, subscription)
    assert found.wait_set[rcl.SUBSCRIPTION_COUNT] == 1
    assert found.message.capacity == rcl.INITIAL_CAPACITY
    assert found.data() == b''
    assert not found.has_info
    found.close()


def test_other_structs_are_refused(functions, subscription, monkeypatch):
    monkeypatch.setattr(rcl, 'SUBSCRIPTION_COUNT', 3)
    with pytest.raises(rcl.IncompatibleError, match='rcl_wait_set_t'):
        taken(functions, subscription)
    monkeypatch.undo()
    monkeypatch.setattr(functions, 'message_init', lambda *_: 0)  # writes other fields
    with pytest.raises(rcl.IncompatibleError, match='rcl_serialized_message_t'):
        taken(functions, subscription)


def test_a_missing_function_is_named(monkeypatch):
    """As in another distribution."""

    class Other:
        """A library without its functions."""

        def __init__(self, name):
            self.name = name

        def __getattr__(self, name):
            raise AttributeError(f'{self.name}: undefined symbol: {name}')

    monkeypatch.setattr(ctypes, 'CDLL', Other)
    with pytest.raises(rcl.IncompatibleError, match=r'librcl\.so: undefined symbol: rcl_'):
        rcl.Rcl()


@pytest.mark.parametrize(
    ('messages', 'expected'),
    [
        ([(10, 11, 1), (20, 21, 2)], True),
        ([(10, 11, 7), (20, 21, 8)], True),
        ([(10, 11, 1), (20, 21, 3)], False),  # or another publisher
        ([(20, 21, 1), (10, 21, 2)], False),
        ([(10, 11, 1), (20, 21 + 60, 2)], False),  # another clock
        ([(10, 11, 0), (20, 21, 1)], False),
        ([(10, 11, -1), (20, 21, -1)], False),  # the middleware has no numbers
    ],
)
def test_the_info_of_messages_is_verified(functions, subscription, messages, expected):
    found = taken(functions, subscription)
    for sent, received, number in messages:
        found.info[:3] = sent * SECOND, received * SECOND, number
        verified = found.verify(22 * SECOND)
    assert verified == found.has_info == expected
    found.info[5:7] = 7, 8  # the publisher, which needs no verification
    info = found.message_info()
    assert info.pop('publisher') == found.info[5:7].tobytes()
    assert info == ({'source_timestamp': 20 * SECOND, **info} if expected else {})
    found.close()


def test_rclpy_stores_subscriptions_elsewhere(subscription):
    made, _, node = subscription
    compatibility.hide_from_executors(node, made)
    assert made not in node.subscriptions
    with pytest.raises(ScrewDynamicsError, match='in another way'):
        compatibility.hide_from_executors(node, made)
    node._subscriptions.append(made)


def test_a_hidden_subscription_ends_with_its_context(subscription):
    """Else its participant stays, and Fast DDS finds 32 on a machine, not more."""
    made, context, node = subscription
    compatibility.hide_from_executors(node, made)
    node.destroy_node()
    rclpy.shutdown(context=context)
    with pytest.raises(_rclpy.InvalidHandle), made.handle:
        pass


def test_the_loop_calls_nothing_that_allocates():
    """Besides rcl: its own code, kernels and steps have no other functions to call."""
    functions = [declaration_of(each) for each in (loop.run, *loop.STEPS)]
    called = set(Module(functions, True).externals)
    of_the_system = {name for name in called if not name.startswith('rcl_')}
    without_memory = {'exp', 'expm1', 'rint', 'memmove', 'sin', 'cos', 'atan2'}
    assert of_the_system - without_memory == {
        'clock_gettime',
        'eventfd_write',
        'pthread_mutex_lock',
        'pthread_mutex_unlock',
    }
    assert called - of_the_system == {
        'rcl_clock_get_now',
        'rcl_publish_serialized_message',
        'rcl_take_serialized_message',
        'rcl_wait',
        'rcl_wait_set_add_subscription',
        'rcl_wait_set_clear',
    }
