# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The compiled loop uses no memory that has been freed, in whatever order that happens.

Allocators overwrite what is freed: a number that is read there differs from that of Python, an
address leads nowhere.
"""

import os
import subprocess
import sys

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('llvmlite')
pytest.importorskip('screw_dynamics_msgs.msg._model_state')
if not sys.platform.startswith('linux'):
    pytest.skip('the loop is for Linux', allow_module_level=True)

from support.paths import ROOT

SEQUENCES = 'test/nodes/hosting/test_compiled_loop.py::test_random_sequences'
ALLOCATORS = {
    'C': {'MALLOC_PERTURB_': '165', 'PYTHONMALLOC': 'malloc'},
    'Python': {'MALLOC_PERTURB_': '90', 'PYTHONMALLOC': 'debug'},
}


def run(*command, **variables):
    """Run Python in another process, which ends without an error."""
    path = os.pathsep.join([str(ROOT), str(ROOT / 'test')])
    found = subprocess.run(
        [sys.executable, '-X', 'faulthandler', *command],
        cwd=ROOT,
        env={**os.environ, 'PYTHONPATH': path, **variables},
        capture_output=True,
        text=True,
        timeout=580,
    )
    assert found.returncode == 0, (
        f'{found.returncode}\n{found.stdout[-9000:]}\n{found.stderr[-9000:]}'
    )
    return found.stdout


@pytest.mark.parametrize(('allocator', 'seed'), [('C', 0), ('Python', 2)])
def test_everything_changes_in_any_order(ros_domain, allocator, seed):
    """Models, layouts, outputs, parameters, payloads, observers, listeners; then the end."""
    plugins = '-p', 'support.freed_arrays', '-p', 'no:cacheprovider', '-p', 'no:xdist'
    found = run('-m', 'pytest', '-q', *plugins, f'{SEQUENCES}[{seed}]', **ALLOCATORS[allocator])
    assert '1 passed' in found
