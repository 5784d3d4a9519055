# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One solution of an arm with a closed form: the branch nearest to the start.

Poses and solutions are compared with those of Pinocchio. Spec IDs: C-101, C-102.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.arms.families.branches import NearestBranch
from screw_dynamics_ros.core.arms.inverse import position
from screw_dynamics_ros.core.description import Joint, Limits, Link
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from support import arm_321
from support.arms import arm

pin = pytest.importorskip('pinocchio')
TURN = 2.0 * np.pi


class Peer:
    """An arm of Pinocchio, and Newton's method with its Jacobians."""

    def __init__(self, robot: Robot, tool: str) -> None:
        self.model = pin.buildModelFromXML(write_urdf(robot.description))
        self.data, self.frame = self.model.createData(), self.model.getFrameId(tool)

    def pose(self, q: np.ndarray) -> np.ndarray:
        pin.framesForwardKinematics(self.model, self.data, q)
        return self.data.oMf[self.frame].homogeneous

    def solved(self, C: np.ndarray, q: np.ndarray) -> np.ndarray | None:
        """Return what damped steps from a configuration lead to."""
        for _ in range(30):
            e = pin.log6(pin.SE3(self.pose(q)).actInv(pin.SE3(C))).vector
            if np.abs(e).max() < 1e-11:
                return q
            J = pin.computeFrameJacobian(self.model, self.data, q, self.frame, pin.LOCAL)
            damping = 1e-2 * (e @ e) + 1e-12
            q = q + np.linalg.solve(J.T @ J + damping * np.eye(6), J.T @ e)
        return None


def missed(C: np.ndarray, target: np.ndarray) -> float:
    """Return angle [rad] and distance [m] between two poses in one norm."""
    return float(np.linalg.norm(pin.log6(pin.SE3(C).actInv(pin.SE3(target))).vector))


@cache
def robot_of(name: str) -> tuple[Robot, str, Peer]:
    described = arm(name)
    robot = described.robot()
    return robot, described.tool, Peer(robot, described.tool)


def within(robot: Robot, q: np.ndarray) -> bool:
    return bool(((q >= robot.limits.lower) & (q <= robot.limits.upper)).all())


ARMS = ('UR10e', 'PUMA 560', 'Staubli TX40')


@pytest.mark.parametrize('start', ['middle', 'near', 'anywhere', 'outside'])
@pytest.mark.parametrize('name', ARMS)
def test_poses_are_reached_in_closed_form(name, start):
    """Also by joints of two turns; the result is never further than that of Newton's method."""
    robot, tool, peer = robot_of(name)
    rng = np.random.default_rng(len(start))
    lower, upper = robot.limits.lower, robot.limits.upper
    steps = position.make_solver(robot.tree, (tool,), True, robot.backend)
    options = {'max_iterations': 100, 'restarts': 100, 'damping': 0.03, 'seed': 0}
    direct = 0
    for q in rng.uniform(lower, upper, (60, 6)):
        q0 = {
            'middle': 0.5 * (lower + upper),
            'near': np.clip(q + 0.1 * rng.normal(size=6), lower, upper),
            'anywhere': rng.uniform(lower, upper),
            'outside': 20.0 * rng.normal(size=6),
        }[start]
        C = peer.pose(q)
        found = robot.inverse_kinematics(C, tool, None if start == 'middle' else q0)
        assert found.success
        assert within(robot, found.q)
        assert missed(peer.pose(found.q), C) <= 1e-9
        direct += found.iterations == 0
        if start == 'near' and found.iterations == 0:
            assert np.abs(found.q - q0).max() <= np.abs(q - q0).max() + 1e-6
        other = steps.solve(C, q0, position.StepOptions(tolerance=1e-9, **options))
        assert np.abs(found.q - q0).max() <= np.abs(other.q - q0).max() + 1e-6
    assert direct >= 57


@pytest.mark.parametrize('name', ARMS)
def test_no_solution_is_nearer(name):
    """Of those that Newton's method of Pinocchio finds from everywhere, and their images."""
    robot, tool, peer = robot_of(name)
    rng = np.random.default_rng(1)
    lower, upper = robot.limits.lower, robot.limits.upper
    for q, q0 in rng.uniform(lower, upper, (4, 2, 6)):
        C, found = peer.pose(q), robot.inverse_kinematics(peer.pose(q), tool, q0)
        nearest = np.abs(found.q - q0).max()
        others = [peer.solved(C, each) for each in rng.uniform(-np.pi, np.pi, (60, 6))]
        distances = []
        for other in others:
            if other is not None:
                images = other[:, None] + TURN * np.arange(-20, 21)
                inside = (images >= lower[:, None]) & (images <= upper[:, None])
                away = np.where(inside, np.abs(images - q0[:, None]), np.inf)
                distances.append(away.min(axis=1).max())
        assert len(distances) > 10
        assert min(distances) == pytest.approx(nearest, abs=1e-6)


@pytest.mark.parametrize('name', ARMS)
def test_singular_configurations_are_left_to_steps(name):
    """The wrist stretched: a continuum of solutions, in which a branch is one of many."""
    robot, tool, peer = robot_of(name)
    rng = np.random.default_rng(2)
    for q in rng.uniform(-1.0, 1.0, (5, 6)):
        q[4] = 0.0
        q0 = q + 0.05 * rng.normal(size=6)
        found = robot.inverse_kinematics(peer.pose(q), tool, q0)
        assert found.success
        assert found.iterations > 0
        assert np.abs(found.q - q0).max() < 0.5


