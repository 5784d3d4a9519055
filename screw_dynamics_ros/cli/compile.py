# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Write functions of a robot, or a control law, as C, for controllers without Python.

    compile robot.urdf inverse_dynamics mass_matrix jacobian:tool:body --name robot_model

writes robot_model.h and robot_model.c: one function that computes all outputs for this robot;
robot_model.hpp, for std::array and Eigen; and robot_model.cmake, a static library. An output is a
function of `Robot`, with its link and other options after colons. With --separate there is one
function for each output. With --target the code is also compiled, for any processor that LLVM
supports: aarch64-linux-gnu with --cpu cortex-a72 gives robot_model.o, nvptx64-nvidia-cuda gives
robot_model.ptx.

    compile robot.urdf --output gravity --output wrench/tool --observer momentum

exports outputs of the nodes by the names of their topics, with link. Observers of external torques
and low-pass filters have memory: the function has each memory as input and as result next_...; the
header explains the other inputs. What nodes decide or iterate, such as contact and reduced_wrench,
comes from a second function robot_steps with a struct for its memory, which robot_start sets.

    compile robot.urdf --law cartesian_impedance --law-option link=tool --name my_law

writes my_law.h and my_law.c, a control law for this robot with a documented binary interface: a
function update, and constants with its version, sizes, fields, parameters and hashes. Names of laws
are those of the library, module:law and file.py:law; + adds laws. The C++ class ControlLaw of
screw_dynamics_control/control_law.hpp loads the shared object that the commands in my_law.h make
of it. With --target, -DMY_LAW_OBJECT and my_law.o give the bits of this package.

    compile robot.urdf --model-library --name my_model

