# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Generates and compiles interface packages for rclpy over Fast DDS, with the generators of ROS 2.

    python type_support.py STAGE FOLDER...

Runs inside an environment with ROS 2 wheels, with the compilers in CC and CXX; `STAGE` becomes the
folder whose content is to be copied into the environment. An ordinary build spends most of its time
on what only C++ and other middlewares use, and on starting compilers. Here each package becomes one
extension module, compiled from a few files that include the generated ones; types, type hashes and
what is sent are the same.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from xml.etree import ElementTree

import numpy
import rosidl_adapter
import rosidl_generator_c
import rosidl_generator_py
import rosidl_generator_type_description
import rosidl_parser.parser
import rosidl_typesupport_c
import rosidl_typesupport_fastrtps_c
import rosidl_typesupport_introspection_c
from rosidl_cli.command.helpers import generate_visibility_control_file

PREFIX = Path(sys.prefix)
SHARE = PREFIX / 'share'
KINDS = ('msg', 'srv', 'action')
# The layers of a package, each a library of its own in packages that are built the ordinary way.
C, FASTRTPS, INTROSPECTION, DISPATCH, PYTHON = LAYERS = (
    'rosidl_generator_c',
    'rosidl_typesupport_fastrtps_c',
    'rosidl_typesupport_introspection_c',
    'rosidl_typesupport_c',
    'rosidl_generator_py',
)


