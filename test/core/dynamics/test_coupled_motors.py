# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motors that turn with several joints, as in wrists: MuJoCo's fixed tendons, differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.description.motor_coupling import motor_coupling
from screw_dynamics_ros.core.textbook.formulations.recursive_newton_euler import (
    recursive_inverse_dynamics,
)
from support.drives import GRAVITY, close, state
from support.models import random_description, to_urdf

DESCRIPTION = random_description(4, 6, ('revolute', 'prismatic'), chain=True)
#: Motor 6 turns with joint 5, motor 2 with the joints 1 and 4.
COUPLING = {'joint6': {'joint5': 1.0}, 'joint2': {'joint1': -0.5, 'joint4': 0.3}}


def coupled(ratios: dict[str, float]) -> dict[str, tuple]:
    """Return the fields of a drive that couple its motor."""
    return {'coupled_joints': tuple(ratios), 'coupling_ratios': tuple(ratios.values())}


def coupled_drives(**friction: float) -> dict[str, Drive]:
    """Return drives with rotors, of which two are coupled."""
    drives = {}
    for k, joint in enumerate(DESCRIPTION.joints):
        drives[joint.name] = Drive(2e-5 * (k + 1), 80.0, armature=0.05, damping=0.2 * k)
        if joint.name in COUPLING:
            drives[joint.name] = replace(
                drives[joint.name], motor_damping=0.7, **coupled(COUPLING[joint.name]), **friction
            )
    return drives


@pytest.mark.parametrize('backend', ['native', 'python', 'reference'])
def test_mujoco_has_the_same_motors(backend):
    """A fixed tendon with armature and damping moves as the motor, and pulls the joints as it."""
    mujoco = pytest.importorskip('mujoco')
    drives = coupled_drives()
    spec = mujoco.MjSpec.from_string(to_urdf(DESCRIPTION))
    for name, joints in COUPLING.items():
        tendon = spec.add_tendon(name=name, armature=drives[name].motor_inertia)
        tendon.damping[0] = drives[name].motor_damping
        for joint, ratio in ((name, 1.0), *joints.items()):
            tendon.wrap_joint(joint, ratio)
        motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_TENDON)
        motor.set_to_motor()
    model = spec.compile()
    robot = Robot(DESCRIPTION, gravity=GRAVITY, drives=drives, backend=backend)
    order = [int(model.joint(name).dofadr[0]) for name in robot.joint_names]
    for place, name in zip(order, robot.joint_names):
        model.dof_armature[place] = drives[name].reflected_inertia
        model.dof_damping[place] = drives[name].damping
    model.opt.gravity[:] = GRAVITY
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data, (q, v, a) = mujoco.MjData(model), state(robot)
    data.qpos[order], data.qvel[order], data.qacc[order] = q, v, a
    mujoco.mj_inverse(model, data)
    tau = data.qfrc_inverse[order]
    close(robot.inverse_dynamics(q, v, a), tau, 1e-10)
    close(robot.forward_dynamics(q, v, tau), a, 1e-9)
    M = np.array([mujoco_product(mujoco, model, data, e) for e in np.eye(6)])[np.ix_(order, order)]
    close(robot.mass_matrix(q), M, 1e-10)
    assert robot.kinetic_energy(q, v) == pytest.approx(0.5 * v @ M @ v)
    close(robot.momenta_and_rates(q, v)[0], M @ v, 1e-10)
    torques = np.array([2.0, -3.0])  # of the two motors
    data.ctrl[:] = torques
    mujoco.mj_forward(model, data)
    of_motors = np.zeros(6)
    of_motors[[robot.joint_names.index(name) for name in COUPLING]] = torques
    C = motor_coupling(robot.joint_names, drives)
    close(C.T @ of_motors, data.qfrc_actuator[order], 1e-12)


def mujoco_product(mujoco, model, data, e):
    column = np.zeros(len(e))
    mujoco.mj_mulM(model, data, column, e)
    return column


def test_derivatives_and_recursions_know_coupled_motors():
    """First and second derivatives and rates by differences, hybrid dynamics, representations."""
    drives = coupled_drives(motor_coulomb=0.4, smoothing=0.2)
    robot = Robot(DESCRIPTION, gravity=GRAVITY, drives=drives, backend='reference')
    q, v, a = state(robot)
    h, tau = 1e-5, robot.inverse_dynamics(q, v, a)

    def slopes(function):
        columns = [(function(h * e) - function(-h * e)) / (2 * h) for e in np.eye(6)]
        return np.moveaxis(np.array(columns), 0, -1)

    _, dQ_dv, M = robot.inverse_dynamics_derivatives(q, v, a)
    close(dQ_dv, slopes(lambda x: robot.inverse_dynamics(q, v + x, a)), 1e-8)
    close(M, slopes(lambda x: robot.inverse_dynamics(q, v, a + x)), 1e-7)
    second = robot.inverse_dynamics_second_derivatives(q, v, a)[1]
    close(second, slopes(lambda x: robot.inverse_dynamics_derivatives(q, v + x, a)[1]), 1e-7)
    close(robot.forward_dynamics_derivatives(q, v, tau)[2] @ M, np.eye(6), 1e-9)
    close(recursive_inverse_dynamics(robot.tree, q, v, a, robot.gravity), tau, 1e-11)
    rates = [robot.inverse_dynamics_rates(q, v, x, a, q) for x in (a + h * a, a - h * a, a)]
    smooth = Robot(DESCRIPTION, gravity=GRAVITY, drives=drives, friction=False)
    close(rates[2][0], smooth.inverse_dynamics(q, v, a), 1e-11)
