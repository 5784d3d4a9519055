# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A payload that is set while the robot moves: error of the feedforward before, during and after.

The simulated arm carries 2 kg that its description for the node does not have. The node `dynamics`
is informed by ~/set_payload, with and without transition; its ~/feedforward, over DDS, is compared
with the inverse dynamics of the loaded arm in the same states.

    python test/endurance/payload_change.py [--picture doc/pictures/payload_change.png]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from screw_dynamics_ros.ros.process.children import end_with_parent, free_domain

LINK, MASS, HEIGHT = 'panda_hand_tcp', 2.0, 0.05
BLEND_TIME, TRANSITION = 0.2, 1.0  # s
BEFORE, AFTER = 1.0, 1.5  # s
PATIENCE = 60.0  # s
WINDOW = 0.05  # s
LOAD = f"""
  <link name="load"><inertial><origin xyz="0 0 {HEIGHT}"/><mass value="{MASS}"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="load" type="fixed"><parent link="{LINK}"/><child link="load"/></joint>
</robot>"""


#: Where the arm moves about: gravity acts on most joints.
BENT = {
    'initial_joints': [f'panda_joint{k}' for k in range(1, 8)],
    'initial_positions': [0.0, 0.0, 0.0, -1.57, 0.0, 1.87, 0.0],
}


