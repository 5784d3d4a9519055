# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Partial tasks in a stated frame (C-040) and loads without torque (C-025)."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Task
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.textbook.redundancy.joint_springs import PostureSprings
from screw_dynamics_ros.core.textbook.redundancy.partial_tasks import rows_in_frame
from screw_dynamics_ros.core.textbook.redundancy.structural_loads import structural_load
from support import arm_321


@pytest.fixture(scope='module')
def arm():
    return arm_321.arm(backend='reference')


FRAME = se3.exp(np.array([0.3, -0.2, 0.5, 0.1, 0.05, 0.2]))


def test_rows_are_components_of_the_moved_frame(arm):
    """C-040: S V is the twist of a frame that is fixed to the link, in its own axes."""
    q, v, h = arm_321.Q, arm_321.QD, 1e-6
    S = rows_in_frame(('wx', 'wz', 'vy'), FRAME)
    poses = [arm.link_pose(q + step * v, 'tool') @ FRAME for step in (-h, h)]
    middle = arm.link_pose(q, 'tool') @ FRAME
    twist = (se3.log(se3.inverse(middle) @ poses[1]) - se3.log(se3.inverse(middle) @ poses[0])) / (
        2 * h
    )
    np.testing.assert_allclose(
        S @ arm.velocity(q, v, 'tool', 'body'), twist[[0, 2, 4]], rtol=1e-8, atol=1e-9
    )
    # the same components in a frame of the room, of the spatial twist
    T = arm.link_pose(q, 'tool') @ FRAME
    np.testing.assert_allclose(
        rows_in_frame(('wx', 'wz', 'vy'), T) @ arm.velocity(q, v, 'tool', 'spatial'),
        S @ arm.velocity(q, v, 'tool', 'body'),
        atol=1e-12,
    )


def test_a_tool_that_may_turn_about_its_axis(arm):
    """C-040: five of six components; the sixth freedom serves the posture."""
    S = rows_in_frame(('wx', 'wy', 'vx', 'vy', 'vz'), FRAME)
    wanted = np.array([0.1, -0.2, 0.05, 0.0, 0.1])
    posture = PostureSprings(np.zeros(6))
    result = arm.resolve_redundancy(
        arm_321.Q, wanted, 'tool', [posture], representation='body', selection=S
    )
    assert result.success
    assert result.freedom == 1
    np.testing.assert_allclose(
        S @ arm.velocity(arm_321.Q, result.v, 'tool', 'body'), wanted, atol=1e-9
    )
    assert result.contributions[0].slope < 0.0


def test_three_rows_leave_three_freedoms(arm):
    """C-040: a task of three rows has a null space of three dimensions; a vertex on a face five."""
    rng = np.random.default_rng(0)
    for components, freedom in [(('vx', 'vy', 'vz'), 3), (('vz',), 5), (('wx', 'wy', 'wz'), 3)]:
        S = rows_in_frame(components, FRAME)
        task = Task('tool', rng.normal(size=len(S)), 'body', S)
        found = arm.prioritized_velocity(arm_321.Q, [task])
        assert found.success
        assert found.freedom == freedom
        rates = S @ arm.jacobian(arm_321.Q, 'tool', 'body') @ found.null_space
        assert np.abs(rates).max() < 1e-12


def test_refused_rows():
    for components, pose, message in [
        (('vx', 'up'), None, 'some of wx'),
        (('vx', 'vx'), None, 'each once'),
        ((), None, 'each once'),
        (('vx',), np.eye(3), 'shape'),
        (('vx',), 2 * np.eye(4), 'not a rigid motion'),
        (('vx',), np.diag([1.0, 1.0, -1.0, 1.0]), 'not a rigid motion'),
        (('vx',), np.eye(4) + 0.01 * np.eye(4, k=-3), 'not a rigid motion'),
        (('vx',), np.diag([1.0, 1.0, 1.0002, 1.0]), 'not a rigid motion'),
        (('vx',), se3.pose(np.eye(3), [np.inf, 0, 0]), 'not a rigid motion'),
        (('vx',), np.nan * np.eye(4), 'not a rigid motion'),
    ]:
        with pytest.raises(ArgumentError, match=message):
            rows_in_frame(components, pose)
    np.testing.assert_array_equal(rows_in_frame('vx'), np.eye(6)[[3]])
    six_digits = np.diag([1.0, 1.0, 1.00001, 1.0])
    np.testing.assert_allclose(rows_in_frame('vx', six_digits), np.eye(6)[[3]], atol=1e-4)


# --- loads ----------------------------------------------------------------------------------------


def test_loads_without_torque(arm):
    """C-025: J^T W = 0 for what the structure bears, and only for that."""
    q = np.array([0.3, 0.4, 0.0, -0.5, 0.6, 1.1])  # stretched elbow
    J = arm.jacobian(q, 'tool')
    rng = np.random.default_rng(1)
    for length in (1.0, 0.2):
        W = rng.normal(size=6)
        load = structural_load(J, W, length=length)
        assert load.basis.shape == (6, 1)
        assert np.abs(J.T @ load.basis).max() < 1e-9
        assert np.abs(J.T @ load.supported).max() < 1e-9
        np.testing.assert_allclose(load.supported + load.carried, W, atol=1e-12)
        np.testing.assert_allclose(load.torques, -J.T @ load.carried, atol=1e-9)
        weights = np.array([1 / length**2] * 3 + [1.0] * 3)
        gram = load.basis.T @ (weights[:, None] * load.basis)
        np.testing.assert_allclose(gram, np.eye(1), atol=1e-12)
        assert load.supported @ (weights * load.carried) == pytest.approx(0.0, abs=1e-12)
        assert 0.0 < load.share < 1.0
    all_of_it = structural_load(J, load.basis[:, 0], length=length)
    assert all_of_it.share == pytest.approx(1.0)


def test_load_of_the_stretched_elbow_goes_through_the_shoulder(arm):
    """C-025: the force along the stretched arm passes the shoulder and the wrist center."""
    q = np.array([0.3, 0.4, 0.0, -0.5, 0.6, 1.1])
    load = structural_load(arm.jacobian(q, 'tool', 'spatial'), np.ones(6))
    W = load.basis[:, 0]
    for link in ('link2', 'link4'):
        p = arm.link_pose(q, link)[:3, 3]
        np.testing.assert_allclose(W[:3] - np.cross(p, W[3:]), 0.0, atol=1e-9)


def test_regular_arms_carry_everything(arm):
    load = structural_load(arm.jacobian(arm_321.Q, 'tool'), np.ones(6))
    assert load.basis.shape == (6, 0)
    assert load.share == 0.0
    np.testing.assert_array_equal(load.carried, np.ones(6))
