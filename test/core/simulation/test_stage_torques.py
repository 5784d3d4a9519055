# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Torques in the stages of a step, and the stage in which the environment acted most."""

import numpy as np
import pytest

from screw_dynamics_ros.core.simulation import ContactPoint, Plane, Spring
from screw_dynamics_ros.core.simulation.environment import Environment
from screw_dynamics_ros.core.simulation.stage_torques import StageTorques
from support.free_boxes import LINK, UPRIGHT, free_box

STIFFNESS = 100.0


def at(z):
    """Return the box with its origin at a height."""
    return np.array([0.0, 0.0, z, *UPRIGHT])


@pytest.mark.parametrize('kind', ['plane', 'spring'])
def test_the_stage_in_which_the_environment_acts_most(kind):
    """Forces of a plane at z = 0, or of a spring to z = 0, are added to the given torques."""
    robot = free_box(backend='python')
    around = {
        'plane': {
            'planes': [Plane([0, 0, 0], [0, 0, 1], stiffness=STIFFNESS, damping=0.0)],
            'contact_points': [ContactPoint(LINK, [0, 0, 0], 0.0)],
        },
        'spring': {'springs': [Spring(LINK, [0, 0, 0], [0, 0, 0], STIFFNESS, 0.0)]},
    }[kind]
    environment, still = Environment(robot, **around), np.zeros(6)
    tau = np.arange(6.0)
    torques = StageTorques(environment, tau, environment.memory(at(0.1)))
    assert torques.strongest is None
    for z, strongest in ((0.0, None), (-0.1, -0.1), (-0.3, -0.3), (-0.2, -0.3), (-0.3, -0.3)):
        state = at(z)
        found = torques(0.5, state, still)
        np.testing.assert_allclose(found, tau + [0, 0, 0, 0, 0, -STIFFNESS * z], atol=1e-9)
        if strongest is None:
            assert torques.strongest is None
        else:
            assert torques.strongest[0][2] == strongest
            assert torques.strongest[1] is still
    torques.forget()
    assert torques.strongest is None
    torques(0.0, at(0.0), still)
    assert torques.strongest is None
    torques(0.0, at(-0.1), still)
    assert torques.strongest[0][2] == -0.1
