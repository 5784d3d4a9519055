# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""States and offsets that the compiled loop completes: loops, motors, residuals of a pose."""

from collections import Counter

import numpy as np
import pytest
import yaml

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.mechanisms.closures import ClosedRobot, read_loop_closures
from screw_dynamics_ros.ros.joint_states.policies import Reason
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from support.answered_states import WithSensor
from support.linkages import CLOSURES, FOUR_BAR
from support.loop_pair import PLANAR
from support.messages import wrench_message
from support.paths import URDF
from support.residual_models import some_model

DELTA = (URDF / 'loops' / 'delta_gripper.urdf').read_text()
DELTA_CLOSURES = URDF / 'loops' / 'delta_gripper_closures.yaml'
TOPICS = '/gravity', '/coriolis', '/mass_matrix', '/external_torque', '/tf'
STATES = 160


def follow(both, motion, count):
    """Send states of a motion, a function of the time that returns positions and rates.

    What the messages report is known in the end, too.
    """
    for _ in range(count):
        both.wait(0.001)
        q, v = motion(both.loop.clock.offset)
        both.send(q=q, v=v, tau=2.0 + q)
    with STATE_LOCK:
        mappers = [node.host.mapper for node in both.nodes]
        values = [each.whole_values for each in mappers]
        blocks = [each.reported.take() for each in mappers]
    np.testing.assert_array_equal(*values)
    for first, second in zip(*blocks):
        np.testing.assert_array_equal(first, second)
    assert len(blocks[0][0]) >= count


def swing(middle, amplitude, rate=2.0):
    """Return a harmonic motion about a configuration."""
    middle = np.asarray(middle)
    return lambda t: (
        middle + amplitude * np.sin(rate * t),
        np.full(len(middle), amplitude * rate * np.cos(rate * t)),
    )


@pytest.fixture
def files(tmp_path):
    """Return a function that writes a file of closures for the four-bar."""

    def write(roles):
        path = tmp_path / 'closures.yaml'
        path.write_text(f'{CLOSURES}{roles}\npositions: {{a: 1.0, b: -0.5, c: -1.2}}\n')
        return str(path)

    return write


def test_coupled_motors_need_no_python(pair):
    """Torques of joints are C^T tau: the second motor turns with half of the first joint."""
    coupling = {'drives.joint2.coupled_joints': ['joint1'], 'drives.joint2.coupling_ratios': [0.5]}
    both = pair(description=PLANAR, model_state=[''], drive_joints=['joint2'], **coupling)
    both.listen(TOPICS)
    follow(both, swing([0.4, -0.3], 0.5), STATES)
    assert Counter(both.loop.outcomes[-STATES + 5 :]) == {'done': STATES - 5}
    both.send(q=[0.1, 0.2], tau=[3.0, -1.0], stamp=both.stamp + 10**6)
    np.testing.assert_allclose(both.loop.host.mapper.tau, [2.5, -1.0], rtol=1e-15)


def test_a_new_coupling_of_motors_is_that_of_the_next_states(pair):
    """So are efforts of a robot whose motors are no longer coupled."""
    both = pair(description=PLANAR, model_state=[''], drive_joints=['joint2'])
    both.listen(TOPICS)
    for ratio in (0.5, 0.25, 0.0):
        joints = ['joint1'] if ratio else ['']
        both.set(
            **{
                f'drives.joint2.{name}': value
                for name, value in (
                    ('coupled_joints', joints),
                    ('coupling_ratios', [ratio] if ratio else []),
                )
            }
        )
        both.listen(TOPICS)
        both.states(8, q=[0.1, 0.2], v=[0.0, 0.0], tau=[3.0, -1.0])
        assert both.loop.outcomes[-1] == 'done'
        np.testing.assert_allclose(both.loop.host.mapper.tau, [3.0 - ratio, -1.0], rtol=1e-15)


@pytest.mark.parametrize('roles', ['actuated: [a]', 'actuated: [a]\nsensed: [a, c]'])
def test_four_bars_need_no_python(pair, files, roles):
    """The state is that of the core, also with more sensors than freedoms."""
    path = files(roles)
    both = pair(description=FOUR_BAR, model_state=[''], loop_closures=path)
    closed = closed_robot(FOUR_BAR, path)
    both.listen(TOPICS)
    move = swing([1.0], 0.5)
    joints = [list(closed.robot.joint_names).index(name) for name in both.joints]

    def motion(t):
        found = closed.state(*move(t))
        return found.q[joints], found.v[joints]

    follow(both, motion, STATES)
    assert Counter(both.loop.outcomes[-STATES + 5 :]) == {'done': STATES - 5}
    expected = closed.state(*move(both.loop.clock.offset))
    np.testing.assert_allclose(both.loop.host.mapper.q, expected.q, atol=1e-8)
    np.testing.assert_allclose(both.loop.host.mapper.v, expected.v, atol=1e-8)


def closed_robot(urdf, path):
    """Return a mechanism, computed by the recursions themselves."""
    with open(path, encoding='utf-8') as file:
        loops = read_loop_closures(yaml.safe_load(file))
    return ClosedRobot(Robot.from_urdf(urdf, backend='reference'), loops)


