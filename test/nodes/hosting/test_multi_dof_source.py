# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Planar and floating joints from their topic, against Pinocchio."""

import numpy as np
import pytest

pytest.importorskip('pinocchio')

import pinocchio as pin
from geometry_msgs.msg import Transform, Twist
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState, MultiDOFJointState

from screw_dynamics_ros.nodes.services.requests import service_model
from screw_dynamics_ros.ros.status import Level
from support.free_robot import MS, numbers
from support.host_bench import Bench, Outputs, serialized
from support.messages import write, write_stamp

INERTIAL = (
    '<inertial><origin xyz="0.1 -0.2 0.3"/><mass value="{}"/>'
    '<inertia ixx="1" ixy="0.1" ixz="0" iyy="1.2" iyz="0.05" izz="0.9"/></inertial>'
)
URDF = (
    '<robot name="ferry"><link name="sea"/>'
    f'<link name="hull">{INERTIAL.format(5)}</link><link name="cart">{INERTIAL.format(3)}</link>'
    f'<link name="arm">{INERTIAL.format(2)}</link>'
    '<joint name="swim" type="floating"><parent link="sea"/><child link="hull"/>'
    '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/></joint>'
    '<joint name="drive" type="planar"><parent link="hull"/><child link="cart"/>'
    '<origin xyz="0 0.5 0.5" rpy="0.3 0 0.2"/><axis xyz="0 0 1"/></joint>'
    '<joint name="lift" type="continuous"><parent link="cart"/><child link="arm"/>'
    '<origin xyz="0.2 0 0.4"/><axis xyz="0 1 0"/></joint></robot>'
)
JOINTS = ['lift']

#: A head on a ball joint, and its jaw.
HEAD = """<mujoco><worldbody><body name="head" pos="0 0 1" quat="0.9 0.1 0.2 0.3">
<joint name="neck" type="ball"/><geom type="box" size="0.1 0.08 0.12" pos="0.02 0 0.1"/>
<body name="jaw" pos="0.1 0 0"><joint name="lift" axis="0 1 0"/>
<geom type="box" size="0.05 0.04 0.02" pos="0.04 0 0"/></body></body></worldbody></mujoco>"""


