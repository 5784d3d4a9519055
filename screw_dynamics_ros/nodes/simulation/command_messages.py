# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages that command the simulated robot, as commands of joints."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.description.ros2_control import (
    HardwareComponent,
    commanded_joints,
    read_ros2_control,
)
from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError
from screw_dynamics_ros.core.motion.trajectory.joint_path import JointPath
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.messages.trajectories import MAX_NUMBER, read_trajectory
from screw_dynamics_ros.ros.names import check_joint_names, shorten, shown

from .joint_targets import (
    EFFORT,
    FIELDS,
    INTERFACES,
    POSITION,
    VELOCITY,
    Command,
    Trajectory,
    command_of,
)


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
    return command_of(np.arange(len(joints)), **{interface: values})


def read_joint_commands(
    message: Any,
    joints: Sequence[str],
    known: Collection[str],
    components: Sequence[HardwareComponent],
) -> tuple[Command, str]:
    """Return the command of a sensor_msgs/JointState, and a text about omitted joints.

    The format is that of `joint_state_topic_hardware_interface`: `name` lists all joints of a
    component; each array has numbers only for joints with that command interface. An array as long
    as `name` has a number for each joint; otherwise the `<ros2_control>` tags of the description
    assign the numbers. NaN marks an unclaimed command interface and is ignored; before a controller
    has written, all are NaN, and the command is for no joint.

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
    rows = [[by_joint.get(name, np.nan) for name in joints] for by_joint in given.values()]
    commanded = [k for k, numbers in enumerate(zip(*rows)) if any(x == x for x in numbers)]
    others = {*joints} - {joints[k] for k in commanded}
    without = [name for name in names if name in others and any(name in x for x in given.values())]
    if not commanded and not without:
        raise ArgumentError(
            f'the message has no number for {shorten(names) or "any joint"}; position, velocity '
            'and effort are empty'
        )
    left_out = f'no command for {shorten(without)}: all numbers are NaN' if without else ''
    numbers = np.array(rows)[:, commanded]
    return command_of(commanded, **dict(zip(INTERFACES, numbers))), left_out


def read_impedance(
    message: Any, joints: Sequence[str], known: Collection[str], drives: Mapping[str, float]
) -> Command:
    """Return the command of a screw_dynamics_msgs/ImpedanceCommand.

    Empty velocities and efforts are 0; empty gains are those of the drives.

    Parameters
    ----------
    message : screw_dynamics_msgs/ImpedanceCommand
    joints, known : collections of str
        As in `read_joint_commands`.
    drives : {joint: float}
        Stiffness of each impedance drive [N m/rad, N/m].

    Raises
    ------
    ArgumentError, UnknownNameError
        Unknown or repeated names, a joint without an impedance drive, arrays of a wrong length,
        numbers that are not finite or above `MAX_NUMBER`, negative gains, or a stiffness without
        positions.
    """
    names = list(message.joint_names)
    check_joint_names('the message', names, joints, known)
    columns = [k for k, name in enumerate(names) if name in joints]
    chosen = [names[k] for k in columns]
    if not chosen:
        raise ArgumentError('the message names no joint that can be commanded')
    ideal = [name for name in chosen if name not in drives]
    if ideal:
        raise ArgumentError(
            f'joint {shown(ideal[0])} has an ideal servo and no impedance drive; list it in '
            'impedance_joints'
        )
    fields: dict[str, ArrayLike] = {VELOCITY: 0.0, EFFORT: 0.0}
    for field in FIELDS:
        values = np.array(getattr(message, field), dtype=float)
        if len(values) not in (0, len(names)):
            raise ArgumentError(f'{len(values)} numbers of {field} for {len(names)} joint_names')
        lowest = -MAX_NUMBER if field in INTERFACES else 0.0
        for name, value in zip(names, values):
            if not lowest <= value <= MAX_NUMBER:
                raise ArgumentError(
                    f'{field} of joint {shown(name)} is {value}; it must be in '
                    f'[{lowest:g}, {MAX_NUMBER:g}]'
                )
        if len(values):
            fields[field] = values[columns]
    stiffness = np.array(fields.get('stiffness', [drives[name] for name in chosen]))
    if POSITION not in fields and stiffness.any():
        raise ArgumentError(
            f'position is empty, and the stiffness of joint {shown(chosen[stiffness.argmax()])} is '
            f'{stiffness.max():g}; give positions, or a stiffness of 0'
        )
    indices = [joints.index(name) for name in chosen]
    return command_of(indices, **fields)


def read_path(
    message: Any,
    joints: Sequence[str],
    known: Collection[str],
    now: int,
    state: tuple[Array, Array, Array],
) -> tuple[Trajectory, Array]:
    """Return the trajectory of a trajectory_msgs/JointTrajectory, and its points (N, k).

    It starts at the stamp of the message, or now if the stamp is zero. If the first point is later
    than the start, the trajectory begins with the current state. Efforts are linear in between.

    Parameters
    ----------
    message : trajectory_msgs/JointTrajectory
    joints, known : collections of str
        As in `read_joint_commands`.
    now : int
        Time of the simulation [ns].
    state : three (n,) arrays
        Current positions, velocities and feedforward efforts of the joints.

    Raises
    ------
    ArgumentError, UnknownNameError
        As `read_trajectory`, and if the trajectory ends in the past.
    """
    given = read_trajectory(message, joints, known, with_efforts=True)
    indices = np.array([joints.index(name) for name in given.joints], dtype=np.intp)
    stamp = message.header.stamp
    start = stamp.sec * NANOSECONDS + stamp.nanosec or now
    if start + int(given.stamps[-1]) < now:
        raise ArgumentError(
            f'the trajectory ended {(now - start - int(given.stamps[-1])) / NANOSECONDS:.3f} s '
            'ago; correct header.stamp, or leave it zero for an immediate start'
        )
    times, rows = given.stamps / NANOSECONDS, [given.q, given.v, given.a, given.efforts]
    if given.stamps[0] > 0:
        offset = max(now - start, 0)
        if offset < given.stamps[0]:
            position, velocity, effort = (values[indices] for values in state)
            first = (position, velocity, np.zeros(len(indices)), effort)
            times = np.concatenate([[offset / NANOSECONDS], times])
            rows = [
                None if row is None else np.vstack([begin, row]) for begin, row in zip(first, rows)
            ]
    points, v, a, efforts = rows
    path = JointPath(times, points, v, a if v is not None else None)  # type: ignore[arg-type]
    feedforward = None if efforts is None else JointPath(times, efforts)
    return Trajectory(indices, start, path, feedforward), given.q


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
            if not abs(value) <= MAX_NUMBER:
                raise ArgumentError(
                    f'{field} of joint {shown(name)} is {value}; its size must be at most '
                    f'{MAX_NUMBER:g}'
                )
    return dict(zip(names, message.position)), dict(zip(names, message.velocity))


def components_of(text: str) -> tuple[tuple[HardwareComponent, ...], str]:
    """Return the hardware components of a description, and the error if they are invalid."""
    try:
        return read_ros2_control(text), ''
    except DescriptionError as error:
        return (), str(error)
