# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Formulas for the contact wrench at one link and its observability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.formulas import contact
from screw_dynamics_ros.core.robot.functions import Output
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.actuated import actuated
from screw_dynamics_ros.nodes.model.running_model import of_joints
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular

from .output_filters import BANDS, Signal, filtered, wrench_outside_bands


@dataclass(frozen=True)
class Contact:
    """The outputs for a contact at one link.

    Attributes
    ----------
    jacobian : output or Formula
        Body Jacobian, columns of joints with one coordinate.
    wrench, pivots : Formula
        Force and moment in the frame, after filter and dead bands; pivots that are all positive if
        the wrench is observable.
    signal : Signal
        The filtered wrench, before the dead bands.
    joints : int
        Number of these joints that move the link.
    """

    jacobian: Output | Formula
    wrench: Formula
    pivots: Formula
    signal: Signal
    joints: int


def contact_at(robot: Robot, link: str, external: Formula, before: Sequence[Signal]) -> Contact:
    """Return the formulas for a contact at a link, given the external torques.

    `before` are the signals already filtered in the same program.
    """
    motors = actuated(robot)
    jacobian = motors.columns_of_motors(of_joints(robot, ('jacobian', link, 'body')))
    torques = motors.elements_of_motors(external)
    wrench, pivots = contact(jacobian, torques)
    estimate = Formula('force first', (wrench,), swap_linear_angular)
    signal = filtered('wrench', estimate, 6, before)
    return Contact(
        jacobian,
        Formula('wrench outside bands', (signal.value, BANDS), wrench_outside_bands),
        pivots,
        signal,
        motors.freedoms_of(link),
    )


def is_observable(contact: Contact, pivots: Array) -> bool:
    """Whether all six components of the wrench are observable, by the pivots of a state."""
    return contact.joints >= 6 and all(pivot > 0.0 for pivot in pivots.tolist())
