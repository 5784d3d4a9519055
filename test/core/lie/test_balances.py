# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Power and momentum over ten simulated seconds.

Spec IDs D-18, D-29; C-054, C-068.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.lie.screws import transform_wrench
from support.models import random_configuration, random_description

GRAVITY = (0.7, -1.3, -9.6)


def spatial_momentum(robot: Robot, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return (L, P) about the origin of the root frame, link by link."""
    total = np.zeros(6)
    for link in robot.description.links:
        C, V = robot.link_pose(q, link.name), robot.velocity(q, v, link.name, 'hybrid')
        R, d = C[:3, :3], C[:3, :3] @ link.inertia.com
        p = link.inertia.mass * (V[3:] + np.cross(V[:3], d))
        spin = R @ link.inertia.matrix @ R.T @ V[:3]
        total += np.concatenate([np.cross(C[:3, 3] + d, p) + spin, p])
    return total


def test_ten_seconds():
    """D-18, D-29, C-054, C-068: energy and momentum change by work and impulse, to 1e-8.

    Work is that of torques, wrench and friction; impulse that of weight and wrench alone.
    """
    pytest.importorskip('llvmlite')
    description = random_description(3, 3, ('revolute', 'prismatic'), chain=True)
    drives = {
        joint.name: Drive(1e-5, 80.0, damping=2.0, coulomb=0.3, smoothing=0.2)
        for joint in description.joints
    }
    robot = Robot(description, floating_base=True, gravity=GRAVITY, drives=drives)
    link, W = robot.link_names[2], np.array([0.04, -0.08, 0.03, 0.2, -0.1, 0.15])
    rng = np.random.default_rng(7)
    q, v = random_configuration(robot, rng), rng.uniform(-1, 1, robot.nv)
    n, amplitude = robot.nq, np.concatenate([np.zeros(6), rng.uniform(0.5, 1.5, robot.nv - 6)])
    weight = robot.total_mass * np.array(GRAVITY)

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        q, v = x[:n], x[n : n + robot.nv]
        q = np.concatenate([q[:3], q[3:7] / np.linalg.norm(q[3:7]), q[7:]])
        tau = amplitude * np.sin(2 * t)
        a = robot.forward_dynamics(q, v, tau, {link: W})
        x, y, z, w = q[3:7]
        turn = np.array([[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]]) @ v[:3] / 2
        dq = np.concatenate([Rotation.from_quat(q[3:7]).apply(v[3:6]), turn, v[6:]])
        power = tau @ v + W @ robot.velocity(q, v, link, 'body') - robot.friction_torques(v) @ v
        force = transform_wrench(robot.link_pose(q, link), W)
        force = force + np.concatenate([np.cross(robot.center_of_mass(q), weight), weight])
        return np.concatenate([dq, a, [power], force])

    def energy(x: np.ndarray) -> float:
        q, v = x[:n], x[n : n + robot.nv]
        return robot.kinetic_energy(q, v) + robot.potential_energy(q)

    start = np.concatenate([q, v, np.zeros(7)])
    end = solve_ivp(rate, (0.0, 10.0), start, method='DOP853', rtol=1e-9, atol=1e-9).y[:, -1]
    work, impulse = end[-7], end[-6:]
    assert np.abs(end[n : n + robot.nv]).max() > 10.0  # it fell, and swung on the way
    assert abs(work) > 1.0
    scale = robot.kinetic_energy(end[:n], end[n : n + robot.nv])
    assert abs(energy(end) - energy(start) - work) < 1e-8 * scale
    gained = spatial_momentum(robot, end[:n], end[n : n + robot.nv]) - spatial_momentum(robot, q, v)
    assert np.abs(gained - impulse).max() < 1e-8 * np.abs(gained).max()
