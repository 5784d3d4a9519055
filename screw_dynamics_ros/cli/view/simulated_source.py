# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A simulated robot, with the nodes that estimate its state."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from screw_dynamics_ros.ros.compatibility import stay_on_this_machine
from screw_dynamics_ros.ros.names import printable
from screw_dynamics_ros.ros.process.children import Children, free_domain

from .live_source import LiveSource
from .mesh_files import local_mesh
from .state import DiagnosticLine, ViewState

PACKAGE = 'screw_dynamics_ros'


class SimulatedSource(LiveSource):
    """The topics of the nodes `simulator` and `bringup`, which run in separate processes.

    The nodes use a ROS domain that no other process on this machine uses.

    Parameters
    ----------
    urdf : str
        The description.
    path : Path
        Its file, from which paths of meshes are resolved.
    """

    def __init__(self, urdf: str, path: Path) -> None:
        self._path, domain = path, free_domain()
        os.environ['ROS_DOMAIN_ID'] = str(domain)
        stay_on_this_machine()
        with ExitStack() as ending:
            file = Path(ending.enter_context(TemporaryDirectory()), 'robot.urdf')
            file.write_text(urdf, encoding='utf-8')
            self._children = ending.enter_context(Children())
            for node, parameters in (('simulator', ['-p', f'urdf:={file}']), ('bringup', [])):
                self._children.start(node, PACKAGE, [node, '--ros-args', *parameters])
            super().__init__(domain=domain)
            self._ending = ending.pop_all()

    @property
    def processes(self) -> dict[str, int]:
        """The process ids of the nodes by name."""
        return self._children.pids()

    def mesh_file(self, uri: str) -> Path | None:
        """Return the file of a mesh; any file that the user's description names is allowed."""
        return local_mesh(uri, self._path)

    def latest(self) -> ViewState | None:
        """Return the current state, with an error if a process has ended."""
        state = super().latest()
        try:
            self._children.check()
        except ChildProcessError as error:
            if state is not None:
                line = DiagnosticLine('error', 'simulation', printable(str(error)))
                return replace(state, diagnostics=(line, *state.diagnostics))
        return state

    def close(self) -> None:
        """Close the node and stop the processes."""
        super().close()
        self._ending.close()
