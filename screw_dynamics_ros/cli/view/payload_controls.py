# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sliders of a payload: link, mass and center of mass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.tree.multibody_tree import GROUND

MAX_MASS = 20.0  # kg
MAX_OFFSET = 0.5  # m


def add_payload_controls(
    gui: Any, robot: Robot, carry: Callable[[str, RigidBody | None], None]
) -> None:
    """Add the folder; each change calls `carry` with the link and the payload, or None."""
    links = moving_links(robot)
    with gui.add_folder('Payload', expand_by_default=False):
        link = gui.add_dropdown('link', links, initial_value=first_tool(robot))
        mass = gui.add_slider('mass [kg]', 0.0, MAX_MASS, 0.1, 0.0)
        center = [
            gui.add_slider(f'{axis} [m]', -MAX_OFFSET, MAX_OFFSET, 0.005, 0.0) for axis in 'xyz'
        ]

    def changed(_: Any) -> None:
        m, c = float(mass.value), np.array([each.value for each in center], dtype=float)
        if link.value not in links or not (0.0 <= m <= MAX_MASS and np.isfinite(c).all()):
            return  # not from the sliders
        c = np.clip(c, -MAX_OFFSET, MAX_OFFSET)
        carry(link.value, RigidBody(m, c, np.zeros((3, 3))) if m > 0.0 else None)

    for handle in (link, mass, *center):
        handle.on_update(changed)


def moving_links(robot: Robot) -> list[str]:
    """Return the links that joints move; the root if there are none."""
    moving = [name for name in robot.link_names if robot.tree.frame(name).body != GROUND]
    return moving or list(robot.link_names[:1])


def first_tool(robot: Robot) -> str:
    """Return the first moving link that is a leaf of the tree."""
    parents = {joint.parent for joint in robot.description.joints}
    links = moving_links(robot)
    return next((link for link in links if link not in parents), links[0])
