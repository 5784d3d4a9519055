# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Goals through the proxy to a controller and back, in one process, by real actions.

Time in which the controller has to answer goes on when we say so.
"""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('control_msgs.action')

import rclpy
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from geometry_msgs.msg import TransformStamped
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from rclpy.action import CancelResponse
from rclpy.node import Node
from rclpy.task import Future
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.nodes.model.parts import Adopted, Plan
from screw_dynamics_ros.nodes.trajectory import goal_relay, trajectory_proxy
from screw_dynamics_ros.nodes.trajectory.goal_preparation import prepare
from screw_dynamics_ros.nodes.trajectory.goal_relay import ABORTED, CANCELED, SUCCEEDED, Phase
from screw_dynamics_ros.nodes.trajectory.trajectory_proxy import TrajectoryProxy
from screw_dynamics_ros.ros.messages.trajectories import duration_stamp
from screw_dynamics_ros.ros.process.worker import FunctionError, WorkerError
from screw_dynamics_ros.ros.status import Level
from support.host_bench import Clock
from support.planar_2r import LIMITED
from support.proxy_rig import JOINTS, Rig, goal
from support.sequences import run_sequences

OK, INVALID_GOAL, INVALID_JOINTS, OLD = 0, -1, -2, -3
EXECUTING = 2  # of action_msgs/GoalStatus
STATUS_NAMES = {SUCCEEDED: 'succeeded', CANCELED: 'canceled', ABORTED: 'aborted'}


@pytest.fixture(scope='module')
def clock(ros_domain):
    """Return the clock of all rigs, which stands still; ROS runs meanwhile."""
    rclpy.init(domain_id=ros_domain)
    made = Clock()
    with pytest.MonkeyPatch.context() as patch:
        for module in (goal_relay, trajectory_proxy):
            patch.setattr(module, 'time', made)
        yield made
    Rig.worker.end()
    rclpy.shutdown()


@pytest.fixture(scope='module')
def shared(clock):
    made = Rig(clock)
    made.start_controller()
    yield made
    made.close()


DEFAULTS = {
    'on_excess': 'slow',
    'effort_limit_factor': 1.0,
    'effort_share': 1.0,
    'compensated_terms': [''],
    'scale_tolerances': True,
    'resolution': 0.02,
}


@pytest.fixture
def rig(shared):
    if shared.arm is None:
        shared.start_controller()
    shared.set(**DEFAULTS, payload_mass=0.0)
    shared.arm.accepts, shared.stands_still = True, False
    yield shared
    if shared.arm is not None and shared.arm.running is not None:
        shared.arm.end()
    shared.wait(lambda: all(sent.ended for sent in shared.sent))  # and counted
    shared.wait(lambda: shared.proxy.relay.running is None)


def arrays(message):
    """Return times, positions, velocities, accelerations and efforts of the points."""
    points = message.trajectory.points
    return (
        np.array([duration_stamp(point.time_from_start) / NANOSECONDS for point in points]),
        *(
            np.array([getattr(point, field) for point in points])
            for field in ('positions', 'velocities', 'accelerations', 'effort')
        ),
    )


# --- what is passed on ----------------------------------------------------------------------------


def test_rates_and_efforts_are_filled_in(rig):
    """Along the clamped spline through the points; efforts by Newton-Euler, at the end at rest."""
    from scipy.interpolate import CubicSpline

    message = goal()
    rig.run(message)
    t, q, v, a, efforts = arrays(rig.arm.goals[-1])
    assert (t[0], t[-1]) == (0.0, 2.0)
    assert np.diff(t).max() < 0.0201
    spline = CubicSpline([0, 1, 2], [[0, 0], [0.1, 0.2], [0.2, 0.1]], bc_type='clamped')
    for found, order in ((q, 0), (v, 1), (a, 2)):
        np.testing.assert_allclose(found[:-1], spline(t, order)[:-1], atol=1e-6)
    np.testing.assert_allclose([q[-1], v[-1], a[-1]], [[0.2, 0.1], [0, 0], [0, 0]], atol=1e-9)
    robot = Robot.from_urdf(LIMITED, gravity=(0, -9.81, 0), backend='reference')
    np.testing.assert_allclose(efforts, robot.drive_torques(q, v, a), atol=1e-6)


def test_what_the_robot_compensates_is_left_out(rig):
    rig.set(compensated_terms=['gravity', 'friction'], effort_share=0.5)
    rig.run()
    _, q, v, a, efforts = arrays(rig.arm.goals[-1])
    robot = Robot.from_urdf(LIMITED, gravity=(0, 0, 0), backend='reference')
    np.testing.assert_allclose(efforts, 0.5 * robot.inverse_dynamics(q, v, a), atol=1e-6)


def test_the_payload_of_the_parameters_counts(rig):
    rig.run()
    light = arrays(rig.arm.goals[-1])[-1]
    rig.set(payload_link='tip', payload_mass=1.0)
    rig.run()
    heavy = arrays(rig.arm.goals[-1])[-1]
    assert (heavy[:, 0] - light[:, 0] > 9.81).all()


def test_tolerances_joints_and_stamp_are_passed_on(rig):
    message = goal(path_tolerance=[JointTolerance(name='joint1', position=0.1, velocity=-1.0)])
    message.trajectory.header.frame_id = 'here'
    rig.run(message)
    passed = rig.arm.goals[-1]
    assert passed.path_tolerance == message.path_tolerance
    assert passed.trajectory.header == message.trajectory.header
    assert passed.trajectory.joint_names == list(JOINTS)


def fast(**fields):
    """Return a goal that is twice as fast as the arm."""
    message = goal((0.0, 0.5), ((0, 0), (2.0, 0.0)), **fields)
    message.goal_time_tolerance.sec = 1
    return message


def test_what_is_too_fast_is_slowed_down_along_its_path(rig):
    tolerance = JointTolerance(name='joint1', velocity=0.4, acceleration=0.4, position=0.1)
    sent = rig.run(fast(path_tolerance=[tolerance]))
    passed = rig.arm.goals[-1]
    t, q, v, _, efforts = arrays(passed)
    robot = Robot.from_urdf(LIMITED, backend='reference')
    assert (np.abs(v) <= robot.limits.velocity * 1.001).all()
    assert (np.abs(efforts) <= robot.limits.effort * 1.001).all()
    np.testing.assert_allclose(q[-1], [2.0, 0.0])
    ratio = t[-1] / 0.5
    assert ratio > 1.05
    assert duration_stamp(passed.goal_time_tolerance) / NANOSECONDS == pytest.approx(ratio)
    assert passed.path_tolerance[0].velocity == pytest.approx(0.4 / ratio)
    assert passed.path_tolerance[0].acceleration == pytest.approx(0.4 / ratio**2)
    assert passed.path_tolerance[0].position == 0.1
    rig.arm.end()
    status, code, text = sent.result()
    assert (status, code) == (SUCCEEDED, OK)
    assert 'slowed down' in text
    rig.set(scale_tolerances=False)
    rig.run(fast())
    assert rig.arm.goals[-1].goal_time_tolerance.sec == 1


def test_limits_may_be_used_in_part(rig):
    robot = Robot.from_urdf(LIMITED, gravity=(0, -9.81, 0), backend='reference')
    message = goal((0.0, 0.5), ((-1.57, 0), (-0.57, 0.0)))
    rig.run(message)
    largest = np.abs(arrays(rig.arm.goals[-1])[-1]).max(axis=0)
    factor = float(0.8 * (largest / robot.limits.effort).max())
    rig.set(effort_limit_factor=factor)
    rig.run(message)
    efforts = np.abs(arrays(rig.arm.goals[-1])[-1])
    assert (efforts <= factor * robot.limits.effort * 1.001).all()


# --- what is refused ------------------------------------------------------------------------------


def past():
    message = goal()
    message.trajectory.header.stamp.sec = 1000
    return message


def planar():
    message = goal()
    message.multi_dof_trajectory.points.append(type_of_multi_dof()())
    return message


def type_of_multi_dof():
    from trajectory_msgs.msg import MultiDOFJointTrajectoryPoint

    return MultiDOFJointTrajectoryPoint


@pytest.mark.parametrize(
    ('message', 'code', 'reason'),
    [
        (goal(names=('joint1', 'nose')), INVALID_JOINTS, "'nose'"),
        (goal(np.arange(10_001), np.zeros((10_001, 2))), INVALID_GOAL, 'has 10001 points'),
        (past(), OLD, 's ago'),
        (planar(), INVALID_GOAL, 'multi_dof_trajectory'),
    ],
)
def test_unusable_goals_are_refused_by_name(rig, message, code, reason):
    count = len(rig.arm.goals)
    status, found, text = rig.send(message).result()
    assert (status, found) == (ABORTED, code)
    assert reason in text
    assert len(rig.arm.goals) == count
    assert reason in rig.proxy.status().summary


def test_what_no_speed_makes_possible_is_refused(rig):
    """The arm cannot be held where it is to go."""
    rig.set(payload_link='tip', payload_mass=6.0, effort_limit_factor=0.3)
    status, code, text = rig.send(goal()).result()
    assert (status, code) == (ABORTED, INVALID_GOAL)
    assert 'no speed is slow enough' in text


def test_a_refused_goal_does_not_disturb_the_one_that_runs(rig):
    cancels, first = rig.arm.cancels, rig.run()
    rig.send(goal(names=('nose',))).result()
    assert not first.ended
    assert rig.arm.running is not None
    assert rig.arm.cancels == cancels


# --- relay ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('status', 'code', 'text'),
    [(SUCCEEDED, OK, ''), (ABORTED, -4, 'joint1 is 0.2 rad off'), (ABORTED, -5, 'not there')],
)
def test_results_and_feedback_come_back(rig, status, code, text):
    sent = rig.run()
    rig.arm.tell(0.25)
    rig.wait(lambda: sent.feedback)
    assert sent.feedback[0].feedback.actual.positions[0] == 0.25
    before, name = dict(rig.proxy.relay.counts), STATUS_NAMES[status]
    rig.arm.end(status, code, text)
    assert sent.result() == (status, code, text)
    assert rig.proxy.relay.counts == {**before, name: before[name] + 1}


def test_cancellation_reaches_the_controller(rig):
    before = dict(rig.proxy.relay.counts)
    sent = rig.run()
    sent.cancel()
    status, _, text = sent.result()
    assert status == CANCELED
    assert rig.proxy.relay.counts == {**before, 'canceled': before['canceled'] + 1}
    assert 'canceled' in text
    assert rig.arm.running is None


def test_a_goal_is_canceled_before_it_is_passed_on(rig):
    count, gate = len(rig.arm.goals), rig.busy_preparation()
    sent = rig.send()
    assert rig.proxy.relay.coming.handle.status == EXECUTING  # its client may cancel it
    sent.cancel()
    status, _, text = sent.result()
    gate.set()
    assert status == CANCELED
    assert 'before it was sent' in text
    rig.run(goal(q=((0, 0), (0.05, 0.1), (0.1, 0.05))))  # prepared after the other one
    (passed,) = rig.arm.goals[count:]
    assert passed.trajectory.points[-1].positions == pytest.approx([0.1, 0.05])


def test_of_the_goals_that_wait_the_newest_is_prepared_and_another_robot_displaces_none(
    rig, monkeypatch
):
    gate, done, worker = rig.busy_preparation(), [], rig.proxy._worker
    call = worker.call
    monkeypatch.setattr(worker, 'call', lambda each, *rest: done.append(each) or call(each, *rest))
    count, first, _ = len(rig.arm.goals), rig.send(), rig.send(goal(q=((0, 0), (0, 0.1), (0, 0.2))))
    assert first.result()[:2] == (ABORTED, INVALID_GOAL)
    rig.proxy.bind(Adopted(rig.host.model, rig.host.mapper, Plan([])))
    gate.set()
    rig.wait(lambda: len(rig.arm.goals) > count)
    assert rig.arm.goals[-1].trajectory.points[-1].positions == pytest.approx([0, 0.2])
    assert done.count(prepare) == 1


def test_a_second_goal_preempts_the_first_when_the_controller_has_it(rig):
    first = rig.run()
    second = rig.run()
    status, code, text = first.result()
    assert (status, code) == (ABORTED, INVALID_GOAL)
    assert 'preempted' in text
    rig.arm.end()
    assert second.result()[0] == SUCCEEDED


def test_a_goal_that_the_controller_forgets_when_it_is_preempted_ends(rig):
    first = rig.run()
    rig.arm.forgets = True
    rig.run()
    rig.arm.forgets = False
    status, code, text = first.result()
    assert (status, code) == (ABORTED, INVALID_GOAL)
    assert 'preempted' in text


def held_up(rig):
    """Return a goal that was sent to a controller which stands still."""
    rig.stands_still = True
    sent = rig.send()
    rig.wait(lambda: rig.proxy.relay.coming.phase is Phase.SENT)
    return sent


def test_a_goal_is_canceled_while_the_controller_answers(rig):
    sent = held_up(rig)
    cancels = rig.arm.cancels
    rig.wait(sent.cancel().done)
    rig.stands_still = False
    assert sent.result()[0] == CANCELED
    assert rig.arm.cancels == cancels + 1


def test_a_goal_that_is_accepted_too_late_is_canceled(rig):
    """The newer goal is refused: the controller would end the late one by itself for another."""
    sent = held_up(rig)
    cancels, last = rig.arm.cancels, rig.send(goal(names=('joint1', 'nose')))
    status, _, text = sent.result()
    assert status == ABORTED
    assert 'replaced by a newer goal' in text
    rig.stands_still = False
    rig.wait(lambda: rig.arm.cancels > cancels)
    rig.wait(lambda: rig.proxy.relay.coming is None)
    assert not last.ended or last.result()[0] == ABORTED


def test_of_two_goals_that_are_accepted_late_the_newer_one_runs(rig):
    sent = held_up(rig)
    before, last = len(rig.arm.goals), rig.send(goal(q=((0, 0), (0.05, 0.1), (0.1, 0.05))))
    rig.wait(lambda: rig.proxy.relay.coming.phase is Phase.SENT)
    rig.stands_still = False
    rig.wait(lambda: rig.proxy.relay.coming is None and rig.proxy.relay.running is not None)
    assert 'replaced by a newer goal' in sent.result()[2]
    rig.wait(lambda: len(rig.arm.goals) == before + 2)
    assert rig.arm.running.request is rig.arm.goals[-1]
    assert rig.arm.goals[-1].trajectory.points[-1].positions == pytest.approx([0.1, 0.05])
    assert not last.ended


def test_a_controller_that_does_not_answer(rig):
    cancels, sent = rig.arm.cancels, held_up(rig)
    rig.pass_time(0.4)
    assert rig.proxy.relay.coming is not None
    rig.pass_time(0.2)
    status, _, text = sent.result()
    assert status == ABORTED
    assert 'did not respond after 0.5 s' in text
    rig.stands_still = False
    rig.wait(lambda: rig.arm.cancels > cancels)  # the goal arrives, and is not left running


def test_a_controller_that_does_not_know_the_goal(rig):
    """As one that was restarted; a result of a goal that has ended changes nothing."""
    sent = rig.run()
    relay, running = rig.proxy.relay, rig.proxy.relay.running
    for _ in range(2):
        future = Future()
        future.set_result(FollowJointTrajectory.Impl.GetResultService.Response(status=0))
        relay._on_result(running, future)
        status, code, text = sent.result()
        assert (status, code) == (ABORTED, INVALID_GOAL)
        assert text.endswith('_trajectory no longer knows the goal; was it restarted?')


def test_a_goal_that_has_ended_cannot_be_canceled(rig):
    unknown = SimpleNamespace(goal_id=SimpleNamespace(uuid=bytes(16)))
    assert rig.proxy.relay._on_cancel(unknown) == CancelResponse.REJECT


def test_goals_end_with_an_rclpy_of_another_interface(rig, monkeypatch):
    """Their state becomes executing when they end."""
    monkeypatch.setattr(goal_relay, 'mark_executing', lambda handle: None)
    assert rig.send(goal(names=('nose',))).result()[:2] == (ABORTED, INVALID_JOINTS)
    sent = rig.run()
    rig.arm.end()
    assert sent.result()[0] == SUCCEEDED


@pytest.mark.parametrize(('error', 'calls'), [(WorkerError, 2), (FunctionError, 1)])
def test_a_goal_that_cannot_be_prepared(rig, monkeypatch, error, calls):
    """A process that may have died while idle is asked again; one that answers is not."""
    made = []

    def call(*arguments):
        made.append(arguments)
        raise error('out of memory')

    monkeypatch.setattr(rig.proxy._worker, 'call', call)
    status, code, text = rig.send().result()
    assert (status, code) == (ABORTED, INVALID_GOAL)
    assert text == 'the trajectory could not be prepared: out of memory'
    assert len(made) == calls


def test_a_goal_without_a_robot(rig, monkeypatch):
    def situation(payloads):
        raise ArgumentError('no robot description so far')

    monkeypatch.setattr(rig.host, 'situation', situation)
    result = rig.send().result()
    assert result == (ABORTED, INVALID_GOAL, 'no robot description so far')


@pytest.mark.parametrize('policy', ['stop', 'hold'])
def test_a_goal_without_the_motion_of_the_base(clock, policy):
    """It is refused with the reason, unless the base is held at rest."""
    made = Rig(clock, base_source='tf', base_frame='map', on_base_loss=policy)
    made.start_controller()
    transform = TransformStamped(child_frame_id=made.host.model.robot.description.root)
    transform.header.frame_id = 'map'
    transform.transform.rotation.w = float('nan')
    publisher = made.other.create_publisher(TFMessage, '/tf', 10)
    made.wait(publisher.get_subscription_count)
    publisher.publish(TFMessage(transforms=[transform]))
    made.wait(lambda: made.host.base_source._chain._faults)
    if policy == 'hold':
        made.run()
        made.arm.end()
    else:
        status, code, text = made.send().result()
        assert (status, code) == (ABORTED, INVALID_GOAL)
        reason = "of 'base' in 'map' is invalid: a number is not finite: orientation (0, 0, 0, nan)"
        assert reason in text
        assert reason in made.proxy.status().summary
    assert reason_of_base(made)
    made.close()


def reason_of_base(rig):
    return 'invalid: a number is not finite' in rig.host.payload_status().summary


def test_without_the_package_of_the_action(clock, monkeypatch):
    monkeypatch.setattr(trajectory_proxy, 'FollowJointTrajectory', None)
    node = Node('alone')
    proxy = TrajectoryProxy(node, SimpleNamespace(endings=[]))
    status = proxy.status()
    assert (status.level, status.summary) == (Level.ERROR, trajectory_proxy.ABSENT)
    assert proxy.nodes == []
    assert proxy.ended
    node.destroy_node()


def test_a_goal_without_points_stops_the_robot(rig):
    first = rig.run()
    stop = rig.send(goal((), ()))
    assert stop.result()[:2] == (SUCCEEDED, OK)
    status, _, text = first.result()
    assert status == ABORTED
    assert 'stopped by an empty trajectory' in text
    assert rig.arm.running is None
    assert rig.send(goal((), ())).result()[0] == SUCCEEDED


def test_a_controller_that_rejects(rig):
    rig.arm.accepts = False
    status, code, text = rig.send().result()
    assert (status, code) == (ABORTED, INVALID_GOAL)
    assert 'rejected' in text


def test_a_controller_that_dies(rig):
    sent = rig.run()
    rig.kill_controller()
    for seconds in (0.0, 0.4):
        rig.pass_time(seconds)
        assert rig.proxy.relay.running is not None
    rig.pass_time(0.2)
    status, code, text = sent.result()
    assert (status, code) == (ABORTED, INVALID_GOAL)
    assert 'has been unavailable for 0.5 s' in text
    sent = rig.send()
    rig.wait(lambda: rig.proxy.relay.coming.phase is Phase.WAITING)
    rig.pass_time(0.6)
    status, _, text = sent.result()
    assert status == ABORTED
    assert 'is not available after 0.5 s' in text
    assert 'no action server' in rig.proxy.status().summary


def test_a_controller_that_comes_late_gets_the_goal(rig):
    rig.kill_controller()
    sent = rig.send()
    rig.wait(lambda: rig.proxy.relay.coming.phase is Phase.WAITING)
    rig.pass_time(0.4)
    rig.start_controller()
    rig.wait(lambda: rig.arm.goals)
    rig.arm.end()
    assert sent.result()[0] == SUCCEEDED


def test_a_process_that_dies_is_told_and_replaced(rig):
    rig.proxy._worker.process.kill()
    rig.run()
    assert rig.arm.running is not None


def test_goals_that_have_ended_are_freed(clock, monkeypatch):
    """Clients get results for some seconds; trajectories are not kept longer."""
    monkeypatch.setattr(goal_relay, 'RESULT_TIMEOUT_S', 1)
    made = Rig(clock)
    made.send(goal(names=('no', 'joint'))).result()
    handles = made.proxy.relay._server._goal_handles
    assert handles
    made.wait(lambda: not handles)
    made.close()


def test_the_end_of_the_process_cancels_what_runs(clock):
    """And what is pending, and what comes later. Results have some time to reach their clients."""
    made = Rig(clock)
    made.start_controller()
    assert not made.proxy.ended
    sent = made.run()
    gate = made.busy_preparation()
    pending = made.send()
    made.proxy.begin()
    late = made.send()
    for each in (sent, pending, late):
        status, code, text = each.result()
        assert (status, code) == (ABORTED, OK if each is sent else INVALID_GOAL)
        assert text == 'the trajectory proxy is shutting down'
    gate.set()
    assert made.arm.running is None
    assert made.proxy.status().values['goals'] == '0 succeeded, 0 canceled, 3 aborted'
    assert not made.proxy.ended
    clock.offset += trajectory_proxy.DELIVERY_TIMEOUT_S + 0.01
    assert made.proxy.ended
    made.close()


# --- random sequences -----------------------------------------------------------------------------


class Goals(RuleBasedStateMachine):
    """Goals, cancellations, ends and deaths in any order: each goal ends once, for a reason."""

    rig: Rig

    def __init__(self):
        super().__init__()
        self.sent = []
        if self.rig.arm is None:
            self.rig.start_controller()

    @rule(is_good=st.booleans(), wait=st.booleans())
    def send(self, is_good, wait):
        sent = self.rig.send(goal() if is_good else goal(names=('nose',)))
        self.sent.append(sent)
        if wait:
            self.rig.wait(lambda: sent.ended or self.rig.proxy.relay.coming is None)

    @rule()
    def stop(self):
        self.sent.append(self.rig.send(goal((), ())))

    @rule(which=st.integers(0, 3))
    def cancel(self, which):
        if which < len(self.sent):
            self.sent[-1 - which].cancel()

    @rule(status=st.sampled_from([SUCCEEDED, ABORTED]))
    def end(self, status):
        if self.rig.arm.running is not None:
            self.rig.arm.end(status)

    @rule(turns=st.sampled_from([1, 10]))
    def turn(self, turns):
        for _ in range(turns):
            self.rig.turn()

    @rule(seconds=st.sampled_from([0.1, 0.4, 0.6]))
    def pass_time(self, seconds):
        self.rig.pass_time(seconds)

    @rule()
    def hold_up(self):
        """The controller answers nothing, or again: late goals, cancellations and results."""
        self.rig.stands_still = not self.rig.stands_still

    @rule(accepts=st.booleans(), forgets=st.booleans())
    def behave(self, accepts, forgets):
        self.rig.arm.accepts, self.rig.arm.forgets = accepts, forgets

    @rule()
    def tell(self):
        if self.rig.arm.running is not None:
            self.rig.arm.tell(0.5)

    @rule()
    def restart_controller(self):
        self.rig.kill_controller()
        self.rig.start_controller()

    def teardown(self):
        """Whatever happened, the next goal runs, and all those before have ended."""
        self.rig.stands_still = False
        self.rig.arm.accepts, self.rig.arm.forgets = True, False
        last = self.rig.run()
        for sent in self.sent:
            assert sent.result()[0] in (SUCCEEDED, CANCELED, ABORTED)
        assert self.rig.proxy.relay.coming is None
        assert len(self.rig.proxy.relay._relays) == 1
        self.rig.arm.end()
        assert last.result()[0] == SUCCEEDED


def test_random_sequences_of_goals(rig):
    Goals.rig = rig
    run_sequences(Goals, 12, few=12)
