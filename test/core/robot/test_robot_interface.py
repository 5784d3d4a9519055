# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Functions of a `Robot` as Python objects, before and after their first call."""

from __future__ import annotations

import copy
import inspect
import logging
import pickle
import pydoc
import re

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.compile.cpython import layout
from screw_dynamics_ros.core.compile.llvm import native
from screw_dynamics_ros.core.robot.functions import FUNCTIONS, compiled
from support.models import random_configuration, random_description, random_wrenches, to_urdf

needs_llvmlite = pytest.mark.skipif(not native.available(), reason='llvmlite is missing')


@pytest.fixture(scope='module')
def description():
    return random_description(5, joints=2, chain=True)


@pytest.fixture
def robot(description):
    return Robot(description, floating_base=True)


def arguments(robot, function):
    """Return a value for each parameter without a default."""
    rng = np.random.default_rng(1)
    values = {
        'q': random_configuration(robot, rng),
        'payload': robot.payload_parameters({}),
        'link': robot.link_names[-1],
        'prescribed': np.zeros(robot.nv, dtype=bool),
    }
    parameters = function.signature.parameters.values()
    return [
        values[p.name] if p.name in values else rng.uniform(-1, 1, robot.nv)
        for p in parameters
        if p.default is p.empty
    ]


def bare(signature):
    """Return a signature without annotations, which builtin functions cannot have."""
    return [(p.name, p.kind, p.default) for p in signature.parameters.values()]


@pytest.mark.parametrize('name', FUNCTIONS)
def test_signature_and_help_stay(robot, name):
    before = getattr(robot, name)
    expected, documentation = bare(inspect.signature(before)), inspect.getdoc(before)
    assert documentation
    assert expected == bare(FUNCTIONS[name].signature)
    before(*arguments(robot, FUNCTIONS[name]))
    after = getattr(robot, name)
    assert bare(inspect.signature(after)) == expected
    assert inspect.getdoc(after) == documentation
    assert f'{name}(' in pydoc.plain(pydoc.render_doc(after))
    assert after.__name__ == name


@needs_llvmlite
def test_most_functions_become_builtin(robot):
    """What the tests here are about."""
    for name, function in FUNCTIONS.items():
        getattr(robot, name)(*arguments(robot, function))
        is_builtin = inspect.isbuiltin(getattr(robot, name))
        assert is_builtin == (name != 'hybrid_dynamics'), name


def test_help_of_the_class_lists_functions_as_methods():
    text = pydoc.plain(pydoc.render_doc(Robot))
    for name in ('inverse_dynamics', 'jacobian', 'inverse_kinematics', 'neutral', 'interpolate'):
        assert re.search(rf'\n \|  {name}\([\s|]*self', text)


def test_completion(robot):
    names = set(dir(robot))
    assert names >= {*FUNCTIONS, 'joint_names', 'inverse_kinematics'}
    robot.mass_matrix(robot.neutral())
    assert set(dir(robot)) == names


