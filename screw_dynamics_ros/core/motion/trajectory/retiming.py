# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""A motion slowed down where it must be: the same path within the effort limits of all joints.

The given motion q(s) has its own time s as path parameter. Run at the speed sigma = ds/dt, with
x = sigma^2 and u = dsigma/dt, its velocities are v sigma and its accelerations a x + v u, so that
each effort is (Bruyninckx 2010, 6.1.3, C-069, for a speed that changes)::

    tau = M v u + (M a + C v) x + viscous friction sigma + (g + dry friction)
        = alpha u + beta x + delta sigma + gamma

and x changes along the path by dx/ds = 2 u. With u constant between two samples, h apart, the
limits |tau| <= L at both ends of each interval bound the growth of x from sample to sample, and,
run backward, its fall. Two passes give the fastest motion::

    backward: highest x from which the rest of the path can be run,
    forward:  as fast as efforts allow, below that.

Between limits on u of two joints nothing may be left over: where it vanishes is the maximum
velocity curve, found beforehand for all samples at once. All conditions are quadratic in sigma, and
their roots are exact, without a search, and viscous friction is included exactly.

Source: Bobrow, Dubowsky and Gibson, Time-optimal control of robotic manipulators along specified
paths (1985); Pham and Pham, A new approach to time-optimal path parameterization based on
reachability analysis (2018), collocation at both ends of the intervals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ...arguments import check_number, vector
from ...description.rigid_body import RigidBody
from ...errors import ArgumentError
from ...tree.joint_limits import of_velocities, velocity_names
from ...types import Array
from .motion import Motion
from .required_efforts import required_efforts
from .time_scaling import first_crossing, friction_by_power

if TYPE_CHECKING:
    from ...robot.robot import Robot

#: Share of the limits that is kept from rounding.
LIMIT_MARGIN = 1e-9


@dataclass(frozen=True, eq=False)
class Retiming:
    """A motion with another timing along the same path.

    Attributes
    ----------
    feasible : bool
        Whether there is one: if not, the static effort of `joint` at `time` is beyond its limit.
    motion : Motion
        The new one; as given if there is none.
    speed : (N,) array
        Speed factor sigma at each sample: 1 where it runs as given. Less than 1 at the first sample
        of a motion that starts while moving: the velocity there cannot be kept.
    joint : str
        The joint nearest to its effort limit where the motion is slowest, or overloaded at rest; ''
        if nothing had to be slowed down.
    time : float
        When that is, in the time of the motion as given [s].
    """

    feasible: bool
    motion: Motion
    speed: Array
    joint: str
    time: float


def retimed(
    robot: Robot,
    motion: Motion,
    payloads: Mapping[str, RigidBody] | None = None,
    *,
    effort_limits: Array | None = None,
    acceleration_limits: Array | None = None,
    friction: bool = True,
    most: float = 1.0,
) -> Retiming:
    """Return the fastest motion along the same path within velocity and effort limits.

    Parameters
    ----------
    robot : Robot
        With `limits`.
    motion : Motion
        Of at least two samples, dense enough for what happens between them: bounds hold at the
        samples, for the accelerations before and after each of them.
    payloads : {link: RigidBody}, optional
        What the robot carries.
    effort_limits : (nv,) array, optional
        Instead of those of the robot [N m, N].
    acceleration_limits : (nv,) array, optional
        [rad/s^2, m/s^2]; by default the smaller ones of acceleration and deceleration in the
        description, infinite if it has none.
    friction : bool
        Whether the friction of the drives counts; the dry one as in `largest_speed_factor`.
    most : float
        Largest speed factor of a sample: 1 only slows down, infinity gives the time-optimal motion.

    Raises
    ------
    ArgumentError
        If limits have another shape, are negative or NaN, or there is one sample only.
    """
    if most != inf:
        check_number('most', most, positive=True)
    if len(motion.time) < 2:
        raise ArgumentError('a motion of one sample has no timing; give at least two samples')
    limit = checked(robot, 'effort_limits', effort_limits, robot.limits.effort)
    limit = limit * (1.0 - LIMIT_MARGIN)
    efforts = efforts_along(robot, motion, payloads, limit, friction)
    overload = np.abs(efforts.gamma) - limit
    if (overload > 0.0).any():
        sample, k = np.unravel_index(np.argmax(overload), overload.shape)
        name, time = velocity_names(robot)[k], float(motion.time[sample])
        return Retiming(False, motion, np.ones(len(motion.time)), name, time)
    bounds = [efforts]
    accelerations = checked(
        robot,
        'acceleration_limits',
        acceleration_limits,
        described_limits(robot, 'acceleration', 'deceleration'),
    )
    if np.isfinite(accelerations).any():
        bounds.append(
            PathBounds(
                motion.v,
                motion.a,
                np.zeros_like(motion.v),
                np.zeros_like(motion.v),
                accelerations,
            )
        )
    every = bounds[0] if len(bounds) == 1 else joined(bounds)
    h = np.diff(motion.time)
    top = np.minimum(velocity_bound(robot, motion), most)
    top = np.minimum(top, without_u(every, h, top))
    doubtful = ~any_u(every, top)
    top[doubtful] = np.minimum(top[doubtful], maximum_velocity(every.at(doubtful)))
    top[np.isinf(top)] = top[np.isfinite(top)].max(initial=1.0)  # at rest: others decide
    top *= top
    top = propagated(every.reversed_in_time(), h[::-1], top[::-1])[::-1]
    x = propagated(every, h, top)
    return slowed(robot, motion, efforts, h, x)


