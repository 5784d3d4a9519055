# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages with joint commands: validation, and conversion to joint indices."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from screw_dynamics_ros.core.description.ros2_control import HardwareComponent, commanded_joints
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.motion.trajectory.joint_path import JointPath
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.messages.trajectories import read_trajectory
from screw_dynamics_ros.ros.names import check_joint_names, shorten, shown

from .joint_targets import EFFORT, INTERFACES, POSITION, VELOCITY, Command, Trajectory


def read_numbers(message: Any, joints: Sequence[str], interface: str) -> Command:
    """Return the command of a std_msgs/Float64MultiArray: one number for each joint, in order.

    Raises `ArgumentError` for a wrong length and numbers that are not finite.
    """
    fits = len(message.data) == len(joints)
    values = np.array(message.data if fits else [])
    if not fits or not np.isfinite(values).all():
        raise ArgumentError(
            f'expected {len(joints)} finite numbers, for {", ".join(joints)}; got '
            f'{len(message.data)}: {list(message.data[:20])}'
        )
    return Command(interface, np.arange(len(joints)), values)


def read_joint_commands(
    message: Any,
    joints: Sequence[str],
    known: Collection[str],
    components: Sequence[HardwareComponent],
) -> tuple[list[Command], str]:
    """Return the commands of a sensor_msgs/JointState, and a text about omitted joints.

    The format is that of `joint_state_topic_hardware_interface`: `name` lists all joints of a
    component; each array has numbers only for joints with that command interface. An array as long
    as `name` has a number for each joint; otherwise the `<ros2_control>` tags of the description
    assign the numbers. NaN marks an unclaimed command interface and is ignored. If a joint has
    several numbers, position has priority, with velocity as its rate; then velocity; then effort.

    Parameters
    ----------
    message : sensor_msgs/JointState
    joints : sequence of str
        Joints that can be commanded.
    known : collection of str
        Names that are permitted and ignored: mimic and fixed joints.
    components : sequence of HardwareComponent

    Raises
    ------
    ArgumentError, UnknownNameError
        Unknown or repeated names, arrays that cannot be assigned to joints, infinite numbers, or no
        number at all.
    """
    names = list(message.name)
    check_joint_names('the message', names, joints, known)
    given = {
        interface: _numbers_by_joint(interface, names, values, components)
        for interface, values in (
            (POSITION, message.position),
            (VELOCITY, message.velocity),
            (EFFORT, message.effort),
        )
    }
    numbers = {
        interface: {name: x for name, x in by_joint.items() if name in joints and x == x}
        for interface, by_joint in given.items()
    }
    if not any(numbers.values()):
        raise ArgumentError(
            f'the message has no number for {shorten(names) or "any joint"}; position, velocity '
            'and effort are empty or NaN'
        )
    return _by_priority(numbers, joints), _left_out(given, numbers, joints)


def read_path(
    message: Any,
    joints: Sequence[str],
    known: Collection[str],
    now: int,
    state: tuple[Array, Array],
) -> tuple[Trajectory, Array]:
    """Return the trajectory of a trajectory_msgs/JointTrajectory, and its points (N, k).

    It starts at the stamp of the message, or now if the stamp is zero. If the first point is later
    than the start, the trajectory begins with the current state.

    Parameters
    ----------
    message : trajectory_msgs/JointTrajectory
    joints, known : collections of str
        As in `read_joint_commands`.
    now : int
        Time of the simulation [ns].
    state : two (n,) arrays
        Current positions and velocities of the joints.

    Raises
    ------
    ArgumentError, UnknownNameError
        As `read_trajectory`, and if the trajectory ends in the past.
    """
    given = read_trajectory(message, joints, known)
    indices = np.array([joints.index(name) for name in given.joints], dtype=np.intp)
    stamp = message.header.stamp
    start = stamp.sec * NANOSECONDS + stamp.nanosec or now
    if start + int(given.stamps[-1]) < now:
        raise ArgumentError(
            f'the trajectory ended {(now - start - int(given.stamps[-1])) / NANOSECONDS:.3f} s '
            'ago; correct header.stamp, or leave it zero for an immediate start'
        )
    times, rows = given.stamps / NANOSECONDS, [given.q, given.v, given.a]
    if given.stamps[0] > 0:
        offset = max(now - start, 0)
        if offset < given.stamps[0]:
            first = (state[0][indices], state[1][indices], np.zeros(len(indices)))
            times = np.concatenate([[offset / NANOSECONDS], times])
            rows = [
                None if row is None else np.vstack([begin, row]) for begin, row in zip(first, rows)
            ]
    _, v, a = rows
    path = JointPath(times, rows[0], v, a if v is not None else None)  # type: ignore[arg-type]
    return Trajectory(indices, start, path), given.q


def _numbers_by_joint(
    interface: str,
    names: Sequence[str],
    values: Sequence[float],
    components: Sequence[HardwareComponent],
) -> dict[str, float]:
    """Return the numbers of one array by joint."""
    if not len(values):
        return {}
    whose = list(names)
    if len(values) != len(names):
        whose = commanded_joints(components, names, interface)
        if len(values) != len(whose):
            tags = (
                f'the <ros2_control> tags of the description have {len(whose)} of these joints '
                f'with a command interface {interface}'
                if components
                else 'the description has no <ros2_control> tag that assigns them to joints'
            )
            raise ArgumentError(
                f'{len(values)} numbers of {interface} for {len(names)} names, and {tags}'
            )
    for name, value in zip(whose, values):
        if np.isinf(value):
            raise ArgumentError(f'{interface} of joint {shown(name)} is {value}')
    return dict(zip(whose, values))


def _by_priority(numbers: dict[str, dict[str, float]], joints: Sequence[str]) -> list[Command]:
    """Return one command per interface; each joint uses its interface of highest priority."""
    commands, taken = [], set()
    for interface in INTERFACES:
        mine = [name for name in numbers[interface] if name not in taken]
        taken.update(mine)
        if mine:
            rates = [numbers[VELOCITY].get(name, 0.0) for name in mine]
            commands.append(
                Command(
                    interface,
                    np.array([joints.index(name) for name in mine], dtype=np.intp),
                    np.array([numbers[interface][name] for name in mine]),
                    np.array(rates) if interface == POSITION else None,
                )
            )
    return commands


def _left_out(
    given: dict[str, dict[str, float]],
    numbers: dict[str, dict[str, float]],
    joints: Sequence[str],
) -> str:
    """Return a text with the joints that have only NaN; '' if there are none."""
    without = [
        name
        for name in joints
        if any(name in each for each in given.values())
        and not any(name in each for each in numbers.values())
    ]
    return f'no command for {shorten(without)}: all numbers are NaN' if without else ''


def read_state(message: Any, joints: Sequence[str]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the positions and velocities of a sensor_msgs/JointState, by joint.

    Either array may be empty. Raises `ArgumentError` and `UnknownNameError`.
    """
    names = list(message.name)
    check_joint_names('the state', names, joints)
    if not names:
        raise ArgumentError('the state names no joint')
    for field in ('position', 'velocity'):
        values = getattr(message, field)
        if len(values) not in (0, len(names)):
            raise ArgumentError(f'{len(values)} numbers of {field} for {len(names)} names')
        for name, value in zip(names, values):
            if not np.isfinite(value):
                raise ArgumentError(f'{field} of joint {shown(name)} is {value}')
    return dict(zip(names, message.position)), dict(zip(names, message.velocity))
