"""Joints with nothing to work against: a named error, or NaN, never a number made of rounding.

Always so: an error when the function is compiled. In some configurations only (three massless axes,
the outer two aligned): NaN from forward dynamics, an error from hybrid and constrained dynamics.
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
from support.compilation import BACKENDS, close

SOLID = Inertia(1.0, [0.1, 0.0, 0.05], np.diag([0.02, 0.03, 0.04]))
X, Y, Z = np.eye(3)


def arm(*parts: tuple[np.ndarray, Inertia | None], **keywords: object) -> Robot:
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
    return Robot(RobotDescription.from_parts('arm', links, joints), **keywords)


def wrist(backend: str) -> Robot:
    """Return a shoulder and a wrist whose first two links have no mass."""
    return arm((Y, SOLID), (Z, None), (Y, None), (Z, SOLID), backend=backend)


@BACKENDS
@pytest.mark.parametrize('bend', [1e-9, 1e-7, 1e-4, 0.3])
def test_massless_wrist(backend, bend):
    robot = wrist(backend)
    q, v, tau = np.array([0.3, 0.2, bend, 0.4]), np.full(4, 0.1), np.ones(4)
    a = robot.forward_dynamics(q, v, tau)
    if bend < 1e-6:
        assert np.isnan(a).all()
        assert np.isnan(robot.inverse_mass_matrix(q)).any()
        for derivative in robot.forward_dynamics_derivatives(q, v, tau):
            assert np.isnan(derivative).any()
        with pytest.raises(InertiaError, match="'j2', 'j3'"):
            robot.hybrid_dynamics(q, v, tau, tau, 'j1')
        with pytest.raises(InertiaError, match='in this configuration'):
            robot.constrained_dynamics(q, v, tau, fixed_point('l4', [(1, 0, 0)]))
    else:
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
    assert np.isnan(robot.forward_dynamics(straight, v, tau)).any()
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
    assert np.isnan(robot.hybrid_dynamics(q, v, tau, tau, 'j1')[0]).any()
    assert np.isnan(robot.constrained_dynamics(q, v, tau, fixed_point('l4', [X])).a).all()
