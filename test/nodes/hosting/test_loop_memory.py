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

pytest.importorskip('llvmlite')
pytest.importorskip('screw_dynamics_msgs.msg._model_state')
if not sys.platform.startswith('linux'):
    pytest.skip('the loop is for Linux', allow_module_level=True)

from support.paths import ROOT

SEQUENCE = 'test/nodes/hosting/test_compiled_loop.py::test_random_sequences[0]'
ALLOCATORS = {'MALLOC_PERTURB_': '165', 'PYTHONMALLOC': 'malloc_debug'}


def run(*command):
    """Run Python in another process, which ends without an error."""
    path = os.pathsep.join([str(ROOT), str(ROOT / 'test')])
    programs = {'SCREW_DYNAMICS_TEST_CACHE': os.environ['SCREW_DYNAMICS_CACHE']}
    found = subprocess.run(
        [sys.executable, '-X', 'faulthandler', *command],
        cwd=ROOT,
        env={**os.environ, 'PYTHONPATH': path, **programs, **ALLOCATORS},
        capture_output=True,
        text=True,
        timeout=580,
    )
    assert found.returncode == 0, (
        f'{found.returncode}\n{found.stdout[-9000:]}\n{found.stderr[-9000:]}'
    )
    return found.stdout


def test_ends_in_any_order(ros_domain):
    """Publisher, subscription, node, context and channels, while the thread of the loop works."""
    found = run('test/support/loop_ends.py', str(ros_domain), '6')
    assert found.endswith('ended\n')


def test_everything_changes_in_any_order():
    """Models, layouts, outputs, parameters, payloads, observers, listeners; then the end."""
    plugins = '-p', 'support.freed_arrays', '-p', 'no:cacheprovider', '-p', 'no:xdist'
    found = run('-m', 'pytest', '-q', *plugins, SEQUENCE)
    assert '1 passed' in found
