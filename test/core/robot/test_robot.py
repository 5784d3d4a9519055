# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The facade: what a robot says, how it takes arguments, what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from screw_dynamics_ros.core import (
    ArgumentError,
    DescriptionError,
    InertiaError,
    Robot,
    ScrewDynamicsError,
    UnknownNameError,
)
from screw_dynamics_ros.core.compile.kernels import NativeKernel
from screw_dynamics_ros.core.compile.llvm import native
from screw_dynamics_ros.core.description import (
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    RobotDescription,
)
from screw_dynamics_ros.core.kinematics.link_table import LinkTable
from screw_dynamics_ros.core.kinematics.product_of_exponentials import SpatialScrews
from screw_dynamics_ros.core.lie import screws, se3
from screw_dynamics_ros.core.textbook.link_tables.denavit_hartenberg import StandardRow
from support.models import random_description, random_wrenches, to_urdf
from support.robots import urdf_path

BACKEND_NAMES = [
    pytest.param('native', marks=pytest.mark.skipif(not native.available(), reason='no llvmlite')),
    'python',
    'reference',
]
BACKENDS = pytest.mark.parametrize('backend', BACKEND_NAMES)


@pytest.fixture(params=BACKEND_NAMES[:2])  # arguments are checked alike on the reference
def robot(request) -> Robot:
    return Robot(random_description(0, 4), backend=request.param)


