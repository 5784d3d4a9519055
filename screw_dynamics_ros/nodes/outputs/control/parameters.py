# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of the node `controller`."""

from __future__ import annotations

from screw_dynamics_ros.core.law import JOINTS
from screw_dynamics_ros.core.motion.laws.law_fields import LawDeclaration
from screw_dynamics_ros.ros.parameters import Specification

PREFIX = 'gains.'

TABLE = (
    Specification(
        'law',
        'gravity_compensation',
        'The control law: one of core.law.LAWS, module:law, /path/file.py:law, or several '
        'separated by +, whose torques are added. A file is loaded again when it changes.',
        rule='the name or path of a law',
        read_only=True,
    ),
    Specification(
        'law_options',
        [''],
        'Constants of the law as name=value, such as link=tool0.',
        rule='name=value each',
        read_only=True,
    ),
    Specification(
        'law_timeout',
        10.0,
        'Longest time to load a law from files and to record it, in another process [s]; a law '
        'that takes longer is refused.',
        minimum=0.1,
        maximum=600.0,
    ),
    Specification(
        'wrench_timeout',
        0.1,
        'Longest age of the wrench of the sensor (topic ~/wrench), for laws that read it [s]. '
        'Without a newer one on_loss is executed.',
        minimum=1e-3,
        maximum=10.0,
    ),
)


def gains_of(law: LawDeclaration) -> tuple[Specification, ...]:
    """Return the parameters of a law as parameters of the node."""
    return tuple(
        Specification(
            PREFIX + name,
            each.default if each.size == 1 else [each.default],
            f'{each.text} [{each.unit}]' if each.unit else each.text,
            minimum=each.minimum,
            maximum=each.maximum,
            rule='one number, or one for each joint' if each.size == JOINTS else '',
        )
        for name, each in law.parameters.items()
    )


def is_gain(name: str) -> bool:
    """Whether a parameter belongs to a law."""
    return name.startswith(PREFIX)
