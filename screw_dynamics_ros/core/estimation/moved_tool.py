# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Mass, center of mass and inertia of a moving tool at a force-torque sensor, and its bias.

With angular velocity omega and acceleration omega' of the sensor frame, and the acceleration r'' of
its origin minus gravity, all in its axes, the sensor measures b - w (environment on robot),

    f = m r'' + (omega'~ + omega~ omega~) h,
    n = h x r'' + I omega' + omega x I omega,       h = m c,                              (1)

linear in ten parameters and six components of the bias b. If a motion does not determine the
complete inertia, for example without rotations, the inertia is not estimated.

Source: Kubus, Kroeger and Wahl, On-line estimation of inertial parameters using a recursive total
least-squares approach (2008); Müller 2018b (D-21).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..dynamics.regressor import PARAMETERS, moments_of_inertias
from ..errors import ArgumentError
from ..identification.effort_fit import autocorrelation_times
from ..identification.filtering import chosen_cutoff, pieces
from ..identification.pseudo_inertia import inertia_of, parameters_of, physical
from ..identification.recording import JointRecording
from ..lie.so3 import hat
from ..robot.robot import Robot
from ..statistics.least_squares import Fit
from ..types import Array
from .inertial_estimate import RANK_TOLERANCE, InertialEstimate, rms
from .tool_identification import MIN_MASS_SIGMAS, NoToolError, check_orientations

#: Smallest relative singular value of the normalized regressor for determined parameters.
MIN_SINGULAR_VALUE = 1e-6
#: Largest standard deviation of the largest moment of inertia, relative to it.
MAX_DEVIATION = 0.3
ITERATIONS = 4  # iterations of the weights of forces and moments
ORDER = np.array([0, 1, 2, 3, 4, 5, 7, 6, 8, 9])  # of `rigid_body.PARAMETERS` in `PARAMETERS`


@dataclass(frozen=True, eq=False)
class MovedTool:
    """The tool; vectors are in the frame of the sensor.

    Attributes
    ----------
    mass, mass_deviation : float
        Mass and its standard deviation [kg].
    com, com_deviation : (3,) arrays
        [m].
    inertia, inertia_deviation : (6,) arrays or None
        About the center of mass: xx, xy, xz, yy, yz, zz [kg m^2]; None if the motion does not
        determine it. It is physically possible, even if the unconstrained estimate is not.
    bias, bias_deviation : (6,) arrays
        Moment and force [N m, N].
    moment_residual, force_residual : float
        Root mean squares of the residuals [N m, N].
    moment, force : float
        Root mean squares of the measurements minus their means [N m, N].
    instants : int
        Number of instants after filtering.
    cutoff : float
        Cutoff frequency of the filter [Hz].
    """

    mass: float
    mass_deviation: float
    com: Array
    com_deviation: Array
    inertia: Array | None
    inertia_deviation: Array | None
    bias: Array
    bias_deviation: Array
    moment_residual: float
    force_residual: float
    moment: float
    force: float
    instants: int
    cutoff: float


def identify_moved_tool(
    robot: Robot,
    link: str,
    recordings: Sequence[JointRecording],
    cutoff: float | None = None,
) -> MovedTool:
    """Return the tool by (1), weighted least squares over filtered motions.

    Parameters
    ----------
    robot : Robot
        With gravity.
    link : str
        The link whose frame is that of the sensor.
    recordings : sequence of JointRecording
        With the wrench of the environment on the robot, moment and force (N, 6), instead of tau.
    cutoff : float, optional
        Cutoff frequency of the filter [Hz]; by default from the bandwidth of the motion.

    Raises
    ------
    ArgumentError
        Recordings too short for the cutoff.
    TooFewPosesError
        Orientations that do not determine the tool.
    NoToolError
        The mass is not clearly positive.
    """
    cutoff = cutoff or chosen_cutoff(recordings)
    Y, w, gravity, part = _equations(robot, link, recordings, cutoff)
    check_orientations(gravity)
    has_inertia = _determines(Y)
    if has_inertia:
        theta, C, residual = _fit(Y, w, part)
        has_inertia = theta[0] > 0.0 and _is_certain(_estimate(theta, C))
    if not has_inertia:
        columns = np.r_[:4, 10:16]
        theta, C = np.zeros(16), np.zeros((16, 16))
        theta[columns], C[np.ix_(columns, columns)], residual = _fit(Y[:, :, columns], w, part)
    mass, deviation = float(theta[0]), float(C[0, 0]) ** 0.5
    if not mass > MIN_MASS_SIGMAS * deviation:
        raise NoToolError(
            f'the mass is {mass:.4g} kg, with a standard deviation of {deviation:.2g} kg: no tool, '
            'or sign of the sensor or gravity are wrong'
        )
    tool = _estimate(theta, C)
    body = inertia_of(parameters_of(physical(theta[:10])) if has_inertia else theta[:10])
    moment, force = (rms(each - each.mean(axis=0)) for each in (w[:, :3], w[:, 3:]))
    return MovedTool(
        mass,
        deviation,
        body.com,
        tool.center_of_mass_interval,
        np.array(body.moments) if has_inertia else None,
        tool.inertia_interval if has_inertia else None,
        theta[10:],
        np.sqrt(np.diag(C)[10:]),
        rms(residual[:, :3]),
        rms(residual[:, 3:]),
        moment,
        force,
        len(w),
        cutoff,
    )


def tool_regressor(omega: Array, domega: Array, acceleration: Array) -> Array:
    """Return d (moment, force) / d parameters of (1), (N, 6, 10), in the order of `PARAMETERS`.

    Parameters
    ----------
    omega, domega, acceleration : (N, 3) arrays
        Motion of the body frame, resolved in it; the acceleration minus gravity.
    """
    Y = np.zeros((len(omega), 6, len(PARAMETERS)))
    W = np.stack([hat(each) for each in omega])
    ddr = np.stack([hat(each) for each in acceleration])
    Y[:, 3:, 0] = acceleration
    Y[:, 3:, 1:4] = np.stack([hat(each) for each in domega]) + W @ W
    Y[:, :3, 1:4] = -ddr
    Y[:, :3, 4:] = np.moveaxis(moments_of_inertias(omega.T, domega.T), -1, 0)
    return Y


def _equations(
    robot: Robot, link: str, recordings: Sequence[JointRecording], cutoff: float
) -> tuple[Array, Array, Array, NDArray[np.int64]]:
    """Return regressor (M, 6, 16), wrenches (M, 6), gravity (M, 3) and parts of filtered motion."""
    made: list[tuple[Array, Array, Array, NDArray[np.int64]]] = []
    for recording in recordings:
        for piece in pieces(recording, cutoff, measured_velocities=False):
            V = robot.velocity(piece.q, piece.v, link, 'body')
            dV = robot.acceleration(piece.q, piece.v, piece.a, link, 'body')
            R = robot.link_pose(piece.q, link)[:, :3, :3]
            g = np.einsum('kij,i->kj', R, robot.gravity)
            acceleration = dV[:, 3:] + np.cross(V[:, :3], V[:, 3:]) - g
            Y = -piece.low_pass(tool_regressor(V[:, :3], dV[:, :3], acceleration))
            bias = np.tile(np.eye(6), (len(Y), 1, 1))
            whole = np.concatenate([Y, bias], axis=2)
            wrench, gravity = piece.low_pass(piece.tau), piece.low_pass(g)
            made.append((whole, wrench, gravity, np.full(len(Y), len(made))))
    if not made:
        raise ArgumentError(
            f'too short for a cutoff of {cutoff:.3g} Hz; record longer, or raise the cutoff'
        )
    Y, w, gravity, part = (np.concatenate(each) for each in zip(*made))
    return Y, w, gravity, part


def _fit(Y: Array, w: Array, part: NDArray[np.int64]) -> tuple[Array, Array, Array]:
    """Return parameters, covariance and residuals (M, 6); forces and moments by their residuals."""
    scale = np.ones(6)
    for _ in range(ITERATIONS):
        x = _weighted(Y, scale).solve((w / scale).ravel())
        residual = w - Y @ x
        noise = [rms(residual[:, k]) for k in (slice(3), slice(3, 6))]
        scale = np.repeat(np.maximum(noise, 1e-12), 3)
    times = autocorrelation_times(residual, part)
    tau = np.repeat([times[:3].max(), times[3:].max()], 3)
    return x, _weighted(Y, scale * np.sqrt(tau)).covariance, residual


def _weighted(Y: Array, deviations: Array) -> Fit:
    """Return the fit of Y (M, 6, p) for deviations (6,) of moments and forces."""
    return Fit((Y / deviations[:, None]).reshape(-1, Y.shape[2]), RANK_TOLERANCE)


def _determines(Y: Array) -> bool:
    """Return whether a motion excites all parameters of Y (M, 6, p)."""
    return Fit(Y.reshape(-1, Y.shape[2]), MIN_SINGULAR_VALUE).rank == Y.shape[2]


def _estimate(theta: Array, C: Array) -> InertialEstimate:
    """Return the estimate of the tool alone, with standard deviations as intervals."""
    return InertialEstimate(theta[ORDER], C[np.ix_(ORDER, ORDER)], 1.0)


def _is_certain(tool: InertialEstimate) -> bool:
    """Return whether the largest moment of inertia is determined."""
    k = np.argmax(np.abs(tool.inertia))
    return bool(tool.inertia_interval[k] < MAX_DEVIATION * np.abs(tool.inertia[k]))
