# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A control law of a robot as one C file with a binary interface, for controllers without Python.

>>> from screw_dynamics_ros.core import Robot
>>> from screw_dynamics_ros.core.motion.laws.library import gravity_compensation
>>> from screw_dynamics_ros.core.tree.examples import planar_arm_description
>>> code = c_law(gravity_compensation.on(Robot(planar_arm_description())), 'holding')
>>> code.functions[0].name
'holding_program'

The constants `screw_dynamics_law` of the shared object contain everything that a program needs to
call it: version, sizes, named fields, parameters with bounds, hashes, limits of effort, and the
functions `update` and `start`. `control_law.hpp` of screw_dynamics_control loads it if it ends with
its digest, which the command in the header of the law appends. The version rises when the types
change.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence

from ...compile.text.c_source import CFunction, CSource, check_names, header
from ...robot.c_functions import place
from ...robot.c_interface import (
    FIELD_TYPES,
    UNITS,
    LawField,
    compiling,
    computation,
    constants_of,
    coordinate_fields,
    field_table,
    literal,
)
from ...robot.fused_kernel import fused_specification
from .law_fields import FieldLayout
from .robot_law import RobotLaw

VERSION = 2

#: Types of the constants; `control_law.hpp` has the same text.
TYPES = f"""\
#ifndef SCREW_DYNAMICS_LAW_VERSION
#define SCREW_DYNAMICS_LAW_VERSION {VERSION}

struct screw_dynamics_law_constants {{
  uint32_t version; /* SCREW_DYNAMICS_LAW_VERSION; first in every version */
  uint32_t bytes;   /* size of these constants */
  const char *name;
  const char *options; /* of the recording: name=value, separated by spaces */
  const char *robot;
  const char *robot_hash; /* 64 hexadecimal digits: joints, geometry and inertias */
  const char *description_hash; /* of the URDF, as computed by description_hash.hpp */
  const char *law_hash;   /* 64 hexadecimal digits: fields, parameters and operations */
  struct screw_dynamics_law_vector q, v; /* a field for each joint, of its name */
  struct screw_dynamics_law_vector state, reference, parameters, memory;
  double gravity[3]; /* acceleration of free fall of the robot in root axes [m/s^2] */
  const double *effort_limits; /* of each field of v [N m, N], infinite without one */
  /* Computes torques of v.size and the next memory. It has no state and does not allocate; all
   * inputs are read before results are written, so that both memories may be the same. Vectors of
   * size 0 may be null. */
  void (*update)(const double *q, const double *v, const double *gravity, const double *state,
                 const double *reference, const double *parameters, const double *memory,
                 double *tau, double *next_memory);
  /* Writes the reference that holds a configuration: its positions and the pose of the link of the
   * option link, and zero. Null if the law reads the pose of an unknown link. */
  void (*start)(const double *q, double *reference);
}};

#endif
"""

ARGUMENTS = ('q', 'v', 'gravity', 'state', 'reference', 'parameters', 'memory')


def c_law(law: RobotLaw, name: str, description_hash: str = '') -> CSource:
    """Return header `name`.h and source file `name`.c of a law for one robot.

    The hash is that of the URDF, '' if it is unknown.

    The functions in `functions` are the computation, called `name`_program, and `name`_pose for
    laws that follow the pose of the link in their option `link`. A compiler that gets the macro
    `NAME_OBJECT` takes them from another object file, with code of this package.

    Raises
    ------
    ArgumentError
        If the name is not valid in C.
    """
    outputs = [law.torques, *([law.next_memory] if law.memory.size else [])]
    program = fused_specification(law.robot.regrouped_tree, outputs, law.sizes).record()
    results = ('tau', 'next_memory')[: len(outputs)]
    function = CFunction(f'{name}_program', program, results)
    functions = (function, *pose_function(law, name))
    check_names(name, functions)
    vectors = vectors_of(law)
    digest = hashlib.sha256(repr((vectors, program.digest())).encode()).hexdigest()
    declaration = ['extern const struct screw_dynamics_law_constants screw_dynamics_law;', '']
    source = [
        f'#include "{name}.h"',
        '',
        '#include <math.h>',
        '',
        *computation(name, functions),
        '',
        *update(function),
        '',
        *start(law, name, functions[1:]),
        '',
        *constants(law, vectors, description_hash, digest),
    ]
    return CSource(
        header(name, comment(law, name, vectors, digest), declaration, [FIELD_TYPES, TYPES]),
        '\n'.join(source) + '\n',
        functions,
    )


def pose_function(law: RobotLaw, name: str) -> Iterator[CFunction]:
    """Yield the pose of the link that a law moves, if it follows a pose."""
    if 'pose' in law.reference.shapes and 'link' in law.options:
        outputs = [('link_pose', law.options['link'])]
        program = fused_specification(law.robot.regrouped_tree, outputs, {}).record()
        yield CFunction(f'{name}_pose', program, ('pose',))


