# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""~/model_state: the numbers of all topics for one joint state."""

import struct
from contextlib import suppress

import numpy as np
import pytest

pytest.importorskip('screw_dynamics_msgs.msg._model_state')

import rclpy
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message

from screw_dynamics_msgs.msg import ModelState, ModelStateLayout
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.outputs import FORMS, LINKS, OUTPUTS
from screw_dynamics_ros.nodes.model.actuated import actuated
from screw_dynamics_ros.ros import model_state
from screw_dynamics_ros.ros.model_state import ModelStateReader
from screw_dynamics_ros.ros.topics import channel
from screw_dynamics_ros.ros.topics.publishers import Publishers
from support.host_bench import COMMANDS, Bench, Outputs, serialized
from support.robots import urdf_path

ARM = urdf_path('panda').read_text()
TOPIC, LAYOUT = '/life/all/model_state', '/life/all/model_state_layout'


@pytest.fixture
def bench(monkeypatch, keep):
    """Return a function that returns a node with a robot, which records what it publishes."""
    latched = []

    class Recorded:
        """A publisher that records the layouts."""

        def __init__(self, publisher):
            self.publisher = publisher

        def publish(self, message):
            latched.append(message)
            self.publisher.publish(message)

        def __getattr__(self, name):
            return getattr(self.publisher, name)

    get = Publishers.get
    monkeypatch.setattr(Publishers, 'get', lambda *a, **b: Recorded(get(*a, **b)))

    def make(text=ARM, **parameters):
        parameters = {'model_state': ['all'], **parameters}
        bench = keep(Bench(monkeypatch, Outputs, 'all', **parameters))
        bench.layouts = latched
        adopt(bench, text)
        return bench

    return make


def adopt(bench, text):
    bench.describe(text)
    bench.joints = bench.host.mapper.joints


def layout_of(bench):
    """Return the layout that was published last, as a client receives it."""
    found = [each for each in bench.layouts if isinstance(each, ModelStateLayout)]
    received = deserialize_message(serialize_message(found[-1]), ModelStateLayout)
    return model_state.ModelStateLayout.from_message(received)


def next_state(bench, effort=True, seed=0):
    """Publish a joint state; return the messages that result, by topic."""
    bench.sent.clear()
    bench.clock.offset += 0.001
    n = len(bench.joints)
    q, v, tau = np.random.default_rng(seed).uniform(-1.0, 1.0, (3, n))
    tau = tau if effort else np.full(n, np.nan)
    stamp = bench.clock.time_ns()
    bench.host.states.receive(serialized(list(bench.joints), q, stamp, v, tau), {})
    return {'q': q, 'v': v, 'tau': tau, 'stamp': stamp, **dict(bench.sent)}


#: Quantities of constraints, which are not set here, and of floating bases.
OF_OTHER_ROBOTS = {
    'constraint_wrench',
    'base_wrench',
    'contact_wrench',
    'contact_wrench_covariance',
    'support',
}


#: Published while they are enabled.
COMMANDED = {'feedforward', 'commands'}


def numbers_of(message):
    """Return the numbers of a message of any topic."""
    kind = type(message).__name__
    if kind == 'JointState':
        return np.array(message.effort)
    if kind == 'Float64MultiArray':
        return np.array(message.data)
    if kind == 'Bool':
        return np.array([float(message.data)])
    if kind == 'TFMessage':
        poses = [
            [
                *(getattr(each.transform.translation, axis) for axis in 'xyz'),
                *(getattr(each.transform.rotation, axis) for axis in 'xyzw'),
            ]
            for each in message.transforms
        ]
        return np.array(poses).ravel()
    pair = (
        (message.twist.linear, message.twist.angular)
        if kind == 'TwistStamped'
        else (message.wrench.force, message.wrench.torque)
    )
    return np.array([getattr(part, axis) for part in pair for axis in 'xyz'])


