# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""`bringup` under joint states and requests of every bad kind, over DDS.

Joint states come in bursts, with stamps of every kind, invalid or too large numbers, ragged
arrays, too many names, the same ones twice, unknown ones, and bytes that are no message. After each
burst comes one good message, which must be answered on every topic with the right torques. All the
time the process must live and tell no exceptions, every published number must be finite (but for
the condition number of a singular configuration), no output may carry a stamp that was never sent
or was sent too long ago, and the memory must stay as it is. With `--services`, every service gets
garbage, too.

    python test/endurance/fuzz_joint_states.py --states 100000 --services 2000

Prints a table; the exit status is 1 after a violation.
"""

from __future__ import annotations

import argparse
import math
import os
import struct
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / 'benchmarks'), str(ROOT / 'test')]

from node_latency import (  # noqa: E402
    CONDITIONAL,
    description,
    has_own_rate,
    outputs_of,
    publish_description,
)

from support.garbage import SECOND, Garbage  # noqa: E402

BURST = 50
DEADLINE = 2.0  # s within which a good message is answered on all topics
OLDEST = 3.0  # s from a state to an output of it; both longer on a busy machine, see --patience
GROWTH = 20e3  # kB: caches and pools that fill up after the first tenth
PATIENCE = 60.0  # s
PAUSE = 0.45  # s from the stamps of a burst to that of the good message
#: Commands begin, end and go on by rules of their own when states are lost: only numbers count.
COMMANDS = (
    '/dynamics/feedforward',
    '/dynamics/commands',
    '/dynamics/joint_command',
    '/dynamics/position_command',
    '/dynamics/joint_position_command',
    '/dynamics/impedance_command',
)
#: Services that change what the robot is or carries.
CHANGES = ('/set_link_inertia', '/set_payload', '/attach_tool')
#: The queue is long enough for a burst, so that every state of it is answered or refused.
PARAMETERS = {
    'enabled': True, 'ramp_time': 0.0, 'blend_time': 0.0, 'max_delay': 1.0, 'age_limit': 10.0,
    'qos_overrides./joint_states.subscription.depth': 1000,
}  # fmt: skip


class Violations:
    """What must not be: how often, and the first case of each kind."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.first: dict[str, str] = {}

    def clear(self) -> None:
        """Forget all."""
        self.counts.clear()
        self.first.clear()

    def note(self, kind: str, text: str = '') -> None:
        """Count one."""
        self.counts[kind] += 1
        self.first.setdefault(kind, text[:1000])


