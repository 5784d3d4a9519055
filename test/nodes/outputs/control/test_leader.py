# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The joint states of another robot as reference of a law: mapping, limits, faults, its end."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.law import LAWS
from screw_dynamics_ros.ros.status import Level
from support.controlled import MS, Controlled
from support.robots import urdf_path

TOPIC = '/leader/joint_states'
FORCES = """
from screw_dynamics_ros.core.law import control_law

@control_law()
def mine(robot, state, reference, parameters, memory):
    return 0.0 * reference.q + reference.tau
"""


class Follower(Controlled):
    """A UR5, and the messages of its leader; both have the same joints unless mapped."""

    def __init__(self, monkeypatch, law, **parameters):
        super().__init__(monkeypatch, law, **{'leader_topic': TOPIC, **parameters})
        self.v, self.names = np.zeros(6), list(self.joints)
        for _ in range(2):
            self.torque()

    def lead(self, q, v=None, names=None, stamp=None, torque=None):
        """Let a message of the leader come."""
        rows = {'position': q, 'velocity': v, 'effort': torque}
        fields = {name: list(map(float, row)) for name, row in rows.items() if row is not None}
        message = JointState(name=list(names or self.names), **fields)
        stamp = self.stamp if stamp is None else stamp
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        source = self.part.reference.leader if torque is None else self.part.reference.torque
        source.receive(message)

    def springs(self, q, v=None):
        """Return the torques of `joint_impedance` toward a reference."""
        law = LAWS['joint_impedance'].on(self.robot)
        v = np.zeros(6) if v is None else v
        return law.step(self.q, self.v, reference={'q': q, 'v': v})[0]

    @property
    def report(self):
        status = self.part.status()
        return status.values['reference'], status.level, status.summary


@pytest.fixture
def follower(control):
    return lambda law='joint_impedance', **given: control(law, kind=Follower, **given)


def test_positions_and_velocities_are_followed_up_to_each_joint_state(follower):
    made = follower()
    v = np.array([0.3, -0.2, 0.1, 0.0, 0.4, -0.5])
    made.lead(made.q + 0.05, v)
    for t in (0.01, 0.02):
        expected = made.springs(made.q + 0.05 + v * t, v)
        np.testing.assert_allclose(made.torque(), expected, atol=1e-6)
    assert made.report == ('follows leader', Level.OK, 'ok')


def test_some_joints_mirrored_and_displaced(follower):
    made = follower(
        leader_joints=['elbow_joint=b', 'shoulder_pan_joint=a', 'wrist_3_joint'],
        leader_scale=[-1.0, 1.0, 2.0],
        leader_offset=[0.1, 0.0, -0.2],
    )
    a, b, c = made.q[0] + 0.05, 0.1 - made.q[2], (made.q[5] + 0.2) / 2.0
    made.lead([a, b, 9.0, c], [0.1, 0.2, 9.0, 0.3], ['a', 'b', 'finger', 'wrist_3_joint'])
    goal, rate = made.q.copy(), np.zeros(6)
    goal[0] += 0.05
    rate[[0, 2, 5]] = 0.1, -0.2, 0.6
    np.testing.assert_allclose(made.torque(), made.springs(goal + 0.01 * rate, rate), atol=1e-6)
    made.lead([a, b], names=['a', 'b'])
    assert made.report[2] == "leader state refused: it lacks joint 'wrist_3_joint' (leader_joints)"


def test_a_leader_without_velocities_is_at_rest(follower):
    made = follower()
    made.lead(made.q + 0.05)
    np.testing.assert_allclose(made.torque(), made.springs(made.q + 0.05), atol=1e-6)


