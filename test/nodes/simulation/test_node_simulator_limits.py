# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What no command, push or fault does to the simulator, whose clock the tests turn."""

import re
from functools import partial
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header

from screw_dynamics_ros.core import Robot
from support.robots import UNIT_INERTIA, joint, urdf_path
from support.robots import robot as robot_of
from support.ros_harness import stamp_of

TOOL = 'panda_hand_tcp'


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('panda'))


@pytest.fixture
def make(node_bench):
    return partial(node_bench, rate=200.0, motion_amplitude=0.0)


@pytest.fixture
def bench(make):
    return make()


def push(bench, frame, force):
    bench.hear(
        'external_wrench',
        WrenchStamped(header=Header(frame_id=frame), wrench=Wrench(force=Vector3(x=force))),
    )


def check(robot, stamps, q, v, tau):
    """States of a robot: finite, between its stops, driven by its motors, one after the other."""
    assert np.isfinite(np.stack([q, v, tau])).all()
    assert (robot.limits.lower <= q).all()
    assert (q <= robot.limits.upper).all()
    assert (np.abs(tau) <= robot.limits.effort).all()
    assert (np.diff(stamps) > 0).all()


def is_at_rest(q, v, tau):
    return np.abs(v).max() < 1e-2


def check_rest(bench):
    """The simulation goes on, comes to rest, and nothing acts any more."""
    bench.states(40)
    bench.until(is_at_rest)
    said = bench.status().values
    assert (said['pushed at'], said['state']) == ('nothing', 'running')


def test_commands_are_clipped_to_the_effort_limits(bench, robot):
    wanted = np.array([1e4, -1e4, 20.0, -20.0, 1e300, -12.5, 1.0, 101.0])
    clipped = np.array([87.0, -87.0, 20.0, -20.0, 12.0, -12.0, 1.0, 100.0])
    states = bench.states(50, lambda: bench.command(*wanted))
    assert (states[-1] == clipped).all()
    check(robot, *states)


def test_efforts_at_the_joint_limits_leave_it_working(bench, robot):
    """All joints end at their stops; without commands it holds that posture, at rest."""

    def act():
        bench.command(*robot.limits.effort)

    check(robot, *bench.states(400, act))
    bench.until(lambda q, v, tau: (q == robot.limits.upper).all(), act)
    assert bench.status().values['at stops'].split(', ') == list(robot.joint_names)
    check_rest(bench)


def test_a_kilonewton_leaves_it_working(bench, robot):
    """Until it has moved the arm by far; then the posture is held again."""
    push(bench, TOOL, -1000.0)
    bench.wait(lambda: bench.status().values['pushed at'] == TOOL)
    before = bench.until(is_at_rest)[0]

    def act():
        push(bench, TOOL, -1000.0)

    bench.until(lambda q, v, tau: np.abs(q - before).max() > 0.1, act)
    check(robot, *bench.states(80, act))
    bench.until(is_at_rest)
    check(robot, *bench.states(5))
    check_rest(bench)


def test_garbage_ends_nothing_and_memory_stays(start, connect, robot):
    """Commands and wrenches of every kind, and a thousand frames; the next good ones work.

    Through DDS: a good command comes after the bad ones, and is heard after them.
    """
    parameters = {'rate': 200.0, 'motion_amplitude': 0.0, 'command_timeout': 3600.0}
    process = start('simulator', parameters, ['-r', '__ns:=/driven']).process
    client, name = connect('driven'), 'driven/simulator: simulation'
    client.subscribe(JointState, 'joint_states', profile=qos_profile_sensor_data)
    received = client.received['joint_states']

    def command(torques):
        client.publisher(Float64MultiArray, 'simulator/effort_commands').publish(
            Float64MultiArray(data=[float(torque) for torque in torques])
        )

    def push(frame, force):
        client.publisher(WrenchStamped, 'simulator/external_wrench').publish(
            WrenchStamped(header=Header(frame_id=frame), wrench=Wrench(force=Vector3(x=force)))
        )

    def resources():
        lines = dict(
            line.split(':', 1)
            for line in Path(f'/proc/{process.pid}/status').read_text().splitlines()
        )
        return int(lines['VmRSS'].split()[0]), int(lines['Threads'])

    rng = np.random.default_rng(0)
    wild = [np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0]

    def garbage(count):
        for k in range(count):
            command(rng.choice(wild, rng.integers(0, 20)))
            push(f'frame {k}', 1.0)
            push(str(rng.choice(robot.link_names)), float(rng.choice(wild)))
            if k % 10 == 0:
                received.clear()
                client.wait(lambda: received, what='joint states')

    garbage(1000)
    kilobytes, threads = resources()
    garbage(1000)
    assert resources()[0] < kilobytes + 5000
    assert abs(resources()[1] - threads) <= 1  # that of `Latest` ends when nothing is to do
    client.expect(name, 1, 'refused ~/effort_commands: expected 8 finite numbers')
    client.expect(name.replace('simulation', 'faults'), 0)
    wanted = np.arange(8.0)
    received.clear()
    command(wanted)
    client.wait(
        lambda: received and (np.array(received[-1].effort) == wanted).all(),
        what='the torques of the good command',
    )
    assert np.isfinite(received[-1].position).all()
    assert process.poll() is None


