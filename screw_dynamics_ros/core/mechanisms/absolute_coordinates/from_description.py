# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A robot description as a system in absolute coordinates, with loops closed by a small file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...description.body_inertia import Inertia
from ...description.file_entries import check_keys, name_of, number_of, numbers_of
from ...description.rigid_body import RigidBody
from ...description.robot_description import Joint, RobotDescription
from ...description.xml_document import rotation_from_rpy
from ...errors import ArgumentError, DescriptionError, UnknownNameError
from ...lie import se3, so3
from ...tree.multibody_tree import mimic_map
from ...types import Array
from .bodies import GROUND, AbsoluteBody, ConstraintJoint, frame, rigid_body
from .body_equations import SHIFT_COMPONENT, TURN_COMPONENT, Coupling
from .constraint_projection import project_configuration
from .exactness import choose_groups
from .groups import check_group
from .lower_pairs import lower_pair
from .system import AbsoluteSystem
from .system_equations import NO_STABILIZATION, Stabilization


def absolute_system(
    description: RobotDescription,
    *,
    closures: Sequence[ConstraintJoint] = (),
    floating_base: bool = False,
    groups: str = 'auto',
    positions: Mapping[str, float] | None = None,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    stabilization: Stabilization = NO_STABILIZATION,
    backend: str = 'auto',
) -> AbsoluteSystem:
    """Return a robot as bodies that its joints constrain; `system.configuration` is closed.

    Each link that moves is a body in the frame of the description; links on fixed joints are parts
    of the link that carries them. Mimic joints become `Coupling`s. Limits, friction and rotors are
    not part of the system.

    Parameters
    ----------
    description : RobotDescription
    closures : sequence of ConstraintJoint
        Joints that close loops, between links (of which `GROUND` is the fixed root), in the frames
        of the links; `loop_closures` makes them from a file.
    floating_base : bool
        Whether the root link is a body, too.
    groups : {'auto', 'SE(3)', 'SO(3) x R^3'}
        Of all bodies, or chosen by `choose_groups`.
    positions : {joint: position}, optional
        Where revolute and prismatic joints stand [rad, m], 0 by default; loops are closed from
        there. Mimic joints stand where the joints they follow let them.
    gravity, stabilization, backend
        As of `AbsoluteSystem`.

    Raises
    ------
    InertiaError
        If a moving link has no inertia.
    UnknownNameError
        If `closures` or `positions` name what the description does not have.
    ArgumentError
        If `positions` name a mimic joint, or one without a single position.
    InfeasibleConstraintsError
        If the loops do not close.
    """
    placements, parts = merged_links(description, floating_base)
    check_positions(description, positions or {})
    joints = [tree_joint(joint, placements) for joint in description.joints if joint.kind.pair]
    joints += [on_bodies(closure, placements) for closure in closures]
    bodies: Sequence[AbsoluteBody] = [
        AbsoluteBody(name, inertia_of(name, inertias)) for name, inertias in parts.items()
    ]
    if groups == 'auto':
        bodies = choose_groups(bodies, joints)
    else:
        bodies = [AbsoluteBody(body.name, body.inertia, check_group(groups)) for body in bodies]
    couplings = mimic_couplings(description, [joint.name for joint in joints])
    poses = link_poses(description, positions or {})

    def system(q: ArrayLike) -> AbsoluteSystem:
        return AbsoluteSystem(
            bodies,
            joints,
            couplings=couplings,
            configuration=q,
            gravity=gravity,
            stabilization=stabilization,
            backend=backend,
        )

    open_system = system(AbsoluteSystem(bodies, backend='sparse').configuration_of(poses))
    if not closures:
        return open_system
    closed = project_configuration(open_system, open_system.configuration)
    return system(closed)


def check_positions(description: RobotDescription, positions: Mapping[str, float]) -> None:
    """Raise errors about joints that cannot be placed."""
    leaders = mimic_map(description)
    kinds = {joint.name: joint.kind for joint in description.joints}
    placeable = sorted(
        name for name, kind in kinds.items() if kind.is_scalar and leaders[name][0] == name
    )
    for name in positions:
        if name not in kinds:
            raise UnknownNameError(f'no joint named {name!r} to place; there are {placeable}')
        leader = leaders[name][0]
        if leader != name:
            raise ArgumentError(
                f'joint {name!r} follows {leader!r} and has no independent position: place that one'
            )
        if name not in placeable:
            raise ArgumentError(
                f'joint {name!r} is {kinds[name].name}: it has no single position; those that can '
                f'be placed are {placeable}'
            )


def merged_links(
    description: RobotDescription, floating_base: bool
) -> tuple[dict[str, tuple[str, Array]], dict[str, list[RigidBody]]]:
    """Return the body and pose in it of each link, and the parts (in its frame) of each body."""
    links = {link.name: link for link in description.links}
    root = description.root
    placements = {root: (root if floating_base else GROUND, np.eye(4))}
    for joint in description.joints:
        body, C = placements[joint.parent]
        fixed = joint.kind.is_fixed
        placements[joint.child] = (body, C @ joint.origin) if fixed else (joint.child, np.eye(4))
    parts: dict[str, list[RigidBody]] = {
        body: [] for body, _ in placements.values() if body != GROUND
    }
    for name, (body, C) in placements.items():
        inertia = links[name].inertia
        if body != GROUND and inertia is not None:
            parts[body].append(rigid_body(inertia).moved(C))
    return placements, parts


