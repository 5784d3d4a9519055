# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The arm with a closed form that is nearest to one which misses it by little.

Calibrated arms do: axes that are parallel by design are so to some milliradians. Lengths, zeros of
joints, base and tool of a member of the family are fitted to poses of the arm.

Source: Bruyninckx 2010, section 7.2 (C-090); the fit is a least squares problem.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...lie import se3
from ...types import Array
from .chain import SerialChain
from .family import Family

SAMPLES = 24  # random configurations
#: Gauss-Newton iterations, their difference quotients [rad, m], and the singular value, relative to
#: the largest, from which parameters are dependent.
ITERATIONS, DIFFERENCE_STEP, DEPENDENCE_TOLERANCE = 3, 1e-6, 1e-5
FITTED_DIGITS = 9  # of fitted values [rad, m]: rounding of other processors stays below


def nearest_arm(arm: Family, chain: SerialChain) -> Family:
    """Return the member of a family of which poses differ least from those of a chain.

    Parameters
    ----------
    arm : Family
        One that is near already.
    chain : SerialChain
    """
    names, n = arm.length_names(), len(chain)
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (SAMPLES, n))
    poses = chain.pose(q)

    def changed(x: Array) -> Family:
        lengths, offset, base, tool = np.split(x, np.cumsum([len(names), n, 6]))
        return replace(
            arm,
            **{name: getattr(arm, name) + float(d) for name, d in zip(names, lengths)},
            offset=arm.offset + offset,
            base=se3.exp(base) @ arm.base,
            tool=arm.tool @ se3.exp(tool),
        )

    def differences(x: Array) -> Array:
        apart = changed(x).chain().pose(q) - poses
        apart[:, :3, 3] /= chain.length
        return apart[:, :3].reshape(-1)

    x = np.zeros(len(names) + n + 12)
    for _ in range(ITERATIONS):
        start = differences(x)
        J = (
            np.stack([differences(x + h) - start for h in DIFFERENCE_STEP * np.eye(len(x))], axis=1)
            / DIFFERENCE_STEP
        )
        # the shortest step: some of these parameters do the same as others
        x = x - np.linalg.lstsq(J, start, rcond=DEPENDENCE_TOLERANCE)[0]
    return changed(np.round(x, FITTED_DIGITS))
