# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Singularity measures along a recorded motion."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arms.inverse.manipulability import freedoms
from ..compile.typed.functions import Ints, typed
from ..compile.typed.library import calls
from ..compile.typed.records import Record
from ..estimation.link_measures import LinkMeasures, measure_link
from ..robot.robot import Robot
from ..types import Array
from .rows import SampleRows, read_row, store_row

SAMPLES = 3  # random configurations; at least one is not singular


def freedoms_of(robot: Robot, link: str, places: Any = slice(None)) -> int:
    """Return the rank of the Jacobian of a link in regular configurations.

    `places` are its columns, those of all velocities by default.
    """
    random = np.random.default_rng(0)
    configurations = [robot.random_configuration(random) for _ in range(SAMPLES)]
    jacobians = [robot.jacobian(q, link, 'body')[:, places] for q in configurations]
    return freedoms(np.array(jacobians))


class MeasuredMotion(Record):
    """The measures of a link, computed for samples at least 1 / rate after each other.

    Sampling restarts if stamps run back.

    Parameters
    ----------
    joints, freedoms : int
        See `LinkMeasures`.
    length : float
        Characteristic length [m].
    rate : float
        [Hz]; infinite for all samples.
    """

    t: Ints
    last: int
    due: int
    period: int
    jacobian: SampleRows
    measures: SampleRows
    link: LinkMeasures

    def __init__(self, joints: int, freedoms: int, length: float, rate: float) -> None:
        self.period = round(1e9 / rate) if math.isfinite(rate) else 0
        self.last = self.due = -(2**62)
        self.jacobian, self.measures = SampleRows(np.zeros(6 * joints)), SampleRows(np.zeros(4))
        numbers = self.measures.numbers
        self.link = LinkMeasures(joints, freedoms, self.jacobian.numbers, None, numbers)
        self.link.set_length(length)

    def block(self, t: NDArray[np.int64], jacobians: Array) -> Array:
        """Return the measures (N, 4) of consecutive samples, NaN where there are none."""
        result = np.full((len(t), 4), np.nan)
        self.t, self.jacobian.rows, self.measures.rows = t, jacobians, result
        calls(measure)[0](self)
        return result


@typed
def measure(motion: MeasuredMotion) -> None:
    """Compute the measures of the samples that are due."""
    for k in range(len(motion.t)):
        stamp = motion.t[k]
        if stamp < motion.last or stamp >= motion.due:
            motion.due = stamp + motion.period
            read_row(motion.jacobian, k)
            if measure_link(motion.link):
                store_row(motion.measures, k)
        motion.last = stamp
