# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""MJCF to `RobotDescription`, by the compiled model of the package `mujoco`.

MuJoCo's compiler resolves defaults, includes, units, orientations, and the inertias of geoms. The
pose of a body relative to its parent is T(q) = T0 J1(q1) J2(q2) ...: its joints act in order in
the frame of the body, each about its own anchor p. A hinge about e is
J(q) = Trans(p) Rot(e, q - q0) Trans(-p), a slide J(q) = Trans((q - q0) e), q0 the `ref` of the
joint. Positions of scalar joints are therefore those of MuJoCo's qpos.

Source: MuJoCo documentation, Modeling (kinematic tree) and XML reference (body, joint).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..errors import DescriptionError
from ..lie import so3
from ..reproducible import product, sine_cosine, unit
from ..types import Array
from .body_inertia import Inertia
from .checks import InertiaCheck, check_inertia_check, gravity_findings, judged_findings
from .mjcf_joints import (
    acted_joint,
    actuated_joints,
    actuator_findings,
    closures,
    effort_limits,
    equality_findings,
    gear_of,
    mimics,
    reflected,
)
from .mjcf_model import (
    BALL,
    FREE,
    HINGE,
    JOINT_KINDS,
    WORLD,
    CompiledJoint,
    CompiledModel,
    checked_name,
    compiled_model,
    pose_of,
    rotation_of,
)
from .robot_description import Finding, Joint, Limits, Link, RobotDescription
from .shapes import Shape, ShapeKind

#: Geoms that are shapes of links, by mjtGeom.
SHAPES: dict[int, ShapeKind] = {2: 'sphere', 5: 'cylinder', 6: 'box'}
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
REFUSED_OF_BALLS = (('frictionloss', 'frictionloss', 'FRICTIONLOSS'),)
REFUSED_OF_JOINTS = {
    BALL: REFUSED_OF_BALLS,
    FREE: (('armature', 'armature', ''), ('damping', 'damping', 'DAMPER'), *REFUSED_OF_BALLS),
}

#: Values of mjtEq that are the tree, loops or nothing; others are of tendons and flexes.
KNOWN_EQUALITIES = (0, 1, 2)


TURNED_GRAVITY = 1e-6  # largest difference that is rounding of a quaternion [m/s^2]


def read_mjcf(
    text_or_path: str | bytes | os.PathLike[str],
    *,
    inertia_check: InertiaCheck = 'warn',
    floating_base: bool | None = None,
) -> RobotDescription:
    """Read an MJCF; requires the package `mujoco`.

    Bodies are links, named sites links without mass, bodies without joints are fixed, a body with
    several joints has links without mass between them, joint equalities are mimic joints. Joints
    have damping, friction loss, armature and springs of the file, damping and armature of actuators
    times the squares of their gears included; effort limits are those of the
    joint and its actuators. Connects and welds are `closures`. A single body in the world that has
    a free joint is the root, and `floating_base` is true; otherwise the world is the root. Unnamed
    sites, meshes and capsules are omitted.

    Parameters
    ----------
    text_or_path : str, bytes or path
        XML text (any text that contains ``<``), or the path of a file. A text must not refer to
        files.
    inertia_check : {'warn', 'error', 'ignore'}
        As in `read_urdf`.
    floating_base : bool, optional
        Whether the root link moves freely; by default if it has a free joint in the file. A root
        link that does not is held in its pose of the file, and `gravity` is given in its frame.

    Returns
    -------
    RobotDescription
        With `floating_base`, `gravity`, and keyframes as `postures`. `findings` lists what the
        description does not contain.

    Raises
    ------
    DescriptionError
        MuJoCo refuses the text, or the model has what `RobotDescription` has not: springs of balls,
        tendons with forces, deformable bodies, nonlinear equalities; names the element and the
        remedy. Or the package `mujoco` is missing.
    InertiaError
        `inertia_check='error'` and an unphysical inertia.
    ArgumentError
        `inertia_check` or the type of `text_or_path` is not one of the above.

    Examples
    --------
    >>> text = '<mujoco><worldbody><body name="rod"><joint name="hinge"/><geom size="0.1"/></body>'
    >>> read_mjcf(text + '</worldbody></mujoco>').joints[0].parent
    'world'
    """
    check_inertia_check(inertia_check)
    compiled = CompiledModel(compiled_model(text_or_path))
    check_model(compiled)
    parts = _Parts(compiled)
    floats = compiled.root != WORLD if floating_base is None else floating_base
    tree = RobotDescription.from_parts(
        compiled.robot_name, parts.links, parts.joints, check_inertias=False
    )
    description = replace(tree, closures=tuple(closures(compiled)))
    return replace(
        description,
        floating_base=floats,
        gravity=compiled.gravity if floats else compiled.gravity_in_root,
        postures=postures(compiled),
        actuated=actuated_joints(compiled),
        findings=(
            *model_findings(compiled),
            *actuator_findings(compiled),
            *equality_findings(compiled, floats),
            *judged_findings(description, inertia_check),
        ),
    )


