# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Client of the demo: receives all outputs for one tool frame, and applies a push to the tool."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from geometry_msgs.msg import TransformStamped, Vector3, Wrench, WrenchStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.lie.screws import WRENCH_ROWS
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.model_state import ModelStateLayout, ModelStateReader
from screw_dynamics_ros.ros.names import topic_tokens
from screw_dynamics_ros.ros.topics import qos

from .recording import DRIVER, OUTPUTS, STAMPED, Contents, DemoRecording, Push

try:
    from screw_dynamics_msgs import msg
    from screw_dynamics_msgs.msg import ModelState
except ImportError:  # not installed: without it ~/model_state is not published either
    ModelState = None

PUSH_PERIOD = 0.01  # s


class Client:
    """Subscriptions and the publisher of the push, on one node.

    Messages are stored serialized, so that receiving them is cheap and does not affect latencies.

    Parameters
    ----------
    node : rclpy.node.Node
    tool : str
        Frame of the tool.
    period : float
        Simulated time between two joint states [s].
    queued : int
        Queue depth of each topic, for the time while the machine is busy.
    """

    def __init__(self, node: Node, tool: str, period: float, queued: int) -> None:
        self._node, self._tool, self._period = node, tool, period
        self._profile = QoSProfile(depth=queued, reliability=ReliabilityPolicy.RELIABLE)
        self._recording: DemoRecording | None = None
        self._push: Push | None = None
        self._latest: dict[str, bytes] = {}
        self._fixed: dict[str, TransformStamped] = {}
        self._next_push = 0.0

        token = topic_tokens([tool])[tool]
        self._types: dict[str, type] = {}
        self._hear('joint_states', JointState, 'joint_states')
        self._hear('external', JointState, 'simulator/ground_truth/external_torque')
        self._hear('tf', TFMessage, '/tf')
        for name in ('gravity', 'coriolis', 'feedforward'):
            self._hear(name, JointState, f'dynamics/{name}')
        self._hear('jacobian', Float64MultiArray, f'kinematics/jacobian/{token}')
        self._hear('wrench', WrenchStamped, f'wrench_estimator/wrench/{token}')
        self._layouts: list[ModelStateLayout] = []
        if ModelState is not None:
            self._hear('model_state', ModelState, 'bringup/model_state')
            node.create_subscription(
                msg.ModelStateLayout, 'bringup/model_state_layout', self._on_layout, qos.LATCHED
            )
        node.create_subscription(TFMessage, '/tf_static', self._on_fixed, qos.LATCHED)
        self._applied = node.create_publisher(
            WrenchStamped, 'simulator/external_wrench', qos.COMMAND
        )

    def _hear(self, name: str, kind: type, topic: str) -> None:
        """Subscribe to the topic of series `name`."""
        self._types[name] = kind

        def on_message(data: bytes) -> None:
            if self._recording is None:
                self._latest[name] = data
            else:
                self._recording.series[name].add(time.time_ns(), data)

        self._node.create_subscription(kind, topic, on_message, self._profile, raw=True)

    def _on_fixed(self, message: TFMessage) -> None:
        self._fixed.update((link.child_frame_id, link) for link in message.transforms)

    def _on_layout(self, message: Any) -> None:
        self._layouts.append(ModelStateLayout.from_message(message))

    @property
    def missing(self) -> list[str]:
        """Series of the driver and of outputs without a message so far."""
        missing = [name for name in (*DRIVER, *OUTPUTS, *self._types) if name not in self._latest]
        missing = list(dict.fromkeys(missing))
        if 'model_state' in self._types and not self._layouts:
            missing.append('model_state_layout')
        return missing or ([] if self._find_chain() else ['tf'])

    def begin(self, push: Push) -> DemoRecording:
        """Start recording; the times of `push` start now, measured in joint states."""
        joints = list(self._message('joint_states').name)
        chain = self._find_chain()
        fixed = [
            pose_numbers(link) if link.child_frame_id in self._fixed else None for link in chain
        ]
        moving = [link.child_frame_id for link, numbers in zip(chain, fixed) if numbers is None]
        decoders: dict[str, Callable[[Any], Contents]] = {
            'joint_states': partial(state_contents, joints),
            'tf': partial(transform_contents, moving),
            'wrench': wrench_contents,
            'jacobian': matrix_contents,
            **dict.fromkeys(
                ('gravity', 'coriolis', 'feedforward', 'external'), partial(effort_contents, joints)
            ),
        }
        if self._layouts:
            token = topic_tokens([self._tool])[self._tool]
            decoders['model_state'] = partial(
                model_state_contents, ModelStateReader(self._layouts[-1]), joints, moving, token
            )
        self._push = push
        self._recording = DemoRecording(
            joints, chain[0].header.frame_id, self._tool, fixed, time.time_ns(), decoders
        )
        # On a busy machine joint states may lag behind: their outputs have been received before.
        self._recording.begin = max(decoders[name](self._latest[name])[0] for name in STAMPED)
        return self._recording

    @property
    def time(self) -> float:
        """Simulated time of the run [s], from the received joint states."""
        recording = self._recording
        return 0.0 if recording is None else len(recording.series['joint_states']) * self._period

    def end(self) -> None:
        """Mark the latest joint state as the last one with expected outputs."""
        if self._recording is not None:
            self._recording.end = self._recording.series['joint_states'].last_stamp

    @property
    def late(self) -> list[str]:
        """The outputs that have not arrived for the last joint state or a later one."""
        recording = self._recording
        if recording is None or recording.end is None:
            return []
        return [
            name
            for name in (*STAMPED, 'external', 'model_state')
            if name in self._types and recording.series[name].last_stamp < recording.end
        ]

    def _message(self, name: str) -> Any:
        """Return the latest message."""
        return deserialize_message(self._latest[name], self._types[name])

    def _find_chain(self) -> list[TransformStamped]:
        """Return the transforms from the root to the tool; empty while they are incomplete."""
        moving = {link.child_frame_id: link for link in self._message('tf').transforms}
        known = {**self._fixed, **moving}
        chain: list[TransformStamped] = []
        frame = self._tool
        while frame in known and len(chain) < len(known):
            chain.insert(0, known[frame])
            frame = known[frame].header.frame_id
        return chain if any(link.child_frame_id in moving for link in chain) else []

    def push(self) -> None:
        """Publish the current force at `PUSH_PERIOD`; zero before the run."""
        if time.monotonic() < self._next_push:
            return
        self._next_push = time.monotonic() + PUSH_PERIOD
        now = time.time_ns()
        x = y = z = 0.0
        if self._recording is not None and self._push is not None:
            strength = float(self._push.strength(self.time))
            x, y, z = (strength * component for component in self._push.force)
            self._recording.series['applied'].add(now, (now, (x, y, z)))
        message = WrenchStamped(wrench=Wrench(force=Vector3(x=x, y=y, z=z)))
        message.header.frame_id = self._tool
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(now, NANOSECONDS)
        self._applied.publish(message)


