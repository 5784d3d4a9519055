# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""From nothing to the first result: a new process, an empty cache, a robot never seen before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
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
from screw_dynamics_ros.nodes.model.torque_terms import energies, torque_terms
robot = Robot.from_urdf(path)
ends = ('panda_hand_tcp', 'panda_leftfinger', 'panda_rightfinger')
terms, n = torque_terms(robot), robot.nv
parameters = {'shares': np.ones(len(TERMS)), 'reference': np.zeros(4 * n),
              'payload': robot.payload_parameters({})}
kernel = robot.fuse(
    'joint_transforms', *vars(terms).values(), 'mass_matrix', energies(), 'centroidal_momentum',
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
