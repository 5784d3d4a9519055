# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""From nothing to the first result: a new process, an empty cache, a robot never seen before.

Functions of the core, and `bringup` beside an echo: from the start of its process to its first
output, while a client publishes the description and joint states, and what is seen on the way. The
client announces itself each 50 ms: by default Fast DDS does so each 3 s, and discovery may take as
long then, also that of the echo. Python finds its byte code, as in an installed package.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from figures import Figure

from support.robots import urdf_path

ROOT = Path(__file__).resolve().parents[1]

START = """
import json, sys, time
start = time.perf_counter(), time.process_time()
import numpy as np
from screw_dynamics_ros.core import Robot
path = sys.argv[1]
"""
END = """
print(json.dumps([time.perf_counter() - start[0], time.process_time() - start[1]]))
"""

# The outputs of the nodes kinematics, dynamics and wrench_estimator, fused as they do.
BRINGUP = (
    START
    + """
from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from screw_dynamics_ros.core.formulas import ENERGY
from screw_dynamics_ros.nodes.model.torque_terms import torque_terms
robot = Robot.from_urdf(path)
ends = ('panda_hand_tcp', 'panda_leftfinger', 'panda_rightfinger')
terms, n = torque_terms(robot), robot.nv
parameters = {'shares': np.ones(len(TERMS)), 'reference': np.zeros(4 * n),
              'payload': robot.payload_parameters({})}
kernel = robot.fuse(
    'joint_transforms', *vars(terms).values(), 'mass_matrix', ENERGY, 'centroidal_momentum',
    *(('jacobian', link, form) for link in ends for form in ('hybrid', 'body')),
    *(('velocity', link, 'hybrid') for link in ends),
    parameters={name: len(values) for name, values in parameters.items()})
q = np.zeros(n)
kernel(q, q, robot.gravity, *parameters.values())
"""
    + END
)

BASIC = (
    START
    + """
robot = Robot.from_urdf(path)
q = np.zeros(robot.nq)
tool = robot.link_names[-1]
robot.link_pose(q, tool)
robot.link_poses(q)
robot.jacobian(q, tool)
robot.inverse_dynamics(q, q, q)
robot.forward_dynamics(q, q, q)
robot.mass_matrix(q)
robot.gravity_torques(q)
robot.coriolis_torques(q, q)
robot.coriolis_matrix(q, q)
robot.potential_energy(q)
robot.kinetic_energy(q, q)
robot.center_of_mass(q)
"""
)

ADVANCED = """
robot.center_of_mass_velocity(q, q)
robot.centroidal_momentum(q, q)
robot.inverse_mass_matrix(q)
robot.inverse_dynamics_derivatives(q, q, q)
robot.forward_dynamics_derivatives(q, q, q)
robot.regressor(q, q, q)
"""

RATE = 200.0  # Hz
ANNOUNCEMENTS = """<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles"><profiles>
  <participant profile_name="client" is_default_profile="true"><rtps><builtin><discovery_config>
    <initialAnnouncements>
      <count>1000</count><period><sec>0</sec><nanosec>50000000</nanosec></period>
    </initialAnnouncements>
  </discovery_config></builtin></rtps></participant>
</profiles></dds>
"""
NODE, TOPIC, OUTPUT = 'node seen', 'topic of the output seen', 'first output'
PROCESSOR, MEMORY = 'processor time until then', 'memory then'

# robot, file, what, program, limit [s]
CASES = [
    ('Panda, 7 joints', 'panda', 'everything bringup needs', BRINGUP, 1.0),
    ('TALOS', 'talos_full_v2', 'kinematics, dynamics, energies', BASIC + END, 10.0),
    ('TALOS', 'talos_full_v2', 'every function of the facade', BASIC + ADVANCED + END, 10.0),
]