# --- deserialization: contents are the stamp [ns] and the numbers ---------------------------------


def state_contents(joints: Sequence[str], data: bytes) -> Contents:
    """Read positions, velocities and efforts of the joints, in this order."""
    message = deserialize_message(data, JointState)
    order = [message.name.index(joint) for joint in joints]
    return nanoseconds(message), [
        values[i] for values in (message.position, message.velocity, message.effort) for i in order
    ]


def effort_contents(joints: Sequence[str], data: bytes) -> Contents:
    """Read the efforts of the joints, in this order."""
    message = deserialize_message(data, JointState)
    return nanoseconds(message), [message.effort[message.name.index(joint)] for joint in joints]


def wrench_contents(data: bytes) -> Contents:
    """Read force and moment."""
    message = deserialize_message(data, WrenchStamped)
    force, torque = message.wrench.force, message.wrench.torque
    return nanoseconds(message), (force.x, force.y, force.z, torque.x, torque.y, torque.z)


def matrix_contents(data: bytes) -> Contents:
    """Read a matrix row by row; it has no stamp."""
    return 0, deserialize_message(data, Float64MultiArray).data


def transform_contents(frames: Sequence[str], data: bytes) -> Contents:
    """Read the transforms to the frames, seven numbers each, in this order."""
    transforms = {
        link.child_frame_id: link for link in deserialize_message(data, TFMessage).transforms
    }
    return (
        nanoseconds(transforms[frames[0]]),
        [number for frame in frames for number in pose_numbers(transforms[frame])],
    )


def model_state_contents(
    reader: ModelStateReader, joints: Sequence[str], frames: Sequence[str], token: str, data: bytes
) -> Contents:
    """Read the parts of `STAMPED` in their order, of joints and frames in these orders.

    Messages of another layout have NaN and no stamp.
    """
    state = reader.read(data)
    if state is None:
        return 0, [math.nan] * (7 * len(frames) + 3 * len(joints) + len(WRENCH_ROWS))
    labels = {part.name: part.labels[0] for part in state.layout.parts}
    parts = {'tf': 'transforms', 'wrench': f'wrench/{token}'}
    orders = {'transforms': frames, f'wrench/{token}': WRENCH_ROWS}
    numbers: list[float] = []
    for name in (parts.get(each, each) for each in STAMPED):
        rows = [labels[name].index(label) for label in orders.get(name, joints)]
        numbers += state[name][rows].ravel().tolist()
    return state.stamp, numbers


def nanoseconds(message: Any) -> int:
    """Return the stamp of a message [ns]."""
    return int(message.header.stamp.sec * NANOSECONDS + message.header.stamp.nanosec)


def pose_numbers(message: TransformStamped) -> tuple[float, ...]:
    """Return (x, y, z, qx, qy, qz, qw) of a transform."""
    translation, rotation = message.transform.translation, message.transform.rotation
    return (
        translation.x,
        translation.y,
        translation.z,
        rotation.x,
        rotation.y,
        rotation.z,
        rotation.w,
    )
