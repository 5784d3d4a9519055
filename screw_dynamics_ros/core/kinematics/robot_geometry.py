# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Products of exponentials from and to robot descriptions and the trees the recursions run on.

A `RobotDescription` has joint axes through the origin of the child link; a product of exponentials
(`geometry`) has unit screws anywhere. Both directions are exact: an axis off the origin becomes a
joint to a massless link on the axis and a fixed joint from there, a helical joint a revolute one
with a prismatic one that mimics it, as URDF itself has no helical joints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..description.body_inertia import Inertia
from ..description.robot_description import Joint, Limits, Link, Mimic, RobotDescription
from ..errors import DescriptionError
from ..lie import se3
from ..reproducible import product
from ..tree.multibody_tree import (
    GROUND,
    Body,
    Frame,
    JointLimits,
    Tree,
    inertia_in,
    mimic_map,
    rotation_of_z_to,
)
from ..types import Array
from .product_of_exponentials import BodyScrews, Geometry, joint_axes

ROOT_NAME = 'base'

IDENTITY = np.eye(4)

MASSLESS = Inertia(0.0, np.zeros(3), np.zeros((3, 3)))


@dataclass(frozen=True, eq=False)
class RobotGeometry:
    """Geometry of a robot description as a product of exponentials.

    Attributes
    ----------
    screws : BodyScrews
        One body for each movable joint, mimic joints included, with the frame of its child link;
        three for a planar joint, named 'joint/x', 'joint/y' and 'joint/angle'.
    frames : dict of str to Frame
        Every link: the body it moves with and its pose in the frame of that body [m].
    coupling, offset : (n, nq), (n,) arrays
        The coordinates of all n joints are coupling @ q + offset, q those of `Robot`: mimic joints
        follow their masters.
    """

    screws: BodyScrews
    frames: dict[str, Frame]
    coupling: Array
    offset: Array

    def link_poses(self, q: ArrayLike) -> dict[str, Array]:
        """Return the pose (..., 4, 4) of each link for q (..., nq) as `Robot` orders it."""
        q = np.asarray(q)
        C = self.screws.poses((self.coupling @ q[..., None])[..., 0] + self.offset)
        return {
            link: frame.S if frame.body == GROUND else C[..., frame.body, :, :] @ frame.S
            for link, frame in self.frames.items()
        }


def geometry_of(description: RobotDescription) -> RobotGeometry:
    """Return the geometry of a description (K-12): B_i = <origin>, X_i = (axis, h axis), (0, axis).

    Raises
    ------
    DescriptionError
        For a floating or ball joint: its coordinates are not those of a product of exponentials.
    """
    masters = mimic_map(description)
    frames = {description.root: Frame(GROUND, IDENTITY)}
    B, X, parents, names, follows = [], [], [], [], []
    for joint in description.joints:
        frame = frames[joint.parent]
        origin, body = product(frame.S, joint.origin), frame.body
        if joint.kind.is_fixed:
            frames[joint.child] = Frame(body, origin)
            continue
        master, multiplier, offset = masters[joint.name]
        for part, screw in _unit_screws(joint):
            B.append(origin)
            X.append(screw)
            parents.append(body)
            names.append(joint.name + part)
            follows.append((master + part, multiplier, offset))
            origin, body = IDENTITY, len(names) - 1
        frames[joint.child] = Frame(body, IDENTITY)
    owners = [name for name, (master, *_) in zip(names, follows) if name == master]
    coupling = np.zeros((len(names), len(owners)))
    for row, (master, multiplier, _) in zip(coupling, follows):
        row[owners.index(master)] = multiplier
    return RobotGeometry(
        BodyScrews(np.reshape(B, (-1, 4, 4)), np.reshape(X, (-1, 6)), parents, names),
        frames,
        coupling,
        np.array([offset for *_, offset in follows]),
    )


def _unit_screws(joint: Joint) -> list[tuple[str, Array]]:
    """Return a suffix to the joint's name and the screw in the child frame, for each freedom."""
    if joint.kind.has_quaternion:
        pair = 'floating' if joint.kind.is_free else joint.kind.pair
        raise DescriptionError(
            f'joint {joint.name!r} is {joint.type}: a quaternion is not a coordinate of a product '
            f'of exponentials; replace the joint by joints.{pair}(), whose coordinates are'
        )
    x, y, _ = rotation_of_z_to(joint.axis).T
    R = np.kron(np.eye(2), np.column_stack([x, y, joint.axis]))
    parts = ('',) if joint.kind.is_scalar else ('/x', '/y', '/angle')
    return [(part, R @ X[:, 0]) for part, X in zip(parts, joint.kind.screws(joint.pitch))]