class Ferry:
    """A node with the robot, and the robot in Pinocchio, in a random state."""

    def __init__(self, monkeypatch, **parameters):
        values = {'multi_dof_joint_states': True, **parameters}
        self.bench = Bench(monkeypatch, Outputs, 'all', **values)
        self.host = self.bench.host
        self.describe(URDF)
        self.model = pin.buildModelFromXML(URDF)
        self.data = self.model.createData()
        rng = np.random.default_rng(3)
        self.R, self.p = Rotation.from_rotvec(rng.normal(size=3)), rng.normal(size=3)
        self.plane, self.angle = rng.normal(size=2), rng.normal()
        self.twist, self.rates = rng.normal(size=6), rng.normal(size=3)  # vx, vy, omega in the cart
        self.q, self.v = rng.normal(size=1), rng.normal(size=1)

    def describe(self, text):
        self.bench.describe(text)

    def message(self, stamp, names=('swim', 'drive'), *, twist=True):
        """Return the motion of the joints; linear parts first."""
        message = MultiDOFJointState(joint_names=list(names))
        write_stamp(message, stamp)
        turned = Rotation.from_rotvec([0.0, 0.0, self.angle])
        motions = {
            'swim': (self.R, self.p, self.twist),
            'drive': (turned, [*self.plane, 0.0], [*self.rates[:2], 0.0, 0.0, 0.0, self.rates[2]]),
        }
        for name in names:
            R, p, V = motions.get(name, motions['swim'])
            transform, speed = Transform(), Twist()
            write(transform.rotation, 'xyzw', R.as_quat())
            write(transform.translation, 'xyz', p)
            write(speed.linear, 'xyz', V[:3])
            write(speed.angular, 'xyz', V[3:])
            message.transforms.append(transform)
            if twist:
                message.twist.append(speed)
        return message

    def measured(self, stamp, **options):
        self.host.multi_dof_source.receive(self.message(stamp, **options))

    def joint_state(self, stamp):
        """Send a joint state; return the messages by topic."""
        self.bench.sent.clear()
        self.host.states.receive(serialized(JOINTS, self.q, stamp, self.v, None), {})
        kinds = {each.topic: each.publisher.msg_type for each in self.host.states.channels}
        return {
            topic.removeprefix('/life/'): deserialize_message(data, kinds[topic])
            for topic, data in self.bench.sent
        }

    def state(self):
        """Return q, v of Pinocchio, v = T v_ours, and T' v_ours."""
        x, w = np.zeros(self.model.nq), np.zeros(self.model.nv)
        swim, drive, lift = (self.model.joints[self.model.getJointId(n)] for n in self.names)
        x[swim.idx_q : swim.idx_q + 7] = *self.p, *self.R.as_quat()
        c, s = np.cos(self.angle), np.sin(self.angle)
        x[drive.idx_q : drive.idx_q + 4] = *self.plane, c, s
        x[lift.idx_q : lift.idx_q + 2] = np.cos(self.q[0]), np.sin(self.q[0])
        w[swim.idx_v : swim.idx_v + 6], w[drive.idx_v : drive.idx_v + 3] = self.twist, self.rates
        w[lift.idx_v] = self.v[0]
        T = np.zeros((10, 10))  # rows of Pinocchio, columns (omega, v), (x', y', phi'), lift
        T[swim.idx_v : swim.idx_v + 6, :6] = np.eye(6)[[3, 4, 5, 0, 1, 2]]
        T[drive.idx_v : drive.idx_v + 3, 6:9] = [[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]
        T[lift.idx_v, 9] = 1.0
        rate = np.zeros_like(T)  # of T
        rate[drive.idx_v : drive.idx_v + 2, 6:8] = self.rates[2] * np.array([[-s, c], [-c, -s]])
        linear = np.array([[c, -s], [s, c]]) @ self.rates[:2]
        return x, w, T, rate @ [*np.zeros(6), *linear, 0.0, 0.0]

    names = ('swim', 'drive', 'lift')

    def check(self, sent):
        x, w, T, drift = self.state()
        M = pin.crba(self.model, self.data, x)
        M = np.triu(M) + np.triu(M, 1).T
        bias = pin.nonLinearEffects(self.model, self.data, x, w)
        gravity = pin.computeGeneralizedGravity(self.model, self.data, x)
        expected = {
            'dynamics/mass_matrix': (T.T @ M @ T).ravel(),
            'dynamics/gravity': (T.T @ gravity)[9:],
            'dynamics/center_of_mass': np.concatenate(
                [pin.centerOfMass(self.model, self.data, x, w), self.data.vcom[0]]
            ),
            'dynamics/coriolis': (T.T @ (bias - gravity + M @ drift))[9:],
        }
        for topic, value in expected.items():
            np.testing.assert_allclose(numbers(sent[topic]), value, atol=1e-10, err_msg=topic)


@pytest.fixture
def ferry(monkeypatch, keep):
    return lambda **parameters: keep(Ferry(monkeypatch, **parameters))


def test_results_contain_their_motion(ferry):
    made = ferry()
    stamp = made.bench.clock.time_ns()
    made.measured(stamp)
    sent = made.joint_state(stamp)
    made.check(sent)
    queried = service_model(made.host.situation({}))
    state = queried.requested_state(JointState(), ('position', 'velocity'))
    np.testing.assert_allclose(state.q[:3], made.p, atol=1e-12)
    np.testing.assert_allclose(state.v[8], made.rates[2], atol=1e-12)
    assert not queried.requested_state(JointState()).v.any()


def test_joints_without_a_topic_are_held_at_zero(ferry):
    made = ferry()
    made.measured(made.bench.clock.time_ns())
    assert made.host.description_status().level == Level.OK
    made.bench.node.set_parameters([Parameter('multi_dof_joint_states', value=False)])
    status = made.host.description_status()
    assert status.level == Level.WARN
    assert 'held at zero: swim, drive; set multi_dof_joint_states' in status.summary
    made.R, made.p, made.twist = Rotation.identity(), np.zeros(3), np.zeros(6)
    made.plane, made.angle, made.rates = np.zeros(2), 0.0, np.zeros(3)
    made.check(made.joint_state(made.bench.clock.time_ns()))


def test_a_lost_joint_stops_the_outputs(ferry):
    made = ferry()
    stamp = made.bench.clock.time_ns()
    assert 'dynamics/gravity' not in made.joint_state(stamp)
    assert (
        'swim, drive: no measurement so far; outputs have stopped'
        in made.host.payload_status().summary
    )
    made.measured(stamp, names=['swim'])
    assert 'dynamics/gravity' not in made.joint_state(stamp + MS)
    assert 'joint states for drive' in made.host.payload_status().summary
    made.measured(stamp + 2 * MS)
    made.check(made.joint_state(stamp + 2 * MS))
    assert made.host.payload_status().level == Level.OK
    assert 'dynamics/gravity' not in made.joint_state(stamp + 110 * MS)
    assert made.host.payload_status().level == Level.ERROR
    made.describe(URDF.replace('planar', 'fixed').replace('floating', 'fixed'))
    made.bench.clock.offset += 0.2
    assert 'dynamics/gravity' in made.joint_state(made.bench.clock.time_ns())
    assert made.host.payload_status().level == Level.OK


def test_a_lost_joint_is_held_where_it_was(ferry):
    made = ferry(on_base_loss='hold')
    stamp = made.bench.clock.time_ns()
    made.measured(stamp)
    sent = made.joint_state(stamp + 110 * MS)
    made.twist, made.rates = np.zeros(6), np.zeros(3)
    made.check(sent)
    assert made.host.payload_status().summary.endswith('they rest')


def test_twists_that_are_absent_are_those_between_poses(ferry):
    made = ferry()
    start = made.bench.clock.time_ns()
    made.twist = np.array([0.3, -0.2, 0.1, 0.0, 0.0, 0.0])
    made.rates = np.array([0.0, 0.0, 2.0])
    for k in (0, 10):
        made.measured(start + k * MS, twist=False)
        made.p = made.p + 1e-2 * made.R.apply(made.twist[:3])
        made.angle += 0.01 * 2.0
    made.p = made.p - 1e-2 * made.R.apply(made.twist[:3])
    made.angle -= 0.01 * 2.0
    made.check(made.joint_state(start + 10 * MS))


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        (lambda m: m.transforms.pop(), '2 joint_names, but 1 of transforms'),
        (lambda m: m.twist.pop(), '2 joint_names, but 1 of twist'),
        (lambda m: m.joint_names.__setitem__(0, 'drive'), 'in joint_names twice'),
        (lambda m: write(m.transforms[0].rotation, 'w', [3.0]), 'swim: the orientation is not a'),
        (lambda m: write(m.transforms[1].translation, 'x', [np.nan]), 'drive: a number is not'),
        (lambda m: write(m.transforms[1].translation, 'z', [0.1]), 'leaves the plane of the joint'),
        (lambda m: write(m.twist[0].angular, 'x', [np.inf]), 'swim: a number is not finite'),
        (lambda m: write_stamp(m, 0), 'no stamp'),
    ],
)
def test_bad_measurements_are_refused_with_a_reason(ferry, change, reason):
    made = ferry()
    stamp = made.bench.clock.time_ns()
    message = made.message(stamp)
    change(message)
    made.host.multi_dof_source.receive(message)
    assert 'dynamics/gravity' not in made.joint_state(stamp)
    assert reason in made.host.payload_status().summary


