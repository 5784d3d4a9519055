# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outputs of robots with a floating base against the free-flyer of Pinocchio."""

import numpy as np
import pytest

pytest.importorskip('pinocchio')
pytest.importorskip('nav_msgs')

import pinocchio as pin
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.nodes.services.requests import service_model
from screw_dynamics_ros.ros.status import Level
from support.free_robot import MS, SWAPPED, FreeRobot, check, numbers
from support.messages import write, write_stamp
from support.node_bench import NodeBench
from support.robots import robot_id, sampled_robots, urdf_path
from support.ros_harness import stamp_of

LEGGED = [
    path
    for path in sampled_robots()
    if any(f'/{name}' in path.as_posix() for name in ('solo', 'anymal', 'a1', 'go1', 'bolt', 'hyq'))
]


@pytest.fixture
def robot(monkeypatch, keep):

    def make(path=None, **parameters):
        return keep(FreeRobot(monkeypatch, path or urdf_path('bolt'), **parameters))

    return make


@pytest.mark.parametrize('path', LEGGED, ids=robot_id)
def test_results_contain_the_base(robot, path):
    made = robot(path)
    stamp = made.now()
    made.measured(stamp)
    sent = made.joint_state(stamp)
    check(made, sent)
    assert sent['dynamics/base_wrench'].header.frame_id == made.root
    labels = sent['dynamics/mass_matrix'].layout.dim[0].label.split(',')
    assert labels[:6] == [f'{made.root}.{axis}' for axis in ('wx', 'wy', 'wz', 'vx', 'vy', 'vz')]
    assert labels[6:] == list(made.joints)
    jacobians = {t: m for t, m in sent.items() if '/jacobian/' in t}
    assert jacobians
    kinematics = next(g for g in made.host.builder.groups if hasattr(g, '_singularities'))
    for token, link in kinematics._adopted.plan.frames.tokens.items():
        topic = f'all/jacobian/{link}'
        np.testing.assert_allclose(
            numbers(jacobians[topic]), made.jacobian(token).ravel(), atol=1e-10
        )


def test_the_measured_frame_may_be_any_link(robot):
    """Its offset, and the motion of the joints between it and the root link, are removed."""
    made = robot()
    stamp = made.now()
    made.measured(stamp)
    made.joint_state(stamp)  # of the joints between
    x, w = made.state()
    pin.forwardKinematics(made.model, made.data, x, w)
    frame = made.model.getFrameId('FL_LOWER_LEG', pin.BODY)
    pin.updateFramePlacements(made.model, made.data)
    pose = made.data.oMf[frame]
    V = pin.getFrameVelocity(made.model, made.data, frame, pin.LOCAL).vector[SWAPPED]
    made.host.base_source.update_parameters()  # what was measured is forgotten
    R, p = Rotation.from_matrix(pose.rotation), pose.translation
    made.measured(stamp + MS, 'FL_LOWER_LEG', R, p, V)
    check(made, made.joint_state(stamp + MS))


def test_motion_between_measurements_and_after_the_last_one(robot):
    """The base moves with a constant body twist, as the outputs at other stamps show."""
    made = robot()
    start = made.now()
    for k in (0, 40):
        made.measured(start + k * MS, **made.moved(k * 1e-3))
    for k in (13, 40, 120):
        made.bench.clock.offset += 0.01
        check(made, made.joint_state(start + k * MS), **made.moved(k * 1e-3))


def test_a_twist_that_is_not_measured_is_that_between_two_poses(robot):
    made = robot()
    start = made.now()
    for k in (0, 20):
        message = made.odometry(start + k * MS, **made.moved(k * 1e-3))
        write(message.twist.twist.linear, 'xyz', [9.0, 9.0, 9.0])
        message.twist.covariance[0] = -1.0
        made.host.base_source.receive_odometry(message)
    check(made, made.joint_state(start + 20 * MS), **made.moved(0.02))


