# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A drag handle with inverse kinematics, and all solutions as transparent robots."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from html import escape
from typing import Any

import numpy as np

from screw_dynamics_ros.core import Robot, ScrewDynamicsError
from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.inverse.closed_loop import ClosedLoop
from screw_dynamics_ros.core.lie import quaternions, se3
from screw_dynamics_ros.core.types import Array

from .link_meshes import ColoredMesh
from .state import moving_links

NO_LINK = 'none'
GAIN = 8.0  # 1/s
REACHED = 1e-4  # rad and m in one norm
MAX_STEPS = 300  # for a target out of reach
MAX_GHOSTS = 32
FREE_JOINTS = 6  # of an arm with a finite number of solutions
GHOST_COLOR, GHOST_OPACITY = (102, 153, 230), 0.25
MAX_COORDINATE = 100.0  # m
QUATERNION_TOLERANCE = 1e-2


class LinkHandle:
    """Lets the user drag a link; `step` moves the robot towards the target.

    Parameters
    ----------
    scene : viser.SceneApi
    gui : viser.GuiApi
        The panel for the controls.
    robot : Robot
    meshes : {link: list of ColoredMesh}
    move : callable
        Called with each configuration (nq,).
    period : float
        Between two calls of `step` [s].
    size : float
        Size of the robot [m].
    """

    def __init__(
        self,
        scene: Any,
        gui: Any,
        robot: Robot,
        meshes: dict[str, list[ColoredMesh]],
        move: Callable[[Array], None],
        period: float,
        size: float,
    ) -> None:
        self.robot, self._move, self._period = robot, move, period
        self._target: Array | None = None
        self._solved_for: Array | None = None
        self._loop: ClosedLoop | None = None
        self._placed = np.full((4, 4), np.inf)  # pose of the handle
        self._steps = 0
        self._future: Future[tuple[Array, str]] | None = None
        self._executor = ThreadPoolExecutor(1)
        self._control = scene.add_transform_controls(
            '/handle', 0.25 * size, depth_test=False, visible=False
        )
        self._control.on_update(self._dragged)
        self._ghosts = GhostRobots(scene, robot, meshes)
        links = moving_links(robot)
        with gui.add_folder('Inverse kinematics'):
            self._links = gui.add_dropdown('drag link', (NO_LINK, *links), initial_value=NO_LINK)
            self._all = gui.add_checkbox('all solutions', False)
            self._report = gui.add_html('', visible=False)
        self._links.on_update(self._chosen)

    @property
    def link(self) -> str:
        """The dragged link, or `NO_LINK`."""
        value = self._links.value
        return value if value in self.robot.link_names else NO_LINK

    def step(self, q: Array, poses: Array) -> None:
        """Move the robot one step from q towards the target; without a target follow the robot.

        Parameters
        ----------
        q : (nq,) array
        poses : (n_links, 4, 4) array
            Poses of the links at q [m].
        """
        link, target = self.link, self._target
        shown = link != NO_LINK
        if self._control.visible != shown:
            self._control.visible = shown
        if not shown:
            self._ghosts.draw(np.empty((0, self.robot.nq)))
            return
        if target is None:
            target = poses[self.robot.link_names.index(link)]
            self._place(target)
        else:
            self._follow(link, target, q)
        self._draw_solutions(link, target, q)

    def _place(self, pose: Array) -> None:
        """Move the handle to a pose (4, 4), unless it is already there."""
        if np.abs(pose - self._placed).max() > REACHED:
            self._placed = pose.copy()
            self._control.position = pose[:3, 3]
            self._control.wxyz = np.roll(quaternions.from_matrix(pose[:3, :3]), 1)

    def close(self) -> None:
        """Stop the solver thread."""
        self._executor.shutdown(cancel_futures=True)

    def _dragged(self, event: Any) -> None:
        position, wxyz = np.array(self._control.position), np.array(self._control.wxyz)
        norm = float(np.linalg.norm(wxyz))
        if event.client is None or not (np.abs(position) <= MAX_COORDINATE).all():
            return  # set by `step`, or not finite
        if abs(norm - 1.0) < QUATERNION_TOLERANCE:
            rotation = quaternions.to_matrix(np.roll(wxyz / norm, -1))
            self._target, self._steps = se3.pose(rotation, position), 0
            self._placed = self._target

    def _chosen(self, _: Any) -> None:
        self._target = self._loop = self._solved_for = None

    def _follow(self, link: str, target: Array, q: Array) -> None:
        """Move one step towards the target."""
        try:
            if self._loop is None:
                self._loop = self.robot.closed_loop(link, q, self._period, gain=GAIN)
            step = self._loop.step(target, q=q)
        except ScrewDynamicsError as error:
            self._say(str(error))
            self._target = None
            return
        self._steps += 1
        if np.linalg.norm(step.error) < REACHED or self._steps > MAX_STEPS:
            self._target = None
            return
        self._move(step.q)

    def _draw_solutions(self, link: str, target: Array, q: Array) -> None:
        """Draw all solutions for the target as soon as they are computed."""
        if not self._all.value:
            if self._solved_for is not None:
                self._solved_for = None
                self._ghosts.draw(np.empty((0, self.robot.nq)))
                self._say('')
            return
        if self._future is not None:
            if not self._future.done():
                return
            solutions, text = self._future.result()
            self._future = None
            self._ghosts.draw(solutions[:MAX_GHOSTS])
            self._say(text)
        if self._solved_for is None or not np.allclose(target, self._solved_for, atol=REACHED):
            self._solved_for = target.copy()
            self._future = self._executor.submit(all_solutions, self.robot, link, target, q.copy())

    def _say(self, text: str) -> None:
        content = f'<div style="padding:0 0.8em;font-size:0.8em">{escape(text)}</div>'
        if content != self._report.content:
            self._report.content = content
            self._report.visible = bool(text)


