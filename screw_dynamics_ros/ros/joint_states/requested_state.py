# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The state in a request: joints by name, others with their last measured values."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from screw_dynamics_ros.core.errors import ArgumentError, MissingStateError, NotFiniteError
from screw_dynamics_ros.core.types import Array

from ..names import check_joint_names, shorten
from ..process.state_lock import STATE_LOCK
from .mapper import JointStateMapper


@dataclass(frozen=True, eq=False)
class JointState:
    """Positions, velocities, accelerations and torques of joints, (n,) each.

    Attributes
    ----------
    q, v, a, tau : (n,) arrays
        [rad, rad/s, rad/s^2, N m; m, m/s, m/s^2, N].
    stamp : int
        Time of the measurement [ns]; 0 if none of the joints is measured.
    has_velocity : bool
        Whether all of v is known.
    """

    q: Array
    v: Array
    a: Array
    tau: Array
    stamp: int = 0
    has_velocity: bool = True


def latest(mapper: JointStateMapper) -> JointState | None:
    """Return a copy of the measured state, None if it is missing or too old.

    Can be called from any thread.
    """
    with STATE_LOCK:
        q, v, tau = mapper.state.copy()
        stamp, has_velocity, arrival = mapper.stamp, mapper.has_velocity, mapper.last_accepted
    timeout = mapper.policies.state_timeout or np.inf
    if not mapper.accepted or time.monotonic() - arrival > timeout:
        return None
    return JointState(q, v, np.zeros_like(q), tau, stamp, has_velocity)


def read_requested_state(
    message: Any,
    joints: Sequence[str],
    *,
    known: Collection[str] = (),
    measured: JointState | None = None,
    fields: Collection[str] = ('position',),
    acceleration: Sequence[float] = (),
) -> JointState:
    """Return the state of `joints` in a sensor_msgs/JointState.

    Parameters
    ----------
    message : sensor_msgs/JointState
        Each named joint needs a position; other fields may be empty, which means zero.
    joints : sequence of str
    known : collection of str
        Further names, which are ignored: mimic and fixed joints.
    measured : JointState, optional
        The latest measured state: positions and velocities of joints that are not named.
    fields : collection of str
        Which of 'position', 'velocity' and 'effort' are used; the others are ignored.
    acceleration : sequence of float
        One for each name; empty means zero.

    Raises
    ------
    UnknownNameError
        If a name is unknown.
    ArgumentError
        If a name occurs twice or numbers are missing.
    NotFiniteError
        If a number is NaN or infinite.
    MissingStateError
        If a joint is not named and has no measured state.
    """
    names = list(message.name)
    check_joint_names('joint_state', names, joints, known)
    index = {name: i for i, name in enumerate(joints)}

    def vector(field: str, values: Sequence[float]) -> Array:
        """Return the values of the named joints, zero for the others."""
        result = np.zeros(len(joints))
        if len(values) != len(names) and (field == 'position' or len(values)):
            raise ArgumentError(f'joint_state has {len(values)} of {field} for {len(names)} names')
        for name, value in zip(names, values):
            if name in index:
                if not np.isfinite(value):
                    raise NotFiniteError(f'{field} of joint {name!r} is {value}; it must be finite')
                result[index[name]] = value
        return result

    q = vector('position', message.position)
    v, tau = (
        vector(field, getattr(message, field) if field in fields else ())
        for field in ('velocity', 'effort')
    )
    a = vector('acceleration', acceleration)
    named = set(names)
    absent = np.array([name not in named for name in joints], dtype=bool)
    if not absent.any():
        return JointState(q, v, a, tau)
    text = shorten([name for name in joints if name not in named])
    if measured is None:
        raise MissingStateError(
            f'joint_state does not name {text}, and there is no current measured '
            'state to use instead; name all joints, or see /diagnostics'
        )
    q[absent] = measured.q[absent]
    if 'velocity' in fields:
        if not measured.has_velocity:
            raise MissingStateError(
                f'joint_state does not name {text}, and their velocity is not '
                'measured; name all joints, or see velocity_policy'
            )
        v[absent] = measured.v[absent]
    return JointState(q, v, a, tau, measured.stamp)
