# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A node `controller` and the simulated arm that it moves, in the process of a test.

The arm is a UR5 with the masses of the description, in multiples of the period of its joint states.
Its brakes are open while torques carry it: from the end of the ramp until they are switched off.
"""

import os

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.core.motion.control import Mode
from screw_dynamics_ros.core.simulation import SimulatedRobot
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from support.controlled import TOOL, Controlled
from support.host_bench import serialized
from support.loop_bench import LoopBench

PERIOD = 0.004  # s
CARRYING, BRAKED = (
    (Mode.ACTIVE, Mode.BLENDING),
    (Mode.DISABLED, Mode.SILENT, Mode.RAMPING_IN, Mode.RAMPING_OUT, Mode.RAMPING_TO_ZERO),
)

#: The laws of the library, and two others, without parameters: files of laws replace one another
#: only if these are equal.
HEAD = """
from types import SimpleNamespace
import numpy as np
from screw_dynamics_ros.core.law import JOINTS, LAWS, control_law

STIFFNESS = np.array([300.0, 300.0, 150.0, 15.0, 15.0, 15.0])
DAMPING = np.array([80.0, 80.0, 40.0, 3.0, 3.0, 3.0])
GAINS = {'gravity_compensation': {'damping': 0.5 * DAMPING},
         'joint_impedance': {'stiffness': STIFFNESS, 'damping': DAMPING},
         'cartesian_impedance': {'linear_damping': 300.0},
         'admittance': {'linear_damping': 300.0, 'return_stiffness': 200.0}}

def gains(name):
    values = {key: each.default for key, each in LAWS[name].parameters.items()}
    return SimpleNamespace(**{**values, **GAINS.get(name, {})})
"""
LIBRARY = """
@control_law({}, LAWS['NAME'].memory)
def mine(robot, state, reference, parameters, memory, *, link):
    return LAWS['NAME'].function(robot, state, reference, gains('NAME'), memoryOPTIONS)
"""
PRESSING = """
@control_law()
def mine(robot, state, reference, parameters, memory, *, link):
    J = robot.jacobian(state.q, link, 'hybrid')
    return robot.gravity_torques(state.q) - 0.2 * DAMPING * state.v + J.T @ reference.wrench
"""
INTEGRAL = """
@control_law({}, {'integral': JOINTS})
def mine(robot, state, reference, parameters, memory, *, link):
    e = reference.q - state.q
    integral = np.clip(memory.integral + 0.5 * STIFFNESS * e * state.dt, -5.0, 5.0)
    tau = STIFFNESS * e - DAMPING * (state.v - reference.v) + integral
    return tau + robot.gravity_torques(state.q), {'integral': integral}
"""
LAWS_WITH_LINK = ('cartesian_impedance', 'operational_space', 'admittance')
LAWS_OF_JOINTS = ('joint_impedance', 'computed_torque', 'integral')
LAW_NAMES = ('gravity_compensation', *LAWS_OF_JOINTS, *LAWS_WITH_LINK, 'pressing')


def law_text(name):
    """Return the text of a file with a law."""
    own = {'pressing': PRESSING, 'integral': INTEGRAL}.get(name)
    options = ', link=link' if name in LAWS_WITH_LINK else ''
    return HEAD + (own or LIBRARY.replace('NAME', name).replace('OPTIONS', options))


class MovingArm(Controlled):
    """The node, the driver and the arm.

    Attributes
    ----------
    simulated : SimulatedRobot
    law : str
        One of LAW_NAMES.
    sensed : float or None
        Force of the wrist sensor along z [N]; None: it is silent.
    """

    def __init__(self, monkeypatch, law, folder, **parameters):
        self.law, self._file, self._count, self.sensed = law, folder / 'laws.py', 0, 0.0
        self._write()
        super().__init__(
            monkeypatch,
            f'{self._file}:mine',
            LoopBench,
            law_options=[f'link={TOOL}'],
            enabled=False,
            command_parameters_locked='none',
            max_delay=0.0,
            ramp_time=0.1,
            blend_time=0.1,
            **parameters,
        )
        self.simulated = SimulatedRobot(self.robot, self.q)
        self.tau, self.is_braked = np.zeros(6), True

    def _write(self):
        self._count += 1
        self._file.write_text(law_text(self.law))
        os.utime(self._file, ns=(0, 10**9 * self._count))

    def change_law(self, law):
        """Replace the law, between two states."""
        self.law = law
        self._write()
        self.load()
        assert self.part.status().values['law'] == 'mine'
        assert 'refused' not in self.part.status().summary, self.part.status().summary

    def place(self, q):
        """Put the arm somewhere, at rest."""
        self.simulated.q, self.simulated.v = np.array(q), np.zeros(6)

    def step_clocks(self, seconds):
        """Let the clock of the machine step: of the driver and of the node."""
        self.bench.clock.set_wall(seconds)

    def tick(self, is_silent=False):
        """Let one period pass; `is_silent`: without a joint state."""
        clock, simulated = self.bench.clock, self.simulated
        clock.offset += PERIOD
        self.bench.sent.clear()
        message = WrenchStamped()
        message.wrench.force.z = self.sensed or 0.0
        with STATE_LOCK:
            self.part.commands.watch()
            if self.sensed is not None:
                self.part.receive_wrench(message)
        if not is_silent:
            state = serialized(self.joints, simulated.q, clock.time_ns(), simulated.v)
            self.bench.receive(state, {})
        for topic, data in self.bench.sent:
            if topic.endswith('/commands'):
                self.tau = np.array(deserialize_message(data, Float64MultiArray).data)
        mode = self.part.commands.torque._mode()
        self.is_braked = mode in BRAKED or (self.is_braked and mode not in CARRYING)
        if self.is_braked:
            simulated.v = np.zeros(6)
        else:
            simulated.step(self.tau, PERIOD)
