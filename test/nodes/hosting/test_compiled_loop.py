# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The compiled loop publishes the bytes that Python publishes, whatever happens in between."""

import gc
import os
from collections import Counter

import numpy as np
import pytest

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.estimation.observers.table import OBSERVERS
from screw_dynamics_ros.ros.joint_states.policies import Reason
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from support.host_bench import serialized
from support.loop_pair import ARM, PLANAR, Q

MS = 1_000_000
STAMP_END = 12  # of a serialized message [bytes]


def test_ordinary_states_need_no_python(pair):
    both = pair(model_state=[''])
    both.listen(('/dynamics/gravity', '/mass_matrix', '/external_torque', '/tf', '/residual'))
    both.states(6)
    assert both.loop.outcomes[-4:] == ['done'] * 4


def test_a_model_state_of_compiled_parts_needs_no_python(pair):
    """Where the wrench cannot be observed, its numbers are NaN."""
    parts = 'position', 'effort', 'transforms', 'gravity', 'jacobian', 'external_torque', 'wrench'
    both = pair(model_state=list(parts), separate_topics=False)
    both.listen(('/model_state',))
    both.set(1, singularity_threshold=0.05)
    both.listen(('/model_state',))
    for q in ([0.3, -0.5, 0.2, -2.0, 0.4, 1.6, 0.7, 0.02], np.zeros(8)):
        both.states(4, q=q)
        assert both.loop.outcomes[-2:] == ['done'] * 2


@pytest.mark.parametrize('metric', ['identity', 'inertia'])
def test_singularity_measures_at_their_rate_need_no_python(pair, metric):
    both = pair(model_state=['singularity'], singularity_rate=300.0, joint_metric=metric)
    both.listen(('/model_state', '/singularity/panda_hand_tcp'))
    before = len(both.loop.outcomes)
    for k in range(12):
        both.wait(0.001)
        both.send()
        if k == 6:
            both.set(characteristic_length=0.5)
            both.listen(('/model_state', '/singularity/panda_hand_tcp'))
    assert 'with python' not in both.loop.outcomes[before:]
    counts = [n.part.first._channels for n in both.nodes]
    topics = [[c for c in each if 'singularity' in c.topic] for each in counts]
    assert [c.published for each in topics for c in each] == [4, 4]


def test_transforms_at_a_reduced_rate_need_no_python(pair):
    """By stamps; a change of the rate counts at once."""
    both = pair(model_state=['transforms'])
    for node in both.nodes:
        node.part.first._transforms._other_transforms.found = list
        node.part.first._transforms.look()
    both.listen(('/model_state', '/tf'))
    both.send()
    counts = []
    for rate in (0.0, 300.0, 100.0):
        both.set(publish_frequency=rate)
        both.listen(('/model_state', '/tf'))
        both.published.clear()
        both.states(20)
        assert both.loop.outcomes[-20:] == ['done'] * 20
        counts.append(sum(topic == '/tf' for topic, _ in both.published))
        assert sum(topic.endswith('/model_state') for topic, _ in both.published) == 20
    assert counts == [20, 6, 2]


def test_rates_are_met_with_jitter(pair):
    both, random = pair(model_state=['']), np.random.default_rng(9)
    for rate in (250.0, 900.0, 1000.0):
        both.set(singularity_rate=rate)
        both.listen(('/singularity/panda_hand_tcp',))
        both.states(1)
        (channel,) = [c for c in both.loop.host.states.channels if c.is_sent]
        before, start = channel.published, both.loop.clock.offset
        for k in range(1, 201):
            both.wait(start + 0.001 * k + random.uniform(0.0, 2e-4) - both.loop.clock.offset)
            both.send()
        assert channel.published - before == pytest.approx(200 * rate / 1000, abs=1)
        assert rate < 1000.0 or channel.published - before == 200


def test_efforts_are_scaled(pair):
    joints = ['panda_joint2', 'panda_joint4']
    both = pair(model_state=[''], effort_joints=joints, effort_scale=[0.5, -3.0])
    both.listen(('/external_torque',))
    for offset in ([], [0.25, -1.0]):
        both.set(effort_offset=offset)
        both.listen(('/external_torque',))
        both.states(4)
        assert both.loop.outcomes[-1] == 'done'


