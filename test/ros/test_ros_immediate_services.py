# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Services that are answered in the thread of the node: what an unexpected exception becomes."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('screw_dynamics_msgs')

from rclpy.time import Time

from screw_dynamics_msgs.srv import SetPayload
from screw_dynamics_ros.ros.immediate_services import ImmediateServices
from screw_dynamics_ros.ros.process.faults import FAULTS


def test_a_fault_is_answered_and_recorded():
    served = []
    node = SimpleNamespace(
        resolve_service_name=lambda name: name,
        create_service=lambda types, name, callback: served.append(callback),
        get_clock=lambda: SimpleNamespace(now=lambda: Time(seconds=7)),
    )
    services = ImmediateServices(node)
    services.add('SetPayload', '/arm/set_payload', lambda request, response: 1 / 0)
    answer = served[0](SetPayload.Request(), SetPayload.Response())
    assert not answer.success
    assert 'ZeroDivisionError' in answer.message
    assert answer.header.stamp.sec == 7
    assert 'ZeroDivisionError' in FAULTS.status().values['service /arm/set_payload']
