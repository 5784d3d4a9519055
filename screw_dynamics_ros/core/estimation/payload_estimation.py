# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The inertial parameters of a payload from joint efforts, with confidence intervals.

The generalized momenta p = M v change by the measured efforts tau and by known rates. The
contributions of a payload to both are linear in its ten parameters phi = (m, m c, I):

    p_r' + (P phi)' = tau + known rates of the robot + R phi.

Integrated over a time T and divided by T, the equations contain no accelerations:

    (Delta P / T - mean R) phi = mean tau + mean known rates - Delta p_r / T.

These are the equations of one interval of motion, one for each joint that moves the link; a pose at
rest is an interval without momenta. P and R are `payload_momenta_and_rates` for unit parameters. At
rest R contains (m, m c) only: gravity determines at most four of the ten parameters.

The equations are weighted by the scatter of the efforts of each joint between states, and the
number of states. The covariance is the larger of two estimates: that of the Gauss-Markov theorem,
scaled by the residuals, and that of the jackknife over classes of states and blocks of time
(`identification.jackknife`), because residuals are mainly unmodeled friction. Each pose is a
separate class and block. Errors of the identified robot that hardly change during a short motion
do not show in residuals: the change of the estimate by constant errors of the efforts is added to
its deviations. Confidence intervals use Student's distribution, to first order for functions of
phi.

Sources: Müller 2018b, section 6 (D-39, D-43); Bruyninckx 2010, section 4.12.9 (B-101); Atkeson, An
and Hollerbach, Estimation of inertial parameters of manipulator loads and links, IJRR 5(3), 1986.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..description.rigid_body import RigidBody, pseudo_inertias
from ..errors import ArgumentError, NotEnoughDataError, UnknownNameError
from ..robot.robot import Robot
from ..statistics.jackknife import jackknife, state_classes, time_blocks
from ..statistics.least_squares import Fit
from ..tree.multibody_tree import GROUND
from ..types import Array
from .effort_terms import FRICTION, PAYLOAD, momenta_and_known_torques, motor_torques
from .inertial_estimate import (
    RANK_TOLERANCE,
    SCALES,
    UPPER,
    InertialEstimate,
    enlarged,
    estimable,
    quantile_of,
    rms,
)

#: Duration of an interval of motion [s].
STRETCH_DURATION_S = 0.1


@dataclass(frozen=True, eq=False)
class EffortRecord:
    """Measured states of a robot: one pose at rest, or one motion.

    Attributes
    ----------
    time : (N,) array
        Ascending [s].
    q, v, tau : (N, nq), (N, nv), (N, nv) arrays
        tau of joints without measured efforts is not used.
    at_rest : bool
        Whether it is a pose: only means are used, and velocities are zero.
    """

    time: Array
    q: Array
    v: Array
    tau: Array
    at_rest: bool


@dataclass(frozen=True, eq=False)
class PayloadEquations:
    """Y phi = y of all intervals: row k is of joint `joint[k]`, (m, 10) and (m,) [N m, N].

    `samples` is the number of states averaged in a row, `at_rest` whether it is of a pose,
    `state_class` and `block` are the clusters of its errors (`identification.jackknife`).
    """

    Y: Array
    y: Array
    joint: NDArray[np.intp]
    samples: Array
    at_rest: NDArray[np.bool_]
    state_class: NDArray[np.int64]
    block: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PayloadEstimate(InertialEstimate):
    """Estimate of a payload, in the frame of its link; NaN if not estimated.

    Attributes
    ----------
    parameters, covariance, quantile
        As of `InertialEstimate`.
    offsets : (n,) array
        Constant errors of the efforts of `joints` [N m, N]; empty if not estimated.
    residuals : (n,) array
        Root mean square of the residuals of each of `joints` [N m, N].
    joints : tuple of str
        Joints whose efforts were used.
    poses, stretches : int
        Numbers of poses and of intervals of motion.
    """

    offsets: Array
    residuals: Array
    joints: tuple[str, ...]
    poses: int
    stretches: int


