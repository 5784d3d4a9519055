# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of frames on /tf, and of the robot description published with them."""

from __future__ import annotations

from screw_dynamics_ros.ros.parameters import Specification

DESCRIPTION_CHOICES = ('auto', 'always', 'never')

TABLE = (
    Specification(
        'publish_tf',
        True,
        'Publish /tf and /tf_static. They are not published while another node publishes frames '
        'of this robot there.',
    ),
    Specification(
        'publish_frequency',
        0.0,
        'Largest rate of /tf, by the stamps of the joint states [Hz]. 0: every joint state.',
        minimum=0.0,
        maximum=1000.0,
    ),
    Specification(
        'ignore_timestamp',
        False,
        'Publish /tf for every joint state, with its own stamp, even if the stamp is repeated, out '
        'of order or far from the clock; publish_frequency is then ignored.',
    ),
    Specification(
        'publish_description',
        'auto',
        'Publish the parameter robot_description on the topic robot_description, as URDF. '
        'auto: if no other node does; always; never.',
        choices=DESCRIPTION_CHOICES,
    ),
)
