# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tracking errors of a simulated arm with and without efforts of `trajectory_proxy`, over DDS.

    PYTHONPATH=. .venv/bin/python benchmarks/feedforward.py [--results DIR]

A Panda in the simulator, in lock step, moved by efforts of a controller with low gains; goals come
from an action client directly or through the proxy. Writes the picture and
the tables of doc/how_to/feedforward.md (with --results: the picture there, and nothing else).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
import yaml
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from std_srvs.srv import SetBool
from trajectory_controller import TrajectoryController

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from screw_dynamics_ros.core.motion.trajectory.joint_path import completed_path, refined
from screw_dynamics_ros.ros.messages.trajectories import trajectory_points
from screw_dynamics_ros.ros.process.children import Children, free_domain

Array = np.ndarray

ROOT = Path(__file__).resolve().parents[1]
URDF = ROOT / 'urdf' / 'panda.urdf'
PAGE = ROOT / 'doc' / 'how_to' / 'feedforward.md'

RATE = 500.0  # Hz
FREQUENCY, DAMPING_RATIO = 12.0, 0.7  # rad/s; of each joint while the others stand still
HOLD = 1.5  # s at the start before a motion
HEAVIER = 1.1  # masses and inertias of the other robot, times those of the model
START = np.array([0.0, 0.9, 0.0, -1.0, 0.0, 1.9, 0.8, 0.02])
TURN = START + np.array([0.4, -0.6, 0.2, -0.6, 0.3, 0.3, 0.3, 0.0])
SLOW, FAST = 2.0, 0.72  # s there and back
FACTOR = 0.8  # of the effort limits, for the fast motion
CONTROLLER = '/controller/follow_joint_trajectory'
PROXY = '/trajectory_proxy/follow_joint_trajectory'
PATIENCE = 60.0  # s


