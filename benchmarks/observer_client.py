# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A simulator in lock step, one `wrench_estimator` for each observer, and a client of them all.

The client answers each joint state with positions for the servos and with wrenches on links, and
keeps what the observers tell and what the simulator knows, by the stamps. Simulated time stands
still meanwhile: nothing depends on how fast this machine is.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
import yaml
from geometry_msgs.msg import WrenchStamped
from rclpy.experimental import EventsExecutor
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from screw_dynamics_ros.ros.process.children import Children, free_domain

ROOT = Path(__file__).resolve().parents[1]
QUEUE = 1000  # joint states that an observer may be behind before it loses one
AHEAD = 200  # states that the simulation may be ahead of an observer
PATIENCE = 60.0  # s of real time
PAUSE = 0.5  # s of real time without news
TRIES = 50  # of a tare: observers may still be compiling

Array = np.ndarray
#: Positions of all joints, and wrenches (moment, force) on links, in the state with this number.
Program = Callable[[int], tuple[Array, Mapping[str, Array]]]


def stamp_of(message: Any) -> int:
    """Return the stamp of a message [ns]."""
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


class Study:
    """The processes and the client; use it in a `with` block.

    Parameters
    ----------
    urdf : str
        The robot that is simulated.
    model : str
        The robot that the observers believe in.
    observers : mapping
        Parameters of a `wrench_estimator` by the name of its node.
    simulator : mapping
        Further parameters of the simulator.
    rate : float
        [Hz].
    """

    def __init__(
        self,
        urdf: str,
        model: str,
        observers: Mapping[str, Mapping[str, Any]],
        simulator: Mapping[str, Any],
        rate: float,
    ) -> None:
        self.period = round(1e9 / rate)  # ns
        self.names = tuple(observers)
        self.torques: dict[str, dict[int, Array]] = defaultdict(dict)
        self.flags: dict[str, dict[int, bool]] = defaultdict(dict)  # by topic and number of state
        self.truth: dict[int, Array] = {}
        self.wrenches: dict[str, dict[int, Array]] = defaultdict(dict)  # force and moment, by topic
        self.numbers: dict[str, Array] = {}  # the last ones, by topic
        self._last: dict[str, int] = {}
        self.states, self._count = 0, 0  # the last one there is, and the last one wanted
        self._program: Program | None = None
        self._waiting: int | None = None  # the state that is to be answered
        self._children = Children()
        self._folder = tempfile.TemporaryDirectory(prefix='observers_')
        self._urdf, self._model, self._observers = urdf, model, observers
        self._simulator = {
            'robot_description': urdf,
            'rate': rate,
            'step': 0.002,
            'clock': 'lock_step',
            'real_time_factor': 0.0,
            'lock_step_timeout': 0.0,
            'motion_amplitude': 0.0,
            'paused': True,
            'qos_overrides': {'/joint_states': {'publisher': {'depth': QUEUE}}},
            **simulator,
        }

    def __enter__(self) -> Study:
        os.environ.update(
            {
                'ROS_DOMAIN_ID': str(free_domain()),
                'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
                'PYTHONPATH': os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')]),
            }
        )
        self._children.__enter__()
        reliable = {'depth': QUEUE, 'reliability': 'reliable'}
        for name, parameters in self._observers.items():
            values = {
                'robot_description': self._model,
                'use_sim_time': True,
                'max_delay': 0.0,
                'qos_overrides': {'/joint_states': {'subscription': reliable}},
                **parameters,
            }
            self._start(name, 'wrench_estimator', values)
        self._start('simulator', 'simulator', self._simulator)
        self._connect()
        return self

    def __exit__(self, *problem: Any) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)
        self._children.__exit__(*problem)
        self._folder.cleanup()

    def _start(self, name: str, node: str, parameters: Mapping[str, Any]) -> None:
        path = Path(self._folder.name, f'{name}.yaml')
        path.write_text(yaml.safe_dump({f'/{name}': {'ros__parameters': dict(parameters)}}))
        arguments = [node, '--ros-args', '-r', f'__node:={name}', '--params-file', str(path)]
        self._children.start(name, 'screw_dynamics_ros', arguments)

    def _connect(self) -> None:
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self.node = rclpy.create_node('study', context=self._context, enable_rosout=False)
        self._executor = EventsExecutor(context=self._context)
        self._executor.add_node(self.node)
        subscribe, depth = self.node.create_subscription, 10 * QUEUE
        for name in self.names:
            receive = partial(self._on_torque, name)
            subscribe(JointState, f'/{name}/external_torque', receive, depth, raw=True)
            for flag in ('contact', 'collision'):
                topic = f'/{name}/{flag}'
                subscribe(Bool, topic, partial(self._on_flag, name, topic), depth)
        subscribe(JointState, '/simulator/ground_truth/external_torque', self._on_truth, depth)
        self._positions = self.node.create_publisher(
            Float64MultiArray, '/simulator/position_commands', 1
        )
        self._wrench = self.node.create_publisher(WrenchStamped, '/simulator/external_wrench', 100)
        self.wait(self._positions.get_subscription_count, 'the simulator')
        self.wait(
            lambda: all(
                self.node.count_publishers(f'/{name}/external_torque') for name in self.names
            ),
            'the observers',
        )
        self._joint_states = subscribe(JointState, '/joint_states', self._on_state, QUEUE)
        self.wait(self._joint_states.get_publisher_count, 'joint states')
        pause = self.node.create_client(SetBool, '/simulator/pause')
        self.wait(pause.service_is_ready, '/simulator/pause')
        future = pause.call_async(SetBool.Request(data=False))
        self.wait(future.done, '/simulator/pause')
        self.wait(lambda: self.states > 0, 'the first joint state')

    def wait(self, condition: Callable[[], Any], what: str, patience: float = PATIENCE) -> None:
        """Handle messages until a condition holds; raises `TimeoutError`."""
        end = time.monotonic() + patience
        while not condition():
            self._children.check()
            if time.monotonic() > end:
                raise TimeoutError(f'waited {patience} s for {what}')
            self._executor.spin_once(timeout_sec=0.05)

    def follow(self, *topics: str) -> None:
        """Keep the wrenches or numbers that are published on topics of observers."""
        for topic in topics:
            if 'validity' in topic:
                receive = partial(self._on_numbers, topic)
                self.node.create_subscription(Float64MultiArray, topic, receive, 10)
            else:
                receive = partial(self._on_wrench, topic)
                self.node.create_subscription(WrenchStamped, topic, receive, 10 * QUEUE)
            self.wait(partial(self.node.count_publishers, topic), topic)

    # --- the run --------------------------------------------------------------------------------

    def run(self, states: int, program: Program) -> None:
        """Let so many states pass, each answered as the program says."""
        self._program, self._count = program, self.states + states
        self._answer()
        begun = time.monotonic()
        before = -1
        while self.states < self._count:
            self._executor.spin_once(timeout_sec=0.05)
            if self.states != before:
                before, begun = self.states, time.monotonic()
            elif time.monotonic() - begun > PAUSE:
                self._children.check()
                self._answer(at_once=True)  # an observer that publishes nothing is not waited for
                if time.monotonic() - begun > PATIENCE:
                    raise TimeoutError(f'no joint state after number {self.states}')
        self._program = None
        end = time.monotonic() + PAUSE
        while min(self._last.values(), default=0) < self.states and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.05)

    def tare(self, program: Program) -> None:
        """Let states pass until all observers have taken the present torques as zero."""
        missing, message = list(self.names), ''
        for _ in range(TRIES):
            self.run(200, program)
            missing = [name for name in missing if (message := self._tare(name))]
            if not missing:
                return
        raise RuntimeError(f'{missing[0]}/tare: {message}')

    def _tare(self, name: str) -> str:
        """Let an observer take the present torques as zero; return why it does not, or nothing."""
        client = self.node.create_client(Trigger, f'/{name}/tare')
        self.wait(client.service_is_ready, f'{name}/tare')
        future = client.call_async(Trigger.Request())
        self.wait(future.done, f'{name}/tare')
        response = future.result()
        self.node.destroy_client(client)
        return '' if response.success else response.message

    def _on_state(self, message: JointState) -> None:
        self.states = stamp_of(message) // self.period
        self._waiting = self.states
        self._answer()

    def _on_torque(self, name: str, data: bytes) -> None:
        message = deserialize_message(data, JointState)
        number = stamp_of(message) // self.period
        self.torques[name][number] = np.array(message.effort)
        self._last[name] = number
        if self._waiting is not None and self._waiting - number >= AHEAD // 2:
            self._answer()

    def _on_flag(self, name: str, topic: str, message: Bool) -> None:
        self.flags[topic][self._last.get(name, 0)] = message.data

    def _on_wrench(self, topic: str, message: WrenchStamped) -> None:
        force, moment = message.wrench.force, message.wrench.torque
        self.wrenches[topic][stamp_of(message) // self.period] = np.array(
            [force.x, force.y, force.z, moment.x, moment.y, moment.z]
        )

    def _on_numbers(self, topic: str, message: Float64MultiArray) -> None:
        self.numbers[topic] = np.array(message.data)

    def _on_truth(self, message: JointState) -> None:
        self.truth[stamp_of(message) // self.period] = np.array(message.effort)

    def _answer(self, at_once: bool = False) -> None:
        """Answer the waiting state, unless an observer is too far behind."""
        number = self._waiting
        if number is None or self._program is None or number >= self._count:
            return
        behind = max((number - last for last in self._last.values()), default=0)
        if behind > AHEAD and not at_once:
            return
        self._waiting = None
        positions, wrenches = self._program(number)
        for link, (mx, my, mz, fx, fy, fz) in wrenches.items():
            message = WrenchStamped()
            message.header.frame_id = link
            force, moment = message.wrench.force, message.wrench.torque
            moment.x, moment.y, moment.z = float(mx), float(my), float(mz)
            force.x, force.y, force.z = float(fx), float(fy), float(fz)
            self._wrench.publish(message)
        self._positions.publish(Float64MultiArray(data=[float(x) for x in positions]))
