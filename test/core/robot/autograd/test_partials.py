# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tangents and cotangents of functions of a robot: differences, the transpose, Pinocchio.

Without PyTorch and JAX, which call the same programs. Differences are taken along coordinates, also
along those of quaternions, which need not have the length 1.

Spec IDs: D-40, K-25, B-054.
"""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Drive, InertiaError, Robot, UnknownNameError
from screw_dynamics_ros.core.robot.autograd.functions import (
    FUNCTIONS,
    DifferentiableFunction,
    differentiable,
)
from support.compilation import ALL_CASES, BACKENDS, build, close, needs_llvmlite
from support.models import random_configuration, random_description
from support.robots import bundled_robots, example_robots, robot_id

LINK_FUNCTIONS = {'link_pose': (), 'jacobian': ('hybrid',), 'velocity': ('body',)}
#: Robots of which a joint moves no mass, on a floating base.
WITHOUT_MASS = {'planar_2r', 'romeo', 'romeo_laas_small'}
#: A floating base with two joints, joints that follow one another: larger ones take long.
COMPILED = {
    'free': (random_description(3, 2), True),
    'mimic': (random_description(2, 3, ('revolute', 'prismatic', 'continuous'), mimic=1), False),
}
SMALL = 14  # freedoms up to which everything is compared: it takes long
TYPICAL = {'ur_description/ur5_robot.urdf', 'talos_data/talos_left_arm.urdf'}
#: Arms, legs, and a humanoid without mass in some joints.
KINDS = TYPICAL | {'solo_description/solo12.urdf', 'romeo_description/romeo.urdf'}
NAMES = pytest.mark.parametrize('name', FUNCTIONS)


def function_of(robot: Robot, name: str) -> DifferentiableFunction:
    """Return a function; those of a link for the last one."""
    options = (robot.link_names[-1], *LINK_FUNCTIONS[name]) if name in LINK_FUNCTIONS else ()
    return differentiable(robot, name, *options)


def state(
    robot: Robot,
    function: DifferentiableFunction,
    stack: tuple[int, ...] = (),
    length: float = 1.3,
) -> list:
    """Return random arguments, and rates of them; quaternions are of a length."""
    rng = np.random.default_rng(5)
    vectors = rng.uniform(-1.0, 1.0, (len(function.arguments) - 1, *stack, robot.nv))
    q = random_configuration(robot, rng, stack)
    for body in robot.tree.free_bodies:
        q[..., body.q.stop - 4 : body.q.stop] *= length
    rates = [rng.normal(size=(*stack, size)) / np.sqrt(size) for size in function.sizes]
    return [[q, *vectors], rates]


def difference(function, h: float = 2e-3) -> np.ndarray:
    """Return the derivative of a function of a number at zero, by differences of order 4."""
    near, far = (np.subtract(function(k * h), function(-k * h)) for k in (1, 2))
    return (8.0 * near - far) / (12.0 * h)


def check_against_differences(
    robot: Robot, function: DifferentiableFunction, tolerance: float = 1e-8
) -> None:
    """The tangent is the derivative of the value along the rates, the cotangents its transpose."""
    arguments, rates = state(robot, function)
    tangent = function.tangent(arguments, rates)
    along = difference(lambda t: function.value([x + t * dx for x, dx in zip(arguments, rates)]))
    close(tangent, along, tolerance)
    y = np.random.default_rng(6).normal(size=function.shape)
    cotangents = function.cotangents(arguments, y)
    assert [x.shape for x in cotangents] == [(size,) for size in function.sizes]
    power = sum(x @ dx for x, dx in zip(cotangents, rates))
    scale = sum(np.abs(x) @ np.abs(dx) for x, dx in zip(cotangents, rates))
    assert abs(np.vdot(y, tangent) - power) <= 1e-11 * max(scale, 1.0)


@NAMES
@ALL_CASES
def test_against_differences(case, name):
    """Branches, mimic, planar and floating joints, a floating base."""
    robot = build(case, 'reference')
    check_against_differences(robot, function_of(robot, name))


@pytest.mark.parametrize('name', LINK_FUNCTIONS)
def test_root_link_against_differences(name):
    robot = build('planar, floating', 'reference')
    options = ('link0', *LINK_FUNCTIONS[name])
    check_against_differences(robot, differentiable(robot, name, *options))


@pytest.mark.parametrize('representation', ['body', 'spatial', 'hybrid', 'mixed'])
def test_representations_against_differences(representation):
    robot = build('planar, floating', 'reference')
    for name in ('jacobian', 'velocity'):
        function = differentiable(robot, name, 'link3', representation)
        check_against_differences(robot, function)


ROBOTS = bundled_robots() + [path for path in example_robots() if robot_id(path) in KINDS]


@pytest.mark.parametrize('path', ROBOTS, ids=robot_id)
def test_robots_against_differences(path):
    """On a floating base: that moves every joint, too."""
    robot = Robot.from_urdf(path, floating_base=True, backend='reference')
    names = ['inverse_dynamics', 'mass_matrix', 'jacobian']
    massless = path.stem in WITHOUT_MASS
    if robot.nv <= SMALL:
        names += ['kinetic_energy', *(() if massless else ['forward_dynamics'])]
    for name in names:
        check_against_differences(robot, function_of(robot, name))
    if massless:
        with pytest.raises(InertiaError, match='moves no mass'):
            function_of(robot, 'forward_dynamics').cotangents(*state_and_cotangent(robot))


def state_and_cotangent(robot: Robot) -> tuple[list[np.ndarray], np.ndarray]:
    """Return arguments of forward dynamics, and a cotangent."""
    function = function_of(robot, 'forward_dynamics')
    return state(robot, function)[0], np.ones(robot.nv)


PINOCCHIO = [
    pytest.param(path, floating, id=f'{robot_id(path)}-{"floating" if floating else "fixed"}')
    for path in bundled_robots()[:2] + [p for p in example_robots() if robot_id(p) in TYPICAL]
    for floating in (False, True)
]


@pytest.mark.parametrize(('path', 'floating'), PINOCCHIO)
@pytest.mark.parametrize('name', ['inverse_dynamics', 'forward_dynamics'])
def test_against_pinocchio(path, floating, name):
    """What moves no free body is the product with the matrix; what does, by its velocity."""
    pinocchio_model = pytest.importorskip('oracles.pinocchio_model')
    robot = Robot.from_urdf(path, floating_base=floating, backend='reference')
    oracle = pinocchio_model.Pinocchio(path.read_text(), robot)
    function = function_of(robot, name)
    arguments, _ = state(robot, function, length=1.0)
    by_q, *others = getattr(oracle, f'{name}_derivatives')(*arguments)
    y = np.random.default_rng(6).normal(size=robot.nv)
    found = function.cotangents(arguments, y)
    for x, D in zip(found[1:], others):
        close(x, y @ D, 1e-10)
    displacement = np.random.default_rng(7).normal(size=robot.nv)
    rate = difference(lambda t: robot.integrate(arguments[0], t * displacement))
    close(found[0] @ rate, y @ by_q @ displacement, 1e-9)
    if not floating:
        close(found[0], y @ by_q, 1e-10)


@needs_llvmlite
@pytest.mark.parametrize(
    ('case', 'name'),
    [*(('mimic', name) for name in FUNCTIONS), ('free', 'inverse_dynamics'), ('free', 'link_pose')],
)
def test_machine_code_is_the_recursion(case, name):
    """1e-10 relative, single samples and stacks with several leading axes."""
    description, floating = COMPILED[case]
    robot, native = (
        Robot(description, floating_base=floating, backend=backend)
        for backend in ('reference', 'native')
    )
    exact, fast = function_of(robot, name), function_of(native, name)
    arguments, rates = state(robot, exact, (2, 5))
    y = np.random.default_rng(6).normal(size=(2, 5, *exact.shape))
    close(fast.value(arguments), exact.value(arguments), 1e-10)
    close(fast.tangent(arguments, rates), exact.tangent(arguments, rates), 1e-10)
    for x, expected in zip(fast.cotangents(arguments, y), exact.cotangents(arguments, y)):
        close(x, expected, 1e-10)
    single = [x[1, 3] for x in arguments]
    for x, stack in zip(fast.cotangents(single, y[1, 3]), exact.cotangents(arguments, y)):
        close(x, stack[1, 3], 1e-10)


@BACKENDS
def test_empty_stacks_and_no_joints(backend):
    robot = Robot(random_description(1, 2, ('fixed',)), backend=backend)
    function = differentiable(robot, 'mass_matrix')
    assert function.value([np.zeros(0)]).shape == (0, 0)
    assert function.cotangents([np.zeros(0)], np.zeros((0, 0)))[0].shape == (0,)
    function = differentiable(Robot(random_description(1, 2), backend=backend), 'mass_matrix')
    assert function.value([np.zeros((0, 2))]).shape == (0, 2, 2)
    assert function.cotangents([np.zeros((3, 0, 2))], np.zeros((3, 0, 2, 2)))[0].shape == (3, 0, 2)


def test_friction_is_differentiated():
    """It is part of inverse and forward dynamics only."""
    description = random_description(2, 4, ('revolute', 'prismatic'), mimic=1)
    drives = {
        joint.name: Drive(damping=0.4, coulomb=0.7, armature=0.2) for joint in description.joints
    }
    robot = Robot(description, drives=drives, backend='reference')
    for name in ('inverse_dynamics', 'forward_dynamics', 'coriolis_torques', 'kinetic_energy'):
        check_against_differences(robot, function_of(robot, name))


def test_active_gravity_counts():
    robot = build('tree', 'reference')
    function = differentiable(robot, 'potential_energy')
    q = np.linspace(0.1, 0.9, robot.nv)
    before = function.cotangents([q], np.ones(()))[0]
    robot.gravity = -2.0 * robot.gravity
    close(function.cotangents([q], np.ones(()))[0], -2.0 * before)


def test_nan_gives_nan():
    robot = build('tree', 'reference')
    function = differentiable(robot, 'mass_matrix')
    q = np.full(robot.nv, np.nan)
    assert np.isnan(function.cotangents([q], np.ones((robot.nv, robot.nv)))[0]).any()


def test_robots_are_not_kept():
    robot = build('tree', 'reference')
    assert differentiable(robot, 'mass_matrix') is differentiable(robot, 'mass_matrix')
    watched = weakref.ref(robot)
    del robot
    gc.collect()
    assert watched() is None


@pytest.mark.parametrize(
    ('arguments', 'error', 'message'),
    [
        (('power',), UnknownNameError, "no function 'power' with derivatives; choose one of"),
        (('link_pose', 'nowhere'), UnknownNameError, "no link named 'nowhere'"),
        (('jacobian', 'link1', 'wrong'), UnknownNameError, 'wrong'),
    ],
)
def test_unknown_names_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        differentiable(build('tree', 'reference'), *arguments)


def test_what_is_no_robot_is_refused():
    with pytest.raises(ArgumentError, match=r"mass_matrix: robot must be a Robot, got 'panda'"):
        differentiable('panda', 'mass_matrix')
