# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pinocchio's model of a robot, in our coordinates and with our order of components.

Pinocchio puts the linear part first, orders joints by itself, writes a continuous joint as (cos,
sin) and moves a planar joint by its body-fixed velocity; read without `mimic=True` it gives every
mimic joint a coordinate of its own. So v_pin = G(q) v, a_pin = G a + dG/dt v, and the equations of
motion in our coordinates are G^T M G a + G^T (M dG/dt v + h) = tau: with mimic joints, the dense
reduced equations.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import RobotDescription

pin = pytest.importorskip('pinocchio')

SWAP = [3, 4, 5, 0, 1, 2]  # linear first <-> angular first

FRAMES = {'body': pin.LOCAL, 'spatial': pin.WORLD, 'hybrid': pin.LOCAL_WORLD_ALIGNED}

KINDS = {(1, 1): 'scalar', (2, 1): 'circle', (4, 3): 'planar', (7, 6): 'free'}
KINDS['JointModelSpherical'] = 'ball'

Wrenches = Mapping[str, np.ndarray]


class Contact(NamedTuple):
    """A link that is held: its whole frame, or a point, given in the frame of the link."""

    link: str
    point: np.ndarray | None = None

    @property
    def origin(self) -> np.ndarray:
        """Where the link is held, in its frame."""
        return np.zeros(3) if self.point is None else self.point


