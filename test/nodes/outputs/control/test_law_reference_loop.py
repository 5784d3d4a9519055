# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""References of control laws are followed in the compiled loop, with the bytes of Python."""

import os
import sys
from collections import Counter

import numpy as np
import pytest

pytest.importorskip('llvmlite')
if not sys.platform.startswith('linux'):
    pytest.skip('the loop is for Linux', allow_module_level=True)

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.ros.messages.trajectories import set_duration
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from support.controlled import TOOL
from support.host_bench import Bench
from support.loop_bench import LoopBench
from support.messages import pose_message, wrench_message

PRESSING = """
from screw_dynamics_ros.core.law import control_law

@control_law()
def mine(robot, state, reference, parameters, memory, *, link):
    J = robot.jacobian(state.q, link, 'hybrid')
    return J.T @ reference.wrench + 20.0 * (reference.q - state.q) - state.v
"""
FRAMES = '', 'base_link', 'shoulder_link', 'wrist_2_link', TOOL
SEQUENCES = int(os.environ.get('LOOP_SEQUENCES', '2'))


class Two:
    """Two nodes with the same states and messages: with the loop, and without."""

    def __init__(self, control, law, **parameters):
        given = {'backend': 'native', 'blend_time': 0.05, **parameters}
        self.nodes = [control(law, bench=kind, **given) for kind in (LoopBench, Bench)]
        for made in self.nodes:
            made.v = np.zeros(6)
            made.host.states.look_for_drivers = lambda: None
            made.host.states.has_one_driver = True
        self.loop = self.nodes[0]
        self.robot, self.random = self.loop.robot, np.random.default_rng(2)
        self.start = self.loop.q.copy()

    @property
    def q(self):
        return self.loop.q

    def states(self, count, q=None):
        """Let joint states come 10 ms after one another; compare all that is published."""
        found = [(None, None)]
        for _ in range(count):
            if q is not None:
                self.nodes[0].q = self.nodes[1].q = np.array(q)
            found = [(made.torque(), Counter(made.bench.sent)) for made in self.nodes]
            assert found[0][1] == found[1][1]
        return found[0][0]

    def outcomes(self, count):
        return Counter(self.loop.bench.outcomes[-count:])

    def send(self, receive):
        for made in self.nodes:
            with STATE_LOCK:
                receive(made.part)

    def set(self, **values):
        for made in self.nodes:
            assert made.set(**values).successful

    def wait(self, seconds):
        for made in self.nodes:
            made.stamp += round(seconds * 1e9)
            made.bench.clock.offset += seconds

    def step_clock(self, seconds):
        for made in self.nodes:
            made.stamp += round(seconds * 1e9)
            made.bench.clock.set_wall(seconds)

    def path(self, q, seconds, joints=slice(None)):
        """Send the way to a configuration, one point for 0 s."""
        message = JointTrajectory(joint_names=list(self.loop.joints)[joints])
        points = [(self.q, 0.01), (q, seconds)] if seconds else [(q, 0.0)]
        for positions, time in points:
            rest = [0.0] * len(message.joint_names)
            point = JointTrajectoryPoint(positions=list(positions[joints]), velocities=rest)
            set_duration(point.time_from_start, time)
            message.points.append(point)
        self.send(lambda part: part.reference.receive(message))

    def pose(self, q):
        """Send the pose of the tool in a configuration."""
        message = pose_message(self.robot.link_pose(q, TOOL))
        self.send(lambda part: part._targets.receive_pose(message))

    def wrench(self, frame, numbers):
        """Send a wrench, moment first, in the axes of a frame."""
        message = wrench_message(frame, numbers[3:], numbers[:3])
        self.send(lambda part: part._targets.receive_wrench(message))

    @property
    def report(self):
        """What the reference is, and the summary, of both nodes."""
        found = []
        for made in self.nodes:
            with STATE_LOCK:
                status = made.part.status()
            found.append((status.values['reference'], status.summary))
        assert found[0] == found[1]
        return found[0]


@pytest.mark.parametrize('law', ['joint_impedance', 'computed_torque'])
def test_paths_of_joints_need_no_python(control, law):
    two = Two(control, law)
    two.states(20)
    assert two.report == ('holds where it was enabled', 'ok')
    assert two.outcomes(5) == {'done': 5}
    two.path(two.q + 0.01, 2.0)
    two.states(150)
    assert two.report == ('follows ~/reference', 'ok')
    assert two.outcomes(130) == {'done': 130}
    two.states(200)
    assert two.report[0] == 'holds where the reference ended'
    assert two.outcomes(60) == {'done': 60}
    goal = two.q - 0.01
    two.path(goal, 0.3, joints=slice(1, 4))
    two.states(15)
    two.path(goal, 0.0, joints=slice(2, 3))
    two.states(90)
    assert two.report == (
        'holds where the reference ended',
        'the reference is older than reference_timeout: holds where the reference ended',
    )
    assert two.outcomes(20) == {'done': 20}


