# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What MuJoCo has and a `RobotDescription` has not: refused if it changes the motion of joints."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from screw_dynamics_ros.core.description.mjcf_joints import acted_joint
from screw_dynamics_ros.core.description.mjcf_model import (
    BALL,
    WORLD,
    CompiledModel,
)
from screw_dynamics_ros.core.description.robot_description import Finding
from screw_dynamics_ros.core.errors import DescriptionError

#: Fields of forces and inertias for which there is no model: field, kind of object, what it is.
REFUSED_FIELDS = (
    ('tendon_stiffness', 'tendon', 'stiffness'),
    ('tendon_damping', 'tendon', 'damping'),
    ('tendon_frictionloss', 'tendon', 'frictionloss'),
    ('tendon_armature', 'tendon', 'armature'),
    ('tendon_stiffnesspoly', 'tendon', 'nonlinear stiffness'),
    ('tendon_dampingpoly', 'tendon', 'nonlinear damping'),
    ('jnt_stiffnesspoly', 'joint', 'nonlinear stiffness'),
    ('actuator_dampingpoly', 'actuator', 'nonlinear damping'),
)

#: Of the degrees of freedom: 'dof_' fields with no model at all, and with none in free joints.
REFUSED_OF_DOFS = (('dampingpoly', 'nonlinear damping'),)
REFUSED_OF_FREE_JOINTS = (
    ('armature', 'armature'),
    ('damping', 'damping'),
    ('frictionloss', 'frictionloss'),
)

#: Values of mjtEq that are the tree, loops or nothing; others are of tendons and flexes.
KNOWN_EQUALITIES = (0, 1, 2)

STANDARD_GRAVITY = (0.0, 0.0, -9.81)  # of the nodes and of `Robot` [m/s^2]


def check_model(compiled: CompiledModel) -> None:
    """Raise `DescriptionError` if joints move otherwise than a tree of scalar and free joints."""
    model = compiled.model
    for joint in compiled.joints:
        if joint.type == BALL:
            _refuse(f'joint {joint.name!r}', 'is a ball', 'replace it by three hinges')
    if model.nflex:
        _refuse(f'the flex {compiled.name("flex", 0)!r}', 'is deformable', 'remove it')
    for field, kind, what in REFUSED_FIELDS:
        for name in compiled.names_with(field, kind):
            _refuse(f'the {kind} {name!r}', f'has {what}', 'set it to 0, or move it to the joints')
    for what in ('armature', 'damping'):
        for k in map(int, np.flatnonzero(compiled.numbers(f'actuator_{what}'))):
            if acted_joint(compiled, k) is None:
                subject = f'the actuator {compiled.name("actuator", k)!r}'
                _refuse(subject, f'has {what}', 'set it to 0, or let it act on a hinge or slide')
    for joint in compiled.joints:
        count = 1 if joint.is_scalar else 6
        fields = REFUSED_OF_DOFS if joint.is_scalar else REFUSED_OF_DOFS + REFUSED_OF_FREE_JOINTS
        for field, what in fields:
            values = compiled.numbers(f'dof_{field}')
            if np.any(values[joint.dof : joint.dof + count]):
                remedy = 'set it to 0' if joint.is_scalar else 'use a <freejoint>'
                _refuse(f'joint {joint.name!r}', f'has {what}', remedy)
        if not joint.is_scalar and model.jnt_stiffness[joint.id]:
            _refuse(f'joint {joint.name!r}', 'has stiffness', 'use a <freejoint>')
        if compiled.numbers('jnt_springyield').any():
            _refuse(f'joint {joint.name!r}', 'has a spring that yields', 'remove springyield')
    for body in np.flatnonzero(np.array(model.body_plugin) >= 0):
        _refuse(f'body {compiled.body_name(int(body))!r}', 'has a plugin', 'remove it')
    for k in range(model.neq):
        if model.eq_active0[k] and int(model.eq_type[k]) not in KNOWN_EQUALITIES:
            name = compiled.name('equality', k)
            _refuse(f'the equality {name!r}', 'is one of tendons or flexes', 'remove it')


def _refuse(subject: str, what: str, remedy: str) -> None:
    raise DescriptionError(f'{subject} {what}, which is not modeled here; {remedy}')


def model_findings(compiled: CompiledModel) -> Iterator[Finding]:
    """Yield what the description omits although MuJoCo simulates it."""
    model, robot = compiled.model, f'robot {compiled.robot_name}'
    for k in range(model.ntendon):
        what = 'acts through actuators or limits only and is omitted'
        yield Finding('info', f'tendon {compiled.name("tendon", k)}', what)
    for k in map(int, np.flatnonzero(model.body_gravcomp)):
        yield Finding(
            'warning',
            f'link {compiled.body_name(k)}',
            f'MuJoCo compensates {100.0 * float(model.body_gravcomp[k]):g} % of its weight; '
            'gravity torques here are those of the whole weight',
            'remove gravcomp if the robot has no such compensation',
        )
    if model.opt.density or model.opt.viscosity:
        yield Finding('warning', robot, 'drag of the medium is omitted', 'set density to 0')
    if compiled.root != WORLD:
        yield Finding('info', robot, 'has a free joint: its base moves if floating_base is true')
        if np.any(np.array(model.site_bodyid) == WORLD):
            yield Finding('info', robot, 'sites of the world are omitted: the root is a body')
    if tuple(compiled.gravity) != STANDARD_GRAVITY:
        yield Finding(
            'warning',
            robot,
            f'gravity is {" ".join(f"{x:g}" for x in compiled.gravity)} m/s^2 in the file',
            'set the parameter or argument gravity if you do not use Robot.from_mjcf',
        )
