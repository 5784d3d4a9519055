# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arguments for the functions of `core.robot.autograd`, the same for PyTorch and JAX."""

from __future__ import annotations

import numpy as np

from support.models import random_configuration

LINK_FUNCTIONS = ('link_pose', 'jacobian', 'velocity')
ARGUMENTS = {'inverse_dynamics': 'qva', 'forward_dynamics': 'qva'}
TWO = ('coriolis_torques', 'kinetic_energy', 'velocity')


def count(name):
    """Return how many vectors a function takes."""
    return len(ARGUMENTS.get(name, 'qv' if name in TWO else 'q'))


def link_options(robot, name):
    """Return the link of the functions of a link: the last one."""
    return (robot.link_names[-1],) if name in LINK_FUNCTIONS else ()


def random_arguments(robot, name='inverse_dynamics', stack=(), seed=0):
    """Return those vectors, or stacks of them."""
    rng = np.random.default_rng(seed)
    q = random_configuration(robot, rng, stack)
    return [q, *rng.normal(size=(count(name) - 1, *stack, robot.nv))]