class Listener:
    """Takes what `bringup` publishes and looks at every message.

    Parameters
    ----------
    node : rclpy.node.Node
        Not spun: messages are taken from its subscriptions.
    violations : Violations
    """

    def __init__(self, node: Any, violations: Violations, patience: float) -> None:
        from diagnostic_msgs.msg import DiagnosticArray
        from rclpy.qos import QoSProfile

        self._violations, self._oldest = violations, OLDEST * patience
        self.sent: dict[bytes, float] = {}
        self.unstamped = math.inf  # when the first state without stamp was sent [s]
        self.messages: Counter[str] = Counter()
        self.latest: dict[str, Any] = {}
        self.answered: dict[str, deque[bytes]] = {}
        end, found = time.monotonic() + PATIENCE, {}
        while len(found) < 15:
            if time.monotonic() > end:
                raise RuntimeError(f'the nodes do not come up; topics: {sorted(found)}')
            time.sleep(0.2)
            found = outputs_of(node)
        time.sleep(1.0)
        self._subscriptions = {
            topic: node.create_subscription(kind, topic, print, QoSProfile(depth=2000), raw=True)
            for topic, kind in outputs_of(node, conditional=True).items()
            if not topic.endswith(('parameter_events', 'reference'))
        }
        self._diagnostics = node.create_subscription(
            DiagnosticArray, '/diagnostics', print, QoSProfile(depth=50)
        )
        self.awaited = {each for each in self._subscriptions if not each.endswith(CONDITIONAL)}
        self.topics = [
            topic for topic in self.awaited
            if not has_own_rate(topic) and not topic.endswith(COMMANDS)
        ]  # fmt: skip

    def take(self) -> int:
        """Look at all messages that have come; return how many."""
        from rclpy.serialization import deserialize_message

        count = 0
        for topic, subscription in self._subscriptions.items():
            handle, kind = subscription.handle, subscription.msg_type
            while (taken := handle.take_message(kind, True)) is not None:
                data = bytes(taken[0])
                message = deserialize_message(data, kind)
                count += 1
                self.messages[topic] += 1
                self._check(topic, data, message)
                self.latest[topic] = message
        while (
            taken := self._diagnostics.handle.take_message(self._diagnostics.msg_type, False)
        ) is not None:
            self._check_diagnostics(taken[0])
        return count

    def _check(self, topic: str, data: bytes, message: Any) -> None:
        """Check stamp and numbers."""
        check_finite(topic, message, self._violations)
        stamp = stamp_of(topic, data, message)
        if stamp is None or topic.endswith(COMMANDS):
            self.answered.setdefault(topic, deque(maxlen=100)).append(b'')
            return
        self.answered.setdefault(topic, deque(maxlen=100)).append(stamp)
        when, now = self.sent.get(stamp), time.monotonic()
        if when is None:
            sec, nanosec = struct.unpack('<iI', stamp)
            arrival, now = sec + 1e-9 * nanosec, time.time()
            if not (self.unstamped <= arrival <= now and now - arrival <= self._oldest):
                self._violations.note('stamps never sent', f'{topic}: {sec}.{nanosec:09d}')
        elif now - when > self._oldest:
            self._violations.note('outputs too old', f'{topic}: {now - when:.2f} s')

    def _check_diagnostics(self, message: Any) -> None:
        for status in message.status:
            check_status(status, self._violations)

    def has_answered(self, stamp: bytes) -> bool:
        """Whether all outputs of a state are there."""
        return not self.unanswered(stamp)

    def unanswered(self, stamp: bytes) -> list[str]:
        """Return the topics that lack an answer."""
        return [
            topic
            for topic in self.topics
            if (b'' if stamp_is_absent(self.latest.get(topic)) else stamp)
            not in self.answered.get(topic, ())
        ]

    def forget_unstamped(self) -> None:
        """Wait for new messages on topics that carry no stamps."""
        for answers in self.answered.values():
            while b'' in answers:
                answers.remove(b'')


def check_status(status: Any, violations: Violations) -> None:
    """Note what no status on /diagnostics may contain."""
    texts = [status.message, *(item.value for item in status.values)]
    if not all(text.isprintable() for text in texts):
        violations.note('control characters on /diagnostics', f'{status.name}: {status.message}')
    if max(map(len, texts)) > 5000:
        violations.note('endless texts on /diagnostics', status.name)
    if status.name.endswith(': faults') and status.level != b'\0':
        violations.note('exceptions on /diagnostics', f'{status.message} {texts}')


def check_finite(topic: str, message: Any, violations: Violations) -> None:
    """Note numbers of an output that are not finite and have no meaning."""
    numbers = np.array(list(numbers_of(message)))
    if '/singularity/' in topic:  # an infinite condition number is what it is
        numbers = np.where(np.isposinf(numbers) & (np.arange(numbers.size) == 1), 0.0, numbers)
    if '/wrench_validity/' in topic:  # deviations by errors of the model, which are not known
        numbers[-6:] = np.where(np.isnan(numbers[-6:]), 0.0, numbers[-6:])
    if not np.isfinite(numbers).all():
        violations.note('numbers that are not finite', f'{topic}: {numbers.tolist()}')


def numbers_of(message: Any) -> Iterator[float]:
    """Yield all floating-point numbers of a message."""
    for field, kind in message.get_fields_and_field_types().items():
        value = getattr(message, field)
        if 'double' in kind or 'float' in kind:
            yield from [float(value)] if np.isscalar(value) else map(float, value)
        elif '/' in kind:
            for each in value if isinstance(value, list) else [value]:
                if hasattr(each, 'get_fields_and_field_types'):
                    yield from numbers_of(each)


