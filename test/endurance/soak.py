# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A soak of `bringup`: `python test/endurance/soak.py [--minutes 30] [--starts 200]`.

Subscribers of every durability and reliability come and go, some in processes that are killed,
while frames, descriptions and parameters change and services are asked. Nothing may die, nothing
may show as a fault on /diagnostics or as a traceback in the log, and again and again the outputs
must be those of the latest description. A death is reported with the actions before it, and the
soak goes on with a new process. Afterwards `bringup` is started and ended by signals at random.

Prints a table, writes results/soak.json, and ends with status 1 if anything died or was at fault.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from soak_actions import (  # noqa: E402
    DESCRIPTIONS,
    GOOD,
    WEIGHTS,
    Actions,
    Subscribers,
    joint_names,
    position,
)
from soak_watch import HERE, Series, Watched  # noqa: E402

RATE = 200  # Hz of the driver
PACE = 0.02  # s between two actions
WATCH = 5.0  # s between two looks at what is used
CHECK = 120.0  # s between two times that outputs are compared
LISTENER = (8.0, 20.0)  # s that a process with subscribers lives
SILENCE = (30.0, 300.0)  # s of the processor's time or of ours without /diagnostics: a death
MAX_DELAY = 0.5  # s; on a busy machine nothing would be answered with the default
PATIENCE = 120.0  # s to start, or to compile and answer, on a busy machine
WARM_UP = 300.0  # s that do not count for slopes, or half of the time
GRAVITY = [1.0, 2.0, -9.0]  # m/s^2 while outputs are compared: nonzero for each robot


