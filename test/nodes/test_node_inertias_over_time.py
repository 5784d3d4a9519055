# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Payloads and inertias of links while they change: names, limits, reports and topics."""

from types import SimpleNamespace

import numpy as np
import pytest
from builtin_interfaces.msg import Time

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.nodes.hosting.payload_topics import PayloadTopics
from screw_dynamics_ros.nodes.model import inertial_input, link_inertias, payloads
from screw_dynamics_ros.nodes.model.link_inertias import LinkInertias
from screw_dynamics_ros.nodes.model.payloads import Payloads
from screw_dynamics_ros.ros.status import Level, Status
from support.robots import urdf_path

BOX = RigidBody(2.0, [0.1, 0.2, 0.3], np.diag([0.04, 0.05, 0.06]))
NOTHING = RigidBody(0.0, np.zeros(3), np.zeros((3, 3)))


@pytest.fixture(scope='module')
def planar():
    return Robot.from_urdf(urdf_path('planar_2r'), backend='reference')


@pytest.fixture
def model(planar):
    """Return the inputs of a kernel."""
    parameters = planar.payload_parameters({})
    return SimpleNamespace(
        robot=planar, payload=parameters.copy(), inertia_changes=parameters.copy()
    )


@pytest.fixture
def clock(monkeypatch):
    made = SimpleNamespace(now=100.0)
    for module in (inertial_input, payloads, link_inertias):
        monkeypatch.setattr(module, 'time', SimpleNamespace(monotonic=lambda: made.now))
    return made


@pytest.fixture
def carried(clock, model):
    made = Payloads()
    made.use(model)
    return made


def reported(carried):
    status = Status('payload')
    carried.report(status)
    return status


def test_what_is_carried_while_it_changes(carried, clock, model):
    """The first moment of the input is that of the share, about the joint it is carried by."""
    steps = []
    carried.on_step(lambda: steps.append(clock.now))
    carried.put('box', 'tip', BOX, 4.0)
    assert not carried.is_settled
    clock.now += 1.0
    carried.keep_house()
    assert carried.bodies()['tip'].mass == pytest.approx(0.5)
    mass, first = model.payload.reshape(-1, 10)[-1, :2]
    assert mass == pytest.approx(0.5)
    assert first == pytest.approx(0.5 * (0.1 + 0.5))  # 0.5 m from joint2 to the tip
    status = reported(carried)
    assert status.values == {
        'payload box': '0.5 kg on tip, 25 % of the transition to 2 kg',
        'payload': '0.5 kg on tip',
    }
    clock.now += 3.0
    carried.keep_house()
    assert carried.is_settled
    assert reported(carried).values['payload box'] == '2 kg on tip'
    model.payload[:] = 7.0
    carried.keep_house()  # steady: the input is left as it is
    np.testing.assert_array_equal(model.payload, 7.0)
    assert steps == []
    carried.remove('box')
    assert steps == [104.0]  # before the next state
    carried.keep_house()
    assert steps == [104.0]
    np.testing.assert_array_equal(model.payload, 0.0)
    assert reported(carried).values == {'payload': 'none'}


def test_another_robot_carries_the_same_from_its_first_state_on(carried, model, planar):
    carried.put('box', 'tip', BOX)
    carried.keep_house()
    other = SimpleNamespace(robot=planar, payload=np.zeros_like(model.payload))
    before = carried.changes
    carried.use(other)
    np.testing.assert_array_equal(other.payload, model.payload)
    assert other.payload.any()
    assert carried.changes > before  # topics are published again


def test_all_are_removed_and_names_of_those_that_leave_remain(carried, clock):
    carried.put('box', 'tip', BOX, tool=True)
    carried.put('ball', 'link1', BOX)
    assert carried.tools == ['box']
    assert reported(carried).values['tools'] == 'box'
    before = carried.changes
    assert carried.remove_all(2.0) == ['box', 'ball']
    assert carried.changes == before + 1
    assert carried.tools == []
    clock.now += 1.0
    assert carried.names == ['box', 'ball']
    masses = {
        name: {k: b.mass for k, b in each.items()} for name, each in carried.by_name().items()
    }
    assert masses == {'box': {'tip': 1.0}, 'ball': {'link1': 1.0}}
    clock.now += 1.0
    assert carried.bodies() == {}
    assert carried.remove_all() == []
    with pytest.raises(ArgumentError, match='transition time'):
        carried.remove_all(-1.0)
    with pytest.raises(UnknownNameError, match="no payload 'box'"):
        carried.remove('box')


