# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outputs of the node `controller`: the torques of a control law, with the rules of commands."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node

from screw_dynamics_ros.core import ArgumentError, FusedKernel, Robot, ScrewDynamicsError
from screw_dynamics_ros.core.law import JOINTS, RobotLaw
from screw_dynamics_ros.core.lie.screws import transform_wrench
from screw_dynamics_ros.core.motion.control.command_rules import FOLLOWING, OFF, RESTING
from screw_dynamics_ros.core.motion.laws.law_source import options_of
from screw_dynamics_ros.core.robot.actuated_robot import REST
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting import statuses
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.hosting.measured_body import vector
from screw_dynamics_ros.nodes.model.actuated import actuated
from screw_dynamics_ros.nodes.model.parts import Adopted, Plan, Stage, StateStep
from screw_dynamics_ros.nodes.model.running_model import of_joints
from screw_dynamics_ros.nodes.model.scalar_joints import ScalarJoints, scalar_joints
from screw_dynamics_ros.nodes.model.torque_terms import sum_of_torques
from screw_dynamics_ros.nodes.services.payload_services import link_of, relative_pose
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.names import printable, shorten, shown
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.publishers import Publishers

from ..dynamics.commands import LIMIT_HOLD_S, Commands
from ..dynamics.reference import MEASURED, FollowedReference
from ..dynamics.reference_trajectory import TrajectoryReference
from . import law_step as step
from . import parameters as own
from .law_process import LawProcess, LawVersion
from .task_reference import WHERE_ENDED, TaskReference, follow_law_reference

#: What sources of the reference are called in reports.
SOURCES = {MEASURED: '', TrajectoryReference.name: '~/reference'}

LOOK_PERIOD_S = 0.2  # between looks at the files of laws


@dataclass(frozen=True, eq=False)
class ControllerPlan(Plan):
    """The law for one robot, with its inputs.

    Attributes
    ----------
    law : RobotLaw
    torque, weight : Formula
    inputs : dict
        Arrays of `RobotLaw.sizes`.
    given : (4 n,) array
        The reference of the joints.
    poses : FusedKernel or None
        Poses of all links, for laws that read a pose or a wrench of the reference.
    """

    law: RobotLaw = field(kw_only=True)
    torque: Formula = field(kw_only=True)
    weight: Formula = field(kw_only=True)
    inputs: dict[str, Array] = field(kw_only=True)
    given: Array = field(kw_only=True)
    poses: FusedKernel | None = field(kw_only=True)


