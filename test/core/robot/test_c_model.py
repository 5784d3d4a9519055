# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A model as a shared object, read without its header: Pinocchio's values, names, limits, links."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from screw_dynamics_ros.cli import compile as command
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.description_hash import description_hash
from screw_dynamics_ros.core.robot.c_model import VERSION, c_model
from screw_dynamics_ros.entry import DONE, NEGATIVE
from support.compilation import needs_llvmlite
from support.cpp_programs import Vector, needs_compilers, shared_object
from support.robots import urdf_path

pin = pytest.importorskip('pinocchio')

from oracles.pinocchio_model import Pinocchio  # noqa: E402

pytestmark = needs_compilers
P = ctypes.c_void_p


def function(count: int) -> type:
    """Return the type of a function of arrays."""
    return ctypes.CFUNCTYPE(None, *[P] * count)


class Link(ctypes.Structure):
    _fields_ = [
        ('name', ctypes.c_char_p),
        ('count', ctypes.c_uint32),
        ('bodies', ctypes.POINTER(ctypes.c_uint32)),
        ('moving', ctypes.POINTER(ctypes.c_uint32)),
        ('pose', function(2)),
        ('jacobian', function(2)),
    ]


class ModelConstants(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_uint32) for name in ('version', 'bytes')),
        *((name, ctypes.c_char_p) for name in ('robot', 'robot_hash', 'description_hash')),
        *((name, Vector) for name in ('q', 'v', 'tau')),
        ('gravity', ctypes.c_double * 3),
        ('link_count', ctypes.c_uint32),
        ('links', ctypes.POINTER(Link)),
        ('mass_matrix', function(2)),
        ('bias', function(4)),
        ('gravity_torques', function(3)),
        ('coriolis_torques', function(3)),
        ('friction_torques', function(2)),
        ('inverse_dynamics', function(5)),
    ]


class Model:
    """The library of a robot, its `Robot` and its Pinocchio model."""

    def __init__(self, name: str, folder: Path) -> None:
        self.text = urdf_path(name).read_text()
        arguments = [str(urdf_path(name)), '--model-library', '--name', name, '--folder']
        assert command.main([*arguments, str(folder)]) == DONE
        self.library = ctypes.CDLL(str(shared_object(folder / f'{name}.c')))
        self.constants = ModelConstants.in_dll(self.library, 'screw_dynamics_model')
        self.robot = Robot.from_urdf(urdf_path(name), backend='reference')
        self.theirs = Pinocchio(self.text, self.robot)

    @property
    def links(self) -> list[Link]:
        return self.constants.links[: self.constants.link_count]


def call(function_, shape: tuple[int, ...], *inputs: np.ndarray) -> np.ndarray:
    """Return the result of a function."""
    arrays = [*(np.array(each, dtype=float) for each in inputs), np.full(shape, np.nan)]
    function_(*(each.ctypes.data for each in arrays))
    return arrays[-1]


@pytest.fixture(scope='module', params=['panda', 'gripper_tree'])
def model(request, tmp_path_factory) -> Model:
    return Model(request.param, tmp_path_factory.mktemp('model'))


def test_the_library_describes_itself(model):
    constants, robot = model.constants, model.robot
    assert (constants.version, constants.bytes) == (VERSION, ctypes.sizeof(ModelConstants))
    texts = (constants.robot, constants.robot_hash, constants.description_hash)
    hashes = robot.regrouped_tree.digest, description_hash(model.text)
    assert [text.decode() for text in texts] == [robot.description.name, *hashes]
    assert list(constants.gravity) == list(robot.gravity)
    limits = robot.limits
    bounds = {'q': limits.lower, 'v': -limits.velocity, 'tau': -limits.effort}
    for name, lower in bounds.items():
        fields = getattr(constants, name).fields[: robot.nv]
        assert [each.name.decode() for each in fields] == list(robot.joint_names)
        assert [each.offset for each in fields] == list(range(robot.nv))
        assert [each.minimum for each in fields] == lower.tolist()
    assert [each.maximum for each in constants.q.fields[: robot.nv]] == limits.upper.tolist()
    assert [each.name.decode() for each in model.links] == list(robot.link_names)


