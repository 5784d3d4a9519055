# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Springs along joints and counterbalances beside them: MuJoCo, energy, differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Drive, Robot
from screw_dynamics_ros.core.description import RobotDescription
from screw_dynamics_ros.core.robot.autograd.functions import differentiable
from screw_dynamics_ros.core.simulation import SimulatedRobot
from screw_dynamics_ros.core.textbook.formulations.recursive_newton_euler import (
    recursive_inverse_dynamics,
)
from support.drives import GRAVITY, SCALAR, close, state, two_masses
from support.models import random_description, to_urdf

REST_LENGTH = 0.3


def springs_of(description: RobotDescription, seed: int = 3) -> dict[str, Drive]:
    """Return a spring along each joint, and counterbalances at every second one."""
    rng = np.random.default_rng(seed)
    drives = {}
    for k, joint in enumerate(description.joints):
        along = Drive(
            spring_stiffness=float(rng.uniform(1, 20)), spring_position=float(rng.uniform(-1, 1))
        )
        a, b = (tuple(rng.uniform(0.1, 0.5, 3).tolist()) for _ in range(2))
        stiffness = float(rng.uniform(50, 200))
        beside = replace(
            along,
            counterbalance_on_parent=a,
            counterbalance_on_child=b,
            counterbalance_preload=-REST_LENGTH * stiffness,
            counterbalance_stiffness=stiffness,
        )
        drives[joint.name] = beside if k % 2 else along
    return drives


def mujoco_with_springs(description: RobotDescription, drives: dict[str, Drive]):
    """Return MuJoCo's model: stiff joints, and tendons between sites as counterbalances."""
    mujoco = pytest.importorskip('mujoco')
    spec = mujoco.MjSpec.from_string(to_urdf(description))
    spec.compiler.fusestatic = False
    for joint in description.joints:
        drive = drives[joint.name]
        if drive.counterbalance_on_parent is None:
            continue
        tendon = spec.add_tendon(name=joint.name)
        tendon.stiffness[0] = drive.counterbalance_stiffness
        tendon.springlength[:] = REST_LENGTH
        ends = (
            (joint.parent, drive.counterbalance_on_parent),
            (joint.child, drive.counterbalance_on_child),
        )
        for end, (link, point) in enumerate(ends):
            body = spec.worldbody if link == description.root else spec.body(link)
            body.add_site(name=f'{joint.name}_{end}', pos=point)
            tendon.wrap_site(f'{joint.name}_{end}')
    model = spec.compile()
    for joint in description.joints:
        made = model.joint(joint.name)
        model.jnt_stiffness[made.id] = drives[joint.name].spring_stiffness
        model.qpos_spring[made.qposadr[0]] = drives[joint.name].spring_position
    model.opt.gravity[:] = GRAVITY
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return mujoco, model


@pytest.mark.parametrize('backend', ['native', 'python', 'reference'])
def test_mujoco_has_the_same_springs(backend):
    """Torques, accelerations and the energy, of joint stiffness and of spatial tendons."""
    description = random_description(4, 6, ('revolute', 'prismatic'))
    drives = springs_of(description)
    mujoco, model = mujoco_with_springs(description, drives)
    robot = Robot(description, gravity=GRAVITY, drives=drives, backend=backend)
    q, v, a = state(robot)
    data, order = mujoco.MjData(model), [int(model.joint(n).dofadr[0]) for n in robot.joint_names]
    data.qpos[order], data.qvel[order], data.qacc[order] = q, v, a
    mujoco.mj_inverse(model, data)
    tau = data.qfrc_inverse[order]
    close(robot.inverse_dynamics(q, v, a), tau, 1e-10)
    close(robot.forward_dynamics(q, v, tau), a, 1e-9)
    data.qvel[:] = 0.0
    mujoco.mj_forward(model, data)
    held = (data.qfrc_bias - data.qfrc_passive)[order]
    close(robot.gravity_torques(q), held, 1e-10)
    mujoco.mj_energyPos(model, data)
    springs = robot.potential_energy(q) - Robot(description, gravity=GRAVITY).potential_energy(q)
    mujoco_springs = data.energy[0]
    model.jnt_stiffness[:] = 0.0
    model.tendon_stiffness[:] = 0.0
    mujoco.mj_energyPos(model, data)
    # of coils, k (l - l_0)^2 / 2 is k l_0^2 / 2 more than the energy from the length zero
    coils = [drive.counterbalance_stiffness for drive in drives.values()]
    constant = 0.5 * REST_LENGTH**2 * sum(coils)
    assert springs + constant == pytest.approx(mujoco_springs - data.energy[0], rel=1e-9)


