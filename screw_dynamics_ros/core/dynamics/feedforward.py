"""The share of the torques of a motion that a controller has to add."""

from __future__ import annotations

from screw_dynamics_ros.core.model.tree import Array


def weighted_terms(gravity: Array, coriolis: Array, shares: Array) -> Array:
    """Return s_0 g(q) + s_1 C(q, v) v, (n,) [N m, N].

    With shares of 1 it is the torque of an unaccelerated motion; a term that the robot compensates
    by itself has the share 0 in what is sent to it, and 1 in what it adds.

    Examples
    --------
    >>> import numpy as np
    >>> weighted_terms(np.array([10.0, 5.0]), np.array([1.0, 2.0]), np.array([0.0, 1.0]))
    array([1., 2.])
    """
    return shares[0] * gravity + shares[1] * coriolis
