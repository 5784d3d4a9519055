# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The nodes beside `bringup` under input of every bad kind, over DDS.

Each node gets garbage on all topics that it reads, in all requests and parameters, and
`trajectory_proxy` in goals, which are also canceled, repeated, and beyond the permitted size, while
its controller refuses, fails and dies. All the time the process must live and log no traceback, no
exception may show on /diagnostics, every published number must be finite, refusals must have a
reason, and the memory must stay as it is. Afterwards good input must give the right output.

    python test/endurance/fuzz_nodes.py --rounds 40

Prints a table; the exit status is 1 after a violation.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from fuzz_joint_states import Violations, check_finite, check_response, check_status, memory
from fuzz_nodes_cases import CASES, Goals

from support.garbage import NAMES, NUMBERS, SECOND, Garbage

ROOT = Path(__file__).resolve().parents[2]
BATCH = 20  # messages on each topic in a round
PATIENCE = 120.0  # s
TURN = 0.01  # s, longest wait for a message
GROWTH = 30e3  # kB in the second half
OWN = ('/parameter_events', '/rosout', '/diagnostics', '/clock', '/robot_description')
#: Services of each node that are called by name, with values of their own.
PARAMETER_SERVICES = ('parameters', 'parameters_atomically', 'parameter_types', 'type_description')


