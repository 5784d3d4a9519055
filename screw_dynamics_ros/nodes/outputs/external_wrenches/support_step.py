# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact wrenches of feet at each joint state."""

from __future__ import annotations

import math

from screw_dynamics_ros.core.compile.typed.functions import Floats, typed
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.estimation.noise_propagation import update_covariance
from screw_dynamics_ros.core.estimation.observers.observer_state import ObserverState
from screw_dynamics_ros.core.estimation.observers.steps import has_finite_sum
from screw_dynamics_ros.core.estimation.support_wrenches import SupportWrenches, solve_support
from screw_dynamics_ros.core.estimation.threshold_flag import ThresholdFlag, advance_flag
from screw_dynamics_ros.core.estimation.triangular import product
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import LoopRecord
from screw_dynamics_ros.ros.topics.channel_record import NOT_VALID, VALID

from .torque_covariance import TorqueCovariance

KNOWN, NOT_SETTLED, NOT_FINITE, NOT_DETERMINED = range(4)
REASONS = (
    '',
    'the observer of the base has not settled since its last start',
    'a number is not finite',
    'the joint torques do not determine them in this configuration',
)
MIN_DEVIATION = 1e-6  # of the torque of a joint, with which weights are finite [N m, N]


class SupportState(Record):
    """The contact wrenches in the current state.

    Attributes
    ----------
    number : int
        Of the state for which they are computed.
    outcome : int
        Index of `REASONS`.
    found : SupportWrenches
        The first six forces are those on the base.
    observer : ObserverState or None
        Of the momentum of the base.
    base, torques : (6,) and (n - 6,) arrays
        Wrench on the base, angular part first, and external torques, from the kernel.
    base_deviations : (6,) array
        Of `base`.
    covariance : TorqueCovariance
        Of `torques`.
    flags : tuple of ThresholdFlag
        Of the force of each link.
    sizes, numbers : (m,) arrays
        The forces [N]; 1 for links in contact.
    """

    number: int
    outcome: int
    found: SupportWrenches
    observer: ObserverState | None
    base: Floats
    torques: Floats
    base_deviations: Floats
    covariance: TorqueCovariance
    flags: tuple[ThresholdFlag, ...]
    sizes: Floats
    numbers: Floats


@compiled_step
def fill_support(s: SupportState, loop: LoopRecord) -> int:
    """Set all numbers for the current state, unless that is done."""
    if s.number != loop.mapper.accepted:
        s.number = loop.mapper.accepted
        s.outcome = outcome_of_state(s, loop)
    return VALID if s.outcome == KNOWN else NOT_VALID


@typed
def outcome_of_state(s: SupportState, loop: LoopRecord) -> int:
    """Estimate the wrenches of all links, then those of the links in contact alone."""
    if s.observer is not None and not s.observer.is_settled:
        return NOT_SETTLED
    found = s.found
    n = len(s.torques)
    for k in range(6):
        found.forces[k] = s.base[k]
        found.deviations[k] = s.base_deviations[k]
    update_covariance(s.covariance, loop.mapper.accepted, loop.state)
    for k in range(n):
        found.forces[6 + k] = s.torques[k]
        deviation = math.sqrt(s.covariance.covariance[(n + 1) * k])
        found.deviations[6 + k] = max(deviation, MIN_DEVIATION)
    if not has_finite_sum(found.forces, n + 6):
        return NOT_FINITE
    for k in range(len(s.flags)):
        if not has_finite_sum(found.contacts[k].jacobian, 6 * (n + 6)):
            return NOT_FINITE
        found.contacts[k].is_used = True
    if not solve_support(found):
        return NOT_DETERMINED
    for k in range(len(s.flags)):
        force = found.contacts[k].wrench
        s.sizes[k] = math.sqrt(product(force, force, 3))
        is_raised = advance_flag(s.flags[k], s.sizes[k:], loop.state_clock.elapsed)
        found.contacts[k].is_used = is_raised
        s.numbers[k] = float(int(is_raised))
    return KNOWN if solve_support(found) else NOT_DETERMINED
