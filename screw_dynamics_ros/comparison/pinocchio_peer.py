# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pinocchio: its model of a URDF, read back link by link.

Pinocchio merges links that are fixed to one another, but keeps the inertia and the placement of
each fixed link in its list of frames. Spatial vectors have the linear part first there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..core.description import Inertia, Joint, Limits
from ..core.types import Array
from .peer import FullState, ModelSource, Peer, PeerReading, RefusalError
from .reading import DescriptionReading, inertia_of, relative_pose, subtracted


class PinocchioPeer(Peer):
    """Pinocchio, which reads URDF with urdfdom; mimic joints are independent by default."""

    name = 'Pinocchio'

    def __init__(self, source: ModelSource) -> None:
        try:
            import pinocchio  # type: ignore[import-untyped, unused-ignore]
        except ImportError:
            raise RefusalError('is not installed (pip install pin)') from None
        super().__init__(source, pinocchio.__version__)
        self._pin = pinocchio
        try:
            self._model: Any = pinocchio.buildModelFromXML(source.text)
        except ValueError as error:
            reason = [line for line in str(error).splitlines() if line.strip()][-1]
            raise RefusalError(f'refuses the description: {reason}') from None
        self._model.gravity.linear = source.gravity
        self._data = self._model.createData()
        names = set(self._model.names[1:])
        if names != set(self.joints.names):
            raise RefusalError(
                'has other joints: ' + ', '.join(sorted(names ^ set(self.joints.names)))
            )
        self._models = [self._model.joints[self._model.getJointId(n)] for n in self.joints.names]
        self._order = [joint.idx_v for joint in self._models]
        for k, (_, armature, damping) in zip(self._order, self.given_drives):
            self._model.armature[k], self._model.damping[k] = armature, damping
        if len(self.joints.names) > self.joints.gain.shape[1]:
            self.notes.append(
                'mimic joints are read as independent joints (unless buildModelFromXML has '
                'mimic=True); they are coupled here for the comparison'
            )
        if self.damping().any():
            self.notes.append(
                'keeps <dynamics damping> in model.damping, but its forward dynamics leave it to '
                'the caller; it is subtracted here'
            )

    def read(self) -> PeerReading:
        """Return links and joints of its model."""
        reading = DescriptionReading(self.subject, dict(zip(self.joints.names, self._armatures())))
        frames = {frame.name: frame for frame in self._frames('BODY')}
        for link in self.subject.links:
            if link.name in frames:
                found = self._own_inertia(link.name, frames)
                if inertia_of(link).mass or found.mass or found.matrix.any():
                    reading = reading.with_link(replace(link, inertia=found))
        for joint in self.subject.joints:
            if joint.child in frames and joint.parent in frames:
                reading = reading.with_joint(self._joint(joint, frames))
        return PeerReading(reading)

    def compute(self, q: Array, v: Array) -> FullState:
        """Return the quantities in one state."""
        pin, model, data = self._pin, self._model, self._data
        x, w = self._configuration(q), self._velocity(v)
        order = np.ix_(self._order, self._order)
        bias = np.array(pin.nonLinearEffects(model, data, x, w))[self._order]
        gravity = np.array(pin.computeGeneralizedGravity(model, data, x))[self._order]
        M = np.array(pin.crba(model, data, x))
        M = np.triu(M) + np.triu(M, 1).T  # versions before 3 fill one triangle only
        kinetic = float(pin.computeKineticEnergy(model, data, x, w))
        potential = float(pin.computePotentialEnergy(model, data, x))
        center = np.array(pin.centerOfMass(model, data, x))
        mass = sum(inertia.mass for inertia in list(model.inertias)[1:])
        pin.framesForwardKinematics(model, data, x)
        poses = {
            frame.name: np.array(data.oMf[model.getFrameId(frame.name, pin.BODY)].homogeneous)
            for frame in self._frames('BODY')
        }
        return FullState(
            float(mass),
            center if mass else np.zeros(3),
            poses,
            M[order],
            gravity,
            bias,
            kinetic,
            potential,
        )

    def accelerate(self, q: Array, v: Array, tau: Array) -> Array:
        """Return the accelerations by its articulated-body algorithm."""
        forces = self._velocity(tau - self.damping() * v)
        x, w = self._configuration(q), self._velocity(v)
        return np.array(self._pin.aba(self._model, self._data, x, w, forces))[self._order]

    def damping(self) -> Array:
        """Return what it has read, which its own algorithms leave out."""
        return np.array(self._model.damping)[self._order]

    # --- its coordinates --------------------------------------------------------------------------

    def _configuration(self, q: Array) -> Array:
        x = np.zeros(self._model.nq)
        for joint, angle in zip(self._models, q):  # a continuous one is (cos, sin) there
            place = slice(joint.idx_q, joint.idx_q + joint.nq)
            x[place] = angle if joint.nq == 1 else (np.cos(angle), np.sin(angle))
        return x

    def _velocity(self, v: Array) -> Array:
        w = np.zeros(self._model.nv)
        w[self._order] = v
        return w

    # --- what it has read -------------------------------------------------------------------------

    def _frames(self, kind: str) -> list[Any]:
        wanted = getattr(self._pin.FrameType, kind)
        return [frame for frame in self._model.frames if frame.type == wanted]

    def _armatures(self) -> list[float]:
        return [float(self._model.armature[k]) for k in self._order]

    def _own_inertia(self, link: str, frames: dict[str, Any]) -> Inertia:
        """Return the inertia of one link in its frame, without the links fixed to it.

        The frame of a fixed joint holds the inertia of its child; the remainder of the body of a
        moving joint, or of the root, belongs to the link at its head.
        """
        frame = frames[link]
        above = self._model.frames[self._parent(frame)]
        if above.type == self._pin.FrameType.FIXED_JOINT and frame.name != self.subject.root:
            return plain_inertia(above.inertia)
        parts = [
            (np.array(fixed.placement.homogeneous), plain_inertia(fixed.inertia))
            for fixed in self._frames('FIXED_JOINT')
            if self._joint_of(fixed) == self._joint_of(frame)
        ]
        whole = plain_inertia(self._model.inertias[self._joint_of(frame)])
        return subtracted(whole, parts) if parts else whole

    def _parent(self, frame: Any) -> int:
        return int(frame.parentFrame if hasattr(frame, 'parentFrame') else frame.previousFrame)

    def _joint_of(self, frame: Any) -> int:
        return int(frame.parentJoint if hasattr(frame, 'parentJoint') else frame.parent)

    def _joint(self, joint: Joint, frames: dict[str, Any]) -> Joint:
        parent = np.array(frames[joint.parent].placement.homogeneous)
        if not joint.kind.is_scalar:
            child = np.array(frames[joint.child].placement.homogeneous)
            return replace(joint, origin=relative_pose(parent, child))
        index = self._model.getJointId(joint.name)
        placement = np.array(self._model.jointPlacements[index].homogeneous)
        its = self._model.joints[index]
        data = its.createData()
        its.calc(data, self._pin.neutral(self._model))
        screw = np.array(data.S).reshape(6)
        axis = screw[3:] if screw[3:].any() else screw[:3]
        model, k = self._model, its.idx_v
        limits = joint.limits
        if its.nq == 1:
            limits = Limits(
                bound(model.lowerPositionLimit[its.idx_q]),
                bound(model.upperPositionLimit[its.idx_q]),
                bound(model.velocityLimit[k]),
                bound(model.effortLimit[k]),
            )
        return replace(
            joint,
            origin=relative_pose(parent, placement),
            axis=axis / np.linalg.norm(axis),
            limits=limits,
            damping=float(model.damping[k]),
            friction=float(model.friction[k]),
        )


def plain_inertia(inertia: Any) -> Inertia:
    """Return an inertia of Pinocchio as ours; both are about the center of mass."""
    matrix = np.array(inertia.inertia)
    return Inertia(
        max(float(inertia.mass), 0.0), np.array(inertia.lever), 0.5 * (matrix + matrix.T)
    )


def bound(value: float) -> float:
    """Return a limit, infinite where the largest number means no limit."""
    return float(np.copysign(np.inf, value) if abs(value) >= 1e300 else value)
