# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The saddle-point problem of constrained motion: its independent rows, and its solution.

Which constraints of joints follow from the others.

Only joints in loops can have such: bodies that a single joint connects are removed first, until
only loops and their connections remain. The rows of J there are taken in the order of the joints;
one that is a combination of earlier ones is redundant. Whether that holds in general, or only at
this configuration, is seen at a second one nearby: if a row is independent there, the configuration
is singular.

    M x + J^T mu = r
    J x          = s

with M block-diagonal over the bodies. Eliminating x leaves A mu = J M^-1 r - s, A = J M^-1 J^T,
whose entries connect only constraints that have a body in common; then x = M^-1 (r - J^T mu). The
constraints are ordered so that eliminating them from the last to the first makes no fill-in for
chains and trees: the cost grows linearly with the number of bodies.

Two ways for one elimination: recorded with its structural zeros, for compilation, and on sparse
matrices (SuperLU) for systems that are too large to be recorded. SciPy is imported by the functions
that use it: that takes long, and all nodes import the names of this package for their parameters.

Source: Müller and Terze, section 3, where J must have full rank (I-29); the search is derived;
Müller and Terze (3) (I-20).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import InfeasibleConstraintsError
from ...lie import screw_systems
from ...linear import solve_positive_definite, sparse_product, symmetric, zeros
from ...types import Array

if TYPE_CHECKING:
    from scipy import sparse

#: A row is dependent if what earlier rows leave of it is smaller, relative to the row.
DEPENDENCE_TOLERANCE = 1e-8
#: Distance of the second configuration from the first [rad, m].
TEST_EXCURSION = 0.05
Numbers = NDArray[np.intp]


def independent_rows(
    ends: Numbers,
    joint_of_row: Numbers,
    n: int,
    jacobian: Callable[[Array], Array],
    q: Array,
    moved: Callable[[Array, Array], Array],
) -> Numbers:
    """Return the numbers of the rows that do not follow from earlier ones.

    Parameters
    ----------
    ends : (k, 2) array of int
        The bodies of each joint; n is the ground.
    joint_of_row : (m,) array of int
    n : int
    jacobian : callable
        All rows of J, (m, 6 n), at a configuration.
    q : array
        A configuration in which all joints are closed.
    moved : callable
        A configuration, displaced.

    Raises
    ------
    InfeasibleConstraintsError
        If the number of independent rows changes with the configuration.
    """
    in_loops = np.flatnonzero(np.isin(joint_of_row, joints_in_loops(ends, n)))
    everything = np.arange(len(joint_of_row))
    if not in_loops.size:
        return everything
    J = jacobian(q)
    kept = first_independent(J[in_loops])
    if len(kept) == len(in_loops):
        return everything
    nearby = moved(q, admissible(J, TEST_EXCURSION))
    if len(first_independent(jacobian(nearby)[in_loops], 0.1 * TEST_EXCURSION)) > len(kept):
        raise InfeasibleConstraintsError(
            f'at this configuration {len(in_loops) - len(kept)} constraints of the closed loops '
            'are redundant, nearby fewer: it is singular (a loop is stretched out or folded); '
            'start at another configuration'
        )
    redundant = np.delete(in_loops, kept)
    return np.setdiff1d(everything, redundant)


def joints_in_loops(ends: Numbers, n: int) -> Numbers:
    """Return the joints that remain when open branches have been removed.

    Parameters
    ----------
    ends : (k, 2) array of int
        The bodies of each joint; n is the ground.
    n : int

    Examples
    --------
    A triangle of bodies 0, 1, 2 on a body 3 that is jointed to the ground:

    >>> joints_in_loops(np.array([[4, 3], [3, 0], [0, 1], [1, 2], [2, 0]]), 4)
    array([2, 3, 4])
    """
    joints_of: list[set[int]] = [set() for _ in range(n + 1)]
    for k, joint in enumerate(ends.tolist()):
        for body in joint:
            joints_of[body].add(k)
    remaining = set(range(len(ends)))
    leaves = [body for body in range(n + 1) if len(joints_of[body]) == 1]
    while leaves:
        for k in tuple(joints_of[leaves.pop()]):
            remaining.discard(k)
            for body in ends[k].tolist():
                joints_of[body].discard(k)
                if len(joints_of[body]) == 1:
                    leaves.append(body)
    return np.array(sorted(remaining), dtype=np.intp)


def first_independent(J: Array, tolerance: float = DEPENDENCE_TOLERANCE) -> Numbers:
    """Return the rows of J (m, k) that are no combinations of earlier ones."""
    basis = np.zeros((0, J.shape[1]))
    kept = []
    for k, row in enumerate(J):
        rest = row - basis.T @ (basis @ row)
        rest = rest - basis.T @ (basis @ rest)
        size = float(np.linalg.norm(rest))
        if size > tolerance * float(np.linalg.norm(row)):
            kept.append(k)
            basis = np.vstack([basis, rest / size])
    return np.array(kept, dtype=np.intp)


def admissible(J: Array, length: float) -> Array:
    """Return a displacement of that length that J admits: all free motions at once."""
    free = screw_systems.null_space(J, DEPENDENCE_TOLERANCE)
    if not free.shape[1]:
        return np.zeros(J.shape[1])
    X = free @ (1.0 + np.arange(free.shape[1]) / (1 + free.shape[1]))
    direction: Array = X * (length / np.linalg.norm(X))
    return direction


