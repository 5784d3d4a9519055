# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""MuJoCo: its model of a URDF or of an MJCF, read back body by body.

Its compiler merges links that are fixed to one another (`fusestatic`, the default for URDF). What
it has read of each link is therefore taken from a second model without merging, and the merged
bodies are compared on their own.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.dom.minidom import Element

import numpy as np

from ..core.description import Inertia, Joint, Limits
from ..core.description.xml_document import child, children, robot_element
from ..core.types import Array
from .peer import FullState, ModelSource, Peer, PeerReading, RefusalError
from .reading import DescriptionReading, carriers, inertia_of, relative_pose

SOLID_SHAPES = ('box', 'sphere', 'cylinder', 'capsule')  # shapes that MuJoCo makes masses of


class MuJoCoPeer(Peer):
    """MuJoCo without contacts, limits, dry friction and actuators."""

    name = 'MuJoCo'

    def __init__(self, source: ModelSource) -> None:
        try:
            import mujoco  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError:
            raise RefusalError('is not installed (pip install mujoco)') from None
        super().__init__(source, mujoco.__version__)
        self._mj = mujoco
        self._is_urdf = not source.mjcf
        self._warnings: set[str] = set()
        if source.mjcf:
            self._model: Any = self._load(Path(source.mjcf))
            self._parts = self._model
        else:
            self._model = self._load(importable(source.text))
            self._parts = self._load(importable(source.text, merged=False))
            self._note_masses_of_shapes(source.text)
        flags = mujoco.mjtDisableBit
        self._model.opt.disableflags |= flags.mjDSBL_CONSTRAINT | flags.mjDSBL_ACTUATION
        self._model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
        self._data = mujoco.MjData(self._model)
        self._check_joints()
        self._q = [int(self._model.joint(name).qposadr[0]) for name in self.joints.names]
        self._v = [int(self._model.joint(name).dofadr[0]) for name in self.joints.names]
        for model in (self._model, self._parts):
            for name, armature, damping in self.given_drives:
                k = int(model.joint(name).dofadr[0])
                model.dof_armature[k], model.dof_damping[k] = armature, damping
        self._bodies = body_ids(self._model)
        mujoco.mj_kinematics(self._model, self._data)
        self._model.opt.gravity[:] = self._root_pose()[:3, :3] @ source.gravity
        self._note_what_is_missing()

    def read(self) -> PeerReading:
        """Return links and joints of its model, and the merged bodies."""
        model = self._parts
        ids = body_ids(model)
        armatures = {
            name: float(model.dof_armature[model.joint(name).dofadr[0]])
            for name in self.joints.names
        }
        reading = DescriptionReading(self.subject, armatures)
        sums = self._bodies_of_several(ids)
        for link in self.subject.links:
            if link.name in ids and link.name not in sums:
                found = body_inertia(model, ids[link.name])
                if inertia_of(link).mass or found.mass:
                    reading = reading.with_link(replace(link, inertia=found))
        for joint in self.subject.joints:
            if joint.child in ids and (joint.parent in ids or joint.parent == self.subject.root):
                reading = reading.with_joint(self._joint(joint, model, ids))
        heads = {joint.child for joint in self.subject.joints if joint.kind.is_scalar}
        bodies = {
            link: body_inertia(self._model, k) for link, k in self._bodies.items() if link in heads
        }
        return PeerReading(reading, bodies)

    def compute(self, q: Array, v: Array) -> FullState:
        """Return the quantities in one state."""
        mj, model, data = self._mj, self._model, self._data
        order = np.ix_(self._v, self._v)
        data.qpos[self._q], data.qvel[:] = q, 0.0
        mj.mj_forward(model, data)
        gravity = np.array(data.qfrc_bias)[self._v]
        data.qvel[self._v] = v
        mj.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        for column, unit in zip(M, np.eye(model.nv)):  # mj_fullM differs between versions
            mj.mj_mulM(model, data, column, unit)
        moving = moving_bodies(model)
        masses, centers = model.body_mass[moving], data.xipos[moving]
        root = self._root_pose()
        total = float(masses.sum())
        center = masses @ centers / total if total else np.zeros(3)
        return FullState(
            total,
            root[:3, :3].T @ (center - root[:3, 3]) if total else center,
            {link: relative_pose(root, body_pose(data, k)) for link, k in self._bodies.items()},
            M[order],
            gravity,
            np.array(data.qfrc_bias)[self._v],
            float(data.energy[1]),
            float(-masses @ (centers - root[:3, 3]) @ model.opt.gravity),
        )

    def accelerate(self, q: Array, v: Array, tau: Array) -> Array:
        """Return the accelerations by mj_forward."""
        data = self._data
        data.qpos[self._q], data.qvel[self._v], data.qfrc_applied[self._v] = q, v, tau
        self._mj.mj_forward(self._model, data)
        return np.array(data.qacc)[self._v]

    def damping(self) -> Array:
        """Return the passive viscous friction."""
        return np.array(self._model.dof_damping)[self._v].reshape(-1)

    def _bodies_of_several(self, ids: dict[str, int]) -> set[str]:
        """Return the links into which others are merged, in an MJCF that has been compiled once."""
        held = carriers(self.subject)
        return {head for link, (head, _) in held.items() if link not in ids}

    # --- its model --------------------------------------------------------------------------------

    def _load(self, source: str | Path) -> Any:
        warnings: list[str] = []
        before = self._mj.get_mju_user_warning()
        self._mj.set_mju_user_warning(warnings.append)  # otherwise it writes MUJOCO_LOG.TXT
        try:
            if isinstance(source, Path):
                return self._mj.MjModel.from_xml_path(str(source))
            return self._mj.MjModel.from_xml_string(source)
        except ValueError as error:
            reason = ' '.join(str(error).split())
            raise RefusalError(f'refuses the description: {reason}') from None
        finally:
            self._mj.set_mju_user_warning(before)
            self.notes += [f'warns: {each}' for each in warnings if each not in self._warnings]
            self._warnings.update(warnings)

    def _check_joints(self) -> None:
        model = self._model
        names = {model.joint(k).name for k in range(model.njnt)}
        if names != set(self.joints.names):
            raise RefusalError(
                'has other joints: ' + ', '.join(sorted(names ^ set(self.joints.names)))
            )

    def _root_pose(self) -> Array:
        root = self._bodies.get(self.subject.root)
        return np.eye(4) if root is None else body_pose(self._data, root)

    def _note_what_is_missing(self) -> None:
        if len(self.joints.names) > self.joints.gain.shape[1]:
            self.notes.append(
                'mimic joints are read as independent joints; they are coupled here for the '
                'comparison (in MJCF: <equality><joint .../></equality>)'
            )
        there = {link.name for link in self.theirs.links} - {self.subject.root}
        merged = [link.name for link in self.subject.links if link.name in there]
        merged = [name for name in merged if name not in self._bodies]
        if merged:
            self.notes.append(
                f'merges {len(merged)} links into those they are fixed to (fusestatic), whose '
                f'poses it does not report: {", ".join(merged)}'
            )

    def _note_masses_of_shapes(self, text: str) -> None:
        for link in children(robot_element(text), 'link'):
            shapes = [child(shape, 'geometry') for shape in children(link, 'collision')]
            solid = any(shape is not None and is_solid(shape) for shape in shapes)
            if solid and child(link, 'inertial') is None:
                self.notes.append(
                    f'link {link.getAttribute("name")}: <inertial> is missing; MuJoCo makes a mass '
                    'of its collision shapes (1000 kg/m^3) unless inertiafromgeom="false"; shapes '
                    'are ignored here'
                )

    def _joint(self, joint: Joint, model: Any, ids: dict[str, int]) -> Joint:
        k = ids[joint.child]
        origin = np.eye(4)
        origin[:3, :3], origin[:3, 3] = matrix_of(model.body_quat[k]), model.body_pos[k]
        above = int(model.body_parentid[k])
        if joint.parent in ids and ids[joint.parent] != above:
            return joint  # bodies are merged: the origin is not that of this joint alone
        if not joint.kind.is_scalar:
            return replace(joint, origin=origin)
        its = model.joint(joint.name)
        dof = int(its.dofadr[0])
        effort = joint.limits.effort
        lower, upper = -np.inf, np.inf
        if model.jnt_limited[its.id]:
            lower, upper = map(float, model.jnt_range[its.id])
        if self._is_urdf and joint.kind.has_range and model.jnt_actfrclimited[its.id]:
            effort = float(model.jnt_actfrcrange[its.id][1])
        axis = np.array(model.jnt_axis[its.id])
        return replace(
            joint,
            origin=origin,
            axis=axis / np.linalg.norm(axis),
            limits=Limits(lower, upper, joint.limits.velocity, effort),
            damping=float(np.ravel(model.dof_damping[dof])[0]),
            friction=float(model.dof_frictionloss[dof]),
        )


