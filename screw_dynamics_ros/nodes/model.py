"""A robot at work in a node: its kernel, and the arrays that carry states in and results out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core import FusedKernel, Robot
from screw_dynamics_ros.core.functions import Output
from screw_dynamics_ros.ros.joint_states import JointStateMapper

Array = NDArray[np.float64]


class Model:
    """One fused kernel for all wanted outputs of a robot.

    Parameters
    ----------
    text : str
        The description the robot was made from.
    robot : Robot
    outputs : sequence
        What the kernel computes, as for `Robot.fuse`.

    Attributes
    ----------
    joints : tuple of str
        The joints that joint states can carry: those with one coordinate.
    held : tuple of str
        Planar and floating joints, which they cannot; held at zero.
    results : dict
        The array of each output, overwritten by `evaluate`.
    q, v : (nq,), (nv,) arrays
        The state of the whole robot.
    """

    def __init__(self, text: str, robot: Robot, outputs: Sequence[Output]) -> None:
        self.text = text
        self.robot = robot
        coordinates = {name: robot.joint_coordinates(name) for name in robot.joint_names}
        self.joints = scalar_joints(robot)
        self.held = tuple(name for name in robot.joint_names if name not in self.joints)
        self._positions = np.array([coordinates[name][0].start for name in self.joints], dtype=int)
        self._velocities = np.array([coordinates[name][1].start for name in self.joints], dtype=int)
        self.q, self.v = neutral(robot), np.zeros(robot.nv)

        wanted = tuple(dict.fromkeys(outputs))
        self.kernel: FusedKernel | None = robot.fuse(*wanted) if wanted and robot.nv else None
        shapes = self.kernel.shapes if self.kernel else ()
        ends = np.cumsum([0, *(math.prod(shape) for shape in shapes)])
        self._all_results = np.zeros(ends[-1])  # in one block, so that one look at it is enough
        self._results = [self._all_results[start:end].reshape(shape)
                         for shape, start, end in zip(shapes, ends, ends[1:])]
        self._zeros = np.zeros_like(self._all_results)
        self.results: dict[Output, Array] = dict(zip(wanted, self._results))

    def connect(self, mapper: JointStateMapper, gravity: Array) -> None:
        """Take states from `mapper` and gravity from the array (3,), whenever they change."""
        self.mapper = mapper
        if not self.held:
            self.q, self.v = mapper.q, mapper.v
        self.gravity = gravity
        vectors = {'q': self.q, 'v': self.v, 'gravity': gravity}
        self._inputs = [vectors[name] for name in self.kernel.inputs] if self.kernel else []

    def evaluate(self) -> bool:
        """Compute all results for the present state of the mapper; return whether they are finite."""
        if self.held:
            self.q[self._positions] = self.mapper.q
            self.v[self._velocities] = self.mapper.v
        if self.kernel is not None:
            self.kernel(*self._inputs, out=self._results)
        # x . 0 is zero for finite x and NaN otherwise
        return bool(np.vdot(self._all_results, self._zeros) == 0.0)

    def results_at(self, q: Array, v: Array) -> dict[Output, Array]:
        """Return new arrays with the results for another state of `joints`, (n,) each."""
        vectors = {'q': self.whole_q(q), 'v': self.whole_v(v), 'gravity': self.gravity}
        if self.kernel is None:
            return {}
        return dict(zip(self.results, self.kernel(*(vectors[name] for name in self.kernel.inputs))))

    def of_joints(self, values: Array) -> Array:
        """Return the elements of a vector (nv,), or columns (..., nv), that belong to `joints`."""
        return values[..., self._velocities] if self.held else values

    def whole_q(self, values: Array) -> Array:
        """Return a configuration (nq,) with the positions of `joints`, others as they are."""
        q = self.q.copy()
        q[self._positions] = values
        return q

    def whole_v(self, values: Array) -> Array:
        """Return a velocity or acceleration (nv,) of `joints`, zero for others."""
        v = np.zeros(self.robot.nv)
        v[self._velocities] = values
        return v

    @property
    def velocity_labels(self) -> list[str]:
        """Names for the nv velocities: the joint, with a number where it has several."""
        labels = []
        for name in self.robot.joint_names:
            where = self.robot.joint_coordinates(name)[1]
            size = where.stop - where.start
            labels += [name] if size == 1 else [f'{name}.{i}' for i in range(size)]
        return labels


def scalar_joints(robot: Robot) -> tuple[str, ...]:
    """Return the joints that have one coordinate."""
    return tuple(name for name in robot.joint_names
                 if robot.joint_coordinates(name)[1].stop
                 - robot.joint_coordinates(name)[1].start == 1)


def neutral(robot: Robot) -> Array:
    """Return the configuration (nq,) in which all joints are at zero."""
    q = np.zeros(robot.nq)
    for name in robot.joint_names:
        where = robot.joint_coordinates(name)[0]
        if where.stop - where.start == 7:  # floating: unit quaternion
            q[where.stop - 1] = 1.0
    return q


def leaf_links(robot: Robot, most: int = 8) -> list[str]:
    """Return the moving ends of the tree without gripper fingers, those behind most joints first.

    Fingers are what mimic joints move, and last joints that are mimicked. Of several ends on one rigid
    body only the last is taken: a camera beside the tool is no end of its own. Of more than `most`
    ends the others are left out.
    """
    joints = robot.description.joints
    fingers = {joint.child for joint in joints if joint.mimic is not None}
    masters = {joint.mimic.joint for joint in joints if joint.mimic is not None}
    fingers |= {joint.child for joint in joints
                if joint.name in masters and not set(subtree(robot, joint.child)) & {
                    other.child for other in joints
                    if other.type != 'fixed' and other.mimic is None and other is not joint}}
    pruned = {link for finger in fingers for link in subtree(robot, finger)}
    kept = [joint for joint in joints if joint.child not in pruned]
    parents = {joint.parent for joint in kept}
    depth, body = {robot.description.root: 0}, {robot.description.root: ''}
    ends: dict[str, str] = {}
    for joint in kept:
        moves = joint.type != 'fixed'
        depth[joint.child] = depth[joint.parent] + moves
        body[joint.child] = joint.child if moves else body[joint.parent]
        if joint.child not in parents and body[joint.child]:
            ends[body[joint.child]] = joint.child
    return sorted(ends.values(), key=lambda link: -depth[link])[:most]


def subtree(robot: Robot, link: str) -> list[str]:
    """Return a link and all links below it."""
    links = [link]
    for joint in robot.description.joints:  # depth first: parents come before their children
        if joint.parent in links:
            links.append(joint.child)
    return links
