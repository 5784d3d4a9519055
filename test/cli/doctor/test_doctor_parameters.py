# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters that `doctor` gets from running nodes: late, after lost answers, or never."""

from __future__ import annotations

import time
from collections import Counter
from types import SimpleNamespace

import pytest

rclpy = pytest.importorskip('rclpy')

from rcl_interfaces.msg import ParameterType, ParameterValue  # noqa: E402
from rcl_interfaces.srv import GetParameters  # noqa: E402
from rclpy.qos import qos_profile_parameters  # noqa: E402

from screw_dynamics_ros.cli.doctor import running_parameters  # noqa: E402
from screw_dynamics_ros.cli.doctor.running_parameters import (  # noqa: E402
    NAMES,
    RETRY_PERIOD_S,
    ParameterQueries,
    parameter_services,
    read_configuration,
)
from support.processes import wait_for  # noqa: E402

DEADLINE = 300.0  # s; only a failing test waits that long


class ParameterServer:
    """A node that has only a mass, and loses the first answers to each question."""

    def __init__(self, node, name, lost):
        self.name, self.asked, self._lost = name, Counter(), lost
        self._service = node.create_service(
            GetParameters,
            f'{name}/get_parameters',
            lambda request, response: response,
            qos_profile=qos_profile_parameters,
        )

    def loses(self, count):
        """Whether the answers to the questions asked for that time are lost."""
        return count <= self._lost

    def is_done(self, count):
        """Whether all has been asked that often, unless it was answered before."""
        return all(self.asked[name] >= min(count, self._lost + 1) for name in NAMES)

    def turn(self):
        """Answer what has come."""
        server = self._service.handle
        with server:
            while True:
                request, header = server.service_take_request(GetParameters.Request)
                if request is None:
                    return
                (name,) = request.names
                self.asked[name] += 1
                if self.asked[name] > self._lost:
                    response = GetParameters.Response()
                    if name == 'payload_mass':
                        response.values = [
                            ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=3.0)
                        ]
                    self._service.send_response(response, header)


@pytest.fixture
def nodes(ros_domain):
    """Return two nodes: one asks, the other is asked and is never spun."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=ros_domain)
    pair = [
        rclpy.create_node(
            name,
            context=context,
            namespace='/asked',
            enable_rosout=False,
            start_parameter_services=False,
        )
        for name in ('doctor', 'robot')
    ]
    yield pair
    for node in pair:
        node.destroy_node()
    context.shutdown()


class Turns:
    """Handles messages of a node and of servers; the clock goes on when all has been asked.

    What was lost is asked again then, and no other node is waited for any more.
    """

    def __init__(self, monkeypatch, node, servers, meanwhile=lambda: None):
        self.now, self.servers, self._meanwhile = 0.0, servers, meanwhile
        self.questions = []
        monkeypatch.setattr(running_parameters, 'time', SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(running_parameters, 'ParameterQueries', self._recorded)
        self._executor = rclpy.executors.SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)

    def _recorded(self, *arguments):
        self.questions.append(ParameterQueries(*arguments))
        return self.questions[-1]

    def __call__(self, patience):
        """Turn until time is over, which goes on by rounds of questions."""
        end, rounds = self.now + patience, 0
        limit = time.monotonic() + DEADLINE
        while self.now < end:
            assert time.monotonic() < limit
            yield
            self._meanwhile()
            for server in self.servers:
                server.turn()
            self._executor.spin_once(timeout_sec=0.01)
            if all(server.is_done(rounds + 1) for server in self.servers) and all(
                questions.are_answered or server.loses(rounds + 1)
                for server in self.servers
                for questions in self.questions
                if questions.client.srv_name.startswith(server.name)
            ):
                rounds += 1
                self.now += RETRY_PERIOD_S


@pytest.mark.parametrize('lost', [0, 1, 2])
def test_what_is_lost_is_asked_again(nodes, monkeypatch, lost):
    asking, asked = nodes
    server = ParameterServer(asked, '/asked/dynamics', lost)
    turns = Turns(monkeypatch, asking, [server])
    configuration = read_configuration(asking, turns, 30.0)
    assert configuration.values == {'payload_mass': 3.0}
    assert configuration.owners == {'payload_mass': '/asked/dynamics'}
    assert configuration.silent == ()
    assert server.asked == dict.fromkeys(NAMES, lost + 1)


def test_a_node_that_is_discovered_late_is_asked(nodes, monkeypatch):
    asking, asked = nodes
    servers = [ParameterServer(asked, '/asked/kinematics', lost=0)]

    def join():
        if servers[0].asked and len(servers) == 1:
            servers.append(ParameterServer(asked, '/asked/dynamics', lost=0))
            wait_for(lambda: '/asked/dynamics' in parameter_services(asking), DEADLINE)

    configuration = read_configuration(asking, Turns(monkeypatch, asking, servers, join), 30.0)
    assert configuration.owners == {'payload_mass': '/asked/dynamics'}
    assert configuration.silent == ()


def test_who_does_not_answer_is_named(nodes, monkeypatch):
    asking, asked = nodes
    servers = [
        ParameterServer(asked, '/asked/dynamics', lost=10**6),
        ParameterServer(asked, '/asked/kinematics', lost=0),
    ]
    configuration = read_configuration(asking, Turns(monkeypatch, asking, servers), 3.0)
    assert configuration.owners == {'payload_mass': '/asked/kinematics'}
    assert configuration.silent == ('/asked/dynamics',)
    assert servers[0].asked == dict.fromkeys(NAMES, 3)