class Soak:
    """One DDS domain with `bringup`, a driver, and everything that happens to them."""

    def __init__(self, arguments: argparse.Namespace, folder: Path, executor: str) -> None:
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray
        from rclpy.executors import SingleThreadedExecutor

        self._arguments, self._folder, self._executor = arguments, folder, executor
        self.rng = random.Random(f'{arguments.seed} {executor}')
        self.deaths: list[dict[str, Any]] = []
        self.findings: dict[str, str] = {}
        self._reason = ''  # why the last parameter was refused
        self.checks, self._number, self.counts = 0, 0, Counter[str]()
        self.series: list[Series] = []
        rclpy.init()
        self.node = rclpy.create_node('soak')
        self._unspun = rclpy.create_node('soak_unspun', start_parameter_services=False)
        self._executor_here = SingleThreadedExecutor()
        self._executor_here.add_node(self.node)
        # A participant of its own: others here subscribe to the same topics with other types.
        context = rclpy.Context()
        rclpy.init(context=context)
        self._comparing = rclpy.create_node('soak_comparing', context=context)
        self._executor_comparing = SingleThreadedExecutor(context=context)
        self._executor_comparing.add_node(self._comparing)
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 50)
        self.actions = Actions(self.node, self._unspun, self.rng, arguments.only)
        self._heard_before = self._used_before = 0.0
        self._heard, self._defaults = time.monotonic(), dict[str, dict[str, Any]]()
        self.driver = self._python('driver', ['drive', str(arguments.rate)])
        self._listener: Watched | None = None
        self._listener_ends = 0.0

    def _python(self, name: str, arguments: list[str]) -> Watched:
        return Watched(
            [str(HERE / 'soak_actions.py'), *arguments],
            self._folder / f'{name}.log',
            self._arguments.package,
        )

    def start(self, executor: str | None = None) -> Watched:
        """Start `bringup`."""
        self._number += 1
        self._heard = time.monotonic()
        return Watched(
            [
                '-m',
                'screw_dynamics_ros',
                'bringup',
                '--ros-args',
                '-p',
                f'executor:={executor or self._executor}',
                '-p',
                f'max_delay:={MAX_DELAY}',
            ],
            self._folder / f'bringup_{self._number}.log',
            self._arguments.package,
        )

    def spin(self, seconds: float) -> None:
        """Handle what comes."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._executor_here.spin_once(timeout_sec=left)

    def wait(self, condition: Any, seconds: float = PATIENCE) -> Any:
        """Handle what comes until a condition holds; return whether it does."""
        end = time.monotonic() + seconds
        while not (value := condition()) and time.monotonic() < end:
            self.spin(0.05)
        return value

    def find(self, what: str, details: str) -> None:
        """Note something that should not be, once."""
        if what not in self.findings:
            self.findings[what] = details
            print(f'FINDING: {what}\n    {details}', flush=True)

    def _on_diagnostics(self, message: Any) -> None:
        for status in message.status:
            values = {item.key: item.value for item in status.values}
            if status.name.startswith('bringup: '):
                self._heard = time.monotonic()
            if status.name.endswith(': faults'):
                for what, text in values.items():
                    self.find(f'fault: {what}', text)
            if 'processes that died' in values:
                self.find(f'{status.name}: processes that died', status.message)
            if status.message.startswith('no status'):
                self.find(f'{status.name}: no status', status.message)

    # --- a soak ---------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Let everything happen for some time."""
        bringup = self.begin()
        begin = time.monotonic()
        next_watch, next_check = begin, begin + CHECK
        while (now := time.monotonic()) < begin + seconds:
            self.actions.act()
            self.spin(self.rng.uniform(0.0, 2 * PACE))
            self._renew_listener()
            if bringup.process.poll() is not None or self._is_silent(bringup):
                bringup = self._after_death(bringup, now - begin)
                continue
            if now > next_watch:
                next_watch = now + WATCH
                self.series[-1].add(bringup.usage())
                self._read_log(bringup)
            if now > next_check:
                next_check = now + CHECK
                self.check(bringup)
        self.check(bringup)
        self._finish(bringup)

    def begin(self) -> Watched:
        """Start `bringup` and wait until it answers joint states."""
        bringup = self.start()
        self.series.append(Series())
        self.actions.describe(self.actions.description)
        self._mark = dict(self.actions.counts)
        if not self.wait(lambda: 'ready: ' in bringup.text or bringup.process.poll() is not None):
            self.find('start', f'no robot within {PATIENCE:g} s: {bringup.text[-2000:]}')
        if not self._defaults:
            self._defaults = self._present()
        return bringup

    def _is_silent(self, bringup: Watched) -> bool:
        """Whether nothing is heard although it had time: the machine may be busy with others."""
        used, waited = SILENCE
        if self._heard != self._heard_before:
            self._heard_before, self._used_before = self._heard, bringup.used()
        silent = time.monotonic() - self._heard
        return silent > waited or (silent > used and bringup.used() - self._used_before > used)

    def _after_death(self, bringup: Watched, when: float) -> Watched:
        """Note how it died and start it again."""
        status = bringup.process.poll()
        if status is None:
            bringup.abort()
        changes = {
            name: self.actions.counts[name] - self._mark.get(name, 0)
            for name in ('frames', 'subscriber', 'good_description', 'parameter')
        }
        death = {
            'after': round(when, 1),
            'status': status if status is not None else 'silent',
            'since its start': changes,
            'robots adopted': bringup.text.count('ready: '),
            'actions': list(self.actions.last),
            'log': bringup.text[-4000:],
        }
        self.deaths.append(death)
        print(
            f'DEATH {len(self.deaths)} after {when:.0f} s: {death["status"]}, {changes}',
            *(f'    {line}' for line in [*death['actions'], *death['log'].splitlines()[-40:]]),
            sep='\n',
            flush=True,
        )
        self.counts['robots adopted'] += bringup.text.count('ready: ')
        bringup.orphans()
        return self.begin()

    def _read_log(self, bringup: Watched) -> None:
        for text in bringup.news():
            self.find(f'log: {text.splitlines()[0][-150:]}', text)

    def _finish(self, bringup: Watched) -> None:
        """End everything; it must end in order."""
        self._read_log(bringup)
        self.counts['robots adopted'] += bringup.text.count('ready: ')
        status = bringup.end()
        if status != 0:
            self.find('end', f'exit status {status}: {bringup.text[-3000:]}')
        self._read_log(bringup)
        if orphans := bringup.orphans():
            self.find('orphans', str(orphans))

    def close(self) -> None:
        """End what is left."""
        import rclpy

        for each in (self.driver, self._listener):
            if each is not None:
                each.process.kill()
                each.process.wait()
        self._executor_here.shutdown()
        self._executor_comparing.shutdown()
        self._comparing.context.try_shutdown()
        rclpy.shutdown()

    def _renew_listener(self) -> None:
        """Kill the process with subscribers now and then, and start another one."""
        now = time.monotonic()
        if now < self._listener_ends:
            return
        if self._listener is not None:
            self._listener.process.kill()
            self._listener.process.wait()
            self.counts['listeners killed'] += 1
        self._listener = self._python('listener', ['listen', str(self.counts['listeners killed'])])
        self._listener_ends = now + self.rng.uniform(*LISTENER)

    # --- outputs --------------------------------------------------------------------------------

    def _present(self) -> dict[str, dict[str, Any]]:
        """Return the parameters that are changed, as they are now."""
        from rcl_interfaces.srv import GetParameters
        from rclpy.parameter import parameter_value_to_python

        found: dict[str, dict[str, Any]] = {}
        for node, values in GOOD.items():
            names = [*values, *(['frames'] if node in ('kinematics', 'wrench_estimator') else [])]
            client = self.node.create_client(GetParameters, f'/{node}/get_parameters')
            client.wait_for_service(PATIENCE)
            for name in names:  # one by one: another version may lack some
                future = client.call_async(GetParameters.Request(names=[name]))
                self.wait(future.done)
                answer = future.result()
                if answer is not None and answer.values and answer.values[0].type:
                    value = parameter_value_to_python(answer.values[0])
                    found.setdefault(node, {})[name] = (
                        value if isinstance(value, (bool, int, float, str)) else list(value)
                    )
        return found

    def check(self, bringup: Watched) -> None:
        """Set all parameters back; the torques must be those of a description that comes now."""
        self.checks += 1
        name = self.rng.choice(list(DESCRIPTIONS))
        link = {'planar': 'tip'}.get(name, 'panda_link4')
        begin = time.monotonic()
        for node in ('kinematics', 'wrench_estimator', 'dynamics', 'bringup'):
            values = dict(self._defaults.get(node, {}))
            if node == 'bringup':
                values |= {'gravity': GRAVITY, 'max_delay': MAX_DELAY}
            self._set_for_sure(node, values)
        self.actions.describe(name)
        is_right = self.wait(lambda: self._frames_set(link) or bringup.process.poll() is not None)
        is_right = is_right and self._compare(name, link, bringup)
        self.counts['seconds to the outputs of a check'] = max(
            self.counts['seconds to the outputs of a check'], round(time.monotonic() - begin)
        )
        if bringup.process.poll() is None and not is_right:
            self.find(
                f'outputs of {name}',
                f'did not come within {PATIENCE:g} s; log:\n'
                + bringup.text[-3000:]
                + '\n'.join(self.actions.last),
            )

    def _set_for_sure(self, node: str, values: dict[str, Any]) -> None:
        """Set parameters one by one until they are accepted; some wait for others or for robots."""
        left, end = dict(values), time.monotonic() + PATIENCE / 4
        while left and time.monotonic() < end:
            for name, value in list(left.items()):
                if self._is_set(node, {name: value}):
                    del left[name]
        for name, value in left.items():
            self.counts['parameters not set back'] += 1
            text = f'not set back: {node} {name} {value}: {self._reason}'
            self.actions.last.append(text)
            print(text, flush=True)

    def _is_set(self, node: str, values: dict[str, Any]) -> bool:
        future = self.actions.set(node, values)
        if future is None or not self.wait(future.done, 10.0):
            self._reason = 'no answer'
            self.spin(0.1)
            return False
        (result,) = future.result().results
        self._reason = result.reason
        return result.successful

    def _frames_set(self, link: str) -> bool:
        return self._is_set('kinematics', {'frames': [link]})

    def _compare(self, name: str, link: str, bringup: Watched) -> bool:
        """Wait for gravity torques of a description, and for the twist of a link."""
        from geometry_msgs.msg import TwistStamped
        from sensor_msgs.msg import JointState

        from screw_dynamics_ros.core import Robot

        robot = Robot.from_urdf(DESCRIPTIONS[name], gravity=np.array(GRAVITY), backend='reference')
        names, found, node = joint_names(), {'torques': 0, 'twists': 0}, self._comparing

        def on_torques(message: Any) -> None:
            if tuple(message.name) != tuple(robot.joint_names):
                return
            stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
            q = dict(zip(names, position(len(names), stamp)))
            expected = robot.gravity_torques(np.array([q[joint] for joint in message.name]))
            found['torques'] += np.allclose(message.effort, expected, rtol=1e-5, atol=1e-5)

        def on_twist(message: Any) -> None:
            found['twists'] += 1

        subscriptions = [
            node.create_subscription(JointState, '/dynamics/gravity', on_torques, 10),
            node.create_subscription(TwistStamped, f'/kinematics/twist/{link}', on_twist, 10),
        ]

        def is_over() -> bool:
            self._executor_comparing.spin_once(timeout_sec=0.0)
            return min(found.values()) > 5 or bringup.process.poll() is not None

        try:
            self.wait(is_over)
            return min(found.values()) > 5
        finally:
            for subscription in subscriptions:
                node.destroy_subscription(subscription)

    # --- starts and ends ------------------------------------------------------------------------

    def start_and_end(self, index: int) -> None:
        """Start `bringup`, change something, end it by a signal at a random moment.

        Every other time while it starts, counted from when it heeds signals: before that Python
        itself is starting.
        """
        rng = self.rng
        executor, number = (
            rng.choice(['auto', 'single']),
            rng.choice([signal.SIGINT, signal.SIGTERM]),
        )
        self.actions.describe('panda')
        is_early, moment = index % 2 == 1, rng.uniform(0.05, 2.0)
        bringup = self.start(executor)
        is_up = bringup.heeds_signals if is_early else (lambda: 'ready: ' in bringup.text)
        up = self.wait(lambda: is_up() or bringup.process.poll() is not None)
        end = time.monotonic() + moment
        while time.monotonic() < end and bringup.process.poll() is None:
            self.actions.act()
            self.spin(min(PACE, max(0.0, end - time.monotonic())))
        early_end = bringup.process.poll()
        begin = time.monotonic()
        status = bringup.end(number)
        took = time.monotonic() - begin
        signs, orphans = bringup.news(), bringup.orphans()
        self.counts['starts and ends'] += 1
        self.counts['ended while starting'] += 'ready: ' not in bringup.text
        self.counts['longest end [s]'] = max(self.counts['longest end [s]'], round(took))
        what = f'{"early" if is_early else "late"} {number.name} after {moment:.2f} s, {executor}'
        if early_end is not None or status != 0 or not up or signs or orphans:
            self.deaths.append(
                {
                    'start': index,
                    'how': what,
                    'status': status,
                    'before the signal': early_end,
                    'orphans': orphans,
                    'actions': list(self.actions.last),
                    'log': bringup.text[-4000:],
                }
            )
            print(
                f'DEATH start {index}, {what}: {"" if up else "not ready, "}status {status}, '
                f'before the signal {early_end}, orphans {orphans}\n{bringup.text[-3000:]}',
                flush=True,
            )


