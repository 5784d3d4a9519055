# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Common part of all model nodes: one description, one subscription, one kernel for all outputs.

A `ModelHost` feeds any number of output groups (kinematics, dynamics, ...). Each group specifies
the results that it needs; one kernel call per joint state computes all of them, and nothing is
computed while there are no subscribers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from typing import Any

from rclpy.node import Node

from screw_dynamics_ros.core import Drive, ScrewDynamicsError
from screw_dynamics_ros.core.description.formats import urdf_of
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.description.robot_description import RobotDescription
from screw_dynamics_ros.core.errors import MissingDescriptionError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.data_path.rcl import Rcl, functions
from screw_dynamics_ros.ros.description import DescriptionOutcome
from screw_dynamics_ros.ros.diagnostics import Diagnostics
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.requested_state import latest
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.executor import ShutdownTask, settle
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.scheduling import lock_memory, use_real_time
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.services import Computation, Services
from screw_dynamics_ros.ros.status import Status

from ..model.link_inertias import LinkInertias
from ..model.parts import HostPart, OutputGroup, Stage, StateStep
from ..model.payloads import Payloads
from ..model.running_model import PlacesOfJoints, RunningModel, is_same_robot, place_joints
from ..parameters import base_parameters, controller_topic_parameters, model_state_parameters
from ..parameters.drive_parameters import DriveParameters
from ..services import requests
from ..services.estimation_services import PayloadEstimation
from ..services.payload_services import DriverPayload, LinkInertiaService, PayloadServices
from . import statuses
from .body_sources import BaseSource, MultiDofSource
from .compiled_loop import CompiledLoop, compiled_loop
from .controller_topics import ControllerTopics
from .drawing import DrawingProcess
from .gravity_source import GravitySource
from .measured_input import MeasuredInput
from .model_builder import BuiltModel, ModelBuilder
from .model_parameters import ModelParameters
from .model_state import ModelStateTopic
from .payload_topics import PayloadTopics
from .robot_source import RobotSource
from .stamp_clock import StampClock
from .state_pipeline import StatePipeline

HOUSEKEEPING_PERIOD_S = 0.1  # between checks of subscribers and new descriptions

#: Parameters with which the robot is compiled again.
COMPILED = {
    model_state_parameters.PARTS,
    base_parameters.SOURCE.name,
    *controller_topic_parameters.SHAPING,
}