def stamp_is_absent(message: Any) -> bool:
    """Whether a message is of a type without stamp."""
    return (
        message is not None
        and not hasattr(message, 'header')
        and not hasattr(message, 'transforms')
        and not hasattr(message, 'markers')
    )


def stamp_of(topic: str, data: bytes, message: Any) -> bytes | None:
    """Return the stamp as bytes, None if messages of the type have none."""
    if stamp_is_absent(message):
        return None
    start = 8 if hasattr(message, 'transforms') or hasattr(message, 'markers') else 4
    return data[start : start + 8]


class Driver:
    """Sends joint states, and sees that good ones are answered."""

    def __init__(
        self, node: Any, listener: Listener, violations: Violations, seed: int, patience: float
    ) -> None:
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState

        from screw_dynamics_ros.core import Robot

        self.robot = Robot.from_urdf(description(), backend='reference')
        self.garbage = Garbage(seed, self.robot)
        self._listener, self._violations = listener, violations
        self._deadline = DEADLINE * patience
        self._publisher = node.create_publisher(JointState, 'joint_states', qos_profile_sensor_data)
        self._near = time.time_ns() + 1000 * SECOND
        self.kinds: Counter[str] = Counter()
        self.delays: list[float] = []
        self.compares = True  # torques; not while the robot carries or is something else

    def burst(self, count: int) -> None:
        """Send bad states as fast as they come."""
        for _ in range(count):
            data, kind = self.garbage.joint_state(self._near)
            self.kinds[kind] += 1
            self._listener.sent[data[4:12]] = time.monotonic()
            if data[4:12] == bytes(8):
                self._listener.unstamped = min(self._listener.unstamped, time.time())
            self._publisher.publish(data)

    def good(self, repeat: bool = False) -> bool:
        """Send a good state; return whether it was answered on all topics, with right torques."""
        from rclpy.serialization import serialize_message
        from sensor_msgs.msg import JointState

        random, limits = self.garbage.random, self.robot.limits
        q = 0.5 * (limits.lower + limits.upper) + 0.1 * random.normal(size=self.robot.nv)
        v, tau = 0.1 * random.normal(size=(2, self.robot.nv))
        self._near = max(self._near + round(PAUSE * SECOND), time.time_ns() + 100 * SECOND)
        message = JointState(
            name=list(self.robot.joint_names),
            position=q.tolist(),
            velocity=v.tolist(),
            effort=tau.tolist(),
        )
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self._near, SECOND)
        data = bytes(serialize_message(message))
        stamp = data[4:12]
        self._listener.take()
        self._listener.forget_unstamped()
        start = self._listener.sent[stamp] = time.monotonic()
        self._publisher.publish(data)
        while not self._listener.has_answered(stamp):
            if time.monotonic() - start > self._deadline:
                if not repeat:
                    self._violations.note(
                        'good states not answered', ', '.join(self._listener.unanswered(stamp))
                    )
                return False
            if not self._listener.take():
                time.sleep(5e-4)
        self.delays.append(time.monotonic() - start)
        self._compare(stamp, q, v, tau)
        return True

    def _compare(self, stamp: bytes, q: Any, v: Any, tau: Any) -> None:
        """Check the torques that belong to a good state."""
        if not self.compares:
            return
        gravity, coriolis = self.robot.gravity_torques(q), self.robot.coriolis_torques(q, v)
        for topic, expected in (
            ('/dynamics/gravity', gravity),
            ('/dynamics/coriolis', coriolis),
            ('/wrench_estimator/external_torque', gravity + coriolis - tau),
        ):
            found = np.array(self._listener.latest[topic].effort)
            if not np.allclose(found, expected, rtol=1e-9, atol=1e-9):
                self._violations.note('wrong torques', f'{topic}: {found} instead of {expected}')


def memory(process: int, children: bool = True) -> float:
    """Return the memory of a process, by default with that of those it started [kB]."""
    total = int(Path(f'/proc/{process}/statm').read_text().split()[1]) * os.sysconf('SC_PAGE_SIZE')
    for task in Path(f'/proc/{process}/task').iterdir() if children else ():
        for child in (task / 'children').read_text().split():
            total += 1e3 * memory(int(child))
    return total / 1e3


