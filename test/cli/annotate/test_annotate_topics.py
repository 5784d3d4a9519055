# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The numbers of outputs as they stand in messages."""

import numpy as np
import pytest

pytest.importorskip('rosbags')

from screw_dynamics_ros.cli.annotate.annotation import whole_motion
from screw_dynamics_ros.cli.annotate.request import Topics
from screw_dynamics_ros.core import AnnotationSettings, Robot
from screw_dynamics_ros.core.annotation import Annotator
from screw_dynamics_ros.ros.recordings.states import States

LINK = """<link name="{}"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
SLIDING_ARM = f"""<robot name="sliding_arm"><link name="floor"/>{LINK.format('base')}
  <joint name="slide" type="planar"><parent link="floor"/><child link="base"/></joint>
  {LINK.format('arm')}
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>"""


def test_efforts_and_covariances_are_those_of_the_joints_in_joint_states():
    """Three of the four velocities are those of the planar joint."""
    robot = Robot.from_urdf(SLIDING_ARM, backend='reference')
    torques, covariance = np.arange(8.0).reshape(2, 4), np.arange(32.0).reshape(2, 4, 4)
    outputs = {
        'external_torque': torques,
        'external_torque_covariance': covariance,
        'mass_matrix': covariance,
    }
    efforts, of_efforts, mass = Topics(robot, list(outputs)).stacks(outputs)
    np.testing.assert_array_equal(efforts.numbers, torques[:, 3:])
    np.testing.assert_array_equal(of_efforts.numbers, covariance[:, 3:, 3])
    np.testing.assert_array_equal(mass.numbers, covariance.reshape(2, 16))
    for stack in (efforts, of_efforts, mass):
        assert stack.form.count == stack.numbers.shape[1]


def test_planar_joints_are_at_rest_at_their_origin():
    """Joint states cannot contain them; the other joint moves."""
    robot = Robot.from_urdf(SLIDING_ARM, backend='reference')
    annotator = Annotator(robot, ['gravity'], [], {}, AnnotationSettings())
    rng = np.random.default_rng(0)
    stamps, received = np.arange(1, 6) * 10**9, np.arange(5)
    q, v, tau = rng.normal(size=(3, 5, 1))
    states = States(stamps, received, q, v, tau, np.zeros(5, dtype=bool))
    motion = whole_motion(annotator, states)
    np.testing.assert_array_equal(motion.t, stamps)
    assert motion.q.shape == (5, robot.nq)
    np.testing.assert_array_equal(motion.q[:, -1:], q)
    np.testing.assert_array_equal(motion.q[:, :-1], np.tile(robot.neutral()[:-1], (5, 1)))
    np.testing.assert_array_equal(motion.v, np.hstack([np.zeros((5, 3)), v]))
    np.testing.assert_array_equal(motion.tau, np.hstack([np.zeros((5, 3)), tau]))


def test_transforms_are_those_that_joint_states_determine():
    """None of planar joints; those of fixed joints stay."""
    slide = SLIDING_ARM.replace('continuous', 'fixed')
    for text, names, is_static in ((SLIDING_ARM, ('/tf',), False), (slide, (), True)):
        topics = Topics(Robot.from_urdf(text, backend='reference'), ['transforms'])
        assert topics.names == names
        assert (topics.static_transforms(5) is not None) == is_static