@dataclass(frozen=True, eq=False)
class PathBounds:
    """|alpha u + beta x + delta sigma + gamma| <= limit, for each sample and joint.

    Attributes
    ----------
    alpha, beta, delta, gamma : (N, n) arrays
    limit : (n,) array
        May be infinite.
    """

    alpha: Array
    beta: Array
    delta: Array
    gamma: Array
    limit: Array

    def at(self, samples: Array) -> PathBounds:
        """Return the bounds at some samples, given as an index array or a mask."""
        return PathBounds(
            self.alpha[samples],
            self.beta[samples],
            self.delta[samples],
            self.gamma[samples],
            self.limit,
        )

    def reversed_in_time(self) -> PathBounds:
        """Return the bounds of the path run backward: u has the other sign."""
        return PathBounds(
            -self.alpha[::-1], self.beta[::-1], self.delta[::-1], self.gamma[::-1], self.limit
        )


def joined(bounds: list[PathBounds]) -> PathBounds:
    """Return several bounds as one."""
    return PathBounds(
        *(
            np.concatenate([getattr(each, name) for each in bounds], axis=-1)
            for name in ('alpha', 'beta', 'delta', 'gamma', 'limit')
        )
    )


def described_limits(robot: Robot, *quantities: str) -> Array:
    """Return for each of `joint_names` the smallest of some limits of its description."""
    limits = {joint.name: joint.limits for joint in robot.description.joints}
    found = [limits[name] for name in robot.joint_names]
    return np.array([min(getattr(each, name) for name in quantities) for each in found])


def checked(robot: Robot, name: str, given: Array | None, default: Array) -> Array:
    """Return limits (nv,); raises `ArgumentError` if those given cannot be limits."""
    if given is None:
        return of_velocities(robot, default)
    limit = vector(name, robot.nv, given)
    if not (limit >= 0.0).all():
        raise ArgumentError(f'{name} must not be negative, got {limit.tolist()}')
    return limit


def efforts_along(
    robot: Robot,
    motion: Motion,
    payloads: Mapping[str, RigidBody] | None,
    limit: Array,
    friction: bool,
) -> PathBounds:
    """Return the efforts of a motion as functions of its speed; parameters as in `retimed`."""
    rest = replace(motion, v=np.zeros_like(motion.v), a=np.zeros_like(motion.v))
    static = required_efforts(robot, rest, payloads, friction=False)
    total = required_efforts(robot, motion, payloads, friction=False)
    inertial = required_efforts(robot, replace(rest, a=motion.v), payloads, friction=False)
    linear = np.zeros_like(static)
    alpha, beta = inertial - static, total - static
    if friction:
        dry, linear, quadratic = friction_by_power(robot, motion.v)
        static, beta = static + dry, beta + quadratic
    return PathBounds(alpha, beta, linear, static, limit)


