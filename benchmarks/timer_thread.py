# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How often the timer thread of the middleware wakes: with our profile of Fast DDS, and without.

Each reliable message wakes it unless the profile lets heartbeats wait for each other.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from figures import Figure

RATE = 500.0  # Hz
MESSAGES, QUICK = 5000, 1000
REQUIRED = 3.0


def figures(quick: bool) -> Iterator[Figure]:
    """Measure in processes of a ROS domain of their own; nothing without Fast DDS."""
    count = QUICK if quick else MESSAGES
    ours, theirs = (wakes(profile, count) for profile in (True, False))
    if ours is not None and theirs is not None:
        yield Figure(
            'Nodes',
            'planar_2r',
            'wakes of the timer thread for 1000 joint states',
            1000.0 * ours / count,
            peer='ours without the profile',
            theirs=1000.0 * theirs / count,
            unit='',
            ratio=theirs / max(ours, 1),
            required=REQUIRED,
        )


def wakes(profile: bool, count: int) -> int | None:
    """Return how often that thread of a simulator went to sleep during some joint states."""
    from rclpy.qos import QoSProfile
    from sensor_msgs.msg import JointState

    from screw_dynamics_ros.ros.process.children import free_domain
    from support.robots import urdf_path
    from support.ros_harness import Client, NodeProcess

    domain = free_domain(1, 39)
    with tempfile.TemporaryDirectory() as folder, environment(profile, Path(folder)):
        parameters = {'rate': RATE, 'urdf': urdf_path('planar_2r')}
        driver = NodeProcess('simulator', domain, folder, parameters)
        client = Client(domain)
        client.subscribe(JointState, 'joint_states', profile=QoSProfile(depth=100))
        received = client.received['joint_states']
        client.wait(lambda: len(received) >= 100, what='joint states')
        received.clear()
        begin = switches(driver.process.pid)
        client.wait(lambda: len(received) >= count, what='joint states')
        end = switches(driver.process.pid)
        client.close()
        driver.stop()
    return None if begin is None or end is None else end - begin


@contextmanager
def environment(profile: bool, folder: Path) -> Iterator[None]:
    """Let processes start with our profile, or with one that says nothing."""
    from screw_dynamics_ros.ros.process.executor import PROFILES

    before = dict(os.environ)
    bare = folder / 'bare.xml'
    bare.write_text('<dds><profiles/></dds>')
    for variable, *_ in PROFILES:
        os.environ.pop(variable, None)
        if not profile:
            os.environ[variable] = str(bare)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def switches(process: int) -> int | None:
    """Return how often the timer thread went to sleep so far; None where none has that name."""
    for task in Path(f'/proc/{process}/task').iterdir():
        if (task / 'comm').read_text().startswith('dds.ev'):
            for line in (task / 'status').read_text().splitlines():
                if line.startswith('voluntary_ctxt_switches'):
                    return int(line.split()[1])
    return None


if __name__ == '__main__':
    print(*figures(quick=True))
