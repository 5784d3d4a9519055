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
    """A MuJoCo model that takes and returns what a `Robot` does."""

    def __init__(self, robot: Robot) -> None:
        self.robot, description = robot, robot.description
        self.floating = robot.nq > len(robot.joint_names)
        if self.floating:
            base = Joint('free', 'floating', 'ground', description.root, np.eye(4), np.eye(3)[2])
            links = (Link('ground'), *description.links)
            description = RobotDescription.from_parts('r', links, (base, *description.joints))
        self.model = mujoco.MjModel.from_xml_string(to_urdf(description))
        self.model.opt.gravity[:] = robot.gravity
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self.data = mujoco.MjData(self.model)
        first = list(range(6)) if self.floating else []
        names = robot.joint_names
        self.order = first + [int(self.model.joint(name).dofadr[0]) for name in names]
        for name, place in zip(names, self.order[len(first) :]):
            self.model.dof_armature[place] = robot.drives[name].armature
            self.model.dof_damping[place] = robot.drives[name].damping
        assert self.model.nv == robot.nv

    def set_state(self, q: np.ndarray, v: np.ndarray) -> None:
        """Set the state, and with it `G` of v_mujoco = G v and `rest` of a_mujoco = G a + rest."""
        self.G, self.rest = np.eye(self.robot.nv)[np.argsort(self.order)], np.zeros(self.robot.nv)
        if self.floating:
            R = Rotation.from_quat(q[3:7]).as_matrix()
            self.G[:6, :6] = 0.0
            self.G[:3, 3:6], self.G[3:6, :3] = R, np.eye(3)
            self.rest[:3] = R @ np.cross(v[:3], v[3:6])
            self.data.qpos[:7] = q[[0, 1, 2, 6, 3, 4, 5]]
        places = [place + self.floating for place in self.order[6 * self.floating :]]
        self.data.qpos[places] = q[7 * self.floating :]
        self.data.qvel[:] = self.G @ v

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the state as q, v of a `Robot`."""
        q, rates = np.zeros(self.robot.nq), self.data.qvel[self.order].copy()
        places = [place + self.floating for place in self.order[6 * self.floating :]]
        q[7 * self.floating :] = self.data.qpos[places]
        if self.floating:
            q[[0, 1, 2, 6, 3, 4, 5]] = self.data.qpos[:7]
            rates[3:6] = Rotation.from_quat(q[3:7]).as_matrix().T @ self.data.qvel[:3]
            rates[:3] = self.data.qvel[3:6]
        return q, rates

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