def soak(arguments: argparse.Namespace, folder: Path, executor: str, minutes: float) -> Any:
    """Run one phase of a soak; return its result."""
    run = Soak(arguments, folder, executor)
    try:
        run.run(60.0 * minutes)
        return result(
            run,
            {
                'minutes': minutes,
                'checks': run.checks,
                'usage': [series.summary(WARM_UP) for series in run.series],
            },
        )
    finally:
        run.close()


def starts(arguments: argparse.Namespace, folder: Path) -> Any:
    """Start and end; return the result."""
    run = Soak(arguments, folder, 'starts')
    others = Subscribers(run.node, run.rng)  # that stay, latched ones among them
    try:
        for index in range(arguments.starts):
            others.change()
            run.start_and_end(index)
            if index % 20 == 19:
                print(f'{index + 1} starts, {len(run.deaths)} deaths', flush=True)
        return result(run, {})
    finally:
        run.close()


def result(run: Soak, more: dict[str, Any]) -> dict[str, Any]:
    """Return what a phase has found."""
    return {
        'deaths': run.deaths,
        'findings': run.findings,
        **more,
        'counts': {**run.actions.counts, **run.counts},
    }


def table(results: dict[str, Any]) -> str:
    """Return what matters of the results."""
    lines = []
    for phase, found in results.items():
        lines += [
            phase,
            f'    deaths {len(found["deaths"])}, findings {len(found["findings"])}',
            *(f'    {what}' for what in found['findings']),
            '    ' + ', '.join(f'{name} {count}' for name, count in found['counts'].items()),
        ]
        for usage in found.get('usage', ()):
            lines += [
                f'    {name:18} first {each["first"]:8.1f}  last {each["last"]:8.1f}  '
                f'most {each["most"]:8.1f}  slope {each["slope"]:+.3f} a minute'
                for name, each in usage.items()
            ]
    return '\n'.join(lines)