class Trials:
    """Simulator, proxy and controller; use it in a `with` block.

    Parameters
    ----------
    urdf : str
        The robot that is simulated; the proxy believes in that of `URDF`.
    """

    def __init__(self, urdf: str) -> None:
        self._urdf, self._children = urdf, Children()
        self._folder = tempfile.TemporaryDirectory(prefix='feedforward_')
        self.model = Robot.from_urdf(URDF)
        self.inertias = np.diag(self.model.mass_matrix(START))

    def __enter__(self) -> Trials:
        os.environ.update(
            ROS_DOMAIN_ID=str(free_domain()),
            ROS_AUTOMATIC_DISCOVERY_RANGE='LOCALHOST',
            PYTHONPATH=os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')]),
        )
        self._children.__enter__()
        self._start(
            'simulator',
            {
                'robot_description': self._urdf,
                'rate': RATE,
                'clock': 'lock_step',
                'real_time_factor': 0.0,
                'lock_step_timeout': 0.0,
                'initial_joints': list(self.model.joint_names),
                'initial_positions': START.tolist(),
                'paused': True,
            },
        )
        self._start(
            'trajectory_proxy',
            {
                'robot_description': URDF.read_text(),
                'controller_action': CONTROLLER,
                'max_delay': 0.0,
                'use_sim_time': True,
            },
        )
        self._connect()
        return self

    def __exit__(self, *problem: Any) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)
        self._children.__exit__(*problem)
        self._folder.cleanup()

    def _start(self, name: str, parameters: Mapping[str, Any]) -> None:
        path = Path(self._folder.name, f'{name}.yaml')
        path.write_text(yaml.safe_dump({f'/{name}': {'ros__parameters': dict(parameters)}}))
        arguments = [name, '--ros-args', '--params-file', str(path)]
        self._children.start(name, 'screw_dynamics_ros', arguments)

    def _connect(self) -> None:
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self.node = rclpy.create_node('trials', context=self._context, enable_rosout=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._clients = {
            name: ActionClient(self.node, FollowJointTrajectory, name)
            for name in (CONTROLLER, PROXY)
        }
        self.controller = TrajectoryController(
            self.node,
            CONTROLLER,
            self.model.joint_names,
            FREQUENCY**2 * self.inertias,
            2.0 * DAMPING_RATIO * FREQUENCY * self.inertias,
        )
        self._parameters = AsyncParameterClient(self.node, 'trajectory_proxy')
        pause = self.node.create_client(SetBool, '/simulator/pause')
        self.wait(self._clients[PROXY].server_is_ready, 'the proxy')
        self.wait(self._parameters.services_are_ready, 'parameters of the proxy')
        self.wait(pause.service_is_ready, 'the simulator')
        self.wait(lambda: self.node.count_publishers('/joint_states'), 'joint states')
        self.wait(pause.call_async(SetBool.Request(data=False)).done, 'the end of the pause')
        self.wait(lambda: self.controller.states > 0, 'the first joint state')

    def wait(self, condition: Callable[[], Any], what: str) -> None:
        """Handle messages until a condition holds; raises `TimeoutError`."""
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                self._children.check()
                raise TimeoutError(f'waited {PATIENCE} s for {what}')
            self._executor.spin_once(timeout_sec=0.05)

    def run(
        self, duration: float, action: str, *, added: bool = False, **parameters: Any
    ) -> dict[str, Any]:
        """Hold the start, move there and back within a time [s]; return what was recorded.

        `added` says whether the robot adds gravity torques by itself, `parameters` are those of the
        proxy.
        """
        self.controller.added = self.model.gravity_torques if added else None
        values = {'on_excess': 'slow', 'effort_limit_factor': 1.0, 'compensated_terms': ['']}
        changes = [Parameter(name, value=value) for name, value in {**values, **parameters}.items()]
        self.wait(self._parameters.set_parameters(changes).done, 'parameters')
        self._execute(action, [START, START], HOLD)
        text = self._execute(action, [START, TURN, START], duration)
        times, *rows = zip(*self.controller.records)
        wanted, measured, torques = (np.array(row) for row in rows)
        return {
            'text': text,
            'times': np.array(times),
            'errors': wanted - measured,
            'torques': torques,
        }

    def _execute(self, action: str, places: list[Array], duration: float) -> str:
        """Let a goal be executed; return the text of its result."""
        goal = FollowJointTrajectory.Goal()
        time = np.linspace(0.0, duration, len(places))
        rest = np.zeros(len(START))
        path = completed_path(time, np.array(places), None, None, rest)
        # as planners do it: dense, with velocities, without efforts
        times = refined(time, 0.05, 1000)
        q, v, a = path.samples(times)
        goal.trajectory.joint_names = list(self.model.joint_names)
        goal.trajectory.points = trajectory_points(times, q, v, a, np.zeros_like(q))
        for point in goal.trajectory.points:
            point.effort = []
        sent = self._clients[action].send_goal_async(goal)
        self.wait(sent.done, f'{action} to accept')
        result = sent.result().get_result_async()
        self.wait(result.done, f'the end of {action}')
        answer = result.result().result
        if answer.error_code:
            raise RuntimeError(answer.error_string)
        return str(answer.error_string)


def heavier() -> str:
    """Return a robot all of whose masses and inertias are `HEAVIER` times those of the model."""
    description = read_urdf(URDF.read_text())
    links = [
        replace(
            link,
            inertia=None
            if link.inertia is None
            else replace(
                link.inertia,
                mass=HEAVIER * link.inertia.mass,
                matrix=HEAVIER * link.inertia.matrix,
            ),
        )
        for link in description.links
    ]
    return write_urdf(replace(description, links=tuple(links)))


def measured(name: str, run: Mapping[str, Any], limits: Array) -> dict[str, Any]:
    """Return a row of the tables."""
    revolute = run['errors'][:, :7]
    return {
        'trial': name,
        'duration [s]': float(run['times'][-1]) - 0.2,
        'error, RMS [mrad]': 1e3 * float(np.sqrt((revolute**2).mean())),
        'error, largest [mrad]': 1e3 * float(np.abs(revolute).max()),
        'torque, largest part of its limit [%]': 100.0
        * float((np.abs(run['torques']) / limits).max()),
    }


def main() -> None:
    """Run all of it and write what was found."""
    parser = argparse.ArgumentParser(description='Tracking errors with and without feedforward.')
    parser.add_argument(
        '--results', type=Path, help='folder for the picture; the page stays as it is'
    )
    options = parser.parse_args()
    begin = time.monotonic()
    limits = np.asarray(Robot.from_urdf(URDF).limits.effort)
    slow: dict[str, dict[str, Any]] = {}
    with Trials(URDF.read_text()) as trials:
        slow['feedback alone'] = trials.run(SLOW, CONTROLLER)
        slow['robot adds gravity'] = trials.run(SLOW, CONTROLLER, added=True)
        slow['efforts of the proxy'] = trials.run(SLOW, PROXY)
        slow['robot adds gravity, the proxy the rest'] = trials.run(
            SLOW, PROXY, added=True, compensated_terms=['gravity']
        )
        fast = {
            'on_excess: pass': trials.run(FAST, PROXY, on_excess='pass'),
            'on_excess: slow': trials.run(FAST, PROXY, effort_limit_factor=FACTOR),
        }
    with Trials(heavier()) as trials:
        for name, action in (('feedback alone', CONTROLLER), ('efforts of the proxy', PROXY)):
            slow[f'{name}, inertias {HEAVIER:g} times those of the model'] = trials.run(
                SLOW, action
            )
    found = {
        'stiffness [N m/rad, N/m]': (FREQUENCY**2 * trials.inertias).tolist(),
        'tracking': [measured(name, run, limits) for name, run in slow.items()],
        'limits': [measured(name, run, limits) for name, run in fast.items()],
        'reason': fast['on_excess: slow']['text'],
    }
    folder = options.results or ROOT / 'doc'
    folder.mkdir(parents=True, exist_ok=True)
    draw(slow, fast, limits, folder / 'feedforward.png')
    print(table(found))
    print(f'{time.monotonic() - begin:.0f} s')
    if options.results is None:
        sys.path.append(str(ROOT / 'tools'))
        from pages import with_tables

        tables = {'feedforward': lambda *_: f'{table(found)}\n'}
        PAGE.write_text(with_tables(PAGE.read_text(), tables))


# --- tables and picture --------------------------------------------------------------------------


def table(found: Mapping[str, Any]) -> str:
    """Return the tables of the page."""
    parts = []
    for rows in (found['tracking'], found['limits']):
        names = list(rows[0])
        parts.append('| ' + ' | '.join(['', *names[1:]]) + ' |')
        parts.append('|---' * len(names) + '|')
        for row in rows:
            cells = [f'{row[name]:.3g}' for name in names[1:]]
            parts.append('| ' + ' | '.join([row['trial'], *cells]) + ' |')
        parts.append('')
    stiffness = ', '.join(f'{value:.3g}' for value in found['stiffness [N m/rad, N/m]'][:7])
    parts.append(f'Stiffness of the feedback: {stiffness} N m/rad.\n')
    return '\n'.join([*parts, f'Result of the slowed motion: "{found["reason"]}"'])


def draw(
    slow: Mapping[str, Any], fast: Mapping[str, Any], limits: Array, path: Path, joint: int = 1
) -> None:
    """Draw errors of joint 2 in the slow motion, and its torques in the fast one."""
    import matplotlib

    matplotlib.use('Agg')
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout='constrained')
    for name in list(slow)[:4]:
        run = slow[name]
        left.plot(run['times'], 1e3 * run['errors'][:, joint], lw=1.2, label=name)
    left.set(title='there and back in 2 s', xlabel='time [s]', ylabel='error of joint 2 [mrad]')
    for name, run in fast.items():
        right.plot(run['times'], run['torques'][:, joint], lw=1.2, label=name)
    for sign in (-1.0, 1.0):
        right.axhline(sign * limits[joint], color='k', lw=0.8, ls='--')
    right.set(title='too fast', xlabel='time [s]', ylabel='commanded torque of joint 2 [N m]')
    for axis in (left, right):
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=100)
    plt.close(figure)


if __name__ == '__main__':
    main()
