# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the tests of compiled functions share: robots, states, calls, and other processes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile.llvm import native
from support.models import random_configuration, random_description
from support.paths import ROOT

needs_llvmlite = pytest.mark.skipif(not native.available(), reason='llvmlite is not installed')
NATIVE = pytest.param('native', marks=needs_llvmlite)
COMPILED = pytest.mark.parametrize('backend', [NATIVE, 'python'])
BACKENDS = pytest.mark.parametrize('backend', [NATIVE, 'python', 'reference'])

# Every function of the facade, with what it takes.
CALLS = {
    'link_pose': ('q', ('link3',)),
    'link_poses': ('q', ()),
    'jacobian': ('q', ('link3', 'mixed')),
    'velocity': ('qv', ('link3', 'spatial')),
    'inverse_dynamics': ('qva', ()),
    'forward_dynamics': ('qva', ()),
    'mass_matrix': ('q', ()),
    'gravity_torques': ('q', ()),
    'coriolis_torques': ('qv', ()),
    'coriolis_matrix': ('qv', ()),
    'potential_energy': ('q', ()),
    'kinetic_energy': ('qv', ()),
    'center_of_mass': ('q', ()),
}

CASES = {
    'tree': (random_description(5, 4), False),
    'mimic': (
        random_description(22, 6, ('revolute', 'prismatic', 'continuous', 'fixed'), mimic=2),
        False,
    ),
    'planar, floating': (random_description(14, 3, ('planar', 'revolute', 'floating')), True),
    'ball': (random_description(1, 3, ('ball', 'revolute')), False),
}
ALL_CASES = pytest.mark.parametrize('case', CASES)


def build(case: str, backend: str) -> Robot:
    description, floating = CASES[case]
    return Robot(description, floating_base=floating, backend=backend)


def states(robot: Robot, samples: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    v, a = rng.uniform(-1.5, 1.5, (2, samples, robot.nv))
    return {'q': random_configuration(robot, rng, (samples,)), 'v': v, 'a': a}


def call(robot: Robot, name: str, state: dict[str, np.ndarray]) -> np.ndarray:
    inputs, options = CALLS[name]
    return getattr(robot, name)(*(state[key] for key in inputs), *options)


def close(actual: np.ndarray, expected: np.ndarray, tolerance: float = 1e-12) -> None:
    assert np.shape(actual) == np.shape(expected)
    scale = max(1.0, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def run_python(code: str, **environment: str) -> str:
    """Run code in another process; return what it prints, errors included."""
    path = os.pathsep.join([str(ROOT), str(ROOT / 'test')])
    done = subprocess.run(
        [sys.executable, '-c', textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, 'PYTHONPATH': path, **environment},
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
