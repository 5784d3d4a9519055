# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which joints an integrator keeps exactly, and the choice of groups by it.

Let the motions that a joint admits be a coset C0 H with a subgroup H of the group in which the
bodies move, so that its Jacobian is constant along H, with kernel h = Lie(H). Then every stage and
every step of a Munthe-Kaas method stays in C0 H, whatever the tableau and the step: accelerations
are in h, dexp^-1 maps h into itself, and exp h is in H. Otherwise |g| and |J v| are of the order of
the tableau.

In SE(3) that holds for all lower pairs to the ground, wherever the frame of the body is. In
SO(3) x R^3 it holds for prismatic and planar pairs, and for others only if their axis or center
goes through the origin of the body frame. Between moving bodies it fails but for special frames.

Sources: Müller and Terze, sections 5 and 6, who observe it; the statement is derived (spec 6,
I-16, I-33).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...lie import screw_systems
from ...types import Array
from .bodies import GROUND, AbsoluteBody, ConstraintJoint
from .groups import SE3, ConfigurationGroup, SO3xR3
from .system import AbsoluteSystem

#: Numbers that are treated as zero beside numbers of size 1.
ZERO_TOLERANCE = 1e-9
#: Size of the explored motions in the kernel [rad, m].
KERNEL_EXCURSION = 0.3


class Exactness(NamedTuple):
    """What to expect of a joint.

    Attributes
    ----------
    exact : bool
        Kept to rounding by every Munthe-Kaas method.
    reason : str
    """

    exact: bool
    reason: str


def exactness(system: AbsoluteSystem, q: Array | None = None) -> dict[str, Exactness]:
    """Return for each joint whether the groups of its bodies keep it exactly.

    Parameters
    ----------
    system : AbsoluteSystem
    q : (7 n,), optional
        Where the joints are closed; `system.configuration` by default.

    Examples
    --------
    >>> from screw_dynamics_ros.core.mechanisms.absolute_coordinates import example_systems
    >>> double_pendulum = example_systems.double_pendulum
    >>> {name: what.exact for name, what in exactness(double_pendulum().system).items()}
    {'joint 1': True, 'joint 2': False}
    """
    q = system.configuration if q is None else q
    bodies = {body.name: body for body in system.bodies}
    poses = system.poses(q)
    return {
        joint.name: of_joint(
            joint,
            [bodies[name] for name in (joint.parent, joint.child) if name != GROUND],
            {name: poses[name] for name in (joint.parent, joint.child) if name != GROUND},
        )
        for joint in system.joints
    }


def of_joint(
    joint: ConstraintJoint, bodies: Sequence[AbsoluteBody], poses: dict[str, Array]
) -> Exactness:
    """Return whether the motions of bodies under one joint are a coset of a subgroup."""
    pair = AbsoluteSystem(bodies, [joint], backend='sparse')
    groups = ConfigurationGroup([body.group for body in bodies])
    q = pair.configuration_of(poses)
    h = kernel(pair, q)
    for x in h.T:  # [h, h] in h
        ad = groups.ad(x.reshape(-1, 6))
        brackets = np.einsum('kij,kjm->kim', ad, h.reshape(len(bodies), 6, -1)).reshape(h.shape)
        if distance(h, brackets) > ZERO_TOLERANCE:
            return Exactness(False, 'the velocities it admits are no subalgebra of the group')
    along = [*h.T, h @ (1.0 + np.arange(h.shape[1]))]
    for x in along:
        moved = pair.integrate(q, KERNEL_EXCURSION * x / max(1.0, float(np.linalg.norm(x))))
        if distance(h, kernel(pair, moved)) > ZERO_TOLERANCE:
            return Exactness(False, 'the velocities it admits change with the configuration')
    return Exactness(True, 'its motions are a coset of a subgroup')


def kernel(system: AbsoluteSystem, q: Array) -> Array:
    """Return an orthonormal basis (6 n, f) of the velocities that the joints admit."""
    return screw_systems.null_space(system.constraint_jacobian(q).toarray(), ZERO_TOLERANCE)


def distance(h: Array, vectors: Array) -> float:
    """Return the largest part of some vectors, (k, m), outside the span of h."""
    return float(np.abs(vectors - h @ (h.T @ vectors)).max(initial=0.0))


def choose_groups(
    bodies: Sequence[AbsoluteBody], joints: Sequence[ConstraintJoint]
) -> tuple[AbsoluteBody, ...]:
    """Return the bodies with SE(3) for those that a joint connects to the ground.

    The others are in SO(3) x R^3, whose steps are cheaper and as accurate for them (I-16).
    """
    on_ground = {joint.child for joint in joints if joint.parent == GROUND}
    return tuple(replace(body, group=SE3 if body.name in on_ground else SO3xR3) for body in bodies)