class _Parts:
    """Links and joints of a compiled model."""

    def __init__(self, compiled: CompiledModel) -> None:
        self._compiled, self._model = compiled, compiled.model
        self._mimics, self._efforts = mimics(compiled), effort_limits(compiled)
        self._armatures, self._dampings = (
            reflected(compiled, field) for field in ('armature', 'damping')
        )
        self.links: list[Link] = []
        self.joints: list[Joint] = []
        for body in range(compiled.root, self._model.nbody):
            self.links.append(self._link(body))
            if body != compiled.root:
                self._connect(body)
            self._add_frames(body)

    def _link(self, body: int) -> Link:
        return Link(self._compiled.body_name(body), self._inertia(body), tuple(self._shapes(body)))

    def _inertia(self, body: int) -> Inertia | None:
        model = self._model
        mass = float(model.body_mass[body])
        if mass == 0.0 and not np.any(model.body_inertia[body]):
            return None
        R = rotation_of(model.body_iquat[body])
        matrix = product(R, np.diag(model.body_inertia[body]), R.T)
        return Inertia(mass, np.array(model.body_ipos[body]), 0.5 * (matrix + matrix.T))

    def _shapes(self, body: int) -> Iterator[Shape]:
        """Yield the primitives of a body that touch others."""
        model, first = self._model, int(self._model.body_geomadr[body])
        for k in range(first, first + int(model.body_geomnum[body])):
            kind = SHAPES.get(int(model.geom_type[k]))
            touches = model.geom_contype[k] or model.geom_conaffinity[k]
            if kind is None or body == WORLD or not touches:
                continue
            x, y, z = 2.0 * np.array(model.geom_size[k])
            extents = {'sphere': (x, x, x), 'cylinder': (x, x, y), 'box': (x, y, z)}[kind]
            yield Shape(kind, np.array(extents), pose_of(model.geom_pos[k], model.geom_quat[k]))

    def _connect(self, body: int) -> None:
        """Add the joints between a body and its parent, and links between them."""
        compiled, model = self._compiled, self._model
        name, acting = compiled.body_name(body), compiled.joints_of(body)
        link = compiled.body_name(int(model.body_parentid[body]))
        origin, anchor = pose_of(model.body_pos[body], model.body_quat[body]), np.zeros(3)
        if not acting:
            self._fix(name, link, name, origin)
            return
        for joint in acting:
            if joint.type in (HINGE, BALL):
                origin = product(origin, _translation(model.jnt_pos[joint.id] - anchor))
                anchor = np.array(model.jnt_pos[joint.id])
            is_last = joint is acting[-1] and not anchor.any()
            child = name if is_last else compiled.unique('link', f'{joint.name}_link')
            if child != name:
                self.links.append(Link(child))
            self.joints.append(self._joint(joint, link, child, origin))
            link, origin = child, np.eye(4)
        if link != name:
            self._fix(name, link, name, _translation(-anchor))

    def _joint(self, joint: CompiledJoint, parent: str, child: str, origin: Array) -> Joint:
        model, k = self._model, joint.id
        limited = joint.is_scalar and bool(model.jnt_limited[k])
        kind, axis = JOINT_KINDS[joint.type][limited], np.array([1.0, 0, 0])
        if joint.is_scalar:
            axis = unit(np.array(model.jnt_axis[k]))
            at_zero = _motion(joint.type, axis, -float(model.qpos0[joint.qpos]))
            origin = product(origin, at_zero)
        elif kind.is_free:  # its coordinates are the pose in the world
            origin = np.eye(4)
        bounds = map(float, model.jnt_range[k]) if limited else ()
        stiffness = self._unless('SPRING', model.jnt_stiffness[k])
        return Joint(
            joint.name,
            kind.name,
            parent,
            child,
            origin,
            axis,
            replace(Limits(*bounds), effort=self._efforts[k]),
            self._mimics.get(k),
            damping=self._unless('DAMPER', model.dof_damping[joint.dof] + self._dampings[k]),
            friction=self._unless('FRICTIONLOSS', model.dof_frictionloss[joint.dof]),
            armature=float(model.dof_armature[joint.dof]) + self._armatures[k],
            spring_stiffness=stiffness,
            spring_position=float(model.qpos_spring[joint.qpos]) if stiffness else 0.0,
        )

    def _unless(self, flag: str, value: float) -> float:
        """Return a number, 0 if a flag of the file switches it off."""
        return 0.0 if self._compiled.is_disabled(flag) else float(value)

    def _fix(self, name: str, parent: str, child: str, pose: Array) -> None:
        name = self._compiled.unique('joint', f'{name}_fixed')
        self.joints.append(Joint(name, 'fixed', parent, child, pose, np.array([1.0, 0, 0])))

    def _add_frames(self, body: int) -> None:
        """Add the named sites of a body as links without mass."""
        model = self._model
        for k in np.flatnonzero(np.array(model.site_bodyid) == body):
            if site := checked_name(model.site(k).name):
                name = self._compiled.unique('link', site)
                self.links.append(Link(name))
                pose = pose_of(model.site_pos[k], model.site_quat[k])
                self._fix(name, self._compiled.body_name(body), name, pose)