def importable(text: str, *, merged: bool = True) -> str:
    """Return a URDF without shapes, whose meshes need not be at hand; all else as it is.

    With `merged=False` links that are fixed to one another are kept apart.
    """
    robot = robot_element(text)
    for link in children(robot, 'link'):
        for shape in (*children(link, 'visual'), *children(link, 'collision')):
            link.removeChild(shape)
    if not merged:
        extension = child(robot, 'mujoco') or appended(robot, 'mujoco')
        compiler = child(extension, 'compiler') or appended(extension, 'compiler')
        compiler.setAttribute('fusestatic', 'false')
    return robot.toxml()


def appended(parent: Element, tag: str) -> Element:
    """Return a new element at the end of another one."""
    document = parent.ownerDocument
    assert document is not None  # of a parsed document
    element = document.createElement(tag)
    parent.appendChild(element)
    return element


def is_solid(geometry: Element) -> bool:
    """Return whether a <geometry> is a shape with a volume."""
    return any(children(geometry, shape) for shape in SOLID_SHAPES)


def body_ids(model: Any) -> dict[str, int]:
    """Return {name: number} of the bodies but for the world."""
    return {model.body(k).name: k for k in range(1, model.nbody)}


def moving_bodies(model: Any) -> list[int]:
    """Return the bodies that are not fixed to the world."""
    return [k for k in range(1, model.nbody) if model.body_weldid[k] != 0]


def body_pose(data: Any, k: int) -> Array:
    """Return the pose (4, 4) of a body in the world."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = data.xmat[k].reshape(3, 3), data.xpos[k]
    return pose


def body_inertia(model: Any, k: int) -> Inertia:
    """Return the inertia of a body in its frame."""
    R = matrix_of(model.body_iquat[k])
    matrix = R @ np.diag(model.body_inertia[k]) @ R.T
    return Inertia(
        float(model.body_mass[k]), np.array(model.body_ipos[k]), 0.5 * (matrix + matrix.T)
    )


def matrix_of(quaternion: Array) -> Array:
    """Return the rotation matrix of a quaternion (w, x, y, z)."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
