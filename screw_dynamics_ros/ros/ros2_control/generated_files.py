# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files for a launch file: the description with its hardware component, and the controllers."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from screw_dynamics_ros.core.errors import ArgumentError

from .controllers import Controllers
from .hardware_description import SimulatedHardware

DESCRIPTION, CONTROLLERS = 'simulated_robot.urdf', 'controllers.yaml'


@dataclass(frozen=True)
class GeneratedFiles:
    """Paths of the files; `temporary` if their folder is temporary and can be deleted."""

    description: Path
    controllers: Path
    temporary: bool


def write_files(
    folder: str, hardware: SimulatedHardware, controllers: Controllers
) -> GeneratedFiles:
    """Write both files; overwrite those of the last run.

    Parameters
    ----------
    folder : str
        Created if missing; '' for a temporary folder.
    hardware : SimulatedHardware
    controllers : Controllers

    Raises
    ------
    ArgumentError
        The files cannot be written.
    """
    try:
        place = Path(folder or tempfile.mkdtemp(prefix='screw_dynamics_ros_'))
        place.mkdir(parents=True, exist_ok=True)
        files = GeneratedFiles(place / DESCRIPTION, place / CONTROLLERS, not folder)
        files.description.write_text(hardware.text, encoding='utf-8')
        files.controllers.write_text(controllers.yaml(), encoding='utf-8')
    except OSError as error:
        raise ArgumentError(
            f'cannot write {error.filename or folder}: {error.strerror}; name a folder that can be '
            'written'
        ) from None
    return files
