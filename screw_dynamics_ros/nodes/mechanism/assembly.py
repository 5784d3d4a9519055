# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The simulated mechanism of a node, built from its parameters."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import Stabilization
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.exactness import choose_groups
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import EXAMPLES
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.from_description import absolute_system
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.groups import SE3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.simulated_mechanism import (
    SimulatedMechanism,
)
from screw_dynamics_ros.ros.parameters import Parameters

from ..parameters import closure_parameters
from ..simulation.assembly import INITIAL, description_text
from .parameters import GROUPS, TABLEAUS


def make_mechanism(parameters: Parameters) -> tuple[SimulatedMechanism, str]:
    """Return the mechanism in its initial state, and the text of its URDF ('' for an example).

    Raises as `absolute_system` and `SimulatedMechanism`, and `ArgumentError` for inconsistent
    parameters.
    """
    gravity = parameters['gravity']
    if len(gravity) not in (0, 3):
        raise ArgumentError(f'gravity must be empty or three numbers, got {list(gravity)}')
    options = {'gravity': gravity} if len(gravity) else {}
    options['stabilization'] = Stabilization(*parameters['stabilization'])
    options['backend'] = parameters['backend']
    how = {'tableau': TABLEAUS[parameters['tableau']], 'project': parameters['project']}
    groups = GROUPS[parameters['groups']]
    if parameters['example']:
        make = EXAMPLES[parameters['example']]
        plain = make().system
        chosen = [body.group for body in choose_groups(plain.bodies, plain.joints)]
        example = make(chosen if groups == 'auto' else [groups] * len(chosen), **options)
        return SimulatedMechanism(*example, **how), ''
    INITIAL.check(parameters)  # `absolute_system` checks the names
    text = description_text(parameters)
    description = read_robot_description(text)
    closures, nominal = closure_parameters.assembly(parameters['loop_closures'], description)
    system = absolute_system(
        description,
        closures=closures,
        floating_base=parameters['floating_base'],
        groups=groups,
        positions={**nominal, **INITIAL.of('initial_positions', parameters)},
        **options,
    )
    return SimulatedMechanism(system, system.configuration, np.zeros(system.nv), **how), text


def group_label(group: str) -> str:
    """Return the name of a group in the parameter `groups`."""
    return 'se3' if group == SE3 else 'so3_r3'
