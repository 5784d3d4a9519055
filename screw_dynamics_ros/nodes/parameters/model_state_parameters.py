# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of the topic `~/model_state`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from screw_dynamics_ros.core.outputs import OUTPUTS
from screw_dynamics_ros.ros.parameters import Specification

PARTS, SEPARATE, ALL = 'model_state', 'separate_topics', 'all'

TABLE = (
    Specification(
        PARTS,
        [''],
        'Outputs in ~/model_state, one message for each joint state: names of quantities, for all '
        'their links, or all. Empty: no such topic.',
        choices=(ALL, *OUTPUTS),
    ),
    Specification(
        SEPARATE,
        True,
        'Whether outputs in ~/model_state are published on their own topics, too. Commands always '
        'are.',
    ),
)


def chosen(wanted: Sequence[str]) -> Callable[[str], bool]:
    """Return a function that determines whether a part, quantity or quantity/link, is wanted."""
    return lambda name: ALL in wanted or name.partition('/')[0] in wanted
