# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""References and commands in the compiled loop, with the bytes that Python publishes."""

from collections import Counter
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.nodes.outputs.dynamics import reference_controller
from screw_dynamics_ros.nodes.outputs.dynamics.dynamics_outputs import Dynamics
from screw_dynamics_ros.ros.messages.trajectories import set_duration
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from support.host_bench import COMMANDS
from support.loop_pair import ARM, PLANAR, Q
from support.robots import urdf_path

impedance = find_spec('screw_dynamics_msgs.msg._impedance_command') is not None
TOPICS = '/commands', '/feedforward'
STEP = 0.004  # s between joint states
MS = 1_000_000


class Followed:
    """Two nodes that command torques, and the references that both receive."""

    def __init__(self, make):
        self.both = make(model_state=[''])
        for values in (
            {'enabled': False},
            {'blend_time': 0.05, 'ramp_time': 0.05},
            {'enabled': True},
        ):
            self.set(**values)
        self.groups = [
            group
            for node in self.both.nodes
            for group in node.host.builder.groups
            if isinstance(group, Dynamics)
        ]
        self.random = np.random.default_rng(4)
        self.states(40)
        assert self.outcomes(8) == {'done': 8}

    def set(self, **values):
        self.both.set(0, **values)
        self.both.listen(TOPICS)

    def states(self, count, step=STEP):
        """Let joint states come near `Q`."""
        for _ in range(count):
            self.both.wait(step)
            q, v, tau = self.random.uniform(-0.002, 0.002, (3, len(Q)))
            self.both.send(q=Q + q, v=v, tau=tau)

    def outcomes(self, count):
        return Counter(self.both.loop.outcomes[-count:])

    @property
    def now(self):
        return self.both.loop.clock.time_ns()

    def send(self, *rows, times=(0.0,), names=None, start=None):
        """Send rows of positions, velocities and accelerations, (N, k), to both."""
        message = JointTrajectory(joint_names=names or self.both.joints)
        stamp = 0 if start is None else self.now + round(start * 1e9)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        for time, *values in zip(times, *rows):
            fields = 'positions', 'velocities', 'accelerations'
            point = JointTrajectoryPoint(**{f: list(map(float, v)) for f, v in zip(fields, values)})
            set_duration(point.time_from_start, time)
            message.points.append(point)
        self.receive(lambda group: group.reference.receive(message))

    def receive(self, use):
        for group in self.groups:
            with STATE_LOCK:
                use(group)

    def follow(self, seconds, orders=3, start=None):
        """Send a motion near `Q` within some seconds."""
        rows = self.random.uniform(-0.01, 0.01, (orders, 3, len(Q)))
        rows[0] += Q
        self.send(*rows, times=np.linspace(0.0, seconds, 3), start=start)
        assert 'refused' not in self.reports()[1]

    def reports(self):
        """Return level, summary and values of both statuses, which are equal."""
        found = []
        for group in self.groups:
            with STATE_LOCK:
                status = group.status()
            found.append((status.level, status.summary, dict(status.values)))
        assert found[0] == found[1]
        return found[0]

    @property
    def source(self):
        return self.reports()[2]['feedforward follows']


@pytest.fixture
def followed(pair):
    return partial(Followed, pair)


def test_commands_need_no_python(followed):
    """Also those that ramp, blend and are limited, and none."""
    made = followed()

    def states(mode, count=8):
        """Return what the nodes report after some states."""
        made.states(count)
        assert made.outcomes(count) == {'done': count}
        found = [group.commands.status() for group in made.groups]
        assert found[0].summary == found[1].summary
        assert [each.values['mode'] for each in found] == [mode] * 2
        return found[0].summary

    made.set(enabled=False)
    states('ramping out')
    states('disabled', 40)
    made.set(enabled=True)
    states('ramping in')
    assert states('active', 60) == 'ok'
    made.set(compensated_terms=['coriolis'])
    states('blending')
    assert states('active', 20) == 'ok'
    made.set(enabled=False)
    states('disabled', 40)
    made.set(effort_rate_factor=1.0, effort_limit_factor=0.01)
    made.set(enabled=True)
    found = states('ramping in')
    assert 'torque of joint' in found
    assert 'rate of joint' in found


