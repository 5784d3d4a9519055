# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Steps of integrators as recorded programs."""

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile.kernels import KernelSpecification, make_kernel
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.integration import MomentumPreserving, RungeKutta, SemiImplicitEuler
from screw_dynamics_ros.core.motion.laws.recorded_robot import RecordedRobot
from support.models import random_description


@pytest.mark.parametrize('kind', [RungeKutta, SemiImplicitEuler, MomentumPreserving])
def test_a_recorded_step_is_the_step(kind):
    """And NaN where a body turns by 2 pi in it, for which the step raises an error."""
    robot = Robot(random_description(1, 2), floating_base=True, backend='python')

    def build(tree, q, v, tau, dt, gravity):
        return kind(RecordedRobot(tree, robot, gravity)).step(q, v, tau, dt[0])

    sizes = ('q', robot.nq), ('v', robot.nv), ('tau', robot.nv), ('dt', 1), ('gravity', 3)
    specification = KernelSpecification('step', sizes, build, model=(robot.regrouped_tree,))
    kernel = make_kernel(specification, 'python')
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
        tau, dt = rng.normal(size=robot.nv), rng.uniform(0.01, 0.1, 1)
        found = kernel.single([q, v, tau, dt, robot.gravity])
        for x, y in zip(found, kind(robot).step(q, v, tau, dt[0])):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
    v[:3] = 0.0, 0.0, 2.1 * np.pi / dt[0]
    with pytest.raises(ArgumentError, match='turns by'):
        kind(robot).step(q, v, 0 * tau, dt[0])
    assert np.isnan(kernel.single([q, v, 0 * tau, dt, robot.gravity])[0]).all()
