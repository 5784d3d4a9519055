# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Checks and renaming of joints in recorded joint states, before processing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress

import numpy as np

from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError

from ..joint_states.mapper import JointStateMapper
from ..joint_states.policies import Occurrences, Policies, Reason
from ..names import shorten
from .sources import RecordingError
from .stacks import joint_state_stacks
from .storage import RecordingReader


def rename_joints(reader: RecordingReader, topic: str, names: Mapping[str, str]) -> None:
    """Rename the joints in the joint states of a reader, {recorded: name}.

    Messages are read until all joints have been named, in most recordings only the first one.

    Raises
    ------
    UnknownNameError
        A joint is not recorded.
    ArgumentError
        Two joints would have the same name.
    """
    missing, recorded = set(names), dict[str, None]()
    for block in reader.blocks(topic):
        if not missing:
            break
        for stack in joint_state_stacks(block):
            recorded.update(dict.fromkeys(stack.layout.names))
        missing.difference_update(recorded)
    if missing:
        name = next(name for name in names if name in missing)
        raise UnknownNameError(
            f'--rename: {reader.path} has no joint {name!r}; it has {", ".join(recorded)}'
        )
    renamed = [names.get(name, name) for name in recorded]
    twice = [name for name in renamed if renamed.count(name) > 1]
    if twice:
        raise ArgumentError(f'--rename: two joints of {reader.path} are {twice[0]!r} then')
    reader.rename_joints(topic, names)


def check_coverage(
    reader: RecordingReader,
    topic: str,
    joints: Sequence[str],
    policies: Policies,
    needs_efforts: bool,
) -> None:
    """Raise RecordingError if no state can be complete, because some joints have no values.

    Messages are read until all joints have been named, in most recordings only the first one.

    Parameters
    ----------
    reader : RecordingReader
    topic : str
    joints : sequence of str
        The joints of a complete state.
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
            known = [bool(each.any()) for each in np.isfinite(stack.numbers).T]
            if layout.positions == len(layout.names):
                positions.difference_update(compress(layout.names, known[: layout.positions]))
            if layout.efforts == len(layout.names):
                efforts.difference_update(compress(layout.names, known[-layout.efforts :]))
    if not others and (positions or efforts):
        raise RecordingError(
            f'{reader.path}: none of the {reader.counts[topic]} messages on {topic} names a joint; '
            'record the topic of the joint states, or name it with --topic'
        )
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
    """Return the reasons for refused or incomplete messages, as text."""
    return '; '.join(
        f'{reason.value} ({", ".join(filter(None, (f"{record.count} times", record.detail)))})'
        for reason, record in mapper.records.items()
    )


def record_lines(records: Mapping[Reason, Occurrences]) -> list[str]:
    """Return the reasons for refused or incomplete messages, in lines of a report."""
    return [
        f'  {record.count} times: {reason.value} {record.detail}'.rstrip()
        for reason, record in records.items()
    ]