def test_a_leader_that_falls_silent_ends_where_it_was(follower):
    made = follower()
    v = np.full(6, 0.2)
    made.lead(made.q + 0.05, v)
    for _ in range(10):
        made.torque()
    held = made.springs(made.q + 0.05 + 0.1 * v)
    for _ in range(5):
        np.testing.assert_allclose(made.torque(), held, atol=1e-6)
    where, level, summary = made.report
    assert (where, level) == ('holds where the reference ended', Level.WARN)
    assert f'the leader state on {TOPIC} is 0.15 s old, more than leader_timeout' in summary
    assert 'holds where the reference ended' in summary


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        ({'q': [np.nan] * 6}, "positions of joint 'shoulder_pan_joint' in the leader state: nan"),
        ({'v': [0.0, np.inf, 0.0, 0.0, 0.0, 0.0]}, "velocities of joint 'shoulder_lift_joint'"),
        ({'q': [0.0] * 5}, 'the leader state has 5 positions for 6 joints'),
        ({'q': []}, 'the leader state has 0 positions for 6 joints'),
        ({'v': [0.0]}, 'the leader state has 1 velocities for 6 joints'),
        ({'names': ['x'] * 6}, 'set leader_joints'),
        ({'names': ['elbow_joint'] * 6}, 'the leader state names a joint twice'),
        ({'stamp': 5}, 'its stamp is older than the one before'),
    ],
    ids=lambda each: str(each)[:30],
)
def test_refused_states_leave_the_one_before_until_its_timeout(follower, change, reason):
    made = follower()
    made.lead(made.q + 0.05)
    made.torque()
    made.lead(**{'q': made.q + 0.1, **change})
    np.testing.assert_allclose(made.torque(), made.springs(made.q + 0.05), atol=1e-6)
    assert made.report[:2] == ('follows leader', Level.WARN)
    assert made.report[2].startswith('leader state refused: ')
    assert reason in made.report[2]
    for _ in range(12):
        made.torque()
    assert made.report[0] == 'holds where the reference ended'
    made.lead(made.q + 0.05, stamp=5)  # its clock was set
    made.torque()
    assert made.report == ('follows leader', Level.OK, 'ok')


def test_a_leader_that_is_elsewhere_is_not_followed_until_it_is_near(follower):
    made = follower()
    held = made.springs(made.q)
    for distance in (1.0, -0.3, 0.21):
        made.lead(made.q + [0, 0, distance, 0, 0, 0])
        np.testing.assert_allclose(made.torque(), held, atol=1e-6)
        where, level, summary = made.report
        assert (where, level) == ('holds where it was enabled', Level.WARN)
        assert f"it is {abs(distance):.3g} from joint 'elbow_joint', more than lead" in summary
    made.lead(made.q + [0, 0, 0.19, 0, 0, 0])
    assert made.torque()[2] != held[2]
    assert made.report == ('follows leader', Level.OK, 'ok')


def test_a_step_of_the_leader_ends_the_reference(follower):
    """It is followed again where the robot is."""
    made = follower(leader_tolerance=0.1)
    start = made.q.copy()
    for k in range(6):  # less than the tolerance in each step, and far from the robot at last
        made.lead(start + 0.05 * k)
        made.torque()
    held = made.springs(start + 0.25)
    made.lead(start + 0.36)
    np.testing.assert_allclose(made.torque(), held, atol=1e-6)
    assert made.report[0] == 'holds where the reference ended'
    made.lead(start + 0.25)
    np.testing.assert_allclose(made.torque(), held, atol=1e-6)
    assert 'it is 0.25 from joint' in made.report[2]
    made.q = start + 0.2
    made.lead(start + 0.25)
    made.torque()
    assert made.report[0] == 'follows leader'


def test_joints_are_held_at_their_limits(follower):
    made = follower(leader_tolerance=9.0)
    upper = made.robot.limits.upper
    made.q[2] = upper[2] - 0.5
    q = made.q.copy()
    q[2] = upper[2] + 0.3
    made.lead(q, np.full(6, 0.1))
    expected, rate = q + 0.001, np.full(6, 0.1)
    expected[2], rate[2] = upper[2], 0.0
    np.testing.assert_allclose(made.torque(), made.springs(expected, rate), atol=1e-6)
    q[2] = upper[2] - 0.0005  # beyond it until the joint state
    made.lead(q, np.full(6, 0.1))
    np.testing.assert_allclose(made.torque(), made.springs(expected, rate), atol=1e-6)
    made.lead(q, np.full(6, 99.0))
    made.torque()
    speeds = made.robot.limits.velocity
    assert made.part.reference.leader.rows[12:18].tolist() == speeds.tolist()


def test_a_reference_comes_before_the_leader(follower):
    made = follower()
    made.lead(made.q + 0.05)
    made.torque()
    point = JointTrajectoryPoint(positions=list(made.q - 0.05))
    made.part.reference.receive(JointTrajectory(joint_names=made.names, points=[point]))
    made.lead(made.q + 0.05)
    np.testing.assert_allclose(made.torque(), made.springs(made.q - 0.05), atol=1e-6)
    assert made.report[0] == 'follows ~/reference'


