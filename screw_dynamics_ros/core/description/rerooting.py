# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Another link as the root of the tree: a humanoid that changes its stance foot.

A tree of which some joints are described from the leaf to the root is put in order the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import DescriptionError, UnknownNameError
from ..lie import se3
from .robot_description import Joint, Link, RobotDescription


def rerooted(description: RobotDescription, root: str) -> RobotDescription:
    """Return the same robot hanging on another link (Bruyninckx 2010, 5.4, B-115).

    The joints between the old and the new root turn round, see `hung_on`.

    Parameters
    ----------
    description : RobotDescription
    root : str
        The link that becomes the root; what stood in the old root frame now stands in its frame.

    Raises
    ------
    UnknownNameError
        There is no such link.
    DescriptionError
        A planar, ball or floating joint lies between the two roots: its coordinates do not turn
        round.
    """
    if all(root != link.name for link in description.links):
        raise UnknownNameError(
            f'no link named {root!r}; the links are '
            + ', '.join(link.name for link in description.links)
        )
    links, joints = hung_on(root, description.links, description.joints)
    return RobotDescription.from_parts(
        description.name, links, joints, description.findings, check_inertias=False
    )


def hung_on(
    root: str, links: Sequence[Link], joints: Sequence[Joint]
) -> tuple[list[Link], list[Joint]]:
    """Return links and joints of a tree, its joints from the root to the leaves.

    A joint whose child is nearer to the root turns round: C_p,i = B exp(X q) becomes
    C_i,p = exp(-X q) B^-1, so that names, coordinates and link frames stay and only axes change
    sign. A massless link 'P_at_J' carries the old parent P behind such a joint J. Links not
    connected to the root, and loops, stay unchanged.

    Raises
    ------
    DescriptionError
        A planar, ball or floating joint is to turn round: its coordinates do not.
    """
    at: dict[str, list[Joint]] = {link.name: [] for link in links}
    for joint in joints:
        for end in (joint.parent, joint.child):
            at.setdefault(end, []).append(joint)
    carriers: list[Link] = []
    turned: dict[str, list[Joint]] = {}
    reached, pending = {root}, [root]
    while pending:
        link = pending.pop()
        for joint in at[link]:
            backward = joint.child == link and joint.parent not in reached
            if backward:
                turned[joint.name], more = _turned(joint, root)
                carriers.extend(more)
            if backward or joint.child not in reached:
                far = joint.parent if backward else joint.child
                reached.add(far)
                pending.append(far)
    return [*links, *carriers], [part for each in joints for part in turned.get(each.name, [each])]


def _turned(joint: Joint, root: str) -> tuple[list[Joint], list[Link]]:
    if joint.kind.nv > 1:
        raise DescriptionError(
            f'joint {joint.name!r} between {joint.parent!r} and {joint.child!r} is {joint.type} '
            f'and cannot be turned round for the root {root!r}; choose a root on this side of it'
        )
    back, behind = se3.inverse(joint.origin), joint.parent
    if joint.kind.is_fixed:
        return [replace(joint, parent=joint.child, child=behind, origin=back)], []
    carrier = f'{behind}_at_{joint.name}'
    return [
        replace(joint, parent=joint.child, child=carrier, origin=np.eye(4), axis=-joint.axis),
        Joint(f'{joint.name}_offset', 'fixed', carrier, behind, back, joint.axis),
    ], [Link(carrier)]