def velocity_bound(robot: Robot, motion: Motion) -> Array:
    """Return up to which sigma all joints are within their velocity limits, (N,)."""
    with np.errstate(divide='ignore', invalid='ignore'):
        factors = of_velocities(robot, robot.limits.velocity) / np.abs(motion.v)
        factors *= 1.0 - LIMIT_MARGIN
    return np.fmin.reduce(factors, axis=1, initial=inf)


def any_u(bounds: PathBounds, top: Array) -> Array:
    """Return where there certainly is a u for every sigma up to `top` (N,), (N,) of bool.

    Without viscous friction the bounds are linear in x and u: what holds at 0 and at the top holds
    between. Viscous friction counts there with its largest value, where it is in the way.
    """
    free = np.ones(len(top), dtype=bool)
    finite = np.isfinite(top)
    top = np.where(finite, top, 0.0)[:, None]
    sign = np.where(bounds.alpha < 0.0, -1.0, 1.0)
    size = np.abs(bounds.alpha)
    beta, gamma = sign * bounds.beta, sign * bounds.gamma
    viscous = np.abs(bounds.delta) * top
    for x in (0.0, top * top):
        rest = beta * x + gamma
        with np.errstate(divide='ignore', invalid='ignore'):
            upper = (bounds.limit - rest - viscous) / size
            lower = (-bounds.limit - rest + viscous) / size
        free &= lower.max(axis=1, initial=-inf) <= upper.min(axis=1, initial=inf)
    return free & finite  # comparisons with NaN, where nothing moves a joint, are False


def maximum_velocity(bounds: PathBounds) -> Array:
    """Return up to which sigma there is a u within the bounds, (N,): the maximum velocity curve.

    u is bounded from below by the joints k with s_k alpha_k < 0 and from above by those j with
    s_j alpha_j > 0; from |alpha_j| times the first and |alpha_k| times the second bound u cancels.
    """
    sign = np.where(bounds.alpha < 0.0, -1.0, 1.0)
    size = np.abs(bounds.alpha)
    beta, delta, gamma = (sign * c for c in (bounds.beta, bounds.delta, bounds.gamma))

    def pairs(upper: Array, lower: Array) -> Array:
        return size[:, :, None] * upper[:, None, :] + size[:, None, :] * lower[:, :, None]

    with np.errstate(invalid='ignore'):  # 0 times infinity: no bound
        constant = pairs(gamma - bounds.limit, -gamma - bounds.limit)
    constant = np.where(np.isnan(constant), -inf, np.minimum(constant, 0.0))
    sigma = first_crossing(pairs(beta, -beta), pairs(delta, -delta), constant)
    return sigma.min(axis=(1, 2), initial=inf)


def without_u(bounds: PathBounds, h: Array, top: Array) -> Array:
    """Return up to which sigma the bounds hold with u = 0, (N,), for joints that u hardly moves.

    Those that are slow, to which the change of x within an interval matters less than x itself.
    Elsewhere it is infinite.
    """
    step = 2.0 * np.minimum(np.append(h, inf), np.append(inf, h))[:, None]
    with np.errstate(divide='ignore', invalid='ignore'):
        rest = np.abs(bounds.beta) + np.abs(bounds.delta) / top[:, None]
    samples, joints = np.nonzero((step * rest > np.abs(bounds.alpha)) & np.isfinite(bounds.limit))
    result = np.full(len(top), inf)
    for s in (1.0, -1.0):
        beta, delta, gamma = (
            s * c[samples, joints] for c in (bounds.beta, bounds.delta, bounds.gamma)
        )
        slack = np.maximum(bounds.limit[joints] - gamma, 0.0)
        np.minimum.at(result, samples, first_crossing(beta, delta, -slack))
    return result


def propagated(bounds: PathBounds, h: Array, top: Array) -> Array:
    """Return the highest x (N,) below `top` (N,) that bounds let grow from sample to sample.

    Where x is at the top and may stay there, which is determined for all samples at once, it does;
    elsewhere it is integrated step by step until it is there again.
    """
    intervals = growth(bounds, h)
    highest, last = top.tolist(), len(h)
    result, k = top.tolist(), 0
    for start in np.flatnonzero(falls(intervals, top)).tolist():
        if start < k:
            continue
        k = start
        while k == start or (k < last and result[k] < highest[k]):
            result[k + 1] = grown(result[k], highest[k + 1], intervals[k].tolist())
            k += 1
    return np.array(result)