def inertia_of(name: str, parts: Sequence[RigidBody]) -> Inertia:
    """Return the inertia of a body with some parts, all in its frame."""
    if not parts:
        return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return Inertia(total.mass, total.com, total.matrix)


def tree_joint(joint: Joint, placements: Mapping[str, tuple[str, Array]]) -> ConstraintJoint:
    """Return a joint of the description between bodies."""
    parent, C = placements[joint.parent]
    along = frame(axis=joint.axis)
    return ConstraintJoint(
        joint.name,
        lower_pair(joint.kind.pair, joint.pitch or None),
        parent,
        joint.child,
        C @ joint.origin @ along,
        along,
    )


def on_bodies(
    closure: ConstraintJoint, placements: Mapping[str, tuple[str, Array]]
) -> ConstraintJoint:
    """Return a joint between links as one between the bodies that carry them."""
    ends = []
    for link, S in (
        (closure.parent, closure.parent_frame),
        (closure.child, closure.child_frame),
    ):
        if link not in placements and link != GROUND:
            raise UnknownNameError(
                f'closure {closure.name!r}: no link named {link!r}; there are '
                f'{", ".join(placements)}'
            )
        body, C = placements.get(link, (GROUND, np.eye(4)))
        ends.append((body, C @ S))
    (parent, S_i), (child, S_j) = ends
    if child == GROUND:  # the other way round; every pair admits the inverse motions
        parent, S_i, child, S_j = child, S_j, parent, S_i
    return ConstraintJoint(closure.name, closure.pair, parent, child, S_i, S_j)


def mimic_couplings(description: RobotDescription, names: Sequence[str]) -> list[Coupling]:
    """Return the couplings of mimic joints; `names` are the joints of the system in their order."""
    component = {
        joint.name: TURN_COMPONENT if joint.kind.turns else SHIFT_COMPONENT
        for joint in description.joints
    }
    return [
        Coupling(
            names.index(follower),
            names.index(leader),
            component[follower],
            component[leader],
            multiplier,
            offset,
        )
        for follower, (leader, multiplier, offset) in mimic_map(description).items()
        if follower != leader
    ]


def link_poses(description: RobotDescription, positions: Mapping[str, float]) -> dict[str, Array]:
    """Return the pose (4, 4) of each link with the joints at `positions`."""
    leaders = mimic_map(description)
    poses = {description.root: np.eye(4)}
    for joint in description.joints:
        leader, multiplier, offset = leaders[joint.name]
        x = float(multiplier * positions.get(leader, 0.0) + offset)
        D = np.eye(4)
        if joint.kind.is_scalar and joint.kind.turns:
            D[:3, :3] = so3.exp(x * np.asarray(joint.axis))
            D[:3, 3] = joint.pitch * x * joint.axis
        elif joint.kind.is_scalar:
            D[:3, 3] = x * joint.axis
        poses[joint.child] = poses[joint.parent] @ joint.origin @ D
    return poses


def loop_closures(content: Any, where: str = 'loop closures') -> list[ConstraintJoint]:
    """Return the joints that a file of loop closures describes; `content` is what a parser returns.

    A mapping with a list `closures` (of a YAML file, for instance); each entry has

    * `name`, and `type`: revolute, prismatic, helical (with `pitch`, m/rad), cylindrical,
      spherical, planar or weld,
    * `parent` and `child`, each with `link` (a link of the description, or `ground`) and the frame
      of the joint in it: `xyz` [m] and `rpy` [rad] as in a URDF, 0 by default; its z axis is the
      axis of the joint.

    Raises
    ------
    DescriptionError
        Something else; names `where` it is, the entry and the key.
    """
    if not isinstance(content, dict) or not isinstance(content.get('closures'), list):
        raise DescriptionError(f'{where} must have a list named closures')
    return [closure(f'{where}, entry {k}', entry) for k, entry in enumerate(content['closures'], 1)]


def closure(where: str, entry: Any) -> ConstraintJoint:
    """Return one joint of a file of loop closures."""
    check_keys(where, entry, {'name', 'type', 'parent', 'child'}, {'pitch'})
    ends = []
    for end in ('parent', 'child'):
        check_keys(f'{where}, {end}', entry[end], {'link'}, {'xyz', 'rpy'})
        xyz, rpy = (
            numbers_of(f'{where}, {end}, {key}', entry[end].get(key, [0.0, 0.0, 0.0]), (3,))
            for key in ('xyz', 'rpy')
        )
        link = name_of(f'{where}, {end}, link', entry[end]['link'])
        ends.append((link, se3.pose(rotation_from_rpy(*rpy), xyz)))
    name, kind = (name_of(f'{where}, {key}', entry[key]) for key in ('name', 'type'))
    pitch = number_of(f'{where}, pitch', entry['pitch']) if 'pitch' in entry else None
    try:
        pair = lower_pair(kind, pitch)
        return ConstraintJoint(name, pair, ends[0][0], ends[1][0], ends[0][1], ends[1][1])
    except (ArgumentError, UnknownNameError) as error:
        raise DescriptionError(f'{where}: {error}') from None