def test_observable_wrenches_need_no_python(pair):
    """In any posture, for any robot, and for parameters that change between two states."""
    both, random = pair(model_state=['']), np.random.default_rng(5)
    topics = '_covariance/panda_hand_tcp', '/external_torque_covariance', '/link2', '_tcp'

    def follow(count=4, **state):
        both.listen(topics)
        for _ in range(count):
            both.wait(0.001)
            numbers = dict(zip('qv', random.uniform(-1.5, 1.5, (2, len(both.joints)))))
            both.send(**{**numbers, 'tau': random.uniform(-9.0, 9.0, len(both.joints)), **state})
        assert both.loop.outcomes[-1] == 'done'

    follow(10)
    for values in (
        {'singularity_threshold': 0.2},
        {'damping': 0.05},
        {'damping': 0.0, 'singularity_threshold': 0.0, 'characteristic_length': 0.7},
        {'observer_joints': both.joints, 'observer_model_deviation': [*np.arange(8.0)]},
        {'observer_effort_deviation': [2.0] * 8, 'torque_dead_band': 0.5},
        {'observer_effort_deviation': [*np.arange(1.0, 9.0)]},
    ):
        both.set(1, **values)
        if 'torque_dead_band' not in values:  # twice without a state between
            follow()
            follow(q=np.zeros(len(both.joints)))  # stretched out
    both.set(
        1, observer_joints=[''], observer_effort_deviation=[0.1], observer_model_deviation=[0.0]
    )
    both.describe(PLANAR)  # two joints
    follow(8)
    follow(q=np.zeros(2))


def test_covariances_after_filters_need_no_python(pair):
    both = pair(model_state=[''])
    topics = '/wrench_covariance/panda_hand_tcp', '/external_torque_covariance', '_tcp'
    for values in (
        {'force_dead_band': 1.0},
        {'wrench_cutoff': 20.0},
        {'force_dead_band': 0.0, 'torque_cutoff': 9.0, 'wrench_cutoff': 0.0},
        *(
            {'torque_cutoff': 0.0, 'observer': name, 'observer_time_constant': 5e-4}
            for name in ('momentum', 'filtered', 'kalman', 'sliding')
        ),
        {'torque_cutoff': 30.0, 'wrench_cutoff': 20.0, 'observer': 'momentum'},
        {'observer': 'static'},
    ):
        both.set(1, **values)
        both.listen(topics)
        before = sum(c.published for c in both.loop.host.states.channels if 'cov' in c.topic)
        for k in range(8):
            both.wait(0.001)
            both.send(tau=np.full(8, 1.0 + k))
        after = sum(c.published for c in both.loop.host.states.channels if 'cov' in c.topic)
        assert after >= before + 8, values
        assert both.loop.outcomes[-4:] == ['done'] * 4, values


def test_constraint_wrenches_come_at_their_rate(pair):
    """Both links have one solution, which is also that of the model states after it."""
    links = 'panda_hand_tcp', 'panda_link5'
    parts = ['position', 'constraint_wrench']
    both = pair(model_state=parts)
    both.set(0, constraints=[f'{links[0]}: position', f'{links[1]}: z'])
    topics = *(f'/constraint_wrench/{link}' for link in links), '/model_state'
    for rate in (250.0, 125.0):
        both.set(0, constraint_rate=rate)
        both.listen(topics)
        both.states(4)
        first = len(both.loop.outcomes)
        published = sum(each.published for each in both.loop.host.states.channels)
        both.states(40)
        solved = round(40 * rate / 1000)
        assert both.loop.outcomes[first:] == ['done'] * 40
        now = sum(each.published for each in both.loop.host.states.channels)
        assert now - published == 40 + 2 * solved


