# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Services that are answered in the thread of the node: responses, errors, report."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from rclpy.time import Time
from std_srvs.srv import SetBool, Trigger

from screw_dynamics_ros.core.errors import ErrorCode, NotAtRestError
from screw_dynamics_ros.ros import services as tested
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.services import REMEDY, Services
from screw_dynamics_ros.ros.status import Level


class Offered:
    """Services of a node without ROS, which are called directly."""

    def __init__(self):
        self.callbacks = {}
        self.node = SimpleNamespace(
            resolve_service_name=lambda name: name.replace('~', '/arm'),
            create_service=self._create,
            get_clock=lambda: SimpleNamespace(now=lambda: Time(seconds=7)),
        )
        self.services = Services(self.node)

    def _create(self, types, name, callback):
        self.callbacks[name] = types, callback

    def serve(self, kind, answer):
        self.services.serve(kind, f'~/{kind}', answer)

    def ask(self, kind, **fields):
        types, callback = self.callbacks[f'~/{kind}']
        return callback(types.Request(**fields), types.Response())

    def report(self, kind):
        return self.services.status().values[f'/arm/{kind}']


@pytest.fixture
def offered():
    return Offered()


def fail(request, response):
    raise NotAtRestError('it\nmoves')


def test_a_fault_is_answered_and_recorded(offered):
    pytest.importorskip('screw_dynamics_msgs')
    offered.serve('SetPayload', lambda request, response: 1 / 0)
    answer = offered.ask('SetPayload')
    assert not answer.success
    assert answer.error_code == ErrorCode.INTERNAL
    assert 'ZeroDivisionError' in answer.message
    assert answer.header.stamp.sec == 7
    assert 'ZeroDivisionError' in FAULTS.status().values['service /arm/SetPayload']


def test_a_refusal_contains_nothing_else(offered):
    srv = pytest.importorskip('screw_dynamics_msgs.srv')

    def answer(request, response):
        response.header.frame_id = 'tip'
        fail(request, response)

    offered.serve('SetPayload', answer)
    refused = offered.ask('SetPayload')
    expected = srv.SetPayload.Response(error_code=int(ErrorCode.NOT_AT_REST), message=r'it\nmoves')
    expected.header.stamp.sec = 7
    assert refused == expected


def test_standard_services(offered):
    """Answers hold the lock of states; refusals and faults have a reason, but no code."""
    depths = []

    def answer(request, response):
        depths.append(STATE_LOCK._depth)
        return f'switched to {request.data}'

    offered.serve('SetBool', answer)
    assert offered.ask('SetBool', data=True) == SetBool.Response(
        success=True, message='switched to True'
    )
    assert depths == [1]
    offered.serve('Trigger', fail)
    assert offered.ask('Trigger') == Trigger.Response(message=r'it\nmoves')
    offered.serve('Trigger', lambda *_: 1 / 0)
    assert offered.ask('Trigger').message == 'ZeroDivisionError: division by zero'
    assert STATE_LOCK._depth == 0


def test_an_answer_follows_a_task(offered, monkeypatch):
    """Under the lock of states, unless the task has failed; the header is that of the answer."""
    pytest.importorskip('screw_dynamics_msgs')
    worker = SimpleNamespace(call=lambda function, *arguments: function(*arguments))
    monkeypatch.setattr(offered.services, 'worker', worker)
    offered.services.nodes.append(offered.node)
    seen = []

    def task():
        return compute, (faults.pop(),)

    def answer(request, response):
        seen.append((response.applied, STATE_LOCK._depth))
        return f'{response.message}, applied'

    faults = [True, False]
    offered.services.serve('EstimatePayload', '~/estimate', answer, task)
    types, callback = offered.callbacks['/arm/estimate']
    answers = [callback(types.Request(), types.Response()) for _ in faults[:]]
    assert [each.message for each in answers] == ['computed, applied', r'it\nmoves']
    assert [each.error_code for each in answers] == [ErrorCode.SUCCESS, ErrorCode.NOT_AT_REST]
    assert seen == [(True, 1)]


def compute(is_fault, request, response):
    if is_fault:
        fail(request, response)
    response.applied, response.message = True, 'computed'


def test_requests_are_reported(offered):
    """With the reason of the last one, if it failed."""
    faults = [False, True, False]
    offered.serve('Trigger', lambda *given: fail(*given) if faults.pop() else 'done')
    assert offered.report('Trigger') == '0 requests, 0 without success'
    offered.ask('Trigger')
    assert offered.report('Trigger') == '1 requests, 0 without success'
    offered.ask('Trigger')
    assert offered.report('Trigger') == r'2 requests, 1 without success, the last one: it\nmoves'
    offered.ask('Trigger')
    assert offered.report('Trigger') == '3 requests, 1 without success'
    assert offered.services.status().level == Level.OK


def test_services_without_their_package_are_reported(offered, monkeypatch):
    monkeypatch.setattr(tested, 'interfaces', None)
    offered.serve('SetPayload', fail)
    offered.serve('Trigger', fail)
    assert list(offered.callbacks) == ['~/Trigger']
    status = offered.services.status()
    assert status.level == Level.WARN
    assert status.summary.startswith('no /arm/SetPayload: ')
    assert status.summary.endswith(REMEDY)
