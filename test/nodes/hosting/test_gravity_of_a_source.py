# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The source of gravity: which messages count, for how long, and what is reported."""

from types import SimpleNamespace

import numpy as np
import pytest
from geometry_msgs.msg import TransformStamped
from rclpy.serialization import serialize_message
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import Imu

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.state_clock import StateClock
from screw_dynamics_ros.nodes.hosting import gravity_source, measured_input
from screw_dynamics_ros.nodes.hosting.gravity_source import GravitySource
from screw_dynamics_ros.nodes.model.scalar_joints import ScalarJoints
from screw_dynamics_ros.ros.data_path.records import LoopRecord
from screw_dynamics_ros.ros.joint_states import requested_state
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.status import Level, Status
from screw_dynamics_ros.ros.topics import frame_chain
from support.robots import urdf_path

DOWN = np.array([0.0, 0.0, -9.81])
TILT = Rotation.from_euler('xyz', [0.5, -0.3, 0.8])
JOINTS = ('joint1', 'joint2')


@pytest.fixture(scope='module')
def model():
    return ScalarJoints(Robot.from_urdf(urdf_path('planar_2r'), backend='reference'))


class Sourced:
    """A source of gravity, with the clock and the subscriptions of its node."""

    def __init__(self, monkeypatch, model, **parameters):
        self.now = 100.0
        for module in (measured_input, gravity_source, frame_chain, requested_state):
            monkeypatch.setattr(module, 'time', SimpleNamespace(monotonic=lambda: self.now))
        self.parameters = {
            'gravity': DOWN.tolist(),
            'gravity_source': 'imu',
            'gravity_frame': 'world',
            'gravity_cutoff': 1.0,
            'gravity_timeout': 1.0,
            'on_gravity_loss': 'hold',
            'frame_prefix': 'left_',
            **parameters,
        }
        model.robot.gravity = DOWN
        self.states = SimpleNamespace(
            model=model,
            mapper=JointStateMapper(JOINTS, clock=lambda: 10**18),
            inputs=(),
            listened=[],
            tables=SimpleNamespace(loop=LoopRecord()),
        )
        self.states.tables.loop.state_clock = StateClock()
        self.subscriptions = {}
        node = SimpleNamespace(create_subscription=self._create)
        self.gravity = DOWN.copy()
        self.source = GravitySource(node, self.parameters, self.states, self.gravity)

    def _create(self, kind, topic, callback, profile, **options):
        assert topic not in self.subscriptions
        self.subscriptions[topic] = callback

    def configure(self, **values):
        self.parameters.update(values)
        self.source.update_parameters()

    def wait(self, seconds):
        self.now += seconds
        self.source.prepare()

    def turn(self):
        """Let the filter come to its end; return gravity."""
        for _ in range(400):
            self.wait(0.02)
        return self.gravity

    @property
    def is_lost(self):
        self.wait(0.0)
        return self.source.record.is_lost

    @property
    def status(self):
        status = Status('gravity')
        self.wait(0.0)
        self.source.report(status)
        return status

    def imu(self, frame='left_base', R=None, force=None, rate=None):
        message = Imu()
        message.header.frame_id = frame
        message.orientation_covariance[0] = -1.0 if R is None else 0.0
        message.angular_velocity_covariance[0] = -1.0 if rate is None else 0.0
        if R is not None:
            o = message.orientation
            o.x, o.y, o.z, o.w = R.as_quat().tolist()
        if force is not None:
            a = message.linear_acceleration
            a.x, a.y, a.z = map(float, force)
        w = message.angular_velocity
        w.x, w.y, w.z = (9.0, 9.0, 9.0) if rate is None else rate
        self.subscriptions['imu'](message)

    def transform(self, parent, child, R):
        from tf2_msgs.msg import TFMessage

        each = TransformStamped()
        each.header.frame_id, each.child_frame_id = parent, child
        r = each.transform.rotation
        r.x, r.y, r.z, r.w = R.as_quat().tolist()
        self.subscriptions['/tf'](serialize_message(TFMessage(transforms=[each])))


@pytest.fixture
def make(monkeypatch, model):
    return lambda **parameters: Sourced(monkeypatch, model, **parameters)


