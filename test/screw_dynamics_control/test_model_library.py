# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The C++ classes of model libraries: values of Pinocchio, orders of joints, what is refused."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from screw_dynamics_ros.cli import compile as command
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.description_hash import description_hash
from screw_dynamics_ros.core.robot.c_interface import FIELD_TYPES
from screw_dynamics_ros.core.robot.c_model import TYPES, VERSION
from screw_dynamics_ros.entry import DONE
from support.cpp_programs import (
    COMPILER,
    INCLUDE,
    SANITIZERS,
    built,
    needs_compilers,
    run,
    shared_object,
    with_digest,
)
from support.robots import urdf_path

pin = pytest.importorskip('pinocchio')

from oracles.pinocchio_model import Pinocchio  # noqa: E402

pytestmark = needs_compilers
HEADERS = INCLUDE / 'screw_dynamics_control'
CLOSE = {'rtol': 1e-10, 'atol': 1e-10}
ROBOTS = ('panda', 'gripper_tree')


def numbers(*arrays: Iterable[float]) -> str:
    """Return arrays as the program reads them."""
    return ' : ' + ', '.join(' '.join(float(x).hex() for x in np.ravel(each)) for each in arrays)


class Program:
    """The program with the libraries of both robots."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        text = (Path(__file__).parent / 'model_library.cpp').read_text()
        self.path = built(folder, 'program', text, *SANITIZERS)
        for name in ROBOTS:
            write(name, folder)
            shared_object(folder / f'{name}.c')

    def run(self, name: str, *commands: str) -> list[str]:
        """Return what the program prints for commands to the model of a robot."""
        first = f'model {name}.so {urdf_path(name)}'
        (self.folder / 'commands').write_text('\n'.join((first, *commands)) + '\n')
        loaded, *lines = run(self.path, 'commands')
        assert loaded == ''
        return lines


def write(name: str, folder: Path, *options: str) -> None:
    """Write the C file of a model."""
    given = [str(urdf_path(name)), '--model-library', '--name', name, '--folder', str(folder)]
    assert command.main([*given, *options]) == DONE


def array(line: str) -> np.ndarray:
    return np.array([float.fromhex(each) for each in line.split()])


def counted(line: str) -> np.ndarray:
    """Return the numbers of a call that must not allocate."""
    allocated, _, rest = line.partition(' ')
    assert allocated == '0'
    return array(rest)


@pytest.fixture(scope='module')
def program(tmp_path_factory) -> Program:
    return Program(tmp_path_factory.mktemp('model_library'))


def robot_of(name: str) -> Robot:
    return Robot.from_urdf(urdf_path(name), backend='reference')


def test_the_header_has_the_types_of_the_source():
    assert TYPES in (HEADERS / 'model_library.hpp').read_text()
    assert FIELD_TYPES in (HEADERS / 'fields.hpp').read_text()


# --- kinematics -----------------------------------------------------------------------------------

#: Robot, base, link, and the joints between them: along the tree, back, across it; fingers that one
#: coordinate moves apart.
CHAINS = [
    ('panda', '-', 'panda_hand_tcp', [f'panda_joint{k}' for k in range(1, 8)]),
    ('panda', 'panda_link2', 'panda_link5', [f'panda_joint{k}' for k in range(3, 6)]),
    ('panda', 'panda_hand', 'panda_link6', ['panda_joint7']),
    ('panda', 'panda_leftfinger', 'panda_rightfinger', ['panda_finger_joint1']),
    ('gripper_tree', 'camera', 'tcp', ['tilt', 'pan', 'lift', 'shoulder', 'elbow', 'wrist']),
    ('gripper_tree', 'fingertip_left', 'finger_right', ['knuckle_left']),
]


@pytest.mark.parametrize(('name', 'base', 'tip', 'joints'), CHAINS)
def test_kinematics_relative_to_a_base(program, name, base, tip, joints):
    """Pinocchio's body Jacobians of link and base, joined in the frame of the link."""
    robot = robot_of(name)
    theirs = Pinocchio(urdf_path(name).read_text(), robot)
    root = robot.link_names[0] if base == '-' else base
    places = [robot.joint_names.index(each) for each in joints]
    q = np.zeros(robot.nv)
    q[places] = np.random.default_rng(5).uniform(-1.0, 1.0, len(places))
    own = numbers(q[places])
    calls = [f'{each} {tip}{own}' for each in ('pose', 'jacobian', 'inverse')]
    chain, pose, jacobian, inverse = program.run(name, f'kinematics {base} {tip} 1e-3', *calls)
    assert chain.split() == joints

    poses = dict(zip(robot.link_names, theirs.link_poses(q)))
    T = np.linalg.inv(poses[root]) @ poses[tip]
    np.testing.assert_allclose(array(pose).reshape(4, 4).T, T, **CLOSE)
    of_base, of_tip = theirs.jacobians(q, [root, tip], 'body')[:, :, places]
    back = pin.SE3(T).inverse().action[np.ix_([3, 4, 5, 0, 1, 2], [3, 4, 5, 0, 1, 2])]
    J = np.kron(np.eye(2), T[:3, :3]) @ (of_tip - back @ of_base)
    expected = J[[3, 4, 5, 0, 1, 2]]
    found = counted(jacobian).reshape(-1, 6).T
    np.testing.assert_allclose(found, expected, **CLOSE)
    assert np.abs(expected).max() > 0.05
    damped = np.linalg.solve(expected.T @ expected + 1e-3 * np.eye(len(places)), expected.T)
    np.testing.assert_allclose(counted(inverse).reshape(6, -1).T, damped, **CLOSE)


