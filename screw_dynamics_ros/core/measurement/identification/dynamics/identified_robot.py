# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drives and description of the identified robot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from screw_dynamics_ros.core.description.body_inertia import inertia_fault
from screw_dynamics_ros.core.description.drives import Drive
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.description.robot_description import Joint, RobotDescription
from screw_dynamics_ros.core.dynamics.regressor import inertial_parameters
from screw_dynamics_ros.core.tree.multibody_tree import GROUND
from screw_dynamics_ros.core.types import Array

from .pseudo_inertia import inertia_of, parameters_of, physical
from .unknowns import Unknowns

#: Unknowns that are fields of `Drive` as they are.
FIELDS = (
    'armature',
    'load_friction',
    'motor_damping',
    'motor_coulomb',
    'spring_stiffness',
    'counterbalance_preload',
    'counterbalance_stiffness',
)


def identified_drive(unknowns: Unknowns, joint: str, values: dict[str, float]) -> Drive:
    """Return the identified drive of a joint; other values are nominal."""
    nominal = unknowns.robot.drives[joint]
    found: dict[str, Any] = {
        name: values[f'{joint}/{name}'] for name in FIELDS if f'{joint}/{name}' in values
    }
    if f'{joint}/rotor' in values:
        found['rotor_inertia'] = values[f'{joint}/rotor'] / nominal.gear_ratio**2
    elif 'armature' in found:
        found |= {'rotor_inertia': 0.0, 'rotor_axis': None, 'carrier': None}
    nominal = replace(nominal, **found)
    if f'{joint}/coulomb' in values:
        coulomb, speed = values[f'{joint}/coulomb'], unknowns.model.stribeck_speed
        nominal = replace(
            nominal,
            damping=values.get(f'{joint}/damping', nominal.damping),
            coulomb=coulomb,
            breakaway=None if speed is None else coulomb + values.get(f'{joint}/stribeck', 0.0),
            stribeck_speed=speed or nominal.stribeck_speed,
            smoothing=unknowns.model.smoothing,
        )
    return nominal


def identified_bodies(
    unknowns: Unknowns, theta: Array, drives: dict[str, Drive]
) -> tuple[RigidBody | None, RigidBody | None, RobotDescription]:
    """Return payload and load, if estimated, and the description with bodies and friction.

    Links that do not move keep their inertias, or the nearest physically possible ones.
    """
    found = {name: inertia_of(theta[place]) for name, place in unknowns.bodies.items()}
    payload = found.pop('payload', None) if unknowns.model.payload_link else None
    load = None if unknowns.load is None else found.pop('load')
    nominal = unknowns.robot.description
    frames = unknowns.robot.tree.frames
    for link in nominal.links:  # torques do not depend on links that do not move
        if frames[link.name].body != GROUND or link.inertia is None:
            continue
        if inertia_fault(link.inertia) is not None:
            parameters = inertial_parameters(nominal, (link.name,))
            found[link.name] = inertia_of(parameters_of(physical(parameters)))
    links = [
        replace(link, inertia=found[link.name]) if link.name in found else link
        for link in nominal.links
    ]
    joints = [_with_friction(joint, drives, unknowns) for joint in nominal.joints]
    bodies = [
        None if each is None else RigidBody(each.mass, each.com, each.matrix)
        for each in (payload, load)
    ]
    return (
        bodies[0],
        bodies[1],
        RobotDescription.from_parts(nominal.name, links, joints, check_inertias=False),
    )


def _with_friction(joint: Joint, drives: dict[str, Drive], unknowns: Unknowns) -> Joint:
    """Return a joint with identified friction; the leader includes that of its mimic joints."""
    if joint.name in drives:
        drive = drives[joint.name]
        return replace(joint, damping=drive.damping, friction=drive.coulomb)
    if joint.mimic is not None and 'friction' in unknowns.model.estimate:
        return replace(joint, damping=0.0, friction=0.0)
    return joint
