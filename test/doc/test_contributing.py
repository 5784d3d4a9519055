# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The examples of CONTRIBUTING.md: an output, an observer, a term of friction and an input."""

import importlib.util
import re
import subprocess
import sys

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.annotation import AnnotationSettings, annotate_arrays
from screw_dynamics_ros.core.estimation.observers.table import OBSERVERS, descriptions
from screw_dynamics_ros.core.outputs import OUTPUTS
from support.paths import ROOT
from support.robots import urdf_path

MAX_LINES = 30  # of code
PLANAR = urdf_path('planar_2r').read_text()
JOINTS = ('joint1', 'joint2')


@pytest.fixture
def example(tmp_path, monkeypatch):
    """Return a function that runs the code below a heading and returns its module."""

    def run(title):
        below = (ROOT / 'CONTRIBUTING.md').read_text().partition(f'\n### {title}\n')[2]
        code = re.search(r'```python\n(.*?)^```', below, re.MULTILINE | re.DOTALL)[1]
        lines = [each for each in code.splitlines() if each and 'import ' not in each]
        assert len(lines) <= MAX_LINES
        path = tmp_path / 'contributed.py'
        path.write_text(code)
        spec = importlib.util.spec_from_file_location('contributed', path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, 'contributed', module)
        spec.loader.exec_module(module)
        return module

    return run


@pytest.fixture
def loop_bench(monkeypatch, ros_domain):
    """Return a function that makes a node whose joint states go through the compiled loop."""
    rclpy = pytest.importorskip('rclpy')
    pytest.importorskip('llvmlite')

    from screw_dynamics_ros.ros.topics.channel import Channel
    from support.loop_bench import LoopBench

    rclpy.init(domain_id=ros_domain)
    made = []

    def make(part, topic):
        made.append(LoopBench(monkeypatch, part, 'dynamics'))

        def count_listeners(channel):
            channel.listeners = int(channel.topic == topic)

        monkeypatch.setattr(Channel, 'count_listeners', count_listeners)
        made[-1].describe(PLANAR)
        return made[-1]

    yield make
    for each in made:
        each.close()
    rclpy.shutdown()


def send(bench, q, v):
    """Let a joint state come; return what is published, by topic."""
    from support.host_bench import serialized

    bench.clock.offset += 0.01
    bench.sent.clear()
    now = bench.clock.time_ns()
    bench.receive(serialized(JOINTS, q, now, v, [0.0, 0.0]), {'source_timestamp': now})
    return dict(bench.sent)


def test_an_output(example, loop_bench, monkeypatch):
    """The power is the rate of the potential energy."""
    monkeypatch.setitem(OUTPUTS, 'gravity_power', None)  # removed at the end
    example('An output')
    from rclpy.serialization import deserialize_message
    from std_msgs.msg import Float64MultiArray

    from screw_dynamics_ros.nodes.outputs.dynamics.dynamics_outputs import Dynamics

    topic = '/life/dynamics/gravity_power'
    bench, q, v = loop_bench(Dynamics, topic), np.array([0.4, -1.1]), np.array([0.7, 0.2])
    for _ in range(3):
        data = send(bench, q, v)[topic]
    assert bench.outcomes[-1] == 'done'
    message = deserialize_message(data, Float64MultiArray)
    assert [each.label for each in message.layout.dim] == ['power']
    robot, h = Robot.from_urdf(PLANAR, backend='reference'), 1e-6
    ends = [robot.potential_energy(q + sign * h * v) for sign in (1.0, -1.0)]
    np.testing.assert_allclose(message.data, [(ends[0] - ends[1]) / (2.0 * h)], rtol=1e-8)


def test_an_observer(example, monkeypatch):
    """The mean of all static torques since the start."""
    monkeypatch.setitem(OBSERVERS, 'mean', None)
    example('An observer')
    robot = Robot.from_urdf(PLANAR, backend='python')
    q, v, tau = np.random.default_rng(0).normal(size=(3, 6, 2))
    found = annotate_arrays(
        robot,
        np.arange(6) * 1_000_000,
        q,
        v,
        tau,
        outputs=['external_torque'],
        settings=AnnotationSettings(observer='mean'),
    )
    rest = robot.inverse_dynamics(q, v, np.zeros((6, 2))) + robot.friction_torques(v) - tau
    expected = np.cumsum(rest, axis=0) / np.arange(1, 7)[:, None]
    np.testing.assert_allclose(found['external_torque'], expected, atol=1e-12)
    assert 'mean: mean since the start' in descriptions()


