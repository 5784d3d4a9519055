# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Payloads: bodies carried by the robot, and their contributions to the joint torques.

Torques are linear in the inertial parameters phi of a body, tau = Y(q, v, a) phi, so the torques of
payloads are added to those of the robot:

    tau = tau_robot + tau_payload,    tau_payload = M a + C v + g of the payloads alone.

The parameters are inputs of the compiled functions: another payload needs no compilation. Example:
a unit mass at the tip of the straight arm of unit lengths, g = 10, has the lever arms 2 and 1:

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> arm, rest = planar_arm(), np.zeros(2)
>>> load = payload_parameters(arm, {'tip': RigidBody(1.0, np.zeros(3), np.zeros((3, 3)))})
>>> payload_torques(arm, rest, rest, rest, load, np.array([0.0, -10.0, 0.0]))
array([20., 10.])

Source: Müller 2018b section 6 (D-43), (72)-(76) (D-27); Bruyninckx 2010 section 4.12.9 (B-101).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..description.drives import NO_DRIVE
from ..description.rigid_body import PARAMETERS, RigidBody
from ..errors import ArgumentError
from ..tree.multibody_tree import GROUND, Tree
from ..types import Array
from .inverse_dynamics import newton_euler_torques
from .mass_matrix import mass_matrix
from .momentum_dynamics import momenta_and_rates

#: Indices of the elements of the inertia matrix in the parameters of a body.
MATRIX = np.array([[4, 5, 6], [5, 7, 8], [6, 8, 9]])


def payload_parameters(tree: Tree, payloads: Mapping[str, RigidBody]) -> Array:
    """Return the inertial parameters that payloads add to the moving bodies, (10 n_bodies,).

    Parameters
    ----------
    tree : Tree
    payloads : {link: RigidBody}
        Bodies fixed to links, given in the link frames.

    Returns
    -------
    (10 n_bodies,) array
        m, m c and I about the origin of the body frame (B-101), see `rigid_body.PARAMETERS`, for
        each body in order. A payload on a link that does not move has no effect.
    """
    if not isinstance(payloads, Mapping):
        raise ArgumentError(f'payloads must be a dict {{link: RigidBody}}, got {payloads!r}')
    parameters = np.zeros((len(tree.bodies), len(PARAMETERS)))
    for link, payload in payloads.items():
        if not isinstance(payload, RigidBody):
            raise ArgumentError(f'the payload on {link!r} must be a RigidBody, got {payload!r}')
        frame = tree.frame(link)
        if frame.body != GROUND:
            parameters[frame.body] += payload.moved(frame.S).parameters
    return parameters.ravel()


def payload_torques(
    tree: Tree, q: Array, v: Array, a: Array, payload: Array, gravity: Array
) -> Array:
    """Return the contribution of payloads to the torques of a motion, (nv,): M a + C v + g.

    The inverse dynamics (D-27) of the same tree with the inertias of the payloads only.

    Parameters
    ----------
    tree : Tree
    q : (nq,), v : (nv,), a : (nv,)
    payload : (10 n_bodies,)
        See `payload_parameters`.
    gravity : (3,)
        Acceleration of free fall in the root frame [m/s^2].
    """
    return newton_euler_torques(carried_alone(tree, payload), q, v, a, gravity)


def payload_momenta_and_rates(
    tree: Tree, q: Array, v: Array, payload: Array, gravity: Array
) -> tuple[Array, Array]:
    """Return the contributions of payloads to M v and C^T v - g, (nv,); see `payload_torques`."""
    return momenta_and_rates(carried_alone(tree, payload), q, v, gravity)


def payload_mass_matrix(tree: Tree, q: Array, payload: Array) -> Array:
    """Return the contribution of payloads to the mass matrix, (nv, nv); see `payload_torques`."""
    return mass_matrix(carried_alone(tree, payload), q)


def carried_alone(tree: Tree, payload: Array) -> Tree:
    """Return the same tree with the inertias of payloads (10 n_bodies,) only."""
    bodies = tuple(
        replace(body, m=p[0], h=p[1:4], I=p[MATRIX], drive=NO_DRIVE)
        for body, p in zip(tree.bodies, payload.reshape(-1, len(PARAMETERS)))
    )
    return replace(tree, bodies=bodies)


def with_inertia_changes(tree: Tree, changes: Array) -> Tree:
    """Return the tree with parameters (10 n_bodies,) added to those of its bodies.

    They may be negative, as differences between the parameters of two bodies. Only the sums must be
    physically possible.
    """
    rows = changes.reshape(-1, len(PARAMETERS))
    bodies = tuple(
        replace(body, m=body.m + p[0], h=body.h + p[1:4], I=body.I + p[MATRIX])
        for body, p in zip(tree.bodies, rows)
    )
    return replace(tree, bodies=bodies)