def test_services_know_where_the_base_is(robot):
    made = robot()
    stamp = made.now()
    made.measured(stamp)
    made.joint_state(stamp)
    queried = service_model(made.host.situation({}))
    assert not queried.requested_state(JointState()).v.any()
    state = queried.requested_state(JointState(), ('position', 'velocity'))
    np.testing.assert_allclose(state.v, np.concatenate([made.twist, made.v]), atol=1e-12)
    np.testing.assert_allclose(np.abs(state.q[3:7]), np.abs(made.R.as_quat()), atol=1e-12)
    np.testing.assert_allclose(state.q[:3], made.p)
    np.testing.assert_allclose(state.q[7:], made.q)
    assert not state.a.any()


@pytest.mark.parametrize('policy', ['stop', 'hold'])
def test_a_base_that_is_lost(robot, policy):
    made = robot(base_timeout=0.05, on_base_loss=policy)
    stamp = made.now()
    sent = made.joint_state(stamp)
    assert ('dynamics/mass_matrix' in sent) == (policy == 'hold')
    assert 'unknown: no measurement so far' in made.status().summary
    made.measured(stamp)
    check(made, made.joint_state(stamp + 50 * MS), **made.moved(0.05))
    assert made.status().level == Level.OK
    sent = made.joint_state(stamp + 51 * MS)
    assert made.status().level == Level.ERROR
    assert '0.051 s from the joint states' in made.status().summary
    if policy == 'hold':
        check(made, sent, twist=np.zeros(6))
    else:
        assert 'dynamics/mass_matrix' not in sent
    made.measured(stamp + 60 * MS)
    check(made, made.joint_state(stamp + 60 * MS))
    assert made.host.mapper.restarted  # observers start again
    check(made, made.joint_state(stamp + 61 * MS), **made.moved(1e-3))
    assert not made.host.mapper.restarted


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        (lambda m: write(m.pose.pose.orientation, 'w', [3.0]), 'not a unit quaternion'),
        (lambda m: write(m.pose.pose.position, 'x', [np.nan]), 'not finite'),
        (lambda m: write(m.twist.twist.linear, 'x', [np.inf]), 'not finite'),
        (lambda m: setattr(m, 'child_frame_id', 'camera'), "no link 'camera'"),
        (lambda m: write_stamp(m, 0), 'no stamp'),
    ],
)
def test_bad_measurements_are_refused_with_a_reason(robot, change, reason):
    made = robot()
    message = Odometry(child_frame_id=made.root)
    message.pose.pose.orientation.w = 1.0
    write_stamp(message, made.now())
    change(message)
    made.host.base_source.receive_odometry(message)
    assert 'dynamics/mass_matrix' not in made.joint_state(made.now())
    assert reason in made.status().summary


def test_orientation_and_angular_velocity_of_an_imu(robot):
    made = robot(base_source='imu')
    stamp = made.now()
    message = Imu()
    message.header.frame_id = made.root
    write_stamp(message, stamp)
    write(message.orientation, 'xyzw', made.R.as_quat())
    write(message.angular_velocity, 'xyz', made.twist[:3])
    made.host.base_source.receive_imu(message)
    twist = np.concatenate([made.twist[:3], np.zeros(3)])
    check(made, made.joint_state(stamp), p=np.zeros(3), twist=twist)
    message.orientation_covariance[0] = -1.0
    write_stamp(message, stamp + MS)
    made.host.base_source.receive_imu(message)
    assert made.host.base_source._bodies['base'].history.newest == stamp


@pytest.mark.parametrize('gravity', [9.81, 1.0])
def test_an_imu_that_contradicts_itself_is_refused(robot, gravity):
    """The orientation is the default one, and the acceleration at rest that of a wall; or in g."""
    made = robot(base_source='imu')
    message = Imu()
    message.header.frame_id = made.root
    for k, (x, is_used) in enumerate([(0.0, True), (gravity, False)]):
        made.host.base_source.update_parameters()
        write(message.linear_acceleration, 'xz', [x, gravity - x])
        stamp = made.now() + k * MS
        write_stamp(message, stamp)
        made.host.base_source.receive_imu(message)
        assert ('dynamics/mass_matrix' in made.joint_state(stamp)) == is_used
    assert 'IMU differ by 90 degrees' in made.status().summary
    assert made.status().level == Level.ERROR


