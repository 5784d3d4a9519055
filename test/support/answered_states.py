# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Runs of states through the compiled loop with all outputs, and how they were answered."""

from collections import Counter

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.estimation.residual_map import fitted
from screw_dynamics_ros.core.estimation.residual_model import ResidualModel
from screw_dynamics_ros.core.outputs import OUTPUTS
from screw_dynamics_ros.nodes.force_torque.wrist_sensor_outputs import WristSensor
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from support.host_bench import COMMANDS, Outputs, serialized
from support.input_messages import SLED, SOURCES
from support.loop_bench import LoopBench
from support.messages import wrench_message
from support.paths import URDF
from support.robots import urdf_path

PANDA = urdf_path('panda').read_text()
DELTA = (URDF / 'loops' / 'delta_gripper.urdf').read_text()
HOME = {PANDA: [0.3, -0.5, 0.2, -2.0, 0.4, 1.6, 0.7, 0.02], DELTA: [0.4, 0.5, 0.3]}
PARTS = [name for name in OUTPUTS if not f'/{name}'.endswith(COMMANDS)]


class WithSensor(Outputs):
    """All groups, and the wrist sensor."""

    def __init__(self, node, host):
        super().__init__(node, host)
        self.nodes.append(Node('wrist_sensor', namespace='/life', enable_rosout=False))
        self.sensor = WristSensor(self.nodes[-1], host)
        host.add(self.sensor, self.nodes[-1])


class Run:
    """A robot with all outputs but commands.

    Parameters
    ----------
    robot : str
        A description.
    inputs : sequence of str
        Of `SOURCES`.
    values : dict
        Parameters of the hosted nodes.
    sensor : str
        The frame of a wrist sensor, if there is one.
    has_map, has_payload : bool
        Whether a residual map is active, and whether a payload is in transition all the time.
    """

    def __init__(
        self, monkeypatch, robot=PANDA, inputs=(), values=None, sensor='', has_map=False,
        has_payload=False, **parameters
    ):  # fmt: skip
        self.inputs, self.sensor, self.has_payload = inputs, sensor, has_payload
        for name in inputs:
            parameters.update(SOURCES[name].parameters)
        parameters = {'model_state': PARTS, **parameters}
        self.node = LoopBench(monkeypatch, WithSensor, 'all', **parameters)
        states = self.node.host.states
        states.look_for_drivers, states.has_one_driver = lambda: None, True
        self.node.describe(robot)
        if sensor:
            self.set(sensor_frame=sensor, tool_mass=0.5)
        self.set(**(values or {}))
        mapper = self.node.host.mapper
        self.names = list(mapper.measured_joints)
        self.middle = np.array(HOME.get(robot, [1.0] * len(self.names)))
        self.count = 0
        if has_map:
            self._use_map(len(mapper.joints))
        self.node.outcomes.clear()

    def close(self):
        self.node.close()

    def set(self, **values):
        """Set parameters of all nodes that have them."""
        for name, value in values.items():
            for node in (self.node.node, *self.node.part.nodes):
                if node.has_parameter(name):
                    change = [Parameter(name, value=value)]
                    assert node.set_parameters_atomically(change).successful
        self.node.finish()
        for channel in self.node.host.states.channels:
            if channel.topic.endswith(COMMANDS):
                channel.count_listeners, channel.listeners = lambda: None, 0
        self.node.host.keep_house()

    def _use_map(self, n):
        random = np.random.default_rng(1)
        (group,) = [each for each in self.node.host.builder.groups if hasattr(each, '_tare')]
        q, residuals = random.uniform(-1.0, 1.0, (2, 12, n))
        with STATE_LOCK:
            found = fitted(q, residuals, np.ones(n, dtype=bool))
            group._tare.residuals._use(ResidualModel.of_map(found))

    def _measure(self):
        """Send what is measured beside joint states, and begin another transition."""
        host, clock = self.node.host, self.node.clock
        with STATE_LOCK:
            for name in self.inputs:
                message = SOURCES[name].make(clock.time_ns(), clock.offset)
                if 'imu' in name:
                    message.header.frame_id = host.model.robot.description.root
                SOURCES[name].send(host, message)
            if self.has_payload and self.count % 200 == 0:
                body = RigidBody(1.0 + self.count % 3, np.full(3, 0.1), np.eye(3))
                host.payloads.put('box', host.model.robot.link_names[-1], body, 0.15)
                host.link_inertias.set(host.model.robot.link_names[-1], body, 0.15)
            if self.sensor:
                stamp = clock.time_ns() - 1_300_000
                message = wrench_message(self.sensor, [1.0, 0.0, 0.0], stamp=stamp)
                self.node.part.sensor._on_wrench(message)

    def states(self, count):
        """Send states at 1 kHz with efforts that come and go."""
        for _ in range(count):
            self.node.clock.offset += 0.001
            if self.count % 5 == 0:
                self._measure()
            if self.count % 500 == 499:
                self.node.host.keep_house()
            self.count += 1
            t, n = self.node.clock.offset, len(self.names)
            q, v = self.middle + 0.1 * np.sin(2.0 * t), np.full(n, 0.2 * np.cos(2.0 * t))
            tau = 30.0 * (np.arange(n) == self.count // 300 % n) + np.sin(9.0 * t)
            now = self.node.clock.time_ns()
            info = {'source_timestamp': now, 'publication_sequence_number': self.count}
            self.node.receive(serialized(self.names, q, now, v, tau), info)
            self.node.sent.clear()

    @property
    def silent(self):
        """The topics that have never been published."""
        channels = self.node.host.states.channels
        return {each.topic.split('/', 2)[-1] for each in channels if not each.published}

    @property
    def outcomes(self):
        """How the states since the last call were answered."""
        found = Counter(self.node.outcomes)
        self.node.outcomes.clear()
        return found


#: Localizations and constraint wrenches of each state.
IN_PYTHON = {
    'contact_rate': 0.0,
    'observer_time_constant': 0.005,
    'constraints': ['panda_hand_tcp: position', 'panda_link5: z'],
    'constraint_rate': 1000.0,
    'marker_rate': 1000.0,
}
#: Arguments of `Run` by name.
RUNS = {
    'delta': {'robot': DELTA, 'loop_closures': str(URDF / 'loops' / 'delta_gripper_closures.yaml')},
    'all of an arm': {
        'inputs': ['gravity by imu'],
        'sensor': 'panda_hand',
        'has_map': True,
        'has_payload': True,
        'values': {
            'observer': 'momentum',
            'effort_delay': 0.003,
            'torque_cutoff': 30.0,
            'wrench_cutoff': 20.0,
            'torque_dead_band': 0.1,
            **IN_PYTHON,
        },
    },
    'all of a sled': {
        'robot': SLED,
        'inputs': ['odometry', 'planar'],
        'sensor': 'arm',
        'has_map': True,
        'has_payload': True,
        'values': {'observer': 'kalman', 'effort_delay': 0.003, 'support_frames': ['arm']},
    },
}
