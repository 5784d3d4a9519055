# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A node with a robot on a floating base, and the same robot in Pinocchio."""

import numpy as np
import pinocchio as pin
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from scipy.spatial.transform import Rotation

from support.host_bench import Bench, Outputs, serialized
from support.messages import write, write_stamp

S, MS = 10**9, 10**6
SWAPPED = [3, 4, 5, 0, 1, 2]


class FreeModel:
    """A robot on a floating base in Pinocchio, in a random state."""

    def __init__(self, text, joints):
        self.joints = joints
        self.model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
        self.data = self.model.createData()
        self.root = self.model.frames[2].name
        rng = np.random.default_rng(3)
        n = len(joints)
        self.q, self.v = rng.uniform(-1.0, 1.0, n), rng.uniform(-1.0, 1.0, n)
        self.R = Rotation.from_rotvec(rng.normal(size=3))
        self.p, self.twist = rng.normal(size=3), rng.normal(size=6)  # angular part first

    def odometry(self, stamp, frame=None, R=None, p=None, twist=None):
        """Return pose and twist of a frame of the robot."""
        message = Odometry(child_frame_id=frame or self.root)
        write_stamp(message, stamp)
        pose, speed = message.pose.pose, message.twist.twist
        write(pose.orientation, 'xyzw', (self.R if R is None else R).as_quat())
        write(pose.position, 'xyz', self.p if p is None else p)
        V = self.twist if twist is None else twist
        write(speed.angular, 'xyz', V[:3])
        write(speed.linear, 'xyz', V[3:])
        return message

    def moved(self, seconds):
        """Return the pose after a motion with the body twist."""
        motion = pin.exp6(pin.Motion(self.twist[SWAPPED] * seconds))
        C = pin.SE3(self.R.as_matrix(), self.p) * motion
        return {'R': Rotation.from_matrix(C.rotation), 'p': C.translation}

    @property
    def order(self):
        """Places of our velocities in those of Pinocchio."""
        joints = [self.model.joints[self.model.getJointId(name)].idx_v for name in self.joints]
        return [*SWAPPED, *joints]

    def state(self, R=None, p=None, twist=None):
        """Return its q and v."""
        R, p = self.R if R is None else R, self.p if p is None else p
        twist = self.twist if twist is None else twist
        x, w = np.zeros(self.model.nq), np.zeros(self.model.nv)
        x[:7] = np.concatenate([p, R.as_quat()])
        w[:6] = twist[SWAPPED]
        for name, q, v in zip(self.joints, self.q, self.v):
            joint = self.model.joints[self.model.getJointId(name)]
            x[joint.idx_q : joint.idx_q + joint.nq] = q if joint.nq == 1 else (np.cos(q), np.sin(q))
            w[joint.idx_v] = v
        return x, w

    def expected(self, **state):
        """Return the numbers of some topics."""
        x, w = self.state(**state)
        model, data, order = self.model, self.data, self.order
        M = pin.crba(model, data, x)
        M = np.triu(M) + np.triu(M, 1).T
        bias = pin.nonLinearEffects(model, data, x, w)
        gravity = pin.computeGeneralizedGravity(model, data, x)
        momentum = pin.computeCentroidalMomentum(model, data, x, w)
        com = pin.centerOfMass(model, data, x, w)
        return {
            'dynamics/mass_matrix': M[np.ix_(order, order)].ravel(),
            'dynamics/gravity': gravity[order[6:]],
            'dynamics/coriolis': (bias - gravity)[order[6:]],
            'dynamics/momentum': np.concatenate([momentum.linear, momentum.angular]),
            'dynamics/center_of_mass': np.concatenate([com, data.vcom[0]]),
            'dynamics/base_wrench': bias[:6],
        }

    def jacobian(self, link):
        """Return the Jacobian of a link in axes of the world, linear part first."""
        x, _ = self.state()
        frame = self.model.getFrameId(link, pin.BODY)
        J = pin.computeFrameJacobian(self.model, self.data, x, frame, pin.LOCAL_WORLD_ALIGNED)
        return J[:, self.order]


class FreeRobot(FreeModel):
    """A node with a robot on a floating base, and the same robot in Pinocchio."""

    def __init__(self, monkeypatch, path, **parameters):
        self.text = path.read_text()
        self.bench = Bench(monkeypatch, Outputs, 'all', **{'base_source': 'odometry', **parameters})
        self.bench.describe(self.text)
        self.host = self.bench.host
        assert self.host.model is not None, self.host.source.descriptions.reason
        super().__init__(self.text, self.host.mapper.joints)

    def measured(self, stamp, *arguments, **state):
        """Send pose and twist of a frame of the robot."""
        self.host.base_source.receive_odometry(self.odometry(stamp, *arguments, **state))

    def joint_state(self, stamp, tau=None):
        """Send a joint state; return the messages by topic."""
        self.bench.sent.clear()
        self.host.states.receive(serialized(self.joints, self.q, stamp, self.v, tau), {})
        kinds = {each.topic: each.publisher.msg_type for each in self.host.states.channels}
        return {
            topic.removeprefix('/life/'): deserialize_message(data, kinds[topic])
            for topic, data in self.bench.sent
        }

    def now(self):
        return self.bench.clock.time_ns()

    def status(self):
        return self.host.payload_status()


def in_equilibrium(made, wrenches):
    """Return torques of joints for contact wrenches (linear first), and what the base lacks."""
    x, _ = made.state()
    forces = pin.computeGeneralizedGravity(made.model, made.data, x)
    for foot, wrench in wrenches.items():
        frame = made.model.getFrameId(foot, pin.BODY)
        J = pin.computeFrameJacobian(made.model, made.data, x, frame, pin.LOCAL)
        forces = forces - J.T @ wrench
    return forces[made.order[6:]], forces[:6]


def standing(made, feet):
    """Return forces of feet, as wrenches, that carry the robot at rest in its configuration."""
    x, _ = made.state()
    gravity = pin.computeGeneralizedGravity(made.model, made.data, x)[:6]
    columns = []
    for foot in feet:
        frame = made.model.getFrameId(foot, pin.BODY)
        J = pin.computeFrameJacobian(made.model, made.data, x, frame, pin.LOCAL)
        columns.append(J[:3, :6].T)
    forces = np.linalg.lstsq(np.hstack(columns), gravity, rcond=None)[0].reshape(-1, 3)
    return {foot: np.pad(force, (0, 3)) for foot, force in zip(feet, forces)}


def numbers(message):
    """Return the numbers of a message."""
    if hasattr(message, 'effort'):
        return np.array(message.effort)
    if hasattr(message, 'wrench'):
        parts = message.wrench.force, message.wrench.torque
        return np.array([getattr(part, axis) for part in parts for axis in 'xyz'])
    return np.array(message.data)


def check(made, sent, **state):
    for topic, value in made.expected(**state).items():
        scale = max(1.0, np.abs(value).max())
        np.testing.assert_allclose(numbers(sent[topic]), value, atol=1e-10 * scale, err_msg=topic)
