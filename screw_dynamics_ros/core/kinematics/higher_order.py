"""Accelerations, jerks and higher derivatives of twists; rates of Jacobians.

Everything starts from spatial twists, whose recursion has no transformation: with J' = [V, J]
(muller.md D-10) Leibniz' rule gives any order (D-12). The other representations follow by
differentiating the changes of representation of K-09, again by Leibniz' rule, which is where the
printed formulas of the papers go wrong (E-09, E-11, E-13). An object's time derivatives are kept
as a list, [x, x', x'', ...].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

import numpy as np

from screw_dynamics_ros.core.kinematics.jacobians import check_representation
from screw_dynamics_ros.core.kinematics.poe import link_pose, relative_pose
from screw_dynamics_ros.core.lie.se3 import Ad, ad
from screw_dynamics_ros.core.lie.so3 import hat
from screw_dynamics_ros.core.model.tree import Array, Body, Tree, zeros

Derivatives = list[Array]


def product_derivative(
    product: Callable[[Array, Array], Array], a: Sequence[Array], b: Sequence[Array], k: int
) -> Array:
    """Return the k-th derivative of a bilinear product of a and b (Leibniz' rule)."""
    terms = [comb(k, m) * product(a[m], b[k - m]) for m in range(k + 1)]
    return sum(terms[1:], terms[0])


def joint_rates(body: Body, rates: Sequence[Array]) -> Derivatives:
    """Return the derivatives of the joint's own coordinates, v, a, ..."""
    return [body.multiplier * rate[body.v] for rate in rates]


def spatial_twists(tree: Tree, q: Array, rates: Sequence[Array], link: str) -> Derivatives:
    """Return [V, V', ...]: the spatial twist of a link and its derivatives.

    Parameters
    ----------
    rates : sequence of (nv,) arrays
        v, a, and further time derivatives of the joint coordinates.
    """
    V: Derivatives = [np.zeros(6) for _ in rates]
    for _, _, twists in spatial_joints(tree, q, rates, link):
        V = twists
    return V


def spatial_joints(
    tree: Tree, q: Array, rates: Sequence[Array], link: str
) -> list[tuple[Body, Derivatives, Derivatives]]:
    """Return (body, [J, J', ...], [V, V', ...]) from root to link, spatial form (D-12)."""
    result, C = [], np.eye(4)
    V: Derivatives = [np.zeros(6) for _ in rates]
    for i in tree.path(tree.frame(link).body):
        body = tree.bodies[i]
        C = C @ relative_pose(body, q)
        own = joint_rates(body, rates)
        J, twists = [Ad(C) @ body.X], []
        for k in range(len(rates)):
            twists.append(V[k] + product_derivative(np.matmul, J, own, k))
            J.append(product_derivative(lambda v, x: ad(v) @ x, twists, J, k))
        V = twists
        result.append((body, J, V))
    return result


class LinkMotion:
    """Orientation, position and angular velocity of a link, with derivatives, in the root frame.

    Attributes
    ----------
    R : (3, 3) array
    r : [r, r', r'', ...]
        Position of the link's origin [m] and its derivatives.
    omega : [omega, omega', ...]
        Angular velocity [rad/s] and its derivatives.
    """

    def __init__(self, pose: Array, V: Derivatives) -> None:
        self.R = pose[:3, :3]
        self.r: Derivatives = [pose[:3, 3]]
        self.omega = [twist[:3] for twist in V]
        for k, twist in enumerate(V):  # r' = v + omega x r, K-09
            self.r.append(twist[3:] + product_derivative(cross, self.omega, self.r, k))

    def represented(self, X: Derivatives, representation: str) -> Derivatives:
        """Return spatial screws (6,) or (6, k) and their derivatives in another representation."""
        if representation == 'spatial':
            return X
        angular = [x[:3] for x in X]
        linear = [x[3:] + product_derivative(cross, angular, self.r, k) for k, x in enumerate(X)]
        if representation in ('body', 'mixed'):
            angular = self._resolved(angular)
        if representation == 'body':
            linear = self._resolved(linear)
        return [np.concatenate(parts) for parts in zip(angular, linear)]

    def _resolved(self, x: Derivatives) -> Derivatives:
        """Return R^T x and its derivatives: d/dt (R^T x) = R^T (x' - omega x x)."""
        result = []
        while x:
            result.append(self.R.T @ x[0])
            x = [x[k + 1] - product_derivative(cross, self.omega, x, k) for k in range(len(x) - 1)]
        return result


def cross(a: Array, b: Array) -> Array:
    """Return a x b for vectors (3,), or for one vector and columns (3, k)."""
    return hat(a) @ b if a.ndim == 1 else -hat(b) @ a


def twist_derivatives(
    tree: Tree, q: Array, rates: Sequence[Array], link: str, representation: str
) -> Derivatives:
    """Return the twist of a link and its derivatives: velocity, acceleration, jerk, jounce, ...

    They are derivatives of components, as the papers have them: the linear part of a hybrid or
    mixed acceleration is the acceleration of the link's origin, that of a spatial or body-fixed
    one is not (D-16).

    Parameters
    ----------
    rates : sequence of (nv,) arrays
        v, a, and further time derivatives of the joint coordinates; as many are returned.
    """
    check_representation(representation)
    V = spatial_twists(tree, q, rates, link)
    return LinkMotion(link_pose(tree, q, link), V).represented(V, representation)


def acceleration(
    tree: Tree, q: Array, v: Array, a: Array, link: str, representation: str = 'hybrid'
) -> Array:
    """Return the time derivative of a link's twist, (6,) [rad/s^2, m/s^2] (D-05, D-10, D-14)."""
    return twist_derivatives(tree, q, [v, a], link, representation)[1]


def jacobian_derivative(
    tree: Tree, q: Array, v: Array, link: str, representation: str = 'hybrid'
) -> Array:
    """Return the time derivative of the (6, nv) Jacobian of a link (D-06, D-10, D-14, D-16)."""
    check_representation(representation)
    joints = spatial_joints(tree, q, [v], link)
    V = joints[-1][2] if joints else [np.zeros(6)]
    motion = LinkMotion(link_pose(tree, q, link), V)
    rate = zeros((6, tree.nv), motion.R, *V)
    for body, J, _ in joints:
        column = motion.represented(J, representation)[1]
        rate[:, body.v] = rate[:, body.v] + body.multiplier * column
    return rate
