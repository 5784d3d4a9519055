# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The equations of motion of bodies and joints in absolute coordinates.

With the body-fixed twist V = (omega, v) of a body whose inertia about its frame is M,

    M V' = ad_V^T M V + W - J^T lambda,

W = gravity and applied wrenches; for the frame at the center of mass the velocity terms are
(-omega x Theta omega, -m omega x v). The constraints of all joints are J V = 0, and with
their derivative J V' = eta. A joint leads from body i to body j, with frames S_i, S_j on them, the
origin of S_j at s_j in body j and at d_i in body i, and E = R_Sj^T:

    turn        E (omega_j - R_ji omega_i)                                   R_ji = R_j^T R_i
    shift       E (v_j + omega_j x s_j - R_ji (v_i + omega_i x d_i))          in the frame S_j
    shift       R_j (v_j + omega_j x s_j) - R_i (v_i + omega_i x s_i)         of joints with center

of which N keeps the constrained components. On the ground the rows of the first two are constant
in body-fixed twists (R_ji omega_i = 0): what lets a motion group be kept exactly. The third has
constant lever arms, resolved in the inertial frame: off the constraints the forms differ, and with
this one the energy drifts 17 to 48 times less between moving bodies (spec 5.5). It also serves
joints to the ground of bodies in SO(3) x R^3.

A body whose group is SO(3) x R^3 has the hybrid velocity (omega, r'), V^h = diag(1, R) V, and
V^h' = diag(1, R) (V' + (0, omega x v)); its equations are these in other coordinates, with the
same lambda. So all of it is computed in body-fixed twists.

Everything here takes arrays over the bodies or the joints, of numbers or of recorded scalars. The
last body of each array is the ground.

Sources: Müller and Terze (38) to (64), with (61) corrected (I-17, I-18, I-27, I-28, I-30, I-45).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...lie import quaternions, so3
from ...linear import cross, times, zeros
from ...types import Array
from .bodies import GROUND, AbsoluteBody, ConstraintJoint
from .groups import SE3, SO3xR3

#: The components of a twist in which joints of one freedom move.
TURN_COMPONENT, SHIFT_COMPONENT = 2, 5


class BodiesMotion(NamedTuple):
    """Configurations and body-fixed twists of n bodies and the ground, (n + 1, ...) each."""

    R: Array
    r: Array
    omega: Array
    v: Array

    @property
    def twists(self) -> Array:
        """The body-fixed twists (n + 1, 6)."""
        return np.concatenate([self.omega, self.v], axis=1)


class EquationRows(NamedTuple):
    """Constraints in body-fixed twists: row k has a (6,) for each of the bodies it connects.

    Attributes
    ----------
    blocks : (m, s, 6) array
    eta : (m,) array
    """

    blocks: Array
    eta: Array


class Coupling(NamedTuple):
    """A joint that follows another: q = multiplier * q_leader + offset (a mimic joint).

    Numbers of joints, and the component of the relative twist each moves in.
    """

    follower: int
    leader: int
    follower_component: int
    leader_component: int
    multiplier: float
    offset: float


