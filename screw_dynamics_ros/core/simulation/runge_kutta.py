"""One step of the classical Runge-Kutta method for joint motions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def runge_kutta_step(
    acceleration: Callable[[Array, Array], Array], q: Array, v: Array, dt: float,
) -> tuple[Array, Array]:
    """Return q and v a time `dt` later, by the classical Runge-Kutta method of fourth order.

    For robots whose velocities are the derivatives of their coordinates: dq/dt = v,
    dv/dt = acceleration(q, v).

    Parameters
    ----------
    acceleration : callable
        Returns the (n,) joint accelerations [rad/s^2, m/s^2] at q, v; torques are constant or a
        function of q and v.
    q, v : (n,) arrays
        Positions [rad, m] and velocities.
    dt : float
        Step [s]; the error of one step is of order dt^5.

    Examples
    --------
    Free fall is exact:

    >>> q, v = runge_kutta_step(lambda q, v: np.array([-10.0]), np.zeros(1), np.zeros(1), 0.5)
    >>> q, v
    (array([-1.25]), array([-5.]))
    """
    v1 = v
    a1 = acceleration(q, v1)
    v2 = v + dt / 2 * a1
    a2 = acceleration(q + dt / 2 * v1, v2)
    v3 = v + dt / 2 * a2
    a3 = acceleration(q + dt / 2 * v2, v3)
    v4 = v + dt * a3
    a4 = acceleration(q + dt * v3, v4)
    return q + dt / 6 * (v1 + 2 * v2 + 2 * v3 + v4), v + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