def test_a_trajectory_is_followed_without_python(followed):
    """Nor do the commands that blend at its begin and at its end."""
    made = followed()
    made.set(joints=made.both.joints[:5])
    made.states(40)
    before = len(made.both.loop.outcomes)
    made.follow(1.0)
    made.states(200)
    assert made.source == 'reference'
    made.states(230)
    assert made.source == 'measured state'
    assert Counter(made.both.loop.outcomes[before:]) == {'done': 430}


def test_commands_of_drives_need_no_python(followed):
    """Impedance drives and servos: points, trajectories, losses, disabling, another description."""
    made = followed()
    joints = made.both.joints
    made.set(enabled=False)
    made.set(impedance_joints=joints[:3], impedance_stiffness=[50.0, 60.0, 0.0])
    made.set(impedance_damping=[2.0, 3.0, 4.0])
    made.set(
        servo_joints=joints[1:3], servo_stiffness=[90.0, 80.0], position_offset_limits=[0.1, 0.2]
    )
    made.set(enabled=True)
    ends = COMMANDS[3:]
    made.both.listen(ends)
    before = made.both.published.copy()
    made.states(60)
    made.follow(0.5)
    made.states(100)
    made.both.wait(0.3)
    made.states(50)
    made.send(Q[None] + 0.01)
    made.states(50)
    assert made.outcomes(50) == {'done': 50}
    made.both.describe(urdf_path('panda').read_text().replace('mass value="2', 'mass value="3'))
    made.both.listen(ends)
    made.states(50)
    made.both.set(0, enabled=False)
    made.both.listen(ends)
    made.states(60)
    sent = made.both.published - before
    for end in ends[: 3 if impedance else 2]:
        assert len([topic for topic, _ in sent if topic.endswith(end)]) > 100


def test_trajectories_replace_one_another(followed):
    """In the middle, in the future, late, of other joints, and from where the joints are."""
    made = followed()
    for orders in (1, 2, 3):
        replace(made, orders)


def replace(made, orders):
    """Let trajectories of positions, and their derivatives below an order, follow one another."""
    for start in (None, 0.05, -0.1, 0.0):
        made.follow(0.4, orders=orders, start=start)
        made.states(50)
        assert made.source == 'reference'
    names = made.both.joints[4:1:-1]
    rows = np.zeros((orders, 2, 3))
    rows[0] = Q[4:1:-1] + 0.01
    made.send(*rows, times=(0.2, 0.6), names=names)  # has no point at its begin
    made.states(20)
    rows = np.zeros((orders, 1, 2))
    rows[0] = Q[2:4]
    made.send(*rows, times=(0.3,), names=made.both.joints[2:4])  # a point of other joints
    made.states(200)
    assert made.source == 'measured state'
    assert made.reports()[1].startswith('the reference is older than reference_timeout')
    assert made.outcomes(60) == {'done': 60}


def test_the_last_point_is_held_for_ever(followed):
    made = followed()
    made.set(reference_timeout=0.0)
    made.follow(0.1)
    made.states(400)
    assert made.source == 'reference'
    assert made.outcomes(300) == {'done': 300}
    made.set(reference_timeout=0.5)
    made.states(40)
    assert made.source == 'measured state'


def test_refused_references_leave_the_one_before(followed):
    made = followed()
    made.follow(9.0)
    made.states(60)
    for rows, times, names in (
        ([np.full((2, 8), np.nan)], (0.0, 1.0), None),
        ([np.full((2, 8), 99.0)], (0.0, 1.0), None),
        ([np.zeros((2, 8))], (1.0, 1.0), None),
        ([Q[None, :1]], (0.0,), ['nose']),
        ([Q[None], Q[None] * np.inf], (0.0,), None),
    ):
        made.send(*rows, times=times, names=names)
        made.states(20)
        _, summary, values = made.reports()
        assert summary.startswith('reference refused: ')
        assert values['feedforward follows'] == 'reference'
        assert made.outcomes(20) == {'done': 20}
        made.follow(9.0)  # which ends the report
        made.states(4)