def fuzz_services(
    node: Any, driver: Driver, count: int, violations: Violations, alive: Callable[[], bool]
) -> dict[str, str]:
    """Send garbage to each service; return a line for each."""
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from std_srvs.srv import SetBool, Trigger

    services: dict[str, type] = {
        '/wrench_estimator/tare': Trigger, '/wrench_estimator/reset': Trigger,
        '/dynamics/enable': SetBool,
    }  # fmt: skip
    try:
        from screw_dynamics_msgs import srv
    except ImportError as error:
        print(f'typed services are left out: {error}', file=sys.stderr)
        srv = None
    for name, (kind,) in node.get_service_names_and_types():
        if kind.startswith('screw_dynamics_msgs/srv/'):
            services[name] = getattr(srv, kind.rpartition('/')[2])
    executor, asking = SingleThreadedExecutor(), rclpy.create_node('asking')
    executor.add_node(asking)
    lines = {}
    for name, kind in services.items():
        client, results, longest = asking.create_client(kind, name), Counter(), 0.0
        driver.compares = not name.endswith(CHANGES)
        if not client.wait_for_service(PATIENCE):
            violations.note('services that are absent', name)
            continue
        for k in range(count):
            if not alive():
                return lines
            request, start = driver.garbage.request(kind.Request), time.monotonic()
            if hasattr(request, 'timeout') and k % 20:  # most of them short
                request.timeout.sec, request.timeout.nanosec = 0, 1_000_000
            future = client.call_async(request)
            while not future.done() and time.monotonic() < start + 2 * PATIENCE:
                executor.spin_once(timeout_sec=0.05)  # until_future_complete gets slower each time
            longest = max(longest, time.monotonic() - start)
            if not future.done():
                violations.note('requests without answer', f'{name}: {request}')
                break
            response = future.result()
            results['answered' if response.success else 'refused'] += 1
            check_response(name, response, violations)
            if k % 100 == 99:
                driver.good()
        if (
            count >= 100
            and not results['answered']
            and driver.garbage.prototypes.make(kind.Request)
        ):
            violations.note('services that refuse every request', name)
        if not driver.compares:
            restore('bringup', asking, executor, driver.robot.link_names)
            driver.compares = True
        asking.destroy_client(client)
        lines[name] = f'{dict(results)}, longest {longest:.2f} s'
        print(f'{name}: {lines[name]}', file=sys.stderr, flush=True)
    return lines


def restore(name: str, asking: Any, executor: Any, links: Sequence[str]) -> None:
    """Remove all payloads of a node, and give all links the inertia of the description."""
    from screw_dynamics_msgs import srv

    requests = [
        (srv.ClearPayload, f'/{name}/clear_payload', srv.ClearPayload.Request()),
        *(
            (srv.SetLinkInertia, f'/{name}/set_link_inertia', request)
            for request in (srv.SetLinkInertia.Request(link=link, reset=True) for link in links)
        ),
    ]
    for kind, service, request in requests:
        client = asking.create_client(kind, service)
        client.wait_for_service(PATIENCE)
        executor.spin_until_future_complete(client.call_async(request), PATIENCE)
        asking.destroy_client(client)


def check_response(name: str, response: Any, violations: Violations) -> None:
    """Check that a refusal has a reason, and an answer finite numbers."""
    if not response.message.isprintable() or len(response.message) > 5000:
        violations.note('messages of services that are too long or not printable', name)
    if 'Error:' in response.message:
        violations.note('exceptions as answers', f'{name}: {response.message}')
    if not response.success:
        if not response.message:
            violations.note('refusals without a reason', name)
        return
    for field in ('speed_factor', 'mass'):  # infinity and NaN have a meaning there
        if hasattr(response, field):
            setattr(response, field, 0.0)
    if not np.isfinite(np.array(list(numbers_of(response)))).all():
        violations.note('answers that are not finite', f'{name}: {response}'[:300])