def test_without_damping_the_inverse_is_that_of_moore_and_penrose(program):
    q = np.array([0.1, -0.4, 0.3, -1.9, 0.2, 1.7, 0.5])
    for base, tip, count in (('-', 'panda_link8', 7), ('panda_link1', 'panda_link8', 6)):
        calls = [f'{each} {tip}{numbers(q[7 - count :])}' for each in ('jacobian', 'inverse')]
        _, J, inverse = program.run('panda', f'kinematics {base} {tip} 0', *calls)
        expected = np.linalg.pinv(counted(J).reshape(-1, 6).T)
        np.testing.assert_allclose(
            counted(inverse).reshape(6, -1).T, expected, rtol=1e-9, atol=1e-9
        )


Q2, Q7 = numbers(np.zeros(2)), numbers(np.zeros(7))


@pytest.mark.parametrize(
    ('setup', 'call', 'reason'),
    [
        (
            '- panda_hand_tcp 0',
            f'pose panda_link4{Q2}',
            'got 2 positions, expected those of',
        ),
        ('- panda_hand_tcp 0', f'jacobian hand{Q7}', "has no link 'hand'; it has panda_link0, pan"),
        ('- panda_link2 0', f'jacobian panda_link3{Q2}', "moves 'panda_link3' by joint 'panda_joi"),
        ('- panda_link2 0', 'pose panda_link2 : nan 0', "got nan in the positions for joint 'pand"),
        (
            '- panda_link2 0',
            'pose panda_link2 : 0 -inf',
            '-inf in the positions for joint',
        ),
        ('- panda_link8 0', f'inverse panda_link4{Q7}', "has a singular Jacobian of 'panda_link4'"),
        ('- panda_link2 0', f'inverse panda_link2{Q2}', "has a singular Jacobian of 'panda_link2'"),
        ('- panda_link2 -1', '', 'got the damping -1.000000: it must be at least 0'),
        ('- panda_link2 nan', '', 'got the damping nan: it must be at least 0'),
        ('- hand 0', '', "has no link 'hand'"),
        ('hand panda_link2 0', '', "has no link 'hand'"),
    ],
)
def test_kinematics_refuse(program, setup, call, reason):
    first, *rest = program.run('panda', f'kinematics {setup}', *filter(None, [call]))
    line = rest[0] if call else first
    assert 'error: panda.so ' in line
    assert reason in line


