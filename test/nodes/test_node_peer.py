# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node with Pinocchio that `bringup` is measured beside publishes the same numbers."""

import sys

import numpy as np
import pytest

pytest.importorskip('pinocchio')

import rclpy
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core import Robot
from support.paths import ROOT
from support.robots import urdf_path

ARM = slice(0, 7)  # it takes the two fingers for joints of their own


def test_the_peer_of_the_benchmark_does_the_same_work(ros_domain, monkeypatch):
    monkeypatch.setattr(sys, 'path', [*sys.path, str(ROOT / 'benchmarks')])
    import pinocchio_node as peer

    text = urdf_path('panda').read_text()
    robot, rng = Robot.from_urdf(text, backend='reference'), np.random.default_rng(1)
    q, v, tau = 0.5 * rng.normal(size=(3, 8))
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=ros_domain)
    node = rclpy.create_node('peer', context=context)
    made = peer.ModelNode(node, text)
    made.heard = made.outputs
    message = JointState(
        name=robot.joint_names[::-1],
        position=q[::-1].tolist(),
        velocity=v[::-1].tolist(),
        effort=tau[::-1].tolist(),
    )
    message.header.stamp.sec = 5
    made.receive(message)
    out = {publisher.topic_name: each for publisher, each, _ in made.outputs}
    assert set(out) == set(peer.TOPICS)

    def efforts(topic):
        return np.array(out[topic].effort)[ARM]

    def matrix(topic, *shape):
        return np.array(out[topic].data).reshape(shape)

    gravity, coriolis = robot.gravity_torques(q)[ARM], robot.coriolis_torques(q, v)[ARM]
    np.testing.assert_allclose(efforts('/dynamics/gravity'), gravity, atol=1e-10)
    np.testing.assert_allclose(efforts('/dynamics/coriolis'), coriolis, atol=1e-10)
    np.testing.assert_allclose(
        efforts('/wrench_estimator/external_torque'), gravity + coriolis - tau[ARM], atol=1e-10
    )
    mass = matrix('/dynamics/mass_matrix', 9, 9)
    np.testing.assert_allclose(mass, mass.T)
    np.testing.assert_allclose(mass[ARM, ARM], robot.mass_matrix(q)[ARM, ARM], atol=1e-10)
    jacobian = matrix(f'/kinematics/jacobian/{peer.FRAME}', 6, 9)[[3, 4, 5, 0, 1, 2], :8]
    np.testing.assert_allclose(jacobian, robot.jacobian(q, peer.FRAME), atol=1e-12)
    for each in out['/tf'].transforms:
        parent = robot.link_pose(q, each.header.frame_id)
        expected = np.linalg.solve(parent, robot.link_pose(q, each.child_frame_id))
        t = each.transform.translation
        np.testing.assert_allclose([t.x, t.y, t.z], expected[:3, 3], atol=1e-12)
        assert each.header.stamp.sec == 5
    assert len(out['/tf'].transforms) == len(robot.transform_joints)
    node.destroy_node()
    rclpy.shutdown(context=context)
