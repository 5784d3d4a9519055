# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Requests that change payloads and inertias of links: frames, names and times."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('screw_dynamics_msgs.srv._set_payload')

from screw_dynamics_msgs import srv
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import (
    ArgumentError,
    InertiaError,
    MissingStateError,
    NotAtRestError,
    ScrewDynamicsError,
    UnknownNameError,
)
from screw_dynamics_ros.nodes.model.payloads import Payloads
from screw_dynamics_ros.nodes.model.scalar_joints import ScalarJoints
from screw_dynamics_ros.nodes.services import estimation_services
from screw_dynamics_ros.nodes.services.estimation_services import PayloadEstimation
from screw_dynamics_ros.nodes.services.payload_services import LinkInertiaService, PayloadServices
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.messages.conversions import write_inertia
from screw_dynamics_ros.ros.status import Level, Status
from support.robots import urdf_path

BOX = RigidBody(2.0, [0.1, 0.2, 0.0], np.diag([0.04, 0.05, 0.06]))


class Served:
    """The services with what they act on; requests are answered at once."""

    def __init__(self, has_robot=True):
        robot = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
        self.mapper = JointStateMapper(robot.joint_names, clock=lambda: 10**18)
        self.model = ScalarJoints(robot) if has_robot else None
        self.handlers, self.parameters, self.refusal = {}, [], ''
        self.inertias = []
        self.payloads = Payloads()
        services = SimpleNamespace(serve=self._serve)
        self.services = PayloadServices(
            services,
            self.payloads,
            lambda: (self.model, self.mapper),
            self._set_parameters,
            'left_',
        )
        links = SimpleNamespace(set=lambda *given: self.inertias.append(given))
        LinkInertiaService(services, links, self.services)
        self.estimation = PayloadEstimation(
            services, self.services, lambda: 'situation', np.arange(5.0)
        )

    def _serve(self, kind, name, answer, task=None):
        self.handlers[kind] = answer

    def _set_parameters(self, values, duration):
        self.parameters.append((values, duration))
        return self.refusal

    def ask(self, kind, seconds=0.0, body=None, frame='', **fields):
        request, response = getattr(srv, kind).Request(**fields), getattr(srv, kind).Response()
        if hasattr(request, 'transition_time'):
            sec, nanosec = divmod(round(1e9 * seconds), 10**9)
            request.transition_time.sec, request.transition_time.nanosec = sec, nanosec
        if body is not None:
            stamped = hasattr(request.inertia, 'header')
            write_inertia(request.inertia.inertia if stamped else request.inertia, body)
            if stamped:
                request.inertia.header.frame_id = frame
        response.message = self.handlers[kind](request, response)
        return response

    def set(self, **fields):
        return self.ask('SetPayload', body=BOX, **fields)

    @property
    def coms(self):
        return {link: body.com.round(6).tolist() for link, body in self.payloads.bodies().items()}


@pytest.fixture
def served():
    return Served()


@pytest.mark.parametrize(
    ('fields', 'com'),
    [
        ({'link': 'tip'}, {'tip': [0.1, 0.2, 0.0]}),
        ({'frame': 'left_tip'}, {'tip': [0.1, 0.2, 0.0]}),
        ({'frame': 'tip', 'link': 'left_tip'}, {'tip': [0.1, 0.2, 0.0]}),
        ({'frame': 'tip', 'link': 'link2'}, {'link2': [0.6, 0.2, 0.0]}),
        ({'frame': 'link2', 'link': 'tip'}, {'tip': [-0.4, 0.2, 0.0]}),
    ],
)
def test_a_body_is_given_in_the_frame_of_a_link_of_the_same_body(served, fields, com):
    """The tip is 0.5 m along x of link2, whatever the state."""
    response = served.set(**fields)
    assert served.coms == com
    ((link, _),) = com.items()
    assert response.header.frame_id == f'left_{link}'
    assert response.message == f'payload: 2 kg on {link} from the next joint state on'


def test_a_frame_beyond_a_joint_is_that_of_the_current_state(served):
    with pytest.raises(MissingStateError, match='joints are between link1 and tip'):
        served.set(frame='tip', link='link1')
    state = JointStateMessage.of(('joint1', 'joint2'), [0.3, np.pi / 2], [0.0] * 2, [], 10**18)
    assert served.mapper.update(state)
    served.set(frame='tip', link='link1')  # turned by 90 degrees, 1 m along x and 0.5 m along y
    assert served.coms == {'link1': [1.0 - 0.2, 0.5 + 0.1, 0.0]}
    moments = served.payloads.bodies()['link1'].matrix
    np.testing.assert_allclose(moments, np.diag([0.05, 0.04, 0.06]), atol=1e-12)