def description_of(
    geometry: Geometry,
    *,
    name: str = 'robot',
    links: Sequence[str] | None = None,
    inertias: Sequence[Inertia | None] | None = None,
    limits: Mapping[str, Limits] | None = None,
) -> RobotDescription:
    """Return the robot description of a product of exponentials, to be loaded as any other.

    Parameters
    ----------
    geometry : Geometry
        Any of the five descriptions.
    name : str
        Of the robot.
    links : sequence of str
        Names of the bodies, 'body1', 'body2', ... if not given; the root link is 'base'. The frame
        of such a link is the frame of the body, wherever the joint axis runs.
    inertias : sequence of Inertia or None
        Of the bodies, in their frames.
    limits : {joint: Limits}
        Joints not mentioned are unlimited.

    Returns
    -------
    RobotDescription
        The joints keep their names, but the order is depth-first. Links 'X_axis', 'X_turned' and
        joints 'X_offset', 'X_pitch' are added where an axis is off the origin of its body or a
        joint is helical.
    """
    own = geometry.body_screws()
    links = [f'body{i + 1}' for i in range(len(own))] if links is None else links
    inertias = [None] * len(own) if inertias is None else inertias
    if len(links) != len(own) or len(inertias) != len(own):
        raise DescriptionError(
            f'{len(own)} bodies, but {len(links)} link names and {len(inertias)} inertias; '
            'give one of each for every body'
        )
    axes = joint_axes(own.X)
    made, joints = [Link(ROOT_NAME)], []
    for i, (joint, link) in enumerate(zip(own.names, links)):
        e, p, pitch = axes.direction[i], axes.point[i], float(axes.pitch[i])
        bounds = (limits or {}).get(joint)
        turning = 'continuous' if bounds is None else 'revolute'
        helical, off_axis = pitch != 0.0 and np.isfinite(pitch), p.any()
        to_axis = se3.pose(np.eye(3), p)
        first = 'prismatic' if np.isinf(pitch) else turning
        stages: list[tuple[str, str, Array, Mimic | None]] = [
            (joint, first, product(own.B[i], to_axis), None)
        ]
        children = [link]
        if off_axis:
            stages.append((f'{joint}_offset', 'fixed', se3.inverse(to_axis), None))
            children.insert(0, f'{link}_axis')
        if helical:
            stages.insert(1, (f'{joint}_pitch', 'prismatic', IDENTITY, Mimic(joint, pitch)))
            children.insert(0, f'{link}_turned')
        parent = ROOT_NAME if own.parents[i] == GROUND else links[own.parents[i]]
        for (stage, kind, origin, mimic), child in zip(stages, children):
            own_limits = bounds if bounds and stage == joint else Limits()
            joints.append(Joint(stage, kind, parent, child, origin, e, own_limits, mimic))
            made.append(Link(child, inertias[i] if child == link else None))
            parent = child
    return RobotDescription.from_parts(name, made, joints)


def tree_of(
    geometry: Geometry,
    *,
    links: Sequence[str] | None = None,
    inertias: Sequence[Inertia | None] | None = None,
) -> Tree:
    """Return the tree of a product of exponentials with exactly its body frames and screws (D-31).

    The recursions run on it as they are, with axes off the origins of the bodies and helical joints
    among them. Arguments as in `description_of`.
    """
    own = geometry.body_screws()
    n = len(own)
    links = [f'body{i + 1}' for i in range(n)] if links is None else links
    bodies = []
    for i in range(n):
        inertia = None if inertias is None else inertias[i]
        m, h, I = inertia_in(Frame(i, IDENTITY), inertia or MASSLESS)  # noqa: E741
        bodies.append(
            Body(
                name=links[i],
                joint=own.names[i],
                parent=own.parents[i],
                B=own.B[i],
                X=own.X[i][:, None],
                q=slice(i, i + 1),
                v=slice(i, i + 1),
                m=m,
                h=h,
                I=I,
            )
        )
    free = np.full(n, np.inf)
    return Tree(
        bodies=tuple(bodies),
        frames={ROOT_NAME: Frame(GROUND, IDENTITY)}
        | {
            link: Frame(
                i,
                IDENTITY,
                ROOT_NAME if own.parents[i] == GROUND else links[own.parents[i]],
                None if inertias is None else inertias[i],
            )
            for i, link in enumerate(links)
        },
        joint_names=own.names,
        coordinates={name: (slice(i, i + 1),) * 2 for i, name in enumerate(own.names)},
        nq=n,
        nv=n,
        limits=JointLimits(-free, free, free, free),
        fixed_mass=0.0,
        fixed_moment=np.zeros(3),
        moving_joints=(),
    )


def moved_inertia(inertia: Inertia, S: ArrayLike) -> Inertia:
    """Return an inertia given in frame 2 in frame 1, S the pose (4, 4) of frame 2 in frame 1.

    Ad_S^-T M Ad_S^-1 (K-16, D-17); about the center of mass that is a change of axes.
    """
    S = np.asarray(S, dtype=np.float64)
    R = S[:3, :3]
    return Inertia(inertia.mass, R @ inertia.com + S[:3, 3], R @ inertia.matrix @ R.T)