writes my_model.h and my_model.c in the same way: constants with mass matrix, bias, gravity,
Coriolis and friction torques, inverse dynamics, and pose and Jacobian of links (--link, default:
all). The C++ class ModelLibrary and plugins of screw_dynamics_control load its shared object.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ..core import ArgumentError, Robot, UnknownNameError
from ..core.compile.llvm.objects import object_file
from ..core.compile.text.c_source import CSource, identifier, is_name
from ..core.compile.text.cpp_library import cmake_library, cpp_header
from ..core.description.description_hash import description_hash
from ..core.description.formats import read_robot_description, urdf_of
from ..core.estimation.observers.table import OBSERVERS
from ..core.motion.laws.c_law import c_law
from ..core.motion.laws.law_source import LawSource, options_of
from ..core.robot.c_model import c_model
from ..core.robot.functions import FUNCTIONS, Output
from ..entry import DONE
from .command_line import add_robot, command_parser, execute, option, robot_text, write_file


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files; return the exit status."""
    return execute('compile', parse, run, arguments)


def run(options: argparse.Namespace) -> int:
    """Write the files."""
    text = robot_text(options)
    robot = Robot(
        read_robot_description(text), floating_base=options.floating_base, backend='reference'
    )
    name = options.name or function_name(robot.description.name)
    for file, content in files(source_code(robot, text, name, options), name, options).items():
        write_file(options.folder / file, '--folder', content)
    return DONE


def source_code(robot: Robot, text: str, name: str, options: argparse.Namespace) -> CSource:
    """Return functions of a robot with this description, or a law, as C."""
    hash_ = description_hash(urdf_of(text, robot.description))
    if options.model_library:
        return c_model(robot, name, options.links or robot.link_names, hash_)
    if options.law:
        law = LawSource(options.law).law
        return c_law(law.on(robot, **options_of(options.law_options)), name, hash_)
    functions = [*map(parse_output, options.outputs)]
    if not options.named:
        return robot.c_source(name, *functions, separate=options.separate)
    from .c_outputs import COutputs, residual_of_file  # parts of the nodes, which need ROS

    residual = None if options.residual is None else residual_of_file(options.residual, robot)
    chosen = COutputs(robot, options.observer, residual)
    for text in options.named:
        chosen.add(text)
    if options.target and chosen.has_steps:
        raise ArgumentError('--target: the second function needs a compiler of C, leave it out')
    return chosen.c_source(name, functions, options.separate)


def files(code: CSource, name: str, options: argparse.Namespace) -> dict[str, bytes]:
    """Return the contents of the files by name."""
    texts = {f'{name}.h': code.header, f'{name}.c': code.source}
    if not (options.law or options.model_library):
        texts[f'{name}.hpp'] = cpp_header(name, code.functions)
        texts[f'{name}.cmake'] = cmake_library(name)
    contents = {file: text.encode() for file, text in texts.items()}
    if options.target:
        functions = [(function.name, function.program) for function in code.functions]
        suffix = 'ptx' if options.target.startswith('nvptx') else 'o'
        contents[f'{name}.{suffix}'] = object_file(
            functions, options.target, options.cpu, options.features
        )
    return contents


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = command_parser('compile', __doc__)
    add = partial(option, parser)
    add_robot(parser)
    add('outputs OUTPUT', f'one of {", ".join(FUNCTIONS)}', nargs='*')
    add(
        '--output NAME[/LINK]',
        'an output of the nodes, such as wrench/tool',
        default=[],
        dest='named',
        action='append',
    )
    add(
        '--observer',
        'observer of external torques (default: static)',
        default='static',
        choices=OBSERVERS,
    )
    add(
        '--residual FILE',
        'residuals by identify --residual: NAME_residual computes the input offset of --output',
        Path,
    )
    add('--law LAW', 'a control law instead of outputs', default='')
    add(
        '--law-option NAME=VALUE',
        'a constant of the law, such as link=tool',
        default=[],
        dest='law_options',
        action='append',
    )
    add('--model-library', 'functions of the robot as a library for C++')
    add(
        '--link LINK',
        'a link of the library, besides the root (default: all)',
        default=[],
        dest='links',
        action='append',
    )
    add('--name NAME', 'name of the function and the files (default: name of the robot)')
    add('--folder DIR', 'folder for the files (default: here)', Path, Path())
    add('--separate', 'a function for each output, NAME_output')
    add('--target TRIPLE', 'write an object file for this target', default='')
    add('--cpu CPU', 'processor of the target (default: any)', default='')
    add(
        '--features FEATURES',
        'further features of the processor, with LLVM names: +neon,+fma',
        default='',
    )
    add(
        '--floating-base',
        'floating base: the root link moves freely; its coordinates come first in q and v',
    )
    options = parser.parse_intermixed_args(arguments)  # outputs after options
    wanted = (options.outputs or options.named, options.law, options.model_library)
    if sum(map(bool, wanted)) != 1:
        parser.error('give either outputs, --law or --model-library')
    if options.law_options and not options.law:
        parser.error('--law-option needs --law')
    if options.residual is not None and not options.named:
        parser.error('--residual needs --output')
    if options.links and not options.model_library:
        parser.error('--link needs --model-library')
    return options


def function_name(robot: str) -> str:
    """Return the name of a robot as a C identifier."""
    name = identifier(robot)
    return name if is_name(name) else f'robot_{name}'


def parse_output(text: str) -> Output:
    """Return the output for ``function:option:...``; options have the usual defaults.

    Raises `UnknownNameError` for too few or too many options.
    """
    name, *given = text.split(':')
    if name not in FUNCTIONS:
        raise UnknownNameError(f'no function named {name!r}; choose one of {", ".join(FUNCTIONS)}')
    kinds, instead = FUNCTIONS[name].options, FUNCTIONS[name].option_defaults
    defaults = [instead[kind] for kind in kinds[len(given) :]]
    if len(given) > len(kinds) or None in defaults or '' in given:
        pattern = ':'.join([name, *(kind.upper() for kind in kinds)])
        optional = [kind.upper() for kind in kinds if instead[kind] is not None]
        raise UnknownNameError(
            f'{text!r} does not name an output; write {pattern}'
            + (f', where {" and ".join(optional)} can be omitted' if optional else '')
        )
    options = [*given, *(default for default in defaults if default is not None)]
    return (name, *options) if options else name
