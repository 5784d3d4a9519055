# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A process that compiles modules of IR, started by `compilers.compile_code` for long programs.

It is run as a file, so that it imports nothing but llvmlite and `pipes`. The first line of its
input has the settings of the target as JSON, followed by modules; it returns their object files.
Each is preceded by its length in eight bytes.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from threading import Timer

from screw_dynamics_ros.pipes import receive, send

PATIENCE = 5.0  # s to wait for the next module


def serve() -> None:
    """Compile until the input ends, or no module arrives for `PATIENCE`."""
    from llvmlite import binding

    settings = json.loads(sys.stdin.buffer.readline())
    with suppress(RuntimeError):  # newer versions initialize themselves and refuse the call
        binding.initialize()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_triple(binding.get_process_triple())
    machine = target.create_target_machine(**settings)
    with suppress(EOFError):
        while True:
            too_long = Timer(PATIENCE, os._exit, (0,))
            too_long.daemon = True
            too_long.start()
            text = receive(sys.stdin.buffer).decode()
            too_long.cancel()
            send(sys.stdout.buffer, machine.emit_object(binding.parse_assembly(text)))


if __name__ == '__main__':
    serve()
