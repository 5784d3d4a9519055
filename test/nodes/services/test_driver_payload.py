# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The payload that a driver states: followed, compared, refused."""

import numpy as np
import pytest
from geometry_msgs.msg import InertiaStamped
from rclpy.parameter import Parameter
from std_msgs.msg import String

from screw_dynamics_ros.ros.diagnostics import Level
from support.host_bench import Bench
from support.robots import urdf_path

PANDA = urdf_path('panda').read_text()


@pytest.fixture
def bench(monkeypatch, keep):
    def make(use):
        make.latest = keep(Bench(monkeypatch, driver_payload=use))
        make.latest.describe(PANDA)
        return make.latest.host

    return make


def stated(mass=2.0, z=0.05, frame='panda_link8'):
    message = InertiaStamped()
    message.header.frame_id = frame
    message.inertia.m, message.inertia.com.z = mass, z
    message.inertia.ixx = message.inertia.iyy = message.inertia.izz = 0.01 if mass else 0.0
    return message


def texts(host):
    status = host.payload_status()
    return status.level, status.summary


def test_it_is_ignored_by_default(bench):
    host = bench('ignore')
    assert not [each for each in host.node.subscriptions if 'driver_payload' in each.topic_name]
    assert 'driver_payload' not in texts(host)[1]


def test_it_is_followed(bench):
    """Each message is the payload named driver; mass 0 removes it; an equal one does nothing."""
    host = bench('follow')
    assert 'no payload on ~/driver_payload' in texts(host)[1]
    host.driver_payload.receive(stated())
    (body,) = host.payloads.by_name()['driver'].values()
    assert (body.mass, body.com.tolist()) == (2.0, [0.0, 0.0, 0.05])
    changes = host.payloads.changes
    host.driver_payload.receive(stated())
    assert host.payloads.changes == changes
    assert texts(host)[0] == Level.OK
    host.driver_payload.receive(stated(1.0, frame='panda_link7'))
    assert {link: body.mass for link, body in host.payloads.bodies().items()} == {
        'panda_link7': 1.0
    }
    host.driver_payload.receive(stated(0.0))
    assert not any(body.mass for body in host.payloads.bodies().values())


@pytest.mark.parametrize(
    ('message', 'reason'),
    [
        (stated(np.nan), 'm is nan'),
        (stated(-1.0), 'mass'),
        (stated(1e3), 'kg'),
        (stated(frame='nowhere'), "no link 'nowhere'"),
        (stated(frame=''), 'header.frame_id is empty'),
    ],
)
def test_impossible_payloads_are_refused(bench, message, reason):
    host = bench('follow')
    host.driver_payload.receive(stated())
    host.driver_payload.receive(message)
    level, summary = texts(host)
    assert level == Level.WARN
    assert '~/driver_payload refused' in summary
    assert reason in summary
    assert host.payloads.by_name()['driver']['panda_link8'].mass == 2.0


def test_it_is_compared(bench):
    host = bench('compare')
    host.driver_payload.receive(stated())
    assert not host.payloads.by_name()
    assert 'the payload of the driver is 2 kg, that of the node 0 kg' in texts(host)[1]
    values = {
        'payload_link': 'panda_link8',
        'payload_mass': 2.01,
        'payload_center_of_mass': [0.0, 0.0, 0.06],
    }
    changes = [Parameter(name, value=value) for name, value in values.items()]
    assert host.node.set_parameters_atomically(changes).successful
    assert 'are 10 mm apart' in texts(host)[1]
    host.driver_payload.receive(stated(z=0.062))
    assert texts(host)[0] == Level.OK


def test_it_is_followed_when_another_robot_lacks_its_link(bench):
    """Both that and later messages are reported; it counts with a robot that has the link."""
    host = bench('follow')
    host.driver_payload.receive(stated())
    for text, level in ((PANDA.replace('panda_link8', 'flange'), Level.ERROR), (PANDA, Level.OK)):
        host.source.receive(String(data=text))
        bench.latest.finish()
        host.driver_payload.receive(stated(3.0))
        assert texts(host)[0] == level
        assert ('~/driver_payload refused' in texts(host)[1]) == (level == Level.ERROR)
    assert host.payloads.active_bodies()['panda_link8'].mass == 3.0
