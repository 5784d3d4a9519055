# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Partial derivatives of Jacobians by the joint coordinates, to third order.

Spec IDs: D-04, D-08, D-09, D-10, D-12 to D-14, D-16. References: poses differentiated
in extended precision (`poe_models`), and Pinocchio; the closed forms of the papers and what is
wrong with them are in `test_higher_order.py`.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile.kernels import KernelSpecification, make_kernel
from screw_dynamics_ros.core.compile.program.tracing import Recorder, Scalar
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.kinematics.higher_order import jacobian_derivative
from screw_dynamics_ros.core.kinematics.jacobian_partials import jacobian_partials
from screw_dynamics_ros.core.kinematics.jacobians import jacobian
from screw_dynamics_ros.core.kinematics.robot_geometry import tree_of
from screw_dynamics_ros.core.tree.multibody_tree import build_tree
from support.models import random_configuration, random_description
from support.poe_models import (
    EXTENDED,
    POINTS,
    REPRESENTATIONS,
    STEP,
    Reference,
    deepest,
    derivatives,
    differences,
    random_geometry,
    random_trajectory,
)
from support.robots import urdf_path

SEEDS = pytest.mark.parametrize('seed', range(2))
IN_ALL_REPRESENTATIONS = pytest.mark.parametrize('representation', REPRESENTATIONS)
N = 6


@SEEDS
def test_partials_against_differences(seed):
    """D-04, D-08, D-09, D-10, D-12 to D-14, D-16, to order 3.

    A symmetric tensor is known by its values along lines: d^m/dt^m of J(q + t u) v at t = 0.
    """
    geometry = random_geometry(seed, N)
    tree, i = tree_of(geometry), deepest(geometry)
    q = random_trajectory(seed, N)[0]
    tensors = {
        (name, order): jacobian_partials(tree, q, f'body{i + 1}', name, order)
        for name in REPRESENTATIONS
        for order in (1, 2, 3)
    }
    reference = Reference(geometry, i)
    for u, v in np.random.default_rng(seed + 7).uniform(-1, 1, (3, 2, N)):
        twists = [
            reference.twists([q + float(k * STEP) * u, v]) for k in range(-POINTS, POINTS + 1)
        ]
        for name in REPRESENTATIONS:
            expected = differences([V[name][0].astype(EXTENDED) for V in twists], 3)
            for order in (1, 2, 3):
                value = tensors[name, order]
                for _ in range(order):
                    value = value @ u
                np.testing.assert_allclose(
                    value @ v, expected[order].astype(float), rtol=0, atol=1e-9
                )


@IN_ALL_REPRESENTATIONS
def test_partials_are_symmetric(representation):
    tree = tree_of(random_geometry(1, 4, chain=True))
    tensor = jacobian_partials(tree, random_trajectory(1, 4)[0], 'body4', representation, 3)
    assert tensor.shape == (6, 4, 4, 4, 4)
    for order in permutations((2, 3, 4)):
        np.testing.assert_array_equal(tensor, tensor.transpose(0, 1, *order))


@SEEDS
@IN_ALL_REPRESENTATIONS
def test_partials_with_mimic_joints(seed, representation):
    """Two joints on one coordinate: the chain rule with their multipliers, twice."""
    description = random_description(seed, 7, mimic=2)
    tree = build_tree(description)
    q, u = np.random.default_rng(seed).uniform(-1, 1, (2, tree.nq))
    link = description.links[-1].name

    def along(t: np.longdouble) -> np.ndarray:
        return jacobian(tree, q + float(t) * u, link, representation).astype(EXTENDED)

    _, first, second = derivatives(along, 2)
    np.testing.assert_allclose(
        jacobian_partials(tree, q, link, representation) @ u, first.astype(float), atol=1e-12
    )
    np.testing.assert_allclose(
        jacobian_partials(tree, q, link, representation, 2) @ u @ u,
        second.astype(float),
        atol=1e-10,
    )


@SEEDS
@IN_ALL_REPRESENTATIONS
def test_partials_along_free_velocities(seed, representation):
    """A free base: derivatives along its body-fixed velocity give the rate of the Jacobian."""
    description = random_description(seed, 6, ('revolute', 'prismatic', 'planar'))
    robot = Robot(description, floating_base=True, backend='reference')
    tree = build_tree(description, floating_base=True)
    rng = np.random.default_rng(seed)
    q, v = random_configuration(robot, rng), rng.uniform(-1, 1, robot.nv)
    for link in robot.link_names:
        np.testing.assert_allclose(
            jacobian_partials(tree, q, link, representation) @ v,
            jacobian_derivative(tree, q, v, link, representation),
            atol=1e-13,
        )


