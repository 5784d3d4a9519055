# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Templates of the messages that the nodes publish, with names, labels and stamps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, ParamSpec

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import (
    Point,
    Pose,
    PoseStamped,
    PoseWithCovariance,
    PoseWithCovarianceStamped,
    Quaternion,
    Transform,
    TransformStamped,
    Twist,
    TwistStamped,
    Vector3,
    Wrench,
    WrenchStamped,
)
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray, Header, MultiArrayDimension, MultiArrayLayout
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.lie.screws import TWIST_ROWS, WRENCH_ROWS

from ..compatibility import joint_command_type
from .serialized import Contents, Template

P = ParamSpec('P')
MAX_TEMPLATES = 128  # cached templates of each kind

#: Numbers of a transform.
POSE = ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')

#: Fields of sensor_msgs/JointState, see `padding`.
JOINT_STATE = ('time', 'string', 'strings', 'doubles', 'doubles', 'doubles')

#: Fields of screw_dynamics_msgs/ImpedanceCommand, see `padding`.
IMPEDANCE_COMMAND = ('time', 'string', 'strings', *5 * ('doubles',))


def kept(make: Callable[P, Template]) -> Callable[P, Template]:
    """Cache the templates of a function and return copies: serializing takes milliseconds."""
    make_once = lru_cache(maxsize=MAX_TEMPLATES)(make)

    @wraps(make)
    def copied(*arguments: P.args, **options: P.kwargs) -> Template:
        return make_once(*map(hashable, arguments), **options).copy()  # type: ignore[arg-type]

    return copied


