# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The clock that stamps are compared with follows the simulated time of its node."""

import time

import pytest
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.time import Time

from screw_dynamics_ros.nodes.hosting.stamp_clock import StampClock


@pytest.fixture
def node(ros_domain):
    rclpy.init(domain_id=ros_domain)
    made = Node('clocked', enable_rosout=False, start_parameter_services=False)
    yield made
    made.destroy_node()
    rclpy.shutdown()


def test_the_time_is_that_of_the_node(node):
    steps = []
    clock = StampClock(node, steps.append)
    assert abs(clock.now() - time.time_ns()) < 10**9
    node.set_parameters([Parameter('use_sim_time', value=True)])
    simulated = node.get_clock()
    simulated.set_ros_time_override(Time(nanoseconds=123_000, clock_type=simulated.clock_type))
    assert clock.now() == 123_000
    node.set_parameters([Parameter('use_sim_time', value=False)])
    assert abs(clock.now() - time.time_ns()) < 10**9
    assert steps == []  # changes of the time base


def test_simulated_time_that_goes_back_is_reported(node):
    """By at least 10 ms; forward it may jump, as a recording does that is paused."""
    steps = []
    clock = StampClock(node, steps.append)
    node.set_parameters([Parameter('use_sim_time', value=True)])
    simulated = node.get_clock()
    for time_ns in (5_000_000_000, 5_300_000_000, 5_000_000_000, 90_000_000_000, 89_999_999_000):
        simulated.set_ros_time_override(Time(nanoseconds=time_ns, clock_type=simulated.clock_type))
        assert clock.now() == time_ns
    assert steps == [300_000_000]
