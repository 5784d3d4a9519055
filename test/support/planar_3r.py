"""A planar arm of three unit rods, redundant for the position of its tip."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.description import Inertia, Joint, Limits, Link, RobotDescription

#: Rows of a twist that are the velocity of the tip in the plane.
IN_THE_PLANE = np.eye(6)[3:5]


def planar_3r() -> RobotDescription:
    """Return the arm of E-10: slender rods of length and mass 1, axes z."""
    at_tip, axis, limits = np.eye(4), np.array([0.0, 0.0, 1.0]), Limits(-9.0, 9.0, 9.0, 50.0)
    at_tip[0, 3] = 1.0
    rod = Inertia(1.0, [0.5, 0.0, 0.0], np.diag([1e-9, 1 / 12, 1 / 12]))
    names = ['base', 'rod1', 'rod2', 'rod3']
    joints = [
        Joint(f'j{k + 1}', 'revolute', *names[k : k + 2], at_tip if k else np.eye(4), axis, limits)
        for k in range(3)
    ]
    return RobotDescription.from_parts(
        'planar_3r',
        [Link('base'), *(Link(name, rod) for name in names[1:]), Link('tip')],
        [*joints, Joint('end', 'fixed', 'rod3', 'tip', at_tip, axis, limits)],
    )
