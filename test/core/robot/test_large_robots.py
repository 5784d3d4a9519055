# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robots of hundreds of joints: long functions are not compiled, and the results are the same.

A function is compiled unless the robot has more than `LARGE` moving bodies and the recording more
than `LONGEST_OF_LARGE` operations (D-27, D-35, D-37, D-38, K-13).
"""

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile import kernels
from screw_dynamics_ros.core.compile.kernels import (
    LARGE,
    LONGEST_OF_LARGE,
    Kernel,
    KernelSpecification,
    NativeKernel,
    PythonKernel,
    ReferenceKernel,
    make_kernel,
)
from screw_dynamics_ros.core.errors import NotRecordableError
from screw_dynamics_ros.core.tree.multibody_tree import build_tree
from support.compilation import NATIVE, needs_llvmlite
from support.models import random_configuration, random_description, to_urdf

TOLERANCE = 1e-9  # of the norm
CHAIN = {'kinds': ('revolute',), 'chain': True}


def kernel(robot: Robot, *name: str) -> Kernel:
    """Return the kernel of a function, before its first call."""
    return robot._make_kernel(name[0], name[1:], ())


def test_as_pinocchio():
    """A tree of turning, sliding and fixed joints on a floating base, most on paths of many."""
    pytest.importorskip('pinocchio')
    from oracles.pinocchio_model import Pinocchio

    kinds = 'revolute', 'prismatic', 'continuous', 'fixed'
    large = Robot(random_description(3, 170, kinds, mimic=5), floating_base=True)
    robot = Robot(large.description, floating_base=True, backend='reference')
    oracle, rng = Pinocchio(to_urdf(robot.description), robot), np.random.default_rng(4)
    q, (v, a) = random_configuration(robot, rng), rng.uniform(-1, 1, (2, robot.nv))
    assert isinstance(kernel(large, 'mass_matrix'), ReferenceKernel)
    tau = oracle.inverse_dynamics(q, v, a)
    for found, expected in (
        (robot.link_poses(q), oracle.link_poses(q)),
        (robot.inverse_dynamics(q, v, a), tau),
        (robot.gravity_torques(q), oracle.gravity_torques(q)),
        (large.mass_matrix(q), oracle.mass_matrix(q)),
        (robot.coriolis_torques(q, v), oracle.coriolis_torques(q, v)),
        (robot.center_of_mass(q), np.divide(*oracle.mass_and_moment(q)[::-1])),
    ):
        assert np.linalg.norm(found - expected) < TOLERANCE * np.linalg.norm(expected)
    assert np.linalg.norm(large.forward_dynamics(q, v, tau) - a) < 1e-6 * np.linalg.norm(a)


@pytest.mark.parametrize('backend', [NATIVE, 'python'])
def test_results_are_those_of_compiled_functions(backend, monkeypatch):
    """One sample, a stack, `out`, and a fused kernel; the limits lowered for a robot of today."""
    robot = Robot(random_description(5, 12), backend=backend)
    q, v, a = np.random.default_rng(6).uniform(-1, 1, (3, 4, robot.nv))
    outputs = 'mass_matrix', 'inverse_dynamics', ('jacobian', 'link12', 'body')
    compiled = robot.fuse(*outputs)
    gravity = np.array([0.0, 0.0, -9.81])
    expected = [
        *compiled(q, v, a, gravity),
        robot.forward_dynamics(q, v, a),
        robot.mass_matrix(q[0]),
    ]
    monkeypatch.setattr(kernels, 'LARGE', 5)
    monkeypatch.setattr(kernels, 'LONGEST_OF_LARGE', 100)
    large = Robot(random_description(5, 12), backend=backend)
    fused = large.fuse(*outputs)
    assert (compiled.backend, fused.backend) == (backend, 'reference')
    out = np.empty((large.nv, large.nv))
    found = [*fused(q, v, a, gravity), large.forward_dynamics(q, v, a)]
    found.append(large.mass_matrix(q[0], out=out))
    assert found[-1] is out
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-11)


def test_the_number_of_operations_decides(monkeypatch):
    """With as many operations as are allowed it is compiled, with one more it is not."""
    tree = build_tree(random_description(7, LARGE + 1, **CHAIN))

    def build(tree, x):
        return (x[0] * x[1] + x[0] * x[2],)  # three inputs, three operations

    specification = KernelSpecification('sum', (('x', 3),), build, model=(tree,))
    for longest, is_too_long in ((6, False), (5, True)):
        monkeypatch.setattr(kernels, 'LONGEST_OF_LARGE', longest)
        assert specification.is_too_long() == is_too_long
        found = make_kernel(specification, 'python')
        assert isinstance(found, ReferenceKernel if is_too_long else PythonKernel)
        assert found.single([np.array([2.0, 3.0, 4.0])]) == (14.0,)


def test_what_cannot_be_recorded_for_another_reason_is_no_matter_of_length():
    tree = build_tree(random_description(7, LARGE + 1, **CHAIN))

    def build(tree, x):
        raise NotRecordableError('it branches')

    specification = KernelSpecification('branch', (('x', 1),), build, model=(tree,))
    with pytest.raises(NotRecordableError, match='it branches'):
        specification.is_too_long()


@needs_llvmlite
def test_robots_that_are_not_large_are_compiled_whatever_the_length(monkeypatch):
    """With the programs of `test_recorded_programs`; short functions of large robots, too."""
    monkeypatch.setattr(kernels, 'LONGEST_OF_LARGE', 2000)
    for joints, kind in ((LARGE, NativeKernel), (LARGE + 1, ReferenceKernel)):
        robot = Robot(random_description(7, joints, **CHAIN), backend='native')
        assert isinstance(kernel(robot, 'mass_matrix'), kind)
        assert isinstance(kernel(robot, 'link_pose', 'link5'), NativeKernel)


@needs_llvmlite
def test_functions_of_a_chain_of_500_links():
    """What is short stays compiled; n^2 results are not."""
    robot = Robot(random_description(8, 500, **CHAIN), backend='native')
    assert (LARGE, LONGEST_OF_LARGE) == (100, 200_000)
    for name, kind in (
        ('joint_transforms', NativeKernel),
        ('friction_torques', NativeKernel),
        ('mass_matrix', ReferenceKernel),
    ):
        assert isinstance(kernel(robot, name), kind), name


def test_what_a_recording_costs_is_bounded(monkeypatch):
    """The recording of a mass matrix of 300 joints ends at the limit."""
    made = []

    class Recorder(kernels.Recorder):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(kernels, 'Recorder', Recorder)
    monkeypatch.setattr(kernels, 'LONGEST_OF_LARGE', 20_000)
    robot = Robot(random_description(9, 300, **CHAIN), backend='python')
    assert isinstance(kernel(robot, 'mass_matrix'), ReferenceKernel)
    assert [len(each.operations) for each in made] == [20_000]
