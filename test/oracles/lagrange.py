# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mechanics by differentiation: an oracle that shares no formula and no code with the package.

Everything comes from the poses of the links, composed straight from the description: velocities by
complex step (exact), the mass matrix from the kinetic energy, gravity from the potential energy,
Coriolis terms from central differences of order 8 of the mass matrix (Lagrange's equations). Mimic
joints are a substitution of coordinates here and nothing else. Fixed base; no floating joints.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from screw_dynamics_ros.core.description import Joint, RobotDescription

CENTRAL = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}  # differences of order 8


def gradient(
    function: Callable[[np.ndarray], np.ndarray], q: np.ndarray, h: float = 0.02
) -> np.ndarray:
    """Return the derivatives of function(q) by the elements of q, stacked along a first axis."""
    return np.stack(
        [
            sum(w * (function(q + k * h * e) - function(q - k * h * e)) for k, w in CENTRAL.items())
            / h
            for e in np.eye(len(q))
        ]
    )


def cross_matrix(x: np.ndarray) -> np.ndarray:
    """Return the matrices of y -> x × y, (..., 3, 3)."""
    return np.stack([np.cross(x, e) for e in np.eye(3)], axis=-1)


def vee(S: np.ndarray) -> np.ndarray:
    """Return the vectors of skew matrices (..., 3, 3)."""
    return np.stack([S[..., 2, 1], S[..., 0, 2], S[..., 1, 0]], axis=-1)


class Lagrange:
    """The robot of a description with a fixed base; links and joints as `Robot` orders them."""

    def __init__(self, description: RobotDescription, gravity: tuple[float, float, float]) -> None:
        self.description = description
        self.gravity = np.array(gravity)
        self._joints = {joint.name: joint for joint in description.joints}
        self.names = [
            joint.name
            for joint in description.joints
            if joint.type != 'fixed' and joint.mimic is None
        ]

    def joint_value(self, joint: Joint, q: np.ndarray) -> np.ndarray:
        """Return the joint's coordinate, (...,), through its masters."""
        if joint.mimic is None:
            return q[..., self.names.index(joint.name)]
        master = self.joint_value(self._joints[joint.mimic.joint], q)
        return joint.mimic.multiplier * master + joint.mimic.offset

    def poses(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Return the pose (..., 4, 4) of each link in the root frame; q may be complex."""
        shape = (*q.shape[:-1], 4, 4)
        poses = {self.description.root: np.broadcast_to(np.eye(4, dtype=q.dtype), shape)}
        for joint in self.description.joints:
            motion = np.zeros(shape, dtype=q.dtype)
            motion[...] = np.eye(4)
            if joint.type != 'fixed':
                value = self.joint_value(joint, q)[..., None, None]
                if joint.type == 'prismatic':
                    motion[..., :3, 3] = (value * joint.axis)[..., 0, :]
                else:  # Rodrigues with the dyad of the axis, not the square of its cross matrix
                    dyad = np.outer(joint.axis, joint.axis)
                    motion[..., :3, :3] = (
                        dyad
                        + np.cos(value) * (np.eye(3) - dyad)
                        + np.sin(value) * cross_matrix(joint.axis)
                    )
            poses[joint.child] = poses[joint.parent] @ joint.origin @ motion
        return poses

    def jacobians(self, q: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return (pose, hybrid Jacobian (6, nv)) of each link, angular rows first."""
        h = 1e-30
        poses = self.poses(q[None] + 1j * h * np.eye(len(q)))
        result = {}
        for link, C in poses.items():
            pose, dC = C[0].real, C.imag / h
            omega = vee(dC[:, :3, :3] @ pose[:3, :3].T)
            result[link] = pose, np.concatenate([omega, dC[:, :3, 3]], axis=1).T
        return result

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return M of T = 1/2 v^T M v, the sum over the links about their centers of mass."""
        M, kinematics = np.zeros((len(q), len(q))), self.jacobians(q)
        for link in self.description.links:
            if link.inertia is not None:
                pose, J = kinematics[link.name]
                R = pose[:3, :3]
                of_com = J[3:] - cross_matrix(R @ link.inertia.com) @ J[:3]
                M += link.inertia.mass * of_com.T @ of_com
                M += J[:3].T @ R @ link.inertia.matrix @ R.T @ J[:3]
        return M

    def first_moment(self, q: np.ndarray) -> np.ndarray:
        """Return the sum of mass times position, (..., 3), of all links; q may be complex."""
        poses = self.poses(q)
        return sum(
            link.inertia.mass
            * (poses[link.name][..., :3, :3] @ link.inertia.com + poses[link.name][..., :3, 3])
            for link in self.description.links
            if link.inertia is not None
        )

    def potential_energy(self, q: np.ndarray) -> np.ndarray:
        """Return U(q), zero at the origin of the root frame; q may be complex."""
        return -self.first_moment(q) @ self.gravity

    def gravity_torques(self, q: np.ndarray) -> np.ndarray:
        """Return dU/dq."""
        return self.potential_energy(q[None] + 1e-30j * np.eye(len(q))).imag / 1e-30

    def christoffel_symbols(self, q: np.ndarray) -> np.ndarray:
        """Return Gamma_ijk = 1/2 (dM_ik/dq_j + dM_ij/dq_k - dM_jk/dq_i), (nv, nv, nv) (D-36)."""
        dM = gradient(self.mass_matrix, q)  # [k, i, j]
        return 0.5 * (np.einsum('jik->ijk', dM) + np.einsum('kij->ijk', dM) - dM)

    def coriolis_matrix(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return C_ij = sum_k Gamma_ijk v_k."""
        return self.christoffel_symbols(q) @ v

    def inverse_dynamics(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        wrenches: dict[str, np.ndarray] | None = None,
    ) -> np.ndarray:
        """Return M a + C v + g - sum J^T w; wrenches (moment, force) at and in the link frames."""
        Q = self.mass_matrix(q) @ a + self.coriolis_matrix(q, v) @ v + self.gravity_torques(q)
        kinematics = self.jacobians(q)
        for link, W in (wrenches or {}).items():
            pose, J = kinematics[link]
            Q = Q - J[:3].T @ pose[:3, :3] @ W[:3] - J[3:].T @ pose[:3, :3] @ W[3:]
        return Q
