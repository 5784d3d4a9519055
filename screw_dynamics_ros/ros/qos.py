"""Quality of service of the topics."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from rclpy.qos_overriding_options import QoSOverridingOptions

#: joint_states: what robot_state_publisher uses; it hears reliable and best-effort drivers.
JOINT_STATES = qos_profile_sensor_data

#: robot_description, tf_static: the last message reaches those who come later.
LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)

#: All outputs: reliable, so that every subscription gets them; only the newest few are kept.
OUTPUT = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)

#: Commands and references: the newest counts.
COMMAND = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)

#: Declares the `qos_overrides./joint_states...` parameters.
OVERRIDABLE = QoSOverridingOptions.with_default_policies()
