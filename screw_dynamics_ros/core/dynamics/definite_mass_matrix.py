# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Proof that the mass matrix is positive definite for all configurations within the limits.

The mass matrix is positive definite if and only if the articulated inertias at all joints,
D_i = X_i^T P_i X_i + d_i, are positive (see `articulated_body`). If the inertias of all bodies are
positive semidefinite, D_i is at least X_i^T M_i X_i + d_i, without its successors. Hand-written
bodies may be impossible. Then matrices L_i <= P_i, in the sense that P_i - L_i is positive
semidefinite, are computed for boxes of configurations, from the tips to the root. Elimination of a
joint and change of frames preserve the order. A change of frame by a joint is a trigonometric
polynomial of its angle q = c + delta, or a polynomial of its displacement,

    P(q) = T_0 + T_1 cos delta + T_2 sin delta + T_3 cos 2 delta + T_4 sin 2 delta
        >= T_0 + sum of (m_k T_k - r_k |T_k|)

with factors between m_k - r_k and m_k + r_k in the box. Boxes in which a D_i may be negative are
halved. Mimic joints and rotors are treated as independent joints, which is sufficient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..description.robot_description import Finding
from ..kinematics.configurations import random_configurations
from ..lie import se3
from ..tree.joint_limits import position_limits
from ..tree.multibody_tree import GROUND, Body, Tree
from ..types import Array
from .mass_matrix import mass_matrix
from .spatial_inertia import inertia_matrix

#: Boxes of configurations until the search ends, and those that are computed together.
MAX_BOXES, TOGETHER = 2_000, 256
MIN_WIDTH = 1e-6  # of halved boxes [rad, m]
SAMPLES = 100  # random configurations that are tried first

#: Share of its norm that each matrix gives away: a hundred times the rounding errors.
ROUNDING = 1e-12

#: Eigenvalues below this share of the largest one are zero or negative.
SINGULAR = 1e-12

#: Smallest eigenvalue, relative to the largest, of the metric of |T_k|.
METRIC_FLOOR = 1e-3


@dataclass(frozen=True, eq=False)
class Definiteness:
    """Whether the mass matrix is positive definite for all configurations within the limits.

    Attributes
    ----------
    status : 'proved', 'refuted' or 'undecided'
    least : float
        If it is proved, a lower bound of the inertia at any joint, with the successors free to
        move and the predecessors at rest [kg m^2, kg]; else the smallest eigenvalue at `q`.
    joint : str
        The joint with this bound; empty if it is not proved.
    q : (nq,) array or None
        A configuration at which the mass matrix is not positive definite.
    reason : str
        Why it is undecided.
    """

    status: Literal['proved', 'refuted', 'undecided']
    least: float = np.nan
    joint: str = ''
    q: Array | None = None
    reason: str = ''

    @property
    def finding(self) -> Finding:
        """The result as a finding."""
        subject = 'mass matrix'
        if self.q is not None:
            return Finding.warning(
                subject,
                f'not positive definite at q = ({", ".join(f"{x:.4g}" for x in self.q)}): its '
                f'smallest eigenvalue is {self.least:.2g}',
                'correct inertias that no body can have, and give links that move a mass',
            )
        if self.status == 'undecided':
            return Finding('info', subject, f'not known to be positive definite: {self.reason}')
        return Finding(
            'info',
            subject,
            'positive definite for all positions within the limits; with all joints beyond free, '
            f'the inertia of each joint is at least {self.least:.3g} kg m^2 or kg ({self.joint})',
        )


