# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A node that an expert would write with Pinocchio and rclpy: the topics of `bringup`.

One call of Pinocchio computes all terms (`computeAllTerms`); messages are made once and changed,
numbers are arrays; executor, profiles of the middleware and quality of service are those of our
nodes. Topics without subscribers are left out. There are no policies for bad joint states, no
limits, no diagnostics, no observer, no markers and no measures of singularity.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import rclpy
from geometry_msgs.msg import TransformStamped, TwistStamped, WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.ros.process.executor import spin, start
from screw_dynamics_ros.ros.process.scheduling import use_real_time
from screw_dynamics_ros.ros.topics.qos import JOINT_STATES, OUTPUT

FRAME = 'panda_hand_tcp'
#: What it publishes.
TOPICS = (
    '/tf',
    f'/kinematics/jacobian/{FRAME}',
    f'/kinematics/twist/{FRAME}',
    '/dynamics/gravity',
    '/dynamics/coriolis',
    '/dynamics/feedforward',
    '/dynamics/joint_command',
    '/dynamics/commands',
    '/dynamics/mass_matrix',
    '/dynamics/energy',
    '/dynamics/momentum',
    '/wrench_estimator/external_torque',
    f'/wrench_estimator/wrench/{FRAME}',
)
MIMIC = {'panda_finger_joint2': 'panda_finger_joint1'}
RATE_OF_LOOKS = 0.1  # s between looks for subscribers