def test_each_part_has_the_numbers_of_its_topic(bench):
    made = bench(singularity_rate=1000.0)
    made.part._transforms.look()  # no other node has the frames
    layout = layout_of(made)
    reader = ModelStateReader(layout)
    for seed in range(4):  # the flags follow, the observer has settled
        sent = next_state(made, seed=seed)
    state = reader.read(sent[TOPIC])
    topics = {each.name: each.topic for each in made.host.states.channels}
    kinds = {each.topic: each.publisher.msg_type for each in made.host.states.channels}
    compared = set()
    for name in state:
        topic = topics.get(name)
        if topic in sent:
            compared.add(name.partition('/')[0])
            message = deserialize_message(sent[topic], kinds[topic])
            np.testing.assert_array_equal(state[name].ravel(), numbers_of(message), name)
            assert (state.is_valid(name), state.age(name)) == (True, 0.0)
        elif name not in ('position', 'velocity', 'effort'):
            assert not state.is_valid(name)
            assert np.isnan(state[name]).all()
            compared.add(name.partition('/')[0])
    no_topic = {'position', 'velocity', 'effort'}
    assert compared | no_topic == {part.name.partition('/')[0] for part in layout.parts}
    assert compared >= set(OUTPUTS) - no_topic - OF_OTHER_ROBOTS
    for name, value in (('position', 'q'), ('velocity', 'v'), ('effort', 'tau')):
        np.testing.assert_array_equal(state[name], sent[value])
    assert state.stamp == sent['stamp']
    assert layout.root == Robot.from_urdf(ARM, backend='reference').description.root


def test_labels_shapes_units_and_frames(bench):
    made = bench()
    parts = {part.name: part for part in layout_of(made).parts}
    assert parts['mass_matrix'].shape == (8, 8)
    assert parts['mass_matrix'].labels == (made.joints,) * 2
    assert parts['wrench/panda_hand_tcp'].frame_id == 'panda_hand_tcp'
    assert parts['wrench/panda_hand_tcp'].labels == (('fx', 'fy', 'fz', 'mx', 'my', 'mz'),)
    assert parts['transforms'].labels[1] == ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')
    assert parts['gravity'].unit == 'N m | N'
    assert all(part.unit for part in parts.values())


def test_channels_have_what_their_rows_say(bench):
    """Topic, type, labels and needs of each output."""
    made = bench()
    columns = actuated(made.host.model.robot).velocity_labels
    named = [each for each in made.host.states.channels if each.name]
    for each in named:
        row = OUTPUTS[each.name.partition('/')[0]]
        assert each.topic.endswith('/tf' if row.form == 'transforms' else f'/{each.name}')
        kind = each.publisher.msg_type
        assert FORMS[row.form][0] == f'{kind.__module__.partition(".")[0]}/{kind.__name__}'
        if LINKS not in row.labels:
            assert each.contents.labels == row.names(made.joints, columns)
        if row.name not in COMMANDED:
            assert (each.velocity, each.effort) == (row.velocity, row.effort), each.name
    assert {each.name.partition('/')[0] for each in named} == {
        row.name for row in OUTPUTS.values() if row.node
    } - OF_OTHER_ROBOTS


def test_what_lacks_is_not_a_number_and_its_age_is_told(bench):
    """Without efforts there are no external torques; the rest is as before."""
    made = bench(state_timeout=0.0)
    reader = ModelStateReader(layout_of(made))
    without = reader.read(next_state(made, effort=False)[TOPIC])
    assert without.age('external_torque') == np.inf
    with_effort = reader.read(next_state(made)[TOPIC])
    assert with_effort.is_valid('external_torque')
    for k in (1, 2):
        state = reader.read(next_state(made, effort=False)[TOPIC])
        for name in ('effort', 'external_torque', 'wrench/panda_hand_tcp', 'contact'):
            assert not state.is_valid(name)
            assert np.isnan(state[name]).all()
            assert state.age(name) == pytest.approx(0.001 * k)
        assert state.is_valid('gravity')
        assert np.isfinite(state['gravity']).all()


