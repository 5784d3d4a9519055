# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The tables of doc/reference/operation_counts.md.

Nothing is timed: multiplications and additions of the programs that `Robot` compiles, counted as
OpenSYMORO counts them. Sines, signs and what no output needs are left out, inertias are general,
and gravity of a chain is one symbol along the axis of the base.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from screw_dynamics_ros.core.compile.program.factoring import factored
from screw_dynamics_ros.core.compile.program.tracing import Program, Recorder, program
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.dynamics.forward_dynamics import forward_dynamics
from screw_dynamics_ros.core.dynamics.inverse_dynamics import gravity_torques, inverse_dynamics
from screw_dynamics_ros.core.dynamics.mass_matrix import mass_matrix
from screw_dynamics_ros.core.dynamics.massless_joints import regrouped
from screw_dynamics_ros.core.dynamics.partial_derivatives import (
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
)
from screw_dynamics_ros.core.kinematics.product_of_exponentials import BodyScrews
from screw_dynamics_ros.core.kinematics.robot_geometry import tree_of
from screw_dynamics_ros.core.reproducible import reproducible, sine_cosine
from screw_dynamics_ros.core.tree.multibody_tree import Tree, build_tree
from support.poe_models import random_inertias
from support.robots import urdf_path

MULTIPLICATIONS, ADDITIONS = ('mul', 'scale', 'reciprocal'), ('add', 'sub', 'shift')

#: Modified Denavit-Hartenberg tables: alpha in quarter turns, a and d in m, for each joint.
CHAINS: dict[str, list[tuple[float, float, float]]] = {
    'RX-90': [(0, 0, 0), (1, 0, 0), (0, 0.45, 0), (-1, 0, 0.45), (1, 0, 0), (-1, 0, 0)],
    'Puma 560': [
        (0, 0, 0),
        (-1, 0, 0.2435),
        (0, 0.4318, -0.0934),
        (-1, -0.0203, 0.4331),
        (1, 0, 0),
        (-1, 0, 0),
    ],
    'iiwa': [
        (0, 0, 0),
        (-1, 0, 0),
        (1, 0, 0.42),
        (1, 0, 0),
        (-1, 0, 0.4),
        (-1, 0, 0),
        (1, 0, 0),
    ],
    'general 6R': [(0.2 + 0.1 * i, 0.2 + 0.01 * i, 0.3 - 0.02 * i) for i in range(6)],
    'general 7R': [(0.2 + 0.1 * i, 0.2 + 0.01 * i, 0.3 - 0.02 * i) for i in range(7)],
}

Counts = tuple[int, int]

#: What others need for inverse dynamics: multiplications, additions; sources in the page.
OTHERS: dict[str, list[Counts | None]] = {
    'OpenSYMORO': [(331, 282), (363, 313), (397, 337), None, None],
    'OpenSYMORO, base parameters': [(287, 226), (315, 253), (343, 271), None, None],
    'Khalil and Kleinfinger, bound': [
        None,
        None,
        None,
        *((92 * n - 127, 81 * n - 117) for n in (6, 7)),
    ],
}

#: Robots by a URDF.
DESCRIPTIONS = {'UR5': 'ur5_robot', 'Panda': 'panda', 'TALOS': 'talos_full_v2'}

Recursion = Callable[..., Any]

MOTION, FORCES = ('q', 'v', 'a', 'gravity'), ('q', 'v', 'tau', 'gravity')

FUNCTIONS: dict[str, tuple[Recursion, Sequence[str]]] = {
    'inverse dynamics': (inverse_dynamics, MOTION),
    'gravity torques': (gravity_torques, ('q', 'gravity')),
    'mass matrix': (mass_matrix, ('q',)),
    'forward dynamics': (forward_dynamics, FORCES),
    'derivatives of inverse dynamics': (inverse_dynamics_derivatives, MOTION),
    'derivatives of forward dynamics': (forward_dynamics_derivatives, FORCES),
}