def test_partials_against_pinocchio():
    """D-04, D-10, D-14: joint kinematic Hessians of the Panda arm."""
    pinocchio = pytest.importorskip('pinocchio')
    path = urdf_path('panda')
    model = pinocchio.buildModelFromUrdf(str(path))
    data = model.createData()
    q = np.random.default_rng(0).uniform(-1, 1, model.nq)
    tree = build_tree(read_urdf(path))
    assert list(model.names)[1:] == [body.joint for body in tree.bodies]
    pinocchio.computeJointJacobians(model, data, q)
    pinocchio.computeJointKinematicHessians(model, data)
    frames = {
        'body': pinocchio.LOCAL,
        'spatial': pinocchio.WORLD,
        'hybrid': pinocchio.LOCAL_WORLD_ALIGNED,
    }
    for name, frame in frames.items():
        ours = jacobian_partials(tree, q[: tree.nq], 'panda_link7', name)[:, :7, :7]
        tensor = np.array(pinocchio.getJointKinematicHessian(model, data, 7, frame))
        # version 4.1 hands over the memory of a column-major tensor as if it were a C array
        readings = [tensor, tensor.ravel().reshape(tensor.shape, order='F')]
        errors = [
            np.abs(ours - np.roll(reading, 3, axis=0)[:, :7, :7]).max() for reading in readings
        ]
        assert min(errors) < 1e-13


def test_recorded_scalars():
    tree = tree_of(random_geometry(0, 3, chain=True))
    q = Recorder().inputs('q', 3)
    for representation in REPRESENTATIONS:
        for order in (1, 2):
            tensor = jacobian_partials(tree, q, 'body3', representation, order)
            assert any(isinstance(x, Scalar) for x in tensor.ravel())


@pytest.mark.parametrize('backend', ['python', 'native'])
@IN_ALL_REPRESENTATIONS
def test_partials_compile(backend, representation):
    """One text for the reference and for the compiled function."""
    if backend == 'native':
        pytest.importorskip('llvmlite')
    tree = tree_of(random_geometry(1, 4))
    kernel = make_kernel(
        KernelSpecification(
            f'partials {representation}',
            (('q', 4),),
            lambda q: (jacobian_partials(tree, q, 'body4', representation),),
        ),
        backend,
    )
    q = random_trajectory(1, 4)[0]
    np.testing.assert_allclose(
        kernel.single([q])[0],
        jacobian_partials(tree, q, 'body4', representation),
        rtol=0,
        atol=1e-13,
    )


@pytest.mark.parametrize('backend', ['native', 'python', 'reference'])
def test_robot(backend):
    """The first order as a function of `Robot`, one sample and stacks."""
    if backend == 'native':
        pytest.importorskip('llvmlite')
    robot = Robot(random_description(4, 5, mimic=1), backend=backend)
    q = np.random.default_rng(4).uniform(-1, 1, (3, robot.nq))
    step = 1e-6 * np.eye(robot.nq)
    for representation in REPRESENTATIONS:
        expected = np.stack(
            [
                (
                    robot.jacobian(q[0] + e, 'link5', representation)
                    - robot.jacobian(q[0] - e, 'link5', representation)
                )
                / 2e-6
                for e in step
            ],
            axis=-1,
        )
        stack = robot.jacobian_partials(q, 'link5', representation)
        assert stack.shape == (3, 6, robot.nv, robot.nv)
        for _ in range(2):
            partials = robot.jacobian_partials(q[0], 'link5', representation)
            np.testing.assert_allclose(partials, expected, atol=1e-8)
            np.testing.assert_allclose(stack[0], partials, atol=1e-13)
    np.testing.assert_array_equal(
        robot.jacobian_partials(q[0], 'link5'), robot.jacobian_partials(q[0], 'link5', 'hybrid')
    )
    with pytest.raises(UnknownNameError, match="no representation named 'xyz'"):
        robot.jacobian_partials(q[0], 'link5', 'xyz')


def test_what_is_refused():
    tree = tree_of(random_geometry(0, 3))
    q = np.zeros(3)
    with pytest.raises(ArgumentError, match='order is 0'):
        jacobian_partials(tree, q, 'body1', 'body', 0)
    with pytest.raises(UnknownNameError, match="no link named 'x'"):
        jacobian_partials(tree, q, 'x')
    with pytest.raises(UnknownNameError, match="no representation named 'x'"):
        jacobian_partials(tree, q, 'body1', 'x')
    free = build_tree(random_description(0, 2), floating_base=True)
    with pytest.raises(ArgumentError, match="a free body carries link 'link1'"):
        jacobian_partials(free, np.eye(9)[6], 'link1', 'body', 2)