def test_a_delta_gripper_needs_no_python(pair):
    both = pair(description=DELTA, model_state=[''], loop_closures=str(DELTA_CLOSURES))
    both.listen(TOPICS)
    follow(both, swing([0.4, 0.5, 0.3], 0.1), STATES)
    assert Counter(both.loop.outcomes[-STATES + 5 :]) == {'done': STATES - 5}


def test_states_that_cannot_be_completed_are_reported(pair, files):
    """Python finds the reason, and the loop continues with the next good state."""
    path = files('actuated: [a]\nsensed: [c]')
    both = pair(description=FOUR_BAR, model_state=[''], loop_closures=path)
    closed = closed_robot(FOUR_BAR, path)
    both.listen(TOPICS)
    assembly = closed.assembly[2]
    extremum = closed.configuration([0.0])[2]  # the crank is on the line of the frame
    way = np.linspace(assembly, extremum, 20)[:-1, None]
    texts = []
    for bad in (assembly + 0.9, extremum):
        for q in (*way, [bad], *way[::-1]):
            both.wait(0.001)
            both.send(q=q, v=[0.1], tau=[0.0])
        assert Counter(both.loop.outcomes[-20:])['done'] == 18  # after the first good one
        first, second = (
            node.host.states.status(1.0, '').summary for node in (both.loop, both.plain)
        )
        assert first == second
        texts.append(both.loop.host.mapper.records[Reason.LOOPS_OPEN].detail)
        assert texts[-1] in first
    assert both.loop.host.mapper.records[Reason.LOOPS_OPEN].count == 2
    assert 'do not close' in texts[0]
    assert 'the joints with sensors do not determine the other joints' in texts[1]


@pytest.mark.parametrize('seed', range(2))
def test_states_of_a_loop_in_any_order(pair, files, seed):
    """Refused and partial messages leave what they must, and the clock may go back."""
    both = pair(description=FOUR_BAR, model_state=[''], loop_closures=files('actuated: [a]'))
    both.listen(TOPICS)
    random = np.random.default_rng(seed)
    for k in range(150):
        both.wait(float(random.choice([0.001, 0.002, 0.004] * 20 + [1.0])))
        q = 1.0 + 0.4 * np.sin(0.3 * k) + random.choice([0.0] * 20 + [4.0, -4.0, np.nan, np.inf])
        names = [None, ['c', 'a']][random.integers(0, 2) if k % 30 > 20 else 0]
        numbers = [[0.1, q], [np.nan, 0.2], [3.0, 1.0]] if names else [[q], [0.2], [1.0]]
        late = random.integers(0, 25) == 0
        both.send(*numbers, names=names, stamp=both.stamp - 5 * 10**9 if late else None)
        if random.integers(0, 60) == 0:
            for node in both.nodes:
                node.host.states.restart_time(10**9)
    assert {'done', 'handed over'} <= set(both.loop.outcomes)


@pytest.mark.parametrize('closures', ['', 'actuated: [a]'])
def test_efforts_that_are_not_used_need_no_python(pair, files, closures):
    """They count as zero, and each state notes why."""
    path = files(closures) if closures else ''
    both = pair(
        description=FOUR_BAR if closures else PLANAR,
        model_state=[''],
        loop_closures=path,
        effort_condition='currents=true',
    )
    both.listen(TOPICS)
    follow(both, swing([1.0] if closures else [0.4, -0.3], 0.5), 40)
    assert both.loop.outcomes[-35:] == ['done'] * 35
    mapper = both.loop.host.mapper
    assert mapper.records[Reason.EFFORT_UNKNOWN].count == mapper.accepted == 40
    assert not mapper.tau.any()


def test_a_residual_map_needs_no_python(pair):
    """Nor does its confidence; recording, fitting and a tare change both nodes alike."""
    both = pair(description=PLANAR, model_state=[''])
    both.set(1, tare_samples=4)
    topics = '/external_torque', '_torque_covariance', '/residual', '/residual_confidence'
    both.listen(topics)
    residuals = [tare_of(node).residuals for node in both.nodes]

    def ask(task):
        for node in both.nodes:
            with STATE_LOCK:
                task(tare_of(node))
        for each in residuals:
            both.loop.wait(lambda each=each: not each._background.is_busy)

    def rest(q, count=4):
        for node in both.nodes:
            tare_of(node)._states.forget()
        both.states(count, 0.002, q=q, v=[0.0, 0.0], tau=[np.sin(q[0]), 3.0 + q[1]])

    for a in (-0.5, 0.0, 0.5):
        for b in (-0.4, 0.3, 1.0):
            rest([a, b])
            ask(lambda tare: tare.residuals._record())
    ask(lambda tare: tare.residuals._fit())
    follow(both, swing([0.1, 0.2], 0.8), STATES)
    assert Counter(both.loop.outcomes[-STATES + 5 :]) == {'done': STATES - 5}
    found = residuals[0].model
    assert found is not None
    q, offset = both.loop.host.mapper.q, tare_of(both.loop).record.offset
    np.testing.assert_allclose(offset, found.residual(q), rtol=1e-14)
    rest([0.2, 0.1])
    ask(lambda tare: tare._tare())
    follow(both, swing([0.1, 0.2], 0.8), 20)
    assert both.loop.outcomes[-15:] == ['done'] * 15
    assert abs(offset - found.residual(q)).max() > 0.01  # the tare is added
    ask(lambda tare: tare.residuals.drop())
    both.set(1, tare_samples=5)
    follow(both, swing([0.1, 0.2], 0.8), 20)
    assert len([name for name, _ in both.published if name.endswith('_confidence')]) > STATES