def test_a_ball_has_the_orientation_and_angular_velocity(ferry):
    """Beside MuJoCo; a position beside its center is refused."""
    pytest.importorskip('mujoco')
    from oracles.mujoco_model import MuJoCo

    made = ferry()
    made.describe(HEAD)
    made.p = np.zeros(3)
    stamp = made.bench.clock.time_ns()
    made.measured(stamp, names=['neck'])
    sent = made.joint_state(stamp)
    robot = made.host.states.model.robot
    oracle, q = MuJoCo(robot, HEAD), np.array([*made.R.as_quat(), *made.q])
    v, rest = np.array([*made.twist[3:], *made.v]), np.zeros(4)
    gravity = oracle.inverse_dynamics(q, rest, rest)
    bias = oracle.inverse_dynamics(q, v, rest)
    for topic, expected in {
        'dynamics/mass_matrix': oracle.mass_matrix(q).ravel(),
        'dynamics/gravity': gravity[3:],
        'dynamics/coriolis': (bias - gravity)[3:],
    }.items():
        np.testing.assert_allclose(numbers(sent[topic]), expected, atol=1e-10, err_msg=topic)
    made.p = np.array([0.0, 0.3, 0.4])
    made.measured(stamp + MS, names=['neck'])
    assert 'dynamics/gravity' not in made.joint_state(stamp + 110 * MS)
    assert 'neck: the pose is 0.5 m from the center' in made.host.payload_status().summary


def test_joints_of_others_are_ignored(ferry):
    made = ferry()
    stamp = made.bench.clock.time_ns()
    made.measured(stamp, names=['wave', 'swim', 'drive'])
    made.check(made.joint_state(stamp))
