# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Random robots for the tests: mixed joints, arbitrary axes, branches, physical inertias.

Planar chains, q = 0, joint axes through the body origins and centers of mass at the origin hide
errors (doc/spec/golden_numbers.md, models that hide errors): none of these robots has any of that.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from xml.sax.saxutils import quoteattr

import numpy as np
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import (
    JOINT_TYPES,
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    RobotDescription,
)
from screw_dynamics_ros.core.reproducible import unit

ONE_FREEDOM = ('revolute', 'continuous', 'prismatic')

#: Of helical joints, right-hand and left-hand threads in turn [m/rad].
PITCH = 0.3


def random_description(
    seed: int,
    joints: int = 7,
    kinds: Sequence[str] = ('revolute', 'prismatic'),
    *,
    chain: bool = False,
    mimic: int = 0,
) -> RobotDescription:
    """Return a robot with links 'link0' (root), 'link1', ... and joints 'joint1', ...

    Parameters
    ----------
    seed : int
        The same seed gives the same robot.
    joints : int
        Number of joints, whose kinds are drawn from `kinds`.
    chain : bool
        A serial chain instead of a random tree.
    mimic : int
        How many joints follow another one. Masters may come later in the tree and follow others.
    """
    rng = np.random.default_rng(seed)
    links = [Link('link0', random_inertia(rng))]
    made: list[Joint] = []
    for i in range(1, joints + 1):
        parent = links[-1] if chain else links[rng.integers(max(0, i - 3), i)]
        kind = str(rng.choice(kinds))
        made.append(
            Joint(
                f'joint{i}',
                kind,
                parent.name,
                f'link{i}',
                random_pose(rng),
                random_unit(rng),
                Limits(-2.0, 2.0, 3.0, 100.0),
                pitch=PITCH * (-1) ** i if JOINT_TYPES[kind].has_pitch else 0.0,
            )
        )
        links.append(Link(f'link{i}', random_inertia(rng)))
    order = [k for k in rng.permutation(joints) if made[k].kind.is_scalar]
    for place in range(1, 1 + mimic):
        k, master = order[place], order[rng.integers(place)]
        made[k] = replace(
            made[k],
            mimic=Mimic(
                made[master].name,
                float(rng.uniform(0.3, 2.0) * rng.choice([-1, 1])),
                float(rng.uniform(-0.5, 0.5)),
            ),
        )
    return RobotDescription.from_parts(f'random{seed}', links, made)


def mimicking(seed: int) -> RobotDescription:
    """Return a tree of twelve joints of all scalar kinds; five mimic, some of them mimics."""
    return random_description(seed, 12, ('revolute', 'continuous', 'prismatic'), mimic=5)


def random_inertia(rng: np.random.Generator) -> Inertia:
    """Return the inertia of eight point masses: physical by construction."""
    masses, points = rng.uniform(0.05, 0.4, 8), rng.uniform(-0.2, 0.3, (8, 3))
    com = (masses[:, None] * points).sum(axis=0) / masses.sum()
    d = points - com
    squares = d[:, :, None] * d[:, None, :]
    moments = squares[:, [0, 1, 2], [0, 1, 2]].sum(axis=1)[:, None, None] * np.eye(3) - squares
    return Inertia(float(masses.sum()), com, (masses[:, None, None] * moments).sum(axis=0))


def random_pose(rng: np.random.Generator) -> np.ndarray:
    """Return a (4, 4) pose with a uniformly random rotation."""
    C = np.eye(4)
    C[:3, :3] = Rotation.from_quat(random_unit(rng, 4)).as_matrix()
    C[:3, 3] = rng.uniform(-0.5, 0.5, 3)
    return C


def random_unit(rng: np.random.Generator, size: int = 3) -> np.ndarray:
    """Return a uniformly random unit vector."""
    x = rng.normal(size=size)
    return unit(x)


def random_configuration(
    robot: Robot, rng: np.random.Generator, stack: tuple[int, ...] = ()
) -> np.ndarray:
    """Return q, or a stack of them, far from zero; quaternions are of unit length."""
    q = rng.uniform(-2.5, 2.5, (*stack, robot.nq))
    ends = [robot.joint_coordinates(name)[0].stop for name in robot.joint_names]
    joints = {joint.name: joint.kind for joint in robot.description.joints}
    ends = [end for end, name in zip(ends, robot.joint_names) if joints[name].has_quaternion]
    for end in [*ends, *[7] * robot.floating_base]:
        quaternion = rng.normal(size=(*stack, 4))
        q[..., end - 4 : end] = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
    return q


def random_wrenches(
    robot: Robot, rng: np.random.Generator, count: int = 3
) -> dict[str, np.ndarray]:
    """Return external wrenches on some links, the last one and the root among them."""
    names = robot.link_names
    chosen = {names[0], names[-1], *rng.choice(names, min(count, len(names)), replace=False)}
    return {str(name): rng.uniform(-5.0, 5.0, 6) for name in sorted(chosen)}


