# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The model of a running robot: its kernel with the arrays of inputs and results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from screw_dynamics_ros.core import ArgumentError, FusedKernel, Robot
from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints
from screw_dynamics_ros.core.compile.typed.records import AddressTable, Opaque, Record
from screw_dynamics_ros.core.robot.actuated_robot import elements
from screw_dynamics_ros.core.robot.functions import Output
from screw_dynamics_ros.core.robot.fused_kernel import INERTIA_CHANGES, Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import TAKEN, LoopRecord
from screw_dynamics_ros.ros.joint_states.completion import Completion
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.process.python_function import PythonFunction

from .actuated import actuated
from .closed_loops import LoopCompletion, RobotWithLoops
from .coupled_motors import CoupledMotors
from .scalar_joints import ScalarJoints, coordinates, scalar_joints

#: Inputs of the kernel that joint states and gravity give.
STATE_INPUTS = ('q', 'v', 'gravity')


class PlacesOfJoints(Record):
    """Where the state of `joints` is in that of a robot that has others.

    Attributes
    ----------
    q_places, v_places : (n,) arrays of int
    q, v : (nq,), (nv,) arrays
    """

    q_places: Ints
    v_places: Ints
    q: Floats
    v: Floats


@compiled_step
def place_joints(joints: PlacesOfJoints, loop: LoopRecord) -> int:
    """Write positions and velocities of the mapper into the state of the robot."""
    n = len(joints.q_places)
    for k in range(n):
        joints.q[joints.q_places[k]] = loop.state[k]
        joints.v[joints.v_places[k]] = loop.state[n + k]
    return TAKEN


class RunningModel(ScalarJoints):
    """One fused kernel for all required outputs of a robot.

    Parameters
    ----------
    text : str
        The description of the robot.
    robot : Robot
    outputs : sequence
        Outputs of the kernel, as for `Robot.fuse`.
    unbounded : sequence
        Further outputs, which may legitimately be infinite or NaN.
    parameters : mapping
        Vectors that formulas read, in addition to the state, 'measured' (torques of `joints`) and
        'payload'.

    Raises
    ------
    ArgumentError
        Outputs that read other inputs, as accelerations.

    Attributes
    ----------
    joints : tuple of str
        Joints with one coordinate, the only ones that joint states can contain.
    held : tuple of str
        Planar, ball and floating joints.
    results : dict
        The array of each output, overwritten by `evaluate`.
    q, v : (nq,), (nv,) arrays
        The state of the whole robot.
    places : PlacesOfJoints
        For `place_joints`, which writes that of `joints` if the robot has other ones.
    call : Opaque
        The kernel for the loop, which passes the record `addresses`.
    total : () array
        Finite if and only if all results are that must be.
    payload : (10 n_bodies,) array
        Inertial parameters from `Robot.payload_parameters`; always the same array.
    inertia_changes : (10 n_bodies,) array
        Added to the inertial parameters of the bodies; always the same array.
    """

    def __init__(
        self,
        text: str,
        robot: Robot,
        outputs: Sequence[Output | Formula],
        unbounded: Sequence[Output | Formula] = (),
        parameters: Mapping[str, Array] | None = None,
    ) -> None:
        super().__init__(robot)
        self.text = text
        self.payload = robot.payload_parameters({})
        self.inertia_changes = np.zeros_like(self.payload)
        self._parameters = {
            INERTIA_CHANGES: self.inertia_changes,
            'measured': np.zeros(len(self.joints)),
            'payload': self.payload,
            **(parameters or {}),
        }

        wanted = tuple(dict.fromkeys([*outputs, *unbounded]))
        self.results: dict[Output | Formula, Array] = {}
        self._kernel: FusedKernel | None = None
        self.call: Opaque = PythonFunction('the model', self._call, arguments=1)
        self.addresses = AddressTable([])
        self.total = np.zeros(())
        if wanted and robot.nv:
            # Finite if and only if all outputs are.
            total = Formula('total', tuple(dict.fromkeys(outputs)), sum_of_all)
            self._kernel = robot.fuse(
                *wanted,
                total,
                parameters={name: len(array) for name, array in self._parameters.items()},
            )
            check_inputs(self._kernel.inputs, self._parameters)
            self.results = dict(zip(self._kernel.outputs, map(np.zeros, self._kernel.shapes)))
            self.total = self.results[total]
            if self._kernel.table_call is not None:
                self.call = self._kernel.table_call
        self.places = PlacesOfJoints()
        self.places.q_places, self.places.v_places = self.q_places, self.v_places
        self.places.q, self.places.v = self.q, self.v
        self.connect(np.zeros((3, len(self.joints))), np.zeros(3))

    @property
    def backend(self) -> str:
        """What computes the results, see `FusedKernel`."""
        return self._kernel.backend if self._kernel else self.robot.backend

    def connect(self, state: Array, gravity: Array) -> None:
        """Set the input arrays; until then the inputs are zero.

        Parameters
        ----------
        state : (3, n) array
            Positions, velocities and measured torques of `joints`; read at each evaluation.
        gravity : (3,) array
            Read at each evaluation.
        """
        self._parameters['measured'] = state[2]
        if not self.is_free:
            self.q, self.v = state[0], state[1]
        self._inputs = {'q': self.q, 'v': self.v, 'gravity': gravity, **self._parameters}
        self._bind_kernel()

    def write_into(self, targets: Mapping[Output | Formula, Array]) -> None:
        """Use these arrays for some of the results from now on."""
        for output, array in targets.items():
            self.results[output] = array.reshape(self.results[output].shape)
        self._bind_kernel()

    def _bind_kernel(self) -> None:
        """Prepare a call without arguments: inputs and results are always the same arrays."""
        if self._kernel is not None:
            inputs = [self._inputs[name] for name in self._kernel.inputs]
            self.addresses = AddressTable([*inputs, *self.results.values()])

    def _call(self) -> None:
        """Evaluate a kernel that is no machine code, or needs the state of the whole robot."""
        self.total[...] = np.nan if self._kernel is not None else 0.0
        self.evaluate()

    def evaluate(self) -> bool:
        """Compute all results for the current state; return whether they are finite."""
        if self._kernel is None:
            return True
        inputs = (self._inputs[name] for name in self._kernel.inputs)
        for target, result in zip(self.results.values(), self._kernel.once(*inputs)):
            target[...] = result
        return math.isfinite(self.total)

    def results_at(
        self,
        q: Array,
        v: Array,
        **parameters: Array,
    ) -> dict[Output | Formula, Array]:
        """Return new arrays with the results for another state of `joints`, (n,) each."""
        if self._kernel is None:
            return {}
        state = {'q': self.whole_q(q), 'v': self.moving_v(v)}
        inputs = {**self._inputs, **state, **parameters}
        return dict(
            zip(self.results, self._kernel.once(*(inputs[name] for name in self._kernel.inputs)))
        )