def test_a_parameter_needs_no_subscription_and_nothing_else(make):
    made = make(gravity_source='parameter', on_gravity_loss='stop')
    assert made.subscriptions == {}
    made.turn()
    np.testing.assert_array_equal(made.gravity, DOWN)
    assert not made.source.suspends
    made.states.model.robot.gravity = np.ones(3)
    made.source.keep_house()
    np.testing.assert_array_equal(made.states.model.robot.gravity, np.ones(3))
    assert made.status.summary == 'ok'
    assert made.status.values == {'gravity [m/s^2]': '0, 0, -9.81 (parameter)'}
    made.configure(gravity_source='imu')
    made.configure(gravity_source='parameter')
    made.imu(R=TILT)
    made.configure(gravity_source='imu')  # subscribed once
    assert made.is_lost


def test_an_orientation_turns_gravity_with_its_cutoff(make):
    made = make()
    assert made.status.level == Level.ERROR
    assert made.status.summary == (
        'no direction of gravity by gravity_source imu: no message so far; the parameter gravity '
        'stays active'
    )
    made.wait(0.5)
    made.imu(R=TILT)
    assert not made.is_lost
    expected = TILT.inv().apply(DOWN)
    whole = np.arccos(expected @ DOWN / 9.81**2)
    made.wait(0.02)
    turned = np.arccos(made.gravity @ DOWN / 9.81**2)
    assert turned == pytest.approx(whole * -np.expm1(-2.0 * np.pi * 0.02), rel=1e-6)
    np.testing.assert_allclose(made.turn(), expected, atol=1e-6)
    made.source.keep_house()
    np.testing.assert_allclose(made.states.model.robot.gravity, expected, atol=1e-6)


def test_a_direction_is_out_of_date_after_its_timeout(make):
    made = make(on_gravity_loss='stop')
    assert made.source.suspends
    assert made.status.summary.endswith('outputs have stopped (on_gravity_loss)')
    made.imu(R=TILT)
    made.wait(0.5)
    assert not made.source.suspends
    assert made.status.summary == 'ok'
    made.wait(0.5)
    assert not made.source.suspends
    made.wait(0.1)
    assert made.source.suspends
    assert made.status.summary == (
        'no direction of gravity by gravity_source imu for 1.1 s; outputs have stopped '
        '(on_gravity_loss)'
    )
    made.source.record.stops = False
    assert made.status.summary.endswith('for 1.1 s; the last vector stays active')
    made.source.record.timeout = 0.0
    made.now += 1e6
    assert made.status.summary == 'ok'
    made.source.update_parameters()  # forgets it
    assert made.is_lost
    assert 'no message so far' in made.status.summary


def test_forces_count_at_rest_only(make):
    """Of about the magnitude of gravity, and without a rate, which may be unknown."""
    made = make(gravity=[0.0, 0.0, -2.0])
    up = TILT.inv().apply([0.0, 0.0, 2.0])
    for message, is_used in (
        ({'force': up}, True),
        ({'force': up, 'rate': (0.0, 0.0, 0.01)}, True),
        ({'force': up, 'rate': (0.0, 2.0, 0.0)}, False),
        ({'force': 2.0 * up}, False),
        ({'force': [np.nan] * 3}, False),
    ):
        made.source.update_parameters()
        made.imu(**message)
        assert made.is_lost != is_used
        if not is_used:
            assert 'it has no orientation and is not at rest' in made.status.summary
    made.source.update_parameters()
    made.imu(force=up)
    np.testing.assert_allclose(made.turn(), TILT.inv().apply([0.0, 0.0, -2.0]), atol=1e-6)


LEVEL = Rotation.identity()
MOVING = {'rate': (0.0, 0.0, 0.5)}


