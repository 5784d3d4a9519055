"""What all model nodes share: one robot description, one subscription, one fused kernel.

A `ModelHost` feeds any number of parts (kinematics, dynamics, ...). Each part says what it wants
computed; everything is computed by one kernel call for each joint state, and nothing at all while
nobody listens.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.clock import JumpThreshold
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from screw_dynamics_ros.core import (
    DescriptionError,
    Drive,
    Robot,
    ScrewDynamicsError,
)
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.description.robot_description import RobotDescription
from screw_dynamics_ros.core.description.urdf import read_urdf
from screw_dynamics_ros.nodes.hosting import statuses
from screw_dynamics_ros.nodes.hosting.drawing import DrawingProcess
from screw_dynamics_ros.nodes.hosting.load import Load
from screw_dynamics_ros.nodes.hosting.output_group import Channel, Part, Plan
from screw_dynamics_ros.nodes.hosting.running_model import Model, joint_state_mapper
from screw_dynamics_ros.nodes.outputs.torque_terms import TERMS
from screw_dynamics_ros.nodes.parameters import payload, shared_parameters
from screw_dynamics_ros.nodes.parameters.drives import DriveParameters
from screw_dynamics_ros.nodes.services import requests
from screw_dynamics_ros.ros.description import DescriptionLoader, DescriptionSource, Outcome
from screw_dynamics_ros.ros.diagnostics import Diagnostics
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.requested_state import latest
from screw_dynamics_ros.ros.messages.serialized import JointStateReader, packed
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.deferred_work import SpareTime
from screw_dynamics_ros.ros.process.executor import Ending, settle
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.scheduling import use_real_time
from screw_dynamics_ros.ros.services import Answer, Services
from screw_dynamics_ros.ros.status import Status
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.subscriptions import subscribe
from screw_dynamics_ros.ros.topics.transport import SequenceGaps, TransportDelay

HOUSEKEEPING = 0.1  # s between looks at listeners and new descriptions
IDLE = 2e-4  # s after an answer from which the next state need not wait its turn
TURN_LOST = 0.1  # s after which nothing waits for its turn any more

#: Parameters that make torques step.
STEPPING = {'gravity', *(specification.name for specification in payload.TABLE)}


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
    effort_shares : (5,) array
        1 for each of `TERMS` that is part of the measured efforts, else 0; always the same array.
    descriptions : DescriptionSource
        What is offered, what is in force, and why it is not what is wanted.
    load : Load
        Counts and times for diagnostics.
    endings : list of Ending
        What is to be done before the process ends.
    scheduling_fault : str
        Why the process does not run with the real-time priority it should have, or empty.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.model: Model | None = None
        self.model_since = -math.inf
        self.gravity = np.zeros(3)
        self.effort_shares = np.ones(len(TERMS))
        self.descriptions = DescriptionSource()
        self.load = Load()
        self.endings: list[Ending] = []
        self.scheduling_fault = ''
        self._parts: list[tuple[Part, list[Channel]]] = []
        self._listened: list[Channel] = []
        self._observers: list[Callable[[JointStateMapper], None]] = []
        self._preparations: list[Callable[[], None]] = []
        self._consumers: list[Callable[[JointStateMapper, float], None]] = []
        self._changes: list[Callable[[], None]] = []
        self._robot: tuple[str, dict[str, Any], Robot] | None = None
        self._reader = JointStateReader()
        self._delay = TransportDelay()
        self._gaps = SequenceGaps()
        self._has_one_driver = False
        self._longest_delay = math.inf  # up to which states are answered [s]
        self._waiting: float | None = None  # when the state that is to be answered was sent
        self._free_since = -math.inf
        self._on_clock_change()
        self._clock_jumps = node.get_clock().create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=None), post_callback=self._on_clock_change
        )
        self._loader: DescriptionLoader[tuple[Model, list[Plan]]] = DescriptionLoader(self._build)
        self.parameters = Parameters(
            node, shared_parameters.TABLE, self._check_parameters, self._apply_parameters
        )
        self._follow_parameters()
        shared_parameters.policies(self.parameters)
        payload.check(self.parameters, {}, None)
        self._drives = DriveParameters(
            node, self.parameters['drive_joints'], self._check_drives, self.reload
        )
        self._spare_time = SpareTime(node)
        self.diagnostics = Diagnostics(node, self._spare_time.every)
        self.diagnostics.add(self.description_status)
        self.diagnostics.add(self.joint_state_status)
        self.diagnostics.add(FAULTS.status)
        self.services = Services(node)
        self.drawing = DrawingProcess()

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

    def consume(self, consumer: Callable[[JointStateMapper, float], None]) -> None:
        """Call ``consumer(mapper, time)`` with the results of a state, before they are published.

        `time` is when the state was sent, on the monotonic clock of this process [s].
        """
        self._consumers.append(consumer)

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call back when gravity or the payload have changed: results may have made a step."""
        self._changes.append(callback)

    def serve(
        self,
        node: Node,
        kind: str,
        name: str,
        query: requests.Query,
        payloads: Callable[[], dict[str, RigidBody]] = dict,
    ) -> None:
        """Offer a typed service of `node`, which `query` answers in another process.

        `payloads` returns what the parameters have the robot carry.
        """

        def task() -> tuple[Answer, tuple[Any, ...]]:
            model = self.model
            if model is None:
                raise ScrewDynamicsError('no robot description yet; see /diagnostics')
            return requests.answer, (
                query,
                requests.Situation(
                    requests.pickled(model.robot),
                    self.gravity.copy(),
                    self.parameters['frame_prefix'],
                    latest(model.mapper),
                    payloads(),
                ),
            )

        self.services.add(node, kind, name, task)

    def start(self) -> None:
        """Subscribe, once all parts are there."""
        node = self.node
        if self.services.is_used:
            self.diagnostics.add(self.services.status)
        if self.drawing.is_used:
            self.diagnostics.add(self.drawing.status)
        self._spare_time.every(HOUSEKEEPING, self._housekeeping)
        priority = self.parameters['realtime_priority']
        self.scheduling_fault = use_real_time(priority) if priority else ''
        self.descriptions.from_parameter = self.parameters['robot_description']
        self.reload()
        node.create_subscription(
            String,
            'robot_description',
            FAULTS.guarded('a robot description', self._on_description),
            qos.LATCHED,
        )
        subscribe(
            node,
            JointState,
            'joint_states',
            self._on_joint_state,
            qos.JOINT_STATES,
            raw=True,
            qos_overriding_options=qos.OVERRIDABLE,
        )

    # --- diagnostics ----------------------------------------------------------------------------

    def description_status(self) -> Status:
        """Report which robot is in use, and why not another one."""
        return statuses.description_status(
            self.node,
            self.descriptions,
            self.model,
            self.load,
            drives=self.parameters['drive_joints'],
            compiling=self.compiling,
        )

    def joint_state_status(self) -> Status:
        """Report whether states arrive, and what was wrong with them."""
        return statuses.joint_state_status(
            self.node,
            self.model,
            self.load,
            self.channels,
            timeout=self.parameters['state_timeout'] or math.inf,
            model_since=self.model_since,
            scheduling_fault=self.scheduling_fault,
        )

    # --- description ----------------------------------------------------------------------------

    @property
    def compiling(self) -> bool:
        """Whether a new description is being worked on."""
        return self._loader.busy

    def reload(self) -> None:
        """Compile again: other outputs of a part, other drives, another description."""
        candidates = self.descriptions.candidates()
        if candidates:
            self._loader.submit(candidates)

    def _on_description(self, message: String) -> None:
        descriptions = self.descriptions
        descriptions.from_topic = message.data
        if descriptions.is_wanted and not self.compiling:
            descriptions.reason = ''
        else:
            self.reload()

    def _build(self, text: str) -> tuple[Model, list[Plan]]:
        """Make the model of a description; runs in the thread of the loader."""
        made_of = text, self._drives.values
        if self._robot is None or self._robot[:2] != made_of:
            self._robot = *made_of, self._read(text)
        robot = self._robot[2]
        plans = [part.plan(robot) for part, _ in self._parts]
        model = Model(
            text,
            robot,
            [output for plan in plans for output in plan.outputs],
            [output for plan in plans for output in plan.unbounded],
            {name: array for plan in plans for name, array in plan.parameters.items()},
        )
        parameters = self.parameters
        mapper = joint_state_mapper(
            robot,
            policies=shared_parameters.policies(parameters),
            calibration=shared_parameters.effort_calibration(parameters, model.joints),
            clock=self._clock,
        )
        model.connect(mapper, self.gravity)
        if model.joints:
            model.evaluate()  # whatever is made at the first call is made now
        return model, plans

    def _read(self, text: str) -> Robot:
        if '<' not in text:  # a path would be opened
            raise DescriptionError(
                f'the robot description is not XML but {text[:60]!r}; publish '
                'the text of the URDF, not its name'
            )
        description = read_urdf(text, inertia_check=self.parameters['inertia_check'])
        # Friction is a term of its own: fed back from a measured velocity it can drive a robot.
        return Robot(
            description,
            backend=self.parameters['backend'],
            drives=self._drives.on(description),
            friction=False,
        )

    def _take_over(self, outcome: Outcome[tuple[Model, list[Plan]]]) -> None:
        """Use a new model, or keep the old one and remember why."""
        self.descriptions.reason = outcome.reason
        if outcome.model is None:
            return
        model, plans = outcome.model
        before = self.model
        is_new = before is None or before.text != model.text
        mapper = model.mapper if before is None or is_new else before.mapper
        try:  # parameters may have changed since it was built
            self._set_up(mapper)
        except ScrewDynamicsError as error:
            self.descriptions.reason = str(error)
            return
        if is_new:
            self.model_since = time.monotonic()
            self._waiting = None
        self.drawing.clear()
        self.model, self.descriptions.in_force = model, outcome.description
        model.robot.gravity = self.gravity
        self._load_payload()
        self.diagnostics.hardware_id = model.robot.description.name
        model.connect(mapper, self.gravity)
        self._parts = [
            (part, self._bound(part, model, plan)) for (part, _), plan in zip(self._parts, plans)
        ]
        model.connect(
            mapper,
            self.gravity,
            {
                output: array
                for channel in self.channels
                for output, array in channel.targets.items()
            },
        )
        self._look_for_listeners()
        if is_new:
            settle()
        self.node.get_logger().info(f'ready: {model.robot}')

    @staticmethod
    def _bound(part: Part, model: Model, plan: Plan) -> list[Channel]:
        """Return the topics of a part, none if it fails."""
        with FAULTS.caught(f'outputs of {type(part).__name__}'):
            return part.bind(model, plan)
        return []

    def _set_up(self, mapper: JointStateMapper) -> None:
        """Let a mapper follow the parameters as they are now; raises `ScrewDynamicsError`."""
        calibration = shared_parameters.effort_calibration(self.parameters, mapper.joints)
        mapper.policies = shared_parameters.policies(self.parameters)
        mapper.calibrate(*calibration)

    def _load_payload(self) -> None:
        """Let the kernel see the payload; another one compiles nothing."""
        if self.model is not None:
            robot = self.model.robot
            self.model.payload[:] = robot.payload_parameters(
                payload.on_robot(self.parameters, robot)
            )

    def _clock(self) -> int:
        """Return the time on the time base of the stamps [ns]."""
        if self._has_ros_time:
            return self.node.get_clock().now().nanoseconds
        return time.time_ns()

    def _on_clock_change(self, _: Any = None) -> None:
        self._has_ros_time = self.node.get_clock().ros_time_is_active

    # --- joint states ---------------------------------------------------------------------------

    def _on_joint_state(self, data: bytes, info: dict[str, Any]) -> None:
        """Take in one serialized joint state, and answer it if it is its turn.

        One that comes right after an answer waits until all that came meanwhile has been handled,
        parameters and timers among it; the newest of those that wait is answered. Otherwise a node
        with too many joint states would do nothing else.
        """
        arrival = time.monotonic()
        delay = self._delay.of(info.get('source_timestamp', 0), time.time_ns(), self._longest_delay)
        load = self.load
        load.arrived(arrival)
        load.lost += self._gaps.before(
            info.get('publication_sequence_number'), self._has_one_driver
        )
        if not self._take_in(data, arrival):
            return
        sent = arrival - delay
        waits = self._waiting is not None
        if waits:
            load.lost += 1
        if (
            arrival - self._free_since > (TURN_LOST if waits else IDLE)
            or self._longest_delay == math.inf
            or self.node.executor is None
        ):
            self._answer(sent)
            return
        if not waits:
            # The EventsExecutor has no guard conditions, and dies of a task that raises.
            self.node.executor.create_task(FAULTS.guarded('a joint state', self._on_turn))
        self._waiting = sent

    def _on_turn(self) -> None:
        """Answer the newest state that waits, unless that has been done or the robot is another."""
        if self._waiting is not None:
            self._answer(self._waiting)

    def _take_in(self, data: bytes, arrival: float) -> bool:
        """Note a joint state; return whether there is one to answer."""
        model = self.model
        if model is None or not model.joints:
            return False
        mapper = model.mapper
        try:
            try:
                message = self._reader.read(data)
            except Exception as error:  # rclpy has no class of its own for it
                self.load.unreadable(arrival, error)
                return False
            with mapper.lock:  # services read the state in another thread
                return mapper.update(message, arrival)
        except Exception as error:
            self._give_up(error)
            return False

    def _answer(self, sent: float) -> None:
        """Publish what belongs to the state of the robot; it was sent at `sent`, monotonic [s]."""
        start = time.monotonic()
        self._waiting = None
        try:
            if start - sent > self._longest_delay:
                self.load.was_late(start, start - sent)
                return
            self._evaluate(sent)
            self.load.served(time.monotonic() - start)
            with FAULTS.caught('work between joint states'):
                self._spare_time.use()
        except Exception as error:
            self._give_up(error)
        finally:
            self._free_since = time.monotonic()

    def _give_up(self, error: Exception) -> None:
        """Forget a state of which half may have been taken in."""
        FAULTS.record('a joint state', error)
        if self.model is not None:
            self.model.mapper.reset()

    def _evaluate(self, sent: float) -> None:
        """Turn the state of the robot into all messages somebody listens to."""
        model = self.model
        assert model is not None
        mapper = model.mapper
        if self._listened:
            for prepare in self._preparations:
                prepare()
            if model.evaluate():
                for consume in self._consumers:
                    consume(mapper, sent)
                self._publish(mapper)
            else:
                self.load.overflowed(time.monotonic())
        for observer in self._observers:
            observer(mapper)

    def _publish(self, mapper: JointStateMapper) -> None:
        """Publish all messages somebody listens to, those that are computed elsewhere last."""
        stamp = packed(mapper.stamp)
        lacking_velocity, lacking_effort = not mapper.has_velocity, not mapper.has_effort
        for channel in self._listened:
            if (
                not channel.enabled
                or (lacking_velocity and channel.velocity)
                or (lacking_effort and channel.effort)
            ):
                continue
            try:
                if channel.is_valid is None or channel.is_valid():
                    channel.publish(stamp)
            except Exception as error:  # the others are still to come
                FAULTS.record(f'output {channel.topic}', error)

    def _look_for_listeners(self) -> None:
        for channel in self.channels:
            channel.count_listeners()
        self._listened = sorted(
            (channel for channel in self.channels if channel.listened),
            key=lambda channel: channel.rank,
        )

    def _housekeeping(self) -> None:
        outcome = self._loader.poll()
        if outcome is not None:
            self._take_over(outcome)
        self._look_for_listeners()
        self._has_one_driver = (
            self.node.count_publishers(self.node.resolve_topic_name('joint_states')) == 1
        )

    @property
    def channels(self) -> list[Channel]:
        """All topics."""
        return [channel for _, channels in self._parts for channel in channels]

    # --- parameters -----------------------------------------------------------------------------

    def _check_parameters(self, values: dict[str, Any]) -> None:
        """Refuse what cannot be; raises `ScrewDynamicsError`.

        Names are those of the robot in force, also while another one is being compiled: what has
        been accepted is in force at once.
        """
        model = self.model
        shared_parameters.policies(self.parameters, values)
        if model is not None:
            shared_parameters.effort_calibration(self.parameters, model.joints, values)
        payload.check(self.parameters, values, model.robot if model is not None else None)
        if values.get('robot_description'):
            self._read(values['robot_description'])

    def _check_drives(self, drives: Callable[[RobotDescription], dict[str, Drive]]) -> None:
        """Refuse drives that the present robot cannot have; raises `ScrewDynamicsError`."""
        if self.model is not None:
            drives(self.model.robot.description)

    def _follow_parameters(self) -> None:
        """Have at hand what each state needs."""
        self.gravity[:] = self.parameters['gravity']
        self.effort_shares[:] = shared_parameters.effort_shares(self.parameters)
        self._longest_delay = self.parameters['max_delay'] or math.inf

    def _apply_parameters(self, values: dict[str, Any]) -> None:
        self._follow_parameters()
        if self.model is not None:
            self.model.robot.gravity = self.gravity
            self._set_up(self.model.mapper)
            self._load_payload()
        if values.keys() & STEPPING:
            for changed in self._changes:
                changed()
        self.descriptions.from_parameter = self.parameters['robot_description']
        if 'robot_description' in values or self.descriptions.reason:
            self.reload()  # what was refused may be good now