#: Left out: it takes longest to record.
LONG = {('TALOS', 'derivatives of forward dynamics')}


@cache
def chain(name: str) -> Tree:
    """Return one of the chains with frames on the joint axes and random physical inertias."""
    B = []
    for quarters, a, d in CHAINS[name]:
        s, c = sine_cosine(quarters * np.pi / 2)
        if isinstance(quarters, int):
            c, s = round(c), round(s)
        C = np.eye(4)
        C[1:3, 1:3], C[:3, 3] = [[c, -s], [s, c]], (a, -s * d, c * d)
        B.append(C)
    n = len(B)
    return tree_of(BodyScrews(B, [[0, 0, 1, 0, 0, 0]] * n), inertias=random_inertias(0, n))


@cache
def described(name: str) -> Tree:
    """Return the regrouped tree of a URDF."""
    return regrouped(build_tree(read_urdf(urdf_path(DESCRIPTIONS[name]))))


def recorded(
    tree: Tree, function: Recursion, names: Sequence[str], *, gravity_along_z: bool
) -> Program:
    """Return the program of function(tree, ...) as it is recorded, common factors not taken out."""
    recorder = Recorder()
    sizes = {'q': tree.nq, 'gravity': 1 if gravity_along_z else 3}
    inputs = [(name, sizes.get(name, tree.nv)) for name in names]
    values = [recorder.inputs(*each) for each in inputs]
    if gravity_along_z and 'gravity' in names:
        values[-1] = np.array([0.0, 0.0, values[-1][0]], dtype=object)
    result = function(reproducible(tree), *values)
    return program(recorder, inputs, result if isinstance(result, tuple) else (result,))


def counts(compiled: Program) -> Counts:
    """Return the multiplications and additions of a program."""
    kinds = [operation[0] for operation in compiled.operations]
    return sum(k in MULTIPLICATIONS for k in kinds), sum(k in ADDITIONS for k in kinds)


def row(label: str, cells: Iterable[Counts | None]) -> str:
    """Return a row of 'multiplications / additions'."""
    texts = ('' if cell is None else '{} / {}'.format(*cell) for cell in cells)
    return f'| {label} | ' + ' | '.join(texts) + ' |\n'


def header(first: str, names: Iterable[str]) -> str:
    """Return the first two lines of a table."""
    columns = list(names)
    return f'| {first} | ' + ' | '.join(columns) + ' |\n|---|' + '---|' * len(columns) + '\n'


def chains(folder: Path) -> str:
    """Return the table of inverse dynamics here and elsewhere."""
    motion = partial(recorded, function=inverse_dynamics, names=MOTION, gravity_along_z=True)
    plain = [motion(chain(name)) for name in CHAINS]
    base = [motion(regrouped(chain(name))) for name in CHAINS]
    return (
        '\n'
        + header('inverse dynamics', CHAINS)
        + ''.join(row(label, cells) for label, cells in OTHERS.items())
        + row('here, as recorded', map(counts, plain))
        + row('here, as recorded, base parameters', map(counts, base))
        + row('here, factored', (counts(factored(p)) for p in plain))
        + row('**here, factored, base parameters**', (counts(factored(p)) for p in base))
        + '\n'
    )


def functions(folder: Path) -> str:
    """Return the table of other functions of real robots: as recorded and factored."""
    columns = [f'{name}{kind}' for name in DESCRIPTIONS for kind in (', recorded', ', factored')]
    lines = []
    for label, (function, names) in FUNCTIONS.items():
        cells: list[Counts | None] = []
        for robot in DESCRIPTIONS:
            if (robot, label) in LONG:
                cells += [None, None]
                continue
            before = recorded(described(robot), function, names, gravity_along_z=False)
            cells += [counts(before), counts(factored(before))]
        lines.append(row(label, cells))
    return '\n' + header('function', columns) + ''.join(lines) + '\n'


TABLES: dict[str, Callable[[Path], str]] = {'chains': chains, 'functions': functions}
