"""Quality of service of the topics."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

#: joint_states: hears reliable and best-effort drivers. Best effort never sends anything again, so
#: what comes while the process stands still has to wait here: a second of a driver at 1 kHz.
JOINT_STATES = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)

#: robot_description, tf_static: the last message reaches those who come later.
LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)

#: All outputs: reliable, and kept for a while so that a listener that stood still can ask for them
#: again. Not for longer: Fast DDS lets go of all that is acknowledged five times a second, in the
#: thread that receives the joint states; 100 messages on each of 18 topics hold it up for 2 ms.
OUTPUT = QoSProfile(depth=25, reliability=ReliabilityPolicy.RELIABLE)

#: Commands and references: the newest counts.
COMMAND = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)

#: Declares the `qos_overrides./joint_states...` parameters.
OVERRIDABLE = QoSOverridingOptions.with_default_policies()