def all_solutions(robot: Robot, link: str, target: Array, q: Array) -> tuple[Array, str]:
    """Return all configurations (k, nq) for a pose (4, 4) of a link, and a text about them.

    The joints of an arm beyond the sixth are locked at their current positions.
    """
    try:
        chain = SerialChain.of(robot.tree, link)
        count = len(chain.joint_names)
        locked = {
            name: float(q[place])
            for name, place in list(zip(chain.joint_names, chain.places))[FREE_JOINTS:]
        }
        if count < FREE_JOINTS:
            return np.empty((0, robot.nq)), f'{count} joints move {link}: 6 or more are needed'
        found = robot.all_inverse_kinematics(target, link, locked=locked, q0=q, images=False)
    except ScrewDynamicsError as error:
        return np.empty((0, robot.nq)), str(error)
    assert not isinstance(found, tuple)  # one pose has one result
    held = f'; {", ".join(locked)} locked' if locked else ''
    return found.q, f'solutions: {len(found)}, method: {found.family}{held}'


class GhostRobots:
    """Transparent copies of a robot in other configurations."""

    def __init__(self, scene: Any, robot: Robot, meshes: dict[str, list[ColoredMesh]]) -> None:
        self._robot = robot
        self._nodes = [
            (robot.link_names.index(link), self._node(scene, f'/ghosts/{k}', piece))
            for k, (link, piece) in enumerate(
                (link, piece) for link, pieces in meshes.items() for piece in pieces
            )
        ]
        self._shown = False

    def draw(self, q: Array) -> None:
        """Draw a robot for each configuration (k, nq)."""
        if len(q):
            poses = self._robot.link_poses(q)
            wxyz = np.roll(quaternions.from_matrix(poses[:, :, :3, :3]), 1, axis=-1)
            for link, node in self._nodes:
                node.batched_positions = poses[:, link, :3, 3].astype(np.float32)
                node.batched_wxyzs = wxyz[:, link].astype(np.float32)
        if self._shown != bool(len(q)):
            self._shown = bool(len(q))
            for _, node in self._nodes:
                node.visible = self._shown

    def _node(self, scene: Any, name: str, piece: ColoredMesh) -> Any:
        return scene.add_batched_meshes_simple(
            name,
            piece.vertices.astype(np.float32),
            piece.faces.astype(np.uint32),
            batched_wxyzs=np.array([[1.0, 0.0, 0.0, 0.0]], dtype=np.float32),
            batched_positions=np.zeros((1, 3), dtype=np.float32),
            batched_colors=GHOST_COLOR,
            opacity=GHOST_OPACITY,
            cast_shadow=False,
            receive_shadow=False,
            visible=False,
        )
