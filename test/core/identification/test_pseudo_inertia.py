# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pseudo-inertias: against `RigidBody`, other frames, bodies that cannot exist."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.description.body_inertia import inertia_fault
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.identification.pseudo_inertia import (
    inertia_of,
    metric,
    parameters_of,
    physical,
    pseudo_inertia,
)


def some_body(seed):
    rng = np.random.default_rng(seed)
    return RigidBody.from_particles(rng.uniform(0.1, 1, 8), rng.normal(size=(8, 3)))


def parameters(body):
    m, h, I = body.mass, body.first_moment, body.inertia  # noqa: E741
    return np.array([m, *h, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


@pytest.mark.parametrize('seed', range(3))
def test_those_of_rigid_bodies(seed):
    body = some_body(seed)
    phi = parameters(body)
    assert np.allclose(pseudo_inertia(phi), body.pseudo_inertia, atol=1e-14)
    assert np.allclose(parameters_of(body.pseudo_inertia), phi, atol=1e-14)
    found = inertia_of(phi)
    assert found.mass == pytest.approx(body.mass)
    assert np.allclose(found.com, body.com)
    assert np.allclose(found.matrix, body.matrix)
    assert np.allclose(physical(phi), body.pseudo_inertia)


@pytest.mark.parametrize(
    'phi',
    [
        [1.0, 0, 0, 0, 1.0, 0, 1.0, 0, 0, 3.0],  # triangle inequality
        [1.0, 0.5, 0, 0, 0, 0, 0, 0, 0, 0],  # a point, off the origin
        [-1.0, 0, 0, 0, 1.0, 0, 1.0, 0, 0, 1.0],
        [0.0] * 10,
    ],
)
def test_nearby_bodies_can_exist(phi):
    Sigma = physical(np.array(phi))
    assert np.linalg.eigvalsh(Sigma)[0] > 0.0
    assert inertia_fault(inertia_of(parameters_of(Sigma))) is None


def test_differences_are_the_same_in_every_frame():
    first, second = some_body(0), some_body(1)
    C = np.eye(4)
    C[:3, :3] = Rotation.from_rotvec([0.3, -0.5, 0.2]).as_matrix()
    C[:3, 3] = [0.4, -0.1, 0.7]
    here, there = (
        np.linalg.norm(metric(parameters(a)) @ (parameters(b) - parameters(a)))
        for a, b in ((first, second), (first.moved(C), second.moved(C)))
    )
    assert here == pytest.approx(there, rel=1e-9)


def test_a_body_twice_as_heavy_is_as_far_as_its_dimension():
    phi = parameters(some_body(2))
    assert np.linalg.norm(metric(phi) @ phi) == pytest.approx(2.0)  # |identity of R^4|