def drive(made, twists, steps=80, start=None):
    """Send odometry of a motion with one body twist, and `twists(R, V)` of the message."""
    start = made.now() if start is None else start
    for k in range(steps):
        pose = made.moved(k * 1e-2)
        stamp = start + 10 * k * MS
        made.measured(stamp, **pose, twist=twists(pose['R'], made.twist))
    made.bench.clock.offset += 0.01 * steps
    return made.joint_state(stamp), pose


@pytest.mark.parametrize(
    ('twists', 'cause'),
    [
        (lambda R, V: np.concatenate([R.apply(V[:3]), R.apply(V[3:])]), 'the axes of the poses'),
        (lambda R, V: -V, 'the opposite sign'),
        (lambda R, V: 0.0 * V, 'about zero'),
        (lambda R, V: V[[3, 4, 5, 0, 1, 2]], 'twists contradict poses'),
        (lambda R, V: 1e300 * V, 'twists contradict poses'),
    ],
)
def test_a_twist_that_contradicts_the_poses_is_refused(robot, twists, cause):
    made = robot()
    sent, _ = drive(made, twists)
    assert 'dynamics/mass_matrix' not in sent
    assert made.status().level == Level.ERROR
    assert cause in made.status().summary
    assert 'covariance[0] to -1' in made.status().summary
    sent, pose = drive(made, lambda R, V: V)  # mended
    check(made, sent, **pose)
    assert made.status().level == Level.OK


def test_axes_of_the_twist_of_a_platform_that_drives(robot):
    """It faces the y axis of the poses and drives along x, as in ground truth of simulators."""
    made = robot()
    made.R, made.twist = Rotation.from_euler('z', 90, degrees=True), np.array([0, 0, 0, 0, -1.0, 0])
    sent, pose = drive(made, lambda R, V: np.concatenate([V[:3], R.apply(V[3:])]))
    assert 'dynamics/mass_matrix' not in sent
    assert 'is like one in the axes of the poses, not the body' in made.status().summary
    sent, pose = drive(made, lambda R, V: V)
    check(made, sent, **pose)


def test_poses_on_tf(robot):
    """The chain from the frame to the root link; the twist is that between two poses."""
    made = robot(base_source='tf', base_frame='map')
    chain = made.host.base_source._chain
    offset = TransformStamped(child_frame_id='odom')
    offset.header.frame_id = 'map'
    offset.transform.rotation.w = 1.0
    offset.transform.translation.x = 1.5
    chain.receive(TFMessage(transforms=[offset]), True)
    start = made.now()
    for k in (0, 10):
        pose = made.moved(k * 1e-3)
        moved = TransformStamped(child_frame_id=made.root)
        moved.header.frame_id = 'odom'
        write_stamp(moved, start + k * MS)
        write(moved.transform.rotation, 'xyzw', pose['R'].as_quat())
        write(moved.transform.translation, 'xyz', pose['p'])
        chain.receive(TFMessage(transforms=[moved]), False)
        sent = made.joint_state(start + k * MS)
    check(made, sent, R=pose['R'], p=pose['p'] + [1.5, 0.0, 0.0])


def test_links_of_a_chain_in_separate_messages(robot):
    """With the same stamp: the pose is that of both, whichever comes first."""
    made = robot(base_source='tf', base_frame='map')
    chain, start, shift = made.host.base_source._chain, made.now(), np.array([0.0, 0.5, 0.0])

    def sent(parent, child, stamp, R, p):
        moved = TransformStamped(child_frame_id=child)
        moved.header.frame_id = parent
        write_stamp(moved, stamp)
        write(moved.transform.rotation, 'xyzw', R.as_quat())
        write(moved.transform.translation, 'xyz', p)
        chain.receive(TFMessage(transforms=[moved]), False)

    for k in (0, 10, 20):
        pose, stamp = made.moved(k * 1e-3), start + k * MS
        sent('odom', made.root, stamp, pose['R'], pose['p'] - (1.0 + k) * shift)
        sent('map', 'odom', stamp, Rotation.identity(), (1.0 + k) * shift)
    check(made, made.joint_state(stamp), **pose)


