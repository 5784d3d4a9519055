# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arms with joints held at positions that are an input.

Spec IDs: C-088, C-100, C-103.
"""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.families.chain_solutions import distances
from screw_dynamics_ros.core.arms.families.elimination import PLACES
from screw_dynamics_ros.core.arms.families.held_joints import HeldArm, HeldSixRevolute, generic
from screw_dynamics_ros.core.arms.families.pieper import Pieper
from screw_dynamics_ros.core.arms.families.serial_solver import SerialSolver
from screw_dynamics_ros.core.arms.families.three_two_one import ThreeTwoOne
from screw_dynamics_ros.core.kinematics.product_of_exponentials import SpatialScrews
from screw_dynamics_ros.core.lie import se3
from support.arms import arm

NOTHING = np.empty(0)


def axes_anywhere(rng: np.random.Generator, joints: int) -> SerialChain:
    e = rng.normal(size=(joints, 3))
    e /= np.linalg.norm(e, axis=1)[:, None]
    S = np.hstack([e, np.cross(0.5 * rng.normal(size=(joints, 3)), e)])
    return SerialChain(tuple('abcdefgh'[:joints]), S, se3.exp(rng.normal(size=6)))


def real_arm(name: str) -> SerialChain:
    described = arm(name)
    return SerialChain.of(described.robot('reference').tree, described.tool)


@pytest.mark.parametrize('place', PLACES, ids=lambda place: f'{place.first}{place.behind}')
@pytest.mark.parametrize('held', [(3,), (1, 5)])
def test_constants_of_the_elimination(place, held):
    """They are interpolated without an error but rounding."""
    rng = np.random.default_rng(len(held))
    chain = axes_anywhere(rng, 6 + len(held))
    solver = HeldSixRevolute(chain, held, place, 'reference')
    for positions in rng.uniform(-9.0, 9.0, (2, len(held))):
        for own, other in zip(solver.constants(positions), solver._constants_at(positions)):
            np.testing.assert_allclose(own, other, atol=1e-11 * np.abs(other).max())


@pytest.mark.parametrize(
    ('name', 'joint', 'is_closed'),
    [('KUKA LBR iiwa 14 R820', 2, True), ('Franka Research 3', 1, False)],
)
def test_another_position_at_each_call(name, joint, is_closed):
    """The short way finds what the solver made for the one position finds, and the way there."""
    chain, rng = real_arm(name), np.random.default_rng(joint)
    solver = SerialSolver(chain, (joint,), 'python')
    assert (solver._closed_form_beside_held() is not None) == is_closed
    reached = 0
    for _ in range(2):
        q = rng.uniform(-2.0, 2.0, 7)
        C, held = chain.pose(q), q[[joint]]
        found = solver.direct(C, held, NOTHING)
        if found is None:  # in doubt
            continue
        reached += 1
        assert (found.q[:, joint] == held).all()
        assert distances(found.q, q).min() < 1e-8
        other = solver.solve(C, held, NOTHING)
        assert len(other) == len(found)
        for each in other.q:
            assert distances(found.q, each).min() < 1e-8
    assert reached


def test_two_held_joints():
    chain, rng = axes_anywhere(np.random.default_rng(5), 8), np.random.default_rng(6)
    solver = SerialSolver(chain, (2, 4), 'python')
    for _ in range(3):
        q = rng.uniform(-2.0, 2.0, 8)
        found = solver.direct(chain.pose(q), q[[2, 4]], NOTHING)
        assert distances(found.q, q).min() < 1e-8
        np.testing.assert_array_equal(found.q[:, [2, 4]], np.tile(q[[2, 4]], (len(found), 1)))


def test_a_special_position():
    """With joint 3 at zero, axes 2 and 4 of a Panda are parallel: the other way finds all."""
    chain, rng = real_arm('Panda'), np.random.default_rng(3)
    solver = SerialSolver(chain, (2,), 'python')
    for _ in range(3):
        q = rng.uniform(-1.0, 1.0, 7)
        q[2] = 0.0
        C, held = chain.pose(q), q[[2]]
        found = solver.direct(C, held, NOTHING) or solver.solve(C, held, NOTHING)
        assert distances(found.q, q).min() < 1e-8
        assert not found.doubt


def test_what_is_recognized():
    """`generic` has no positions of held joints that would make any arm a special one."""
    iiwa, panda = real_arm('KUKA LBR iiwa 14 R820'), real_arm('Panda')
    assert HeldArm.recognized(Pieper, iiwa, (2,), 1e-8) is not None
    assert HeldArm.recognized(Pieper, panda, (2,), 1e-8) is None
    at_zero = panda.with_held({2: 0.0})
    assert (np.abs(at_zero.screws[1, :3]) == np.abs(at_zero.screws[2, :3])).all()
    one, other = generic((1, 2))
    assert set(one) == set(other) == {1, 2}
    assert not set(one.values()) & set(other.values())
    sliding = SerialChain(tuple('abcdefg'), [*panda.screws[:6], [0, 0, 0, 0, 0, 1]], panda.home)
    assert HeldSixRevolute.fits(sliding, (2,))
    assert not HeldSixRevolute.fits(sliding, (6,))
    assert not HeldSixRevolute.fits(panda, (1, 2, 3))


def between_two_joints() -> tuple[Robot, np.ndarray]:
    """Return a 321 arm on a rail, with a joint behind its wrist, and a configuration."""
    arm = ThreeTwoOne(l1=0.4, l2=0.5, l3=0.45, l6=0.1).chain()
    rail, further = [0, 0, 0, 0.6, 0.8, 0], [0.8, 0, 0.6, *np.cross([0.1, 0.2, 1.5], [0.8, 0, 0.6])]
    chain = SerialChain(tuple('abcdefgh'), [rail, *arm.screws, further], arm.home)
    frames = [np.eye(4)] * 7 + [chain.home]
    geometry = SpatialScrews(frames, chain.screws, names=chain.joint_names)
    robot = Robot.from_geometry(geometry, links=[*'1234567', 'tool'], backend='python')
    return robot, np.array([0.3, 0.3, 0.4, 0.7, -0.5, 0.6, 1.1, -0.8])


@pytest.mark.parametrize('bend', [0.6, 0.0])
@pytest.mark.parametrize('names', ['ah', 'ha'])
def test_ends_of_a_chain_are_held(names, bend):
    """In front and behind, in any order; with a regular wrist, and with a singular one."""
    robot, q = between_two_joints()
    q[5] = bend
    locked = {name: q['abcdefgh'.index(name)] for name in names}
    C = robot.link_pose(q, 'tool')
    found = robot.all_inverse_kinematics(C, 'tool', locked=locked)
    assert found.complete == (bend > 0.0)
    assert found.family == '321'
    np.testing.assert_array_equal(found.q[:, [0, 7]], np.tile(q[[0, 7]], (len(found), 1)))
    assert np.abs(robot.link_pose(found.q, 'tool') - C).max() < 1e-11
    assert distances(found.q, q)[found.nearest(q)] < (1e-9 if bend else 2.0)
    assert len(found) >= 8
    direct = robot._all_solvers['tool']._arm(tuple(names))._direct(C, q[[0, 7]], NOTHING)
    assert (direct is not None) == (bend > 0.0)
    locked['a'] += 0.5  # some branches do not reach that far
    far = robot.all_inverse_kinematics(C, 'tool', locked=locked)
    assert all(each.q[0] == locked['a'] for each in far.discarded)