def test_what_observes_states_sees_all_of_them(pair):
    """A tare is the mean of the latest states, which the loop has processed."""
    both = pair(model_state=[''])
    both.listen(('/external_torque', '/residual'))
    for k in range(40):
        both.wait(0.001)
        both.send(q=np.full(8, 0.2), v=np.zeros(8), tau=np.full(8, 0.1 * k))
    assert both.loop.outcomes[-1] == 'done'
    texts = []
    for node in both.nodes:
        with STATE_LOCK:
            (group,) = [each for each in node.host.builder.groups if hasattr(each, '_tare')]
            texts.append(group._tare._tare())
    assert texts[0] == texts[1]
    assert texts[0].startswith('offset of 40 states')
    both.wait(0.001)
    both.send()
    assert both.loop.outcomes[-1] == 'done'


@pytest.mark.parametrize('observer', OBSERVERS)
def test_observers_filters_and_flags_need_no_python(pair, observer):
    """Python and the loop share their memory: each continues where the other one has ended."""
    both = pair(model_state=[''])
    topics = ('/external_torque', '/contact', '/collision', '/wrench/panda_hand')
    random = np.random.default_rng(3)

    def states(count, torque=0.0, outcome='done'):
        for k in range(count):
            both.wait(float(random.choice([0.001, 0.002, 0.004])))
            tau = both.plain.host.model.robot.gravity_torques(Q) + random.normal(0.0, 0.1, 8)
            tau[3] += torque
            both.send(q=Q + 1e-4 * k, v=np.full(8, 0.02), tau=tau)
        assert both.loop.outcomes[3 - count :] == [outcome] * (count - 3)

    def change(**values):
        both.set(1, **values)
        both.listen(topics)

    change(observer=observer, observer_time_constant=0.001, frames=['panda_hand'])
    change(singularity_threshold=0.05)
    for torque_cutoff, wrench_cutoff in ((0.0, 0.0), (200.0, 0.0), (200.0, 80.0)):
        change(torque_cutoff=torque_cutoff, wrench_cutoff=wrench_cutoff)
        states(12)
        states(20, torque=-60.0)
        first, second = both.reports()
        assert first.values == second.values
        assert first.level == second.level
        assert first.values['collision'].startswith('yes, panda_joint4: ')
        both.wait(0.002)
        both.send(v=np.full(8, np.nan))
        states(6, torque=-60.0)
        both.wait(0.002)
        both.send(q=np.zeros(8))  # the wrench cannot be observed
        states(4, torque=-60.0)
        both.wait(3.0)
        states(60)
        assert both.reports()[0].values['collision'] == 'no'
    change(effort_delay=0.004)
    states(8)
    change(effort_delay=0.0, contact_share=0.0)  # only one flag
    states(8)
    for topic in topics:
        assert len([data for name, data in both.published if name.endswith(topic)]) > 1


def test_efforts_that_are_no_longer_delayed(pair):
    """They belong to the current state again."""
    both, found = pair(model_state=['']), []
    for delay in (0.0, 0.003, 0.0):
        both.set(1, effort_delay=delay)
        both.listen(('/external_torque',))
        for k in range(6):
            both.published.clear()
            both.wait(0.002)
            both.send(q=Q + 0.1 * k, tau=np.zeros(8))
        found.append({data[STAMP_END:] for _, data in both.published})
    assert found[0] == found[2] != found[1]


def test_other_states(pair):
    both = pair(model_state=[''])
    both.listen(('/gravity', '/coriolis', '/external_torque'))
    both.states(4)
    for change, expected in (
        ({'q': [np.nan] * 8}, 'handed over'),
        ({'tau': [np.inf] * 8}, 'handed over'),
        ({'v': [1e200] * 8}, 'not finite'),
        ({'stamp': 5}, 'handed over'),
        ({'lost': 3}, 'done'),
    ):
        both.wait(0.001)
        both.send(**change)
        assert both.loop.outcomes[-1] == expected, change
        both.states(4)
        assert both.loop.outcomes[-1] == 'done', change


def test_a_late_state_has_no_outputs(pair):
    both = pair(model_state=[''], max_delay=0.01)
    both.listen(('/gravity',))
    both.states(4)
    both.wait(0.001)
    now = both.loop.clock.time_ns()
    both.wait(0.3)
    data = serialized(both.joints, [0.1] * 8, now)
    for node in both.nodes:
        node.receive(data, {'source_timestamp': now, 'publication_sequence_number': 5})
    both.compare()
    assert both.loop.outcomes[-1] == 'late'


