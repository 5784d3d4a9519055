# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Laws that are right, wrong, slow and hostile replace each other while torques are commanded.

`test/endurance/law_trials.py` does it 2000 times with 300 laws, and measures delays and memory.
"""

import rclpy
from std_msgs.msg import String

from screw_dynamics_ros.core import Robot
from support.law_trials import PARAMETERS, LawTrial, random_laws
from support.robots import urdf_path
from support.ros_harness import LATCHED, OK

LAWS = 30


def test_random_laws(start, ros_domain, tmp_path):
    """Each is used, or refused with its line; torques stay within their limits and never end."""
    text = urdf_path('planar_2r').read_text()
    path, context = tmp_path / 'laws.py', rclpy.Context()
    rclpy.init(context=context, domain_id=ros_domain)
    node = rclpy.create_node('trial', context=context, enable_rosout=False)
    laws = random_laws(LAWS, seed=3)
    hanging = random_laws(50, seed=4)[-1]
    trial = LawTrial(node, Robot.from_urdf(text), path, 0.01)
    before = trial.write(laws[0])
    parameters = {'law': f'{path}:own', 'law_timeout': 20.0, 'age_limit': 10.0, **PARAMETERS}
    process = start('controller', parameters)
    node.create_publisher(String, 'robot_description', LATCHED).publish(String(data=text))
    trial.drive(lambda: trial.is_commanded(before), 'the first law')
    for law in laws:
        before = trial.swap(law, before)
    before = trial.swap(hanging, before)
    counts = trial.counts
    assert (counts.accepted, counts.refused) == (20, 11)
    assert (counts.beyond_limits, counts.too_fast) == (0, 0)
    assert trial.reports['faults'][0] == OK
    assert process.process.poll() is None
    node.destroy_node()
    rclpy.shutdown(context=context)