class BodyEquations:
    """Motion, forces and representations of the bodies.

    Parameters
    ----------
    bodies : sequence of AbsoluteBody
    """

    def __init__(self, bodies: Sequence[AbsoluteBody]) -> None:
        self.count = len(bodies)
        self.M = np.array([body.mass_matrix for body in bodies]).reshape(-1, 6, 6)
        self.masses = np.array([body.inertia.mass for body in bodies])
        self.com = np.array([body.inertia.com for body in bodies]).reshape(-1, 3)
        self.hybrid = np.array([body.group == SO3xR3 for body in bodies], dtype=bool)

    def motion(self, q: Array, v: Array) -> BodiesMotion:
        """Return the motion in body-fixed twists of q (7 n,) and v (6 n,)."""
        x, V = q.reshape(-1, 7), v.reshape(-1, 6)
        R = quaternions.to_matrix(x[:, 3:])
        linear = V[:, 3:].copy()
        linear[self.hybrid] = times(np.swapaxes(R[self.hybrid], 1, 2), linear[self.hybrid])
        return BodiesMotion(
            np.concatenate([R, np.eye(3)[None]]),
            *(np.concatenate([a, np.zeros((1, 3))]) for a in (x[:, :3], V[:, :3], linear)),
        )

    def velocity_forces(self, motion: BodiesMotion) -> Array:
        """Return ad_V^T M V, (n, 6): (-omega x n - v x f, -omega x f) of the momenta (n, f)."""
        omega, v = motion.omega[:-1], motion.v[:-1]
        momenta = times(self.M, np.concatenate([omega, v], axis=1))
        n, f = momenta[:, :3], momenta[:, 3:]
        return np.concatenate([-cross(omega, n) - cross(v, f), -cross(omega, f)], axis=1)

    def weights(self, motion: BodiesMotion, gravity: Array) -> Array:
        """Return the wrenches of gravity (n, 6) in the body frames."""
        f = self.masses[:, None] * times(np.swapaxes(motion.R[:-1], 1, 2), gravity)
        return np.concatenate([cross(self.com, f), f], axis=1)

    def body_fixed(self, motion: BodiesMotion, forces: Array) -> Array:
        """Return wrenches (n, 6) in body frames of generalized forces dual to the velocities."""
        wrenches = forces.reshape(-1, 6).copy()
        R = motion.R[:-1][self.hybrid]
        wrenches[self.hybrid, 3:] = times(np.swapaxes(R, 1, 2), wrenches[self.hybrid, 3:])
        return wrenches

    def own(self, motion: BodiesMotion, vectors: Array) -> Array:
        """Return, of body-fixed wrenches or twists (n, 6), those in the bodies' own velocities."""
        vectors = vectors.copy()
        vectors[self.hybrid, 3:] = times(motion.R[:-1][self.hybrid], vectors[self.hybrid, 3:])
        return vectors

    def change_of_axes(self, motion: BodiesMotion) -> Array:
        """Return (0, omega x v), (n, 6), of hybrid bodies: diag(1, R)^-1 V^h' - V'."""
        change = zeros((self.count, 6), motion.omega, motion.v)
        places = np.flatnonzero(self.hybrid)
        change[places, 3:] = cross(motion.omega[places], motion.v[places])
        return change

    def own_rates(self, motion: BodiesMotion, a: Array) -> Array:
        """Return the rates (n, 6) of the velocities from those of the body-fixed twists."""
        return self.own(motion, a + self.change_of_axes(motion))


