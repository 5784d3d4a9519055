# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Six revolute joints with a spherical wrist or shoulder and three other axes anywhere.

The points that joint 3 moves the center c of the wrist to, x = exp(S_3 q_3) c, and those that joint
1 moves to its position p, y = exp(-S_1 q_1) p, have the same height along axis 2 and the same
distance from a point of it. Both are linear in 1, cos, sin:

    A (cos q_1, sin q_1) = B (1, cos q_3, sin q_3).                                        (1)

So cos q_1 and sin q_1 are linear in those of q_3, and the sum of their squares is 1: a
trigonometric polynomial of degree 2 in q_3, up to four angles, and two solutions of the wrist for
each of them.

Sources: Pieper, The kinematics of manipulators under computer control (1968); Bruyninckx 2010,
section 7.1 (B-005, C-088).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...compile.calls import compiled_into
from ...compile.kernels import KernelSpecification, in_parallel, make_kernel
from ...compile.program.tracing import arctangent
from ...linear import cross
from ...types import Array
from . import trigonometric_polynomial
from .elimination import waves_of
from .general_6r import possibly_real
from .held_joints import HeldArm
from .spherical_wrist import SphericalWrist, between, circle, moved

DEGREE, SAMPLES = 2, 8  # of the polynomial
WAVES = trigonometric_polynomial.waves(SAMPLES)


def first_joint(arm: SphericalWrist, p: Array) -> tuple[Array, Any]:
    """Return N (2, 3) and d with N (1, cos q_3, sin q_3) = d (cos q_1, sin q_1): (1) solved."""
    S1, S2, S3 = arm.S[:3]
    e, origin = S2[:3], cross(S2[:3], S2[3:])
    x, x_cos, x_sin = circle(S3, arm.center)
    y, y_cos, y_sin = circle(-S1, p)
    x, y = x - origin, y - origin
    heights = [e @ x - e @ y, e @ x_cos, e @ x_sin]
    distances = [
        0.5 * (x @ x + x_cos @ x_cos - y @ y - y_cos @ y_cos),
        x @ x_cos,
        x @ x_sin,
    ]
    B = np.array([heights, distances])
    (a, b), (c, d) = (e @ y_cos, e @ y_sin), (y @ y_cos, y @ y_sin)
    return np.array([[d, -b], [-c, a]]) @ B, a * d - b * c


def polynomial(arm: HeldArm, *inputs: Array) -> tuple[Array]:
    """Return the polynomial at `SAMPLES` angles q_3, for positions of held joints and a pose (16,).

    The compiled function.
    """
    *held, target = inputs
    now = arm.at(*(position for each in held for position in each))
    N, d = first_joint(now, now.target(target.reshape(4, 4))[1])
    values = [N @ wave for wave in WAVES]
    return (np.array([each @ each - d * d for each in values]),)


def joint_angles(arm: HeldArm, zero: Array, *inputs: Array) -> tuple[Array, Array]:
    """Return two candidates for all joints, (2, 6), at a zero z, (2,), and | |z|^2 - 1 |, ().

    The inputs are those of `polynomial`. The compiled function.
    """
    *held, target = inputs
    now = arm.at(*(position for each in held for position in each))
    R, p = now.target(target.reshape(4, 4))
    N, d = first_joint(now, p)
    wave, away = waves_of(*zero), zero @ zero - 1.0
    cosine, sine = d * (N @ wave)
    q1, q3 = arctangent(sine, cosine), arctangent(wave[2], wave[1])
    S1, S2, S3 = now.S[:3]
    origin = cross(S2[:3], S2[3:])
    x, y = moved(S3, now.center, q3) - origin, moved(-S1, p, q1) - origin
    first = [q1, between(S2[:3], x, y), q3]
    return np.array([now.joints(R, first, side) for side in (1.0, -1.0)]), np.sqrt(away * away)


class WristPartitioned:
    """All candidates for such an arm, some of whose joints may be held.

    Parameters
    ----------
    arm : HeldArm
        With a `SphericalWrist`.
    backend : str
    """

    def __init__(self, arm: HeldArm, backend: str) -> None:
        chain, held = arm.chain, arm.held
        inputs = *((('held', len(held)),) if held else ()), ('target', 16)

        def specification(
            name: str, own: Sequence[tuple[str, int]], build: Any
        ) -> KernelSpecification:
            return KernelSpecification(
                f'{name} of a partitioned arm',
                (*own, *inputs),
                build,
                repr((name, 'partitioned', chain.identity, held)),
                frozenset(name for name, _ in inputs) if own else frozenset(),
                (arm,),
            )

        sampled = make_kernel(specification('polynomial', (), polynomial), backend)
        solved = make_kernel(specification('joint angles', [('zero', 2)], joint_angles), backend)
        self._polynomial, self._joint_angles, self._aberth_steps = in_parallel(
            partial(compiled_into, sampled),
            partial(compiled_into, solved, stacks=True),
            partial(trigonometric_polynomial.aberth_steps, 2 * DEGREE, backend),
        )

    def at_all_zeros(self, C: Array, held: Array) -> tuple[Array, Array, int]:
        """Return candidates for the free joints at real and complex zeros alike, (4, 2, 6).

        With | |z|^2 - 1 | of each zero, (4,), and the possible number of solutions, -1 if the
        polynomial vanishes at this pose.
        """
        inputs = [held, C.reshape(16)] if len(held) else [C.reshape(16)]
        values, angles = np.empty(SAMPLES), np.empty((2 * DEGREE, 2, 6))
        away = np.full(2 * DEGREE, np.inf)
        self._polynomial(*inputs, values)
        largest = float(np.abs(values).max())
        if not 0.0 < largest < np.inf:
            return angles, away, -1
        zeros, slopes = trigonometric_polynomial.zeros(values, self._aberth_steps, DEGREE)
        self._joint_angles(zeros, *inputs, angles, away)
        return angles, away, 2 * possibly_real(away, slopes, largest)