def test_a_tool_is_one_until_a_payload_replaces_it(carried):
    carried.put('grip', 'tip', BOX, tool=True)
    carried.put('grip', 'tip', BOX)
    assert carried.tools == []
    carried.put('grip', 'tip', BOX, tool=True)
    carried.put('grip', 'tip', NOTHING, tool=True)
    assert (carried.tools, carried.bodies()) == ([], {})
    carried.put('grip', 'tip', BOX, tool=True)
    carried.remove('grip')
    assert carried.tools == []
    carried.put('none', 'tip', NOTHING)
    assert 'none' not in carried.names
    with pytest.raises(ArgumentError, match='transition time'):
        carried.put('none', 'tip', NOTHING, 1e6)


def test_at_most_a_hundred_payloads(carried, clock):
    for k in range(100):
        carried.put(f'{k}', 'tip', BOX)
    carried.put('7', 'link1', BOX)
    with pytest.raises(ArgumentError, match='there are 100 payloads, the maximum'):
        carried.put('100', 'tip', BOX)
    carried.remove('7', 1.0)
    with pytest.raises(ArgumentError, match='the maximum'):
        carried.put('100', 'tip', BOX)
    clock.now += 1.0
    carried.put('100', 'tip', BOX)


@pytest.mark.parametrize('name', ['', 'a' * 101, 'a\nb'])
def test_names_of_payloads(carried, name):
    with pytest.raises(ArgumentError, match='1 to 100 printable characters, got'):
        carried.put(name, 'tip', BOX)
    carried.put('b' * 100, 'tip', BOX)


def test_payloads_on_links_that_the_robot_does_not_have(carried):
    for name in ('parameters', 'box'):
        carried.put(name, 'nose', BOX)
    carried.put('ball', 'tip', BOX)
    status = reported(carried)
    assert status.level == Level.ERROR
    assert status.texts == [
        "no payload 'parameters': the robot has no link 'nose'; correct payload_link",
        "no payload 'box': the robot has no link 'nose'; clear or set it again",
    ]
    assert status.values['payload box'] == '2 kg on nose, a link that the robot does not have'
    assert status.values['payload'] == '2 kg on tip'
    assert set(carried.active_bodies()) == {'tip'}
    assert set(carried.bodies()) == {'tip', 'nose'}
    status = reported(Payloads())
    assert (status.summary, status.values) == ('ok', {'payload': 'none'})


def test_a_payload_that_moves_to_another_link_is_on_both(carried, clock):
    carried.put('box', 'tip', BOX)
    carried.put('box', 'link1', BOX, 2.0)
    clock.now += 1.0
    values = reported(carried).values
    assert values['payload box'] == '1 kg on tip, 50 % of the transition to 0 kg'
    assert values['payload box on link1'] == '1 kg on link1, 50 % of the transition to 2 kg'
    assert values['payload'] == '1 kg on tip, 1 kg on link1'


# --- topics ---------------------------------------------------------------------------------------


