# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Results of the identification of the dynamics of a robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..description.drives import Drive
from ..description.rigid_body import RigidBody
from ..description.robot_description import Finding, RobotDescription
from ..errors import ArgumentError
from ..types import Array
from .effort_check import EffortCheck
from .effort_delay import EffortDelay


@dataclass(frozen=True, eq=False)
class Torques:
    """Torques of n joints at M instants, filtered [N m, N].

    Attributes
    ----------
    t : (M,) array
        [s]
    part : (M,) array of int
        Parts of recordings without gaps.
    held_out : (M,) array of bool
        Whether these instants were kept for validation.
    measured, identified, nominal : (M, n) arrays
        Reported efforts as torques (scale and offset applied), and torques of the two models. NaN
        if no effort is reported, or its scale is undetermined.
    recording : (M,) array of int
        Number of the recording.
    reported : (M, n) array
        Reported efforts with the scale only, for comparison with the nominal model.
    """

    t: Array
    part: NDArray[np.int64]
    held_out: NDArray[np.bool_]
    measured: Array
    identified: Array
    nominal: Array
    reported: Array
    recording: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DynamicIdentification:
    """The dynamics of a robot that best fit recordings, with confidence intervals.

    Attributes
    ----------
    description : RobotDescription
        The identified description: physically possible inertias, friction of the joints.
    drives : {joint: Drive}
        Armature and friction; nominal values if the scale of efforts is undetermined.
    payload : RigidBody or None
        The estimated payload, in the frame of its link; None if it is not estimated.
    load : RigidBody or None
        The load of known mass, in the frame of its link.
    joint_names : tuple of n str
    effort_scale, effort_offset : (n,) arrays
        torque = scale * reported effort + offset, as in the nodes [N m, N per unit; N m, N]; NaN if
        the scale is undetermined.
    scale_deviation : (n,) array
        Standard deviation of the scale; 0 if it was not estimated, infinite if it is undetermined.
    scale_freedom : (n,) array
        Degrees of freedom of its variance.
    parameters : tuple of p str
        Base parameters: 'link/mx', which represents `groups[...]`, 'joint/damping' and so on.
    groups : tuple of dict
        Definition of each base parameter: {parameter: coefficient}.
    units : tuple of str
    nominal, values, deviations : (p,) arrays
        Nominal values, values identified from efforts, and standard deviations; prior values for
        undetermined parameters.
    identified : (p,) array of bool
        Whether the data determine them.
    physical : (p,) array
        Values of the identified description and drives, whose bodies are physically possible.
    held : tuple of dict
        Undetermined combinations {parameter: coefficient relative to its prior deviation}.
    degrees_of_freedom : (p,) array
        Of the variances `deviations`**2: effective number of clusters minus one (`jackknife`).
    checks : tuple of EffortCheck
        Comparison of the efforts of each joint with the nominal model.
    findings : tuple of Finding
        Faults of the driver, and parameters that the motion does not determine.
    torques : Torques
    effort_delay : EffortDelay
        Delay of efforts relative to positions; efforts are shifted by it if it is significant.
    noise, correlation : (n,) arrays
        Residuals in fitted instants [reported units], and their autocorrelation time [instants].
    condition : float
        Condition number of the equations, with parameters scaled by their prior deviations.
    cutoff : float
        Cutoff of the filter [Hz].
    success : bool
        Whether the bodies have converged.
    """

    description: RobotDescription
    drives: dict[str, Drive]
    payload: RigidBody | None
    load: RigidBody | None
    joint_names: tuple[str, ...]
    effort_scale: Array
    effort_offset: Array
    scale_deviation: Array
    scale_freedom: Array
    parameters: tuple[str, ...]
    groups: tuple[dict[str, float], ...]
    units: tuple[str, ...]
    nominal: Array
    values: Array
    deviations: Array
    identified: NDArray[np.bool_]
    physical: Array
    held: tuple[dict[str, float], ...]
    degrees_of_freedom: Array
    checks: tuple[EffortCheck, ...]
    findings: tuple[Finding, ...]
    torques: Torques
    effort_delay: EffortDelay
    noise: Array
    correlation: Array
    condition: float
    cutoff: float
    success: bool

    def intervals(self, probability: float = 0.95) -> Array:
        """Return individual confidence intervals (p, 2) of `values` (Student's t).

        Those of parameters that are not `identified` depend on the prior of nominal values.
        """
        half = self.deviations * quantiles(probability, self.degrees_of_freedom)
        return np.stack([self.values - half, self.values + half], axis=1)

    def scale_intervals(self, probability: float = 0.95) -> Array:
        """Return confidence intervals (n, 2) of `effort_scale`."""
        share = self.scale_deviation / np.abs(self.effort_scale)
        return scale_intervals(self.effort_scale, share, self.scale_freedom, probability)

    def errors(self, held_out: bool = True) -> tuple[Array, Array, Array]:
        """Return root mean squares (n,): torque, error of the identified and the nominal model.

        For the held-out or the fitted instants [N m, N]. The nominal model is compared with efforts
        with the correct scale and without offset.
        """
        rows = self.torques.held_out == held_out
        measured = self.torques.measured[rows]
        return (
            _rms(measured),
            _rms(measured - self.torques.identified[rows]),
            _rms(self.torques.reported[rows] - self.torques.nominal[rows]),
        )


def scale_intervals(
    scale: Array, deviation: Array, freedom: Array, probability: float = 0.95
) -> Array:
    """Return confidence intervals (n, 2) of scales of efforts with relative standard deviations.

    They are those of the reciprocal, the gain, in which the fit is nearly linear.

    >>> scale_intervals(np.array([10.0]), np.array([0.1]), np.array([1e9])).round(2)
    array([[ 8.36, 12.44]])
    """
    share = deviation * quantiles(probability, freedom)
    with np.errstate(divide='ignore'):  # an infinite end
        ends = scale / np.stack([1.0 + share, np.maximum(1.0 - share, 0.0)])
    return np.sort(ends.T)


def quantiles(probability: float, freedom: Array) -> Array:
    """Return the half widths of two-sided intervals in standard deviations (Student's t).

    >>> quantiles(0.95, np.array([5.0, 1e6])).round(2)
    array([2.57, 1.96])
    """
    if not 0.0 < probability < 1.0:
        raise ArgumentError(f'probability = {probability} must be between 0 and 1')
    from scipy.stats import t

    return np.asarray(t.ppf(0.5 + probability / 2, freedom))


def _rms(x: Array) -> Array:
    return np.sqrt(np.mean(x**2, axis=0)) if len(x) else np.full(x.shape[1], np.nan)