def test_enabling_forgets_the_leader(follower):
    made = follower()
    for _ in range(3):
        made.lead(made.q + 0.1)
        made.torque()
    made.set(enabled=False)
    made.lead(made.q + 0.1)
    made.torque()
    assert made.report[0] == 'measured state: torques are off'
    made.set(enabled=True)
    for _ in range(2):
        found = made.torque()
    np.testing.assert_allclose(found, made.springs(made.q), atol=1e-6)
    assert made.report[2] == f'no leader state on {TOPIC} (leader_topic)'
    made.lead(made.q + 0.1)
    np.testing.assert_allclose(made.torque(), made.springs(made.q + 0.1), atol=1e-6)


def test_another_description_forgets_the_leader_and_may_lack_its_joints(follower):
    made = follower(leader_joints=['elbow_joint=b'])
    made.lead([made.q[2] + 0.1], names=['b'])
    made.torque()
    assert made.report[0] == 'follows leader'
    ur5 = urdf_path('ur5_robot').read_text()
    made.describe(urdf_path('planar_2r').read_text())
    made.joints = made.host.mapper.joints
    made.torque(np.zeros(2), np.zeros(2))
    assert 'no leader state' in made.report[2]
    made.lead([0.0], names=['b'])
    assert 'leader_joints: the robot has no joint elbow_joint with a motor' in made.report[2]
    made.describe(ur5)
    made.joints = made.host.mapper.joints
    made.torque()
    assert 'no leader state' in made.report[2]
    made.lead([made.q[2] + 0.1], names=['b'])
    for _ in range(2):
        made.torque()
    assert made.report[0] == 'follows leader'


def test_torques_of_the_leader_count_while_it_is_followed(follower, tmp_path):
    """In terms of own joints, with the same power."""
    path = tmp_path / 'laws.py'
    path.write_text(FORCES)
    torques = '/leader/external_torque'
    made = follower(
        f'{path}:mine',
        leader_torque_topic=torques,
        leader_joints=['elbow_joint=b', 'wrist_1_joint=c'],
        leader_scale=[-1.0, 2.0],
    )
    q = [-made.q[2], made.q[3] / 2.0]
    made.lead(None, names=['c', 'b'], torque=[4.0, 3.0])
    assert not made.torque().any()
    made.lead(q, names=['b', 'c'])
    np.testing.assert_allclose(made.torque(), [0, 0, -3.0, 2.0, 0, 0])
    made.lead(None, names=['b'], torque=[1.0])
    np.testing.assert_allclose(made.torque(), [0, 0, -1.0, 0, 0, 0])
    made.lead(None, names=['b'], torque=[np.nan])
    assert "efforts of joint 'elbow_joint' in the torque of the leader: nan" in made.report[2]
    for _ in range(9):
        made.lead(q, names=['b', 'c'])
        made.torque()
    assert made.torque()[2] == 0.0
    made.lead(None, names=['b', 'other'], torque=[1.0, 9.0])
    made.lead(q, names=['b', 'c'])
    assert made.torque()[2] == -1.0
    for _ in range(9):
        made.torque()
    made.lead(None, names=['b'], torque=[1.0])
    made.torque()
    assert not made.torque().any()  # the leader is late
    assert f'the leader state on {TOPIC} is' in made.report[2]


@pytest.mark.parametrize(
    ('values', 'reason'),
    [
        ({'leader_joints': ['a'], 'leader_scale': [0.0]}, "leader_scale of joint 'a' is 0"),
        ({'leader_joints': ['a=b', 'a=c']}, 'leader_joints: a=b, a=c names a joint twice'),
        ({'leader_scale': [1.0]}, 'leader_scale has 1 elements for 0 leader_joints'),
        ({'leader_topic': 'not a topic'}, "leader_topic 'not a topic'"),
    ],
)
def test_parameters_that_fit_no_robot_end_the_start(follower, values, reason):
    with pytest.raises(ArgumentError, match=reason):
        follower(**values)


def test_stamps_count_for_their_order_only(follower):
    """Clocks of two robots differ; some drivers do not stamp."""
    made = follower()
    for stamp in (0, 0, made.stamp + 3600 * 1000 * MS):
        made.lead(made.q + 0.05, stamp=stamp)
        np.testing.assert_allclose(made.torque(), made.springs(made.q + 0.05), atol=1e-6)
