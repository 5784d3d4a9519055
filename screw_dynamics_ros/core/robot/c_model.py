# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Functions of a robot as one C file with a binary interface, for controllers without Python.

>>> from screw_dynamics_ros.core import Robot
>>> from screw_dynamics_ros.core.tree.examples import planar_arm_description
>>> code = c_model(Robot(planar_arm_description()), 'arm_model', links=[])
>>> [function.name for function in code.functions][:2]
['arm_model_mass_matrix', 'arm_model_bias']

The constants `screw_dynamics_model` of the shared object contain its functions and what a program
needs to call them. `model_library.hpp` of screw_dynamics_control loads it if it ends with its
digest, which the command in the header appends. The version rises when the types change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..compile.text.c_source import CFunction, CSource, check_names, header
from ..tree.multibody_tree import Tree
from .actuated_robot import REST
from .c_functions import place
from .c_interface import (
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
from .functions import Output
from .fused_kernel import Formula, fused_specification
from .robot import Robot

VERSION = 1

#: Types of the constants; `model_library.hpp` has the same text.
TYPES = f"""\
#ifndef SCREW_DYNAMICS_MODEL_VERSION
#define SCREW_DYNAMICS_MODEL_VERSION {VERSION}

struct screw_dynamics_model_link {{
  const char *name;
  uint32_t count;         /* coordinates of bodies from the root to the link */
  const uint32_t *bodies; /* numbers of these bodies */
  const uint32_t *moving; /* places of their coordinates in v; mimic joints share a place */
  void (*pose)(const double *q, double *pose);         /* 4 x 4, in the root frame [1, m] */
  void (*jacobian)(const double *q, double *jacobian); /* 6 x v.size: rates of rotation, and */
  /* velocities of the origin, both in axes of the root [1, m] */
}};

/* The functions have no state and do not allocate; all inputs are read before results are written.
 * Torques have the size of v [N m, N]. */
struct screw_dynamics_model_constants {{
  uint32_t version; /* SCREW_DYNAMICS_MODEL_VERSION; first in every version */
  uint32_t bytes;   /* size of these constants */
  const char *robot;
  const char *robot_hash;       /* 64 hexadecimal digits: joints, geometry, inertias and drives */
  const char *description_hash; /* of the URDF, as computed by description_hash.hpp */
  struct screw_dynamics_law_vector q, v, tau; /* a field for each joint, with its limits */
  double gravity[3]; /* acceleration of free fall of the robot in root axes [m/s^2] */
  uint32_t link_count;
  const struct screw_dynamics_model_link *links; /* the first is the root */
  void (*mass_matrix)(const double *q, double *matrix); /* v.size x v.size [kg m^2, kg m, kg] */
  void (*bias)(const double *q, const double *v, const double *gravity, double *tau);
  void (*gravity_torques)(const double *q, const double *gravity, double *tau); /* and springs */
  void (*coriolis_torques)(const double *q, const double *v, double *tau);
  void (*friction_torques)(const double *v, double *tau); /* contained in no other function */
  void (*inverse_dynamics)(const double *q, const double *v, const double *a,
                           const double *gravity, double *tau);
}};

#endif
"""


def c_model(robot: Robot, name: str, links: Sequence[str], description_hash: str = '') -> CSource:
    """Return header `name`.h and source file `name`.c of the functions of a robot.

    A compiler that gets the macro `NAME_OBJECT` takes the functions from another object file, with
    code of this package.

    Parameters
    ----------
    robot : Robot
        Without `drives`: their friction would be in `bias` and in `inverse_dynamics`, too.
    name : str
    links : sequence of str
        Those with pose and Jacobian, besides the root.
    description_hash : str
        Of the URDF; '' if unknown.

    Raises
    ------
    ArgumentError
        If the name is not valid in C.
    UnknownNameError
        For a link that does not exist.
    """
    tree, label = robot.regrouped_tree, robot.description.name
    links = list(dict.fromkeys((robot.description.root, *links)))
    outputs: dict[str, Output | Formula] = {
        'mass_matrix': 'mass_matrix',
        'bias': robot.substitute('inverse_dynamics', a=REST),
    }
    own = ('gravity_torques', 'coriolis_torques', 'friction_torques', 'inverse_dynamics')
    outputs |= {each: each for each in own}
    for k, link in enumerate(links):
        outputs |= {f'pose_{k}': ('link_pose', link), f'jacobian_{k}': ('jacobian', link, 'hybrid')}
    functions = [
        CFunction(f'{name}_{each}', fused_specification(tree, [output], {}).record(), ('result',))
        for each, output in outputs.items()
    ]
    check_names(name, functions)
    vectors = limited_fields(tree)
    hashes = (tree.digest, description_hash)
    names = [function.name for function in functions[: len(outputs) - 2 * len(links)]]
    members = [str(len(links)), 'links', *names]
    source = [
        f'#include "{name}.h"',
        '',
        '#include <math.h>',
        '',
        *computation(name, functions),
        '',
        *link_table(tree, name, links),
        *(line for vector, rows in vectors.items() for line in field_table(vector, rows)),
        '',
        *constants_of('model', (label, *hashes), vectors, robot.gravity, members),
    ]
    declaration = ['extern const struct screw_dynamics_model_constants screw_dynamics_model;', '']
    return CSource(
        header(name, comment(label, name, vectors, hashes), declaration, [FIELD_TYPES, TYPES]),
        '\n'.join(source) + '\n',
        tuple(functions),
    )


def limited_fields(tree: Tree) -> dict[str, list[LawField]]:
    """Return the fields of q, v and tau; joints with one coordinate have their limits."""
    vectors = coordinate_fields(tree)
    vectors['tau'] = [row._replace(unit=UNITS['tau']) for row in vectors['v']]
    given = tree.limits
    bounds = {
        'q': (given.lower, given.upper),
        'v': (-given.velocity, given.velocity),
        'tau': (-given.effort, given.effort),
    }
    for vector, limits in bounds.items():
        known = {
            joint: pair for joint, *pair in zip(tree.joint_names, *(x.tolist() for x in limits))
        }
        vectors[vector] = [
            row._replace(minimum=known[row.name][0], maximum=known[row.name][1])
            if row.size == 1
            else row
            for row in vectors[vector]
        ]
    return vectors


def link_table(tree: Tree, name: str, links: Sequence[str]) -> Iterator[str]:
    """Yield the definition of the links and of what moves them."""
    rows = []
    for k, link in enumerate(links):
        path = tree.path(tree.frame(link).body)
        moving = [(i, j) for i in path for j in range(tree.nv)[tree.bodies[i].v]]
        for array, places in zip(('bodies', 'moving'), zip(*moving)):
            yield f'static const uint32_t {array}_{k}[] = {{{", ".join(map(str, places))}}};'
        arrays = f'bodies_{k}, moving_{k}' if moving else '0, 0'
        members = f'{len(moving)}, {arrays}, {name}_pose_{k}, {name}_jacobian_{k}'
        rows.append(f'  {{{literal(link)}, {members}}},')
    yield from ('static const struct screw_dynamics_model_link links[] = {', *rows, '};')


def comment(
    robot: str, name: str, vectors: Mapping[str, list[LawField]], hashes: Sequence[str]
) -> Iterator[str]:
    """Return what a user of the file must know."""
    yield f'Model of robot {robot!r}, by screw_dynamics_ros.'
    yield ''
    yield 'The constants screw_dynamics_model have functions of this robot. SI units and radians,'
    yield 'arrays row-major, angular parts first. Compile it with'
    yield ''
    yield from compiling(name)
    yield ''
    yield f'robot hash       {hashes[0]}'
    yield f'description hash {hashes[1] or "unknown"}'
    yield ''
    yield 'Joints and their places in q and v:'
    for q, v in zip(vectors['q'], vectors['v']):
        places = (place(s, slice(r.offset, r.offset + r.size)) for s, r in (('q', q), ('v', v)))
        yield f'  {q.name}: {", ".join(places)}'