def without_mimic(description: RobotDescription) -> RobotDescription:
    """Return the same robot with every joint on its own."""
    return replace(
        description, joints=tuple(replace(joint, mimic=None) for joint in description.joints)
    )


def with_planar_axis_z(description: RobotDescription) -> RobotDescription:
    """Turn the axes of planar joints to (0, 0, 1): Pinocchio knows no other."""
    joints = tuple(
        replace(joint, axis=np.array([0.0, 0.0, 1.0])) if joint.type == 'planar' else joint
        for joint in description.joints
    )
    return replace(description, joints=joints)


def to_urdf(description: RobotDescription) -> str:
    """Return URDF text, numbers to the last digit."""
    parts = []
    for link in description.links:
        inner = ''
        if link.inertia is not None:
            I = link.inertia.matrix  # noqa: E741
            inner = (
                f'<inertial><origin xyz={numbers(link.inertia.com)} rpy="0 0 0"/>'
                f'<mass value="{link.inertia.mass!r}"/><inertia '
                + ' '.join(
                    f'i{"xyz"[a]}{"xyz"[b]}="{float(I[a, b])!r}"'
                    for a in range(3)
                    for b in range(a, 3)
                )
                + '/></inertial>'
            )
        parts.append(f'<link name={quoteattr(link.name)}>{inner}</link>')
    for joint in description.joints:
        with warnings.catch_warnings():  # at a pitch of 90 degrees any roll will do
            warnings.filterwarnings('ignore', 'Gimbal lock')
            rpy = Rotation.from_matrix(joint.origin[:3, :3].copy()).as_euler('xyz')
        inner = (
            f'<origin xyz={numbers(joint.origin[:3, 3])} rpy={numbers(rpy)}/>'
            f'<parent link={quoteattr(joint.parent)}/><child link={quoteattr(joint.child)}/>'
            f'<axis xyz={numbers(joint.axis)}/>'
        )
        if joint.type in ('revolute', 'prismatic'):
            inner += (
                '<limit '
                + ' '.join(
                    f'{field}="{getattr(joint.limits, field)!r}"'
                    for field in ('lower', 'upper', 'velocity', 'effort')
                )
                + '/>'
            )
        if joint.mimic is not None:
            inner += (
                f'<mimic joint={quoteattr(joint.mimic.joint)} '
                f'multiplier="{joint.mimic.multiplier!r}" offset="{joint.mimic.offset!r}"/>'
            )
        parts.append(f'<joint name={quoteattr(joint.name)} type="{joint.type}">{inner}</joint>')
    return f'<robot name={quoteattr(description.name)}>{"".join(parts)}</robot>'


def numbers(values: np.ndarray) -> str:
    """Return numbers as one quoted attribute."""
    return '"' + ' '.join(repr(float(x)) for x in values) + '"'


# --- RCM5 of doc/spec/golden_numbers.md ----------------------------------------------------------

L1, L2, L3, RHO = 0.4, 0.35, 0.2, 0.3
ALPHA, BETA = np.pi / 3, 5 * np.pi / 9

RCM5_Q = np.array([0.3, -0.5, 0.7, 0.4, -0.6])
RCM5_V = np.array([0.5, -0.2, 0.3, 0.8, -0.4])
RCM5_A = np.array([1.0, 0.5, -0.7, 0.2, 0.9])


def rcm5_axes() -> tuple[np.ndarray, np.ndarray]:
    """Return directions e_i and points y_i of the axes at q = 0, (5, 3) each."""
    e = np.array(
        [
            [0, 0, 1],
            [0, 0, 1],
            [0, 0, 1],
            [np.cos(ALPHA), 0, -np.sin(ALPHA)],
            [np.cos(BETA), 0, -np.sin(BETA)],
        ]
    )
    y = np.array([[0, 0, 0], [L1, 0, 0], [L1 + L2, 0, 0], [L1 + L2 + L3, 0, 0], [0, 0, 0]])
    center = y[3] + RHO * e[3]
    y[4] = center - center[2] / e[4, 2] * e[4]
    return e, y


def rcm5_description() -> RobotDescription:
    """Return the surgical arm RCM5: frame i at y_i, parallel to the root's at q = 0."""
    e, y = rcm5_axes()
    links, joints = [Link('ground')], []
    for i in range(5):
        com = np.array([0.1 + 0.02 * i, -0.03 * i, 0.05])
        links.append(
            Link(f'body{i + 1}', Inertia(5.0 - i, com, (i + 1) * np.diag([0.02, 0.03, 0.04])))
        )
        origin = np.eye(4)
        origin[:3, 3] = y[i] - (y[i - 1] if i else 0.0)
        joints.append(
            Joint(f'joint{i + 1}', 'continuous', links[i].name, links[i + 1].name, origin, e[i])
        )
    return RobotDescription.from_parts('rcm5', links, joints)
