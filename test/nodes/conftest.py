# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tests of nodes need ROS 2; those in the process of a test end with the test."""

from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec('rclpy') else ['*']


@pytest.fixture
def keep(ros_domain):
    """Begin ROS; return a function that returns what it is given, whose bench ends with ROS."""
    import rclpy

    rclpy.init(domain_id=ros_domain)
    kept = []

    def keep(made):
        kept.append(made)
        return made

    yield keep
    for each in kept:
        getattr(each, 'bench', each).close()
    rclpy.shutdown()


@pytest.fixture
def pair(monkeypatch, keep):
    """Return a function that makes a `Pair` of nodes, with the parameters of both."""
    from support.loop_pair import Pair

    return lambda **parameters: keep(Pair(monkeypatch, **parameters))


@pytest.fixture
def node_bench(ros_domain, monkeypatch):
    """Return a function that makes a `NodeBench`, which is closed with the test."""
    from support.node_bench import NodeBench

    made = []

    def make(*kind, **parameters):
        made.append(NodeBench(ros_domain, monkeypatch, *kind, **parameters))
        return made[-1]

    yield make
    for bench in made:
        bench.close()
