# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms in namespaces with frame prefixes, over DDS: each has its own outputs, and only those.

Both are in one process, and mounted sideways on a torso. Their numbers are those of Pinocchio.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip('pinocchio')

import pinocchio as pin
from geometry_msgs.msg import TwistStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from oracles.pinocchio_model import Pinocchio
from screw_dynamics_ros.core import Robot
from support.robots import urdf_path
from support.ros_harness import ERROR, WARN, Client, vector

SPACES = 'left', 'right'
FILE = """
/left/bringup:
  ros__parameters: {frame_prefix: left_, gravity: [0.0, 9.81, 0.0]}
/right/bringup:
  ros__parameters: {frame_prefix: right_, gravity: [0.0, -9.81, 0.0]}
/left/kinematics:
  ros__parameters: {frames: [tool0]}
/right/kinematics:
  ros__parameters: {frames: [panda_link8]}
"""
LATCHED_BY_BOTH = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
TOPICS = 'dynamics/gravity', 'dynamics/payload', 'dynamics/coriolis'


@dataclass(frozen=True)
class Arm:
    """A robot, its independent model, its client, and the frame of its tool."""

    robot: Robot
    oracle: Pinocchio
    client: Client
    tool: str

    def state(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return positions within limits, and velocities."""
        rng, limits = np.random.default_rng(seed), self.robot.limits
        lower, upper = np.maximum(limits.lower, -3.0), np.minimum(limits.upper, 3.0)
        return rng.uniform(lower, upper), rng.normal(size=self.robot.nv)

    def ask(self, topic: str, seed: int):
        """Return a state and its output."""
        q, v = self.state(seed)
        return q, v, self.client.ask(topic, self.robot.joint_names, q, v)[1]

    def efforts(self, message: JointState) -> np.ndarray:
        """Return torques in the order of the robot."""
        by_name = dict(zip(message.name, message.effort))
        assert set(by_name) == set(self.robot.joint_names)
        return np.array([by_name[name] for name in self.robot.joint_names])


@pytest.fixture(scope='module')
def arms(start, connect, tmp_path_factory):
    file = tmp_path_factory.mktemp('cell') / 'cell.yaml'
    file.write_text(FILE)
    given = ['--params-file', str(file)]
    # /tf is one topic for all robots, here for those of this test.
    for topic in ('/tf', '/tf_static'):
        given += ['-r', f'{topic}:=/cell{topic}']
    shared = {'state_timeout': 0.5}
    node = start('bringup', shared, [*given, '--', *SPACES, '--ros-args'])
    made = []
    for space, name, tool, up in zip(
        SPACES, ('ur5_robot', 'panda'), ('tool0', 'panda_link8'), (9.81, -9.81)
    ):
        text = urdf_path(name).read_text()
        robot = Robot.from_urdf(text, gravity=[0.0, up, 0.0], backend='reference')
        client = connect(space)
        client.describe(text)
        client.subscribe(JointState, *TOPICS)
        client.subscribe(TwistStamped, f'kinematics/twist/{tool}')
        client.subscribe(TFMessage, '/cell/tf')
        client.subscribe(TFMessage, '/cell/tf_static', profile=LATCHED_BY_BOTH)
        made.append(Arm(robot, Pinocchio(text, robot, mimic=True), client, tool))
    yield dict(zip(SPACES, made))
    # Two drivers of one robot that jumps are a conflict.
    for arm in made:
        arm.client.drop_publisher('joint_states')
    node.stop()


def test_torques_are_those_of_the_own_robot(arms):
    """In the motion and with the gravity of each."""
    for seed, space in enumerate(SPACES * 2):
        arm = arms[space]
        q, v, message = arm.ask('dynamics/gravity', seed)
        expected = arm.oracle.gravity_torques(q)
        np.testing.assert_allclose(arm.efforts(message), expected, rtol=1e-9, atol=1e-9)
        q, v, message = arm.ask('dynamics/coriolis', seed)
        expected = arm.oracle.coriolis_torques(q, v)
        np.testing.assert_allclose(arm.efforts(message), expected, rtol=1e-9, atol=1e-9)


def test_frames_have_the_prefix_of_the_robot(arms):
    """Both on /tf, where they compose to the poses of their links; also in other messages."""
    for seed, (space, arm) in enumerate(arms.items()):
        topic = f'kinematics/twist/{arm.tool}'
        _, _, twist = arm.ask(topic, seed)
        assert twist.header.frame_id.removeprefix(f'{space}_') in arm.robot.link_names
        assert twist.header.frame_id.startswith(f'{space}_')
        q, _, moving = arm.ask('/cell/tf', 10 + seed)
        fixed = arm.client.wait(lambda c=arm.client: fixed_frames(c), what='/tf_static of both')
        local = {**fixed, **{each.child_frame_id: each for each in moving.transforms}}
        expected = arm.oracle.link_poses(q)
        for link, pose in zip(arm.robot.link_names, expected):
            found, frame = pin.SE3.Identity(), f'{space}_{link}'
            while frame in local:
                t = local[frame].transform
                r, frame = t.rotation, local[frame].header.frame_id
                turned = pin.Quaternion(r.w, r.x, r.y, r.z)
                found = pin.SE3(turned, vector(t.translation)) * found
            assert frame == f'{space}_{arm.robot.link_names[0]}'
            np.testing.assert_allclose(found.homogeneous, pose, atol=1e-9)


def fixed_frames(client):
    """Return the fixed transforms by child, as soon as both robots have sent theirs."""
    found = {
        each.child_frame_id: each
        for message in client.received['/cell/tf_static']
        for each in message.transforms
    }
    return found if {name.partition('_')[0] for name in found} == set(SPACES) else None


def test_a_payload_belongs_to_one_robot(arms):
    srv = pytest.importorskip('screw_dynamics_msgs.srv')
    left, right = arms['left'], arms['right']
    request = srv.SetPayload.Request(name='box', link=left.tool)
    request.inertia.header.frame_id = f'left_{left.tool}'
    request.inertia.inertia.m = 2.0
    response = left.client.call(srv.SetPayload, 'bringup/set_payload', request)
    assert response.success, response.message
    loaded = Pinocchio(urdf_path('ur5_robot').read_text(), left.robot, mimic=True)
    loaded.carry(left.tool, 2.0, np.zeros(3), np.zeros((3, 3)))
    q, _, message = left.ask('dynamics/payload', 20)
    still = left.client.ask('dynamics/payload', left.robot.joint_names, q, 0.0 * q)[1]
    expected = loaded.gravity_torques(q) - left.oracle.gravity_torques(q)
    np.testing.assert_allclose(left.efforts(still), expected, rtol=1e-9, atol=1e-9)
    assert np.abs(left.efforts(message)).max() > 1.0
    _, _, message = right.ask('dynamics/payload', 21)
    assert not right.efforts(message).any()
    clear = srv.ClearPayload.Request()
    assert left.client.call(srv.ClearPayload, 'bringup/clear_payload', clear).success


def test_a_driver_that_stops_stops_its_own_outputs_only(arms):
    left, right = arms['left'], arms['right']
    left.ask('dynamics/gravity', 30)
    seed = iter(range(40, 100_000))

    def send():
        q, v = right.state(next(seed))
        right.client.send(right.robot.joint_names, q, v)

    own = 'left/bringup: joint states'
    left.client.expect(own, ERROR, 'no joint state for', meanwhile=send)
    before = list(left.client.received['dynamics/gravity'])
    right.client.expect('right/bringup: joint states', WARN, 'an effort is missing', meanwhile=send)
    q, _, message = right.ask('dynamics/gravity', 31)
    expected = right.oracle.gravity_torques(q)
    np.testing.assert_allclose(right.efforts(message), expected, rtol=1e-9, atol=1e-9)
    assert left.client.received['dynamics/gravity'] == before
    q, _, message = left.ask('dynamics/gravity', 32)  # its driver returns
    expected = left.oracle.gravity_torques(q)
    np.testing.assert_allclose(left.efforts(message), expected, rtol=1e-9, atol=1e-9)