def test_another_robot_is_followed_without_python(control):
    """Near, far, beyond a limit, silent, and refused."""
    two = Two(control, 'joint_impedance', leader_topic='/leader/joint_states')
    two.states(20)

    def lead(q):
        message = JointState(name=list(two.loop.joints), position=list(q), velocity=[0.1] * 6)
        two.send(lambda part: part.reference.leader.receive(message))

    for k in range(40):
        if k % 3 == 0:
            lead(two.q + 0.002 * k)
        two.states(1)
    assert two.report == ('follows leader', 'ok')
    assert two.outcomes(30) == {'done': 30}
    lead(two.q + 9.0)
    two.states(5)
    assert two.report[0] == 'holds where the reference ended'
    assert 'is not followed: it is' in two.report[1]
    lead(two.q)
    two.states(10)
    assert two.report[0] == 'follows leader'
    lead([np.nan] * 6)
    two.states(20)
    assert two.report[0] == 'holds where the reference ended'
    assert two.report[1].startswith('leader state refused')
    assert two.outcomes(60) == {'done': 60}


def test_poses_need_no_python(control):
    two = Two(control, 'cartesian_impedance', law_options=[f'link={TOOL}'])
    weight = two.robot.gravity_torques(two.q)
    held = two.states(20)
    np.testing.assert_allclose(held, weight, atol=1e-9)
    two.pose(two.q + 0.02)
    two.states(20)
    assert two.report == ('follows ~/target_pose', 'ok')
    assert two.outcomes(10) == {'done': 10}
    for _ in range(20):
        two.pose(two.q + two.random.uniform(-1e-4, 1e-4, 6))
        two.states(10)
    assert two.outcomes(2) == {'done': 2}
    two.set(enabled=False)
    two.states(10, two.q - 0.1)
    two.set(enabled=True)
    held = two.states(40)
    np.testing.assert_allclose(held, two.robot.gravity_torques(two.q), atol=1e-9)
    assert two.report[0] == 'holds where it was enabled'
    assert two.outcomes(10) == {'done': 10}


def test_wrenches_that_turn_with_the_robot_need_no_python(control, tmp_path):
    path = tmp_path / 'laws.py'
    path.write_text(PRESSING)
    two = Two(control, f'{path}:mine', law_options=[f'link={TOOL}'])
    two.states(20)
    numbers = np.array([1.0, -2.0, 0.5, 4.0, 3.0, -5.0])
    for frame in FRAMES:
        two.wrench(frame, numbers)
        two.states(20)
        for _ in range(20):
            found = two.states(1, two.q + two.random.uniform(-0.01, 0.01, 6))
            R = two.robot.link_pose(two.q, frame or 'base_link')[:3, :3]
            wrench = np.concatenate([R @ numbers[:3], R @ numbers[3:]])
            J = two.robot.jacobian(two.q, TOOL, 'hybrid')
            springs = 20.0 * (two.start - two.q)
            np.testing.assert_allclose(found, J.T @ wrench + springs, atol=1e-9, err_msg=frame)
        assert two.report == ('follows ~/target_wrench', 'ok')
        assert two.outcomes(20) == {'done': 20}


def test_states_without_torques_are_not_handed_over(control):
    two = Two(control, 'cartesian_impedance', law_options=[f'link={TOOL}'], enabled=False)
    two.states(10)
    assert two.report[0] == 'measured state: torques are off'
    assert 'handed over' not in two.outcomes(5)


@pytest.mark.parametrize('seed', range(SEQUENCES))
@pytest.mark.parametrize('law', ['joint_impedance', 'cartesian_impedance', 'pressing'])
def test_random_sequences(control, tmp_path, law, seed):
    """Of references, targets, parameters, motions, losses and steps of the clock."""
    path = tmp_path / 'laws.py'
    path.write_text(PRESSING)
    options = [] if law == 'joint_impedance' else [f'link={TOOL}']
    name = f'{path}:mine' if law == 'pressing' else law
    two = Two(control, name, law_options=options or [''], max_delay=0.0)
    random = np.random.default_rng(seed)

    def q(size):
        return two.start + random.uniform(-size, size, 6)

    acts = (
        lambda: two.path(q(0.2), random.choice([0.0, 0.1, 0.5])),
        lambda: two.path(q(0.2), random.choice([0.0, 0.3]), slice(int(random.integers(0, 5)), 6)),
        lambda: two.path(q(9.0), 0.3),
        lambda: two.pose(q(0.1)),
        lambda: two.wrench(FRAMES[random.integers(0, 5)], random.uniform(-3.0, 3.0, 6)),
        lambda: two.wrench('nose', np.zeros(6)),
        lambda: two.set(enabled=bool(random.random() < 0.7)),
        lambda: two.set(reference_timeout=float(random.choice([0.0, 0.05, 0.5]))),
        lambda: two.states(1, q(0.3)),
        lambda: two.wait(float(random.choice([0.05, 0.3, 1.0]))),
        lambda: two.step_clock(float(random.choice([-100.0, -0.3, 0.3, 50.0]))),
    )
    for _ in range(25):
        acts[random.integers(0, len(acts))]()
        two.states(int(random.integers(0, 12)))
        assert two.report
    assert two.outcomes(9999)['done'] > 5
