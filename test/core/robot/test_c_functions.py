# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the header of functions in C says, and formulas of motors; `test_c_source.py` runs them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.robot.actuated_robot import (
    REST,
    at_rest,
    elements,
    inertial,
    sum_of_torques,
)
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from support.models import random_description

DESCRIPTION = random_description(29, 4, ('revolute', 'planar', 'floating', 'prismatic'))


def lines_of(header: str) -> list[str]:
    """Return the comment of a header."""
    return [line[3:] for line in header.splitlines() if line.startswith(' * ')]


@pytest.mark.parametrize('floating', [False, True])
def test_places_of_joints_can_be_read_back(floating):
    """One number, or the first and the last, of each joint in q and in v."""
    robot = Robot(DESCRIPTION, floating_base=floating, backend='reference')
    lines = lines_of(robot.c_source('arm', 'mass_matrix').header)
    assert lines[0] == f'Robot {DESCRIPTION.name!r}, by screw_dynamics_ros.'
    start = lines.index('Joints and their places in q and v:') + 1
    found = {}
    for line in lines[start : start + 4]:
        name, q, v = re.fullmatch(r'  (\w+): q\[(.*)\], v\[(.*)\]', line).groups()
        found[name] = tuple(
            slice(int(ends[0]), int(ends[-1]) + 1)
            for ends in (re.split(r'\] to [qv]\[', text) for text in (q, v))
        )
        assert (' to ' in q) == (found[name][0].stop > found[name][0].start + 1)
    assert found == {name: robot.joint_coordinates(name) for name in robot.joint_names}
    assert len({slice_.stop - slice_.start for slice_, _ in found.values()}) == 3


def arrays_of(header: str, function: str) -> tuple[list[str], list[str]]:
    """Return names and shapes of inputs and outputs, as the comment and the prototype have them."""
    lines = lines_of(header)
    start = next(k for k, line in enumerate(lines) if line.startswith(f'{function}, '))
    stop = next((k for k in range(start + 1, len(lines)) if not lines[k].startswith(' ')), None)
    kinds = {'in': [], 'out': []}
    for line in lines[start + 1 : stop]:
        kind, text = re.fullmatch(r'  (in|out): +(\w+ \(.*?\)).*', line).groups()
        kinds[kind].append(text)
    prototype = re.search(rf'void {function}\((.*?)\);', header, re.S)[1]
    sizes = re.findall(r'(const )?double (\w+)\[(\d+)\]', prototype)
    for texts, constant in ((kinds['in'], 'const '), (kinds['out'], '')):
        declared = [(name, int(size)) for c, name, size in sizes if c == constant]
        shapes = [text.split(' ', 1) for text in texts]
        assert declared == [(name, int(np.prod(eval(shape)))) for name, shape in shapes]
    return kinds['in'], kinds['out']


def test_arrays_have_names_and_shapes():
    """Options and the place in a tuple belong to the name; formulas have their own."""
    robot = Robot(random_description(0, 3), backend='reference')
    scaled = Formula('scaled torque', ('gravity_torques', 'factor'), lambda g, f: g * f[0])
    outputs = (('jacobian', 'link2', 'body'), 'inverse_dynamics_derivatives', scaled)
    source = robot.c_source('arm', *outputs, parameters={'factor': 1})
    inputs, results = arrays_of(source.header, 'arm')
    assert inputs == ['q (3,)', 'v (3,)', 'a (3,)', 'gravity (3,)', 'factor (1,)']
    assert results == [
        'jacobian_link2_body (6, 3)',
        *(f'inverse_dynamics_derivatives_{k} (3, 3)' for k in range(3)),
        'scaled_torque (3,)',
    ]
    (function,) = source.functions
    assert f'arm, {function.program.operation_count} operations:' in lines_of(source.header)
    gravity = [line for line in lines_of(source.header) if 'acceleration of free fall' in line]
    assert gravity == ['  in:  gravity (3,): acceleration of free fall in root axes']


def test_separate_functions_have_the_inputs_that_each_needs():
    robot = Robot(random_description(0, 3), backend='reference')
    source = robot.c_source('arm', 'mass_matrix', 'gravity_torques', separate=True)
    assert [each.name for each in source.functions] == ['arm_mass_matrix', 'arm_gravity_torques']
    assert arrays_of(source.header, 'arm_mass_matrix') == (['q (3,)'], ['mass_matrix (3, 3)'])
    assert arrays_of(source.header, 'arm_gravity_torques') == (
        ['q (3,)', 'gravity (3,)'],
        ['gravity_torques (3,)'],
    )


def test_formulas_of_motors():
    """Elements of vectors, columns of matrices, and sums, equal if they are the same."""
    robot = Robot(random_description(0, 3), backend='reference')
    places = np.array([2, 0])
    torques = Formula('torques', ('mass_matrix', 'a'), inertial)
    kernel = robot.fuse(
        elements('v', places),
        elements('mass_matrix', places),
        Formula('sum', (torques, REST), sum_of_torques),
        REST,
    )
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, 3))
    some, columns, total, rest = kernel(q, v, a)
    M = robot.mass_matrix(q)
    np.testing.assert_array_equal(some, v[[2, 0]])
    np.testing.assert_allclose(columns, M[:, [2, 0]])
    np.testing.assert_allclose(total, M @ a)
    np.testing.assert_array_equal(rest, np.zeros(3))
    np.testing.assert_array_equal(sum_of_torques(v, a), v + a)
    assert at_rest(v).shape == v.shape
    assert elements('v', places) == elements('v', [2, 0])
    assert elements('v', places) != elements('v', [0, 2])
