"""The simulator through DDS: a driver that moves by forward dynamics, obeys and yields."""

import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header, String
from std_srvs.srv import SetBool

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.simulation import middle_of_range
from support.robots import urdf_path
from support.ros_harness import DIRECT, LATCHED, stamp_of

TOOL = 'panda_hand_tcp'
NAME = 'sim/simulator: simulation'


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('panda'))


@pytest.fixture(scope='module')
def client(start, connect):
    start('simulator', {'rate': 200.0, 'motion_amplitude': 0.0}, ['-r', '__ns:=/sim'])
    made = connect('sim')
    made.subscribe(JointState, 'joint_states', profile=qos_profile_sensor_data)
    return made


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


def test_description_is_latched(client, robot):
    received = []
    client.node.create_subscription(String, 'robot_description', received.append, LATCHED)
    client.wait(lambda: received)
    assert Robot.from_urdf(received[0].data).joint_names == robot.joint_names


def test_it_holds_still_against_gravity(client, robot):
    client.wait(lambda: np.abs(states(client, 1)[2]).max() < 1e-7, what='coming to rest')
    stamps, q, v, tau = states(client, 30)
    assert tuple(client.received['joint_states'][0].name) == robot.joint_names
    np.testing.assert_allclose(q, np.tile(q[0], (30, 1)), atol=1e-6)
    np.testing.assert_allclose(v, 0.0, atol=1e-6)
    np.testing.assert_allclose(tau, robot.gravity_torques(q), atol=1e-5)
    # Stamps are those of the simulation: equally spaced, whatever the scheduler does.
    assert set(np.diff(stamps) % 5_000_000) == {0}


def test_push_and_release(client, robot):
    """Under a constant wrench it yields until the springs carry it; then both balance."""
    wrench = np.array([0.2, -0.1, 0.3, 6.0, -4.0, 5.0])
    message = WrenchStamped(
        header=Header(frame_id=TOOL),
        wrench=Wrench(torque=Vector3(x=0.2, y=-0.1, z=0.3), force=Vector3(x=6.0, y=-4.0, z=5.0)),
    )
    publisher = client.publisher(WrenchStamped, 'simulator/external_wrench')
    client.wait(lambda: np.abs(states(client, 1)[2]).max() < 1e-6, what='coming to rest')
    start = states(client, 1)[1][0]

    def is_balanced():
        publisher.publish(message)
        _, q, v, tau = states(client, 1)
        at_rest = np.abs(v).max() < 1e-3
        return at_rest and np.abs(q - start).max() > 0.003 and (q[0], tau[0])

    q, tau = client.wait(is_balanced, what='balance under the push')
    J = robot.jacobian(q, TOOL, 'body')
    np.testing.assert_allclose(robot.gravity_torques(q) - tau, J.T @ wrench, atol=0.05)
    # It ends with the messages.
    client.wait(lambda: np.abs(states(client, 1)[1] - start).max() < 1e-3, what='springing back')


def test_it_moves_as_forward_dynamics_says(client, robot):
    """Driven by commands: velocities between states follow from the accelerations of the model."""
    command = robot.gravity_torques(middle_of_range(robot))
    command[[0, 3, 6]] += [2.0, -3.0, 0.2]
    publisher = client.publisher(Float64MultiArray, 'simulator/effort_commands')

    def is_obeying():
        publisher.publish(Float64MultiArray(data=list(command)))
        return np.allclose(states(client, 1)[3], command, atol=1e-12)

    client.wait(is_obeying, what='obeyed commands')
    publisher.publish(Float64MultiArray(data=list(command)))
    stamps, q, v, tau = states(client, 12)
    consecutive = np.flatnonzero(
        (np.diff(stamps) == 5_000_000)
        & (np.abs(tau[:-1] - command).max(axis=1) < 1e-12)
        & (np.abs(tau[1:] - command).max(axis=1) < 1e-12)
    )
    assert len(consecutive) > 3
    dt = 0.005
    for k in consecutive:
        a = (
            robot.forward_dynamics(q[k], v[k], command)
            + robot.forward_dynamics(q[k + 1], v[k + 1], command)
        ) / 2  # trapezoidal rule
        np.testing.assert_allclose(v[k + 1] - v[k], a * dt, atol=2e-3 * np.abs(a).max() * dt + 1e-5)
        np.testing.assert_allclose(q[k + 1] - q[k], (v[k] + v[k + 1]) / 2 * dt, atol=1e-5)
    # Without further commands it holds where it is, at rest.
    client.wait(lambda: np.abs(states(client, 1)[2]).max() < 1e-3, what='coming to rest')
    client.diagnostics.pop(NAME, None)
    client.wait(
        lambda: (
            client.diagnostics.get(NAME, (0, '', {}))[2].get('driven by') == 'gravity compensation'
        ),
        what='a status made since then',
    )


