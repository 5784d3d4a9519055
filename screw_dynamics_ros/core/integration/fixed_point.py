# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fixed-point iteration with Anderson acceleration: the equations of implicit steps.

The maps x -> G(x) of the implicit integrators are simplified Newton steps, in which the derivatives
of forces and of the exponential map are left out. They contract by a factor of about h |omega| and
h^2 k / m, with the spin omega and the stiffness k / m. From the last differences of x and
f = G(x) - x the missing derivatives are estimated,

    x <- x + f - (dX + dF) gamma,    gamma = argmin |f - dF gamma|,

which makes G a preconditioner: the iteration also converges where G does not contract, if few
directions are stiff. What it converges to does not depend on it.

Source: H. F. Walker, P. Ni, *Anderson acceleration for fixed-point iterations*, SIAM Journal on
Numerical Analysis 49 (2011).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from ..errors import DivergenceError
from ..types import Array

#: Differences from which derivatives are estimated.
MEMORY = 6

#: Scaled corrections below it are not worth another call: far less than the rounding of positions,
#: because velocities are increments divided by a short time.
MIN_CORRECTION = 2e-17

T = TypeVar('T')


def fixed_point(
    G: Callable[[Array], tuple[Array, T]],
    x: Array,
    scale: float,
    tolerance: float,
    iterations: int,
) -> tuple[Array, T]:
    """Return x = G(x)[0] to rounding, and what else G returned there.

    It is iterated until rounding errors prevent progress; the smallest correction has to be within
    the tolerance then.

    Parameters
    ----------
    G : callable
        Takes x (n,), returns the next x (n,) and anything else.
    x : (n,)
        First guess.
    scale : float
        Of corrections: G(x) - x times the scale is compared with the tolerance.
    tolerance : float
    iterations : int
        At most so many calls of G.

    Raises
    ------
    DivergenceError
        If G returns numbers that are not finite, or the iteration does not converge.

    Examples
    --------
    A map that does not contract:

    >>> x, _ = fixed_point(lambda x: (3.0 - 2.0 * x**2, None), np.array([0.9]), 1.0, 1e-12, 20)
    >>> x.round(12)
    array([1.])
    """
    dX: list[Array] = []
    dF: list[Array] = []
    best, smallest, stalled = None, np.inf, 0
    for _ in range(iterations):
        image, other = G(x)
        f = image - x
        size = scale * float(np.abs(f).max(initial=0.0))
        if not np.isfinite(size):
            raise DivergenceError('the equations of the step have no finite solution')
        stalled = 0 if size < smallest / 2 else stalled + 1
        if size < smallest:
            best, smallest = (image, other), size
        if best and smallest <= tolerance and (smallest <= MIN_CORRECTION or stalled == 2):
            return best
        step = f
        if dX:
            dX[-1], dF[-1] = x - dX[-1], f - dF[-1]
            changes = np.array(dF)
            gamma = np.linalg.lstsq(changes.T, f, rcond=None)[0]
            step = f - gamma @ (np.array(dX) + changes)
        dX, dF = [*dX[1 - MEMORY :], x], [*dF[1 - MEMORY :], f]
        x = x + step
    raise DivergenceError(
        f'the equations of the step are not solved after {iterations} iterations: corrections are '
        f'still {smallest:.1e} rad or m, with a tolerance of {tolerance:.1e}; take shorter steps'
    )