class ModelNode:
    """Computes and publishes, for each joint state, the outputs with subscribers."""

    def __init__(self, node: Any, urdf: str) -> None:
        self.model = pin.buildModelFromXML(urdf)
        self.data = self.model.createData()
        self.names = [n for n in list(self.model.names)[1:] if n not in MIMIC]
        places = {name: self.model.joints[self.model.getJointId(name)].idx_q for name in self.names}
        self.places = np.array([places[name] for name in self.names])
        self.followers = [
            (self.model.joints[self.model.getJointId(a)].idx_q, places[b]) for a, b in MIMIC.items()
        ]
        self.q, self.v = np.zeros(self.model.nq), np.zeros(self.model.nv)
        self.tau = np.zeros(self.model.nv)
        self.order: tuple[list[str], np.ndarray] = ([], np.zeros(0, dtype=int))
        self.frame = self.model.getFrameId(FRAME)
        self.outputs: list[tuple[Any, Any, Callable[[], None]]] = []
        self.heard: list[tuple[Any, Any, Callable[[], None]]] = []
        self.make_outputs(node)
        node.create_subscription(JointState, 'joint_states', self.receive, JOINT_STATES)
        node.create_timer(RATE_OF_LOOKS, self.look)

    def look(self) -> None:
        """Determine the outputs with subscribers."""
        self.heard = [each for each in self.outputs if each[0].get_subscription_count()]

    def receive(self, message: JointState) -> None:
        """Take positions, velocities and efforts by name; compute; publish."""
        if message.name != self.order[0]:
            self.order = message.name, np.array([message.name.index(n) for n in self.names])
        source, places = self.order[1], self.places
        q, v, tau = self.q, self.v, self.tau
        q[places] = np.frombuffer(message.position)[source]
        v[places] = np.frombuffer(message.velocity)[source]
        tau[places] = np.frombuffer(message.effort)[source]
        for follower, master in self.followers:
            q[follower], v[follower], tau[follower] = q[master], v[master], tau[master]
        pin.computeAllTerms(self.model, self.data, q, v)
        pin.updateFramePlacement(self.model, self.data, self.frame)
        self.J = pin.getFrameJacobian(
            self.model, self.data, self.frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        self.external = self.data.nle - tau
        stamp = message.header.stamp
        for publisher, out, fill in self.heard:
            fill()
            header = getattr(out, 'header', None)
            if header is not None:
                header.stamp = stamp
            elif hasattr(out, 'transforms'):
                for transform in out.transforms:
                    transform.header.stamp = stamp
            publisher.publish(out)

    # --- outputs --------------------------------------------------------------------------------

    def make_outputs(self, node: Any) -> None:
        """Make publishers and messages."""
        n = self.model.nv
        self.add_transforms(node)
        self.add_matrix(node, f'/kinematics/jacobian/{FRAME}', 6, n, lambda: self.J)
        self.add_twist(node)
        data = self.data
        self.add_efforts(node, '/dynamics/gravity', lambda: data.g)
        self.add_efforts(node, '/dynamics/coriolis', lambda: data.nle - data.g)
        self.add_efforts(node, '/dynamics/feedforward', lambda: data.nle)
        self.add_efforts(node, '/dynamics/joint_command', lambda: data.nle)
        self.add_matrix(node, '/dynamics/commands', 1, n, lambda: data.nle)
        self.add_matrix(node, '/dynamics/mass_matrix', n, n, self.mass_matrix)
        self.add_matrix(
            node,
            '/dynamics/energy',
            1,
            2,
            lambda: np.array([data.kinetic_energy, data.potential_energy]),
        )
        self.add_matrix(node, '/dynamics/momentum', 1, 6, lambda: data.hg.vector)
        self.add_efforts(node, '/wrench_estimator/external_torque', lambda: self.external)
        self.add_wrench(node)

    def mass_matrix(self) -> np.ndarray:
        """Return the whole matrix: Pinocchio computes one half."""
        M = self.data.M
        lower = np.tril_indices(len(M), -1)
        M[lower] = M.T[lower]
        return M

    def add_efforts(self, node: Any, topic: str, values: Callable[[], np.ndarray]) -> None:
        """Add a JointState with efforts."""
        out = JointState(name=list(self.model.names)[1:])
        out.effort = array('d', bytes(8 * self.model.nv))
        buffer = np.frombuffer(out.effort)

        def fill() -> None:
            buffer[:] = values()

        self.outputs.append((node.create_publisher(JointState, topic, OUTPUT), out, fill))

    def add_matrix(
        self, node: Any, topic: str, rows: int, columns: int, values: Callable[[], np.ndarray]
    ) -> None:
        """Add a Float64MultiArray."""
        out = Float64MultiArray()
        out.data = array('d', bytes(8 * rows * columns))
        buffer = np.frombuffer(out.data).reshape(rows, columns)

        def fill() -> None:
            buffer[:] = values()

        self.outputs.append((node.create_publisher(Float64MultiArray, topic, OUTPUT), out, fill))

    def add_twist(self, node: Any) -> None:
        """Add the twist of the tool."""
        out = TwistStamped()
        out.header.frame_id = 'panda_link0'
        linear, angular = out.twist.linear, out.twist.angular

        def fill() -> None:
            twist = (self.J @ self.v).tolist()
            linear.x, linear.y, linear.z, angular.x, angular.y, angular.z = twist

        publisher = node.create_publisher(TwistStamped, f'/kinematics/twist/{FRAME}', OUTPUT)
        self.outputs.append((publisher, out, fill))

    def add_wrench(self, node: Any) -> None:
        """Add the wrench at the tool, in its axes, least squares."""
        out = WrenchStamped()
        out.header.frame_id = FRAME
        force, torque = out.wrench.force, out.wrench.torque

        def fill() -> None:
            J = pin.getFrameJacobian(self.model, self.data, self.frame, pin.ReferenceFrame.LOCAL)
            A = J @ J.T
            A[np.diag_indices(6)] += 1e-9
            wrench = np.linalg.solve(A, J @ self.external).tolist()
            force.x, force.y, force.z, torque.x, torque.y, torque.z = wrench

        publisher = node.create_publisher(
            WrenchStamped, f'/wrench_estimator/wrench/{FRAME}', OUTPUT
        )
        self.outputs.append((publisher, out, fill))

    def add_transforms(self, node: Any) -> None:
        """Add the transforms of all joints."""
        out = TFMessage()
        parts = []
        for joint in range(1, self.model.njoints):
            frame = self.model.frames[self.model.getFrameId(self.model.names[joint])]
            parent = self.model.frames[frame.parentFrame]
            child = next(
                each
                for k, each in enumerate(self.model.frames)
                if each.type == pin.FrameType.BODY
                and each.parentFrame == self.model.getFrameId(self.model.names[joint])
            )
            transform = TransformStamped(child_frame_id=child.name)
            transform.header.frame_id = parent.name
            out.transforms.append(transform)
            parts.append((joint, parent.placement.inverse(), transform.transform))
        data = self.data

        def fill() -> None:
            for joint, before, transform in parts:
                x, y, z, qx, qy, qz, qw = pin.SE3ToXYZQUAT(before * data.liMi[joint]).tolist()
                t, r = transform.translation, transform.rotation
                t.x, t.y, t.z = x, y, z
                r.x, r.y, r.z, r.w = qx, qy, qz, qw

        self.outputs.append((node.create_publisher(TFMessage, '/tf', OUTPUT), out, fill))


def main() -> None:
    """Run the node: `pinocchio_node.py URDF PRIORITY`."""
    urdf, priority = Path(sys.argv[1]).read_text(encoding='utf-8'), int(sys.argv[2])
    start()  # with the profiles
    node = rclpy.create_node('pinocchio_node')
    made = ModelNode(node, urdf)
    if priority:
        use_real_time(priority)
    made.look()
    spin([node])


if __name__ == '__main__':
    main()
