# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robots of recordings and their options, and received motions, to find contradictions in them."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ..core import ArgumentError, UnknownNameError
from ..core.arguments import float_array
from ..core.description.robot_description import Finding, Joint, RobotDescription
from ..core.description.urdf_fixed_joints import with_fixed_joints
from ..core.state_checks import (
    JointMotion,
    joints_subject,
    range_findings,
    velocity_fault,
    velocity_fault_findings,
)
from ..core.types import Array
from ..ros.description_file import assignments
from ..ros.joint_states.contents import JointStateLayout
from ..ros.joint_states.driver_comparison import MIN_RETURNS, MIN_STEP, WINDOW, returns, wrapped
from ..ros.recordings import recording
from ..ros.recordings.blocks import Block
from ..ros.recordings.sources import RecordingError
from ..ros.recordings.stacks import joint_state_stacks
from ..ros.recordings.storage import RecordingReader
from .command_line import add_arguments_of, names, option, read_description

HELD_AT_ZERO = 'joints to hold at zero, with joints that mimic them; their states are ignored'


def add_recorded_robot(parser: argparse.ArgumentParser, left_out: str = HELD_AT_ZERO) -> None:
    """Add the options of recorded robots; `left_out` is the help text of --leave-out."""
    add = partial(option, parser)
    add('--urdf FILE', 'description to use instead of the recorded one', Path)
    add_arguments_of(parser, 'urdf', 'the FILE of --urdf')
    add(
        '--topic TOPIC',
        'topic of the joint states (default: /joint_states)',
        default='/joint_states',
    )
    add('--description-topic TOPIC', default='/robot_description')
    add_drives(parser)
    add('--leave-out A,B', left_out, names, ())
    add(
        '--rename OLD:=NEW',
        'joint OLD of the recording is NEW in the description; may be repeated',
        renaming,
        [],
        action='append',
    )


def add_drives(parser: argparse.ArgumentParser) -> None:
    """Add --drives."""
    option(
        parser,
        '--drives FILE',
        'parameter file with drives, effort scales and offsets, as written by identify',
        Path,
    )


def given_description(options: argparse.Namespace) -> str | None:
    """Return the text of the file of --urdf, None without it; raises as `read_description`."""
    if options.urdf is None:
        return None
    return read_description(options.urdf, options.urdf_arguments, 'urdf', '--urdf')


def renaming(text: str) -> tuple[str, str]:
    """Return the two names of OLD:=NEW; raises `argparse.ArgumentTypeError`."""
    try:
        ((old, new),) = assignments(text).items()
    except (ArgumentError, ValueError):
        old = new = ''
    if not new:
        raise argparse.ArgumentTypeError(f'{text!r} is not OLD:=NEW with two names of a joint')
    return old, new


def recorded_robot(
    reader: RecordingReader, topic: str, given: str | None, left_out: Collection[str]
) -> str:
    """Return the description of the recorded robot, with omitted joints fixed.

    Parameters
    ----------
    reader : RecordingReader
    topic : str
        Topic of the recorded description.
    given : str, optional
        A description to use instead.
    left_out : names of joints

    Raises
    ------
    RecordingError
        No description is recorded or given.
    UnknownNameError
        The robot does not have one of the joints.
    """
    text = recording.read_description(reader, topic) if given is None else given
    if text is None:
        kind = reader.types.get(topic)
        what = 'is not recorded' if kind is None else f'is of type {kind}'
        if kind == recording.STRING:
            what = 'has no message'
        raise RecordingError(f'{reader.path}: {topic} {what}; give --urdf, or --description-topic')
    return with_fixed_joints(text, left_out) if left_out else text


def check_left_out(left_out: Collection[str], joints: Sequence[str]) -> None:
    """Raise UnknownNameError for joints that the robot does not have."""
    unknown = [name for name in left_out if name not in joints]
    if unknown:
        raise UnknownNameError(
            f'--leave-out: the robot has no joint {unknown[0]!r}; it has {", ".join(joints)}'
        )


MAX_STATES = 1_000_000  # kept states, evenly spaced
MAX_ALTERNATION = 0.8 * np.pi  # rad; wrapped positions of fast wheels alternate by about pi
MIN_GAP_S = 1.0  # s, median between samples whose stamps may be in milliseconds
MIN_MOVES = 100  # between samples of a motion
MIN_MOVE, EVEN_MOVE = 0.001, 0.05  # of the range of positions; poses are farther apart
OUTLIERS = 0.005  # fraction of the lowest and of the highest positions that may be spikes