class Package:
    """The package in folder `source`, named like the folder, and the place of its code."""

    def __init__(self, source: Path, work: Path) -> None:
        self.source, self.name, self.work = source, source.name, work / source.name
        self.files = [path for kind in KINDS for path in sorted(source.glob(f'{kind}/*.{kind}'))]
        self.definitions: list[Path] = []

    def describe(self) -> None:
        """Translate the definitions to IDL, and write the descriptions that hashes are made of."""
        for path in self.files:
            idl = rosidl_adapter.convert_to_idl(
                self.source, self.name, path.relative_to(self.source), self.work
            )
            self.definitions.append(Path(idl).relative_to(self.work))
        others = [path.name for path in SHARE.iterdir() if any(path.glob('*/*.json'))]
        arguments = self._arguments(self.work, include_paths=[f'{n}:{SHARE / n}' for n in others])
        rosidl_generator_type_description.generate_type_hash(arguments)

    def generate(self, layer: str) -> None:
        """Write the code of one layer."""
        folder = self.work / layer / self.name
        if layer == C:
            descriptions = [
                f'{path}:{self.work / path.with_suffix(".json")}' for path in self.definitions
            ]
            arguments = self._arguments(
                folder,
                layer,
                type_description_tuples=descriptions,
                ros_interface_files=[str(path) for path in self.files],
            )
            rosidl_generator_c.generate_c(arguments)
        elif layer == FASTRTPS:
            rosidl_typesupport_fastrtps_c.generate_typesupport_fastrtps_c(
                self._arguments(folder, layer)
            )
        elif layer == INTROSPECTION:
            rosidl_typesupport_introspection_c.generate_c(self._arguments(folder, layer))
        elif layer == DISPATCH:
            rosidl_typesupport_c.generate_c(
                self._arguments(folder, layer), [FASTRTPS, INTROSPECTION]
            )
        else:
            rosidl_generator_py.generate_py(self._arguments(folder, layer), [DISPATCH])
        if layer in (C, FASTRTPS, INTROSPECTION):
            header = f'{layer}__visibility_control.h'
            generate_visibility_control_file(
                package_name=self.name,
                template_path=SHARE / layer / f'resource/{header}.in',
                output_path=folder / 'msg' / header,
            )

    def _arguments(self, folder: Path, layer: str = '', **more: list[str]) -> str:
        """Write the file of arguments that a generator reads; return its path."""
        for kind in KINDS:
            (folder / kind / 'detail').mkdir(parents=True, exist_ok=True)
        path = folder / 'arguments.json'
        arguments = {
            'package_name': self.name,
            'output_dir': str(folder),
            'template_dir': str(SHARE / layer / 'resource'),
            'idl_tuples': [f'{self.work}:{path}' for path in self.definitions],
            'target_dependencies': [],
            **more,
        }
        path.write_text(json.dumps(arguments))
        return str(path)

    def units(self) -> Iterator[list[str]]:
        """Write the files that are compiled; yield the commands that compile them."""
        include = [
            *(self.work / layer for layer in (C, FASTRTPS, INTROSPECTION, PYTHON)),
            PREFIX / 'include',
            *(path for path in (PREFIX / 'include').iterdir() if path.is_dir()),
            sysconfig.get_path('include'),
            numpy.get_include(),
        ]
        flags = ['-O0', '-fPIC', '-w', *(f'-I{path}' for path in include), '-c']
        for language, compiler, standard, endings in (
            ('c', 'CC', '-std=gnu11', ('__functions.c', '__type_support.c')),
            ('c', 'CC', '-std=gnu11', ('_s.c', f'.{DISPATCH}.c')),
            ('cpp', 'CXX', '-std=c++17', ('.cpp',)),
        ):
            unit = self.work / f'unit{endings[0].replace(".", "_")}.{language}'
            files = [path for path in self._code() if path.name.endswith(endings)]
            unit.write_text(''.join(f'#include "{path}"\n' for path in files))
            yield [*os.environ[compiler].split(), standard, *flags, str(unit), '-o', f'{unit}.o']
        # These use the same names for different things.
        for path in self._code():
            if path.name.endswith('__description.c'):
                yield [
                    *os.environ['CC'].split(),
                    '-std=gnu11',
                    *flags,
                    str(path),
                    '-o',
                    f'{path}.o',
                ]

    def _code(self) -> list[Path]:
        return sorted(path for layer in LAYERS for path in (self.work / layer).rglob('*.c*'))

    def link(self, stage: Path) -> list[str]:
        """Return the command that links the extension module, ready to be imported."""
        module = self._python_folder(stage) / f'{self.name}_s__{DISPATCH}.so'
        module.parent.mkdir(parents=True, exist_ok=True)
        needed = [
            path
            for layer in LAYERS
            for path in sorted((PREFIX / 'lib').glob(f'lib*__{layer}.so'))
            if path.name != f'lib{self.name}__{layer}.so'
        ]
        needed += [
            PREFIX / f'lib/lib{name}.so'
            for name in (
                DISPATCH,
                FASTRTPS,
                INTROSPECTION,
                'rosidl_runtime_c',
                'rcutils',
                'fastcdr',
            )
        ]
        here = os.path.relpath(stage / 'lib', module.parent)
        return [
            *os.environ['CXX'].split(),
            '-shared',
            '-Wl,--as-needed,-z,now',  # a missing function is noticed at import
            f'-Wl,-rpath,$ORIGIN/{here}',
            *map(str, sorted(self.work.rglob('*.o'))),
            *map(str, needed),
            '-o',
            str(module),
        ]

    def _python_folder(self, stage: Path) -> Path:
        return stage / Path(sysconfig.get_path('platlib')).relative_to(PREFIX) / self.name

    def install(self, stage: Path) -> None:
        """Put Python modules, definitions and entries of the resource index below `stage`."""
        module = self._python_folder(stage) / f'{self.name}_s__{DISPATCH}.so'
        for layer in (FASTRTPS, INTROSPECTION):  # the dispatch looks for these names
            name = stage / f'lib/lib{self.name}__{layer}.so'
            name.symlink_to(os.path.relpath(module, name.parent))
        copy(self.work / PYTHON / self.name, self._python_folder(stage), '*.py')
        (self._python_folder(stage) / '__init__.py').touch()
        share = stage / 'share' / self.name
        for kind in KINDS:
            copy(self.source / kind, share / kind, f'*.{kind}')
        names = [str(path.relative_to(self.source)) for path in self.files]
        for path in self.definitions:
            shutil.copy(self.work / path, share / path)
            shutil.copy(self.work / path.with_suffix('.json'), share / path.with_suffix('.json'))
            names.append(str(path))
        shutil.copy(self.source / 'package.xml', share)
        root = ElementTree.parse(self.source / 'package.xml').getroot()
        needed = [item.text or '' for tag in ('depend', 'exec_depend') for item in root.iter(tag)]
        for index, text in (
            ('packages', ''),
            ('package_run_dependencies', ';'.join(needed)),
            ('rosidl_interfaces', '\n'.join(sorted(names))),
        ):
            entry = stage / 'share/ament_index/resource_index' / index / self.name
            entry.parent.mkdir(parents=True, exist_ok=True)
            entry.write_text(text)


def copy(source: Path, target: Path, pattern: str) -> None:
    """Copy files of a folder and the folders in it."""
    for path in sorted(source.rglob(pattern)):
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)


def run(command: list[str]) -> None:
    """Run a command; say what it says, and raise if it fails."""
    print('$', ' '.join(command[:1] + command[-3:]), flush=True)
    subprocess.run(command, check=True)


def main(stage: Path, sources: Iterable[Path]) -> None:
    """Build the packages in folders `sources`, on all cores, into `stage`."""
    # All generators begin with parsing the definitions, which takes longest.
    rosidl_parser.parser.parse_idl_string = cache(rosidl_parser.parser.parse_idl_string)
    work = stage.with_name(f'{stage.name}.work')
    packages = [Package(source, work) for source in sources]
    for package in packages:
        package.describe()
    with ProcessPoolExecutor(os.cpu_count(), get_context('fork')) as pool:
        jobs = [pool.submit(package.generate, layer) for package in packages for layer in LAYERS]
        for job in jobs:
            job.result()
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(run, [command for package in packages for command in package.units()]))
        list(threads.map(run, [package.link(stage) for package in packages]))
    for package in packages:
        package.install(stage)
    shutil.rmtree(work)


if __name__ == '__main__':
    main(Path(sys.argv[1]), [Path(path) for path in sys.argv[2:]])
