# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint states and requests of every kind that is not as it should be."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from support.prototypes import Prototypes

NUMBERS = (
    0.0, -0.0, 1e-320, 1e-9, 1.0, -1.0, 3.2, -7.0, 1e3, 1e17, 1e154, -1e155, 1e200, 1e308, -1.7e308,
    float('nan'), float('inf'), float('-inf'),
)  # fmt: skip
NAMES = (
    '', ' ', 'wheel', 'left wheel', 'x' * 300, '\n', '\x1b[2J\x1b[31mred', '\u202egnp', 'tüür',
    '関節', '/', '../../etc/passwd', '%s%n', '{0}', "'; drop", '$(id)', 'NaN', 'root', 'joint',
)  # fmt: skip
LONG_NAME = 'y' * 10_000
SECOND = 1_000_000_000
FARTHEST = 2**31  # s


class Garbage:
    """Makes messages at random.

    Parameters
    ----------
    seed : int
    robot : Robot
        Garbage is hardest where some of it is right.
    """

    def __init__(self, seed: int, robot: Any) -> None:
        self.random = np.random.default_rng(seed)
        self.joints, self.links = list(robot.joint_names), list(robot.link_names)
        self.prototypes = Prototypes(robot, self.random)
        self._large: dict[int, bytes] = {}

    def chance(self, probability: float) -> bool:
        """Return True with a probability."""
        return bool(self.random.random() < probability)

    def pick(self, values: Sequence[Any]) -> Any:
        """Return one of some values."""
        return values[int(self.random.integers(len(values)))]

    # --- joint states ---------------------------------------------------------------------------

    def joint_state(self, near: int) -> tuple[bytes, str]:
        """Return a serialized sensor_msgs/JointState and the kind of its stamp.

        `near` is a time [ns]: some stamps are less than 0.2 s before or after it.
        """
        if self.chance(0.002):
            data = self._of_many_names(self.pick([1_000, 1_001, 10_000]))
        else:
            data = self._of_some_names()
        kind, stamp = self.stamp(near)
        data = data[:4] + stamp + data[12:]
        if self.chance(0.02):
            kind, data = 'broken', self._broken(data)
        return data, kind

    def _of_some_names(self) -> bytes:
        from rclpy.serialization import serialize_message
        from sensor_msgs.msg import JointState

        names = self.names()
        message = JointState(name=names)
        message.header.frame_id = self.pick(['', '', '', 'base', 'f' * 1000])
        regular = self.chance(0.5)
        for field in ('position', 'velocity', 'effort'):
            size = len(names)
            if not regular and self.chance(0.3):
                other = int(self.random.integers(50))
                size = self.pick([0, 0, 1, size + 1, max(0, size - 1), other])
            setattr(message, field, self.numbers(size, wild=0.0 if self.chance(0.5) else 0.2))
        return bytes(serialize_message(message))

    def _of_many_names(self, count: int) -> bytes:
        from rclpy.serialization import serialize_message
        from sensor_msgs.msg import JointState

        if count not in self._large:
            values = [0.1] * count
            self._large[count] = bytes(
                serialize_message(
                    JointState(
                        name=[*self.joints, *(f'joint{i}' for i in range(count))][:count],
                        position=values,
                        velocity=values,
                        effort=values,
                    )
                )
            )
        return self._large[count]

    def _broken(self, data: bytes) -> bytes:
        """Return a message that ends early, is too long, or has other bytes in it."""
        changed = bytearray(data)
        way = int(self.random.integers(3))
        if way == 0:
            return bytes(changed[: int(self.random.integers(4, len(changed)))])
        if way == 1:
            return bytes(changed + self.random.bytes(int(self.random.integers(1, 100))))
        for _ in range(int(self.random.integers(1, 8))):
            changed[int(self.random.integers(12, len(changed)))] = int(self.random.integers(256))
        return bytes(changed)

    def names(self) -> list[str]:
        """Return joints in any order, some of them, with others among them, or twice."""
        way = self.random.random()
        if way < 0.45:
            return list(self.joints)
        names = [str(name) for name in self.random.permutation(self.joints)]
        if way < 0.6:
            return names
        if way < 0.75:
            return names[: int(self.random.integers(len(names) + 1))]
        names += [self.pick(NAMES) for _ in range(int(self.random.integers(5)))]
        if way < 0.85:
            names.append(self.pick(names))
        if way > 0.99:
            names.append(LONG_NAME)
        if way > 0.98:
            return [self.pick(NAMES) + str(i) for i in range(int(self.random.integers(40)))]
        return names

    def numbers(self, size: int, wild: float) -> list[float]:
        """Return numbers, a share of them `wild`."""
        values = self.random.normal(size=size) * self.pick([0.1, 1.0, 10.0])
        for i in np.flatnonzero(self.random.random(size) < wild):
            values[i] = self.pick(NUMBERS)
        return [float(value) for value in values]

    def stamp(self, near: int) -> tuple[str, bytes]:
        """Return the kind of a stamp, and the stamp as it stands in a message."""
        kind = self.pick(['near'] * 6 + ['none', 'any', 'before 1970', 'end', 'no time', 'far'])
        sec, nanosec = 0, 0
        if kind == 'near':
            distance = int(self.random.integers(-SECOND // 5, SECOND // 5))
            sec, nanosec = divmod(near + distance, SECOND)
        elif kind == 'any':
            sec = int(self.random.integers(-FARTHEST, FARTHEST))
            nanosec = int(self.random.integers(SECOND))
        elif kind == 'before 1970':
            sec, nanosec = -int(self.random.integers(1, 1000)), int(self.random.integers(SECOND))
        elif kind == 'end':
            sec = self.pick([-FARTHEST, FARTHEST - 1])
            nanosec = self.pick([0, SECOND - 1, int(self.random.integers(SECOND))])
        elif kind == 'no time':
            sec = self.pick([0, FARTHEST - 1, -FARTHEST, near // SECOND])
            nanosec = self.pick([SECOND, 2**32 - 1, int(self.random.integers(SECOND, 2**32))])
        elif kind == 'far':
            sec, nanosec = divmod(near + self.pick([-1, 1]) * 3600 * SECOND, SECOND)
        return kind, struct.pack('<iI', sec, nanosec)

    # --- requests -------------------------------------------------------------------------------

    def request(self, kind: type) -> Any:
        """Return a request: garbage in all fields, or one that is nearly good."""
        prototype = self.prototypes.make(kind)
        if prototype is None or self.chance(0.1):
            return self.message(kind, self.pick([1.0, 0.1, 0.02, 0.0]))
        return self.changed(prototype, self.pick([0.0, 0.0, 0.003, 0.03, 0.3]))

    def changed(self, message: Any, wild: float) -> Any:
        """Return a message of which a share of fields and numbers is garbage."""
        for field, of in message.get_fields_and_field_types().items():
            value = getattr(message, field)
            if self.chance(wild):
                setattr(message, field, self._value(field, of, 1.0, True, 1))
            elif hasattr(value, 'get_fields_and_field_types'):
                self.changed(value, wild)
            elif of.startswith('sequence<') and of != 'sequence<double>':
                for each in value:
                    if hasattr(each, 'get_fields_and_field_types'):
                        self.changed(each, wild)
            elif of == 'sequence<double>':
                setattr(message, field, [
                    self.pick(NUMBERS) if self.chance(wild) else number for number in value
                ])  # fmt: skip
        return message

    def message(self, kind: type, wild: float, depth: int = 0) -> Any:
        """Return a message of a type, of whose fields a share is garbage."""
        made = kind()
        for field, of in made.get_fields_and_field_types().items():
            is_wild = self.chance(wild)
            setattr(made, field, self._value(field, of, wild if is_wild else 0.0, is_wild, depth))
        return made

    def _value(self, field: str, of: str, wild: float, is_wild: bool, depth: int) -> Any:
        """Return a value of a type as rosidl writes it."""
        if of.startswith('sequence<'):
            element = of.removeprefix('sequence<').removesuffix('>').partition(',')[0]
            if not is_wild and field in ('name', 'joint_names'):
                return list(self.joints)
            size = len(self.joints) if element == 'double' else 1
            if is_wild:
                size = self.pick([0, 0, 1, 2, 3, len(self.joints), int(self.random.integers(20))])
                size = 2000 if depth == 0 and self.chance(0.01) else size
            return [self._value(field, element, wild, is_wild, depth + 1) for _ in range(size)]
        if of.endswith(']'):
            element, _, size = of.removesuffix(']').partition('[')
            return [self._value(field, element, wild, is_wild, depth + 1) for _ in range(int(size))]
        if of == 'string':
            return self._text(field, is_wild)
        if of in ('double', 'float'):
            if not is_wild:
                return float(field == 'w') or abs(0.1 * float(self.random.normal()))
            number = self.pick(NUMBERS)
            return number if of == 'double' or abs(number) < 3e38 else 0.0
        if of == 'boolean':
            return self.chance(0.5)
        if of.startswith(('int', 'uint')):
            half = 2 ** (int(of.lstrip('uint')) - 1)
            low, high = (0, 2 * half) if of.startswith('u') else (-half, half)
            other = int(self.random.integers(low, min(high, 2**62)))
            return self.pick([0, 1, low, high - 1, other]) if is_wild else 0
        return self.message(message_type(of), wild, depth + 1)

    def _text(self, field: str, is_wild: bool) -> str:
        """Return a name the robot has, or one it has not."""
        if not is_wild:
            if field in ('representation', 'reference_frame'):
                return ''
            names = self.links if 'frame' in field or 'link' in field else self.joints
            return str(self.pick(names))
        if self.chance(0.3):
            return str(self.pick(['hybrid', 'body', 'spatial', 'mixed', *self.links]))
        return LONG_NAME if self.chance(0.01) else str(self.pick(NAMES))


def message_type(name: str) -> type:
    """Return the class of a message type like ``geometry_msgs/Pose``."""
    import importlib

    package, _, kind = name.partition('/')
    found: type = getattr(importlib.import_module(f'{package}.msg'), kind.rpartition('/')[2])
    return found