def test_separate_topics_can_be_switched_off(bench):
    """All but commands: a controller may listen to them."""
    made = bench(separate_topics=False)
    topics = {name for name in next_state(made) if name.startswith('/')}
    commands = {topic for topic in topics if topic.endswith(COMMANDS)}
    assert len(commands) >= 5
    drawn = {topic for topic in topics if 'singularity' in topic or 'markers' in topic}
    assert topics - drawn == {TOPIC, *commands, *(t for t in topics if 'contact_' in t)}
    made.node.set_parameters([Parameter('separate_topics', value=True)])
    made.host.states.look_for_listeners()
    assert '/life/dynamics/gravity' in next_state(made)


def test_without_subscribers_it_costs_nothing(bench, monkeypatch):
    made = bench(model_state=['gravity', 'jacobian'])
    monkeypatch.setattr(
        channel.Channel, 'count_listeners', lambda each: setattr(each, 'listeners', 0)
    )
    made.host.states.look_for_listeners()
    assert made.host.states.listened == []
    only = {TOPIC: 1}
    monkeypatch.setattr(
        channel.Channel,
        'count_listeners',
        lambda each: setattr(each, 'listeners', only.get(each.topic, 0)),
    )
    made.host.states.look_for_listeners()
    sent = next_state(made)
    assert [name for name in sent if name.startswith('/')] == [TOPIC]
    state = ModelStateReader(layout_of(made)).read(sent[TOPIC])
    assert list(state) == ['gravity', 'jacobian/panda_hand_tcp']
    assert all(map(state.is_valid, state))


def test_another_robot_or_choice_has_another_layout(bench):
    made = bench(model_state=['gravity', 'position'])
    first = layout_of(made)
    adopt(made, urdf_path('planar_2r').read_text())
    second = layout_of(made)
    assert first.id != second.id
    message = next_state(made)[TOPIC]
    assert ModelStateReader(first).read(message) is None
    assert list(ModelStateReader(second).read(message)) == ['position', 'gravity']
    made.node.set_parameters([Parameter('model_state', value=['energy'])])
    made.finish()
    assert [part.name for part in layout_of(made).parts] == ['energy']
    status = made.host.model_state.status()
    assert not status.texts
    made.node.set_parameters([Parameter('model_state', value=['wrench'])])
    adopt(made, urdf_path('planar_2r').read_text().replace('planar', 'level'))
    assert (
        made.node.set_parameters([Parameter('model_state', value=['mass'])])[0].successful is False
    )


def test_serialized_messages_and_objects_are_read_alike(bench):
    made = bench()
    reader = ModelStateReader(layout_of(made))
    data = next_state(made)[TOPIC]
    by_bytes, by_object = reader.read(data), reader.read(deserialize_message(data, ModelState))
    assert by_bytes.stamp == by_object.stamp
    for name in by_bytes:
        np.testing.assert_array_equal(by_bytes[name], by_object[name])
        assert by_bytes[name].base is not None  # a view
        assert by_bytes.age(name) == by_object.age(name)
    with pytest.raises(UnknownNameError, match=r"no part 'torque'.*external_torque"):
        by_bytes['torque']


def test_damaged_messages_are_refused(bench):
    """Every length may be anything."""
    made = bench(model_state=['gravity', 'energy'])
    reader = ModelStateReader(layout_of(made))
    data = next_state(made)[TOPIC]
    random = np.random.default_rng(7)
    for size in range(0, len(data) - 8, 3):
        with pytest.raises(ArgumentError):
            reader.read(data[:size])
    for _ in range(500):
        damaged = bytearray(data)
        place = int(random.integers(0, len(data) - 4))
        struct.pack_into('<I', damaged, place, int(random.integers(0, 2**32)))
        with suppress(ArgumentError):
            reader.read(damaged)
    gap = layout_of(made).message(rclpy.time.Time().to_msg())
    gap.parts[1].offset += 1
    with pytest.raises(ArgumentError, match='do not follow one another'):
        model_state.ModelStateLayout.from_message(gap)
