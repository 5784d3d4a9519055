"""Builds interface packages (message and service types) into the virtual environment.

Every package is built and installed into a staging folder first and then copied into place from a
list of its files. The list makes the copy repeatable after an interruption and an older build's
files removable.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from console import Console

# Where the machine that built the wheels kept NumPy's and Python's headers.
WHEEL_NUMPY_HEADERS = re.compile(r'/opt/python/[^\s;")]*/numpy/_core/include')
WHEEL_PYTHON_HEADERS = re.compile(r'/opt/python/[^\s;")/]*/include/python3\.\d+')


def correct_wheel_exports(venv: Path, environment: Mapping[str, str]) -> None:
    """Point the CMake files of the message wheels at this machine's NumPy and Python headers."""
    code = (
        'import numpy, sysconfig; '
        'print(numpy.get_include(), sysconfig.get_path("include"), sep="\\n")'
    )
    numpy_headers, python_headers = subprocess.run(
        [venv / 'bin/python', '-c', code],
        env=dict(environment),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for path in venv.glob('share/*/cmake/*rosidl_generator_pyExport.cmake'):
        text = path.read_text()
        corrected = WHEEL_NUMPY_HEADERS.sub(lambda _: numpy_headers, text)
        corrected = WHEEL_PYTHON_HEADERS.sub(lambda _: python_headers, corrected)
        if corrected != text:
            path.write_text(corrected)


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

    remove(source.name, venv)
    staged = stage / venv.relative_to('/')
    files = sorted(path.relative_to(staged) for path in staged.rglob('*') if not path.is_dir())
    _manifest(source.name, venv).write_text(''.join(f'{path}\n' for path in files))
    for path in files:
        (venv / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(staged / path, venv / path)
    shutil.rmtree(work)


def _manifest(name: str, venv: Path) -> Path:
    return venv / 'setup' / f'{name}.files'
