# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""`~/contact_point` and `~/contact_force` of the node: messages, refusals, changes in any order."""

import numpy as np
import pytest
from geometry_msgs.msg import PoseWithCovarianceStamped, WrenchStamped
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.lie import quaternions
from screw_dynamics_ros.core.mechanisms.closures.example_loops import golden_four_bar
from screw_dynamics_ros.nodes.model.closed_loops import RobotWithLoops
from screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_outputs import WrenchEstimator
from screw_dynamics_ros.ros.diagnostics import Level
from support.host_bench import Bench, serialized
from support.robots import urdf_path
from support.sequences import run_sequences

PANDA = urdf_path('panda').read_text()
LOOSE = PANDA.replace('panda_link7', 'palm')  # another robot: another name of a link
Q = np.array([0.2, -0.6, 0.3, -2.2, 0.1, 1.7, 0.7, 0.02])
PUSH = np.array([15.0, -20.0, 10.0])  # N, in axes of panda_hand_tcp
POINT, FORCE = '/life/wrench_estimator/contact_point', '/life/wrench_estimator/contact_force'


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(PANDA)


@pytest.fixture
def bench(monkeypatch, keep):
    made = keep(
        Bench(
            monkeypatch,
            WrenchEstimator,
            'wrench_estimator',
            max_delay=10.0,
            backend='auto',
            contact_torque_deviation=[0.1],
            frame_prefix='left_',
        )
    )
    made.describe(PANDA)
    made.host.states.look_for_listeners()
    return made


def effort(robot, *wrenches):
    """Return the efforts that hold the robot against wrenches (link, moment and force)."""
    tau = robot.gravity_torques(Q)
    for link, wrench in wrenches:
        tau = tau - robot.jacobian(Q, link, 'body').T @ wrench
    return tau


def send(bench, robot, stamp, tau, velocity=None):
    """Let a state come; return what is published of the contact, by topic."""
    bench.clock.offset += (stamp - bench.clock.time_ns()) * 1e-9
    bench.sent.clear()
    bench.host.states.receive(serialized(list(robot.joint_names), Q, stamp, velocity, tau), {})
    kinds = {POINT: PoseWithCovarianceStamped, FORCE: WrenchStamped}
    return {t: deserialize_message(d, kinds[t]) for t, d in bench.sent if t in kinds}


def now(bench):
    return bench.clock.time_ns() + 10**7


def said(bench):
    """Return what the status of the outputs says of the contact."""
    return bench.part.status().values['contact']


def test_messages_tell_link_point_and_force(bench, robot):
    stamp = now(bench)
    tau = effort(robot, ('panda_hand_tcp', np.concatenate([np.zeros(3), PUSH])))
    messages = send(bench, robot, stamp, tau)
    point, force = messages[POINT], messages[FORCE]
    for message in (point, force):
        assert message.header.frame_id == 'left_panda_link7'
        assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == stamp
    C = np.linalg.inv(robot.link_pose(Q, 'panda_link7')) @ robot.link_pose(Q, 'panda_hand_tcp')
    p, f = point.pose.pose.position, C[:3, :3] @ PUSH
    np.testing.assert_allclose([p.x, p.y, p.z], C[:3, 3], atol=2e-3)
    w = force.wrench
    found = np.array([w.force.x, w.force.y, w.force.z])
    np.testing.assert_allclose(found, f, atol=0.5)
    moment = [w.torque.x, w.torque.y, w.torque.z]
    np.testing.assert_allclose(moment, np.cross([p.x, p.y, p.z], found), atol=1e-9)
    o = point.pose.pose.orientation
    R = quaternions.to_matrix(np.array([o.x, o.y, o.z, o.w]))
    np.testing.assert_allclose(R[:, 0], found / np.linalg.norm(found), atol=1e-9)
    covariance = point.pose.covariance.reshape(6, 6)
    np.testing.assert_allclose(covariance, covariance.T, atol=1e-15)
    assert (np.linalg.eigvalsh(covariance) > -1e-12).all()
    assert 0.0 < covariance[2, 2] < 0.05**2  # along the link, whose axis is z
    np.testing.assert_allclose(covariance[3:, 3:] @ found, 0.0, atol=1e-9)  # no turn about it
    assert said(bench).startswith('panda_link7, to panda_hand_tcp')


def test_reasons_are_told(bench, robot):
    assert not send(bench, robot, now(bench), effort(robot))
    assert said(bench) == 'none: no external torque is beyond its noise'
    moment = np.concatenate([[8.0, -9.0, 7.0], PUSH])
    assert not send(bench, robot, now(bench), effort(robot, ('panda_hand_tcp', moment)))
    assert 'no single force' in said(bench)
    upper = ('panda_link2', np.array([0, 0, 8.0, 30.0, 10, 0]))
    assert not send(bench, robot, now(bench), effort(robot, upper))
    assert said(bench).startswith('none: ')
    missing = np.full(8, np.nan)
    assert not send(bench, robot, now(bench), missing)
    assert said(bench) == 'none: no state with subscribers'
    assert bench.part.status().level != Level.ERROR