def test_it_tolerates_commands_at_a_kilohertz_and_a_stop_of_nearly_a_second(bench, robot):
    """The time is let go and reported; states go on, and it holds its posture without commands."""
    hold = robot.gravity_torques(bench.until(is_at_rest)[0])
    assert bench.status().values['time skipped [s]'] == '0.000'
    for _ in range(300):
        bench.command(*hold)
        bench.go_on(0.001)
    before = bench.sent['joint_states'][-1]
    bench.stand_still(0.9)
    stamps, *_ = states = bench.states(100)
    assert stamps[0] - stamp_of(before) == pytest.approx(0.9e9, abs=1e7)
    check(robot, *states)
    status = bench.status()
    assert status.level == 1
    assert 'slower than real time and skipped 0.' in status.summary
    assert float(status.values['time skipped [s]']) == pytest.approx(0.9, abs=0.006)
    assert status.values['driven by'] == 'gravity compensation'
    check_rest(bench)


@pytest.mark.parametrize(('seconds', 'count'), [(0.2, 40), (0.3, 1)])
def test_what_is_made_up_for(bench, seconds, count):
    """A quarter of a second at most; commands are heard in between, after some states each."""
    bench.states(5)
    bench.sent['joint_states'].clear()
    bench.stand_still(seconds)
    bench.go_on(0.0)
    assert len(bench.sent['joint_states']) == pytest.approx(count, abs=1)


def test_an_effort_limit_of_zero_is_told(make, tmp_path):
    """It takes all torque from the joint: its weight is not held either."""
    path = tmp_path / 'weak.urdf'
    inertial = f'<inertial><origin xyz="1 0 0"/><mass value="1"/>{UNIT_INERTIA}</inertial>'
    path.write_text(
        robot_of(
            '<link name="a"/>',
            *(f'<link name="{name}">{inertial}</link>' for name in 'bc'),
            joint('knee', 'a', 'b', '<limit velocity="1" effort="0"/>', 'continuous'),
            joint('foot', 'b', 'c', '<limit velocity="1" effort="9"/>', 'continuous'),
        )
    )
    status = make(urdf=str(path)).status()
    assert status.level == 1
    assert re.search('the effort limit of knee is 0.*correct <limit effort=', status.summary)


@pytest.mark.filterwarnings('ignore:overflow')
def test_a_divergence_stops_the_simulation_with_a_reason(make, tmp_path):
    """Torques without limit spin a wheel faster than any step; a reset lets it go on."""
    body = f'<link name="b"><inertial><mass value="1"/>{UNIT_INERTIA}</inertial></link>'
    path = tmp_path / 'wheel.urdf'
    path.write_text(robot_of('<link name="a"/>', body, joint('j', 'a', 'b', kind='continuous')))
    wheel = make(urdf=str(path))
    wheel.command(1e308)
    wheel.go_on(1.0)
    status = wheel.status()
    assert (status.level, status.values['state']) == (2, 'stopped')
    assert re.search('the simulation has stopped, at.*it diverged', status.summary)
    refused = wheel.trigger('step')
    assert not refused.success
    assert 'it diverged' in refused.message
    assert wheel.trigger('reset').success
    assert wheel.until(is_at_rest)[0] == 0.0
    wheel.until(lambda q, v, tau: v[0] > 1e-3, lambda: wheel.command(0.5))
    status = wheel.status()
    assert (status.level, status.values['state']) == (0, 'running')


@pytest.mark.parametrize(
    ('what', 'part', 'message'),
    [
        ('tick', '_outputs', None),
        ('effort_commands', '_topics._targets', Float64MultiArray(data=[1.0] * 8)),
        ('external_wrench', '_plant.pushes', WrenchStamped(header=Header(frame_id=TOOL))),
    ],
)
def test_no_exception_of_a_tick_or_a_message_ends_it(bench, what, part, message):
    """Something is broken for a time: each call is counted and reported; afterwards all works."""

    def call():
        if message is None:
            bench.go_on(0.005)
        else:
            bench.hear(what, message)

    simulator = bench.tested
    owner, name = (
        attrgetter(f'parent.{part}'.rpartition('.')[0])(SimpleNamespace(parent=simulator)),
        part.rpartition('.')[2],
    )
    sound = getattr(owner, name)
    setattr(owner, name, None)
    for _ in range(3):
        call()
    setattr(owner, name, sound)
    fault = bench.diagnostics()['faults']
    assert fault.level == bytes([2])
    assert 'NoneType' in fault.message
    assert ['3 times' in each.value for each in fault.values] == [True]
    call()
    bench.go_on(0.005)
    assert '3 times' in bench.diagnostics()['faults'].values[0].value