@pytest.mark.parametrize('observer', ['momentum', 'kalman'])
def test_a_residual_model_needs_no_python(pair, observer):
    """Nor its covariance; both nodes restart its memory alike after pauses."""
    both = pair(description=PLANAR, model_state=[''])
    both.set(1, observer=observer)
    both.listen(('/external_torque', '_torque_covariance', '/residual', '/residual_confidence'))
    for node in both.nodes:
        with STATE_LOCK:
            tare_of(node).residuals._use(some_model(n=2, turning=(1, 1)))
    follow(both, swing([0.1, 0.2], 0.8), STATES)
    assert Counter(both.loop.outcomes[-STATES + 5 :]) == {'done': STATES - 5}
    both.wait(3.0)
    follow(both, swing([0.1, 0.2], 0.8), 5)
    assert tare_of(both.loop).residuals.model.memory[3] > 0.4  # little motion since the pause
    follow(both, swing([0.1, 0.2], 0.8), STATES)
    model, record = (getattr(tare_of(both.loop), x) for x in ('residuals', 'record'))
    found, mapper = model.model, both.loop.host.mapper
    assert abs(found.memory[:2]).max() > 0.5
    np.testing.assert_allclose(record.offset, found.residual(mapper.q), rtol=1e-14)


def test_a_filtered_reduced_wrench_needs_no_python(pair):
    """Nor dead bands, whatever interrupts the filter."""
    both, random = pair(model_state=['']), np.random.default_rng(6)
    topics = '/reduced_wrench/panda_hand_tcp', '/reduced_wrench/panda_link5'
    both.set(1, frames=['panda_hand_tcp', 'panda_link5'], singularity_threshold=0.05)
    middle = np.array([0.3, -0.5, 0.2, -2.0, 0.4, 1.6, 0.7, 0.02])
    for values in (
        {'wrench_cutoff': 20.0},
        {'force_dead_band': 5.0},
        {'wrench_cutoff': 0.0, 'moment_dead_band': 1.0},
        {'wrench_cutoff': 90.0},
    ):
        both.set(1, **values)
        both.listen(topics)
        for k in range(STATES // 4):
            both.wait(float(random.choice([0.001, 0.002, 0.004])))
            q = middle * (k % 50 > 5)  # stretched out: fewer directions
            both.send(q=q + 1e-3 * k, v=np.full(8, 0.1), tau=random.uniform(-20.0, 20.0, 8))
        assert both.loop.outcomes[-35:] == ['done'] * 35
        both.wait(3.0)
    for topic in topics:
        assert len([name for name, _ in both.published if name.endswith(topic)]) > STATES // 2


def test_the_motion_of_a_wrist_sensor_needs_no_python(pair):
    """Wrenches are those of the stamps of the sensor, between two states."""
    both = pair(part=WithSensor, model_state=[''])
    both.set(2, sensor_frame='panda_hand', frames=['panda_link0'], tool_mass=0.5)
    both.set(2, tool_center_of_mass=[0.0, 0.01, 0.05])
    topics = '/wrist_sensor/wrench', '/wrench_at/panda_link0'

    def measure(force):
        vectors = [force, 0.0, 0.0], [0.0, 0.0, 0.1 * force]
        message = wrench_message('panda_hand', *vectors, stamp=both.stamp - 300_000)
        for node in both.nodes:
            with STATE_LOCK:
                node.part.sensor._on_wrench(message)
        both.compare()

    middle, random = np.array([0.3, -0.5, 0.2, -2.0, 0.4, 1.6, 0.7, 0.02]), np.random.default_rng(2)
    for cutoff in (10.0, 40.0, 0.0):
        both.set(2, acceleration_cutoff=cutoff)
        both.listen(topics)
        both.wait(3.0)  # a pause
        for k in range(STATES // 3):
            follow(both, swing(middle, 0.01, 20.0), 1)
            if k % 3 == 0:
                measure(random.normal())
        assert both.loop.outcomes[-45:] == ['done'] * 45
        both.wait(0.001)
        both.send(q=middle, v=np.full(8, np.nan))
        measure(1.0)
    for topic in topics:
        assert len([name for name, _ in both.published if name.endswith(topic)]) > STATES // 6


def tare_of(node):
    """Return the offsets of external torques."""
    (group,) = [each for each in node.host.builder.groups if hasattr(each, '_tare')]
    return group._tare
