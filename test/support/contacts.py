# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts of each kind at a point P with a normal N, and the number of their wrenches."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.textbook.constraints.contact_wrenches import (
    edge_edge,
    edge_face,
    face_face,
    point_with_friction,
    soft_finger,
    vertex_face,
)

P = np.array([0.2, -0.1, 0.4])
N = np.array([1.0, 2.0, -2.0]) / 3.0
U, W = np.array([2.0, -2.0, -1.0]) / 3.0, np.array([2.0, 1.0, 2.0]) / 3.0
CORNERS = [P, P + 0.3 * U, P + 0.2 * W, P + 0.3 * U + 0.2 * W]

CONTACTS = {
    'vertex_face': (vertex_face(P, 3 * N), 1),
    'edge_face': (edge_face(P, P + 0.3 * U, N), 2),
    'face_face': (face_face(CORNERS, N), 3),
    'edge_edge': (edge_edge(P, U, W, N), 1),
    'point_with_friction': (point_with_friction(P), 3),
    'soft_finger': (soft_finger(P, N), 4),
}
