# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reduced wrench, its validity and covariance in the compiled loop."""

from __future__ import annotations

import math

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.memory import floats_at, ints_at
from screw_dynamics_ros.core.measurement.estimation.wrench_decomposition import (
    FORCES_FIRST,
    JOINTS,
    RANK,
    SINGULAR_VALUES,
    condition_number,
    decompose,
    estimate_wrench,
    propagate_covariance,
    set_axis_shares,
    set_deviations,
)
from screw_dynamics_ros.ros.data_path import records as r
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.joint_states import stamped_messages as m
from screw_dynamics_ros.ros.topics.channel_record import FOR_PYTHON, NOT_VALID, VALID

# Places of a record; those marked `->` are addresses.
(
    DECOMPOSED,  # number of the state whose Jacobian is decomposed
    WORDS,  # -> of the `WrenchObservability`
    REALS,  # ->
    JACOBIAN,  # -> (6, n)
    FREEDOMS,  # largest rank of the Jacobian
    TORQUES,  # -> external torques of all joints
    PLACES,  # -> (n,) joints of the Jacobian among them
    SELECTED,  # -> (n,) memory for their torques
    VARIANCES,  # -> (n,) variances of their torques by errors of the model
    COVARIANCE,  # -> (n, n) covariance of their torques
    HAS_PLAIN_WRENCH,  # whether the wrench has neither filter nor dead bands
    HAS_CONSTANT_COVARIANCE,  # whether COVARIANCE is that of all states
    VALIDITY_NUMBERS,  # -> of the messages
    REDUCED_NUMBERS,  # ->
    COVARIANCE_NUMBERS,  # ->
) = range(RECORD_WORDS := 15)


@compiled_step
def fill_validity(record: Ints, t: Ints) -> int:
    """Write the validity, see `ObservableWrench.fill_validity`."""
    decompose_once(record, t)
    is_valid = set_validity(
        ints_at(record[WORDS]),
        floats_at(record[REALS]),
        floats_at(record[VARIANCES]),
        record[FREEDOMS],
        floats_at(record[VALIDITY_NUMBERS]),
    )
    return VALID if is_valid else NOT_VALID


@compiled_step
def fill_reduced(record: Ints, t: Ints) -> int:
    """Write the reduced wrench, see `ObservableWrench.fill_reduced`."""
    if record[HAS_PLAIN_WRENCH] == 0:
        return FOR_PYTHON
    decompose_once(record, t)
    words = ints_at(record[WORDS])
    if words[RANK] == 0:
        return NOT_VALID
    torques = floats_at(record[TORQUES])
    selected = floats_at(record[SELECTED])
    places = ints_at(record[PLACES])
    for k in range(words[JOINTS]):
        selected[k] = torques[places[k]]
    numbers = floats_at(record[REDUCED_NUMBERS])
    estimate_wrench(words, floats_at(record[REALS]), FORCES_FIRST, selected, numbers)
    return VALID


@compiled_step
def fill_covariance(record: Ints, t: Ints) -> int:
    """Write the covariance of the wrench, see `ObservableWrench.fill_covariance`."""
    if record[HAS_CONSTANT_COVARIANCE] == 0:
        return FOR_PYTHON
    decompose_once(record, t)
    propagate_covariance(
        ints_at(record[WORDS]),
        floats_at(record[REALS]),
        FORCES_FIRST,
        floats_at(record[COVARIANCE]),
        floats_at(record[COVARIANCE_NUMBERS]),
    )
    return VALID


@typed
def decompose_once(record: Ints, t: Ints) -> None:
    """Decompose the Jacobian of the current state, unless that is done."""
    number = ints_at(t[r.MAPPER_WORDS])[m.ACCEPTED]
    if record[DECOMPOSED] != number:
        decompose(ints_at(record[WORDS]), floats_at(record[REALS]), floats_at(record[JACOBIAN]))
        record[DECOMPOSED] = number


@typed
def set_validity(
    words: Ints, reals: Floats, variances: Floats, freedoms: int, numbers: Floats
) -> bool:
    """Set the numbers of `VALIDITY_LABELS`; return whether the decomposition is finite."""
    set_axis_shares(words, reals, FORCES_FIRST, numbers)
    for k in range(6):
        numbers[6 + k] = reals[SINGULAR_VALUES + k]
    numbers[12] = float(words[RANK])
    numbers[13] = condition_number(reals)
    numbers[14] = 1.0 if words[RANK] < freedoms else 0.0
    set_deviations(words, reals, FORCES_FIRST, variances, numbers[15:])
    return math.isfinite(reals[SINGULAR_VALUES])