def main() -> int:
    """Run the soak; return the exit status."""
    from screw_dynamics_ros.ros.process.children import free_domain

    parser = argparse.ArgumentParser(description='A soak of bringup.')
    parser.add_argument('--minutes', type=float, default=30.0, help='with the events executor')
    parser.add_argument('--single-minutes', type=float, default=5.0, help='with the other one')
    parser.add_argument('--starts', type=int, default=200, help='how often bringup is started')
    parser.add_argument(
        '--only',
        choices=WEIGHTS,
        action='append',
        default=[],
        help='take only this action (repeatable), to narrow a death down',
    )
    parser.add_argument('--rate', type=int, default=RATE, help='of the joint states [Hz]')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--domain', type=int, help='ROS_DOMAIN_ID; a free one by default')
    parser.add_argument('--package', type=Path, default=ROOT, help='folder of the package to soak')
    parser.add_argument(
        '--results',
        type=Path,
        default=ROOT / 'results' / 'soak.json',
        help='file that is written; other phases in it are kept',
    )
    arguments = parser.parse_args()
    os.environ.update(
        {
            'ROS_DOMAIN_ID': str(arguments.domain or free_domain()),
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        }
    )
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix='screw_dynamics_soak_') as name:
        os.environ['SCREW_DYNAMICS_CACHE'] = name
        if arguments.minutes:
            results['events executor'] = soak(arguments, Path(name), 'auto', arguments.minutes)
        if arguments.single_minutes:
            results['single-threaded executor'] = soak(
                arguments, Path(name), 'single', arguments.single_minutes
            )
        if arguments.starts:
            results['starts and ends'] = starts(arguments, Path(name))
    path = arguments.results
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**kept, **results}, indent=1))
    print(table(results))
    return int(any(found['deaths'] or found['findings'] for found in results.values()))


if __name__ == '__main__':
    sys.exit(main())
