# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint states that contradict themselves: /diagnostics say so, and torques do not follow them."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core import Robot
from support.robots import urdf_path
from support.ros_harness import ERROR, WARN

ARM = (
    urdf_path('planar_2r')
    .read_text()
    .replace('continuous', 'revolute')
    .replace('<limit ', '<limit lower="-6.28" upper="6.28" ')
)
JOINTS = ['joint1', 'joint2']
STEP, CORIOLIS, STATES = 0.01, 'dynamics/coriolis', 'contrary/bringup: joint states'
FACTOR = 0.5 / np.pi


@pytest.fixture(scope='module')
def shared(start, connect):
    start('bringup', arguments=['-r', '__ns:=/contrary'])
    made = connect('contrary')
    made.describe(ARM)
    made.subscribe(JointState, CORIOLIS)
    return made


@pytest.fixture
def client(shared, request):
    """Return the client of a node that knows nothing of the states of another test."""
    shared.describe(ARM.replace('<robot name="', f'<robot name="{request.node.name}_'))
    return shared


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(ARM)


class Driver:
    """Both joints swing; the velocity of the second is in turns/s."""

    def __init__(self, client):
        self.client, self.t, self.q, self.dq = client, 0.0, np.zeros(2), np.zeros(2)

    def send(self):
        self.t += STEP
        rate = np.array([3.0, 4.0])
        q = 0.5 * np.sin(rate * self.t)
        self.q, self.dq = q, q - self.q
        self.reported = 0.5 * rate * np.cos(rate * self.t) * [1.0, FACTOR]
        return self.client.send(JOINTS, q, self.reported, [0.0, 0.0], step=STEP)

    def answer(self):
        """Return the Coriolis torques of one more state."""
        stamp = self.send()
        message = self.client.wait(lambda: self.client.with_stamp(CORIOLIS, stamp))
        return np.array(message.effort)


def test_velocities_of_another_unit(client, robot):
    driver = Driver(client)
    client.wait(lambda: client.received[CORIOLIS] or not driver.send(), what='an output')
    client.expect(
        STATES,
        ERROR,
        'joint joint2: the velocities are in turns/s',
        'are ignored (velocity_policy: differentiate)',
        'correct the driver',
        meanwhile=driver.send,
    )
    tau, v = driver.answer(), [driver.reported[0], driver.dq[1] / STEP]
    assert tau == pytest.approx(robot.coriolis_torques(driver.q, v), rel=1e-6)
    client.set_parameter('bringup', 'velocity_conflict_policy', 'report')
    client.expect(
        STATES, ERROR, 'are used (velocity_conflict_policy: report)', meanwhile=driver.send
    )
    tau = driver.answer()
    assert tau == pytest.approx(robot.coriolis_torques(driver.q, driver.reported), rel=1e-6)


class WrappingDriver:
    """The second joint passes pi to and fro at 1.5 rad/s; its positions are wrapped there."""

    def __init__(self, client):
        self.client, self.k = client, 0

    def send(self):
        self.k += 1
        q = np.array([0.4, 3.0 + 1.5 * STEP * abs(self.k % 40 - 20)])
        return self.client.send(JOINTS, (q + np.pi) % (2.0 * np.pi) - np.pi, step=STEP)


def test_a_driver_that_wraps_positions(client, robot):
    """Coriolis torques would be 40 000 N m for 6.28 rad in 0.01 s."""
    driver = WrappingDriver(client)
    client.expect(
        STATES,
        WARN,
        'a position steps by a turn, faster than the joint can move: joint2 from ',
        '(wrap_policy: unwrap)',
        meanwhile=driver.send,
    )
    begin = len(client.received[CORIOLIS])
    client.wait(lambda: len(client.received[CORIOLIS]) > begin + 100 or not driver.send())
    v = [0.0, 1.5]
    expected = max(
        np.abs(robot.coriolis_torques([0.4, q], v)).max() for q in np.linspace(3.0, 3.3, 9)
    )
    largest = np.abs([message.effort for message in client.received[CORIOLIS][begin:]]).max()
    assert 0.5 * expected < largest < 1.01 * expected
