# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wrenches of contacts between vertices, edges and faces (C-047)."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.least_squares import non_negative_least_squares
from screw_dynamics_ros.core.textbook.constraints.contact_wrenches import (
    edge_edge,
    edge_face,
    face_face,
    point_with_friction,
    several,
    soft_finger,
    vertex_face,
)
from support.contacts import CONTACTS, CORNERS, N, P, U, W


@pytest.mark.parametrize('name', CONTACTS)
def test_dimensions_and_reciprocity(name):
    """C-047: wrenches have no power on the free twists, to 1e-12; dimensions add up to six."""
    contact, size = CONTACTS[name]
    assert np.linalg.matrix_rank(contact.wrenches) == size
    assert contact.freedom == 6 - size
    assert np.abs(contact.wrenches.T @ contact.twists).max() < 1e-12


def test_vertex_on_a_face():
    """C-047: G = (n; p x n) in the book's order, force first."""
    contact = vertex_face(P, 5 * N)
    np.testing.assert_allclose(contact.wrenches[3:, 0], N, atol=1e-15)
    np.testing.assert_allclose(contact.wrenches[:3, 0], np.cross(P, N), atol=1e-15)
    assert contact.unilateral


def test_free_motions_of_contacts_are_those_of_their_points():
    """C-047: points of contact move in the face; those that stick do not move."""
    for name, at in [('vertex_face', [P]), ('edge_face', CORNERS[:2]), ('face_face', CORNERS)]:
        for V in CONTACTS[name][0].twists.T:
            for p in at:
                assert abs(N @ (V[3:] + np.cross(V[:3], p))) < 1e-12
    for name in ('point_with_friction', 'soft_finger'):
        for V in CONTACTS[name][0].twists.T:
            assert np.abs(V[3:] + np.cross(V[:3], P)).max() < 1e-12
    assert max(abs(N @ V[:3]) for V in CONTACTS['soft_finger'][0].twists.T) < 1e-12
    assert max(abs(N @ V[:3]) for V in CONTACTS['point_with_friction'][0].twists.T) > 0.1


def test_faces_press_between_their_corners():
    """C-047: a pressure within the corners needs no pull, one outside does."""
    corners = CONTACTS['face_face'][0].wrenches
    inside, outside = P + 0.1 * U + 0.1 * W, P - 0.1 * U
    for point, possible in [(inside, True), (outside, False)]:
        wrench = np.concatenate([np.cross(point, N), N])
        pull = np.linalg.norm(corners @ non_negative_least_squares(corners, wrench) - wrench)
        assert bool(pull < 1e-9) is possible


def test_several_contacts():
    both = several(CONTACTS['vertex_face'][0], CONTACTS['edge_edge'][0])
    assert both.wrenches.shape == (6, 2)
    assert both.unilateral
    with pytest.raises(ArgumentError, match='all unilateral or all bilateral'):
        several(CONTACTS['vertex_face'][0], CONTACTS['soft_finger'][0])
    with pytest.raises(ArgumentError, match='at least one'):
        several()


def test_forces_and_where_they_act():
    """Columns (p x f; f): at both ends of an edge, on the side of `outward`, along three axes."""

    def columns(at, forces):
        return np.transpose([[*np.cross(p, f), *f] for p, f in zip(at, forces)])

    edge = CONTACTS['edge_face'][0]
    np.testing.assert_allclose(edge.wrenches, columns([P, P + 0.3 * U], [N, N]), atol=1e-15)
    for side in (-1.0, 1.0):
        contact = edge_edge(P, 2 * U, 3 * W, side * N + U)
        np.testing.assert_allclose(contact.wrenches, columns([P], [side * N]), atol=1e-15)
    point = point_with_friction(P).wrenches
    np.testing.assert_allclose(point, columns([P] * 3, np.eye(3)), atol=1e-15)
    finger = soft_finger(P, 2 * N).wrenches
    np.testing.assert_allclose(finger[:, :3], point)
    np.testing.assert_allclose(finger[:, 3], [*N, 0, 0, 0])
    pushing = {name for name, (contact, _) in CONTACTS.items() if contact.unilateral}
    assert pushing == {'vertex_face', 'edge_face', 'face_face', 'edge_edge'}


def test_small_deviations_of_edges_and_faces_are_allowed():
    edge_face(P, P + U + 0.9e-6 * N, N)
    edge_face(P, P + 1e-11 * U, N)
    edge_edge(P, U, U + 1.1e-9 * W, N)
    edge_edge(P, U, W, U + 1.1e-9 * N)
    face_face([P, P + U, P + 2 * U + 1e-8 * W], N)
    face_face([P, P + U, P + W + 0.5e-6 * N], N)
    vertex_face(P, [0, 0, 1.1e-12])


def test_contacts_stay_holonomic_only_together():
    both = several(*(CONTACTS[name][0] for name in ('vertex_face', 'edge_face')))
    np.testing.assert_array_equal(
        both.wrenches,
        np.hstack([CONTACTS['vertex_face'][0].wrenches, CONTACTS['edge_face'][0].wrenches]),
    )
    assert both.holonomic
    sticking = several(point_with_friction(P), soft_finger(P, N))
    assert not sticking.unilateral


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (lambda: vertex_face(P, [0, 0, 0]), 'must not be zero'),
        (lambda: vertex_face(P, [np.nan, 0, 1]), 'zero or NaN'),
        (lambda: vertex_face([0, np.inf, 0], N), 'finite'),
        (lambda: edge_face(P, P, N), 'two different ends'),
        (lambda: edge_face(P, P + N, N), 'does not lie on the face'),
        (lambda: face_face(CORNERS[:2], N), 'three corners'),
        (lambda: face_face([P, P + U, P + 2 * U], N), 'not in line'),
        (lambda: face_face([P, P + U, P + N], U), 'plane with this normal'),
        (lambda: edge_edge(P, U, -2 * U, N), 'parallel'),
        (lambda: edge_edge(P, U, U + 0.9e-9 * W, N), 'parallel'),
        (lambda: edge_edge(P, U, W, U + 0.9e-9 * N), 'normal to both edges'),
        (lambda: edge_edge(P, U, W, [np.nan, 0, 0]), 'normal to both edges'),
        (lambda: edge_face(P, P + 1e-13 * U, N), 'two different ends'),
        (lambda: edge_face(P, P + U + 1.1e-6 * N, N), 'does not lie on the face'),
        (lambda: face_face([P, P + U, P + W + 1e-4 * N], N), 'plane with this normal'),
        (lambda: face_face([P, P + U, P + 2 * U + 1e-10 * W], N), 'not in line'),
        (lambda: vertex_face(P, [0, 0, 1e-12]), 'must not be zero'),
        (lambda: vertex_face([0, 1], N), 'the point of contact must have shape'),
        (lambda: face_face(np.zeros((3, 2)), N), r'finite, of shape \(k, 3\)'),
        (lambda: face_face(np.zeros(3), N), r'finite, of shape \(k, 3\)'),
        (lambda: edge_edge(P, U, W, U), 'normal to both edges'),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()