def test_states_of_publishers_that_disagree_are_compared_in_python(pair):
    """Their messages have one layout; the loop has them again when there is one publisher."""
    both = pair(model_state=[''])
    both.listen(('/dynamics/gravity',))

    def send(drivers, steps):
        for node in both.nodes:
            node.host.states.drivers = drivers
        both.listen(('/dynamics/gravity',))  # housekeeping, which arms the loop again
        for k in range(8):
            both.wait(0.001)
            both.send(q=np.full(8, 0.3 + steps * (k % 2)))
        return both.loop.host.mapper.records.get(Reason.DISPUTED)

    assert send('', 0.0) is None
    assert both.loop.outcomes[-4:] == ['done'] * 4
    refused = send('/a, /b', 0.2)
    assert refused.count == 4  # from the third return on
    assert 'of /a, /b' in refused.detail
    count = both.loop.host.mapper.accepted
    send('', 0.0)
    assert refused.count == 4
    assert both.loop.host.mapper.accepted == count + 8
    assert both.loop.outcomes[-4:] == ['done'] * 4


def test_the_loop_has_the_states_of_the_publisher_that_is_followed(pair):
    """Those of others are refused in Python."""
    both, ids = pair(model_state=[''], conflict_policy='/a'), [bytes(range(16)), bytes(16)]
    both.listen(('/dynamics/gravity',))
    for node in both.nodes:
        states = node.host.states
        states.drivers, states._names = '/a, /b', dict(zip(ids, ['/a', '/b']))
        states.followed = np.frombuffer(ids[0], np.int64)
    both.listen(('/dynamics/gravity',))
    for k in range(12):
        both.wait(0.001)
        both.send(q=np.full(8, 0.3 + 0.2 * (k % 2)), publisher=ids[k % 2])
    refused = both.loop.host.mapper.records[Reason.NOT_FOLLOWED]
    assert refused.count == both.loop.host.mapper.accepted == 6
    assert both.loop.outcomes[-4:] == ['done', 'handed over'] * 2


def test_wrong_velocities_are_found_in_the_states_of_the_loop(pair):
    """It leaves them to Python until they are right again; both nodes publish the same."""
    both = pair(description=PLANAR, model_state=[''])
    both.listen(('/dynamics/coriolis',))
    time = iter(np.arange(0.0, 100.0, 0.02))

    def faults(factor, count):
        """Return what is found in a number of states."""
        for k in range(count):
            t = next(time)
            both.wait(0.02)
            both.send(q=np.full(2, 0.3 * np.sin(4.0 * t)), v=[factor * 1.2 * np.cos(4.0 * t)] * 2)
            if not k % 20:
                both.listen(('/dynamics/coriolis',))  # housekeeping
        found = [list(node.host.mapper.velocity_faults) for node in both.nodes]
        assert found[0] == found[1]
        return found[0]

    assert faults(1.0, 150) == []  # one block; the next one is 14 s later
    assert both.loop.outcomes[-100:] == ['done'] * 100
    assert faults(0.5 / np.pi, 1000) == both.joints
    assert both.loop.outcomes[-100:] == ['handed over'] * 100
    assert faults(1.0, 400) == []
    assert both.loop.outcomes[-100:] == ['done'] * 100


def test_turns_are_added_by_the_loop(pair):
    """Python takes the message with the step, and the loop those before and after it."""
    both = pair(model_state=[''])
    both.listen(('/dynamics/gravity', '/dynamics/coriolis', '/mass_matrix'))
    q = Q.copy()
    for angle in (*np.linspace(3.0, 3.3, 30), *np.linspace(3.3, 3.0, 30)):
        both.wait(0.004)
        q[0] = (angle + np.pi) % (2.0 * np.pi) - np.pi
        both.send(q=q)
        for node in both.nodes:
            assert node.host.mapper.q[0] == pytest.approx(angle)
    assert both.loop.host.mapper.records[Reason.WRAPPED].count == 2
    assert Counter(both.loop.outcomes[-55:]) == {'done': 53, 'handed over': 2}