def hashable(value: Any) -> Any:
    """Return sequences as tuples, recursively."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return value
    return tuple(map(hashable, value))


@kept
def joint_values(names: Sequence[str], field: str) -> Template:
    """sensor_msgs/JointState with `name` and one field: 'position', 'velocity' or 'effort'."""

    def build(stamp: Time, numbers: list[float]) -> JointState:
        return JointState(header=Header(stamp=stamp), name=list(names), **{field: numbers})

    return Template(build, len(names), JOINT_STATE, Contents((tuple(names),)))


def joint_efforts(names: Sequence[str]) -> Template:
    """sensor_msgs/JointState with `name` and `effort`; position and velocity are empty."""
    return joint_values(names, 'effort')


def joint_command(names: Sequence[str], field: str = 'effort') -> tuple[type, Template]:
    """Return type and template of a stamped command by joint names, see `joint_values`.

    The type is control_msgs/JointCommand if the distribution has it, else sensor_msgs/JointState.
    """
    kind = joint_command_type()
    if kind is None:
        return JointState, joint_values(names, field)

    def build(stamp: Any, numbers: list[float]) -> Any:
        message = kind(joint_names=list(names), interface_name=field, values=numbers)
        message.header.stamp = stamp
        return message

    return kind, Template(build, len(names))


@kept
def impedance_command(kind: Any, names: Sequence[str]) -> Template:
    """screw_dynamics_msgs/ImpedanceCommand; numbers: each array in the order of its fields."""
    fields = 'position', 'velocity', 'stiffness', 'damping', 'effort'

    def build(stamp: Time, numbers: list[float]) -> Any:
        parts = np.reshape(numbers, (len(fields), len(names))).tolist()
        return kind(header=Header(stamp=stamp), joint_names=list(names), **dict(zip(fields, parts)))

    return Template(build, len(fields) * len(names), IMPEDANCE_COMMAND)


@kept
def joint_states(names: Sequence[str]) -> Template:
    """sensor_msgs/JointState; numbers: all positions, all velocities, all efforts."""
    size = len(names)

    def build(stamp: Time, numbers: list[float]) -> JointState:
        return JointState(
            header=Header(stamp=stamp),
            name=list(names),
            position=numbers[:size],
            velocity=numbers[size : 2 * size],
            effort=numbers[2 * size :],
        )

    return Template(build, 3 * size, JOINT_STATE)


@kept
def multi_dof_joint_states(names: Sequence[str]) -> Template:
    """sensor_msgs/MultiDOFJointState; numbers: all poses (x, y, z, qx, qy, qz, qw), all twists."""
    count = len(names)

    def build(stamp: Time, numbers: list[float]) -> MultiDOFJointState:
        poses = [numbers[7 * k : 7 * k + 7] for k in range(count)]
        twists = [numbers[7 * count + 6 * k :][:6] for k in range(count)]
        return MultiDOFJointState(
            header=Header(stamp=stamp),
            joint_names=list(names),
            transforms=[pose_transform(pose) for pose in poses],
            twist=[Twist(linear=vector(V[:3]), angular=vector(V[3:])) for V in twists],
        )

    return Template(build, 13 * count)


@kept
def clock() -> Template:
    """rosgraph_msgs/Clock; its time is the stamp, it has no numbers."""
    from rosgraph_msgs.msg import Clock  # only the simulator needs it

    return Template(lambda stamp, numbers: Clock(clock=stamp), 0)


@kept
def matrix(*labels: Sequence[str]) -> Template:
    """std_msgs/Float64MultiArray, row-major, one dimension for each sequence of labels.

    The label of a dimension lists the labels of its entries, separated by commas.
    """
    sizes = [len(names) for names in labels]
    strides = [1]
    for size in reversed(sizes):
        strides.insert(0, strides[0] * size)
    dimensions = [
        MultiArrayDimension(label=','.join(names), size=size, stride=stride)
        for names, size, stride in zip(labels, sizes, strides)
    ]

    def build(stamp: Time, numbers: list[float]) -> Float64MultiArray:
        return Float64MultiArray(layout=MultiArrayLayout(dim=dimensions), data=numbers)

    return Template(build, strides[0], contents=Contents(tuple(map(tuple, labels))))


@kept
def twist(frame_id: str) -> Template:
    """geometry_msgs/TwistStamped; numbers: linear, then angular."""
    return Template(
        lambda stamp, numbers: stamped_twist(stamp, frame_id, numbers),
        6,
        contents=Contents((TWIST_ROWS,), frame_id),
    )


def stamped_twist(stamp: Time, frame_id: str, numbers: Sequence[float]) -> TwistStamped:
    """geometry_msgs/TwistStamped of (linear, angular)."""
    return TwistStamped(
        header=Header(stamp=stamp, frame_id=frame_id),
        twist=Twist(linear=vector(numbers[:3]), angular=vector(numbers[3:])),
    )


@kept
def odometry(frame_id: str, child_frame_id: str) -> Template:
    """nav_msgs/Odometry; numbers: (x, y, z, qx, qy, qz, qw), then the twist, linear part first."""
    from nav_msgs.msg import Odometry  # only the simulator needs it

    def build(stamp: Time, numbers: list[float]) -> Odometry:
        message = Odometry(
            header=Header(stamp=stamp, frame_id=frame_id), child_frame_id=child_frame_id
        )
        message.pose.pose = stamped_pose(stamp, frame_id, numbers).pose
        message.twist.twist = stamped_twist(stamp, frame_id, numbers[7:]).twist
        return message

    return Template(build, 13)


@kept
def pose(frame_id: str) -> Template:
    """geometry_msgs/PoseStamped; numbers: (x, y, z, qx, qy, qz, qw)."""
    return Template(lambda stamp, numbers: stamped_pose(stamp, frame_id, numbers), 7)


def stamped_pose(stamp: Time, frame_id: str, numbers: Sequence[float]) -> PoseStamped:
    """geometry_msgs/PoseStamped of (x, y, z, qx, qy, qz, qw, ...)."""
    x, y, z, w = numbers[3:7]
    return PoseStamped(
        header=Header(stamp=stamp, frame_id=frame_id),
        pose=Pose(
            position=Point(x=numbers[0], y=numbers[1], z=numbers[2]),
            orientation=Quaternion(x=x, y=y, z=z, w=w),
        ),
    )


@kept
def pose_with_covariance(frame_id: str) -> Template:
    """geometry_msgs/PoseWithCovarianceStamped; numbers: (x, y, z, qx, qy, qz, qw), 6 x 6 rows."""

    def build(stamp: Time, numbers: list[float]) -> PoseWithCovarianceStamped:
        pose = stamped_pose(stamp, frame_id, numbers).pose
        return PoseWithCovarianceStamped(
            header=Header(stamp=stamp, frame_id=frame_id),
            pose=PoseWithCovariance(pose=pose, covariance=numbers[7:]),
        )

    return Template(build, 43)


@kept
def wrench(frame_id: str) -> Template:
    """geometry_msgs/WrenchStamped; numbers: force, then torque."""

    def build(stamp: Time, numbers: list[float]) -> WrenchStamped:
        return WrenchStamped(
            header=Header(stamp=stamp, frame_id=frame_id),
            wrench=Wrench(force=vector(numbers[:3]), torque=vector(numbers[3:])),
        )

    return Template(build, 6, contents=Contents((WRENCH_ROWS,), frame_id))


@kept
def statistics_values(kind: Any, size: int, version: int) -> Template:
    """pal_statistics_msgs/StatisticsValues of names with a version."""

    def build(stamp: Time, numbers: list[float]) -> Any:
        return kind(header=Header(stamp=stamp), values=numbers, names_version=version)

    return Template(build, size, ('time', 'string', 'doubles', 'count'))


@kept
def transforms(frames: Sequence[tuple[str, str]]) -> Template:
    """tf2_msgs/TFMessage; `frames` are (parent, child), numbers (x, y, z, qx, qy, qz, qw) each."""

    def build(stamp: Time, numbers: list[float]) -> TFMessage:
        return TFMessage(
            transforms=[
                transform(stamp, parent, child, numbers[7 * i : 7 * i + 7])
                for i, (parent, child) in enumerate(frames)
            ]
        )

    contents = Contents((tuple(child for _, child in frames), POSE))
    return Template(build, 7 * len(frames), contents=contents)


def transform(stamp: Time, parent: str, child: str, numbers: Sequence[float]) -> TransformStamped:
    """geometry_msgs/TransformStamped of (x, y, z, qx, qy, qz, qw)."""
    return TransformStamped(
        header=Header(stamp=stamp, frame_id=parent),
        child_frame_id=child,
        transform=pose_transform(numbers),
    )


def pose_transform(numbers: Sequence[float]) -> Transform:
    """geometry_msgs/Transform of (x, y, z, qx, qy, qz, qw)."""
    x, y, z, w = (float(number) for number in numbers[3:])
    return Transform(translation=vector(numbers[:3]), rotation=Quaternion(x=x, y=y, z=z, w=w))


def vector(numbers: Sequence[float]) -> Vector3:
    """geometry_msgs/Vector3."""
    x, y, z = (float(number) for number in numbers)
    return Vector3(x=x, y=y, z=z)
