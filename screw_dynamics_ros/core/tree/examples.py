# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Small trees whose numbers can be checked by hand, for examples in docstrings and pages.

>>> [(body.name, body.m) for body in planar_arm().bodies]
[('upper', 1.0), ('lower', 1.0)]
"""

from __future__ import annotations

import numpy as np

from ..description import Inertia, Joint, Link, RobotDescription
from .multibody_tree import Tree, build_tree


def planar_arm_description() -> RobotDescription:
    """Return the description of `planar_arm`."""
    along_x, z = np.eye(4), np.array([0.0, 0.0, 1.0])
    along_x[0, 3] = 1.0
    at_end = Inertia(1.0, np.array([1.0, 0.0, 0.0]), np.zeros((3, 3)))
    return RobotDescription.from_parts(
        'planar_arm',
        [Link('base'), Link('upper', at_end), Link('lower', at_end), Link('tip')],
        [
            Joint('shoulder', 'revolute', 'base', 'upper', np.eye(4), z),
            Joint('elbow', 'revolute', 'upper', 'lower', along_x, z),
            Joint('flange', 'fixed', 'lower', 'tip', along_x, z),
        ],
    )


def planar_arm() -> Tree:
    """Return an arm of two revolute joints about z with links of unit lengths and masses.

    The links lie along x, with point masses at the ends of `upper` and `lower`; the link `tip` is
    at the second one. With c, s = cos q_2, sin q_2 and gravity g in the direction -y

        M = [[3 + 2 c, 1 + c], [1 + c, 1]],
        C v = (-s (2 v_1 v_2 + v_2^2), s v_1^2),
        g(q) = (2 g cos q_1 + g cos(q_1 + q_2), g cos(q_1 + q_2)),
        r = (cos q_1 + cos(q_1 + q_2), sin q_1 + sin(q_1 + q_2), 0).
    """
    return build_tree(planar_arm_description())


def floating_planar_arm() -> Tree:
    """Return `planar_arm` with a root link that moves freely and is massless."""
    return build_tree(planar_arm_description(), floating_base=True)
