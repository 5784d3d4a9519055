# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What must be on the machine before anything is installed."""

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from console import SetupError

NEWEST_WHEEL = (3, 13)
OLDEST_GLIBC = (2, 28)
COMPILERS = {'CC': ('cc', 'gcc', 'clang'), 'CXX': ('c++', 'g++', 'clang++')}


def sourced_ros(python: Path) -> str | None:
    """Name of the sourced ROS 2 distribution whose rclpy this interpreter imports, if any."""
    distribution = os.environ.get('ROS_DISTRO', '')
    if not distribution or not os.environ.get('AMENT_PREFIX_PATH'):
        return None
    chosen = os.environ.get('ROS') or distribution
    if chosen != distribution:
        raise SetupError(
            f'ROS 2 {distribution} is sourced, and ROS={chosen} asks for wheels of another one.\n'
            '    Run the command in a terminal where no ROS 2 is sourced.'
        )
    probe = subprocess.run([python, '-c', 'import rclpy'], capture_output=True, text=True)
    if probe.returncode:
        reason = (probe.stderr.strip().splitlines() or ['no reason given'])[-1]
        raise SetupError(
            f'ROS 2 {distribution} is sourced, but {python} cannot import its rclpy ({reason}).\n'
            f'    Install it:            sudo apt install ros-{distribution}-ros-base\n'
            '    or name its Python:    make PYTHON=/usr/bin/python3 ...\n'
            '    or do without ROS 2:   run the command in a terminal where it is not sourced'
        )
    return distribution


def chosen_wheels(requirements: Path) -> str:
    """Name of the distribution to take wheels of: ROS, or the first that has a file for it."""
    there = sorted(
        path.stem.removeprefix('ros-wheels-') for path in requirements.glob('ros-wheels-*.txt')
    )
    chosen = os.environ.get('ROS') or there[0]
    if chosen not in there:
        raise SetupError(
            f'there are no wheels of ROS 2 {chosen}; make ROS= takes {", ".join(there)}'
        )
    return chosen


def require(distribution: str | None) -> None:
    """Raise `SetupError` naming everything that is missing, with the command that installs it."""
    if distribution is None:
        _require_wheel_platform()
    missing: list[tuple[str, str]] = []
    version = f'python{sys.version_info[0]}.{sys.version_info[1]}'
    if find_spec('ensurepip') is None or find_spec('venv') is None:
        missing.append((f'the venv module of {sys.executable}', f'{version}-venv'))
    if not Path(sysconfig.get_path('include'), 'Python.h').exists():
        missing.append((f'the C headers of {sys.executable} (Python.h)', f'{version}-dev'))
    if not shutil.which(compiler('CC', os.environ)[0]):
        missing.append(('a C compiler (cc, gcc or clang; or name it in CC)', 'gcc'))
    if not shutil.which(compiler('CXX', os.environ)[0]):
        missing.append(('a C++ compiler (c++, g++ or clang++; or name it in CXX)', 'g++'))
    if distribution is not None:
        if not shutil.which('cmake'):
            missing.append(('cmake', 'cmake'))
        for package in ('ament_cmake', 'rosidl_default_generators', 'tf2_msgs'):
            if not any(
                Path(prefix, 'share', package).is_dir()
                for prefix in os.environ['AMENT_PREFIX_PATH'].split(os.pathsep)
            ):
                missing.append(
                    (
                        f'the ROS 2 package {package}',
                        f'ros-{distribution}-{package.replace("_", "-")}',
                    )
                )
    if missing:
        raise SetupError(
            '\n'.join(
                [
                    'missing on this machine:',
                    *(f'    - {what}' for what, _ in missing),
                    'On Debian and Ubuntu this installs it; then run the same command again:',
                    '    sudo apt install ' + ' '.join(package for _, package in missing),
                ]
            )
        )


def compiler(variable: str, environment: Mapping[str, str]) -> list[str]:
    """Return the command that CC or CXX names, or the first usual one that is there."""
    usual = COMPILERS[variable]
    there = next(filter(shutil.which, usual), usual[0])
    return (environment.get(variable) or there).split()


def _require_wheel_platform() -> None:
    """Raise unless ROS 2 wheels exist for this machine and interpreter."""
    source_ros = (
        'Install ROS 2 (https://docs.ros.org), source its setup.bash and run the same '
        'command again: it then uses that ROS 2.'
    )
    machine = f'{platform.system()} {platform.machine()}'
    if machine != 'Linux x86_64' or sys.maxsize < 2**32:
        raise SetupError(
            f'there are no ROS 2 wheels for {machine}, only for Linux x86_64 (64 bit). {source_ros}'
        )
    libc, _, version = (os.confstr('CS_GNU_LIBC_VERSION') or 'another C library').partition(' ')
    if libc != 'glibc' or tuple(map(int, version.split('.')[:2])) < OLDEST_GLIBC:
        raise SetupError(
            f'the ROS 2 wheels need glibc {".".join(map(str, OLDEST_GLIBC))} or '
            f'newer, this machine has {libc} {version}. {source_ros}'
        )
    if sys.version_info[:2] > NEWEST_WHEEL:
        raise SetupError(
            f'there are no ROS 2 wheels for Python {platform.python_version()}, only for 3.10 to '
            f'{".".join(map(str, NEWEST_WHEEL))}.\n'
            '    Name one of these:   make PYTHON=/path/to/python3.13 ...\n'
            f'    or: {source_ros}'
        )