def figures(quick: bool) -> Iterator[Figure]:
    """Measure first and second use, in processes of their own."""
    for robot, file, what, code, limit in CASES:
        with tempfile.TemporaryDirectory() as folder:
            first = [run(code, file, Path(folder, str(k))) for k in range(2 if quick else 5)]
            again = [run(code, file, Path(folder, '0')) for _ in range(2 if quick else 5)]
        for name, times, required in (
            ('first use', first, limit),
            ('from the cache', again, float('nan')),
        ):
            wall, processor = zip(*times)
            yield Figure(
                'First use in a new process, imports included',
                robot,
                f'{what}, {name}',
                sorted(wall)[len(wall) // 2],
                max(wall),
                unit='s',
                required=required,
                meaning='ours at most',
                note=f'99 %: longest of {len(wall)}; {sorted(processor)[len(wall) // 2]:.2f} s '
                'of processor time',
            )
    with tempfile.TemporaryDirectory() as folder:
        yield from first_outputs(3 if quick else 7, Path(folder))


def first_outputs(count: int, folder: Path) -> Iterator[Figure]:
    """Measure the start of `bringup`, and of an echo, in turns."""
    from node_kilohertz import prepare

    if not prepare():
        return
    os.environ.pop('PYTHONDONTWRITEBYTECODE', None)
    os.environ['PYTHONPYCACHEPREFIX'] = str(folder / 'bytecode')
    for name in ('bringup', 'echo'):
        start_of(name, folder / 'filled')
    found: dict[str, list[dict[str, float]]] = {
        name: [] for name in ('first use', 'from the cache', 'echo')
    }
    for k in range(count):
        found['first use'].append(start_of('bringup', folder / f'new{k}'))
        found['from the cache'].append(start_of('bringup', folder / 'filled'))
        found['echo'].append(start_of('echo', folder / 'filled'))
    echo = found['echo']
    for name, limit in (('from the cache', 0.8), ('first use', 2.0)):
        for step in found[name][0]:
            ours, theirs = (
                sorted(each[step] for each in f if step in each) for f in (found[name], echo)
            )
            yield Figure(
                'Start of a node, from the start of its process',
                'Panda, 7 joints',
                f'bringup, {name}: {step}',
                statistics.median(ours),
                ours[-1],
                'echo of objects in rclpy' if theirs else '',
                statistics.median(theirs) if theirs else float('nan'),
                theirs[-1] if theirs else float('nan'),
                unit='s' if step != MEMORY else 'MB',
                required=limit if step == OUTPUT else float('nan'),
                meaning='ours at most',
                note=f'99 %: longest of {count}',
            )


def start_of(node: str, cache: Path) -> dict[str, float]:
    """Return when a node was seen and sent its first output [s], and its memory then [MB]."""
    done = subprocess.run(
        [sys.executable, __file__, node],
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, 'SCREW_DYNAMICS_CACHE': str(cache)},
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def watch(name: str) -> dict[str, float]:
    """Start a node, and publish for it until its first output; return as `start_of`."""
    import rclpy
    from joint_state_driver import STAMP, STAMP_AT, messages
    from node_endurance import resident
    from node_kilohertz import processor_time
    from node_latency import description, publish_description
    from sensor_msgs.msg import JointState

    from screw_dynamics_ros.core import Robot
    from screw_dynamics_ros.ros.process.children import Children, free_domain
    from screw_dynamics_ros.ros.process.executor import PROFILES
    from screw_dynamics_ros.ros.topics.publishers import raw_publish

    module, topic, output, arguments = {
        'bringup': ('screw_dynamics_ros', 'joint_states', '/dynamics/gravity', ['bringup']),
        'echo': ('echo_node', 'echo_in', '/echo_out', []),
    }[name]
    os.environ['ROS_DOMAIN_ID'] = str(free_domain())
    profiles = {variable: os.environ.get(variable) for variable, *_ in PROFILES}
    with tempfile.NamedTemporaryFile('w', suffix='.xml') as file:
        file.write(ANNOUNCEMENTS)
        file.flush()
        os.environ.update(dict.fromkeys(profiles, file.name))
        rclpy.init()
        client = rclpy.create_node('first_output')
    for variable, value in profiles.items():
        os.environ.pop(variable)
        os.environ.update({variable: value} if value else {})
    publish_description(client)
    robot = Robot.from_urdf(description(), backend='reference')
    state = messages(list(robot.joint_names), RATE)[0]
    publish = raw_publish(client.create_publisher(JointState, topic, 10))
    heard = client.create_subscription(JointState, output, print, 10, raw=True).handle
    seen: dict[str, float] = {}
    with Children() as children:
        start = time.perf_counter()
        children.start(name, module, arguments)
        while OUTPUT not in seen:
            STAMP.pack_into(state, STAMP_AT, *divmod(time.time_ns(), 1_000_000_000))
            publish(bytes(state))
            time.sleep(1.0 / RATE)
            for step, happened in (
                (NODE, lambda: name in client.get_node_names()),
                (TOPIC, lambda: client.count_publishers(output)),
                (OUTPUT, lambda: heard.take_message(JointState, True)),
            ):
                if step not in seen and happened():
                    seen[step] = time.perf_counter() - start
            children.check()
        process = children.pids()[name]
        seen[PROCESSOR], seen[MEMORY] = processor_time(process), resident(process) / 1e3
    return seen


def run(code: str, file: str, cache: Path) -> tuple[float, float]:
    """Return seconds on the clock and of processor time, first import to last result."""
    done = subprocess.run(
        [sys.executable, '-c', code, str(urdf_path(file))],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, 'PYTHONPATH': str(ROOT), 'SCREW_DYNAMICS_CACHE': str(cache)},
    )
    return tuple(json.loads(done.stdout))


if __name__ == '__main__':
    print(json.dumps(watch(sys.argv[1])), flush=True)
    os._exit(0)  # what the middleware does at the end is of no interest
