# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The part of `ros2 doctor` about this package: what it lacks here, and what it uses."""

from __future__ import annotations

import platform
from importlib.util import find_spec

from ros2doctor.api import DoctorCheck, DoctorReport, Report, Result

import screw_dynamics_ros
from screw_dynamics_ros.core import files
from screw_dynamics_ros.core.compile import cache
from screw_dynamics_ros.core.compile.llvm import native
from screw_dynamics_ros.core.errors import BackendError

MESSAGES = 'screw_dynamics_msgs'
CATEGORY = 'screw_dynamics_ros'


class PackageCheck(DoctorCheck):
    """Whether llvmlite, the cache of compiled functions and the message types can be used."""

    def category(self) -> str:
        """Return what links it to `PackageReport`."""
        return CATEGORY

    def check(self) -> Result:
        """Return the warnings; `doctor` of this package examines a robot."""
        result = Result()
        try:
            native.llvm()
        except BackendError as error:
            result.add_warning(f'{CATEGORY}: {error}')
        folder = cache.directory()
        reason = folder and folder.exists() and files.why_not_private(folder)
        if folder is None or reason:
            result.add_warning(
                f'{CATEGORY}: each process compiles again, {reason or "without a cache folder"}: '
                f'set one by {cache.ENVIRONMENT_VARIABLE}'
            )
        if find_spec(MESSAGES) is None:
            result.add_warning(
                f'{CATEGORY}: no package {MESSAGES}, so nodes have no typed services and no '
                'model_state: build it'
            )
        return result


class PackageReport(DoctorReport):
    """Versions and folders."""

    def category(self) -> str:
        """Return what links it to `PackageCheck`."""
        return CATEGORY

    def report(self) -> Report:
        """Return the report."""
        report = Report(CATEGORY)
        for name, value in {
            'version': screw_dynamics_ros.__version__,
            'python': platform.python_version(),
            'machine code': native.target_identity() if native.available() else 'none',
            'cache': cache.directory() or 'none',
            MESSAGES: 'found' if find_spec(MESSAGES) else 'missing',
        }.items():
            report.add_to_report(name, str(value))
        return report
