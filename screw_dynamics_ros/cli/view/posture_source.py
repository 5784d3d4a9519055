# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A robot without ROS: sliders or a handle set its joints and payload."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.tree.joint_limits import (
    coordinate_names,
    places,
    position_limits,
    spread,
)
from screw_dynamics_ros.core.types import Array

from .state import ViewState, add_payload_controls, local_mesh

FULL_TURN = 2.0 * np.pi
SLIDER_STEP = 1e-3  # rad or m


class PostureSource:
    """A robot at rest in a configuration chosen by the user; see `ViewSource`.

    Parameters
    ----------
    urdf : str
        The description.
    path : Path
        Its file, from which paths of meshes are resolved.
    """

    movable = True
    generation = 0

    def __init__(self, urdf: str, path: Path) -> None:
        self.urdf, self._path = urdf, path
        self.robot = Robot(read_robot_description(urdf, inertia_check='warn'))
        self.lower, self.upper = slider_ranges(self.robot)
        self._payload = self.robot.payload_parameters({})
        self._lock = threading.Lock()
        self._sliders: dict[int, Any] = {}
        self._state = self._state_at(middle(self.robot, self.lower, self.upper))

    def mesh_file(self, uri: str) -> Path | None:
        """Return the file of a mesh; any file that the user's description names is allowed."""
        return local_mesh(uri, self._path)

    def latest(self) -> ViewState:
        """Return the state of the chosen configuration."""
        return self._state

    def move(self, q: Array) -> None:
        """Set a configuration (nq,); ignore values that are not finite."""
        if np.shape(q) != (self.robot.nq,) or not np.isfinite(q).all():
            return
        with self._lock:
            self._state = self._state_at(np.array(q))
        for k, slider in self._sliders.items():
            value = float(np.clip(q[k], self.lower[k], self.upper[k]))
            if abs(slider.value - value) > 0.5 * SLIDER_STEP:
                slider.value = value

    def carry(self, link: str, payload: RigidBody | None) -> None:
        """Attach a payload to a link; it replaces the previous payload."""
        with self._lock:
            self._payload = self.robot.payload_parameters({link: payload} if payload else {})
            self._state = self._state_at(self._state.q)

    def add_controls(self, gui: Any) -> None:
        """Add sliders for the joint coordinates and the payload."""
        self._sliders.clear()
        with gui.add_folder('Joints'):
            for k, name in enumerate(coordinate_names(self.robot)):
                if np.isfinite([self.lower[k], self.upper[k]]).all():
                    self._sliders[k] = self._slider(gui, k, name)
        add_payload_controls(gui, self.robot, self.carry)

    def close(self) -> None:
        """Do nothing: no thread was started."""

    def _slider(self, gui: Any, k: int, name: str) -> Any:
        low, high, now = (float(x[k]) for x in (self.lower, self.upper, self._state.q))
        slider = gui.add_slider(name, min=low, max=high, step=SLIDER_STEP, initial_value=now)

        def moved(event: Any) -> None:
            if event.client is None:  # set by `move`
                return
            q = self._state.q.copy()
            q[k] = np.clip(slider.value, low, high)
            if np.isfinite(q[k]):
                self.move(q)

        slider.on_update(moved)
        return slider

    def _state_at(self, q: Array) -> ViewState:
        rest = np.zeros(self.robot.nv)
        torques = {
            'gravity': self.robot.gravity_torques(q),
            'payload': self.robot.payload_torques(q, rest, rest, self._payload),
        }
        return ViewState(q, rest, torques=torques)


def slider_ranges(robot: Robot) -> tuple[Array, Array]:
    """Return the ranges of sliders, (nq,) each: limits or +-2 pi; infinite without a slider."""
    kinds = {joint.name: joint.kind for joint in robot.description.joints}
    single = [kinds[name].is_scalar for name in robot.joint_names]
    is_slid = spread(single, places(robot)[0], np.zeros(robot.nq, dtype=bool))
    lower, upper = np.clip(position_limits(robot), -FULL_TURN, FULL_TURN)
    return np.where(is_slid, lower, -np.inf), np.where(is_slid, upper, np.inf)


def middle(robot: Robot, lower: Array, upper: Array) -> Array:
    """Return the configuration (nq,) in the middle of the ranges."""
    q = robot.neutral()
    known = np.isfinite(lower) & np.isfinite(upper)
    q[known] = 0.5 * (lower[known] + upper[known])
    return q
