# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The Delta of this package as a graph with 13 joints and two loops (C-006 to C-011)."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.mechanisms.closures import ClosedRobot
from screw_dynamics_ros.core.mechanisms.parallel import RUS, Mechanism, ParallelRobot
from support.closed_chains import accelerations_of_bodies, delta_gripper

#: Radii of the hips and of the wrists, lengths of arms and rods [m], angles of the legs.
HIP, WRIST, ARM, ROD = 0.1, 0.04, 0.12, 0.25
LEGS = np.radians([0.0, 120.0, -120.0])
Q, V, A = np.array([0.4, 0.6, 0.2]), np.array([0.5, -0.3, 0.8]), np.array([2.0, -1.0, 3.0])


@pytest.fixture(scope='module')
def delta() -> ClosedRobot:
    return delta_gripper('auto', tolerance=1e-13)


def plate(delta: ClosedRobot, q: np.ndarray) -> np.ndarray:
    """Return the center of the plate, which the cup is 3 cm below, (3,)."""
    return delta.link_pose(q, 'cup')[:3, 3] + [0.0, 0.0, 0.03]


def closed_form(q: np.ndarray) -> np.ndarray:
    """Return the center of the plate: the lower point at distance ROD from three centers.

    The centers are the elbows, moved inward by the radius of the wrists: the plate does not turn.
    """
    r = HIP + ARM * np.cos(q) - WRIST
    a, b, c = np.column_stack([r * np.cos(LEGS), r * np.sin(LEGS), -ARM * np.sin(q)])
    x = (b - a) / np.linalg.norm(b - a)
    y = (c - a) - x * (x @ (c - a))
    y /= np.linalg.norm(y)
    z = np.cross(x, y)
    d, i, j = x @ (b - a), x @ (c - a), y @ (c - a)
    u = d / 2
    w = (i * i + j * j - 2 * i * u) / (2 * j)
    h = np.sqrt(ROD**2 - u * u - w * w)
    return min((a + u * x + w * y + s * h * z for s in (1, -1)), key=lambda point: point[2])


def test_three_freedoms(delta) -> None:
    """13 joints and 10 closure equations, all independent: mobility 3, none of passive ones."""
    found = delta.mobility(Q)
    assert (found.joint_freedoms, found.equations, found.rank) == (13, 10, 10)
    assert (found.mobility, found.redundant, found.gained) == (3, 0, 0)
    assert len(delta.passive) == 10


def test_position_closure_against_spheres(delta) -> None:
    """The plate is where three spheres meet, and never turns; joints within 1e-9 (C-008)."""
    rng = np.random.default_rng(2)
    for q in rng.uniform(-0.5, 1.0, (30, 3)):
        np.testing.assert_allclose(plate(delta, q), closed_form(q), atol=1e-9)
        np.testing.assert_allclose(delta.link_pose(q, 'plate')[:3, :3], np.eye(3), atol=1e-9)


def test_twists_against_the_platform_on_legs(delta) -> None:
    """The same motors and platform as a `ParallelRobot` with parallelograms (C-010)."""
    legs = []
    for k, angle in enumerate(LEGS, 1):
        out = np.array([np.cos(angle), np.sin(angle), 0.0])
        axis = np.array([-np.sin(angle), np.cos(angle), 0.0])
        rods = np.array([0.02 * axis, -0.02 * axis])  # a parallelogram
        places = {'base': HIP * out + rods, 'platform': WRIST * out + rods}
        legs.append(RUS(name=f'{k}', axis=axis, zero=out, crank=ARM, length=ROD, **places))
    home = np.eye(4)
    home[2, 3] = closed_form(np.full(3, 0.4))[2]
    robot = ParallelRobot(Mechanism('delta', legs, home), backend='reference')
    pose = np.eye(4)
    pose[:3, 3] = plate(delta, Q)
    np.testing.assert_allclose(robot.forward_position(Q), pose, atol=1e-9)
    twist = delta.jacobian(Q, 'cup') @ V
    np.testing.assert_allclose(robot.forward_velocity(Q, V), twist, atol=1e-8)


def test_torques_do_the_work_of_the_energy(delta) -> None:
    """Gravity is the slope of the potential energy, torques times rates the rise of the total."""
    h = 1e-5
    slope = [
        (delta.potential_energy(Q + dq) - delta.potential_energy(Q - dq)) / (2 * h)
        for dq in h * np.eye(3)
    ]
    np.testing.assert_allclose(delta.gravity_torques(Q), slope, atol=1e-8)

    def energy(t: float) -> float:
        q, v = Q + t * V + 0.5 * t * t * A, V + t * A
        return delta.kinetic_energy(q, v) + delta.potential_energy(q)

    power = (energy(h) - energy(-h)) / (2 * h)
    assert delta.inverse_dynamics(Q, V, A) @ V == pytest.approx(power, abs=1e-8)


def test_energy_of_a_free_swing_is_kept(delta) -> None:
    """A fall of the plate by some centimeters, without torques, by Runge-Kutta steps."""

    def slope(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[3:], delta.forward_dynamics(x[:3], x[3:], np.zeros(3))])

    def energy(x: np.ndarray) -> float:
        return delta.kinetic_energy(x[:3], x[3:]) + delta.potential_energy(x[:3])

    x, h = np.concatenate([Q, np.zeros(3)]), 2.5e-3
    start, height = energy(x), plate(delta, Q)[2]
    for _ in range(20):
        k1 = slope(x)
        k2 = slope(x + h / 2 * k1)
        k3 = slope(x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(x + h * k3))
    moved = delta.kinetic_energy(x[:3], x[3:])
    assert plate(delta, x[:3])[2] < height - 0.01
    assert moved > 0.05
    assert energy(x) == pytest.approx(start, abs=1e-6 * moved)


def test_accelerations_against_absolute_coordinates(delta) -> None:
    """The same accelerations as of 15 bodies with a pose each, joints as constraints."""
    tau = np.array([0.3, -0.2, 0.5])
    ours, independent = accelerations_of_bodies(delta, Q, V, tau)
    np.testing.assert_allclose(ours, independent, rtol=1e-6, atol=1e-5)