@pytest.mark.parametrize(('floating', 'mimic'), [(False, 0), (True, 2)])
def test_torques_are_slopes_of_the_energy(floating, mimic):
    """g = dU/dq; derivatives, second derivatives and rates by differences; all recursions."""
    description = random_description(5, 6, (*SCALAR, 'helical'), mimic=mimic)
    arguments = {'floating_base': floating, 'gravity': GRAVITY, 'backend': 'reference'}
    robot = Robot(description, drives=springs_of(description), **arguments)
    q, v, a = state(robot)
    jerk, snap = np.random.default_rng(8).uniform(-1, 1, (2, robot.nv))
    h = 1e-5

    def slopes(function):
        """Return differences along the velocities, and of the rates of the motion."""
        columns = [
            (function(robot.integrate(q, h * e)) - function(robot.integrate(q, -h * e))) / (2 * h)
            for e in np.eye(robot.nv)
        ]
        return np.moveaxis(np.array(columns), 0, -1)

    close(robot.gravity_torques(q), slopes(robot.potential_energy), 1e-8)
    dQ_dq, _, _ = robot.inverse_dynamics_derivatives(q, v, a)
    close(dQ_dq, slopes(lambda x: robot.inverse_dynamics(x, v, a)), 1e-7)
    second = robot.inverse_dynamics_second_derivatives(q, v, a)[0]
    close(second, slopes(lambda x: robot.inverse_dynamics_derivatives(x, v, a)[0]), 1e-6)
    tau = robot.inverse_dynamics(q, v, a)
    close(robot.forward_dynamics(q, v, tau), a, 1e-8)
    tree = robot.tree
    close(recursive_inverse_dynamics(tree, q, v, a, robot.gravity), tau, 1e-11)
    _, rate = robot.momenta_and_rates(q, v)
    bare = Robot(description, **arguments)
    springs = robot.gravity_torques(q) - bare.gravity_torques(q)
    assert np.abs(springs).max() > 1.0
    close(rate, bare.momenta_and_rates(q, v)[1] - springs)
    if not floating:

        def torques(t):
            q_t, v_t = q + v * t + a * t**2 / 2 + jerk * t**3 / 6, v + a * t + jerk * t**2 / 2
            return robot.inverse_dynamics_rates(q_t, v_t, a + jerk * t, jerk, 0 * snap)

        _, first, second = robot.inverse_dynamics_rates(q, v, a, jerk, 0 * snap)
        close(first, (torques(h)[0] - torques(-h)[0]) / (2 * h), 1e-7)
        close(second, (torques(h)[1] - torques(-h)[1]) / (2 * h), 1e-6)


