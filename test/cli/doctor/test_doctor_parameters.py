"""What `doctor` is told by running nodes: late, after lost answers, or not at all."""

from __future__ import annotations

import time
from collections import Counter

import pytest

rclpy = pytest.importorskip('rclpy')

from rcl_interfaces.msg import ParameterType, ParameterValue  # noqa: E402
from rcl_interfaces.srv import GetParameters  # noqa: E402
from rclpy.qos import qos_profile_parameters  # noqa: E402

from screw_dynamics_ros.cli.doctor.running_parameters import (  # noqa: E402
    NAMES,
    parameter_services,
    read_configuration,
)


class ParameterServer:
    """A node that has only a mass, and loses the first answers to each question."""

    def __init__(self, node, name, lost):
        self.asked, self._lost = Counter(), lost
        self._service = node.create_service(
            GetParameters,
            f'{name}/get_parameters',
            lambda request, response: response,
            qos_profile=qos_profile_parameters,
        )

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


def turns_of(node, servers, meanwhile=lambda: None):
    """Return what handles messages of a node and of servers."""
    executor = rclpy.executors.SingleThreadedExecutor(context=node.context)
    executor.add_node(node)

    def turns(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            yield
            meanwhile()
            for server in servers:
                server.turn()
            executor.spin_once(timeout_sec=0.01)

    return turns


@pytest.mark.parametrize('lost', [0, 1, 2])
def test_what_is_lost_is_asked_again(nodes, lost):
    asking, asked = nodes
    server = ParameterServer(asked, '/asked/dynamics', lost)
    configuration = read_configuration(asking, turns_of(asking, [server]), 30.0)
    assert configuration.values == {'payload_mass': 3.0}
    assert configuration.owners == {'payload_mass': '/asked/dynamics'}
    assert configuration.silent == ()
    assert server.asked == dict.fromkeys(NAMES, lost + 1)


def test_a_node_that_is_discovered_late_is_asked(nodes):
    asking, asked = nodes
    servers = [ParameterServer(asked, '/asked/kinematics', lost=0)]

    def join():
        if servers[0].asked and len(servers) == 1:
            servers.append(ParameterServer(asked, '/asked/dynamics', lost=0))
            deadline = time.monotonic() + 30.0
            while '/asked/dynamics' not in parameter_services(asking):
                assert time.monotonic() < deadline, 'not discovered'
                time.sleep(0.01)

    configuration = read_configuration(asking, turns_of(asking, servers, join), 30.0)
    assert configuration.owners == {'payload_mass': '/asked/dynamics'}
    assert configuration.silent == ()


def test_who_does_not_answer_is_named(nodes):
    asking, asked = nodes
    servers = [
        ParameterServer(asked, '/asked/dynamics', lost=10**6),
        ParameterServer(asked, '/asked/kinematics', lost=0),
    ]
    configuration = read_configuration(asking, turns_of(asking, servers), 3.0)
    assert configuration.owners == {'payload_mass': '/asked/kinematics'}
    assert configuration.silent == ('/asked/dynamics',)