def test_streamed_points_need_no_python(followed):
    made = followed()
    for k in range(100):
        made.send(Q[None] + 1e-4 * k, np.full((1, 8), 0.05))
        made.states(1)
    assert made.outcomes(50) == {'done': 50}
    assert made.source == 'reference'
    made.send(Q[None, :4], names=made.both.joints[:4])  # other joints
    made.states(31)
    assert made.outcomes(31) == {'done': 31}
    made.states(150)
    assert made.source == 'measured state'


def test_pauses_steps_of_the_clock_and_other_robots(followed):
    """Within a path, at its end, and where stamps go back: it ends."""
    made = followed()
    made.follow(3.0)
    made.states(30)
    for pause in (0.3, 0.7):
        made.states(1, step=pause)
        made.states(30)
        assert made.source == 'reference'
    assert made.outcomes(10) == {'done': 10}
    made.both.send(q=Q, stamp=made.both.stamp - 3000 * MS)
    made.states(60)
    assert made.source == 'measured state'
    made.follow(3.0)
    made.states(30)
    made.both.describe(PLANAR)
    made.both.listen(TOPICS)
    made.both.states(10, STEP, q=[0.1, 0.2], v=[0.0, 0.1], tau=[0.0, 0.0])
    made.both.describe(ARM)
    made.both.listen(TOPICS)
    made.follow(3.0)
    made.states(80)
    assert made.source == 'reference'


# --- the state of a controller --------------------------------------------------------------------


def tell(made, q, v=(), a=(), age=0.0, names=None):
    """Let both receive a state of the controller."""
    message = reference_controller.JointTrajectoryControllerState(
        joint_names=names or made.both.joints
    )
    stamp = made.now - round(age * 1e9)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    values = ([float(x) for x in row] for row in (q, v, a))
    message.reference = JointTrajectoryPoint(
        **dict(zip(('positions', 'velocities', 'accelerations'), values))
    )
    made.receive(lambda group: group.reference.controller.receive(message))


@pytest.fixture
def controlled(followed):
    pytest.importorskip('control_msgs.msg')
    made = followed()
    made.set(controller_state_topic='/arm/controller_state')
    made.states(20)
    return made


def test_a_controller_is_followed_without_python(controlled):
    made = controlled
    made.follow(0.5)  # has priority
    for k in range(400):
        if k % 5 == 0:
            v, a = made.random.uniform(-0.1, 0.1, (2, 8))
            tell(made, Q + 0.02 * np.sin(0.05 * k), v, a, age=0.001)
        made.states(1)
        assert made.source == ('reference' if k < 245 else 'controller state') or 240 < k < 255
    assert made.outcomes(100) == {'done': 100}
    made.states(60)  # it is silent
    _, summary, values = made.reports()
    assert 'more than controller_state_timeout: it is not used' in summary
    assert values['feedforward follows'] == 'measured state'
    assert made.outcomes(10) == {'done': 10}


def test_states_of_a_controller_that_are_late_early_refused_or_of_other_joints(controlled):
    made = controlled
    sources = []
    for age in (0.0, 0.2, -0.2, -0.05):
        tell(made, Q, age=age)
        made.states(4)
        sources.append(made.source)
    assert sources == ['controller state', 'measured state', 'measured state', 'controller state']
    tell(made, np.full(8, np.nan))
    made.states(4)
    assert made.reports()[1].startswith('controller state refused')
    tell(made, Q[[5, 1]], np.full(2, np.nan), names=[made.both.joints[k] for k in (5, 1)])
    made.states(4)
    assert made.source == 'controller state'
    made.set(controller_state_timeout=0.005)
    made.states(4)
    assert made.source == 'measured state'
    made.set(controller_state_topic='')
    made.states(20)
    assert made.outcomes(2) == {'done': 2}