def estimate_payload(
    robot: Robot,
    link: str,
    records: Sequence[EffortRecord],
    *,
    shares: Array | None = None,
    known: Mapping[str, RigidBody] | None = None,
    effort_deviation: float = 0.0,
    with_offsets: bool = False,
    measured: Collection[str] | None = None,
) -> PayloadEstimate:
    """Return the estimate of a body carried by a link, from measured efforts.

    Parameters
    ----------
    robot : Robot
        With its gravity, without the payload.
    link : str
    records : sequence of EffortRecord
    shares : (5,) array
        1 for each of `effort_terms.TERMS` that the efforts contain, all by default.
    known : mapping of str to RigidBody
        Other bodies carried by links.
    effort_deviation : float
        Standard deviation of an effort in one state, independent between states [N m, N]; at rest,
        dry friction of the drives is added. 0: from the residuals.
    with_offsets : bool
        Whether to estimate a constant error of each effort as well.
    measured : collection of str
        Joints with measured efforts, all by default.

    Raises
    ------
    UnknownNameError
        No such link, or no joint with measured effort moves it.
    NotEnoughDataError
        Too few states, poses or stretches.
    ArgumentError
        Efforts without payload, or a deviation that is negative or not finite.
    """
    shares = np.ones(5) if shares is None else shares
    if not shares[PAYLOAD]:
        raise ArgumentError(
            'the measured efforts do not contain the payload (effort_terms), so that they do not '
            'determine it'
        )
    if not (np.isfinite(effort_deviation) and effort_deviation >= 0.0):
        raise ArgumentError(
            f'effort_deviation must be finite and not negative, got {effort_deviation!r}'
        )
    joints = joints_of(robot, link, measured)
    rows = np.array([robot.joint_coordinates(name)[1].start for name in joints])
    equations = equations_of(robot, link, records, rows, shares, dict(known or {}))
    offset_columns = np.eye(len(joints))[equations.joint]
    X = np.hstack([equations.Y, offset_columns]) if with_offsets else equations.Y
    scales = np.concatenate([SCALES, np.ones(X.shape[1] - 10)])
    spare = len(X) - np.linalg.matrix_rank(X * scales)
    if spare < (1 if effort_deviation else 3):
        raise NotEnoughDataError(
            f'{len(X)} equations are too few to estimate their errors: record more poses, or set '
            'effort_deviation'
        )
    if effort_deviation:
        variances = effort_deviation**2 / equations.samples
        if shares[FRICTION]:
            stiction = np.array([dry_friction(robot, name) for name in joints])
            variances += equations.at_rest * stiction[equations.joint] ** 2 / 3.0
        deviations = np.sqrt(variances)
    else:
        scatter = scatter_of(records, rows)
        deviations = scatter[equations.joint] / np.sqrt(equations.samples)
    fit = Fit(X / deviations[:, None], RANK_TOLERANCE, scale=1.0 / scales)
    z = fit.solve(equations.y / deviations)
    residual = equations.y - X @ z
    scale = float(np.sum((residual / deviations) ** 2) / spare)
    quantile, clusters = float(quantile_of(spare)), [equations.state_class, equations.block]
    covariance = enlarged(
        (max(1.0, scale) if effort_deviation else scale) * fit.covariance,
        quantile,
        *jackknife(fit.U, residual / deviations, clusters, fit.factor),
    )
    if not (with_offsets or effort_deviation or equations.at_rest.any()):
        both_columns = np.hstack([X, offset_columns]) / deviations[:, None]
        ones = np.ones(len(joints))
        other = Fit(both_columns, RANK_TOLERANCE, scale=1.0 / np.concatenate([scales, ones]))
        change = other.solve(equations.y / deviations)[:10] - z
        covariance = covariance + np.outer(change, change)
    half = quantile * np.sqrt(covariance.diagonal())
    is_known = estimable(fit, half, robot.total_mass)[:10]
    both = np.outer(is_known, is_known)
    return PayloadEstimate(
        np.where(is_known, z[:10], np.nan),
        np.where(both, covariance[:10, :10], 0.0),
        quantile,
        z[10:],
        np.array([rms(residual[equations.joint == k]) for k in range(len(joints))]),
        joints,
        int(sum(record.at_rest for record in records)),
        int((~equations.at_rest).sum() // len(joints)),
    )


# --- equations ----------------------------------------------------------------------------------


def joints_of(robot: Robot, link: str, measured: Collection[str] | None) -> tuple[str, ...]:
    """Return the joints with measured efforts that move a link; raises `UnknownNameError`."""
    frame = robot.tree.frame(link)
    path = () if frame.body == GROUND else robot.tree.path(frame.body)
    moved = {index for i in path for index in range(*robot.tree.bodies[i].v.indices(robot.nv))}
    joints = []
    for name in robot.joint_names:
        where = robot.joint_coordinates(name)[1]
        if where.stop - where.start == 1 and where.start in moved:
            joints.append(name)
    joints = [name for name in joints if measured is None or name in measured]
    if not joints:
        raise UnknownNameError(
            f'no joint with measured effort moves link {link!r}: efforts do not depend on what it '
            'carries'
        )
    return tuple(joints)


def dry_friction(robot: Robot, joint: str) -> float:
    """Return the bound of the friction of a joint at rest, for a uniform distribution [N m, N]."""
    drives = [body.drive for body in robot.tree.bodies if body.joint == joint]
    return max((drive.stiction for drive in drives), default=0.0)


def equations_of(
    robot: Robot,
    link: str,
    records: Sequence[EffortRecord],
    rows: NDArray[np.intp],
    shares: Array,
    known: Mapping[str, RigidBody],
) -> PayloadEquations:
    """Return the equations of all records; raises `NotEnoughDataError` if there are none."""
    parts = []
    states: list[tuple[Array, Array, Array]] = []
    blocks: list[tuple[int, float]] = []
    for number, record in enumerate(records):
        if len(record.time) == 0 or not np.isfinite(record.tau[:, rows]).all():
            continue
        if record.at_rest:
            q, v = record.q.mean(axis=0)[None], np.zeros((1, robot.nv))
            tau = record.tau.mean(axis=0)[None]
            _, known_rates, _, R = rates(robot, link, q, v, tau, rows, shares, known)
            parts.append((-R, known_rates, len(record.time), True))
            states.append((np.zeros(len(rows)),) * 3)
            blocks.append((number, 0.0))
            continue
        p, known_rates, P, R = rates(
            robot, link, record.q, record.v, record.tau, rows, shares, known
        )
        weight = robot.gravity_torques(record.q)[:, rows]
        v = record.v[:, rows]
        for i, j in stretches(record.time):
            T, w = record.time[j] - record.time[i], trapezoids(record.time[i : j + 1])
            Y = (P[j] - P[i]) / T - np.tensordot(w, R[i : j + 1], 1)
            y = w @ known_rates[i : j + 1] - (p[j] - p[i]) / T
            parts.append((Y[None], y[None], j - i, False))
            states.append((w @ v[i : j + 1], (v[j] - v[i]) / T, w @ weight[i : j + 1]))
            blocks.append((number, record.time[i]))
    if not parts:
        raise NotEnoughDataError(
            'no pose and no motion of at least 0.1 s has been recorded: record several poses with '
            'different orientations of the link'
        )
    count = len(rows)
    at_rest = np.array([rest for _, _, _, rest in parts])
    # Poses have separate classes, in addition to the eight of each joint in motion.
    classes = np.arange(len(parts))[:, None] * count + np.arange(count) + 8 * count
    block = np.arange(len(parts))
    if not at_rest.all():
        v, a, weight = (np.array(each)[~at_rest] for each in zip(*states))
        classes[~at_rest] = state_classes(v, a, weight)
        record_numbers, times = (np.array(each)[~at_rest] for each in zip(*blocks))
        state = np.hstack([weight, v])
        block[~at_rest] = len(parts) + time_blocks(times, record_numbers, state)
    return PayloadEquations(
        np.concatenate([Y.reshape(-1, 10) for Y, _, _, _ in parts]),
        np.concatenate([y.reshape(-1) for _, y, _, _ in parts]),
        np.tile(np.arange(count), len(parts)),
        np.repeat([float(samples) for _, _, samples, _ in parts], count),
        np.repeat(at_rest, count),
        classes.ravel(),
        np.repeat(block, count),
    )


def rates(
    robot: Robot,
    link: str,
    q: Array,
    v: Array,
    tau: Array,
    rows: NDArray[np.intp],
    shares: Array,
    known: Mapping[str, RigidBody],
) -> tuple[Array, Array, Array, Array]:
    """Return p_r (N, n), tau + known rates (N, n), P (N, n, 10), R (N, n, 10) of N states."""
    frame = robot.tree.frame(link)
    own, own_rates = robot.momenta_and_rates(q, v)
    carried, carried_rates = robot.payload_momenta_and_rates(q, v, known)
    gravity, coriolis = robot.gravity_torques(q), robot.coriolis_torques(q, v)
    places = tuple(rows.tolist())
    driving = motor_torques(shares, tau.T[rows], gravity.T, coriolis.T, places).T
    p, driven = momenta_and_known_torques(
        shares,
        np.zeros(1),
        tau.T[rows],
        (own.T, own_rates.T),
        (carried.T, carried_rates.T),
        gravity.T,
        coriolis.T,
        (driving - robot.transmitted_torques(v, driving)).T,
        places,
    )
    units = [
        robot.payload_momenta_and_rates(q, v, np.eye(10 * len(robot.tree.bodies))[column])
        for column in range(10 * frame.body, 10 * frame.body + 10)
    ]
    A = parameter_map(frame.S)
    P, R = (np.stack([unit[k][:, rows] for unit in units], axis=-1) @ A for k in (0, 1))
    return p.T, driven.T, shares[PAYLOAD] * P, shares[PAYLOAD] * R


def parameter_map(S: Array) -> Array:
    """Return A (10, 10): the parameters of any body in frame 1 are A times those in frame 2.

    S (4, 4) is the pose of frame 2 in frame 1; the pseudo-inertia becomes S Sigma S^T (D-17).

    >>> S = np.eye(4)
    >>> S[0, 3] = 2.0
    >>> parameter_map(S)[:, 0]  # a point mass two meters away
    array([1., 2., 0., 0., 0., 0., 0., 4., 0., 4.])
    """
    moved = S @ pseudo_inertias(np.eye(10)) @ S.T
    theta = moved[:, :3, :3]
    inertia = np.trace(theta, axis1=1, axis2=2)[:, None, None] * np.eye(3) - theta
    return np.hstack([moved[:, 3:, 3], moved[:, :3, 3], inertia[:, UPPER[0], UPPER[1]]]).T


def stretches(time: Array) -> list[tuple[int, int]]:
    """Return first and last states of consecutive intervals of about `STRETCH_DURATION_S`.

    >>> stretches(np.arange(6) * 0.05)
    [(0, 2), (2, 4)]
    """
    found, i = [], 0
    for j in range(len(time)):
        if time[j] - time[i] >= STRETCH_DURATION_S * (1.0 - 1e-6):
            found.append((i, j))
            i = j
    return found


def trapezoids(time: Array) -> Array:
    """Return the weights (N,) of the time average of a function sampled at N times."""
    steps = np.diff(time)
    weights = np.zeros(len(time))
    weights[:-1] += 0.5 * steps
    weights[1:] += 0.5 * steps
    return weights / weights.sum()


# --- least squares ------------------------------------------------------------------------------


def scatter_of(records: Sequence[EffortRecord], rows: NDArray[np.intp]) -> Array:
    """Return the standard deviation (n,) of the noise of the efforts of each joint [N m, N].

    From all records; at least a thousandth of the largest one, for efforts without noise.
    """
    squares, count = np.zeros(len(rows)), 1
    for record in records:
        squares += 0.5 * np.sum(np.diff(record.tau[:, rows], axis=0) ** 2, axis=0)
        count += max(0, len(record.time) - 1)
    deviations = np.sqrt(squares / count)
    return np.maximum(deviations, max(1e-3 * deviations.max(), 1e-9))
