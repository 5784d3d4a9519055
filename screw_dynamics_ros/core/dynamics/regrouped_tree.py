# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""An equivalent tree with fewer inertial parameters.

Mass on the axis of a revolute joint can be assigned to either of the two bodies without changing
the dynamics, and so can rotational inertia at a prismatic joint, which does not rotate. Moving such
parts to the predecessor changes no torque, acceleration, energy or center of mass. The resulting
zeros make programs shorter: inverse dynamics by a tenth, gravity torques by a third. With the joint
axis z of body i, the parts moved to the predecessor p are

    revolute   m, h_z, theta_zz:    I = diag(theta_zz, theta_zz, 0),  h = (0, 0, h_z),
    prismatic  I.

Example: in the arm of unit lengths and masses, the outer mass is moved to the elbow, where it adds
1 to the first moment of the upper link; the first moment 1 of the lower link is unchanged.

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> [(body.name, float(body.m), float(body.h[0])) for body in regrouped(planar_arm()).bodies]
[('upper', 0.0, 2.0), ('lower', 0.0, 1.0)]

Source: the regrouping rules behind minimal parameter sets; Khalil and Dombre, Modeling,
Identification and Control of Robots (2002), chapter 9.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..lie.so3 import hat
from ..reproducible import reproducible
from ..tree.multibody_tree import GROUND, Body, Tree
from ..types import Array
from .spatial_inertia import RigidInertia, added, momentum, transported

ABOUT_Z, ALONG_Z = np.eye(6)[:, [2]], np.eye(6)[:, [5]]


def regrouped(tree: Tree) -> Tree:
    """Return an equivalent tree with as many zero inertial parameters as the joints allow.

    The inertias of single bodies are no longer those of physical bodies (masses are zero or
    negative), and the wrenches through joints are not those of the robot.
    """
    bodies = reproducible(tree.bodies)
    inertia: dict[int, RigidInertia] = {
        i: (body.m, body.h, body.I) for i, body in enumerate(bodies)
    }
    inertia[GROUND] = (tree.fixed_mass, tree.fixed_moment, np.zeros((3, 3)))
    for i in reversed(range(len(bodies))):
        body = bodies[i]
        inertia[i], shared = split(body.X, inertia[i])
        inertia[body.parent] = added(inertia[body.parent], transported(body.B, shared))
    return replace(
        tree,
        bodies=tuple(
            replace(
                body,
                m=inertia[i][0],
                h=inertia[i][1].astype(float),
                I=inertia[i][2].astype(float),
                massless_about_joint=massless_about_joint(bodies[i]),
            )
            for i, body in enumerate(tree.bodies)
        ),
        fixed_mass=inertia[GROUND][0],
        fixed_moment=inertia[GROUND][1].astype(float),
    )


def massless_about_joint(body: Body) -> bool:
    """Return whether the body has no inertia about its joint of one degree of freedom."""
    felt = momentum((body.m, body.h, body.I), body.X).T @ body.X
    most = max(abs(body.m), float(np.abs(body.I.diagonal()).sum()))
    return body.dof == 1 and not abs(felt[0, 0] + body.drive.reflected_inertia) > 1e-12 * most


def has_positive_energy(body: Body) -> bool:
    """Return whether the inertia of a body is positive semidefinite except for rounding."""
    if body.m < 0.0:
        return False
    central = body.I + hat(body.h) @ hat(body.h) / body.m if body.m else body.I
    return bool(np.linalg.eigvalsh(central)[0] >= -1e-9 * np.abs(body.I.diagonal()).sum())


def split(X: Array, inertia: RigidInertia) -> tuple[RigidInertia, RigidInertia]:
    """Return the inertia that a body keeps, and the part movable to its predecessor (joint X)."""
    m, h, I = inertia  # noqa: E741
    none = 0.0, np.zeros(3), np.zeros((3, 3))
    if np.array_equal(X, ABOUT_Z):  # mass on the axis: m, h_z, and Binet's theta_zz
        on_axis = 0.5 * (I[0, 0] + I[1, 1] - I[2, 2]) * np.diag([1.0, 1.0, 0.0])
        kept, least, most = I - on_axis, *np.argsort(I.diagonal()[:2])
        kept[most, most] = 0.5 * (I[2, 2] + I[most, most] - I[least, least])
        kept[least, least] = I[2, 2] - kept[most, most]  # I_zz, inertia about the joint, is exact
        kept[2, 2] = kept[0, 0] + kept[1, 1]  # theta_zz is exactly zero
        return (0.0, h * [1, 1, 0], kept), (m, h * [0, 0, 1], on_axis)
    if np.array_equal(X, ALONG_Z):
        return (m, h, none[2]), (0.0, none[1], I)
    return inertia, none
