# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Everything that can happen to a controller's torques, a thousand times, over DDS.

A driver (the simulator, Panda at 500 Hz), `bringup` with the node `dynamics`, and a client that
records joint states and commands with the times at which the middleware sent them. One trial is
one event: the driver stopped or killed, the node stopped, another description, another payload, a
reference that is lost, the node ended or killed. `command_checks` says what must hold for each
command; random times and lengths come from a fixed seed.

    python test/endurance/command_trials.py --trials 1000 --lanes 2 \
        --picture doc/pictures/command_trials.png

Results go to results/command_trials.json; the exit status is 1 after a violation.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from command_checks import Facts, check, efforts_of, summary
from command_client import PATIENCE, RESULTS, ROOT, Client, Instance, wait

ACTIONS = ('hold', 'gravity', 'ramp_to_zero', 'stop')
PAYLOAD = {'payload_link': 'panda_hand_tcp', 'payload_mass': 3.0}
AMPLITUDE, FREQUENCY = 0.3, 0.2  # rad, Hz of the reference
#: Where the arm moves about: gravity acts on most joints.
BENT = {
    'initial_joints': [f'panda_joint{k}' for k in range(1, 8)],
    'initial_positions': [0.0, 0.0, 0.0, -1.57, 0.0, 1.87, 0.0],
}
UNDESCRIBED = ['-r', 'robot_description:=/unused']  # descriptions come from the trials only

# Those that end the node come last: a new one replaces it.
LASTING = ('driver stopped', 'driver killed', 'node stopped', 'description', 'payload', 'reference')
ENDING = ('SIGINT', 'SIGTERM', 'SIGKILL')
KINDS = LASTING + ENDING
SHARES = {'SIGINT': 1 / 16, 'SIGTERM': 1 / 16}  # of the trials; 1/8 for the others