@pytest.mark.parametrize(
    'duplicate', [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
@pytest.mark.parametrize('called', [False, True])
def test_copies(robot, duplicate, called):
    q = robot.random_configuration(2)
    expected = (
        robot.mass_matrix(q)
        if called
        else Robot(robot.description, floating_base=True).mass_matrix(q)
    )
    other = duplicate(robot)
    assert other is not robot
    np.testing.assert_array_equal(other.mass_matrix(q), expected)
    other.gravity = (0.0, 0.0, 0.0)
    assert robot.gravity[2] == -9.81


@pytest.mark.parametrize('called', [False, True])
def test_a_function_can_be_pickled(robot, called):
    """As in `multiprocessing.Pool.map(robot.mass_matrix, ...)`."""
    q = robot.random_configuration(2)
    if called:
        robot.mass_matrix(q)
    there = pickle.loads(pickle.dumps(robot.mass_matrix))
    np.testing.assert_array_equal(there(q), robot.mass_matrix(q))


class Doubled(Robot):
    """Overrides a function and calls what it overrides."""

    def mass_matrix(self, q):
        return 2.0 * super().mass_matrix(q)


def test_overrides_win_before_and_after_the_first_call(description):
    robot, plain = Doubled(description), Robot(description)
    q = plain.random_configuration(3)
    expected = 2.0 * plain.mass_matrix(q)
    for _ in range(3):
        np.testing.assert_array_equal(robot.mass_matrix(q), expected)
    np.testing.assert_array_equal(robot.mass_matrix([q, q])[1], expected)
    np.testing.assert_array_equal(Robot.mass_matrix(robot, q), expected / 2)


def test_all_ways_to_pass_arguments(robot):
    rng = np.random.default_rng(4)
    q, (v, a) = random_configuration(robot, rng), rng.uniform(-1, 1, (2, robot.nv))
    link, wrenches = robot.link_names[-1], random_wrenches(robot, rng, 2)
    for _ in range(2):
        expected = robot.inverse_dynamics(q, v, a, wrenches)
        for found in (
            robot.inverse_dynamics(q, a=a, v=v, external_wrenches=wrenches),
            robot.inverse_dynamics(q, v, a, external_wrenches=wrenches),
            Robot.inverse_dynamics(robot, q, v, a, wrenches),
        ):
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(
            robot.jacobian(link=link, q=q), robot.jacobian(q, link, 'hybrid')
        )
        for call in (
            lambda: robot.jacobian(q),
            lambda: robot.jacobian(q, link, 'body', 1),
            lambda: robot.jacobian(q, lnik=link),
        ):
            with pytest.raises(TypeError, match=r'jacobian\(\)'):
                call()


def test_a_function_must_say_its_inputs_in_the_order_of_its_parameters():
    with pytest.raises(ValueError, match='cannot be a function of'):

        @compiled(lambda tree, q, v: q, 'q', 'v')
        def swapped(self, v, q):
            """Return nothing."""

    with pytest.raises(ValueError, match='cannot be a function of'):

        @compiled(lambda tree, q: q, 'q')
        def mass_matrix(self, q):
            """Return nothing."""


# --- another Python -------------------------------------------------------------------------------


@needs_llvmlite
@pytest.mark.parametrize(
    ('name', 'value', 'words'),
    [
        ('DATA', layout.DATA + 8, 'the data of an array'),
        ('ND', layout.ND + 16, 'the number of axes'),
        ('PYARRAY_EMPTY', None, 'TypeError'),
    ],
)
def test_another_layout_is_noticed_and_told_once(
    description, monkeypatch, caplog, name, value, words
):
    """Functions are then called through Python: slower, with the same results."""
    q = Robot(description).random_configuration(3)
    expected = Robot(description).mass_matrix(q)
    for cached in (layout.is_usable, layout.c_api):
        cached.cache_clear()
    monkeypatch.setattr(layout, name, value)
    with caplog.at_level(logging.WARNING):
        robot = Robot(description)
        for _ in range(2):
            np.testing.assert_array_equal(robot.mass_matrix(q), expected)
        robot.gravity_torques(q)
    assert not inspect.isbuiltin(robot.mass_matrix)
    (message,) = (record.getMessage() for record in caplog.records)
    assert words in message
    for cached in (layout.is_usable, layout.c_api):
        cached.cache_clear()


def test_the_layout_here_is_known():
    assert layout.layout_fault() == ''


# --- configurations -------------------------------------------------------------------------------


def test_neutral_and_random_configurations(description):
    robot = Robot(description, floating_base=True)
    assert robot.neutral().tolist() == [0.0] * 6 + [1.0] + [0.0] * (robot.nq - 7)
    q = robot.random_configuration(np.random.default_rng(0), (2, 3))
    assert q.shape == (2, 3, robot.nq)
    np.testing.assert_allclose(np.linalg.norm(q[..., 3:7], axis=-1), 1.0, rtol=1e-15)
    np.testing.assert_array_equal(robot.random_configuration(7), robot.random_configuration(7))
    fixed = Robot(description)
    limits = fixed.limits
    many = fixed.random_configuration(0, 1000)
    lower = np.where(np.isfinite(limits.lower), limits.lower, -np.pi)
    upper = np.where(np.isfinite(limits.upper), limits.upper, np.pi)
    assert (many >= lower).all()
    assert (many <= upper).all()
    assert (np.ptp(many, axis=0) > 0.9 * (upper - lower)).all()


AT_HOME = {  # joints, their limits, and where home is
    'both_sides': (('revolute', -1.0, 2.0), 0.0),
    'positive': (('revolute', 0.5, 2.0), 0.5),
    'negative': (('prismatic', -2.0, -0.25), -0.25),
    'at_zero': (('prismatic', 0.0, 0.04), 0.0),
    'none': (('continuous', None, None), 0.0),
}


@pytest.mark.parametrize('floating_base', [False, True])
def test_home_is_the_nearest_configuration_within_the_limits(floating_base):
    """Mimic joints follow, whatever their own range is; free and planar joints are at neutral."""
    links, joints = ['base'], []

    def joint(name, kind, more=''):
        joints.append(
            f'<joint name="{name}" type="{kind}"><parent link="{links[-1]}"/>'
            f'<child link="of_{name}"/><axis xyz="0 0 1"/>{more}</joint>'
        )
        links.append(f'of_{name}')

    def limit(lower, upper):
        return f'<limit lower="{lower}" upper="{upper}" effort="1" velocity="1"/>'

    for name, ((kind, lower, upper), _) in AT_HOME.items():
        joint(name, kind, '' if lower is None else limit(lower, upper))
    joint('follower', 'revolute', '<mimic joint="positive" multiplier="2"/>' + limit(-0.1, 0.1))
    joint('cart', 'planar')
    joint('ball', 'floating')
    text = ''.join(f'<link name="{link}"/>' for link in links) + ''.join(joints)
    robot = Robot.from_urdf(f'<robot name="r">{text}</robot>', floating_base=floating_base)
    q, expected = robot.home(), robot.neutral()
    for name, (_, position) in AT_HOME.items():
        expected[robot.joint_coordinates(name)[0]] = position
    np.testing.assert_array_equal(q, expected)
    turn = robot.link_pose(q, 'of_none')[:3, :3].T @ robot.link_pose(q, 'of_follower')[:3, :3]
    assert np.arctan2(turn[1, 0], turn[0, 0]) == pytest.approx(2 * 0.5)


@pytest.mark.parametrize('increments', ['body', 'spatial', 'mixed', 'hybrid'])
@pytest.mark.parametrize('stack', [(), (5,)])
def test_difference_is_the_inverse_of_integrate(robot, increments, stack):
    q0, q1 = robot.random_configuration(1, stack), robot.random_configuration(2, stack)
    X = robot.difference(q0, q1, increments)
    assert X.shape == (*stack, robot.nv)
    there = robot.integrate(q0, X, increments)
    there[..., 3:7] *= np.sign((there * q1)[..., 3:7].sum(-1, keepdims=True))
    np.testing.assert_allclose(there, q1, atol=1e-13)
    np.testing.assert_allclose(robot.interpolate(q0, q1, 0.0, increments), q0, atol=1e-14)


def test_half_a_turn_has_a_difference(robot):
    q0, q1 = robot.neutral(), robot.neutral()
    for axis in np.eye(3):
        q1[3:7] = [*axis, 0.0]
        np.testing.assert_allclose(np.abs(robot.difference(q0, q1)[:3]), np.pi * axis, atol=1e-15)


def test_interpolation_in_steps(robot):
    q0, q1 = robot.random_configuration(1), robot.random_configuration(2)
    way = robot.interpolate(q0, q1, np.linspace(0.0, 1.0, 5))
    steps = robot.difference(way[:-1], way[1:])
    np.testing.assert_allclose(steps, np.tile(robot.difference(q0, q1) / 4, (4, 1)), atol=1e-13)


def test_configurations_like_pinocchio(description):
    pin = pytest.importorskip('pinocchio')
    from oracles.pinocchio_model import Pinocchio

    robot = Robot(description, floating_base=True)
    model = Pinocchio(to_urdf(description), robot).model
    rng = np.random.default_rng(3)
    np.testing.assert_array_equal(robot.neutral(), pin.neutral(model))
    # Pinocchio has the linear part of the base first.
    swap = np.r_[3:6, 0:3, 6 : robot.nv]
    for _ in range(20):
        q0, q1 = robot.random_configuration(rng), robot.random_configuration(rng)
        X = robot.difference(q0, q1)
        np.testing.assert_allclose(X[swap], pin.difference(model, q0, q1), atol=1e-12)
        np.testing.assert_allclose(
            robot.integrate(q0, 0.3 * X), pin.integrate(model, q0, 0.3 * X[swap]), atol=1e-12
        )
        ours, theirs = robot.interpolate(q0, q1, 0.3), pin.interpolate(model, q0, q1, 0.3)
        ours[3:7] *= np.sign(ours[3:7] @ theirs[3:7])
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_configurations_that_cannot_be(robot):
    with pytest.raises(ArgumentError, match='q1 must have shape'):
        robot.difference(robot.neutral(), np.zeros(3))
    with pytest.raises(UnknownNameError, match='representation'):
        robot.difference(robot.neutral(), robot.neutral(), 'world')