def test_all_functions_agree_with_pinocchio(model):
    """Friction, which Pinocchio does not have, with that of the robot."""
    rng = np.random.default_rng(7)
    constants, theirs, n = model.constants, model.theirs, model.robot.nv
    close = {'rtol': 1e-10, 'atol': 1e-10}
    for _ in range(5):
        q, v, a = rng.uniform(-1.0, 1.0, (3, n))
        g = np.array(constants.gravity)
        bias = theirs.inverse_dynamics(q, v, np.zeros(n))
        pairs = {
            'mass_matrix': (theirs.mass_matrix(q), q),
            'bias': (bias, q, v, g),
            'gravity_torques': (theirs.gravity_torques(q), q, g),
            'coriolis_torques': (theirs.coriolis_torques(q, v), q, v),
            'friction_torques': (model.robot.friction_torques(v), v),
            'inverse_dynamics': (theirs.inverse_dynamics(q, v, a), q, v, a, g),
        }
        for name, (expected, *inputs) in pairs.items():
            found = call(getattr(constants, name), expected.shape, *inputs)
            np.testing.assert_allclose(found, expected, **close, err_msg=name)
        jacobians = theirs.jacobians(q, model.robot.link_names, 'hybrid')
        for link, pose, jacobian in zip(model.links, theirs.link_poses(q), jacobians):
            np.testing.assert_allclose(call(link.pose, (4, 4), q), pose, **close)
            np.testing.assert_allclose(call(link.jacobian, (6, n), q), jacobian, **close)
            still = np.setdiff1d(np.arange(n), link.moving[: link.count])
            assert not np.any(jacobian[:, still])


def test_mimic_joints_share_a_place_but_not_a_body(model):
    if model.robot.description.name == 'panda':
        names = ('panda_leftfinger', 'panda_rightfinger')
    else:
        names = ('finger_left', 'finger_right')
    left, right = (next(x for x in model.links if x.name.decode() == name) for name in names)
    count = left.count
    assert left.moving[:count] == right.moving[:count]
    assert left.bodies[: count - 1] == right.bodies[: count - 1]
    assert left.bodies[count - 1] != right.bodies[count - 1]


def test_nan_stays_nan(model):
    """The functions have no checks: what depends on an undefined number is undefined."""
    n, g = model.robot.nv, np.array(model.constants.gravity)
    q = np.full(n, np.nan)
    assert np.isnan(call(model.constants.gravity_torques, (n,), q, g)).any()
    assert np.isnan(call(model.constants.bias, (n,), np.zeros(n), q, g)).all()


@needs_llvmlite
def test_the_functions_may_come_from_an_object_file(tmp_path):
    arguments = ['--model-library', '--link', 'tip', '--name', 'arm', '--folder', str(tmp_path)]
    target = ['--target', 'x86_64-linux-gnu', '--cpu', 'x86-64']
    assert command.main([str(urdf_path('planar_2r')), *arguments, *target]) == DONE
    library = ctypes.CDLL(str(shared_object(tmp_path / 'arm.c', '-DARM_OBJECT', 'arm.o')))
    constants = ModelConstants.in_dll(library, 'screw_dynamics_model')
    links = constants.links[: constants.link_count]
    assert [each.name.decode() for each in links] == ['base', 'tip']
    robot = Robot.from_urdf(urdf_path('planar_2r'))
    q = np.array([0.3, -0.7])
    found = call(links[1].pose, (4, 4), q)
    np.testing.assert_allclose(found, robot.link_pose(q, 'tip'), rtol=1e-15, atol=1e-15)


def test_a_floating_base_comes_first():
    robot = Robot.from_urdf(urdf_path('planar_2r'), floating_base=True, backend='reference')
    header = c_model(robot, 'arm', ['tip']).header
    assert ' *   floating_base: q[0] to q[6], v[0] to v[5]\n' in header
    assert 'description hash unknown' in header


@pytest.mark.parametrize(
    ('options', 'status', 'reason'),
    [
        (['--model-library', '--link', 'hand'], NEGATIVE, "no link named 'hand'"),
        (['--model-library', '--name', 'sin'], NEGATIVE, "'sin' cannot be a name"),
        (['--model-library', 'mass_matrix'], 2, 'either outputs, --law or --model-library'),
        (['mass_matrix', '--link', 'tip'], 2, '--link needs --model-library'),
    ],
)
def test_the_command_refuses(options, status, reason, capsys):
    try:
        found = command.main([str(urdf_path('planar_2r')), *options])
    except SystemExit as end:
        found = end.code
    assert found == status
    assert reason in capsys.readouterr().err
