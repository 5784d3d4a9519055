# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Time of the simulator through DDS: lock step, pause, single steps, reset, other states."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from support.lock_step import JOINTS, PERIOD, START, LockStep, Responder, arm
from support.ros_harness import stamp_of

#: One step of the integration for each state, and servos that are stable with that.
QUICK = {'step': 0.01, 'servo_frequency': 15.0, 'posture_frequency': 15.0}


@pytest.fixture(scope='module')
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp('urdf') / 'arm.urdf'
    path.write_text(arm())
    return path


@pytest.fixture(scope='module')
def driver(start, connect, path):
    return LockStep(start, connect, path, 'time', **QUICK, seed=5)


@pytest.fixture(autouse=True)
def beginning(driver):
    driver.begin()


NOISY = {
    'faults__position_noise': [1e-3],
    'faults__velocity_noise': [1e-2, 2e-2, 0.0],
    'faults__effort_noise': [0.1],
    'faults__jitter': 0.004,
}


def run(driver, count=100):
    """Return the bytes of some states with noise, commanded by a fixed sequence."""
    driver.begin()
    driver.set(**NOISY)
    driver.raw.clear()
    driver.messages.clear()
    driver.trigger('reset')
    driver.wait_for_states(1)
    rng = np.random.default_rng(1)
    for k in range(count):
        interface = ('effort', 'position', 'velocity')[k // 7 % 3]
        driver.command(interface, *rng.normal(size=3))
    return list(driver.raw)


def test_each_state_is_answered_and_none_lost(driver, ros_domain):
    """As fast as the machine allows."""
    count = 1000
    unanswered = driver.report(0)['unanswered']
    driver.switch('pause', True)
    driver.messages.clear()
    responder = Responder(ros_domain, '/time', lambda message: message.effort)

    def begin():
        driver.trigger('reset')
        driver.switch('pause', False)

    try:
        responder.run(count, begin)
    finally:
        responder.close()
    assert responder.stamps == [PERIOD * k for k in range(1, count + 1)]
    assert driver.report(0)['unanswered'] == unanswered


def test_time_stands_still_without_an_answer(driver):
    """The clock is published again and again, and says the same each time."""
    assert driver.report(0)['state'] == 'waiting for a command'
    received = driver.client.received['/clock']
    received.clear()
    driver.client.wait(lambda: len(received) >= 3, what='the clock')
    assert {message.clock.sec * 10**9 + message.clock.nanosec for message in received} == {PERIOD}
    assert driver.stamps == [PERIOD]


def test_several_senders(driver):
    """Time goes on when each of them has sent its command."""
    driver.set(lock_step_commands=2)
    driver.trigger('reset')
    driver.wait_for_states(2)
    commands = driver.commands
    driver.command_without_waiting('position', *START)
    driver.until_commands(commands + 1)
    assert driver.stamps == [PERIOD] * 2
    driver.command('effort', 0.0, 0.0, 0.0)
    assert driver.stamps == [PERIOD] * 2 + [2 * PERIOD]
    driver.set(lock_step_commands=1)


def test_it_goes_on_with_a_warning_when_no_answer_comes(driver):
    driver.set(lock_step_timeout=0.05)
    driver.wait_for_states(3)
    values = driver.report(1, 'no command arrived within lock_step_timeout')
    assert int(values['unanswered'].split(';')[0]) >= 2


def test_two_runs_are_equal_byte_for_byte(driver, start, connect, path):
    """Of one process, and of another one with the same seed."""
    first = run(driver)
    assert len(first) > 50
    assert run(driver) == first
    same = LockStep(start, connect, path, 'same', **QUICK, seed=5)
    assert run(same) == first
    assert same.process.stop() == 0


def test_single_steps_during_a_pause(driver):
    assert driver.switch('pause', True).success
    driver.command_without_waiting('position', *START)
    driver.set(steps_per_request=7)
    answer = driver.trigger('step')
    assert answer.success
    assert answer.message == 'at 0.08 s'
    driver.wait_for_states(8)
    assert driver.stamps == [PERIOD * k for k in range(1, 9)]
    assert driver.report(0)['state'] == 'paused'
    assert driver.switch('pause', False).success
    driver.command('position', *START)
    assert len(driver.stamps) == 9


def test_steps_need_a_pause(driver):
    answer = driver.trigger('step')
    assert not answer.success
    assert answer.message == 'the simulation is running; call ~/pause with data: true first'
    assert driver.stamps == [PERIOD]


def test_reset_leads_back_to_the_beginning_of_time(driver):
    for _ in range(5):
        driver.command('effort', 100.0, 50.0, 10.0)
    driver.messages.clear()
    assert driver.trigger('reset').message == 'the initial state, at 0.01 s'
    driver.wait_for_states(1)
    assert driver.stamps == [PERIOD]
    np.testing.assert_array_equal(driver.last[0], START)
    driver.command('effort', 0.0, 0.0, 0.0)
    assert driver.stamps == [PERIOD, 2 * PERIOD]


def set_state(driver, **fields):
    message = JointState(**fields)
    driver.send(JointState, 'simulator/set_state', message)


def test_a_state_is_set_by_name(driver):
    """It is the next one that is published; time goes on."""
    set_state(driver, name=['elbow', 'finger'], position=[1.0, 0.02], velocity=[0.5, 0.0])
    driver.wait_for_states(2)
    assert driver.stamps == [PERIOD, 2 * PERIOD]
    np.testing.assert_allclose(driver.last[0], [0.0, 1.0, 0.02])
    np.testing.assert_allclose(driver.last[1], [0.0, 0.5, 0.0])
    set_state(driver, name=['elbow'], velocity=[0.0])
    driver.wait_for_states(3)
    np.testing.assert_allclose(driver.last[:2], [[0.0, 1.0, 0.02], [0.0] * 3])


def test_an_impossible_state_is_refused(driver):
    set_state(driver, name=['elbow'], position=[2.5])
    driver.report(1, 'refused ~/set_state', 'elbow')
    np.testing.assert_array_equal(driver.last[0], START)
    set_state(driver, name=['elbow'], position=[0.0])
    driver.report(0)
    driver.wait_for_states(2)
    assert driver.stamps == [PERIOD, 2 * PERIOD]


def test_a_divergence_stops_it_until_it_has_another_state(driver):
    """A velocity from which no step can go on; the last valid state is kept, and said why."""
    set_state(driver, name=['elbow'], velocity=[1e12])
    driver.wait_for_states(2)
    driver.command_without_waiting('effort', 0.0, 0.0, 0.0)
    values = driver.report(2, 'the simulation has stopped, at 0.020 s it diverged')
    assert values['state'] == 'stopped'
    driver.switch('pause', True)
    for answer in (driver.trigger('step'), driver.switch('pause', False)):
        assert not answer.success
        assert 'it diverged' in answer.message
        assert 'call ~/reset' in answer.message
    set_state(driver, name=['elbow'], velocity=[0.0])
    driver.wait_for_states(3)
    driver.switch('pause', False)
    np.testing.assert_array_equal(driver.last[:2], [START, [0.0] * 3])
    driver.command('position', *START)
    driver.report(0)


def test_random_sequences_of_requests(driver):
    """Pause, step, reset, states, commands good and bad, faults, in any order (seeded)."""
    rng = np.random.default_rng(11)
    paused = waiting = True  # an answer is waited for
    tick, faulty, shown_faulty = 1, False, False
    driver.switch('pause', True)
    commands = driver.commands
    actions = ['pause', 'step', 'reset', 'state', 'command', 'bad', 'freeze', 'fault', 'command']
    for _ in range(100):
        action = str(rng.choice(actions))
        before = tick
        if action == 'pause':
            paused = bool(rng.integers(2))
            assert driver.switch('pause', paused).success
            published = not paused and not waiting
        elif action == 'step':
            published = paused
            assert driver.trigger('step').success == paused
        elif action == 'reset':
            tick, published = 0, True
            assert driver.trigger('reset').success
        elif action == 'state':
            published = True
            set_state(driver, name=['elbow'], position=[rng.uniform(-1.0, 1.0)])
        elif action == 'command':
            published = waiting and not paused
            waiting = False
            driver.command_without_waiting('position', *rng.uniform(-0.5, 0.5, 3))
            commands += 1
            driver.until_commands(commands)
        else:
            published = False
            if action == 'bad':
                driver.send(
                    Float64MultiArray, 'simulator/effort_commands', Float64MultiArray(data=[1.0])
                )
            elif action == 'freeze':
                assert driver.switch('freeze_commands', bool(rng.integers(2))).success
            else:
                faulty = bool(rng.integers(2))
                if faulty:
                    driver.set(faults__nan_joints=['finger'])
                else:
                    assert driver.trigger('clear_faults').success
        if published:
            tick, waiting, shown_faulty = tick + 1, True, faulty
        driver.wait_for_stamp(tick * PERIOD, f'after {action} at tick {before}')
        assert np.isnan(driver.last[:, 2]).all() == shown_faulty
        assert np.isfinite(driver.last[:, :2]).all()
    driver.trigger('clear_faults')
    assert not driver.client.diagnostics[driver.name.replace('simulation', 'faults')][2]
    assert stamp_of(driver.messages[-1]) == tick * PERIOD
    assert driver.messages[-1].name == list(JOINTS)
