# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Builds interface packages (message and service types) into the virtual environment.

Packages are built and installed into a staging folder first and then copied into place from a list
of their files. The list makes the copy repeatable after an interruption and an older build's files
removable.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from console import Console, SetupError
from prerequisites import COMPILERS, compiler

BUILDER = Path(__file__).with_name('type_support.py')
KEPT = 8  # builds in the cache


class WheelBuild:
    """A build of packages for the ROS 2 wheels, at work beside what else is installed.

    What it makes is kept in the cache of the user, for other environments and after `make clean`.

    Parameters
    ----------
    sources
        Folders of the packages.
    venv
        The environment, in which the wheels are.
    environment
        Variables for commands in it.
    inherited
        File descriptors that the build keeps open.
    """

    def __init__(
        self,
        sources: Sequence[Path],
        venv: Path,
        environment: Mapping[str, str],
        inherited: Sequence[int],
    ) -> None:
        self._venv = venv
        self._log = venv / 'setup/interfaces.log'
        environment = {
            **environment,
            'PYTHONDONTWRITEBYTECODE': '1',
            **{name: ' '.join(compiler(name, environment)) for name in COMPILERS},
        }
        key = _key(sources, venv, environment)
        cache = _cache()
        self._kept = cache / key if cache else None
        self.found = self._kept is not None and _whole(self._kept)
        if self.found:
            return
        work = venv / 'setup/build'
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        self._stage = work / 'stage'
        with self._log.open('w') as log:
            self._process = subprocess.Popen(
                [venv / 'bin/python', BUILDER, self._stage, *sources],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=inherited,
                start_new_session=True,
            )

    def stop(self) -> None:
        """End the build and the compilers that it runs."""
        if not self.found and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def install(self) -> None:
        """Wait for the end of the build and copy what it made into the environment."""
        if not self.found and self._process.wait():
            lines = self._log.read_text(errors='replace').splitlines()
            raise SetupError(
                '\n    '.join(['the message types were not built. Last lines:', *lines[-15:]])
                + f'\nThe whole output is in {self._log}'
            )
        if self.found and self._kept is not None:
            os.utime(self._kept)
            place('interfaces', self._kept / 'tree', self._venv)
        else:
            place('interfaces', self._stage, self._venv)
            if self._kept is not None:
                _keep(self._stage, self._kept, _manifest('interfaces', self._venv))
            shutil.rmtree(self._stage.parent)


def _key(sources: Sequence[Path], venv: Path, environment: Mapping[str, str]) -> str:
    """Return a hash of all that the result of a build depends on."""
    digest = hashlib.sha256()
    for folder in sources:
        for path in sorted(path for path in folder.rglob('*') if path.is_file()):
            digest.update(f'{folder.name}/{path.relative_to(folder)}\0'.encode())
            digest.update(path.read_bytes())
    installed = sorted(path.name for path in venv.glob('lib/python3*/site-packages/*.dist-info'))
    wheels = [name for name in installed if name.startswith(('ros_', 'numpy-', 'empy-', 'lark'))]
    digest.update('\0'.join([sys.version, os.uname().machine, *wheels]).encode())
    digest.update(BUILDER.read_bytes())
    for variable in COMPILERS:
        command = [*compiler(variable, environment), '--version']
        digest.update(subprocess.run(command, capture_output=True, env=environment).stdout)
    return digest.hexdigest()[:32]


def _cache() -> Path | None:
    """Return the folder of builds, which only its owner can have written to; None without one."""
    base = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    folder = Path(base, 'screw_dynamics_ros/interfaces')
    try:
        for path in (folder.parent, folder):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError:
        return None
    ours = status.st_uid == os.getuid() and not status.st_mode & 0o022
    return folder if ours and os.access(folder, os.W_OK) else None


def _whole(kept: Path) -> bool:
    """Tell whether a build in the cache has all its files; others may tidy up there."""
    manifest = kept / 'files'
    return manifest.exists() and all(
        (kept / 'tree' / line).exists() for line in manifest.read_text().splitlines()
    )


def _keep(stage: Path, kept: Path, manifest: Path) -> None:
    """Put a build into the cache, whole or not at all, and remove those longest unused."""
    partial = kept.with_name(f'{kept.name}-{os.getpid()}')
    try:
        partial.mkdir(mode=0o700)
        shutil.copytree(stage, partial / 'tree')
        shutil.copy(manifest, partial / 'files')
        shutil.rmtree(kept, ignore_errors=True)
        partial.rename(kept)
        by_age = sorted(kept.parent.iterdir(), key=lambda path: path.stat().st_mtime)
        for path in by_age[:-KEPT]:
            shutil.rmtree(path, ignore_errors=True)
    except OSError:  # another set-up was faster, or the disk is full: it is only a cache
        shutil.rmtree(partial, ignore_errors=True)


def remove(name: str, venv: Path) -> None:
    """Remove what an earlier `build` of the package installed."""
    manifest = _manifest(name, venv)
    if manifest.exists():
        files = [venv / line for line in manifest.read_text().splitlines()]
        for path in files:
            path.unlink(missing_ok=True)
        for folder in sorted({path.parent for path in files}, reverse=True):
            shutil.rmtree(folder / '__pycache__', ignore_errors=True)
            while folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
                folder = folder.parent
        manifest.unlink()


def build(
    source: Path,
    venv: Path,
    prefixes: str,
    environment: Mapping[str, str],
    console: Console,
) -> None:
    """Configure, compile and install the package in folder `source`, named like the folder.

    `prefixes` are the places of the packages it depends on, as in AMENT_PREFIX_PATH.
    """
    work = venv / 'setup/build' / source.name
    stage = work / 'stage'
    shutil.rmtree(work, ignore_errors=True)
    tools = {
        **environment,
        'AMENT_PREFIX_PATH': prefixes,
        'CMAKE_PREFIX_PATH': prefixes,
        'DESTDIR': str(stage),
    }
    generator = ['-G', 'Ninja'] if shutil.which('ninja', path=environment['PATH']) else []
    console.run(
        [
            'cmake',
            *generator,
            '-S',
            source,
            '-B',
            work / 'build',
            f'-DCMAKE_INSTALL_PREFIX={venv}',
            f'-DPython3_EXECUTABLE={venv}/bin/python',
            '-DBUILD_TESTING=OFF',
        ],
        tools,
    )
    console.run(['cmake', '--build', work / 'build', '--parallel', str(os.cpu_count() or 1)], tools)
    console.run(['cmake', '--install', work / 'build'], tools)

    place(source.name, stage / venv.relative_to('/'), venv)
    shutil.rmtree(work)


def place(name: str, stage: Path, venv: Path) -> None:
    """Copy all files of a folder into the environment, instead of what `name` installed before."""
    remove(name, venv)
    files = sorted(path.relative_to(stage) for path in stage.rglob('*') if not path.is_dir())
    _manifest(name, venv).write_text(''.join(f'{path}\n' for path in files))
    for path in files:
        (venv / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(stage / path, venv / path, follow_symlinks=False)


def _manifest(name: str, venv: Path) -> Path:
    return venv / 'setup' / f'{name}.files'