def test_before_there_is_a_robot_the_frame_is_that_of_the_link():
    served = Served(has_robot=False)
    served.set(link='left_tip')
    served.set(name='second', frame='tip')
    assert served.coms == {'tip': [0.1, 0.2, 0.0]}
    assert served.payloads.bodies()['tip'].mass == 4.0
    with pytest.raises(MissingStateError, match="so the pose of 'tip' on 'link2' is unknown"):
        served.set(frame='left_tip', link='left_link2')
    with pytest.raises(ArgumentError, match='give one of them'):
        served.set()


@pytest.mark.parametrize('fields', [{'link': 'nose'}, {'frame': 'nose', 'link': 'tip'}])
def test_links_that_the_robot_does_not_have(served, fields):
    field = 'inertia.header.frame_id'
    with pytest.raises(UnknownNameError, match=f"{field}: robot planar_2r has no link 'nose'"):
        served.set(**fields)
    with pytest.raises(UnknownNameError, match=r"^link: robot planar_2r has no link 'right_tip'"):
        served.set(frame='tip', link='right_tip')
    assert served.coms == {}


def test_payloads_are_removed_by_name_or_all(served):
    assert served.ask('ClearPayload').message == 'no payloads'
    for name in ('a', 'b', 'c'):
        served.set(name=name, link='tip')
    response = served.ask('ClearPayload', name='b', seconds=2.5)
    assert response.message == 'b: removed within 2.5 s'
    assert not served.payloads.is_settled
    with pytest.raises(UnknownNameError, match="no payload 'x'"):
        served.ask('ClearPayload', name='x')
    response = served.ask('ClearPayload')
    assert response.message == 'a, b, c: removed from the next joint state on'
    assert served.coms == {}
    assert served.parameters == []


def test_the_payload_of_the_parameters_sets_them(served):
    served.set(name='parameters', link='tip', seconds=1.5)
    (values, duration), *_ = served.parameters
    assert duration == 1.5
    assert values == {
        'payload_link': 'tip',
        'payload_mass': 2.0,
        'payload_center_of_mass': [0.1, 0.2, 0.0],
        'payload_inertia': [0.04, 0.0, 0.0, 0.05, 0.0, 0.06],
    }
    assert served.payloads.names == ['parameters']
    for name in ('parameters', ''):  # alone, or with all others
        served.ask('ClearPayload', name=name, seconds=0.5)
        assert served.parameters[-1] == ({'payload_link': ''}, 0.5)
        served.set(name='parameters', link='tip')
    served.ask('ClearPayload')
    with pytest.raises(UnknownNameError):
        served.ask('ClearPayload', name='parameters')
    served.ask('SetPayload', body=RigidBody(0.0, [0.0] * 3, np.zeros((3, 3))), link='tip',
               name='parameters')  # fmt: skip
    assert served.parameters[-1][0]['payload_link'] == ''
    served.refusal = 'locked'
    with pytest.raises(ScrewDynamicsError, match='the parameters were refused: locked'):
        served.set(name='parameters', link='tip')
    assert served.coms == {}
    count = len(served.parameters)
    with pytest.raises(ArgumentError, match='transition time'):
        served.set(name='parameters', link='tip', seconds=4000.0)
    assert len(served.parameters) == count


def test_tools_are_detached_by_name_or_the_only_one(served):
    with pytest.raises(UnknownNameError, match='not exactly one tool; attached: none'):
        served.ask('DetachTool')
    served.set(name='box', link='tip')
    served.services.put('grip', 'tip', BOX, 0.0, tool=True)
    with pytest.raises(UnknownNameError, match="no tool 'box'; attached: grip"):
        served.ask('DetachTool', name='box')
    response = served.ask('DetachTool', seconds=2.0)
    assert response.message == 'grip: detached within 2 s'
    assert served.payloads.tools == []
    for name in ('x', 'y'):
        served.services.put(name, 'tip', BOX, 0.0, tool=True)
    with pytest.raises(UnknownNameError, match='name is empty, and not exactly one tool; attac'):
        served.ask('DetachTool')
    served.ask('DetachTool', name='y')
    assert served.payloads.tools == ['x']


def test_inertias_of_links(served):
    response = served.ask('SetLinkInertia', body=BOX, link='left_link2', seconds=3.0)
    ((link, body, duration),) = served.inertias
    assert (link, body.mass, duration) == ('link2', 2.0, 3.0)
    np.testing.assert_array_equal(body.matrix, BOX.matrix)
    assert response.message == 'link2: 2 kg within 3 s'
    assert response.header.frame_id == 'left_link2'
    response = served.ask('SetLinkInertia', link='link2', reset=True)
    assert served.inertias[-1] == ('link2', None, 0.0)
    assert response.message == 'link2: as described from the next joint state on'
    with pytest.raises(UnknownNameError, match=r"^link: robot planar_2r has no link 'nose'"):
        served.ask('SetLinkInertia', link='nose', reset=True)


