# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The motions that are kept for messages of a wrist sensor."""

import numpy as np

from screw_dynamics_ros.core.estimation.wrist_sensor import (
    FilteredAcceleration,
    StampedValues,
)
from screw_dynamics_ros.nodes.force_torque.wrist_sensor_outputs import SensorMotion, keep_motion
from screw_dynamics_ros.ros.data_path.records import LoopRecord
from screw_dynamics_ros.ros.joint_states.policies import Policies
from screw_dynamics_ros.ros.joint_states.stamped_messages import StampedMessages
from screw_dynamics_ros.ros.topics.channel_record import EFFORT, VELOCITY


def test_motions_of_before_a_pause_are_not_kept():
    """Nor those of states without velocities, and of an acceleration that has not settled."""
    motion, loop = SensorMotion(), LoopRecord()
    motion.acceleration, motion.history = FilteredAcceleration(1), StampedValues(5, 1)
    motion.motion, motion.acceleration.cutoff = np.ones(1), 0.0
    loop.mapper = StampedMessages(Policies(), lambda: 0)
    stamps = []

    def follow(has=VELOCITY | EFFORT, restarted=False):
        loop.mapper.stamp, loop.mapper.restarted, loop.has = len(stamps) + 1, restarted, has
        stamps.append(loop.mapper.stamp)
        keep_motion(motion, loop)
        return motion.history.count

    assert [follow(), follow(), follow(EFFORT), follow(VELOCITY)] == [1, 2, 2, 3]
    assert follow(restarted=True) == 1
    assert follow(EFFORT, restarted=True) == 0
    motion.acceleration.cutoff = 10.0
    assert follow() == 0
