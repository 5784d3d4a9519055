# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Efforts that lack terms of the equations of motion, for an arm that follows a motion."""

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.estimation.effort_terms import TERMS, motor_torques
from support.paths import URDF

DRIVES = {'joint1': Drive(coulomb=2.0), 'joint2': Drive(damping=0.5)}


@pytest.mark.parametrize('lacking', [(), ('gravity',), ('coriolis',), ('gravity', 'coriolis')])
def test_drives_exert_the_efforts_and_the_terms_that_these_lack(lacking):
    """The whole torque of the motion, whichever terms the driver compensates by itself."""
    robot = Robot.from_urdf(
        URDF / 'planar_2r.urdf', gravity=(0.0, -9.81, 0.0), drives=DRIVES, backend='python'
    )
    q, v, a = np.random.default_rng(2).normal(size=(3, 2))
    terms = {'gravity': robot.gravity_torques(q), 'coriolis': robot.coriolis_torques(q, v)}
    torques = robot.inverse_dynamics(q, v, a)
    efforts = torques - sum((terms[name] for name in lacking), start=np.zeros(2))
    shares = np.array([float(name not in lacking) for name in TERMS])
    found = motor_torques(shares, efforts, terms['gravity'], terms['coriolis'], (0, 1))
    np.testing.assert_allclose(found, torques, atol=1e-12)
    found = motor_torques(shares, efforts[1:], terms['gravity'], terms['coriolis'], (1,))
    assert found[1] == pytest.approx(torques[1], abs=1e-12)
    assert found[0] == pytest.approx((torques - efforts)[0], abs=1e-12)
