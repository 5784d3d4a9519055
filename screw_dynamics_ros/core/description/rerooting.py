# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Another link as the root of the tree: a humanoid that changes its stance foot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from screw_dynamics_ros.core.description.robot_description import (
    Joint,
    Link,
    RobotDescription,
)
from screw_dynamics_ros.core.errors import DescriptionError, UnknownNameError
from screw_dynamics_ros.core.lie import se3


def rerooted(description: RobotDescription, root: str) -> RobotDescription:
    """Return the same robot hanging on another link (Bruyninckx 2010, 5.4, B-115).

    The joints between the old and the new root turn round: C_p,i = B exp(X q) becomes
    C_i,p = exp(-X q) B^-1, so that names, coordinates and link frames stay and only axes change
    sign. A massless link 'P_at_J' carries the old parent P behind such a joint J.

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
        A planar or floating joint lies between the two roots: its coordinates do not turn round.
    """
    above = {joint.child: joint for joint in description.joints}
    if root != description.root and root not in above:
        raise UnknownNameError(
            f'no link named {root!r}; the links are '
            + ', '.join(link.name for link in description.links)
        )
    links, turned = list(description.links), {}
    link = root
    while link != description.root:
        joint = above[link]
        if joint.kind.nv > 1:
            raise DescriptionError(
                f'joint {joint.name!r} between {description.root!r} and {root!r} is {joint.type} '
                'and cannot be turned round; choose a root on this side of it'
            )
        back, behind = se3.inverse(joint.origin), joint.parent
        if joint.kind.is_fixed:
            turned[joint.name] = [replace(joint, parent=link, child=behind, origin=back)]
        else:
            carrier = f'{behind}_at_{joint.name}'
            links.append(Link(carrier))
            turned[joint.name] = [
                replace(joint, parent=link, child=carrier, origin=np.eye(4), axis=-joint.axis),
                Joint(f'{joint.name}_offset', 'fixed', carrier, behind, back, joint.axis),
            ]
        link = joint.parent
    joints = [part for joint in description.joints for part in turned.get(joint.name, [joint])]
    return RobotDescription.from_parts(
        description.name, links, joints, description.findings, check_inertias=False
    )
