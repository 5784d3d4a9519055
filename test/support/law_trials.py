# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Random laws of the node `controller`, replaced over DDS while joint states come.

Each law that is right commands a torque of the first joint of its own; each one that is not must be
refused with file and line, while the law before goes on. A law begins at another line each time, so
that refusals are of this one.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core import Robot

LINES = 40  # more than a law has
PLACES = 100
LATE_S = 5e-3
DEADLINE = 240.0  # s; only what has failed takes that long
RATE_FACTOR, FACTOR = 20.0, 0.5  # of rates and efforts

HEAD = """import os, signal, sys, threading, time
import numpy as np
from screw_dynamics_ros.core.law import JOINTS, control_law, solve_positive_definite
{before}
@control_law(memory={{'sum': JOINTS}})
def own(robot, state, reference, parameters, memory):
    q, v = state.q, state.v
    x = {expression}
    {inside}
    x = np.clip(50.0 * x, -1e3, 1e3)  # beyond the limits
    tau = np.concatenate([{torque} + 0.0 * q[:1], x[1:]])
    return tau, {{'sum': 0.5 * memory.sum + state.dt * v}}
"""

TERMS = (
    'robot.gravity_torques(q)',
    'robot.coriolis_torques(q, v)',
    'robot.inverse_dynamics(q, v, q - reference.q)',
    '20.0 * (reference.q - q) - 2.0 * v',
    'robot.mass_matrix(q) @ v',
    'solve_positive_definite(robot.mass_matrix(q), v)',
    'np.where(q > 0.3, np.sin(q), np.cos(v))',
    'np.minimum(memory.sum, q * q)',
    'np.arctan2(q, 1.0 + v * v)',
)

#: Before the law, and inside of it.
WRONG = (
    ('1 / 0', ''),
    ('import nothing_of_this_name', ''),
    ('x ==== 3', ''),
    ('', 'return "text", {"sum": v}'),
    ('', 'return None'),
    ('', 'return 1j * q, {"sum": v}'),
    ('', 'return ["a"] * robot.nv, {"sum": v}'),
    ('', 'return x, {}'),
    ('', 'return x[:1], {"sum": v}'),
    ('', 'x = np.exp(x)'),
    ('', 'if q[0] > 0.0: x = -x'),
    ('', 'x = robot.unknown(q)'),
    ('', 'x = q.nothing'),
    ('JOINTS = 10**6', ''),
)
HOSTILE = (
    ('sys.exit(1)', ''),
    ('', 'sys.exit(1)'),
    ('raise KeyboardInterrupt', ''),
    ('os._exit(0)', ''),
    ('', 'os._exit(5)'),
    ('os.kill(os.getpid(), signal.SIGKILL)', ''),
    ('os.kill(os.getppid(), signal.SIGKILL)', ''),
    ('while True: os.fork()', ''),
    ('import ctypes; ctypes.string_at(0)', ''),
    ('x = []\nwhile True: x.append(bytearray(2**24))', ''),
    ('def f(): f()\nf()', ''),
    ('', 'while True: x = x * x + v'),
    ('os.closerange(0, 100)', ''),
    ('os.system("true")', ''),
)
HANGING = (
    ('while True: pass', ''),
    ('', 'while True: pass'),
    ('time.sleep(1e6)', ''),
    ('while True:\n    try: time.sleep(1e6)\n    except BaseException: pass', ''),
    ('signal.pthread_sigmask(signal.SIG_BLOCK, {2, 15})\nwhile True: pass', ''),
)
SLOW = (
    ('time.sleep(0.3)', ''),
    ('', 'for _ in range(300): x = np.sin(x) + v'),
    ('print("x" * 10**6)', ''),
    ('def f():\n    while True: pass\nthreading.Thread(target=f).start()', ''),
)


@dataclass(frozen=True)
class TrialLaw:
    """A law: its kind, and its text, to be formatted with the torque of the first joint."""

    kind: str
    before: str
    inside: str
    expression: str

    def text(self, torque: float) -> str:
        return HEAD.format(
            before=self.before, inside=self.inside, expression=self.expression, torque=torque
        )


def random_laws(count: int, seed: int) -> list[TrialLaw]:
    """Return laws of all kinds, the same for the same seed."""
    rng, laws = random.Random(seed), []
    kinds = {'wrong': WRONG, 'hostile': HOSTILE, 'hanging': HANGING, 'slow': SLOW}
    for k in range(count):
        kind = ('correct', 'wrong', 'correct', 'hostile', 'slow', 'correct')[k % 6]
        if k % 50 == 49:
            kind = 'hanging'
        before, inside = rng.choice(kinds[kind]) if kind != 'correct' else ('', '')
        terms = rng.choices(TERMS, k=rng.randint(1, 4))
        scaled = ' + '.join(f'{rng.uniform(-1.0, 1.0):.3f} * ({term})' for term in terms)
        laws.append(TrialLaw(kind, before, inside, scaled))
    return laws


@dataclass
class Counts:
    """What has been observed.

    Attributes
    ----------
    delays : list of (float, bool)
        Of each command after its joint state [s], and whether a law was being loaded.
    """

    states: int = 0
    delays: list[tuple[float, bool]] = field(default_factory=list)
    beyond_limits: int = 0
    too_fast: int = 0
    accepted: int = 0
    refused: int = 0
    reasons: list[str] = field(default_factory=list)

    @property
    def late(self) -> tuple[int, int]:
        """Number of delayed commands while laws were loaded, and otherwise."""
        late = [is_loading for delay, is_loading in self.delays if delay > LATE_S]
        return sum(late), len(late) - sum(late)


