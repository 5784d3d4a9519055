# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Singularities of mechanisms with passive joints by their closure equations (C-023)."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.textbook.redundancy.implicit_singularities import classify_singularity
from support.planar_2r import planar_2r


def unit(angle):
    return np.array([np.cos(angle), np.sin(angle)])


def across(angle):
    return np.array([-np.sin(angle), np.cos(angle)])


def four_bar(ground, crank, coupler, rocker, q, X):
    """Return (f_X, f_q, f_p) of a four-bar with crank angle q and rocker angle X.

    p is the angle of the coupler against the crank: crank + coupler = ground + rocker.
    """
    away = np.array([ground, 0.0]) + rocker * unit(X) - crank * unit(q)
    assert np.linalg.norm(away) == pytest.approx(coupler, abs=1e-9)
    turned = coupler * across(np.arctan2(away[1], away[0]))
    f_q = crank * across(q) + turned
    return -rocker * across(X)[:, None], f_q[:, None], turned[:, None]


def apart(ground, crank, far):
    """Return (q, X) at which the end of the crank is `far` from the other pivot, rocker aligned."""
    cosine = (ground**2 + crank**2 - far**2) / (2 * ground * crank)
    q = np.arccos(cosine)
    away = crank * unit(q) - np.array([ground, 0.0])
    return q, np.arctan2(away[1], away[0])


def test_golden_four_bar():
    """Golden case 8.6: regular, and dX/dq."""
    q, X = np.pi / 3, 1.795774973
    found = classify_singularity(*four_bar_golden(q, X))
    assert found.kind == 'regular'
    assert found.message == 'regular'
    assert found.jacobian[0, 0] == pytest.approx(0.147301188, abs=1e-8)
    assert (found.rank, found.equations) == (2, 2)


def four_bar_golden(q, X):
    """Refine the rocker angle, which is given to 1e-9."""
    end = unit(q) - np.array([4.0, 0.0])
    for _ in range(5):
        away = 3.0 * unit(X) - end
        X -= (away @ away - 3.5**2) / (6.0 * across(X) @ away)
    return four_bar(4.0, 1.0, 3.5, 3.0, q, X)


@pytest.mark.parametrize('length', [1.0, 1e-3, 1e3])
def test_coupler_and_rocker_aligned(length):
    """C-023: driven by the crank, f_X is singular: forward type; by the rocker, inverse type.

    The unit of length does not matter.
    """
    q, X = apart(4.0, 3.0, 3.5 + 1.0)
    f_X, f_q, f_p = four_bar(*np.multiply((4.0, 3.0, 3.5, 1.0), 1.0), q, X)
    f_X, f_q, f_p = length * f_X, length * f_q, length * f_p
    forward = classify_singularity(f_X, f_q, f_p)
    assert forward.kind == 'forward'
    assert forward.free_motions.shape == (1, 1)
    assert forward.idle_motions.shape == (1, 0)
    assert forward.jacobian is None
    assert 'X moves in 1 ways' in forward.message
    inverse = classify_singularity(f_q, f_X, f_p)
    assert inverse.kind == 'inverse'
    assert inverse.jacobian[0, 0] == pytest.approx(0.0, abs=1e-9)


def test_passive_joint_eliminated_by_hand():
    """C-023: the same of |B - A|^2 = coupler^2, where no passive joint is left."""
    q, X = apart(4.0, 3.0, 4.5)
    A, B = 3.0 * unit(q), np.array([4.0, 0.0]) + unit(X)
    f_X = 2 * (B - A) @ across(X)
    f_q = -2 * (B - A) @ (3.0 * across(q))
    assert classify_singularity([[f_X]], [[f_q]]).kind == 'forward'


def test_a_passive_joint_taken_for_an_actuated_one_hides_it():
    """C-023: passive joints must be known as such: with all others locked nothing moves."""
    f_X, f_q, f_p = four_bar(4.0, 3.0, 3.5, 1.0, *apart(4.0, 3.0, 4.5))
    assert classify_singularity(f_X, np.hstack([f_q, f_p])).kind != 'forward'


def test_stretched_planar_arm():
    """C-023: X - x(q) = 0 of a 2R arm: f_q is singular where it is stretched, inverse type."""
    robot = Robot(planar_2r(), backend='reference')
    for q, kind in [((0.3, 0.0), 'inverse'), ((0.3, np.pi), 'inverse'), ((0.3, 0.8), 'regular')]:
        J = robot.jacobian(np.array(q), 'tip')[3:5]
        found = classify_singularity(np.eye(2), -J)
        assert found.kind == kind
        if kind == 'regular':
            np.testing.assert_allclose(found.jacobian, J, atol=1e-12)
        else:
            assert np.abs(J @ found.idle_motions).max() < 1e-9
            assert found.idle_motions.shape == (2, 1)


def test_redundant_arms_are_regular():
    """More actuated joints than coordinates: idle motions as such are no singularity."""
    rng = np.random.default_rng(0)
    assert classify_singularity(np.eye(3), rng.normal(size=(3, 5))).kind == 'regular'
    lost = rng.normal(size=(3, 2)) @ rng.normal(size=(2, 5))
    assert classify_singularity(np.eye(3), lost).kind == 'inverse'


def test_redundant_actuation_with_passive_joints():
    """A second motor on another bar: what passive joints take up is not counted twice."""
    f_X, f_q, f_p = four_bar_golden(np.pi / 3, 1.795774973)
    found = classify_singularity(f_X, np.hstack([f_q, [[0.3], [-0.7]]]), f_p)
    assert found.kind == 'regular'
    assert found.idle_motions.shape == (2, 0)


def test_flat_parallelogram_is_both():
    """C-023: the third type; all bars in line, the equations themselves are dependent."""
    f = four_bar(4.0, 1.0, 4.0, 1.0, 0.0, 0.0)
    found = classify_singularity(*f, equations=2)
    assert found.kind == 'both'
    assert (found.rank, found.equations) == (1, 2)
    assert '1 closure equations have become dependent' in found.message


def test_passive_motions_are_a_matter_of_their_own():
    """A leg between two ball joints turns about itself; that is no singularity of the mechanism."""
    f_X, f_q, f_p = four_bar_golden(np.pi / 3, 1.795774973)
    found = classify_singularity(f_X, f_q, np.hstack([f_p, np.zeros((2, 1))]))
    assert found.kind == 'regular'
    np.testing.assert_allclose(np.abs(found.passive_motions), [[0.0], [1.0]], atol=1e-12)
    assert found.message == 'passive joints alone can move in 1 ways'


def test_dependent_equations_do_not_matter():
    """Six equations of a planar loop, of which three are independent at most."""
    rng = np.random.default_rng(2)
    mix = rng.normal(size=(6, 2))
    f = [mix @ part for part in four_bar(4.0, 3.0, 3.5, 1.0, *apart(4.0, 3.0, 4.5))]
    assert classify_singularity(*f).kind == 'forward'
    f = [mix @ part for part in four_bar_golden(np.pi / 3, 1.795774973)]
    found = classify_singularity(*f)
    assert found.kind == 'regular'
    assert found.jacobian[0, 0] == pytest.approx(0.147301188, abs=1e-8)


def test_refusals():
    with pytest.raises(ArgumentError, match='same number of rows'):
        classify_singularity(np.eye(2), np.eye(3))
    with pytest.raises(ArgumentError, match='f_q holds NaN'):
        classify_singularity(np.eye(2), np.eye(2) * np.nan)
