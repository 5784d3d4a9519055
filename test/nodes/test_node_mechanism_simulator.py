"""The mechanism simulator through DDS: examples in both formulations, loops, loads, refusals."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.absolute_coordinates.example_systems import heavy_top
from screw_dynamics_ros.core.absolute_coordinates.simulated_mechanism import SimulatedMechanism
from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.nodes.mechanism.assembly import make_mechanism
from screw_dynamics_ros.nodes.mechanism.parameters import TABLE
from support.linkages import CLOSURES, FOUR_BAR
from support.ros_harness import matrix, stamp_of

STATUS = '/mechanism_simulator: simulation'
FAST = {'clock': 'publish', 'real_time_factor': 0.0, 'rate': 10.0, 'paused': True}
TOPICS = {
    'mechanism_simulator/violation': Float64MultiArray,
    'mechanism_simulator/energy': Float64MultiArray,
    'tf': TFMessage,
    'clock': Clock,
}


def request(client, service):
    response = client.call(Trigger, f'mechanism_simulator/{service}', Trigger.Request())
    assert response.success, response.message
    return response


def until_heard(client, *topics):
    """Wait until states arrive on all topics, and none of them is on its way any more."""

    def arrives():
        for topic in topics:
            client.received[topic].clear()
        request(client, 'step')
        client.spin(0.3)
        return all(len(client.received[topic]) == 10 for topic in topics)

    client.wait(arrives, what=f'ten states on {", ".join(topics)}')
    for topic in topics:
        client.received[topic].clear()


@pytest.fixture(scope='module')
def tops(start, connect):
    """The heavy top in both formulations, in namespaces of their own."""
    clients = {}
    for groups in ('se3', 'so3_r3'):
        start(
            'mechanism_simulator',
            {'example': 'heavy_top', 'groups': groups, 'steps_per_request': 10, **FAST},
            [
                '-r',
                f'__ns:=/{groups}',
                '-r',
                f'/clock:=/{groups}/clock',
                '-r',
                f'/tf:=/{groups}/tf',
            ],
        )
        clients[groups] = connect(groups)
    return clients


def test_heavy_top_in_both_formulations(tops):
    """One second: the pivot is kept in SE(3), and drifts by 9.27e-7 m otherwise (I-34, I-48)."""
    worst = {}
    for groups, client in tops.items():
        for topic, kind in TOPICS.items():
            client.subscribe(kind, topic)
        until_heard(client, *TOPICS)
        request(client, 'reset')
        request(client, 'step')
        violations = client.received['mechanism_simulator/violation']
        client.wait(
            lambda c=client: all(len(c.received[topic]) >= 10 for topic in TOPICS),
            what='ten states',
        )
        assert violations[0].layout.dim[0].label == 'pivot'
        gaps = np.array([matrix(m)[0, 0] for m in violations])
        worst[groups] = gaps.max()
        energy = np.array(client.received['mechanism_simulator/energy'][-1].data)
        assert energy[0] == pytest.approx(13972.4, rel=1e-5)
        assert abs(energy[3]) < 1e-7
        clock = client.received['clock'][-1].clock
        assert clock.sec + clock.nanosec * 1e-9 == pytest.approx(1.1)
        transform = client.received['tf'][-1].transforms[0]
        assert (transform.header.frame_id, transform.child_frame_id) == ('world', 'top')
        r = transform.transform.translation  # golden trajectory of spec 9.3 at 1 s
        assert [r.x, r.y, r.z] == pytest.approx([0.320297, 0.169771, -0.344365], abs=3e-6)
    assert worst['se3'] < 1e-12
    assert worst['so3_r3'] == pytest.approx(9.27e-7, rel=0.05)


def test_reaction_of_the_pivot(tops):
    """It equals what the model says of the state, in the frame of the top."""
    client = tops['se3']
    client.subscribe(WrenchStamped, 'mechanism_simulator/reaction/pivot')
    until_heard(client, 'mechanism_simulator/reaction/pivot')
    request(client, 'reset')
    received = client.received['mechanism_simulator/reaction/pivot']
    client.set_parameter('mechanism_simulator', 'steps_per_request', 1)
    request(client, 'step')
    (message,) = client.wait(lambda: received[:1], what='a reaction')
    top = SimulatedMechanism(*heavy_top())
    for _ in range(100):
        top.step(1e-3)
    assert message.header.frame_id == 'top'
    force = np.array([message.wrench.force.x, message.wrench.force.y, message.wrench.force.z])
    expected = top.system.reactions(top.q, top.v)['pivot'][3:]
    np.testing.assert_allclose(force, expected, rtol=1e-9)
    client.set_parameter('mechanism_simulator', 'steps_per_request', 10)


def test_pause_and_resume(tops):
    """Single steps only during a pause; time goes on afterwards."""
    client = tops['so3_r3']
    client.call(SetBool, 'mechanism_simulator/pause', SetBool.Request(data=False))
    response = client.call(Trigger, 'mechanism_simulator/step', Trigger.Request())
    assert not response.success
    assert '~/pause' in response.message
    client.call(SetBool, 'mechanism_simulator/pause', SetBool.Request(data=True))
    request(client, 'step')


@pytest.fixture(scope='module')
def linkage(start, connect, tmp_path_factory):
    """A four-bar linkage with its loop closed by a file, that hangs in gravity."""
    folder = tmp_path_factory.mktemp('linkage')
    closures = folder / 'loops.yaml'
    closures.write_text(CLOSURES)
    urdf = folder / 'four_bar.urdf'
    urdf.write_text(FOUR_BAR)
    start(
        'mechanism_simulator',
        {
            'urdf': str(urdf),
            'loop_closures': str(closures),
            'initial_joints': ['a', 'b', 'c'],
            'initial_positions': [1.0, -0.5, -1.5],
            'gravity': [0.0, -9.81, 0.0],
            'stabilization': [20.0, 20.0],
            'step': 0.005,
            'rate': 50.0,
            'command_timeout': 0.3,
        },
        ['-r', '__ns:=/linkage'],
    )
    client = connect('linkage')
    client.subscribe(JointState, 'joint_states', profile=50)
    return client


def test_loop_stays_closed_while_it_moves(linkage):
    """Joint states of all four joints, and no gap."""
    client = linkage
    client.subscribe(Float64MultiArray, 'mechanism_simulator/violation', profile=50)
    received = client.received['joint_states']
    client.wait(lambda: len(received) >= 50, what='joint states')
    assert list(received[0].name) == ['a', 'b', 'c', 'd']
    for message in received[-20:]:
        angles = np.cumsum(message.position[:3])
        tip = (np.array([0.2, 0.5, 0.4]) * np.exp(1j * angles)).sum()
        assert tip == pytest.approx(0.5, abs=1e-6)
    assert np.ptp([m.position[0] for m in received]) > 0.01  # it moves
    intervals = np.diff([stamp_of(m) for m in received])
    assert intervals.min() == 20_000_000  # longer where the machine was late
    violations = client.received['mechanism_simulator/violation']
    client.wait(lambda: violations, what='violations')
    assert max(matrix(m)[:, 0].max() for m in violations) < 1e-6
    status = client.expect('linkage' + STATUS, 0)
    assert (
        'd: rotation about x' in client.diagnostics['linkage' + STATUS][2]['redundant constraints']
    ), status


def test_torque_drives_the_crank(linkage):
    """Efforts act by name, and end with the messages."""
    client, received = linkage, linkage.received['joint_states']
    publisher = client.publisher(JointState, 'joint_commands')
    message = JointState(name=['a'], effort=[3.0])

    def is_driven():
        publisher.publish(message)
        received.clear()
        client.wait(lambda: received, what='joint states')
        return received[-1].effort[0] == 3.0 and abs(received[-1].velocity[0]) > 6.0

    client.wait(is_driven, what='a turning crank')
    client.wait(lambda: received[-1].effort[0] == 0.0, what='the end of the torque')


def test_wrench_on_a_body(linkage):
    """A wrench on a body is refused with a reason if no body has that name."""
    client = linkage
    publisher = client.publisher(WrenchStamped, 'mechanism_simulator/external_wrench')
    message = WrenchStamped(header=Header(frame_id='nobody'), wrench=Wrench(force=Vector3(x=1.0)))
    client.expect(
        'linkage' + STATUS, 1, "'nobody' is no body", meanwhile=lambda: publisher.publish(message)
    )
    message.header.frame_id = 'crank'
    client.expect('linkage' + STATUS, 0, meanwhile=lambda: publisher.publish(message))


@pytest.mark.parametrize(
    ('message', 'reason'),
    [
        (JointState(name=['a'], effort=[]), 'one effort for each'),
        (JointState(name=['elbow'], effort=[1.0]), "'elbow'"),
        (JointState(name=['a'] * 2, effort=[1.0, 1.0]), 'different names'),
        (JointState(name=['a'], effort=[np.nan]), 'finite'),
    ],
)
def test_bad_commands_are_refused(linkage, message, reason):
    """They change nothing, and the simulation goes on."""
    client = linkage
    publisher = client.publisher(JointState, 'joint_commands')
    client.expect('linkage' + STATUS, 1, reason, meanwhile=lambda: publisher.publish(message))
    publisher.publish(JointState(name=['a'], effort=[0.0]))
    received = client.received['joint_states']
    received.clear()
    client.wait(lambda: len(received) > 3, what='joint states')


def test_divergence_stops_with_a_reason(start, connect):
    """Long steps of the spinning pendulum cannot be followed; a reset goes back to the start."""
    start(
        'mechanism_simulator',
        {'example': 'double_pendulum', 'rate': 10.0, 'step': 0.1, 'tableau': 'euler'},
        ['-r', '__ns:=/diverging'],
    )
    client = connect('diverging')
    client.expect('diverging' + STATUS, 2, 'has stopped', 'diverged', 'shorter steps')
    response = client.call(SetBool, 'mechanism_simulator/pause', SetBool.Request(data=True))
    assert response.success
    request(client, 'reset')
    client.expect('diverging' + STATUS, 0)


def test_it_does_not_start_with_bad_parameters(start):
    """The reason is logged, and the exit status is not 0."""
    process = start('mechanism_simulator', {'loop_closures': '/nowhere.yaml'}, ['-r', '__ns:=/bad'])
    assert process.wait() != 0
    assert 'parameter loop_closures: /nowhere.yaml cannot be read' in process.output


@pytest.mark.parametrize(
    ('parameters', 'reason'),
    [
        ({'gravity': [1.0]}, 'gravity must be empty or three numbers'),
        ({'initial_joints': ['a']}, '0 initial_positions for 1 initial_joints'),
        ({'initial_joints': ['a'], 'initial_positions': [1.0]}, "no joint named 'a'"),
        ({'urdf': '/nowhere.urdf'}, 'cannot be read'),
    ],
)
def test_parameters_that_do_not_fit(parameters, reason):
    """They are refused when the mechanism is made."""
    values = {specification.name: specification.default for specification in TABLE}
    with pytest.raises(ScrewDynamicsError, match=reason):
        make_mechanism({**values, **parameters})