class Controller:
    """`~/commands`, `~/joint_command` and `~/feedforward` by a control law."""

    def __init__(self, node: Node, host: ModelHost) -> None:
        self._host = host
        self._publishers = Publishers(node)
        self._channels: list[Channel] = []
        self._adopted: Adopted[ControllerPlan] | None = None
        self._setup = Parameters(node, own.TABLE)
        self._laws = LawProcess(
            self._setup['law'],
            options_of(self._setup['law_options']),
            lambda: float(self._setup['law_timeout']),
        )
        self._law = self._laws.first
        self._refusal = ''
        self._wrench_refusal = ''
        self._restarted = -np.inf, ''  # last restart while torques followed the law, and its reason
        self._changed: LawVersion | None = None  # not in use yet
        self._gains = Parameters(node, own.gains_of(self._law.law), self._check, self._apply)
        self._state = step.LawState()
        valid = self._state.element('is_valid')
        self.commands = Commands(node, host, self._fault, valid, self._switched)
        host.endings.append(self.commands)
        self.reference = FollowedReference(
            node, self.commands.changed, self._refusal_now, WHERE_ENDED
        )
        self._targets = TaskReference(node, host, self._state, self.reference, self._refusal_now)
        callback = FAULTS.guarded('a wrench', STATE_LOCK.exclusive(self.receive_wrench))
        node.create_subscription(WrenchStamped, '~/wrench', callback, qos.COMMAND)
        host.states.deferred_work.every(LOOK_PERIOD_S, self._look_at_files)

    def plan(self, robot: Robot) -> ControllerPlan:
        """Record the law for a robot."""
        if actuated(robot).has_loops:
            raise ArgumentError('control laws are for robots without loops: clear loop_closures')
        law = self._on(robot)
        load = robot.substitute('payload_torques', a=REST)
        torque = of_joints(robot, Formula('torque', (law.torques, load), sum_of_torques))
        assert isinstance(torque, Formula)
        inputs = {name: np.zeros(size) for name, size in law.sizes.items()}
        if 'law_parameters' in inputs:
            inputs['law_parameters'][:] = self._values(law)
        given = np.zeros(4 * len(scalar_joints(robot)))
        reads_poses = bool({'pose', 'wrench'} & law.reference.shapes.keys())
        at_rest = robot.substitute('payload_torques', v=REST, a=REST)
        weight = of_joints(robot, Formula('weight', ('gravity_torques', at_rest), sum_of_torques))
        assert isinstance(weight, Formula)
        return ControllerPlan(
            [weight],
            [torque, *([law.next_memory] if law.memory.size else [])],  # checked apart
            inputs,
            law=law,
            torque=torque,
            weight=weight,
            inputs=inputs,
            given=given,
            poses=robot.fuse('link_poses') if reads_poses else None,
        )

    def _on(self, robot: Robot) -> RobotLaw:
        """Return the law for a robot; the previous one if a law that has changed is faulty."""
        changed = self._changed
        if changed is not None:
            try:
                return changed.on(robot)
            except ScrewDynamicsError as error:
                if self._changed is changed:
                    self._refuse(error)
        return self._law.on(robot)

    def stages(self) -> list[Stage]:
        """Return the stages for each joint state: time and reference, memory, command."""
        return [
            Stage(prepare=StateStep(step.advance_law, self._record)),
            Stage(prepare=StateStep(follow_law_reference, lambda: self._targets)),
            Stage(consume=StateStep(step.finish_law, self._record)),
            Stage(consume=self.commands.step(), is_needed=lambda: self.commands.is_listened),
        ]

    def bind(self, adopted: Adopted[ControllerPlan]) -> list[Channel]:
        """Adopt a new model or law; the memory of another law or robot starts at zero."""
        model, mapper, plan = adopted.model, adopted.mapper, adopted.plan
        if self._changed is not None and self._changed.law is plan.law.law:
            self._law, self._changed = self._changed, None
        before, self._adopted = self._adopted, adopted
        is_new = before is None or mapper is not before.mapper
        if before is not None and not is_new and before.plan.law.law is plan.law.law:
            for name in before.plan.inputs:
                plan.inputs[name][:] = before.plan.inputs[name]
        else:
            self._state.is_running = False
        self.reference.bind(model, mapper, plan.given)
        numbers = plan.inputs.get('law_reference', np.zeros(0))
        if self._targets.bind(plan.law, model, mapper, numbers, plan.poses):
            self.reference.forget()
        self._bind_step(adopted)
        self._channels = []
        if model.results:
            self._apply({})
            self._channels = self.commands.bind(
                model,
                self._publishers,
                model.results[plan.torque],
                model.results[plan.weight],
                plan.given,
                mapper.state,
                actuated(model.robot).joint_names,
                is_new,
            )
            self.commands.blend()
        return self._channels

    # --- one state --------------------------------------------------------------------------------

    def _switched(self) -> None:
        """Begin again; torques may follow the law without a pause if no state was in between."""
        self._forget_commands()
        self._state.is_running = False
        self.commands.blend()

    def _forget_commands(self) -> None:
        self.reference.forget()
        self._targets.forget()

    def _refusal_now(self) -> str:
        return self.commands.refusal

    def _bind_step(self, adopted: Adopted[ControllerPlan]) -> None:
        """Connect the law to the arrays that it reads and writes."""
        model, mapper, plan = adopted.model, adopted.mapper, adopted.plan
        state, law, nothing = self._state, plan.law, np.zeros(0)
        state.state = plan.inputs.get('law_state', nothing)
        state.memory = plan.inputs.get('law_memory', nothing)
        state.next_memory = model.results.get(law.next_memory, nothing)
        state.torques = model.results.get(plan.torque, nothing)
        state.efforts, state.places = mapper.state[2], model.v_places.astype(np.int64)
        state.tau, state.dt, state.wrench = (
            law.state.places.get(name, -1) for name in ('tau', 'dt', 'wrench')
        )

    def _record(self) -> step.LawState:
        """Return the record of the steps of the loop."""
        self._state.commands = self.commands.look()
        self._state.wrench_timeout = round(1e9 * self._setup['wrench_timeout'])
        return self._state

    def receive_wrench(self, message: WrenchStamped) -> None:
        """Keep a wrench of the sensor as one at the link of the law, or refuse it."""
        wrench = vector(message.wrench.torque, message.wrench.force)
        try:
            if not np.isfinite(wrench).all():
                raise ArgumentError('a number is not finite')
            self._state.sensed[:] = (
                *self._at_link(message.header.frame_id, wrench),
                time.monotonic(),
            )
        except ScrewDynamicsError as error:
            self._wrench_refusal = f'~/wrench refused: {error}'
        else:
            self._wrench_refusal = ''

    def _at_link(self, frame: str, wrench: Array) -> Array:
        """Return a wrench (6,) at a frame of the robot as one at the link of the law.

        Without a name the frame is that of the link. Raises `ScrewDynamicsError`.
        """
        if not frame:
            return wrench
        adopted = self._adopted
        if adopted is None:
            raise ArgumentError('no robot description yet')
        law, model = adopted.plan.law, adopted.model
        if 'link' not in law.options:
            raise ArgumentError(
                f'the law {law.law.name} has no option link, so that frame_id must be empty, '
                f'not {shown(frame)!r}'
            )
        prefix = self._host.parameters['frame_prefix']
        link, other = law.options['link'], link_of(model.robot, prefix, frame, 'frame_id')
        if link == other:
            return wrench
        return transform_wrench(relative_pose(model, adopted.mapper, link, other), wrench)

    def _fault(self) -> str:
        """Return why there are no torques now."""
        adopted = self._adopted
        if adopted is None:
            return ''
        if self._state.commands.activity == FOLLOWING and self.commands.activity == RESTING:
            return 'the node paused'  # since it looked: a law may have to begin again
        if self._state.is_valid:
            return ''
        if self._state.stepped:
            self._restarted = time.monotonic(), self._restart_reason()
            return self._restarted[1]
        shapes = adopted.plan.law.state.shapes
        if 'tau' in shapes and not adopted.mapper.has_effort:
            return 'joint states contain no effort, which the law reads'
        age = time.monotonic() - self._state.sensed[step.FORCE_TIME]
        if 'wrench' in shapes and age > self._setup['wrench_timeout']:
            return 'no wrench on ~/wrench within wrench_timeout, which the law reads'
        return self._not_finite(adopted)

    def _not_finite(self, adopted: Adopted[ControllerPlan]) -> str:
        """Return which result of the law is not finite."""
        law, model = adopted.plan.law, adopted.model
        wrong = np.flatnonzero(~np.isfinite(self._state.torques))
        if wrong.size:
            joints = shorten([model.joints[k] for k in wrong])
            return f'law {law.law.name}: the torques of {joints} are not finite'
        memory = model.results[law.next_memory] if law.memory.size else np.zeros(0)
        parts = law.memory.unpacked(memory).items()
        names = [name for name, values in parts if not np.isfinite(values).all()]
        return f'law {law.law.name}: ' + (
            f'the memory {shorten(names)} is not finite' if names else 'its results are too large'
        )

    def _restart_reason(self) -> str:
        """Return why the time since the last state is unknown, so that the law begins again."""
        step = self._state.step
        if 0 < step <= self._host.states.clock.timeout:
            what = 'an input of the joint states was lost or has returned'
        else:
            what = f'the stamps of the joint states stepped by {step * 1e-9:.3f} s'
        return f'{what}: the law begins again, its memory from zero'

    # --- laws -------------------------------------------------------------------------------------

    def _look_at_files(self) -> None:
        """Use a law whose files have changed, once it is loaded and checked."""
        model = self._host.model
        self._laws.look(None if model is None else model.robot)
        try:
            version = self._laws.poll()
            if version is None:
                return
            if version.law.parameters != self._law.law.parameters:
                raise ArgumentError(
                    f'{version.place}: it has other parameters; start the node again to declare '
                    'them'
                )
        except ScrewDynamicsError as error:
            self._refuse(error)
            return
        self._refusal, self._changed = '', version
        self._host.reload()

    def _refuse(self, error: ScrewDynamicsError) -> None:
        """Keep the law."""
        self._refusal = f'the law that has changed is refused, the previous one runs: {error}'
        self._changed = None

    def _check(self, values: dict[str, Any]) -> None:
        joints = self._host.model.joints if self._host.model is not None else None
        for name, value in values.items():
            size = self._law.law.parameters[name.removeprefix(own.PREFIX)].size
            expected = len(joints) if size == JOINTS and joints is not None else size
            if isinstance(value, list) and len(value) != 1 and expected not in (JOINTS, len(value)):
                raise ArgumentError(f'{name} must have one number or {expected}, got {len(value)}')

    def _apply(self, values: dict[str, Any]) -> None:
        adopted = self._adopted
        if adopted is None or 'law_parameters' not in adopted.plan.inputs:
            return
        adopted.plan.inputs['law_parameters'][:] = self._values(adopted.plan.law)
        if values:
            self.commands.blend()

    def _values(self, law: RobotLaw) -> Array:
        """Return the parameters of the law (p,); raises `ArgumentError` for another robot's."""
        places = ScalarJoints(law.robot)
        given = {}
        for name, parameter in law.law.parameters.items():
            value = np.asarray(self._gains[own.PREFIX + name], dtype=float)
            if value.size > 1 and parameter.size == JOINTS:
                if value.size != len(places.joints):
                    raise ArgumentError(
                        f'{own.PREFIX}{name} has {value.size} numbers, the robot '
                        f'{len(places.joints)} joints'
                    )
                value = places.whole_v(value)
            given[name] = value.reshape(()) if value.size == 1 else value
        return law.values_of(given)

    def status(self) -> Status:
        """Report the law, its reference, and why a changed one is not used."""
        status = Status('outputs')
        status.values['law'] = printable(self._law.law.name)
        if self._refusal:
            status.error(printable(self._refusal))
        if self._adopted is not None:
            self.reference.report(status)
        source = self.reference.source
        is_off = self.commands.activity == OFF
        self._targets.report(status, SOURCES.get(source, source), is_off)
        if self._wrench_refusal:
            status.warn(printable(self._wrench_refusal))
        if time.monotonic() - self._restarted[0] < LIMIT_HOLD_S:
            status.warn(self._restarted[1])
        statuses.report_channels(status, self._channels, self._host.mapper)
        return status