def growth(bounds: PathBounds, h: Array) -> Array:
    """Return what bounds the growth of x in each interval, (N - 1, 7, n).

    From x at one sample to y at the next, u = (y - x) / 2 h. With s the sign of alpha the bound

        s (alpha u + beta x + delta sigma + gamma) <= limit

    is y <= x + c + b x + d sigma at the first end of the interval (c, b, d are the first three),
    and e y + f sqrt(y) + g <= m x at the second one (e, f, g, m are the others).
    """
    sign = np.where(bounds.alpha < 0.0, -1.0, 1.0)
    size = np.abs(bounds.alpha)
    beta, delta = sign * bounds.beta, sign * bounds.delta
    slack = bounds.limit - sign * bounds.gamma
    moves, step = size[:-1] > 0.0, 2.0 * h[:, None]
    w = step / np.where(moves, size[:-1], 1.0)
    m = size[1:] / step
    coefficients = np.stack(
        [
            np.where(moves, w * slack[:-1], inf),
            np.where(moves, -w * beta[:-1], 0.0),
            np.where(moves, -w * delta[:-1], 0.0),
            beta[1:] + m,
            delta[1:],
            -slack[1:],
            m,
        ],
        axis=1,
    )
    return np.ascontiguousarray(coefficients[:, :, np.isfinite(bounds.limit)])


def falls(intervals: Array, top: Array) -> Array:
    """Whether x falls below the top within an interval at whose start it is there, (N - 1,)."""
    c, b, d, e, f, g, m = np.moveaxis(intervals, 1, 0)
    x, y = top[:-1, None], top[1:, None]
    first = x + c + b * x + d * np.sqrt(x) < y
    return (first | (e * y + f * np.sqrt(y) + g > m * x)).any(axis=1)


def grown(x: float, y: float, interval: list[list[float]]) -> float:
    """Return the highest value of x after an interval, at most y, see `growth`."""
    first, second = interval[:3], interval[3:]
    sigma = sqrt(x)
    for c, b, d in zip(*first):
        bound = x + c + b * x + d * sigma
        if bound < y:
            y = bound
    y = max(y, 0.0)
    root = sqrt(y)
    for e, f, g, m in zip(*second):
        rest = g - m * x
        if e * y + f * root + rest > 0.0:  # then it is 0 before, since rest is not above 0
            root = -2.0 * rest / (f + sqrt(f * f - 4.0 * e * rest))
            y = root * root
    return y


def slowed(robot: Robot, motion: Motion, efforts: PathBounds, h: Array, x: Array) -> Retiming:
    """Return a motion with x (N,) along its path; accelerations are means of both sides."""
    sigma = np.sqrt(x)
    u = np.diff(x) / (2.0 * h)
    u = 0.5 * (np.append(u[:1], u) + np.append(u, u[-1:]))
    with np.errstate(divide='ignore'):
        elapsed = np.concatenate([[0.0], np.cumsum(2.0 * h / (sigma[1:] + sigma[:-1]))])
    tau = (
        efforts.alpha * u[:, None]
        + efforts.beta * x[:, None]
        + efforts.delta * sigma[:, None]
        + efforts.gamma
    )
    slowest = int(np.argmin(sigma))
    names = velocity_names(robot)
    if not np.isfinite(elapsed[-1]):  # at rest at its limit, and cannot continue
        with np.errstate(divide='ignore', invalid='ignore'):
            k = int(np.nanargmax(np.abs(efforts.gamma[slowest]) / efforts.limit))
        return Retiming(False, motion, np.ones(len(x)), names[k], float(motion.time[slowest]))
    joint = ''
    if sigma[slowest] < 1.0:
        with np.errstate(divide='ignore', invalid='ignore'):
            joint = names[int(np.nanargmax(np.abs(tau[slowest]) / efforts.limit))]
    new = replace(
        motion,
        time=motion.time[0] + elapsed,
        v=motion.v * sigma[:, None],
        a=motion.a * x[:, None] + motion.v * u[:, None],
    )
    return Retiming(True, new, sigma, joint, float(motion.time[slowest]))
