# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motors that turn with several joints, as in wrists with concentric shafts or belts.

Motors are at theta = C q and have the torques tau_m = C^-T tau; rotors have the inertia C^T J C,
and friction of motors is C^T f_m(C q').

Source: Gautier, Janot and Vandanjon, A new closed-loop output error method for parameter
identification of robot dynamics, IEEE Transactions on Control Systems Technology 21 (2013), for the
coupled wrist of a TX40.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..errors import ArgumentError, UnknownNameError
from ..types import Array

if TYPE_CHECKING:
    from .robot_description import Joint


class Coupled(Protocol):
    """A `Drive`."""

    @property
    def ratios(self) -> Mapping[str, float]:
        """Ratios of the coupled joints by name."""


def motor_coupling(joints: Sequence[str], drives: Mapping[str, Coupled]) -> Array:
    """Return C (n, n): displacements of motors in units of their joints are theta = C q.

    Torques of joints are C^T times those of motors. The unit matrix but for `Drive.coupled_joints`.

    >>> from screw_dynamics_ros.core import Drive
    >>> wrist = {'joint_6': Drive(coupled_joints=('joint_5',), coupling_ratios=(1.0,))}
    >>> motor_coupling(['joint_5', 'joint_6'], wrist).T @ [0.0, 2.0]  # of motor 6 alone
    array([2., 2.])
    """
    places = {joint: k for k, joint in enumerate(joints)}
    C = np.eye(len(joints))
    for joint in joints:
        for other, ratio in drives[joint].ratios.items() if joint in drives else ():
            if other in places:
                C[places[joint], places[other]] = ratio
    return C


def check_coupled_joints(name: str, drive: Coupled, joints: Mapping[str, Joint]) -> None:
    """Refuse a coupling with joints without an independent coordinate."""
    for other in drive.ratios:
        if other not in joints:
            raise UnknownNameError(
                f'drives: no joint named {other!r} to be coupled with the motor of {name!r}; '
                f'the joints are {", ".join(joints)}'
            )
        mimics = [joint for joint in (name, other) if joints[joint].mimic is not None]
        if mimics or other == name or not joints[other].kind.is_scalar:
            reason = (
                f'{mimics[0]!r} mimics another joint' if mimics else 'give another joint of one'
            )
            raise ArgumentError(
                f'drives: the motor of {name!r} cannot be coupled with {other!r}: {reason}'
                f'{"" if mimics else " degree of freedom"}'
            )


def check_motors_move_joints(given: Mapping[str, Coupled]) -> None:
    """Refuse couplings by which joints move while all motors are at rest."""
    coupled = {other for drive in given.values() for other in drive.ratios}
    names = sorted(coupled | {name for name, drive in given.items() if drive.ratios})
    C = motor_coupling(names, given)
    if names and np.linalg.matrix_rank(C) < len(names):
        raise ArgumentError(
            f'drives: the coupled motors of {", ".join(names)} do not determine the joints: the '
            f'matrix {C.tolist()} from joints to motors is singular; correct the ratios'
        )