def _translation(r: Array) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = r
    return pose


def _motion(kind: int, axis: Array, q: float) -> Array:
    """Return the motion (4, 4) of a hinge or slide at q, by Rodrigues' formula."""
    if kind != HINGE:
        return _translation(q * axis)
    s, c = sine_cosine(q)
    E, pose = so3.hat(axis), np.eye(4)
    pose[:3, :3] = np.eye(3) + s * E + (1.0 - c) * product(E, E)
    return pose


def postures(compiled: CompiledModel) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return the keyframes by name: coordinates of joints, quaternions with w last."""
    model = compiled.model
    found = dict[str, dict[str, tuple[float, ...]]]()
    for k in range(model.nkey):
        q, positions = model.key_qpos[k].tolist(), dict[str, tuple[float, ...]]()
        for joint in compiled.joints:
            group = JOINT_KINDS[joint.type][0].group
            own = q[joint.qpos : joint.qpos + group.nq]
            if group.nq > group.nv:  # MuJoCo has w first
                own.append(own.pop(-4))
            positions[joint.name] = tuple(own)
        found[model.key(k).name or compiled.unique('keyframe', f'key{k}')] = positions
    return found


def check_model(compiled: CompiledModel) -> None:
    """Raise `DescriptionError` if joints move otherwise than a tree of scalar and free joints."""
    model = compiled.model
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
        count = JOINT_KINDS[joint.type][0].nv
        fields = REFUSED_OF_DOFS + REFUSED_OF_JOINTS.get(joint.type, ())
        remedy = 'use a <freejoint>' if joint.type == FREE else 'set it to 0'
        for field, what, flag in fields:
            values = compiled.numbers(f'dof_{field}')
            if not compiled.is_disabled(flag) and np.any(values[joint.dof : joint.dof + count]):
                _refuse(f'joint {joint.name!r}', f'has {what}', remedy)
        has_spring = model.jnt_stiffness[joint.id] and not compiled.is_disabled('SPRING')
        if has_spring and not joint.is_scalar:
            _refuse(f'joint {joint.name!r}', 'has stiffness', remedy)
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
        yield Finding.warning(
            f'link {compiled.body_name(k)}',
            f'MuJoCo compensates {100.0 * float(model.body_gravcomp[k]):g} % of its weight; '
            'gravity torques here are those of the whole weight',
            'remove gravcomp if the robot has no such compensation',
        )
    for k in map(int, np.flatnonzero(np.array(model.body_mocapid) >= 0)):
        what = 'is a mocap body: a simulation moves it, here it is fixed in its pose of the file'
        remedy = 'give it joints if it moves'
        yield Finding.warning(f'link {compiled.body_name(k)}', what, remedy)
    for joint in compiled.joints:
        if joint.type == BALL and model.jnt_limited[joint.id]:
            what = 'is a ball with a limit of its angle, which is omitted: it turns without limits'
            yield Finding.warning(f'joint {joint.name}', what)
    if compiled.is_disabled('LIMIT') and np.any(model.jnt_limited):
        yield Finding('info', robot, 'limits of joints are kept, although a flag disables them')
    if (model.opt.density or model.opt.viscosity) and not without_passive:
        yield Finding.warning(robot, 'drag of the medium is omitted', 'set density to 0')
    if compiled.root != WORLD:
        yield Finding('info', robot, 'has a free joint: its base moves if floating_base is true')
        turned = np.array(compiled.gravity_in_root)
        if np.abs(turned - np.array(compiled.gravity)).max() > TURNED_GRAVITY:
            gravity = ' '.join(f'{x:.6g}' for x in turned)
            yield Finding.warning(
                f'link {compiled.body_name(compiled.root)}',
                'the root link is tilted in the file; gravity of a fixed base is in its frame',
                f'without a floating base use gravity {gravity}, as Robot.from_mjcf does',
            )
        if np.any(np.array(model.site_bodyid) == WORLD):
            yield Finding('info', robot, 'sites of the world are omitted: the root is a body')
    yield from gravity_findings(robot, compiled.gravity)