class ModelHost:
    """Computes the topics of its output groups from robot descriptions and joint states.

    Parameters
    ----------
    node : rclpy.node.Node
        Holds the shared parameters and the subscriptions.

    Attributes
    ----------
    source : RobotSource
        The robot descriptions.
    parts : list of HostPart
        In the order of their stages and reports.
    payloads : Payloads
        Payloads of the robot.
    states : StatePipeline
        Processes joint states.
    endings : list of ShutdownTask
        Tasks before the process exits.
    scheduling_fault : str
        Reason why the process does not run with the requested real-time priority, or empty.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.states = StatePipeline(node)
        self._rcl: Callable[[], Rcl] = Rcl
        self.endings: list[ShutdownTask] = []
        self.scheduling_fault = ''
        self.payloads = Payloads()
        self.link_inertias = LinkInertias()
        self._model_parameters = ModelParameters(
            node,
            lambda: self.states.model,
            self.payloads,
            self._check_parameters,
            self._apply_parameters,
        )
        self.states.policies = self._model_parameters.policies
        self._drives = DriveParameters(
            node, self.parameters['drive_joints'], self._check_drives, self.reload
        )
        self.builder = ModelBuilder(self.parameters, StampClock(node, self._restart_time).now)
        self.source: RobotSource[BuiltModel] = RobotSource(
            self.parameters, self._drives, self.builder.build
        )
        self.source.loader.ready = self._keep_house_soon
        self.diagnostics = Diagnostics(node, self.states.deferred_work.every)
        self.diagnostics.add(self.description_status)
        self.diagnostics.add(self.joint_state_status)
        self.diagnostics.add(FAULTS.status)
        self.services = Services(node)
        prefix = self.parameters['frame_prefix']
        topics = PayloadTopics(node, self.payloads, prefix)
        self.states.deferred_work.every(HOUSEKEEPING_PERIOD_S, topics.publish)
        self.payload_services = PayloadServices(
            self.services,
            self.payloads,
            lambda: (self.model, self.mapper),
            self._model_parameters.set_payload,
            prefix,
        )
        self.driver_payload = DriverPayload(
            node, self.payload_services, self.parameters['driver_payload']
        )
        LinkInertiaService(self.services, self.link_inertias, self.payload_services)
        self._estimation = PayloadEstimation(
            self.services,
            self.payload_services,
            lambda: self.situation({}),
            self.effort_shares,
        )
        self.model_state = self.states.model_state = ModelStateTopic(node, self.parameters)
        self.controller_topics = ControllerTopics(
            node, self.parameters, lambda: self.source.descriptions.fault
        )
        self.endings.append(self.controller_topics)
        self.base_source = BaseSource(node, self.parameters, self.states)
        self.multi_dof_source = MultiDofSource(node, self.parameters, self.states)
        self.gravity_source = GravitySource(node, self.parameters, self.states, self.gravity)
        self.diagnostics.add(self.payload_status)
        self.diagnostics.add(self.model_state.status)
        self.diagnostics.add(self.controller_topics.status)
        self.drawing = DrawingProcess()
        self.parts: list[HostPart] = [
            self.base_source,
            self.multi_dof_source,
            self.gravity_source,
            self.payloads,
            self.driver_payload,
            self.link_inertias,
            self._estimation,
            self.drawing,
        ]
        self.states.stages = self.stages()

    def stages(self) -> list[Stage]:
        """Return the stages that process each joint state in addition to the kernel, in order."""
        return [
            Stage(
                is_needed=lambda: self.model is not None and self.model.is_free,
                prepare=StateStep(place_joints, self._places),
            ),
            *(stage for part in self.parts for stage in part.stages()),
            *(stage for group in self.builder.groups for stage in group.stages()),
        ]

    def _places(self) -> PlacesOfJoints:
        assert self.model is not None
        return self.model.places

    @property
    def parameters(self) -> Parameters:
        """The parameters of every model node."""
        return self._model_parameters.declared

    @property
    def model(self) -> RunningModel | None:
        """The active robot."""
        return self.states.model

    @property
    def mapper(self) -> JointStateMapper | None:
        """The state of its joints."""
        return self.states.mapper

    @property
    def gravity(self) -> Array:
        """Acceleration of free fall, (3,) [m/s^2]; always the same array."""
        return self._model_parameters.gravity

    @property
    def effort_shares(self) -> Array:
        """Which terms the measured efforts contain; see `ModelParameters`."""
        return self._model_parameters.effort_shares

    @property
    def inputs(self) -> list[MeasuredInput]:
        """The inputs beside joint states."""
        return [part for part in self.parts if isinstance(part, MeasuredInput)]

    @property
    def suspension(self) -> str:
        """Why nothing is computed for joint states, by source; empty if it is."""
        return '; '.join(each.fault for each in self.inputs if each.suspends)

    # --- interface for output groups and services -----------------------------------------------

    def add(self, group: OutputGroup[Any], node: Node) -> None:
        """Host a group whose topics belong to `node`."""
        self.builder.groups.append(group)
        self.states.stages = self.stages()
        self.diagnostics.add(group.status, node)

    def on_step(self, callback: Callable[[], None]) -> None:
        """Register a callback for changes of gravity or inertias without a transition."""
        self._model_parameters.on_step(callback)
        self.link_inertias.on_step(callback)

    def serve(
        self,
        node: Node,
        queries: Mapping[str, str],
        payloads: Callable[[], dict[str, RigidBody]] = dict,
    ) -> None:
        """Offer typed services of `node`; `queries` answer requests in another process.

        They are by type, as in `requests.KINEMATICS`; each service has the name of its function.
        `payloads` returns the bodies attached to links in these requests.
        """

        def task(query: str) -> tuple[Computation, tuple[Any, ...]]:
            return requests.answer, (query, self.situation(payloads()))

        for kind, query in queries.items():
            name = query.partition(':')[2]
            self.services.serve(kind, f'~/{name}', task=partial(task, query), owner=node)

    def situation(self, payloads: Mapping[str, RigidBody]) -> requests.RequestContext:
        """Return the current context of requests; raises `MissingDescriptionError`."""
        model, mapper = self.model, self.mapper
        if model is None or mapper is None:
            raise MissingDescriptionError('no robot description yet; see /diagnostics')
        return requests.RequestContext(
            requests.pickled(self.link_inertias.corrected(model.robot)),
            self.gravity.copy(),
            self.parameters['frame_prefix'],
            latest(mapper),
            payloads,
            model.text,
            (model.q.copy(), model.v.copy()),
        )

    def reload(self) -> None:
        """Compile again, after changes of outputs, drives or description."""
        self.source.reload()

    def start(self) -> None:
        """Subscribe, after all groups have been added."""
        self.diagnostics.add(self.services.status)
        if self.drawing.is_used:
            self.diagnostics.add(self.drawing.status)
        self.states.deferred_work.every(HOUSEKEEPING_PERIOD_S, self.keep_house)
        priority = self.parameters['realtime_priority']
        if priority:
            self.scheduling_fault = use_real_time(priority) or lock_memory()
        self.source.subscribe(self.node)
        self._subscription = self.states.subscribe(self.states.receive)

    def compile_loop(self, compiler: Executor) -> None:
        """Begin to compile the loop; what defines its steps has been imported."""
        self._rcl = compiler.submit(Rcl).result

    def compiled_loop(self) -> CompiledLoop | None:
        """Return the compiled loop for the joint states, after `start`; None if Python has them.

        Raises `ScrewDynamicsError` if it is required, and not possible here.
        """
        wanted = self.parameters['data_path']
        try:
            if wanted != 'python':
                return compiled_loop(self._rcl(), self.node, self.states, self._subscription)
        except ScrewDynamicsError as error:
            if wanted == 'compiled':
                raise ScrewDynamicsError(
                    f'data_path compiled is not possible here, set it to auto: {error}'
                ) from None
            self.node.get_logger().info(f'joint states are processed in Python: {error}')
        self.states.use_functions(functions(self._rcl))
        self.states.tell_publishers(self._subscription, self.states.receive)
        return None

    # --- diagnostics ----------------------------------------------------------------------------

    def description_status(self) -> Status:
        """Report the robot in use, and why another description was refused."""
        return statuses.description_status(
            self.node,
            self.source.descriptions,
            self.model,
            self.states.load,
            drives=self.parameters['drive_joints'],
            compiling=self.source.compiling,
            multi_dof=self.multi_dof_source.source,
        )

    def joint_state_status(self) -> Status:
        """Report whether joint states arrive, and their faults."""
        timeout = self.parameters['state_timeout'] or math.inf
        return self.states.status(timeout, self.scheduling_fault)

    def payload_status(self) -> Status:
        """Report gravity, payloads and corrected inertias."""
        status = Status('payload')
        for part in self.parts:
            part.report(status)
        return status

    # --- another robot --------------------------------------------------------------------------

    def _keep_house_soon(self) -> None:
        """Let the executor adopt a model that has been built; may be called in any thread."""
        if self.node.executor is not None:
            with suppress(AttributeError):  # the executor is being shut down
                self.node.executor.create_task(FAULTS.guarded('a model', self.keep_house))

    def keep_house(self) -> None:
        """Adopt a new model, count subscribers, and update inputs without joint states."""
        before, outcome = self.model, self.source.poll()
        if outcome is not None:
            with STATE_LOCK:
                is_new = self._adopt(outcome)
            if is_new:
                settle(collects=before is not None)
        self.states.look_for_listeners()
        with STATE_LOCK:
            for part in self.parts:
                part.keep_house()

    def _adopt(self, outcome: DescriptionOutcome[BuiltModel]) -> bool:
        """Adopt a new model, or keep the old one and store the reason; return if it is another."""
        descriptions, before, built = self.source.descriptions, self.model, outcome.model
        descriptions.reason = outcome.reason
        if built is None:
            return False
        model, mapper = built.model, built.mapper
        is_new = before is None or before.text != model.text
        if not is_new and self.mapper is not None and is_same_robot(self.mapper, mapper):
            mapper = self.mapper
        try:  # parameters may have changed since it was built
            self._model_parameters.calibrate(mapper)
        except ScrewDynamicsError as error:
            descriptions.reason = str(error)
            return False
        descriptions.active = outcome.description
        descriptions.urdf = urdf_of(model.text, model.robot.description)
        model.robot.gravity = self.gravity
        self.diagnostics.hardware_id = model.robot.description.name
        self.states.use(model, mapper)
        for part in self.parts:
            part.use(model)
            part.keep_house()
        channels = built.bind(mapper, self.gravity)
        prefix = self.parameters['frame_prefix']
        self.states.channels = [
            *channels,
            *self.model_state.bind(channels, model, mapper, prefix),
            *self.controller_topics.bind(channels),
        ]
        self.states.look_for_listeners()
        self.node.get_logger().info(f'ready: {model.robot}')
        return is_new

    def _restart_time(self, step: int) -> None:
        """Discard all measurements, because simulated time went back by a step [ns]."""
        with STATE_LOCK:
            self.states.restart_time(step)
            for part in self.parts:
                part.restart_time()

    # --- parameters -----------------------------------------------------------------------------

    def _check_parameters(self, values: Mapping[str, Any]) -> None:
        if values.get('robot_description'):
            self.source.read(values['robot_description'])

    def _check_drives(self, drives: Callable[[RobotDescription], dict[str, Drive]]) -> None:
        """Refuse drives that the current robot cannot have; raises `ScrewDynamicsError`."""
        if self.model is not None:
            drives(self.model.robot.description)

    def _apply_parameters(self, values: Mapping[str, Any]) -> None:
        self.states.policies = self._model_parameters.policies
        for part in self.parts:
            if values.keys() & part.PARAMETERS:
                part.update_parameters()
        if values.keys() & COMPILED:
            self.reload()
        if self.mapper is not None:
            self._model_parameters.calibrate(self.mapper)
        self.source.follow_parameter('robot_description' in values)
