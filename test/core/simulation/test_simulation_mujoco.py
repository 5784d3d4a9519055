# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""MuJoCo as outside witness: passive motions of real robots converge to the same as steps shrink.

What either program computes with steps of some length is compared with what the other one computes
with the shortest steps. doc/theory/simulation.md has the table.
"""

import dataclasses

import mujoco
import numpy as np
import pytest

from oracles.mujoco_model import MuJoCo
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Limits, read_urdf
from screw_dynamics_ros.core.motion.control.joint_gains import middle_of_range
from screw_dynamics_ros.core.simulation import SimulatedRobot
from support.models import without_mimic
from support.robots import urdf_path

#: Robots, whether their base floats, and steps [s] that show the fourth order.
ROBOTS = [
    ('ur_description/urdf/ur5_robot', False, (4e-3, 2e-3, 1e-3)),
    ('solo12', True, (1e-2, 5e-3, 2.5e-3)),
]
SHORTEST = 1.25e-4
SECONDS = 1.0


class Motions:
    """One passive motion of a robot by both programs, without stops, mimic joints and friction."""

    def __init__(self, name, floating):
        description = without_mimic(read_urdf(urdf_path(name)))
        self.q = middle_of_range(Robot(description, floating_base=floating, backend='reference'))
        joints = [dataclasses.replace(joint, limits=Limits()) for joint in description.joints]
        description = dataclasses.replace(description, joints=tuple(joints))
        self.robot = Robot(description, floating_base=floating, gravity=(0.0, 0.0, -9.81))
        self.v = 0.5 * np.cos(np.arange(self.robot.nv))
        self.oracle = MuJoCo(self.robot)
        self.oracle.model.dof_damping[:] = 0.0

    def ours(self, dt, integrator='runge_kutta'):
        simulated = SimulatedRobot(self.robot, integrator=integrator)
        simulated.set_state(self.q, self.v)
        for _ in range(round(SECONDS / dt)):
            simulated.step(np.zeros(self.robot.nv), dt)
        return simulated.q

    def theirs(self, dt, integrator):
        return self.oracle.passive_motion(self.q, self.v, SECONDS, dt, integrator)[0]

    def distance(self, q0, q1):
        """Return the largest difference of two configurations [rad, m]."""
        return np.abs(self.robot.difference(q0, q1)).max()


def orders(errors):
    """Return the order between steps of which each is half of the one before."""
    return np.log2(np.divide(errors[:-1], errors[1:]))


@pytest.mark.parametrize(('name', 'floating', 'steps'), ROBOTS)
def test_passive_motion_converges_to_that_of_mujoco(name, floating, steps):
    """Either way, with the fourth order of both, over 1 s in which the robot moves by radians.

    MuJoCo before 4.0 is of second order where a free joint turns.
    """
    motions = Motions(name, floating)
    ours, theirs = motions.ours(SHORTEST), motions.theirs(SHORTEST, 'RK4')
    assert motions.distance(motions.q, ours) > 1.0
    assert motions.distance(ours, theirs) < 1e-9
    of_mujoco = 2.0 if floating and int(mujoco.__version__.split('.')[0]) < 4 else 4.0
    best = theirs if of_mujoco == 4.0 else ours
    for order, errors in (
        (of_mujoco, [motions.distance(ours, motions.theirs(dt, 'RK4')) for dt in steps]),
        (4.0, [motions.distance(best, motions.ours(dt)) for dt in steps]),
    ):
        assert errors[-1] < 1e-6
        assert orders(errors)[-1] == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize(('name', 'floating'), [robot[:2] for robot in ROBOTS])
def test_the_default_integrator_of_mujoco_is_of_first_order(name, floating):
    """It is our semi-implicit one where all coordinates add: the same numbers."""
    motions = Motions(name, floating)
    reference, steps = motions.ours(SHORTEST), (1e-3, 5e-4, 2.5e-4)
    theirs = [motions.theirs(dt, 'EULER') for dt in steps]
    errors = [motions.distance(reference, q) for q in theirs]
    assert orders(errors)[-1] == pytest.approx(1.0, abs=0.05)
    if not floating:
        np.testing.assert_allclose(motions.ours(steps[-1], 'semi_implicit'), theirs[-1], atol=1e-8)