@pytest.mark.parametrize('data', [[1.0], [float('nan')] * 8, []])
def test_bad_commands_are_refused(client, data):
    publisher = client.publisher(Float64MultiArray, 'simulator/effort_commands')
    publisher.publish(Float64MultiArray(data=data))
    client.expect(NAME, 1, '~/effort_commands: expected 8 finite numbers, for panda_joint1')
    assert np.isfinite(states(client, 3)[1]).all()


@pytest.mark.parametrize(
    ('message', 'reason'),
    [
        (WrenchStamped(header=Header(frame_id='nose')), "header.frame_id 'nose' is not a link"),
        (
            WrenchStamped(
                header=Header(frame_id=TOOL), wrench=Wrench(force=Vector3(x=float('inf')))
            ),
            'is not finite',
        ),
    ],
)
def test_bad_wrenches_are_refused(client, message, reason):
    client.publisher(WrenchStamped, 'simulator/external_wrench').publish(message)
    client.expect(NAME, 1, '~/external_wrench', reason)
    assert np.isfinite(states(client, 3)[1]).all()


def test_a_pause_in_time_of_the_system(client):
    """Joint states end, and go on with the time of day, as if the robot had been switched off."""
    assert client.call(SetBool, 'simulator/pause', SetBool.Request(data=True)).success
    client.wait(
        lambda: client.diagnostics.get(NAME, (0, '', {}))[2].get('state') == 'paused',
        what='the state in a status',
    )
    before = client.stamps('joint_states')[-1]
    client.received['joint_states'].clear()
    client.spin(0.3)
    assert client.received['joint_states'] == []
    assert client.call(SetBool, 'simulator/pause', SetBool.Request(data=False)).success
    after = states(client, 5)[0]
    assert after[0] - before > 0.3e9
    assert (np.diff(after) > 0).all()
    assert abs(after[-1] - time.time_ns()) < 5e9


def test_commands_of_the_dynamics_node_balance_the_robot(start, connect, robot):
    """dynamics ~/commands feed the simulator directly: it floats, weightless and unharmed.

    In lock step each state waits for its command, however slow the machine is, and the motors
    have those torques until the next state.
    """
    period = 5_000_000  # ns
    start(
        'simulator',
        {'rate': 200.0, 'motion_amplitude': 0.0, 'clock': 'lock_step'},
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
    assert set(np.diff(stamps)) == {period}
    commands = np.array([client.with_stamp('dynamics/feedforward', t).effort for t in stamps])
    for k, command in enumerate(commands):
        needed = robot.inverse_dynamics(q[k], v[k], np.zeros(robot.nv))
        np.testing.assert_allclose(command, needed, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(tau[1:], commands[:-1], rtol=1e-12, atol=1e-12)
    assert np.abs(q - q[0]).max() < 0.2
    assert np.abs(v).max() < 0.2
    assert node.stop() == 0


def test_bringup_hosts_it_too(start, connect, robot):
    """All four nodes in one process; the model state is that of the simulated robot."""
    start('bringup', {'nodes': "['simulator', 'dynamics']"}, ['-r', '__ns:=/all'])
    client = connect('all')
    client.subscribe(JointState, 'dynamics/gravity')
    client.subscribe(JointState, 'joint_states', profile=qos_profile_sensor_data)

    def pair():
        """Return a state and its gravity, among the latest: looking at all would fall behind."""
        latest = {stamp_of(state): state for state in client.received['joint_states'][-50:]}
        for message in client.received['dynamics/gravity'][-50:]:
            if stamp_of(message) in latest:
                return latest[stamp_of(message)], message
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


def test_initial_positions_and_motion(start, connect, robot):
    start(
        'simulator',
        {
            'rate': 100.0,
            'initial_joints': "['panda_joint2', 'panda_joint1']",
            'initial_positions': '[0.5, -0.25]',
            'motion_period': 0.5,
            'motion_amplitude': 0.1,
            'integrator': 'semi_implicit',
        },
        ['-r', '__ns:=/moving'],
    )
    client = connect('moving')
    client.subscribe(JointState, 'joint_states', profile=qos_profile_sensor_data)
    _, q, _, _ = states(client, 80)
    center = middle_of_range(robot)
    center[[0, 1]] = -0.25, 0.5
    assert (np.abs(q - center)[:, :7] < 0.2).all()
    assert (np.ptp(q, axis=0)[:7] > 0.02).all()
