# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Run a Python program of this repository as on a 64-bit ARM processor, in the emulator QEMU.

    python tools/aarch64.py -m pytest -q test/core/lie

The interpreter and its libraries are packages of Debian for arm64, unpacked into build/aarch64; the
rest are wheels for aarch64. No package of this machine changes, and no kernel support is needed:
processes that the program starts with its own interpreter are emulated, too, and `cc` is the cross
compiler if there is one. Speeds mean nothing, and there are no ROS 2 wheels for this processor.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / 'build' / 'aarch64'
SYSTEM, WHEELS, PYTHON = FOLDER / 'system', FOLDER / 'wheels', FOLDER / 'python'
COMPILERS = {'cc': 'gcc', 'gcc': 'gcc', 'c++': 'g++', 'g++': 'g++'}  # of the cross compiler
EMULATORS = ('qemu-aarch64', 'qemu-aarch64-static')
INTERPRETER = ('python3', 'libstdc++6')
PLATFORMS = ('manylinux_2_17_aarch64', 'manylinux_2_28_aarch64', 'manylinux2014_aarch64')
REQUIREMENTS = ROOT / 'requirements'
TESTED_WITH = re.compile(
    r'^(pytest|pytest-xdist|hypothesis|rosbags|pin|mujoco|cmake|example-robot-data)\b.*'
)


def emulator() -> str:
    """Return the path of QEMU; ends the process with the remedy if something is missing."""
    found = next(filter(None, map(shutil.which, EMULATORS)), None)
    if found is None or not (shutil.which('apt-get') and shutil.which('dpkg-deb')):
        sys.exit('aarch64: needs Debian with an emulator: sudo apt install qemu-user-static')
    return found


def unpack_system() -> None:
    """Unpack the interpreter and what it depends on."""
    state = FOLDER / 'apt'
    for each in ('lists/partial', 'cache/archives/partial'):
        (state / each).mkdir(parents=True, exist_ok=True)
    (state / 'status').touch()
    options = {
        'APT::Architecture': 'arm64',
        'APT::Architectures': 'arm64',
        'Dir::State::lists': state / 'lists',
        'Dir::State::status': state / 'status',
        'Dir::Cache': state / 'cache',
        'Debug::NoLocking': '1',
    }
    apt = ['apt-get', '-q', *(f'-o{name}={value}' for name, value in options.items())]
    subprocess.run([*apt, 'update'], check=True)
    install = ['install', '-y', '--no-install-recommends', '--download-only']
    subprocess.run([*apt, *install, *INTERPRETER], check=True)
    for package in sorted((state / 'cache' / 'archives').glob('*.deb')):
        subprocess.run(['dpkg-deb', '-x', package, SYSTEM], check=True)


def install_wheels() -> None:
    """Install what the package and its tests need, for the interpreter of the system."""
    interpreter = (SYSTEM / 'usr/bin/python3').resolve().name
    files = [REQUIREMENTS / name for name in ('develop.txt', 'oracles.txt')]
    lines = (line for each in files for line in each.read_text().splitlines())
    tested = [line.split('#')[0].strip() for line in lines if TESTED_WITH.match(line)]
    pip = [sys.executable, '-m', 'pip', 'install', '-q', '--target', WHEELS]
    only = ['--only-binary=:all:', '--implementation', 'cp']
    only += ['--python-version', interpreter.removeprefix('python')]
    only += [word for each in PLATFORMS for word in ('--platform', each)]
    subprocess.run([*pip, *only, '-r', REQUIREMENTS / 'run.txt', *tested], check=True)


def set_up() -> None:
    """Unpack and install unless that was done, and write the command that starts Python."""
    qemu, done = emulator(), FOLDER / 'complete'
    if not done.exists():
        shutil.rmtree(FOLDER, ignore_errors=True)
        unpack_system()
        install_wheels()
        PYTHON.write_text(
            f'#!/bin/sh\nexec {qemu} -L {SYSTEM} -0 {PYTHON} {SYSTEM}/usr/bin/python3 "$@"\n'
        )
        PYTHON.chmod(0o755)
        (FOLDER / 'bin').mkdir()
        for name, compiler in COMPILERS.items():
            if (found := shutil.which(f'aarch64-linux-gnu-{compiler}')) is not None:
                (FOLDER / 'bin' / name).symlink_to(found)
        done.touch()


def main() -> None:
    """Set up, and become the program."""
    set_up()
    os.environ['PYTHONPATH'] = os.pathsep.join(map(str, (ROOT, ROOT / 'test', WHEELS)))
    os.environ['SCREW_DYNAMICS_CACHE'] = str(FOLDER / 'cache')
    os.environ['PATH'] = f'{FOLDER / "bin"}{os.pathsep}{os.environ["PATH"]}'
    os.chdir(ROOT)
    os.execv(PYTHON, [PYTHON, *sys.argv[1:]])


if __name__ == '__main__':
    main()
