# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Every fault of the simulated sensors through DDS, set and cleared while the simulation runs.

In lock step, beside the truth, which the simulator publishes too.
"""

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from support.lock_step import JOINTS, PERIOD, LockStep, arm
from support.ros_harness import stamp_of

TRUTH = 'simulator/ground_truth/joint_states'
MOVING = (0.3, -0.3, 0.02)


@pytest.fixture(scope='module')
def driver(start, connect, tmp_path_factory):
    path = tmp_path_factory.mktemp('urdf') / 'arm.urdf'
    path.write_text(arm())
    made = LockStep(
        start, connect, path, 'faults', step=0.01, servo_frequency=15.0, lock_step_timeout=0.02
    )
    made.client.subscribe(JointState, TRUTH)
    made.client.wait(lambda: made.client.received[TRUTH], what='the truth')
    return made


@pytest.fixture(autouse=True)
def beginning(driver):
    driver.begin()
    driver.client.received[TRUTH].clear()
    yield
    driver.trigger('clear_faults')


def measured(driver, count=40, **faults):
    """Return what is reported with some faults, and the truth of the same times: (N, 3, 3) each."""
    driver.set(**{f'faults__{name}': value for name, value in faults.items()})
    first = len(driver.messages)
    for _ in range(count):
        driver.command('velocity', *MOVING)
    return compared(driver, first)


def compared(driver, first):
    """Return the reported states from the first one on, and the truth of the same times."""
    driver.client.wait(
        lambda: driver.client.with_stamp(TRUTH, driver.stamps[-1]), what='the truth of the last'
    )
    truth = {stamp_of(message): values(message) for message in driver.client.received[TRUTH]}
    said = driver.messages[first:]
    return np.array([values(message) for message in said]), np.array(
        [truth[stamp_of(message)] for message in said]
    )


def values(message):
    return np.array([message.position, message.velocity, message.effort])


def test_without_faults_the_truth_is_reported(driver):
    said, true = measured(driver)
    np.testing.assert_array_equal(said, true)
    assert np.abs(true[-1, 1]).min() > 0.01


def test_bias(driver):
    said, true = measured(driver, 5, velocity_bias=[0.25], position_bias=[0.0, 0.1, 0.0])
    np.testing.assert_allclose(said - true, [[[0.0, 0.1, 0.0], [0.25] * 3, [0.0] * 3]] * 5)


def test_delay(driver):
    """States come three periods late, with the stamps of when they were measured, none is lost.

    Where nothing is published, there is nothing to answer: time goes on by itself until the first
    state comes.
    """
    driver.trigger('reset')
    driver.wait_for_states(2)
    driver.set(faults__delay=3e-9 * PERIOD)
    driver.command('velocity', *MOVING)
    driver.set(lock_step_timeout=0.0)
    for _ in range(10):
        driver.command('velocity', *MOVING)
    assert np.diff(driver.stamps[1:]).tolist() == [PERIOD] * 11
    driver.client.wait(lambda: now(driver) == driver.stamps[-1] + 3 * PERIOD, what='the clock')
    said, true = compared(driver, 1)
    np.testing.assert_array_equal(said, true)


def now(driver):
    clock = driver.client.received['/clock'][-1].clock
    return clock.sec * 10**9 + clock.nanosec


@pytest.mark.parametrize(
    ('name', 'value', 'reason'),
    [
        ('nan_joints', ['knee'], "'knee'"),
        ('dropout', 1.5, 'faults.dropout'),
    ],
)
def test_impossible_faults_are_refused(driver, name, value, reason):
    result = driver.client.set_parameter('simulator', f'faults.{name}', value)
    assert not result.successful
    assert reason in result.reason


def test_clamped_commands_are_a_warning_until_they_are_cleared(driver):
    driver.set(faults__enforce_command_limits=True)
    driver.client.expect(driver.faults, 1, 'faults.enforce_command_limits', 'controller_manager')
    assert driver.trigger('clear_faults').success
    driver.client.expect(driver.faults, 0)
    assert driver.client.parameters('simulator')['faults.enforce_command_limits'] is False


def test_active_faults_are_warnings_until_they_are_cleared(driver):
    driver.set(faults__position_bias=[0.5], faults__nan_joints=['elbow'])
    said = driver.client.expect(driver.faults, 1, 'simulated faults', 'position_bias', 'nan_joints')
    assert said['faults.nan_joints'] == 'elbow'
    assert driver.trigger('clear_faults').success
    driver.client.expect(driver.faults, 0)
    parameters = driver.client.parameters('simulator')
    assert list(parameters['faults.position_bias'] or []) == []
    assert list(parameters['faults.nan_joints'] or []) == []
    assert list(parameters['faults.nan_quantities']) == ['position', 'velocity', 'effort']
    said, true = measured(driver, 3)
    np.testing.assert_array_equal(said, true)
    assert driver.messages[-1].name == list(JOINTS)
