# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The tests whose results depend on arithmetic, as on other processors, each in a process.

Settings are those of `support.processors`: machine code for levels that this processor lacks is
compiled and looked at, but not run. All other tests run as on this processor.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys

import numpy as np
import pytest

from screw_dynamics_ros.core.compile.llvm import native
from screw_dynamics_ros.core.compile.llvm.module import stack_kernel
from screw_dynamics_ros.core.errors import BackendError
from screw_dynamics_ros.core.robot.fused_kernel import fused_specification
from screw_dynamics_ros.core.tree.examples import planar_arm
from support.paths import ROOT
from support.processors import PROCESSORS, usable

pytestmark = pytest.mark.skipif(
    platform.machine() != 'x86_64', reason='settings for x86-64 processors'
)

PROGRAMS = ['test/core/robot/test_recorded_programs.py']

#: Programs enough beside those of all subjects for the other processor.
SOME = 'ur5 or gripper_tree or screws or arm or loops or platform'

#: What records, what compiles, and what states numbers to their last digits. Counts of operations
#: are in the digests of programs.
FILES = [
    '-k',
    'not python and not children',  # neither is there more than machine code and recordings
    *PROGRAMS,
    'test/core/test_reproducible.py',
    'test/core/compile/test_compile.py',
    'test/core/compile/test_factoring.py',
    'test/core/robot/test_robot.py',
    'test/core/robot/test_fused.py',
    'test/core/arms/families/test_general_6r.py',
]

#: What depends on the number of lanes and on fused products.
STACKS = [
    '-k',
    f'({SOME} or stack or sine) and not python and not reference',
    *PROGRAMS,
    'test/core/compile/test_compile.py',
]


@pytest.fixture(autouse=True)
def forgotten_processor():
    """Let no other test see what one of these says of the processor."""
    yield
    native._processor.cache_clear()


#: The tests for each processor.
TESTS = {'plain x86-64': FILES, 'AVX2': STACKS}

#: Of machine code that only the level may contain.
INSTRUCTIONS = {
    'x86-64': (r'\bmulpd', r'\bv\w+pd\b'),
    'x86-64-v2': (r'\bmulpd', r'\bv\w+pd\b'),
    'x86-64-v3': (r'%ymm\d', r'%zmm\d'),
    'x86-64-v4': (r'%zmm\d', r'%[er]?mmx\d'),
}


@pytest.mark.parametrize('processor', PROCESSORS)
def test_arithmetic_of_other_processors(processor):
    """One robot, one program, and tests that pass, whatever rounds."""
    variables, files = PROCESSORS[processor], TESTS[processor]
    if not usable(variables):
        pytest.skip(f'this processor cannot run code for {processor}')
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-p', 'no:xdist', *files],
        cwd=ROOT,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-6000:]


def outputs_of(program, settings):
    """Return the different outputs of a program with some environment variables."""
    return {
        subprocess.run(
            [sys.executable, '-c', program],
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
        for variables in settings
    }


def test_the_settings_reach_numpy():
    """A product of matrices, or a sine, has other bits with the settings of another processor."""
    program = (
        'import numpy as np; x = np.linspace(0.1, 3.0, 4096); A = x.reshape(64, 64); '
        'print((A @ A).sum(), np.sin(x).tobytes().hex()[:64], (A @ A).tobytes().hex()[:4096])'
    )
    outputs = outputs_of(program, [each for each in PROCESSORS.values() if usable(each)])
    if len(outputs) < 2 and 'openblas' not in str(getattr(np, 'show_config', str)).lower():
        pytest.skip('this NumPy has the same kernels for all processors')
    assert len(outputs) > 1


def test_the_same_exciting_motion():
    """The search of a motion with many minima and kinks ends in the same one."""
    program = (
        'from screw_dynamics_ros.core import Robot, bundled_urdf\n'
        'from screw_dynamics_ros.core.identification import excitation\n'
        "robot = Robot.from_urdf(bundled_urdf('planar_2r').read_text(), gravity=(0, -9.81, 0))\n"
        'found = excitation.excite(robot, restarts=2)\n'
        "print(f'{found.condition:.6f}', found.motion.a.round(6).tolist())"
    )
    settings = [{}, *(each for each in PROCESSORS.values() if usable(each))]
    outputs = outputs_of(program, settings)
    assert len(outputs) == 1, outputs


@pytest.mark.parametrize('level', native.LEVELS)
def test_machine_code_of_each_level(level, monkeypatch):
    """Stacks are compiled with the vectors of the level, and with none that it lacks."""
    pytest.importorskip('llvmlite')
    everything = ','.join(f'+{each}' for one in native.LEVELS.values() for each in one.features)
    monkeypatch.setattr(native, 'host_features', lambda: everything)
    monkeypatch.setenv(native.ENVIRONMENT_VARIABLE, level)
    native._processor.cache_clear()
    recorded = fused_specification(planar_arm(), ['inverse_dynamics'], {}).record()
    modules = stack_kernel(recorded, 'kernel', native.simd_lanes(), native.opaque_pointers())
    machine = native.target_machine()
    assembly = '\n'.join(
        machine.emit_assembly(native.llvm().parse_assembly(native.with_target(each)))
        for each in modules
    )
    has, has_not = INSTRUCTIONS[level]
    assert re.search(has, assembly)
    assert not re.search(has_not, assembly)


def test_unknown_levels_and_those_above_are_refused(monkeypatch):
    """With what may be chosen, or what the processor lacks."""
    pytest.importorskip('llvmlite')
    monkeypatch.setenv(native.ENVIRONMENT_VARIABLE, 'arm')
    with pytest.raises(BackendError, match="is 'arm'; choose one of x86-64, x86-64-v2"):
        native.processor()
    monkeypatch.setenv(native.ENVIRONMENT_VARIABLE, 'x86-64-v4')
    monkeypatch.setattr(native, 'host_features', lambda: '+avx2,+fma,-avx512f')
    native._processor.cache_clear()
    with pytest.raises(BackendError, match='this processor has no avx512f'):
        native.processor()
