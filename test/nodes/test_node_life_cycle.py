# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What is active is what was asked for last and accepted: random sequences against a model.

The host of a node `dynamics` runs in this process. Descriptions are compiled in its background
thread, but only when the sequence says so: whatever comes meanwhile comes in any order.
"""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from rclpy.parameter import Parameter
from std_msgs.msg import String

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from support.host_bench import COMMANDS, Bench, serialized
from support.robots import urdf_path
from support.sequences import run_sequences

PLANAR = urdf_path('planar_2r').read_text()
ROBOTS = {
    'light': PLANAR,
    'heavy': PLANAR.replace('mass value="1', 'mass value="3'),
    'renamed': PLANAR.replace('joint2', 'elbow').replace('"tip"', '"finger"'),
}
assert len(set(ROBOTS.values())) == 3
REFUSED = {
    'garbage': 'robot',
    'no robot': '<robot name="x"/>',
    'empty': '',
    'no parent': PLANAR.replace('<parent link="base"', '<parent link="nobody"', 1),
}
JOINTS = {
    'light': ('joint1', 'joint2'),
    'heavy': ('joint1', 'joint2'),
    'renamed': ('joint1', 'elbow'),
}
TIP = {'light': 'tip', 'heavy': 'tip', 'renamed': 'finger'}
EFFORT_LIMIT = 2.0

DEFAULTS = {
    'gravity': [0.0, 0.0, -9.81],
    'payload_mass': 0.0,
    'payload_link': '',
    'compensated_terms': [''],
    'effort_joints': [''],
    'effort_scale': [],
    'state_timeout': 0.5,
    'velocity_policy': 'differentiate',
    'reference_timeout': 0.5,
    'enabled': False,
    'on_loss': 'gravity',
    'joints': [''],
}
GOOD = {
    'gravity': [[0.0, 0.0, -9.81], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0]],
    'payload_mass': [0.0, 1.5, 2.0],
    'payload_link': ['', 'link1', 'link2'],
    'compensated_terms': [[''], ['gravity'], ['gravity', 'payload']],
    'effort_joints': [[''], ['joint1']],
    'state_timeout': [0.5, 1.0],
    'velocity_policy': ['differentiate', 'zero', 'reject'],
    'reference_timeout': [0.5, 0.1],
    'enabled': [False, True],
    'on_loss': ['gravity', 'hold', 'ramp_to_zero', 'stop'],
    'joints': [[''], ['joint1']],
}
BAD = {
    'gravity': [[0.0, 1.0], 1.5, 'down', [float('nan')] * 3, None],
    'payload_mass': [-1.0, 'x', None],
    'payload_link': ['nose', 3, None],
    'compensated_terms': [['wind'], 'gravity', 5, None],
    'effort_joints': [['nose'], 5, 'joint1', None],
    'effort_scale': [[1.0, 2.0, 3.0], 2.0],
    'state_timeout': [-1.0, 'x', float('inf')],
    'velocity_policy': ['guess', 4, None],
    'reference_timeout': [-0.1, None],
    'enabled': ['yes', 1, None],
    'on_loss': ['faint', None],
    'joints': [['nose'], 5, None],
}


class LifeCycle(RuleBasedStateMachine):
    """The model: parameters that were accepted, the description that is wanted, the active one.

    `active` is a set of possibilities while something is being compiled.
    """

    bench = None  # see the fixture

    @initialize()
    def begin(self):
        bench = type(self).bench
        bench.finish()
        bench.node.set_parameters_atomically(
            [
                Parameter(name, value=value)
                for name, value in DEFAULTS.items()
                if name != 'effort_scale'
            ]
            + [Parameter('effort_scale', value=[])]
        )
        bench.describe(ROBOTS['light'])
        self.values = dict(DEFAULTS)
        self.wanted = self.robot = 'light'
        self.stamp = bench.clock.time_ns()

    # --- what happens ---------------------------------------------------------------------------

    @rule(name=st.sampled_from(sorted(ROBOTS)))
    def description(self, name):
        self.bench.host.source.receive(String(data=ROBOTS[name]))
        self.wanted = name

    @rule(name=st.sampled_from(sorted(REFUSED)))
    def bad_description(self, name):
        self.bench.host.source.receive(String(data=REFUSED[name]))
        self.wanted = name

    @rule()
    def compiled(self):
        self.bench.build()

    @rule()
    def taken_over(self):
        self.bench.adopt()
        self.look()

    @rule(mass=st.sampled_from([0.0, 1.5]), link=st.sampled_from(['link1', 'link2']))
    def tool(self, mass, link):
        """Another tool, as scripts change it: the payload, and then the description."""
        assert self.bench.node.set_parameters_atomically(
            [Parameter('payload_mass', value=mass), Parameter('payload_link', value=link)]
        ).successful
        self.values.update(payload_mass=mass, payload_link=link)
        self.description('heavy' if mass else 'light')

    @rule()
    def quiet(self):
        self.bench.finish()
        self.look()
        expected = self.wanted if self.fits(self.wanted) else self.robot
        assert self.bench.host.model.text == ROBOTS[expected]
        assert bool(self.bench.host.source.descriptions.reason) == (not self.fits(self.wanted))

    def look(self):
        """See which robot is active; only one that was wanted can have come."""
        text = self.bench.host.model.text
        (self.robot,) = [name for name, each in ROBOTS.items() if each == text]
        if self.bench.host.source.compiling:
            return
        if self.fits(self.wanted):
            assert self.robot == self.wanted

    def fits(self, name):
        """Whether a description can be active with the parameters there are."""
        return name in ROBOTS and set(self.values['effort_joints']) <= {'', *JOINTS[name]}

    @rule(
        data=st.data(),
        names=st.sets(st.sampled_from(sorted(GOOD)), min_size=1, max_size=4),
        spoiled=st.booleans(),
    )
    def parameters(self, data, names, spoiled):
        """Set some at once, one of them impossible if `spoiled`."""
        given = {name: data.draw(st.sampled_from(GOOD[name]), name) for name in names}
        if spoiled:
            name = data.draw(st.sampled_from(sorted(BAD)))
            given[name] = data.draw(st.sampled_from(BAD[name]), f'bad {name}')
        result = self.bench.node.set_parameters_atomically(
            [Parameter(name, value=value) for name, value in given.items()]
        )
        possible = not spoiled and self.suit(given)
        assert result.successful == possible, (given, result.reason)
        if possible:
            self.values.update(given)
        else:
            assert result.reason

    def suit(self, given):
        """Whether names are those of the active robot."""
        joints = {'', *JOINTS[self.robot]}
        return (
            set(given.get('effort_joints', ())) <= joints and set(given.get('joints', ())) <= joints
        )

    @rule(name=st.sampled_from(sorted(DEFAULTS)))
    def deleted(self, name):
        result = self.bench.node.set_parameters_atomically([Parameter(name, value=None)])
        assert not result.successful
        assert name in result.reason or 'undeclared' in result.reason  # ours, rclpy's

    @rule(seconds=st.sampled_from([0.05, 0.6, 3.0]))
    def silence(self, seconds):
        """The driver stops or has died."""
        self.bench.clock.offset += seconds
        self.bench.sent.clear()
        self.bench.part.commands.watch()
        topics = {topic for topic, _ in self.bench.sent}
        assert all(topic.endswith(COMMANDS) for topic in topics)
        if self.values['on_loss'] == 'stop' and seconds > 0.1:
            assert not topics

    @precondition(lambda self: hasattr(self, 'robot'))
    @rule(q=st.lists(st.floats(-3, 3), min_size=2, max_size=2))
    def joint_state(self, q):
        """Outputs are those of the robot and the active parameters."""
        bench, joints = self.bench, JOINTS[self.robot]
        bench.clock.offset += 0.002
        self.stamp = max(self.stamp + 1_000_000, bench.clock.time_ns())
        bench.sent.clear()
        bench.host.states.receive(serialized(joints, q, self.stamp), {})
        assert '/life/dynamics/gravity' in {topic for topic, _ in bench.sent}
        model, terms = bench.host.model, bench.part.outputs.terms
        robot = robot_of(self.robot)
        robot.gravity = self.values['gravity']
        gravity, carried = robot.gravity_torques(q), np.zeros(2)
        if self.carries():
            body = RigidBody(self.values['payload_mass'], np.zeros(3), np.zeros((3, 3)))
            carried = robot.payload_torques(
                q, np.zeros(2), np.zeros(2), {self.values['payload_link']: body}
            )
        added = self.values['compensated_terms']
        np.testing.assert_allclose(model.results[terms.gravity], gravity, atol=1e-12)
        np.testing.assert_allclose(model.results[terms.payload], carried, atol=1e-12)
        np.testing.assert_allclose(
            model.results[terms.feedforward],
            ('gravity' not in added) * gravity + ('payload' not in added) * carried,
            atol=1e-12,
        )
        self.check_commands()

    def carries(self):
        return self.values['payload_mass'] and self.values['payload_link']

    def check_commands(self):
        command = self.bench.part.commands.torque.command
        assert np.isfinite(command).all()
        limits = robot_of(self.robot).limits.effort
        assert (np.abs(command) <= limits).all()

    # --- what must hold at any time -------------------------------------------------------------

    @invariant()
    def parameters_are_active(self):
        if not hasattr(self, 'values'):
            return
        bench, values = self.bench, self.values
        for name, value in values.items():
            assert plain(bench.node.get_parameter(name).value) == plain(value), name
        np.testing.assert_array_equal(bench.host.gravity, values['gravity'])
        np.testing.assert_array_equal(bench.host.model.robot.gravity, values['gravity'])
        np.testing.assert_array_equal(
            bench.part.shares, [term not in values['compensated_terms'] for term in TERMS]
        )
        policies = bench.host.mapper.policies
        assert policies.velocity == values['velocity_policy']
        assert policies.state_timeout == values['state_timeout']
        assert bool(bench.host.model.payload.any()) == bool(self.carries())
        torque = bench.part.commands.torque
        assert torque.is_enabled == values['enabled']
        assert torque.settings.on_loss == values['on_loss']


def plain(value):
    return (
        [each for each in value if each != '']
        if isinstance(value, (list, tuple)) or hasattr(value, 'tolist')
        else value
    )


_robots = {}


def robot_of(name):
    if name not in _robots:
        _robots[name] = Robot.from_urdf(ROBOTS[name], backend='reference')
    return _robots[name]


@pytest.fixture
def bench(monkeypatch, keep):
    made = keep(Bench(monkeypatch, max_delay=10.0, command_parameters_locked='none'))
    LifeCycle.bench = made
    return made


def test_what_is_active_is_what_was_asked_for_last(bench):
    run_sequences(LifeCycle, 30, 'LIFE_CYCLE_SEQUENCES')
