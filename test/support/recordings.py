# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings for the tests, written by `rosbags` with its own serialization: an independent one."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

STORE = get_typestore(Stores.ROS2_JAZZY)
STORAGES = {'mcap': StoragePlugin.MCAP, 'sqlite3': StoragePlugin.SQLITE3}
MODES = {
    'none': CompressionMode.NONE,
    'storage': CompressionMode.STORAGE,
    'message': CompressionMode.MESSAGE,
    'file': CompressionMode.FILE,
}

JOINT_STATE = 'sensor_msgs/msg/JointState'
STRING = 'std_msgs/msg/String'
WRENCH = 'geometry_msgs/msg/WrenchStamped'


def message(kind, **fields):
    """Return a message of `rosbags`."""
    return STORE.types[kind](**fields)


def header(stamp, frame=''):
    sec, nanosec = divmod(int(stamp), 10**9)
    time = message('builtin_interfaces/msg/Time', sec=sec, nanosec=nanosec)
    return message('std_msgs/msg/Header', stamp=time, frame_id=frame)


def serialized(kind, content):
    """Return a message as bytes of CDR."""
    return bytes(STORE.serialize_cdr(content, kind))


def joint_state(stamp, names, position=(), velocity=(), effort=(), frame=''):
    """Return a serialized sensor_msgs/JointState."""
    arrays = (np.array(each, dtype=float) for each in (position, velocity, effort))
    fields = dict(zip(('position', 'velocity', 'effort'), arrays))
    content = message(JOINT_STATE, header=header(stamp, frame), name=list(names), **fields)
    return serialized(JOINT_STATE, content)


def string(text):
    """Return a serialized std_msgs/String."""
    return serialized(STRING, message(STRING, data=text))


def wrench(stamp, frame, force, moment):
    """Return a serialized geometry_msgs/WrenchStamped."""
    force, torque = (
        message('geometry_msgs/msg/Vector3', **dict(zip('xyz', map(float, each))))
        for each in (force, moment)
    )
    content = message('geometry_msgs/msg/Wrench', force=force, torque=torque)
    return serialized(WRENCH, message(WRENCH, header=header(stamp, frame), wrench=content))


@contextmanager
def writing(path, topics, storage='mcap', compression='none'):
    """Give a function ``write(topic, time, data)`` into a new recording; `topics` have types."""
    writer = Writer(path, version=9, storage_plugin=STORAGES[storage])
    if compression != 'none':
        writer.set_compression(MODES[compression], CompressionFormat.ZSTD)
    with writer:
        connections = {
            topic: writer.add_connection(topic, kind, typestore=STORE)
            for topic, kind in topics.items()
        }
        yield lambda topic, time, data: writer.write(connections[topic], int(time), data)


def write_joint_states(path, names, t, q, v, tau, description=None, **options):
    """Write a recording of joint states (N, n), and of the description 1 ms before them."""
    topics = {'/joint_states': JOINT_STATE, '/robot_description': STRING}
    with writing(path, topics, **options) as write:
        if description is not None:
            write('/robot_description', t[0] - 1_000_000, string(description))
        for row in zip(t.tolist(), q, v, tau):
            write('/joint_states', row[0] + 150_000, joint_state(row[0], names, *row[1:]))
    return Path(path)


def write_stack(path, robot, count, description, seed=0, rate=1000.0):
    """Write a motion of a robot with `count` states by stacks: long recordings, quickly."""
    from screw_dynamics_ros.ros.recordings import forms
    from screw_dynamics_ros.ros.recordings.forms import Form, packed_stamps
    from screw_dynamics_ros.ros.recordings.mcap import McapChannel, McapWriter, Schema, sized
    from screw_dynamics_ros.ros.recordings.outputs import Rows, message_head

    n, names, block, start = robot.nv, list(robot.joint_names), 4096, 1_700_000_000_000_000_000

    def build(stamp, numbers):
        fields = dict(zip(('position', 'velocity', 'effort'), numbers.reshape(3, n)))
        return forms.make(JOINT_STATE, header=forms.header(stamp), name=names, **fields)

    form, random = Form(JOINT_STATE, build, 3 * n), np.random.default_rng(seed)
    with Path(path).open('wb') as file:
        writer, channels = McapWriter(file), []
        for topic, kind in (('/joint_states', JOINT_STATE), ('/robot_description', STRING)):
            schema = Schema(kind, 'ros2msg', forms.definition(kind).encode())
            metadata = sized(b'offered_qos_profiles') + sized(b'')
            channel = McapChannel(writer.add_schema(schema), topic, 'cdr', metadata)
            channels.append(writer.add_channel(channel))
        text = string(description)
        writer.write(
            [message_head(channels[1], len(text), start) + text],
            {channels[1]: np.array([[start, 0]])},
        )
        rows, phase = Rows([(channels[0], form)]), random.uniform(0.0, 6.0, n)
        for first in range(0, count, block):
            k = np.arange(first, min(first + block, count))
            jitter = random.integers(-50_000, 50_000, len(k))
            t = start + np.round(k * 1e9 / rate).astype(np.int64) + jitter
            s = (t - start)[:, None] * 1e-9 + phase
            q, v = 0.5 * np.sin(s), 0.5 * np.cos(s)
            numbers = np.hstack([q, v, robot.drive_torques(q, v, -q)])
            writer.write(*rows.chunk(t + 150_000, packed_stamps(t), [numbers]))
        writer.close()
    return Path(path)


def contents(path):
    """Return times of recording [ns] and messages of each topic of a recording, by rosbags."""
    found = {}
    with Reader(path) as reader:
        for connection, time, data in reader.messages():
            found.setdefault(connection.topic, []).append((time, bytes(data)))
    return found
