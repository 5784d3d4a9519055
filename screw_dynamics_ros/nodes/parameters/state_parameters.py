# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of every node that reads joint states: policies for imperfect ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from screw_dynamics_ros.ros.joint_states.policies import (
    CONFLICT_POLICIES,
    EFFORT_POLICIES,
    POSITION_POLICIES,
    VELOCITY_CONFLICT_POLICIES,
    VELOCITY_POLICIES,
    WRAP_POLICIES,
    Policies,
)
from screw_dynamics_ros.ros.parameters import Parameters, Specification, Value

TABLE = (
    Specification(
        'position_policy',
        'reject',
        'Position missing or not finite. reject: refuse the message; hold: keep the last value '
        'for at most state_timeout; zero: hold, and 0 for joints never reported.',
        choices=POSITION_POLICIES,
    ),
    Specification(
        'velocity_policy',
        'differentiate',
        'Velocity missing or not finite. reject: outputs that need it pause; differentiate the '
        'positions; zero; hold.',
        choices=VELOCITY_POLICIES,
    ),
    Specification(
        'effort_policy',
        'reject',
        'Effort missing or not finite. reject: outputs that need it pause; zero; hold.',
        choices=EFFORT_POLICIES,
    ),
    Specification(
        'conflict_policy',
        'refuse',
        'Several publishers report different positions of one joint. refuse: their messages; '
        'newest: each message is used; the name of a node: its messages only, those of others are '
        'ignored at any time. Without the compiled data path that must be set at start.',
        rule=f'one of: {", ".join(CONFLICT_POLICIES)}, or a name such as /robot/broadcaster',
    ),
    Specification(
        'velocity_conflict_policy',
        'refuse',
        'Velocities are not the derivatives of the positions: zero, in other units, of the '
        'opposite sign. refuse: they are ignored, see velocity_policy; report: they are used. '
        'Both are reported.',
        choices=VELOCITY_CONFLICT_POLICIES,
    ),
    Specification(
        'wrap_policy',
        'unwrap',
        'Position of a revolute joint steps by a turn, faster than its velocity limit. unwrap: add '
        'turns, so that it continues; refuse: the messages, until it returns or state_timeout.',
        choices=WRAP_POLICIES,
    ),
    Specification(
        'velocity_cutoff',
        0.0,
        'Cut-off frequency of the low-pass filter on differentiated velocities [Hz]. 0: no filter.',
        minimum=0.0,
    ),
    Specification(
        'state_timeout',
        0.5,
        'Age at which a joint state is out of date [s]: outputs stop, an error is reported, and it '
        'is no longer merged, held or differentiated. 0: never.',
        minimum=0.0,
    ),
    Specification(
        'max_stamp_age',
        0.0,
        'Largest difference between the stamp of a joint state and the clock of the node [s]; '
        'a joint state beyond it is refused. 0: no limit, with a warning.',
        minimum=0.0,
    ),
    Specification(
        'max_delay',
        0.02,
        'Largest time from publication to processing of a joint state [s]; later ones are '
        'skipped, so that outputs after a pause begin with the newest state. 0: no limit, for '
        'recordings.',
        minimum=0.0,
    ),
)

DEFAULTS: dict[str, Value] = {'velocity_policy': 'reject', 'max_delay': 0.0}

#: The same for nodes that process every state and use measured velocities only.
AS_MEASURED = tuple(replace(row, default=DEFAULTS.get(row.name, row.default)) for row in TABLE)


def policies(parameters: Parameters, changes: dict[str, Any] | None = None) -> Policies:
    """Return the joint-state policies of the parameters, with some values changed."""
    values = changes or {}

    def value(name: str) -> Any:
        return values.get(name, parameters[name])

    return Policies(
        position=value('position_policy'),
        velocity=value('velocity_policy'),
        effort=values.get('effort_policy', parameters.values.get('effort_policy', 'reject')),
        conflict=values.get('conflict_policy', parameters.values.get('conflict_policy', 'refuse')),
        velocity_conflict=value('velocity_conflict_policy'),
        wrap=value('wrap_policy'),
        state_timeout=value('state_timeout'),
        max_stamp_age=value('max_stamp_age'),
        max_delay=value('max_delay'),
        velocity_cutoff=value('velocity_cutoff'),
    )