def test_frame_differences_are_those_of_pinocchio(program):
    """In the axes of the base; quaternions of any size and either sign."""
    rng = np.random.default_rng(11)
    cases = []
    for scale in (1e-12, 1e-9, 1e-4, 1.0, 3.1):
        axis = rng.normal(size=3)
        first = pin.SE3.Random()
        first.rotation = pin.exp3(rng.normal(size=3))
        turn = scale * axis / np.linalg.norm(axis)
        second = pin.SE3(pin.exp3(turn) @ first.rotation, rng.normal(size=3))
        cases.append((pin.SE3ToXYZQUAT(first), pin.SE3ToXYZQUAT(second), turn))
    still = np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0])
    cases.append((still, still, np.zeros(3)))
    half = np.array([2.0, 3.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    cases.append((still, half, np.array([0.0, np.pi, 0.0])))
    calls, dt = [], 0.25
    for a, b, _ in cases:
        for factor in (1.0, -2.5):
            scaled = np.r_[b[:3], factor * b[3:]]
            calls.append(f'difference{numbers(a, scaled, [dt])}')
    lines = iter(program.run('panda', *calls))
    for a, b, turn in cases:
        for factor in (1.0, -2.5):
            expected = np.r_[b[:3] - a[:3], turn] / dt
            found = array(next(lines))
            if abs(turn).max() == np.pi and factor < 0.0:  # either sense of half a turn
                found[3:] = abs(found[3:])
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize(
    ('a', 'b', 'dt'),
    [
        ([0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 1], -0.1),
        ([0, 0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0, 1], 0.0),
        ([0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 1], np.nan),
        ([0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1], 0.1),
        ([np.nan, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 1], 0.1),
        ([0, 0, 0, 0, 0, 0, 1], [0, 0, 0, np.nan, 0, 0, 1], 0.1),
    ],
)
def test_frame_differences_refuse(program, a, b, dt):
    assert program.run('panda', f'difference{numbers(a, b, [dt])}') == ['error: no difference']


# --- dynamics -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('name', 'joints', 'resting'),
    [
        ('panda', ['panda_joint5', 'panda_joint2', 'panda_joint1'], ('panda_joint4', -1.2)),
        ('gripper_tree', ['elbow', 'tilt', 'lift', 'shoulder', 'pan'], ('wrist', 0.7)),
    ],
)
def test_dynamics_of_some_joints_while_others_rest(program, name, joints, resting):
    robot = robot_of(name)
    theirs = Pinocchio(urdf_path(name).read_text(), robot)
    gravity = theirs.model.gravity.linear = np.array([0.3, -2.0, -9.0])
    places = [robot.joint_names.index(each) for each in joints]
    q, v, a = np.zeros((3, robot.nv))
    q[robot.joint_names.index(resting[0])] = resting[1]
    rng = np.random.default_rng(3)
    for each in (q, v, a):
        each[places] = rng.uniform(-1.0, 1.0, len(places))
    given = {'q': q[places], 'v': v[places], 'a': a[places]}
    pairs = [
        ('mass_matrix', 'q', theirs.mass_matrix(q)[np.ix_(places, places)].ravel()),
        ('coriolis_torques', 'qv', theirs.coriolis_torques(q, v)[places]),
        ('gravity_torques', 'q', theirs.gravity_torques(q)[places]),
        ('friction_torques', 'v', robot.friction_torques(v)[places]),
        ('torques', 'qva', theirs.inverse_dynamics(q, v, a)[places]),
    ]
    setup = f'dynamics {",".join(joints)} {resting[0]}{numbers(gravity, [resting[1]])}'
    calls = [f'{each}{numbers(*(given[key] for key in keys))}' for each, keys, _ in pairs]
    for line, (each, _, expected) in zip(program.run(name, setup, *calls)[1:], pairs, strict=True):
        np.testing.assert_allclose(array(line), expected, **CLOSE, err_msg=each)


@pytest.mark.parametrize(
    ('setup', 'reason'),
    [
        (f'panda_joint1{numbers([0.0, 0.0, np.nan])}', 'got a gravity that is not finite'),
        (
            f'panda_joint1 panda_joint2{numbers([0.0, 0.0, 0.0], [np.inf])}',
            "got inf in the positions for joint 'panda_joint2'",
        ),
        (f'panda_joint1 hand{numbers([0.0, 0.0, 0.0], [0.0])}', "has no joint 'hand'"),
    ],
)
def test_constants_of_dynamics_are_checked(program, setup, reason):
    (line,) = program.run('panda', f'dynamics {setup}')
    assert line.startswith(f'error: panda.so {reason}')


@pytest.mark.parametrize(
    ('joints', 'call', 'reason'),
    [
        ('panda_joint1,hand', '', "has no joint 'hand'; it has panda_joint1, panda_joint2"),
        ('panda_joint1,panda_joint1', '', "cannot have the joint 'panda_joint1' twice"),
        ('panda_joint1', f'gravity_torques{Q7}', 'got 7 positions, expected those of panda_joint1'),
        (
            'panda_joint2',
            'torques : 0, inf, 0',
            "inf in the velocities for joint 'panda_joint2'",
        ),
        ('panda_joint2', 'torques : 0, 0, nan', 'got nan in the accelerations for joint'),
        ('panda_joint2', 'friction_torques : nan', 'got nan in the velocities for joint'),
    ],
)
def test_dynamics_refuse(program, joints, call, reason):
    setup = f'dynamics {joints}{numbers([0.0, 0.0, -9.81])}'
    line = program.run('panda', setup, *filter(None, [call]))[-1]
    assert line.startswith('error: panda.so ')
    assert reason in line


# --- files ----------------------------------------------------------------------------------------


def test_models_of_other_robots_and_versions_are_refused(program):
    """Each names what is expected, and what is found."""
    folder = program.folder
    text = urdf_path('panda').read_text()
    (folder / 'other.urdf').write_text(text.replace('value="0.73"', 'value="0.74"', 1))
    other = (folder / 'other.urdf').read_text()
    if other == text:
        other = text.replace('<mass value="', '<mass value="1', 1)
        (folder / 'other.urdf').write_text(other)
    source = (folder / 'panda.c').read_text()
    changes = {
        'version': ('  SCREW_DYNAMICS_MODEL_VERSION,', f'  {VERSION + 1},'),
        'bytes': ('sizeof(struct screw_dynamics_model_constants)', '8'),
        'symbol': (' screw_dynamics_model =', ' another_model ='),
    }
    for name, change in changes.items():
        assert source.count(change[0]) == 1
        (folder / f'{name}.c').write_text(source.replace(*change))
        compiled = [COMPILER, '-w', '-shared', '-fPIC', f'{name}.c', '-o', f'{name}.so', '-lm']
        subprocess.run(compiled, check=True, cwd=folder)
        with_digest(folder / f'{name}.so')
    floating = folder / 'floating'
    floating.mkdir()
    write('planar_2r', floating, '--floating-base', '--link', 'tip')
    shared_object(floating / 'planar_2r.c')
    files = ['panda.so other.urdf', *(f'{name}.so -' for name in changes)]
    files += ['floating/planar_2r.so -', 'panda.so -']
    lines = program.run('panda', *(f'model {each}' for each in files))
    found = description_hash(text), description_hash(other)
    assert lines[0] == (
        f"error: panda.so is for description 'panda' with hash {found[0]}, expected {found[1]}: "
        'write it again for the description of this program'
    )
    assert f'has version {VERSION + 1} of the interface, this program has {VERSION}' in lines[1]
    assert 'is for another processor or compiler' in lines[2]
    assert 'is not a model: it has no constants screw_dynamics_model' in lines[3]
    assert "has the joint 'floating_base' with several coordinates" in lines[4]
    assert lines[5] == ''


def random_xml(rng: np.random.Generator, depth: int) -> str:
    """Return an element with all that XML without a DTD allows."""

    def pick(*texts: str) -> str:
        return str(rng.choice(texts))

    def space() -> str:
        return pick('', ' ', '\n\t ')

    name = pick('link', 'joint', 'link', 'joint', 'inertial', 'visual', 'linking')
    attributes = ''
    for k in range(rng.integers(3)):
        quote, other = pick('"\'', '\'"')
        value = pick('', ' ', '1 2', f' a{other} >\n/> b\t', '<!-- ', 'é \xa0', '0.1\r\n')
        value = value.replace('<', '&lt;') if rng.random() < 0.5 else value.replace('<', '(')
        key = pick('version', 'name', 'xyz')
        attributes += f'{pick(" ", chr(10))}{key}{k}{space()}={space()}{quote}{value}{quote}'
    if depth == 0:
        attributes += pick('', ' version="1.1"', "\tversion = ' 1.2 '")
    if depth > 4 or (depth and rng.random() < 0.2):
        return f'<{name}{attributes}{space()}/>'
    between = ['<!-- <link a="> -->', '<?x <joint/> ?>', '<![CDATA[<link>]] ]]>', ' a\n', '']
    inside = ''.join(
        pick(*between) + random_xml(rng, depth + 1) for _ in range(rng.integers(1, 4))
    ) + pick(*between)
    return f'<{name}{attributes}{space()}>{inside}</{name}{space()}>'


def test_hashes_in_cpp_are_those_of_python(program):
    rng = np.random.default_rng(2)
    texts = [
        pick + random_xml(rng, 0) for pick in ('', '<?xml version="1.0"?>\n') for _ in range(150)
    ]
    texts += [urdf_path(name).read_text() for name in ROBOTS]
    texts += ['', 'no XML', '<', '<!-- ', '<a b="', '</a>', '<a></a></a>']
    paths = [program.folder / f'text_{k}' for k in range(len(texts))]
    for path, text in zip(paths, texts):
        path.write_bytes(text.encode())
    lines = program.run('panda', *(f'hash {path}' for path in paths))
    hashes = [description_hash(text) for text in texts]
    assert lines == hashes
    assert len(set(hashes)) > 200