def test_topics_of_links_follow_until_all_is_settled(carried, clock):
    sent = []

    def create_publisher(kind, topic, profile, qos_overriding_options):
        return SimpleNamespace(publish=lambda message: sent.append((topic, message)))

    moment = SimpleNamespace(to_msg=lambda: Time(sec=9))
    node = SimpleNamespace(
        create_publisher=create_publisher, get_clock=lambda: SimpleNamespace(now=lambda: moment)
    )
    topics = PayloadTopics(node, carried, 'left_')
    topics.publish()
    assert sent == []
    carried.put('box', 'tip', BOX, 2.0)
    carried.put('other', 'nose', BOX)
    clock.now += 1.0
    for _ in range(2):  # while it changes
        topics.publish()
    clock.now += 1.0
    for _ in range(2):  # once at the end
        topics.publish()
    assert [topic for topic, _ in sent] == ['~/payload_inertia/tip'] * 3
    masses = [message.inertia.m for _, message in sent]
    np.testing.assert_allclose(masses, [1.0, 1.0, 2.0])
    message = sent[-1][1]
    assert (message.header.frame_id, message.header.stamp.sec) == ('left_tip', 9)
    assert (message.inertia.com.y, message.inertia.iyy) == pytest.approx((0.2, 0.05))
    sent.clear()
    carried.remove('box')
    carried.put('ball', 'link1', BOX)
    topics.publish()
    found = {topic: message.inertia.m for topic, message in sent}
    assert found == {'~/payload_inertia/tip': 0.0, '~/payload_inertia/link1': 2.0}


# --- inertias of links ----------------------------------------------------------------------------


def test_inertias_of_links_while_they_change(clock, model, planar):
    inertias, steps = LinkInertias(), []
    inertias.on_step(lambda: steps.append(clock.now))
    with pytest.raises(ArgumentError, match='no robot description has been received yet'):
        inertias.set('link2', BOX)
    inertias.keep_house()
    inertias.use(model)
    assert inertias.corrected(planar) is planar
    inertias.set('link2', BOX, 4.0)  # 1 kg at (0.5, 0, 0) in the description
    clock.now += 1.0
    inertias.keep_house()
    change = model.inertia_changes.reshape(-1, 10)[-1]
    np.testing.assert_allclose(change[0], 0.25 * (2.0 - 1.0))
    np.testing.assert_allclose(change[1:4], 0.25 * (2.0 * BOX.com - [0.5, 0.0, 0.0]))
    assert reported(inertias).values == {'inertia of link2': '2 kg, 25 % of the transition'}
    corrected = inertias.corrected(planar)
    assert corrected.total_mass == pytest.approx(planar.total_mass + 1.0)
    assert inertias.corrected(planar) is corrected
    inertias.set('link2', None, 2.0)  # back from there
    assert inertias.corrected(planar) is planar
    clock.now += 1.0
    inertias.keep_house()
    np.testing.assert_allclose(model.inertia_changes.reshape(-1, 10)[-1, 0], 0.125)
    assert reported(inertias).values == {'inertia of link2': 'as described, 50 % of the transition'}
    clock.now += 1.0
    inertias.keep_house()
    np.testing.assert_array_equal(model.inertia_changes, 0.0)
    assert reported(inertias).values == {}
    assert steps == []
    inertias.set('link2', BOX)
    inertias.keep_house()
    assert steps == [103.0]
    assert reported(inertias).values == {'inertia of link2': '2 kg'}
    model.inertia_changes[:] = 7.0
    inertias.keep_house()  # steady
    np.testing.assert_array_equal(model.inertia_changes, 7.0)
    inertias.use(model)
    np.testing.assert_allclose(model.inertia_changes.reshape(-1, 10)[-1, 0], 1.0)


def test_inertias_without_effect_or_of_another_robot(clock, model):
    inertias = LinkInertias()
    inertias.use(model)
    with pytest.raises(ArgumentError, match="link 'base' does not move"):
        inertias.set('base', BOX)
    with pytest.raises(ArgumentError, match='transition time'):
        inertias.set('link2', BOX, -1.0)
    inertias.set('link2', BOX)
    other = Robot.from_urdf(
        urdf_path('planar_2r').read_text().replace('link2', 'arm'), backend='reference'
    )
    parameters = other.payload_parameters({})
    inertias.use(SimpleNamespace(robot=other, inertia_changes=parameters))
    np.testing.assert_array_equal(parameters, 0.0)
    assert inertias.corrected(other) is other
    status = reported(inertias)
    assert status.level == Level.WARN
    assert status.summary == "no inertia of link 'link2': the robot does not have it"
    assert status.values == {'inertia of link2': '2 kg, a link that the robot does not have'}
