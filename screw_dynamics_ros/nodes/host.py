"""What all model nodes share: one robot description, one subscription, one fused kernel.

A `ModelHost` feeds any number of parts (kinematics, dynamics, ...). Each part says what it wants
computed; everything is computed by one kernel call for each joint state, and nothing at all while
nobody listens.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from screw_dynamics_ros.core import DescriptionError, Drive, Robot, ScrewDynamicsError
from screw_dynamics_ros.core.model.description import RobotDescription
from screw_dynamics_ros.core.model.urdf import read_urdf
from screw_dynamics_ros.nodes import reports, shared_parameters
from screw_dynamics_ros.nodes.drives import DriveParameters
from screw_dynamics_ros.nodes.model import Model, joint_state_mapper
from screw_dynamics_ros.nodes.part import Channel, Part, Plan
from screw_dynamics_ros.ros import qos
from screw_dynamics_ros.ros.backlog import Backlog
from screw_dynamics_ros.ros.description import DescriptionLoader, Outcome
from screw_dynamics_ros.ros.diagnostics import Diagnostics
from screw_dynamics_ros.ros.executor import settle
from screw_dynamics_ros.ros.joint_states import JointStateMapper
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.scheduling import use_real_time
from screw_dynamics_ros.ros.serialized import JointStateReader, packed
from screw_dynamics_ros.ros.services import Services
from screw_dynamics_ros.ros.spare_time import SpareTime

TOPIC, PARAMETER = 'topic', 'parameter'  # where a description comes from
HOUSEKEEPING = 0.1  # s between looks at listeners and new descriptions


class ModelHost:
    """Turns robot descriptions and joint states into the topics of its parts.

    Parameters
    ----------
    node : rclpy.node.Node
        Holds the shared parameters and the subscriptions.

    Attributes
    ----------
    model : Model or None
    model_since : float
        When this robot was taken over, on the monotonic clock [s].
    gravity : (3,) array
        Always the same array.
    friction_share : (1,) array
        1 if friction is part of the measured efforts, else 0; always the same array.
    origin : str
        Where its description came from, TOPIC or PARAMETER.
    reason : str
        Why the last description was refused, empty if it was not.
    load : reports.Load
        Counts and times for diagnostics.
    backlog : Backlog
        Joint states that were passed over.
    scheduling_fault : str
        Why the process does not run with the real-time priority it should have, or empty.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.model: Model | None = None
        self.model_since = -math.inf
        self.gravity = np.zeros(3)
        self.friction_share = np.ones(1)
        self.reason = ''
        self.load = reports.Load()
        self.backlog = Backlog()
        self.scheduling_fault = ''
        self._parts: list[tuple[Part, list[Channel]]] = []
        self._listened: list[Channel] = []
        self._observers: list[Callable[[JointStateMapper], None]] = []
        self._preparations: list[Callable[[], None]] = []
        self._robot: tuple[str, dict[str, Any], Robot] | None = None
        self.origin = TOPIC
        self._topic_text = ''
        self._parameter_rules = False  # a description given as parameter shuts out the topic
        self._reader = JointStateReader()
        self._stamp = packed(0)  # of the latest results
        self._loader: DescriptionLoader[tuple[Model, list[Plan]]] = DescriptionLoader(self._build)
        self.parameters = Parameters(
            node, shared_parameters.TABLE, self._check_parameters, self._apply_parameters)
        self.gravity[:] = self.parameters['gravity']
        self.friction_share[:] = self.parameters['friction_in_effort']
        shared_parameters.policies(self.parameters)
        self._drives = DriveParameters(
            node, self.parameters['drive_joints'], self._check_drives, self._load_parameter)
        self._spare_time = SpareTime(node)
        self.diagnostics = Diagnostics(node, self._spare_time.every)
        self.diagnostics.add(lambda: reports.description_status(self))
        self.diagnostics.add(lambda: reports.joint_state_status(self))
        self.services = Services(node)

    def add(self, part: Part, node: Node) -> None:
        """Host a part whose topics belong to `node`."""
        self._parts.append((part, []))
        self.diagnostics.add(part.status, node)

    def observe(self, observer: Callable[[JointStateMapper], None]) -> None:
        """Call `observer` with every state when it has been answered, even if nobody listens."""
        self._observers.append(observer)

    def prepare(self, preparation: Callable[[], None]) -> None:
        """Call `preparation` before anything is computed for a state."""
        self._preparations.append(preparation)

    def serve(
        self, node: Node, kind: str, name: str, answer: Callable[[Model, Any, Any], None],
    ) -> None:
        """Offer a typed service of `node`, as `Services.add` does.

        ``answer(model, request, response)`` gets the model in use. It runs in another thread and
        may use the robot, whose gravity is that of the parameter, and `nodes.requests`.
        """
        def answer_with_model(request: Any, response: Any) -> None:
            if self.model is None:
                raise ScrewDynamicsError('no robot description yet; see /diagnostics')
            answer(self.model, request, response)

        self.services.add(node, kind, name, answer_with_model)

    def start(self) -> None:
        """Subscribe, once all parts are there."""
        node = self.node
        if self.services.is_used:
            self.diagnostics.add(self.services.status)
        self._spare_time.every(HOUSEKEEPING, self._housekeeping)
        priority = self.parameters['realtime_priority']
        self.scheduling_fault = use_real_time(priority) if priority else ''
        self._load_parameter()
        node.create_subscription(String, 'robot_description', self._on_description, qos.LATCHED)
        node.create_subscription(
            JointState, 'joint_states', self._on_joint_state, qos.JOINT_STATES, raw=True,
            qos_overriding_options=qos.OVERRIDABLE)

    # --- description ----------------------------------------------------------------------------

    @property
    def compiling(self) -> bool:
        """Whether a new description is being worked on."""
        return self._loader.busy

    def _load_parameter(self) -> None:
        text = self.parameters['robot_description']
        self._parameter_rules = bool(text)
        if text:
            self._loader.submit(text, PARAMETER)
        elif self._topic_text:
            self._loader.submit(self._topic_text, TOPIC)

    def reload(self) -> None:
        """Compile again, for changed outputs of a part."""
        if self.model is not None:
            self._loader.submit(self.model.text, self.origin)

    def _on_description(self, message: String) -> None:
        self._topic_text = message.data
        if self._parameter_rules:
            return
        if self.model is None or self.reason or message.data != self.model.text:
            self._loader.submit(message.data, TOPIC)

    @property
    def ignores_topic(self) -> bool:
        """Whether the topic offers another description than the parameter that is in force."""
        return bool(self._parameter_rules and self._topic_text and self.model is not None
                    and self._topic_text != self.model.text)

    def _build(self, text: str) -> tuple[Model, list[Plan]]:
        """Make the model of a description; runs in the thread of the loader."""
        made_of = text, self._drives.values
        if self._robot is None or self._robot[:2] != made_of:
            self._robot = *made_of, self._read(text)
        robot = self._robot[2]
        plans = [part.plan(robot) for part, _ in self._parts]
        model = Model(
            text, robot, [output for plan in plans for output in plan.outputs],
            [output for plan in plans for output in plan.unbounded],
            {name: array for plan in plans for name, array in plan.parameters.items()})
        parameters = self.parameters
        mapper = joint_state_mapper(
            robot,
            policies=shared_parameters.policies(parameters),
            calibration=shared_parameters.effort_calibration(parameters, model.joints),
            clock=self._clock())
        model.connect(mapper, self.gravity)
        if model.joints:
            model.evaluate()  # whatever is made at the first call is made now
        return model, plans

    def _read(self, text: str) -> Robot:
        if '<' not in text:  # a path would be opened
            raise DescriptionError(f'the robot description is not XML but {text[:60]!r}; publish '
                                   'the text of the URDF, not its name')
        description = read_urdf(text, inertia_check=self.parameters['inertia_check'])
        # Friction is a term of its own: fed back from a measured velocity it can drive a robot.
        return Robot(description, backend=self.parameters['backend'],
                     drives=self._drives.on(description), friction=False)

    def _take_over(self, outcome: Outcome[tuple[Model, list[Plan]]]) -> None:
        """Use a new model, or keep the old one and remember why."""
        self.reason = outcome.reason
        if outcome.model is None:
            if outcome.origin == PARAMETER and self.model is None:
                self._parameter_rules = False
                if self._topic_text:
                    self._loader.submit(self._topic_text, TOPIC)
            return
        self._spare_time.drop(self.channels)
        model, plans = outcome.model
        mapper = model.mapper
        if self.model is not None and self.model.text == model.text:
            mapper = self.model.mapper  # only the outputs have changed
        else:
            self.model_since = time.monotonic()
        self.model, self.origin = model, outcome.origin
        model.robot.gravity = self.gravity
        self.diagnostics.hardware_id = model.robot.description.name
        model.connect(mapper, self.gravity)
        self._parts = [(part, part.bind(model, plan))
                       for (part, _), plan in zip(self._parts, plans)]
        model.connect(mapper, self.gravity, {
            output: array for channel in self.channels
            for output, array in channel.targets.items()})
        self._look_for_listeners()
        settle()
        self.node.get_logger().info(f'ready: {model.robot}')

    def _clock(self) -> Callable[[], int]:
        if self.node.get_parameter('use_sim_time').value:
            clock = self.node.get_clock()
            return lambda: clock.now().nanoseconds
        return time.time_ns

    # --- joint states ---------------------------------------------------------------------------

    def _on_joint_state(self, data: bytes) -> None:
        """Turn one serialized joint state into all messages somebody listens to."""
        arrival = time.monotonic()
        answered = self._answer(data, arrival)
        period = arrival - self.load.last_arrival
        self.load.arrived(arrival)
        if answered:
            self.load.served(time.monotonic() - arrival)
            self._spare_time.use(arrival + period / 3.0, behind=self.backlog.older > period / 4.0)
        self.backlog.done(time.monotonic())

    def _answer(self, data: bytes, arrival: float) -> bool:
        """Publish what belongs to a joint state; return whether it made a state."""
        model = self.model
        if model is None or not model.joints:
            return False
        mapper = model.mapper
        try:
            message = self._reader.read(data)
        except Exception as error:  # rclpy has no class of its own for it
            self.load.unreadable(arrival, error)
            return False
        with mapper.lock:  # services read the state in another thread
            if not mapper.update(message, arrival):
                return False
        if self._listened and not self.backlog.passes_over(mapper.age, arrival):
            for prepare in self._preparations:
                prepare()
            if model.evaluate():
                self._publish(mapper)
            else:
                self.load.overflowed(arrival)
                self._spare_time.drop(self.channels)  # they would be made of these results
        for observer in self._observers:
            observer(mapper)
        return True

    def _publish(self, mapper: JointStateMapper) -> None:
        """Publish all messages somebody listens to; what is computed in Python in spare time."""
        stamp = self._stamp = packed(mapper.stamp)
        lacking_velocity, lacking_effort = not mapper.has_velocity, not mapper.has_effort
        for channel in self._listened:
            if (not channel.enabled or (lacking_velocity and channel.velocity)
                    or (lacking_effort and channel.effort)
                    or (channel.pieces and self._spare_time.has(channel))
                    or (channel.is_valid is not None and not channel.is_valid())):
                continue
            if channel.pieces:
                *first, last = channel.pieces
                self._spare_time.add(channel, [*first, partial(self._finish, channel, last)])
            else:
                channel.send(channel.encode(stamp))
                channel.published += 1

    def _finish(self, channel: Channel, last: Callable[[], None]) -> None:
        """Do the last piece, and publish with the stamp of what it is made of."""
        last()
        channel.send(channel.encode(self._stamp))
        channel.published += 1

    def _look_for_listeners(self) -> None:
        for channel in self.channels:
            channel.count_listeners()
        self._listened = [channel for channel in self.channels if channel.listened]

    def _housekeeping(self) -> None:
        outcome = self._loader.poll()
        if outcome is not None:
            self._take_over(outcome)
        self._look_for_listeners()

    @property
    def channels(self) -> list[Channel]:
        """All topics."""
        return [channel for _, channels in self._parts for channel in channels]

    # --- parameters -----------------------------------------------------------------------------

    def _check_parameters(self, values: dict[str, Any]) -> None:
        """Refuse what cannot be; raises `ScrewDynamicsError`."""
        shared_parameters.policies(self.parameters, values)
        if self.model is not None:
            shared_parameters.effort_calibration(self.parameters, self.model.joints, values)
        if values.get('robot_description'):
            self._read(values['robot_description'])

    def _check_drives(self, drives: Callable[[RobotDescription], dict[str, Drive]]) -> None:
        """Refuse drives that the present robot cannot have; raises `ScrewDynamicsError`."""
        if self.model is not None:
            drives(self.model.robot.description)

    def _apply_parameters(self, values: dict[str, Any]) -> None:
        if 'gravity' in values:
            self.gravity[:] = values['gravity']
            if self.model is not None:
                self.model.robot.gravity = self.gravity
        self.friction_share[:] = self.parameters['friction_in_effort']
        if 'robot_description' in values:
            self._load_parameter()
        if self.model is not None:
            mapper = self.model.mapper
            mapper.policies = shared_parameters.policies(self.parameters)
            mapper.calibrate(*shared_parameters.effort_calibration(
                self.parameters, self.model.joints))