class Trial:
    """Both nodes, and what has been heard of them."""

    def __init__(self, folder: Path, text: str, loaded: str) -> None:
        import rclpy
        from rclpy.qos import QoSProfile
        from sensor_msgs.msg import JointState

        self.rclpy = rclpy
        self.processes = [
            self.start(
                folder,
                'simulator',
                {'robot_description': loaded, 'motion_amplitude': 0.3, **BENT},
            ),
            self.start(
                folder,
                'dynamics',
                {
                    'robot_description': text,
                    'enabled': True,
                    'blend_time': BLEND_TIME,
                    'effort_rate_factor': 1e6,
                    'velocity_policy': 'reject',
                },
            ),
        ]
        rclpy.init()
        self.node = rclpy.create_node('payload_change')
        self.states: dict[int, tuple[list[float], list[float]]] = {}
        self.found: dict[int, tuple[list[str], list[float]]] = {}
        profile = QoSProfile(depth=1000)
        self.node.create_subscription(JointState, '/joint_states', self.take_state, profile)
        self.node.create_subscription(
            JointState, '/dynamics/feedforward', self.take_feedforward, profile
        )

    @staticmethod
    def start(folder: Path, name: str, parameters: dict[str, Any]) -> subprocess.Popen[bytes]:
        file = folder / f'{name}.yaml'
        file.write_text(yaml.safe_dump({'/**': {'ros__parameters': parameters}}))
        return subprocess.Popen(
            [
                sys.executable,
                '-m',
                'screw_dynamics_ros',
                name,
                *('--ros-args', '--log-level', 'error', '--params-file', str(file)),
            ],
            preexec_fn=end_with_parent,
        )

    def take_state(self, message: Any) -> None:
        self.states[stamp(message)] = list(message.position), list(message.velocity)
        self.names = list(message.name)

    def take_feedforward(self, message: Any) -> None:
        self.found[stamp(message)] = list(message.name), list(message.effort)

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Handle messages until something holds."""
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f'waited {PATIENCE:g} s for {what}')
            self.rclpy.spin_once(self.node, timeout_sec=0.05)

    def wait(self, seconds: float) -> None:
        """Handle messages for a while."""
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() > end, 'time')

    def set_payload(self, mass: float, seconds: float) -> int:
        """Ask for a payload; return the stamp of the latest state before the answer [ns]."""
        from screw_dynamics_msgs.srv import SetPayload

        request = SetPayload.Request(name='load', link=LINK)
        inertia = request.inertia.inertia
        if mass:
            inertia.m, inertia.com.z = mass, HEIGHT
            inertia.ixx = inertia.iyy = inertia.izz = 0.01
        request.transition_time.sec = int(seconds)
        client = self.node.create_client(SetPayload, '/dynamics/set_payload')
        self.until(client.service_is_ready, 'the service')
        before = max(self.states)
        future = client.call_async(request)
        self.until(future.done, 'the answer')
        if not future.result().success:
            raise RuntimeError(future.result().message)
        return before

    def end(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(10.0)
        self.node.destroy_node()
        self.rclpy.shutdown()


def stamp(message: Any) -> int:
    return int(message.header.stamp.sec * 10**9 + message.header.stamp.nanosec)


def errors(trial: Trial, robot: Any, start: int) -> tuple[np.ndarray, np.ndarray]:
    """Return times from `start` on [s], and errors of the feedforward (N, n) [N m]."""
    begin, end = start - round(1e9 * BEFORE), start + round(1e9 * (TRANSITION + AFTER))
    stamps = sorted(s for s in trial.found.keys() & trial.states.keys() if begin <= s <= end)
    places = [trial.names.index(name) for name in robot.joint_names]
    q, v = (np.array([trial.states[s][k] for s in stamps])[:, places] for k in (0, 1))
    names = trial.found[stamps[0]][0]
    columns = [names.index(name) for name in robot.joint_names]
    found = np.array([trial.found[s][1] for s in stamps])[:, columns]
    times = 1e-9 * (np.array(stamps) - start)
    error = found - robot.inverse_dynamics(q, v, np.zeros_like(v))
    largest = np.abs(error).max(axis=1)
    taken = (times > 0.0) & (largest < 0.995 * largest[times < 0.0].min())
    return times - times[taken.argmax()], error  # from the state on that knows of the payload


def main() -> None:
    """Run two changes, print a table, draw a picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--picture', type=Path)
    arguments = parser.parse_args()
    os.environ['ROS_DOMAIN_ID'] = str(free_domain(40, 60))
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

    from screw_dynamics_ros.core import Robot
    from screw_dynamics_ros.core.description.bundled import bundled_urdf

    text = (bundled_urdf('panda')).read_text()
    loaded = text.replace('</robot>', LOAD)
    robot = Robot.from_urdf(loaded, friction=False)
    curves = []
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder), text, loaded)
        try:
            trial.until(lambda: len(trial.found) > 100, 'feedforward')
            for seconds in (0.0, TRANSITION):
                trial.wait(BEFORE + 0.3)
                start = trial.set_payload(MASS, seconds)
                trial.wait(TRANSITION + AFTER)
                curves.append((seconds, *errors(trial, robot, start)))
                trial.set_payload(0.0, 0.0)
                trial.wait(2.0 * BLEND_TIME)
        finally:
            trial.end()

    print('largest error of any joint [N m], and its largest change within 50 ms beside that of')
    print('the transition itself: a straight line, or the smooth blend of the commands')
    print('transition_time | before | halfway | after | change in 50 ms | of the transition')
    for seconds, times, error in curves:
        duration = seconds or BLEND_TIME
        before = np.abs(error[times < 0.0]).max()
        halfway = np.abs(error[np.abs(times - duration / 2.0).argmin()]).max()
        after = np.abs(error[times > duration + 0.3]).max()
        later = np.searchsorted(times, times + WINDOW)
        pairs = [(i, j) for i, j in enumerate(later) if j < len(times)]
        change = max(np.abs(error[j] - error[i]).max() for i, j in pairs)
        slope = 1.0 if seconds else 1.875  # of s^3 (10 - 15 s + 6 s^2) in the middle
        print(
            f'{seconds:4.1f} s | {before:6.3f} | {halfway:6.3f} | {after:.1e} | {change:.2f} | '
            f'{slope * before * WINDOW / duration:.2f}'
        )
    if arguments.picture:
        draw(curves, list(robot.joint_names), arguments.picture)


def draw(curves: list[Any], names: list[str], path: Path) -> None:
    """Draw the errors of the joints that are loaded most."""
    import matplotlib as mpl

    mpl.use('Agg')
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.2), layout='constrained', sharey=True)
    for axis, (seconds, times, error) in zip(axes, curves):
        for joint, color in ((1, '#2a6f97'), (3, '#c1663a'), (5, '#5b8c5a')):
            axis.plot(times, error[:, joint], color=color, label=names[joint])
        axis.axvline(0.0, color='0.7', linewidth=0.8)
        axis.set_title(f'transition_time {seconds:g} s', fontsize=10)
        axis.set_xlabel('time after the payload has been adopted [s]')
    axes[0].set_ylabel('error of feedforward [N m]')
    axes[1].legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=80, pil_kwargs={'optimize': True})


if __name__ == '__main__':
    main()
