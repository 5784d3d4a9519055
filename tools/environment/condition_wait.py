# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Corrects how Fast DDS in the ROS 2 wheels waits for its callbacks; see condition_wait.c.

Without it about one in ten thousand processes spins for ever when its last node is destroyed while
another process of the domain starts or ends. Installed ROS 2 is built for a newer C library, where
the fault does not exist.
"""

from collections.abc import Mapping
from pathlib import Path

from console import Console
from prerequisites import compiler

SOURCE = Path(__file__).with_suffix('.c')
LIBRARY = 'lib/libcondition_wait.so'

# Runs at every start of the environment's Python. The wheels' own file of this kind starts Python
# once more, with the variables as they are then: this one has to come first in the alphabet.
PTH_NAME = 'condition_wait_of_ros_wheels.pth'
PTH = (
    f"import os, sys; os.environ['LD_PRELOAD'] = ':'.join(dict.fromkeys(["
    f"os.path.join(sys.prefix, '{LIBRARY}'), "
    f"*os.environ.get('LD_PRELOAD', '').replace(':', ' ').split()]))\n"
)


def install(
    venv: Path, site_packages: Path, environment: Mapping[str, str], console: Console
) -> None:
    """Compile the library, and let each process of the virtual environment load it first."""
    pth, library = site_packages / PTH_NAME, venv / LIBRARY
    pth.unlink(missing_ok=True)
    command = [
        *compiler('CC', environment),
        '-O2',
        '-shared',
        '-fPIC',
        '-o',
        str(library),
        str(SOURCE),
        '-ldl',
    ]
    console.run(command, environment)
    pth.write_text(PTH)
