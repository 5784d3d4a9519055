# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What ros2_control receives: outputs while they are valid, otherwise zeros or NaN."""

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray, String

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.nodes.force_torque.wrist_sensor_outputs import WristSensor
from screw_dynamics_ros.nodes.hosting import controller_topics
from screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_outputs import WrenchEstimator
from support.host_bench import Bench, Outputs, serialized
from support.messages import wrench_message
from support.robots import urdf_path

NODE = '/life/wrench_estimator'
REFERENCE = f'{NODE}/wrench_reference'
ARM, OTHER = (urdf_path(name).read_text() for name in ('panda', 'planar_2r'))
Q = np.array([0.3, -0.4, 0.2, -1.9, 0.1, 1.8, 0.5, 0.02])
SOURCE = 'wrench/panda_hand_tcp'
OBSERVED = {'observer': 'static', 'torque_cutoff': 0.0, 'wrench_cutoff': 0.0}


@pytest.fixture
def bench(monkeypatch, keep):
    """Return a function that returns a node with the arm, and its last messages."""

    def make(part=WrenchEstimator, text=ARM, **parameters):
        name = {WristSensor: 'wrist_sensor', Outputs: 'all'}.get(part, 'wrench_estimator')
        each = keep(Bench(monkeypatch, part, name, max_delay=0.05, **parameters))
        each.describe(text)
        return each

    return make


def state(bench, q=Q, effort=None):
    """Send a joint state; return the messages that result, by topic, the last of each."""
    bench.sent.clear()
    bench.clock.offset += 0.002
    names = list(bench.host.mapper.joints)
    effort = np.full(len(names), 3.0) if effort is None else effort
    data = serialized(names, q[: len(names)], bench.clock.time_ns(), None, effort)
    bench.host.states.receive(data, {})
    return dict(bench.sent)


def watched(bench, seconds=0.0):
    """Let time pass without joint states; return the messages of the watch."""
    bench.sent.clear()
    bench.clock.offset += seconds
    bench.host.controller_topics.watch()
    return dict(bench.sent)


def numbers(data):
    wrench = deserialize_message(data, WrenchStamped).wrench
    return np.array([getattr(each, k) for each in (wrench.force, wrench.torque) for k in 'xyz'])


def active(bench):
    """Send joint states until the estimate is repeated; return it."""
    for _ in range(5):
        found = state(bench)
    bench.host.controller_topics.watch()
    value = numbers(found[REFERENCE])
    assert np.abs(value).max() > 0.1
    return value


def test_the_reference_is_the_wrench_at_each_joint_state(bench):
    made = bench(wrench_reference=SOURCE)
    active(made)
    found = state(made)
    assert found[REFERENCE] == found[f'{NODE}/{SOURCE}']
    assert deserialize_message(found[REFERENCE], WrenchStamped).header.frame_id == 'panda_hand_tcp'
    assert REFERENCE not in watched(made, 0.09)


def test_zeros_for_each_state_without_an_estimate(bench):
    """Without efforts, and in a singular configuration."""
    made = bench(wrench_reference=SOURCE)
    for cause in ({'effort': np.full(8, np.nan)}, {'q': np.zeros(8)}):
        active(made)
        found = state(made, **cause)
        assert f'{NODE}/{SOURCE}' not in found
        np.testing.assert_array_equal(numbers(found[REFERENCE]), np.zeros(6))
        status = made.host.controller_topics.status()
        assert 'no numbers of /life/wrench_estimator/wrench/panda_hand_tcp' in status.summary


def test_zeros_when_joint_states_stop_and_until_they_return(bench):
    made = bench(wrench_reference=SOURCE, repeat_timeout=0.05)
    value = active(made)
    assert REFERENCE not in watched(made, 0.049)
    for _ in range(3):
        found = watched(made, 0.01)
        np.testing.assert_array_equal(numbers(found[REFERENCE]), np.zeros(6))
    np.testing.assert_allclose(active(made), value)
    assert REFERENCE not in watched(made)


@pytest.mark.parametrize('cause', ['refused', 'late', 'not finite'])
def test_zeros_when_states_are_not_used(bench, monkeypatch, cause):
    """A joint without position; later than max_delay; torques that overflow."""
    made = bench(wrench_reference=SOURCE, position_policy='reject')
    active(made)
    answer = made.host.states.tables.functions.answer

    def late(loop):
        made.clock.offset += 0.06
        return answer(loop)

    if cause == 'late':
        monkeypatch.setattr(made.host.states.tables.functions, 'answer', late)
    q = np.where(np.arange(8) == 2, np.nan, Q) if cause == 'refused' else Q
    effort = np.full(8, 1e308 if cause == 'not finite' else 3.0)
    found = []
    for _ in range(60):
        found += [state(made, q, effort), watched(made)]
    wrenches = [numbers(each[REFERENCE]) for each in found if REFERENCE in each]
    np.testing.assert_array_equal(wrenches, np.zeros((len(wrenches), 6)))
    assert len(wrenches) >= 10


def test_zeros_while_the_description_is_another_one(bench):
    made = bench(wrench_reference=SOURCE)
    active(made)
    made.host.source.receive(String(data=OTHER))
    found = watched(made)  # it is being compiled
    np.testing.assert_array_equal(numbers(found[REFERENCE]), np.zeros(6))
    assert REFERENCE not in state(made)
    assert 'another robot description' in made.host.controller_topics.status().summary
    made.sent.clear()
    made.finish()
    np.testing.assert_array_equal(numbers(dict(made.sent)[REFERENCE]), np.zeros(6))
    np.testing.assert_array_equal(numbers(watched(made)[REFERENCE]), np.zeros(6))
    status = made.host.controller_topics.status()
    assert f'{SOURCE} is not one of the outputs for this robot' in status.summary
    made.describe(ARM)
    active(made)


