# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Several outputs from one kernel: the same numbers, gravity as input, results in place."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from support.compilation import NATIVE
from support.models import random_description


@pytest.fixture(params=[NATIVE, 'python', 'reference'])
def robot(request) -> Robot:
    return Robot(random_description(0, 4), backend=request.param)


@pytest.fixture
def state(robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return tuple(np.random.default_rng(0).uniform(-1, 1, (3, robot.nv)))


def same(a: object, b: object) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


OUTPUTS = (
    'link_poses',
    'joint_transforms',
    ('link_pose', 'link2'),
    ('jacobian', 'link4', 'body'),
    ('velocity', 'link4', 'hybrid'),
    'mass_matrix',
    'gravity_torques',
    'coriolis_torques',
    'inverse_dynamics',
    'forward_dynamics',
    'center_of_mass',
    'potential_energy',
    'kinetic_energy',
)


def test_fused_outputs_equal_single_ones(robot, state):
    """Gravity is an input; outputs are in the order asked for, shared or not."""
    q, v, a = state
    tau, gravity = -a, np.array([0.5, 1.0, -9.0])
    kernel = robot.fuse(*OUTPUTS)
    assert kernel.inputs == ('q', 'v', 'a', 'tau', 'gravity')
    assert kernel.outputs == OUTPUTS
    results = kernel(q, v, a, tau, gravity)
    robot.gravity = gravity
    arguments = {
        'inverse_dynamics': (q, v, a),
        'forward_dynamics': (q, v, tau),
        'coriolis_torques': (q, v),
        'velocity': (q, v),
        'kinetic_energy': (q, v),
    }
    assert len(results) == len(OUTPUTS) == len(kernel.shapes)
    for output, result, shape in zip(OUTPUTS, results, kernel.shapes):
        assert result.shape == shape
        assert result.dtype == np.float64
        name, *options = (output,) if isinstance(output, str) else output
        if name != 'joint_transforms':
            same(result, getattr(robot, name)(*arguments.get(name, (q,)), *options))


def test_fused_kernels_ask_for_what_they_need_only(robot):
    assert robot.fuse('link_poses').inputs == ('q',)
    assert robot.fuse('gravity_torques').inputs == ('q', 'gravity')
    assert robot.fuse('coriolis_torques', 'mass_matrix').inputs == ('q', 'v')
    assert robot.fuse('inverse_dynamics').inputs == ('q', 'v', 'a', 'gravity')
    assert robot.fuse('forward_dynamics').inputs == ('q', 'v', 'tau', 'gravity')
    assert robot.fuse('kinetic_energy', 'potential_energy').shapes == ((), ())


def test_fused_kernels_write_in_place(robot, state):
    kernel = robot.fuse('mass_matrix', 'gravity_torques', 'potential_energy')
    q, gravity = state[0], robot.gravity
    expected = kernel(q, gravity)
    out = [np.full(shape, np.nan) for shape in kernel.shapes]
    addresses = [array.ctypes.data for array in out]
    results = kernel(q, gravity, out=out)
    for result, target, address, value in zip(results, out, addresses, expected):
        assert result is target
        assert target.ctypes.data == address
        np.testing.assert_array_equal(target, value)
    same(kernel(list(q), tuple(gravity))[0], expected[0])
    assert kernel(q, gravity)[0] is not kernel(q, gravity)[0]


def test_wrong_arguments_of_fused_kernels(robot, state):
    kernel, q, gravity = robot.fuse('mass_matrix', 'gravity_torques'), state[0], robot.gravity
    frozen = np.full(4, 7.0)
    frozen.flags.writeable = False
    for inputs, out, message in [
        ((q,), None, 'expected the inputs q, gravity'),
        ((q, gravity, q), None, 'expected the inputs q, gravity'),
        ((np.zeros(5), gravity), None, r'q must have shape \(4,\) or \(N, 4\), got \(5,\)'),
        ((q[None, None], gravity), None, r'q must have shape .*, got \(1, 1, 4\)'),
        ((q, [0, 0]), None, r'gravity must have shape \(3,\) or \(N, 3\), got \(2,\)'),
        ((q[None], np.zeros((2, 3))), None, r'same length, got q: \(1, 4\), gravity: \(2, 3\)'),
        ((q, gravity), [np.zeros((4, 4))], 'expected the inputs q, gravity and 2 arrays'),
        (
            (q, gravity),
            [np.zeros((4, 4)).T, np.zeros(4)],
            r'out\[0\] must be a writeable C-contiguous',
        ),
        ((q, gravity), [np.zeros((4, 4)), np.zeros(5)], r'out\[1\] must be'),
        ((q, gravity), [np.zeros((4, 4)), np.zeros(4, dtype=np.float32)], r'out\[1\] must be'),
        ((q, gravity), [np.zeros((4, 4)), frozen], r'out\[1\] must be a writeable'),
        ((q, gravity), [np.zeros((4, 4)), [0.0] * 4], r'out\[1\] must be'),
    ]:
        with pytest.raises(ArgumentError, match=message):
            kernel(*inputs, out=out)
    np.testing.assert_array_equal(frozen, 7.0)


@pytest.mark.parametrize(
    ('output', 'message'),
    [
        ('torque', 'no function named .torque.; choose one of integrate'),
        ('jacobian', r"write \('jacobian', link, representation\)"),
        (('jacobian', 'link1'), r"write \('jacobian', link, representation\)"),
        (('mass_matrix', 'link1'), r"write \('mass_matrix'\)"),
        (('link_pose', 'hand'), 'no link named .hand.'),
        (('jacobian', 'link1', 'world'), 'no representation named .world.'),
        (('velocity', 'link1', None), 'no representation named'),
    ],
)
def test_outputs_that_do_not_exist(robot, output, message):
    with pytest.raises(UnknownNameError, match=message):
        robot.fuse('mass_matrix', output)


def test_fused_kernel_of_nothing(robot):
    kernel = robot.fuse()
    assert kernel.inputs == kernel.shapes == kernel() == ()


def test_constants_of_formulas():
    first, second = (Formula('f', ('q',), np.take, ((0, 2), axis)) for axis in (-1, 0))
    assert first != second
    assert first == Formula('f', ('q',), np.take, ((0, 2), -1))
    assert hash(first) == hash(Formula('f', ('q',), np.take, ((0, 2), -1)))
    kernel = Robot(random_description(0, 3), backend='reference').fuse(first)
    np.testing.assert_array_equal(kernel([1.0, 2.0, 3.0])[0], [1.0, 3.0])


@pytest.mark.parametrize(
    'constants',
    [(1.0,), (True,), (None,), ((1, 2.0),), ([1],), (np.int64(1),), [1], 'text', 3, (np.zeros(2),)],
    ids=str,
)
def test_constants_that_could_be_equal_and_not_the_same(constants):
    with pytest.raises(ArgumentError, match=r'formula .f.: constants must be a tuple of whole'):
        Formula('f', ('q',), np.take, constants)


def test_formulas_of_what_cannot_be_told_apart():
    class Scaled:
        factor = 2.0

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Scaled) and self.factor == other.factor

        def __call__(self, q: np.ndarray) -> np.ndarray:
            return self.factor * q

    for arguments in ((('q',), Scaled()), (['q'], np.negative)):
        with pytest.raises(ArgumentError, match=r'formula .f.: unhashable type'):
            Formula('f', *arguments)
