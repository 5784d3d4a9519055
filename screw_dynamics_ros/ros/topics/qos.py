# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Quality of service of the topics."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

#: joint_states: sensor data, compatible with reliable and best-effort drivers. While the process is
#: stalled, the newest messages are kept.
JOINT_STATES = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)

#: robot_description, tf_static: late subscribers receive the last message.
LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)

#: All outputs: reliable, with a history from which a stalled subscriber recovers. The depth is
#: limited because Fast DDS releases acknowledged messages five times per second in the thread that
#: receives the joint states: 100 messages on each of 18 topics delay it by 2 ms.
OUTPUT = QoSProfile(depth=25, reliability=ReliabilityPolicy.RELIABLE)

#: Commands and references: only the newest message is relevant.
COMMAND = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)

#: Declares parameters such as `qos_overrides./joint_states.subscription.depth`.
OVERRIDABLE = QoSOverridingOptions.with_default_policies()

#: The same for torque commands, with deadline and lifespan.
COMMAND_OVERRIDES = QoSOverridingOptions(
    [QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY, QoSPolicyKind.DEADLINE, QoSPolicyKind.LIFESPAN]
)
