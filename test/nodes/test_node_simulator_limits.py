"""What no command, push or fault does to the simulator, through DDS.

On a busy machine the simulation falls behind: what is waited for is counted in states, and a report
is looked for in what the diagnostics say beside others.
"""

import signal
import time
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

import rclpy
from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header
from std_srvs.srv import Trigger

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.nodes.simulation.simulator import Simulator
from support.robots import UNIT_INERTIA, joint, urdf_path
from support.robots import robot as robot_of
from support.ros_harness import stamp_of

TOOL = 'panda_hand_tcp'


class Driver:
    """A client of one simulator, with its process; commands and pushes last on a busy machine."""

    def __init__(self, start, connect, namespace, **parameters):
        self.process = start(
            'simulator',
            {
                'rate': 200.0,
                'motion_amplitude': 0.0,
                'command_timeout': 1.0,
                'wrench_timeout': 1.0,
                **parameters,
            },
            ['-r', f'__ns:=/{namespace}'],
        )
        self.client = connect(namespace)
        self.client.subscribe(JointState, 'joint_states', profile=qos_profile_sensor_data)
        self._name = f'{namespace}/simulator: simulation'

    def command(self, torques):
        self.client.publisher(Float64MultiArray, 'simulator/effort_commands').publish(
            Float64MultiArray(data=[float(torque) for torque in torques])
        )

    def push(self, frame, force):
        self.client.publisher(WrenchStamped, 'simulator/external_wrench').publish(
            WrenchStamped(header=Header(frame_id=frame), wrench=Wrench(force=Vector3(x=force)))
        )

    def states(self, count, act=lambda: None):
        """Return stamps, q, v, tau of the next states; call `act` all the while."""
        received = self.client.received['joint_states']
        received.clear()

        def are_there():
            act()
            return len(received) >= count

        self.client.wait(are_there, 60.0, what='joint states')
        return [
            np.array(x)
            for x in (
                [stamp_of(m) for m in received],
                [m.position for m in received],
                [m.velocity for m in received],
                [m.effort for m in received],
            )
        ]

    def until(self, condition, act=lambda: None):
        """Return the first state (q, v, tau) of which `condition` holds."""

        def found():
            _, *arrays = self.states(1, act)
            return next((state for state in zip(*arrays) if condition(*state)), None)

        return self.client.wait(found, 60.0, what='a state')

    def has_diverged(self):
        """Return whether the simulation has stopped, at rest and with nothing acting any more."""
        self.until(is_at_rest)
        said = self.report(values=lambda said: said['pushed at'] == 'nothing')[1]
        return said['state'] != 'running'

    def report(self, *texts, values=lambda values: True, act=lambda: None):
        """Wait for diagnostics that say all of the texts; return level and values."""
        self.client.diagnostics.pop(self._name, None)

        def found():
            act()
            level, summary, said = self.client.diagnostics.get(self._name, (0, '', None))
            return (
                said is not None
                and all(text in summary for text in texts)
                and values(said)
                and (level, said)
            )

        return self.client.wait(found, 60.0, what=f'a report of {texts}')


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('panda'))


@pytest.fixture(scope='module')
def driver(start, connect):
    return Driver(start, connect, 'driven')


def check(robot, stamps, q, v, tau):
    """States of a robot: finite, between its stops, driven by its motors, one after the other."""
    assert np.isfinite(np.stack([q, v, tau])).all()
    assert (robot.limits.lower <= q).all()
    assert (q <= robot.limits.upper).all()
    assert (np.abs(tau) <= robot.limits.effort).all()
    assert (np.diff(stamps) > 0).all()


def is_at_rest(q, v, tau):
    return np.abs(v).max() < 1e-2


def test_commands_are_clipped_to_the_effort_limits(driver, robot):
    wanted = np.array([1e4, -1e4, 20.0, -20.0, 1e300, -12.5, 1.0, 101.0])
    clipped = np.array([87.0, -87.0, 20.0, -20.0, 12.0, -12.0, 1.0, 100.0])
    driver.until(lambda q, v, tau: (tau == clipped).all(), lambda: driver.command(wanted))
    check(robot, *driver.states(50, lambda: driver.command(wanted)))


def test_efforts_at_the_joint_limits_leave_it_working(driver, robot):
    """All joints end at their stops; without commands it holds that posture, at rest."""

    def act():
        driver.command(robot.limits.effort)

    check(robot, *driver.states(400, act))
    driver.until(lambda q, v, tau: (q == robot.limits.upper).all(), act)
    driver.report(
        values=lambda said: said['at stops'].split(', ') == list(robot.joint_names), act=act
    )
    assert not driver.has_diverged()


def test_a_kilonewton_leaves_it_working(driver, robot):
    """Until it has moved the arm by far; then the posture is held again."""
    driver.report(values=lambda said: said['pushed at'] == TOOL, act=lambda: driver.push(TOOL, 1.0))
    before = driver.until(is_at_rest)[0]

    def act():
        driver.push(TOOL, -1000.0)

    driver.until(lambda q, v, tau: np.abs(q - before).max() > 0.1, act)
    check(robot, *driver.states(80, act))
    driver.until(is_at_rest)
    check(robot, *driver.states(5))
    assert not driver.has_diverged()


