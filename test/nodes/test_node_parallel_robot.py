"""The node `parallel_robot` through DDS: pose, twist, forces, and silence when in doubt."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped, Vector3, Wrench, WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError
from screw_dynamics_ros.core.lie import quaternions, screws, se3, so3
from screw_dynamics_ros.core.parallel import ParallelRobot, example_mechanisms
from screw_dynamics_ros.core.parallel.example_mechanisms import stewart_gough
from screw_dynamics_ros.nodes.parallel.parameters import TABLE, check, make_robot
from support.paths import CONFIG
from support.ros_harness import stamp_of

STATUS = 'parallel/parallel_robot: platform'
NAMES = tuple(f'leg_{k}' for k in range(1, 7))


def pose_at(k, shift=0.01):
    """Return poses along a slow motion."""
    return se3.pose(so3.exp([0.002 * k, 0.0, 0.004 * k]), [shift * np.sin(0.1 * k), 0.0, 0.55])


class Driver:
    """Publishes joint states with rising stamps."""

    def __init__(self, client):
        self.robot = ParallelRobot(stewart_gough(), backend='reference')
        self.publisher, self.k = client.publisher(JointState, 'joint_states'), 0

    def send(self, pose, v=None, tau=None, **changes):
        self.k += 1
        order = np.roll(np.arange(6), 2)  # joints go by name
        message = JointState(
            header=Header(stamp=Time(sec=100, nanosec=1000 * self.k)),
            name=[NAMES[i] for i in order],
            position=self.robot.inverse_position(pose)[order].tolist(),
        )
        if v is not None:
            message.velocity = np.asarray(v)[order].tolist()
        if tau is not None:
            message.effort = np.asarray(tau)[order].tolist()
        for name, value in changes.items():
            setattr(message, name, value)
        self.publisher.publish(message)
        return message


@pytest.fixture(scope='module')
def client(start, connect):
    start(
        'parallel_robot',
        {'wrench_timeout': 5.0, 'state_timeout': 3600.0},
        ['-r', '__ns:=/parallel', '-r', '/tf:=tf'],
    )
    client = connect('parallel')
    for kind, topic in (
        (PoseStamped, 'parallel_robot/pose'),
        (TwistStamped, 'parallel_robot/twist'),
        (JointState, 'parallel_robot/gravity'),
        (JointState, 'parallel_robot/leg_forces'),
        (WrenchStamped, 'parallel_robot/wrench'),
        (TFMessage, 'tf'),
    ):
        client.subscribe(kind, topic, profile=50)
    return client


@pytest.fixture(scope='module')
def driver(client):
    driver = Driver(client)
    received = client.received['parallel_robot/wrench']

    def is_heard():
        driver.send(pose_at(0), np.zeros(6), np.zeros(6))
        client.spin(0.05)
        return all(client.received[topic] for topic in client.received) and received

    client.wait(is_heard, what='outputs')
    return driver


@pytest.fixture
def fresh(client, driver):
    """The platform near home again, and nothing received."""
    client.call(Trigger, 'parallel_robot/reset', Trigger.Request())
    for messages in client.received.values():
        messages.clear()
    return driver


def numbers(vector):
    return [vector.x, vector.y, vector.z]


def test_pose_twist_and_forces_of_a_state(client, fresh):
    """Those of the core, with the stamp of the state, joints by name (C-111 to C-119)."""
    robot, pose = fresh.robot, pose_at(3)
    q = robot.inverse_position(pose)
    twist, external = np.array([0.1, -0.2, 0.3, 0.02, 0.01, -0.05]), np.array([1.0, 2, 3, 4, 5, 6])
    publisher = client.publisher(WrenchStamped, 'parallel_robot/external_wrench')
    message = WrenchStamped(
        header=Header(frame_id='platform'),
        wrench=Wrench(torque=Vector3(x=1.0, y=2.0, z=3.0), force=Vector3(x=4.0, y=5.0, z=6.0)),
    )
    forces = robot.wrench_of_weight(pose) - screws.convert_wrench(external, pose, 'body', 'hybrid')
    tau = robot.inverse_force(q, forces, pose)

    def arrived():
        publisher.publish(message)
        fresh.send(pose, robot.inverse_velocity(q, twist, pose), tau)
        client.spin(0.02)
        found = client.received['parallel_robot/leg_forces']
        return found and np.allclose(found[-1].effort, tau)

    client.wait(arrived, what='leg forces with the external wrench')
    got = client.received
    client.wait(lambda: all(got.values()), what='all outputs')
    p, x = got['parallel_robot/pose'][-1].pose.position, got['parallel_robot/pose'][-1].pose
    assert np.allclose(numbers(p), pose[:3, 3], atol=1e-10)
    o = x.orientation
    assert np.allclose(quaternions.to_matrix([o.x, o.y, o.z, o.w]), pose[:3, :3], atol=1e-10)
    transform = got['tf'][-1].transforms[0]
    assert (transform.header.frame_id, transform.child_frame_id) == ('base', 'platform')
    assert np.allclose(numbers(transform.transform.translation), pose[:3, 3], atol=1e-10)
    rates = got['parallel_robot/twist'][-1].twist
    assert np.allclose([*numbers(rates.angular), *numbers(rates.linear)], twist, atol=1e-9)
    efforts = got['parallel_robot/gravity'][-1]
    assert list(efforts.name) == list(NAMES)
    weight = robot.inverse_force(q, robot.wrench_of_weight(pose), pose)
    assert np.allclose(efforts.effort, weight, atol=1e-9)
    estimate = got['parallel_robot/wrench'][-1]
    assert estimate.header.frame_id == 'platform'
    wrench = [*numbers(estimate.wrench.torque), *numbers(estimate.wrench.force)]
    assert np.allclose(wrench, external, atol=1e-8)
    assert stamp_of(estimate) > 100_000_000_000


def test_without_velocity_and_effort(client, fresh):
    """Pose and gravity only, and the reason on /diagnostics."""
    received = client.received

    def meanwhile():
        fresh.send(pose_at(1))

    client.expect(STATUS, 1, 'no velocities', 'no efforts', meanwhile=meanwhile)
    assert received['parallel_robot/pose']
    assert not received['parallel_robot/twist']
    assert not received['parallel_robot/wrench']


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'name': list('abcdef')}, 'lacks leg_1'),
        ({'position': [0.6] * 5}, '6 names and 5 positions'),
        ({'position': [float('nan')] * 6}, 'is not a finite number'),
        ({'position': [0.6] * 5 + [0.95]}, 'too short'),
        ({'position': [0.45] * 3 + [0.9] * 3}, 'no pose near the seed'),
        ({'header': Header(stamp=Time(sec=1))}, 'not later'),
    ],
)
def test_states_in_doubt_are_refused(client, fresh, changes, reason):
    """Nothing is published, the reason is shown, and the next good state is taken."""
    fresh.send(pose_at(0), np.zeros(6), np.zeros(6))
    received = client.received['parallel_robot/pose']
    client.wait(lambda: received, what='a pose')
    count = len(received)
    client.expect(STATUS, 1, reason, meanwhile=lambda: fresh.send(pose_at(0), **changes))
    assert len(received) == count

    def good():
        fresh.send(pose_at(0), np.zeros(6), np.zeros(6))
        client.spin(0.02)
        return len(received) > count

    client.wait(good, what='a pose again')


def test_joint_states_that_end_are_reported(client, fresh):
    """Also where only such come that cannot be used."""
    received = client.received['parallel_robot/pose']
    fresh.send(pose_at(0), np.zeros(6), np.zeros(6))
    client.wait(lambda: received, what='a pose')
    assert client.set_parameter('parallel_robot', 'state_timeout', 0.1).successful
    client.expect(
        STATUS,
        2,
        'no state of leg_1',
        meanwhile=lambda: fresh.send(pose_at(0), position=[0.6] * 5),
    )
    assert client.set_parameter('parallel_robot', 'state_timeout', 3600.0).successful


def test_a_lost_assembly_mode_stays_lost_until_reset(client, fresh):
    """After a jump nothing is published, whatever comes."""
    received = client.received['parallel_robot/pose']
    fresh.send(pose_at(0))
    client.wait(lambda: received, what='a pose')
    count = len(received)
    jump = se3.pose(np.eye(3), [0.0, 0.0, 0.7])
    client.expect(
        STATUS, 2, 'assembly mode lost', 'has jumped', '~/reset', meanwhile=lambda: fresh.send(jump)
    )
    for _ in range(5):
        fresh.send(pose_at(0))
    client.spin(0.2)
    assert len(received) == count
    response = client.call(Trigger, 'parallel_robot/reset', Trigger.Request())
    assert response.success
    fresh.send(pose_at(0))
    client.wait(lambda: len(received) > count, what='a pose after the reset')


def test_a_wrench_in_another_frame_is_refused(client, fresh):
    publisher = client.publisher(WrenchStamped, 'parallel_robot/external_wrench')
    message = WrenchStamped(header=Header(frame_id='tool'))
    client.expect(STATUS, 1, "'tool'", meanwhile=lambda: publisher.publish(message))
    message.header.frame_id = 'platform'

    def meanwhile():
        publisher.publish(message)
        fresh.send(pose_at(0), np.zeros(6), np.zeros(6))

    client.expect(STATUS, 0, meanwhile=meanwhile)


def test_it_does_not_start_with_bad_parameters(start):
    """The reason is logged, and the exit status is not 0."""
    process = start('parallel_robot', {'mechanism': '/nowhere.yaml'}, ['-r', '__ns:=/bad'])
    assert process.wait() != 0
    assert 'parameter mechanism: /nowhere.yaml cannot be read' in process.output


def test_parameters_that_do_not_fit(tmp_path):
    """They are refused when the robot is made."""
    values = {specification.name: specification.default for specification in TABLE}
    with pytest.raises(ArgumentError, match='the names of two frames'):
        check({**values, 'base_frame': 'platform'})
    path = tmp_path / 'robot.yaml'
    path.write_text('name: [')
    with pytest.raises(DescriptionError, match='cannot be read'):
        make_robot({**values, 'mechanism': str(path)})
    path.write_text('name: robot')
    with pytest.raises(DescriptionError, match='lacks'):
        make_robot({**values, 'mechanism': str(path)})


@pytest.mark.parametrize('name', ['stewart_gough', 'delta'])
def test_example_files_describe_the_examples(name):
    """Those of config/parallel and those of the core, to the digits of the files."""
    values = {specification.name: specification.default for specification in TABLE}
    path = str(CONFIG / 'parallel' / f'{name}.yaml')
    found = make_robot({**values, 'mechanism': path}).mechanism
    wanted = getattr(example_mechanisms, name)()
    assert (found.name, found.joint_names) == (wanted.name, wanted.joint_names)
    for leg, other in zip(found.legs, wanted.legs):
        assert type(leg) is type(other)
        for attribute, value in vars(other).items():
            if attribute != 'name':
                assert np.allclose(getattr(leg, attribute), value, atol=1e-8), attribute
    assert np.allclose(found.home, wanted.home)
    assert found.inertia.numbers() == wanted.inertia.numbers()
