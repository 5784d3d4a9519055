# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Quality of service of the topics."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

#: joint_states: sensor data. Hears reliable and best-effort drivers; of what comes while the
#: process stands still the newest is kept.
JOINT_STATES = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)

#: robot_description, tf_static: the last message reaches those who come later.
LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)

#: All outputs: reliable, and kept for a while so that a listener that stood still can ask for them
#: again. Not for longer: Fast DDS lets go of all that is acknowledged five times a second, in the
#: thread that receives the joint states; 100 messages on each of 18 topics hold it up for 2 ms.
OUTPUT = QoSProfile(depth=25, reliability=ReliabilityPolicy.RELIABLE)

#: Commands and references: the newest counts.
COMMAND = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)

#: Declares parameters like `qos_overrides./joint_states.subscription.depth`.
OVERRIDABLE = QoSOverridingOptions.with_default_policies()

#: The same for torques that controllers act on.
COMMAND_OVERRIDES = QoSOverridingOptions(
    [QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY, QoSPolicyKind.DEADLINE, QoSPolicyKind.LIFESPAN]
)
