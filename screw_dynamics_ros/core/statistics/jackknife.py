# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Variances of estimates in the presence of model errors: jackknife over clusters.

Load-dependent friction, the Stribeck effect and presliding are not noise: such model errors are
nearly functions of the joint state, and equal in all repetitions of a motion. Longer recordings do
not reduce them, and variances for independent or autocorrelated errors are too small by factors.
The differences between *classes of states* show their magnitude. The equations of one joint in one
class are a cluster, with arbitrarily correlated errors; errors of different clusters are assumed to
be independent. The classes of a joint are those of speed (above or below its median), power
(accelerating or braking) and load (torque above or below its median).

Errors of sensors and of the motion of the arm are correlated in time and between joints: blocks of
time are a second set of clusters. A repeated motion, also of another recording, repeats the model
errors: its instants belong to the blocks in which these states were first. The larger one of the
two variances is used.

Omitting a cluster g of equations A_g z = b_g with residuals r_g changes the estimate by

    d_g = (A^T A - A_g^T A_g)^-1 A_g^T r_g

so that the fit need not be repeated. The variance of an estimate is (G - 1) / G sum_g d_g^2 (CV3,
the jackknife), a conservative cluster-robust variance for few clusters. Its degrees of freedom are
the effective number of clusters minus one,

    (sum_g s_g)^2 / sum_g s_g^2 - 1,

where s_g is the expected d_g^2 for independent errors.

Sources: Cameron, Gelbach and Miller 2011, *Robust inference with multiway clustering*, JBES 29(2);
Cameron and Miller 2015, *A practitioner's guide to cluster-robust inference*, JHR 50(2);
MacKinnon, Nielsen and Webb 2023, *Fast and reliable jackknife and bootstrap methods for
cluster-robust inference*, J. Applied Econometrics 38(5) (CV3); Bell and McCaffrey 2002, *Bias
reduction in standard errors for linear regression with multi-stage samples*, and Carter, Schnepel
and Steigerwald 2017, *Asymptotic behavior of a t-test robust to cluster heterogeneity*, REStat
99(4) (effective number of clusters).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..types import Array

#: Duration of blocks of time [s], and their number, at least, in short recordings.
BLOCK_S, MIN_BLOCKS = 1.0, 10

#: States are the same if they differ by less than this share of the deviations of all states, root
#: mean square over coordinates, without those that change by less than `MIN_CHANGE` of the largest.
SAME_STATE, MIN_CHANGE = 0.2, 1e-3

#: Added to 1 - leverage, because a cluster that alone determines an estimate cannot be omitted.
MIN_REMAINDER = 1e-9


def state_classes(v: Array, a: Array, load: Array) -> NDArray[np.int64]:
    """Return indices (M, n) of the joints and their classes of states.

    Parameters
    ----------
    v, a, load : (M, n) arrays
        Velocities, accelerations, and transmitted torques of the joints.

    Examples
    --------
    >>> v, a = np.array([[1.0], [3.0], [-1.0], [-3.0]]), np.array([[1.0], [1.0], [1.0], [-1.0]])
    >>> state_classes(v, a, np.zeros((4, 1))).ravel()  # braking is the third one
    array([2, 3, 0, 3])
    """
    fast = np.abs(v) > np.median(np.abs(v), axis=0)
    loaded = load > np.median(load, axis=0)
    return fast + 2 * (v * a > 0.0) + 4 * loaded + 8 * np.arange(v.shape[1])


def time_blocks(t: Array, part: NDArray[np.int64], state: Array) -> NDArray[np.int64]:
    """Return the index of the time block of each instant (M,) of parts of recordings.

    Instants with nearly the state (M, k), positions and velocities, of an instant in an earlier
    block belong to that block, unless it is the block before.

    >>> t, part = np.array([0.1, 0.6, 1.3, 20.2, 0.3]), np.array([0, 0, 0, 0, 1])
    >>> time_blocks(t, part, np.array([[0.0], [1.0], [1.1], [2.0], [3.0]]))
    array([0, 0, 1, 2, 3])
    >>> time_blocks(t, part, np.array([[0.0], [1.0], [1.1], [2.0], [1.1]]))
    array([0, 0, 1, 2, 0])
    """
    from scipy.spatial import cKDTree  # slow to import

    time = sum(float(np.ptp(t[part == k])) for k in np.unique(part))
    duration = min(BLOCK_S, time / MIN_BLOCKS) or BLOCK_S
    pairs = np.stack([part, np.floor(t / duration).astype(np.int64)])
    blocks = np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1)
    size = np.std(state, axis=0)
    moves = size > MIN_CHANGE * size.max(initial=0.0)
    if not moves.any():
        return blocks
    points = state[:, moves] / (size[moves] * np.sqrt(moves.sum()))
    tree, found = cKDTree(points), blocks.copy()
    for k, point in enumerate(points):
        first = min(tree.query_ball_point(point, SAME_STATE))
        if blocks[first] < blocks[k] - 1:
            found[k] = found[first]
    return found


def jackknife(
    U: Array,
    r: Array,
    clusterings: Sequence[NDArray[np.int64]],
    factor: Array,
    prior: Array | None = None,
) -> tuple[Array, Array]:
    """Return the covariance (k, k) of x, and degrees of freedom (k,) of its variances.

    Parameters
    ----------
    U : (m, rank) array
        All equations in coordinates with U^T U = 1.
    r : (m,) array
        Residuals, with the same weights as the equations.
    clusterings : sequence of (m,) arrays of int
        The cluster of each equation, for each set of clusters.
    factor : (k, rank) array
        x = factor U^T b.
    prior : (rank, rank) array, optional
        Information about these coordinates that is not part of any cluster.

    Examples
    --------
    The mean of four clusters, each with a constant error:

    >>> cluster = np.repeat(np.arange(4), 25)
    >>> r = np.array([1.0, -1.0, 2.0, -2.0])[cluster]
    >>> covariance, freedom = jackknife(np.full((100, 1), 0.1), r, [cluster], np.array([[0.1]]))
    >>> covariance.round(6), freedom.round(6)  # 10 / (4 * 3)
    (array([[0.833333]]), array([3.]))
    """
    size = U.shape[1]
    whole = (1.0 + MIN_REMAINDER) * np.eye(size) + (0.0 if prior is None else prior)
    total = np.zeros((len(factor), len(factor)))
    variances, freedoms = np.zeros((2, len(factor)))
    for cluster in clusterings:
        changes, shares = [], []
        order = np.argsort(cluster, kind='stable')
        ends = np.flatnonzero(np.diff(cluster[order])) + 1
        for rows in np.split(order, ends):
            A = U[rows]
            own = A.T @ A
            without = np.linalg.solve(whole - own, np.column_stack([A.T @ r[rows], own]))
            changes.append(factor @ without[:, 0])
            shares.append(np.einsum('ij,ij->i', factor @ without[:, 1:], factor))
        d, s = np.array(changes), np.maximum(shares, 0.0)
        count = len(d)
        covariance = (count - 1) / count * (d.T @ d)
        effective = s.sum(axis=0) ** 2 / np.maximum(np.sum(s**2, axis=0), 1e-300)
        larger = covariance.diagonal() > variances
        variances = np.where(larger, covariance.diagonal(), variances)
        freedoms = np.where(larger, effective - 1.0, freedoms)
        total += covariance
    scale = np.sqrt(variances / np.maximum(total.diagonal(), 1e-300))
    return total * np.outer(scale, scale), np.maximum(freedoms, 1.0)
