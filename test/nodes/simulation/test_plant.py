# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a driver acts on: external torques at the stops, and commands when a state is set."""

import numpy as np
import pytest

from screw_dynamics_ros.core.motion.control.joint_gains import middle_of_range
from screw_dynamics_ros.nodes.simulation.joint_targets import EFFORT
from screw_dynamics_ros.nodes.simulation.plant import AppliedWrenches, Plant, Timeouts
from support.simulated_motors import DT, DrivenArm

TIMEOUTS = Timeouts(command=1e3, wrench=1e3)


@pytest.fixture
def arm():
    return DrivenArm('panda')


@pytest.fixture
def plant(arm):
    pushes = AppliedWrenches(arm.robot, at_once=True)
    return Plant(arm.simulated, arm.joints, arm.motors, pushes, DT)


def test_external_torques_include_those_of_the_stops(arm, plant):
    """At rest at a stop: what the motors give, the stop and gravity are in equilibrium."""
    effort = arm.robot.limits.effort.copy()
    arm.command(EFFORT, effort)
    plant.advance(0, TIMEOUTS, 2000)
    assert np.abs(arm.simulated.v).max() == 0.0
    expected = arm.robot.gravity_torques(arm.simulated.q) - effort
    np.testing.assert_allclose(plant.external_torques(0, TIMEOUTS), expected, atol=1e-6)
    assert np.abs(expected).max() > 10.0


def test_commands_end_when_a_state_is_set(arm, plant):
    """The arm is held where it was put; the efforts before would move it away."""
    arm.command(EFFORT, arm.robot.limits.effort)
    joint, q = arm.robot.joint_names[0], middle_of_range(arm.robot)
    plant.set_state({joint: 0.5}, {})
    q[0] = 0.5
    plant.advance(0, TIMEOUTS, 200)
    np.testing.assert_allclose(arm.simulated.q, q, atol=1e-3)
