# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The simulator: a driver that moves by forward dynamics, obeys and yields.

In the process of the tests, whose clock they turn; beside other nodes through DDS.
"""

from functools import partial

import numpy as np
import pytest
from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String

from screw_dynamics_ros.core import Robot
from support.robots import urdf_path
from support.ros_harness import DIRECT, LATCHED, stamp_of

TOOL = 'panda_hand_tcp'
BENT = [0.0, 0.0, 0.0, -1.57, 0.0, 1.87, 0.0, 0.02]  # an arm that can move to all sides
PERIOD = 5_000_000  # ns


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('panda'))


@pytest.fixture
def make(node_bench):
    return partial(node_bench, rate=200.0)


@pytest.fixture
def bench(make, robot):
    return make(
        motion_amplitude=0.0, initial_joints=list(robot.joint_names), initial_positions=BENT
    )


def test_efforts_are_those_of_coupled_motors(make, robot):
    """Motor 7 turns with joint 6: motor 6 gives what is left of the torque of joint 6."""
    _, q, _, tau = make(
        motion_amplitude=0.0,
        initial_joints=list(robot.joint_names),
        initial_positions=[0.3, 0.5, 0.2, -1.57, 0.4, 1.2, 0.7, 0.02],
        **{
            'drive_joints': ['panda_joint7'],
            'drives.panda_joint7.coupled_joints': ['panda_joint6'],
            'drives.panda_joint7.coupling_ratios': [-1.0],
        },
    ).states(5)
    expected = robot.gravity_torques(q)
    expected[:, 5] += expected[:, 6]
    assert np.abs(expected[:, 6]).max() > 1e-3
    np.testing.assert_allclose(tau, expected, atol=1e-5)


def test_it_begins_at_home_and_stays_there(make, robot):
    """With the elbow and the fingers on their stops."""
    _, q, v, tau = make(motion_amplitude=0.0).states(30)
    np.testing.assert_array_equal(q[0], robot.home())
    np.testing.assert_allclose(q, np.tile(q[0], (30, 1)), rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(v, 0.0, atol=1e-9)
    np.testing.assert_allclose(tau, robot.gravity_torques(q), atol=1e-5)


def test_it_holds_still_against_gravity(bench, robot):
    stamps, q, v, tau = bench.states(30)
    assert tuple(bench.sent['joint_states'][0].name) == robot.joint_names
    np.testing.assert_allclose(q, np.tile(q[0], (30, 1)), atol=1e-6)
    np.testing.assert_allclose(v, 0.0, atol=1e-6)
    np.testing.assert_allclose(tau, robot.gravity_torques(q), atol=1e-5)
    assert set(np.diff(stamps)) == {PERIOD}


def test_push_and_release(bench, robot):
    """Under a constant wrench it yields until the springs carry it; then both balance."""
    wrench = np.array([0.2, -0.1, 0.3, 6.0, -4.0, 5.0])
    message = WrenchStamped(
        header=Header(frame_id=TOOL),
        wrench=Wrench(torque=Vector3(x=0.2, y=-0.1, z=0.3), force=Vector3(x=6.0, y=-4.0, z=5.0)),
    )

    def push():
        bench.hear('external_wrench', message)

    start = bench.states(1)[1][0]
    push()
    bench.wait(lambda: bench.status().values['pushed at'] == TOOL)
    q, _, tau = bench.until(
        lambda q, v, tau: np.abs(v).max() < 1e-3 and np.abs(q - start).max() > 0.003, push
    )
    J = robot.jacobian(q, TOOL, 'body')
    np.testing.assert_allclose(robot.gravity_torques(q) - tau, J.T @ wrench, atol=0.05)
    # It ends with the messages.
    bench.states(200)
    assert bench.status().values['pushed at'] == 'nothing'
    bench.until(lambda q, v, tau: np.abs(q - start).max() < 1e-3)


def test_it_moves_as_forward_dynamics_says(bench, robot):
    """Driven by commands: velocities between states follow from the accelerations of the model."""
    command = robot.gravity_torques(BENT)
    command[[0, 3, 6]] += [2.0, -3.0, 0.2]
    _, q, v, tau = bench.states(12, lambda: bench.command(*command))
    np.testing.assert_allclose(tau, np.tile(command, (12, 1)), atol=1e-12)
    dt = 0.005
    for k in range(11):
        a = (
            robot.forward_dynamics(q[k], v[k], command)
            + robot.forward_dynamics(q[k + 1], v[k + 1], command)
        ) / 2  # trapezoidal rule
        np.testing.assert_allclose(v[k + 1] - v[k], a * dt, atol=2e-3 * np.abs(a).max() * dt + 1e-5)
        np.testing.assert_allclose(q[k + 1] - q[k], (v[k] + v[k + 1]) / 2 * dt, atol=1e-5)
    assert bench.status().values['driven by'] == '~/effort_commands'
    # Without further commands it holds where it is, at rest.
    bench.states(100)
    bench.until(lambda q, v, tau: np.abs(v).max() < 1e-3)
    assert bench.status().values['driven by'] == 'gravity compensation'


def test_a_pause_in_time_of_the_system(bench):
    """Joint states end, and go on with the time of day, as if the robot had been switched off."""
    before = bench.states(5)[0][-1]
    assert bench.switch('pause', True).success
    bench.sent['joint_states'].clear()
    bench.go_on(10.0)
    assert bench.sent['joint_states'] == []
    assert bench.status().values['state'] == 'paused'
    assert bench.switch('pause', False).success
    now = bench.clock.time_ns()
    after = bench.states(5)[0]
    assert after[0] - before == pytest.approx(10 * 10**9, abs=2 * PERIOD)
    assert after[0] == pytest.approx(now, abs=PERIOD)
    assert set(np.diff(after)) == {PERIOD}


def states(client, count):
    """Return the next states, as arrays of stamps, positions, velocities and efforts."""
    client.received['joint_states'].clear()
    client.wait(lambda: len(client.received['joint_states']) >= count, what='joint states')
    got = client.received['joint_states'][:count]
    return [
        np.array(values)
        for values in (
            [stamp_of(m) for m in got],
            [m.position for m in got],
            [m.velocity for m in got],
            [m.effort for m in got],
        )
    ]


def test_commands_of_the_dynamics_node_balance_the_robot(start, connect, robot):
    """dynamics ~/commands feed the simulator directly: it floats, weightless and unharmed.

    In lock step each state waits for its command, however slow the machine is, and the motors
    have those torques until the next state.
    """
    start(
        'simulator',
        {
            'rate': 200.0,
            'motion_amplitude': 0.0,
            'clock': 'lock_step',
            'initial_joints': str(list(robot.joint_names)),
            'initial_positions': str(BENT),
        },
        ['-r', '__ns:=/floating'],
    )
    node = start(
        'dynamics',
        {'use_sim_time': True, **DIRECT},
        ['-r', '__ns:=/floating', '-r', '~/commands:=simulator/effort_commands'],
    )
    client = connect('floating')
    client.subscribe(JointState, 'joint_states', 'dynamics/feedforward', profile=1000)
    computed = client.received['dynamics/feedforward']
    client.wait(lambda: computed and any(computed[-1].effort), what='torques; the first are 0')
    assert client.set_parameter('simulator', 'lock_step_timeout', 0.0).successful
    stamps, q, v, tau = states(client, 200)
    client.wait(lambda: client.with_stamp('dynamics/feedforward', stamps[-1]), what='torques')
    description = []
    client.node.create_subscription(String, 'robot_description', description.append, LATCHED)
    client.wait(lambda: description, what='the description, which is latched')
    assert Robot.from_urdf(description[0].data).joint_names == robot.joint_names
    assert set(np.diff(stamps)) == {PERIOD}
    commands = np.array([client.with_stamp('dynamics/feedforward', t).effort for t in stamps])
    for k, command in enumerate(commands):
        needed = robot.inverse_dynamics(q[k], v[k], np.zeros(robot.nv))
        np.testing.assert_allclose(command, needed, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(tau[1:], commands[:-1], rtol=1e-12, atol=1e-12)
    assert np.abs(q - q[0]).max() < 0.2
    assert np.abs(v).max() < 0.2
    assert node.stop() == 0


def test_bringup_hosts_it_too(start, connect, robot):
    """Both nodes in one process; the model state is that of the simulated robot."""
    start('bringup', {'nodes': "['simulator', 'dynamics']", 'rate': 50.0}, ['-r', '__ns:=/all'])
    client = connect('all')
    client.subscribe(JointState, 'dynamics/gravity')
    client.subscribe(JointState, 'joint_states', profile=qos_profile_sensor_data)
    seen = {}

    def pair():
        """Return a state and its gravity."""
        for state in client.received['joint_states']:
            seen[stamp_of(state)] = state
        for message in client.received['dynamics/gravity']:
            if stamp_of(message) in seen:
                return seen[stamp_of(message)], message
        client.received['joint_states'].clear()
        return None

    state, message = client.wait(pair, what='gravity of a state')
    np.testing.assert_allclose(
        message.effort, robot.gravity_torques(np.array(state.position)), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize(
    ('parameters', 'reason'),
    [
        ({'urdf': '/nowhere/robot.urdf'}, '/nowhere/robot.urdf'),
        ({'robot_description': '"<robot"'}, 'XML'),
        (
            {'initial_joints': "['panda_joint4']", 'initial_positions': '[0.0]'},
            "0 of 'panda_joint4' is beyond its limits, -3.0718 to -0.0698",
        ),
    ],
)
def test_it_ends_with_a_reason_when_it_cannot_start(start, parameters, reason):
    """More reasons, without processes: `test_node_simulator_world.py`."""
    node = start('simulator', parameters, ['-r', '__ns:=/never'])
    assert node.wait() == 1
    assert reason in node.output
    assert 'Traceback' not in node.output


def test_initial_positions_and_motion(make, robot):
    bench = make(
        initial_joints=['panda_joint2', 'panda_joint1'],
        initial_positions=[0.5, -0.25],
        motion_period=0.5,
        motion_amplitude=0.1,
        integrator='semi_implicit',
    )
    _, q, _, _ = bench.states(160)
    center = robot.home()
    center[[0, 1]] = -0.25, 0.5
    assert (np.abs(q - center)[:, :7] < 0.2).all()
    assert (np.ptp(q, axis=0)[:7] > 0.02).all()
