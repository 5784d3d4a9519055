# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages of inputs beside joint states, for a robot on a moving base with all kinds of joints."""

import numpy as np
from geometry_msgs.msg import Transform, TransformStamped, Twist
from nav_msgs.msg import Odometry
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import Imu, MultiDOFJointState
from tf2_msgs.msg import TFMessage

from support.messages import write, write_stamp

INERTIAL = (
    '<inertial><origin xyz="0.1 -0.2 0.3"/><mass value="{}"/>'
    '<inertia ixx="1" ixy="0.1" ixz="0" iyy="1.2" iyz="0.05" izz="0.9"/></inertial>'
)
#: The axis of the planar joint is not parallel to a coordinate axis.
SLED = (
    '<robot name="sled">'
    f'<link name="base">{INERTIAL.format(4)}</link><link name="cart">{INERTIAL.format(3)}</link>'
    f'<link name="arm">{INERTIAL.format(2)}</link>'
    '<joint name="drive" type="planar"><parent link="base"/><child link="cart"/>'
    '<origin xyz="0 0.5 0.5" rpy="0.3 0 0.2"/><axis xyz="0.6 0 0.8"/></joint>'
    '<joint name="lift" type="continuous"><parent link="cart"/><child link="arm"/>'
    '<origin xyz="0.2 0 0.4"/><axis xyz="0 1 0"/></joint></robot>'
)
AXIS = np.array([0.6, 0.0, 0.8])


def pose_at(t):
    """Return orientation, position, and twist of the base at a time [s]; linear part first."""
    R = Rotation.from_rotvec([0.3 * t, 0.2 - t, 0.5])
    return R, np.array([np.sin(t), 0.3 * t, 1.0]), [np.cos(t), 0.3, 0.1, 0.3, -1.0, 0.2 * t]


def fill(transform, R, p):
    """Set a geometry_msgs/Transform."""
    write(transform.rotation, 'xyzw', R.as_quat())
    write(transform.translation, 'xyz', p)


def odometry(stamp, t):
    message, (R, p, V) = Odometry(child_frame_id='base'), pose_at(t)
    write_stamp(message, stamp)
    write(message.pose.pose.orientation, 'xyzw', R.as_quat())
    write(message.pose.pose.position, 'xyz', p)
    write(message.twist.twist.linear, 'xyz', V[:3])
    write(message.twist.twist.angular, 'xyz', V[3:])
    return message


def transforms(stamp, t):
    """Return the pose of the base in the frame map."""
    each, (R, p, _) = TransformStamped(child_frame_id='base'), pose_at(t)
    each.header.frame_id = 'map'
    write_stamp(each, stamp)
    fill(each.transform, R, p)
    return TFMessage(transforms=[each])


def imu(stamp, t):
    message, (R, _, V) = Imu(), pose_at(t)
    message.header.frame_id = 'base'
    write_stamp(message, stamp)
    write(message.orientation, 'xyzw', R.as_quat())
    write(message.angular_velocity, 'xyz', V[3:])
    return message


def planar(stamp, t):
    """Return the motion of the planar joint."""
    message = MultiDOFJointState(joint_names=['drive'])
    write_stamp(message, stamp)
    transform, twist = Transform(), Twist()
    across = np.cross(AXIS, [0.0, 1.0, 0.0])
    fill(transform, Rotation.from_rotvec(2.0 * t * AXIS), [0.0, t, 0.0] + 0.3 * t * across)
    write(twist.linear, 'xyz', [0.4 * t, 1.0, -0.3 * t])
    write(twist.angular, 'xyz', 2.0 * AXIS)
    message.transforms.append(transform)
    message.twist.append(twist)
    return message


class Source:
    """One input: the parameters that choose it, its messages, and who receives them."""

    def __init__(self, attribute, make, receive, **parameters):
        self.attribute, self.make, self._receive = attribute, make, receive
        self.parameters = parameters

    def of(self, host):
        return getattr(host, self.attribute)

    def send(self, host, message):
        self._receive(self.of(host), message)


def on_tf(source, message):
    source._chain.receive(message, False)


def base(make, receive, name):
    return Source('base_source', make, receive, base_source=name, base_frame='map')


def gravity(make, receive, name):
    return Source(
        'gravity_source', make, receive, gravity_source=name, gravity_frame='map',
        on_gravity_loss='stop', gravity_timeout=0.1, gravity_cutoff=20.0,
    )  # fmt: skip


SOURCES = {
    'odometry': base(odometry, lambda source, m: source.receive_odometry(m), 'odometry'),
    'tf': base(transforms, on_tf, 'tf'),
    'imu': base(imu, lambda source, m: source.receive_imu(m), 'imu'),
    'gravity by imu': gravity(imu, lambda source, m: source.receive(m), 'imu'),
    'gravity by tf': gravity(transforms, on_tf, 'tf'),
    'planar': Source(
        'multi_dof_source', planar, lambda source, m: source.receive(m), multi_dof_joint_states=True
    ),
}