def test_nothing_is_computed_without_subscribers(bench, robot, monkeypatch):
    for channel in bench.part._location._channels:
        channel.count_listeners = lambda channel=channel: setattr(channel, 'listeners', 0)
    bench.host.states.look_for_listeners()
    locator = bench.part._location._plan.locator
    monkeypatch.setattr(locator, 'locate', lambda *arguments: pytest.fail('computed'))
    tau = effort(robot, ('panda_hand_tcp', np.concatenate([np.zeros(3), PUSH])))
    assert not send(bench, robot, now(bench), tau)


def test_rate_counts_by_the_stamps(bench, robot):
    """Every second state at half of their rate; the last contact is still reported by the
    status.
    """
    tau = effort(robot, ('panda_hand_tcp', np.concatenate([np.zeros(3), PUSH])))
    first = now(bench)
    bench.node.set_parameters([Parameter('contact_rate', value=50.0)])
    reported = [bool(send(bench, robot, first + k * 10**7, tau)) for k in range(5)]
    assert reported == [True, False, True, False, True]
    assert not send(bench, robot, first + 5 * 10**7, effort(robot))
    assert said(bench).startswith('panda_link7')
    assert not send(bench, robot, first + 6 * 10**7, effort(robot))
    assert said(bench) == 'none: no external torque is beyond its noise'
    bench.node.set_parameters([Parameter('contact_rate', value=0.0)])
    assert all(send(bench, robot, first + k * 10**7, tau) for k in range(7, 10))


def test_parameters(bench, robot):
    def set_to(value, name='contact_torque_deviation'):
        return bench.node.set_parameters([Parameter(name, value=value)])[0]

    tau = effort(robot, ('panda_hand_tcp', np.concatenate([np.zeros(3), PUSH])))
    for bad in ([], [0.1, 0.2], [0.0], [-1.0]):
        assert not set_to(bad).successful
    assert send(bench, robot, now(bench), tau)
    assert set_to([100.0] * 8).successful
    assert not send(bench, robot, now(bench), tau)
    assert 'beyond its noise' in said(bench)
    assert set_to([0.1] * 8).successful
    assert send(bench, robot, now(bench), tau)
    assert set_to(1e-6, 'contact_largest_deviation').successful
    assert not send(bench, robot, now(bench), tau)
    assert 'do not determine the point' in said(bench)


def test_robots_with_loops_are_refused(bench):
    closed = golden_four_bar()
    robot = RobotWithLoops(closed.robot.description, closed.loops, backend='reference')
    plan = bench.part._location.plan(robot)
    assert plan.locator is None
    assert 'loops' in plan.refusal


class Sequence(RuleBasedStateMachine):
    """Contacts, silence, other robots and options in any order: only touched links are reported."""

    bench = robot = None

    @initialize()
    def start(self):
        self.describe(PANDA)
        self.choose('static')
        self.deviations([0.1])

    @rule(text=st.sampled_from([PANDA, LOOSE]))
    def describe(self, text):
        self.link = 'left_panda_link7' if text is PANDA else 'left_palm'
        self.bench.describe(text)
        self.bench.host.states.look_for_listeners()
        self.since = 0

    @rule(observer=st.sampled_from(['static', 'kalman', 'momentum']))
    def choose(self, observer):
        self.bench.node.set_parameters([Parameter('observer', value=observer)])
        self.bench.finish()
        self.bench.host.states.look_for_listeners()
        self.observer, self.since = observer, 0

    @rule(values=st.sampled_from([[0.1], [0.2] * 8, [0.1] * 3, []]))
    def deviations(self, values):
        answer = self.bench.node.set_parameters(
            [Parameter('contact_torque_deviation', Parameter.Type.DOUBLE_ARRAY, values)]
        )[0]
        assert answer.successful == (len(values) in (1, 8))

    @rule(count=st.integers(1, 3), touched=st.booleans(), whole=st.booleans())
    def states(self, count, touched, whole):
        push = ('panda_hand_tcp', np.concatenate([np.zeros(3), PUSH]))
        tau = effort(self.robot, *[push] * touched)
        for _ in range(count):
            velocity = None if whole else [float('nan')] * 8
            messages = send(
                self.bench, self.robot, now(self.bench), tau if whole else tau * np.nan, velocity
            )
            if self.observer == 'static':
                assert len(messages) == 2 * (touched and whole)
            assert all(m.header.frame_id == self.link for m in messages.values())
        self.bench.part.status()


@pytest.mark.filterwarnings('ignore')
def test_any_order(bench, robot):
    Sequence.bench, Sequence.robot = bench, robot
    run_sequences(Sequence, 8, few=4)
