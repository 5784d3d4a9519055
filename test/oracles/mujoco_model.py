# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""MuJoCo's model of a robot, in our coordinates and with our order of components.

MuJoCo gives a free body the velocity of its origin in root axes, and its angular velocity in body
axes, and its quaternions begin with w. Contacts and limits are switched off.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Joint, Link, RobotDescription
from support.models import to_urdf

mujoco = pytest.importorskip('mujoco')


class MuJoCo:
    """A MuJoCo model that takes and returns what a `Robot` does.

    Parameters
    ----------
    robot : Robot
    text : str
        The MJCF that the robot was read from; without it a URDF is written.
    """

    def __init__(self, robot: Robot, text: str = '') -> None:
        self.robot, description = robot, robot.description
        names = list(robot.joint_names)
        places = [robot.joint_coordinates(name) for name in names]
        if robot.floating_base:
            places.insert(0, (slice(0, 7), slice(0, 6)))
            base = Joint('free', 'floating', 'ground', description.root, np.eye(4), np.eye(3)[2])
            links = (Link('ground'), *description.links)
            description = RobotDescription.from_parts('r', links, (base, *description.joints))
        self.model = mujoco.MjModel.from_xml_string(text or to_urdf(description))
        if robot.floating_base:
            names.insert(0, self.model.joint(0).name)
        self.model.opt.gravity[:] = robot.gravity
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self.data = mujoco.MjData(self.model)
        #: Places in our q and v, and where the coordinates and velocities of MuJoCo start.
        self.places = []
        for name, (q, v) in zip(names, places, strict=True):
            its = self.model.joint(name)
            self.places.append((q, v, int(its.qposadr[0]), int(its.dofadr[0])))
            if name in robot.drives and not text:
                self.model.dof_armature[its.dofadr[0]] = robot.drives[name].armature
                self.model.dof_damping[its.dofadr[0]] = robot.drives[name].damping
        assert self.model.nv == robot.nv

    def set_state(self, q: np.ndarray, v: np.ndarray) -> None:
        """Set the state, and with it `G` of v_mujoco = G v and `rest` of a_mujoco = G a + rest."""
        self.G, self.rest = np.zeros((self.robot.nv, self.robot.nv)), np.zeros(self.robot.nv)
        for own, rates, start, first in self.places:
            x, size = q[own], rates.stop - rates.start
            if len(x) > size:
                x = np.concatenate([x[:-4], x[-1:], x[-4:-1]])
            self.data.qpos[start : start + len(x)] = x
            block = np.eye(size)
            if size == 6:
                R, (omega, linear) = (
                    Rotation.from_quat(q[own][3:]).as_matrix(),
                    np.split(v[rates], 2),
                )
                block = np.block([[np.zeros((3, 3)), R], [np.eye(3), np.zeros((3, 3))]])
                self.rest[first : first + 3] = R @ np.cross(omega, linear)
            self.G[first : first + size, rates] = block
        self.data.qvel[:] = self.G @ v

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the state as q, v of a `Robot`."""
        q, v = np.zeros(self.robot.nq), np.zeros(self.robot.nv)
        for own, rates, start, first in self.places:
            count, size = own.stop - own.start, rates.stop - rates.start
            x, rate = self.data.qpos[start : start + count], self.data.qvel[first : first + size]
            q[own], v[rates] = x, rate
            if count > size:
                q[own] = np.concatenate([x[:-4], x[-3:], x[-4:-3]])
            if size == 6:
                R = Rotation.from_quat(q[own][3:]).as_matrix()
                v[rates] = np.concatenate([rate[3:], R.T @ rate[:3]])
        return q, v

    def poses(self, q: np.ndarray) -> np.ndarray:
        """Return the poses (n, 4, 4) of `bodies`."""
        self.set_state(q, np.zeros(self.robot.nv))
        mujoco.mj_kinematics(self.model, self.data)
        bodies = [self.data.body(name) for name in self.bodies]
        poses = np.tile(np.eye(4), (len(bodies), 1, 1))
        poses[:, :3, :3] = [body.xmat.reshape(3, 3) for body in bodies]
        poses[:, :3, 3] = [body.xpos for body in bodies]
        return poses

    @property
    def bodies(self) -> list[str]:
        """Names of the bodies but for the world."""
        return [self.model.body(k).name for k in range(1, self.model.nbody)]

    def jacobian(self, q: np.ndarray, body: str) -> np.ndarray:
        """Return the hybrid Jacobian (6, nv) of a body."""
        self.set_state(q, np.zeros(self.robot.nv))
        mujoco.mj_forward(self.model, self.data)
        linear, angular = np.zeros((2, 3, self.robot.nv))
        mujoco.mj_jacBody(self.model, self.data, linear, angular, self.model.body(body).id)
        return np.concatenate([angular, linear]) @ self.G

    def energies(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return kinetic and potential energy."""
        self.model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
        self.set_state(q, v)
        mujoco.mj_forward(self.model, self.data)
        return self.data.energy[::-1].copy()

    def passive_motion(
        self, q: np.ndarray, v: np.ndarray, seconds: float, dt: float, integrator: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return q, v after a motion without torques, in steps of `mj_step`."""
        self.model.opt.timestep = dt
        self.model.opt.integrator = getattr(mujoco.mjtIntegrator, f'mjINT_{integrator}')
        mujoco.mj_resetData(self.model, self.data)
        self.set_state(q, v)
        for _ in range(round(seconds / dt)):
            mujoco.mj_step(self.model, self.data)
        return self.state()

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        self.set_state(q, np.zeros(self.robot.nv))
        mujoco.mj_forward(self.model, self.data)
        M = np.zeros((self.robot.nv, self.robot.nv))
        for column, e in zip(M, np.eye(self.robot.nv)):  # mj_fullM differs between versions
            mujoco.mj_mulM(self.model, self.data, column, e)
        return self.G.T @ M @ self.G

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        self.set_state(q, v)
        self.data.qacc[:] = self.G @ a + self.rest
        mujoco.mj_inverse(self.model, self.data)
        return self.G.T @ self.data.qfrc_inverse

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        self.set_state(q, v)
        self.data.qfrc_applied[:] = np.linalg.solve(self.G.T, tau)
        mujoco.mj_forward(self.model, self.data)
        return np.linalg.solve(self.G, self.data.qacc - self.rest)