#: Adds the pieces of the example to the source of a module when it is imported.
PATCH = """
from importlib.machinery import SourceFileLoader as Loader
read = Loader.get_data
def patched(self, path):
    if '/friction.' in path and 'description' in path:
        if path.endswith('.pyc'):
            raise OSError
        source = read(self, path).decode()
        for before, text in {pieces!r}.items():
            assert source.count(before) == 1, before
            source = source.replace(before, text + before)
        return source.encode()
    return read(self, path)
Loader.get_data = patched
"""
USE = """
import numpy as np
from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.identification import EffortModel
from screw_dynamics_ros.core.identification.unknowns import Unknowns
from screw_dynamics_ros.core.motion.trajectory.time_scaling import friction_by_power
drives = {'joint1': Drive(drag=0.3, damping=0.1)}
robot = Robot.from_urdf('urdf/planar_2r.urdf', drives=drives, backend='python')
v = np.array([2.0, 3.0])
np.testing.assert_allclose(robot.friction_torques(v), [1.4, 0.0], rtol=1e-4)
derivative = robot.inverse_dynamics_derivatives(*np.zeros((1, 2)), v, np.zeros(2))[1]
bare = Robot.from_urdf('urdf/planar_2r.urdf', backend='python')
rigid = bare.inverse_dynamics_derivatives(*np.zeros((1, 2)), v, np.zeros(2))[1]
np.testing.assert_allclose((derivative - rigid)[0, 0], 1.3, rtol=1e-4)
unknowns = Unknowns(robot, EffortModel(('friction',)))
W = unknowns.columns(unknowns.motion(*np.zeros((1, 1, 2)), v[None], np.zeros((1, 2))))
np.testing.assert_allclose(W[0, 0, unknowns.names.index('joint1/drag')], 4.0, rtol=1e-4)
assert unknowns.unit('joint1/drag') == 'N m s^2/rad^2'
np.testing.assert_allclose(friction_by_power(robot, v[None])[:, 0, 0], [0.0, 0.2, 1.2])
"""


def test_a_term_of_friction():
    """The row and its field are all that drives, derivatives, identification and speeds need."""
    below = (ROOT / 'CONTRIBUTING.md').read_text().partition('\n### A term of friction\n')[2]
    code = re.search(r'```python\n(.*?)^```', below, re.MULTILINE | re.DOTALL)[1]
    _, *parts = re.split('^# .*\n', code, flags=re.MULTILINE)
    text, field, row = (each.strip('\n') + '\n' for each in parts)
    pieces = {
        '\n    Raises\n    ------\n    ArgumentError\n        A number that': text,
        '\n    def __post_init__(self) -> None:\n        for each': field,
        '    )\n}\n': row,
    }
    done = subprocess.run(
        [sys.executable, '-c', PATCH.format(pieces=pieces) + USE],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_an_input(example, loop_bench, monkeypatch):
    """Gravity torques in a lift; outputs stop when its acceleration is lost."""
    pytest.importorskip('rclpy')
    from geometry_msgs.msg import Accel
    from rclpy.serialization import deserialize_message
    from sensor_msgs.msg import JointState

    from screw_dynamics_ros.nodes.outputs.dynamics.dynamics_outputs import Dynamics
    from screw_dynamics_ros.ros.data_path import loop
    from screw_dynamics_ros.ros.parameters import Parameters, Specification

    monkeypatch.setattr(loop, 'STEPS', [*loop.STEPS])
    contributed, made = example('An input'), []
    table = (
        Specification('lift', True, 'Whether it is used.'),
        Specification('lift_timeout', 0.1, 'Longest age of a message [s].'),
        Specification('on_lift_loss', 'stop', 'Reaction to a longer age.'),
    )

    def dynamics(node, host):
        record = contributed.LiftRecord()
        record.gravity = host.gravity
        parameters = Parameters(node, table)
        step = contributed.follow_lift
        made.append(contributed.Lift(node, parameters, host.states, record, step))
        host.parts.append(made[0])
        return Dynamics(node, host)

    topic = '/life/dynamics/gravity'
    bench, q = loop_bench(dynamics, topic), np.array([0.4, -1.1])
    monkeypatch.setattr(contributed, 'time', bench.clock)
    lift = made[0]
    assert topic not in send(bench, q, [0.0, 0.0])
    assert bench.host.suspension == 'no message on lift within lift_timeout: ' + lift._nothing
    message = Accel()
    message.linear.z = 2.0
    lift.receive(message)
    for _ in range(3):
        found = deserialize_message(send(bench, q, [0.0, 0.0])[topic], JointState).effort
    assert bench.outcomes[-1] == 'done'
    robot = Robot.from_urdf(PLANAR, backend='reference')
    robot.gravity = [0.0, 0.0, -11.81]
    np.testing.assert_allclose(found, robot.gravity_torques(q), rtol=1e-12)
    bench.clock.offset += 0.2
    assert topic not in send(bench, q, [0.0, 0.0])