def test_zeros_while_a_description_is_refused(bench):
    made = bench(wrench_reference=SOURCE)
    active(made)
    made.describe('<robot name="none"/>')
    np.testing.assert_array_equal(numbers(watched(made)[REFERENCE]), np.zeros(6))
    assert REFERENCE not in state(made)
    made.describe(ARM)
    watched(made)
    active(made)


def test_zeros_when_the_topic_is_switched_off(bench):
    made = bench(wrench_reference=SOURCE)
    active(made)
    made.sent.clear()
    made.node.set_parameters([Parameter('wrench_reference', value='')])
    made.finish()
    np.testing.assert_array_equal(numbers(dict(made.sent)[REFERENCE]), np.zeros(6))
    assert REFERENCE not in watched(made, 1.0)
    assert REFERENCE not in state(made)


def test_zeros_are_the_last_message_of_a_process(bench):
    made = bench(wrench_reference=SOURCE)
    active(made)
    made.sent.clear()
    topics = made.host.controller_topics
    assert topics in made.host.endings
    topics.begin()
    np.testing.assert_array_equal(numbers(dict(made.sent)[REFERENCE]), np.zeros(6))
    assert REFERENCE not in state(made)
    found = watched(made)
    np.testing.assert_array_equal(numbers(found[REFERENCE]), np.zeros(6))


def test_a_mock_sensor_gets_six_finite_numbers(bench):
    """Forwarding controllers drop messages with NaN, and keep the last one."""
    made = bench(sensor_commands=SOURCE)
    for _ in range(5):
        found = state(made)

    def data(messages):
        return deserialize_message(messages[f'{NODE}/sensor_commands'], Float64MultiArray).data

    np.testing.assert_array_equal(data(found), numbers(found[f'{NODE}/{SOURCE}']))
    watched(made)
    assert list(data(watched(made, 0.2))) == [0.0] * 6


def test_the_compensated_wrench_of_a_sensor_is_repeated(bench):
    made = bench(
        WristSensor,
        wrench_reference='wrench',
        tool_mass=0.0,
        acceleration_cutoff=0.0,
        sensor_frame='panda_hand_tcp',
    )
    topic = '/life/wrist_sensor/wrench_reference'

    def measured(force):
        message = wrench_message('panda_hand_tcp', [force, 0.0, 0.0], stamp=made.clock.time_ns())
        made.part._on_wrench(message)

    for _ in range(40):
        assert topic not in state(made)
    measured(5.0)
    sent = dict(made.sent)
    assert numbers(sent[topic])[0] == 5.0
    assert sent[topic] == sent['/life/wrist_sensor/wrench']
    made.host.controller_topics.watch()
    assert topic not in watched(made, 0.09)
    measured(np.nan)
    np.testing.assert_array_equal(numbers(watched(made, 0.02)[topic]), np.zeros(6))


def test_wrenches_of_one_sensor_message_are_together(bench):
    """Not one of this message and another of the message before."""
    pytest.importorskip('pal_statistics_msgs.msg._statistics_names')
    made = bench(
        WristSensor,
        frames=['panda_link7'],
        sensor_frame='panda_hand_tcp',
        state_interface_component='sensor',
        state_interfaces=['here=wrench', 'there=wrench_at/panda_link7'],
    )
    for _ in range(40):
        assert '/sensor/values' not in state(made)
    for force in (5.0, 7.0):
        state(made)
        message = wrench_message('panda_hand_tcp', [force, 0.0, 0.0], stamp=made.clock.time_ns())
        made.sent.clear()
        made.part._on_wrench(message)
        (values,) = (data for topic, data in made.sent if topic == '/sensor/values')
        found = np.frombuffer(values[28:], np.float64, 12)
        sent = dict(made.sent)
        for topic, part in (('wrench', found[:6]), ('wrench_at/panda_link7', found[6:])):
            np.testing.assert_array_equal(numbers(sent[f'/life/wrist_sensor/{topic}']), part)


@pytest.mark.parametrize(
    ('values', 'text'),
    [
        ({'state_interfaces': ['tool']}, "'tool' is not SENSOR=TOPIC"),
        ({'state_interfaces': ['a=gravity', 'a=contact']}, 'names a sensor again'),
        ({'state_interfaces': ['a=contact']}, 'is not the name of a node'),
        (
            {'state_interfaces': ['a=contact'], 'state_interface_component': 'Tool'},
            "'Tool' is not the name of a node",
        ),
    ],
)
def test_invalid_parameters_are_refused(bench, values, text):
    made = bench()
    results = made.node.set_parameters_atomically(
        [Parameter(k, value=v) for k, v in values.items()]
    )
    assert text in results.reason
    with pytest.raises(ArgumentError):
        controller_topics.parameters_of.check({**made.host.parameters.values, **values})


def test_the_compiled_loop_repeats_without_python(pair):
    """Two messages with the model state, which has other values for what is not valid."""
    pytest.importorskip('llvmlite')
    topic = '/life/all/wrench_reference'
    both = pair(model_state=['wrench', 'gravity'], wrench_reference=SOURCE, sensor_commands=SOURCE)
    listened = '/model_state', '/wrench_reference', '/sensor_commands'
    both.set(1, singularity_threshold=0.05)
    both.listen(listened)
    both.states(4, q=Q)
    for q in (Q, np.zeros(8)):
        both.published.clear()
        both.states(3, q=q)
        found = [numbers(data) for name, data in both.published.elements() if name == topic]
        assert len(found) == 3
        assert np.abs(found).max() > 0.1 if q is Q else not np.any(found)
        assert both.loop.outcomes[-2:] == ['done'] * 2