class JointMotions:
    """Positions and velocities as received, before policies complete or replace them.

    Parameters
    ----------
    count : int, optional
        Expected number of messages; of more than `MAX_STATES` only some are kept.
    """

    def __init__(self, count: int = 0) -> None:
        self._every = max(1, -(-count // MAX_STATES))
        self._parts: dict[JointStateLayout, list[tuple[Array, Array]]] = {}

    def add(self, layout: JointStateLayout, t: ArrayLike, numbers: Array) -> None:
        """Append messages of a layout.

        Parameters
        ----------
        layout : JointStateLayout
        t : (N,) array-like
            Times [s].
        numbers : (N, layout.size) array
        """
        if len(layout.names) == layout.positions:
            some = slice(None, None, self._every)
            kept = numbers[some, : layout.positions + layout.velocities].copy()
            self._parts.setdefault(layout, []).append((float_array('t', t)[some], kept))

    def findings(self, description: RobotDescription) -> list[Finding]:
        """Return contradictions in the states of joints with one coordinate."""
        joints = scalar_joints(description)
        motions = {joint.name: self._motions(joint.name) for joint in joints}
        ranges = np.array([_range(each) for each in motions.values()])
        limits = np.array([(joint.limits.lower, joint.limits.upper) for joint in joints])
        (lower, upper), (low, high) = limits.reshape(-1, 2).T, ranges.reshape(-1, 2).T
        turns = np.array([joint.kind.turns for joint in joints], dtype=bool)
        found = list(range_findings(list(motions), turns, (lower, upper), (low, high)))
        if not found:  # the noise of positions in small units alternates, too
            found += publisher_findings(motions)
        found += stamp_findings(motions)
        faults = {name: velocity_fault(each) for name, each in motions.items()}
        return [*found, *velocity_fault_findings(faults)]

    def _motions(self, name: str) -> list[JointMotion]:
        """Return the motions of a joint, one for each layout that contains it."""
        found = []
        for layout, parts in self._parts.items():
            if name in layout.names:
                k = layout.names.index(name)
                t = np.concatenate([t for t, _ in parts])
                q = np.concatenate([numbers[:, k] for _, numbers in parts])
                v = np.full_like(q, np.nan)
                if layout.velocities == layout.positions:
                    column = layout.positions + k
                    v = np.concatenate([numbers[:, column] for _, numbers in parts])
                found.append(JointMotion(t, q, v))
        return found


def publisher_findings(motions: Mapping[str, Sequence[JointMotion]]) -> Iterator[Finding]:
    """Yield a finding about joints whose positions step away and back, in order of time."""
    values: dict[str, tuple[float, float]] = {}
    for name, parts in motions.items():
        t, q = (np.concatenate([np.zeros(0), *(each[k] for each in parts)]) for k in (0, 1))
        q = q[np.argsort(t, kind='stable')]
        q = q[np.isfinite(q)]
        steps = np.diff(q)
        far = (np.abs(steps[1:]) > MIN_STEP) & (steps[1:] * steps[:-1] < 0.0)
        jumps = [
            k
            for k in np.flatnonzero(far).tolist()
            if abs(wrapped(steps[k])) < MAX_ALTERNATION and returns(steps[k], steps[k + 1])
        ]
        for k, last in zip(jumps, jumps[MIN_RETURNS - 1 :]):
            if last - k <= WINDOW:
                values[name] = float(q[k]), float(q[k + 1])
                break
    if values:
        name, (first, second) = next(iter(values.items()))
        yield Finding(
            'error',
            joints_subject(values),
            f'positions alternate ({name}: {first:.4g} in some messages, {second:.4g} in others): '
            'several publishers of joint states disagree',
            'stop the others (ros2 topic info --verbose joint_states), and record again',
        )


def stamp_findings(motions: Mapping[str, Sequence[JointMotion]]) -> Iterator[Finding]:
    """Yield a finding if samples are far apart in time and positions change evenly."""
    for name, parts in motions.items():
        for t, q, _ in parts:
            steps, moves = np.diff(t), np.abs(np.diff(q))
            size = np.ptp(q) if np.isfinite(q).all() else 0.0
            moves = moves[moves > MIN_MOVE * size]
            if len(moves) < MIN_MOVES or not size > MIN_STEP or np.median(steps) < MIN_GAP_S:
                continue
            if np.median(moves) < EVEN_MOVE * size:
                yield Finding(
                    'error',
                    'stamps',
                    f'are {np.median(steps):.3g} s apart, but the positions of {name} change '
                    'evenly: they seem to be in milliseconds',
                    'convert them, seconds are expected',
                )
                return


def moving(blocks: Iterable[Block], motions: JointMotions) -> Iterator[Block]:
    """Yield blocks of joint states, and add their positions and velocities to `motions`.

    Messages without a stamp have the time of recording.
    """
    for block in blocks:
        for stack in joint_state_stacks(block):
            if stack.refusal is None:
                times = np.where(stack.stamps, stack.stamps, block.received[stack.rows])
                motions.add(stack.layout, times * 1e-9, stack.numbers)
        yield block


def scalar_joints(description: RobotDescription) -> list[Joint]:
    """Return the joints with one coordinate, except mimic joints."""
    return [joint for joint in description.joints if joint.kind.nv == 1 and joint.mimic is None]


def _range(motions: Sequence[JointMotion]) -> tuple[float, float]:
    """Return the lowest and the highest position without spikes, NaN without positions."""
    q = np.concatenate([np.zeros(0), *(each.q for each in motions)])
    q = q[np.isfinite(q)]
    if not len(q):
        return np.nan, np.nan
    low, high = np.quantile(q, [OUTLIERS, 1.0 - OUTLIERS], method='nearest')
    return float(low), float(high)
