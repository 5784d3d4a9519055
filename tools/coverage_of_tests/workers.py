# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A plugin of coverage: the process of a `Worker` is not killed before it has saved what it ran.

The process ends when its input does, and coverage saves then.
"""

from __future__ import annotations

import subprocess
from contextlib import suppress
from typing import Any

PROGRAM = 'screw_dynamics_ros.ros.process.worker'
PATIENCE = 5.0  # s


def coverage_init(registry: Any, options: Any) -> None:
    """Change how this process ends others."""
    kill = subprocess.Popen.kill

    def end_and_kill(process: subprocess.Popen[bytes]) -> None:
        if process.stdin is not None and PROGRAM in str(process.args):
            with suppress(OSError, subprocess.TimeoutExpired):
                process.stdin.close()
                process.wait(PATIENCE)
        kill(process)

    subprocess.Popen.kill = end_and_kill  # type: ignore[method-assign]
