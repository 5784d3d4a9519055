# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether recorded joint states cover the joints of a robot, known before they are processed."""

from __future__ import annotations

from collections.abc import Sequence

from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.policies import Policies
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.recordings.stacks import joint_state_stacks
from screw_dynamics_ros.ros.recordings.storage import RecordingError, RecordingReader


def check_coverage(
    reader: RecordingReader,
    topic: str,
    joints: Sequence[str],
    policies: Policies,
    needs_efforts: bool,
) -> None:
    """Raise RecordingError if no state can be complete: joints that no message reports.

    Messages are read until all joints have been named, mostly the first one alone.

    Parameters
    ----------
    reader : RecordingReader
    topic : str
    joints : sequence of str
        Those that a state needs.
    policies : Policies
    needs_efforts : bool
        Whether all outputs depend on efforts.
    """
    positions, efforts, others = set(joints), set(joints), dict[str, None]()
    if policies.position == 'zero':
        positions.clear()
    if policies.effort == 'zero' or not needs_efforts:
        efforts.clear()
    for block in reader.blocks(topic):
        if not positions and not efforts:
            return
        for stack in joint_state_stacks(block):
            layout = stack.layout
            others.update(dict.fromkeys(layout.names))
            if layout.positions == len(layout.names):
                positions.difference_update(layout.names)
            if layout.efforts == len(layout.names):
                efforts.difference_update(layout.names)
    if others and not set(joints) & set(others):
        raise RecordingError(
            f'{reader.path}: {topic} names no joint of this robot, {shorten(joints)}, but '
            f'{shorten(list(others))}; name them by --rename, or give the description of '
            'the robot that was recorded'
        )
    for missing, what, parameter in (
        (positions, 'positions', 'position_policy'),
        (efforts, 'efforts', 'effort_policy'),
    ):
        if missing:
            names = ','.join(name for name in joints if name in missing)
            strange = [name for name in others if name not in joints]
            named = f' ({shorten(strange)} are recorded)' if strange else ''
            raise RecordingError(
                f'{reader.path}: no message on {topic} has {what} of {names}; --leave-out {names} '
                f'holds these joints at zero, --rename OLD:=NEW helps if they have other names'
                f'{named}, or set {parameter} to zero'
            )


def refusals(mapper: JointStateMapper) -> str:
    """Return why messages were refused or incomplete, as text."""
    return '; '.join(
        f'{reason.value} ({record.count} times, {record.detail})'
        for reason, record in mapper.records.items()
    )
