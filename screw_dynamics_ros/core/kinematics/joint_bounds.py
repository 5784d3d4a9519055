r"""Joint limits as bounds of the next joint velocity, held for one sampling time.

A joint at distance d from its limit, moving towards it with v while q grows by v dt in each sample
and v changes by at most a dt, stops in time just if v is at most

    v(d) = (d + a dt^2 m (m + 1) / 2) / ((m + 1) dt),    m (m + 1) / 2 <= d / (a dt^2) of largest m

where m is the number of samples it still brakes. It is d / dt for m = 0, so also without a limit of
acceleration, and close to sqrt(2 a d) far away; sqrt(2 a d) itself, which holds in continuous time,
makes the bounds of the next sample contradict each other. From a velocity within the bounds those
of the next sample are never empty.

Source: Bruyninckx, Robot Kinematics and Dynamics, section 5.11, which has no formula
(bruyninckx_2.md C-044).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.kinematics.inverse_velocity import rate
from screw_dynamics_ros.core.kinematics.weighted_inverse import check_positive
from screw_dynamics_ros.core.model.tree import Array, JointLimits, Tree


@dataclass(frozen=True)
class Bounds:
    """Bounds of the joint velocities over the next sample, (nv,) each [rad/s, m/s].

    Attributes
    ----------
    lower, upper : (nv,) array
        Finite or infinite, lower <= upper.
    names : tuple of str
        Of the joint velocities, for messages.
    conflicts : tuple of str
        Joints that cannot respect all their limits, with the reason: those brake as hard as they
        may, or return into their range.
    """

    lower: Array
    upper: Array
    names: tuple[str, ...]
    conflicts: tuple[str, ...] = ()


def velocity_bounds(
    tree: Tree,
    q: Array,
    dt: float,
    *,
    previous: ArrayLike | None = None,
    acceleration_limit: ArrayLike | None = None,
    limits: JointLimits | None = None,
) -> Bounds:
    """Return bounds of the velocity v that moves the robot to q + v dt.

    Parameters
    ----------
    tree : Tree
    q : (nq,) array
    dt : float
        Sampling time [s].
    previous : (nv,) array, optional
        Velocity of the last sample; at rest if not given. Matters with limits of acceleration.
    acceleration_limit : float or (nv,) array, optional
        Largest acceleration of each joint [rad/s^2, m/s^2]; infinite where not known.
    limits : JointLimits, optional
        Instead of those of the description. A free body has no limits.

    Raises
    ------
    ArgumentError
        If dt is not positive, a limit negative, or an argument no number.
    """
    check_positive('the sampling time dt', dt)
    position, names, lower, upper, fastest = per_velocity(tree, q, limits or tree.limits)
    v = rate('the previous velocity', tree.nv, np.zeros(tree.nv) if previous is None else previous)
    a = acceleration_limits(tree.nv, acceleration_limit)

    high = np.minimum(fastest, stopping_velocity(upper - position, a, dt))
    low = -np.minimum(fastest, stopping_velocity(position - lower, a, dt))
    conflicts = [
        f'{names[k]} is outside of its range [{lower[k]:.6g}, {upper[k]:.6g}] at {position[k]:.6g}'
        for k in np.flatnonzero((position < lower) | (position > upper))
    ]
    # A joint out of its range returns as fast as it may, and not so fast that it leaves it again.
    high = np.where(position > upper, np.maximum(high, low), high)
    low = np.where(position < lower, np.minimum(low, high), low)
    # What can be had within dt; the nearest of it where the limits ask for more.
    slowest, quickest = v - a * dt, v + a * dt
    margin = 1e-9 * (np.abs(v) + np.minimum(fastest, 1.0))
    for k in np.flatnonzero((high < slowest - margin) | (low > quickest + margin)):
        conflicts.append(
            f'{names[k]} cannot change its velocity {v[k]:.6g} fast enough to respect its limits'
        )
    return Bounds(
        np.clip(low, slowest, quickest), np.clip(high, slowest, quickest), names, tuple(conflicts)
    )


def stopping_velocity(distance: Array, acceleration: Array, dt: float) -> Array:
    """Return the largest velocity from which a joint stops within `distance`; see above.

    Negative for a negative distance: what brings the joint back in one sample.

    >>> stopping_velocity(np.array([0.5, 0.5, -0.1]), np.array([np.inf, 1.0, 1.0]), 0.1).round(3)
    array([ 5.  ,  0.95, -1.  ])
    """
    step = acceleration * dt * dt
    with np.errstate(invalid='ignore'):
        ratio = np.where(np.isfinite(distance), np.maximum(distance, 0.0) / step, 0.0)
        m = np.floor(0.5 * (np.sqrt(1.0 + 8.0 * ratio) - 1.0))
        braking = np.where(m > 0.0, step * m * (m + 1.0) / 2.0, 0.0)
    return (distance + braking) / ((m + 1.0) * dt)


def per_velocity(
    tree: Tree, q: Array, limits: JointLimits
) -> tuple[Array, tuple[str, ...], Array, Array, Array]:
    """Return coordinate, name, lower, upper and velocity limit of each joint velocity, (nv,)."""
    position, names = np.zeros(tree.nv), ['base'] * tree.nv
    lower, upper, fastest = (
        np.full(tree.nv, -np.inf),
        np.full(tree.nv, np.inf),
        np.full(tree.nv, np.inf),
    )
    for k, name in enumerate(tree.joint_names):
        place, velocity = tree.coordinates[name]
        names[velocity] = [name] * (velocity.stop - velocity.start)
        if velocity.stop - velocity.start != 6:
            position[velocity] = q[place]
            lower[velocity], upper[velocity] = limits.lower[k], limits.upper[k]
            fastest[velocity] = limits.velocity[k]
    if not (fastest >= 0.0).all() or not (lower <= upper).all():
        raise ArgumentError('joint limits need lower <= upper and a velocity of at least 0')
    return position, tuple(names), lower, upper, fastest


def acceleration_limits(nv: int, value: ArrayLike | None) -> Array:
    """Return the limits of acceleration, (nv,), positive or infinite."""
    limits = np.broadcast_to(np.asarray(np.inf if value is None else value, dtype=float), (nv,))
    if not (limits > 0.0).all():
        raise ArgumentError(
            f'limits of acceleration must be positive (infinite where there is none), got {value!r}'
        )
    return limits