class Lane:
    """Trials one after the other, in a domain of their own."""

    def __init__(self, seed: int, trials: int) -> None:
        self.rng = np.random.default_rng(seed)
        kinds = [kind for kind in KINDS for _ in range(round(trials * SHARES.get(kind, 1 / 8)))]
        self.rng.shuffle(kinds)
        self.lasting = [kind for kind in kinds if kind in LASTING]
        self.ending = [kind for kind in kinds if kind in ENDING]
        self.client = Client()
        from screw_dynamics_ros.core import Robot

        urdf = (ROOT / 'urdf' / 'panda.urdf').read_text()
        heavier = re.sub(
            '<mass value="([^"]*)"', lambda mass: f'<mass value="{1.3 * float(mass[1]):.9g}"', urdf
        )
        self.descriptions = [urdf, heavier]
        self.masses = [f'{Robot.from_urdf(text).total_mass:.6g}' for text in self.descriptions]
        self.heavy = 0
        self.describe(urdf)
        self.number = 0
        self.driver = self.client.start('simulator', BENT, UNDESCRIBED)
        self.reference_start: float | None = None
        self.trials: list[Facts] = []
        self.pictures: dict[str, dict[str, Any]] = {}

    # --- while something happens ----------------------------------------------------------------

    def pump(self) -> None:
        """Take what has come; keep the reference going."""
        self.client.take_states()
        self.instance.take()
        self.client.executor.spin_once(timeout_sec=0.0)
        if self.reference_start is not None:
            self.publish_reference(time.monotonic() - self.reference_start)
        time.sleep(0.005)

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.pump()

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait for something."""
        end = time.monotonic() + PATIENCE
        while not condition():
            wait(self.pump, end, f'{what} ({self.instance.name})')

    def until_followed(self) -> None:
        """Wait until joint states are answered again, not with zero."""
        begin = time.time_ns()

        def follows() -> bool:
            if not self.instance.is_new_effort:
                return False
            stamp, _, data = self.instance.efforts[-1]
            return self.client.sent.get(stamp, 0) > begin and bool(
                np.frombuffer(efforts_of(data)).any()
            )

        self.until(follows, 'answered joint states')

    def publish_reference(self, t: float) -> None:
        """Send the first point of a slow motion far from the measured one."""
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        w = 2 * np.pi * FREQUENCY
        q, v, a = (
            AMPLITUDE * np.sin(w * t),
            AMPLITUDE * w * np.cos(w * t),
            -AMPLITUDE * w * w * np.sin(w * t),
        )
        self.references.publish(
            JointTrajectory(
                joint_names=['panda_joint2', 'panda_joint4'],
                points=[
                    JointTrajectoryPoint(
                        positions=[1.0 + q, -0.8 + q], velocities=[v, v], accelerations=[a, a]
                    )
                ],
            )
        )

    def set(self, node: str, **values: Any) -> None:
        """Set parameters of the instance at once."""
        from rcl_interfaces.srv import SetParametersAtomically
        from rclpy.parameter import Parameter

        request = SetParametersAtomically.Request(
            parameters=[
                Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
            ]
        )
        answer = self.client.call(
            SetParametersAtomically,
            f'/{self.instance.name}/{node}/set_parameters_atomically',
            request,
            self.pump,
        )
        if not answer.result.successful:
            raise RuntimeError(f'{values}: {answer.result.reason}')

    def enable(self, wanted: bool) -> None:
        """Enable or disable the torques."""
        from std_srvs.srv import SetBool

        answer = self.client.call(
            SetBool,
            f'/{self.instance.name}/dynamics/enable',
            SetBool.Request(data=wanted),
            self.pump,
        )
        if not answer.success:
            raise RuntimeError(answer.message)

    def describe(self, text: str) -> None:
        """Offer a description."""
        from std_msgs.msg import String

        self.client.descriptions.publish(String(data=text))

    # --- trials ---------------------------------------------------------------------------------

    def all(self) -> None:
        """Do them."""
        following = self.spawn()
        per_instance = max(1, round(len(self.lasting) / max(1, len(self.ending))))
        while self.lasting or self.ending:
            self.instance = following
            following = self.spawn()
            self.begin_instance()
            kinds = [self.lasting.pop() for _ in range(min(per_instance, len(self.lasting)))]
            kinds.append(self.ending.pop() if self.ending else 'SIGTERM')
            for kind in kinds:
                self.trial(kind)
                if time.time() - self.reported > 20.0:
                    self.report()
            self.instance.process.wait(PATIENCE)
            self.trials += check(self.instance, self.client.sent, self.pictures)
            self.client.sent.clear()
            self.instance.forget()
        self.report()
        following.process.kill()
        self.driver.kill()

    reported = 0.0

    def report(self) -> None:
        """Say how far it is."""
        self.reported = time.time()
        faults = [fault for facts in self.trials for fault in facts.violations]
        print(
            f'{os.environ["ROS_DOMAIN_ID"]}: {len(self.trials)} trials, {len(faults)} violations',
            *faults[-3:],
            sep='\n  ',
            flush=True,
        )

    def spawn(self) -> Instance:
        """Start the next node already: it is ready when its turn comes, and silent until then."""
        self.number += 1
        return Instance(self.client, f'n{self.number}', self.rng)

    def begin_instance(self) -> None:
        """Listen to the next node, and have it enabled."""
        from trajectory_msgs.msg import JointTrajectory

        instance = self.instance
        self.references = self.client.node.create_publisher(
            JointTrajectory, f'/{instance.name}/dynamics/reference', 1
        )
        instance.listen()
        self.until(lambda: self.references.get_subscription_count(), 'the node')
        if not instance.is_enabled_at_start:
            self.run(0.2)
            instance.enabled_at = time.time_ns()
            self.enable(True)
        self.until_followed()

    def trial(self, kind: str) -> None:
        """Do one trial."""
        facts = Facts(
            kind,
            time.time_ns(),
            on_loss=str(self.rng.choice(ACTIONS)),
            on_end=str(self.rng.choice(ACTIONS)),
        )
        self.instance.facts.append(facts)
        self.set('dynamics', on_loss=facts.on_loss, on_end=facts.on_end)
        self.run(self.rng.uniform(0.1, 0.4))
        facts.event = time.time_ns()
        if kind in ENDING:
            self.end(kind, facts)
        else:
            getattr(self, kind.replace(' ', '_'))(facts)
        self.run(self.rng.uniform(0.1, 0.2))
        facts.end = time.time_ns()

    def driver_stopped(self, facts: Facts) -> None:
        self.driver.send_signal(signal.SIGSTOP)
        self.run(self.rng.uniform(0.2, 1.0))
        facts.over = time.time_ns()
        self.driver.send_signal(signal.SIGCONT)
        self.until_followed()

    def driver_killed(self, facts: Facts) -> None:
        self.driver.kill()
        self.driver.wait()
        self.run(self.rng.uniform(0.0, 0.5))
        facts.over = time.time_ns()
        self.driver = self.client.start('simulator', BENT, UNDESCRIBED)
        self.until_followed()

    def node_stopped(self, facts: Facts) -> None:
        missed = self.instance.missed
        self.instance.process.send_signal(signal.SIGSTOP)
        self.run(0.9)
        facts.over = time.time_ns()
        self.instance.process.send_signal(signal.SIGCONT)
        self.until_followed()
        facts.deadline_missed = self.instance.missed > missed  # it may be reported a little later

    def description(self, facts: Facts) -> None:
        """Adopt another description of the same joints, or refuse one, while moving."""
        is_refused = bool(self.rng.integers(2))
        action = str(self.rng.choice(['continue', *ACTIONS]))
        if is_refused:
            facts.detail = 'refused, ' + action
            self.set('dynamics', on_refused_description=action)
            self.describe('<robot name="bad"><link name="a"/><link name="b"/></robot>')
        else:
            facts.detail = 'new, ' + action
            self.set('dynamics', on_new_description=action)
            self.heavy = 1 - self.heavy
            self.describe(self.descriptions[self.heavy])
        self.until_active(is_refused)
        facts.taken_off = '' if action == 'continue' else action
        self.run(0.8)  # actions are carried out meanwhile
        if is_refused:
            self.describe(self.descriptions[self.heavy])
        elif action != 'continue':
            self.enable(True)
        self.until_followed()
        facts.over = time.time_ns()
        self.set('dynamics', on_refused_description='continue', on_new_description='continue')

    def until_active(self, is_refused: bool) -> None:
        """Wait until a description is adopted or refused, by /diagnostics."""
        from diagnostic_msgs.msg import DiagnosticArray

        said: list[tuple[bool, str]] = []  # whether refused, and the mass
        name = f'{self.instance.name}/bringup: robot description'

        def note(message: Any) -> None:
            said.extend(
                (status.level[0] == 2, value.value)
                for status in message.status
                for value in status.values
                if status.name == name and value.key == 'total mass [kg]'
            )

        subscription = self.client.node.create_subscription(
            DiagnosticArray, '/diagnostics', note, 9
        )
        self.until(lambda: (is_refused, self.masses[self.heavy]) in said, 'the description')
        self.client.node.destroy_subscription(subscription)

    def payload(self, facts: Facts) -> None:
        """Take a tool and lay it down, at times while the torques are off."""
        if self.rng.random() < 0.25:
            facts.detail, facts.taken_off = 'while disabled', 'ramp_to_zero'
            self.enable(False)
            facts.disabled = time.time_ns()
            self.run(1.0)
            self.set('bringup', **PAYLOAD)
            facts.enabled = time.time_ns()
            self.enable(True)
            self.until_followed()
        else:
            self.set('bringup', **PAYLOAD)
        self.run(self.rng.uniform(0.3, 0.5))
        facts.over = time.time_ns()
        self.set('bringup', payload_link='', payload_mass=0.0)
        self.run(0.4)

    def reference(self, facts: Facts) -> None:
        self.reference_start = time.monotonic()
        self.run(self.rng.uniform(0.3, 0.8))
        self.reference_start = None
        facts.over = time.time_ns()
        self.run(0.7)

    def end(self, kind: str, facts: Facts) -> None:
        """End the node; at times after the driver has stopped."""
        process, missed = self.instance.process, self.instance.missed
        is_driven = kind == 'SIGKILL' or self.rng.random() < 0.75
        if not is_driven:
            facts.detail = 'after the driver has stopped'
            self.driver.send_signal(signal.SIGSTOP)
            self.run(self.rng.uniform(0.0, 0.4))
        facts.event = time.time_ns()
        process.send_signal(getattr(signal, kind))
        end = time.monotonic() + PATIENCE
        while process.poll() is None:
            wait(self.pump, end, 'the end of the node')
        facts.over = time.time_ns()
        facts.exit_status = process.poll()
        self.run(0.5 if kind == 'SIGKILL' else 0.2)
        facts.deadline_missed = self.instance.missed > missed
        if not is_driven:
            self.driver.send_signal(signal.SIGCONT)


def main() -> None:
    """Run the lanes, put their results together."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--trials', type=int, default=1000)
    parser.add_argument('--lanes', type=int, default=2, help='driver, node and client each')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--domain', type=int, help='ROS domain of the first lane')
    parser.add_argument('--picture', type=Path, default=RESULTS / 'command_trials.png')
    parser.add_argument('--lane', type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    if arguments.lane is not None:
        lane = Lane(arguments.seed + arguments.lane, arguments.trials)
        try:
            lane.all()
        finally:
            part(arguments.lane).write_bytes(pickle.dumps((lane.trials, lane.pictures)))
        return
    from screw_dynamics_ros.ros.process.children import end_with_parent, free_domain

    share = -(-arguments.trials // arguments.lanes)
    lanes = []
    for k in range(arguments.lanes):
        part(k).unlink(missing_ok=True)
        domain = (free_domain() if arguments.domain is None else arguments.domain) + k
        environment = {
            **os.environ,
            'ROS_DOMAIN_ID': str(domain),
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
            'PYTHONPATH': os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')]),
        }
        lanes.append(
            subprocess.Popen(
                [
                    sys.executable,
                    __file__,
                    '--lane',
                    str(k),
                    '--trials',
                    str(share),
                    '--seed',
                    str(arguments.seed),
                ],
                env=environment,
                preexec_fn=end_with_parent,
            )
        )
    statuses = [lane.wait() for lane in lanes]
    trials: list[Facts] = []
    pictures: dict[str, dict[str, Any]] = {}
    for k in range(arguments.lanes):
        more, drawn = pickle.loads(part(k).read_bytes())
        trials += more
        for kind, picture in drawn.items():
            if kind not in pictures or picture['is_wanted'] > pictures[kind]['is_wanted']:
                pictures[kind] = picture
    table = summary(trials, KINDS)
    print(table['text'])
    (RESULTS / 'command_trials.json').write_text(json.dumps(table, indent=1))
    try:
        from command_picture import draw

        if pictures:  # none if no trial was completed
            draw(pictures, [kind for kind in KINDS if kind in pictures], arguments.picture)
    except ImportError as error:
        print(f'no picture: {error}', file=sys.stderr)
    sys.exit(1 if any(statuses) or any(facts.violations for facts in trials) else 0)


def part(lane: int) -> Path:
    """Return where a lane leaves its results."""
    return RESULTS / f'command_trials_{lane}.pickle'


if __name__ == '__main__':
    main()