def definiteness(tree: Tree, max_boxes: int = MAX_BOXES) -> Definiteness:
    """Return whether the mass matrix of a tree is positive definite within its limits.

    Examples
    --------
    >>> from screw_dynamics_ros.core.tree.examples import planar_arm
    >>> definiteness(planar_arm())
    Definiteness(status='proved', least=1.0, joint='shoulder', q=None, reason='')
    """
    if not tree.bodies:
        return Definiteness('undecided', reason='no joint moves')
    if any(motor.inertia < 0.0 for motor in tree.motors):
        return Definiteness('undecided', reason='a coupled motor has a negative inertia')
    own = [inertia_matrix(body) for body in tree.bodies]
    least = np.array([joint_inertia(body, M[None])[0] for body, M in zip(tree.bodies, own)])
    eigenvalues = np.linalg.eigvalsh(own)
    possible = (eigenvalues[:, 0] >= -SINGULAR * eigenvalues[:, -1]).all()
    if possible and (least > SINGULAR * eigenvalues[:, -1].max()).all():
        return proved(tree, least)
    lower, upper = ranges(tree)
    for body in tree.bodies:
        limits = lower[body.q], upper[body.q]
        fault = (
            'has several coordinates'
            if body.dof > 1
            else 'is helical'
            if body.X[:3].any() and body.X[3:].any()
            else 'has no limits of position'
            if not np.isfinite(limits).all()
            else ''
        )
        if fault and body.parent != GROUND:
            return Definiteness('undecided', reason=f'joint {body.joint} {fault}')
    lower, upper = np.nan_to_num(lower, neginf=0.0), np.nan_to_num(upper, posinf=0.0)
    found = refuted(tree, random_configurations(tree, np.random.default_rng(0), (SAMPLES,)))
    for i in reversed(range(len(tree.bodies))):
        found = found or searched(tree, i, lower, upper, least, max_boxes)
    return found or proved(tree, least)


def proved(tree: Tree, least: Array) -> Definiteness:
    """Return a proof with lower bounds (number of bodies,)."""
    k = int(np.argmin(least))
    return Definiteness('proved', float(least[k]), tree.bodies[k].joint)


def is_revolute(body: Body) -> bool:
    """Whether the joint of a body rotates about an axis through the origin of its frame."""
    return not body.X[3:].any()


def joint_inertia(body: Body, P: Array) -> Array:
    """Return D (N,), the smallest one of a joint with several coordinates, of P (N, 6, 6)."""
    D = body.X.T @ P @ body.X + body.drive.reflected_inertia * np.eye(body.dof)
    return np.asarray(np.linalg.eigvalsh(D)[:, 0])


def ranges(tree: Tree) -> tuple[Array, Array]:
    """Return the limits (nq,) of all coordinates, a turn at most; free bodies are not moved."""
    lower, upper = position_limits(tree)
    for body in tree.bodies:
        if body.dof > 1:
            lower[body.q] = upper[body.q] = body.group.neutral
        elif is_revolute(body):
            turn = np.pi / min(abs(body.multiplier) or 1.0, 1.0)
            if not upper[body.q][0] - lower[body.q][0] < 2.0 * turn:
                lower[body.q], upper[body.q] = -turn, turn
    return lower, upper


def searched(
    tree: Tree, target: int, lower: Array, upper: Array, least: Array, max_boxes: int
) -> Definiteness | None:
    """Set the lower bound of D of a body by halving boxes; None if it is positive.

    Its successors have positive ones.
    """
    beyond = np.array([target in tree.path(i)[:-1] for i in range(len(tree.bodies))])
    judged = beyond.copy()
    judged[target] = True
    center, half = 0.5 * (lower + upper)[None], 0.5 * (upper - lower)[None]
    least[target], count = np.inf, 0
    while len(center):
        if count >= max_boxes or half.max() < MIN_WIDTH:
            joint = tree.bodies[target].joint
            return Definiteness('undecided', reason=f'{count} boxes do not decide joint {joint}')
        c, w = center[-TOGETHER:], half[-TOGETHER:]
        center, half = center[:-TOGETHER], half[:-TOGETHER]
        count += len(c)
        D, loss = bounds(tree, c, w)
        fails = (D[:, judged] <= 0.0).any(axis=1)
        least[target] = D[~fails, target].min(initial=least[target])
        c, w = c[fails], w[fails]
        if (found := refuted(tree, c)) is not None:
            return found
        lossy = np.argmax(np.where(beyond, loss[fails], -1.0), axis=1)
        place = np.arange(len(c)), np.array([body.q.start for body in tree.bodies])[lossy]
        w[place] /= 2.0
        step = np.zeros_like(c)
        step[place] = w[place]
        center = np.concatenate([center, c - step, c + step])
        half = np.concatenate([half, w, w])
    return None


def refuted(tree: Tree, q: Array) -> Definiteness | None:
    """Return a refutation by one of the configurations (N, nq), None if there is none."""
    D, _ = bounds(tree, q, np.zeros_like(q))
    for each in q[(D <= 0.0).any(axis=1)]:
        eigenvalues = np.linalg.eigvalsh(np.asarray(mass_matrix(tree, each), dtype=float))
        if eigenvalues[0] <= SINGULAR * np.abs(eigenvalues).max():
            return Definiteness('refuted', float(eigenvalues[0]), q=each)
    return None