class LawTrial:
    """Joint states for the node, and what it commands and reports.

    Parameters
    ----------
    node : rclpy.node.Node
        Of the test; its messages are taken, not spun.
    robot : Robot
    path : Path
        The file of the law.
    period : float
        Of the joint states [s].
    """

    def __init__(self, node: rclpy.node.Node, robot: Robot, path: Path, period: float) -> None:
        self._path, self._period, self.robot = path, period, robot
        self.q = np.full(robot.nv, 0.4)
        self.limits = FACTOR * robot.limits.effort
        self._states = node.create_publisher(JointState, 'joint_states', QoSProfile(depth=5))
        self._commands = node.create_subscription(
            JointState, 'controller/feedforward', lambda _: None, QoSProfile(depth=2000)
        )
        self._diagnostics = node.create_subscription(
            DiagnosticArray, '/diagnostics', lambda _: None, QoSProfile(depth=200)
        )
        self.counts = Counts()
        self.reports: dict[str, tuple[int, str]] = {}  # level and text of each status
        self.is_loading, self._next, self._swaps = False, time.monotonic(), 0
        self.latest: np.ndarray | None = None
        self._last: tuple[int, np.ndarray] | None = None
        self._sent: deque[int] = deque(maxlen=5000)

    def step(self) -> None:
        """Publish a joint state at its time, and take what has come."""
        time.sleep(max(0.0, self._next - time.monotonic()))
        self._next = max(self._next + self._period, time.monotonic() - self._period)
        stamp = time.time_ns()
        message = JointState(name=list(self.robot.joint_names), position=self.q.tolist())
        message.velocity, message.effort = np.zeros((2, self.robot.nv)).tolist()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        self._states.publish(message)
        self._sent.append(stamp)
        self.counts.states += 1
        while (found := self._commands.handle.take_message(JointState, False)) is not None:
            self._use(*found)
        while (found := self._diagnostics.handle.take_message(DiagnosticArray, False)) is not None:
            for status in found[0].status:
                self.reports[status.name.rpartition(': ')[2]] = status.level[0], status.message

    def _use(self, message: JointState, info: dict) -> None:
        stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        tau, sent = np.array(message.effort), info['source_timestamp']
        if stamp in self._sent:
            self.counts.delays.append(((sent - stamp) * 1e-9, self.is_loading))
        self.counts.beyond_limits += bool((np.abs(tau) > self.limits * (1.0 + 1e-9)).any())
        if self._last is not None:
            # Each was computed between its joint state and its publication, whatever the load.
            elapsed = (sent - self._last[0]) * 1e-9 + 1e-3
            change = np.abs(tau - self._last[1])
            self.counts.too_fast += bool((change > RATE_FACTOR * self.limits * elapsed).any())
        self._last, self.latest = (stamp, tau), tau

    def drive(self, condition, what: str) -> None:
        """Publish joint states until something holds."""
        end = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < end, f'{what}; reports: {self.reports}'
            self.step()

    def write(self, law: TrialLaw) -> float:
        """Write a law into its file; return its torque of the first joint."""
        self._swaps += 1
        torque = self.torque(self._swaps)
        new = self._path.with_suffix('.new')
        new.write_text('\n' * self._first_line + law.text(torque))
        os.replace(new, self._path)
        return torque

    def torque(self, k: int) -> float:
        """Return a torque within the limits, another one for each law [N m]."""
        return round(0.9 * float(self.limits[0]) * (37 * k % 97 - 48) / 48.0 + 1e-3 * (k % 7), 6)

    @property
    def _first_line(self) -> int:
        return LINES * (self._swaps % PLACES)

    def is_commanded(self, torque: float) -> bool:
        return self.latest is not None and abs(self.latest[0] - torque) < 1e-9

    def is_refused(self) -> bool:
        """Whether the law is refused with one of its lines."""
        _, reason = self.reports.get('outputs', (0, ''))
        return any(
            self._first_line < int(line) <= self._first_line + LINES
            for line in re.findall(r'laws\.py(?:, line |:)(\d+)', reason)
        )

    def swap(self, law: TrialLaw, before: float) -> float:
        """Replace the law; return the torque of the first joint from then on."""
        torque, self.is_loading = self.write(law), True
        is_right = law.kind in ('correct', 'slow')
        if is_right:
            self.drive(lambda: self.is_commanded(torque), f'accepted: {law}')
            self.counts.accepted += 1
        else:
            self.drive(self.is_refused, f'refused: {law}')
            self.counts.refused += 1
            self.counts.reasons.append(self.reports['outputs'][1])
            self.drive(lambda: self.is_commanded(before), f'the law before {law}')
        self.is_loading = False
        assert self.reports.get('robot description', (0, ''))[0] == 0, self.reports
        return torque if is_right else before


#: Parameters of the node.
PARAMETERS = {
    'enabled': True,
    'ramp_time': 0.0,
    'blend_time': 0.02,
    'effort_limit_factor': FACTOR,
    'effort_rate_factor': RATE_FACTOR,
    'on_refused_description': 'ramp_to_zero',
    'on_loss': 'hold',
}