@pytest.fixture
def state(robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return tuple(np.random.default_rng(0).uniform(-1, 1, (3, robot.nv)))


def same(a: object, b: object) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


# --- what the robot says about itself -------------------------------------------------------------


def test_names_and_sizes_of_the_panda():
    robot = Robot.from_urdf(urdf_path('panda'))
    assert robot.joint_names == (*(f'panda_joint{i}' for i in range(1, 8)), 'panda_finger_joint1')
    assert (robot.nq, robot.nv) == (8, 8)
    assert robot.link_names[0] == 'panda_link0'
    assert len(robot.link_names) == 13
    assert 'panda_finger_joint2' in robot.transform_joints
    assert len(robot.transform_joints) == 9
    assert robot.total_mass == pytest.approx(
        sum(link.inertia.mass for link in robot.description.links if link.inertia), rel=1e-14
    )
    assert robot.limits.lower[3] == -3.0718
    assert robot.limits.upper[3] == -0.0698
    assert repr(robot).startswith("Robot('panda', nq=8, nv=8, 13 links, ")


def test_joints_in_depth_first_order_whatever_the_order_in_the_file():
    def joint(name: str, parent: str, child: str, **options: object) -> Joint:
        return Joint(name, 'revolute', parent, child, np.eye(4), np.array([0, 0, 1.0]), **options)

    description = RobotDescription.from_parts(
        'tree',
        [Link(name) for name in 'edcba'],
        [
            joint('bd', 'b', 'd'),
            joint('ac', 'a', 'c', mimic=Mimic('be')),
            joint('be', 'b', 'e'),
            joint('ab', 'a', 'b', limits=Limits(-1, 2, 3, 4)),
        ],
    )
    robot = Robot(description, backend='reference')
    assert robot.link_names == ('a', 'c', 'b', 'd', 'e')
    assert robot.joint_names == ('ab', 'bd', 'be')
    assert robot.transform_joints == ('ac', 'ab', 'bd', 'be')
    assert [robot.joint_coordinates(name) for name in robot.joint_names] == [
        (slice(k, k + 1), slice(k, k + 1)) for k in range(3)
    ]
    np.testing.assert_array_equal(robot.limits.lower, [-1, -np.inf, -np.inf])
    np.testing.assert_array_equal(robot.limits.upper, [2, np.inf, np.inf])
    np.testing.assert_array_equal(robot.limits.velocity, [3, np.inf, np.inf])
    np.testing.assert_array_equal(robot.limits.effort, [4, np.inf, np.inf])


def test_a_floating_base_comes_first():
    description = random_description(0, 3)
    robot = Robot(description, floating_base=True, backend='reference')
    assert (robot.nq, robot.nv) == (10, 9)
    assert robot.joint_names == Robot(description, backend='reference').joint_names
    assert robot.joint_coordinates(robot.joint_names[0]) == (slice(7, 8), slice(6, 7))


def test_from_urdf_takes_text_and_paths(tmp_path):
    text = to_urdf(random_description(1, 3))
    path = tmp_path / 'robot.urdf'
    path.write_text(text, encoding='utf-8')
    q = [0.1, 0.2, 0.3]
    expected = Robot.from_urdf(text, backend='reference').mass_matrix(q)
    for source in (path, str(path), text):
        same(Robot.from_urdf(source, backend='reference').mass_matrix(q), expected)


def test_from_geometry_takes_screws_of_any_pitch_and_tables():
    """A helical joint off the axis of the first; a table of two links; limits and inertias."""
    places = [se3.pose(np.eye(3), [x, 0, 0]) for x in (0.4, 0.9)]
    Y = screws.unit_screw([[0, 0, 1], [0, 0, 1]], [[0, 0, 0], [0.4, 0, 0]], [0.0, 0.1])
    arm = SpatialScrews(places, Y)
    inertia = Inertia(2.0, np.array([0.1, 0.0, 0.0]), 0.1 * np.eye(3))
    robot = Robot.from_geometry(
        arm,
        name='corkscrew',
        links=['upper', 'fore'],
        inertias=[None, inertia],
        limits={'joint2': Limits(-1.0, 2.0)},
        gravity=(0, 0, -10.0),
        backend='reference',
    )
    q = np.array([0.3, 1.1])
    same(robot.link_pose(q, 'fore'), arm.poses(q)[1])
    same(robot.gravity_torques(q), [0.0, 0.1 * 20.0])  # the pitch lifts the weight
    assert robot.joint_names == ('joint1', 'joint2')
    np.testing.assert_array_equal(robot.limits.upper, [np.inf, 2.0])
    assert robot.description.name == 'corkscrew'
    table = LinkTable([StandardRow('revolute', d=0.3, a=0.5), StandardRow('prismatic', alpha=1.0)])
    robot = Robot.from_geometry(table, floating_base=True, backend='reference')
    assert robot.nv == 8
    base = [0, 0, 0, 0, 0, 0, 1]
    same(robot.link_pose([*base, *q], 'body2'), table.pose(q))
    with pytest.raises(DescriptionError, match='3 link names'):
        Robot.from_geometry(arm, links=['a', 'b', 'c'])


def test_a_robot_does_not_change_through_its_answers(robot, state):
    """Names are tuples, limits cannot be written, gravity and results are copies."""
    before = robot.gravity_torques(state[0])
    robot.gravity_torques(state[0])[:] = 0.0
    robot.gravity[:] = 0.0
    with pytest.raises(ValueError, match='read-only'):
        robot.limits.lower[0] = 5.0
    np.testing.assert_array_equal(robot.gravity_torques(state[0]), before)
    assert robot.limits.lower[0] == -2.0
    assert isinstance(robot.joint_names, tuple)
    assert isinstance(robot.link_names, tuple)


@BACKENDS
def test_a_robot_without_joints(backend):
    robot = Robot(
        RobotDescription.from_parts(
            'stone', [Link('stone', Inertia(2.0, np.array([0.1, 0, 0.2]), np.eye(3)))], []
        ),
        backend=backend,
    )
    nothing = np.zeros(0)
    assert (robot.nq, robot.nv, robot.joint_names) == (0, 0, ())
    np.testing.assert_array_equal(robot.link_poses(nothing), [np.eye(4)])
    assert robot.mass_matrix(nothing).shape == (0, 0)
    assert robot.inverse_dynamics(nothing, nothing, nothing).shape == (0,)
    assert robot.forward_dynamics(nothing, nothing, nothing).shape == (0,)
    assert robot.jacobian(nothing, 'stone').shape == (6, 0)
    assert robot.coriolis_matrix(np.zeros((5, 0)), np.zeros((5, 0))).shape == (5, 0, 0)
    assert robot.kinetic_energy(nothing, nothing) == 0.0
    assert robot.potential_energy(nothing) == pytest.approx(2 * 9.81 * 0.2)
    np.testing.assert_allclose(robot.center_of_mass(nothing), [0.1, 0, 0.2])


# --- gravity --------------------------------------------------------------------------------------


def test_gravity_can_be_changed_while_running(robot, state):
    q, v, a = state
    other = Robot(robot.description, gravity=(1, 2, 3), backend='reference')
    for name, arguments in (
        ('gravity_torques', (q,)),
        ('potential_energy', (q,)),
        ('inverse_dynamics', (q, v, a)),
        ('forward_dynamics', (q, v, a)),
    ):
        robot.gravity = (0, 0, -9.81)
        for _ in range(3):  # the second call takes the fast path
            before = getattr(robot, name)(*arguments)
        robot.gravity = [1, 2, 3]
        for _ in range(3):
            same(getattr(robot, name)(*arguments), getattr(other, name)(*arguments))
        assert np.abs(np.subtract(before, getattr(robot, name)(*arguments))).max() > 1e-2
    np.testing.assert_array_equal(robot.gravity, [1, 2, 3])


def test_a_function_kept_from_before_follows_the_gravity(robot, state):
    """`g = robot.gravity_torques` once, called in a loop, while gravity is set."""
    robot.gravity_torques(state[0])
    kept = robot.gravity_torques
    kept(state[0])
    robot.gravity = (0, 0, 0)
    np.testing.assert_array_equal(kept(state[0]), np.zeros(4))


@pytest.mark.skipif(not native.available(), reason='no llvmlite')
def test_a_function_kept_from_before_its_first_call_becomes_fast(monkeypatch):
    """`f = robot.inverse_dynamics` before anything is compiled; what does not fit still works."""
    robot = Robot(random_description(0, 4), backend='native')
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, 4))
    torques, jacobian = robot.inverse_dynamics, robot.jacobian
    expected = torques(q, v, a), jacobian(q, 'link2'), jacobian(q, 'link2', 'body')
    stacks = torques(np.stack([q, q]), v, a)
    monkeypatch.setattr(NativeKernel, 'single', None)  # the slow path of single calls
    for _ in range(2):
        same(torques(q, v, a), expected[0])
        same(torques(q, v, a, {}), expected[0])
        same(torques(np.stack([q, q]), v, a), stacks)
        same(jacobian(q, 'link2'), expected[1])
        same(jacobian(q, link='link2', representation='body'), expected[2])
        with pytest.raises(ArgumentError, match='q must have shape'):
            torques(q[1:], v, a)