def test_an_orientation_that_contradicts_the_acceleration_is_refused(make):
    """The driver of an IMU on a wall leaves the orientation 0 0 0 1; no vector is published."""
    made = make(on_gravity_loss='stop')
    wall = [-9.81, 0.0, 0.0]
    for message in ({'rate': (0.0, 0.0, 0.0)}, MOVING, {}):
        made.imu(R=LEVEL, force=wall, **message)
        assert made.is_lost
        made.wait(0.02)
        assert made.source.suspends
        np.testing.assert_array_equal(made.turn(), DOWN)
    assert made.status.level == Level.ERROR
    assert (
        'orientation and acceleration at rest of the IMU differ by 90 degrees: a driver without '
        'orientation must set orientation_covariance[0] to -1' in made.status.summary
    )
    made.imu(R=LEVEL, force=[0.0, 0.0, 9.81])  # mended
    assert made.status.summary == 'ok'
    made.imu(R=LEVEL, force=[0.0, 0.0, -9.81])
    assert made.status.level == Level.WARN  # until gravity_timeout, the last vector is used
    assert '180 degrees: at rest the acceleration must point up (REP 145)' in made.status.summary
    assert made.status.summary.endswith('the last vector stays active')
    made.source.update_parameters()
    assert 'no message so far' in made.status.summary


def test_orientations_of_healthy_imus_are_used(make):
    """Noise and bias of sensors, accelerations, vibrations, other scales, and none at all."""
    rng = np.random.default_rng(0)
    made = make()
    for k in range(300):
        R = Rotation.random(random_state=k)
        up = R.inv().apply([0.0, 0.0, 9.81]) + [0.2, -0.2, 0.2]  # with a bias of 0.035 g
        pushed = R.inv().apply([*rng.normal(size=2) * 3.0, 9.81])
        vibrating = up + rng.normal(size=3) * 0.3
        for message in (
            {'force': up},
            {'force': vibrating, 'rate': rng.normal(size=3) * 0.02},
            {'force': pushed},
            {'force': rng.normal(size=3) * 9.81, **MOVING},
            {'force': up / 9.81},
            {'force': np.zeros(3)},
            {'force': [np.nan] * 3},
            {},
        ):
            made.imu(R=R, **message)
            assert made.status.summary == 'ok'
            assert made.source.record.arrival == made.now
            expected = R.inv().apply([0, 0, -9.81])
            np.testing.assert_allclose(made.source.record.target, expected, atol=1e-8)
        made.now += 0.5


def test_an_unknown_acceleration_is_not_used(make):
    made = make()
    message = Imu(linear_acceleration_covariance=[-1.0, *[0.0] * 8])
    message.linear_acceleration.x = 9.81
    message.header.frame_id = 'base'
    message.orientation.w = 1.0
    made.subscriptions['imu'](message)
    assert made.status.summary == 'ok'


def test_an_imu_on_a_link_that_moves(make):
    made = make()
    made.imu('tip', R=TILT)
    assert 'joints are between base and tip' in made.status.summary
    message = JointStateMessage.of(JOINTS, [0.3, -0.5], [0.0, 0.0], [], 10**18)
    assert made.states.mapper.update(message, made.now)
    link = Rotation.from_rotvec([0.0, 0.0, -0.2])
    for frame in ('tip', 'left_tip'):
        made.source.update_parameters()
        made.imu(frame, R=TILT * link)
        np.testing.assert_allclose(made.turn(), TILT.inv().apply(DOWN), atol=1e-6)
    for frame, R, reason in (
        ('right_tip', TILT, "imu: robot planar_2r has no link 'right_tip'"),
        ('base', None, 'it has no orientation'),
    ):
        made.source.update_parameters()
        made.imu(frame, R=R)
        assert reason in made.status.summary
    made.states.model = None
    made.imu('base', R=TILT)
    assert 'no robot description yet' in made.status.summary


def test_transforms_are_looked_at_when_they_arrive(make):
    made = make(gravity_source='tf')
    assert set(made.subscriptions) == {'/tf', '/tf_static'}
    made.source.keep_house()
    assert "does not connect 'left_base' to a frame 'world'" in made.status.summary
    assert made.is_lost
    made.transform('world', 'left_base', TILT)
    assert not made.is_lost
    np.testing.assert_allclose(made.turn(), TILT.inv().apply(DOWN), atol=1e-6)
    assert made.is_lost  # the age is that of the transform
    made.source.keep_house()
    assert made.is_lost
    made.transform('world', 'left_base', TILT)
    assert not made.is_lost
    made.configure()
    assert not made.is_lost  # it is known from the transforms at once
    assert set(made.subscriptions) == {'/tf', '/tf_static'}
