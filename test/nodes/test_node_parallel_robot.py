# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node `parallel_robot`: pose, twist, forces, and silence when in doubt.

In the process of the tests, whose clock they turn; as a node of its own through DDS.
"""

import time

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped, Vector3, Wrench, WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError
from screw_dynamics_ros.core.lie import quaternions, screws, se3, so3
from screw_dynamics_ros.core.mechanisms.parallel import ParallelRobot, example_mechanisms
from screw_dynamics_ros.core.mechanisms.parallel.example_mechanisms import stewart_gough
from screw_dynamics_ros.nodes.parallel.parameters import TABLE, check, make_robot
from screw_dynamics_ros.nodes.parallel.platform_node import PlatformNode
from support.paths import CONFIG
from support.ros_harness import stamp_of

NAMES = tuple(f'leg_{k}' for k in range(1, 7))
STILL = np.zeros(6), np.zeros(6)  # velocities and efforts


def pose_at(k, shift=0.01):
    """Return poses along a slow motion."""
    return se3.pose(so3.exp([0.002 * k, 0.0, 0.004 * k]), [shift * np.sin(0.1 * k), 0.0, 0.55])


class Driver:
    """Makes joint states with rising stamps."""

    def __init__(self, now=time.time_ns):
        self.robot, self.now = ParallelRobot(stewart_gough(), backend='reference'), now
        self.stamp = 0

    def state(self, pose, v=None, tau=None, **changes):
        self.stamp = max(self.stamp + 1000, self.now())
        sec, nanosec = divmod(self.stamp, 10**9)
        order = np.roll(np.arange(6), 2)  # joints go by name
        message = JointState(
            header=Header(stamp=Time(sec=sec, nanosec=nanosec)),
            name=[NAMES[i] for i in order],
            position=self.robot.inverse_position(pose)[order].tolist(),
        )
        if v is not None:
            message.velocity = np.asarray(v)[order].tolist()
        if tau is not None:
            message.effort = np.asarray(tau)[order].tolist()
        for name, value in changes.items():
            setattr(message, name, value)
        return message


class Platform(Driver):
    """The node in this process, whose clock we turn, and its motors."""

    def __init__(self, bench):
        super().__init__(bench.clock.time_ns)
        self.bench, self.sent = bench, bench.sent

    def send(self, *state, **changes):
        self.bench.hear('joint_states', self.state(*state, **changes))

    def recover(self):
        """Send good states until nothing of before is reported."""
        for _ in range(35):
            self.bench.go_on(0.1)
            self.send(pose_at(0), *STILL)
        self.check(0)

    def check(self, level, *texts):
        status = self.bench.status()
        assert status.level == level, status.summary
        for text in texts:
            assert text in status.summary


@pytest.fixture
def fresh(node_bench):
    """The platform near home."""
    return Platform(node_bench(PlatformNode, publish_tf=True))


def numbers(vector):
    return [vector.x, vector.y, vector.z]


def wrench_message(frame='platform'):
    return WrenchStamped(
        header=Header(frame_id=frame),
        wrench=Wrench(torque=Vector3(x=1.0, y=2.0, z=3.0), force=Vector3(x=4.0, y=5.0, z=6.0)),
    )


EXTERNAL = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def leg_forces(robot, pose, external):
    """Return the efforts of the motors that carry the weight and withstand a wrench."""
    forces = robot.wrench_of_weight(pose) - screws.convert_wrench(external, pose, 'body', 'hybrid')
    return robot.inverse_force(robot.inverse_position(pose), forces, pose)


def test_pose_twist_and_forces_of_a_state(fresh):
    """Those of the core, with the stamp of the state, joints by name (C-111 to C-119)."""
    robot, pose, got = fresh.robot, pose_at(3), fresh.sent
    q = robot.inverse_position(pose)
    twist = np.array([0.1, -0.2, 0.3, 0.02, 0.01, -0.05])
    tau = leg_forces(robot, pose, EXTERNAL)
    fresh.bench.hear('external_wrench', wrench_message())
    fresh.send(pose, robot.inverse_velocity(q, twist, pose), tau)
    assert np.allclose(got['leg_forces'][-1].effort, tau)
    p, x = got['pose'][-1].pose.position, got['pose'][-1].pose
    assert np.allclose(numbers(p), pose[:3, 3], atol=1e-10)
    o = x.orientation
    assert np.allclose(quaternions.to_matrix([o.x, o.y, o.z, o.w]), pose[:3, :3], atol=1e-10)
    transform = got['tf'][-1].transforms[0]
    assert (transform.header.frame_id, transform.child_frame_id) == ('base', 'platform')
    assert np.allclose(numbers(transform.transform.translation), pose[:3, 3], atol=1e-10)
    rates = got['twist'][-1].twist
    assert np.allclose([*numbers(rates.angular), *numbers(rates.linear)], twist, atol=1e-9)
    efforts = got['gravity'][-1]
    assert list(efforts.name) == list(NAMES)
    weight = robot.inverse_force(q, robot.wrench_of_weight(pose), pose)
    assert np.allclose(efforts.effort, weight, atol=1e-9)
    estimate = got['wrench'][-1]
    assert estimate.header.frame_id == 'platform'
    wrench = [*numbers(estimate.wrench.torque), *numbers(estimate.wrench.force)]
    assert np.allclose(wrench, EXTERNAL, atol=1e-8)
    assert stamp_of(estimate) == fresh.stamp


def test_a_wrench_ends(fresh):
    """After wrench_timeout."""
    pose = pose_at(0)
    fresh.bench.hear('external_wrench', wrench_message())
    for seconds, external in ((0.0, EXTERNAL), (0.09, EXTERNAL), (0.02, np.zeros(6))):
        fresh.bench.go_on(seconds)
        fresh.send(pose, *STILL)
        expected = leg_forces(fresh.robot, pose, external)
        assert np.allclose(fresh.sent['leg_forces'][-1].effort, expected)


def test_without_velocity_and_effort(fresh):
    """Pose and gravity only, and the reason on /diagnostics."""
    fresh.send(pose_at(1))
    fresh.check(1, 'contain no velocity', 'contain no effort')
    assert fresh.sent['pose']
    assert not fresh.sent['twist']
    assert not fresh.sent['wrench']


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'position': [0.6] * 5}, 'the number of positions differs'),
        ({'position': [float('nan')] * 6}, 'not a finite number: leg_1'),
        ({'position': [0.6] * 5 + [0.95]}, 'too short'),
        ({'position': [0.45] * 3 + [0.9] * 3}, 'no pose near the seed'),
    ],
)
def test_states_in_doubt_are_refused(fresh, changes, reason):
    """Nothing is published, the reason is shown, and the next good state is taken."""
    fresh.send(pose_at(0), *STILL)
    assert len(fresh.sent['pose']) == 1
    fresh.send(pose_at(0), **changes)
    fresh.check(1, reason)
    assert len(fresh.sent['pose']) == 1
    fresh.send(pose_at(0), *STILL)
    assert len(fresh.sent['pose']) == 2
    fresh.recover()


def test_a_reset_ends_the_report_of_a_refused_state(fresh):
    fresh.send(pose_at(0), *STILL)
    fresh.send(pose_at(0), position=[0.45] * 3 + [0.9] * 3)
    fresh.check(1, 'no pose near the seed')
    assert fresh.bench.trigger('reset').success
    assert 'no pose near the seed' not in fresh.bench.status().summary
    fresh.recover()


def test_policies_are_those_of_all_nodes(fresh):
    """NaN is counted, stamps that are late or too old are refused."""
    for _ in range(3):
        fresh.send(pose_at(0), *STILL, position=[float('nan')] * 6)
    assert fresh.bench.status().values['position_missing count'] == '3'
    fresh.recover()
    count, now = len(fresh.sent['pose']), fresh.now
    fresh.now = lambda: 0
    fresh.stamp -= 200_000_000
    fresh.send(pose_at(0), *STILL)
    fresh.check(1, 'the stamp is older than that of the previous message: by 0.199999 s')
    assert fresh.bench.set(max_stamp_age=1.0).successful
    fresh.stamp -= 2_000_000_000
    fresh.send(pose_at(0), *STILL)
    fresh.check(1, 'the stamp is older than max_stamp_age: 2.')
    assert len(fresh.sent['pose']) == count
    fresh.now = now
    fresh.recover()
    assert not fresh.bench.set(position_policy='guess').successful


def test_motors_of_two_publishers_are_merged(fresh):
    """Each reports three of them; joints of others on the same topic do not matter."""
    for k in range(5):
        for places in (slice(0, 3), slice(3, 6)):
            whole = fresh.state(pose_at(k), *STILL)
            part = JointState(header=whole.header, name=[*whole.name[places], 'arm'])
            for field in ('position', 'velocity', 'effort'):
                setattr(part, field, [*getattr(whole, field)[places], 7.0])
            fresh.bench.hear('joint_states', part)
        fresh.bench.hear('joint_states', JointState(header=whole.header, name=['gripper']))
    fresh.check(1, 'joints without a current state: never reported: leg_2, leg_3, leg_4')
    fresh.send(pose_at(4), *STILL)
    assert len(fresh.sent['pose']) == 10  # one for each message but the first
    position = fresh.sent['pose'][-1].pose.position
    assert np.allclose(numbers(position), pose_at(4)[:3, 3], atol=1e-9)
    fresh.recover()


def test_joint_states_that_end_are_reported(fresh):
    """Also where only such come that cannot be used."""
    fresh.send(pose_at(0), *STILL)
    fresh.check(0)
    fresh.bench.go_on(0.6)
    fresh.send(pose_at(0), position=[0.6] * 5)
    fresh.check(2, 'no state of leg_1')
    fresh.recover()


def test_a_lost_assembly_mode_stays_lost_until_reset(fresh):
    """After a jump nothing is published, whatever comes."""
    fresh.send(pose_at(0))
    fresh.send(se3.pose(np.eye(3), [0.0, 0.0, 0.7]))
    fresh.check(2, 'assembly mode lost', 'has jumped', '~/reset')
    for _ in range(5):
        fresh.send(pose_at(0))
    assert len(fresh.sent['pose']) == 1
    assert fresh.bench.trigger('reset').success
    fresh.send(pose_at(0))
    assert len(fresh.sent['pose']) == 2


HOSTILE = (0.0, -1.0, 1e3, 1e17, -1e155, 1e200, 1.7e308, -1.7e308, np.nan, np.inf, 1e-320)


@pytest.mark.filterwarnings('ignore::RuntimeWarning')  # overflow, which is noticed
def test_hostile_lengths(fresh):
    """Lengths that no pose has, of any size, and wrenches: each pose that is published has them."""
    random, sent, checked = np.random.default_rng(2), fresh.sent, 0
    mechanism = fresh.robot.mechanism
    for _ in range(150):
        pose = pose_at(random.integers(-40, 40), 0.02)
        lengths = fresh.robot.inverse_position(pose)
        far = random.random(6) < random.choice([0.0, 0.0, 0.3])
        lengths = np.where(far, lengths + random.normal(0.0, 0.3, 6), lengths)
        lengths = np.where(random.random(6) < random.choice([0.0, 0.05]),
                           random.choice(HOSTILE, 6), lengths)  # fmt: skip
        message = wrench_message(str(random.choice(['platform', 'base', 'x' * 10_000])))
        f = message.wrench.force
        f.x, f.y, f.z = map(float, random.choice(HOSTILE, 3))
        fresh.bench.hear('external_wrench', message)
        fresh.bench.forget()
        fresh.bench.go_on(0.05)
        rates = np.where(random.random((2, 6)) < 0.05, random.choice(HOSTILE, (2, 6)), 0.1)
        state = fresh.state(pose, *rates)
        order = np.roll(np.arange(6), 2)
        state.position = lengths[order].tolist()
        fresh.bench.hear('joint_states', state)
        for found in sent['pose']:
            checked += 1
            p, o = found.pose.position, found.pose.orientation
            R = quaternions.to_matrix([o.x, o.y, o.z, o.w])
            arms = mechanism.platform_pivots @ R.T + numbers(p) - mechanism.base_pivots
            np.testing.assert_allclose(np.linalg.norm(arms, axis=1), lengths, atol=1e-8)
        for topic in ('twist', 'gravity', 'leg_forces', 'wrench'):
            for found in sent[topic]:
                assert np.isfinite(all_numbers(found)).all()
        summary = fresh.bench.status().summary
        assert summary.isprintable()
        assert len(summary) < 2000
        if 'assembly mode lost' in summary:
            assert not sent['pose']
            assert fresh.bench.trigger('reset').success
    assert checked > 30
    assert fresh.bench.faults() == []


def all_numbers(message):
    """Return the numbers of a twist, a wrench or efforts."""
    if hasattr(message, 'effort'):
        return message.effort
    vectors = getattr(message, 'twist', None) or message.wrench
    parts = ('linear', 'angular') if hasattr(vectors, 'linear') else ('force', 'torque')
    return [x for part in parts for x in numbers(getattr(vectors, part))]


def test_a_wrench_in_another_frame_is_refused(fresh):
    fresh.send(pose_at(0), *STILL)
    fresh.bench.hear('external_wrench', wrench_message('tool'))
    fresh.check(1, "'tool'")
    fresh.bench.hear('external_wrench', wrench_message())
    fresh.check(0)


def test_it_is_a_node(start, connect):
    """Through DDS: all outputs of a state, and those of a lost one after a reset."""
    start(
        'parallel_robot',
        {'state_timeout': 3600.0, 'wrench_timeout': 3600.0},
        ['-r', '__ns:=/parallel', '-r', '/tf:=tf'],
    )
    client, driver = connect('parallel'), Driver()
    topics = {
        'parallel_robot/pose': PoseStamped,
        'parallel_robot/twist': TwistStamped,
        'parallel_robot/gravity': JointState,
        'parallel_robot/leg_forces': JointState,
        'parallel_robot/wrench': WrenchStamped,
        'tf': TFMessage,
    }
    for topic, kind in topics.items():
        client.subscribe(kind, topic)
    client.publisher(WrenchStamped, 'parallel_robot/external_wrench').publish(wrench_message())
    tau = leg_forces(driver.robot, pose_at(0), EXTERNAL)

    def is_heard():
        """Send a state, as the node may not have heard of all subscriptions yet."""
        client.publisher(JointState, 'joint_states').publish(driver.state(pose_at(0), *STILL))
        found = client.received['parallel_robot/leg_forces']
        return all(client.received[topic] for topic in topics) and np.allclose(
            found[-1].effort, tau
        )

    client.wait(is_heard, what='all outputs')
    assert client.call(Trigger, 'parallel_robot/reset', Trigger.Request()).success
    client.expect('parallel/parallel_robot: platform', 0)


def test_it_does_not_start_with_bad_parameters(start):
    """The reason is logged, and the exit status is not 0."""
    process = start('parallel_robot', {'mechanism': '/nowhere.yaml'}, ['-r', '__ns:=/bad'])
    assert process.wait() != 0
    assert 'parameter mechanism: nowhere.yaml: there is no such file' in process.output


def test_parameters_that_do_not_fit(tmp_path):
    """They are refused when the robot is made."""
    values = {specification.name: specification.default for specification in TABLE}
    with pytest.raises(ArgumentError, match='the names of two frames'):
        check({**values, 'base_frame': 'platform'})
    path = tmp_path / 'robot.yaml'
    path.write_text('name: [')
    with pytest.raises(DescriptionError, match=r'robot\.yaml: it is not YAML: line 2'):
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
