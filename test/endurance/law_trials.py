# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Random laws of the node `controller`, replaced thousands of times at 500 Hz.

Right, wrong, slow and hostile laws; each one must be used, or be refused with its line, while the
law before it goes on. It prints delays of commands while laws are loaded and otherwise, torques
beyond limits and rates, and the memory of the processes, and ends with status 1 if a torque was
beyond its limits or a verdict was wrong.

    python test/endurance/law_trials.py [--laws 300] [--swaps 2000] [--seed 1] [--robot planar_2r]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from screw_dynamics_ros.ros.process.children import end_with_parent, free_domain

PERIOD = 0.002  # s
PRIORITY = 40  # of the node, where that is permitted
QUIET_S = 20.0  # without laws, before and after
WARM_UP = 50  # laws after which memory is compared


def main() -> int:
    """Return the exit status."""
    options = parse()
    os.environ['ROS_DOMAIN_ID'] = str(free_domain())
    import rclpy
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from std_msgs.msg import String

    from screw_dynamics_ros.core import Robot
    from screw_dynamics_ros.ros.process.scheduling import use_real_time
    from support.law_trials import PARAMETERS, LawTrial, random_laws
    from support.processes import resident, workers
    from support.robots import urdf_path

    text = urdf_path(options.robot).read_text()
    laws, folder = random_laws(options.laws, options.seed), Path(tempfile.mkdtemp())
    rclpy.init()
    node = rclpy.create_node('law_trials', enable_rosout=False)
    trial = LawTrial(node, Robot.from_urdf(text), folder / 'laws.py', PERIOD)
    before = trial.write(laws[0])
    values = {**PARAMETERS, 'law': f'{folder}/laws.py:own', 'law_timeout': options.timeout}
    values.update({'age_limit': 0.5, 'diagnostic_updater.period': 0.1})
    is_permitted = not use_real_time(PRIORITY - 1)
    values['realtime_priority'] = PRIORITY if is_permitted else 0
    arguments = [word for key, value in values.items() for word in ('-p', f'{key}:={value}')]
    process = subprocess.Popen(
        [sys.executable, '-m', 'screw_dynamics_ros', 'controller', '--ros-args', *arguments],
        preexec_fn=end_with_parent,
    )
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_publisher(String, 'robot_description', latched).publish(String(data=text))
    trial.drive(lambda: trial.is_commanded(before), 'the first law')
    trial.counts.delays.clear()
    quiet(trial)
    memory, start, done = [], time.monotonic(), 0
    failed = ''
    try:
        while done < options.swaps and time.monotonic() - start < 60.0 * options.minutes:
            before = trial.swap(laws[done % len(laws)], before)
            done += 1
            if done % WARM_UP == 0:
                processes = [process.pid, *workers(process.pid, 'loads control laws')]
                memory.append([resident(each) / 2**20 for each in processes])
                print(
                    f'{done} laws, {time.monotonic() - start:.0f} s, MiB {memory[-1]}', flush=True
                )
    except AssertionError as error:
        failed = str(error)
    quiet(trial)
    process.terminate()
    process.wait()
    return report(trial.counts, memory, done, failed, is_permitted)


def quiet(trial) -> None:
    """Publish joint states without another law."""
    end = time.monotonic() + QUIET_S
    while time.monotonic() < end:
        trial.step()


def report(counts, memory, done: int, failed: str, is_permitted: bool) -> int:
    """Print what has been observed; return the exit status."""
    print(f'{done} laws: {counts.accepted} used, {counts.refused} refused with file and line')
    print(f'real-time priority: {"yes" if is_permitted else "no"}; {counts.states} joint states')
    for is_loading, what in ((True, 'while laws are loaded'), (False, 'otherwise')):
        delays = 1e3 * np.array([each for each, loading in counts.delays if loading == is_loading])
        if delays.size:
            median, most = np.median(delays), delays.max()
            rare = np.percentile(delays, 99.9)
            print(
                f'{what}: {delays.size} commands, median {median:.2f} ms, 99.9 % {rare:.2f} ms, '
                f'longest {most:.2f} ms, {counts.late[not is_loading]} later than 5 ms'
            )
    print(f'torques beyond limits: {counts.beyond_limits}; too fast: {counts.too_fast}')
    for name, values in zip(('node', 'process of laws'), zip(*memory)):
        print(f'memory of the {name}: {values[0]:.1f} MiB, at the end {values[-1]:.1f} MiB')
    if failed:
        print(f'FAILED: {failed}')
    return int(bool(failed or counts.beyond_limits or counts.too_fast))


def parse() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--laws', type=int, default=300)
    parser.add_argument('--swaps', type=int, default=2000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--minutes', type=float, default=1e6, help='end after this time')
    parser.add_argument('--timeout', type=float, default=5.0, help='law_timeout of the node [s]')
    parser.add_argument('--robot', default='planar_2r')
    return parser.parse_args()


if __name__ == '__main__':
    sys.exit(main())
