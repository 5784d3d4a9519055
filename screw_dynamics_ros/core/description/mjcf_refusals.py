# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What MuJoCo has and a `RobotDescription` has not: refused if it changes the motion of joints."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import DescriptionError
from .checks import gravity_findings
from .mjcf_actuators import acted_joint, gear_of
from .mjcf_model import BALL, WORLD, CompiledModel
from .robot_description import Finding

#: Fields of forces and inertias for which there is no model: field, kind of object, what it is,
#: and the flag that disables it.
REFUSED_FIELDS = (
    ('tendon_stiffness', 'tendon', 'stiffness', 'SPRING'),
    ('tendon_damping', 'tendon', 'damping', 'DAMPER'),
    ('tendon_frictionloss', 'tendon', 'frictionloss', 'FRICTIONLOSS'),
    ('tendon_armature', 'tendon', 'armature', ''),
    ('tendon_stiffnesspoly', 'tendon', 'nonlinear stiffness', 'SPRING'),
    ('tendon_dampingpoly', 'tendon', 'nonlinear damping', 'DAMPER'),
    ('jnt_stiffnesspoly', 'joint', 'nonlinear stiffness', 'SPRING'),
    ('jnt_springyield', 'joint', 'a spring that yields', 'SPRING'),
    ('actuator_dampingpoly', 'actuator', 'nonlinear damping', 'DAMPER'),
)

#: Of the degrees of freedom: 'dof_' fields with no model at all, and with none in free joints.
REFUSED_OF_DOFS = (('dampingpoly', 'nonlinear damping', 'DAMPER'),)
REFUSED_OF_FREE_JOINTS = (
    ('armature', 'armature', ''),
    ('damping', 'damping', 'DAMPER'),
    ('frictionloss', 'frictionloss', 'FRICTIONLOSS'),
)

#: Values of mjtEq that are the tree, loops or nothing; others are of tendons and flexes.
KNOWN_EQUALITIES = (0, 1, 2)


TURNED_GRAVITY = 1e-6  # largest difference that is rounding of a quaternion [m/s^2]


def check_model(compiled: CompiledModel) -> None:
    """Raise `DescriptionError` if joints move otherwise than a tree of scalar and free joints."""
    model = compiled.model
    for joint in compiled.joints:
        if joint.type == BALL:
            _refuse(f'joint {joint.name!r}', 'is a ball', 'replace it by three hinges')
    if model.nflex:
        _refuse(f'the flex {compiled.name("flex", 0)!r}', 'is deformable', 'remove it')
    for field, kind, what, flag in REFUSED_FIELDS:
        for name in () if compiled.is_disabled(flag) else compiled.names_with(field, kind):
            remedy = '' if kind == 'joint' else ', or move it to the joints'
            _refuse(f'the {kind} {name!r}', f'has {what}', f'set it to 0{remedy}')
    for what, flag in (('armature', ''), ('damping', 'DAMPER')):
        for k in map(int, np.flatnonzero(compiled.numbers(f'actuator_{what}'))):
            acts = gear_of(compiled, k).any() and not compiled.is_disabled(flag)
            if acts and acted_joint(compiled, k) is None:
                subject = f'the actuator {compiled.name("actuator", k)!r}'
                _refuse(subject, f'has {what}', 'set it to 0, or let it act on a hinge or slide')
    for joint in compiled.joints:
        count = 1 if joint.is_scalar else 6
        fields = REFUSED_OF_DOFS if joint.is_scalar else REFUSED_OF_DOFS + REFUSED_OF_FREE_JOINTS
        for field, what, flag in fields:
            values = compiled.numbers(f'dof_{field}')
            if not compiled.is_disabled(flag) and np.any(values[joint.dof : joint.dof + count]):
                remedy = 'set it to 0' if joint.is_scalar else 'use a <freejoint>'
                _refuse(f'joint {joint.name!r}', f'has {what}', remedy)
        has_spring = model.jnt_stiffness[joint.id] and not compiled.is_disabled('SPRING')
        if has_spring and not joint.is_scalar:
            _refuse(f'joint {joint.name!r}', 'has stiffness', 'use a <freejoint>')
    for body in np.flatnonzero(np.array(model.body_plugin) >= 0):
        _refuse(f'body {compiled.body_name(int(body))!r}', 'has a plugin', 'remove it')
    for k in compiled.equalities:
        if int(model.eq_type[k]) not in KNOWN_EQUALITIES:
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
    without_passive = compiled.is_disabled('SPRING') and compiled.is_disabled('DAMPER')
    weightless = without_passive or not any(compiled.gravity)
    for k in () if weightless else map(int, np.flatnonzero(model.body_gravcomp)):
        yield Finding(
            'warning',
            f'link {compiled.body_name(k)}',
            f'MuJoCo compensates {100.0 * float(model.body_gravcomp[k]):g} % of its weight; '
            'gravity torques here are those of the whole weight',
            'remove gravcomp if the robot has no such compensation',
        )
    for k in map(int, np.flatnonzero(np.array(model.body_mocapid) >= 0)):
        what = 'is a mocap body: a simulation moves it, here it is fixed in its pose of the file'
        remedy = 'give it joints if it moves'
        yield Finding('warning', f'link {compiled.body_name(k)}', what, remedy)
    if compiled.is_disabled('LIMIT') and np.any(model.jnt_limited):
        yield Finding('info', robot, 'limits of joints are kept, although a flag disables them')
    if (model.opt.density or model.opt.viscosity) and not without_passive:
        yield Finding('warning', robot, 'drag of the medium is omitted', 'set density to 0')
    if compiled.root != WORLD:
        yield Finding('info', robot, 'has a free joint: its base moves if floating_base is true')
        turned = np.array(compiled.gravity_in_root)
        if np.abs(turned - np.array(compiled.gravity)).max() > TURNED_GRAVITY:
            gravity = ' '.join(f'{x:.6g}' for x in turned)
            yield Finding(
                'warning',
                f'link {compiled.body_name(compiled.root)}',
                'the root link is tilted in the file; gravity of a fixed base is in its frame',
                f'without a floating base use gravity {gravity}, as Robot.from_mjcf does',
            )
        if np.any(np.array(model.site_bodyid) == WORLD):
            yield Finding('info', robot, 'sites of the world are omitted: the root is a body')
    yield from gravity_findings(robot, compiled.gravity)
