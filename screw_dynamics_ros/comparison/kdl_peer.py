# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""KDL: a chain built of the URDF as kdl_parser does, and its chain solvers.

kdl_parser drops the inertia of the root link, and the solvers know chains only: whatever branches
off the chain is not there. PyKDL has no forward dynamics; they follow from its mass matrix.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..core.description import Inertia, Joint, Link, RobotDescription
from ..core.errors import DescriptionError
from ..core.lie import so3
from ..core.types import Array
from .peer import FullState, ModelSource, Peer, PeerReading, RefusalError
from .reading import DescriptionReading, chain_to, inertia_of


class KDLPeer(Peer):
    """KDL on the chain from the root to a tip."""

    name = 'KDL'

    def __init__(self, source: ModelSource) -> None:
        try:
            import PyKDL  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError:
            raise RefusalError('is not installed (apt install python3-pykdl)') from None
        tip = source.tip or last_link(source.description)
        if tip not in {link.name for link in source.theirs.links}:
            raise RefusalError(f'has no link {tip} in its file; choose another tip')
        theirs = chain_to(source.theirs, tip)
        try:
            version = getattr(PyKDL, '__version__', '')
            super().__init__(source, version, chain_to(source.description, tip), theirs)
        except DescriptionError as error:
            raise RefusalError(str(error)) from None
        self._kdl = PyKDL
        self._armatures = {name: armature for name, armature, _ in self.given_drives}
        if joints_of(theirs) != joints_of(self.subject):
            raise RefusalError(f'has other joints before {tip}')
        self._chain = self._built(theirs)
        self._gravity = source.gravity
        self._dynamics = PyKDL.ChainDynParam(self._chain, PyKDL.Vector(*source.gravity))
        self._forces = PyKDL.ChainIdSolver_RNE(self._chain, PyKDL.Vector(*source.gravity))
        self._kinematics = PyKDL.ChainFkSolverPos_recursive(self._chain)
        self.notes.append(f'computes chains only: {self.subject.root} to {tip}')
        self._note_what_is_missing(source.description)

    def read(self) -> PeerReading:
        """Return links and joints of its chain."""
        reading = DescriptionReading(self.subject, self._armatures)
        kdl, own = self._kdl, {joint.name: joint for joint in self.subject.joints}
        for k, theirs in enumerate(self.theirs.joints):
            joint = own.get(theirs.name)
            if joint is None or joint.parent != theirs.parent:
                continue
            segment = self._chain.getSegment(k)
            origin = matrix_of(segment.getFrameToTip())
            its = segment.getJoint()
            axis = joint.axis
            if joint.kind.is_scalar:
                axis = origin[:3, :3].T @ np.array([its.JointAxis()[i] for i in range(3)])
            reading = reading.with_joint(replace(joint, origin=origin, axis=axis))
            body = segment.getInertia()
            com, mass = np.array([body.getCOG()[i] for i in range(3)]), body.getMass()
            about_origin = np.array(
                [
                    [(body.getRotationalInertia() * kdl.Vector(*unit))[i] for unit in np.eye(3)]
                    for i in range(3)
                ]
            )
            matrix = about_origin + mass * so3.hat(com) @ so3.hat(com)
            link = reading.link(joint.child)
            if inertia_of(link).mass or mass:
                found = Inertia(mass, com, 0.5 * (matrix + matrix.T))
                reading = reading.with_link(replace(link, inertia=found))
        return PeerReading(reading)

    def compute(self, q: Array, v: Array) -> FullState:
        """Return the quantities in one state."""
        kdl, n = self._kdl, len(q)
        x, w, zero = self._array(q), self._array(v), kdl.JntArray(n)
        mass_matrix, gravity, bias = kdl.JntSpaceInertiaMatrix(n), kdl.JntArray(n), kdl.JntArray(n)
        self._dynamics.JntToMass(x, mass_matrix)
        self._dynamics.JntToGravity(x, gravity)
        wrenches = [kdl.Wrench.Zero()] * self._chain.getNrOfSegments()
        self._forces.CartToJnt(x, w, zero, wrenches, bias)
        M = np.array([[mass_matrix[i, j] for j in range(n)] for i in range(n)]).reshape(n, n)
        poses, masses, moment = self._frames(x)
        total = sum(masses)
        return FullState(
            total,
            moment / total if total else moment,
            poses,
            M,
            np.array([gravity[i] for i in range(n)]),
            np.array([bias[i] for i in range(n)]),
            float(0.5 * v @ M @ v),
            float(-self._gravity @ moment),
        )

    def damping(self) -> Array:
        """Return that of the description, which kdl_parser does not read."""
        return np.array([joint.damping for joint in self.subject.joints if joint.kind.is_scalar])

    def _built(self, description: RobotDescription) -> Any:
        """Return the chain as kdl_parser makes it."""
        kdl, chain = self._kdl, self._kdl.Chain()
        links = {link.name: link for link in description.links}
        for joint in description.joints:
            chain.addSegment(
                kdl.Segment(
                    joint.child,
                    self._joint(joint),
                    frame_of(kdl, joint.origin),
                    self._inertia(links[joint.child]),
                )
            )
        return chain

    def _joint(self, joint: Joint) -> Any:
        kdl = self._kdl
        if not joint.kind.is_scalar:
            return kdl.Joint(joint.name, kdl.Joint.Fixed)
        kind = kdl.Joint.RotAxis if joint.kind.turns else kdl.Joint.TransAxis
        axis = joint.origin[:3, :3] @ joint.axis
        armature = self._armatures.get(joint.name, 0.0)
        origin = kdl.Vector(*joint.origin[:3, 3])
        return kdl.Joint(joint.name, origin, kdl.Vector(*axis), kind, 1.0, 0.0, armature)

    def _inertia(self, link: Link) -> Any:
        kdl, body = self._kdl, inertia_of(link)
        entries = (body.matrix[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
        return kdl.RigidBodyInertia(
            body.mass, kdl.Vector(*body.com), kdl.RotationalInertia(*map(float, entries))
        )

    def _frames(self, x: Any) -> tuple[dict[str, Array], list[float], Array]:
        """Return poses of the links, masses of the moving ones, and their first moment."""
        poses, masses, moment, moves = {self.subject.root: np.eye(4)}, [], np.zeros(3), False
        frame = self._kdl.Frame()
        for k, joint in enumerate(self.theirs.joints):
            moves = moves or joint.kind.is_scalar
            segment = self._chain.getSegment(k)
            self._kinematics.JntToCart(x, frame, k + 1)
            pose = poses[joint.child] = matrix_of(frame)
            if moves:
                body = segment.getInertia()
                com = np.array([body.getCOG()[i] for i in range(3)])
                masses.append(body.getMass())
                moment = moment + body.getMass() * (pose[:3, :3] @ com + pose[:3, 3])
        return poses, masses, moment

    def _array(self, values: Array) -> Any:
        array = self._kdl.JntArray(len(values))
        for k, value in enumerate(values):
            array[k] = float(value)
        return array

    def _note_what_is_missing(self, whole: RobotDescription) -> None:
        kept = {link.name for link in self.subject.links}
        lost = [link for link in whole.links if link.name not in kept]
        if lost:
            mass = sum(inertia_of(link).mass for link in lost)
            names = ', '.join(link.name for link in lost)
            self.notes.append(f'its solvers leave out {mass:.6g} kg beside the chain: {names}')
        root = inertia_of(whole.links[0])
        if root.mass:
            self.notes.append(
                f'link {whole.root}: kdl_parser drops the <inertial> of the root ({root.mass:.6g} '
                'kg), which does not move here'
            )
        if len(self.joints.names) > self.joints.gain.shape[1]:
            self.notes.append('knows no mimic joints; they are coupled here for the comparison')
        if self.damping().any():
            self.notes.append('kdl_parser drops <dynamics>; its damping is subtracted here')


def joints_of(description: RobotDescription) -> list[tuple[str, str]]:
    """Return names and types of the scalar joints."""
    return [(joint.name, joint.type) for joint in description.joints if joint.kind.is_scalar]


def last_link(description: RobotDescription) -> str:
    """Return the link with most scalar joints before it, of several the one with most links."""
    depth = {description.root: (0, 0)}
    for joint in description.joints:
        joints, links = depth[joint.parent]
        depth[joint.child] = (joints + joint.kind.is_scalar, links + 1)
    return max(depth, key=lambda link: depth[link])


def matrix_of(frame: Any) -> Array:
    """Return a frame of KDL as a pose (4, 4)."""
    pose = np.eye(4)
    for i in range(3):
        pose[i, 3] = frame.p[i]
        for j in range(3):
            pose[i, j] = frame.M[i, j]
    return pose


def frame_of(kdl: Any, pose: Array) -> Any:
    """Return a pose (4, 4) as a frame of KDL."""
    return kdl.Frame(kdl.Rotation(*map(float, pose[:3, :3].ravel())), kdl.Vector(*pose[:3, 3]))