def main() -> int:
    """Run, print a table, return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--states', type=int, default=100_000, metavar='N')
    parser.add_argument('--services', type=int, default=0, metavar='N', help='requests to each')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--patience', type=float, default=1.0, help='times are longer by this')
    arguments = parser.parse_args()
    from screw_dynamics_ros.ros.process.children import Children, free_domain

    os.environ.setdefault('ROS_DOMAIN_ID', str(free_domain()))
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    os.environ['PYTHONPATH'] = os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')])
    import rclpy

    parameters = {**PARAMETERS, 'max_delay': PARAMETERS['max_delay'] * arguments.patience}
    options = [text for name, value in parameters.items() for text in ('-p', f'{name}:={value}')]
    with Children() as children:
        children.start('bringup', 'screw_dynamics_ros', ['bringup', '--ros-args', *options])
        rclpy.init()
        try:
            return fuzz(children, arguments)
        finally:
            print('\n'.join(children.output('bringup')), file=sys.stderr)


def fuzz(children: Any, arguments: argparse.Namespace) -> int:
    """Do all of it."""
    import rclpy

    violations, node = Violations(), rclpy.create_node('fuzzer')
    publish_description(node)
    process = children.pids()['bringup']

    def alive() -> bool:
        try:
            children.check()
        except Exception as error:
            violations.note('ends of the process', str(error))
            return False
        return True

    listener = Listener(node, violations, arguments.patience)
    driver = Driver(node, listener, violations, arguments.seed, arguments.patience)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and not (
        driver.good(repeat=True) and listener.messages.keys() >= listener.awaited
    ):
        pass
    driver.delays.clear()
    violations.clear()  # processes that start are slow
    sizes, bursts, start = [], max(1, arguments.states // BURST), time.monotonic()
    for k in range(bursts):
        driver.burst(BURST)
        if not alive():
            break
        driver.good()
        sizes.append(memory(process))
        if k % 100 == 99:
            print(
                f'{(k + 1) * BURST} states, {sizes[-1] / 1e3:.1f} MB, {dict(violations.counts)}',
                file=sys.stderr,
                flush=True,
            )
    seconds, answered, lines = time.monotonic() - start, len(driver.delays), {}
    if arguments.services and alive():
        lines = fuzz_services(node, driver, arguments.services, violations, alive)
    growth = sizes[-1] - sizes[len(sizes) // 10] if sizes else 0.0
    if growth > GROWTH:
        violations.note('growth of memory', f'{growth / 1e3:.1f} MB')
    report(driver, listener, violations, sizes, growth, seconds, answered, lines)
    return 1 if violations.counts else 0


def report(
    driver: Driver,
    listener: Listener,
    violations: Violations,
    sizes: list[float],
    growth: float,
    seconds: float,
    answered: int,
    services: dict[str, str],
) -> None:
    """Print the table."""
    delays = np.array(driver.delays or [np.nan]) * 1e3
    rows = {
        'bad states': f'{sum(driver.kinds.values())} in {seconds:.0f} s: '
        + ', '.join(f'{count} {kind}' for kind, count in driver.kinds.most_common()),
        'good states answered': f'{answered} of {len(sizes)} after bursts, median '
        f'{np.median(delays):.1f} ms, longest {delays.max():.0f} ms',
        'outputs looked at': f'{sum(listener.messages.values())} on '
        f'{len(listener.messages)} topics',
        'memory': f'{sizes[-1] / 1e3:.1f} MB at the end, {growth / 1e3:+.1f} MB since a tenth'
        if sizes else 'unknown',
        **services,
    }  # fmt: skip
    width = max(map(len, rows))
    for name, text in rows.items():
        print(f'{name:{width}}  {text}')
    print('violations:' if violations.counts else 'no violations')
    for kind, count in violations.counts.most_common():
        print(f'    {count} {kind}; the first: {violations.first[kind]}')


if __name__ == '__main__':
    status = main()
    sys.stdout.flush()
    os._exit(status)  # what the middleware does at the end is of no interest