def limited(robot: Robot, **limits: tuple[float, float]) -> Robot:
    joints = [
        replace(joint, limits=Limits(*limits[joint.name])) if joint.name in limits else joint
        for joint in robot.description.joints
    ]
    return Robot(replace(robot.description, joints=tuple(joints)), backend=robot.backend)


@pytest.fixture(scope='module')
def made() -> Robot:
    return Robot(arm_321.description(), backend='python')


def test_limits_choose_the_branch(made):
    """The nearest branch within them, at them as well; without one, steps report that."""
    C, q = arm_321.POSE_EXACT, arm_321.Q
    near = made.inverse_kinematics(C, 'tool', q + 0.1)
    np.testing.assert_allclose(near.q, q, atol=1e-9)
    first, *_, last = made.joint_names
    at_limit = limited(made, **{first: (q[0], 3.0), last: (-3.0, q[5])})
    found = at_limit.inverse_kinematics(C, 'tool', q + 0.1)
    assert found.success
    assert found.iterations == 0
    assert found.q[0] >= q[0]
    assert found.q[5] <= q[5]
    barred = limited(made, **{first: (q[0] + 1e-3, 6.0)})
    other = barred.inverse_kinematics(C, 'tool', q + 0.1)
    assert other.success
    assert other.q[0] > q[0] + 1.0
    beyond = barred.inverse_kinematics(C, 'tool', q + 0.1, respect_limits=False)
    np.testing.assert_allclose(beyond.q, q, atol=1e-9)
    none = limited(made, **{first: (q[0] + 1e-3, q[0] + 0.1)})
    result = none.inverse_kinematics(C, 'tool', q + 0.1, restarts=2)
    assert not result.success
    assert 'within the joint limits' in result.message


def test_the_image_nearest_to_the_start(made):
    """Of joints of several turns, and of those without limits."""
    C, q = arm_321.POSE_EXACT, arm_321.Q
    first, *_, last = made.joint_names
    robot = limited(made, **{first: (-20.0, q[0] + TURN), last: (-np.inf, np.inf)})
    start = q + TURN * np.array([2, 0, 0, 0, 0, -3]) + 0.1
    found = robot.inverse_kinematics(C, 'tool', start)
    expected = q + TURN * np.array([1, 0, 0, 0, 0, -3])
    np.testing.assert_allclose(found.q, expected, atol=1e-9)
    assert found.success


def test_other_joints_stay_within_their_limits():
    """A finger behind the wrist, whose limits the start exceeds."""
    description = arm_321.description()
    finger = Joint('finger', 'prismatic', 'tool', 'jaw', np.eye(4), np.eye(3)[0], Limits(0.0, 0.04))
    whole = replace(
        description, links=(*description.links, Link('jaw')), joints=(*description.joints, finger)
    )
    robot = Robot(whole, backend='python')
    start = np.append(arm_321.Q + 0.1, 0.5)
    found = robot.inverse_kinematics(arm_321.POSE_EXACT, 'tool', start)
    assert found.iterations == 0
    np.testing.assert_allclose(found.q, [*arm_321.Q, 0.04], atol=1e-9)
    start[-1] = np.nan
    with pytest.raises(ArgumentError, match='q0 must hold finite numbers'):
        robot.inverse_kinematics(arm_321.POSE_EXACT, 'tool', start)


def test_what_is_refused(made):
    """The same as without a closed form."""
    C = arm_321.POSE_EXACT
    bent = C + 0.1 * np.eye(4)[3] * np.eye(4)[3][:, None]  # the last element
    for target in (bent, 2.0 * C, np.full((4, 4), np.nan)):
        with pytest.raises(ArgumentError, match='not a rigid motion'):
            made.inverse_kinematics(target, 'tool')
    with pytest.raises(ArgumentError, match='q0 must hold finite numbers'):
        made.inverse_kinematics(C, 'tool', [np.inf, *arm_321.Q[1:]])
    for options in ({'tolerance': -1.0}, {'damping': np.nan}, {'seed': 0.5}, {'restarts': -1}):
        with pytest.raises(ArgumentError, match=next(iter(options))):
            made.inverse_kinematics(C, 'tool', **options)


def test_results_fulfill_the_tolerance(made):
    """A residual above it is left to steps."""
    C = arm_321.POSE_EXACT
    found = made.inverse_kinematics(C, 'tool')
    assert found.success
    assert found.residual < 1e-12
    exact = made.inverse_kinematics(C, 'tool', tolerance=0.0, restarts=0)
    assert exact.success == (exact.residual == 0.0)


def test_backends_choose_the_same_branch(made):
    C, q0 = arm_321.POSE_EXACT, np.array([2.0, -1.0, 0.3, 1.0, -2.0, 0.5])
    expected = made.inverse_kinematics(C, 'tool', q0)
    for backend in ('native', 'reference'):
        robot = Robot(arm_321.description(), backend=backend)
        found = robot.inverse_kinematics(C, 'tool', q0)
        assert found.iterations == 0
        np.testing.assert_allclose(found.q, expected.q, atol=1e-12)


@pytest.mark.parametrize(
    ('link', 'is_closed'), [('tool', True), ('link5', False), (('tool', 'link5'), False)]
)
def test_which_links_have_a_closed_form(made, link, is_closed):
    """One link behind six joints."""
    links = (link,) if isinstance(link, str) else link
    targets = [made.link_pose(arm_321.Q, each) for each in links]
    made.inverse_kinematics(targets, links, arm_321.Q)
    assert isinstance(made._solvers[links, True], NearestBranch) is is_closed
