# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reduced wrench, its validity and covariance in the compiled loop."""

from __future__ import annotations

import math

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.estimation.dead_band import shorten
from screw_dynamics_ros.core.estimation.noise_propagation import update_covariance
from screw_dynamics_ros.core.estimation.residual_model import set_doubts
from screw_dynamics_ros.core.estimation.wrench_decomposition import (
    FORCES_FIRST,
    Decomposition,
    condition_number,
    decompose,
    estimate_wrench,
    propagate_covariance,
    set_axis_shares,
    set_deviations,
)
from screw_dynamics_ros.core.estimation.wrench_observability import ReducedWrench, filter_reduced
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import LoopRecord
from screw_dynamics_ros.ros.topics.channel_record import NOT_VALID, VALID

from .torque_covariance import TorqueCovariance


class ObservableState(Record):
    """The observable part of a wrench in the current state, see `ObservableWrench`.

    Attributes
    ----------
    decomposed : int
        Number of the state whose Jacobian is decomposed.
    decomposition : Decomposition
    jacobian : (6 n,) array
    freedoms : int
        Largest rank of the Jacobian.
    torques : array
        External torques of all joints [N m, N].
    places : (n,) array of int
        Joints of the Jacobian among them.
    selected : (n,) array
        Memory for their torques.
    variances : (n,) array
        Of their torques, by errors of the model.
    torque_covariance : TorqueCovariance
        Of all joints, after the filters.
    covariance : (n n,) array
        Memory for that of the joints of the Jacobian.
    reduced : ReducedWrench
        Filter of the wrench.
    bands : (3,) array
        Dead bands, see `OutputFilters`.
    validity_numbers, reduced_numbers, covariance_numbers : arrays
        Of the messages.
    """

    decomposed: int
    decomposition: Decomposition
    jacobian: Floats
    freedoms: int
    torques: Floats
    places: Ints
    selected: Floats
    variances: Floats
    torque_covariance: TorqueCovariance
    covariance: Floats
    reduced: ReducedWrench
    bands: Floats
    validity_numbers: Floats
    reduced_numbers: Floats
    covariance_numbers: Floats


@compiled_step
def fill_validity(o: ObservableState, loop: LoopRecord) -> int:
    """Write the numbers of `VALIDITY_LABELS`."""
    decompose_once(o, loop)
    return VALID if set_validity(o, o.validity_numbers) else NOT_VALID


@compiled_step
def fill_reduced(o: ObservableState, loop: LoopRecord) -> int:
    """Write force and moment of the reduced wrench, if a direction is observable."""
    decompose_once(o, loop)
    for k in range(len(o.places)):
        o.selected[k] = o.torques[o.places[k]]
    w = o.reduced_numbers
    estimate_wrench(o.decomposition, FORCES_FIRST, o.selected, w)
    rank = o.decomposition.rank
    if not filter_reduced(o.reduced, w, rank, loop.mapper.accepted, loop.state_clock.elapsed):
        return NOT_VALID
    shorten(w, float(o.bands[1]))  # as a number of Python, which does not warn of NaN
    shorten(w[3:], float(o.bands[2]))
    return VALID


@compiled_step
def fill_covariance(o: ObservableState, loop: LoopRecord) -> int:
    """Write the covariance (36,) of force and moment, row by row."""
    decompose_once(o, loop)
    update_covariance(o.torque_covariance, loop.mapper.accepted, loop.state)
    n = len(o.places)
    row = len(o.torques)
    for i in range(n):
        for k in range(n):
            o.covariance[n * i + k] = o.torque_covariance.covariance[
                row * o.places[i] + o.places[k]
            ]
    propagate_covariance(o.decomposition, FORCES_FIRST, o.covariance, o.covariance_numbers)
    return VALID


@typed
def decompose_once(o: ObservableState, loop: LoopRecord) -> None:
    """Decompose the Jacobian of the current state, unless that is done."""
    if o.decomposed != loop.mapper.accepted:
        decompose(o.decomposition, o.jacobian)
        o.decomposed = loop.mapper.accepted


@typed
def set_validity(o: ObservableState, numbers: Floats) -> bool:
    """Set the numbers of `VALIDITY_LABELS`; return whether the decomposition is finite."""
    d = o.decomposition
    set_axis_shares(d, FORCES_FIRST, numbers)
    for k in range(6):
        numbers[6 + k] = d.singular_values[k]
    numbers[12] = float(d.rank)
    numbers[13] = condition_number(d)
    numbers[14] = 1.0 if d.rank < o.freedoms else 0.0
    variances = o.variances
    m = o.torque_covariance.offset.model
    if m is not None and len(m.last) > 0:
        set_doubts(m)
        variances = o.selected
        for k in range(len(o.places)):
            j = o.places[k]
            variances[k] = m.deviations[j] * m.deviations[j] + m.doubts[j]
    set_deviations(d, FORCES_FIRST, variances, numbers[15:])
    return math.isfinite(d.singular_values[0])