# --- estimates ------------------------------------------------------------------------------------


def test_recording_by_requests(served):
    request = srv.RecordPayload.Request
    with pytest.raises(MissingStateError):
        served.ask('RecordPayload', action=request.POSE)
    message, response = request(action=request.MOTION), srv.RecordPayload.Response()
    message.duration.sec, message.duration.nanosec = 2, 500_000_000
    text = served.handlers['RecordPayload'](message, response)
    assert text == 'recording all states for 2.5 s'
    with pytest.raises(NotAtRestError, match='a motion is being recorded'):
        served.estimation.estimation()
    assert served.ask('RecordPayload', action=request.CLEAR).message == 'nothing recorded'
    function, (situation, recorded, shares, named) = served.estimation.estimation()
    assert function is estimation_services.estimate
    assert (situation, recorded, named) == ('situation', [], {})
    assert shares.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    for k in range(10):
        state = JointStateMessage.of(
            ('joint1', 'joint2'), [0.3, 0.12345], [0.0] * 2, [1.0] * 2, 10**18 + 10**7 * k
        )
        assert served.mapper.update(state)
        served.estimation.recording.observe(served.mapper.observed)
    response = served.ask('RecordPayload', action=request.POSE)
    assert response.message == 'pose 1 at [0.3, 0.123]'
    assert (response.header.stamp.sec, response.header.stamp.nanosec) == (10**9, 9 * 10**7)
    assert (response.poses, response.motion_states) == (1, 0)
    status = Status('payload')
    served.estimation.report(status)
    assert status.values == {'recorded': '1 poses, 0 states in motion'}
    with pytest.raises(ArgumentError, match='action 9 does not exist; use POSE, MOTION or CLEAR'):
        served.ask('RecordPayload', action=9)


def estimate(**changed):
    """Return an estimate with a number of its own in each field."""
    values = {
        'mass': 2.0,
        'has_mass': True,
        'center_of_mass': np.array([0.1, 0.2, 0.3]),
        'inertia': np.array([0.04, 0.001, 0.002, 0.05, 0.003, 0.06]),
        'mass_interval': 0.125,
        'center_of_mass_interval': np.array([0.01, 0.02, 0.03]),
        'inertia_interval': np.arange(6.0),
        'parameters': np.arange(10.0),
        'covariance': np.arange(100.0).reshape(10, 10),
        'not_told': (),
        'joints': ('joint2', 'joint1'),
        'offsets': np.array([7.0, 8.0]),
        'residuals': np.array([9.0, 10.0]),
        'poses': 11,
        'stretches': 12,
    }
    return SimpleNamespace(**{**values, **changed})


def test_an_estimate_as_message():
    response = srv.EstimatePayload.Response()
    estimation_services.write(estimate(not_told=('Ixy', 'Iyz')), response)
    inertia, com = response.inertia.inertia, response.inertia.inertia.com
    assert (inertia.m, com.x, com.y, com.z) == (2.0, 0.1, 0.2, 0.3)
    moments = [getattr(inertia, f'i{axes}') for axes in ('xx', 'xy', 'xz', 'yy', 'yz', 'zz')]
    assert moments == [0.04, 0.001, 0.002, 0.05, 0.003, 0.06]
    interval = response.center_of_mass_interval
    assert (response.mass_interval, interval.x, interval.y, interval.z) == (0.125, 0.01, 0.02, 0.03)
    assert list(response.inertia_interval) == list(range(6))
    assert list(response.parameters) == list(range(10))
    assert list(response.covariance) == list(range(100))
    assert (response.not_told, response.joint_names) == (['Ixy', 'Iyz'], ['joint2', 'joint1'])
    assert (list(response.offsets), list(response.residuals)) == ([7.0, 8.0], [9.0, 10.0])
    assert (response.poses, response.stretches) == (11, 12)
    assert response.message == '2.00 +- 0.12 kg (95 %); not estimated: Ixy, Iyz'
    estimation_services.write(estimate(), response)
    assert response.message == '2.00 +- 0.12 kg (95 %)'


def test_the_body_of_an_estimate():
    body = estimation_services.body_of(estimate())
    np.testing.assert_array_equal(body.matrix[0], [0.04, 0.001, 0.002])
    point = estimation_services.body_of(estimate(inertia=np.array([1.0, 0, 0, 1.0, 0, 9.0])))
    assert point.mass == 2.0
    assert not point.matrix.any()
    for fault in ({'has_mass': False}, {'center_of_mass': np.array([0.1, np.nan, 0.3])}):
        with pytest.raises(InertiaError, match=r'not applied: mass 2\.00 \+- 0\.12 kg'):
            estimation_services.body_of(estimate(**fault))


