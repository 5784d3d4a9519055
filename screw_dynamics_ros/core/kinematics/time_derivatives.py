# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Time derivatives as lists [x, x', x'', ...], and Leibniz' rule for products of them.

    (a b)^(k) = sum over m of binomial(k, m) a^(m) b^(k-m).

The square of t at t = 3, with the derivatives [3, 1, 0] of t, has the derivatives 2 t = 6 and 2:

>>> import numpy as np
>>> t = [np.array(3.0), np.array(1.0), np.array(0.0)]
>>> [float(product_derivative(np.multiply, t, t, k)) for k in range(3)]
[9.0, 6.0, 2.0]

Source: Müller 2018b section 6.3 (D-42), where the sums are written out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

from ..tree.multibody_tree import Body
from ..types import Array

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