@pytest.mark.parametrize('w', [0.0, np.nan])
def test_an_invalid_transform_is_the_reason_of_lost_commands(robot, w):
    """Its frame and values are on /diagnostics, of the base and of the commands."""
    made = robot(base_source='tf', base_frame='map', base_timeout=0.05)
    dynamics = next(each for each in made.host.builder.groups if hasattr(each, 'commands'))
    assert dynamics.commands._enable(True)
    chain = made.host.base_source._chain
    moved = TransformStamped(child_frame_id=made.root)
    moved.header.frame_id = 'map'

    def sent(w, step):
        moved.transform.rotation.w = w
        stamp = made.now()
        write_stamp(moved, stamp + step)
        chain.receive(TFMessage(transforms=[moved]), False)
        return made.joint_state(stamp + step)

    assert 'dynamics/commands' in sent(1.0, 0)
    assert dynamics.commands.status().level == Level.OK
    made.bench.clock.offset += 0.5
    assert 'dynamics/commands' not in sent(w, 100 * MS)
    dynamics.commands.watch()
    reason = (
        'a number is not finite: orientation (0, 0, 0, nan), position (0, 0, 0)'
        if np.isnan(w)
        else 'the orientation is not a unit quaternion: (0, 0, 0, 0)'
    )
    reason = f"the transform of '{made.root}' in 'map' is invalid: {reason}"
    for status in (made.status(), dynamics.commands.status()):
        assert status.level == Level.ERROR
        assert 'the motion of the base by base_source tf is ' in status.summary
        assert reason in status.summary
    assert 'dynamics/commands' in sent(1.0, 200 * MS)
    assert reason not in made.status().summary + dynamics.commands.status().summary


def test_the_direction_of_gravity_has_one_source(robot):
    made = robot()
    result = made.bench.node.set_parameters_atomically([Parameter('gravity_source', value='imu')])
    assert 'set gravity_source to parameter' in result.reason


def test_the_base_is_fixed_and_free_in_turn(robot):
    """With a fixed base, results are those without one."""
    made = robot()
    for source, size in (('fixed', 6), ('odometry', 12)):
        made.bench.node.set_parameters([Parameter('base_source', value=source)])
        made.bench.finish()
        made.bench.clock.offset += 0.1
        stamp = made.now()
        if source == 'odometry':
            made.measured(stamp)
        sent = made.joint_state(stamp)
        assert len(sent['dynamics/mass_matrix'].data) == size**2
        assert ('dynamics/base_wrench' in sent) == (source == 'odometry')


def test_momentum_in_flight(robot, ros_domain):
    """The simulator throws the robot and moves its legs: weight alone changes the momentum."""
    path = urdf_path('bolt')
    with pytest.MonkeyPatch.context() as patch:
        simulated = NodeBench(
            ros_domain,
            patch,
            robot_description=path.read_text(),
            floating_base=True,
            rate=100.0,
            initial_base_pose=[0.0, 0.0, 3.0, 0.5, 0.5, 0.5, 0.5],
            motion_amplitude=0.5,
        )
        simulated.go_on(0.8)
        simulated.close()
    made = robot(path)
    rates, momenta, stamps = [], [], []
    for odometry, state in zip(simulated.sent['odom'], simulated.sent['joint_states']):
        assert odometry.header.stamp == state.header.stamp
        made.host.base_source.receive_odometry(odometry)
        made.bench.sent.clear()
        made.bench.clock.offset += 0.01
        made.host.states.receive(serialize_message(state), {})
        (data,) = (data for topic, data in made.bench.sent if topic.endswith('/momentum'))
        momenta.append(numbers(deserialize_message(data, Float64MultiArray)))
        rates.append(state.velocity)
        stamps.append(stamp_of(state))
    assert len(momenta) > 70
    assert np.abs(rates).max() > 0.05
    falling = (np.array(stamps) - stamps[0])[:, None] * 1e-9 * [0.0, 0.0, -9.81]
    change = np.array(momenta) - momenta[0]
    np.testing.assert_allclose(change[:, :3], made.host.model.robot.total_mass * falling, atol=1e-5)
    np.testing.assert_allclose(change[:, 3:], 0.0, atol=1e-6)