def test_garbage_ends_nothing_and_memory_stays(driver, robot):
    """Commands and wrenches of every kind, and a thousand frames; the next good ones work."""
    status = Path(f'/proc/{driver.process.process.pid}/status')

    def resources():
        lines = dict(line.split(':', 1) for line in status.read_text().splitlines())
        return int(lines['VmRSS'].split()[0]), int(lines['Threads'])

    rng = np.random.default_rng(0)
    wild = [np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0]

    def garbage(count):
        for k in range(count):
            driver.command(rng.choice(wild, rng.integers(0, 20)))
            driver.push(f'frame {k}', 1.0)
            driver.push(str(rng.choice(robot.link_names)), float(rng.choice(wild)))
            if k % 10 == 0:
                driver.states(1)

    garbage(1000)
    kilobytes, threads = resources()
    garbage(1000)
    assert resources()[0] < kilobytes + 5000
    assert resources()[1] == threads
    _, said = driver.report('refused ~/effort_commands: expected 8 finite numbers')
    assert said['failures'] == '0'
    wanted = np.arange(8.0)
    driver.until(lambda q, v, tau: (tau == wanted).all(), lambda: driver.command(wanted))
    check(robot, *driver.states(20))
    assert driver.process.process.poll() is None


def test_it_tolerates_commands_at_a_kilohertz_and_a_stop_of_nearly_a_second(driver, robot):
    """The time is let go and told; states go on, and it holds its posture without commands."""
    lost = float(driver.report()[1]['time skipped [s]'])
    hold = robot.gravity_torques(driver.until(is_at_rest)[0])
    for _ in range(300):
        driver.command(hold)
        time.sleep(0.001)
    driver.process.process.send_signal(signal.SIGSTOP)
    time.sleep(0.9)
    driver.process.process.send_signal(signal.SIGCONT)
    driver.report(values=lambda said: float(said['time skipped [s]']) > lost + 0.6)
    driver.report(values=lambda said: said['driven by'] == 'gravity compensation')
    driver.until(is_at_rest)
    check(robot, *driver.states(20))


def test_an_effort_limit_of_zero_is_told(start, connect, tmp_path):
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
    weak = Driver(start, connect, 'weak', urdf=path)
    level, _ = weak.report('the effort limit of knee is 0', 'correct <limit effort=')
    assert level == 1
    weak.process.stop()


def test_a_divergence_stops_the_simulation_with_a_reason(start, connect, tmp_path):
    """Torques without limit spin a wheel faster than any step; a reset lets it go on."""
    body = f'<link name="b"><inertial><mass value="1"/>{UNIT_INERTIA}</inertial></link>'
    path = tmp_path / 'wheel.urdf'
    path.write_text(robot_of('<link name="a"/>', body, joint('j', 'a', 'b', kind='continuous')))
    wheel = Driver(start, connect, 'wheel', urdf=path)
    level, said = wheel.report(
        'the simulation has stopped, at', 'it diverged', act=lambda: wheel.command([1e308])
    )
    assert level == 2
    assert said['state'] == 'stopped'
    refused = wheel.client.call(Trigger, 'simulator/step', Trigger.Request())
    assert not refused.success
    assert 'it diverged' in refused.message
    assert wheel.client.call(Trigger, 'simulator/reset', Trigger.Request()).success
    assert wheel.until(is_at_rest)[0] == 0.0
    wheel.until(lambda q, v, tau: v[0] > 1e-3, lambda: wheel.command([0.5]))
    assert wheel.report(values=lambda said: said['state'] == 'running')[0] == 0
    wheel.process.stop()


@pytest.fixture(scope='module')
def callbacks(ros_domain):
    """Return a simulator in this process, and what ROS would call: by topic, and its tick."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=ros_domain)
    node = rclpy.create_node('simulator', context=context, start_parameter_services=False)
    simulator = Simulator(node)
    found = {
        subscription.topic_name.rsplit('/')[-1]: subscription.callback
        for subscription in node.subscriptions
    }
    (tick,) = (timer.callback for timer in node.timers if timer.timer_period_ns == 2_000_000)
    yield simulator, {**found, 'tick': tick}
    node.destroy_node()
    rclpy.shutdown(context=context)


@pytest.mark.parametrize(
    ('what', 'part', 'message'),
    [
        ('tick', '_outputs', ()),
        ('effort_commands', '_topics._targets', (Float64MultiArray(data=[1.0] * 8),)),
        ('external_wrench', '_plant.pushes', (WrenchStamped(header=Header(frame_id=TOOL)),)),
    ],
)
def test_no_exception_of_a_tick_or_a_message_ends_it(callbacks, what, part, message):
    """Something is broken for a time: each call is counted and told; afterwards all works."""
    simulator, calls = callbacks
    before = int(simulator.status().values['failures'].split(';')[0])
    owner, name = (
        attrgetter(f'parent.{part}'.rpartition('.')[0])(SimpleNamespace(parent=simulator)),
        part.rpartition('.')[2],
    )
    sound = getattr(owner, name)
    setattr(owner, name, None)
    for _ in range(3):
        calls[what](*message)
        time.sleep(0.005)
    setattr(owner, name, sound)
    status = simulator.status()
    assert status.level == 2
    assert 'failed and was skipped, 3 times' in status.summary
    assert 'NoneType' in status.summary
    calls[what](*message)
    calls['tick']()
    assert 'failed' not in simulator.status().summary
    assert simulator.status().values['failures'].startswith(f'{before + 3}; the last ')