def vectors_of(law: RobotLaw) -> dict[str, list[LawField]]:
    """Return the fields of all vectors of the interface, in the order of its members."""
    vectors = coordinate_fields(law.robot.regrouped_tree)
    vectors['state'] = fields(law.state, UNITS)
    vectors['reference'] = fields(law.reference, UNITS)
    vectors['parameters'] = [
        field._replace(
            unit=each.unit,
            text=each.text,
            value=each.default,
            minimum=each.minimum,
            maximum=each.maximum,
        )
        for field, each in zip(fields(law.parameters, {}), law.law.parameters.values())
    ]
    vectors['memory'] = fields(law.memory, {})
    return vectors


def fields(layout: FieldLayout, units: Mapping[str, str]) -> list[LawField]:
    """Return the fields of a layout; all begin at zero."""
    return [
        LawField(name, units.get(name, ''), '', layout.places[name], math.prod(shape))
        for name, shape in layout.shapes.items()
    ]


# --- text -----------------------------------------------------------------------------------------


def update(function: CFunction) -> Iterator[str]:
    """Yield the function of the interface, which calls that of the program."""
    inputs = [array.removeprefix('law_') for array, _ in function.program.inputs]
    used = (*inputs, *function.results)
    parameters = [f'const double *{array}' for array in ARGUMENTS]
    parameters += ['double *tau', 'double *next_memory']
    yield 'static void update(\n    ' + ',\n    '.join(parameters) + ')'
    yield '{'
    yield from (f'  (void){array};' for array in (*ARGUMENTS, 'next_memory') if array not in used)
    yield f'  {function.name}({", ".join(used)});'
    yield '}'


def start(law: RobotLaw, name: str, poses: Sequence[CFunction]) -> Iterator[str]:
    """Yield the function that starts the reference, unless the pose of its link is unknown."""
    fields, size = law.reference.places, law.reference.size
    if 'pose' in fields and not poses:
        return
    yield 'static void start(const double *q, double *reference)'
    yield '{'
    yield '  int k;'
    yield '  (void)q;'
    yield '  (void)reference;'
    yield f'  for (k = 0; k < {size}; k++) reference[k] = 0.0;'
    if 'q' in fields:
        yield f'  for (k = 0; k < {law.robot.nq}; k++) reference[{fields["q"]} + k] = q[k];'
    for each in poses:
        arguments = *(array for array, _ in each.program.inputs), f'reference + {fields["pose"]}'
        yield f'  {each.name}({", ".join(arguments)});'
    yield '}'


def constants(law: RobotLaw, vectors: Mapping[str, list[LawField]], *hashes: str) -> Iterator[str]:
    """Yield the definition of `screw_dynamics_law`."""
    for vector, rows in vectors.items():
        yield from field_table(vector, rows)
    options = ' '.join(f'{name}={value}' for name, value in law.options.items())
    robot = law.robot
    texts = (law.law.name, options, robot.description.name, robot.regrouped_tree.digest, *hashes)
    limits = dict(zip(law.robot.joint_names, law.robot.limits.effort.tolist()))
    efforts = [literal(limits.get(row.name, math.inf)) for row in vectors['v']]
    yield f'static const double effort_limits[] = {{{", ".join(efforts) or "0"}}};'
    yield ''
    can_start = 'pose' not in law.reference.shapes or 'link' in law.options
    members = 'effort_limits', 'update', 'start' if can_start else '0'
    yield from constants_of('law', texts, vectors, robot.gravity, members)


def comment(
    law: RobotLaw, name: str, vectors: Mapping[str, list[LawField]], digest: str
) -> Iterator[str]:
    """Return what a user of the file must know."""
    yield f'Control law {law.law.name!r} of robot {law.robot.description.name!r}, by'
    yield 'screw_dynamics_ros.'
    yield ''
    yield 'The function update of the constants screw_dynamics_law computes torques and the next'
    yield 'memory. SI units and radians, arrays row-major, angular parts first. Compile it with'
    yield ''
    yield from compiling(name)
    yield ''
    yield f'robot hash {law.robot.regrouped_tree.digest}'
    yield f'law hash   {digest}'
    for vector, rows in vectors.items():
        yield ''
        yield f'{vector} ({sum(row.size for row in rows)},):'
        for row in rows:
            where = place(vector, slice(row.offset, row.offset + row.size))
            unit = f' [{row.unit}]' if row.unit else ''
            text = f', {row.text}' if row.text else ''
            bounds = (
                f': {row.value} in [{row.minimum}, {row.maximum}]' if vector == 'parameters' else ''
            )
            yield f'  {row.name}: {where}{unit}{text}{bounds}'