class Attack:
    """One node, and a client that sends garbage to it."""

    def __init__(self, name: str, children: Any, seed: int) -> None:
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray
        from rclpy.executors import SingleThreadedExecutor

        self.name, self._children, case = name, children, CASES[name]
        self.nodes = (name, *case.hosted)
        options = [w for key, value in case.parameters.items() for w in ('-p', f'{key}:={value}')]
        children.start(name, 'screw_dynamics_ros', [name, '--ros-args', *options])
        self.node = rclpy.create_node(f'attacks_{name}')
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.robot = case.robot()
        self.garbage = Garbage(seed, self.robot)
        self.violations, self.counts = Violations(), Counter[str]()
        self.received: dict[str, list[Any]] = {}
        self.complaints: dict[str, str] = {}
        self.near, self._has_reported = time.time_ns(), False
        self._publishers: dict[str, tuple[Any, type]] = {}
        self._clients: dict[str, Any] = {}
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 50)
        case.begin(self)
        self.until(lambda: self._has_reported, 'diagnostics')
        self.spin(2.0)  # for the discovery of all topics
        self._listen()

    # --- time -------------------------------------------------------------------------------------

    def turn(self) -> None:
        """Handle one message; if timeouts differed, the first topics would starve the others."""
        self.executor.spin_once(timeout_sec=TURN)

    def spin(self, seconds: float) -> None:
        """Handle messages for some time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.turn()

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        """Handle messages until a condition holds; return its value, None after `PATIENCE`."""
        end = time.monotonic() + PATIENCE
        while not (value := condition()):
            self._children.check()
            if time.monotonic() > end:
                self.violations.note(f'no {what}', '; '.join(self.complaints.values()))
                return None
            self.turn()
        return value

    # --- the node ---------------------------------------------------------------------------------

    def _graph(self, kind: str) -> dict[str, str]:
        """Return name and type of the topics or services of the nodes in the process."""
        find = getattr(self.node, f'get_{kind}_names_and_types_by_node')
        return {
            name: kinds[0]
            for node in self.nodes
            for name, kinds in find(node, '/')
            if name not in OWN and '/_action/' not in name
        }

    def _listen(self) -> None:
        for topic, kind in self._graph('publisher').items():
            self.received[topic] = []
            self.node.create_subscription(type_of(kind), topic, partial(self._on_output, topic), 50)
        for topic, kind in self._graph('subscriber').items():
            made = type_of(kind)
            self._publishers[topic] = self.node.create_publisher(made, topic, 10), made

    def _on_output(self, topic: str, message: Any) -> None:
        kept = self.received[topic]
        kept.append(message)
        del kept[:-100]
        self.counts['outputs'] += 1
        if topic not in self._publishers:  # else it may be garbage of our own
            check_finite(topic, message, self.violations)

    def _on_diagnostics(self, message: Any) -> None:
        for status in message.status:
            self.complaints[status.name] = f'{status.name}: {status.message}'
            if status.level == b'\0':
                del self.complaints[status.name]
            self._has_reported |= status.name.startswith(f'{self.name}: ')
            check_status(status, self.violations)
            if 'no status' in status.message:
                self.violations.note('no status', status.message)

    def send(self, topic: str, message: Any) -> None:
        """Publish a message on a topic that the node reads."""
        self._publishers[topic][0].publish(message)

    def call(self, name: str, request: Any, kind: type) -> Any:
        """Return the response of a service, None without one."""
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name)
            self.until(self._clients[name].service_is_ready, f'service {name}')
            self.spin(0.3)  # the server must know of the client
        future = self._clients[name].call_async(request)
        self.until(future.done, f'response of {name}')
        return future.result() if future.done() else None

    # --- garbage ----------------------------------------------------------------------------------

    def messages(self) -> None:
        """Send garbage on all topics."""
        from sensor_msgs.msg import JointState

        for topic, (publisher, kind) in self._publishers.items():
            for _ in range(BATCH):
                if kind is JointState and topic == '/joint_states':
                    publisher.publish(self.garbage.joint_state(self.near)[0])
                else:
                    publisher.publish(self.message(kind))
                self.counts['messages'] += 1
            self.turn()
        self.near += SECOND // 10

    def message(self, kind: type) -> Any:
        """Return a message in which much is right: stamps, and some of the names."""
        made = self.garbage.message(kind, self.garbage.pick([1.0, 0.1, 0.02]))
        if hasattr(made, 'header') and self.garbage.chance(0.8):
            made.header.stamp.sec, made.header.stamp.nanosec = divmod(time.time_ns(), SECOND)
            frame = self.garbage.pick([*CASES[self.name].frames, *NAMES[:6]])
            made.header.frame_id = frame
        return made

    def requests(self) -> None:
        """Send garbage to each service."""
        for name, kind in self._graph('service').items():
            if name.endswith(PARAMETER_SERVICES):
                continue
            made = type_of(kind)
            response = self.call(name, self.garbage.request(made.Request), made)
            self.counts['requests'] += 1
            if response is not None and hasattr(response, 'success'):
                check_response(name, response, self.violations)

    def parameters(self, count: int) -> None:
        """Set parameters to anything, then to what they were."""
        from rcl_interfaces.srv import GetParameters, ListParameters
        from rclpy.parameter import parameter_value_to_python

        node = self.garbage.pick([each for each in self.nodes if not each.startswith('_')])
        path = f'/{node}'
        listed = self.call(f'{path}/list_parameters', ListParameters.Request(), ListParameters)
        names = list(listed.result.names)
        values = self.call(
            f'{path}/get_parameters', GetParameters.Request(names=names), GetParameters
        ).values
        known = {n: parameter_value_to_python(value) for n, value in zip(names, values)}

        for _ in range(count):
            name = self.garbage.pick(names)
            (result,) = self.set_parameters(node, {name: self.value_like(known[name])})
            self.counts['parameters'] += 1
            if not result.successful and not (result.reason and result.reason.isprintable()):
                self.violations.note('parameters refused without a reason', name)
        before, left = dict(known), ['']
        for _ in range(3):  # some may depend on others
            results = self.set_parameters(node, before)
            left = [f'{n}: {r.reason}' for n, r in zip(before, results) if not r.successful]
        left = [text for text in left if 'read-only' not in text and 'read only' not in text]
        if left:
            self.violations.note('parameters that cannot be set to what they were', str(left))

    def set_parameters(self, node: str, changes: dict[str, Any]) -> Any:
        """Set parameters of a node; return the results."""
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter

        request = SetParameters.Request(
            parameters=[Parameter(n, value=v).to_parameter_msg() for n, v in changes.items()]
        )
        return self.call(f'/{node}/set_parameters', request, SetParameters).results

    def value_like(self, value: Any) -> Any:
        """Return a value of the same type mostly."""
        if self.garbage.chance(0.1):
            return self.garbage.pick([True, 1, 1.5, 'text', [1.0], ['text'], [True]])
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return self.garbage.pick([0, 1, -1, 2**31, -(2**63), 2**63 - 1, value + 1])
        if isinstance(value, float):
            return self.garbage.pick([*NUMBERS, value * 1.1])
        if isinstance(value, str):
            return self.garbage.pick([*NAMES, value])
        element, size = value[0] if value else '', self.garbage.pick([len(value), 1, 3, 6, 200])
        if isinstance(element, str):
            return [str(self.garbage.pick([*NAMES, *value])) for _ in range(size)]
        return [float(self.garbage.pick([*NUMBERS, *value])) for _ in range(size)]

    # --- all of it --------------------------------------------------------------------------------

    def run(self, rounds: int) -> str:
        """Attack; return a line of the table."""
        case, sizes, begin = CASES[self.name], [], time.monotonic()
        goals = Goals(self) if case.has_goals else None
        process = self._children.pids()[self.name]
        for k in range(rounds):
            self.messages()
            if goals is not None:
                goals.act()
            if k % 5 == 0:
                self.requests()
            if k % 10 == 0:
                self.parameters(20)
            self.spin(0.02)
            self._children.check()
            sizes.append(memory(process, children=False))
        case.check(self, goals)
        growth = sizes[-1] - sizes[len(sizes) // 2]
        if growth > GROWTH:
            self.violations.note('growth of memory', f'{growth / 1e3:.1f} MB')
        log = Path(self._children._folder.name, f'{self.name}.log').read_text(errors='replace')
        if 'Traceback' in log or 'Exception ignored' in log:
            self.violations.note('tracebacks in the log', log[log.index('Traceback') :][:1500])
        counts = ', '.join(f'{count} {what}' for what, count in self.counts.items())
        return f'{counts}, {growth / 1e3:+.1f} MB in {time.monotonic() - begin:.0f} s'

    def end(self) -> None:
        """Destroy the client, and end the node: by SIGINT, with status 0."""
        self.executor.shutdown()
        self.node.destroy_node()
        process = self._children._processes[self.name]
        process.send_signal(2)
        if process.wait(PATIENCE) != 0:
            self.violations.note('exit status', str(process.returncode))
        del self._children._processes[self.name]


def type_of(name: str) -> type:
    """Return the class of a type such as 'std_srvs/srv/Trigger'."""
    import importlib

    package, kind, last = name.split('/')
    found: type = getattr(importlib.import_module(f'{package}.{kind}'), last)
    return found


def main() -> int:
    """Run, print a table, return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--rounds', type=int, default=40, metavar='N')
    parser.add_argument('--nodes', nargs='+', default=list(CASES), choices=list(CASES))
    parser.add_argument('--seed', type=int, default=0)
    arguments = parser.parse_args()
    from screw_dynamics_ros.ros.process.children import Children, free_domain

    os.environ.setdefault('ROS_DOMAIN_ID', str(free_domain()))
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    os.environ['PYTHONPATH'] = os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')])
    import rclpy

    rclpy.init()
    is_bad = False
    for name in arguments.nodes:
        with Children() as children:
            attack, line = Attack(name, children, arguments.seed), ''
            try:
                line = attack.run(arguments.rounds)
                attack.end()
            except Exception as error:
                attack.violations.note('ends of the attack', f'{type(error).__name__}: {error}')
            print(f'{name}: {line}', flush=True)
            for kind, count in attack.violations.counts.most_common():
                print(f'    {count} {kind}; the first: {attack.violations.first[kind]}')
            is_bad = is_bad or bool(attack.violations.counts)
    print('violations' if is_bad else 'no violations')
    return 1 if is_bad else 0


if __name__ == '__main__':
    status = main()
    sys.stdout.flush()
    os._exit(status)  # what the middleware does at the end is of no interest