@pytest.mark.parametrize('name', ['coriolis_torques', 'kinetic_energy', 'gravity_torques'])
def test_gradients_know_which_terms_have_springs(name):
    description = random_description(5, 3, ('revolute', 'prismatic'))
    robot = Robot(description, drives=springs_of(description), backend='reference')
    function, h = differentiable(robot, name), 1e-5
    q, v, c = state(robot)
    vectors = (q, v)[: len(function.arguments)]
    weights = np.ones(()) if name == 'kinetic_energy' else c
    for k, found in enumerate(function.cotangents(vectors, weights)):
        for e, slope in zip(np.eye(robot.nv), found):
            ends = [
                getattr(robot, name)(*(x + (i == k) * sign * h * e for i, x in enumerate(vectors)))
                for sign in (1.0, -1.0)
            ]
            expected = np.sum(weights * (ends[0] - ends[1])) / (2 * h)
            assert slope == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_a_simulated_robot_keeps_its_energy():
    """Springs exchange energy with the motion and lose none."""
    description = random_description(9, 4, SCALAR, chain=True)
    robot = Robot(description, gravity=GRAVITY, drives=springs_of(description))
    simulated = SimulatedRobot(robot, [0.1, -0.2, 0.3, 0.1])
    start = sum(simulated.energy)
    while simulated.energy[0] < 5.0:
        simulated.step(np.zeros(4), 1e-3)
        assert not simulated.stop_torques.any()
        assert sum(simulated.energy) == pytest.approx(start, abs=1e-5)


# --- cogging --------------------------------------------------------------------------------------

COGGING = {'cogging': 0.7, 'cogging_order': 14.0, 'cogging_phase': 0.4}


@pytest.mark.parametrize('backend', ['native', 'reference'])
def test_cogging_by_hand(backend):
    """0.7 sin(14 q + 0.4) is needed to hold, and is the derivative of the energy."""
    arm = {'gravity': (0, 0, 0), 'backend': backend}
    robot = Robot(two_masses(), drives={'q2': Drive(**COGGING)}, **arm)
    plain, rest = Robot(two_masses(), **arm), np.zeros(2)
    for x in (-2.0, 0.0, 0.3, 5.0):
        q = np.array([0.2, x])
        torque = 0.7 * np.sin(14.0 * x + 0.4)
        assert robot.gravity_torques(q) == pytest.approx([0.0, torque], abs=1e-12)
        energy = robot.potential_energy(q) - plain.potential_energy(q)
        assert energy == pytest.approx(-0.7 / 14.0 * np.cos(14.0 * x + 0.4), abs=1e-12)
        a = robot.forward_dynamics(q, rest, [0.0, torque])
        np.testing.assert_allclose(a, rest, atol=1e-12)
        slope = robot.inverse_dynamics_derivatives(q, rest, rest)[0]
        assert slope[1, 1] == pytest.approx(0.7 * 14.0 * np.cos(14.0 * x + 0.4), abs=1e-9)


def test_cogging_keeps_energy_in_a_simulation():
    """An arm swings through twenty teeth without friction."""
    drives = {name: Drive(**COGGING) for name in ('q1', 'q2')}
    robot = Robot(two_masses(), gravity=(0, -9.81, 0), drives=drives)
    simulated = SimulatedRobot(robot, [0.3, 0.2])
    simulated.v = np.array([0.0, 10.0])
    energies, teeth = [sum(simulated.energy)], [simulated.q[1]]
    for _ in range(2000):
        simulated.step(np.zeros(2), 1e-3)
        energies.append(sum(simulated.energy))
        teeth.append(simulated.q[1])
    assert np.abs(np.diff(teeth)).sum() > 20 * 2 * np.pi / 14
    np.testing.assert_allclose(energies, energies[0], rtol=1e-5)


@pytest.mark.parametrize(
    ('fields', 'message'),
    [({'cogging': 1.0}, r'cogging is 1\.0 and cogging_order 0; give its periods per turn'),
     *(({name: -1.0}, f'{name} is -1.0; it must not be negative')
       for name in ('cogging', 'cogging_order', 'torque_constant')),
     *(({name: np.inf}, f'{name} is inf; give a finite number')
       for name in ('cogging', 'cogging_order', 'cogging_phase', 'torque_constant'))],
)  # fmt: skip
def test_cogging_that_is_refused(fields, message):
    with pytest.raises(ArgumentError, match=message):
        Drive(**fields)
    assert Drive(cogging_order=3.0).has_spring is False
    with pytest.raises(ArgumentError, match='torque_constant is 0; give that of the motor'):
        _ = Drive().torque_per_current
