"""A simulated robot driver: joint states from a simulation, effort commands to it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from screw_dynamics_ros.core import ArgumentError, DescriptionError, Robot
from screw_dynamics_ros.core.compile.kernels import BACKENDS
from screw_dynamics_ros.core.errors import DivergenceError
from screw_dynamics_ros.core.simulation import (
    INTEGRATORS,
    Posture,
    SimulatedRobot,
    middle_of_range,
)
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.parameters.shared_parameters import PROCESS
from screw_dynamics_ros.ros.diagnostics import Diagnostics, Level, Status
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.process.scheduling import use_ordinary_time, use_real_time
from screw_dynamics_ros.ros.process.timers import every
from screw_dynamics_ros.ros.share import share_folder
from screw_dynamics_ros.ros.topics import qos

COMMANDS, WRENCHES = '~/effort_commands', '~/external_wrench'

FIXED_BASE_INTEGRATORS = tuple(name for name in INTEGRATORS if name != 'momentum_preserving')

MOST_LAG = 0.25  # s; a simulation that is further behind lets the time go
MOST_CATCHING_UP = 0.02  # s; commands are heard in between

TABLE = (
    Specification(
        'robot_description',
        '',
        'URDF of the robot. Empty: the file `urdf`.',
        rule='the text of a URDF, or empty',
        read_only=True,
    ),
    Specification(
        'urdf',
        '',
        'Path of the URDF file. Empty: the Panda arm of this package.',
        rule='a path, or empty',
        read_only=True,
    ),
    Specification(
        'rate', 500.0, 'Rate of joint_states [Hz].', minimum=1.0, maximum=10000.0, read_only=True
    ),
    Specification(
        'step',
        0.002,
        'Longest step of the integration [s]; shortened to divide 1 / rate. Fast motion is '
        'integrated in shorter steps.',
        minimum=1e-6,
        maximum=0.1,
        read_only=True,
    ),
    Specification(
        'integrator',
        'runge_kutta',
        'Method of integration: runge_kutta (order 4) or semi_implicit (Euler, order 1, a '
        'quarter of the computation).',
        choices=FIXED_BASE_INTEGRATORS,
        read_only=True,
    ),
    Specification(
        'gravity',
        [0.0, 0.0, -9.81],
        'Acceleration of free fall in the frame of the root link [m/s^2].',
        size=3,
        read_only=True,
    ),
    Specification(
        'initial_joints',
        [''],
        'Joints to which initial_positions apply.',
        rule='joints of the robot',
        read_only=True,
    ),
    Specification(
        'initial_positions',
        [],
        'Initial positions [rad, m] for each of initial_joints, within their limits; other '
        'joints start in the middle of their range.',
        rule='empty, or one for each of initial_joints',
        read_only=True,
    ),
    Specification(
        'motion_amplitude',
        0.3,
        'Amplitude of the slow reference motion [rad, m]. 0: hold still.',
        minimum=0.0,
        read_only=True,
    ),
    Specification(
        'motion_period',
        10.0,
        'Period of the reference motion of the first joint [s].',
        minimum=0.1,
        read_only=True,
    ),
    Specification(
        'posture_frequency',
        20.0,
        'Natural frequency of the joint springs that follow the reference [rad/s].',
        minimum=0.1,
        maximum=500.0,
        read_only=True,
    ),
    Specification(
        'command_timeout',
        0.1,
        'Time for which the last ~/effort_commands are applied; afterwards the robot holds its '
        'posture [s].',
        minimum=0.001,
    ),
    Specification(
        'wrench_timeout',
        0.1,
        'Time for which a message on ~/external_wrench acts [s].',
        minimum=0.001,
    ),
    Specification(
        'backend',
        'auto',
        'How the model is computed: native, python, reference, or auto.',
        choices=('auto', *BACKENDS),
        read_only=True,
    ),
    *PROCESS,
)


class Events:
    """Counter of events: their number, the last one, and how many since the last report."""

    def __init__(self) -> None:
        self.count, self.last, self._told = 0, '', 0

    def add(self, text: str) -> None:
        """Record an event."""
        self.count, self.last = self.count + 1, text

    def news(self) -> int:
        """Return how many events there were since the last call."""
        count = self.count
        news, self._told = count - self._told, count
        return news


class Simulator:
    """Publishes `joint_states`, applies `~/effort_commands` and `~/external_wrench`.

    Without commands the motors compensate gravity and follow a slow motion that starts at the
    initial posture. The effort in the joint states is the torque of the motors at that instant.

    Whatever fails in one tick or one message is counted and reported, and the next one is served.
    A motion that cannot be followed goes on from the last state that could, at rest.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.parameters = parameters = Parameters(node, TABLE)
        text = self._description()
        robot = Robot.from_urdf(text, gravity=parameters['gravity'], backend=parameters['backend'])
        self._simulated = SimulatedRobot(robot, self._initial(robot), parameters['integrator'])
        self._steps = int(np.ceil(round(1.0 / (parameters['rate'] * parameters['step']), 9)))
        self._dt = 1.0 / (parameters['rate'] * self._steps)
        self._hold()
        self._command, self._command_arrival = np.zeros(robot.nv), -np.inf
        self._obeying = False
        self._wrenches: dict[str, tuple[Array, float]] = {}  # by links: no more than there are
        self._pushable: set[str] = set()
        self._compiling: SimpleQueue[str] = SimpleQueue()
        self._refused: dict[str, str] = {}  # the last one of each topic, until a good one comes
        self._divergences, self._failures = Events(), Events()
        self._lost, self._lost_reported = 0.0, 0.0
        self._ticks_reported, self._reported = 0, time.monotonic()
        simulated = self._simulated
        self._torques()  # compile
        simulated.prepare()

        self._template = templates.joint_states(robot.joint_names)
        self._states = node.create_publisher(JointState, 'joint_states', qos.OUTPUT)
        self._descriptions = node.create_publisher(String, 'robot_description', qos.LATCHED)
        self._descriptions.publish(String(data=text))
        guarded = self._guarded
        node.create_subscription(
            Float64MultiArray,
            COMMANDS,
            guarded(f'a message on {COMMANDS}', self._on_command),
            qos.COMMAND,
        )
        node.create_subscription(
            WrenchStamped,
            WRENCHES,
            guarded(f'a message on {WRENCHES}', self._on_wrench),
            qos.OUTPUT,
        )
        Diagnostics(node).add(self.status)
        priority = parameters['realtime_priority']
        self._scheduling_fault = use_real_time(priority) if priority else ''
        threading.Thread(target=self._compile_wrenches, daemon=True).start()
        self._tick = 0
        self._start, self._start_stamp = time.monotonic(), node.get_clock().now().nanoseconds
        every(node, 1.0 / parameters['rate'], guarded('a step', self._on_timer))

    def _description(self) -> str:
        """Return the text of the URDF."""
        if self.parameters['robot_description']:
            return self.parameters['robot_description']
        path = Path(self.parameters['urdf'] or share_folder() / 'urdf' / 'panda.urdf')
        try:
            return path.read_text(encoding='utf-8')
        except (OSError, UnicodeError) as error:
            raise DescriptionError(f'parameter urdf: {path} cannot be read: {error}') from None

    def _initial(self, robot: Robot) -> Array:
        """Return where the simulation starts."""
        joints, positions = (self.parameters[f'initial_{what}'] for what in ('joints', 'positions'))
        if len(joints) != len(positions):
            raise ArgumentError(
                f'{len(positions)} initial_positions for {len(joints)} initial_joints'
            )
        q = middle_of_range(robot)
        for name, position in zip(joints, positions):
            if name not in robot.joint_names:
                raise ArgumentError(
                    f'initial_joints: the robot has no joint {name!r}; it has '
                    f'{", ".join(robot.joint_names)}'
                )
            q[robot.joint_coordinates(name)[0]] = position
            joint = robot.joint_names.index(name)
            lower, upper = robot.limits.lower[joint], robot.limits.upper[joint]
            if not lower <= position <= upper:
                raise ArgumentError(
                    f'initial_positions: {position:g} of {name!r} is beyond its '
                    f'limits, {lower:g} to {upper:g}'
                )
        return q

    # --- simulation -----------------------------------------------------------------------------

    def _on_timer(self) -> None:
        """Simulate up to the present time."""
        rate = self.parameters['rate']
        behind = time.monotonic() - self._start - self._tick / rate
        if behind > MOST_LAG:
            self._lost += behind
            self._start += behind
            self._start_stamp += round(behind * 1e9)
        due = int((time.monotonic() - self._start) * rate) + 1
        pause = time.monotonic() + MOST_CATCHING_UP
        while self._tick < due and time.monotonic() < pause:
            try:
                self._advance(rate)
            finally:
                self._tick += 1

    def _advance(self, rate: float) -> None:
        """Publish the state, then simulate until the next one is due."""
        now, simulated = time.monotonic(), self._simulated
        torques = self._torques(now)
        stamp = self._start_stamp + round(self._tick * 1e9 / rate)
        self._states.publish(
            self._template.fill(np.concatenate([simulated.q, simulated.v, torques]), stamp)
        )
        wrenches = self._acting(now)
        for k in range(self._steps):
            try:
                simulated.step(self._torques(now) if k else torques, self._dt, wrenches)
            except DivergenceError as error:
                self._divergences.add(f'at {stamp * 1e-9:.3f}: {error}')
                simulated.v = np.zeros_like(simulated.v)
                self._hold()
            self._time += self._dt

    def _torques(self, now: float | None = None) -> Array:
        """Return the torques of the motors."""
        simulated = self._simulated
        obeying = now is not None and (
            now - self._command_arrival <= self.parameters['command_timeout']
        )
        if self._obeying and not obeying:
            self._hold()
        self._obeying = obeying
        torques = (
            self._command
            if obeying
            else self._posture.torques(self._time, simulated.q, simulated.v)
        )
        limit = simulated.robot.limits.effort
        return np.clip(torques, -limit, limit)

    def _hold(self) -> None:
        """Hold the present posture and start the slow motion from there."""
        parameters, simulated = self.parameters, self._simulated
        self._posture = Posture(
            simulated.robot,
            simulated.q,
            frequency=parameters['posture_frequency'],
            amplitude=parameters['motion_amplitude'],
            period=parameters['motion_period'],
        )
        self._time = 0.0

    def _acting(self, now: float) -> dict[str, Array]:
        """Return the wrenches that have not timed out."""
        timeout = self.parameters['wrench_timeout']
        return {
            link: wrench
            for link, (wrench, arrival) in self._wrenches.items()
            if now - arrival <= timeout and link in self._pushable
        }

    # --- callbacks ------------------------------------------------------------------------------

    def _guarded(self, what: str, callback: Callable[..., None]) -> Callable[..., None]:
        """Return a callback whose exceptions end only that call."""

        @wraps(callback)  # rclpy looks at the arguments
        def call(*arguments: Any) -> None:
            try:
                callback(*arguments)
            except Exception as error:  # rclpy lets it end the process
                self._failures.add(f'{what}: {type(error).__name__}: {error}')

        return call

    def _on_command(self, message: Float64MultiArray) -> None:
        joints = self._simulated.robot.joint_names
        fits = len(message.data) == len(joints)
        command = np.array(message.data if fits else [])
        if not fits or not np.isfinite(command).all():
            self._refused[COMMANDS] = (
                f'{COMMANDS}: expected {len(joints)} finite numbers, for {", ".join(joints)}; got '
                f'{len(message.data)}: {list(message.data[:20])}'
            )
            return
        self._command, self._command_arrival = command, time.monotonic()
        self._refused.pop(COMMANDS, None)

    def _on_wrench(self, message: WrenchStamped) -> None:
        link, (f, n) = message.header.frame_id, (message.wrench.force, message.wrench.torque)
        wrench = swap_linear_angular(np.array([f.x, f.y, f.z, n.x, n.y, n.z]))
        if link not in self._simulated.robot.link_names or not np.isfinite(wrench).all():
            self._refused[WRENCHES] = (
                f'{WRENCHES}: header.frame_id {link[:100]!r} is not a link, or a number is not '
                'finite'
            )
            return
        if link not in self._wrenches:
            self._compiling.put(link)
        self._wrenches[link] = wrench, time.monotonic()
        self._refused.pop(WRENCHES, None)

    def _compile_wrenches(self) -> None:
        """Compile the functions for wrenches at links, without delaying the simulation."""
        use_ordinary_time()
        while True:
            link = self._compiling.get()
            self._guarded(f'a wrench at {link!r}', self._compile)(link)

    def _compile(self, link: str) -> None:
        self._simulated.robot.jacobian(self._simulated.q, link, 'body')
        self._pushable.add(link)

    def status(self) -> Status:
        """Report the state of the simulation."""
        status, now, robot = Status('simulation'), time.monotonic(), self._simulated.robot
        achieved = (self._tick - self._ticks_reported) / (now - self._reported)
        self._ticks_reported, self._reported = self._tick, now
        status.values.update(
            {
                'rate [Hz]': f'{achieved:.1f}',
                'step [s]': f'{self._dt:.6g}',
                'driven by': '~/effort_commands' if self._obeying else 'gravity compensation',
                'pushed at': ', '.join(self._acting(now)) or 'nothing',
                'at stops': ', '.join(
                    joint
                    for joint, torque in zip(robot.joint_names, self._simulated.stop_torques)
                    if torque
                )
                or 'none',
                'time skipped [s]': f'{self._lost:.3f}',
            }
        )
        if self._lost > self._lost_reported:
            status.report(
                Level.WARN,
                'the simulation is slower than real time and skipped '
                f'{self._lost - self._lost_reported:.3f} s; lower the rate or increase the step',
            )
            self._lost_reported = self._lost
        for name, events, means in (
            (
                'divergences',
                self._divergences,
                'the simulation diverged and continued from its last state, at rest',
            ),
            ('failures', self._failures, 'failed and was skipped'),
        ):
            status.values[name] = f'{events.count}; the last {events.last}' if events.count else '0'
            news = events.news()
            if news:
                status.report(Level.ERROR, f'{means}, {news} times; {events.last}')
        powerless = [
            joint for joint, limit in zip(robot.joint_names, robot.limits.effort) if limit == 0.0
        ]
        if powerless:
            status.report(
                Level.WARN,
                f'the effort limit of {", ".join(powerless)} is 0 in the '
                'description, so that no motor moves them; correct <limit effort="..."/>',
            )
        for refusal in list(self._refused.values()):
            status.report(Level.WARN, f'refused {refusal}')
        if self._scheduling_fault:
            status.report(Level.WARN, self._scheduling_fault)
        return status