class JointEquations:
    """Rows, right-hand sides and gaps of joints.

    Parameters
    ----------
    bodies : sequence of AbsoluteBody
    joints : sequence of ConstraintJoint
    couplings : sequence of Coupling

    Attributes
    ----------
    bodies : (m, s) array of int
        The bodies that each row connects; n is the ground.
    joint : (m,) array of int
        The joint that each row belongs to; of a coupling, its follower.
    """

    def __init__(
        self,
        bodies: Sequence[AbsoluteBody],
        joints: Sequence[ConstraintJoint],
        couplings: Sequence[Coupling],
    ) -> None:
        number = {body.name: k for k, body in enumerate(bodies)} | {GROUND: len(bodies)}
        self.joints, self.couplings = tuple(joints), tuple(couplings)
        self.parent = np.array([number[joint.parent] for joint in joints], dtype=int)
        self.child = np.array([number[joint.child] for joint in joints], dtype=int)
        S_i = np.array([joint.parent_frame for joint in joints]).reshape(-1, 4, 4)
        S_j = np.array([joint.child_frame for joint in joints]).reshape(-1, 4, 4)
        self.S_i, self.S_j = S_i, S_j
        self.s_i, self.s_j = S_i[:, :3, 3], S_j[:, :3, 3]
        self.E = np.swapaxes(S_j[:, :3, :3], 1, 2)
        self.in_inertial_frame = np.array(
            [
                joint.pair.has_center
                and (joint.parent != GROUND or bodies[number[joint.child]].group != SE3)
                for joint in joints
            ],
            dtype=bool,
        )
        counts = [len(joint.pair.N) for joint in joints]
        self.N = np.concatenate([joint.pair.N for joint in joints] or [np.zeros((0, 6))])
        own = np.repeat(np.arange(len(joints)), counts)
        self.joint = np.concatenate([own, np.array([c.follower for c in couplings], dtype=int)])
        first = np.cumsum([0, *counts])
        self._last_rows = first[1:, None] + np.arange(-3, 0)
        self._kinds = [
            (
                joints[of_kind[0]].pair,
                of_kind,
                first[of_kind][:, None] + np.arange(counts[of_kind[0]]),
            )
            for of_kind in equal([joint.pair for joint in joints])
        ]
        ends = np.stack([self.child, self.parent], axis=1).reshape(-1, 2)
        self._rows_of_joints = own
        self.bodies = ends[own]
        if couplings:
            pairs = [[*ends[c.follower], *ends[c.leader]] for c in couplings]
            nothing = np.full((len(own), 2), len(bodies))
            self.bodies = np.concatenate([np.concatenate([self.bodies, nothing], axis=1), pairs])

    @cached_property
    def rows_of_joints(self) -> list[NDArray[np.intp]]:
        """The rows of each joint; couplings are rows of the follower."""
        return [np.flatnonzero(self.joint == k) for k in range(len(self.joints))]

    @property
    def gaps_are_recordable(self) -> bool:
        """Whether `gaps` takes recorded scalars: no angle is needed."""
        turning = any(
            TURN_COMPONENT in (c.follower_component, c.leader_component) for c in self.couplings
        )
        return not turning and all(joint.pair.is_recordable for joint in self.joints)

    def rows(self, motion: BodiesMotion) -> EquationRows:
        """Return J and eta, in body-fixed twists."""
        blocks, eta = self.relative_motion(motion)
        N, own = self.N, self._rows_of_joints
        rows = np.stack([(N[:, None] @ blocks[own, end])[:, 0] for end in (0, 1)], axis=1)
        eta_rows = (N * eta[own]).sum(axis=1)
        if not self.couplings:
            return EquationRows(rows, eta_rows)
        coupled, eta_coupled = [], []
        for c in self.couplings:
            follower, leader = blocks[c.follower], blocks[c.leader]
            coupled.append(
                np.concatenate(
                    [
                        follower[:, c.follower_component],
                        -c.multiplier * leader[:, c.leader_component],
                    ]
                )
            )
            eta_coupled.append(
                eta[c.follower, c.follower_component]
                - c.multiplier * eta[c.leader, c.leader_component]
            )
        rows = np.concatenate([rows, np.zeros_like(rows)], axis=1)
        return EquationRows(
            np.concatenate([rows, np.array(coupled)]),
            np.concatenate([eta_rows, np.array(eta_coupled)]),
        )

    def rates(self, blocks: Array, motion: BodiesMotion) -> Array:
        """Return J V, (m,) [rad/s, m/s], of all rows."""
        products: Array = (blocks * motion.twists[self.bodies]).sum(axis=(1, 2))
        return products

    def relative_motion(self, motion: BodiesMotion) -> tuple[Array, Array]:
        """Return all six rows of each joint for child and parent, (k, 2, 6, 6), and eta (k, 6)."""
        i, j, E = self.parent, self.child, self.E
        R_i, R_j = motion.R[i], motion.R[j]
        s_i, s_j = self.s_i, self.s_j
        to_j = np.swapaxes(R_j, 1, 2)
        R_ji = to_j @ R_i
        d_i = times(np.swapaxes(R_i, 1, 2), motion.r[j] + times(R_j, s_j) - motion.r[i])
        omega_i, omega_j = motion.omega[i], motion.omega[j]
        w_j = motion.v[j] + cross(omega_j, s_j)
        w_i = times(R_ji, motion.v[i] + cross(omega_i, d_i))
        turned = times(R_ji, omega_i)

        blocks = zeros((len(E), 2, 6, 6), R_ji, d_i)
        eta = zeros((len(E), 6), R_ji, w_j)
        blocks[:, 0, :3, :3], blocks[:, 1, :3, :3] = E, -(E @ R_ji)
        eta[:, :3] = -times(E, cross(omega_j, turned))
        blocks[:, 0, 3:, :3], blocks[:, 0, 3:, 3:] = -(E @ so3.hat(s_j)), E
        blocks[:, 1, 3:, :3], blocks[:, 1, 3:, 3:] = E @ R_ji @ so3.hat(d_i), -(E @ R_ji)
        eta[:, 3:] = times(E, cross(turned, w_j) - cross(omega_j, w_i))

        k = self.in_inertial_frame
        if k.any():
            R_i, R_j, s_i, s_j = R_i[k], R_j[k], s_i[k], s_j[k]
            w_j, w_i = w_j[k], motion.v[i][k] + cross(omega_i[k], s_i)
            blocks[k, 0, 3:, :3], blocks[k, 0, 3:, 3:] = -(R_j @ so3.hat(s_j)), R_j
            blocks[k, 1, 3:, :3], blocks[k, 1, 3:, 3:] = R_i @ so3.hat(s_i), -R_i
            eta[k, 3:] = times(R_i, cross(omega_i[k], w_i)) - times(R_j, cross(omega_j[k], w_j))
        return blocks, eta

    def relative_poses(self, motion: BodiesMotion) -> Array:
        """Return S_i^-1 C_i^-1 C_j S_j of each joint, (k, 4, 4)."""
        C = zeros((len(motion.r), 4, 4), motion.R, motion.r)
        C[:, :3, :3], C[:, :3, 3], C[:, 3, 3] = motion.R, motion.r, 1.0
        at_parent, at_child = C[self.parent] @ self.S_i, C[self.child] @ self.S_j
        poses = zeros(at_parent.shape, at_parent)
        back = np.swapaxes(at_parent[:, :3, :3], 1, 2)
        poses[:, :3, :3] = back @ at_child[:, :3, :3]
        poses[:, :3, 3] = times(back, at_child[:, :3, 3] - at_parent[:, :3, 3])
        poses[:, 3, 3] = 1.0
        return poses

    def gaps(self, motion: BodiesMotion) -> Array:
        """Return g, (m,) [rad, m]: its rate is J V where it is zero."""
        poses = self.relative_poses(motion)
        g = zeros(len(self.joint), poses)
        for pair, joints, rows in self._kinds:
            g[rows] = pair.gap(poses[joints])
        k = np.flatnonzero(self.in_inertial_frame)
        R_i = motion.R[self.parent[k]] @ self.S_i[k, :3, :3]
        g[self._last_rows[k]] = times(R_i, poses[k, :3, 3])
        for row, c in enumerate(self.couplings, start=len(self._rows_of_joints)):
            error = coordinate(poses[c.follower], c.follower_component) - c.offset
            error -= c.multiplier * coordinate(poses[c.leader], c.leader_component)
            if c.follower_component == TURN_COMPONENT:
                error = (error + np.pi) % (2 * np.pi) - np.pi
            g[row] = error
        return g


def equal(values: Sequence[Hashable]) -> list[NDArray[np.intp]]:
    """Return the places of equal values, an array for each value."""
    places: dict[Hashable, list[int]] = {}
    for k, value in enumerate(values):
        places.setdefault(value, []).append(k)
    return [np.array(each) for each in places.values()]


def coordinate(C: Array, component: int) -> Any:
    """Return the angle about z (component 2) or the shift along z (5) of a relative pose."""
    return np.arctan2(C[1, 0], C[0, 0]) if component == TURN_COMPONENT else C[2, 3]
