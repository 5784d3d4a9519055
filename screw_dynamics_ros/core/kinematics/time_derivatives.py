"""Time derivatives as lists [x, x', x'', ...], and Leibniz' rule for products of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

from screw_dynamics_ros.core.tree.multibody_tree import Body
from screw_dynamics_ros.core.types import Array

Derivatives = list[Array]


def product_derivative(
    product: Callable[[Array, Array], Array], a: Sequence[Array], b: Sequence[Array], k: int
) -> Array:
    """Return the k-th derivative of a bilinear product of a and b."""
    terms = [comb(k, m) * product(a[m], b[k - m]) for m in range(k + 1)]
    return sum(terms[1:], terms[0])


def derivative_of_product(
    factor: Callable[[int, Array], Array], y: Sequence[Array], k: int
) -> Array:
    """Return the k-th derivative of A y, given the derivatives of y and factor(m, x) = A^(m) x."""
    terms = [comb(k, m) * factor(m, y[k - m]) for m in range(k + 1)]
    return sum(terms[1:], terms[0])


def joint_rates(body: Body, rates: Sequence[Array]) -> Derivatives:
    """Return the derivatives of the joint's own coordinates, v, a, ..."""
    return [body.multiplier * rate[body.v] for rate in rates]