def bounds(tree: Tree, center: Array, half: Array) -> tuple[Array, Array]:
    """Return lower bounds of D of all bodies in N boxes (N, nq), and the losses of their joints."""
    L = [np.tile(inertia_matrix(body), (len(center), 1, 1)) for body in tree.bodies]
    D, loss = np.zeros((2, len(center), len(L)))
    for i in reversed(range(len(L))):
        body, p = tree.bodies[i], tree.bodies[i].parent
        D[:, i] = joint_inertia(body, L[i]) - rounding(L[i])
        if p == GROUND:
            continue
        U = L[i] @ body.X
        divisor = np.where(D[:, i] > 0.0, D[:, i], np.inf)  # a box that fails has no bounds beyond
        P = L[i] - U @ np.swapaxes(U, 1, 2) / divisor[:, None, None]
        k = body.q.start
        c = body.multiplier * center[:, k] + body.offset
        w = abs(body.multiplier) * half[:, k]
        moved, loss[:, i] = least_over(body, P, c, w)
        s, V = np.linalg.eigh(P)  # without its positive part, P is lower, but varies less
        other, _ = least_over(body, (V * np.minimum(s, 0.0)[:, None]) @ np.swapaxes(V, 1, 2), c, w)
        lower = np.linalg.eigvalsh(moved)[:, 0] < np.linalg.eigvalsh(other)[:, 0]
        moved[lower] = other[lower]
        L[p] = L[p] + moved - rounding(moved)[:, None, None] * np.eye(6)
    return D, loss


def rounding(P: Array) -> Array:
    """Return bounds (N,) of the rounding errors of matrices (N, 6, 6)."""
    return ROUNDING * np.abs(P).sum(axis=(1, 2))


def least_over(body: Body, P: Array, c: Array, w: Array) -> tuple[Array, Array]:
    """Return lower bounds (N, 6, 6) of P in the predecessor's frame, c - w to c + w, and losses.

    P (N, 6, 6) are inertias in the frame of the body, c and w (N,) are of its joint.
    """
    if is_revolute(body):
        steps = 2.0 * np.pi * np.arange(5) / 5.0
        waves = np.stack([np.cos(steps), np.sin(steps), np.cos(2 * steps), np.sin(2 * steps)])
        sine, sine2 = (np.where(x < np.pi / 2, np.sin(x), 1.0) for x in (w, 2 * w))
        cosine, cosine2 = (np.cos(np.minimum(x, np.pi)) for x in (w, 2 * w))
        zero = np.zeros_like(w)
        middle = np.stack([(1 + cosine) / 2, zero, (1 + cosine2) / 2, zero])
        radius = np.stack([(1 - cosine) / 2, sine, (1 - cosine2) / 2, sine2])
        weights = np.vstack([np.full(5, 0.2), 0.4 * waves])
    else:
        steps = np.array([-1.0, 0.0, 1.0])
        weights = np.array([[0.0, 1.0, 0.0], [-0.5, 0.0, 0.5], [0.5, -1.0, 0.5]])
        middle, radius = np.stack([0.0 * w, w**2 / 2]), np.stack([w, w**2 / 2])
    C = body.B @ se3.exp_unit_screw(body.X[:, 0], c[:, None] + steps)
    A = se3.Ad(se3.inverse(C))
    T = np.einsum('ks,nsij->knij', weights, np.swapaxes(A, -1, -2) @ P[:, None] @ A)
    start = T[0] + (T[1] + T[3] if is_revolute(body) else 0.0)
    s, V = np.linalg.eigh(start)
    s = np.abs(s) + METRIC_FLOOR * np.abs(s).max(axis=1, keepdims=True) + np.finfo(float).tiny
    R = V / np.sqrt(s)[:, None]
    x, W = np.linalg.eigh(np.swapaxes(R, 1, 2) @ T[1:] @ R)
    sizes = (W * np.abs(x)[..., None, :]) @ np.swapaxes(W, -1, -2)
    lost = np.einsum('kn,knij->nij', radius, sizes)
    Q = V * np.sqrt(s)[:, None]
    found = T[0] + np.einsum('kn,knij->nij', middle, T[1:]) - Q @ lost @ np.swapaxes(Q, 1, 2)
    found = (found + np.swapaxes(found, 1, 2)) / 2
    return found, np.trace(lost, axis1=1, axis2=2)
