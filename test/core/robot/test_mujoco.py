"""MuJoCo as oracle: armature, damping, mass matrix, inverse and forward dynamics, to 1e-9.

An arm, trees, and robots with a floating base. MuJoCo gives a free body the velocity of its origin
in root axes, and its angular velocity in body axes; its URDF reader knows no mimic joints. Friction
is left out but for viscous friction, contacts and limits are switched off.

Spec IDs: C-054, D-27, D-37 and D-38.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from support.models import (
    random_configuration,
    random_description,
    to_urdf,
    without_mimic,
)
from support.robots import urdf_path

mujoco = pytest.importorskip('mujoco')

from screw_dynamics_ros.core import Drive, Robot  # noqa: E402
from screw_dynamics_ros.core.description import Joint, Link, RobotDescription, read_urdf  # noqa: E402

GRAVITY = (0.3, -0.2, -9.0)
TOLERANCE = 1e-9


def close(actual: np.ndarray, expected: np.ndarray) -> None:
    """Assert a relative error of the norm below `TOLERANCE`."""
    assert np.shape(actual) == np.shape(expected)
    error = np.linalg.norm(np.subtract(actual, expected))
    assert error <= TOLERANCE * max(np.linalg.norm(expected), 1e-3)


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


def compare(description: RobotDescription, floating: bool, driven: bool, seed: int) -> None:
    """Compare at a random state, with random armatures and damping if `driven`."""
    rng = np.random.default_rng(seed)
    drives = {
        joint.name: Drive(armature=float(rng.uniform(0, 0.5)), damping=float(rng.uniform(0, 1)))
        for joint in description.joints
        if joint.type != 'fixed'
    }
    if not driven:
        drives = {name: Drive() for name in drives}
    robot = Robot(
        description, floating_base=floating, gravity=GRAVITY, drives=drives, backend='reference'
    )
    oracle, q = MuJoCo(robot), random_configuration(robot, rng)
    v, a, tau = rng.uniform(-1.0, 1.0, (3, robot.nv))
    close(robot.mass_matrix(q), oracle.mass_matrix(q))
    close(robot.inverse_dynamics(q, v, a), oracle.inverse_dynamics(q, v, a))
    actual = robot.forward_dynamics(q, v, tau)
    close(actual, oracle.forward_dynamics(q, v, tau))
    bare = Robot(description, floating_base=floating, gravity=GRAVITY, backend='reference')
    assert (np.abs(bare.forward_dynamics(q, v, tau) - actual).max() > 0.01) == driven


@pytest.mark.parametrize('driven', [False, True], ids=['free', 'driven'])
@pytest.mark.parametrize('floating', [False, True], ids=['fixed', 'floating'])
@pytest.mark.parametrize('seed', range(3))
def test_random_trees(seed, floating, driven):
    compare(random_description(seed, 8, ('revolute', 'prismatic')), floating, driven, seed)


@pytest.mark.parametrize('driven', [False, True], ids=['free', 'driven'])
@pytest.mark.parametrize('floating', [False, True], ids=['fixed', 'floating'])
@pytest.mark.parametrize(
    'name', ['panda_description/urdf/panda', 'kinova', 'solo12', 'talos_reduced', 'tiago_pro']
)
def test_robots(name, floating, driven):
    """Two arms, a quadruped, a humanoid, a mobile robot with two arms."""
    compare(without_mimic(read_urdf(urdf_path(name))), floating, driven, 1)