class Pinocchio:
    """A Pinocchio model that takes and returns what a `Robot` of the same description does.

    Parameters
    ----------
    text : str
        URDF or MJCF.
    robot : Robot
        Defines the coordinates: which joints exist, their order, and who mimics whom.
    mimic : bool
        Let Pinocchio reduce the mimic joints itself.
    """

    def __init__(self, text: str, robot: Robot, *, mimic: bool = False) -> None:
        slices = [robot.joint_coordinates(name)[0] for name in robot.joint_names]
        free = robot.nq > sum(s.stop - s.start for s in slices)
        root = (pin.JointModelFreeFlyer(),) if free else ()
        self.model = (
            mjcf_model(text)
            if text.startswith('<mujoco')
            else pin.buildModelFromXML(text, *root, mimic=mimic)
        )
        self.model.gravity.linear = robot.gravity
        self.data = self.model.createData()
        self.robot = robot
        self.maps = []  # (kind, place in q_pin, in v_pin, in our q, in our v, multiplier, offset)
        for index in range(1, self.model.njoints):
            joint, name = self.model.joints[index], self.model.names[index]
            if joint.nv == 0:  # reduced by Pinocchio
                continue
            own, multiplier, offset = (slice(0, 7), slice(0, 6)), 1.0, 0.0
            if not (free and index == 1):
                master, multiplier, offset = resolve_mimic(robot.description, name)
                own = robot.joint_coordinates(master)
            self.maps.append(
                (
                    KINDS.get(joint.shortname()) or KINDS[joint.nq, joint.nv],
                    slice(joint.idx_q, joint.idx_q + joint.nq),
                    slice(joint.idx_v, joint.idx_v + joint.nv),
                    *own,
                    multiplier,
                    offset,
                )
            )

    def q(self, q: np.ndarray) -> np.ndarray:
        """Return Pinocchio's configuration."""
        result = np.zeros(self.model.nq)
        for kind, place, _, own, _, multiplier, offset in self.maps:
            if kind in ('free', 'ball'):
                result[place] = q[own]
            elif kind == 'planar':
                x, y, angle = q[own]
                result[place] = x, y, np.cos(angle), np.sin(angle)
            else:
                value = multiplier * q[own][0] + offset
                result[place] = [np.cos(value), np.sin(value)] if kind == 'circle' else value
        return result

    def G(self, q: np.ndarray) -> np.ndarray:
        """Return the matrix of v_pin = G(q) v."""
        G = np.zeros((self.model.nv, self.robot.nv))
        for kind, _, rows, own, columns, multiplier, _ in self.maps:
            if kind == 'free':
                G[rows, columns] = np.eye(6)[SWAP]
            elif kind == 'ball':
                G[rows, columns] = np.eye(3)
            elif kind == 'planar':
                c, s = np.cos(q[own][2]), np.sin(q[own][2])
                G[rows, columns] = [[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]
            else:
                G[rows, columns] = multiplier
        return G

    def dG(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the rate of G: only planar joints have one."""
        dG = np.zeros((self.model.nv, self.robot.nv))
        for kind, _, rows, own, columns, _, _ in self.maps:
            if kind == 'planar':
                c, s = np.cos(q[own][2]), np.sin(q[own][2])
                dG[rows, columns] = v[columns][2] * np.array([[-s, c, 0], [-c, -s, 0], [0, 0, 0]])
        return dG

    def external(self, wrenches: Wrenches) -> list[pin.Force]:
        """Return the wrenches on links as Pinocchio's forces on joints."""
        forces = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for link, W in wrenches.items():
            frame = self.model.frames[self.frame_id(link)]
            forces[frame.parentJoint] += frame.placement.act(pin.Force(np.asarray(W)[SWAP]))
        return forces

    def frame_id(self, link: str) -> int:
        """Return the number of a link's frame; joints and links may have equal names."""
        return self.model.getFrameId(link, pin.FrameType.BODY)

    def carry(self, link: str, mass: float, com: np.ndarray, inertia: np.ndarray) -> None:
        """Fix a body to a link: center of mass, and inertia about it, in the axes of the link."""
        frame = self.model.frames[self.frame_id(link)]
        body = pin.Inertia(mass, np.array(com), np.array(inertia))
        self.model.appendBodyToJoint(frame.parentJoint, body, frame.placement)
        self.data = self.model.createData()

    # --- what a Robot computes --------------------------------------------------------------------

    def link_poses(self, q: np.ndarray) -> np.ndarray:
        pin.framesForwardKinematics(self.model, self.data, self.q(q))
        return np.stack(
            [self.data.oMf[self.frame_id(link)].homogeneous for link in self.robot.link_names]
        )

    def jacobians(self, q: np.ndarray, links: Sequence[str], representation: str) -> np.ndarray:
        """Return the Jacobians of some links, (number of links, 6, nv)."""
        if representation == 'mixed':  # turns as in the body, moves as in the hybrid form
            body, hybrid = (self.jacobians(q, links, kind) for kind in ('body', 'hybrid'))
            return np.concatenate([body[:, :3], hybrid[:, 3:]], axis=1)
        pin.computeJointJacobians(self.model, self.data, self.q(q))
        pin.updateFramePlacements(self.model, self.data)
        return np.stack(
            [
                pin.getFrameJacobian(
                    self.model, self.data, self.frame_id(link), FRAMES[representation]
                )[SWAP]
                for link in links
            ]
        ) @ self.G(q)

    def inverse_dynamics(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: Wrenches | None = None
    ) -> np.ndarray:
        G = self.G(q)
        return G.T @ pin.rnea(
            self.model,
            self.data,
            self.q(q),
            G @ v,
            G @ a + self.dG(q, v) @ v,
            self.external(wrenches or {}),
        )

    def forward_dynamics(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Wrenches | None = None
    ) -> np.ndarray:
        """Articulated bodies; the dense reduced equations where joints mimic others."""
        if self.model.nv > self.robot.nv:
            h = self.inverse_dynamics(q, v, np.zeros_like(v), wrenches)
            return np.linalg.solve(self.mass_matrix(q), tau - h)
        G = self.G(q)
        a = pin.aba(
            self.model,
            self.data,
            self.q(q),
            G @ v,
            np.linalg.solve(G.T, tau),
            self.external(wrenches or {}),
        )
        return np.linalg.solve(G, a - self.dG(q, v) @ v)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        return self.G(q).T @ pin.crba(self.model, self.data, self.q(q)) @ self.G(q)

    def gravity_torques(self, q: np.ndarray) -> np.ndarray:
        return self.G(q).T @ pin.computeGeneralizedGravity(self.model, self.data, self.q(q))

    def coriolis_torques(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.inverse_dynamics(q, v, np.zeros_like(v)) - self.gravity_torques(q)

    def coriolis_matrix(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        G = self.G(q)
        C = pin.computeCoriolisMatrix(self.model, self.data, self.q(q), G @ v)
        return G.T @ (C @ G + pin.crba(self.model, self.data, self.q(q)) @ self.dG(q, v))

    def inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        if self.model.nv > self.robot.nv:
            return np.linalg.inv(self.mass_matrix(q))
        pin.computeMinverse(self.model, self.data, self.q(q))
        back = np.linalg.inv(self.G(q))
        upper = np.triu(self.data.Minv)
        return back @ (upper + np.triu(upper, 1).T) @ back.T

    def inverse_dynamics_derivatives(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Return (dtau/dq, dtau/dv, M) by the chain rule; G of planar joints is not constant."""
        G = self.G(q)
        D = pin.computeRNEADerivatives(self.model, self.data, self.q(q), G @ v, G @ a)
        return (*(G.T @ np.array(x) @ G for x in D[:2]), self.mass_matrix(q))

    def forward_dynamics_derivatives(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Return (da/dq, da/dv, M^-1); those of the dense reduced equations with mimic joints."""
        Minv = self.inverse_mass_matrix(q)
        if self.model.nv > self.robot.nv:
            a = self.forward_dynamics(q, v, tau)
            dq, dv, M = self.inverse_dynamics_derivatives(q, v, a)
            return -np.linalg.solve(M, dq), -np.linalg.solve(M, dv), Minv
        G = self.G(q)
        D = pin.computeABADerivatives(
            self.model, self.data, self.q(q), G @ v, np.linalg.solve(G.T, tau)
        )
        return (*(np.linalg.solve(G, np.array(x)) @ G for x in D[:2]), Minv)

    def regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the regressor with a block of columns for each link.

        Pinocchio's blocks belong to joints: a link's is that of its joint, for parameters that are
        moved from the frame of the link to that of the joint.
        """
        G, Y = self.G(q), np.zeros((self.robot.nv, len(self.robot.link_names), 10))
        theirs = G.T @ pin.computeJointTorqueRegressor(
            self.model, self.data, self.q(q), G @ v, G @ a + self.dG(q, v) @ v
        )
        for k, link in enumerate(self.robot.link_names):
            frame = self.model.frames[self.frame_id(link)]
            if frame.parentJoint:
                block = theirs[:, 10 * (frame.parentJoint - 1) : 10 * frame.parentJoint]
                Y[:, k] = block @ moved_parameters(frame.placement.homogeneous)
        return Y.reshape(len(Y), -1)

    def centroidal_map(self, q: np.ndarray) -> np.ndarray:
        """Pinocchio's is about the center of mass of what moves."""
        A = pin.computeCentroidalMap(self.model, self.data, self.q(q))[SWAP] @ self.G(q)
        mass, moment = self.mass_and_moment(q)
        A[:3] += np.cross(self.data.com[0] - moment / mass, A[3:], axis=0)
        return A

    def centroidal_momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        h = pin.computeCentroidalMomentum(self.model, self.data, self.q(q), self.G(q) @ v)
        h = h.vector[SWAP]
        mass, moment = self.mass_and_moment(q)
        h[:3] += np.cross(self.data.com[0] - moment / mass, h[3:])
        return h

    def constrained_dynamics(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, contacts: Sequence[Contact]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return (a, wrenches), those at and in the frames of the links, (number of contacts, 6).

        By `constraintDynamics`; by the dense reduced equations where joints mimic others.
        """
        if self.model.nv > self.robot.nv:
            a, forces = self.dense_contacts(q, v, tau, contacts)
        else:
            models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
            for contact in contacts:
                frame = self.model.frames[self.frame_id(contact.link)]
                kind = 'CONTACT_6D' if contact.point is None else 'CONTACT_3D'
                place = frame.placement * pin.SE3(np.eye(3), contact.origin)
                models.append(
                    pin.RigidConstraintModel(
                        getattr(pin.ContactType, kind),
                        self.model,
                        frame.parentJoint,
                        place,
                        pin.LOCAL,
                    )
                )
                datas.append(models[-1].createData())
            pin.initConstraintDynamics(self.model, self.data, models, datas)
            G = self.G(q)
            a = pin.constraintDynamics(
                self.model, self.data, self.q(q), G @ v, np.linalg.solve(G.T, tau), models, datas
            )
            a = np.linalg.solve(G, a - self.dG(q, v) @ v)
            forces = [data.contact_force.vector[SWAP] for data in datas]
        wrenches = []
        for contact, W in zip(contacts, forces):
            moment = np.zeros(3) if contact.point is not None else W[:3]
            wrenches.append(np.concatenate([moment + np.cross(contact.origin, W[3:]), W[3:]]))
        return a, np.array(wrenches)

    def dense_contacts(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, contacts: Sequence[Contact]
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Solve M a + h = tau + J^T f, J a + J' v = 0; return a and the f, moments first."""
        G, rows, drift = self.G(q), [], []
        pin.forwardKinematics(self.model, self.data, self.q(q), G @ v, self.dG(q, v) @ v)
        for contact in contacts:
            index = self.frame_id(contact.link)
            arguments = self.model, self.data, index, pin.LOCAL
            J = pin.computeFrameJacobian(self.model, self.data, self.q(q), index, pin.LOCAL)
            J, x = (J @ G)[SWAP], contact.origin
            if contact.point is None:
                rows.append(J)
                drift.append(pin.getFrameAcceleration(*arguments).vector[SWAP])
            else:
                omega = pin.getFrameVelocity(*arguments).angular
                A = pin.getFrameClassicalAcceleration(*arguments)
                spin = np.cross(omega, np.cross(omega, x)) + np.cross(A.angular, x)
                rows.append(J[3:] + np.cross(J[:3], x, axis=0))
                drift.append(A.linear + spin)
        J, M = np.concatenate(rows), self.mass_matrix(q)
        free = self.forward_dynamics(q, v, tau)
        back = np.linalg.solve(M, J.T)
        f = -np.linalg.solve(J @ back, J @ free + np.concatenate(drift))
        parts = np.split(f, np.cumsum([len(block) for block in rows])[:-1])
        return free + back @ f, [np.concatenate([np.zeros(6 - len(x)), x]) for x in parts]

    def kinetic_energy(self, q: np.ndarray, v: np.ndarray) -> float:
        return pin.computeKineticEnergy(self.model, self.data, self.q(q), self.G(q) @ v)

    def mass_and_moment(self, q: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the mass and the first moment (3,) of all links.

        Pinocchio's own total mass, center of mass and potential energy leave out the root link of a
        fixed base and what is fixed to it, but it keeps that inertia as the one of joint 0.
        """
        com = pin.centerOfMass(self.model, self.data, self.q(q))
        moving, root = sum(x.mass for x in list(self.model.inertias)[1:]), self.model.inertias[0]
        return moving + root.mass, moving * com + root.mass * root.lever


def resolve_mimic(description: RobotDescription, name: str) -> tuple[str, float, float]:
    """Return (master, multiplier, offset) of a joint, through all masters in between."""
    joint = next(joint for joint in description.joints if joint.name == name)
    if joint.mimic is None:
        return name, 1.0, 0.0
    master, multiplier, offset = resolve_mimic(description, joint.mimic.joint)
    return (
        master,
        joint.mimic.multiplier * multiplier,
        joint.mimic.multiplier * offset + joint.mimic.offset,
    )


def moved_parameters(C: np.ndarray) -> np.ndarray:
    """Return the matrix (10, 10) that takes (m, m c, xx, xy, yy, xz, yz, zz) of a body elsewhere.

    The inertias are about the origins; C (4, 4) is the old frame in the new one.
    """
    upper = np.array([[4, 5, 7], [5, 6, 8], [7, 8, 9]])
    H = np.zeros((10, 4, 4))  # pseudo-inertias, integrals of (x, 1) (x, 1)^T dm, of unit parameters
    H[0, 3, 3] = 1.0
    for i in range(3):
        H[1 + i, i, 3] = H[1 + i, 3, i] = 1.0
        for j in range(3):
            H[upper[i, j], i, j] -= 1.0
        H[upper[i, i], :3, :3] += 0.5 * np.eye(3)
    H = C @ H @ C.T
    trace = H[:, 0, 0] + H[:, 1, 1] + H[:, 2, 2]
    result = np.concatenate([H[:, 3, 3:], H[:, :3, 3], np.zeros((10, 6))], axis=1)
    for i in range(3):
        for j in range(i, 3):
            result[:, upper[i, j]] = (i == j) * trace - H[:, i, j]
    return result.T


def mjcf_model(text: str) -> pin.Model:
    """Return the model of an MJCF."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, 'robot.xml')
        path.write_text(text, encoding='utf-8')
        return pin.buildModelFromMJCF(str(path))