@pytest.mark.parametrize('has_moments', [True, False])
def test_an_estimate_is_applied_on_request(served, has_moments):
    request, response = srv.EstimatePayload.Request(link='left_tip'), srv.EstimatePayload.Response()
    moments = [0.04, 0.001, 0.002, 0.05, 0.003, 0.06 if has_moments else 9.0]
    estimation_services.write(estimate(inertia=np.array(moments)), response)
    before = response.message
    assert served.estimation.apply_estimate(request, response) == before
    assert not response.applied
    request.apply, request.transition_time.sec = True, 3
    text = served.estimation.apply_estimate(request, response)
    assert response.applied
    point = '' if has_moments else ' as a point'
    assert text.endswith(f'(95 %); payload: carried by tip{point} within 3 s')
    ((name, bodies),) = served.payloads.by_name().items()
    assert (name, list(bodies)) == ('payload', ['tip'])
    request.name = 'parameters'
    with pytest.raises(ScrewDynamicsError, match='parameters'):
        served.estimation.apply_estimate(request, response)


def test_a_described_tool_is_attached(served):
    request, response = srv.AttachTool.Request(link='tip'), srv.AttachTool.Response()
    write_inertia(response.inertia.inertia, BOX)
    text = served.estimation.attach(request, response)
    ((name,), (body,)) = served.payloads.tools, served.payloads.bodies().values()
    np.testing.assert_array_equal(body.com, BOX.com)
    assert response.header.frame_id == response.inertia.header.frame_id == 'left_tip'
    assert text == f'; {name}: carried by tip from the next joint state on'
    with pytest.raises(ScrewDynamicsError, match='parameters'):
        served.estimation.attach(srv.AttachTool.Request(link='tip', name='parameters'), response)


def status_of(payloads):
    status = Status('payload')
    payloads.report(status)
    return status


@pytest.mark.parametrize(
    ('mass', 'com', 'units'),
    [
        (1500.0, [0.05, 0.0, 0.0], 'probably the mass in g: give kg and m'),
        (1.5, [50.0, 0.0, 0.0], 'probably the center of mass in mm: give kg and m'),
        (1500.0, [50.0, 0.0, 0.0], 'probably mass and center of mass in g and mm'),
        (30.0, [0.05, 0.0, 0.0], 'correct it, or the limit'),
        (1e6, [0.05, 0.0, 0.0], 'correct it, or the limit'),
    ],
)
def test_a_payload_that_no_joint_can_hold_is_refused(served, mass, com, units):
    """By requests of each kind, with what is needed and what there is; nothing changes."""
    served.model.robot.gravity = [0.0, -9.81, 0.0]
    served.set(link='tip')
    body = RigidBody(mass, com, np.zeros((3, 3)))
    for name in ('payload', 'parameters'):
        with pytest.raises(ArgumentError, match=r'needs .* N m of joint., effort limit') as error:
            served.ask('SetPayload', body=body, link='tip', name=name)
        assert f'{mass:g} kg at (' in str(error.value)
        assert units in str(error.value)
    response = srv.AttachTool.Response()
    write_inertia(response.inertia.inertia, body)
    with pytest.raises(ArgumentError, match='effort limit'):
        served.estimation.attach(srv.AttachTool.Request(link='tip'), response)
    assert served.parameters == []
    assert served.payloads.bodies()['tip'].mass == BOX.mass


def test_payloads_that_need_much_are_reported(served):
    """From half of an effort limit on, together; also for a robot that comes later."""
    served.model.robot.gravity = [0.0, -9.81, 0.0]
    served.payloads.use(SimpleNamespace(robot=served.model.robot, payload=np.zeros(20)))
    for k, level in enumerate([Level.OK, Level.WARN, Level.ERROR]):
        body = RigidBody(2.4, [0.0, 0.0, 0.0], np.zeros((3, 3)))
        for part in range(1 + k):
            served.ask('SetPayload', body=body, link='tip', name=f'{part}')
        status = status_of(served.payloads)
        assert status.level == level
        assert ('in some poses the payloads need' in status.summary) == (level != Level.OK)
    served.ask('ClearPayload')
    assert status_of(served.payloads).level == Level.OK


def test_payloads_of_a_link_are_taken_together():
    both = estimation_services.together(
        [{'tip': BOX, 'nose': BOX}, {'tip': BOX}, {'link1': BOX}], ['tip', 'link1']
    )
    assert {link: body.mass for link, body in both.items()} == {'tip': 4.0, 'link1': 2.0}
    np.testing.assert_allclose(both['tip'].com, BOX.com)
    np.testing.assert_allclose(both['tip'].matrix, 2.0 * BOX.matrix)