@pytest.mark.parametrize('seed', range(int(os.environ.get('LOOP_SEQUENCES', '2'))))
def test_random_sequences(pair, seed):
    """Messages, parameters, payloads, subscribers and robots change in any order."""
    random = np.random.default_rng(seed)
    both = pair(separate_topics=bool(seed % 2))
    both.part = both.plain.part

    def state():
        n = len(both.joints)
        both.wait(float(random.choice([0.001, 0.002, 0.004])))
        both.send(*random.uniform(-2.0, 2.0, (3, n)), lost=int(random.integers(0, 2)))

    def odd_state():
        n = len(both.joints)
        both.wait(0.002)
        numbers = random.uniform(-2.0, 2.0, (3, n))
        numbers[random.integers(0, 3), random.integers(0, n)] = random.choice(
            [np.nan, np.inf, 1e300, -0.0]
        )
        order = random.permutation(n)
        both.send(*numbers[:, order], names=[both.joints[k] for k in order])

    def odd_stamp():
        offset = int(random.choice([0, -1, 1, -5 * MS, 400 * MS, -3000 * MS]))
        both.wait(0.002)
        both.send(stamp=max(1, both.stamp + offset))

    def pause():
        both.wait(float(random.choice([0.3, 0.7, 3.0])))

    def payload():
        random_duration = random.choice([0.0, 0.01])
        body = RigidBody(float(random.uniform(0.1, 3.0)), np.zeros(3), np.zeros((3, 3)))
        for node in both.nodes:
            with STATE_LOCK:
                link = node.host.model.robot.link_names[-1]
                node.host.payloads.put('load', link, body, float(random_duration))
                node.host.payloads.keep_house()

    def parameter():
        name, values = (
            ('gravity', [[0.0, 0.0, -9.81], [1.0, 0.0, -9.0]]),
            ('effort_policy', ['reject', 'zero', 'hold']),
            ('velocity_policy', ['reject', 'differentiate']),
            ('state_timeout', [0.5, 0.0, 0.1]),
            ('max_stamp_age', [0.0, 1.0]),
            ('max_delay', [0.0, 1.0]),
            ('separate_topics', [True, False]),
            ('model_state', [['all'], ['gravity', 'position'], ['']]),
        )[random.integers(0, 8)]
        both.set(**{name: values[random.integers(0, len(values))]})

    def hosted_parameter():
        owner, name, values = (
            (0, 'enabled', [True, False]),
            (0, 'compensated_terms', [[''], ['gravity']]),
            (1, 'damping', [0.001, 0.01]),
            (1, 'torque_cutoff', [0.0, 10.0]),
            (1, 'wrench_cutoff', [0.0, 30.0]),
            (1, 'torque_dead_band', [0.0, 1.0]),
            (1, 'contact_duration', [0.0, 0.01]),
            (1, 'effort_delay', [0.0, 0.0, 0.003]),
            (1, 'observer_time_constant', [0.001, 0.02]),
            (1, 'observer', [*OBSERVERS]),
        )[random.integers(0, 10)]
        both.set(owner, **{name: values[random.integers(0, len(values))]})

    def robot():
        both.set(1, frames=[''])  # links of any robot
        both.describe(ARM if random.integers(0, 2) else PLANAR)

    def layout():
        both.joints = [both.joints[k] for k in random.permutation(len(both.joints))]

    def listeners():
        names = 'torque', 'gravity', 'commands', '_tcp', 'state', 'collision', 'link2', 'tf'
        both.listen(tuple(random.choice(names, 3)))

    def outputs():
        both.set(singularity_rate=float(random.choice([20.0, 300.0])))
        links = both.plain.host.model.robot.link_names
        both.set(1, frames=[random.choice(['', links[-1], links[-2]])])

    acts = [state] * 30 + [odd_state, odd_stamp, pause, payload, parameter, hosted_parameter] * 2
    acts += [robot, layout, listeners, outputs, gc.collect]
    for _ in range(70):
        acts[random.integers(0, len(acts))]()
    assert {'handed over', 'done'} <= set(both.loop.outcomes)