def test_a_method_replaced_on_one_robot_may_call_the_one_it_replaces(robot, state):
    original = robot.mass_matrix
    expected = original(state[0])
    robot.mass_matrix = lambda q: 2 * original(q)
    for _ in range(2):
        same(robot.mass_matrix(state[0]), 2 * expected)


@pytest.mark.parametrize(
    'value', [[0, 0], [0, 0, np.nan], [0, 0, np.inf], 'down', None, 9.81, [[0, 0, 1]]]
)
def test_gravity_that_is_none(robot, value, state):
    before = robot.gravity_torques(state[0])
    with pytest.raises(ArgumentError, match='gravity'):
        robot.gravity = value
    with pytest.raises(ArgumentError, match='gravity'):
        Robot(robot.description, gravity=value)
    np.testing.assert_array_equal(robot.gravity_torques(state[0]), before)


# --- arguments ------------------------------------------------------------------------------------


def test_arguments_are_not_changed_and_results_are_new(robot, state):
    q, v, a = state
    kept = q.copy(), v.copy(), a.copy()
    first, second = robot.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a)
    assert first is not second
    assert not np.shares_memory(first, second)
    assert first.flags.writeable
    assert first.dtype == np.float64
    for before, after in zip(kept, state):
        np.testing.assert_array_equal(before, after)
    same(robot.inverse_dynamics(q, q, q), robot.inverse_dynamics(q, q.copy(), q.copy()))


def test_scalars_are_floats_and_stacks_of_scalars_arrays(robot, state):
    q, v, _ = state
    for _ in range(2):
        assert type(robot.potential_energy(q)) is float
        assert type(robot.kinetic_energy(q, v)) is float
    assert robot.potential_energy(q[None]).shape == (1,)
    assert robot.kinetic_energy(np.stack([q, q]), v).shape == (2,)