class SaddlePoint:
    """The structure of one system: which constraints act on which bodies.

    Parameters
    ----------
    M : (n, 6, 6) array
        Inertia of the bodies, constant.
    bodies : (m, s) array of int
        The bodies of each constraint; n is the ground.
    """

    def __init__(self, M: Array, bodies: Numbers) -> None:
        self._n, self._bodies = len(M), bodies
        self._M_inv = np.concatenate([np.linalg.inv(M), np.zeros((1, 6, 6))])
        self._order = elimination_order(bodies, self._n)
        self._columns = 6 * bodies[..., None] + np.arange(6)
        self._rows = RowPattern(bodies, self._n)
        self._backwards = self._order[::-1]  # SuperLU eliminates from the first on
        self._rows_backwards = RowPattern(bodies[self._backwards], self._n)

    def solve(self, blocks: Array, r: Array, s: Array) -> tuple[Array, Array]:
        """Return x and mu by elimination with structural zeros; everything may be recorded.

        Parameters
        ----------
        blocks : (m, s, 6) array
            J, as the parts of its rows that belong to `bodies`.
        r : (6 n,) array
        s : (m,) array
        """
        free = self._M_inv_times(r)
        if not len(blocks):
            return free, zeros(0)
        order = self._order
        J = self._dense(blocks)
        W = self._dense((blocks[..., None, :] @ self._M_inv[self._bodies])[..., 0, :])
        b = sparse_product(J, free[:, None])[:, 0] - s
        A = symmetric(sparse_product(J[order], W[order].T))
        mu = zeros(len(s), blocks, r, s)
        mu[order] = solve_positive_definite(A, b[order])
        return free - sparse_product(W.T, mu[:, None])[:, 0], mu

    def solve_sparse(self, blocks: Array, r: Array, s: Array) -> tuple[Array, Array]:
        """Return x and mu of numbers, by sparse matrices.

        Raises
        ------
        RuntimeError
            If A is singular: constraints depend on each other.
        """
        from scipy import sparse
        from scipy.sparse.linalg import splu

        free = self._M_inv_times(r)
        if not len(blocks):
            return free, np.zeros(0)
        rows = self._backwards
        parts = blocks[rows]
        J = self._rows_backwards.matrix(parts)
        W = self._rows_backwards.matrix(
            (parts[..., None, :] @ self._M_inv[self._bodies[rows]])[..., 0, :]
        )
        A = J @ W.T  # symmetric: its rows are its columns
        factors = splu(
            sparse.csc_array((A.data, A.indices, A.indptr)),
            permc_spec='NATURAL',
            diag_pivot_thresh=0.0,
            options={'SymmetricMode': True},
        )
        nu, mu = factors.solve(J @ free - s[rows]), np.empty(len(s))
        mu[rows] = nu
        return free - W.T @ nu, mu

    def matrix(self, blocks: Array) -> sparse.csr_array:
        """Return the matrix (m, 6 n) of rows in parts (m, s, 6), numbers."""
        return self._rows.matrix(blocks)

    def _M_inv_times(self, r: Array) -> Array:
        product: Array = (self._M_inv[:-1] @ r.reshape(-1, 6, 1)).reshape(-1)
        return product

    def _dense(self, blocks: Array) -> Array:
        """Return the same as a dense matrix, with zeros that stay zeros; may be recorded."""
        matrix = zeros((len(blocks), 6 * self._n + 6), blocks)
        for row, columns, parts in zip(matrix, self._columns, blocks):
            for places, part in zip(columns, parts):
                row[places] = row[places] + part
        return matrix[:, :-6]


class RowPattern:
    """Where the entries of J are: each row has six columns for each moving body it connects.

    Parameters
    ----------
    bodies : (m, s) array of int
        The bodies of each row; n is the ground.
    n : int
        Number of bodies.
    """

    def __init__(self, bodies: Numbers, n: int) -> None:
        self._moving = bodies < n
        self._shape = len(bodies), 6 * n
        self._columns = (6 * bodies[self._moving][:, None] + np.arange(6)).reshape(-1)
        self._begins = np.append(0, np.cumsum(6 * self._moving.sum(axis=1)))

    def matrix(self, blocks: Array) -> sparse.csr_array:
        """Return the matrix (m, 6 n) of rows in parts (m, s, 6)."""
        from scipy import sparse

        entries = blocks[self._moving].reshape(-1)
        return sparse.csr_array((entries, self._columns, self._begins), shape=self._shape)


def elimination_order(bodies: Numbers, n: int) -> Numbers:
    """Return the order of constraints (m,) in which elimination from the last makes little fill-in.

    Breadth-first from one end of the structure (Cuthill and McKee): leaves are eliminated first.
    """
    from scipy import sparse
    from scipy.sparse import csgraph

    m = len(bodies)
    if not m:
        return np.zeros(0, dtype=np.intp)
    moving = bodies < n
    rows = np.broadcast_to(np.arange(m)[:, None], bodies.shape)
    incidence = sparse.csr_array(
        (np.ones(int(moving.sum())), (rows[moving], bodies[moving])), shape=(m, n)
    )
    neighbors = sparse.csr_matrix(incidence @ incidence.T)
    order: Numbers = csgraph.reverse_cuthill_mckee(neighbors, symmetric_mode=True)[::-1].astype(
        np.intp
    )
    return order
