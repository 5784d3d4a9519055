# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One body of all links of a description: what a tool adds to the link that carries it."""

from __future__ import annotations

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.description.robot_description import RobotDescription
from screw_dynamics_ros.core.errors import DescriptionError, InertiaError
from screw_dynamics_ros.core.kinematics.configurations import neutral
from screw_dynamics_ros.core.kinematics.poe import link_pose
from screw_dynamics_ros.core.tree.multibody_tree import build_tree
from screw_dynamics_ros.core.types import Array

from .payload_transitions import mixture


def tool_body(description: RobotDescription, pose: Array) -> RigidBody:
    """Return all links of a tool together, its joints at their neutral positions.

    Parameters
    ----------
    description : RobotDescription
    pose : (4, 4) array
        Of the root link of the tool, in the frame of the result.

    Raises
    ------
    DescriptionError
        No link has a mass.
    InertiaError
        No body has the inertia of a link, which is named.
    """
    tree = build_tree(description)
    q, parts = neutral(tree), []
    for link, frame in tree.frames.items():
        inertia = frame.inertia
        if inertia is None or not inertia.mass:
            continue
        try:
            body = RigidBody(inertia.mass, inertia.com, inertia.matrix)
        except InertiaError as error:  # the description may have been read without its checks
            raise InertiaError(f'link {link!r} of {description.name}: {error}') from None
        parts.append((1.0, body.moved(pose @ link_pose(tree, q, link))))
    if not parts:
        raise DescriptionError(
            f'{description.name}: no link has a mass; give the links their <inertial>'
        )
    return mixture(parts)
