# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Criterion 10 of section 5.9.1: the least RMS motor current over a path, a global criterion.

For a path of the tool, sampled at equal times, a redundant arm has free functions of time. With an
initial joint path q_k and null-space bases Z_k of J(q_k), each choice of s_k defines a path with
the same tool poses,

    pose(q_k + d_k) = pose(q_k),    Z_k^T d_k = s_k,        dq/ds = [J; Z_k^T]^-1 [0; 1]

solved by Newton's method. s is a cubic spline through a few knots, so that the joint motion is
smooth. Rates and accelerations are those of the quintic spline through the samples, and linear in
them. The mean square of the currents i = tau / k_t,

    mean_k sum_j (tau_j(q_k, q'_k, q''_k) / k_t,j)^2,

is minimized over the knots by sequential quadratic programming (SLSQP of scipy) with its exact
gradient, subject to the limits of position and velocity at all samples. The coordinates s are valid
near q_k only: the knots are bounded by a radius, and the search continues from the resulting path.

The result is a local minimum; other initial paths may lead to better ones.

Source: Bruyninckx 2010, section 5.9.1 item 10, which has no formula (C-038).
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import check_count, check_number
from screw_dynamics_ros.core.types import Array

from .path_problem import PathDynamics, PathProblem

#: Bound of the knots in one search [rad, m], and largest number of searches.
MAX_KNOT, SEARCHES = 0.4, 20


@dataclass(frozen=True, eq=False)
class CurrentPath:
    """A path of the joints and its currents.

    Attributes
    ----------
    q, v, a, currents : (N, nv) array
        At the samples; currents in A, or in N m and N without torque constants.
    rms : float
        sqrt(mean_k sum_j i_j^2).
    initial_rms : float
        The same for the initial path.
    success : bool
        Whether the optimization converged to a minimum within the limits.
    message : str
    """

    q: Array
    v: Array
    a: Array
    currents: Array
    rms: float
    initial_rms: float
    success: bool
    message: str


def least_current_path(
    robot: PathDynamics,
    q: ArrayLike,
    dt: float,
    link: str,
    *,
    selection: ArrayLike | None = None,
    torque_constants: ArrayLike | None = None,
    knots: int = 6,
    keep_ends: bool = False,
    max_iterations: int = 60,
) -> CurrentPath:
    """Return the path of the joints with the same tool poses and the least RMS current near q.

    Parameters
    ----------
    robot : Robot
        With additive coordinates (no free bodies); rotors and friction are included.
    q : (N, nv)
        Initial path at equal time steps, N >= 6, for example from `resolve_redundancy`.
    dt : float
        Time between samples [s].
    link : str
    selection : (m, 6), optional
        Selected components of the body-fixed displacement of the link; all by default.
    torque_constants : (nv,), optional
        Torque per current at the joint, including the gear [N m/A, N/A]; 1 by default.
    knots : int
        Number of knots of the spline of each null-space coordinate, at least 4; it bounds how fast
        the coordinate can vary.
    keep_ends : bool
        Whether the path starts and ends in the given configurations.
    max_iterations : int
        Largest number of iterations of each search.

    Raises
    ------
    ArgumentError
        If a shape is wrong, a number not finite, the arm is not redundant, or the rank of the task
        changes along the path.
    """
    check_number('dt', dt, positive=True)
    check_count('max_iterations', max_iterations)
    options = dt, link, selection, torque_constants, knots, keep_ends
    best = problem = PathProblem(robot, q, *options)
    initial, radius, success, message = problem.rms, MAX_KNOT, False, 'too many searches'
    for _ in range(SEARCHES):
        found = problem.search(radius, max_iterations)
        if found is None or not found.rms < best.rms:
            radius *= 0.25  # outside the validity of these coordinates, or already at the minimum
            if radius < 1e-4 * MAX_KNOT:
                success, message = found is not None, 'there is no better path nearby'
                break
            continue
        small = best.rms - found.rms < 1e-5 * best.rms
        best = problem = PathProblem(robot, found.path, *options)
        if small and found.success:
            success, message = True, found.message
            break
    return result_of(best, initial, success, message)


def result_of(problem: PathProblem, initial_rms: float, success: bool, message: str) -> CurrentPath:
    """Return the current path of the problem as the result of all searches."""
    v, a, currents = problem.motion(problem.start)
    broken = problem.broken_limit()
    if broken > 1e-6:
        success, message = False, f'a limit is violated by {broken:.3g}; {message}'
    return CurrentPath(problem.start, v, a, currents, problem.rms, initial_rms, success, message)
