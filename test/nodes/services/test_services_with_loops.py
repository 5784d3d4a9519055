# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Typed services for a robot with loops, without ROS running: those of its motors (C-008 to C-010).

The oracle is `ClosedRobot`, whose tests have their own; what is tested here is which joints count,
from where loops are closed, and what is refused.
"""

import copy

import numpy as np
import pytest

pytest.importorskip('screw_dynamics_msgs.srv._filter_twist')

from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState

from screw_dynamics_msgs import srv
from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.errors import InfeasibleConstraintsError, SingularClosureError
from screw_dynamics_ros.core.lie import quaternions, se3
from screw_dynamics_ros.core.mechanisms.closures import ClosedRobot, LoopClosures
from screw_dynamics_ros.core.mechanisms.closures.example_loops import golden_four_bar
from screw_dynamics_ros.nodes.model.closed_loops import RobotWithLoops
from screw_dynamics_ros.nodes.services import dynamics_services as dynamics
from screw_dynamics_ros.nodes.services import kinematics_services as kinematics
from screw_dynamics_ros.nodes.services.inverse_kinematics import filter_twist, inverse_kinematics
from screw_dynamics_ros.nodes.services.requests import RequestContext, pickled, service_model
from screw_dynamics_ros.ros.joint_states.requested_state import JointState as Measured
from screw_dynamics_ros.ros.messages.conversions import pose, swap_linear_angular
from support.closed_chains import delta_gripper
from support.messages import wrench_message

Q, V, A = np.array([0.4, 0.6, 0.2]), np.array([0.5, -0.3, 0.8]), np.array([2.0, -1.0, 3.0])
CUP, ROD = 'cup', 'rod_2'


@pytest.fixture(scope='module')
def closed() -> ClosedRobot:
    return delta_gripper()


@pytest.fixture(scope='module')
def robot(closed) -> RobotWithLoops:
    return RobotWithLoops(closed.robot.description, closed.loops, backend='reference')


def asked(robot, query, request, response, measured=None):
    """Return the response of a service to a request."""
    situation = RequestContext(pickled(robot), robot.gravity, '', measured)
    query(service_model(situation), request, response)
    return response


def state_message(closed, q=Q, **fields):
    return JointState(name=list(closed.joint_names), position=list(q), **fields)


def measured_state(closed, q, v) -> Measured:
    """Return the state of all joints as a node measures and completes it."""
    state = closed.state(q, v)
    return Measured(state.q, state.v, np.zeros_like(state.q), np.zeros_like(state.q), 7)


def test_a_robot_with_loops_can_be_copied(robot):
    """Requests are answered in another process: the robot goes there with its loops."""
    other = copy.copy(robot)
    assert other.closed.joint_names == robot.closed.joint_names
    np.testing.assert_array_equal(other.closed.assembly, robot.closed.assembly)
    np.testing.assert_array_equal(other.gravity, robot.gravity)


def test_frames_of_the_closed_mechanism(robot, closed):
    """All links, where the loops are closed, with their twists (C-008, C-009)."""
    request = srv.ForwardKinematics.Request(joint_state=state_message(closed, velocity=list(V)))
    answer = asked(robot, kinematics.forward_kinematics, request, srv.ForwardKinematics.Response())
    assert [each.child_frame_id for each in answer.transforms] == list(robot.link_names)
    whole = closed.state(Q, V)
    assert list(answer.joint_state.name) == list(robot.joint_names)
    np.testing.assert_allclose(answer.joint_state.position, whole.q, atol=1e-9)
    np.testing.assert_allclose(answer.joint_state.velocity, whole.v, atol=1e-9)
    for transform, twist in zip(answer.transforms, answer.twists):
        link = transform.child_frame_id
        x, r = transform.transform.translation, transform.transform.rotation
        C = se3.pose(quaternions.to_matrix([r.x, r.y, r.z, r.w]), [x.x, x.y, x.z])
        np.testing.assert_allclose(C, closed.link_pose(Q, link), atol=1e-9)
        linear, angular = twist.twist.linear, twist.twist.angular
        found = [angular.x, angular.y, angular.z, linear.x, linear.y, linear.z]
        np.testing.assert_allclose(found, closed.velocity(Q, V, link), atol=1e-9)


def test_jacobian_of_the_motors(robot, closed):
    """J G, a column for each motor (C-010)."""
    request = srv.Jacobian.Request(joint_state=state_message(closed), frame=CUP)
    answer = asked(robot, kinematics.jacobian, request, srv.Jacobian.Response())
    assert list(answer.joint_names) == list(closed.joint_names)
    expected = swap_linear_angular(closed.jacobian(Q, CUP))
    np.testing.assert_allclose(np.reshape(answer.jacobian, (6, 3)), expected, atol=1e-12)


def push(link, force):
    return wrench_message(link, force)


def test_torques_accelerations_and_mass_matrix_of_the_motors(robot, closed):
    """Of the core with the same wrench; forward and inverse dynamics undo each other (C-010)."""
    force = (1.0, -2.0, 3.0)
    moving = state_message(closed, velocity=list(V))
    request = srv.InverseDynamics.Request(
        joint_state=moving, acceleration=list(A), external_wrenches=[push(ROD, force)]
    )
    found = asked(robot, dynamics.inverse_dynamics, request, srv.InverseDynamics.Response())
    assert list(found.joint_names) == list(closed.joint_names)
    tau = closed.inverse_dynamics(Q, V, A, {ROD: [0, 0, 0, *force]})
    np.testing.assert_allclose(found.effort, tau, atol=1e-10)
    moving.effort = tau.tolist()
    request = srv.ForwardDynamics.Request(joint_state=moving, external_wrenches=[push(ROD, force)])
    answer = asked(robot, dynamics.forward_dynamics, request, srv.ForwardDynamics.Response())
    np.testing.assert_allclose(answer.acceleration, A, atol=1e-7)
    request = srv.MassMatrix.Request(joint_state=state_message(closed))
    answer = asked(robot, dynamics.mass_matrix, request, srv.MassMatrix.Response())
    M = np.reshape(answer.mass_matrix, (3, 3))
    np.testing.assert_allclose(M, closed.mass_matrix(Q), atol=1e-12)


def test_motors_that_are_left_out_are_where_they_were_measured(robot, closed):
    """The loops are closed from the measured state then; without one the motor is asked for."""
    measured = measured_state(closed, Q, V)
    message = JointState(name=[closed.joint_names[1]], position=[0.3])
    request = srv.MassMatrix.Request(joint_state=message)
    answer = asked(robot, dynamics.mass_matrix, request, srv.MassMatrix.Response(), measured)
    M = np.reshape(answer.mass_matrix, (3, 3))
    np.testing.assert_allclose(M, closed.mass_matrix([Q[0], 0.3, Q[2]]), atol=1e-10)
    with pytest.raises(ArgumentError, match='does not name shoulder_joint_1, shoulder_joint_3'):
        asked(robot, dynamics.mass_matrix, request, srv.MassMatrix.Response())


def test_passive_joints_follow(robot, closed):
    """They may be named beside all motors, as joint states have them, and not instead of any."""
    names = [*closed.joint_names, *closed.passive, 'wrist_joint_2']
    message = JointState(name=names, position=[*Q, *[9.0] * (len(names) - 3)])
    request = srv.MassMatrix.Request(joint_state=message)
    answer = asked(robot, dynamics.mass_matrix, request, srv.MassMatrix.Response())
    expected = closed.mass_matrix(Q).reshape(-1)
    np.testing.assert_allclose(answer.mass_matrix, expected, atol=1e-12)
    request.joint_state = JointState(name=['elbow_joint_1'], position=[1.9])
    with pytest.raises(ArgumentError, match='names elbow_joint_1, which the motors determine'):
        asked(
            robot,
            dynamics.mass_matrix,
            request,
            srv.MassMatrix.Response(),
            measured_state(closed, Q, V),
        )
    request.joint_state = JointState(name=['elbow'], position=[1.9])
    with pytest.raises(UnknownNameError, match="'elbow'"):
        asked(robot, dynamics.mass_matrix, request, srv.MassMatrix.Response())


def test_inverse_kinematics_for_motors(robot, closed):
    """Positions of the motors that bring the cup to a pose, in the frame of any link."""
    target = closed.link_pose(Q, CUP)
    message = PoseStamped()
    message.header.frame_id = 'arm_1'
    start = [0.5, 0.4, 0.3]
    x, y, z, *quaternion = pose(se3.inverse(closed.link_pose(start, 'arm_1')) @ target)
    p, r = message.pose.position, message.pose.orientation
    p.x, p.y, p.z, (r.x, r.y, r.z, r.w) = x, y, z, quaternion
    request = srv.InverseKinematics.Request(
        joint_state=state_message(closed, start), frames=[CUP], targets=[message]
    )
    answer = asked(robot, inverse_kinematics, request, srv.InverseKinematics.Response())
    assert answer.success, answer.message
    assert list(answer.solution.name) == list(closed.joint_names)
    np.testing.assert_allclose(answer.solution.position, Q, atol=1e-7)
    request.method = request.ALL
    with pytest.raises(ArgumentError, match=r'all solutions: not for robots with loops.*NUMERIC'):
        asked(robot, inverse_kinematics, request, srv.InverseKinematics.Response())
    request.method, request.frames = request.NUMERIC, [CUP, 'arm_1']
    request.targets = [message, message]
    with pytest.raises(ArgumentError, match=r'several links at once: not for robots with loops'):
        asked(robot, inverse_kinematics, request, srv.InverseKinematics.Response())


def test_contact_in_the_frame_of_another_link(robot, closed):
    """`filter_twist` knows where the links of a closed mechanism are (C-046)."""
    request = srv.FilterTwist.Request(
        joint_state=state_message(closed), length=0.1, wrenches=[push('arm_1', (0.0, 0.0, 1.0))]
    )
    request.twist.header.frame_id, request.twist.twist.linear.z = CUP, -0.1
    answer = asked(robot, filter_twist, request, srv.FilterTwist.Response())
    linear, angular = answer.twist.twist.linear, answer.twist.twist.angular
    t = [angular.x, angular.y, angular.z, linear.x, linear.y, linear.z]
    to_arm = se3.inverse(closed.link_pose(Q, 'arm_1')) @ closed.link_pose(Q, CUP)
    assert (se3.Ad(to_arm) @ t)[5] == pytest.approx(0.0, abs=1e-12)
    assert np.abs(t).max() > 0.01
    request.policy, request.period = request.SCALE, 0.01
    with pytest.raises(ArgumentError, match='policies near singularities: not for robots'):
        asked(robot, filter_twist, request, srv.FilterTwist.Response())


@pytest.mark.parametrize(
    ('query', 'kind', 'remedy'),
    [
        (dynamics.hybrid_dynamics, srv.HybridDynamics, r'ClosedRobot\.hybrid_dynamics'),
        (dynamics.linearize, srv.Linearize, 'differences of forward_dynamics'),
        (dynamics.annotate_trajectory, srv.AnnotateTrajectory, 'inverse_dynamics for each point'),
        (dynamics.payload_capacity, srv.PayloadCapacity, 'inverse_dynamics with the weight'),
        (kinematics.calibrate, srv.Calibrate, 'send the robot_description'),
    ],
)
def test_what_is_known_of_trees_only_is_refused(robot, query, kind, remedy):
    with pytest.raises(ArgumentError, match=rf'parameter loop_closures.*only for trees.*{remedy}'):
        asked(
            robot,
            query,
            kind.Request(frame=CUP) if query is kinematics.calibrate else kind.Request(),
            kind.Response(),
        )


def test_states_out_of_reach_and_singular_ones():
    """Named with the motors; poses exist in a singular configuration, rates do not (C-011)."""
    linkage = golden_four_bar()
    positions = dict(zip(linkage.robot.joint_names, linkage.assembly))
    loops = LoopClosures(linkage.loops.closures, ['rocker_joint'], positions=positions)
    robot = RobotWithLoops(linkage.robot.description, loops, backend='reference')
    aligned = np.arccos((4.5**2 - 4**2 - 3**2) / (2 * 4 * 3))  # crank and coupler in one line
    request = srv.Jacobian.Request(frame='coupler')
    frames = srv.ForwardKinematics.Request(frames=['coupler'])
    for angle, error in ((0.2, InfeasibleConstraintsError), (aligned, SingularClosureError)):
        message = JointState(name=['rocker_joint'], position=[angle])
        request.joint_state = frames.joint_state = message
        with pytest.raises(error, match=f'at rocker_joint = {angle:.6g}'):
            asked(robot, kinematics.jacobian, request, srv.Jacobian.Response())
    answer = asked(robot, kinematics.forward_kinematics, frames, srv.ForwardKinematics.Response())
    assert len(answer.transforms) == 1
    assert not answer.joint_state.velocity
    frames.joint_state.velocity = [1.0]
    with pytest.raises(SingularClosureError, match='at rocker_joint'):
        asked(robot, kinematics.forward_kinematics, frames, srv.ForwardKinematics.Response())


def test_trees_are_as_they_were(closed):
    """Without loops all joints count, and there is nothing to close."""
    tree = Robot(closed.robot.description, backend='reference')
    q = closed.assembly
    message = JointState(name=list(tree.joint_names), position=q.tolist())
    request = srv.MassMatrix.Request(joint_state=message)
    answer = asked(tree, dynamics.mass_matrix, request, srv.MassMatrix.Response())
    np.testing.assert_allclose(
        answer.mass_matrix, tree.mass_matrix(q).reshape(-1), rtol=1e-12, atol=1e-14
    )