def check_inputs(inputs: Sequence[str], parameters: Mapping[str, Array]) -> None:
    """Raise `ArgumentError` if an output reads what nodes do not have, as accelerations."""
    lacking = [name for name in inputs if name not in {*STATE_INPUTS, *parameters}]
    if lacking:
        raise ArgumentError(
            f'an output reads {", ".join(lacking)}, which nodes do not measure: replace it by '
            'Robot.substitute, or give it as a parameter of the plan'
        )


def of_joints(robot: Robot, output: Output | Formula) -> Output | Formula:
    """Return the elements of a vector (nv,), or columns (..., nv), of the scalar joints."""
    joints = scalar_joints(robot)
    if len(joints) == robot.nv:
        return output
    return elements(output, coordinates(robot, joints)[1].tolist())


def sum_of_all(*arrays: Array) -> Array:
    """Return the sum of all elements of some arrays, ()."""
    return np.array(sum(np.sum(array) for array in arrays))


def joint_state_mapper(robot: Robot, **settings: Any) -> JointStateMapper:
    """Return a mapper for the `scalar_joints` of a robot; settings as for `JointStateMapper`.

    Efforts of coupled motors become torques of joints. Raises `ArgumentError` for them and for
    friction that depends on load in a mechanism with loops.
    """
    completion: Completion | None = CoupledMotors(robot) if robot.tree.motors else None
    if isinstance(robot, RobotWithLoops):
        if completion is not None or robot.tree.has_load_friction:
            raise ArgumentError(
                'drives with coupled_joints or load_friction are implemented for trees only: leave '
                'them or loop_closures out'
            )
        completion = LoopCompletion(robot)
    joints = robot.description.joints
    names = [joint.name for joint in joints]
    if isinstance(robot, RobotWithLoops):
        names += [cut.name for cut in robot.closed.loops.closures]
    return JointStateMapper(
        actuated(robot).sensed,
        continuous={joint.name for joint in joints if joint.kind.is_periodic},
        known=set(names),
        max_speeds={
            joint.name: joint.limits.velocity
            for joint in joints
            if joint.kind.turns and not joint.kind.is_periodic
        },
        completion=completion,
        **settings,
    )


def is_same_robot(before: JointStateMapper, after: JointStateMapper) -> bool:
    """Whether states of one mapper mean what those of the other do, for one description."""
    motors, others = before.completion, after.completion
    if isinstance(motors, CoupledMotors) and isinstance(others, CoupledMotors):
        return np.array_equal(motors.C, others.C)
    return type(motors) is type(others)


def leaf_links(robot: Robot, most: int = 8) -> list[str]:
    """Return the moving leaf links without gripper fingers, the deepest first.

    Fingers are links moved by mimic joints, and by last joints that are mimicked. If a rigid body
    has several leaf links, such as a tool and a camera, only the last is returned. At most `most`
    links are returned.
    """
    joints = robot.description.joints
    fingers = {joint.child for joint in joints if joint.mimic is not None}
    masters = {joint.mimic.joint for joint in joints if joint.mimic is not None}
    fingers |= {
        joint.child
        for joint in joints
        if joint.name in masters
        and not set(subtree(robot, joint.child))
        & {
            other.child
            for other in joints
            if not other.kind.is_fixed and other.mimic is None and other is not joint
        }
    }
    pruned = {link for finger in fingers for link in subtree(robot, finger)}
    kept = [joint for joint in joints if joint.child not in pruned]
    parents = {joint.parent for joint in kept}
    depth, body = {robot.description.root: 0}, {robot.description.root: ''}
    ends: dict[str, str] = {}
    for joint in kept:
        moves = not joint.kind.is_fixed
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