def test_wrenches_in_any_order_and_as_lists(robot, state):
    """Any order gives the same, compiled once."""
    q, v, a = state
    wrenches = random_wrenches(robot, np.random.default_rng(0), count=4)
    for name in ('inverse_dynamics', 'forward_dynamics'):
        function = getattr(robot, name)
        expected = function(q, v, a, wrenches)
        reverse = {link: list(wrenches[link]) for link in reversed(wrenches)}
        same(function(q, v, a, reverse), expected)
        same(function(q, v, a, external_wrenches=reverse), expected)
        stacks = {link: np.stack([W, 2 * W]) for link, W in wrenches.items()}
        doubled = {link: 2 * W for link, W in wrenches.items()}
        same(function(q, v, a, stacks), [expected, function(q, v, a, doubled)])
        same(
            function(q, v, a, {robot.link_names[0]: np.ones(6)}), function(q, v, a)
        )  # on the ground
        same(function(q, v, a), function(q, v, a, {}))
    made = [links for _, _, links in robot.kernels if len(links) > 1]
    assert len(made) == 2  # for each function one


def test_messages_name_the_argument_and_the_order(robot, state):
    q, v, a = state
    with pytest.raises(ArgumentError, match='joint_names: ' + ', '.join(robot.joint_names)):
        robot.mass_matrix(np.zeros(6))
    with pytest.raises(ArgumentError, match=r'q must have shape \(4,\) or \(N, 4\), got \(3,\)'):
        robot.link_pose(np.zeros(3), 'link1')
    with pytest.raises(ArgumentError, match='q must hold real numbers: dtype complex128'):
        robot.mass_matrix(np.zeros(4, dtype=complex))
    with pytest.raises(ArgumentError, match=r'v must have shape \(4,\)'):
        robot.inverse_dynamics(q, np.zeros(6), a)
    with pytest.raises(ArgumentError, match=r'tau must have shape \(4,\)'):
        robot.forward_dynamics(q, v, np.zeros(1))
    with pytest.raises(
        ArgumentError, match=r'stacks must have the same length.*q: \(3, 4\), v: \(2, 4\)'
    ):
        robot.inverse_dynamics(np.zeros((3, 4)), np.zeros((2, 4)), a)


@pytest.mark.parametrize('link', ['link9', '', 'Link1', None, 3, ['link1'], b'link1'])
def test_unknown_links(robot, state, link):
    q, v, a = state
    robot.link_pose(q, 'link1')
    robot.jacobian(q, 'link1', 'body')
    for call in (
        lambda: robot.link_pose(q, link),
        lambda: robot.jacobian(q, link),
        lambda: robot.jacobian(q, link, 'body'),
        lambda: robot.velocity(q, v, link),
    ):
        with pytest.raises(UnknownNameError, match=r'no link named .*; the links are link0, link1'):
            call()
    if not isinstance(link, list):
        with pytest.raises(UnknownNameError, match='no link named'):
            robot.inverse_dynamics(q, v, a, {link: np.zeros(6)})


@pytest.mark.parametrize('representation', ['Body', 'world', '', None, 0, ['body']])
def test_unknown_representations(robot, state, representation):
    robot.jacobian(state[0], 'link1')
    with pytest.raises(UnknownNameError, match='choose one of body, spatial, hybrid, mixed'):
        robot.jacobian(state[0], 'link1', representation)


def test_unknown_joint(robot):
    with pytest.raises(UnknownNameError, match=r'no joint named .elbow.*joint1'):
        robot.joint_coordinates('elbow')


@pytest.mark.parametrize('backend', ['fortran', '', None, [], 1])
def test_unknown_backends(backend):
    with pytest.raises(UnknownNameError, match='choose one of auto, native, python, reference'):
        Robot(random_description(0, 2), backend=backend)


def test_a_missing_argument_is_a_type_error(robot, state):
    robot.inverse_dynamics(*state)
    for arguments in ((), state[:1], (*state, None, None)):
        with pytest.raises(TypeError, match='inverse_dynamics'):
            robot.inverse_dynamics(*arguments)
    with pytest.raises(TypeError, match='nonsense'):
        robot.mass_matrix(state[0], nonsense=1)


# --- Python's own machinery -----------------------------------------------------------------------


def test_robots_can_be_sent_to_other_processes(robot, state):
    robot.gravity = (1, 2, 3)
    robot.gravity_torques(state[0])
    duplicate = pickle.loads(pickle.dumps(robot))
    same(duplicate.gravity_torques(state[0]), robot.gravity_torques(state[0]))
    assert duplicate.backend == robot.backend
    assert repr(duplicate) == repr(robot)


def test_every_error_is_in_one_tree():
    for error in (ArgumentError, InertiaError, UnknownNameError):
        assert issubclass(error, ScrewDynamicsError)
