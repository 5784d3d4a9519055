# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The examples of Müller and Terze: golden trajectories, gaps and energies of the specification.

The numbers were computed with the literal equations of the paper by other code (spec 9.1 to 9.4).
Classical Runge-Kutta in steps of 1 ms unless it is said otherwise.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import UnknownNameError
from screw_dynamics_ros.core.integration import TABLEAUS, RungeKutta
from screw_dynamics_ros.core.lie import quaternions
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    SE3,
    SO3xR3,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.constraint_projection import (
    consistent_velocity,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import (
    EXAMPLES,
    WEIGHT,
    example,
    floating_pair,
    heavy_top,
    three_bar_linkage,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.history import History, record

GROUPS = (SE3, SO3xR3)
BODIES = {'heavy_top': 1, 'double_pendulum': 2, 'floating_pair': 2, 'three_bar_linkage': 2}


@cache
def moved(name: str, group: str, duration: float = 1.0, dt: float = 1e-3) -> History:
    """Return the motion of an example with all bodies in one group."""
    every = 10 if duration <= 1.0 else 20
    return record(*EXAMPLES[name]([group] * BODIES[name]), duration, dt, every=every)


def positions(motion: History, t: float) -> np.ndarray:
    return motion.q[motion.at(t)].reshape(-1, 7)[:, :3]


def rotations(motion: History, t: float) -> np.ndarray:
    return quaternions.to_matrix(motion.q[motion.at(t)].reshape(-1, 7)[:, 3:])


def angular(motion: History, t: float) -> np.ndarray:
    return motion.v[motion.at(t)].reshape(-1, 6)[:, :3]


# --- the data ---


@pytest.mark.parametrize('group', GROUPS)
@pytest.mark.parametrize('name', EXAMPLES)
def test_initial_states_are_consistent(name, group):
    """I-31: and follow from the angular velocities where those say enough."""
    system, q, v = EXAMPLES[name]([group] * BODIES[name])
    assert np.abs(system.constraint_residuals(q)).max() < 1e-15
    assert np.abs(system.constraint_jacobian(q) @ v).max() < 1e-13
    if name != 'floating_pair':
        given = {b.name: v[6 * k : 6 * k + 3] for k, b in enumerate(system.bodies)}
        np.testing.assert_allclose(consistent_velocity(system, q, given), v, atol=1e-12)


def test_energies_at_the_beginning():
    """I-32."""
    kinetic = {name: moved(name, SE3).kinetic[0] for name in EXAMPLES}
    assert kinetic['heavy_top'] == pytest.approx(1415.7 * np.pi**2, rel=1e-12)
    assert 1415.7 * np.pi**2 == pytest.approx(13972.3990, abs=5e-5)
    assert kinetic['double_pendulum'] == pytest.approx(95.0739, abs=5e-5)
    assert kinetic['floating_pair'] == pytest.approx(0.890753, abs=5e-7)
    assert kinetic['three_bar_linkage'] == pytest.approx(10.1939, abs=5e-5)


def test_examples_by_name():
    assert example('heavy_top') is heavy_top
    with pytest.raises(UnknownNameError, match='double_pendulum'):
        example('light_top')


# --- E1, the heavy top ---

TOP = {  # t: (r, omega), with variable steps and tolerances of 1e-13
    0.1: (
        (0.37778081142, 0.13253519293, -0.29952642814),
        (-23.02237092604, 68.86254494459, 11.25826479955),
    ),
    1.0: ((0.32029740668, 0.16977118423, -0.34436509155), (8.17938114, 63.62459941, 29.63749883)),
    10.0: (
        (-0.38744524871, 0.13319561612, -0.28660967725),
        (-9.33031324, 63.86146387, -29.08048951),
    ),
}


@pytest.mark.parametrize(
    ('group', 't', 'tolerance'),
    [
        (SE3, 0.1, 1e-7),
        (SO3xR3, 0.1, 2e-7),
        (SE3, 1.0, 3.2e-7),
        (SO3xR3, 1.0, 1.2e-6),
        (SE3, 10.0, 2.6e-5),
        (SO3xR3, 10.0, 3.4e-5),
    ],
)
def test_trajectory_of_the_top(group, t, tolerance):
    """I-34: within the known errors of the method; omega is 2 pi faster."""
    motion = moved('heavy_top', group, 10.0)
    r, omega = TOP[t]
    assert np.linalg.norm(positions(motion, t)[0] - r) < tolerance
    np.testing.assert_allclose(angular(motion, t)[0], omega, atol=300 * tolerance)


def test_error_of_the_top_after_a_second():
    """I-24: 3.15e-7 m; with the other sign of the increments it would be 1.6e-3 m."""
    error = positions(moved('heavy_top', SE3), 1.0)[0] - TOP[1.0][0]
    assert np.linalg.norm(error) == pytest.approx(3.15e-7, rel=0.02)


@pytest.mark.parametrize('tableau', TABLEAUS, ids=lambda tableau: tableau.name)
def test_pivot_is_exact_with_every_tableau(tableau):
    """I-34: even where the solution is far off, as with Euler's method."""
    top = heavy_top([SE3])
    motion = record(*top, 0.1, 1e-3, integrator=RungeKutta(top.system, tableau), every=50)
    assert motion.gaps['pivot'].max() < 1e-12


def test_gap_of_the_top():
    """I-34, with the signed gap of (38)."""
    exact, drifting = moved('heavy_top', SE3, 10.0), moved('heavy_top', SO3xR3, 10.0)
    assert exact.gaps['pivot'].max() < 1e-12
    for until, gap in ((1.0, 9.27e-7), (5.0, 4.58e-6), (10.0, 9.20e-6)):
        assert drifting.largest(drifting.gaps['pivot'], until) == pytest.approx(gap, rel=0.05)
    R, r = rotations(drifting, 1.0)[0], positions(drifting, 1.0)[0]
    signed = np.array([0.5, 0, 0]) - R.T @ r
    np.testing.assert_allclose(signed, (5.857591e-7, 6.832546e-7, -2.237870e-7), atol=1e-11)


def test_energy_of_the_top():
    """I-35: drifts differ by less than the factor of 100 that the paper shows."""
    drifts = {}
    for group in GROUPS:
        short, long = moved('heavy_top', group), moved('heavy_top', group, 10.0)
        found = [m.largest(m.energy_drift, t) for m, t in ((short, 1.0), (long, 5.0), (long, 10.0))]
        drifts[group] = np.array(found) / long.kinetic[0]
    np.testing.assert_allclose(drifts[SE3], [2.80e-8, 1.40e-7, 2.82e-7], rtol=0.05)
    np.testing.assert_allclose(drifts[SO3xR3], [7.42e-8, 1.55e-7, 2.96e-7], rtol=0.05)
    assert (drifts[SE3] <= drifts[SO3xR3]).all()


def test_top_with_gravity():
    """I-46: the weight counts with the mass, else the energy would not be kept."""
    top = heavy_top([SE3], gravity=WEIGHT)
    motion = record(*top, 2.0, 1e-3, every=100)
    assert motion.gaps['pivot'].max() < 1e-11
    assert np.abs(motion.energy_drift).max() / motion.kinetic[0] < 1e-6
    assert np.abs(motion.potential - motion.potential[0]).max() > 50.0  # it matters
    np.testing.assert_allclose(motion.potential, 21.6 * 9.81 * motion.q[:, 2], rtol=1e-12)


# --- E2, the double pendulum ---


@pytest.mark.parametrize('group', GROUPS)
def test_trajectory_of_the_double_pendulum(group):
    """I-37, in steps of 0.1 ms: it is chaotic, and not converged in steps of 1 ms."""
    motion = moved('double_pendulum', group, 0.5 if group == SE3 else 0.1, 1e-4)
    r, omega = positions(motion, 0.1), angular(motion, 0.1)
    np.testing.assert_allclose(r[0], (-0.09816317302, 0.01886715847, -0.00283227720), atol=1e-9)
    np.testing.assert_allclose(r[1], (-0.222381224, 0.103437254, -0.076405401), atol=2e-9)
    np.testing.assert_allclose(omega[0], (-19.51761377, 10.39236123, 25.17754144), atol=5e-7)
    np.testing.assert_allclose(omega[1], (0.27958086, 31.45168090, 7.80442398), atol=5e-7)
    if group == SO3xR3:
        return
    r = positions(motion, 0.5)
    np.testing.assert_allclose(r[0], (0.07381168929, 0.064499825, -0.019789065), atol=5e-9)
    np.testing.assert_allclose(r[1], (0.235776847, 0.083673641, -0.052788692), atol=5e-9)


@pytest.mark.parametrize(
    ('group', 'gap', 'drift', 'signed'),
    [
        (SE3, 7.16e-6, 2.3e-4, (2.93751573e-8, 2.94501921e-7, -1.47224171e-8)),
        (SO3xR3, 5.91e-6, 2.9e-4, (1.56364542e-7, 2.27671227e-7, -5.21239044e-8)),
    ],
)
def test_gaps_of_the_double_pendulum(group, gap, drift, signed):
    """I-37."""
    motion = moved('double_pendulum', group)
    assert motion.gaps['joint 2'].max() == pytest.approx(gap, rel=0.05)
    assert np.abs(motion.energy_drift).max() == pytest.approx(drift, rel=0.05)
    first = motion.gaps['joint 1'].max()
    assert first < 1e-12 if group == SE3 else first == pytest.approx(8.84e-7, rel=0.05)
    (R_1, R_2), (r_1, r_2), half = rotations(motion, 0.1), positions(motion, 0.1), (0.1, 0, 0)
    gap_2 = R_1 @ half + r_1 + R_2 @ half - r_2
    np.testing.assert_allclose(gap_2, signed, atol=1e-13)


# --- E3, the floating pair ---


@pytest.mark.parametrize('group', GROUPS)
def test_trajectory_of_the_floating_pair(group):
    """I-38."""
    motion = moved('floating_pair', group)
    r, omega = positions(motion, 0.1), angular(motion, 0.1)
    np.testing.assert_allclose(r[0], (0.12508654505, 0.01620284883, -0.00478724611), atol=1e-10)
    np.testing.assert_allclose(r[1], (0.27491345495, -0.01620284883, 0.00478724611), atol=1e-10)
    np.testing.assert_allclose(
        omega,
        [
            (-0.02876681745, -0.11018652991, -8.15183944016),
            (1.21436227471, -0.52888370177, 3.01169397857),
        ],
        atol=2e-8,
    )
    np.testing.assert_allclose(
        positions(motion, 1.0)[0], (0.20280068406, 0.01247758738, 0.01588652977), atol=2e-9
    )
    np.testing.assert_allclose(
        angular(motion, 1.0)[0], (-4.83270656728, 2.839053631, -6.96567849915), atol=2e-7
    )


def test_gap_in_hybrid_velocities_does_not_depend_on_the_drift_of_the_pair():
    """SO(3) x R^3 is Galilei invariant, SE(3) is not (spec 6): v1(0) = 0 and joint at rest."""
    found = {}
    for group in GROUPS:
        system, q, v = floating_pair([group, group])
        u = np.array([0.0, 1.0, 0.5])  # both frames are parallel at first
        v = v + np.concatenate([np.zeros(3), u, np.zeros(3), u])
        found[group] = record(system, q, v, 1.0, 1e-3, every=20).gaps['joint 2'].max()
    assert found[SO3xR3] == pytest.approx(
        moved('floating_pair', SO3xR3).gaps['joint 2'].max(), rel=1e-3
    )
    assert abs(found[SE3] / moved('floating_pair', SE3).gaps['joint 2'].max() - 1) > 0.1


# --- E4, the linkage ---


@pytest.mark.parametrize('group', GROUPS)
def test_trajectory_of_the_linkage(group):
    """I-39: a triangle that turns about its base, as long as the gaps are small."""
    motion = moved('three_bar_linkage', group)
    apex = (0.07207695766, 0.04800950087)
    np.testing.assert_allclose(positions(motion, 0.1)[0], (0.05, *apex), atol=1e-7)
    np.testing.assert_allclose(positions(motion, 0.1)[1], (0.15, *apex), atol=1e-7)
    np.testing.assert_allclose(
        positions(motion, 1.0)[0], (0.05, 0.08628545323, 0.00740409131), atol=5e-5
    )


def test_linkage_has_three_freedoms():
    """I-29: nine independent constraints on twelve velocities, none redundant."""
    system, q, _ = three_bar_linkage()
    assert (system.constraint_count, system.redundant) == (9, ())
    assert np.linalg.matrix_rank(system.constraint_jacobian(q).toarray()) == 9
    assert floating_pair().system.constraint_count == 3


# --- orders and stabilization ---


@pytest.mark.parametrize(
    ('name', 'joint', 'group', 'gaps'),
    [
        ('heavy_top', 'pivot', SO3xR3, (2.39e-4, 1.485e-5, 9.27e-7)),
        ('double_pendulum', 'joint 2', SE3, (1.42e-3, 1.09e-4, 7.16e-6)),
        ('double_pendulum', 'joint 2', SO3xR3, (1.20e-3, 9.04e-5, 5.91e-6)),
    ],
)
def test_order_of_gaps(name, joint, group, gaps):
    """I-40: steps of 4, 2 and 1 ms."""
    found = [moved(name, group, 1.0, dt).gaps[joint].max() for dt in (4e-3, 2e-3, 1e-3)]
    np.testing.assert_allclose(found, gaps, rtol=0.02)
    assert np.log2(found[1] / found[2]) == pytest.approx(4.0, abs=0.2)
