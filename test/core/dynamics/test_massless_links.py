# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joints with nothing to work against: a named error, never a number made of rounding.

Always so: an error when the function is compiled. In some configurations only (three massless axes,
the outer two aligned): an error from what is called with one sample, NaN in stacks.
"""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive, InertiaError, Robot
from screw_dynamics_ros.core.constraints.motion_constraint import fixed_point
from screw_dynamics_ros.core.description import (
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    RobotDescription,
)
from screw_dynamics_ros.core.description.checks import physical_findings
from support.compilation import BACKENDS, close

SOLID = Inertia(1.0, [0.1, 0.0, 0.05], np.diag([0.02, 0.03, 0.04]))
X, Y, Z = np.eye(3)


def chain(*parts: tuple[np.ndarray, Inertia | None]) -> RobotDescription:
    """Return a chain of revolute joints: axis and inertia of each; a wrist after the second."""
    links, joints = [Link('base')], []
    for i, (axis, inertia) in enumerate(parts, 1):
        pose = np.eye(4)
        pose[:3, 3] = (0.1, 0.2, 0.3) if i < 3 else 0.0
        links.append(Link(f'l{i}', inertia))
        joints.append(
            Joint(
                f'j{i}',
                'revolute',
                links[i - 1].name,
                f'l{i}',
                pose,
                axis,
                Limits(-2.0, 2.0, 3.0, 100.0),
            )
        )
    return RobotDescription.from_parts('arm', links, joints)


def arm(*parts: tuple[np.ndarray, Inertia | None], **keywords: object) -> Robot:
    """Return the robot of a chain."""
    return Robot(chain(*parts), **keywords)


def wrist(backend: str) -> Robot:
    """Return a shoulder and a wrist whose first two links have no mass."""
    return arm((Y, SOLID), (Z, None), (Y, None), (Z, SOLID), backend=backend)


@BACKENDS
@pytest.mark.parametrize('bend', [1e-7, 1e-4])
def test_massless_wrist(backend, bend):
    robot = wrist(backend)
    q, v, tau = np.array([0.3, 0.2, bend, 0.4]), np.full(4, 0.1), np.ones(4)
    if bend < 1e-6:
        for call in (
            lambda: robot.forward_dynamics(q, v, tau),
            lambda: robot.inverse_mass_matrix(q),
            lambda: robot.forward_dynamics_derivatives(q, v, tau),
            lambda: robot.hybrid_dynamics(q, v, tau, tau, 'j1'),
            lambda: robot.constrained_dynamics(q, v, tau, fixed_point('l4', [(1, 0, 0)])),
        ):
            for _ in range(3):  # the first call compiles
                with pytest.raises(InertiaError, match=r"in this configuration: .* 'j2', 'j3'"):
                    call()
        assert np.isnan(robot.forward_dynamics(np.array([q, q]), v, tau)).all()
    else:
        a = robot.forward_dynamics(q, v, tau)
        close(robot.inverse_dynamics(q, v, a), tau, 1e-9)
        close(robot.inverse_mass_matrix(q) @ robot.mass_matrix(q), np.eye(4), 1e-6)
        robot.constrained_dynamics(q, v, tau, fixed_point('l4', [(1, 0, 0)]))
    moved, _ = robot.hybrid_dynamics(q, v, tau, tau, ['j2', 'j3'])
    assert np.isfinite(moved).all()


@BACKENDS
def test_massless_wrist_beside_mimic_joints(backend):
    """The reduced equations of trees with mimic joints, too."""
    free = wrist('reference').description
    finger = np.eye(4)
    finger[:3, 3] = 0.1, 0.0, 0.2
    limits = Limits(-2.0, 2.0, 3.0, 100.0)
    description = RobotDescription.from_parts(
        'arm',
        [*free.links, Link('f1', SOLID), Link('f2', SOLID)],
        [
            *free.joints,
            Joint('f1', 'revolute', 'l1', 'f1', finger, X, limits),
            Joint('f2', 'revolute', 'l1', 'f2', finger, Y, limits, Mimic('f1', -2.0, 0.1)),
        ],
    )
    robot = Robot(description, backend=backend)
    v, tau = np.full(5, 0.1), np.ones(5)
    straight, bent = np.array([[0.3, 0.2, 1e-9, 0.4, 0.1], [0.3, 0.2, 0.5, 0.4, 0.1]])
    with pytest.raises(InertiaError, match='in this configuration'):
        robot.forward_dynamics(straight, v, tau)
    with pytest.raises(InertiaError, match='in this configuration'):
        robot.constrained_dynamics(straight, v, tau, fixed_point('l4', [X]))
    a = robot.forward_dynamics(bent, v, tau)
    close(robot.inverse_dynamics(bent, v, a), tau, 1e-10)
    J = robot.jacobian(bent, 'l4')[[3]]
    a, _ = robot.constrained_dynamics(bent, v, tau, fixed_point('l4', [X]))
    bias = robot.acceleration(bent, v, 0 * v, 'l4')[3]
    close(J @ a, -np.array([bias]), 1e-10)


def test_one_sample_of_a_stack():
    """Stacks keep going: NaN where it is singular."""
    robot = wrist('reference')
    q = np.array([[0.3, 0.2, 1e-9, 0.4], [0.3, 0.2, 0.7, 0.4]])
    v, tau = np.full(4, 0.1), np.ones(4)
    a, torque = robot.hybrid_dynamics(q, v, tau, tau, 'j1')
    assert np.isnan(a[0, 1:]).all()
    close(robot.inverse_dynamics(q[1], v, a[1]), torque[1], 1e-10)
    motion = robot.constrained_dynamics(q, v, tau, fixed_point('l4', [(1, 0, 0)]))
    assert np.isnan(motion.a[0]).all()
    assert np.isfinite(motion.a[1]).all()


@BACKENDS
def test_nothing_beyond_a_joint(backend):
    """Massless tips, a point mass on a skew axis up to rounding: errors that name the joint."""
    axis = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])
    on_axis = Inertia(1.0, 0.3 * axis, np.zeros((3, 3)))
    v = np.zeros(2)
    for tip in ((Z, None), (axis, on_axis)):
        robot = arm((Y, SOLID), tip, backend=backend)
        for call in (
            lambda robot=robot: robot.forward_dynamics(v, v, v),
            lambda robot=robot: robot.hybrid_dynamics(v, v, v, v, 'j1'),
            lambda robot=robot: robot.constrained_dynamics(v, v, v, fixed_point('l2')),
        ):
            with pytest.raises(InertiaError, match="joint 'j2' moves no mass"):
                call()


def test_an_armature_is_enough():
    drives = {'j2': Drive(armature=1e-3)}
    robot = arm((Y, SOLID), (Z, None), drives=drives, backend='reference')
    a = robot.forward_dynamics([0.1, 0.2], [0.0, 0.0], [1.0, 0.5])
    assert a[1] == pytest.approx(500.0)


def test_nan_in_is_no_error():
    robot = wrist('reference')
    q, v, tau = np.array([np.nan, 0.2, 0.5, 0.4]), np.full(4, 0.1), np.ones(4)
    assert np.isnan(robot.forward_dynamics(q, v, tau)).any()
    assert np.isnan(robot.hybrid_dynamics(q, v, tau, tau, 'j1')[0]).any()
    assert np.isnan(robot.constrained_dynamics(q, v, tau, fixed_point('l4', [X])).a).all()


def urdf(*parts: tuple[str, str, float, str, str]) -> str:
    """Return a chain with inertias that no body has: axis, offset, mass, center and moments."""
    text, parent = '<link name="base"/>', 'base'
    for k, (axis, offset, mass, center, moments) in enumerate(parts):
        xx, yy, zz = moments.split()
        text += (
            f'<link name="l{k}"><inertial><origin xyz="{center}"/><mass value="{mass}"/>'
            f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="j{k}" type="continuous"><parent link="{parent}"/><child link="l{k}"/>'
            f'<origin xyz="{offset}"/><axis xyz="{axis}"/></joint>'
        )
        parent = f'l{k}'
    return f'<robot name="r">{text}</robot>'


@BACKENDS
def test_a_negative_moment_about_the_own_joint(backend):
    """No body has one, but files do; the mass matrix is regular, and its inverse is not NaN."""
    text = urdf(
        ('1 0 0', '0 0 0', 0.45, '0 0 0', '1e-3 1e-3 1e-3'),
        ('0 1 0', '0 0.06 0', 0.52, '0 0 -0.02', '-1.2e-3 -1.2e-3 3e-4'),
        ('0 1 0', '0 0 -0.1', 0.08, '0 0 -0.08', '1e-4 1e-4 1e-5'),
    )
    robot = Robot.from_urdf(text, backend=backend)
    q, v, tau = np.zeros(3), np.array([0.1, 0.2, 0.3]), np.ones(3)
    M, h = robot.mass_matrix(q), robot.inverse_dynamics(q, v, 0.0 * v)
    assert np.linalg.eigvalsh(M)[0] < 0.0
    found = robot.forward_dynamics(q, v, tau)
    close(found, np.array([133.0658, 1214.1816, -849.9271]), 1e-6)
    close(found, np.linalg.solve(M, tau - h), 1e-10)
    close(robot.inverse_mass_matrix(q) @ M, np.eye(3), 1e-10)
    close(robot.forward_dynamics_derivatives(q, v, tau)[2] @ M, np.eye(3), 1e-10)


@BACKENDS
@pytest.mark.parametrize('moment', [-0.05, -2240.0])
def test_one_joint_with_a_negative_inertia(backend, moment, caplog):
    """It is a number, whatever its sign, and nobody says that there was none."""
    text = urdf(('0 1 0', '0 0 0', 1.0, '0.1 0 0', f'0.02 {moment} 0.02'))
    robot = Robot.from_urdf(text, backend=backend)
    (torque,) = robot.inverse_dynamics([0.0], [0.0], [0.0])
    found = robot.forward_dynamics([0.0], [0.0], [1.0])
    close(found, np.array([(1.0 - torque) / (moment + 0.01)]), 1e-12)
    findings = [str(finding) for finding in physical_findings(robot.description)]
    assert any('not positive semidefinite' in each for each in findings)
    assert not any('always zero' in each for each in findings)
