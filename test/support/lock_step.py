# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A simulator in lock step and a client that answers each of its joint states.

Each answer is sent when its state is there: what is seen does not depend on how fast anything is.
"""

from __future__ import annotations

import time

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.experimental import EventsExecutor
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from support.robots import UNIT_INERTIA, joint, robot
from support.ros_harness import DEADLINE, stamp_of

JOINTS = ('shoulder', 'elbow', 'finger')
START = [0.0, 0.0, 0.05]  # where it starts [rad, rad, m]
RATE = 100.0
PERIOD = 10_000_000  # ns

#: A hardware interface commands them by different interfaces; nobody commands the mimic joint.
TAGS = """
<ros2_control name="arm" type="system">
  <joint name="shoulder"><command_interface name="position"/></joint>
  <joint name="elbow"><command_interface name="velocity"/><command_interface name="effort"/></joint>
</ros2_control>
<ros2_control name="gripper" type="system">
  <joint name="finger"><command_interface name="position"/></joint>
  <joint name="other_finger"><state_interface name="position"/></joint>
</ros2_control>
"""


def arm():
    """Return the URDF of an arm with a gripper whose second finger mimics the first."""
    links = [
        f'<link name="{name}"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>'
        f'{UNIT_INERTIA}</inertial></link>'
        for name in ('upper', 'lower', 'left', 'right')
    ]
    limit = '<limit lower="-2" upper="2" velocity="3" effort="400"/>'
    down = '<axis xyz="0 1 0"/><origin xyz="1 0 0"/>'
    slide = '<axis xyz="1 0 0"/><limit lower="0" upper="0.1" velocity="1" effort="60"/>'
    return robot(
        '<link name="base"/>',
        *links,
        joint('shoulder', 'base', 'upper', f'<axis xyz="0 1 0"/>{limit}'),
        joint('elbow', 'upper', 'lower', f'{down}{limit}'),
        joint('finger', 'lower', 'left', slide, 'prismatic'),
        joint('other_finger', 'lower', 'right', f'{slide}<mimic joint="finger"/>', 'prismatic'),
        TAGS,
    )


class Responder:
    """A client that does nothing but answer states with efforts, as fast as it can.

    Parameters
    ----------
    domain : int
    namespace : str
    efforts : callable
        Returns the efforts that answer a state, from its message.
    """

    def __init__(self, domain, namespace, efforts):
        self._context = rclpy.Context()
        rclpy.init(context=self._context, domain_id=domain)
        self.node = rclpy.create_node(
            'responder', context=self._context, namespace=namespace, enable_rosout=False
        )
        self._executor = EventsExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.stamps, self._efforts = [], efforts
        self._publisher = self.node.create_publisher(
            Float64MultiArray, 'simulator/effort_commands', 1
        )

    def _receive(self, message):
        self.stamps.append(stamp_of(message))
        self._publisher.publish(Float64MultiArray(data=self._efforts(message)))

    def run(self, count, begin):
        """Answer so many states; `begin` lets the simulation run from its start.

        That is when the simulator knows of the subscription: a later one has heard from it.
        """
        states = self.node.create_subscription(JointState, 'joint_states', self._receive, 100)
        names, simulator = set(), f'{self.node.get_namespace()[1:]}/simulator: simulation'
        self.node.create_subscription(
            DiagnosticArray,
            '/diagnostics',
            lambda message: names.update(status.name for status in message.status),
            50,
        )
        self._wait(lambda: simulator in names, simulator)
        self._wait(self._publisher.get_subscription_count, 'a subscription of commands')
        self._wait(states.get_publisher_count, 'a publisher of states')
        begin()
        self._wait(lambda: len(self.stamps) >= count, f'{count} states')

    def _wait(self, condition, what):
        end = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < end, f'waited for {what}; {len(self.stamps)} states'
            self._executor.spin_once(timeout_sec=0.1)

    def close(self):
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)


class LockStep:
    """A client of a simulator in lock step, and its process."""

    def __init__(self, start, connect, urdf, namespace, **parameters):
        parameters = {
            'urdf': urdf,
            'rate': RATE,
            'clock': 'lock_step',
            'real_time_factor': 0.0,
            'lock_step_timeout': 0.0,
            'motion_amplitude': 0.0,
            'initial_joints': str(list(JOINTS)),
            'initial_positions': str(START),
            'command_timeout': 0.05,
            'wrench_timeout': 0.05,
            'diagnostic_updater.period': 0.1,
            **parameters,
        }
        self.process = start('simulator', parameters, ['-r', f'__ns:=/{namespace}'])
        self.client = connect(namespace)
        self.name = f'{namespace}/simulator: simulation'
        self.faults = f'{namespace}/simulator: simulated faults'
        self.messages, self.raw = [], []
        for topic in ('effort', 'position', 'velocity'):
            self.client.publisher(Float64MultiArray, f'simulator/{topic}_commands', 1)
        self.client.subscribe(Clock, '/clock', profile=10)
        self.client.node.create_subscription(
            JointState, 'joint_states', self._receive, 100, raw=True
        )

    def _receive(self, data):
        self.raw.append(bytes(data))
        self.messages.append(deserialize_message(self.raw[-1], JointState))

    # --- requests -------------------------------------------------------------------------------

    def trigger(self, name):
        return self.client.call(Trigger, f'simulator/{name}', Trigger.Request())

    def switch(self, name, wanted):
        return self.client.call(SetBool, f'simulator/{name}', SetBool.Request(data=wanted))

    def set(self, **values):
        for name, value in values.items():
            result = self.client.set_parameter('simulator', name.replace('__', '.'), value)
            assert result.successful, result.reason

    def begin(self):
        """Begin again: the first state is there, nothing is wrong, nothing commanded."""
        self.switch('freeze_commands', False)
        self.trigger('clear_faults')
        self.set(lock_step_timeout=0.0, lock_step_commands=1, steps_per_request=1)
        self.trigger('reset')
        self.switch('pause', True)
        self.messages.clear()
        self.trigger('step')  # nothing is on its way any more when its state is there
        self.client.wait(lambda: 2 * PERIOD in self.stamps, what='the state of the step')
        self.messages.clear(), self.raw.clear()
        self.trigger('reset')
        self.wait_for_states(1)
        self.switch('pause', False)
        assert self.stamps == [PERIOD]

    # --- states ---------------------------------------------------------------------------------

    def wait_for_states(self, count, what=''):
        self.client.wait(lambda: len(self.messages) >= count, what=what or f'{count} states')

    def wait_for_stamp(self, stamp, what=''):
        """Wait until the last state has this stamp."""
        self.client.wait(lambda: self.stamps[-1] == stamp, what=f'{stamp} {what}')

    @property
    def commands(self):
        """Number of valid commands, executed or ignored."""
        self.client.diagnostics.pop(self.name, None)
        status = self.client.wait(lambda: self.client.diagnostics.get(self.name), what=self.name)
        return sum(int(word) for word in status[2]['commands'].split() if word.isdigit())

    def until_commands(self, count):
        """Wait until this many valid commands have arrived."""
        self.client.wait(lambda: self.commands == count, what=f'{count} commands')

    @property
    def stamps(self):
        return [stamp_of(message) for message in self.messages]

    @property
    def last(self):
        """Positions, velocities and efforts of the last state."""
        message = self.messages[-1]
        return np.array([message.position, message.velocity, message.effort])

    def send(self, kind, topic, message):
        self.client.publisher(kind, topic, 1).publish(message)

    def answer(self, kind, topic, message):
        """Answer the last state; return the next one."""
        count = len(self.messages)
        self.send(kind, topic, message)
        self.wait_for_states(count + 1, f'the state after an answer on {topic}')
        return self.last

    def command(self, interface, *numbers):
        """Answer the last state with numbers for all joints; return the next one."""
        count = len(self.messages)
        self.command_without_waiting(interface, *numbers)
        self.wait_for_states(count + 1, f'the state after {interface} commands')
        return self.last

    def command_without_waiting(self, interface, *numbers):
        """Send numbers for all joints."""
        message = Float64MultiArray(data=[float(x) for x in numbers])
        self.send(Float64MultiArray, f'simulator/{interface}_commands', message)

    def report(self, level, *texts):
        """Wait for a status of the simulation; return its values."""
        return self.client.expect(self.name, level, *texts)
